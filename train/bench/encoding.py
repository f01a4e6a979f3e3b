"""Speeds at which positions and moves become numbers: planes, minibatches of games, features of moves."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rlgo.base.settings import DEFAULT_KOMI
from train.bench.material import middle_game, random_moves
from train.bench.timing import Numbers, rates


def positions(n: int) -> Numbers:
    """Measure positions encoded per second, a random game with all its positions n times."""
    from rlgo.features.planes import planes
    from rlgo.go.game import Game
    from rlgo.go.positions import Positions

    game = Game(9)
    for color, p in random_moves(9, 1, 1)[0]:
        game.play(p, color, may_repeat=True)
    batch = Positions.along(game)
    out = planes(batch)

    def run() -> tuple[float, ...]:
        for _ in range(n):
            planes(batch, out=out)
        return (n * len(batch),)

    yield "planes_9x9_per_s", rates(run)[0]


def minibatches(n: int) -> Numbers:
    """Measure positions per second in minibatches of n random games, with nine moves visited in each position."""
    from rlgo.learning.batches import read_games
    from train.arena.referee import Opinion
    from train.games.shards import TrainingGame, open_folder

    visited = Opinion(0.5, tuple(range(11, 20)), tuple(range(9, 0, -1)))
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        with open_folder(path, {"kind": "bench", "size": 9, "komi": DEFAULT_KOMI}, {}) as folder:
            for number, moves in enumerate(random_moves(9, n, 2), 1):
                opinions = dict.fromkeys(range(len(moves)), visited)
                folder.add(TrainingGame(number, 1.0, moves, opinions=opinions, komi=DEFAULT_KOMI))
        data = read_games(path, held_out=None)

    def run() -> tuple[float, ...]:
        for _ in data.batches(256):
            pass
        return (len(data),)

    yield "read_games_9x9_per_s", rates(run)[0]


def moves(n: int) -> Numbers:
    """Measure candidate moves described per second, over a game repeated n times."""
    import numpy as np

    from rlgo.go.board import new_board
    from rlgo.go.positions import move_lists
    from rlgo.moves.decisions import TrainingGames, describe_games, new_decisions
    from rlgo.moves.move_features import new_study
    from rlgo.moves.nested_shapes import make_tree
    from rlgo.moves.patterns import load_patterns

    patterns = load_patterns("9x9")
    lists = move_lists([middle_game()])
    games = TrainingGames(lists, np.ones(len(lists.move), np.uint8))
    tree, s, board = make_tree(patterns.parents, patterns.codes), new_study(9), new_board(9)
    out = new_decisions(len(lists.move), 82 * len(lists.move))

    def run() -> tuple[float, ...]:
        for _ in range(n):
            describe_games(games, 0, 1, tree, s, board, out)
        return (float(n * out.starts[len(lists.move)]),)

    yield "pattern_moves_per_s", rates(run)[0]
