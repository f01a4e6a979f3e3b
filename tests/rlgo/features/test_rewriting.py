"""The same value function over other features: fused into 3x3 windows, and written out without weight sharing."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.minimax import random_game
from oracles.windows import ATARI, MIXED, STONES
from random_play import random_board, random_theta

from rlgo.base.resources import checkpoints_dir
from rlgo.base.settings import VALUES
from rlgo.features.incremental import new_shapes, reset, x_of
from rlgo.features.rewriting import fuse, unshare
from rlgo.features.shapes import Table, make_features
from rlgo.features.weights import Weights, load_weights
from rlgo.go.game import Game
from rlgo.learning.value import ValueFunction, all_afterstates


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


@pytest.mark.parametrize("size", [pytest.param(6, marks=pytest.mark.thorough), 9])
def test_symmetric_moves_stay_equal_when_weights_are_fused(size):
    features = make_features(size)
    x = values(Game(size), fuse(features, features.expand(random_theta(features, 1, 0.3))))[: size * size]
    board = x.reshape(size, size)
    for image in (board[::-1], board[:, ::-1], board.T):
        np.testing.assert_array_equal(image, board)
    assert len(set(x)) > 5


@pytest.mark.parametrize(
    ("sharing", "others"),
    [
        ("LI", ATARI),
        ("LI+LD", MIXED),
        *(
            pytest.param(sharing, others, marks=pytest.mark.thorough)
            for sharing in ("LI", "LI+LD")
            for others in (("atari 2x3",), STONES)
        ),
    ],
)
def test_values_without_sharing_and_fused(sharing, others):
    features = make_features(5, (1, 2, 3), "LI+LD", others, sharing)
    weights = Weights(features, random_theta(features, 5, 0.2))
    whole, theta = unshare(features, weights.theta)
    assert whole.sharing == "none"
    sh = new_shapes(1, 5, features.capacity)[0]
    for seed in range(4):
        board, _ = random_board(5, 6 * seed, seed)
        value = ValueFunction(weights).value(board)
        reset(board, sh, weights.table())
        fused = weights.table(is_fused=True), fuse(whole, whole.expand(theta))
        for table in (whole.table(theta), weights.table(features.names), *fused):
            configuration = new_shapes(1, 5, features.capacity)[0]
            reset(board, configuration, table)
            assert x_of(configuration.configuration, table) == pytest.approx(sh.x[0], abs=1e-4)
            assert 1 / (1 + np.exp(-float(configuration.x[0]))) == pytest.approx(value, abs=1e-4)
