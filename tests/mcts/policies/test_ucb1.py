"""UCB1, and the limit of UCT."""

from __future__ import annotations

import math

import pytest
from tree_tools import SIZE, game_after

from mcts.player import TreeSearch
from mcts.policies.ucb1 import ucb1
from mcts.settings import ALGORITHMS


def test_ucb1_by_hand():
    assert ucb1(0.5, 4.0, math.log(100), 1.0) == pytest.approx(0.5 + math.sqrt(math.log(100) / 4))
    assert ucb1(0.5, 4.0, math.log(100), 0.0) == 0.5


def test_uct_comes_near_the_minimax_value():
    """In a decided position the value of the root tends to the outcome of the best play."""
    game = game_after("C3", komi=0.5)  # on 5x5 the centre wins for Black
    search = TreeSearch(SIZE, ALGORITHMS["uct"], 30_000, seed=1)
    result = search.search(game)
    assert result.q[0] > 0.6
