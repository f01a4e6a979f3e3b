"""What tree policies by value share: prior knowledge as the outcomes of visits. MC-RAVE paper, equations 48 to 52.

Start reading at `take_values`.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np
from annotated_types import Ge, Le

from mcts.tree import NO_PRIOR, PRIOR_UNITS, add, statistic
from rlgo.base.checks import Key
from rlgo.base.settings import NonNegative
from rlgo.compiler.jit import njit
from rlgo.go.board import BLACK
from rlgo.learning.value import sigma

MOST_PRIOR = 100_000  # limit of C and C~: the counts of a node must stay in range

EXPLORATION: TypeAlias = Annotated[NonNegative, Key("Exploration constant of UCB1.", "exploration")]
FIRST_PLAY_URGENCY: TypeAlias = Annotated[
    NonNegative, Key("Value of an action without statistics, for its player.", aliases="fpu")
]
CONFIDENCE: TypeAlias = Annotated[
    int,
    Ge(0),
    Le(MOST_PRIOR),
    Key("C, the confidence in H as an MC value, in visits.", "heuristics", aliases="C"),
]


@njit
def take_values(node, had, confidences, color, tree, path, shared):
    """Initialise a node: Q = Q~ = H, N = C and N~ = C~ for each action, with H = sigma(x) (equations 48 to 52).

    Earlier outcomes are kept: H counts like C and C~ more outcomes. An earlier H is taken back as far as the tree still
    knows it, to 1 / PRIOR_UNITS.

    confidences : C and C~
    For the other parameters see `policies.take_prior`.
    """
    c, m = confidences
    sign = 1.0 if color == BLACK else -1.0
    first, n_edges = np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node])
    for k in range(n_edges):
        i = first + k
        h = sigma(sign * path.x[np.uint64(k)])
        before = tree.prior[i] * (1.0 / PRIOR_UNITS)
        change, change_amaf = statistic(c, c * h), statistic(m, m * h)
        if had != NO_PRIOR:
            change -= statistic(c, c * before)
            change_amaf -= statistic(m, m * before)
        if c > 0:
            add(tree.mc_statistic, i, change, shared)  # Q = H, N = C (48, 49)
        _add_amaf(tree.amaf_statistic, i, change_amaf, shared)  # Q~ = H, N~ = C~ = M (50, 51)
        tree.prior[i] = np.uint16(PRIOR_UNITS * h + 0.5)
    if had == NO_PRIOR:
        add(tree.node_visits, node, n_edges * c, shared)  # (52)


@njit
def _add_amaf(amaf_statistic, i, word, shared):
    if amaf_statistic is not None:
        add(amaf_statistic, i, word, shared)
