"""`kill -9` at random moments of a tournament, which is then started again."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

from harness import StressTest, main
from kills import Broken, Variant, trials_of
from stand_ins import SMALL_ENGINE

TOURNAMENT = """
[tournament]
name = "small"
kind = "{kind}"
size = 5
games = {games}
jobs = {jobs}
sgf = true
[players]
one = "random"
two = "random,seed=2"
three = "random,seed=3"
engine = "gtp:'{python}' -S -E engine.py"
"""


def tournament(kind: str, games: int, jobs: int = 1) -> Variant:
    """A tournament; what it leaves is its games and its ratings."""

    def write(place: Path) -> list[str]:
        (place / "engine.py").write_text(SMALL_ENGINE, "utf-8")
        text = TOURNAMENT.format(kind=kind, games=games, jobs=jobs, python=sys.executable)
        (place / "small.toml").write_text(text, "utf-8")
        return ["tournament", "small.toml", "--out", "out"]

    return Variant(write, left)


def left(place: Path) -> Any:
    """Return the games by number, and the ratings. Broken unless there is each game once."""
    folder = place / "out" / "small"
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text("utf-8").splitlines()[1:]]
    numbers = sorted(line["game"] for line in lines)
    if numbers != list(range(1, len(numbers) + 1)) or len(list((folder / "sgf").glob("*.sgf"))) != len(numbers):
        raise Broken(f"there are games {numbers}")
    moves = {line["game"]: (line["black"], line["white"], line["moves"], line["result"]) for line in lines}
    return moves, json.loads((folder / "ratings.json").read_text("utf-8")), (folder / "ratings.txt").read_bytes()


STRESS_TEST = StressTest(
    "kill_tournament",
    "kill -9 at random moments of a tournament, then the same command",
    "each game once, the same ratings as without kills, no engine left over",
    unit="kills",
    count=300,
    trials=functools.partial(
        trials_of,
        {
            "round robin": tournament("round_robin", 6),
            "Swiss": tournament("swiss", 20),
            "Swiss, two games at a time": tournament("swiss", 20, 2),
        },
    ),
)

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
