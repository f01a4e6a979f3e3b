"""User-defined priors: a Python function that the search calls for new nodes. MC-RAVE paper, Section 5.

Start reading at `UserPrior.evaluate_waiting`. `player.TreeSearch` shows how to plug in such a function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mcts.search import Workspace
from mcts.settings import MOST_PRIOR
from mcts.tree import Tree, statistic
from rlgo.base.errors import RlgoError, shown
from rlgo.base.jit import njit
from rlgo.go.coords import to_vertex

# (board record, moves) -> (H, C, C~). Moves are points or PASS, int64[n]; H, C and C~ are each float[n] or a number.
Prior = Callable[[np.record, np.ndarray], Any]
# The same for many positions at once: (boards, their moves) -> a list of triples.
Priors = Callable[[list[np.record], list[np.ndarray]], Any]


def one_by_one(prior: Prior) -> Priors:
    """Turn a function of one position into a function of many."""
    return lambda boards, moves: [prior(*position) for position in zip(boards, moves, strict=True)]


class UserPrior:
    """Initialises the nodes that wait for a user's prior.

    Parameters
    ----------
    priors : the user's function
    size : board size
    """

    def __init__(self, priors: Priors, size: int):
        self._priors, self._size = priors, size

    def evaluate_waiting(self, workspace: Workspace, tree: Tree) -> None:
        """Get the priors of all nodes waiting in a workspace, and add them to their statistics.

        Simulations may have visited the nodes in the meantime, so H, C and C~ are added like further outcomes.

        Raises
        ------
        RlgoError : if the answer is not a list of one triple (H, C, C~) per node, or a number is out of range
        """
        n = int(workspace.tally.waiting)
        if n == 0:
            return
        nodes = [int(node) for node in workspace.waiting_nodes[:n]]
        boards = [workspace.waiting_boards[i] for i in range(n)]
        moves = [tree.move[_edges(tree, node)].astype(np.int64) for node in nodes]
        answers = self._priors(boards, moves)
        if not isinstance(answers, Sequence) or len(answers) != n:
            raise RlgoError(f"priors: expected a list of {n} triples (H, C, C~), one for each board")
        for node, actions, answer in zip(nodes, moves, answers, strict=True):
            h, c, c_amaf = self._columns(answer, actions)
            here = _edges(tree, node)
            _add_outcomes(tree.mc_statistic[here], h, c)
            _add_outcomes(tree.amaf_statistic[here], h, c_amaf)
            tree.prior_q[here] = np.rint(255 * h)
            tree.node_visits[node] += int(c.sum())
        workspace.tally.waiting = 0

    def _columns(self, answer: Any, moves: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return H, and C and C~ as whole visits, each float64[n]; RlgoError if the answer is wrong."""
        if not isinstance(answer, Sequence) or len(answer) != 3:
            raise RlgoError("prior: expected a triple (H, C, C~)")
        columns = []
        for name, values, high in zip(("H", "C", "C~"), answer, (1, MOST_PRIOR, MOST_PRIOR), strict=True):
            try:
                given = np.asarray(values, np.float64)
            except (TypeError, ValueError):
                raise RlgoError(f"prior: {name} = {shown(values)}: expected a number, or one for each move") from None
            if given.shape not in ((), moves.shape):
                raise RlgoError(f"prior: {name} has shape {given.shape}: expected {moves.shape}, one for each move")
            column = np.broadcast_to(given, moves.shape)
            wrong = np.flatnonzero(~((column >= 0) & (column <= high)))
            if len(wrong):
                vertex = to_vertex(int(moves[wrong[0]]), self._size)
                raise RlgoError(f"prior: {name} of {vertex} = {column[wrong[0]]}: expected 0 to {high:g}")
            columns.append(column)
        return columns[0].copy(), np.rint(columns[1]), np.rint(columns[2])


def _edges(tree: Tree, node: int) -> slice:
    """Return the range of a node's edges."""
    first = int(tree.first_edge[node])
    return slice(first, first + int(tree.n_edges[node]))


@njit
def _add_outcomes(statistics, h, n):
    """Add n outcomes of mean H to each statistic. Equations 48 to 51, for a node that has been visited before."""
    for i in range(len(statistics)):
        statistics[i] += statistic(n[i], n[i] * h[i])
