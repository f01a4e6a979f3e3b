"""RAVE: how the MC value and the AMAF value are combined, and how simulations update both. MC-RAVE paper, Section 4.

Start reading at `combine`, then `back_up`.
"""

from __future__ import annotations

import math

import numpy as np

from mcts.tree import NODE_BITS, add, count, mean, statistic
from rlgo.board import BLACK, PASS
from rlgo.jit import inline, njit

FLAT, MC, RAVE, MC_RAVE = 0, 1, 2, 3  # what an action is valued by, see `search.Settings`
HAND_SELECTED, MINIMUM_MSE, MINIMUM_MSE_EXACT = 0, 1, 2
SCHEDULES = {"hand_selected": HAND_SELECTED, "minimum_mse": MINIMUM_MSE, "minimum_mse_exact": MINIMUM_MSE_EXACT}


@inline
def combine(q, q_amaf, beta):
    """Q*(s, a) = (1 - beta) Q(s, a) + beta Q~(s, a) (equation 12)."""
    return (1.0 - beta) * q + beta * q_amaf


@inline
def hand_selected_beta(n_s, k):
    """beta = sqrt(k / (3 N(s) + k)): one half at N(s) = k, the equivalence parameter (equation 19)."""
    return math.sqrt(k / (3.0 * n_s + k))


@inline
def minimum_mse_beta(n, n_amaf, bias):
    """beta = n~ / (n + n~ + 4 n n~ b^2): it minimises the squared error where both means are near 1/2 (equation 47)."""
    return n_amaf / (n + n_amaf + 4.0 * n * n_amaf * bias * bias)


@inline
def exact_minimum_mse_beta(n, n_amaf, bias, mean):
    """beta = n~ / (n + n~ + n n~ b^2 / (mu (1 - mu))) (equation 46).

    mean : mu*, the combined value, for which the AMAF value stands in; kept off 0 and 1, where nothing is known of it
        yet, by one win and one loss more.
    """
    mu = (mean * n_amaf + 1.0) / (n_amaf + 2.0)
    return n_amaf / (n + n_amaf + n * n_amaf * bias * bias / (mu * (1.0 - mu)))


@inline
def beta_of(schedule, beta_s, n, n_amaf, q_amaf, bias):
    """The weight of the AMAF value: 0 without one, 1 without an MC value.

    beta_s : `hand_selected_beta` of the state, the same for all its actions
    """
    if schedule == HAND_SELECTED:
        beta = beta_s
    elif schedule == MINIMUM_MSE:
        beta = minimum_mse_beta(n, n_amaf, bias)
    else:
        beta = exact_minimum_mse_beta(n, n_amaf, bias, q_amaf)
    beta = 1.0 if n == 0.0 else beta
    return 0.0 if n_amaf == 0.0 else beta


@njit
def back_up(path, z, settings, tree):
    """Update every node of the path with the outcome z (equations 13 to 17).

    path : `search.path_dtype` record
    AMAF: for s_t, the moves u >= t of the colour to play in s_t, a_t among them. Of several plays at one point the
    first counts, whoever made it; what is no action of s_t (illegal there), and passes, do not count.
    """
    shared = settings.virtual_loss > 0
    won = statistic(1, z)
    for t in range(path.n_nodes):
        color = BLACK + (path.first_color - BLACK + t) % 2
        add(tree.mc, np.int64(path.edge[t]), won - virtual_loss(color, settings), shared)
        add(tree.n, np.int64(path.node[t]), 1 - settings.virtual_loss, shared)
    if settings.value < RAVE:
        return
    # From the end on, so that what stands in `first_played` is the first play at each point from s_t on.
    path.first_played[:] = 0
    u = np.int64(path.n_moves) - 1
    for t in range(path.n_nodes - 1, -1, -1):
        while u >= t:
            path.first_played[path.moves[u]] = BLACK + (path.first_color - BLACK + u) % 2
            u -= 1
        path.first_played[PASS] = 0
        color = BLACK + (path.first_color - BLACK + t) % 2
        node = np.int64(path.node[t])
        first = np.int64(tree.first[node])
        for i in range(first, first + np.int64(tree.n_edges[node])):
            if path.first_played[np.uint64(tree.move[i])] == color:
                add(tree.amaf, i, won, shared)


@inline
def virtual_loss(color, settings):
    """What a thread adds to an action of `color` on its way down, until the outcome is known: visits that are lost.

    It keeps the other threads from going the same way.
    """
    n = settings.virtual_loss
    return statistic(n, np.float64(n) if color != BLACK else 0.0)


# ---------------------------------------------------------------------------------------------
# A RAVE bias for each kind of move, learned from the tree
# ---------------------------------------------------------------------------------------------

KINDS = 4
_LEARN_FROM = 50.0  # visits of either kind that an action needs to teach


@inline
def kind_of(move, last, stride):
    """What kind of move, by its distance to the last one: 0 no last move, or a pass; 1 next to it; 2 near; 3 far."""
    if move == PASS or last == PASS:
        return 0
    rows = abs(move // stride - last // stride)
    columns = abs(move % stride - last % stride)
    farthest = max(rows, columns)
    return 1 if farthest <= 1 else (2 if farthest <= 2 else 3)


@njit(allocates=True)
def observe_bias(tree, last, stride, settings, squares, counts):
    """Add up what a tree tells of the squared RAVE bias B(s, a)^2 = (Q~ - Q)^2, less the variances of both means.

    last : the move that led to the root
    squares, counts : float64[KINDS], added to; squares / counts estimates b^2 of each kind
    What is kept from move to move is seen again; priors are part of the means, but not of the visits asked for.
    """
    enough, enough_amaf = _LEARN_FROM + settings.prior_n, _LEARN_FROM + settings.prior_n_amaf
    n_nodes = tree.used[0] >> NODE_BITS
    last_of = np.zeros(n_nodes, np.uint16)  # the move that led to each node; parents come first
    last_of[0] = last
    for node in range(n_nodes):
        first = np.int64(tree.first[node])
        for i in range(first, first + tree.n_edges[node]):
            if tree.child[i] >= 0:
                last_of[tree.child[i]] = tree.move[i]
            n, n_amaf = count(tree.mc[i]), count(tree.amaf[i])
            if n >= enough and n_amaf >= enough_amaf:
                q, q_amaf = mean(tree.mc[i]), mean(tree.amaf[i])
                kind = kind_of(np.int64(tree.move[i]), np.int64(last_of[node]), stride)
                squares[kind] += (q_amaf - q) ** 2 - q * (1.0 - q) / n - q_amaf * (1.0 - q_amaf) / n_amaf
                counts[kind] += 1.0


def learned_bias(squares: np.ndarray, counts: np.ndarray, bias: float) -> np.ndarray:
    """b of each kind, float64[KINDS]: what was observed, and `bias` as if it had been observed a hundred times."""
    return np.sqrt(np.maximum((squares + 100 * bias**2) / (counts + 100), 1e-6))
