"""RAVE: combining the MC value with the AMAF value, and updating both. MC-RAVE paper, Section 4.

Start reading at `combine`, then `back_up`. Here n = N(s, a), n_amaf = N~(s, a), q = Q(s, a) and q_amaf = Q~(s, a).
"""

from __future__ import annotations

import math

import numpy as np

from mcts.settings import ActionValue, RaveSchedule
from mcts.tree import add, has_visit, statistic
from rlgo.compiler.jit import atomic_add, inline, inline_once
from rlgo.go.board import BLACK, PASS


@inline
def combine(q, q_amaf, beta):
    """Q*(s, a) = (1 - beta) Q(s, a) + beta Q~(s, a) (equation 12)."""
    return (1.0 - beta) * q + beta * q_amaf


@inline
def hand_selected_beta(n, k):
    """Beta = sqrt(k / (3 n + k)): one half at n = k, the equivalence parameter (equation 19).

    n : N(s), as printed; or N(s, a), since k is "the number of simulations at which the Monte-Carlo value and the AMAF
        value should be given equal weight", and they are values of an action
    """
    return math.sqrt(k / (3.0 * n + k))


@inline
def minimum_mse_beta(n, n_amaf, bias):
    """Beta = n~ / (n + n~ + 4 n n~ b^2): minimises the squared error where both means are near 1/2 (equation 47)."""
    return n_amaf / (n + n_amaf + 4.0 * n * n_amaf * bias * bias)


@inline
def minimum_mse_value(n, w, n_amaf, w_amaf, bias):
    """Q* with the beta of equation 47, multiplied out; w = n q and w_amaf = n~ q~ are sums of outcomes.

    One division instead of three, and no special case for n or n~ = 0. There must be a visit or an AMAF outcome.
    """
    s = 4.0 * bias * bias * n_amaf
    return (w + w_amaf + s * w) / (n + n_amaf + s * n)


@inline
def exact_minimum_mse_beta(n, n_amaf, bias, q_amaf):
    """Beta = n~ / (n + n~ + n n~ b^2 / (mu (1 - mu))) (equation 46).

    The AMAF value is used for mu, the mean of the combined value. One extra win and one extra loss keep it away from 0
    and 1, where early means often are.
    """
    mu = (q_amaf * n_amaf + 1.0) / (n_amaf + 2.0)
    return n_amaf / (n + n_amaf + n * n_amaf * bias * bias / (mu * (1.0 - mu)))


@inline
def action_value(settings, beta_s, n, q, n_amaf, q_amaf):
    """Return Q*(s, a) without a bonus, NaN for an action without statistics, and beta (EVAL).

    settings : `Settings`: the kind of value, the schedule and its parameters
    beta_s : `hand_selected_beta` of the state, which all its actions share
    q, q_amaf : any number where there are no visits
    """
    if settings.action_value == ActionValue.MC:
        return (q if n > 0.0 else math.nan), 0.0
    beta = beta_of(settings, beta_s, n, n_amaf, q_amaf)
    return (combine(q, q_amaf, beta) if n + n_amaf > 0.0 else math.nan), beta


@inline
def beta_of(settings, beta_s, n, n_amaf, q_amaf):
    """Return the weight of the AMAF value: 0 if there is none, 1 if there is no MC value, or it does not count."""
    if settings.action_value == ActionValue.RAVE:
        beta = 1.0
    elif settings.schedule == RaveSchedule.HAND_SELECTED:
        beta = beta_s
    elif settings.schedule == RaveSchedule.MINIMUM_MSE:
        beta = minimum_mse_beta(n, n_amaf, settings.rave_bias)
    elif settings.schedule == RaveSchedule.HAND_SELECTED_ACTION:
        beta = hand_selected_beta(n, settings.rave_k)
    else:
        beta = exact_minimum_mse_beta(n, n_amaf, settings.rave_bias, q_amaf)
    beta = 1.0 if n == 0.0 else beta
    return 0.0 if n_amaf == 0.0 else beta


@inline_once
def back_up(path, word, settings, tree):
    """Update the statistics along a simulation's path with its outcome z (Algorithm 2, BACKUP).

    path : record of `search.path_dtype`
    word : `statistic(1, z)`: one visit with this outcome, in place of the virtual losses of the descent. A word without
        a visit changes the outcome of a simulation that has been backed up: `change_of_outcome`.
    The AMAF values of s_t count the moves u >= t by the colour to play in s_t, a_t included (equations 16 and 17). If
    a simulation plays a point more than once, only the first move counts, by either colour (Section 4.3); with
    `amaf_own` the first by that colour, even if the other played there before (Algorithm 2). Passes and moves that
    were illegal in s_t, and so are not actions there, do not count.
    """
    shared = settings.virtual_loss > 0
    is_new = has_visit(word)
    # N(s_t), N(s_t, a_t) and Q(s_t, a_t) (equations 13 to 15); the virtual losses of the descent are taken back.
    for t in range(path.n_nodes):
        color = BLACK + (path.first_color - BLACK + t) % 2
        change = word - virtual_loss(color, settings) if is_new else word
        add(tree.mc_statistic, np.int64(path.edge[t]), change, shared)
        if is_new:
            add(tree.node_visits, np.int64(path.node[t]), 1 - settings.virtual_loss, shared)
    if settings.action_value < ActionValue.RAVE:
        return
    # N~(s_t, a_u) and Q~(s_t, a_u) (equations 16 and 17). As t goes backwards, `amaf` holds what to add for each colour
    # and point: the outcome if the first move there from s_t on was this colour's, else 0, to avoid unpredictable
    # branches.
    path.amaf[:] = 0
    u = np.int64(path.n_moves) - 1
    for t in range(path.n_nodes - 1, -1, -1):
        while u >= t:
            side = (path.first_color - BLACK + u) % 2  # 0: Black, 1: White
            p = np.uint64(path.moves[np.uint64(u)])
            path.amaf[np.uint64(side), p] = word
            if not settings.amaf_own:
                path.amaf[np.uint64(1 - side), p] = 0
            u -= 1
        to_play = np.uint64((path.first_color - BLACK + t) % 2)
        path.amaf[to_play, PASS] = 0
        node = np.int64(path.node[t])
        first = np.int64(tree.first_edge[node])
        for i in range(first, first + np.int64(tree.n_edges[node])):
            change = path.amaf[to_play, np.uint64(tree.move[np.uint64(i)])]
            if not shared:
                tree.amaf_statistic[np.uint64(i)] += change
            elif change != 0:
                atomic_add(tree.amaf_statistic, i, change)


@inline_once
def give_up(path, settings, tree):
    """Take back the virtual losses of a simulation that is not backed up after all."""
    for t in range(path.n_nodes):
        color = BLACK + (path.first_color - BLACK + t) % 2
        add(tree.mc_statistic, np.int64(path.edge[t]), -virtual_loss(color, settings), True)
        add(tree.node_visits, np.int64(path.node[t]), -settings.virtual_loss, True)


@inline
def virtual_loss(color, settings):
    """Return the virtual losses that steer other threads away from an action of `color` until its outcome is known.

    The thread that chose the action adds them on its way down and takes them back in `back_up`.
    """
    n = settings.virtual_loss
    return statistic(n, np.float64(n) if color != BLACK else 0.0)
