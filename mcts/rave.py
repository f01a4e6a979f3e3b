"""RAVE: how the MC value and the AMAF value are combined, and how simulations update both. MC-RAVE paper, Section 4.

Start reading at `combine`, then `back_up`.
"""

from __future__ import annotations

import math

import numpy as np

from rlgo.board import BLACK, PASS
from rlgo.jit import inline, njit

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
def beta_of(schedule, n_s, n, n_amaf, q_amaf, k, bias):
    """The weight of the AMAF value: 0 without one, 1 without an MC value."""
    if n_amaf == 0:
        return 0.0
    if n == 0:
        return 1.0
    if schedule == HAND_SELECTED:
        return hand_selected_beta(n_s, k)
    if schedule == MINIMUM_MSE:
        return minimum_mse_beta(np.float64(n), np.float64(n_amaf), bias)
    return exact_minimum_mse_beta(np.float64(n), np.float64(n_amaf), bias, q_amaf)


@njit
def back_up(path, z, uses_amaf, nodes, edges):
    """Update every node of the path with the outcome z (equations 13 to 17).

    path : `search.path_dtype` record
    AMAF: for s_t, the moves u >= t of the colour to play in s_t, a_t among them. Of several plays at one point the
    first counts, whoever made it; what is no action of s_t (illegal there), and passes, do not count.
    """
    for t in range(path.n_nodes):
        edge = edges[path.edge[t]]
        edge.n += 1
        edge.w += np.float32(z)
        nodes[path.node[t]].n += 1
    if not uses_amaf:
        return
    # From the end on, so that what stands in `first_played` is the first play at each point from s_t on.
    path.first_played[:] = 0
    u = np.int64(path.n_moves) - 1
    for t in range(path.n_nodes - 1, -1, -1):
        while u >= t:
            path.first_played[path.moves[u]] = BLACK + (path.first_color - BLACK + u) % 2
            u -= 1
        color = BLACK + (path.first_color - BLACK + t) % 2
        node = nodes[path.node[t]]
        for i in range(node.first, node.first + node.n_edges):
            p = edges[i].move
            if p != PASS and path.first_played[p] == color:
                edges[i].n_amaf += 1
                edges[i].w_amaf += np.float32(z)
