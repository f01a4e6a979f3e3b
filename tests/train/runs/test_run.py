"""Training runs: the files they write, what they refuse, and that players become stronger."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tiny_runs import BLOCKS, contents, interrupt, metrics, tiny

from rlgo.base.errors import RlgoError
from rlgo.features.weights import load_weights
from rlgo.learning.fast_games import play_fast
from rlgo.learning.learner import LearnWorker
from train.config import Config, load_config, to_toml
from train.runs import run as running
from train.runs.learners import make_learner
from train.runs.run import Result, resume
from train.runs.run import run as train


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Config, Result]:
    config = tiny(tmp_path_factory.mktemp("runs"), learning={"alpha": 0.1, "alpha_schedule": "linear"})
    return config, train(config, progress=False)


LOGGED = {
    "speed/games_per_s",
    "speed/evaluations_per_s",
    "selfplay/game_length",
    "selfplay/black_win_rate",
    "selfplay/discarded",
    "learning/mean_abs_delta",
    "learning/alpha",
    *(f"weights/norm_{block}" for block in BLOCKS),
}
MEASURED = {"strength/elo", "strength/win_rate_random", *(f"occurrences/never_seen_{block}" for block in BLOCKS)}


# ---------------------------------------------------------------------------------------------
# The folder of a run
# ---------------------------------------------------------------------------------------------


def test_a_run_leaves_its_files(finished):
    config, result = finished
    assert result.folder == Path(config.run.out) / "tiny"
    names = {p.name for p in result.folder.iterdir()}
    events = {name for name in names if name.startswith("events.out.tfevents")}
    assert len(events) == 1
    expected = {"config.toml", "run.json", "state.npz", "checkpoints", "metrics.jsonl", "log.txt", "weights.npz"}
    assert names - events == expected | {"config.tfevents"}
    assert sorted(p.name for p in (result.folder / "checkpoints").iterdir()) == [f"{n:012d}.npz" for n in (100, 200)]
    assert list(Path(config.run.out).iterdir()) == [result.folder]


def test_the_config_can_be_run_again(finished):
    config, result = finished
    assert load_config(result.folder / "config.toml") == config


def test_the_weights_are_those_of_the_learner(finished):
    config, result = finished
    weights = load_weights(result.folder / "weights.npz", 5)
    assert weights.theta.tobytes() == result.weights.theta.tobytes()
    assert (weights.games, weights.komi, weights.value) == (300, 0.5, "logistic")
    assert weights.features.name == "5x5 1x1+2x2 LI+LD"
    assert weights.provenance["seed"] == config.run.seed
    # Logging and measuring in between change nothing: one call to a learner of the same seed does the same.
    learner = make_learner(config, np.random.SeedSequence(config.run.seed).spawn(2)[0])
    learner.learn(300)
    assert weights.theta.tobytes() == learner.theta.tobytes()


def test_metrics(finished):
    _, result = finished
    points = metrics(result.folder)
    logs, strengths = [p for p in points if "learning/alpha" in p], [p for p in points if "learning/alpha" not in p]
    assert [p["games"] for p in points] == sorted(p["games"] for p in points)
    assert [p["games"] for p in logs] == [50, 100, 150, 200, 250, 300]
    assert [p["games"] for p in strengths] == [100, 200, 300]
    for p in logs:
        assert set(p) == {"games", *LOGGED}
        assert p["speed/games_per_s"] > 0
        assert 10 < p["selfplay/game_length"] <= 75
        assert 0 <= p["selfplay/black_win_rate"] <= 1
        assert 0 < p["learning/mean_abs_delta"] < 0.5
        # alpha of the last game before the point: 0.1 - 0.09 game / 300.
        assert p["learning/alpha"] == pytest.approx(0.1 - 0.09 * (p["games"] - 1) / 300)
    # An earlier self is the snapshot of half the games ago, if there is one.
    earlier = "strength/win_rate_earlier_self"
    assert [set(p) - {"games"} for p in strengths] == [MEASURED, MEASURED | {earlier}, MEASURED | {earlier}]
    for block in result.weights.features.blocks:
        norm = np.linalg.norm(result.weights.block(block))
        assert logs[-1][f"weights/norm_{block.name}"] == pytest.approx(float(norm), rel=1e-5)
    assert set(result.strength) == {"random", "earlier_self"}
    assert "100 games" in result.strength["earlier_self"].opponent
    for name, strength in result.strength.items():
        low, high = strength.ci95
        assert strengths[-1][f"strength/win_rate_{name}"] == strength.win_rate
        assert strength.games == 40
        assert low <= strength.win_rate <= high
        assert low < high


def test_metrics_count_what_was_played(finished):
    config, result = finished
    learner = make_learner(config, np.random.SeedSequence(config.run.seed).spawn(2)[0])
    for p in (p for p in metrics(result.folder) if "learning/alpha" in p):
        tally = learner.learn(50)
        assert p["selfplay/discarded"] == tally.discarded
        assert p["selfplay/game_length"] == pytest.approx(tally.moves / tally.games)
        assert p["selfplay/black_win_rate"] == pytest.approx(tally.black_wins / tally.games)
        assert p["learning/mean_abs_delta"] == pytest.approx(tally.error / tally.moves)


def test_tensorboard_reads_the_same_numbers(finished):
    event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    _, result = finished
    reader = event_accumulator.EventAccumulator(str(result.folder), size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    assert set(reader.Tags()["scalars"]) == LOGGED | MEASURED | {"strength/win_rate_earlier_self"}
    points = metrics(result.folder)
    for name in reader.Tags()["scalars"]:
        expected = [(p["games"], pytest.approx(p[name], rel=1e-5)) for p in points if name in p]
        assert [(e.step, e.value) for e in reader.Scalars(name)] == expected


def test_run_json_says_how_it_came_about(finished):
    config, result = finished
    run = json.loads((result.folder / "run.json").read_text("utf-8"))
    assert run["seed"] == config.run.seed
    assert (run["python"], run["numpy"]) == (platform.python_version(), np.__version__)
    assert {"rlgo", "numba", "commit", "command", "started", "machine", "seconds"} <= set(run)
    assert (result.folder / "config.toml").read_text("utf-8").startswith(run["config"])
    assert run["strength"]["random"]["win_rate"] == result.strength["random"].win_rate


def test_the_log_names_what_to_do_next(finished):
    _, result = finished
    log = (result.folder / "log.txt").read_text("utf-8")
    assert "300 games in" in log
    assert f"{100 * result.strength['random'].win_rate:.1f} % (" in log
    assert f"rlgo weights show {result.folder / 'weights.npz'}" in log


# ---------------------------------------------------------------------------------------------
# Seeds, and what makes a player stronger
# ---------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_weights(finished, tmp_path):
    config, result = finished

    def theta(name: str, **run) -> bytes:
        again = dataclasses.replace(config, run=dataclasses.replace(config.run, out=str(tmp_path), name=name, **run))
        return train(again, progress=False).weights.theta.tobytes()

    # Whatever is logged and measured, and whenever.
    assert theta("same", log_every=300, eval_every=0) == result.weights.theta.tobytes()
    assert theta("other", seed=2) != result.weights.theta.tobytes()


@pytest.mark.parametrize(("size", "komi"), [(5, 0.5), pytest.param(9, 7.5, marks=pytest.mark.slow)])
def test_training_makes_players_stronger(size, komi):
    papers = {"learning": {"alpha": 0.1}, "policy": {"epsilon": 0.1}}
    config = tiny(Path("nowhere"), board={"size": size, "komi": komi}, run={"games": 3_000}, **papers)
    learner = make_learner(config, 1)
    learner.learn(300)
    early = learner.theta.copy()
    learner.learn(2_700)
    against = {"random": np.zeros_like(early), "its early self": early}
    rates = {
        name: float(play_fast(learner.features, learner.theta, theta, 400, 1, komi).scores.mean())
        for name, theta in against.items()
    }
    assert rates["random"] > 0.9
    assert rates["its early self"] > 0.5


# ---------------------------------------------------------------------------------------------
# What goes wrong
# ---------------------------------------------------------------------------------------------


def test_a_folder_that_holds_a_run(finished):
    config, result = finished
    before = contents(result.folder)
    with pytest.raises(RlgoError, match=r"tiny: already contains a run; expected another name"):
        train(config, progress=False)
    assert contents(result.folder) == before


def test_a_folder_under_a_file(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RlgoError, match=r"file.tiny: expected a folder that can be written: .*file is a file"):
        train(tiny(tmp_path / "file"), progress=False)
    assert contents(tmp_path) == {str(tmp_path / "file"): b"in the way"}


@pytest.mark.process
def test_divergence_names_the_step_size(tmp_path):
    # In its own process: compiled self-play with broken weights could not be stopped from here.
    path = tmp_path / "diverging.toml"
    path.write_text(to_toml(tiny(tmp_path, learning={"alpha": 100.0, "value": "linear", "normalise": "none"})))
    command = [sys.executable, "-m", "rlgo", "train", str(path)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert found.returncode == 2
    assert "diverged" in found.stderr.splitlines()[-1]
    assert "learning.alpha than 100" in found.stderr.splitlines()[-1]
    assert "resume" not in found.stderr  # it would diverge again
    assert "Traceback" not in found.stderr


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    interrupt(monkeypatch, at=100)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(tmp_path), progress=False)
    weights = load_weights(tmp_path / "tiny" / "weights.npz")
    assert 100 <= weights.games < 300
    assert f"interrupted after {weights.games} games" in capsys.readouterr().err
    log = (tmp_path / "tiny" / "log.txt").read_text("utf-8")
    assert f"rlgo train --resume {tmp_path / 'tiny'}" in log
    assert signal.getsignal(signal.SIGINT) is before
    resume(tmp_path / "tiny", progress=False)
    assert [point["games"] for point in metrics(tmp_path / "tiny") if "speed/games_per_s" in point] == [
        50, 100, 150, 200, 250, 300,
    ]  # fmt: skip


@pytest.mark.parametrize("at", [120, 150])  # 150 is logged, but not measured
def test_a_run_may_end_where_it_was_interrupted(at, tmp_path, monkeypatch):
    """With the measurements of a run's end."""
    interrupt(monkeypatch, at=at)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(tmp_path), progress=False)
    games = load_weights(tmp_path / "tiny" / "weights.npz").games
    monkeypatch.undo()
    result = resume(tmp_path / "tiny", games=games, progress=False)
    assert result.weights.games == games
    assert set(result.strength) >= {"random"}
    last = metrics(tmp_path / "tiny")[-1]
    assert last["games"] == games
    assert last["strength/elo"] == result.elo
    assert json.loads((tmp_path / "tiny" / "run.json").read_text("utf-8"))["elo"] == result.elo


