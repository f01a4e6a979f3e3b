"""Random weights, random games on 5x5, and random positions."""

from __future__ import annotations

import numpy as np
from oracles.naive import NaiveBoard, from_core

from rlgo.compiler.jit import make_rng
from rlgo.features.shapes import FeatureSet, make_features
from rlgo.features.weights import Weights
from rlgo.go.board import new_board, play, random_move
from rlgo.go.game import Game
from rlgo.go.rules import zobrist

SIZE = 5


def random_weights(sizes=(1, 2, 3), sharing="LI+LD", scale=0.3, seed=1, value="logistic") -> Weights:
    features = make_features(SIZE, sizes, sharing)
    return Weights(features, random_theta(features, seed, scale), value=value)


def random_theta(features: FeatureSet, seed: int, scale: float = 1.0) -> np.ndarray:
    theta = np.random.default_rng(seed).normal(scale=scale, size=features.n_weights + 1).astype(np.float32)
    theta[0] = 0
    return theta


def random_game(moves: int, seed: int, komi: float = 0.5, size: int = SIZE) -> Game:
    game, rng = Game(size, komi), np.random.default_rng(seed)
    for _ in range(moves):
        sensible = game.sensible_moves()
        if not sensible:
            break
        game.play(int(rng.choice(sensible)))
    return game


def random_board(size: int, moves: int, seed: int) -> tuple[np.record, NaiveBoard]:
    """The same random position twice."""
    b, board, rng = new_board(size), NaiveBoard(size), make_rng(seed)
    for _ in range(moves):
        p = random_move(b, rng)
        play(b, p, zobrist(size))
        board.play(from_core(size, p))
    return b, board
