"""Ownership by playouts: the expected owner of each point, the dead stones, and the score without them.

Start reading at `Ownership.of`. It allows users and servers to end a game before it is played out; search and learning
count every stone on the board as alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rlgo.base.checks import check
from rlgo.base.settings import Count
from rlgo.compiler.jit import compile_together, compiling, copy_record, make_rng, njit
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
        playouts = check("playouts", playouts, Count)
        call, owned = _call(game, playouts, seed)
        with compiling(f"ownership, {game.size}x{game.size}"):
            wins = play_out_owners(*call)
        return cls(game, owned / playouts, wins / playouts)

    @staticmethod
    def prepare(size: int) -> None:
        """Compile what the ownership of a board needs, in a second process if there is one (`jit.compile_together`)."""
        with compiling(f"ownership, {size}x{size}"):
            compile_together(later=[(play_out_owners, *_call(Game(size), 1, 0)[0])])

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

    def without_dead(self, dead: Sequence[Sequence[int]] | None = None) -> Game:
        """Return the position without its dead stones. Its score is that of a game ended by agreement.

        dead : the chains that count as dead; None: those of `dead`
        """
        game = self._game
        rest = Game(game.size, game.komi)
        dead = self.dead() if dead is None else dead
        color = game.board.color
        rest.set_up([(int(color[p]), p) for chain in self.chains if chain not in dead for p in chain], game.to_play)
        rest.resigned = game.resigned
        return rest


def areas(game: Game) -> dict[int, int]:
    """Return the points of each colour by area, with all stones alive; their difference less komi is `Game.score`.

    >>> import rlgo
    >>> game = rlgo.Game(5)
    >>> for vertex in ("C3", "pass"):
    ...     game.play(vertex)
    >>> areas(game)
    {1: 25, 2: 0}
    """
    color, size = game.board.color, game.size
    found = {c: int(np.count_nonzero(color == c)) for c in (BLACK, WHITE)}
    seen: set[int] = set()
    for start in np.flatnonzero(color == EMPTY).tolist():
        if start in seen:
            continue
        region, borders = [start], set[int]()
        seen.add(start)
        for p in region:
            for q in (p + 1, p - 1, p + size + 1, p - size - 1):
                if color[q] == EMPTY and q not in seen:
                    seen.add(q)
                    region.append(q)
                elif color[q] in found:
                    borders.add(int(color[q]))
        if len(borders) == 1:
            found[borders.pop()] += len(region)
    return found
