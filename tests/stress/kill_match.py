"""`kill -9` at random moments of a match against an external engine, which is then started again."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

from harness import StressTest, main
from kills import Broken, Variant, trials_of
from stand_ins import SMALL_ENGINE

GAMES = 40


def match_with(jobs: int) -> Variant:
    """A match; what it leaves is its games and its result."""

    def write(place: Path) -> list[str]:
        (place / "engine.py").write_text(SMALL_ENGINE, "utf-8")
        engine = f"gtp:'{sys.executable}' -S -E engine.py"
        files = ["--results", "games.jsonl", "--json", "result.json", "--sgf", "sgf"]
        return ["match", "random", engine, "--size", "5", "--games", str(GAMES), "--jobs", str(jobs), *files]

    return Variant(write, left)


def left(place: Path) -> Any:
    """Return the games by number, and the result without times. Broken unless there is each game once."""
    lines = [json.loads(line) for line in (place / "games.jsonl").read_text("utf-8").splitlines()[1:]]
    numbers = sorted(line["game"] for line in lines)
    if numbers != list(range(1, GAMES + 1)):
        raise Broken(f"the file has games {numbers}")
    records = sorted(path.name for path in (place / "sgf").iterdir() if not path.name.startswith("."))
    result = json.loads((place / "result.json").read_text("utf-8"))
    moves = {line["game"]: (line["moves"], line["result"], line["forfeit"]) for line in lines}
    return moves, records, {**result, "seconds": None}


STRESS_TEST = StressTest(
    "kill_match",
    "kill -9 at random moments of a match, then the same command",
    "each game once, the same result as without kills, no engine left over",
    unit="kills",
    count=300,
    trials=functools.partial(trials_of, {"one game at a time": match_with(1), "two games at a time": match_with(2)}),
)

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
