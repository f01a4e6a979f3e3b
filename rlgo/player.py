"""Who plays: the Player protocol, all that GTP and matches need to know, and the two simplest players.

Start reading at `Player`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rlgo.board import BLACK, PASS
from rlgo.coords import to_row_col
from rlgo.errors import RlgoError
from rlgo.game import Game

RESIGN = -1  # beside the points and PASS, what `Player.genmove` may answer

Seed = int | np.random.SeedSequence | None


class Player(Protocol):
    """Anyone who plays. A class that derives from it inherits the hooks that do nothing.

    Attributes
    ----------
    name : for GTP and tables
    sizes : the board sizes that it can play on, or None for all
    """

    name: str
    sizes: tuple[int, ...] | None = None

    def genmove(self, game: Game) -> int:
        """A move for `game.to_play`: a point where it is legal, PASS or RESIGN. `game` must not be changed.

        Anything may have happened to the game since the last call, undo included: do not rely on it.
        """
        ...

    def new_game(self) -> None:
        """Called before a game begins."""
        return

    def analyses(self) -> dict[str, np.ndarray]:
        """What the player thought of the last position it moved in: named maps, each float64[size, size].

        Row 0 is the board's row 1; NaN where there is nothing to say. The names are always the same.
        """
        return {}


class RandomPlayer(Player):
    """Uniform over the sensible moves (legal, outside own single-point eyes); passes where there are none."""

    def __init__(self, seed: Seed = None, name: str = "random") -> None:
        self.name = name
        self._rng = np.random.default_rng(seed)

    def genmove(self, game: Game) -> int:
        moves = game.sensible_moves()
        return moves[self._rng.integers(len(moves))] if moves else PASS


class AfterstateValues(Protocol):
    """What `GreedyPlayer` asks of a value function; see `rlgo.value.ValueFunction`."""

    @property
    def size(self) -> int:
        """Points along a side of the board that it knows."""
        ...

    def afterstates(self, board: np.record) -> np.ndarray:
        """V after each move of the colour to play, float64[size * size + 1]: row * size + col, then PASS."""
        ...


class GreedyPlayer(Player):
    """One-ply search (TD paper, Section 3.2): Black's best afterstate has the highest V, White's the lowest.

    Chooses among the sensible moves; exact ties are broken uniformly. It passes where there are none, and to
    end a game that it has won: after a pass of the opponent's, if the area counts for it, all stones alive.

    epsilon : the probability of a uniformly random sensible move instead.
    """

    def __init__(
        self, value_function: AfterstateValues, seed: Seed = None, epsilon: float = 0.0, name: str = "greedy"
    ) -> None:
        self.name = name
        self.sizes = (value_function.size,)
        self.epsilon = epsilon
        self._value_function = value_function
        self._rng = np.random.default_rng(seed)
        self._values = np.full((value_function.size, value_function.size), np.nan)

    def genmove(self, game: Game) -> int:
        size = self._value_function.size
        if game.size != size:
            raise RlgoError(f"{self.name}: knows {size}x{size} boards, found {game.size}x{game.size}")
        values = self._value_function.afterstates(game.board)
        self._values = values[:-1].reshape(size, size).copy()
        moves = game.sensible_moves()
        if not moves or self._has_won(game):
            return PASS
        if self.epsilon > 0 and self._rng.random() < self.epsilon:
            return moves[self._rng.integers(len(moves))]
        mine = np.array([self._values[to_row_col(p, size)] for p in moves])
        best = mine.max() if game.to_play == BLACK else mine.min()
        return moves[self._rng.choice(np.flatnonzero(mine == best))]

    def new_game(self) -> None:
        self._values[:] = np.nan

    def analyses(self) -> dict[str, np.ndarray]:
        """``value``: V after each legal move, P(Black wins)."""
        return {"value": self._values}

    @staticmethod
    def _has_won(game: Game) -> bool:
        """Whether a pass now ends the game, and wins it."""
        if not game.moves or game.moves[-1] != (3 - game.to_play, PASS):
            return False
        return game.score() > 0 if game.to_play == BLACK else game.score() < 0
