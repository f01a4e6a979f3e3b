"""Flat Monte-Carlo search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from tree_tools import SIZE, composed, flat_tree, game_after

from mcts.player import TreeSearch
from mcts.policies import Flat, flat
from mcts.settings import ALGORITHMS
from mcts.tree import Tree, statistic
from rlgo.compiler.jit import interpreted, make_rng
from rlgo.go.board import BLACK, WHITE
from rlgo.go.game import Game


class Scratch(NamedTuple):
    """What the policy uses of a workspace."""

    rng: np.ndarray


def choose_flat(color: int, temperature: float, pruning: float, tree: Tree, rng: np.ndarray) -> int:
    """The action by the tree policy in plain Python."""
    return int(interpreted(flat.select)(Flat(temperature, pruning), 0, color, tree, Scratch(rng)))


def test_pruning_drops_what_is_surely_worse():
    rng = make_rng(1)
    tree = flat_tree((400, 300.0), (60, 15.0), (45, 2.0), (70, 50.0))
    # Black's worst action is the third, but too young to be dropped; the second is 0.25 +- 0.06, the best 0.75 +- 0.03.
    assert choose_flat(BLACK, 0.0, 2.0, tree, rng) == 2
    tree.mc_statistic[2] = statistic(65, 2.0)
    assert choose_flat(BLACK, 0.0, 2.0, tree, rng) == 3
    assert choose_flat(BLACK, 0.0, 0.0, tree, rng) == 1
    # A value below the bar, by less than its own error.
    assert choose_flat(BLACK, 0.0, 2.0, flat_tree((400, 300.0), (60, 41.0), (70, 65.0)), rng) == 1
    # For White the third is best, by so much that all others are dropped.
    assert choose_flat(WHITE, 0.0, 1.0, tree, rng) == 2


def test_a_temperature_favours_the_successful():
    rng = make_rng(1)
    tree = flat_tree((10, 8.0), (10, 6.0), (10, 1.0))
    for color, values in ((BLACK, [0.8, 0.6, 0.1]), (WHITE, [0.2, 0.4, 0.9])):
        drawn = np.bincount([choose_flat(color, 0.3, 0.0, tree, rng) for _ in range(4000)], minlength=3) / 4000
        expected = np.exp(np.array(values) / 0.3)
        assert drawn == pytest.approx(expected / expected.sum(), abs=0.03)
    tree.mc_statistic[1] = 0
    assert choose_flat(BLACK, 0.3, 0.0, tree, rng) == 1  # each is tried once first


def test_a_low_temperature_is_greedy():
    """Even where exp(Q / temperature) would be 0 or infinite."""
    tree = flat_tree((10, 1.0), (10, 2.0), (10, 1.0))
    assert [choose_flat(BLACK, 1e-5, 0.0, tree, make_rng(seed)) for seed in range(9)] == [1] * 9


def test_pruning_spends_simulations_on_what_is_left():
    game = Game(SIZE, 0.5)
    result = TreeSearch(SIZE, composed("mc", pruning=2), 4000, seed=1).search(game)
    even = TreeSearch(SIZE, ALGORITHMS["mc"], 4000, seed=1).search(game)
    assert np.ptp(even.visits) <= 1 < 20 < np.ptp(result.visits)
    assert result.visits[0] > result.visits[-1]


def test_flat_monte_carlo_visits_all_moves_alike_and_plays_the_best():
    search = TreeSearch(SIZE, ALGORITHMS["mc"], 240, seed=1, name="mc")
    for game in (game_after("C3"), game_after()):
        result = search.search(game)
        assert np.ptp(result.visits) <= 1
        assert result.nodes == 1
        q = result.q if game.to_play == BLACK else 1 - result.q
        assert q[0] == q.max()
