"""Ownership by playouts: the expected owner of each point in the course of a game.

Start reading at `Ownership.of`. How a game ends is in `ending`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgo.base.checks import check
from rlgo.base.settings import Count
from rlgo.compiler.jit import compiling, copy_record, make_rng, njit
from rlgo.go.board import BLACK, BORDER, EMPTY, WHITE, new_boards
from rlgo.go.game import Game
from rlgo.go.positions import board_points
from rlgo.go.rules import make_rules
from rlgo.moves.rollout import DefaultPolicy, new_rollout, playout
from rlgo.play.player import Seed

PLAYOUTS = 400  # 6 ms on an empty 9x9 board, 25 ms on 19x19; the standard error of an owner's share is 2.5 % at most


@njit
def play_out_owners(boards, policy, r, rules, n, rng, owned):
    """Run n playouts from boards[0], and add 1 to owned[p] (int64) where Black owns point p at the end, -1 for White.

    The owner is the colour of the stone there at the end or, for an empty point, of all its neighbours. boards[1] is
    scratch. Returns the sum of z.
    """
    b = boards[1]
    max_moves = 3 * boards[0].board_size * boards[0].board_size
    wins = 0.0
    for _ in range(n):
        copy_record(boards[0], b)
        b.n_passes = 0
        wins += playout(b, policy, r, rules, max_moves, rng)
        for p in range(b.color.shape[0]):
            c = b.color[p]
            if c == EMPTY:
                nbr = b.nbr[p]
                owned[p] += np.int64(nbr & 15 == 4) - np.int64((nbr >> 4) & 15 == 4)
            elif c != BORDER:
                owned[p] += np.int64(c == BLACK) - np.int64(c == WHITE)
    return wins


def _call(game: Game, n: int, seed: Seed) -> tuple[tuple[Any, ...], np.ndarray]:
    """Return the arguments of `play_out_owners` for n playouts from a position, and the array that it fills."""
    boards, owned = new_boards(2, game.size), np.zeros(len(game.board.color), np.int64)
    boards[0] = game.board
    policy, rules = DefaultPolicy(mercy=False), make_rules(game.size, game.komi)
    return (boards, policy, new_rollout(game.size), rules, n, make_rng(seed), owned), owned


class Ownership:
    """Results of many playouts of a position.

    Attributes
    ----------
    map : float64[size, size] from 1 (always Black's) to -1 (always White's); row 0 is the board's row 1
    wins : the share of playouts that Black wins
    """

    def __init__(self, game: Game, owned: np.ndarray, wins: float):
        self._game = game
        self._owned = owned  # float64 by point
        self.wins = wins
        self.map = owned[board_points(game.size)]

    @classmethod
    def of(cls, game: Game, playouts: int = PLAYOUTS, seed: Seed = 0) -> Ownership:
        """Play a position out many times with MoGo's policy. The same seed gives the same map.

        Parameters
        ----------
        game : the position
        playouts : number of playouts
        seed : seed of the playouts

        Raises
        ------
        RlgoError : for a number of playouts below 1
        """
        playouts = check("playouts", playouts, Count)
        call, owned = _call(game, playouts, seed)
        with compiling(f"ownership, {game.size}x{game.size}"):
            wins = play_out_owners(*call)
        return cls(game, owned / playouts, wins / playouts)

    @classmethod
    def after(
        cls, game: Game, lines: Sequence[tuple[Sequence[int], float]], playouts: int = PLAYOUTS, seed: Seed = 0
    ) -> Ownership:
        """Play a position out as a search sees it: after the lines of its best moves, in proportion to their weights.

        Parameters
        ----------
        game : the position
        lines : moves from there on, as points, each with a weight such as its visits. An illegal move ends its line
        playouts, seed : see `of`; every line with a weight gets at least one playout
        """
        total = sum(weight for _, weight in lines)
        if total <= 0:
            return cls.of(game, playouts, seed)
        owned, wins, done = np.zeros(len(game.board.color)), 0.0, 0
        for line, weight in lines:
            n = max(1, round(playouts * weight / total)) if weight > 0 else 0
            position = game.copy()
            for p in line:
                if position.is_over() or not position.is_legal(p):
                    break
                position.play(p)
            if n:
                found = cls.of(position, n, seed)
                owned, wins, done = owned + n * found._owned, wins + n * found.wins, done + n
        return cls(game, owned / done, wins / done)

    @property
    def score(self) -> float:
        """The mean score of the playouts: Black's points minus White's minus komi."""
        return float(self.map.sum()) - self._game.komi
