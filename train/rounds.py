"""Matches between the players of an experiment: a round robin, or a gauntlet.

Start reading at `run`. Every pair plays the same openings; the games of each are kept in a file, with which an
interrupted experiment goes on.
"""

from __future__ import annotations

import itertools
import re
import zlib
from typing import TYPE_CHECKING, Any

from train.findings import pair_line
from train.match import play_match

if TYPE_CHECKING:
    from train.experiment import Contestant, Experiment


def pairs(e: Experiment) -> list[tuple[Contestant, Contestant]]:
    """Who meets whom."""
    if e.settings.pairing == "round_robin":
        return list(itertools.combinations(e.contestants, 2))
    fixed = [c for c in e.contestants if c.x is None]
    return [(c, other) for c in e.contestants if c.x is not None for other in fixed]


def run(e: Experiment, jobs: int, progress: bool) -> list[dict[str, Any]]:
    """Play what is left, and return the raw results; see `experiment.run_experiment`."""
    s, folder = e.settings, e.folder / "games" / e.name
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for a, b in pairs(e):
        names = f"{a.name} {b.name}"
        file = folder / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', names)}-{zlib.crc32(names.encode()):08x}.jsonl"
        found = play_match(
            a.spec, b.spec, e.scaled(s.games), s.size, s.komi, s.seed, s.opening_plies, progress=progress, jobs=jobs,
            results=file,
        )  # fmt: skip
        if found.interrupted:
            raise KeyboardInterrupt
        lines.append(
            pair_line(
                a.name,
                b.name,
                found.scores,
                specs=[a.spec, b.spec],
                distinct=found.distinct,
                moves=round(found.mean_length, 1),
                forfeits=found.forfeits,
                seconds_of=[round(seconds, 3) for seconds in found.seconds],
                seconds=round(sum(found.seconds), 3),
                engines={k: v for k, v in found.versions.items() if k not in ("rlgo", "python", "numpy", "numba")},
            )
        )
    return lines
