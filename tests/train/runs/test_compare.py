"""`rlgo compare`: games between two runs, now and at equal ages, and differences of their configs."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest

from rlgo.base.errors import RlgoError
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, export_w, load_weights, save_weights
from rlgo.learning.fast_games import joined
from train.arena.fast import play_weights
from train.arena.match import play_match
from train.cli import main as cli
from train.config import config_from_dict
from train.runs import compare as comparing
from train.runs.compare import Comparison, compare
from train.runs.run import current_weights, train
from train.stats import clustered_interval


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Three runs of 5x5: `a`; `b`, longer and bolder; `ones`, of fewer features."""
    out = tmp_path_factory.mktemp("runs")
    for name, games, alpha, sizes in (("a", 500, 0.1, [1, 2]), ("b", 600, 0.3, [1, 2]), ("ones", 500, 0.1, [1])):
        run = {"name": name, "out": str(out), "games": games, "log_every": 100, "eval_every": 0, "eval_games": 10}
        data = {"run": run, "board": {"size": 5, "komi": 0.5}, "features": {"sizes": sizes}}
        train(config_from_dict({**data, "learning": {"alpha": alpha}}), progress=False)
    return out


@pytest.fixture(scope="module")
def found(runs) -> Comparison:
    return compare(runs / "a", runs / "b", games=100, seed=3, progress=False)


def test_the_last_weights_meet_as_in_a_fast_match(runs, found):
    specs = [f"greedy,weights={runs / name / 'weights.npz'}" for name in "ab"]
    match = play_match(*specs, games=100, size=5, komi=0.5, seed=3, fast=True)
    assert (found.last.win_rate, found.last.ci95) == (match.win_rate, match.ci95)
    assert (found.last.games_a, found.last.games_b) == (500, 600)
    assert match.win_rate not in (0, 0.5, 1)


def test_they_meet_at_equal_ages(runs, found):
    assert [(p.games_a, p.games_b) for p in found.curve] == [(n, n) for n in (100, 200, 500)]
    at = [load_weights(runs / name / "checkpoints" / f"{200:012d}.npz") for name in "ab"]
    scores = joined(play_weights(*at, 5, 100, seed=3, komi=0.5)).scores
    assert found.curve[1].win_rate == scores.mean()
    assert found.curve[1].ci95 == clustered_interval(scores.tolist())
    assert len({p.win_rate for p in found.curve}) > 1


def test_what_differs(found):
    assert found.differences == {"run.games": (500, 600), "learning.alpha": (0.1, 0.3)}


def test_a_run_and_itself(runs):
    same = compare(runs / "a", runs / "a", games=100, progress=False)
    assert {p.win_rate for p in [*same.curve, same.last]} == {0.5}
    # The last weights are those of the last checkpoint: they meet once.
    assert [p.games_a for p in same.curve] == [100, 200]
    assert "no known differences between their settings" in str(same)


def test_a_file_stands_in_for_a_run(runs, found):
    file = runs / "b" / "weights.npz"
    against = compare(runs / "a", file, games=100, seed=3, progress=False)
    assert [(p.games_a, p.games_b) for p in against.curve] == [(100, 600), (200, 600)]
    assert against.last == found.last
    # It knows its whole config.
    assert against.differences == found.differences
    assert compare(file, file, games=100, progress=False).curve == []


def test_a_file_without_a_config_tells_what_it_can(runs, found, tmp_path):
    weights = load_weights(runs / "ones" / "weights.npz")
    bare = dataclasses.replace(weights, provenance={}, komi=1.5)
    save_weights(tmp_path / "bare.npz", bare)
    against = compare(tmp_path / "bare.npz", runs / "a", games=20, progress=False)
    assert against.differences == {"board.komi": (1.5, 0.5), "features.sizes": ([1], [1, 2])}
    assert against.komi == 1.5
    assert "komi 1.5, as in A's training; B was trained with komi 0.5" in str(against)
    export_w(tmp_path / "b.w", load_weights(runs / "b" / "weights.npz"))
    again = compare(runs / "a", tmp_path / "b.w", games=100, seed=3, progress=False)
    assert again.last.win_rate == found.last.win_rate
    assert again.differences == {"board.komi": (0.5, 7.5)}


