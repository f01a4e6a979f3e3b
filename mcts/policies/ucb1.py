"""UCT: Monte-Carlo values with the upper confidence bound UCB1. MC-RAVE paper, Sections 2.4 and 2.5.

Start reading at `ucb1`; docs/plain/uct.py is a whole search with it in plain Python.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mcts.policies.values import CONFIDENCE, EXPLORATION, FIRST_PLAY_URGENCY, take_values
from mcts.tree import count, mean
from rlgo.compiler.jit import inline, njit
from rlgo.go.board import BLACK


class Ucb1(NamedTuple):
    """The mean outcome of an action, Q(s, a), plus a bonus for exploration; without one, greedy Monte-Carlo.

    >>> import mcts
    >>> mcts.ALGORITHMS["uct"].policy.c
    1.0
    """

    c: EXPLORATION = 0.0
    first_play_urgency: FIRST_PLAY_URGENCY = 0.5
    prior_n: CONFIDENCE = 0


@inline
def ucb1(q, n, log_n_s, c):
    """Q+(s, a) = Q(s, a) + c sqrt(log N(s) / N(s, a)) (equation 7).

    q : Q(s, a) for the colour to play, float in [0, 1]
    n : N(s, a) > 0
    log_n_s : log N(s)
    c : exploration constant
    """
    return q + c * math.sqrt(log_n_s / n)


@njit
def select(policy, node, color, tree, workspace):  # noqa: ARG001  # it needs no scratch
    """Return the edge with the highest value for the colour to play, the first of equal ones.

    Edges are in random order, so the first is a random one.
    """
    first = np.int64(tree.first_edge[node])
    n_s = np.float64(tree.node_visits[node])
    log_n_s = math.log(n_s) if policy.c > 0.0 and n_s > 1.0 else 0.0
    best, choice = -np.inf, np.int64(0)
    for k in range(np.int64(tree.n_edges[node])):
        word = tree.mc_statistic[np.uint64(first + k)]
        n, value = count(word), policy.first_play_urgency
        if n > 0.0:
            q = mean(word)
            value = ucb1(q if color == BLACK else 1.0 - q, n, log_n_s, policy.c)
        if value > best:
            best, choice = value, k
    return first + choice


@njit
def take_prior(policy, node, had, color, tree, path, shared):
    """Take H = sigma(x) as the outcome of C visits."""
    take_values(node, had, (policy.prior_n, 0), color, tree, path, shared)
