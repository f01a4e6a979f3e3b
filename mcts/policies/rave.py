"""RAVE and MC-RAVE: the MC value combined with the AMAF value, and updating both. MC-RAVE paper, Section 4.

Start reading at `combine`, then `back_up_amaf`; docs/plain/mc_rave.py is a whole search with it in plain Python. Here n
= N(s, a), n_amaf = N~(s, a), q = Q(s, a) and q_amaf = Q~(s, a).
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from mcts.policies.ucb1 import ucb1
from mcts.policies.values import CONFIDENCE, EXPLORATION, FIRST_PLAY_URGENCY, MOST_PRIOR, take_values
from mcts.tree import count, mean_or_0, outcomes
from rlgo.base.checks import Choice, Key, needs
from rlgo.base.settings import NonNegative, Positive
from rlgo.compiler.jit import atomic_add, inline, njit
from rlgo.go.board import BLACK, PASS

HAS_AMAF = True


class Schedule(IntEnum):
    """How beta, the weight of the AMAF value, shrinks as visits add up (MC-RAVE paper, Sections 4.2 to 4.6).

    >>> import mcts
    >>> mcts.ALGORITHMS["rave"].policy.schedule == mcts.Schedule.AMAF
    True
    """

    HAND_SELECTED = 0  # equation 19, with `Rave.k`
    MINIMUM_MSE = 1  # equation 47, with `Rave.bias`
    MINIMUM_MSE_EXACT = 2  # equation 46, with `Rave.bias`
    HAND_SELECTED_ACTION = 3  # equation 19 with N(s, a) for N(s), the other reading of k (Section 4.5)
    AMAF = 4  # the AMAF value alone (Section 4.2)


SCHEDULES: dict[str, int] = {schedule.name.lower(): schedule for schedule in Schedule}
_BY_K = needs("schedule", "hand_selected", "hand_selected_action")
_BY_BIAS = needs("schedule", "minimum_mse", "minimum_mse_exact")


class Rave(NamedTuple):
    """MC and AMAF values combined, with the bonus of UCB1 if c is above 0 (UCT-RAVE).

    >>> import mcts
    >>> mcts.ALGORITHMS["mc_rave"].policy.bias
    0.02
    """

    c: EXPLORATION = 0.0
    first_play_urgency: FIRST_PLAY_URGENCY = 0.5
    schedule: Annotated[
        int,
        Choice(SCHEDULES),
        Key(
            "How MC and AMAF values are combined: with the least squared error, by `rave_bias`, or hand-selected, by "
            "`rave_k` and the visits of the position or, with hand_selected_action, of the move; amaf: the AMAF value "
            "alone.",
            "rave_schedule",
        ),
    ] = int(Schedule.MINIMUM_MSE)
    k: Annotated[
        Positive,
        Key(
            "k, the equivalence parameter.",
            "rave_k",
            name="rave_k",
            aliases="k",
            needs=_BY_K,
            implies={"schedule": "hand_selected"},
        ),
    ] = 10_000.0
    bias: Annotated[
        NonNegative,
        Key("b, the bias of AMAF values.", "rave_bias", name="rave_bias", aliases="bias", needs=_BY_BIAS),
    ] = 0.02
    amaf_own: Annotated[
        bool,
        Key("AMAF as in Algorithm 2: only a player's own earlier play at a point excludes it.", "rave_readings"),
    ] = False
    prior_n: CONFIDENCE = 0
    prior_n_amaf: Annotated[
        int, Ge(0), Le(MOST_PRIOR), Key("M (C~), the confidence in H as an AMAF value.", "heuristics", aliases="M")
    ] = 50


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
def action_value(policy, beta_s, n, q, n_amaf, q_amaf):
    """Return Q*(s, a) without a bonus, NaN for an action without statistics, and beta (EVAL).

    policy : `Rave`
    beta_s : `hand_selected_beta` of the state, which all its actions share
    q, q_amaf : any number where there are no visits
    """
    beta = beta_of(policy, beta_s, n, n_amaf, q_amaf)
    return (combine(q, q_amaf, beta) if n + n_amaf > 0.0 else math.nan), beta


@inline
def beta_of(policy, beta_s, n, n_amaf, q_amaf):
    """Return the weight of the AMAF value: 0 if there is none, 1 if there is no MC value, or it does not count."""
    if policy.schedule == Schedule.AMAF:
        beta = 1.0
    elif policy.schedule == Schedule.HAND_SELECTED:
        beta = beta_s
    elif policy.schedule == Schedule.MINIMUM_MSE:
        beta = minimum_mse_beta(n, n_amaf, policy.bias)
    elif policy.schedule == Schedule.HAND_SELECTED_ACTION:
        beta = hand_selected_beta(n, policy.k)
    else:
        beta = exact_minimum_mse_beta(n, n_amaf, policy.bias, q_amaf)
    beta = 1.0 if n == 0.0 else beta
    return 0.0 if n_amaf == 0.0 else beta


# ---------------------------------------------------------------------------------------------
# The tree policy
# ---------------------------------------------------------------------------------------------


@njit
def select(policy, node, color, tree, workspace):
    """Return the edge with the highest value for the colour to play, the first of equal ones.

    Edges are in random order, so the first is a random one.
    """
    values = workspace.path.x
    evaluate_actions(policy, node, tree, values)
    first = np.int64(tree.first_edge[node])
    n_s = np.float64(tree.node_visits[node])
    log_n_s = math.log(n_s) if policy.c > 0.0 and n_s > 1.0 else 0.0
    best, choice = -np.inf, np.int64(0)
    for k in range(np.int64(tree.n_edges[node])):
        value = values[np.uint64(k)]
        value = value if color == BLACK else 1.0 - value
        if policy.c > 0.0:
            # An action never taken has no bound; its AMAF value gets the bonus of one visit.
            n = max(count(tree.mc_statistic[np.uint64(first + k)]), 1.0)
            value = ucb1(value, n, log_n_s, policy.c)  # (18)
        value = policy.first_play_urgency if math.isnan(value) else value
        if value > best:
            best, choice = value, k
    return first + choice


@inline
def evaluate_actions(policy, node, tree, values):
    """Write to `values` the value of each action of a node for Black, NaN if unknown."""
    first, n_edges = np.uint64(tree.first_edge[node]), np.int64(tree.n_edges[node])
    if policy.schedule == Schedule.MINIMUM_MSE:
        for k in range(n_edges):  # the usual case has its own loop, so that it is vectorised
            mc, amaf = tree.mc_statistic[first + np.uint64(k)], tree.amaf_statistic[first + np.uint64(k)]
            values[np.uint64(k)] = minimum_mse_value(count(mc), outcomes(mc), count(amaf), outcomes(amaf), policy.bias)
        return
    beta_s = hand_selected_beta(np.float64(tree.node_visits[node]), policy.k)  # the same for all actions
    for k in range(n_edges):
        mc, amaf = tree.mc_statistic[first + np.uint64(k)], tree.amaf_statistic[first + np.uint64(k)]
        value, _ = action_value(policy, beta_s, count(mc), mean_or_0(mc), count(amaf), mean_or_0(amaf))
        values[np.uint64(k)] = value


@njit
def write_values(policy, statistics, values, betas):
    """Write Q* and beta of each of the root's m moves, as the tree policy computes them without a bonus, float64[m].

    statistics : (n, q, n_amaf, q_amaf), float64[m], priors included
    """
    n, q, n_amaf, q_amaf = statistics
    beta_s = hand_selected_beta(n.sum(), policy.k)
    for i in range(len(n)):
        values[i], betas[i] = action_value(policy, beta_s, n[i], q[i], n_amaf[i], q_amaf[i])


@njit
def take_prior(policy, node, had, color, tree, path, shared):
    """Take H = sigma(x) as the outcome of C visits and of C~ AMAF outcomes."""
    take_values(node, had, (policy.prior_n, policy.prior_n_amaf), color, tree, path, shared)


@njit
def back_up_amaf(policy, path, word, tree, shared):
    """Update N~(s_t, a_u) and Q~(s_t, a_u) along a simulation's path (Algorithm 2, BACKUP; equations 16 and 17).

    The AMAF values of s_t count the moves u >= t by the colour to play in s_t, a_t included. If a simulation plays a
    point more than once, only the first move counts, by either colour (Section 4.3); with `amaf_own` the first by that
    colour, even if the other played there before (Algorithm 2). Passes and moves that were illegal in s_t, and so are
    not actions there, do not count.
    """
    # As t goes backwards, `amaf` holds what to add for each colour and point: the outcome if the first move there from
    # s_t on was this colour's, else 0, to avoid unpredictable branches.
    path.amaf[:] = 0
    u = np.int64(path.n_moves) - 1
    for t in range(path.n_nodes - 1, -1, -1):
        while u >= t:
            side = (path.first_color - BLACK + u) % 2  # 0: Black, 1: White
            p = np.uint64(path.moves[np.uint64(u)])
            path.amaf[np.uint64(side), p] = word
            if not policy.amaf_own:
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
