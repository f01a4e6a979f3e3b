"""Iterative deepening: time and other limits, and progress reports.

Start reading at `test_in_slices_as_at_once`.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from oracles.minimax import (
    FUSED,
    STONES,
    TABLES,
    move_values,
    random_game,
    random_theta,
    stones_table,
)

from rlgo.base.budget import Budget
from rlgo.base.errors import RlgoError
from rlgo.base.resources import checkpoints_dir
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, load_weights
from rlgo.go.board import BLACK
from rlgo.go.coords import to_vertex
from rlgo.go.game import Game
from rlgo.learning.value import ValueFunction
from rlgo.play.player import moves_to_try
from rlgo.search import deepening
from rlgo.search.alphabeta import MAX_DEPTH, SearchMemory
from rlgo.search.alphabeta_player import AlphaBeta
from rlgo.search.deepening import AlphaBetaSearch, sigmoid


def test_a_slice_goes_on_at_the_next_depth(monkeypatch):
    """Else it would look fast where a depth ends in the middle of it, and the next ones would be far too long."""
    clock, planned = SimpleNamespace(now=0.0), []
    search, game = AlphaBetaSearch(9, seed=1), random_game(9, 3, 90)
    clock.perf_counter = lambda: clock.now
    monkeypatch.setattr("rlgo.base.budget.time", clock)
    kernel = deepening.negamax

    def timed(n_nodes: int, memory: SearchMemory) -> bool:
        planned.append(n_nodes)
        before = int(memory.state.nodes)
        is_done = kernel(n_nodes, memory)
        clock.now += (memory.state.nodes - before) / 1e6
        return is_done

    monkeypatch.setattr(deepening, "negamax", timed)
    table = load_weights(checkpoints_dir() / "9x9-1M.npz").table(is_fused=True)
    search.search(game, table, Budget(seconds=0.1))
    assert 1_000 < max(planned) < 11_000  # ten milliseconds
    assert clock.now < 0.101


# ---------------------------------------------------------------------------------------------
# Time, and other limits
# ---------------------------------------------------------------------------------------------


def test_with_seconds_alone():
    weights = load_weights(checkpoints_dir() / "9x9-1M.npz")
    for n_moves in (0, 20, 40):
        game = random_game(9, 3, n_moves)
        player = AlphaBeta(weights, None, 0.05, seed=1)
        assert game.is_legal(player.genmove(game))
        assert player.result.depth >= 1
        assert player.result.seconds > 0


COMPILES = """
from rlgo.search.alphabeta_player import AlphaBeta
from rlgo.go.game import Game
from rlgo.features.incremental import reset
from rlgo.base.resources import checkpoints_dir
from rlgo.features.weights import load_weights
player = AlphaBeta(load_weights(checkpoints_dir() / "9x9-1M.npz"), 1, seed=1)
player.warm_up()
before = len(reset.signatures)
player.genmove(Game(9))
print(before, len(reset.signatures))
"""


def test_the_first_move_has_nothing_left_to_compile():
    found = subprocess.run([sys.executable, "-c", COMPILES], capture_output=True, text=True, check=True)
    before, after = found.stdout.split()
    assert before == after


def test_a_forced_move_takes_no_time(monkeypatch):
    """Nothing can change it; with a depth alone, the search goes as deep as it was told."""
    ticks = itertools.count()
    monkeypatch.setattr("rlgo.base.budget.time", SimpleNamespace(perf_counter=lambda: next(ticks) / 10))
    weights = load_weights(checkpoints_dir() / "9x9-1M.npz")
    game = random_game(9, 3, 20)
    game.allowed = {game.sensible_moves()[0]}
    player = AlphaBeta(weights, None, 20.0, seed=1)
    assert player.genmove(game) in game.allowed
    assert next(ticks) < 100, "the search used up half of its 20 seconds"
    player = AlphaBeta(weights, 3, None, seed=1)
    assert player.genmove(game) in game.allowed
    assert player.result.depth == 3


def in_slices_of(monkeypatch, nodes: int) -> None:
    """Let searches run in slices of so many nodes, however long they take."""

    def slices(budget: Budget, least: int) -> Iterator[int]:  # noqa: ARG001 - as `Budget.slices`
        yield nodes
        while not budget.ends():
            yield nodes

    monkeypatch.setattr(Budget, "slices", slices)


def test_in_slices_as_at_once(monkeypatch):
    for i in range(20):
        game, found = random_game(5, i, 10 + i), []
        for nodes in (200_000, 1, 30):
            in_slices_of(monkeypatch, nodes)
            found.append(AlphaBetaSearch(5, table_bits=10, seed=1).search(game, FUSED[0], Budget(depth=3))[:-1])
        assert found[0] == found[1] == found[2]


def test_stopped_at_any_time(monkeypatch):
    """The move is the best of the last depth, or one that the next depth has found to be better."""
    in_slices_of(monkeypatch, 20)
    depths = Counter()
    for i in range(120):
        game = random_game(5, i // 10, 12)
        left = iter(range(i % 10 * 3))
        search = AlphaBetaSearch(5, table_bits=10, seed=i)
        found = search.search(game, FUSED[0], Budget(depth=3, stop=lambda left=left: next(left, None) is None))
        depths[found.depth] += 1
        sign = 1 if game.to_play == BLACK else -1
        expected = [move_values(game, d, TABLES[0]).get(found.move) for d in (max(1, found.depth), found.depth + 1)]
        assert any(found.x * sign == pytest.approx(x, abs=1e-5) for x in expected)
        assert i % 10 or found.depth <= 1
    assert min(depths[1], depths[2], depths[3]) > 5


def test_the_values_shown_are_those_of_the_result(monkeypatch):
    """Wherever the search is stopped: in the middle of a depth, or after one."""
    in_slices_of(monkeypatch, 20)
    for most in range(40):
        game, left = random_game(5, 1, 12), iter(range(most))
        search = AlphaBetaSearch(5, table_bits=10, seed=1)
        found = search.search(game, FUSED[0], Budget(depth=3, stop=lambda left=left: next(left, None) is None))
        sign = 1 if game.to_play == BLACK else -1
        shown = {p: v * sign for p, v in search.searched(game.to_play).items()}
        if found.nodes:
            assert shown[found.move] == max(shown.values()) == pytest.approx(sign * sigmoid(found.x))


@pytest.mark.interpreted
@pytest.mark.parametrize(("depth", "complete"), [(1, 1), (9, 3)])
def test_stopped_at_once(depth, complete):
    """There is always a first slice, of 2,000 positions."""
    budget = Budget(depth=depth, stop=lambda: True)
    found = AlphaBetaSearch(5, seed=1).search(Game(5), stones_table(STONES, {"B2": 1.0}), budget)
    assert (to_vertex(found.move, 5), found.depth, found.x) == ("B2", complete, 1.0)


@pytest.mark.parametrize(
    ("depth", "seconds", "message"),
    [
        (None, None, "expected a depth, or seconds, or both"),
        (0, None, "depth = 0: expected an integer from 1 to"),
        (-1, 1.0, "depth = -1: expected"),
        (99, None, f"depth = 99: expected an integer from 1 to {MAX_DEPTH - 1}, or None$"),
        (MAX_DEPTH, None, f"depth = {MAX_DEPTH}: expected"),
        (None, 0.0, "seconds = 0.0: expected a positive number"),
        (4, -1.0, "seconds = -1.0: expected"),
        (None, float("nan"), "seconds = nan: expected"),
    ],
)
def test_limits_that_are_none(depth, seconds, message):
    features = make_features(5, (1,))
    with pytest.raises(RlgoError, match=message):
        AlphaBeta(Weights(features, np.zeros(features.n_weights + 1, np.float32)), depth, seconds)
    with pytest.raises(RlgoError, match=message):
        AlphaBetaSearch(5, table_bits=4).search(Game(5), stones_table(STONES, {}), Budget(seconds=seconds, depth=depth))


def test_a_board_of_another_size():
    features = make_features(5, (1,))
    player = AlphaBeta(Weights(features, np.zeros(features.n_weights + 1, np.float32)), 1)
    with pytest.raises(RlgoError, match="plays on 5x5, found 9x9"):
        player.genmove(Game(9))


# ---------------------------------------------------------------------------------------------
# For people to watch
# ---------------------------------------------------------------------------------------------


def test_results_depth_by_depth():
    features = make_features(5, (1, 2, 3), "LI+LD")
    weights = Weights(features, random_theta(features, 3, 0.3))
    game = next(game for seed in range(9) if len(moves_to_try(game := random_game(5, seed, 7))) > 5)
    player = AlphaBeta(weights, depth=3, seed=1)
    assert player.statistics(game).kind == "values"
    move = player.genmove(game)
    told = player.statistics(game)
    assert [result.depth for result in told.depths] == [1, 2, 3]
    assert told.depths[-1] == player.result
    assert (told.kind, told.unit, told.depth, told.done) == ("depth", "positions", 3, player.result.nodes)
    assert told.moves[0] == move
    assert told.lines == [player.result.line]
    searched = told.columns["searched"]
    assert searched[0] == pytest.approx(sigmoid(player.result.x))
    best = max if game.to_play == BLACK else min
    assert best(searched.tolist()) == pytest.approx(searched[0], abs=1e-6)  # no move is better
    values = ValueFunction(weights).afterstates(game.board)
    assert told.columns["value"][0] == values[(move // 6 - 1) * 5 + move % 6 - 1]
    assert 0 < told.size <= len(player.searcher._memory.entries)
    for result in told.depths:
        alone = AlphaBeta(weights, depth=result.depth, seed=1)
        alone.genmove(game)
        assert alone.result.x == pytest.approx(result.x)


def test_results_in_the_middle_of_a_search():
    weights = load_weights(checkpoints_dir() / "9x9-1M.npz")
    player, game, seen = AlphaBeta(weights, depth=4, seed=1), random_game(9, 1, 10), []

    def stop() -> bool:
        seen.append(player.statistics(game))
        return False

    player.stop = stop
    player.genmove(game)
    assert [told.depth for told in seen] == sorted(told.depth for told in seen)
    assert seen[0].depth < 4
    assert all(len(told.depths) == told.depth for told in seen)
