"""Who plays: the Player protocol, all that GTP and matches need to know, and the two simplest players.

Start reading at `Player`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from rlgo.board import BLACK, PASS
from rlgo.coords import to_row_col
from rlgo.errors import RlgoError
from rlgo.game import Game

if TYPE_CHECKING:
    from rlgo.weights import Weights

RESIGN = -1  # beside the points and PASS, what `Player.genmove` may answer

Seed = int | np.random.SeedSequence | None


def never() -> bool:
    """What a search asks where nobody wants to stop it."""
    return False


class Candidate(NamedTuple):
    """What a player thinks of one move."""

    move: int  # a point, or PASS
    value: float  # P(Black wins) after it
    visits: int  # simulations that tell so; of a value function, which has none, 1
    line: list[int]  # the principal variation: this move, and how it goes on
    prior: float = math.nan  # H(s, a), where there is a heuristic


class Player(Protocol):
    """Anyone who plays. A class that derives from it inherits the hooks that do nothing.

    Attributes
    ----------
    name : for GTP and tables
    sizes : the board sizes that it can play on, or None for all
    stop : asked during a search, every 10 ms or so; True ends it with the best move so far
    limit : seconds that a clock leaves for the next move, beside the player's own limits; None: there is no clock
    """

    name: str
    sizes: tuple[int, ...] | None = None
    stop: Callable[[], bool] = staticmethod(never)
    limit: float | None = None

    def warm_up(self) -> None:
        """Compile now what moves will need, so that no clock runs meanwhile."""
        return

    def genmove(self, game: Game) -> int:
        """A move for `game.to_play`: a point where it is legal, PASS or RESIGN. `game` must not be changed.

        Anything may have happened to the game since the last call, undo included: do not rely on it.
        """
        ...

    def new_game(self) -> None:
        """Called before a game begins."""
        return

    def end_game(self, game: Game) -> None:
        """Called when a game is over, with its last position; not after a game that was given up on the way."""
        return

    def report(self) -> list[str]:
        """The last search in words, a line each: how much was searched, and what was found."""
        return []

    def ponder(self, game: Game, stop: Callable[[], bool]) -> None:
        """Think about a position, whoever is to play, without any other limit than `stop`.

        It may end by itself, and does so at once for a player to whom thinking ahead is of no use.
        """
        return

    def candidates(self, game: Game) -> list[Candidate]:
        """What it thinks, by now, of the moves in the position that it thinks about, or thought about last.

        The best first. It may be asked from within `stop`, in the midst of a search. Empty: it has no opinion.
        """
        return []

    def memory(self) -> Weights | None:
        """What the player has learned in this game, for those who learn while they play."""
        return None

    def value_weights(self) -> Weights | None:
        """The local shape features by which it values positions now, for those who have any."""
        return None

    def analyses(self) -> dict[str, np.ndarray]:
        """What the player thought of the last position it moved in: named maps, each float64[size, size].

        Row 0 is the board's row 1; NaN where there is nothing to say. The names are always the same.
        """
        return {}


def check_size(player: Player, game: Game) -> None:
    """RlgoError where the player cannot play on the board of `game`."""
    if player.sizes is not None and game.size not in player.sizes:
        raise RlgoError(f"{player.name}: plays on {known_sizes(player.sizes)}, found {game.size}x{game.size}")


def position_of(game: Game) -> tuple[int, ...]:
    """What tells a position of a game from its others: the stones, who plays, and how many moves were made."""
    return int(game.board.hash), game.to_play, len(game.moves)


def known_sizes(sizes: tuple[int, ...]) -> str:
    """Board sizes, for people."""
    return " or ".join(f"{n}x{n}" for n in sizes)


def shorter(*seconds: float | None) -> float | None:
    """The shortest of some limits in seconds; None is no limit."""
    return min((s for s in seconds if s is not None), default=None)


def won_by(color: int, value: float) -> float:
    """P(a colour wins), of a value, P(Black wins)."""
    return value if color == BLACK else 1 - value


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
        self._value = math.nan  # of the position moved in: that after a pass, which changes no shape

    def genmove(self, game: Game) -> int:
        check_size(self, game)
        size = self._value_function.size
        values = self._value_function.afterstates(game.board)
        self._values = values[:-1].reshape(size, size).copy()
        self._value = float(values[-1])
        explores = self.epsilon > 0 and self._rng.random() < self.epsilon
        return greedy_move(game, np.zeros(len(values)) if explores else values, self._rng)

    def new_game(self) -> None:
        self._values[:] = self._value = np.nan

    def report(self) -> list[str]:
        return [f"V(s) = {self._value:.3f} before the move"] if np.isfinite(self._value) else []

    def candidates(self, game: Game) -> list[Candidate]:
        return ranked(game, self._value_function.afterstates(game.board))

    def value_weights(self) -> Weights | None:
        return getattr(self._value_function, "weights", None)

    def analyses(self) -> dict[str, np.ndarray]:
        """``value``: V after each legal move, P(Black wins)."""
        return {"value": self._values}


def ranked(game: Game, values: np.ndarray, visits: int = 1) -> list[Candidate]:
    """The moves to try as candidates by their values, float64[size * size + 1] as `greedy_move` wants them."""
    sign = -1 if game.to_play == BLACK else 1
    moves = moves_to_try(game) or [PASS]
    places = [-1 if p == PASS else int(np.dot(to_row_col(p, game.size), (game.size, 1))) for p in moves]
    found = [Candidate(p, float(values[i]), visits, [p]) for p, i in zip(moves, places, strict=True)]
    return sorted(found, key=lambda candidate: sign * candidate.value)


def greedy_move(game: Game, values: np.ndarray, rng: np.random.Generator) -> int:
    """The sensible move with the best afterstate for the colour to play; exact ties are broken uniformly.

    values : V after each move, float64[size * size + 1] as `value.all_afterstates` gives them
    PASS where there is nothing to try.
    """
    moves = moves_to_try(game)
    if not moves:
        return PASS
    mine = np.array([values[row * game.size + col] for row, col in (to_row_col(p, game.size) for p in moves)])
    best = mine.max() if game.to_play == BLACK else mine.min()
    return moves[rng.choice(np.flatnonzero(mine == best))]


def moves_to_try(game: Game) -> list[int]:
    """What a player that wants to win chooses among: the sensible moves, or nothing where it should pass.

    That is where there are none, and to end a game that is won: after a pass of the opponent's, if the area counts
    for the colour to play, all stones alive.
    """
    return [] if _has_won(game) else game.sensible_moves()


def _has_won(game: Game) -> bool:
    """Whether a pass now ends the game, and wins it."""
    if not game.moves or game.moves[-1] != (3 - game.to_play, PASS):
        return False
    return game.score() > 0 if game.to_play == BLACK else game.score() < 0
