"""The update against dense TD, and against cases worked by hand."""

from __future__ import annotations

import math
from itertools import product

import naive_td as dense
import numpy as np
import pytest
from naive import NaiveBoard, from_core

from rlgo.board import new_boards, zobrist
from rlgo.jit import make_rng
from rlgo.policy import EPSILON_GREEDY, Policy
from rlgo.selfplay import learn_episodes, tally_dtype
from rlgo.shapes import make_features
from rlgo.td import (
    NORMALISATIONS,
    SCHEDULES,
    UPDATES,
    Learning,
    episode_dtype,
    make_scratch,
    max_plies,
    step_size,
)
from rlgo.value import VALUES, new_shapes, rebuild


class Trainer:
    """learn_episodes, one game at a time, with every array at hand."""

    def __init__(self, size, sizes=(1, 2, 3), sharing="LI+LD", seed=1, epsilon=0.2, **learning):
        self.size, self.features = size, make_features(size, sizes, sharing)
        settings = {
            "alpha": 0.1, "schedule": 0, "alpha_final": 0.0, "alpha_half": 1.0, "games": 1000, "lambda_": 0.0,
            "plies": 2, "value": "logistic", "update": "game", "normalise": "active", **learning,
        }  # fmt: skip
        self.settings = dict(settings)
        for key, names in (("value", VALUES), ("update", UPDATES), ("normalise", NORMALISATIONS)):
            settings[key] = names[settings[key]]
        self.learning = Learning(**settings)
        self.theta = np.zeros(self.features.n_weights + 1, np.float32)
        self.theta_bar = self.features.expand(self.theta)
        self.boards, self.shapes = new_boards(2, size), new_shapes(2, size)
        rebuild(self.boards[0], self.shapes[0], self.features.geometry, self.theta_bar, self.theta_bar)
        self.policy = Policy(EPSILON_GREEDY, epsilon, 1.0, self.learning.value)
        self.rng = make_rng(seed)
        self.episode = np.zeros(1, episode_dtype(size))[0]
        self.scratch = make_scratch(self.features.n_weights, len(self.features.windows))
        self.tally = np.zeros(1, tally_dtype())[0]
        self.played = 0

    def learn(self, games=1, max_moves=None):
        learn_episodes(
            games, self.played, self.boards, self.shapes, self.features.geometry, self.features.classes,
            self.theta, self.theta_bar, self.policy, self.learning, 7.5, max_moves or max_plies(self.size),
            self.episode, self.scratch, zobrist(self.size), self.rng, self.tally,
        )  # fmt: skip
        self.played += games

    def states(self):
        """Stones of s_0 ... s_T of the last game, replayed on the naive board; and z."""
        board = NaiveBoard(self.size)
        states = [dict(board.stones)]
        for p in self.episode.moves[: self.episode.n]:
            board.play(from_core(self.size, int(p)))
            states.append(dict(board.stones))
        return states, float(board.area_score() > 7.5)

    def names(self):
        """The dense oracle's name of every weight."""
        out = [None]
        for i in range(1, self.features.n_weights + 1):
            block, row, col, cells = self.features.shape_of(i)
            k = block.size
            raw = sum(int(c) * 3**n for n, c in enumerate(cells.ravel()))
            out.append((k, block.kind, (row * (self.size - k + 1) + col) * 3 ** (k * k) + raw))
        return out


def check(trainer, games, tolerance=1e-6):
    theta = {}
    s = trainer.settings
    for _ in range(games):
        trainer.learn()
        states, z = trainer.states()
        dense.learn(
            theta, states, z, s["alpha"], s["lambda_"], s["plies"], s["value"], s["update"], s["normalise"],
            trainer.size, trainer.features.sizes, trainer.features.sharing,
        )  # fmt: skip
    expected = np.array([theta.get(name, 0.0) for name in trainer.names()])
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(trainer.theta, expected, atol=tolerance, rtol=0)
    np.testing.assert_array_equal(trainer.theta_bar, trainer.features.expand(trainer.theta))
    assert trainer.theta[0] == 0


@pytest.mark.parametrize("normalise", ["active", "slots", "norm2", "none"])
@pytest.mark.parametrize("update", ["game", "step"])
@pytest.mark.parametrize(("plies", "lambda_"), [(2, 0.0), (1, 0.0), (2, 0.7), (1, 0.7), (2, 1.0)])
def test_update_equals_dense_td(normalise, update, plies, lambda_):
    alpha = 0.005 if normalise == "none" else 0.2
    check(
        Trainer(5, (1, 2), alpha=alpha, normalise=normalise, update=update, plies=plies, lambda_=lambda_),
        games=12,
    )
