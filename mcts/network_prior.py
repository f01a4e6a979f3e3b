"""A network of ours in a search: its policy as a heuristic, and its value as a correction of V.

Start reading at `ask_network`. The network is compiled into the simulations; it is asked about a node once that has
enough visits (`Settings.network_after`), so that its time is spread over them. The network itself is in
`rlgo/network/inference.py`. A search without one compiles none of this: its `Knowledge` and `Workspace` hold None
instead.

*Policy.* As with patterns, H = sigma(x) with the x of `puct.action_x`, alone or added to the gains of Q_rlgo. Where
the search has patterns, too, P ~ P_network^m P_patterns^(1 - m), with m = network_policy.

*Value.* V of leaves is computed in each simulation, too often for a network. But what V gets wrong in a position, it
gets wrong in most positions a few moves later. So where the network is asked, it says how far off V is, and V of a leaf
is corrected by as much as that of the nearest node above that was asked:

    V(leaf) = sigma(phi(leaf) . theta + c(s)),  c(s) = network_value (logit V_network(s) - phi(s) . theta).

Without weights, theta is 0, and V(leaf) is the network's V(s). Both are ours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcts.patterns import pattern_x, predict_moves
from mcts.puct import action_x, to_log_policy
from rlgo.base.settings import LOGISTIC
from rlgo.compiler.jit import inline, njit
from rlgo.features.incremental import reset_value
from rlgo.go.board import BLACK
from rlgo.go.positions import place_of
from rlgo.go.rules import n_points
from rlgo.learning.value import sigma
from rlgo.network.inference import Layers, NetworkScratch, evaluate_board, new_network_scratch

_LINEAR_SLOPE = 0.25  # of sigma at 0


class NetworkWorkspace(NamedTuple):
    """Scratch of one thread.

    Attributes
    ----------
    scratch : `NetworkScratch`
    x : float64[P], the results of `ask_network` for the actions of a node
    """

    scratch: NetworkScratch
    x: np.ndarray


def new_network_workspace(size: int, network: Layers) -> NetworkWorkspace:
    """Make the scratch for one board size."""
    return NetworkWorkspace(new_network_scratch(size, network), np.zeros(n_points(size)))


@njit
def ask_network(node, last_moves, b, tree, context, workspace, patterns):
    """Evaluate a node's position, and compute x of each of its actions: H = sigma(x) for the colour to play.

    last_moves : the move that led to the node, and the one before it, or PASS
    b : the position
    context : `search.SearchContext`
    workspace, patterns : `NetworkWorkspace` and `patterns.PatternScratch`, None if the search has no network, or no
        patterns
    """
    if workspace is None:
        return
    s, settings, x, size = workspace.scratch, context.settings, workspace.x, np.int64(b.board_size)
    evaluate_board(b, last_moves[0], last_moves[1], context.rules.komi, context.knowledge.network, s)
    first, n = np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node])
    for i in range(n):
        x[i] = s.layers.logits[place_of(np.int64(tree.move[first + i]), size)]
    to_log_policy(x, n)  # over the actions of the node
    m = settings.network_policy
    if m < 1.0 and predict_moves(node, last_moves[1], b, tree, context.knowledge.patterns, patterns) == n:
        for i in range(n):
            x[i] = m * x[i] + (1.0 - m) * pattern_x(i, patterns)
        to_log_policy(x, n)
    for i in range(n):
        x[i] = action_x(x[i], n, settings.policy_scale, settings.policy_shift)


@njit
def network_x(i, workspace):
    """Return x of action i of the node last passed to `ask_network`."""
    return 0.0 if workspace is None else workspace.x[np.uint64(i)]


@njit
def correct_value(node, b, tree, context, shapes, workspace):
    """Store how far V of a node's position is off, after `ask_network`. For the parameters see there."""
    if workspace is None:
        return
    settings, knowledge = context.settings, context.knowledge
    if settings.network_value == 0.0:
        return
    sign = 1.0 if b.to_play == BLACK else -1.0
    x = sum_of_weights(b, shapes, knowledge) + tempo_of(b, context)
    logit = sign * workspace.scratch.layers.result[0]
    off = logit - x if knowledge.value == LOGISTIC else sigma(logit) - 0.5 - x
    tree.correction[node] = settings.network_value * off


@njit
def sum_of_weights(b, shapes, knowledge):
    """Return phi . theta of a position, 0 without weights."""
    if not knowledge.has_weights:
        return 0.0
    reset_value(b, shapes, knowledge.table)
    return shapes.x[0]


@inline
def tempo_of(b, context):
    """Return what the turn is worth: + `Settings.leaf_tempo` for Black, - for White.

    phi does not depend on whose turn it is, so learning gives a position the same value for both. A linear V gets a
    quarter of the tempo, the slope of sigma at 0.
    """
    tempo = context.settings.leaf_tempo * (1.0 if context.knowledge.value == LOGISTIC else _LINEAR_SLOPE)
    return tempo if b.to_play == BLACK else -tempo
