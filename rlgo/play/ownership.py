"""Ownership by playouts: the expected owner of each point, the dead stones, and the score without them.

Start reading at `Ownership.of`. It allows users and servers to end a game before it is played out; search and learning
count every stone on the board as alive.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rlgo.base.jit import compiling, copy_record, make_rng, njit
from rlgo.base.settings import COUNT
from rlgo.go.board import BLACK, BORDER, EMPTY, WHITE, new_boards
from rlgo.go.coords import from_row_col
from rlgo.go.game import Game
from rlgo.go.rules import make_rules
from rlgo.moves.rollout import DefaultPolicy, new_rollout, playout
from rlgo.play.player import Seed

PLAYOUTS = 400  # 6 ms on an empty 9x9 board, 25 ms on 19x19; the standard error of an owner's share is 2.5 % at most
_DEAD = 0.8  # share of playouts in which the opponent ends up owning the points of a dead chain
CERTAIN = 0.95  # a game counts as decided if one side wins this share of playouts


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
        self.map = np.array(
            [[owned[from_row_col(row, col, game.size)] for col in range(game.size)] for row in range(game.size)]
        )

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
        size, playouts = game.size, COUNT.check("playouts", playouts)
        boards, r, owned = new_boards(2, size), new_rollout(size), np.zeros(len(game.board.color), np.int64)
        boards[0] = game.board
        policy = DefaultPolicy(mercy=False)
        with compiling(f"ownership, {size}x{size}"):
            wins = play_out_owners(boards, policy, r, make_rules(size, game.komi), playouts, make_rng(seed), owned)
        return cls(game, owned / playouts, wins / playouts)

    @cached_property
    def chains(self) -> list[list[int]]:
        """The points of each chain of the position."""
        board = self._game.board
        chains: dict[int, list[int]] = {}
        for p in np.flatnonzero((board.color == BLACK) | (board.color == WHITE)).tolist():
            chains.setdefault(int(board.chain[p]), []).append(p)
        return list(chains.values())

    def dead(self) -> list[list[int]]:
        """List the dead chains: those on points that mostly end up as the opponent's."""
        sign = {BLACK: -1, WHITE: 1}
        color = self._game.board.color
        return [c for c in self.chains if sign[int(color[c[0]])] * self._owned[c].mean() >= 2 * _DEAD - 1]

    def territory(self, color: int) -> list[int]:
        """List the empty points that mostly end up as a colour's; for EMPTY, as neutral."""
        empty = np.flatnonzero(self._game.board.color == EMPTY).tolist()
        return [p for p in empty if self._owner(p) == color]

    def _owner(self, p: int) -> int:
        return EMPTY if abs(self._owned[p]) < 2 * _DEAD - 1 else BLACK if self._owned[p] > 0 else WHITE

    def without_dead(self) -> Game:
        """Return the position without its dead stones. Its score is that of a game ended by agreement."""
        game = self._game
        rest = Game(game.size, game.komi)
        dead = self.dead()
        color = game.board.color
        rest.set_up([(int(color[p]), p) for chain in self.chains if chain not in dead for p in chain], game.to_play)
        rest.resigned = game.resigned
        return rest
