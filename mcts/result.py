"""Results of a tree search: statistics of the root's moves, the principal variation, and maps of the board.

Start reading at `TreeResult`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mcts.policies import Flat
from mcts.settings import Composition
from mcts.tree import NO_PRIOR, WAITING, Tree, add_scores, edges_of, most_visited_line, nodes_in
from rlgo.go.board import BLACK, PASS
from rlgo.go.coords import to_row_col

_MAPS = ("value", "visits", "amaf", "prior")
_MOST_MOVES = 200  # of a principal variation


class TreeResult(NamedTuple):
    """The result of a tree search: statistics of the root's m moves.

    The most visited move comes first, which is more robust than the papers' move with the best value; in flat
    Monte-Carlo search, where visits may all be equal, it is the move with the best value.

    >>> import mcts, rlgo
    >>> result = mcts.TreeSearch(5, simulations=5000, seed=1).search(rlgo.Game(5))
    >>> rlgo.to_vertex(result.moves[0], 5), bool(result.visits[0] == result.visits.max())
    ('C3', True)
    """

    moves: np.ndarray  # int64[m]: points, or PASS
    visits: np.ndarray  # int64[m]: N(s, a) without the C of a prior
    q: np.ndarray  # float64[m]: Q(s, a) = P(Black wins); NaN without visits
    q_amaf: np.ndarray  # float64[m]: Q~(s, a); NaN without AMAF visits, or AMAF values
    n_amaf: np.ndarray  # int64[m]: N~(s, a)
    prior: np.ndarray  # float64[m]: H(s, a), or with PUCT the policy P(s, a); about 1/2 without a prior
    line: np.ndarray  # int64[...]: the principal variation, which follows the most visited moves
    simulations: int  # simulations of this search
    nodes: int  # nodes in all trees

    def __repr__(self) -> str:
        best = f"; point {self.moves[0]} has {self.visits[0]:,} visits, Q = {self.q[0]:.3f}" if len(self.moves) else ""
        return f"<TreeResult: {self.simulations:,} simulations, {len(self.moves)} moves, {self.nodes:,} nodes{best}>"


def no_result() -> TreeResult:
    """Return the result of a position where the player should pass without searching."""
    integers, numbers = np.zeros(0, np.int64), np.zeros(0)
    return TreeResult(integers, integers, numbers, numbers, integers, numbers, np.array([PASS]), 0, 0)


def read_result(
    root: Any, trees: list[Tree], color: int, search: Composition, simulations: int, scores: np.ndarray | None = None
) -> TreeResult:
    """Read the result from the trees.

    Parameters
    ----------
    root : the root's edges, see `threads.SearchThreads.root_edges`
    trees, search : the trees, and what the search is composed of
    color : the colour to play
    simulations : the number of simulations run
    scores : float64[m], which decide between actions with equal visits; by default, N~
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        q, q_amaf = root["w"] / root["n"], root["w_amaf"] / root["n_amaf"]
    if isinstance(search.policy, Flat):
        order = np.argsort(-q if color == BLACK else q, kind="stable")  # NaN comes last
    else:
        order = np.lexsort((-root["n_amaf"] if scores is None else -scores, -root["n"]))
    moves = root["move"][order]
    return TreeResult(
        moves=moves,
        visits=root["n"][order] - prior_visits(trees, search.prior_n),
        q=q[order],
        q_amaf=q_amaf[order],
        n_amaf=root["n_amaf"][order],
        prior=root["prior"][order],
        line=np.array(principal_variations(trees[0], moves[:1].tolist(), search.prior_n)[0][0]),
        simulations=simulations,
        nodes=sum(nodes_in(tree) for tree in trees),
    )


def prior_visits(trees: list[Tree], prior_n: int) -> int:
    """Return the visits that each of the root's actions has from its prior alone, over all trees; prior_n : C."""
    return prior_n * sum(tree.stage[0] not in (NO_PRIOR, WAITING) for tree in trees)


def principal_variations(tree: Tree, moves: Iterable[int], prior_n: int) -> list[tuple[list[int], list[int]]]:
    """Return each of the root's `moves` with the most visited replies, as far as there are visits, and their N(s, a).

    prior_n : C, the visits that an action has from its prior alone
    """
    line, visits = np.zeros(_MOST_MOVES, np.uint16), np.zeros(_MOST_MOVES, np.int64)
    first = int(tree.first_edge[0])
    edges = {p: first + i for i, p in enumerate(tree.move[first : first + int(tree.n_edges[0])].tolist())}
    found = []
    for p in moves:
        n = int(most_visited_line(edges[p], prior_n, tree, line, visits))
        found.append((line[:n].tolist(), visits[:n].tolist()))
    return found


def scores_of_leaves(trees: list[Tree], prior_n: int) -> dict[int, tuple[float, float]]:
    """Return for each move of the root the number of leaves below it, and the sum of their scores, if known."""
    found = dict[int, tuple[float, float]]()
    for tree in trees:
        n, moves = nodes_in(tree), edges_of(tree, 0).move.tolist()
        leaves, totals = np.zeros(len(moves)), np.zeros(len(moves))
        add_scores(tree, prior_n, np.zeros(n, np.float32), np.full(n, -1, np.int32), leaves, totals)
        for p, k, total in zip(moves, leaves.tolist(), totals.tolist(), strict=True):
            before = found.get(p, (0.0, 0.0))
            found[p] = (before[0] + k, before[1] + total)
    return {p: (k, total) for p, (k, total) in found.items() if k > 0 and math.isfinite(total)}


def empty_maps(size: int) -> dict[str, np.ndarray]:
    """Return the maps of `result_maps` for a position without a result: NaN everywhere."""
    return {name: np.full((size, size), np.nan) for name in _MAPS}


def result_maps(result: TreeResult, size: int) -> dict[str, np.ndarray]:
    """Return float64[size, size] by name: ``value`` Q, ``visits`` as a share, ``amaf`` Q~, ``prior`` H or P."""
    maps = empty_maps(size)
    shares = result.visits / max(1, int(result.visits.sum()))
    for name, column in zip(_MAPS, (result.q, shares, result.q_amaf, result.prior), strict=True):
        for p, number in zip(result.moves, column, strict=True):
            if p != PASS:
                maps[name][to_row_col(int(p), size)] = number
    return maps