def test_a_run_starts_from_weights_of_its_own_kind(finished, tmp_path):
    _, result = finished
    file = result.folder / "weights.npz"
    with pytest.raises(RlgoError, match=r"expected weights of a linear value function, as learning\.value says"):
        train(tiny(tmp_path, run={"start": str(file)}, learning={"value": "linear"}), progress=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_measurements_at_once_and_they_are_made_later(workers, tmp_path, monkeypatch):
    whole = train(tiny(tmp_path / "whole", run={"workers": workers, "merge_every": 25}), progress=False)
    measure = running.win_rates

    def press(config, folder, weights):
        if weights.games == 200:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1_000_000):  # never comes to its end
                pass
            raise AssertionError("the games went on")
        return measure(config, folder, weights)

    monkeypatch.setattr(running, "win_rates", press)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(tmp_path, run={"workers": workers, "merge_every": 25}), progress=False)
    folder = tmp_path / "tiny"
    assert load_weights(folder / "weights.npz").games == 200
    assert metrics(folder)[-1]["games"] == 150
    monkeypatch.setattr(running, "win_rates", measure)
    again = resume(folder, progress=False)
    assert (again.weights.theta == whole.weights.theta).all()
    assert again.strength == whole.strength
    points = [[{k: x for k, x in p.items() if "speed" not in k} for p in metrics(r.folder)] for r in (whole, again)]
    assert points[0] == points[1]


