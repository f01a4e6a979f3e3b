"""`rlgo eval`: who plays whom, what comes out, and what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tiny_runs import interrupt_before_the_first_game

from rlgo.base.errors import RlgoError
from rlgo.features.conversion import without_sharing
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, load_weights, save_weights
from train.arena import rating_scale
from train.arena.elo import expected_score
from train.arena.rating_scale import RatingScale, load_rating_scale
from train.cli import main as cli
from train.config import Config, config_from_dict
from train.runs import evaluate as evaluating
from train.runs import strength
from train.runs.evaluate import Entrant, Evaluation, evaluate, pairs_of
from train.runs.run import train
from train.runs.strength import GNUGO_NAME

REFERENCES = list(load_rating_scale(5).players)


def config(out: Path, name: str, games: int, sizes: tuple[int, ...], **board: Any) -> Config:
    run = {"out": str(out), "name": name, "games": games, "log_every": 500, "eval_every": 0, "eval_games": 20}
    return config_from_dict({"run": run, "board": {"size": 5, "komi": 0.5, **board}, "features": {"sizes": [*sizes]}})


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with two runs, of 550 and of 200 games, one of them also below runs/, and what is neither."""
    out = tmp_path_factory.mktemp("runs")
    train(config(out, "long", 550, (1, 2)), progress=False)
    train(config(out, "short", 200, (1,)), progress=False)
    learned = load_weights(out / "long" / "weights.npz")
    save_weights(out / "unshared.npz", without_sharing(learned))
    save_weights(out / "komi.npz", Weights(learned.features, learned.theta, 1.5, games=550))
    save_weights(out / "six.npz", weights(6))
    (out / "damaged.npz").write_bytes((out / "long" / "weights.npz").read_bytes()[:-100])
    (out / "text").write_text("no weights")
    (out / "runs").mkdir()
    (out / "runs" / "below").symlink_to(out / "long")
    return out


def weights(size: int, first: float = 0.0, games: int = 0) -> Weights:
    theta = np.zeros(make_features(size, (1,)).n_weights + 1, np.float32)
    theta[1] = first
    return Weights(make_features(size, (1,)), theta, 0.5, games=games)


@pytest.fixture(scope="module")
def found(made) -> Evaluation:
    return evaluate([made / "long", made / "short"], games=200, progress=False)


# ---------------------------------------------------------------------------------------------
# Who plays whom
# ---------------------------------------------------------------------------------------------


def test_a_run_is_its_checkpoints_and_its_last_weights(found):
    ages = {"long": [100, 200, 500, 550], "short": [100, 200]}
    assert found.curves() == {run: [(n, f"{run} {n}") for n in games] for run, games in ages.items()}
    assert {p.name for p in found.ratings.players} - set(REFERENCES) == {
        f"{run} {n}" for run in ages for n in ages[run]
    }
    assert {p.name for p in found.ratings.players if p.anchor} == set(REFERENCES)


def test_weights_may_be_called_like_a_reference_player(tmp_path, monkeypatch):
    """Such as shipped weights, which are reference players themselves on 9x9."""
    monkeypatch.chdir(tmp_path)
    save_weights("random", weights(5))
    found = evaluate(["random"], games=2, progress=False)
    assert {p.name for p in found.ratings.players} == {"random (given)", *REFERENCES}
    assert {r.b for r in found.results} == set(REFERENCES)


def test_everybody_meets_the_scale_and_neighbours_and_ends_meet(found):
    runs = [["long 100", "long 200", "long 500", "long 550"], ["short 100", "short 200"]]
    expected = [{a, b} for run in runs for i, b in enumerate(run) for a in run[max(0, i - 3) : i]]
    expected += [{"long 550", "short 200"}]
    expected += [{name, rung} for run in runs for name in run for rung in REFERENCES]
    assert sorted(sorted([r.a, r.b]) for r in found.results) == sorted(map(sorted, expected))
    assert {r.games for r in found.results if r.b not in REFERENCES} == {200}


