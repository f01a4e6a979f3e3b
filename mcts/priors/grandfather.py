"""Q_grand: the value of the same action two plies earlier. MC-RAVE paper, Section 5.1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcts.log_odds import logit
from mcts.tree import count, find_edge, mean
from rlgo.compiler.jit import njit
from rlgo.go.board import BLACK

AT_ONCE = True  # for a new node, since the values two plies earlier change


class Grandfather(NamedTuple):
    """The value of the same action two plies earlier, 1/2 if it has none.

    >>> import mcts
    >>> mcts.Stage(mcts.Grandfather()).prior
    Grandfather()
    """


@njit
def add_x(prior, node, before, b, tree, context, workspace):  # noqa: ARG001
    """Add x of each action; see `priors.add_x`."""
    grandparent, sign, x = before[0], 1.0 if b.to_play == BLACK else -1.0, workspace.path.x
    if grandparent < 0:
        return
    first = np.int64(tree.first_edge[node])
    for k in range(np.int64(tree.n_edges[node])):
        edge = find_edge(grandparent, np.int64(tree.move[first + k]), tree)
        if edge >= 0 and count(tree.mc_statistic[edge]) > 0.0:
            x[k] += sign * logit(mean(tree.mc_statistic[edge]))
