"""What a run shows in TensorBoard, and how it measures strength: as measured once, so after an interruption."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rlgo.board import new_board
from rlgo.draw import values_image
from rlgo.errors import RlgoError
from rlgo.learner import Learner
from rlgo.shapes import make_features
from rlgo.value import ValueFunction
from rlgo.weights import Weights, load_weights, save_weights
from train.arena.elo import expected_score
from train.config import Config, config_from_dict, flat
from train.runs import run as running
from train.runs import strength
from train.runs.folder import RunFolder
from train.runs.monitor import METRICS, Monitor
from train.runs.run import Result, make_learner, resume, train
from train.runs.strength import RUNGS, Strength, elo, seeds

event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")

BLOCKS = ["1x1-LI", "1x1-LD", "2x2-LI", "2x2-LD"]
GNUGO_RATE = "strength/win_rate_gnugo"


def tiny(out: Path, **run: Any) -> Config:
    defaults = {"name": "tiny", "games": 300, "log_every": 100, "eval_every": 100, "eval_games": 40}
    return config_from_dict(
        {
            "run": {**defaults, "out": str(out), **run},
            "board": {"size": 5, "komi": 0.5},
            "features": {"sizes": [1, 2]},
        }
    )


def events(folder: Path) -> Any:
    """TensorBoard's own reader of a run, with everything in it."""
    kinds = ("scalars", "histograms", "images", "tensors")
    reader = event_accumulator.EventAccumulator(str(folder), size_guidance=dict.fromkeys(kinds, 0))
    return reader.Reload()


def everything(folder: Path) -> dict[str, list[Any]]:
    """All points by tag, without clocks."""
    found, tags = events(folder), events(folder).Tags()
    out = {tag: [(e.step, e.value) for e in found.Scalars(tag)] for tag in tags["scalars"] if "speed/" not in tag}
    out |= {tag: [(e.step, e.histogram_value) for e in found.Histograms(tag)] for tag in tags["histograms"]}
    out |= {tag: [(e.step, e.encoded_image_string) for e in found.Images(tag)] for tag in tags["images"]}
    return out


def metrics(folder: Path, key: str) -> list[tuple[int, float]]:
    points = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    return [(point["games"], point[key]) for point in points if key in point]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Config, Result]:
    config = tiny(tmp_path_factory.mktemp("runs"))
    return config, train(config, progress=False)


# ---------------------------------------------------------------------------------------------
# What TensorBoard shows
# ---------------------------------------------------------------------------------------------


def test_histograms_hold_the_weights_that_occurred(finished):
    config, result = finished
    found = events(result.folder)
    names = [f"weights/{b}" for b in BLOCKS] + [f"occurrences/log10_{b}" for b in BLOCKS]
    assert sorted(found.Tags()["histograms"]) == sorted(names)
    learner = make_learner(config, seeds(config)[0])
    for games in (100, 200, 300):
        learner.learn(100)
        occurrences = learner.pool.occurrences()
        for block in learner.features.blocks:
            seen, theta = occurrences[block.start : block.stop], learner.mean()[block.start : block.stop]
            weights, counts = (
                next(e.histogram_value for e in found.Histograms(name.format(block.name)) if e.step == games)
                for name in ("weights/{}", "occurrences/log10_{}")
            )
            assert weights.num == counts.num == np.count_nonzero(seen)
            assert (weights.min, weights.max) == (theta[seen > 0].min(), theta[seen > 0].max())
            assert 10**counts.max == pytest.approx(seen.max())
            assert 10 ** (counts.sum / counts.num) == pytest.approx(np.exp(np.log(seen[seen > 0]).mean()))
            never = dict(metrics(result.folder, f"occurrences/never_seen_{block.name}"))
            assert never[games] == pytest.approx(1 - counts.num / len(seen))
    assert never[300] > 0  # 2x2-LD: or the test would tell nothing


def test_a_block_that_never_occurred_has_no_histogram(tmp_path):
    weights = Weights(make_features(5, (1, 2)), np.zeros(make_features(5, (1, 2)).n_weights + 1, np.float32))
    occurrences = np.zeros(weights.theta.shape, np.int64)
    occurrences[1] = 5
    with Monitor(tmp_path) as monitor:
        monitor.learned(100, weights, occurrences)
    assert set(events(tmp_path).Tags()["histograms"]) == {"weights/1x1-LI", "occurrences/log10_1x1-LI"}


def test_pictures_are_as_many_as_checkpoints(finished, tmp_path):
    _, result = finished
    found = everything(result.folder)
    # At 250, 50 and 150 games it measured too.
    often = train(tiny(tmp_path, eval_every=50), progress=False)
    for tag in ("V/after_each_first_move", "shapes/strongest"):
        assert [step for step, _ in found[tag]] == [100, 200, 300]
        assert everything(often.folder)[tag] == found[tag]
    assert [step for step, _ in everything(often.folder)["weights/1x1-LI"]] == [50, 100, 150, 200, 250, 300]