def test_a_file_meets_everybody():
    entrants = [Entrant("x 1", weights(5), "x"), Entrant("file", weights(5)), Entrant("x 2", weights(5), "x", True)]
    assert pairs_of(entrants) == [(0, 1), (0, 2), (1, 2)]
    run = [Entrant(str(i), weights(5), "x", i == 9) for i in range(10)]
    assert (0, 9) not in pairs_of(run)
    assert {(i, 10) for i in range(10)} <= set(pairs_of([*run, Entrant("file", weights(5))]))


def test_the_same_target_counts_once(made):
    file = made / "long" / "weights.npz"
    once = evaluate([file, str(file), made / "long" / ".." / "long" / "weights.npz"], games=2, progress=False)
    assert [e.name for e in once.entrants] == [str(file)]


def test_runs_of_one_name_are_told_apart(made, tmp_path):
    train(config(tmp_path, "short", 50, (1,)), progress=False)
    both = evaluate([made / "short", tmp_path / "short"], games=2, progress=False)
    assert list(both.curves()) == [str(made / "short"), str(tmp_path / "short")]


# ---------------------------------------------------------------------------------------------
# What comes out
# ---------------------------------------------------------------------------------------------


def test_ratings_are_those_behind_the_scores(tmp_path, monkeypatch):
    """Players of known strength, whose scores are exactly the expected ones."""
    true = {"a": 250.0, "b": 500.0, "c": 420.0}
    for name, elo in true.items():
        save_weights(tmp_path / f"{name}.npz", weights(5, elo, games=7))
    rungs = {"low": weights(5, 300), "high": weights(5, 450)}
    seeds = []

    def play(_features, theta_a, theta_b, games, seed, _komi, _openings):
        seeds.append((*seed.entropy, *seed.spawn_key))
        return SimpleNamespace(scores=np.full((games // 2, 2), expected_score(float(theta_a[1] - theta_b[1]))))

    monkeypatch.setattr(evaluating, "play_fast", play)
    monkeypatch.setattr(rating_scale, "play_fast", play)
    monkeypatch.setattr(
        evaluating, "load_rating_scale", lambda size: RatingScale(size, rungs, {"low": 300.0, "high": 450.0}, scatter=0)
    )
    found = evaluate([tmp_path / f"{name}.npz" for name in true], games=20_000, progress=False)
    for name, elo in true.items():
        rating = found.ratings[str(tmp_path / f"{name}.npz")]
        assert rating.elo == pytest.approx(elo, abs=2)
        assert rating.ci95[0] < rating.elo < rating.ci95[1]
    assert len(set(seeds)) == len(seeds) == 3 * 2 * 2 + 3  # openings of its own for each pair
    assert found.ratings["low"].elo == 300


def test_training_climbs(found):
    elo = found.ratings.elo
    assert elo["random"] < elo["long 100"] < elo["long 550"]


def test_other_features_play_the_same(made):
    """A value function without weight sharing is the same player."""
    shared, unshared = made / "long" / "weights.npz", made / "unshared.npz"
    found = evaluate([shared, unshared], games=1_000, progress=False)
    scores = {(r.a, r.b): r.score / r.games for r in found.results}
    assert scores[str(shared), str(unshared)] == pytest.approx(0.5, abs=0.05)
    assert scores[str(shared), "random"] == pytest.approx(scores[str(unshared), "random"], abs=0.1)
    assert scores[str(shared), "random"] > 0.7


@pytest.mark.usefixtures("gnugo")
def test_gnugo_plays_files_and_ends(made):
    found = evaluate([made / "short", made / "unshared.npz"], games=20, gnugo=2, progress=False)
    met = [(r.a, r.games) for r in found.results if r.b == GNUGO_NAME]
    assert met == [("short 200", 2), (str(made / "unshared.npz"), 2)]
    assert found.ratings[GNUGO_NAME].games == 4


# ---------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------


def test_the_command_prints_writes_and_draws(made, found, tmp_path, capsys):
    from matplotlib.image import imread

    files = {"--json": tmp_path / "eval.json", "--png": tmp_path / "eval.png"}
    options = [str(word) for pair in files.items() for word in pair]
    assert cli.main(["eval", str(made / "long"), str(made / "short"), "--games", "200", *options]) == 0
    out, _ = capsys.readouterr()
    assert out == f"{found}\n"
    assert "5x5, komi 0.5, 200 games a pair, seed 1" in out
    best = found.ratings["long 550"]
    line = next(line for line in out.splitlines() if best.name in line)
    assert f" {best.elo:.0f} " in line
    assert f" {best.games:.0f} " in line
    data = json.loads(files["--json"].read_text("utf-8"))
    assert [p["name"] for p in data["players"]] == [p.name for p in found.ratings.players]
    assert next(p for p in data["players"] if p["name"] == best.name)["ci95"] == list(best.ci95)
    assert [(p["a"], p["b"], p["score"]) for p in data["pairs"]] == [(r.a, r.b, r.score) for r in found.results]
    assert (data["games"], data["size"], data["komi"], data["seed"]) == (200, 5, 0.5, 1)
    assert data["selfplay_games"]["long 550"] == 550
    assert imread(files["--png"]).std() > 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.npz"], "none.npz: "),
        (["damaged.npz"], "damaged.npz: "),
        (["text"], "text: "),
        (["below"], "below: no such file or folder; did you mean runs/below?"),
        (["long", "--json", "x.png", "--png", "./x.png"], "--png x.png: expected another file than --json"),
        (["."], ".: expected the folder of a training run, or a weight file"),
        (["long", "six.npz"], "long 100 is for 5x5, six.npz for 6x6: expected the same board size"),
        (["long", "komi.npz"], "long 100 was trained with komi 0.5, komi.npz with 1.5: expected --komi"),
        (["long", "--games", "7"], "--games 7: expected an even number from 2 to 10,000,000"),
        (["long", "--gnugo", "3"], "--gnugo 3: expected an even number from 0 to 10,000,000"),
        (["long", "--games", "0"], "--games 0: expected an even number from 2 to 10,000,000"),
        (["long", "--png", "no/such/file"], "--png no/such/file: expected a file that can be written"),
        ([], "missing RUN|FILE"),
    ],
    ids=" ".join,
)
def test_refusals_are_one_line(made, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(made)
    assert cli.main(["eval", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rlgo: error: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(("module", "games", "rated"), [(rating_scale, 20, 1), (evaluating, 2, 6)])
def test_ctrl_c_shows_the_ratings_so_far(module, games, rated, made, found, monkeypatch, capsys):
    """As soon as everyone has met the reference players."""
    play, met = module.play_fast, []

    def press(*args):
        met.append(args)
        if len(met) > games:
            raise KeyboardInterrupt
        return play(*args)

    monkeypatch.setattr(module, "play_fast", press)
    if rated < len(found.entrants):
        with pytest.raises(KeyboardInterrupt):
            evaluate([made / "long", made / "short"], games=200, progress=False)
        assert f"interrupted after rating {rated} of {len(found.entrants)}: too few" in capsys.readouterr().err
    else:
        part = evaluate([made / "long", made / "short"], games=200, progress=False)
        assert part.interrupted
        several = len(found.entrants) * len(REFERENCES) + games
        assert [(r.a, r.b, r.score) for r in part.results] == [(r.a, r.b, r.score) for r in found.results[:several]]
        assert "Interrupted" in str(part)


def test_a_run_without_games(tmp_path, monkeypatch):
    interrupt_before_the_first_game(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        train(config(tmp_path, "new", 100, (1,)), progress=False)
    with pytest.raises(RlgoError, match="new: no checkpoint yet"):
        evaluate([tmp_path / "new"], progress=False)


def test_what_is_missing_is_reported_before_any_game(made, monkeypatch, tmp_path):
    monkeypatch.setattr(rating_scale, "play_fast", None)
    monkeypatch.setattr(strength, "has_gnugo", lambda: False)
    with pytest.raises(RlgoError, match="GNU Go is not installed"):
        evaluate([made / "long"], gnugo=2)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert cli.main(["eval", str(made / "long"), "--png", str(tmp_path / "eval.png")]) == 2
