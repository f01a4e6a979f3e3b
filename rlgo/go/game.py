"""A game: the board, its history, positional superko, komi and the result.

Start reading at `Game.play`. The rules are those in the header of `board.py`, plus positional superko: a stone may not
recreate any earlier whole-board position, no matter whose turn it was. Positions are compared by their 64-bit hashes.
Passes are always legal.

This module is not built for speed: searches copy `Game.board` and play on the copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import takewhile
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from rlgo.base.checks import check, convert
from rlgo.base.errors import RlgoError, shown
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, Komi, board_size
from rlgo.compiler.jit import compile_together, compiling, njit
from rlgo.go.board import (
    BLACK,
    BORDER,
    EMPTY,
    PASS,
    WHITE,
    area_score,
    breathes,
    is_eye,
    is_legal,
    new_board,
    new_boards,
    play,
    play_stone,
)
from rlgo.go.coords import Place, color_of, handicap_points, max_fixed_handicap, point_of, to_vertex
from rlgo.go.draw import board_svg, board_text, colors_of
from rlgo.go.rules import zobrist

COLOR_NAMES = {BLACK: "Black", WHITE: "White"}

_LEGAL, _KO, _SUICIDE = 0, 1, 2


@njit
def _list_moves(boards, sensible, zobrist, points, hashes):
    """List the legal points of boards[0], ascending, and the hash after each; return their number.

    sensible : leave out single-point eyes of the side to play. boards[1] is scratch. Superko is not considered.
    """
    b = boards[0]
    n = 0
    for p in range(b.color.shape[0]):
        if b.color[p] == EMPTY and is_legal(b, p) and not (sensible and is_eye(b, p, b.to_play)):
            boards[1] = b
            play_stone(boards[1], p, zobrist)
            points[n] = p
            hashes[n] = boards[1].hash
            n += 1
    return n


@njit
def _try_move(boards, p, color, zobrist):
    """Play `color` at p (empty, or PASS) on boards[1], a copy of boards[0]; return _LEGAL, _KO or _SUICIDE."""
    boards[1] = boards[0]
    b = boards[1]
    if b.to_play != color:
        b.to_play = color
        b.ko = 0  # only the other colour is forbidden to retake
    if p != PASS:
        if p == b.ko:
            return _KO
        if not breathes(b, p, color):
            return _SUICIDE
    play(b, p, zobrist)
    return _LEGAL


@cache
def _compile(size: int) -> None:
    """Compile everything a game needs up front, so that no game stalls midway."""
    with compiling(f"the rules of the game, {size}x{size}"):
        boards, room = new_boards(2, size), size * size
        compile_together(
            later=[
                (_list_moves, boards, False, zobrist(size), np.zeros(room, np.int64), np.zeros(room, np.uint64)),
                (_try_move, boards, PASS, BLACK, zobrist(size)),
                (area_score, boards[0]),
            ]
        )


class Game:
    """A game of Go: the position, the moves that led to it, and the rules.

    Attributes
    ----------
    size, komi : board size; points added to White's score, with the compensation for handicap stones
    stated_komi : the komi without it
    white_bonus : that compensation for N stones: ``0``, ``N-1`` or ``N`` points
    board : the position, a record of `board_dtype(size)`; read or copy it, but do not change it
    setup : the stones that the game began with, such as handicap stones: (colour, point) each
    moves : the moves since then, passes included: (colour, point) each
    resigned : the colour that has resigned, or EMPTY
    repetitions : the numbers of the moves, from 1, that repeated an earlier position; see `play`
    notes : how the game differs from the record that it was read from; see `rlgo.go.sgf.record_note`
    allowed : the only points that `sensible_moves` may list, and PASS if a search may pass; None: any

    >>> import rlgo
    >>> game = rlgo.Game(5, komi=3.5)
    >>> game.play("C3")
    >>> game
    <Game 5x5, komi 3.5, 1 move, White to play>
    >>> game.why_illegal("C3")
    'occupied'
    """

    def __init__(self, size: int = DEFAULT_SIZE, komi: float = DEFAULT_KOMI) -> None:
        """Begin with an empty board, Black to play. `RlgoError` outside sizes 5 to 19, and for a komi beyond 10,000."""
        size = board_size(size)
        _compile(size)
        self.size = size
        self.stated_komi: float = check("komi", komi, Komi)
        self.white_bonus = "0"
        self.setup: list[tuple[int, int]] = []
        self.moves: list[tuple[int, int]] = []
        self.resigned = EMPTY
        self.repetitions: list[int] = []
        self.notes: tuple[str, ...] = ()
        self.allowed: frozenset[int] | None = None
        self._first = BLACK
        self._before_edit: Game | None = None
        self._n_before_edit = 0
        self._boards = new_boards(2, size)  # the position, and scratch
        self._points = np.zeros(size * size, np.int64)
        self._hashes = np.zeros(size * size, np.uint64)
        self._seen = {int(self._boards[0].hash)}
        self.board: np.record = self._boards[0]

    def __repr__(self) -> str:
        return f"<Game {self._summary()}>"

    def __str__(self) -> str:
        """Draw the board, as GTP's showboard prints it: X is Black, and the last move is in parentheses."""
        return f"{board_text(self.board, self.last_move)}\n{self._summary()}"

    def _summary(self) -> str:
        n = len(self.moves)
        state = self.result if self.is_over() else f"{COLOR_NAMES[self.to_play]} to play"
        return f"{self.size}x{self.size}, komi {self.komi:g}, {n} move{'s' * (n != 1)}, {state}"

    def _repr_svg_(self) -> str:
        """Show the position in a notebook."""
        return board_svg(self.board, self.last_move)

    def copy(self) -> Game:
        """Return an independent copy. So do `copy.copy` and `copy.deepcopy`."""
        other = Game(self.size, self.stated_komi)
        other.white_bonus, other.notes = self.white_bonus, self.notes
        other._before_edit, other._n_before_edit = self._before_edit, self._n_before_edit
        other.setup = self.setup.copy()
        other.moves = self.moves.copy()
        other.resigned = self.resigned
        other.repetitions = self.repetitions.copy()
        other.allowed = self.allowed
        other._first = self._first
        other._boards[:] = self._boards
        other._seen = self._seen.copy()
        return other

    def __copy__(self) -> Game:
        return self.copy()

    def __deepcopy__(self, _: dict[int, Any]) -> Game:  # numpy's leaves garbage between the fields of a record
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without `board`, which is a part of `_boards`."""
        return {name: value for name, value in self.__dict__.items() if name != "board"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.board = self._boards[0]

    # --- moves ---

    @property
    def to_play(self) -> int:
        """The colour to play. Setting it lets a side move twice in a row, as GTP allows; it lifts a simple ko."""
        return int(self.board.to_play)

    @to_play.setter
    def to_play(self, color: int | str) -> None:
        color = color_of(color)
        if color != self.board.to_play:
            self.board.to_play = color
            self.board.ko = 0

    @property
    def first_to_play(self) -> int:
        """The colour that was to play at the start."""
        return self._first

    @property
    def last_move(self) -> int | None:
        """The point of the last move, PASS for a pass, None at the start."""
        return self.moves[-1][1] if self.moves else None

    @property
    def n_played(self) -> int:
        """The number of moves since the start, with those before an edit, which `moves` lacks; see `edit`."""
        return len(self.moves) + self._n_before_edit

    def play(self, p: Place, color: int | str | None = None, *, may_repeat: bool = False) -> None:
        """Play for the side to play, or for `color`; then the other side is to play.

        Moves are possible after the end of the game, too.

        Parameters
        ----------
        p : a vertex ("E5", "pass"), a pair (row, col), both from 0 at A1, or a point
        color : BLACK or WHITE, "black" or "white"
        may_repeat : allow what superko forbids, for records of games under other ko rules

        Raises
        ------
        RlgoError : saying why a move is illegal.
        """
        p, color = point_of(p, self.size), self._color(color)
        why = self.why_illegal(p, color)
        if why == "superko" and may_repeat:
            self.repetitions.append(len(self.moves) + 1)
        elif why is not None:
            name = to_vertex(p, self.size) if why != "outside" else f"point {p}"
            raise RlgoError(f"illegal move {COLOR_NAMES[color]} {name}: {why}")
        self._boards[0] = self._boards[1]  # `why_illegal` has played the move there
        self._seen.add(int(self.board.hash))
        self.moves.append((color, int(p)))

    def undo(self, n: int = 1) -> None:
        """Take the last n moves back, by replaying all others; the colour that made the first of them is to play.

        Stones set up at the start stay; an edit (see `edit`) is undone with the move before it. RlgoError if there are
        fewer moves.
        """
        n = check("n", n, Annotated[int, Ge(1)])
        if n > self.n_played:
            raise RlgoError("no move to undo")
        earlier = self
        while n > len(earlier.moves):
            n -= len(earlier.moves)
            assert earlier._before_edit is not None  # which has the other moves
            earlier = earlier._before_edit
        if earlier is not self:
            kept = {name: getattr(self, name) for name in ("stated_komi", "white_bonus", "notes", "allowed")}
            self.__setstate__({**earlier.copy().__getstate__(), **kept})
        self._replay(len(self.moves) - n)

    def after(self, n: int) -> Game:
        """Return a copy of the game as it was after its first n moves; the colour that moved next is to play.

        After all of them, it is the colour that is to play now.
        """
        n = check("n", n, Annotated[int, Ge(0), Le(len(self.moves))])
        other = self.copy()
        other._replay(n)
        return other

    def _replay(self, n: int) -> None:
        """Play the first n moves again, from the start, and set the colour to play.

        It is that of the next move or, after all of them, the one that was to play.
        """
        moves, self.moves, self.repetitions, self.resigned = self.moves, [], [], EMPTY
        colors = [color for color, _ in moves] + [self.to_play]
        self._restart()
        for color, p in moves[:n]:
            self.play(p, color, may_repeat=True)
        self.to_play = colors[n]

    def resign(self, color: int | str | None = None) -> None:
        """Resign for the side to play, or for `color`. This ends the game."""
        self.resigned = self._color(color)

    def _color(self, color: int | str | None) -> int:
        """Return a colour, by default the side to play."""
        return self.to_play if color is None else color_of(color)

    # --- legality ---

    def why_illegal(self, p: Place, color: int | str | None = None) -> str | None:
        """Explain why a move of a colour (default: the side to play) is illegal; None if it is legal. See `play`.

        Returns
        -------
        ``outside``, ``occupied``, ``ko``, ``suicide``, ``superko`` or None.
        """
        p, color = point_of(p, self.size), self._color(color)
        if p != PASS:
            if not 0 <= p < len(self.board.color) or self.board.color[p] == BORDER:
                return "outside"
            if self.board.color[p] != EMPTY:
                return "occupied"
        verdict = _try_move(self._boards, p, color, zobrist(self.size))
        if verdict != _LEGAL:
            return "ko" if verdict == _KO else "suicide"
        if p != PASS and int(self._boards[1].hash) in self._seen:
            return "superko"
        return None

    def is_legal(self, p: Place, color: int | str | None = None) -> bool:
        """Return whether a move of a colour (default: the side to play) is legal, superko included."""
        return self.why_illegal(p, color) is None

    def legal_moves(self) -> list[int]:
        """List the points where the side to play may play, ascending. PASS, which is always legal, is not listed."""
        return self._moves(sensible=False)

    def sensible_moves(self) -> list[int]:
        """List the sensible moves: the legal and allowed ones outside single-point eyes of the side to play."""
        return self._moves(sensible=True)

    def _moves(self, sensible: bool) -> list[int]:
        n = _list_moves(self._boards, sensible, zobrist(self.size), self._points, self._hashes)
        moves = zip(self._points[:n].tolist(), self._hashes[:n].tolist(), strict=True)
        allowed = self.allowed if sensible else None
        return [p for p, after in moves if after not in self._seen and (allowed is None or p in allowed)]

    # --- stones ---

    def array(self) -> np.ndarray:
        """Return the stones, int8[size, size]: EMPTY 0, BLACK 1 and WHITE 2 at [row, col], both from 0 at A1.

        Row 0 is the lowest row of the board, so ``array()[::-1]`` reads as the board is drawn.

        >>> import rlgo
        >>> game = rlgo.Game(5)
        >>> game.play("B1")
        >>> game.play("E5")
        >>> game.array()[0].tolist(), game.array()[4].tolist()
        ([0, 1, 0, 0, 0], [0, 0, 0, 0, 2])
        """
        return colors_of(self.board).astype(np.int8)

    def stones(self, color: int | str) -> list[int]:
        """List the points where a colour has stones, ascending."""
        return np.flatnonzero(self.board.color == color_of(color)).tolist()

    def liberties(self, p: Place) -> list[int]:
        """List the liberties of the chain at p, ascending. RlgoError where there is no stone."""
        color, chains = self.board.color, self.board.chain
        p = point_of(p, self.size)
        if not (0 <= p < len(color) and color[p] in COLOR_NAMES):
            raise RlgoError(f"point {p}: expected a point with a stone")
        chain = np.flatnonzero((chains == chains[p]) & (color == color[p])).tolist()
        steps = (1, -1, self.size + 1, -self.size - 1)
        return sorted({q + d for q in chain for d in steps if color[q + d] == EMPTY})

    def captures(self, color: int | str) -> int:
        """Count the stones that a colour has captured: those of the other that are not on the board any more."""
        color = color_of(color)
        placed = [c for c, p in (*self.setup, *self.moves) if p != PASS]
        return placed.count(3 - color) - len(self.stones(3 - color))

    # --- the end ---

    @property
    def komi(self) -> float:
        """Points added to White's score, with the compensation."""
        stones = 0 if self.white_bonus == "0" else self.handicap
        return self.stated_komi + max(0, stones - (self.white_bonus == "N-1"))

    @komi.setter
    def komi(self, komi: float) -> None:
        self.stated_komi = komi

    @property
    def handicap(self) -> int:
        """The handicap stones, from 2: those set up without any of White's, and moves before White's first."""
        game = self
        while game._before_edit is not None:
            game = game._before_edit
        first = takewhile(lambda move: move[0] == BLACK, game.moves)
        colors = [color for color, p in (*game.setup, *first) if p != PASS]
        return len(colors) if len(colors) > 1 and WHITE not in colors else 0

    def is_over(self) -> bool:
        """Return whether the last two moves were passes, or a side has resigned."""
        return self.resigned != EMPTY or bool(self.board.n_passes >= 2)

    def score(self) -> float:
        """Score by area: Black's points minus White's minus komi. Every stone on the board counts as alive."""
        return int(area_score(self.board)) - self.komi

    @property
    def outcome(self) -> float:
        """The outcome z of the game as it stands: 1 Black wins, 0 White wins, 0.5 a draw (TD paper, Section 2.4)."""
        if self.resigned != EMPTY:
            return 1.0 if self.resigned == WHITE else 0.0
        score = self.score()
        return 0.5 if score == 0 else float(score > 0)

    @property
    def result(self) -> str:
        """The result of the game as it stands: ``B+3.5``, ``W+0.5``, ``W+R`` (Black resigned) or ``0`` (a draw)."""
        winner = {1.0: "B+", 0.0: "W+", 0.5: "0"}[self.outcome]
        if self.resigned != EMPTY:
            return winner + "R"
        return winner if winner == "0" else f"{winner}{abs(self.score()):g}"

    # --- stones set up at the start ---

    def set_up(self, stones: Iterable[tuple[int | str, Place]], to_play: int | str = BLACK) -> None:
        """Set up a position to begin with.

        Parameters
        ----------
        stones : (colour, point) each, both as `play` takes them
        to_play : the colour that plays first

        Raises
        ------
        RlgoError : with the game unchanged, if there are stones on the board already, if two stones share a point, or
            if a chain would have no liberty.
        """
        if self.board.n_stones.any() or self.setup:
            raise RlgoError("board not empty")
        try:
            pairs = [(color, p) for color, p in stones]
        except (TypeError, ValueError):
            raise RlgoError(f"stones = {shown(stones)}: expected pairs (colour, point)") from None
        self._begin_with([(color_of(color), point_of(p, self.size)) for color, p in pairs], color_of(to_play))

    def edit(self, points: Mapping[int, int]) -> None:
        """Put stones on the board, or take them off, in the middle of a game.

        The edited position becomes the one that the game begins with, and `moves` is empty. `undo` still takes back the
        earlier moves. Who is to play stays the same.

        Parameters
        ----------
        points : by point, the colour of the stone that stands there from now on, or EMPTY

        Raises
        ------
        RlgoError : with the game unchanged, if a chain would have no liberty.

        >>> import rlgo
        >>> from rlgo.go.board import EMPTY
        >>> game = rlgo.Game(5)
        >>> game.play("C3")
        >>> game.edit({rlgo.from_vertex("C3", 5): EMPTY, rlgo.from_vertex("B2", 5): rlgo.BLACK})
        >>> game.setup == [(rlgo.BLACK, rlgo.from_vertex("B2", 5))], game.moves
        (True, [])
        >>> game.undo()
        >>> game.is_legal("B2")
        True
        """
        if all(self.board.color[p] == color for p, color in points.items()):
            return
        before, n_before = self.copy(), self.n_played
        colors = {p: color for color in COLOR_NAMES for p in self.stones(color)} | dict(points)
        self._begin_with(sorted((c, p) for p, c in colors.items() if c != EMPTY), self.to_play)
        self._before_edit, self._n_before_edit = before if before.moves else before._before_edit, n_before

    def _begin_with(self, setup: list[tuple[int, int]], to_play: int) -> None:
        """Begin the game with these stones. RlgoError, with the game unchanged, if they cannot stand there."""
        trial = Game(self.size, self.komi)
        for n_stones, (color, p) in enumerate(setup, 1):
            # If every chain ends up with a liberty, nothing is captured on the way, in any order.
            trial.to_play = color
            if p == PASS or trial.why_illegal(p) or trial._boards[1].n_stones.sum() != n_stones:
                why = "outside" if p == PASS else trial.why_illegal(p) or "takes stones"
                name = f"point {p}" if why == "outside" else to_vertex(p, self.size)
                raise RlgoError(f"setup {COLOR_NAMES[color]} {name}: {why}")
            trial.play(p)
        self.setup, self.moves, self._first, self.resigned = setup, [], to_play, EMPTY
        self.repetitions = []
        self._restart()

    def fixed_handicap(self, n: int) -> list[int]:
        """Set up n handicap stones on their traditional points, White to play; return the points.

        RlgoError, with the game unchanged, if the board is not empty or has no such handicap.
        """
        most = max_fixed_handicap(self.size)
        try:
            stones = convert(n, Annotated[int, Ge(2), Le(most)])
        except ValueError:
            expected = f"expected 2 to {most}" if most else "there is none below 7x7"
            raise RlgoError(f"fixed handicap {shown(n)} on {self.size}x{self.size}: {expected}") from None
        return self.set_free_handicap(handicap_points(self.size, stones))

    def place_free_handicap(self, n: int) -> list[int]:
        """Set up n handicap stones on points of rlgo's choice, White to play; return the points.

        They are those of `fixed_handicap`. If it has fewer, fewer are placed, as GTP allows.
        """
        n = check("handicap", n, Annotated[int, Ge(2)])
        most = max_fixed_handicap(self.size) or 4
        return self.set_free_handicap(handicap_points(self.size, min(n, most)))

    def set_free_handicap(self, points: Sequence[Place]) -> list[int]:
        """Set up handicap stones on given points, as `play` takes them, White to play; return the points.

        RlgoError, with the game unchanged, if the board is not empty or the points are unsuitable.
        """
        if not isinstance(points, Sequence) or isinstance(points, str):
            raise RlgoError(f"points = {shown(points)}: expected a list of points")
        stones = [point_of(p, self.size) for p in points]
        if not 2 <= len(stones) < self.size * self.size:
            most = self.size * self.size - 1
            raise RlgoError(f"handicap of {len(stones)} stones: expected 2 to {most}")
        self.set_up([(BLACK, p) for p in stones], WHITE)
        return stones

    def _restart(self) -> None:
        """Reset the board to the position before the first move."""
        self._boards[0] = new_board(self.size)
        for color, p in self.setup:
            self.board.to_play = color
            _try_move(self._boards, p, color, zobrist(self.size))
            self._boards[0] = self._boards[1]
        self.board.to_play = self._first
        self.board.ko = self.board.n_moves = self.board.n_passes = self.board.n_changed = 0
        self._seen = {int(self.board.hash)}
