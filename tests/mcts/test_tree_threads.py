"""Several threads: on one tree, and with one tree each."""

from __future__ import annotations

import numpy as np
import pytest
from tree_tools import SIZE, TO_THE_END, PatientSearch, assert_consistent, game_after

from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS, Resources
from mcts.tree import edges_of, nodes_in
from rlgo.base.budget import Budget
from rlgo.go.game import Game


@pytest.mark.slow
@pytest.mark.parametrize("name", ["uct", "mc_rave"])
@pytest.mark.parametrize("expand_after", [1, 3])
def test_counts_are_exact_whatever_the_threads_do(name, expand_after):
    settings = ALGORITHMS[name]._replace(expand_after=expand_after, virtual_loss=3)
    search = PatientSearch(SIZE, settings, 10_000, resources=Resources(4), default_policy=TO_THE_END, seed=1)
    result = search.search(game_after("C3"))
    tree = search.trees[0]
    assert result.simulations == result.visits.sum() == tree.node_visits[0] == 10_000
    root = edges_of(tree, 0)
    assert root.w.sum() == search.wins  # outcomes are 0 or 1: no rounding
    assert (root.n_amaf >= root.n).all() if name == "mc_rave" else (root.n_amaf == 0).all()
    assert_consistent(tree)
    game = game_after("C3")
    game.play(int(result.moves[0]))
    assert search.search(game).simulations == 10_000


def test_a_full_tree_is_shared_as_well():
    search = PatientSearch(SIZE, ALGORITHMS["uct"], 5_000, resources=Resources(3, memory_mb=0.02), seed=1)
    result = search.search(game_after("C3"))
    tree = search.trees[0]
    assert result.simulations == result.visits.sum() == 5_000
    assert nodes_in(tree) <= len(tree.first_edge)
    assert_consistent(tree)


def test_roots_of_separate_trees_are_added_up():
    game = game_after("C3")

    def search() -> TreeSearch:
        player = PatientSearch(SIZE, ALGORITHMS["mc_rave"], 301, resources=Resources(3, root_parallel=True), seed=5)
        player.search(game)
        return player

    one, two = search(), search()
    for x, y in zip(one.result, two.result, strict=True):
        np.testing.assert_array_equal(x, y)
    assert sorted(int(tree.node_visits[0]) for tree in one.trees) == [100, 100, 101]
    assert one.result.visits.sum() == 301
    for p, n, n_amaf in zip(one.result.moves, one.result.visits, one.result.n_amaf, strict=True):
        mine = [edges_of(tree, 0)[edges_of(tree, 0).move == p] for tree in one.trees]
        assert (n, n_amaf) == (sum(int(e.n[0]) for e in mine), sum(int(e.n_amaf[0]) for e in mine))
    assert one.trees[0].move[0] != one.trees[1].move[0] or one.trees[0].move[1] != one.trees[1].move[1]


def test_a_search_of_several_threads_ends_when_it_is_told_to():
    polls = []
    search = TreeSearch(SIZE, ALGORITHMS["uct"], resources=Resources(2), seed=1)
    search.search(game_after("C3"), Budget(seconds=1000.0, stop=lambda: polls.append(1) or len(polls) >= 3))
    assert len(polls) >= 3
    assert search.result.simulations > 3
    assert search.trees[0].node_visits[0] == search.result.simulations


def test_what_a_kept_tree_knows_does_not_end_a_search_before_its_first_simulation(monkeypatch):
    """How many simulations are to come is told by those there were; on a busy machine, threads may begin late."""
    search = TreeSearch(SIZE, ALGORITHMS["uct"], 300, seed=1)
    search.search(game_after("C3"))
    search.limit, over = 1000.0, []
    monkeypatch.setattr(search.threads, "run", lambda _n, task: over.append(task.is_over()) or 0)
    search.search(game_after("C3"))
    assert over == [False]


def test_slices_are_as_long_as_the_time_that_is_left():
    """With a thousandth of a microsecond left, they are single simulations. With a number of them, all are alike.

    Where there is no limit at all, as in pondering, nothing has to be repeatable, and they follow the speed.
    """

    class Late(Budget):
        def seconds_left(self) -> float:
            return 1e-9

    search = PatientSearch(SIZE, ALGORITHMS["uct"], seed=1)
    for kind, limits, expected in (
        (Late, {"simulations": 36, "seconds": 1000.0}, [32, 33, 34, 35]),
        (Budget, {"simulations": 700}, [256, 512]),
    ):
        polls: list[int] = []
        search.new_game()
        stop = lambda polls=polls: polls.append(search.threads.simulations)  # noqa: E731
        search.search(game_after("C3"), kind(**limits, stop=stop))
        assert polls == expected
    polls.clear()
    search.new_game()
    search.search(game_after("C3"), Budget(stop=lambda: not polls.append(search.threads.simulations)))
    assert polls == [32]


def test_a_game_is_reproducible_from_the_seed():
    def play(workers: int) -> list[tuple[int, int]]:
        resources = Resources(workers, root_parallel=workers > 1, memory_mb=8)
        player = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 700, resources=resources, seed=4)
        game = Game(SIZE, 0.5)
        while not game.is_over() and len(game.moves) < 60:
            game.play(player.genmove(game))
        return game.moves

    assert play(1) == play(1)
    assert play(2) == play(2)
