"""The value function against recounts and dense phi . theta; the policies against the moves they should choose."""

from __future__ import annotations

import numpy as np
import pytest
from board_data import from_stones
from oracles import naive
from oracles.naive import NaiveBoard, Stones, from_core, images, row_major
from random_play import random_theta

from rlgo.base.errors import RlgoError
from rlgo.compiler.jit import make_rng, random_unit
from rlgo.features.incremental import new_shapes, reset, update
from rlgo.features.shapes import FeatureSet, make_features
from rlgo.features.weights import Weights
from rlgo.go.board import BLACK, EMPTY, PASS, WHITE, is_sensible, new_board, play, random_move
from rlgo.go.game import Game
from rlgo.go.rules import zobrist
from rlgo.learning.value import ValueFunction, best_afterstate

# ---------------------------------------------------------------------------------------------
# V and all afterstates, against playing every move and dense phi . theta
# ---------------------------------------------------------------------------------------------


def check_value(features: FeatureSet, kind: str, every: int, games: int, seed: int) -> int:
    """Compare every few moves of random games; returns how many captures were among the moves."""
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
            assert v.value(from_stones(size, turned).board) == pytest.approx(value, abs=1e-5)
            inverted = {p: 3 - color for p, color in turned.items()}
            assert v.value(from_stones(size, inverted).board) == pytest.approx(1 - value, abs=1e-5)


@pytest.mark.parametrize("size", [5, 9])
@pytest.mark.parametrize("centre", [False, True], ids=["empty", "a stone in the centre"])
def test_symmetric_moves_have_equal_values_to_the_last_bit(size, centre):
    # Else ties between symmetric moves would be broken by rounding, always the same way.
    features = make_features(size)
    v = ValueFunction(Weights(features, random_theta(features, 5)))
    b = from_stones(size, {(size // 2, size // 2): WHITE} if centre else {}).board
    values = v.afterstates(b)[:-1].reshape(size, size)
    for row in range(size):
        for col in range(size):
            same = {values[p].tobytes() for p in images(size, (row, col))}
            assert len(same) == 1
    assert len(np.unique(values[~np.isnan(values)])) == (size + 1) * (size + 3) // 8 - centre


def test_a_board_of_another_size():
    v = ValueFunction(Weights(make_features(5), random_theta(make_features(5), 1)))
    for ask in (v.value, v.afterstates):
        for position in (new_board(9), Game(9)):
            with pytest.raises(RlgoError, match="weights for board size 5"):
                ask(position)
        for nonsense in (None, "E5", np.zeros(3), 5):
            with pytest.raises(RlgoError, match="expected a Game, or a board"):
                ask(nonsense)
        np.testing.assert_array_equal(ask(Game(5)), ask(new_board(5)))
    with pytest.raises(RlgoError, match="expected Weights, for instance from load_weights"):
        ValueFunction("weights.npz")


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
            sensible = [p for p in range(b.color.size) if b.color[p] == EMPTY and is_sensible(b, p)]
            candidates = {p: values[row_major(size, p)] for p in sensible}
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
