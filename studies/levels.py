"""Measure the levels of strength: `python studies/levels.py FOLDER SIZE` plays the matches on boards of one size.

It replaces those on that size in results/strength.json, or, with further arguments, those with these seeds. FOLDER
keeps the games; the same command continues where it was interrupted. On 9x9, GNU Go 3.8 must be installed. All searches
count simulations, so that results do not depend on the machine or its load; only the times do.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rlgo.base.files import make_folder, write_atomically
from rlgo.go.game import Game
from train.arena.match import play_match
from train.players import make_player
from train.players.levels import LEVELS
from train.provenance import commit

RESULTS = Path(__file__).resolve().parents[1] / "results" / "strength.json"
# The games of `mc_rave_patterns,sims=3000`, which is level 9; see docs/strength.md.
LEVEL_9, LEVEL_9_SIZE = RESULTS.with_name("rlgo_level_10_fade.json"), 9
GNUGO = {"GNU Go level 0": 0, "GNU Go level 10": 10}
TIMED = {9: 10, 19: 4}  # number of timed moves, by board size


class Pair(NamedTuple):
    """A match of two levels, or of a level and GNU Go."""

    a: str
    b: str
    games: int
    seed: int
    size: int = 9


PAIRS = [
    *(Pair(str(level), str(level + 1), 60, 9350 + level) for level in range(1, 10)),
    Pair("7", "GNU Go level 0", 60, 9370),
    *(Pair(str(level), str(level + 1), 60, 9380 + level, 13) for level in range(1, 10)),
    *(Pair(str(level), str(level + 1), 40, 9390 + level, 19) for level in range(1, 8)),
]


def spec_of(name: str) -> str:
    """Return the player of a level, or of GNU Go."""
    if name in GNUGO:
        return f"gtp:gnugo --mode gtp --level {GNUGO[name]} --chinese-rules --capture-all-dead --positional-superko"
    return f"rlgo,strength={name}"


def play(pair: Pair, folder: Path) -> dict[str, Any]:
    """Play the rest of a match, and return its result; `scores` has A's two games of every opening."""
    file = folder / f"{pair.seed}.jsonl"
    players = spec_of(pair.a), spec_of(pair.b)
    played = play_match(*players, pair.games, size=pair.size, seed=pair.seed, openings="random:4", results=file)
    if played.interrupted:
        sys.exit(130)
    games = sorted(map(json.loads, file.read_text("utf-8").splitlines()[1:]), key=lambda game: game["game"])
    won = [f"{game['z'] if game['black'] == spec_of(pair.a) else 1 - game['z']:g}" for game in games]
    openings = [first + second for first, second in zip(won[::2], won[1::2], strict=True)]
    result = {"won": played.wins, "forfeits": played.forfeits, "scores": " ".join(openings), "commit": commit()}
    return {**pair._asdict(), **result}


def counted_elsewhere() -> dict[str, Any]:
    """Return the match of level 9 against GNU Go level 10."""
    match = json.loads(LEVEL_9.read_text("utf-8"))
    openings = ["".join(f"{score:g}" for score in opening) for opening in match["scores"]]
    pair = Pair("9", "GNU Go level 10", match["games"], match["seed"])
    return {**pair._asdict(), "won": match["wins"], "forfeits": match["forfeits"], "scores": " ".join(openings)}


def seconds_a_move(level: int, size: int) -> float:
    """Return the mean processor time of a level's first moves against itself, in seconds on one core."""
    game, player = Game(size), make_player(f"rlgo,strength={level}", size, 1)
    player.warm_up()
    began = time.process_time()
    for _ in range(TIMED[size]):
        game.play(player.genmove(game))
    return round((time.process_time() - began) / TIMED[size], 5)


def record(result: dict[str, Any]) -> None:
    """Put the result of a match in place of an earlier one."""
    results, size = json.loads(RESULTS.read_text("utf-8")), result["size"]
    others = [pair for pair in results["pairs"] if (pair["size"], pair["seed"]) != (size, result["seed"])]
    results["pairs"] = sorted([*others, result], key=lambda pair: (pair["size"], pair["seed"]))
    _write(results)


def _write(results: dict[str, Any]) -> None:
    write_atomically(RESULTS, (json.dumps(results, indent=1) + "\n").encode())


def main(folder: Path, size: int, seeds: Sequence[int] = ()) -> None:
    """Play the matches on one board size, measure the times, and write the results, one after another.

    seeds : those of the matches to play; without any, all
    """
    make_folder(folder)
    for pair in PAIRS:
        if pair.size == size and (not seeds or pair.seed in seeds):
            record(play(pair, folder))
    if size == LEVEL_9_SIZE:
        record(counted_elsewhere())
    if size in TIMED:
        results = json.loads(RESULTS.read_text("utf-8"))
        results["levels"] = LEVELS
        times = {str(level): seconds_a_move(level, size) for level in LEVELS}
        results["seconds_a_move"][str(size)] = {**times, "commit": commit()}
        _write(results)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), [int(seed) for seed in sys.argv[3:]])
