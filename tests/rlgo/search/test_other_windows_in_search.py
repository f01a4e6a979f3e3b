"""Searches whose value function has irregular windows; each compiles its kernels for such features."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.windows import ATARI
from random_play import random_game, random_theta
from tree_tools import composed

from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS
from mcts.tree import edges_of
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights
from rlgo.go.board import BLACK
from rlgo.go.game import Game
from rlgo.learning.value import ValueFunction
from rlgo.play.player import GreedyPlayer
from rlgo.search.alphabeta_player import AlphaBeta
from rlgo.search.dyna2 import Dyna2
from rlgo.search.td_search import TdSearch

pytestmark = pytest.mark.slow


@pytest.fixture(params=[ATARI, ("2x3", "plus")], ids=str)
def others(request) -> tuple[str, ...]:
    """Windows that see liberties, or stones alone."""
    return request.param


def random_weights(others: tuple[str, ...], sharing: str = "LI") -> Weights:
    features = make_features(5, (1, 2), "LI+LD", others, sharing)
    return Weights(features, random_theta(features, 1, 0.3))


def best_two_plies(weights: Weights, game: Game) -> float:
    """V after the best of two plies, by playing them."""
    sign, replies = (1 if game.to_play == BLACK else -1), []
    for p in game.sensible_moves():
        after = Game(5, game.komi)
        for color, q in [*game.moves, (game.to_play, p)]:
            after.play(q, color)
        values = moves_of(ValueFunction(weights), after) or [ValueFunction(weights).value(after.board)]
        replies.append(min(sign * v for v in values))
    return sign * max(replies)


def moves_of(v: ValueFunction, game: Game) -> list[float]:
    values = v.afterstates(game.board)
    return [float(values[(p // 6 - 1) * 5 + p % 6 - 1]) for p in game.sensible_moves()]


def test_alpha_beta_equals_playing_both_plies(others):
    for sharing in ("LI", "LI+LD"):
        weights = random_weights(others, sharing)
        for seed in range(4):
            game = random_game(6 + 2 * seed, seed)
            player = AlphaBeta(weights, depth=2, seed=1)
            player.genmove(game)
            assert 1 / (1 + np.exp(-player.result.x)) == pytest.approx(best_two_plies(weights, game), abs=1e-4)


def test_q_rlgo_is_the_value_after_each_move(others):
    weights = random_weights(others)
    settings = composed("heuristic_mc_rave", prior_n=3, prior_n_amaf=40)
    game = random_game(9, 1)
    search = TreeSearch(5, settings, 30, weights=weights, seed=1)
    search.genmove(game)
    values = ValueFunction(weights).afterstates(game.board)
    for e in edges_of(search.trees[0], 0):
        prior = values[25 if e.move == 0 else (e.move // 6 - 1) * 5 + e.move % 6 - 1]
        assert e.prior == pytest.approx(prior, abs=0.003)


def test_td_search_learns_other_windows(others):
    def search() -> TdSearch:
        player = TdSearch(5, (1,), 60, windows=others, seed=3)
        player.genmove(random_game(8, 2))
        return player

    player = search()
    np.testing.assert_array_equal(player.theta_bar, search().theta_bar)
    memory = player.memory()
    assert memory.features.others == others
    assert [np.any(memory.block(block)) for block in memory.features.blocks] == [True] * 3
    game = random_game(8, 2)
    np.testing.assert_allclose(player.evaluate(game), ValueFunction(memory).afterstates(game.board), atol=1e-6)


def test_dyna2_starts_from_a_long_term_memory_with_other_windows(others):
    weights, game = random_weights(others, "LI+LD"), random_game(8, 3)
    player = Dyna2(5, weights, (1, 2), simulations=1, windows=others, seed=1)
    before = player.evaluate(game).copy()
    np.testing.assert_allclose(before, ValueFunction(weights).afterstates(game.board), atol=1e-5)
    player.search(game)
    after = player.evaluate(game)
    assert np.nanmax(np.abs(after - before)) > 1e-4
    both = ValueFunction(player.value_weights()).afterstates(game.board)
    np.testing.assert_allclose(after, both, atol=1e-5)


def test_greedy_player(others):
    weights = random_weights(others)
    for seed in range(4):
        game = random_game(7, seed)
        move = GreedyPlayer(ValueFunction(weights), 1).genmove(game)
        values = dict(zip(game.sensible_moves(), moves_of(ValueFunction(weights), game), strict=True))
        assert values[move] == (max if game.to_play == BLACK else min)(values.values())


def test_a_first_phase_with_other_windows_leaves_nothing_to_compile(monkeypatch, others):
    """The kernels of the tree search are compiled for the tables that it will search with."""
    first = TdSearch(5, (1, 2), 20, windows=others, seed=1)
    search = TreeSearch(5, ALGORITHMS["heuristic_mc_rave"], 20, prior_search=first, seed=1)
    used = []
    task = search._task
    monkeypatch.setattr(search, "_task", lambda komi: (used.append(search.models.table), task(komi))[1])
    search.warm_up()
    assert search.search(random_game(4, 1)).simulations == 20
    assert len(used) > 1
    assert all(table.g.capacity == 1 for table in used)
