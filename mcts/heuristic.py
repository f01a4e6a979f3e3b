"""Heuristic prior knowledge: H(s, a), and the confidences C and C~. MC-RAVE paper, Section 5, equations 48 to 52.

Start reading at `add_prior`. The handcrafted heuristics are in `handcrafted.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mcts.handcrafted import judge
from mcts.rave import KINDS
from mcts.tree import count, mean, statistic
from rlgo.board import BLACK, PASS
from rlgo.jit import inline, njit
from rlgo.rollout import list_ataris, mogo_candidates
from rlgo.settings import VALUES, Policy
from rlgo.shapes import Table, make_features
from rlgo.value import ValueFunction, gain_of, reset_gains, sigma, squash
from rlgo.weights import Weights

NO_HEURISTIC, EVEN, GRANDFATHER, MOGO, HANDCRAFTED, RLGO, BOTH, USER = 0, 1, 2, 3, 4, 5, 6, 7
HEURISTICS = {
    "none": NO_HEURISTIC,
    "even": EVEN,
    "grandfather": GRANDFATHER,
    "mogo": MOGO,
    "handcrafted": HANDCRAFTED,
    "rlgo": RLGO,
    "both": BOTH,
}
_MOST_CONFIDENT = 10.0  # times M
MOST_PRIOR = 100_000  # visits, of either kind: the counts of a whole node must stay far from their limit


class Knowledge(NamedTuple):
    """What is known of Go beforehand.

    table, value : the value function of Q_rlgo (`shapes.fuse`), and its kind
    policy : how the default policy LEARNED chooses by it
    bias : float64[rave.KINDS]: learned RAVE biases
    stride : of the board
    """

    table: Table
    value: int
    policy: Policy
    bias: np.ndarray
    stride: int


def knowledge_of(weights: Weights | None, size: int, policy: Policy, bias: float) -> Knowledge:
    """Knowledge from weights, or from none.

    bias : what the RAVE biases begin with
    """
    table, value = make_features(size, (3,), "none").table_of(np.zeros(1, np.float32)), "logistic"
    if weights is not None:
        table, value = weights.table(is_fused=True), weights.value
    return Knowledge(table, VALUES[value], policy, np.full(KINDS, bias), size + 1)


@njit
def add_prior(node, grandfather, b, settings, knowledge, default, patterns, tree, sh, r):
    """Initialise a new node: Q = Q~ = H, N = C, N~ = C~, for every action (equations 48 to 52).

    MOGO: the moves among which MoGo's default policy would choose are worth 1 to the player, all others 1/2
    HANDCRAFTED: see `handcrafted.judge`
    RLGO: V after the move, by weights: all moves in one pass over the position
    BOTH: RLGO with the handcrafted x added to phi . theta
    grandfather : the node of s_t-2, or -1
    sh, r : scratch
    """
    first, n = np.int64(tree.first[node]), np.int64(tree.n_edges[node])
    kind = settings.heuristic
    n_good = 0
    if kind == RLGO or kind == BOTH:
        reset_gains(b, sh, knowledge.table)
    elif kind == MOGO:
        list_ataris(b, r)
        n_good = mogo_candidates(b, default, r, patterns)
    sign = 1.0 if b.to_play == BLACK else -1.0
    for i in range(first, first + n):
        p = np.int64(tree.move[i])
        h = 0.5
        if kind == GRANDFATHER and grandfather >= 0:
            h = _value_there(grandfather, p, tree)
        elif kind == MOGO:
            for k in range(n_good):
                if r.moves[k] == p:
                    h = 0.5 + 0.5 * sign
        elif kind == HANDCRAFTED:
            h = sigma(sign * judge(b, p, patterns))
        elif kind == RLGO or kind == BOTH:
            gain = 0.0 if p == PASS else gain_of(b, sh, knowledge.table, p)
            if kind == BOTH:
                gain += judge(b, p, patterns)
            h = squash(knowledge.value, sh.x[0] + sign * gain)
            h = min(1.0, max(0.0, h))  # a linear V may lie outside
        n_amaf = confidence(h, settings)
        tree.mc[i] = statistic(settings.prior_n, settings.prior_n * h)
        tree.amaf[i] = statistic(n_amaf, n_amaf * h)
        tree.prior[i] = np.uint8(255.0 * h + 0.5)
    tree.n[node] = n * settings.prior_n
    if settings.widening > 0.0:
        sort_by_prior(node, b.to_play, tree)


@inline
def confidence(h, settings):
    """C~ = M; or, adapted, M / (4 H (1 - H)), at most 10 M.

    If H = sigma(x) and x is off by the same amount s everywhere, H is off by H (1 - H) s, as if it were the mean of
    1 / (H (1 - H) s^2) outcomes: Section 5 asks for a confidence by the variance of the heuristic.
    """
    m = np.float64(settings.prior_n_amaf)
    if settings.adapt_m:
        m = min(_MOST_CONFIDENT * m, m / max(4.0 * h * (1.0 - h), 1e-6), np.float64(MOST_PRIOR))
    return np.int64(m + 0.5)


@inline
def _value_there(node, p, tree):
    """Q(s, a) of a node, or 1/2 where it has none."""
    first = np.int64(tree.first[node])
    for i in range(first, first + tree.n_edges[node]):
        if tree.move[i] == p:
            return mean(tree.mc[i]) if count(tree.mc[i]) > 0.0 else 0.5
    return 0.5


@njit
def sort_by_prior(node, color, tree):
    """The actions that are best by H for the colour to play first; equal ones stay in their order."""
    first = np.int64(tree.first[node])
    sign = 1 if color == BLACK else -1
    for i in range(first + 1, first + tree.n_edges[node]):
        j = i
        while j > first and sign * (np.int64(tree.prior[j]) - np.int64(tree.prior[j - 1])) > 0:
            k = j - 1
            tree.mc[j], tree.mc[k] = tree.mc[k], tree.mc[j]
            tree.amaf[j], tree.amaf[k] = tree.amaf[k], tree.amaf[j]
            tree.move[j], tree.move[k] = tree.move[k], tree.move[j]
            tree.child[j], tree.child[k] = tree.child[k], tree.child[j]
            tree.prior[j], tree.prior[k] = tree.prior[k], tree.prior[j]
            j = k


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
