"""Sizes of boards and games, and the rules with their constant tables for kernels.

Start reading at `Rules`.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from rlgo.base.checks import check
from rlgo.go.mogo_patterns import mogo_patterns

STRIP = 8  # points of a board array that kernels handle at once: one vector of float32


def n_points(size: int) -> int:
    """Return the length of a padded board array."""
    return (size + 1) * (size + 2) + 1


def padded_points(size: int) -> int:
    """Return the points of a board array, with room for strips and whole vectors."""
    return (n_points(size) + STRIP + 31) // 32 * 32


def most_moves(size: int) -> int:
    """Return the default cap on the moves of a game: 3 * size * size."""
    return 3 * size * size


def max_plies(size: int) -> int:
    """Return the maximum length of a recorded episode: 4 * size * size."""
    return 4 * size * size


def check_max_moves(max_moves: int, size: int, key: str = "max_moves") -> int:
    """Return the cap on a game's moves: `max_moves`, or `most_moves` for 0.

    Raises `RlgoError`, naming `key`, if a record cannot hold that many: 4 * size * size.
    """
    return check(key, max_moves, Annotated[int, Ge(0), Le(max_plies(size))]) or most_moves(size)


@cache
def zobrist(size: int) -> np.ndarray:
    """Return the Zobrist keys by colour and point, uint64[3, P]; they never change, so hashes can be stored."""
    keys = np.random.Generator(np.random.PCG64(20120521)).integers(
        1, 2**64 - 1, (3, n_points(size)), np.uint64, endpoint=True
    )
    keys[0] = 0  # empty points
    keys.flags.writeable = False
    return keys


class Rules(NamedTuple):
    """The rules of the game, with the constant tables needed to play by them."""

    komi: float
    patterns: np.ndarray  # uint8[65536], `mogo_patterns()`
    zobrist: np.ndarray  # uint64[3, P], `zobrist(size)`


def make_rules(size: int, komi: float) -> Rules:
    """Make the rules for one board size; komi in points."""
    return Rules(float(komi), mogo_patterns(), zobrist(size))
