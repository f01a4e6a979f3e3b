"""Random games to learn patterns from, and the patterns."""

from __future__ import annotations

from functools import cache

import numpy as np
from random_play import SIZE, random_game

from rlgo.go.game import Game
from rlgo.moves import softmax
from rlgo.moves.decisions import Decisions, GameTable, decisions_of, grow_tree
from rlgo.moves.nested_shapes import known_shapes, make_tree
from rlgo.moves.patterns import Patterns


@cache
def games_played() -> list[Game]:
    return [random_game(30, seed) for seed in range(20)]


def table_of(games: list[Game]) -> GameTable:
    """Games as a table, the first of them with two of its moves set up instead."""
    setups = [games[0].moves[:2], *([] for _ in games[1:])]
    moves = [game.moves[len(setup) :] for game, setup in zip(games, setups, strict=True)]

    def starts(parts: list) -> np.ndarray:
        return np.cumsum([0, *map(len, parts)])

    def column(parts: list, i: int) -> np.ndarray:
        return np.array([stone[i] for part in parts for stone in part], np.int64)

    learned = np.ones(sum(map(len, moves)), np.uint8)
    learned[5::7] = 0
    return GameTable(
        starts(setups), starts(moves), column(setups, 0), column(setups, 1), column(moves, 0), column(moves, 1), learned
    )


@cache
def learned_patterns() -> tuple[GameTable, Decisions, Patterns]:
    """Games, their decisions, and the patterns learned from them."""
    games = table_of(games_played())
    parents, codes, seen = known_shapes(grow_tree(games, SIZE, 20, 9, 50_000), 20)
    decisions = decisions_of(games, SIZE, make_tree(parents, codes))
    features, shapes = softmax.fit(decisions, parents, 1.0, 20)
    return games, decisions, Patterns(parents, codes, seen, shapes, features, SIZE, {})


def x_of(patterns: Patterns, decisions: Decisions) -> np.ndarray:
    return patterns.shape_weights[decisions.shape] + patterns.feature_weights[decisions.features].sum(1)
