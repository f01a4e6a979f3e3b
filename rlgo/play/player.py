"""Players: the `Player` protocol, used by sessions and matches, and the two simplest players.

Start reading at `Player`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from rlgo.base.budget import Budget, never, shorter
from rlgo.base.checks import check
from rlgo.base.errors import RlgoError, shown
from rlgo.base.settings import Probability
from rlgo.compiler.jit import seed_sequence
from rlgo.go.board import BLACK, PASS, new_board
from rlgo.go.clock import Clock, TimeSettings
from rlgo.go.coords import to_vertex
from rlgo.go.game import Game
from rlgo.go.positions import places_of
from rlgo.play.calibration import Calibration

if TYPE_CHECKING:
    from rlgo.features.weights import Weights

RESIGN = -1  # a possible answer of `Player.genmove`, besides the points and PASS

Seed = int | np.random.SeedSequence | None


def name_of_move(move: int, size: int) -> str:
    """Return the name of a result of `Player.genmove`: a vertex, ``pass`` or ``resign``."""
    return "resign" if move == RESIGN else to_vertex(move, size)


class Candidate(NamedTuple):
    """A move that a player considers, with its value and principal variation.

    >>> import rlgo
    >>> player = rlgo.GreedyPlayer(rlgo.ValueFunction(rlgo.load_weights(rlgo.shipped_weights(9))))
    >>> game = rlgo.Game(9)
    >>> game.play("E3")
    >>> best = player.candidates(game)[0]
    >>> rlgo.to_vertex(best.move, 9), round(best.value, 2)
    ('E5', 0.46)
    """

    move: int  # a point, or PASS
    value: float  # P(Black wins) after the move
    visits: int  # simulations behind the value, or positions of alpha-beta; 1 for a value function alone
    line: list[int]  # the principal variation, starting with this move
    prior: float = math.nan  # for the side to play: H(s, a) of a heuristic, or P(s, a) of a policy; NaN without
    line_visits: Sequence[int] = ()  # simulations of each move of the line, if known; of one tree if there are several


class SearchStatistics(NamedTuple):
    """Statistics of a search, during or after it: the numbers behind the candidates of a position.

    Attributes
    ----------
    kind : the kind of columns: ``tree``, ``memory``, ``depth`` or ``values``
    moves : m points, or PASS, best first
    columns : by name, float64[m], NaN where there is no number. The player decides by ``value``; values are
        P(Black wins)
    lines : principal variations of the first moves, as far as known
    done : simulations so far, or positions valued; see `unit`
    unit : ``simulations`` or ``positions``
    depth : the longest path in the tree, the plies of the learned policy, or the last depth that is complete
    size : nodes of the tree, weights in use, or entries of the transposition table in use
    n_bytes : their memory
    depths : for iterative deepening: the result at each depth (`deepening.AlphaBetaResult`)
    """

    kind: str
    moves: list[int]
    columns: dict[str, np.ndarray]
    lines: list[list[int]]
    done: int = 0
    unit: str = "simulations"
    depth: int = 0
    size: int = 0
    n_bytes: int = 0
    depths: tuple[Any, ...] = ()


class Player(Protocol):
    """The interface of everything that plays Go: rlgo's own players, and external engines behind `GtpClient`.

    A subclass must define `name` and `genmove`. All other methods are optional: the ones inherited from here do
    nothing.

    Attributes
    ----------
    name : the name shown in GTP and in tables
    version : the version of an external engine; None for rlgo's own players
    sizes : the board sizes the player supports, or None for all
    persistent : whether to reuse one object for many games, because starting it is expensive
    simulations, seconds : the player's own limits for each move; None: no limit
    stop : polled about every 10 ms during a search; returning True ends the search with the best move so far
    limit : seconds that the clock allows for the next move, on top of the player's own limits; None without a clock.
        A player that takes more or less time for a hard or easy move sets it to that time afterwards
    spare : seconds by which a hard move may exceed `limit`
    calibration : what turns the player's values into chances of winning, or None; see `chance`
    was_quick : whether the last move was chosen by too short a search to learn from

    >>> import rlgo
    >>> class Passer(rlgo.Player):
    ...     name = "passer"
    ...     def genmove(self, game):
    ...         return rlgo.PASS
    >>> Passer()
    <Passer 'passer', any board>
    """

    name: str
    version: str | None = None
    sizes: tuple[int, ...] | None = None
    persistent: bool = False
    simulations: int | None = None
    seconds: float | None = None
    stop: Callable[[], bool] = staticmethod(never)
    limit: float | None = None
    spare: float = 0.0
    calibration: Calibration | None = None
    was_quick: bool = False

    def __repr__(self) -> str:
        facts = ["any board" if self.sizes is None else known_sizes(self.sizes)]
        facts += [f"{self.simulations:,} simulations"] if self.simulations is not None else []
        facts += [f"{self.seconds:g} s a move"] if self.seconds is not None else []
        return f"<{type(self).__name__} {self.name!r}, {', '.join(facts)}>"

    # --- life ---

    def warm_up(self) -> None:
        """Compile what moves will need, so that compiling costs no clock time."""
        return

    def close(self) -> None:
        """Release what the player holds, such as the process of an external engine. May be called more than once."""
        return

    # --- a game ---

    def new_game(self) -> None:
        """Prepare for a new game. Called before each one; random streams go on, so only a new player repeats a game."""
        return

    def genmove(self, game: Game) -> int:
        """Choose a move for `game.to_play`: a legal point, PASS or RESIGN. `game` must not be changed.

        The game may have changed in any way since the last call; moves may have been undone.
        """
        ...

    def end_game(self, game: Game, outcome: float) -> None:  # noqa: ARG002 - a hook
        """Learn from a finished game, given its last position. Not called after an abandoned game.

        outcome : z, 1 if Black has won, 0 if White has, 0.5 for a draw. In a session it is that without dead stones
        """
        return

    # --- time ---

    def start_clock(self, settings: TimeSettings | None) -> None:  # noqa: ARG002 - a hook
        """Announce the time settings of the next game; None for a game without a clock. Called before `new_game`."""
        self.limit = None

    def read_clock(self, clock: Clock, color: int, size: int) -> float | None:
        """Take the time for the next move from the clock.

        Returns
        -------
        the seconds the move should take, or None if there is no limit or the player manages its own time.
        """
        self.limit, self.spare = clock.budget(color, size), clock.spare(color, size)
        return self.limit

    def own_budget(self, stop: Callable[[], bool] | None = None) -> Budget:
        """Return the budget of one move: the player's own limits, its clock's limit, and its `stop`."""
        return Budget(self.simulations, shorter(self.seconds, self.limit), stop=stop or self.stop)

    def ponder(self, game: Game, stop: Callable[[], bool]) -> None:  # noqa: ARG002 - a hook
        """Think about a position, no matter whose turn it is, until `stop` returns True.

        It may return earlier, and does so at once for a player that cannot use the time.
        """
        return

    # --- its opinion ---

    def report(self) -> list[str]:
        """Describe the last search in a few lines of text."""
        return []

    def searched(self) -> int:
        """Return the number of simulations of the last move; 0 for a player without simulations.

        It may be lower than `simulations`: time may have ended the search, or nothing could change its move any more.
        """
        return 0

    def candidates(self, game: Game) -> list[Candidate]:  # noqa: ARG002 - a hook
        """List the moves of the position being searched, or searched last, best first. Empty: no opinion.

        May be called from within `stop`, in the middle of a search.
        """
        return []

    def scores(self, game: Game) -> tuple[float | None, dict[int, float]]:  # noqa: ARG002 - a hook
        """Return Black's expected points, komi included, in the position, and after the moves that `candidates` lists.

        None, or no entry: unknown.
        """
        return None, {}

    def compare(self, game: Game, move: int) -> list[Candidate]:  # noqa: ARG002 - a hook
        """Search a position, and `move` about as much as the best one; return the candidates, the best first.

        Their values are of one search, so their differences are what moves lose. A player may not list `move`.
        """
        self.genmove(game)
        return self.candidates(game)

    def policy_target(self, game: Game) -> dict[int, int]:
        """Return what a policy should learn from the last search: its moves, best first, with their visits.

        It is empty for a player without an opinion, and after a quick search.
        """
        return {} if self.was_quick else {c.move: c.visits for c in self.candidates(game)}

    def chance(self, value: float, game: Game) -> float:
        """Return the chance that Black wins, given the player's value of the position of `game`.

        It is the value itself, within 0 and 1, for a player without a `calibration`.
        """
        if self.calibration is None:
            return min(1.0, max(0.0, value))  # a linear value is unbounded
        return self.calibration.chance(value, game.n_played, game.size)

    def statistics(self, game: Game) -> SearchStatistics | None:
        """Return the numbers behind the candidates of the position being searched, or searched last; None: no opinion.

        May be called from within `stop`, in the middle of a search.
        """
        candidates = self.candidates(game)
        return statistics_of(candidates) if candidates else None

    def memory(self) -> Weights | None:
        """Return what the player has learned during this game, if it learns while it plays."""
        return None

    def value_weights(self) -> Weights | None:
        """Return the shape weights the player currently evaluates positions with, if it has any."""
        return None

    @property
    def evaluation(self) -> Mapping[str, np.ndarray]:
        """What a network said about the position of the last search, by name; nothing without one."""
        return {}

    def analyses(self) -> dict[str, np.ndarray]:
        """Return named maps of the last position the player moved in, each float64[size, size].

        Row 0 is the board's row 1. NaN marks points without a value. The names never change.
        """
        return {}

    # --- checks on an external engine ---

    def stones(self, game: Game, color: int) -> set[int] | None:  # noqa: ARG002 - a hook
        """Return where an external engine sees stones of a colour; None from a player without its own board."""
        return None


def statistics_of(candidates: list[Candidate]) -> SearchStatistics:
    """Return the statistics that candidates contain: values, visits and principal variations."""
    columns = {
        "value": np.array([c.value for c in candidates]),
        "visits": np.array([c.visits for c in candidates], np.float64),
    }
    done = int(columns["visits"].max(initial=0))
    return SearchStatistics("values", [c.move for c in candidates], columns, [c.line for c in candidates], done)


def check_player(name: str, player: Any) -> Any:
    """Return the player. RlgoError, ``name = player: expected ...``, unless it is an object of a subclass."""
    if Player not in type(player).__mro__:
        raise RlgoError(f"{name} = {shown(player)}: expected a player: a subclass of rlgo.Player, or from make_player")
    return player


def check_size(player: Player, game: Game) -> None:
    """Raise an RlgoError if the player does not support the board size of `game`, or if `game` is not a game."""
    check("game", game, Game)
    if player.sizes is not None and game.size not in player.sizes:
        raise RlgoError(f"{player.name}: plays on {known_sizes(player.sizes)}, found {game.size}x{game.size}")


def position_of(game: Game) -> tuple[int, ...]:
    """Return a key that identifies a position within a game: stones, side to move and number of moves."""
    return int(game.board.hash), game.to_play, len(game.moves)


def known_sizes(sizes: tuple[int, ...]) -> str:
    """Format board sizes: ``9x9 or 13x13``."""
    return " or ".join(f"{n}x{n}" for n in sizes)


def won_by(color: int, value: float) -> float:
    """Convert a value, P(Black wins), to the probability that `color` wins."""
    return value if color == BLACK else 1 - value


class RandomPlayer(Player):
    """A player that chooses uniformly among the sensible moves.

    A move is sensible if it is legal and does not fill a single-point eye of its own colour. Without one, it passes.

    >>> import rlgo
    >>> player, game = rlgo.RandomPlayer(seed=1), rlgo.Game(5)
    >>> game.play(player.genmove(game))
    >>> len(game.moves)
    1
    """

    def __init__(self, seed: Seed = None, name: str = "random") -> None:
        self.name = name
        self._rng = np.random.default_rng(seed_sequence(seed))

    def genmove(self, game: Game) -> int:
        """Choose a sensible move at random, or PASS."""
        check_size(self, game)
        return random_move(game, self._rng)


def random_move(game: Game, rng: np.random.Generator) -> int:
    """Draw a sensible move, each with the same probability; PASS if there is none."""
    moves = game.sensible_moves()
    return moves[rng.integers(len(moves))] if moves else PASS


class AfterstateValues(Protocol):
    """The part of a value function that `GreedyPlayer` uses; see `rlgo.learning.value.ValueFunction`."""

    @property
    def size(self) -> int:
        """The board size."""
        ...

    def afterstates(self, board: np.record) -> np.ndarray:
        """Evaluate each move of the side to play: float64[size * size + 1] by row * size + col, then PASS."""
        ...


class GreedyPlayer(Player):
    """A player that chooses the move with the best afterstate value, a one-ply search (TD paper, Section 3.2).

    Black maximises the value and White minimises it. The choice is among the sensible moves; exact ties are broken
    uniformly at random. The player passes if there is no sensible move. It also passes to end a won game: after the
    opponent's pass, if it is ahead by area with all stones alive.

    Parameters
    ----------
    value_function : evaluates the moves
    seed : seed of the random choices
    epsilon : probability of a uniformly random sensible move

    >>> import rlgo
    >>> player = rlgo.GreedyPlayer(rlgo.ValueFunction(rlgo.load_weights(rlgo.shipped_weights(9))))
    >>> game = rlgo.Game(9)
    >>> game.play("E3")
    >>> rlgo.to_vertex(player.genmove(game), 9)
    'E5'
    """

    def __init__(
        self, value_function: AfterstateValues, seed: Seed = None, epsilon: float = 0.0, name: str = "greedy"
    ) -> None:
        if not hasattr(value_function, "afterstates"):
            raise RlgoError(f"value_function = {shown(value_function)}: expected a ValueFunction")
        self.name = name
        self.sizes = (value_function.size,)
        self.epsilon = check("epsilon", epsilon, Probability)
        self._value_function = value_function
        self._rng = np.random.default_rng(seed_sequence(seed))
        self._values = np.full((value_function.size, value_function.size), np.nan)
        self._value = math.nan  # of the last position: its value after a pass, which changes no shape

    def warm_up(self) -> None:
        """Compile what a move needs, so that compiling costs no clock time."""
        self._value_function.afterstates(new_board(self._value_function.size))

    def genmove(self, game: Game) -> int:
        """Choose the move with the best afterstate. RlgoError for another board size."""
        check_size(self, game)
        size = self._value_function.size
        values = self._value_function.afterstates(game.board)
        self._values = values[:-1].reshape(size, size).copy()
        self._value = float(values[-1])
        explores = self.epsilon > 0 and self._rng.random() < self.epsilon
        return greedy_move(game, np.zeros(len(values)) if explores else values, self._rng)

    def new_game(self) -> None:
        """Forget the last position."""
        self._values[:] = self._value = np.nan

    def report(self) -> list[str]:
        """Return the value of the last position, before the move."""
        return [f"V(s) = {self._value:.3f} before the move"] if np.isfinite(self._value) else []

    def candidates(self, game: Game) -> list[Candidate]:
        """Rank all moves by the values of their afterstates."""
        check_size(self, game)
        return ranked(game, self._value_function.afterstates(game.board))

    def value_weights(self) -> Weights | None:
        """Return the weights of the value function, if it has any."""
        return getattr(self._value_function, "weights", None)

    def analyses(self) -> dict[str, np.ndarray]:
        """Return the map ``value``: P(Black wins) after each legal move."""
        return {"value": self._values}


def ranked(game: Game, values: np.ndarray, visits: int = 1) -> list[Candidate]:
    """Rank the moves to try by value, best first.

    values : after each move, float64[size * size + 1] by row * size + col, then PASS
    """
    sign = -1 if game.to_play == BLACK else 1
    moves = moves_to_try(game) or [PASS]
    places = places_of(np.array(moves), game.size)
    candidates = [Candidate(p, float(values[i]), visits, [p]) for p, i in zip(moves, places, strict=True)]
    return sorted(candidates, key=lambda candidate: sign * candidate.value)


def greedy_move(game: Game, values: np.ndarray, rng: np.random.Generator) -> int:
    """Choose the sensible move with the best afterstate for the side to play; PASS if there is nothing to try.

    Exact ties are broken uniformly at random.

    values : after each move, float64[size * size + 1] by row * size + col, then PASS
    """
    moves = moves_to_try(game)
    if not moves:
        return PASS
    mine = values[places_of(np.array(moves), game.size)]
    best = mine.max() if game.to_play == BLACK else mine.min()
    return moves[rng.choice(np.flatnonzero(mine == best))]


def moves_to_try(game: Game) -> list[int]:
    """List the moves worth considering: the sensible ones, or none if the player should pass.

    A player should pass if it has no sensible move, or to end a won game: after the opponent's pass, if it is ahead
    by area with all stones alive.
    """
    return [] if _has_won(game) else game.sensible_moves()


def _has_won(game: Game) -> bool:
    """Whether passing now would end the game with a win."""
    if not game.moves or game.moves[-1] != (3 - game.to_play, PASS):
        return False
    return game.score() > 0 if game.to_play == BLACK else game.score() < 0
