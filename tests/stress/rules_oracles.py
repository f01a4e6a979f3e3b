"""The board against three rules oracles: a flood fill, OpenSpiel and GNU Go (`tests/oracles/programs.py`)."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any

from harness import Outcome, StressTest, main
from gnugo_program import find_gnugo
from oracles.programs import Flood, GnuGo, OpenSpiel, compare

SIZES = {5: 3, 9: 4, 13: 1, 19: 1}  # each with its weight


def play(oracle: Any, draw: random.Random) -> Iterator[Outcome]:
    """Compare one random game, position by position."""
    size = draw.choices(list(SIZES), list(SIZES.values()))[0]
    for n, (differs, record) in enumerate(compare(oracle, size, draw, draw.randrange(20, 3 * size * size))):
        yield Outcome(oracle.kind, failure=differs and f"{oracle.kind}, {size}x{size}, move {n}: {differs}: {record}")


def trials(draw: random.Random) -> Iterator[Outcome]:
    oracles: list[Any] = [Flood()]
    weights = [1]
    gnugo = find_gnugo()
    if gnugo is not None:
        oracles.append(GnuGo(gnugo))
        weights.append(2)
    try:
        import pyspiel

        oracles.append(OpenSpiel(pyspiel))
        weights.append(6)
    except ImportError:
        pass
    try:
        while True:
            yield from play(draw.choices(oracles, weights)[0], draw)
    finally:
        for oracle in oracles:
            if isinstance(oracle, GnuGo):
                oracle.process.close()


STRESS_TEST = StressTest(
    "rules_oracles", "random games, position by position, against a flood fill, OpenSpiel and GNU Go",
    "the same stones, captures and legal moves", unit="positions", count=1_000_000, trials=trials,
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
