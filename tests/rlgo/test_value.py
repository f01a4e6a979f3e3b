"""The value function against recounts and dense phi . theta; the policies against what they should choose."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from naive import NaiveBoard, Stones, from_core, images, to_core

from rlgo.board import BLACK, PASS, WHITE, is_legal, is_sensible, new_board, new_boards, play, random_move, zobrist
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.jit import copy_record, make_rng, njit, random_unit
from rlgo.policy import choose_move, softmax_move
from rlgo.settings import EPSILON_GREEDY, LINEAR, LOGISTIC, SOFTMAX, Policy
from rlgo.shapes import FeatureSet, Table, make_features
from rlgo.value import (
    ValueFunction,
    best_afterstate,
    gain_of,
    new_shapes,
    reset,
    update,
    x_of,
)
from rlgo.weights import Weights

FEATURES = [
    (5, (1, 2, 3), "LI+LD"),
    (5, (2, 3), "LI"),
    (5, (3,), "LD"),
    (5, (1, 3), "inversion"),
    (5, (1, 2), "none"),
    (9, (1, 2, 3), "LI+LD"),
]


def random_theta(features: FeatureSet, seed: int, scale: float = 1.0) -> np.ndarray:
    theta = np.random.default_rng(seed).normal(scale=scale, size=features.n_weights + 1).astype(np.float32)
    theta[0] = 0
    return theta


# ---------------------------------------------------------------------------------------------
# Move by move: configurations, values, gains, masks and captures against recounts
# ---------------------------------------------------------------------------------------------


@njit
def count_mistakes(boards, shapes, table, games, zobrist, rng, mistakes):
    """Random games; after each move compare the record with a fresh `reset` and with the board's own answers."""
    b, sh, fresh, after = boards[1], shapes[1], shapes[2], boards[2]
    for _ in range(games):
        copy_record(boards[0], b)
        copy_record(shapes[0], sh)
        for _move in range(3 * b.board_size * b.board_size):
            if b.n_passes >= 2:
                break
            p = random_move(b, rng)
            if random_unit(rng) < 0.02:
                p = PASS
            elif random_unit(rng) < 0.3:
                p = best_afterstate(b, sh, table, rng)[0]
            play(b, p, zobrist)
            update(b, sh, table)
            reset(b, fresh, table)
            for w in range(table.g.n_windows):
                mistakes[0] += sh.configuration[w] != fresh.configuration[w]
            for c in range(2):
                own = table if c == 0 else Table(table.g, table.white, table.black)
                mistakes[1] += abs(sh.x[c] - x_of(fresh.configuration, own)) > 1e-3
                mistakes[2] += sh.n_captures[c] != fresh.n_captures[c]
                for i in range(b.n_empty):
                    q = np.int64(b.empties[i])
                    mistakes[3] += sh.mask[c, q] != fresh.mask[c, q]
                    mistakes[4] += sh.is_capture[c, q] != fresh.is_capture[c, q]
                    mistakes[5] += sh.gain[c, q] != fresh.gain[c, q]
            c = b.to_play - 1
            for i in range(b.n_empty):
                q = np.int64(b.empties[i])
                may = sh.mask[c, q] == 0 or sh.is_capture[c, q] == 1
                mistakes[6] += may != is_sensible(b, q)
                if is_legal(b, q):
                    copy_record(b, after)
                    play(after, q, zobrist)
                    mistakes[7] += (after.n_changed > 1) and may and sh.is_capture[c, q] == 0
                    reset(after, fresh, table)
                    own = table if c == 0 else Table(table.g, table.white, table.black)
                    gain = x_of(fresh.configuration, own) - sh.x[c]
                    gain = gain if c == 0 else -gain
                    mistakes[8] += abs(gain - gain_of(b, sh, table, q)) > 1e-3
                    if sh.is_capture[c, q] == 1 and sh.is_fresh[c, q] == 1:
                        mistakes[9] += abs(gain - sh.gain_capture[c, q]) > 1e-3


def check_incremental(size: int, sizes: tuple[int, ...], sharing: str, games: int) -> None:
    features = make_features(size, sizes, sharing)
    table = Table(features.geometry, *(features.expand(random_theta(features, seed)) for seed in (1, 2)))
    boards, shapes = new_boards(3, size), new_shapes(3, size)
    reset(boards[0], shapes[0], table)
    mistakes = np.zeros(10, np.int64)
    count_mistakes(boards, shapes, table, games, zobrist(size), make_rng(size), mistakes)
    assert mistakes.tolist() == [0] * 10


