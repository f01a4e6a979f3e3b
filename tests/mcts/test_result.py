"""Results of a search: the order of moves, the principal variation, and maps of the board."""

from __future__ import annotations

import numpy as np
import pytest
from tree_tools import SIZE, PatientSearch, game_after

from mcts.result import no_result, principal_variations, result_maps
from mcts.settings import ALGORITHMS
from mcts.tree import edges_of, find_edge
from rlgo.go.board import PASS
from rlgo.go.coords import to_row_col
from rlgo.go.game import Game


@pytest.fixture(scope="module")
def search() -> PatientSearch:
    made = PatientSearch(SIZE, ALGORITHMS["mc_rave"], 400, seed=1)
    made.search(game_after("C3"))
    return made


def test_the_most_visited_move_comes_first(search):
    result, root = search.result, edges_of(search.trees[0], 0)
    assert (np.diff(result.visits) <= 0).all()
    assert len(result.moves) == len(set(result.moves)) == len(root)
    for p, n, q, n_amaf in zip(result.moves, result.visits, result.q, result.n_amaf, strict=True):
        e = root[root.move == p][0]
        assert (e.n, e.n_amaf) == (n, n_amaf)
        assert e.w == pytest.approx(q * n if n else 0.0)


def test_the_principal_variation_follows_the_most_visited_moves(search):
    tree, node = search.trees[0], 0
    for i, p in enumerate(search.result.line.tolist()):
        edges = edges_of(tree, node)
        assert edges.n[edges.move == p][0] == edges.n.max(), i
        node = int(tree.child[find_edge(node, p, tree)])
    assert node < 0 or edges_of(tree, node).n.max() == 0
    assert len(search.result.line) > 2
    # Visits that an action has from its prior alone do not count.
    first = int(search.result.line[0])
    assert principal_variations(tree, [first], 400)[0][0] == [first]


def test_maps_hold_the_numbers_of_each_move_at_its_point(search):
    result = search.result
    maps = result_maps(result, SIZE)
    assert set(maps) == {"value", "visits", "amaf", "prior"}
    for p, q, n, q_amaf in zip(result.moves, result.q, result.visits, result.q_amaf, strict=True):
        here = to_row_col(int(p), SIZE)
        assert maps["visits"][here] == n / 400
        np.testing.assert_array_equal([maps["value"][here], maps["amaf"][here]], [q, q_amaf])
    assert np.isnan(maps["value"][2, 2])  # C3 is taken
    assert np.nansum(maps["visits"]) == pytest.approx(1.0)


def test_without_moves_the_result_is_a_pass():
    result = no_result()
    assert result.line.tolist() == [PASS]
    assert len(result.moves) == result.simulations == result.nodes == 0


@pytest.mark.parametrize(("vertices", "komi"), [((), 60.5), (("C3",), -60.5)])
def test_flat_monte_carlo_puts_moves_without_visits_last(vertices, komi):
    """Even after moves that always lose, for either colour."""
    game = Game(SIZE, komi)
    for vertex in vertices:
        game.play(vertex)
    search = PatientSearch(SIZE, ALGORITHMS["mc"], 10, seed=1)
    q = search.search(game).q
    n = int(np.isfinite(q).sum())
    assert 0 < n < len(q)
    assert np.isfinite(q[:n]).all()
