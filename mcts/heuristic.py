"""Heuristic prior knowledge: H(s, a), and the confidences C and C~. MC-RAVE paper, Section 5, equations 48 to 52.

Start reading at `add_prior`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rlgo.board import BLACK, PASS
from rlgo.jit import inline, njit
from rlgo.rollout import begin_rollout, mogo_candidates
from rlgo.value import ValueFunction, gain_of, rebuild, squash
from rlgo.weights import Weights

NO_HEURISTIC, EVEN, GRANDFATHER, MOGO, RLGO, USER = 0, 1, 2, 3, 4, 5
HEURISTICS = {"none": NO_HEURISTIC, "even": EVEN, "grandfather": GRANDFATHER, "mogo": MOGO, "rlgo": RLGO}


@njit
def add_prior(
    node, grandfather, b, kind, prior_n, prior_n_amaf, nodes, edges, sh, g, theta_bar, value, default, r, patterns
):
    """Initialise a new node: Q = Q~ = H, N = C (`prior_n`), N~ = C~ (`prior_n_amaf`), for every action.

    MOGO: the moves among which MoGo's default policy would choose are worth 1 to the player, all others 1/2
    RLGO: V after the move, by weights: all moves in one pass over the position
    grandfather : the node of s_t-2, or -1
    sh, g, theta_bar, value : scratch `Shapes`, geometry and table of the value function of Q_rlgo
    """
    first, n = np.int64(nodes[node].first), np.int64(nodes[node].n_edges)
    if kind == RLGO:
        rebuild(b, sh, g, theta_bar, theta_bar)
    n_good = 0
    if kind == MOGO:
        begin_rollout(b, r)
        n_good = mogo_candidates(b, default, r, patterns)
    sign = 1.0 if b.to_play == BLACK else -1.0
    for i in range(first, first + n):
        p = np.int64(edges[i].move)
        h = 0.5
        if kind == GRANDFATHER and grandfather >= 0:
            h = _value_there(grandfather, p, nodes, edges)
        elif kind == MOGO:
            for k in range(n_good):
                if r.moves[k] == p:
                    h = 0.5 + 0.5 * sign
        elif kind == RLGO:
            gain = 0.0 if p == PASS else gain_of(b, sh, g, theta_bar, p)
            h = squash(value, sh.x[0] + sign * gain)
            h = min(1.0, max(0.0, h))  # a linear V may lie outside
        edges[i].n = prior_n
        edges[i].w = np.float32(prior_n * h)
        edges[i].n_amaf = prior_n_amaf
        edges[i].w_amaf = np.float32(prior_n_amaf * h)
    nodes[node].n = n * prior_n


@inline
def _value_there(node, p, nodes, edges):
    """Q(s, a) of a node, or 1/2 where it has none."""
    first = np.int64(nodes[node].first)
    for i in range(first, first + nodes[node].n_edges):
        if edges[i].move == p:
            return np.float64(edges[i].w) / edges[i].n if edges[i].n > 0 else 0.5
    return 0.5


def q_rlgo(weights: Weights, boards: Sequence[np.record]) -> np.ndarray:
    """Q_rlgo of a batch of positions, for a tree search of one's own.

    Parameters
    ----------
    weights : a learned value function
    boards : board records of its size, for instance `Game.board`

    Returns
    -------
    float64[n, size * size + 1]: P(Black wins) after each move, rows from A1, then the pass; NaN where illegal.

    Raises
    ------
    RlgoError : for a board of another size.
    """
    value = ValueFunction(weights)
    return np.array([value.afterstates(board) for board in boards]).reshape(-1, value.size**2 + 1)
