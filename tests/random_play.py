"""Random weights, and random games on 5x5."""

from __future__ import annotations

import numpy as np

from rlgo.features.shapes import FeatureSet, make_features
from rlgo.features.weights import Weights
from rlgo.go.game import Game

SIZE = 5


def random_weights(sizes=(1, 2, 3), sharing="LI+LD", scale=0.3, seed=1, value="logistic") -> Weights:
    features = make_features(SIZE, sizes, sharing)
    return Weights(features, random_theta(features, seed, scale), value=value)


def random_theta(features: FeatureSet, seed: int, scale: float = 1.0) -> np.ndarray:
    theta = np.random.default_rng(seed).normal(scale=scale, size=features.n_weights + 1).astype(np.float32)
    theta[0] = 0
    return theta


def random_game(moves: int, seed: int, komi: float = 0.5) -> Game:
    game, rng = Game(SIZE, komi), np.random.default_rng(seed)
    for _ in range(moves):
        sensible = game.sensible_moves()
        if not sensible:
            break
        game.play(int(rng.choice(sensible)))
    return game
