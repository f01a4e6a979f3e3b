"""Q_mogo: the candidates of MoGo's default policy. MC-RAVE paper, Section 5.1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rlgo.compiler.jit import njit
from rlgo.moves.rollout import list_ataris, mogo_candidates

_CERTAIN = 20.0  # log-odds of a value of 1, rounded


class Mogo(NamedTuple):
    """1 for the candidates of MoGo's default policy, else 1/2; the paper also has 0.

    >>> import mcts
    >>> mcts.Stage(mcts.Mogo()).prior
    Mogo()
    """


@njit
def add_x(prior, node, before, b, tree, context, workspace):  # noqa: ARG001
    """Add x of each action; see `priors.add_x`."""
    rollout, x = workspace.rollout, workspace.path.x
    list_ataris(b, rollout)
    n_good = mogo_candidates(b, context.default_policy, rollout, context.rules.patterns)
    first = np.int64(tree.first_edge[node])
    for k in range(np.int64(tree.n_edges[node])):
        for i in range(n_good):
            if rollout.moves[i] == tree.move[first + k]:
                x[k] += _CERTAIN
                break
