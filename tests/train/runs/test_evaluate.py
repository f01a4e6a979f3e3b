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
from train.arena.elo import expected_score
from train.arena.rating_scale import RatingScale, load_rating_scale
from train.cli import main as cli
from train.config import Config, config_from_dict
from train.runs import evaluate as evaluating
from train.runs.evaluate import Evaluation, evaluate
from train.runs.run import current_weights
from train.runs.run import run as train

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


def test_a_run_is_its_checkpoints_and_its_last_weights(found):
    ages = {"long": [100, 200, 500, 550], "short": [100, 200]}
    assert {run: [point.games for point in curve] for run, curve in found.curves.items()} == ages
    assert {p.name for p in found.ratings.players} - set(REFERENCES) == {
        f"{run} @{n}" for run in ages for n in ages[run]
    }
    assert {p.name for p in found.ratings.players if p.anchor} == set(REFERENCES)
    # All meet the reference players, and the ends of the runs each other.
    assert {r.a for r in found.results if r.b in REFERENCES} == {f"{run} @{n}" for run in ages for n in ages[run]}
    (direct,) = [r for r in found.results if r.b not in REFERENCES]
    assert ({direct.a, direct.b}, direct.games) == ({"long @550", "short @200"}, 200)
    assert found.ratings["random"].elo < found.curves["long"][0].elo < found.curves["long"][-1].elo


def test_a_run_at_work_counts_as_it_was_last_saved(made, tmp_path):
    """Without weights.npz, and with half a line in its log."""
    for name in ("config.toml", "run.json", "state.npz"):
        (tmp_path / name).write_bytes((made / "long" / name).read_bytes())
    (tmp_path / "metrics.jsonl").write_bytes(b'{"games": 5')
    last = current_weights(tmp_path)
    assert last.theta.tobytes() == load_weights(made / "long" / "weights.npz").theta.tobytes()
    assert [point.games for point in evaluate(tmp_path, games=2, progress=False).curves[tmp_path.name]] == [550]


def test_weights_may_be_called_like_a_reference_player(tmp_path, monkeypatch):
    """Such as shipped weights, which are reference players themselves on 9x9."""
    monkeypatch.chdir(tmp_path)
    save_weights("random", weights(5))
    assert {p.name for p in evaluate("random", games=2, progress=False).ratings.players} == {"random @0", *REFERENCES}


def test_targets_are_told_apart(made, tmp_path):
    file = made / "long" / "weights.npz"
    once = evaluate([file, str(file), made / "long" / ".." / "long" / "weights.npz"], games=2, progress=False)
    assert list(once.curves) == [str(file)]
    train(config(tmp_path, "short", 50, (1,)), progress=False)
    both = evaluate([made / "short", tmp_path / "short"], games=2, progress=False)
    assert list(both.curves) == [str(made / "short"), str(tmp_path / "short")]


def test_ratings_are_those_behind_the_scores(tmp_path, monkeypatch):
    """Players of known strength, whose scores are exactly the expected ones."""
    true = {"a": 250.0, "b": 500.0, "c": 420.0}
    for name, elo in true.items():
        save_weights(tmp_path / f"{name}.npz", weights(5, elo, games=7))
    rungs = {"low": weights(5, 300), "high": weights(5, 450)}
    seeds = []

    def play(_features, theta_a, theta_b, games, seed, _komi, _openings):
        seeds.append((seed.entropy, *seed.spawn_key))
        scores = np.full((games // 2, 2), expected_score(float(theta_a[1] - theta_b[1])))
        yield SimpleNamespace(scores=scores)

    monkeypatch.setattr(evaluating, "play_slices", play)
    monkeypatch.setattr("train.arena.fast.joined", lambda parts: parts[0])
    monkeypatch.setattr(
        evaluating, "load_rating_scale", lambda size: RatingScale(size, rungs, {"low": 300.0, "high": 450.0}, scatter=0)
    )
    found = evaluate([tmp_path / f"{name}.npz" for name in true], games=20_000, progress=False)
    for name, elo in true.items():
        (point,) = found.curves[str(tmp_path / f"{name}.npz")]
        assert point.elo == pytest.approx(elo, abs=2)
        assert point.low < point.elo < point.high
    assert len(set(seeds)) == len(seeds) == 3 * 2 * 2 + 3  # openings of its own for each pair
    assert found.ratings["low"].elo == 300


def test_other_features_play_the_same(made):
    """A value function without weight sharing is the same player."""
    shared, unshared = (f"{made / 'long' / 'weights.npz'} @550", f"{made / 'unshared.npz'} @550")
    found = evaluate([made / "long" / "weights.npz", made / "unshared.npz"], games=1_000, progress=False)
    scores = {(r.a, r.b): r.score / r.games for r in found.results}
    assert scores[shared, unshared] == pytest.approx(0.5, abs=0.05)
    assert scores[shared, "random"] == pytest.approx(scores[unshared, "random"], abs=0.15)
    assert scores[shared, "random"] > 0.7


def test_the_command_prints_writes_and_draws(made, found, tmp_path, capsys, monkeypatch):
    from matplotlib.image import imread

    files = {"--json": tmp_path / "eval.json", "--png": tmp_path / "eval.png"}
    options = [str(word) for pair in files.items() for word in pair]
    assert cli.main(["eval", str(made / "long"), str(made / "short"), "--games", "200", *options]) == 0
    out, _ = capsys.readouterr()
    assert out == f"{found}\n"
    assert "5x5, komi 0.5, 200 games a pair, seed 1" in out
    best = found.ratings["long @550"]
    assert f" {best.elo:.0f} " in next(line for line in out.splitlines() if best.name in line)
    assert "of 200 games against" in out.splitlines()[-1]
    data = json.loads(files["--json"].read_text("utf-8"))
    assert [p["name"] for p in data["players"]] == [p.name for p in found.ratings.players]
    assert data["curves"]["long"] == [list(point) for point in found.curves["long"]]
    assert [(p["a"], p["b"], p["score"]) for p in data["pairs"]] == [(r.a, r.b, r.score) for r in found.results]
    assert (data["games"], data["size"], data["komi"], data["seed"]) == (200, 5, 0.5, 1)
    assert imread(files["--png"]).std() > 0.05
    monkeypatch.setattr(evaluating, "play_slices", None)  # before any game
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert cli.main(["eval", str(made / "long"), "--png", str(tmp_path / "eval.png")]) == 2
    assert "pictures need matplotlib: pip install 'rlgo[plot]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.npz"], "none.npz: "),
        (["damaged.npz"], "damaged.npz: "),
        (["text"], "text: "),
        (["below"], "below: no such file or folder; did you mean runs/below?"),
        (["long", "--json", "x.png", "--png", "./x.png"], "--png x.png: expected another file than --json"),
        (["."], ".: expected the folder of a training run, or a weight file"),
        (["long", "six.npz"], "long is for 5x5, komi 0.5, six.npz for 6x6, komi 0.5: expected the same board and komi"),
        (["long", "komi.npz"], "komi.npz for 5x5, komi 1.5: expected the same board and komi"),
        (["long", "--games", "7"], "--games 7: expected an even number from 2 to 10,000,000"),
        (["long", "--png", "no/such/file"], "--png no/such/file: expected a file that can be written"),
        (["long", "--gnugo=20"], "eval --gnugo is gone: "),
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


def test_a_run_without_games(tmp_path, monkeypatch):
    interrupt_before_the_first_game(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        train(config(tmp_path, "new", 100, (1,)), progress=False)
    with pytest.raises(RlgoError, match="new: no checkpoint yet"):
        evaluate([tmp_path / "new"], progress=False)