def test_a_run_at_work_shows_its_state(runs, tmp_path):
    """Without weights.npz, and with half a line in its log."""
    for name in ("config.toml", "run.json", "state.npz"):
        (tmp_path / name).write_bytes((runs / "a" / name).read_bytes())
    (tmp_path / "metrics.jsonl").write_bytes((runs / "a" / "metrics.jsonl").read_bytes() + b'{"games": 5')
    weights = current_weights(tmp_path)
    assert weights.theta.tobytes() == load_weights(runs / "a" / "weights.npz").theta.tobytes()
    assert weights.games == 500
    now = compare(tmp_path, runs / "a", games=20, progress=False)
    assert [point["games"] for point in now.a.metrics] == [point["games"] for point in now.b.metrics]


def test_the_command(runs, found, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(runs)
    png, file = tmp_path / "c.png", tmp_path / "c.json"
    argv = ["compare", "a", "b", "--games", "100", "--seed", "3"]
    assert cli.main([*argv, "--json", str(file), "--png", str(png)]) == 0
    out = capsys.readouterr().out
    low, high = found.last.ci95
    assert f"500           600   {found.last.win_rate:.1%} ({low:.1%}-{high:.1%})   their last weights" in out
    assert "learning.alpha  0.1  0.3" in out
    data = json.loads(file.read_text("utf-8"))
    assert data["last"]["win_rate"] == found.last.win_rate
    assert [point["games_a"] for point in data["curve"]] == [100, 200, 500]
    assert data["differences"]["learning.alpha"] == [0.1, 0.3]
    assert png.read_bytes().startswith(b"\x89PNG")
    assert png.stat().st_size > 10_000

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert cli.main([*argv, "--png", str(png)]) == 2
    assert "pictures need matplotlib: pip install 'rlgo[plot]'" in capsys.readouterr().err


def test_what_cannot_be_compared(runs, tmp_path, capsys):
    (tmp_path / "junk.npz").write_bytes(b"junk")
    a = str(runs / "a")
    for argv, message in (
        ([a, "nowhere"], "nowhere: no such weight file; shipped weights: 13x13-1M, "),
        ([a, str(runs)], "expected the folder of a training run, or a weight file"),
        ([a, str(tmp_path / "junk.npz")], "junk.npz: not a weight file"),
        ([a, a, "--games", "3"], "--games 3: expected an even number"),
        ([a, a, "--png", str(tmp_path)], f"--png {tmp_path}: expected a file that can be written"),
    ):
        assert cli.main(["compare", *argv]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert message in err
        assert err.count("\n") == 1


def test_boards_of_two_sizes(runs, tmp_path):
    features = make_features(6, (1,))
    weights = load_weights(runs / "a" / "weights.npz")
    theta = weights.theta[: features.n_weights + 1].copy()
    save_weights(tmp_path / "six.npz", Weights(features, theta))
    with pytest.raises(RlgoError, match=r"is for 5x5, .*six.npz for 6x6: expected the same board size"):
        compare(runs / "a", tmp_path / "six.npz", progress=False)


def test_ctrl_c_keeps_the_points_that_are_finished(runs, found, monkeypatch):
    play, met = comparing.play_weights, []

    def press(*args, **kwargs):
        met.append(args)
        if len(met) == 3:
            raise KeyboardInterrupt
        return play(*args, **kwargs)

    monkeypatch.setattr(comparing, "play_weights", press)
    part = compare(runs / "a", runs / "b", games=100, seed=3, progress=False)
    assert (part.last, part.curve, part.interrupted) == (found.last, found.curve[:1], True)
    assert "interrupted: points are missing" in str(part)
    met[:] = [(), ()]
    with pytest.raises(KeyboardInterrupt):
        compare(runs / "a", runs / "b", games=100, progress=False)
