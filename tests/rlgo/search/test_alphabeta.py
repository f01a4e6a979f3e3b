"""Alpha-beta against plain minimax, whatever is switched on.

Start reading at `test_search_equals_minimax`.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import numpy as np
import pytest
from board_data import from_diagram
from oracles.minimax import (
    FEATURES,
    FUSED,
    STONES,
    TABLES,
    check,
    move_values,
    positions,
    random_game,
    random_theta,
    stones_table,
)
from oracles.naive import minimax, reduced_minimax, to_core

from rlgo.base.budget import Budget
from rlgo.base.resources import checkpoints_dir
from rlgo.compiler.jit import make_rng
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, load_weights
from rlgo.go.board import BLACK, PASS, WHITE, is_legal, new_board, new_boards, play, position_key, random_move
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.go.rules import zobrist
from rlgo.learning.value import ValueFunction
from rlgo.play.player import GreedyPlayer, moves_to_try
from rlgo.search import alphabeta
from rlgo.search.alphabeta import (
    WON_LOGIT,
    AlphaBetaOptions,
    begin_root,
    negamax,
)
from rlgo.search.alphabeta_player import AlphaBeta
from rlgo.search.deepening import AlphaBetaResult, AlphaBetaSearch

EVERYTHING, PLAIN = OPTIONS = AlphaBetaOptions(), AlphaBetaOptions(table=False)

# ---------------------------------------------------------------------------------------------
# Against minimax
# ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("table_bits", [4, 12])
def test_search_equals_minimax(table_bits):
    """With everything switched on and off; the smallest table, too, whose entries are overwritten all the time."""
    searches = [AlphaBetaSearch(5, options, table_bits, seed=1) for options in OPTIONS]
    draw, counts = random.Random(table_bits), Counter()
    for game in positions(400, seed=table_bits):
        depth, k = draw.choice((1, 2, 3)), draw.randrange(len(TABLES))
        expected = move_values(game, depth, TABLES[k])
        if not moves_to_try(game):
            counts["nothing to try"] += 1
            continue
        counts[f"depth {depth}"] += 1
        counts["ko"] += bool(game.board.ko)
        counts["won or lost"] += abs(max(expected.values())) == WON_LOGIT
        counts["the end in sight"] += any(abs(v) == WON_LOGIT for v in expected.values())
        counts["ties"] += sum(v == max(expected.values()) for v in expected.values()) > 1
        for search in searches:
            found = search.search(game, FUSED[k], Budget(depth=depth))
            try:
                check(game, found, expected, depth, TABLES[k], 5e-4 if k == 1 else 1e-5)
            except AssertionError as error:
                error.add_note(f"{search.options}, depth {depth}, weights {k}, {found}: {game.moves}")
                raise
    assert len(counts) == 8, counts
    assert min(counts.values()) > 3, counts


@pytest.mark.slow
def test_deeper_searches_equal_minimax():
    """Where there are few moves, so that minimax comes to an end: more of the table is used, and of null windows."""
    searches = [AlphaBetaSearch(5, options, 12, seed=1) for options in OPTIONS]
    depths = Counter()
    for i, game in enumerate(positions(280, seed=3)):
        n, table = len(moves_to_try(game)), TABLES[i % 3]
        depth = next((depth for depth, most in ((8, 2), (7, 3), (6, 4), (5, 5), (4, 7)) if n <= most), 0)
        if n and depth:
            depths[depth] += 1
            expected = move_values(game, depth, table)
            for search in searches:
                found = search.search(game, FUSED[i % 3], Budget(depth=depth))
                check(game, found, expected, depth, table, 5e-4 if i % 3 == 1 else 1e-5)
    assert sorted(depths) == [4, 5, 6, 7, 8]
    assert min(depths.values()) > 5, depths


def test_late_move_reductions_by_their_definition():
    """Without what remembers moves, whose order would be another."""
    search = AlphaBetaSearch(5, AlphaBetaOptions(table=False, reductions=True), seed=1)
    differ = 0
    for i, game in enumerate(positions(90, seed=4)):
        moves = moves_to_try(game)
        depth = 5 if len(moves) <= 8 else 4
        if not 4 <= len(moves) <= 14:
            continue

        def value(game: Game, table: np.ndarray = TABLES[i % 2]) -> float:
            boards = new_boards(1, 5)
            boards[0] = game.board
            return minimax(boards, 0, FEATURES, table, game.komi)

        expected = reduced_minimax(game, depth, value, moves, alphabeta._EARLY, -np.inf, np.inf)
        search.warm_up(FUSED[i % 2])
        search._stand_on(game, FUSED[i % 2])
        state = search._memory.state
        begin_root(np.array(moves), depth, state)
        while not negamax(1_000, search._memory):
            pass
        assert state.best[0] == pytest.approx(expected, abs=5e-4 if i % 2 else 1e-5)
        differ += abs(expected - max(move_values(game, depth, TABLES[i % 2]).values())) > 0.01
    assert differ > 3  # reductions are not sound


def test_reductions_search_much_less():
    weights = load_weights(checkpoints_dir() / "9x9-1M.npz").table(is_fused=True)
    nodes = []
    for options in (EVERYTHING, AlphaBetaOptions(reductions=True)):
        search = AlphaBetaSearch(9, options, seed=1)
        found = [search.search(random_game(9, i, 10 + 8 * i), weights, Budget(depth=5)) for i in range(4)]
        nodes.append(sum(result.nodes for result in found))
    assert nodes[1] < nodes[0] / 4


def test_everything_together_searches_less():
    game = random_game(5, 1, 6)
    nodes = [
        AlphaBetaSearch(5, options, 16, seed=1).search(game, FUSED[0], Budget(depth=4)).nodes for options in OPTIONS
    ]
    assert nodes[0] < nodes[1]


# ---------------------------------------------------------------------------------------------
# The transposition table
# ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_different_states_have_different_keys():
    states, rng = {}, make_rng(1)
    for _ in range(120):
        b = new_board(5)
        for _ in range(60):
            play(b, random_move(b, rng), zobrist(5))
            real = int(b.to_play), int(b.ko), int(b.n_passes)
            # And as it would be with another colour to play, another ko, a pass.
            variants = product((BLACK, WHITE), {0, real[1], int(b.empties[0]), int(b.empties[1])}, (0, 1))
            for b.to_play, b.ko, b.n_passes in variants:
                state = b.color.tobytes(), int(b.to_play), int(b.ko), int(b.n_passes)
                assert states.setdefault(int(position_key(b)), state) == state
            b.to_play, b.ko, b.n_passes = real
            if b.n_passes == 2:
                break
    assert len(states) == len(set(states.values())) > 20_000


def test_the_table_forgets_what_other_weights_found():
    used = AlphaBetaSearch(5, table_bits=14, seed=1)
    differ = 0
    for i in range(30):
        game = random_game(5, i, 3 + i)
        found = [used.search(game, fused, Budget(depth=3)).x for fused in FUSED]
        fresh = [AlphaBetaSearch(5, table_bits=14, seed=1).search(game, fused, Budget(depth=3)).x for fused in FUSED]
        assert found == pytest.approx(fresh, abs=1e-9)
        differ += len(set(fresh)) == len(TABLES)
    assert differ > 20


# ---------------------------------------------------------------------------------------------
# At the root
# ---------------------------------------------------------------------------------------------


def test_one_ply_is_the_greedy_player():
    features = make_features(5)
    weights = Weights(features, random_theta(features, 1, 0.4))
    v = ValueFunction(weights)
    player, greedy = AlphaBeta(weights, depth=1, seed=1), GreedyPlayer(v)
    passes = 0
    for i in range(300):
        game = random_game(5, i, i % 90)
        move, expected = player.genmove(game), greedy.genmove(game)
        passes += move == PASS
        assert (move == PASS) == (expected == PASS)
        if move != PASS:
            values = dict(zip((to_core(5, divmod(k, 5)) for k in range(25)), v.afterstates(game.board), strict=False))
            assert values[move] == pytest.approx(values[expected], abs=1e-5)
    assert passes > 5
    assert player.analyses().keys() == greedy.analyses().keys()


def test_exact_ties_are_broken_at_random():
    table = stones_table(STONES, {"A1": 1.0, "C3": 1.0, "B5": 1.0, "E2": 1.0, "D4": 0.5})
    for depth in (1, 2, 3):
        search = AlphaBetaSearch(5, seed=1)
        moves = [to_vertex(search.search(Game(5), table, Budget(depth=depth)).move, 5) for _ in range(100)]
        assert set(moves) == {"A1", "C3", "B5", "E2"}
        assert min(Counter(moves).values()) > 8
        again = AlphaBetaSearch(5, seed=1)
        assert moves[:10] == [to_vertex(again.search(Game(5), table, Budget(depth=depth)).move, 5) for _ in range(10)]


def test_symmetric_moves_are_ties():
    """Rounding must not tell them apart: else, on the empty board, the same of them would always be chosen."""
    weights = load_weights(checkpoints_dir() / "9x9-1M.npz")
    values = ValueFunction(weights).afterstates(Game(9).board)[:-1]
    best = {to_core(9, divmod(int(k), 9)) for k in np.flatnonzero(values == values.max())}
    player = AlphaBeta(weights, depth=1, seed=1)
    assert {player.genmove(Game(9)) for _ in range(60)} == best
    assert len(best) == 4


# After Black's C3 or C4, nobody has a sensible move; White at C3 or C4 would have to be taken.
NEARLY_OVER = """
    X X X X .
    X X . X X
    X X . X X
    X X X X X
    . X X X X
