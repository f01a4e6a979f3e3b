"""Measure the levels of strength: `python studies/levels.py FOLDER SIZE` plays the matches on boards of one size.

It replaces those on that size in results/strength.json, or, with further arguments, those with these seeds. FOLDER
keeps the games; the same command continues where it was interrupted. GNU Go 3.8 must be installed. All searches count
simulations, so that results do not depend on the machine or its load.

    python studies/levels.py --try SIZE GAMES SPEC_A SPEC_B

plays A against B with other openings, and records nothing: with it, levels are set again for another network, as
docs/engine.md describes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rlgo.base.files import make_folder, write_atomically
from train.arena.match import play_match
from train.players.levels import STRENGTHS, spec_of_level

RESULTS = Path(__file__).resolve().parents[1] / "results" / "strength.json"
GNUGO = "gtp:gnugo --mode gtp --level 0 --chinese-rules --capture-all-dead --positional-superko"
PLAYERS = {"GNU Go level 0": GNUGO, "random": "random"}
GAMES = 40
OPENINGS = "random:4"
TRY_SEED = 1  # of matches that set levels; those that are counted have others


class Pair(NamedTuple):
    """A match of a level with the one below, with random play, or with GNU Go."""

    a: str
    b: str
    size: int
    seed: int


def pairs(size: int) -> list[Pair]:
    """Return the matches on one board size."""
    seed = 10_000 + 100 * size
    steps = [Pair(str(level), str(level - 1), size, seed + level) for level in STRENGTHS[1:]]
    return [Pair("1", "random", size, seed + 1), *steps, Pair("4", "GNU Go level 0", size, seed + 50)]


def spec_of(name: str) -> str:
    """Return the player of a level, or another one."""
    return PLAYERS.get(name, f"rlgo,strength={name}")


def play(pair: Pair, folder: Path) -> dict[str, Any]:
    """Play the rest of a match, and return its result; `scores` has A's two games of every opening."""
    file = folder / f"{pair.seed}.jsonl"
    players = spec_of(pair.a), spec_of(pair.b)
    played = play_match(*players, GAMES, size=pair.size, seed=pair.seed, openings=OPENINGS, results=file)
    if played.interrupted:
        sys.exit(130)
    openings = " ".join("".join(f"{score:g}" for score in opening) for opening in played.scores)
    result = {"games": played.games, "won": played.wins, "forfeits": played.forfeits, "scores": openings}
    return {**pair._asdict(), **result, "command": f"python studies/levels.py FOLDER {pair.size} {pair.seed}"}


def record(size: int, result: dict[str, Any]) -> None:
    """Put the result of a match in place of an earlier one, and note the levels that played."""
    results = json.loads(RESULTS.read_text("utf-8"))
    others = [pair for pair in results["pairs"] if (pair["size"], pair["seed"]) != (size, result["seed"])]
    results["pairs"] = sorted([*others, result], key=lambda pair: (pair["size"], pair["seed"]))
    results["levels"][str(size)] = [spec_of_level(level, size) for level in STRENGTHS]
    write_atomically(RESULTS, (json.dumps(results, indent=1) + "\n").encode())


def main(folder: Path, size: int, seeds: Sequence[int] = ()) -> None:
    """Play the matches on one board size, and write the results, one after another.

    seeds : those of the matches to play; without any, all
    """
    make_folder(folder)
    for pair in pairs(size):
        if not seeds or pair.seed in seeds:
            record(size, play(pair, folder))


if __name__ == "__main__":
    if sys.argv[1] == "--try":
        size, games, a, b = sys.argv[2:]
        print(play_match(a, b, int(games), size=int(size), seed=TRY_SEED, openings=OPENINGS))
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]), [int(seed) for seed in sys.argv[3:]])
