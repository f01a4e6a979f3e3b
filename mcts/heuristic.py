"""Heuristic prior knowledge: H(s, a) with the confidences C and C~. MC-RAVE paper, Section 5, equations 48 to 52.

Start reading at `add_prior`. The handcrafted heuristic is in `handcrafted.py`, that of an evaluator in `waiting.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mcts.handcrafted import judge
from mcts.network_prior import ask_network, correct_value, network_x
from mcts.patterns import pattern_x, weigh_moves
from mcts.puct import policy_units, values_to_policy
from mcts.settings import Heuristic
from mcts.tree import PRIOR_UNITS, add, count, find_edge, mean, statistic
from rlgo.base.errors import RlgoError, shown
from rlgo.base.settings import VALUES, Policy
from rlgo.compiler.jit import apart, calls, compare_and_swap, inline, inline_once, njit, unpacked
from rlgo.features.incremental import reset_gains
from rlgo.features.shapes import Table, make_features
from rlgo.features.weights import Weights
from rlgo.go.board import BLACK, PASS
from rlgo.learning.value import ValueFunction, gain_of, sigma, squash
from rlgo.moves.patterns import Patterns, Strengths
from rlgo.moves.rollout import list_ataris, mogo_candidates
from rlgo.network.layers import Layers


class Knowledge(NamedTuple):
    """The prior knowledge of a search.

    Attributes
    ----------
    table, value : the value function of Q_rlgo, fused into 3x3 windows (`rewriting.fuse`), and its kind
    has_weights : whether there is one; a table without weights must not be looked up
    policy : how the default policy LEARNED chooses moves by that value function; None for other default policies
    patterns : the weights of learned patterns, or None
    network : the `Layers` of a network, or None
    """

    table: Table
    value: int
    has_weights: bool
    policy: Policy | None
    patterns: Strengths | None
    network: Layers | None = None


def knowledge_of(
    weights: Weights | None, patterns: Patterns | None, size: int, policy: Policy | None, network: Layers | None
) -> Knowledge:
    """Return the knowledge in `weights`, `patterns` and a network, if any."""
    table, value = make_features(size, (3,), "none").table_of(np.zeros(1, np.float32)), "logistic"
    if weights is not None:
        table, value = weights.table(is_fused=True), weights.value
    strengths = None if patterns is None else patterns.strengths()
    return Knowledge(table, VALUES[value], weights is not None, policy, strengths, network)


@inline_once
def give_prior(node, kind, before, b, tree, context, workspace):
    """Give a node a prior, replacing any that it has.

    node : a node for the position on `b`
    kind : the `Heuristic`
    before : the node of s_t-2, for Q_grand, or -1; the move that led to the node, and the one before, or PASS
    context, workspace : `search.SearchContext` and `search.Workspace`
    """
    had = np.int64(tree.prior_kind[node])
    if had == kind or not compare_and_swap(tree.prior_kind, node, had, kind):
        return  # another thread is working on it
    _call_prior(context.prior, (np.int64(node), np.int64(kind), had, before, b, tree, context, workspace))


@apart
def prior_apart(arguments):
    """Call `replace_prior`, whose arguments these are: the largest part of a search, compiled beside the rest."""
    replace_prior(*unpacked(arguments))


_call_prior = calls(prior_apart)


@njit
def replace_prior(node, kind, had, before, b, tree, context, workspace):
    """Give a node a prior in place of the one that it had; see `give_prior`."""
    if adds_gains(kind) or adds_gains(had):
        list_gains(node, b, tree, context, workspace)
    add_prior(node, kind, 1, before, b, tree, context, workspace)
    if had != Heuristic.NONE:
        add_prior(node, had, -1, before, b, tree, context, workspace)


@inline
def adds_gains(kind):
    """Return whether a heuristic is Q_rlgo, alone or with others."""
    is_rlgo = kind == Heuristic.RLGO or kind == Heuristic.BOTH
    return is_rlgo or kind == Heuristic.RLGO_PATTERNS or kind == Heuristic.RLGO_NETWORK


@njit
def list_gains(node, b, tree, context, workspace):
    """List by how much phi . theta grows with each action of a node, for the colour to play, in `path.gains`."""
    shapes, table, gains = workspace.shapes, context.knowledge.table, workspace.path.gains
    reset_gains(b, shapes, table)
    first = np.int64(tree.first_edge[node])
    for i in range(tree.n_edges[node]):
        p = np.int64(tree.move[first + i])
        gains[np.uint64(i)] = 0.0 if p == PASS else gain_of(b, shapes, table, p)


@njit
def add_prior(node, kind, times, before, b, tree, context, workspace):
    """Initialise a node: Q = Q~ = H, N = C and N~ = C~ for each action (equations 48 to 52).

    Earlier outcomes are kept: H counts like C and C~ more outcomes. Q_rlgo needs `list_gains` first.

    times : 1, or -1 to remove the prior
    For the other parameters see `give_prior`.
    """
    settings, knowledge = context.settings, context.knowledge
    shapes, rollout = workspace.shapes, workspace.rollout
    grandparent, last, last_but_one = before
    weigh_actions(node, kind, (last, last_but_one), b, tree, context, workspace)
    n_good, shared = 0, settings.virtual_loss > 0
    if kind == Heuristic.MOGO:
        list_ataris(b, rollout)
        n_good = mogo_candidates(b, context.default_policy, rollout, context.rules.patterns)
    sign = 1.0 if b.to_play == BLACK else -1.0
    first, n_edges = np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node])
    for i in range(first, first + n_edges):
        p = np.int64(tree.move[i])
        h = 0.5
        if kind == Heuristic.GRANDFATHER and grandparent >= 0:
            h = _value_at(grandparent, p, tree)
        elif kind == Heuristic.MOGO:
            for k in range(n_good):
                if rollout.moves[k] == p:
                    h = 0.5 + 0.5 * sign
        elif kind == Heuristic.HANDCRAFTED:
            h = sigma(sign * judge(b, p, context.rules.patterns))
        elif kind == Heuristic.PATTERNS or kind == Heuristic.NETWORK:
            h = sigma(sign * learned_x(i - first, kind, workspace))
        elif adds_gains(kind):
            gain = workspace.path.gains[np.uint64(i - first)]
            if kind == Heuristic.BOTH:
                gain += judge(b, p, context.rules.patterns)
            elif kind != Heuristic.RLGO:
                gain += learned_x(i - first, kind, workspace)
            h = squash(knowledge.value, shapes.x[0] + sign * gain)
            h = min(1.0, max(0.0, h))  # a linear V may lie outside
        c, m = settings.prior_n, settings.prior_n_amaf
        if c > 0:
            add(tree.mc_statistic, i, times * statistic(c, c * h), shared)  # Q = H, N = C (48, 49)
        add(tree.amaf_statistic, i, times * statistic(m, m * h), shared)  # Q~ = H, N~ = C~ = M (50, 51)
        if times > 0:
            tree.prior_q[i] = np.uint16(PRIOR_UNITS * h + 0.5)
            workspace.path.values[np.uint64(i - first)] = h
    if times > 0 and settings.c_puct > 0.0:
        values_to_policy(workspace.path.values, n_edges, sign, settings.policy_scale)
        for i in range(n_edges):
            tree.prior_q[first + i] = policy_units(workspace.path.values[i])
    add(tree.node_visits, node, times * n_edges * settings.prior_n, shared)  # (52)


@njit
def weigh_actions(node, kind, last_moves, b, tree, context, workspace):
    """Ask patterns or a network about the actions of a node, if its heuristic has them; see `learned_x`.

    last_moves : the move that led to the node, and the one before it, or PASS
    """
    if kind == Heuristic.PATTERNS or kind == Heuristic.RLGO_PATTERNS:
        strengths, scratch = context.knowledge.patterns, workspace.patterns
        weigh_moves(node, last_moves[1], b, tree, strengths, scratch, context.settings)
    elif kind == Heuristic.NETWORK or kind == Heuristic.RLGO_NETWORK:
        ask_network(node, last_moves, b, tree, context, workspace.network, workspace.patterns)
        correct_value(node, b, tree, context, workspace.shapes, workspace.network)


@inline
def learned_x(i, kind, workspace):
    """Return x of action i of the node last passed to `weigh_actions`, by patterns or by a network."""
    if kind == Heuristic.NETWORK or kind == Heuristic.RLGO_NETWORK:
        return network_x(i, workspace.network)
    return pattern_x(i, workspace.patterns)


@inline
def _value_at(node, p, tree):
    """Return Q(s, a) of a node's action, or 1/2 if it has no visits."""
    i = find_edge(node, p, tree)
    return mean(tree.mc_statistic[i]) if i >= 0 and count(tree.mc_statistic[i]) > 0.0 else 0.5


def q_rlgo(weights: Weights, boards: Sequence[Any]) -> np.ndarray:
    """Return Q_rlgo, the learned value of every move, of a batch of positions.

    It is meant for tree searches of your own.

    Parameters
    ----------
    weights : a learned value function
    boards : positions: board records of the same size, or games

    Returns
    -------
    float64[n, size * size + 1]: P(Black wins) after each move, row by row from A1, then after a pass; NaN where the
    move is illegal.

    Raises
    ------
    RlgoError : if a board has another size than the weights

    >>> import mcts, rlgo
    >>> weights = rlgo.load_weights(rlgo.shipped_weights(9))
    >>> q = mcts.q_rlgo(weights, [rlgo.Game(9)])
    >>> round(float(q[0, 40]), 2)  # after E5
    0.61
    """
    value = ValueFunction(weights)
    if not isinstance(boards, Sequence | np.ndarray):
        raise RlgoError(f"boards = {shown(boards)}: expected a list of positions")
    return np.array([value.afterstates(board) for board in boards]).reshape(-1, value.size**2 + 1)