@pytest.mark.parametrize(("size", "sizes", "sharing"), FEATURES)
def test_incremental_equals_recount(size, sizes, sharing):
    check_incremental(size, sizes, sharing, 100 if size == 5 else 20)


@pytest.mark.interpreted
@pytest.mark.boundscheck
def test_one_game_equals_recount():
    check_incremental(5, (1, 2), "LI+LD", 1)


# ---------------------------------------------------------------------------------------------
# V and all afterstates, against playing every move and dense phi . theta
# ---------------------------------------------------------------------------------------------


def check_value(features: FeatureSet, kind: str, every: int, games: int, seed: int) -> int:
    """Compare at every so many moves of random games; returns how many captures were among the moves."""
    size, n_captures = features.size, 0
    weights = Weights(features, random_theta(features, seed, 0.2), value=kind)
    v = ValueFunction(weights)

    def dense(stones: Stones) -> float:
        phi = naive.phi(naive.active_shapes(stones, size, features.sizes, features.sharing))
        theta = {name: float(weights.theta[naive.to_index(features, name)]) for name in phi}
        return naive.value(theta, phi, kind)

    rng = make_rng(seed)
    for _ in range(games):
        b, board = new_board(size), NaiveBoard(size)
        while board.n_passes < 2 and board.n_moves < 3 * size * size:
            if board.n_moves % every == 0:
                now, legal = dense(board.stones), board.legal_points()
                expected = np.full(size * size + 1, np.nan)
                expected[-1] = now
                for p in legal:
                    stones, dead = board.result_of(p)
                    n_captures += bool(dead)
                    expected[p[0] * size + p[1]] = dense(stones)
                assert v.value(b) == pytest.approx(now, abs=2e-6)
                np.testing.assert_allclose(v.afterstates(b), expected, atol=2e-6, rtol=0, equal_nan=True)
            p = random_move(b, rng)
            play(b, p, zobrist(size))
            board.play(from_core(size, p))
    return n_captures


@pytest.mark.parametrize(
    ("size", "sizes", "sharing", "kind", "every", "games"),
    [
        (5, (1, 2, 3), "LI+LD", "logistic", 2, 3),
        (5, (1, 2), "none", "linear", 2, 3),
        (5, (3,), "inversion", "logistic", 3, 1),
        (5, (2,), "LI", "linear", 3, 1),
        (9, (1, 2, 3), "LI+LD", "logistic", 11, 1),
    ],
)
def test_values_equal_dense_phi_theta(size, sizes, sharing, kind, every, games):
    assert check_value(make_features(size, sizes, sharing), kind, every, games, 1) > 0


@pytest.mark.interpreted
@pytest.mark.boundscheck
def test_some_values_equal_dense_phi_theta():
    assert check_value(make_features(5, (1, 2), "LI+LD"), "logistic", 12, 1, 1) > 0


def set_up(size: int, stones: Stones, to_play: int = BLACK) -> np.record:
    game = Game(size)
    game.set_up([(color, to_core(size, p)) for p, color in stones.items()], to_play)
    return game.board


def from_rows(text: str, to_play: int = BLACK) -> np.record:
    """The board of a diagram, its highest row first."""
    rows = text.split()[::-1]
    stones = {(r, c): " XO".index(x) for r, row in enumerate(rows) for c, x in enumerate(row) if x != "."}
    return set_up(len(rows), stones, to_play)