def test_the_picture_of_v_shows_v(finished):
    from matplotlib.image import imread

    _, result = finished
    (tmp := result.folder.parent / "v.png").write_bytes(everything(result.folder)["V/after_each_first_move"][-1][1])
    picture = (imread(tmp)[..., :3] * 255).round().astype(int)
    values = ValueFunction(result.weights).afterstates(new_board(5))[:-1].reshape(5, 5)
    cell = picture.shape[0] // 5
    assert picture.shape == (5 * cell, 5 * cell, 3)
    ground = np.flipud(picture[2::cell, 2::cell])  # off the lines and the numbers; row 0 is the lowest
    redness = ground[..., 0] - ground[..., 2]
    assert redness[np.unravel_index(values.argmax(), (5, 5))] == redness.max() > 100
    assert redness[np.unravel_index(values.argmin(), (5, 5))] == redness.min() < -100


def test_numbers_of_a_map_of_values():
    values = np.full((5, 5), np.nan)
    values[0, :4] = 0.37, 0.73, 0.31, 1.0
    image = values_image(values, 24)
    dark = [image[-19:-5, 24 * col : 24 * (col + 1)].astype(int).sum(-1) < 200 for col in range(5)]
    first, second = slice(5, 11), slice(13, 19)
    assert (dark[0][:, first] == dark[1][:, second]).all() and (dark[0][:, second] == dark[1][:, first]).all()
    assert (dark[0][:, first] == dark[2][:, first]).all() and (dark[0][:, second] != dark[2][:, second]).any()
    # 99 stands for all that is more; where nothing is known, nothing is written.
    assert (dark[3][:, first] == dark[3][:, second]).all()
    assert dark[3].sum() > dark[4].sum()


def test_pictures_need_no_pillow(finished, tmp_path, monkeypatch):
    _, result = finished
    monkeypatch.setitem(sys.modules, "PIL", None)
    with Monitor(tmp_path) as monitor:
        monitor.pictures(300, result.weights)
    monkeypatch.undo()
    assert everything(tmp_path)["V/after_each_first_move"] == everything(result.folder)["V/after_each_first_move"][-1:]


# ---------------------------------------------------------------------------------------------
# The table of runs
# ---------------------------------------------------------------------------------------------


def hparams(folder: Path) -> tuple[Any, dict[str, Any], bool]:
    """What TensorBoard's plugin reads: the experiment, this run's settings, and whether it ended well."""
    from tensorboard.plugins.hparams import metadata
    from tensorboard.plugins.hparams.api_pb2 import STATUS_SUCCESS

    content = events(folder).PluginTagToContent("hparams")
    start = metadata.parse_session_start_info_plugin_data(content[metadata.SESSION_START_INFO_TAG])
    values = {key: getattr(value, value.WhichOneof("kind")) for key, value in start.hparams.items()}
    end = content.get(metadata.SESSION_END_INFO_TAG)
    ended = end is not None and metadata.parse_session_end_info_plugin_data(end).status == STATUS_SUCCESS
    return metadata.parse_experiment_plugin_data(content[metadata.EXPERIMENT_TAG]), values, ended


def test_the_table_of_runs_has_settings_and_strengths(finished):
    config, result = finished
    experiment, values, ended = hparams(result.folder)
    shown = {key: value if isinstance(value, int | float | str) else str(value) for key, value in flat(config).items()}
    assert values == shown
    assert {info.name for info in experiment.hparam_infos} == set(shown)
    first = {info.name for info in experiment.hparam_infos if info.differs}
    assert first == {"features.sizes", "learning.alpha", "policy.epsilon", "run.games", "run.seed"}
    assert [info.name.tag for info in experiment.metric_infos] == [*METRICS]
    # TensorBoard fills in the last of the scalars of these names.
    assert {tag for tag in everything(result.folder) if tag.startswith("strength/")} <= set(METRICS)
    assert ended


def test_the_table_follows_a_run_that_goes_on(tmp_path, monkeypatch):
    interrupt(monkeypatch, at=50)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(tmp_path, games=60), progress=False)
    assert hparams(tmp_path / "tiny")[2] is False
    resume(tmp_path / "tiny", games=80, progress=False)
    _, values, ended = hparams(tmp_path / "tiny")
    assert (values["run.games"], ended) == (80, True)
    # TensorBoard reads files in this order, and waits at the last one.
    assert min(path.name for path in (tmp_path / "tiny").glob("*tfevents*")) == "config.tfevents"


