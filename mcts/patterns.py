"""Learned patterns as a heuristic: from the probability of a move to its value.

Start reading at `weigh_moves`. The patterns themselves are in `rlgo/moves/patterns.py`. A search without patterns
compiles none of this: its `Knowledge` and its `Workspace` hold None instead.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rlgo.base.jit import njit
from rlgo.go.rules import n_points
from rlgo.moves.move_features import Study, new_study, study
from rlgo.moves.patterns import score_move

# x = _SCALE log (n P(a)) - _SHIFT. Of n moves, a uniform choice would have n P(a) = 1. Handcrafted values, too, predict
# the moves of games best when multiplied by about 2.5, and there any move costs as much as _SHIFT.
_SCALE = 0.4
_SHIFT = 0.4


class PatternScratch(NamedTuple):
    """Scratch of one thread.

    Attributes
    ----------
    study : the analysis of a position
    x : float64[P], the results of `weigh_moves` for the actions of a node
    """

    study: Study
    x: np.ndarray


def new_pattern_scratch(size: int) -> PatternScratch:
    """Make the scratch for one board size."""
    return PatternScratch(new_study(size), np.zeros(n_points(size)))


@njit
def weigh_moves(node, last_but_one, b, tree, strengths, scratch):
    """Compute x of each action of a node, such that H = sigma(x) is the value for the colour to play.

    last_but_one : the move before the one that led to the node, or PASS
    b : the position
    strengths, scratch : `rlgo.moves.patterns.Strengths` and `PatternScratch`; both None if the search has no patterns
    """
    if scratch is None:
        return
    study(b, scratch.study)
    first, n, x = np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node]), scratch.x
    highest = -np.inf
    for i in range(n):
        x[i] = score_move(b, np.int64(tree.move[first + i]), last_but_one, strengths, scratch.study)
        highest = max(highest, x[i])
    total = 0.0
    for i in range(n):
        total += math.exp(x[i] - highest)
    uniform = highest + math.log(total / n)
    for i in range(n):
        x[i] = _SCALE * (x[i] - uniform) - _SHIFT


@njit
def pattern_x(i, scratch):
    """Return x of action i of the node last passed to `weigh_moves`."""
    return 0.0 if scratch is None else scratch.x[np.uint64(i)]
