"""The tree in memory: its statistics, its limits, and its contents."""

from __future__ import annotations

import re

import numpy as np
import pytest
from random_play import random_game
from tree_tools import SIZE, PatientSearch, at, game_after

from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS, Resources
from mcts.tree import (
    MOST_VISITS,
    NODE_BITS,
    count,
    edges_in,
    edges_of,
    mean,
    memory_of,
    new_tree,
    nodes_in,
    statistic,
    visits_to_expand,
)
from rlgo.compiler.jit import atomic_add, compare_and_swap, njit
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game


def test_a_statistic_is_a_count_and_a_sum():
    word = sum(int(statistic(1, z)) for z in (1.0, 0.0, 1.0, 0.5))
    assert count(word) == 4
    assert mean(word) == 2.5 / 4
    most = int(statistic(1, 1.0)) * MOST_VISITS
    assert 0 < most < 2**63
    assert count(most) == MOST_VISITS
    assert mean(most) == 1.0
    taken_back = word + int(statistic(3, 3.0)) - int(statistic(3, 3.0))
    assert taken_back == word


def test_atomic_operations():
    array = np.array([5, 7], np.int32)

    @njit
    def run(array):
        before = atomic_add(array, 1, 3)
        return before, compare_and_swap(array, 0, 4, 9), compare_and_swap(array, 0, 5, 11)

    for function in (run, run.py_func):
        array[:] = 5, 7
        assert function(array) == (7, False, True)
        assert array.tolist() == [11, 10]


def test_a_search_ends_where_the_counts_do():
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 100, seed=1)
    game = game_after("C3")
    search.search(game)
    search.trees[0].node_visits[0] = MOST_VISITS - 5
    assert search.simulate(game, 100) == 5
    assert search.simulate(game, 100) == 0


@pytest.mark.parametrize(("name", "edge_bytes"), [("mc_rave", 24), ("uct", 16)])
def test_memory_is_what_the_tree_holds(name, edge_bytes):
    """An edge has an AMAF value only where the tree policy uses it."""
    search = TreeSearch(SIZE, ALGORITHMS[name], 500, seed=1, resources=Resources(memory_mb=1))
    search.search(game_after("C3"))
    tree = search.trees[0]
    edges = sum(len(edges_of(tree, node)) for node in range(nodes_in(tree)))
    assert memory_of(tree) == 13 * nodes_in(tree) + edge_bytes * edges
    assert sum(array.nbytes for array in tree if array is not None) <= 1.05e6


def test_a_pass_is_an_action_towards_the_end():
    """The opponent has passed, and leads as things stand, but has a dead stone to be taken: to pass would lose."""
    rows = [". X X O O", "X X X O .", ". X X O .", "X X X O O", ". O X O ."]
    game = Game(SIZE, 3.5)
    stones = [
        (BLACK if c == "X" else WHITE, from_vertex(f"{'ABCDE'[col]}{SIZE - row}", SIZE))
        for row, text in enumerate(rows)
        for col, c in enumerate(text.split())
        if c in "XO"
    ]
    game.set_up(stones, WHITE)
    game.play(PASS)
    for name in ("mc", "uct", "mc_rave"):
        search = TreeSearch(SIZE, ALGORITHMS[name], 500, seed=1, name=name)
        result = search.search(game)
        assert PASS in result.moves, name
        assert result.moves[0] == at("A1"), name
        q, visits = float(result.q[result.moves == PASS][0]), int(result.visits[result.moves == PASS][0])
        assert q == 0.0 or (visits == 0 and name != "mc")  # it ends the game
    early = TreeSearch(SIZE, ALGORITHMS["uct"], 50, seed=1).search(game_after("C3"))
    assert PASS not in early.moves


@pytest.mark.parametrize(
    ("used_nodes", "used_edges", "factor"),
    [(1, 25, 1), (20, 1000, 1), (20, 1500, 4), (75, 10, 4), (20, 1900, 100), (99, 1900, 2500), (100, 2000, 1_000_000)],
)
def test_the_fuller_a_tree_the_more_visits_make_a_node(used_nodes, used_edges, factor):
    tree = new_tree(100, 2000)
    tree.used[0] = (used_nodes << NODE_BITS) + used_edges
    assert visits_to_expand(np.int64(3), tree) == 3 * factor


def test_a_tree_that_is_nearly_full_follows_the_best_moves():
    """Its room is kept for moves that are visited often: each of them has a node, and the best line is a line."""
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 3_000, resources=Resources(memory_mb=0.1), seed=1)
    result = search.search(game_after("C3"))
    tree = search.trees[0]
    assert result.visits.sum() == result.simulations
    often = edges_of(tree, 0).n > result.simulations / 20
    assert often.any()
    assert (tree.child[: tree.n_edges[0]][often] >= 0).all()
    assert len(result.line) > 3
    assert re.search(r" nodes, \d\d% of memory_mb; ", search.report()[0])


def test_late_in_a_game_the_memory_is_used_too():
    """Nodes have few edges there."""
    search = PatientSearch(SIZE, ALGORITHMS["mc_rave"], 60_000, resources=Resources(memory_mb=1), seed=1)
    game = random_game(11, 2)
    search.search(game)
    (tree,) = search.trees
    assert edges_in(tree) > 0.5 * len(tree.move)
    assert re.search(r" nodes, \d\d% of memory_mb; ", search.report()[0])
