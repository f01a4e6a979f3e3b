"""A few trials of every stress test, each in a process of its own: they fork, start clusters and change settings."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import harness
import gtp_games
import pytest
import soak

pytestmark = pytest.mark.thorough
HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in HERE.glob("*.py") if "\nSTRESS_TEST = " in path.read_text("utf-8"))
TRIALS: dict[str, int] = {  # more than one where a single trial says little
    "bad_manners": 18, "flipped_bits": 140, "full_disk": 5, "races": 6, "rules_oracles": 3_000, "sgf_records": 2_000,
    "signals": 12, "web": 500, "web_tabs": 20,
}  # fmt: skip
SEEDS = {"gtp_games": 39}  # a game of a second a side
MARKS = {"kill_ray": pytest.mark.ray}


@pytest.mark.process
@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, ())) for name in NAMES if name != "soak"])
def test_a_few_trials(name: str, request: pytest.FixtureRequest) -> None:
    if name == "gtp_games":
        request.getfixturevalue("gnugo")
    if name == "kill_ray" and importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    argv = [sys.executable, str(HERE / f"{name}.py")]
    argv += ["--count", str(TRIALS.get(name, 1)), "--seed", str(SEEDS.get(name, 1))]
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(harness.ROOT)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith(f"{name}: ")


@pytest.mark.process
def test_a_soak_of_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "MINUTE", 1.0)
    assert harness.run(soak.STRESS_TEST, 1, seed=1, progress=False).failures == []


@pytest.mark.process
def test_a_soak_notices_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "MINUTE", 0.0)
    memory = iter((90.0, 150.0, 100.0, 130.0, 131.0))  # it may grow by a tenth and 20 MB from the third minute on
    files = iter((9.0, 9.0, 9.0, 14.0, 15.0))  # and by 5 files
    monkeypatch.setattr(soak, "_measure", lambda _: {"engine, MB": next(memory), "engine, open files": next(files)})
    tally = harness.run(soak.STRESS_TEST, 5, seed=1, progress=False)
    assert tally.kinds == {"warming up": 2, "flat": 2, "grown": 1}
    assert tally.failures == ["engine, MB from 100 to 131; engine, open files from 9 to 15"]


@pytest.mark.process
def test_a_gnugo_that_crashes_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gnugo: str) -> None:
    crashing = tmp_path / "gnugo"
    crashing.write_text(f'#!/bin/sh\nsed -u 16q | {gnugo} "$@"\nkill -SEGV $$\n')
    crashing.chmod(0o755)
    monkeypatch.setattr(gtp_games, "find_gnugo", lambda: str(crashing))
    monkeypatch.setattr(gtp_games, "SIZES", {9: 1})
    monkeypatch.setattr(gtp_games, "SPECS", ("greedy",))
    tally = harness.run(gtp_games.STRESS_TEST, 2, seed=1, progress=False)
    assert tally.failures == []
    assert tally.kinds == {"stopped: GNU Go crashed": 2}
