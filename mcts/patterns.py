"""Learned patterns as a heuristic: from the probability of a move to its value.

Start reading at `predict_moves`. The patterns themselves are in `rlgo/moves/patterns.py`. A search without patterns
compiles none of this: its `Knowledge` and its `Workspace` hold None instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcts.puct import action_x, to_log_policy
from rlgo.compiler.jit import njit
from rlgo.go.rules import n_points
from rlgo.moves.move_features import Study, new_study, study
from rlgo.moves.patterns import score_studied

# The scale and the shift of H (`Settings.policy_scale` and `policy_shift`) are 0.4: handcrafted values, too, predict
# the moves of games best when multiplied by about 2.5, and there any move costs as much as the shift.


class PatternScratch(NamedTuple):
    """Scratch of one thread.

    Attributes
    ----------
    study : the analysis of a position
    x : float64[P], the results of `predict_moves` or `weigh_moves` for the actions of a node
    """

    study: Study
    x: np.ndarray


def new_pattern_scratch(size: int) -> PatternScratch:
    """Make the scratch for one board size."""
    return PatternScratch(new_study(size), np.zeros(n_points(size)))


@njit
def predict_moves(node, last_but_one, b, tree, strengths, scratch):
    """Compute log P of each action of a node in `scratch.x`; return how many there are, 0 without patterns.

    last_but_one : the move before the one that led to the node, or PASS
    b : the position
    strengths, scratch : `rlgo.moves.patterns.Strengths` and `PatternScratch`; both None if the search has no patterns
    """
    if scratch is None:
        return 0
    study(b, scratch.study)
    first, n, x = np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node]), scratch.x
    score_studied(b, tree.move, (first, n), last_but_one, strengths, scratch.study, x)
    to_log_policy(x, n)
    return n


@njit
def weigh_moves(node, last_but_one, b, tree, strengths, scratch, settings):
    """Compute x of each action of a node, such that H = sigma(x) is the value for the colour to play.

    settings : `Settings`: the scale and the shift of H. For the other parameters see `predict_moves`.
    """
    if scratch is None:
        return
    n = predict_moves(node, last_but_one, b, tree, strengths, scratch)
    for i in range(n):
        scratch.x[i] = action_x(scratch.x[i], n, settings.policy_scale, settings.policy_shift)


@njit
def pattern_x(i, scratch):
    """Return x of action i of the node last passed to `weigh_moves`."""
    return 0.0 if scratch is None else scratch.x[np.uint64(i)]
