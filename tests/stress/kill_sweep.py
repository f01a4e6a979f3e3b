"""`kill -9` at random moments of a sweep, which is then started again."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

from harness import StressTest, main
from broken_runs import often, outcome
from kills import Broken, Variant, fork_fleets, trials_of

BASE = """
[run]
log_every = 50
eval_every = 0
eval_games = 10
[board]
size = 5
komi = 0.5
[features]
sizes = [1, 2]
"""
SWEEP = """
[sweep]
name = "some"
base = "base.toml"
games = 20
seeds = 2
[sweep.parameters]
learning.lambda = [0, 0.5]
[run]
games = 300
out = "out"
"""


def write(place: Path) -> list[str]:
    """Write a sweep of four runs; return its command."""
    (place / "base.toml").write_text(BASE, "utf-8")
    (place / "some.toml").write_text(SWEEP, "utf-8")
    return ["sweep", "some.toml", "--jobs", "2"]


def left(place: Path) -> Any:
    """Return what the runs left, and their ranks."""
    folder = place / "out" / "some"
    lines = [json.loads(line) for line in (folder / "sweep.jsonl").read_text("utf-8").splitlines()]
    if [line["state"] for line in lines] != ["finished"] * 4:
        raise Broken(f"{lines}")
    runs = {line["name"]: outcome(folder / line["name"]) for line in lines}
    for run in runs.values():
        run.pop("beside")
    return lines, runs, (folder / "table.md").read_text("utf-8")


STRESS_TEST = StressTest(
    "kill_sweep",
    "kill -9 at random moments of a sweep of four runs, then the same command",
    "runs bit-identical to those without kills, the same ranks, no run left running",
    unit="kills",
    count=300,
    trials=functools.partial(trials_of, {"four runs": Variant(write, left, faults=(fork_fleets, often))}),
)

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