@pytest.mark.parametrize(("size", "games"), [(5, 4), (9, 2)])
def test_the_value_knows_no_direction_and_changes_sides_with_the_colours(size, games):
    features = make_features(size)
    v = ValueFunction(Weights(features, random_theta(features, 3, 0.2)))
    rng = make_rng(4)
    for _ in range(games):
        board, b = NaiveBoard(size), new_board(size)
        for _ in range(size * size // 2):
            p = random_move(b, rng)
            play(b, p, zobrist(size))
            board.play(from_core(size, p))
        value = v.value(b)
        assert abs(value - 0.5) > 1e-3
        for g in range(8):
            turned = {images(size, p)[g]: color for p, color in board.stones.items()}
            assert v.value(set_up(size, turned)) == pytest.approx(value, abs=1e-5)
            inverted = {p: 3 - color for p, color in turned.items()}
            assert v.value(set_up(size, inverted)) == pytest.approx(1 - value, abs=1e-5)


@pytest.mark.parametrize("size", [5, 9])
@pytest.mark.parametrize("centre", [False, True], ids=["empty", "a stone in the centre"])
def test_symmetric_moves_have_equal_values_to_the_last_bit(size, centre):
    # Else ties between symmetric moves would be broken by rounding, always the same way.
    features = make_features(size)
    v = ValueFunction(Weights(features, random_theta(features, 5)))
    b = set_up(size, {(size // 2, size // 2): WHITE} if centre else {})
    values = v.afterstates(b)[:-1].reshape(size, size)
    for row in range(size):
        for col in range(size):
            same = {values[p].tobytes() for p in images(size, (row, col))}
            assert len(same) == 1
    assert len(np.unique(values[~np.isnan(values)])) == (size + 1) * (size + 3) // 8 - centre


def test_a_board_of_another_size():
    v = ValueFunction(Weights(make_features(5), random_theta(make_features(5), 1)))
    for ask in (v.value, v.afterstates):
        with pytest.raises(RlgoError, match="weights for board size 5"):
            ask(new_board(9))


# ---------------------------------------------------------------------------------------------
# Policies. `draws` asks one many times in one position; chi-square says whether the answers fit.
# ---------------------------------------------------------------------------------------------

# Black may capture at B5 (three stones), B1 or E4 (one each); White at B1 (A1 then breathes) one.
TACTICS = """
    O.XXO
    OX.X.
    OXO..
    XXO..
    O.XO.
"""
# Every empty point is a black eye.
FILLED = """
    XXXX.
    XXXXX
    XXXXX
    XXXXX
    .XXXX
"""


def ready(b: np.record, features: FeatureSet, theta: np.ndarray) -> tuple:
    """What a policy is asked with, but for the policy itself and the random numbers."""
    table, sh = features.table(theta), new_shapes(1, features.size)[0]
    reset(b, sh, table)
    return b, sh, table


def draws(n: int, ask) -> dict[int, int]:
    points, counts = np.unique([ask()[0] for _ in range(n)], return_counts=True)
    return dict(zip(points.tolist(), counts.tolist(), strict=True))


def sensible(b: np.record) -> list[int]:
    return [int(p) for p in range(b.color.size) if b.color[p] == 0 and is_sensible(b, p)]


def assert_fits(counts: dict[int, int], probability: dict[int, float]) -> None:
    """That counts come from a distribution: chi-square within 4 standard deviations of its mean."""
    assert set(counts) <= set(probability)
    n = sum(counts.values())
    assert min(probability.values()) * n > 5
    chi2 = sum((counts.get(p, 0) - n * q) ** 2 / (n * q) for p, q in probability.items())
    degrees = len(probability) - 1
    assert chi2 <= degrees + 4 * (2 * degrees) ** 0.5


def uniform(points) -> dict[int, float]:
    return dict.fromkeys(points, 1 / len(points))


@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_zero_weights_choose_uniformly_captures_included(color):
    features = make_features(5)
    b = from_rows(TACTICS, color)
    state, rng = ready(b, features, np.zeros(features.n_weights + 1, np.float32)), make_rng(1)
    candidates, captures = sensible(b), state[1].n_captures[color - 1]
    assert captures >= (2 if color == BLACK else 1)
    assert best_afterstate(*state, rng)[1] == len(candidates) > captures + 5
    assert_fits(draws(20_000, lambda: best_afterstate(*state, rng)), uniform(candidates))


@pytest.mark.parametrize("color", [BLACK, WHITE])
@pytest.mark.parametrize("theta", [0.5, -0.5])
def test_a_stone_more_is_better_or_worse_by_theta(color, theta):
    # One weight, of 1x1 LI: what a stone adds. Captures add at least two.
    features = make_features(5, (1,), "LI")
    b = from_rows(TACTICS, color)
    state, rng = ready(b, features, np.array([0, theta], np.float32)), make_rng(2)
    taken = {}
    for p in sensible(b):
        after = b.copy()
        play(after, p, zobrist(5))
        taken[p] = int(after.n_changed) - 1
    best = max(taken.values()) if theta > 0 else 0
    expected = [p for p, n in taken.items() if n == best]
    assert (best > 0) == (theta > 0)
    assert_fits(draws(4_000, lambda: best_afterstate(*state, rng)), uniform(expected))


@pytest.mark.parametrize("size", [5, 9])
def test_the_best_afterstate_is_the_best_for_the_colour_to_play(size):
    features = make_features(size)
    theta = random_theta(features, 6, 0.3)
    v, table = ValueFunction(Weights(features, theta)), features.table(theta)
    sh, rng, n_captures = new_shapes(1, size)[0], make_rng(7), 0
    for _ in range(5):
        b = new_board(size)
        reset(b, sh, table)
        for _ in range(2 * size * size):
            values = v.afterstates(b)
            candidates = {p: values[naive_index(size, p)] for p in sensible(b)}
            p, n = best_afterstate(b, sh, table, rng)
            assert n == len(candidates)
            if not candidates:
                assert p == PASS
                break
            best = max(candidates.values()) if b.to_play == BLACK else min(candidates.values())
            assert candidates[p] == pytest.approx(best, abs=1e-6)
            if random_unit(rng) < 0.3:
                p = random_move(b, rng)
            play(b, p, zobrist(size))
            update(b, sh, table)
            n_captures += b.n_changed > 1
    assert n_captures > 5


def naive_index(size: int, p: int) -> int:
    row, col = from_core(size, p)
    return row * size + col


@pytest.mark.parametrize("color", [BLACK, WHITE])
@pytest.mark.parametrize(("kind", "value"), [(LOGISTIC, "logistic"), (LINEAR, "linear")])
def test_softmax_draws_by_value(color, kind, value):
    features = make_features(5)
    theta = random_theta(features, 8, 0.1)
    b = from_rows(TACTICS, color)
    state, rng = ready(b, features, theta), make_rng(9)
    values = ValueFunction(Weights(features, theta, value=value)).afterstates(b)
    mine = {p: values[naive_index(5, p)] if color == BLACK else 1 - values[naive_index(5, p)] for p in sensible(b)}
    odds = {p: np.exp(v / 0.2) for p, v in mine.items()}
    expected = {p: o / sum(odds.values()) for p, o in odds.items()}
    assert max(expected.values()) > 2 * min(expected.values())
    policy = Policy(SOFTMAX, 0.0, 0.2, kind)
    assert softmax_move(*state, policy, rng)[1] == len(expected)
    assert_fits(draws(20_000, lambda: choose_move(*state, policy, rng)), expected)


@pytest.mark.parametrize(("kind", "scale"), [(LOGISTIC, 0.1), (LINEAR, 0.1), (LINEAR, 1.0)])
@pytest.mark.parametrize("temperature", [1e-3, 1e-9])
def test_a_cold_softmax_is_greedy(kind, scale, temperature):
    # However cold: exp neither underflows for all moves, nor overflows where a linear V leaves [0, 1].
    features = make_features(5)
    state, rng = ready(from_rows(TACTICS), features, random_theta(features, 8, scale)), make_rng(9)
    best = best_afterstate(*state, rng)[0]
    policy = Policy(SOFTMAX, 0.0, temperature, kind)
    assert draws(50, lambda: choose_move(*state, policy, rng)) == {best: 50}


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_epsilon_greedy_explores_with_probability_epsilon(epsilon):
    features = make_features(5)
    b = from_rows(TACTICS)
    state, rng = ready(b, features, random_theta(features, 8)), make_rng(10)
    best, candidates = best_afterstate(*state, rng)[0], sensible(b)
    expected = {p: epsilon / len(candidates) for p in candidates if epsilon}
    expected[best] = expected.get(best, 0) + 1 - epsilon
    policy = Policy(EPSILON_GREEDY, epsilon, 1.0, LOGISTIC)
    assert_fits(draws(20_000, lambda: choose_move(*state, policy, rng)), expected)


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", [(EPSILON_GREEDY, 0.0), (EPSILON_GREEDY, 1.0), (SOFTMAX, 0.0)])
def test_without_candidates_everyone_passes(policy):
    kind, epsilon = policy
    features = make_features(5, (1, 2))
    state, rng = ready(from_rows(FILLED), features, random_theta(features, 8)), make_rng(10)
    assert sensible(state[0]) == []
    assert [tuple(choose_move(*state, Policy(kind, epsilon, 1.0, LOGISTIC), rng)) for _ in range(5)] == [(PASS, 0)] * 5
