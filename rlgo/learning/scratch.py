"""The private working memory of one thread: boards, shapes, records and random numbers.

Start reading at `Scratch`. Self-play, TD search, Dyna-2 and table look-up all use it. Between calls it keeps
the position that simulations start from, the last game played, the random state and the tally.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rlgo.base.ram import on_own_cache_lines
from rlgo.compiler.jit import make_rng
from rlgo.features.incremental import new_shapes
from rlgo.go.board import new_boards
from rlgo.learning.td import episode_dtype
from rlgo.moves.rollout import new_rollout


class Scratch(NamedTuple):
    """Scratch for play and simulation in one thread. A kernel starts from [0] and plays on a copy, [1]."""

    boards: np.ndarray  # `board_dtype`: the position to start from, and the one in play
    shapes: np.ndarray  # `shapes_dtype`: shapes[0] matches boards[0], shapes[1] matches boards[1]
    episode: np.record  # `td.episode_dtype`: the last game or simulation
    rollout: np.record  # `rollout.rollout_dtype`: state of the default policy
    rng: np.ndarray  # uint64[1], the state of the random numbers
    tally: np.record  # totals over the games or simulations


def make_scratch(
    size: int,
    tally_dtype: np.dtype,
    seed: int | np.random.SeedSequence,
    n_boards: int = 2,
    capacity: int = 0,
) -> Scratch:
    """Make the scratch of one thread for a board size and windows, with an empty tally of this type."""
    return Scratch(
        new_boards(n_boards, size),
        new_shapes(2, size, capacity),
        on_own_cache_lines(episode_dtype(size, capacity))[0],
        new_rollout(size),
        make_rng(seed),
        on_own_cache_lines(tally_dtype)[0],
    )


def clear_tally(tally: np.record) -> None:
    """Set all counts of a tally to 0."""
    for name in tally.dtype.fields or ():
        tally[name] = 0