def test_ctrl_c_in_a_round_of_several_workers_goes_back_to_the_saved_state(tmp_path, monkeypatch, capsys):
    run = {"workers": 2, "merge_every": 25}
    whole = train(tiny(tmp_path / "whole", run=run), progress=False)
    learn = LearnWorker.learn

    def press(self, games, first):
        if first >= 150 and threading.current_thread() is not threading.main_thread():
            if first == 150:
                os.kill(os.getpid(), signal.SIGINT)  # the main thread handles it, whichever thread the system gives it
            while not self.stopped:
                time.sleep(0.001)
        return learn(self, games, first)

    monkeypatch.setattr(LearnWorker, "learn", press)
    monkeypatch.setattr(running, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(running, "LONG_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(tmp_path, run=run), progress=False)
    assert "interrupted after 150 games" in capsys.readouterr().err
    assert load_weights(tmp_path / "tiny" / "weights.npz").games == 150
    monkeypatch.setattr(LearnWorker, "learn", learn)
    assert (resume(tmp_path / "tiny", progress=False).weights.theta == whole.weights.theta).all()


def test_ctrl_c_in_a_short_round_waits_for_its_end(tmp_path, monkeypatch, capsys):
    learn = LearnWorker.learn

    def press(self, games, first):
        if first == 150:
            os.kill(os.getpid(), signal.SIGINT)
        return learn(self, games, first)

    monkeypatch.setattr(LearnWorker, "learn", press)
    monkeypatch.setattr(running, "LONG_SECONDS", 1e9)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(tmp_path, run={"workers": 2, "merge_every": 25}), progress=False)
    assert "interrupted after 200 games" in capsys.readouterr().err


def test_games_that_never_end_are_reported(tmp_path, capsys):
    result = train(tiny(tmp_path, policy={"max_moves": 5}), progress=False)
    assert not result.weights.theta.any()
    words = "50 games: none of the last 50 ended within 5 plies (policy.max_moves), so nothing was learned"
    assert words in capsys.readouterr().err


def test_nothing_goes_to_standard_output(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    train(tiny(tmp_path, run={"games": 20}), progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "20/20" in err
    assert "20 games in" in err


def test_a_folder_without_a_run_is_not_called_one(tmp_path: Path) -> None:
    config = tiny(tmp_path)
    (Path(config.run.out) / config.run.name).mkdir(parents=True)
    with pytest.raises(RlgoError, match="exists, but contains no run; expected another name"):
        train(config, progress=False)
