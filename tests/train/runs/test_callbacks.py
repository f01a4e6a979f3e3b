"""Callbacks of training runs: what they are told, when, and that they can end a run, which can then go on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import train
from rlgo.base.errors import RlgoError
from train.runs.run import resume
from train.runs.status import INTERRUPTED, find_runs, inspect, table

SETTINGS = ["board.size=5", "features.sizes=[1]", "run.games=30", "run.log_every=10", "run.eval_games=2"]


class Told(train.Callback):
    """Notes what it is told, and ends the run after some games."""

    def __init__(self, end: int = 1_000):
        self.end = end
        self.told: list[tuple[str, int]] = []

    def on_training_start(self, run):
        self.told.append(("start", run.learner.games))

    def on_step(self, run):
        self.told.append(("step", run.learner.games))
        run.record("mine/games", np.float32(run.learner.games))
        return run.learner.games < self.end

    def on_training_end(self, run):
        assert run.folder.weights.is_file()
        self.told.append(("end", run.learner.games))


def config_in(folder: Path, *more: str) -> train.load_config:
    return train.load_config("quick", [*SETTINGS, "run.eval_every=0", f"run.out={folder}", *more])


def logged(folder: Path) -> list[int]:
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [int(line["mine/games"]) for line in lines if "mine/games" in line]


def test_a_callback_is_told_of_all_pauses(tmp_path):
    told = Told()
    result = train.run(config_in(tmp_path), progress=False, callbacks=[told])
    assert told.told == [("start", 0), *(("step", n) for n in logged(result.folder)), ("end", 30)]
    assert {10, 20, 30} <= {*logged(result.folder)}


def test_a_callback_ends_a_run_which_goes_on_as_if_nothing_had_been(tmp_path):
    told = Told(end=20)
    result = train.run(config_in(tmp_path), progress=False, callbacks=[told, Told()])
    assert result.weights.games == 20
    assert told.told[-1] == ("end", 20)
    assert inspect(result.folder).state == INTERRUPTED
    whole = train.run(config_in(tmp_path, "run.name=whole"), progress=False)
    np.testing.assert_array_equal(resume(result.folder, progress=False).weights.theta, whole.weights.theta)


def test_a_function_is_no_callback(tmp_path):
    with pytest.raises(RlgoError, match=r"callbacks = .*: expected"):
        train.run(config_in(tmp_path), callbacks=[print])
    assert not list(tmp_path.iterdir())


def test_runs_are_found_by_their_tags(tmp_path):
    for name, tags in (("a", '["x", "y"]'), ("b", '["x"]'), ("c", "[]")):
        train.run(config_in(tmp_path, f"run.name={name}", f"run.tags={tags}", f"run.note={name} is first"), False)
    assert [run.path.name for run in find_runs(tmp_path, ["x"])] == ["a", "b"]
    assert [run.path.name for run in find_runs(tmp_path, ["y", "x"])] == ["a"]
    assert table(find_runs(tmp_path), tmp_path).splitlines()[1].endswith("  x y   a is first")
    assert "tags" not in table(find_runs(tmp_path / "c"), tmp_path)
    with pytest.raises(RlgoError, match="no run has the tags z; there are: x, y"):
        find_runs(tmp_path, ["z"])
    with pytest.raises(RlgoError, match=r"run\.tags"):
        config_in(tmp_path, 'run.tags=["x", "x"]')
    resume(tmp_path / "b", 31, progress=False)
    config = tmp_path / "b" / "config.toml"
    lines = config.read_text().replace("b is first", "changed").splitlines()[:-1]  # without the checksum
    config.write_text("\n".join(lines) + "\n")
    assert resume(tmp_path / "b", 32, progress=False).weights.games == 32
