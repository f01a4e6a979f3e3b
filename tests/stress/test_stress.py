"""A few trials of every stress test, each in a process of its own: they fork, start clusters and change settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import harness
import pytest
import soak

pytestmark = pytest.mark.thorough
HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in HERE.glob("*.py") if "\nSTRESS_TEST = " in path.read_text("utf-8"))
# More than one where a single trial says little.
TRIALS = {"full_disk": 5, "rules_oracles": 3_000, "web": 500}
SEEDS = {"gtp_games": 39}  # a game of a second a side


@pytest.mark.process
@pytest.mark.parametrize("name", [name for name in NAMES if name != "soak"])
def test_a_few_trials(name: str, request: pytest.FixtureRequest) -> None:
    if name == "gtp_games":
        request.getfixturevalue("gnugo")
    argv = [sys.executable, str(HERE / f"{name}.py")]
    argv += ["--count", str(TRIALS.get(name, 1)), "--seed", str(SEEDS.get(name, 1))]
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(harness.ROOT)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith(f"{name}: ")


@pytest.mark.process
def test_a_soak_of_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "MINUTE", 1.0)
    assert harness.run(soak.STRESS_TEST, 1, seed=1, progress=False).failures == []