"""


@pytest.mark.interpreted
@pytest.mark.boundscheck
@pytest.mark.parametrize("options", OPTIONS, ids=["everything", "nothing"])
def test_two_passes_end_the_game(options):
    against = stones_table(STONES, {"C3": -1.0, "C4": -2.0})  # the weights advise against all that wins
    search = AlphaBetaSearch(5, options, seed=1)
    for komi, x in ((0.5, WON_LOGIT), (24.5, WON_LOGIT), (25.0, 0.0), (25.5, -WON_LOGIT)):
        game = from_diagram(NEARLY_OVER, BLACK, komi)
        assert search.search(game, against, Budget(depth=2)).x == -1.0
        found = search.search(game, against, Budget(depth=9))
        assert (found.x, found.line[1:]) == (x, [PASS, PASS])
        assert found.depth == 3 or x == 0
        game.play(found.move)
        assert search.search(game, against, Budget(depth=9))[:2] == (PASS, 0.0)


def test_where_there_is_nothing_to_try():
    game = from_diagram(NEARLY_OVER, komi=0.5)
    table, search = stones_table(STONES, {}, 1.0), AlphaBetaSearch(5, seed=1)
    game.play(PASS)  # White has no move that wins
    assert search.search(game, table, Budget(depth=3)).move in {PASS, *game.sensible_moves()}
    game.play(PASS)
    assert game.is_over()
    assert game.is_legal(search.search(game, table, Budget(depth=3)).move)
    game = Game(5, 0.5)
    game.play(from_vertex("C3", 5))
    game.play(PASS)
    assert search.search(game, table, Budget(depth=3)) == AlphaBetaResult(PASS, 0.0, 0, 0, [PASS], 0.0)  # a pass wins
    assert (search.nodes, search.searched(game.to_play)) == (0, {})  # nor is there anything to show


@pytest.mark.parametrize("depth", [1, 3])
def test_no_move_that_superko_forbids(depth):
    game = Game(5)
    for name in ["B1", "A2", "C2", "B2", "D1", "E5", "A1", "C1"]:
        game.play(from_vertex(name, 5))
    forbidden = from_vertex("B1", 5)
    assert game.why_illegal(forbidden) == "superko"
    assert is_legal(game.board, forbidden)
    table = stones_table(STONES, {"B1": 100.0}, 1.0)
    boards = new_boards(1, 5)
    boards[0] = game.board
    for _ in range(10):
        found = AlphaBetaSearch(5).search(game, table, Budget(depth=depth))
        assert found.move != forbidden
        assert game.is_legal(found.move)
    game.play(from_vertex("E1", 5))
    game.play(from_vertex("D5", 5))
    assert game.is_legal(forbidden)
    assert AlphaBetaSearch(5).search(game, table, Budget(depth=depth)).move == forbidden