# ---------------------------------------------------------------------------------------------
# Elo against the checkpoints
# ---------------------------------------------------------------------------------------------

TRUE = {0: 0, 100: 150, 200: 320, 500: 450, 1000: 430, 2000: 600}  # of players that there are not


@pytest.fixture
def ladder(tmp_path, monkeypatch) -> tuple[Config, RunFolder, list[tuple[int, int]]]:
    """Checkpoints of known strength, and who met whom."""
    config, met = tiny(tmp_path, eval_games=10_000), []

    def play(features, theta_a, theta_b, games, seed, komi):
        met.append((int(theta_a[1]), int(theta_b[1])))
        score = float(expected_score(TRUE[met[-1][0]] - TRUE[met[-1][1]]))
        return SimpleNamespace(scores=np.full((games // 2, 2), score))

    monkeypatch.setattr(strength, "play_fast", play)
    folder = RunFolder(tmp_path / "tiny")
    folder.checkpoints.mkdir(parents=True)
    for games in TRUE:
        if games:
            save_weights(folder.checkpoint(games), weights_of(games))
    return config, folder, met


def weights_of(games: int) -> Weights:
    theta = np.zeros(make_features(5, (1, 2)).n_weights + 1, np.float32)
    theta[1] = games
    return Weights(make_features(5, (1, 2)), theta, 0.5, games=games)


def test_elo_climbs_the_ladder(ladder):
    config, folder, met = ladder
    ratings: dict[str, float] = {}
    for games in (100, 200, 500, 1000):
        rating = elo(config, folder, weights_of(games), ratings)
        assert rating.elo == pytest.approx(TRUE[games], abs=3)
        assert rating.ci95[0] < rating.elo < rating.ci95[1]
        ratings[str(games)] = rating.elo
    before = [0, 100, 200, 500]
    assert met == [
        (games, rung) for games in (100, 200, 500, 1000) for rung in [b for b in before if b < games][-RUNGS:]
    ]
    # Between two checkpoints, and with the rungs' ratings as they were found once.
    TRUE[1500] = 500
    assert elo(config, folder, weights_of(1500), ratings).elo == pytest.approx(500, abs=3)
    moved = {key: value + 1000 for key, value in ratings.items()}
    assert elo(config, folder, weights_of(1500), moved).elo == pytest.approx(1500, abs=3)


def test_elo_finds_missing_ratings_but_looks_at_no_later_checkpoint(ladder):
    config, folder, met = ladder
    ratings = {"100": 150.0}
    assert elo(config, folder, weights_of(1000), ratings).elo == pytest.approx(TRUE[1000], abs=3)
    assert set(ratings) == {"100", "200", "500"}
    assert not {pair for pair in met if 2000 in pair or pair[0] == 100}


def test_elo_of_a_player_who_wins_all_is_finite(ladder, monkeypatch):
    config, folder, _ = ladder
    monkeypatch.setattr(strength, "play_fast", lambda *args: SimpleNamespace(scores=np.ones((500, 2))))
    assert 1_000 < elo(config, folder, weights_of(100), {}).elo < 2_000


def test_a_run_logs_its_elo(finished):
    config, result = finished
    curve = metrics(result.folder, "strength/elo")
    assert [games for games, _ in curve] == [100, 200, 300]
    assert all(rating > 0 for _, rating in curve)
    assert curve[-1][1] == result.elo
    run_json = json.loads((result.folder / "run.json").read_text("utf-8"))
    assert run_json["elo"] == result.elo
    assert f"300 games: Elo {result.elo:,.0f} (" in (result.folder / "log.txt").read_text("utf-8")
    # It depends on the checkpoints before it alone.
    last = load_weights(result.folder / "weights.npz")
    assert elo(config, RunFolder(result.folder), last, {}).elo == result.elo


# ---------------------------------------------------------------------------------------------
# After an interruption
# ---------------------------------------------------------------------------------------------


def interrupt(monkeypatch, at: int) -> None:
    """Ctrl-C, once, in the slice that reaches this many games."""
    learn = Learner.learn

    def learn_and_press(self, games):
        tally = learn(self, games)
        if self.games - games < at <= self.games:
            os.kill(os.getpid(), signal.SIGINT)
        return tally

    monkeypatch.setattr(Learner, "learn", learn_and_press)


@pytest.mark.parametrize("at", [100, 130, 290])
def test_a_resumed_run_shows_the_same(finished, tmp_path, monkeypatch, at):
    _, result = finished
    interrupt(monkeypatch, at)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(tmp_path), progress=False)
    monkeypatch.undo()
    again = resume(tmp_path / "tiny", progress=False)
    assert again.elo == result.elo
    whole, parts = everything(result.folder), everything(again.folder)
    assert set(parts) == set(whole)
    for tag, points in whole.items():
        assert parts[tag] == points, tag


# ---------------------------------------------------------------------------------------------
# GNU Go
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def fake_gnugo(monkeypatch) -> list[int]:
    """GNU Go, installed and beaten in half of the games; and when it was met."""
    met: list[int] = []

    def against_gnugo(config, weights, progress):
        met.append(weights.games)
        return Strength("GNU Go level 0", config.run.gnugo_games, 0.5, (0.4, 0.6))

    monkeypatch.setattr(running, "has_gnugo", lambda: True)
    monkeypatch.setattr(running, "against_gnugo", against_gnugo)
    return met


def test_gnugo_is_met_when_it_is_due(tmp_path, fake_gnugo):
    for name, every, due in (("end", 0, [300]), ("often", 120, [120, 240, 300])):
        fake_gnugo.clear()
        result = train(tiny(tmp_path, name=name, gnugo_games=4, gnugo_every=every), progress=False)
        assert fake_gnugo == due
        assert metrics(result.folder, GNUGO_RATE) == [(games, 0.5) for games in due]
        assert result.strength["gnugo"].games == 4
        assert GNUGO_RATE in METRICS


def test_without_gnugo_a_run_says_so_once(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "has_gnugo", lambda: False)
    result = train(tiny(tmp_path, gnugo_games=4, gnugo_every=100), progress=False)
    assert (result.folder / "log.txt").read_text("utf-8").count("GNU Go") == 1
    assert metrics(result.folder, GNUGO_RATE) == []
    assert "gnugo" not in result.strength


def test_an_engine_that_fails_ends_no_run(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "has_gnugo", lambda: True)
    monkeypatch.setattr(strength, "GNUGO", "no-such-gnugo")
    result = train(tiny(tmp_path, gnugo_games=4), progress=False)
    assert "no games against GNU Go: engine 'no-such-gnugo' is not found" in (result.folder / "log.txt").read_text()
    assert "gnugo" not in result.strength


def test_one_ctrl_c_ends_a_match_against_gnugo(tmp_path, monkeypatch, fake_gnugo):
    """The match is abandoned at once, and played whole when the run goes on."""
    meet = running.against_gnugo

    def press(*args):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1_000_000):  # never comes to its end
            pass
        raise AssertionError("the match went on")

    config = tiny(tmp_path, gnugo_games=4, gnugo_every=150)
    monkeypatch.setattr(running, "against_gnugo", press)
    with pytest.raises(KeyboardInterrupt):
        train(config, progress=False)
    assert load_weights(tmp_path / "tiny" / "weights.npz").games == 150
    assert metrics(tmp_path / "tiny", GNUGO_RATE) == []
    monkeypatch.setattr(running, "against_gnugo", meet)
    result = resume(tmp_path / "tiny", progress=False)
    assert "after 150 games" in (result.folder / "log.txt").read_text("utf-8").partition("resumed")[2]
    assert fake_gnugo == [150, 300]
    assert metrics(result.folder, GNUGO_RATE) == [(150, 0.5), (300, 0.5)]
    assert everything(result.folder)[GNUGO_RATE] == [(150, 0.5), (300, 0.5)]


def test_the_seed_of_a_match_against_gnugo(tmp_path, monkeypatch):
    """Of GNU Go too, which otherwise takes the time of day."""
    engines = []

    def play_match(player, engine, games, size, komi, seed, progress):
        engines.append(engine)
        raise RlgoError("no match")

    monkeypatch.setattr(strength, "play_match", play_match)
    for config, games in (
        (tiny(tmp_path), 100),
        (tiny(tmp_path), 100),
        (tiny(tmp_path), 200),
        (tiny(tmp_path, seed=2), 100),
    ):
        with pytest.raises(RlgoError, match="no match"):
            strength.against_gnugo(config, weights_of(games), progress=False)
    assert engines[0].startswith("gtp:gnugo --mode gtp --level 0 ") and " --seed " in engines[0]
    assert engines[0] == engines[1]
    assert len(set(engines)) == 3


def test_gnugo_itself(finished, gnugo, capfd):
    config = tiny(Path("nowhere"), gnugo_games=4)
    weights = finished[1].weights
    found = strength.against_gnugo(config, weights, progress=False)
    assert (found.games, found.opponent) == (4, "GNU Go level 0")
    assert 0 <= found.ci95[0] <= found.win_rate <= found.ci95[1] <= 1
    first, again = (strength.meet_gnugo(weights, 4, 0.5, seed=1, progress=False) for _ in range(2))
    assert first == again
    assert (first.games, first.forfeits, len(first.scores)) == (4, 0, 2)
    assert capfd.readouterr() == ("", "")
