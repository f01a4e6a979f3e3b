"""An rlgo network in a search: its policy as a prior, and its value for the leaves below the node.

Start reading at `add_x`. The network is compiled into the simulations. It evaluates a node once that has enough visits
(`Stage.after`), which spreads its cost over the simulations. The network itself is in `rlgo/network/inference.py`; how
its value is used is in `mcts/leaves/values.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcts.leaves.values import correction
from mcts.log_odds import action_x, to_log_policy
from rlgo.base.settings import NonNegative, Positive
from rlgo.compiler.jit import njit
from rlgo.go.board import BLACK
from rlgo.go.positions import place_of
from rlgo.go.rules import n_points
from rlgo.network.inference import Layers, NetworkScratch, evaluate_board, new_network_scratch

NEEDS = "network"


class Network(NamedTuple):
    """The policy P of a network, as x = scale log(n P(s, a)) - shift; see `log_odds.action_x`.

    >>> import mcts
    >>> mcts.ALGORITHMS["rlgo"].prior[1].after
    4
    """

    scale: Positive = 0.4
    shift: NonNegative = 0.4


class NetworkWorkspace(NamedTuple):
    """Scratch of one thread.

    Attributes
    ----------
    scratch : `NetworkScratch`
    log_p : float64[P], log P of the actions of a node
    """

    scratch: NetworkScratch
    log_p: np.ndarray


def new_network_workspace(size: int, network: Layers) -> NetworkWorkspace:
    """Make the scratch for one board size."""
    return NetworkWorkspace(new_network_scratch(size, network), np.zeros(n_points(size)))


@njit
def add_x(prior, node, before, b, tree, context, workspace):
    """Evaluate a node's position, add x of each action, and note what the value says of leaves below the node.

    For the parameters see `priors.add_x`.
    """
    s, log_p, x = workspace.network.scratch, workspace.network.log_p, workspace.path.x
    evaluate_board(b, before[1], before[2], context.rules.komi, context.models.network, s)
    first, n, size = np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node]), np.int64(b.board_size)
    for k in range(n):
        log_p[k] = s.layers.logits[place_of(np.int64(tree.move[first + k]), size)]
    to_log_policy(log_p, n)  # over the actions of the node
    for k in range(n):
        x[k] += action_x(log_p[k], n, prior.scale, prior.shift)
    sign = 1.0 if b.to_play == BLACK else -1.0
    tree.score[node] = sign * s.layers.result[1]
    _note_correction(tree.correction, node, sign * s.layers.result[0], b, context, workspace)


@njit
def _note_correction(corrections, node, logit, b, context, workspace):
    """Store in `Tree.correction` what the network adds to the value of leaves below the node, if that is used."""
    if corrections is not None:
        corrections[node] = correction(context.search.leaf.value, logit, b, context, workspace)
