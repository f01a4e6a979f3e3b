"""`kill -9` at random moments of an experiment, which is then started again."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

from harness import StressTest, main
from broken_runs import often
from kills import Broken, Variant, fork_fleets, trials_of

BASE = """
[run]
games = 250
log_every = 50
eval_every = 0
eval_games = 10
[board]
size = 5
komi = 0.5
[features]
sizes = [1, 2]
"""
CURVES = """
[experiment]
base = "base.toml"
games = 4
[runs.b]
learning.alpha = 0.02
[runs.a]
"""
GAMES = """
[experiment]
kind = "games"
pairing = "{pairing}"
games = 20
size = 5
komi = 0.5
[players]
chance = "random"
other = "random,seed=2"
[[series]]
label = "luck"
player = "random,seed={{x}}"
x = [5, 7]
"""
_TIMES = ("seconds", "seconds_of", "finished", "check")  # and the checksum of the line


def experiment(text: str) -> Variant:
    """An experiment; what it leaves is its raw results, and each of its games once."""

    def write(place: Path) -> list[str]:
        (place / "base.toml").write_text(BASE, "utf-8")
        (place / "tiny.toml").write_text(text, "utf-8")
        return ["experiment", "run", "tiny.toml", "--out", "out", "--results", "results", "--jobs", "1"]

    return Variant(write, left, faults=(fork_fleets, often))


def left(place: Path) -> Any:
    """Return the raw results without times. Broken if a game was played twice."""
    for path in place.glob("out/games/**/*.jsonl"):
        numbers = sorted(json.loads(line)["game"] for line in path.read_text("utf-8").splitlines()[1:])
        if numbers != list(range(1, len(numbers) + 1)):
            raise Broken(f"{path.name} has games {numbers}")
    lines = [json.loads(line) for line in (place / "results" / "tiny.jsonl").read_text("utf-8").splitlines()]
    return [{key: value for key, value in line.items() if key not in _TIMES} for line in lines]


STRESS_TEST = StressTest(
    "kill_experiment",
    "kill -9 at random moments of an experiment, then the same command",
    "each game once, the same raw results as without kills, no process left over",
    unit="kills",
    count=300,
    trials=functools.partial(
        trials_of,
        {
            "learning curves": experiment(CURVES),
            "round robin": experiment(GAMES.format(pairing="round_robin")),
            "Swiss": experiment(GAMES.format(pairing="swiss")),
        },
    ),
)

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
