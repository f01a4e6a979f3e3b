"""Alpha-beta against plain minimax, whatever is switched on; fused weights against the weights that they come from.

Start reading at `check`.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from board_data import from_diagram
from naive import minimax, reduced_minimax, to_core

from rlgo import alphabeta
from rlgo.alphabeta import (
    MAX_DEPTH,
    WON_LOGIT,
    AlphaBetaResult,
    AlphaBetaSearch,
    Options,
    begin_root,
    negamax,
)
from rlgo.alphabeta_player import AlphaBeta
from rlgo.board import BLACK, PASS, WHITE, is_legal, new_board, new_boards, play, position_key, random_move, zobrist
from rlgo.budget import Budget
from rlgo.coords import from_vertex, to_vertex
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.jit import make_rng
from rlgo.player import GreedyPlayer, moves_to_try
from rlgo.resources import checkpoints_dir
from rlgo.rewriting import fuse
from rlgo.settings import VALUES
from rlgo.shapes import FeatureSet, Table, make_features
from rlgo.value import ValueFunction, all_afterstates, new_shapes, reset, x_of
from rlgo.weights import Weights, load_weights

FEATURES = make_features(5, (1, 2, 3), "none")
OPTIONS = [Options(*on) for on in product((True, False), repeat=4)]  # table, killers, history, pvs
PLAIN = Options(False, False, False, False)


def random_theta(features: FeatureSet, seed: int, scale: float, step: float = 0.0) -> np.ndarray:
    """Weights of features that share none; step: multiples of it, whose sums are exact and often equal."""
    theta = np.random.default_rng(seed).normal(scale=scale, size=features.n_weights + 1)
    theta = np.round(theta / step) * step if step else theta
    theta[0] = 0
    return theta.astype(np.float32)


def random_game(size: int, seed: int, n_moves: int, komi: float = 0.5) -> Game:
    """A game of this many random moves, or fewer: it is not over."""
    game, b, rng, draw = Game(size, komi), new_board(size), make_rng(seed), random.Random(seed)
    for _ in range(n_moves):
        p = PASS if draw.random() < 0.02 else int(random_move(b, rng))
        if not game.is_legal(p) or (p == PASS and b.n_passes):
            break
        play(b, p, zobrist(size))
        game.play(p)
    return game


def positions(n: int, seed: int) -> Iterator[Game]:
    """From random games on 5x5: any position, one from shortly before the end, and one with a ko, in turn."""
    draw = random.Random(seed)
    for i in range(n):
        whole, game = random_game(5, 10_000 * seed + i, 200), Game(5, draw.choice([-1.0, 0.0, 0.5, 3.0]))
        numbers = range(len(whole.moves) + 1)
        if i % 3 == 1:
            numbers = numbers[-8:]
        elif i % 3 == 2:
            numbers = kos(whole) or numbers
        for color, p in whole.moves[: draw.choice(numbers)]:
            game.play(p, color)
        yield game


def kos(whole: Game) -> list[int]:
    """After how many moves of a game there was a ko."""
    game, found = Game(whole.size), []
    for color, p in whole.moves:
        game.play(p, color)
        if game.board.ko:
            found.append(len(game.moves))
    return found


# ---------------------------------------------------------------------------------------------
# Fused weights
# ---------------------------------------------------------------------------------------------


def values(game: Game, table: Table) -> np.ndarray:
    """The logits of the position and of all afterstates (NaN: illegal), the latter from what changes alone."""
    sh, afterstates = new_shapes(1, game.size)[0], np.empty(game.size**2 + 1)
    reset(game.board, sh, table)
    all_afterstates(game.board, sh, table, VALUES["linear"], afterstates)
    return np.append(afterstates - 0.5, x_of(sh.configuration, table))


@pytest.mark.parametrize(("sharing", "fused_sharing"), [("none", "none"), ("inversion", "none"), ("LI+LD", "LD")])
@pytest.mark.parametrize("sizes", [(1, 2), (1, 2, 3), (3,), (1,), (1, 3)], ids=str)
@pytest.mark.parametrize("size", [5, 9])
def test_fused_weights_give_the_same_values(size, sizes, sharing, fused_sharing):
    features = make_features(size, sizes, sharing)
    table = features.table(random_theta(features, 1, 0.3))
    fused = fuse(features, table.black)
    assert fused.g is make_features(size, (3,), fused_sharing).geometry
    xs = []
    for seed in range(30):
        game = random_game(size, seed, 1 + seed * size * size // 20)
        xs.append(values(game, table))
        np.testing.assert_allclose(values(game, fused), xs[-1], atol=1e-4)
    assert np.std([x[-1] for x in xs]) > 0.2


def test_fused_shipped_weights_give_the_same_values():
    weights = load_weights(checkpoints_dir() / "9x9-1M.npz")
    fused = weights.table(is_fused=True)
    for seed in range(20):
        game = random_game(9, seed, 5 * seed)
        np.testing.assert_allclose(values(game, fused), values(game, weights.table()), atol=5e-5)


@pytest.mark.parametrize("size", [6, 9])
def test_symmetric_moves_stay_equal_when_weights_are_fused(size):
    features = make_features(size)
    x = values(Game(size), fuse(features, features.expand(random_theta(features, 1, 0.3))))[: size * size]
    board = x.reshape(size, size)
    for image in (board[::-1], board[:, ::-1], board.T):
        np.testing.assert_array_equal(image, board)
    assert len(set(x)) > 5


# ---------------------------------------------------------------------------------------------
# Against minimax
# ---------------------------------------------------------------------------------------------

# Small, large, and with many equal sums.
THETAS = [random_theta(FEATURES, 1, 0.05), random_theta(FEATURES, 2, 3.0), random_theta(FEATURES, 3, 0.4, 0.5)]
TABLES = [FEATURES.expand(theta) for theta in THETAS]
FUSED = [fuse(FEATURES, table) for table in TABLES]


def move_values(game: Game, depth: int, table: np.ndarray) -> dict[int, float]:
    """Minimax values, for the colour to play, of the moves of the real game."""
    boards = new_boards(depth + 1, game.size)
    sign, out = 1 if game.to_play == BLACK else -1, {}
    for p in game.sensible_moves():
        boards[0] = game.board
        play(boards[0], p, zobrist(game.size))
        out[p] = sign * minimax(boards, depth - 1, FEATURES, table, game.komi)
    return out


def check(
    game: Game, found: AlphaBetaResult, expected: dict[int, float], depth: int, table: np.ndarray, tolerance: float
) -> None:
    """Value, move, depth and line of a finished search."""
    best, sign = max(expected.values()), 1 if game.to_play == BLACK else -1
    assert found.x * sign == pytest.approx(best, abs=tolerance)
    assert expected[found.move] == pytest.approx(best, abs=tolerance)
    assert found.depth == depth or (found.depth < depth and abs(found.x) == WON_LOGIT)
    assert 1 <= len(found.line) <= found.depth
    assert found.line[0] == found.move
    boards = new_boards(1, game.size)
    boards[0] = game.board
    for p in found.line:
        assert boards[0].n_passes < 2
        assert is_legal(boards[0], p)
        play(boards[0], p, zobrist(game.size))
    # The table may cut a line short: then nothing is known about its end.
    if len(found.line) == found.depth or boards[0].n_passes >= 2:
        assert minimax(boards, 0, FEATURES, table, game.komi) == pytest.approx(found.x, abs=tolerance)


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
    searches = [AlphaBetaSearch(5, options, 12, seed=1) for options in (Options(), Options(pvs=False), PLAIN)]
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
    search = AlphaBetaSearch(5, Options(table=False, killers=False, history=False, reductions=True), seed=1)
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
        state = search._searches[0].state
        begin_root(np.array(moves), depth, state)
        while not negamax(1_000, search._searches[0]):
            pass
        assert state.best[0] == pytest.approx(expected, abs=5e-4 if i % 2 else 1e-5)
        differ += abs(expected - max(move_values(game, depth, TABLES[i % 2]).values())) > 0.01
    assert differ > 3  # reductions are not sound


def test_reductions_search_much_less():
    weights = load_weights(checkpoints_dir() / "9x9-1M.npz").table(is_fused=True)
    nodes = []
    for options in (Options(), Options(reductions=True)):
        search = AlphaBetaSearch(9, options, seed=1)
        found = [search.search(random_game(9, i, 10 + 8 * i), weights, Budget(depth=5)) for i in range(4)]
        nodes.append(sum(result.nodes for result in found))
    assert nodes[1] < nodes[0] / 4


def test_everything_together_searches_less():
    game = random_game(5, 1, 6)
    nodes = [
        AlphaBetaSearch(5, o, 16, seed=1).search(game, FUSED[0], Budget(depth=4)).nodes for o in (PLAIN, Options())
    ]
    assert nodes[1] < nodes[0]


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
# Several threads
# ---------------------------------------------------------------------------------------------


def test_several_threads_find_what_minimax_finds():
    """With tables so small that threads overwrite each other's entries all the time, and with a larger one."""
    searches = [AlphaBetaSearch(5, Options(), bits, workers, seed=1) for bits, workers in ((4, 2), (12, 2), (12, 5))]
    for i, game in enumerate(positions(120, seed=6)):
        depth, table = (1, 2, 3)[i // 3 % 3], TABLES[i % 2]
        if not moves_to_try(game):
            continue
        expected = move_values(game, depth, table)
        for search in searches:
            found = search.search(game, FUSED[i % 2], Budget(depth=depth))
            check(game, found, expected, depth, table, 5e-4 if i % 2 else 1e-5)


def deepening(game: Game, depth: int) -> tuple[AlphaBetaSearch, alphabeta._Deepening]:
    """Two threads, to be run by hand, one after the other."""
    search = AlphaBetaSearch(5, workers=2, seed=1)
    search.warm_up(FUSED[0])
    search._stand_on(game, FUSED[0])
    moves, order = np.array(moves_to_try(game)), np.random.default_rng(1)
    return search, alphabeta._Deepening(search._searches, moves, Budget(depth=depth), order, search.results)


def until(is_reached: Callable[[], bool]) -> Iterator[int]:
    """Slices of one node."""
    return iter(lambda: 0 if is_reached() else 1, 0)


def test_whoever_is_first_to_finish_a_depth():
    """What two threads begin with, finish, and end."""
    game = random_game(5, 1, 6)
    alone = AlphaBetaSearch(5, seed=1)
    alone.search(game, FUSED[0], Budget(depth=4))
    search, both = deepening(game, 4)
    (first, second), results = search._searches, search.results

    assert both.result()[1:3] == (0.0, 0)
    assert both.result().move in moves_to_try(game)
    both.run(1, until(lambda: second.state.depth[0] == 4))  # the second thread begins with depth 2, then with 4
    assert [result.depth for result in results] == [2]
    assert first.stop[0] == 1
    both.run(0, until(lambda: first.state.length[0] > 0))  # one move, to depth 3
    assert (first.state.depth[0], first.state.moves[0, 0]) == (3, results[0].move)
    assert both.result().depth == 2
    assert both.result().nodes == first.state.nodes + second.state.nodes > results[0].nodes
    both.run(0, until(lambda: first.state.depth[0] == 4))
    assert [result.depth for result in results] == [2, 3]
    assert second.stop[0] == 0  # it may go on with depth 4
    both.run(1, iter([10**9]))
    assert first.stop[0] == 1
    both.run(0, iter([]))  # there is nothing left to do
    assert both.result() == results[-1]
    for result in results:
        assert result.x == pytest.approx(alone.results[result.depth - 1].x, abs=1e-9)
    assert len(results) == 3


def test_the_values_shown_are_those_of_the_result():
    """Also if time is up after a thread has finished a depth, and before the first one has begun with the next."""
    game = random_game(5, 1, 6)
    search, both = deepening(game, 9)
    first, second = search._searches
    both.run(0, until(lambda: first.state.depth[0] == 2))
    both.run(1, until(lambda: second.state.depth[0] == 5))  # after depth 3
    both.end()
    search._root = both.root()
    found, sign = both.result(), 1 if game.to_play == BLACK else -1
    assert found.depth == 3
    assert first.state.depth[0] == 2
    shown = {p: v * sign for p, v in search.searched(game.to_play).items()}
    assert shown[found.move] == max(shown.values()) == pytest.approx(sign * alphabeta.sigmoid(found.x))
    assert len(shown) == len(moves_to_try(game))


def test_all_threads_search_and_end_with_the_search(monkeypatch):
    """Whether it ends by itself, is stopped, or fails."""
    in_slices_of(monkeypatch, 20)
    search, game = AlphaBetaSearch(9, workers=3, seed=1), random_game(9, 1, 10)
    table = load_weights(checkpoints_dir() / "9x9-1M.npz").table(is_fused=True)

    def all_search() -> bool:
        time.sleep(0.001)  # lets the others begin
        return all(one.state.nodes > 1_000 for one in search._searches)

    def fail() -> bool:
        if all_search():
            raise KeyboardInterrupt
        return False

    assert search.search(game, table, Budget(depth=39, stop=all_search)).depth < 39
    with pytest.raises(KeyboardInterrupt):
        search.search(game, table, Budget(depth=39, stop=fail))
    nodes = search.nodes
    time.sleep(0.02)
    assert search.nodes == nodes
    assert search.search(game, table, Budget(depth=3)).depth == 3


def test_threads_end_if_another_cannot_begin(monkeypatch):
    search, game = AlphaBetaSearch(9, workers=3, seed=1), random_game(9, 1, 10)
    table = load_weights(checkpoints_dir() / "9x9-1M.npz").table(is_fused=True)
    submit, jobs = search._threads.submit, []

    def submit_one(*job):
        if jobs:
            raise RuntimeError("can't start new thread")
        jobs.append(submit(*job))
        return jobs[0]

    monkeypatch.setattr(search._threads, "submit", submit_one)
    with pytest.raises(RuntimeError):
        search.search(game, table, Budget(depth=39))
    assert jobs[0].done()


def test_a_slice_goes_on_at_the_next_depth(monkeypatch):
    """Else it would look fast where a depth ends in the middle of it, and the next ones would be far too long."""
    clock, planned = SimpleNamespace(now=0.0), []
    search, game = AlphaBetaSearch(9, seed=1), random_game(9, 3, 90)
    clock.perf_counter = lambda: clock.now
    monkeypatch.setattr("rlgo.budget.time", clock)
    kernel = alphabeta.negamax

    def timed(n_nodes: int, memory: alphabeta.Search) -> bool:
        planned.append(n_nodes)
        before = int(memory.state.nodes)
        is_done = kernel(n_nodes, memory)
        clock.now += (memory.state.nodes - before) / 1e6
        return is_done

    monkeypatch.setattr(alphabeta, "negamax", timed)
    table = load_weights(checkpoints_dir() / "9x9-1M.npz").table(is_fused=True)
    search.search(game, table, Budget(seconds=0.1))
    assert 1_000 < max(planned) < 11_000  # ten milliseconds
    assert clock.now < 0.101


def test_torn_entries_are_not_believed():
    """Entries whose words were not written together, as when two threads write at once."""
    game, found = random_game(5, 1, 6), []
    search = AlphaBetaSearch(5, table_bits=14, seed=1)
    for _ in range(2):
        found.append(search.search(game, FUSED[0], Budget(depth=4))[:-1])
        entries = search._searches[0].entries
        written = entries["search"] == search._searches[0].state.search
        assert np.count_nonzero(written) > 50
        entries["value"][written] += 1.0
        search._searches[0].state.search -= 1  # the next search is the same to the table
    assert found[0][:3] == found[1][:3]


@pytest.mark.parametrize("workers", [0, 65, True])
def test_threads_out_of_range(workers):
    with pytest.raises(RlgoError, match=f"workers = {workers}: expected an integer from 1 to 64"):
        AlphaBetaSearch(5, workers=workers)


# ---------------------------------------------------------------------------------------------
# At the root
# ---------------------------------------------------------------------------------------------


def stones_table(features: FeatureSet, worth: dict[str, float], otherwise: float = 0.0) -> Table:
    """Of features of size 1, fused: what a stone is worth for its owner, by vertex."""
    weights = np.zeros(len(features.class_of), np.float32)
    for w, (_, row, col) in enumerate(features.windows):
        value = worth.get(to_vertex(to_core(features.size, (row, col)), features.size), otherwise)
        base = features.geometry.ld_base[w]
        weights[base + 1 : base + 3] = value, -value
    return fuse(features, weights)


STONES = make_features(5, (1,), "none")


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
@pytest.mark.parametrize("options", [Options(), PLAIN], ids=["everything", "nothing"])
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


# Black captures four stones at B2; White, to play, would save them there.
CAPTURE = """
    . . . . .
    . X X X .
    X O O O X
    X . O X .
    . X . . .
"""


def test_captures_are_found_with_null_moves():
    nodes = []
    for null_move in (False, True):
        table, options = stones_table(STONES, {}, 1.0), Options(null_move=null_move)
        found = AlphaBetaSearch(5, options, seed=1).search(from_diagram(CAPTURE, komi=0.5), table, Budget(depth=5))
        nodes.append(found.nodes)
        assert found.move in {from_vertex("B2", 5), from_vertex("C1", 5)}
        assert found.depth == 5
    assert nodes[0] != nodes[1]


@pytest.mark.boundscheck
def test_null_moves_lead_to_legal_moves():
    search = AlphaBetaSearch(5, Options(null_move=True), seed=1)
    for i in range(60):
        game = random_game(5, i, 10 + i)
        found = search.search(game, FUSED[i % 3], Budget(depth=5))
        assert game.is_legal(found.move)
        assert found.move == PASS or found.move in game.sensible_moves()


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


@pytest.mark.interpreted
def test_stopped_at_once():
    found = AlphaBetaSearch(5, seed=1).search(
        Game(5), stones_table(STONES, {"B2": 1.0}), Budget(depth=9, stop=lambda: True)
    )
    assert (to_vertex(found.move, 5), found.depth >= 1) == ("B2", True)


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


@pytest.mark.parametrize("bits", [3, 29, -1])
def test_tables_out_of_range(bits):
    with pytest.raises(RlgoError, match=f"table_bits = {bits}: expected an integer from 4 to 28"):
        AlphaBetaSearch(5, table_bits=bits)


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
    assert player.insight(game) is None
    move = player.genmove(game)
    told = player.insight(game)
    assert [result.depth for result in told.depths] == [1, 2, 3]
    assert told.depths[-1] == player.result
    assert (told.kind, told.unit, told.depth, told.done) == ("depth", "positions", 3, player.result.nodes)
    assert told.moves[0] == move
    assert told.lines == [player.result.line]
    searched = told.columns["searched"]
    assert searched[0] == pytest.approx(alphabeta.sigmoid(player.result.x))
    best = max if game.to_play == BLACK else min
    assert best(searched.tolist()) == pytest.approx(searched[0], abs=1e-6)  # no move is better
    values = ValueFunction(weights).afterstates(game.board)
    assert told.columns["value"][0] == values[(move // 6 - 1) * 5 + move % 6 - 1]
    assert 0 < told.size <= len(player.searcher._searches[0].entries)
    for result in told.depths:
        alone = AlphaBeta(weights, depth=result.depth, seed=1)
        alone.genmove(game)
        assert alone.result.x == pytest.approx(result.x)


def test_results_in_the_middle_of_a_search():
    weights = load_weights(checkpoints_dir() / "9x9-1M.npz")
    player, game, seen = AlphaBeta(weights, depth=4, seed=1), random_game(9, 1, 10), []

    def stop() -> bool:
        seen.append(player.insight(game))
        return False

    player.stop = stop
    player.genmove(game)
    assert [told.depth for told in seen] == sorted(told.depth for told in seen)
    assert seen[0].depth < 4
    assert all(len(told.depths) == told.depth for told in seen)
