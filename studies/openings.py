"""Replay claims of strength with random and with balanced openings: `python studies/openings.py FOLDER`.

FOLDER keeps the games; the same command continues where it was interrupted, and `--table` only prints the table. Each
claim is a match of 200 games with each kind of openings, the first two of 400. Searches count simulations, so that
results do not depend on the load of the machine. Results: results/openings/.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from pathlib import Path
from typing import NamedTuple

from rlgo.base.files import make_folder, write_atomically
from train.arena.match import MatchResult, play_match
from train.console import markdown
from train.stats import clustered_interval, in_percent

RESULTS = Path(__file__).resolve().parents[1] / "results" / "openings"
KINDS = ("random:4", "balanced")


class Claim(NamedTuple):
    """A claim of strength: A beats B."""

    name: str
    words: str
    a: str
    b: str
    seed: int
    games: int = 200


_SIMS = "sims=100"
_BEST = "mc_rave_patterns"  # in the raw results, it is called rlgo, as it was then
_AT_100 = f"{_BEST},{_SIMS}"
_OLD = "heuristic_mc_rave"
CLAIMS = [
    Claim("predecessor", f"`{_BEST}` beats `{_OLD}`", f"{_BEST},sims=200", f"{_OLD},sims=200", 9401, 400),
    Claim("leaf_values", "values of leaves", f"{_BEST},sims=200", f"{_BEST},leaf_value=0,sims=200", 9402, 400),
    Claim("liberties", "liberties", _AT_100, f"{_BEST},weights=9x9-100M,{_SIMS}", 9404),
    Claim("liberties_greedy", "liberties, one ply", "greedy,weights=9x9-liberties-5M", "greedy", 9405),
    Claim("patterns", "patterns", _AT_100, f"{_BEST},heuristic=rlgo,{_SIMS}", 9403),
    Claim("simulations", "twice the simulations", _AT_100, f"{_BEST},sims=50", 9409),
    Claim("heuristic", "a prior", f"{_OLD},{_SIMS}", f"mc_rave,{_SIMS}", 9406),
    Claim("rave", "RAVE", f"mc_rave,{_SIMS}", f"uct,c=0.4,{_SIMS}", 9407),
    Claim("dyna2", "a long-term memory", f"dyna2,{_SIMS}", f"td_search,{_SIMS}", 9408),
    Claim("threads", "two threads, as many simulations", f"{_BEST},workers=2,{_SIMS}", _AT_100, 9410),
]


def path_of(claim: Claim, kind: str) -> Path:
    """Return the file of a match."""
    return RESULTS / f"{claim.name}-{kind.partition(':')[0]}.json"


def play(claim: Claim, kind: str, folder: Path) -> MatchResult:
    """Play the rest of a match, and write its result."""
    games = folder / f"{claim.name}-{kind.partition(':')[0]}.jsonl"
    result = play_match(claim.a, claim.b, claim.games, seed=claim.seed, openings=kind, results=games)
    if result.interrupted:
        sys.exit(130)
    write_atomically(path_of(claim, kind), f"{json.dumps(result.to_json(), indent=1)}\n".encode())
    return result


def row(claim: Claim) -> list[str] | None:
    """Return the row of a claim in the table; None until both matches have been played."""
    if not all(path_of(claim, kind).is_file() for kind in KINDS):
        return None
    cells, sharpness = [], []
    for kind in KINDS:
        scores = json.loads(path_of(claim, kind).read_text("utf-8"))["scores"]
        mean = sum(map(sum, scores)) / sum(map(len, scores))
        low, high = clustered_interval(scores)
        split = sum(sum(opening) == 1 for opening in scores) / len(scores)
        cells += [in_percent(mean, (low, high)), f"{split:.0%}"]
        is_decided = not low <= 0.5 <= high
        sharpness.append(((mean - 0.5) / (high - low)) ** 2 if is_decided else math.nan)
    worth = sharpness[1] / sharpness[0]
    return [claim.words, f"{claim.games}", *cells, "" if math.isnan(worth) else f"{worth:.2f}"]


def table() -> str:
    """Return the table of all claims that have been played."""
    header = ["claim", "games each", "random", "split", "balanced", "split", "games worth"]
    return markdown([header, *filter(None, map(row, CLAIMS))])


def main(arguments: list[str]) -> None:
    """Play all matches, or print the table."""
    if arguments[:1] != ["--table"]:
        folder = Path(arguments[0])
        make_folder(folder)
        make_folder(RESULTS)
        for claim, kind in itertools.product(CLAIMS, KINDS):
            if not path_of(claim, kind).is_file():
                print(play(claim, kind, folder), flush=True)
    print(table())


if __name__ == "__main__":
    main(sys.argv[1:])
