"""Prior knowledge of new nodes, and the values of a first search."""

from __future__ import annotations

import numpy as np
import pytest
from tree_tools import SIZE, TO_THE_END, at, composed, game_after, path_of, random_weights, set_root, value_index

from mcts import Even, Grandfather, Mogo
from mcts.player import TreeSearch
from mcts.priors.rlgo import q_rlgo
from mcts.settings import ALGORITHMS, Resources
from mcts.tree import NO_PRIOR, Tree, edges_of, nodes_in
from rlgo.base.budget import Budget
from rlgo.base.errors import RlgoError
from rlgo.go.game import Game
from rlgo.learning.value import ValueFunction
from rlgo.search.td_search import TdSearch


def test_q_rlgo_is_the_value_after_each_move():
    w = random_weights()
    settings = composed("heuristic_mc_rave", prior_n=3, prior_n_amaf=40)
    for game in (game_after("C3"), game_after("C3", "B2", "C2", "B3", "B4", "A2")):
        search = TreeSearch(SIZE, settings, 1, weights=w, seed=1)
        set_root(search, game)
        values = ValueFunction(w).afterstates(game.board)
        root = edges_of(search.trees[0], 0)
        for e in root:
            v = values[value_index(e.move)]
            assert (e.n, e.n_amaf) == (3, 40)
            assert (e.w / 3, e.w_amaf / 40) == pytest.approx((v, v), abs=7e-4)  # 1 / 512 of three visits
        assert search.trees[0].node_visits[0] == 3 * len(root)
        result = search.search(game)
        assert result.visits.sum() == result.simulations == 1  # the prior's C is no visit


def test_q_rlgo_of_a_batch():
    w, games = random_weights(), [game_after("C3"), game_after("C3", "B2"), game_after()]
    values = q_rlgo(w, [game.board for game in games])
    assert values.shape == (3, 26)
    for row, game in zip(values, games, strict=True):
        np.testing.assert_array_equal(row, ValueFunction(w).afterstates(game.board))
    assert q_rlgo(w, []).shape == (0, 26)
    with pytest.raises(RlgoError, match="board size 5"):
        q_rlgo(w, [Game(9).board])


def test_an_even_prior_is_a_half_everywhere():
    game = game_after("C3", "B2", "D2")
    even = TreeSearch(SIZE, composed("mc_rave", prior=Even(), prior_n=2), 40, seed=1)
    even.search(game)
    tree = even.trees[0]
    below = edges_of(tree, int(np.flatnonzero(tree.stage[1 : nodes_in(tree)])[0]) + 1)
    assert (below.n >= 2).all()
    assert (below.n_amaf >= 50).all()
    assert (below.w[below.n == 2] == 1.0).all()


def test_mogos_candidates_are_certain_wins():
    """White's stone at C2 puts D2 into atari; saving it is worth 1 to Black, all else 1/2."""
    game = game_after("D2", "D1", "A5", "E2", "B5", "C2")
    mogo = TreeSearch(SIZE, composed("mc_rave", prior=Mogo(), prior_n_amaf=10), 1, seed=1)
    set_root(mogo, game)
    h = {int(e.move): e.w_amaf / 10 for e in edges_of(mogo.trees[0], 0)}
    assert {p for p, v in h.items() if v != 0.5} == {at("D3")}
    assert h[at("D3")] == 1.0


def test_the_grandfathers_values_are_those_two_plies_earlier():
    """A new node of depth 2 begins with the root's values."""
    settings = composed("mcts_greedy", prior=Grandfather(), prior_n=1)
    grand = TreeSearch(SIZE, settings, 1, default_policy=TO_THE_END, seed=5)
    game, checked = game_after("C3"), 0
    set_root(grand, game)
    for _ in range(60):
        grand.simulate(game, 1)
    for _ in range(200):
        tree = grand.trees[0]
        before = {int(e.move): (e.w, e.n) for e in edges_of(tree, 0)}
        nodes = nodes_in(tree)
        grand.simulate(game, 1)
        path = path_of(grand)
        if nodes_in(tree) > nodes and path.n_nodes == 3 and path.node[2] == nodes:
            for i, e in enumerate(edges_of(tree, nodes)):
                w, visits = before.get(int(e.move), (0.5, 1))
                if tree.first_edge[nodes] + i != path.edge[2]:
                    assert e.n == 1
                    assert e.w == pytest.approx(w / visits if visits else 0.5, abs=1 / 512)
            checked += 1
    assert checked > 3


def test_two_phases_with_tree_search():
    """The short-term value of a TD search is the prior."""
    first = TdSearch(SIZE, (1, 2), 50, seed=1)
    settings = composed("heuristic_mc_rave", prior_n=1, prior_n_amaf=20)
    both = TreeSearch(SIZE, settings, 1, prior_search=first, seed=1)
    game = game_after("C3", "B3")
    both.search(game)
    assert first.tally.simulations == 50
    values = first.evaluate(game)
    taken = set(path_of(both).edge[: path_of(both).n_nodes].tolist())
    checked = 0
    for i, e in enumerate(edges_of(both.trees[0], 0)):
        if i not in taken and e.n_amaf == 20:
            assert e.w_amaf / 20 == pytest.approx(values[value_index(e.move)], abs=1e-3)
            checked += 1
    assert checked > 3


def test_the_first_phase_takes_half_of_the_time():
    """Whatever limits it: the clock, the player's own seconds, or those of an analysis."""
    first = TdSearch(SIZE, (1, 2), 10, seed=1)
    both = TreeSearch(SIZE, ALGORITHMS["heuristic_mc_rave"], seconds=0.5, prior_search=first, seed=1)
    for clock, budget, expected in (
        (None, None, 0.25), (0.1, None, 0.05), (0.1, Budget(seconds=0.02), 0.01), (0.1, Budget(5), None)
    ):  # fmt: skip
        both.limit = clock
        both.search(game_after("C3"), budget)
        assert first.limit == expected


def moves_to_a_node_without_prior(tree: Tree) -> tuple[int, int]:
    """A move of the root and a reply that lead to a node without a prior."""
    return next(
        (int(move.move), int(reply.move))
        for move in edges_of(tree, 0)
        if move.child >= 0
        for reply in edges_of(tree, int(move.child))
        if reply.child >= 0 and tree.stage[reply.child] == NO_PRIOR
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_a_node_gets_its_prior_once_and_when_it_is_needed(workers):
    settings = composed("heuristic_mc_rave", c=1.0, prior_n=3, prior_n_amaf=40)  # a broad tree
    search = TreeSearch(SIZE, settings, 300, weights=random_weights(), resources=Resources(workers=workers), seed=1)
    game = game_after("C3")
    for _ in range(3):  # the second and third root are nodes that lack a prior until then
        search.search(game)
        tree, lacking = search.trees[0], 0
        arrived = {0: int(edges_of(tree, 0).n.sum()) - 3 * len(edges_of(tree, 0))}
        for node in range(nodes_in(tree)):  # parents come before their children
            edges = edges_of(tree, node)
            c = 3 if tree.stage[node] else 0
            own = edges.n - c
            assert (own >= 0).all()
            assert (edges.n_amaf >= 40 * c / 3).all()
            assert arrived[node] - 2 <= own.sum() <= arrived[node]  # a simulation may end here, in the default policy
            assert c or own.sum() <= 1
            lacking += c == 0
            arrived.update(zip(edges.child.tolist(), own.tolist(), strict=True))
        assert lacking > 0
        for p in moves_to_a_node_without_prior(tree):
            game.play(p)
