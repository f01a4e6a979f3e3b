"""Q_rlgo: the learned value after each move. MC-RAVE paper, Section 5.1.

Start reading at `add_x`; `q_rlgo` gives the same values to tree searches of your own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mcts.log_odds import logit
from rlgo.base.errors import RlgoError, shown
from rlgo.base.settings import LOGISTIC
from rlgo.compiler.jit import njit
from rlgo.features.incremental import reset_gains
from rlgo.features.weights import Weights
from rlgo.go.board import BLACK, PASS
from rlgo.learning.value import ValueFunction, gain_of, squash

NEEDS = "weights"


class Rlgo(NamedTuple):
    """The learned value of the position after the move.

    >>> import mcts
    >>> mcts.ALGORITHMS["heuristic_mc_rave"].prior[0].prior
    Rlgo()
    """


@njit
def add_x(prior, node, before, b, tree, context, workspace):  # noqa: ARG001
    """Add x of each action; see `priors.add_x`."""
    shapes, models, x = workspace.shapes, context.models, workspace.path.x
    reset_gains(b, shapes, models.table)
    sign = 1.0 if b.to_play == BLACK else -1.0
    first = np.int64(tree.first_edge[node])
    for k in range(np.int64(tree.n_edges[node])):
        p = np.int64(tree.move[first + k])
        gain = 0.0 if p == PASS else gain_of(b, shapes, models.table, p)
        own = sign * shapes.x[0] + gain  # phi . theta of the afterstate, for the colour to play
        x[k] += own if models.value == LOGISTIC else logit(squash(models.value, own))


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
