"""Random training games of patterns, and the patterns."""

from __future__ import annotations

from functools import cache

import numpy as np
from random_play import SIZE, random_game

from rlgo.go.game import Game
from rlgo.go.replay import move_lists
from rlgo.moves import softmax
from rlgo.moves.decisions import Decisions, TrainingGames, decisions_of, grow_tree
from rlgo.moves.nested_shapes import known_shapes, make_tree
from rlgo.moves.patterns import Patterns


@cache
def games_played() -> list[Game]:
    return [random_game(30, seed) for seed in range(20)]


def training_games(games: list[Game]) -> TrainingGames:
    """Training games, the first of them with two of its moves set up instead."""
    first = Game(SIZE)
    first.set_up(games[0].moves[:2])
    for color, p in games[0].moves[2:]:
        first.play(p, color)
    lists = move_lists([first, *games[1:]])
    learned = np.ones(len(lists.move), np.uint8)
    learned[5::7] = 0
    return TrainingGames(lists, learned)


@cache
def learned_patterns() -> tuple[TrainingGames, Decisions, Patterns]:
    """Games, their decisions, and the patterns learned from them."""
    games = training_games(games_played())
    parents, codes, seen = known_shapes(grow_tree(games, SIZE, 20, 9, 50_000), 20)
    decisions = decisions_of(games, SIZE, make_tree(parents, codes))
    features, shapes = softmax.fit(decisions, parents, 1.0, 20)
    return games, decisions, Patterns(parents, codes, seen, shapes, features, SIZE, {})


def x_of(patterns: Patterns, decisions: Decisions) -> np.ndarray:
    return patterns.shape_weights[decisions.shape] + patterns.feature_weights[decisions.features].sum(1)
