"""The levels of strength of the player `rlgo`: what `strength=N` and `--strength N` stand for.

Levels count simulations, not seconds, so that they play alike on every machine. docs/engine.md says how strong they
are, and how to set them again for new networks; studies/levels.py measures them.
"""

from __future__ import annotations

from rlgo.base.resources import NO_NETWORK, nearest_size
from train.players.networks import NAMES

STRENGTHS = range(1, 11)
_SEES = (6, 3, 3, 1)  # captures of so many stones, by level
# By board: the temperatures of the lowest levels, and the simulations of all others.
LEVELS: dict[str, tuple[tuple[float, ...], tuple[int, ...]]] = {
    "9x9": ((2.0, 1.6, 1.3, 1.0), (5, 14, 38, 115, 700, 4_000)),
    "13x13": ((1.2, 1.0), (4, 10, 27, 52, 110, 270, 750, 2_200)),
    "19x19": ((0.85, 0.66), (8, 22, 46, 97, 205, 430, 900, 1_600)),
}


def spec_of_level(strength: int, size: int) -> str:
    """Return the spec of a level, from 1 to 10, on a board: that of the nearest board with levels of its own."""
    temperatures, simulations = LEVELS[nearest_size(size, LEVELS)]
    network = nearest_size(size, NAMES) if NAMES else NO_NETWORK
    if strength <= len(temperatures):
        return f"network,temperature={temperatures[strength - 1]},sees={_SEES[strength - 1]},network={network}"
    n = simulations[strength - len(temperatures) - 1]
    return f"rlgo,sims={n},network={network}" + (",network_after=1" if n < 500 else "")  # from the first simulation on
