"""What several parts measure on: a learner, a middle game, moves of random games."""

from __future__ import annotations

from typing import Any

_MOVES = 60  # of a random game: as long as games of players are on 9x9


def trained_learner(workers: int = 1) -> Any:
    """Make a learner with the paper's settings and the weights of a long run."""
    from rlgo.features.weights import load_weights, shipped_weights
    from rlgo.learning.learner import Learner
    from train.config import load_config
    from train.runs.learners import make_learner

    plain = make_learner(load_config("paper"), 1)
    theta = load_weights(shipped_weights(9)).theta
    return Learner(plain.features, plain.learning, plain.policy, plain.komi, seed=1, theta=theta, workers=workers)


def middle_game() -> Any:
    """Return a 9x9 position after 24 moves of a greedy player that explores."""
    from rlgo.go.game import Game
    from train.players.spec import make_player

    game, player = Game(9), make_player("greedy,epsilon=0.3", 9, 2012)
    for _ in range(24):
        game.play(player.genmove(game))
    return game


def random_moves(size: int, games: int, seed: int) -> list[list[tuple[int, int]]]:
    """Play the first moves of random games; return the colour and the point of each move."""
    from rlgo.compiler.jit import make_rng
    from rlgo.go.board import new_board, play, random_move
    from rlgo.go.rules import zobrist

    rng, played = make_rng(seed), []
    for _ in range(games):
        board, moves = new_board(size), []
        for _ in range(_MOVES):
            moves.append((int(board.to_play), int(random_move(board, rng))))
            play(board, moves[-1][1], zobrist(size))
        played.append(moves)
    return played
