"""Two-phase search: the first phase, then alpha-beta on what it learned."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from random_play import SIZE, random_game, random_weights

from rlgo.features.rewriting import fuse
from rlgo.go.board import BLACK
from rlgo.play.player import RESIGN, won_by
from rlgo.search.alphabeta_player import AlphaBeta
from rlgo.search.deepening import sigmoid
from rlgo.search.dyna2 import Dyna2
from rlgo.search.td_search import TdSearch
from rlgo.search.two_phase import TwoPhase


def test_two_phases_are_the_first_and_then_alpha_beta_on_what_it_learned():
    for depth in (1, 3):
        alone, first = (Dyna2(SIZE, random_weights(), simulations=50, seed=2) for _ in range(2))
        both = TwoPhase(first, depth=depth, seed=1)
        game = random_game(7, 7)
        alone.search(game)
        values, move = alone.evaluate(game), both.genmove(game)
        assert both.result.depth == depth
        assert both.result.move == move
        np.testing.assert_allclose(first.evaluate(game), values)
        if depth == 1:  # one ply of search is the greedy move
            best = np.nanmax(values[:-1]) if game.to_play == BLACK else np.nanmin(values[:-1])
            assert values[(move // 6 - 1) * SIZE + move % 6 - 1] == pytest.approx(best)
        assert len(both.report()) == 2
        assert both.report()[1].startswith(f"alpha-beta: depth {depth}, ")
        assert set(both.analyses()) == {"value", "long-term"}
        np.testing.assert_array_equal(both.memory().theta, first.memory().theta)


def test_the_second_phase_keeps_the_settings_of_the_first():
    """An old memory, where moves are delayed; and real moves at random, where the first phase would play them."""
    game = random_game(6, 2)
    first = TdSearch(SIZE, (1, 2), 30, delay=1, seed=1)
    both = TwoPhase(first, depth=1, seed=1)
    both.genmove(game)
    old = first.features.table_of(first.theta_bar.copy())
    for _ in range(2):
        game.play(game.sensible_moves()[0])
    first.search(game)
    used = []
    search = both.second.search
    both.second.search = lambda game, table, budget: (used.append(table.black), search(game, table, budget))[1]
    both.genmove(game)
    np.testing.assert_array_equal(used[0], fuse(first.features, old.black).black)
    np.testing.assert_array_equal(np.ravel(first.analyses()["value"]), first.evaluate(game, old)[:-1])
    for _ in range(2):
        game.play(game.sensible_moves()[0])
    both.genmove(game)
    assert (used[1] != fuse(first.features, old.black).black).any()  # it is no older than that
    random = TwoPhase(Dyna2(SIZE, random_weights(), (), long_epsilon=1.0, seed=1), depth=1, seed=1)
    assert len({random.genmove(game) for _ in range(30)}) > 5


def test_a_new_game_forgets_the_result_of_the_last():
    """A game that starts from the same position has no numbers before it is searched."""
    game, weights = random_game(6, 2), random_weights()
    both = TwoPhase(TdSearch(SIZE, (1, 2), 30, seed=1), depth=1, seed=1)
    alone = AlphaBeta(weights, depth=1, seed=1)
    for player in (both, alone):
        player.genmove(game)
        assert player.statistics(game).kind == "depth"
        player.new_game()
    assert both.statistics(game).kind == "memory"
    assert alone.statistics(game).kind == "values"


def test_resigns_by_what_the_search_found():
    """Not by V of the best move without search, which may be on the other side of the bound."""
    told = set()
    for seed in range(20):
        game = random_game(seed, 6)
        both = TwoPhase(TdSearch(SIZE, (1, 2), 30, seed=seed), depth=3, seed=1)
        move = both.genmove(game)
        found = won_by(game.to_play, sigmoid(both.result.x))
        at_once = won_by(game.to_play, both.first.candidates(game)[0].value)
        assert both.candidates(game)[0][:2] == (move, sigmoid(both.result.x))
        for bound in (found + 1e-6, found - 1e-6):
            both = TwoPhase(TdSearch(SIZE, (1, 2), 30, resign=bound, seed=seed), depth=3, seed=1)
            assert (both.genmove(game) == RESIGN) == (found < bound)
            told.add(at_once < bound)
        if len(told) == 2:
            return
    pytest.fail("V without search never differed")


def test_two_phases_share_the_time(monkeypatch):
    """On a clock that moves by a millisecond at each look, so that no pause of the machine counts."""
    clock = SimpleNamespace(now=100.0)

    def look() -> float:
        clock.now += 0.001
        return clock.now

    clock.perf_counter = look
    monkeypatch.setattr("rlgo.base.budget.time", clock)
    first = TdSearch(SIZE, simulations=None, seconds=1.0, seed=1)
    both = TwoPhase(first, depth=None, seconds=0.06, seed=1)
    assert first.seconds == 0.03
    game = random_game(4, 4)
    assert both.genmove(game) in game.sensible_moves()
    assert first.tally.simulations > 0
    assert both.result.depth >= 1
    assert both.searched() == first.searched() > 0
    TwoPhase(TdSearch(SIZE, simulations=None, seconds=0.1, seed=1), depth=None, seconds=10)
    short = TdSearch(SIZE, simulations=None, seconds=0.1, seed=1)
    assert TwoPhase(short, depth=None, seconds=10).first.seconds == 0.1


def test_without_time_the_first_phase_moves():
    first = TdSearch(SIZE, (1, 2), 30, seed=1)
    both = TwoPhase(first, depth=2, seed=1)
    game = random_game(6, 2)
    both.genmove(game)
    both.second.search = lambda *_: pytest.fail("searched")
    both.limit = 0.0
    move = both.genmove(game)
    assert (both.result, both.candidates(game)[0].move) == (None, move)
    first.resign = 1.0
    assert both.genmove(game) == RESIGN


def test_compiling_takes_none_of_the_time_of_a_move(monkeypatch):
    """The clock stands still here but for a minute of compiling; both phases still do all that they were told to."""
    clock = SimpleNamespace(now=100.0)
    clock.perf_counter = lambda: clock.now
    monkeypatch.setattr("rlgo.base.budget.time", clock)
    first = TdSearch(SIZE, (1, 2), 30, seconds=6.0, seed=1)
    both = TwoPhase(first, depth=2, seconds=6.0, seed=1)
    warm_up = both.warm_up

    def compile_slowly() -> None:
        clock.now += 60
        warm_up()

    monkeypatch.setattr(both, "warm_up", compile_slowly)
    for _ in range(2):
        both.genmove(random_game(4, 4))
        assert clock.now == 160
        assert first.tally.simulations == 30
        assert both.result.depth == 2


def test_statistics_are_that_of_the_phase_that_runs():
    both, game, kinds = TwoPhase(TdSearch(SIZE, (1, 2), 30, seed=1), depth=5, seed=1), random_game(6, 2), []

    def stop() -> bool:
        kinds.append(both.statistics(game).kind)
        return False

    both.stop = stop
    move = both.genmove(game)
    assert set(kinds) == {"memory", "depth"}
    assert kinds == sorted(kinds, reverse=True)
    told = both.statistics(game)
    assert (told.moves[0], told.depth) == (move, 5)
    np.testing.assert_array_equal(
        told.columns["value"], both.first.statistics(game).columns["value"][_order(told, both, game)]
    )


def _order(told, both, game):
    """Where the moves of alpha-beta stand in the order of the first phase."""
    first = both.first.statistics(game).moves
    return [first.index(p) for p in told.moves]
