"""Two moves compared in one search: the best, and one that a game has."""

from __future__ import annotations

import pytest
from tree_tools import SIZE, at, composed, game_after

from mcts.player import TreeSearch
from mcts.settings import Resources
from rlgo.base.budget import never
from rlgo.go.board import PASS
from rlgo.go.game import Game

SHARED, SPLIT = Resources(workers=2), Resources(workers=2, root_parallel=True)


def search_of(name: str = "mc_rave", simulations: int = 2_000, **others) -> TreeSearch:
    return TreeSearch(SIZE, composed(name), simulations, seed=1, **others)


@pytest.mark.parametrize("resources", [Resources(), SHARED, SPLIT])
def test_the_move_played_has_as_many_visits_as_the_best(resources: Resources) -> None:
    search, game = search_of(resources=resources), Game(SIZE, 0.5)
    found = {c.move: c for c in search.compare(game, at("A1"))}
    best = max((c for c in found.values() if c.move != at("A1")), key=lambda c: c.visits)
    assert found[at("A1")].visits >= best.visits > 100
    first = next(iter(found.values()))
    assert first.move == best.move
    assert len(first.line) > 1  # what it expects after its own choice, whatever was played
    assert found[at("A1")].value < best.value - 0.1
    assert sum(c.visits for c in found.values()) <= 4_000  # some beyond the budget, since the loss is large
    assert all(tree.n_edges[0] == SIZE * SIZE for tree in search.trees)


def test_a_large_loss_is_searched_on_until_it_can_be_believed() -> None:
    search, game = search_of(simulations=100), Game(SIZE, 0.5)
    found = {c.move: c for c in search.compare(game, at("A1"))}
    best = max((c for p, c in found.items() if p != at("A1")), key=lambda c: c.visits)
    assert min(found[at("A1")].visits, best.visits) >= 1_000
    assert best.value - found[at("A1")].value > 0.1
    best_is_played = search_of(simulations=100).compare(game, best.move)  # nothing is lost
    assert sum(c.visits for c in best_is_played) <= 100


def test_a_search_that_is_stopped_compares_nothing_more() -> None:
    search = search_of()
    search.stop = lambda: True
    assert sum(c.visits for c in search.compare(Game(SIZE, 0.5), at("A1"))) < 300


def test_a_comparison_does_not_change_the_values_of_others() -> None:
    search, game = search_of(), game_after("C3", "B2")
    search.search(game)
    before = {c.move: (c.visits, c.value) for c in search.candidates(game)}
    search._search_alone(game, at("A5"), 300, never)
    after = {c.move: (c.visits, c.value) for c in search.candidates(game)}
    assert after[at("A5")][0] == before.get(at("A5"), (0, 0))[0] + 300
    assert {p: after[p] for p in before if p != at("A5")} == {p: before[p] for p in before if p != at("A5")}


def test_a_move_that_no_search_would_try_is_compared() -> None:
    empty, search = Game(SIZE, 0.5), search_of()
    found = {c.move: c for c in search.compare(empty, PASS)}  # nobody passes in the opening
    assert found[PASS].visits >= 0.5 * max(c.visits for c in found.values())
    assert PASS not in {c.move for c in search_of().compare(empty, at("C3"))}
    eye = game_after("A2", "E5", "B2", "E4", "B1", "E3")  # A1 would fill Black's own eye
    found = {c.move: c for c in search.compare(eye, at("A1"))}
    assert found[at("A1")].visits >= 0.5 * max(c.visits for c in found.values())


def test_where_a_pass_would_win() -> None:
    won = game_after("C3", "pass")
    assert [c.move for c in search_of().compare(won, PASS)] == [PASS]
    assert at("A1") in {c.move for c in search_of().compare(won, at("A1"))}


def test_a_player_without_a_tree_compares_what_it_knows() -> None:
    flat = search_of("mc", 500)
    found = flat.compare(game_after("C3"), at("A1"))
    assert {c.visits for c in found} == {20, 21} or len({c.visits for c in found}) <= 2
