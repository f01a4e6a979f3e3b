"""A RAVE bias for each kind of move, learned from the trees of a game. MC-RAVE paper, Section 4.6.2.

Start reading at `add_bias_evidence`. The paper suggests learning the bias b of equations 46 and 47 "by learning to
predict the error between the AMAF value and the MC value", which "could allow different biases to be identified for
different types of position". Here the type is the distance of a move to the last one.
"""

from __future__ import annotations

import numpy as np

from mcts.tree import NODE_BITS, count, mean
from rlgo.board import PASS
from rlgo.jit import inline, njit

MOVE_KINDS = 4
_VISITS_NEEDED = 50.0  # visits of either kind, priors aside, before an action counts as evidence


@inline
def kind_of(move, last, stride):
    """Return the kind of a move: 0 after or for a pass, 1 next to the last move, 2 two steps away, 3 farther."""
    if move == PASS or last == PASS:
        return 0
    rows = abs(move // stride - last // stride)
    columns = abs(move % stride - last % stride)
    farthest = max(rows, columns)
    return 1 if farthest <= 1 else (2 if farthest <= 2 else 3)


@njit(allocates=True)
def add_bias_evidence(tree, last, stride, settings, squares, counts):
    """Add up estimates of the squared RAVE bias b^2: (Q~ - Q)^2 less the variances of both means.

    last : the move that led to the root
    squares, counts : float64[MOVE_KINDS], added to; squares / counts estimates b^2 for each kind of move
    A part of the tree that is kept from move to move is counted each time. The means include priors; the required
    visits do not.
    """
    enough, enough_amaf = _VISITS_NEEDED + settings.prior_n, _VISITS_NEEDED + settings.prior_n_amaf
    n_nodes = tree.used[0] >> NODE_BITS
    last_of = np.zeros(n_nodes, np.uint16)  # the move that led to each node; parents come first
    last_of[0] = last
    for node in range(n_nodes):
        first = np.int64(tree.first_edge[node])
        for i in range(first, first + tree.n_edges[node]):
            if tree.child[i] >= 0:
                last_of[tree.child[i]] = tree.move[i]
            n, n_amaf = count(tree.mc_statistic[i]), count(tree.amaf_statistic[i])
            if n >= enough and n_amaf >= enough_amaf:
                q, q_amaf = mean(tree.mc_statistic[i]), mean(tree.amaf_statistic[i])
                kind = kind_of(np.int64(tree.move[i]), np.int64(last_of[node]), stride)
                squares[kind] += (q_amaf - q) ** 2 - q * (1.0 - q) / n - q_amaf * (1.0 - q_amaf) / n_amaf
                counts[kind] += 1.0


def learned_bias(squares: np.ndarray, counts: np.ndarray, bias: float) -> np.ndarray:
    """Return b for each kind of move, float64[MOVE_KINDS]; `bias` weighs as much as a hundred observations."""
    return np.sqrt(np.maximum((squares + 100 * bias**2) / (counts + 100), 1e-6))
