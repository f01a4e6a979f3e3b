"""Fleets of runs: their names and folders, and the processes that train them."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tiny_runs import contents, edit, metrics, tiny

from rlgo.base.errors import RlgoError
from rlgo.base.machine import processors
from rlgo.features.weights import load_weights
from train.config import to_toml
from train.runs import fleet
from train.runs.fleet import CHILD, FAILED, RunSpec, RunStatus, check_folders, jobs_for, run_name, train_all
from train.runs.run import run as train
from train.runs.status import FINISHED, INTERRUPTED, inspect

pytestmark = [pytest.mark.usefixtures("sources"), pytest.mark.process]
SECONDS = 100  # for what takes two on a machine that has nothing else to do


def spec(out: Path, name: str = "one", **run: Any) -> RunSpec:
    """A short run; its base config stands in `out`."""
    base = out / "base.toml"
    base.write_text(to_toml(tiny(out, run={"name": "base", "eval_every": 0, "games": 150})), "utf-8")
    return RunSpec({}, tiny(out, run={"name": name, "eval_every": 0, "games": 150, **run}), str(base))


# ---------------------------------------------------------------------------------------------
# Names, folders, and how many at a time
# ---------------------------------------------------------------------------------------------


def test_names_tell_values_and_seed() -> None:
    values = {"learning.lambda_": 0.5, "features.sizes": (1, 2), "policy.kind": "epsilon_greedy"}
    assert run_name(values, 3) == "lambda-0.5_sizes-1-2_kind-epsilon-greedy_seed-3"
    assert run_name({}, 1, "my base") == "my-base_seed-1"


def test_long_names_stay_distinct() -> None:
    names = {run_name({f"learning.{'x' * 200}": value}, 1) for value in range(20)}
    assert len(names) == 20
    assert {len(name) for name in names} == {150}


def test_jobs_share_the_processors(tmp_path: Path) -> None:
    assert jobs_for([spec(tmp_path)]) == processors()
    assert jobs_for([spec(tmp_path), spec(tmp_path, workers=1_000)]) == 1


def test_a_folder_with_another_config_is_refused(tmp_path: Path) -> None:
    train(spec(tmp_path).config, progress=False)
    check_folders([spec(tmp_path)], "hint")
    with pytest.raises(
        RlgoError, match=r"one: already contains a run with run\.log_every = 50, expected 75; do that, or"
    ):
        check_folders([spec(tmp_path, log_every=75)], "do that")


# ---------------------------------------------------------------------------------------------
# Training
# ---------------------------------------------------------------------------------------------


def test_runs_end_as_if_trained_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [RunStatus(spec(tmp_path, name, seed=seed)) for name, seed in (("one", 1), ("two", 2))]
    train_all(runs, tmp_path, jobs=2, progress=False)
    assert [(run.state, run.games) for run in runs] == [(FINISHED, 150)] * 2
    for run in runs:
        elsewhere = dataclasses.replace(run.spec.config.run, out=str(tmp_path / "elsewhere"))
        alone = train(dataclasses.replace(run.spec.config, run=elsewhere), progress=False)
        assert load_weights(run.spec.folder.weights).theta.tobytes() == alone.weights.theta.tobytes()
        recorded = json.loads(run.spec.folder.run_json.read_text("utf-8"))["command"]
        words = ["rlgo", "train", str(tmp_path / "base.toml"), "--set", f'run.name="{run.spec.name}"']
        assert shlex.split(recorded)[:5] == words
    out, err = capsys.readouterr()
    assert out == ""
    assert "2 runs in" in err
    assert "[2/2] " in err
    # Again: nothing is left to do.
    before = contents(runs[0].spec.folder.path)
    again = [RunStatus(run.spec) for run in runs]
    train_all(again, tmp_path, jobs=2, progress=False)
    assert [run.state for run in again] == [FINISHED] * 2
    assert contents(runs[0].spec.folder.path) == before


def test_failures_are_recorded_and_stop_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = RunStatus(spec(tmp_path, "good"))
    bad = RunStatus(spec(tmp_path, "bad", start="nowhere.npz"))
    train_all([bad, good], tmp_path, jobs=1, progress=False)
    assert (bad.state, good.state) == (FAILED, FINISHED)
    assert bad.reason.startswith("nowhere.npz: ")
    assert f"[1/2] bad: failed: {bad.reason}" in capsys.readouterr().err
    assert bad.reason in (tmp_path / "logs" / "bad.txt").read_text("utf-8")


@pytest.mark.parametrize("exists", [True, False])
def test_a_run_that_another_process_takes_meanwhile_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    """Between the look at its lock, or at its folder, and the start of the process that is to train it."""
    run = RunStatus(spec(tmp_path))
    folder = run.spec.folder
    start = fleet.subprocess.Popen
    other = contextlib.ExitStack()

    def take_first(*arguments: Any, **keywords: Any) -> Any:
        monkeypatch.setattr(fleet.subprocess, "Popen", start)
        if not exists:
            train(dataclasses.replace(run.spec.config, run=shorter), progress=False)
            edit(folder.config, "games = 100\n", "games = 150\n")
        other.enter_context(folder.lock())
        return start(*arguments, **keywords)

    def say(text: str) -> None:
        told.append(text)
        if "waiting for it" in text:
            other.close()

    told: list[str] = []
    shorter = dataclasses.replace(run.spec.config.run, games=100)
    if exists:
        train(dataclasses.replace(run.spec.config, run=shorter), progress=False)
        edit(folder.config, "games = 100\n", "games = 150\n")
    monkeypatch.setattr(fleet.subprocess, "Popen", take_first)
    monkeypatch.setattr(fleet, "message", say)
    train_all([run], tmp_path, jobs=1, progress=False)
    assert (run.state, run.reason, run.games) == (FINISHED, "", 150)
    assert told[1] == f"{folder.path}: in use by another process; waiting for it"
    assert told[2].startswith("[1/1] one: 150 games")


# ---------------------------------------------------------------------------------------------
# The child process
# ---------------------------------------------------------------------------------------------


def begin(*argv: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", CHILD, *argv]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_a_child_saves_its_run_when_its_input_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(to_toml(tiny(tmp_path, run={"games": 10**9, "eval_every": 0})), "utf-8")
    process = begin("train", str(path))
    assert process.stderr is not None
    for line in process.stderr:
        if "run folder" in line:
            break
    out, err = process.communicate(timeout=SECONDS)  # closes its input
    assert (process.returncode, out) == (130, "")
    assert "resume with: " in err
    info = inspect(tmp_path / "tiny")
    assert info.state == INTERRUPTED
    assert load_weights(tmp_path / "tiny" / "weights.npz").games == info.games


def test_a_child_resumes(tmp_path: Path) -> None:
    path = tmp_path / "short.toml"
    path.write_text(to_toml(tiny(tmp_path, run={"games": 100, "eval_every": 0})), "utf-8")
    assert begin("train", str(path)).wait(SECONDS) == 0
    edit(tmp_path / "tiny" / "config.toml", "games = 100\n", "games = 200\n")
    assert begin("train", "--resume", str(tmp_path / "tiny")).wait(SECONDS) == 0
    assert metrics(tmp_path / "tiny")[-1]["games"] == 200


def test_a_child_reports_an_error_in_one_line(tmp_path: Path) -> None:
    process = begin("train", "--resume", os.fspath(tmp_path))
    assert process.stderr is not None
    err = process.stderr.read()  # its input stays open: closed, it would race with the error
    assert process.wait(SECONDS) == 2
    assert err == f"rlgo: error: {tmp_path}: expected the folder of a training run\n"
