"""Positions on 5x5, value functions for them, and plain minimax, to compare alpha-beta with.

Start reading at `check`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from oracles.naive import minimax, to_core
from rlgo.compiler.jit import make_rng
from rlgo.features.rewriting import fuse
from rlgo.features.shapes import FeatureSet, Table, make_features
from rlgo.go.board import BLACK, PASS, is_legal, new_board, new_boards, play, random_move
from rlgo.go.coords import to_vertex
from rlgo.go.game import Game
from rlgo.go.rules import zobrist
from rlgo.search.alphabeta import WON_LOGIT
from rlgo.search.deepening import AlphaBetaResult

FEATURES = make_features(5, (1, 2, 3), "none")


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


def stones_table(features: FeatureSet, worth: dict[str, float], otherwise: float = 0.0) -> Table:
    """Of features of size 1, fused: what a stone is worth for its owner, by vertex."""
    weights = np.zeros(len(features.class_of), np.float32)
    for w, (_, row, col) in enumerate(features.windows):
        value = worth.get(to_vertex(to_core(features.size, (row, col)), features.size), otherwise)
        base = features.geometry.ld_base[w]
        weights[base + 1 : base + 3] = value, -value
    return fuse(features, weights)


STONES = make_features(5, (1,), "none")
