"""Reading and writing game records in SGF, using sgfmill.

Start reading at `read_sgf` and `write_sgf`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rlgo.base.bounds import Number, One, OrNone
from rlgo.base.errors import RlgoError
from rlgo.base.resources import version
from rlgo.base.settings import COUNT_OR_0, DEFAULT_KOMI, KOMI, MAX_SIZE, MIN_SIZE
from rlgo.go.board import BLACK, EMPTY, PASS, WHITE
from rlgo.go.coords import from_row_col, from_sgf, to_row_col, to_sgf
from rlgo.go.game import Game

_MAX_SGF_BYTES = 10_000_000
_SHOWN = 40  # characters of a bad value in an error message
_COLORS = {"b": BLACK, "w": WHITE}
_LETTERS = {color: letter for letter, color in _COLORS.items()}


def load_sgf(name: str | Path, komi: float = DEFAULT_KOMI, n_moves: int | None = None) -> Game:
    """Read the main line of an SGF file.

    See `read_sgf` for the parameters. Errors are `RlgoError`s that name the file.

    >>> import pathlib, rlgo, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "game.sgf")
    ...     n_bytes = path.write_bytes(b"(;GM[1]SZ[5]KM[3.5];B[cc];W[bd])")
    ...     rlgo.load_sgf(path)
    <Game 5x5, komi 3.5, 2 moves, Black to play>
    """
    data = _read_file(str(name))
    try:
        return read_sgf(data, komi, n_moves)
    except RlgoError as error:
        raise RlgoError(f"{str(name)!r}: {error}") from None


def _read_file(name: str) -> bytes:
    path = Path(name)
    try:
        if path.is_dir():
            raise RlgoError(f"{name!r}: expected a file, found a folder")
        # Reading from a device or a pipe might never end.
        if not path.is_file():
            raise RlgoError(f"{name!r}: no such file")
        if path.stat().st_size > _MAX_SGF_BYTES:
            raise RlgoError(f"{name!r}: expected at most {_MAX_SGF_BYTES // 1_000_000} MB")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise RlgoError(f"{name!r}: {getattr(error, 'strerror', None) or error}") from None


def read_sgf(data: bytes, komi: float = DEFAULT_KOMI, n_moves: int | None = None) -> Game:
    """Read the main line of an SGF game record.

    A move may repeat an earlier position, as ko rules other than positional superko allow; see `Game.repetitions` and
    `repetition_note`.

    Parameters
    ----------
    data : the record
    komi : used if the record does not state it
    n_moves : stop after this many moves, with the colour of the next move to play; None: play all

    Raises
    ------
    RlgoError : if `n_moves` is negative or no integer, or the data is not SGF, sets up stones in the middle of the
        game, or contains an illegal move. It names the property or the move.
    """
    OrNone(COUNT_OR_0).check("n_moves", n_moves)
    nodes = _nodes(data)
    root = nodes[0]
    root.integer("GM", 1, 1, "1, the game of Go")
    game = Game(root.integer("SZ", MIN_SIZE, MAX_SIZE, f"a board size from {MIN_SIZE} to {MAX_SIZE}", 19), komi)
    game.komi = _komi(root, komi)
    first = next((i for i, node in enumerate(nodes) if node.has("B", "W")), len(nodes))
    _set_up(game, nodes[: first + 1], next_color=nodes[first].color() if first < len(nodes) else None)
    _play(game, nodes[first:], n_moves)
    return game


def _nodes(data: bytes) -> list[_Node]:
    """Parse a record, and return the nodes of its main line."""
    from sgfmill.sgf_grammar import main_sequence_iter, parse_sgf_game

    try:
        return [_Node(values) for values in main_sequence_iter(parse_sgf_game(data))]
    except ValueError as error:
        raise RlgoError(f"not an SGF game record of Go: {error}") from None


def _komi(root: _Node, default: float) -> float:
    komi = root.number("KM", KOMI, default)
    # The Fox server writes hundredths: of stones (two points each) under Chinese rules, otherwise of points.
    if abs(komi) >= 100 and "foxwq" in (root.text("AP") or ""):
        return komi / 100 * (2 if root.text("RU") == "Chinese" else 1)
    return komi


def repetition_note(game: Game) -> str:
    """Name the moves of a record that repeated an earlier position; "" if none did."""
    if not game.repetitions:
        return ""
    numbers = ", ".join(str(n) for n in game.repetitions)
    move, verb = ("move", "repeats") if len(game.repetitions) == 1 else ("moves", "repeat")
    return f"{move} {numbers} {verb} an earlier position; from here on, positional superko applies"


class _Node:
    """One node of a record: the values of its properties by name."""

    def __init__(self, values: Mapping[str, list[bytes]]) -> None:
        self._values = values

    def has(self, *names: str) -> bool:
        return any(name in self._values for name in names)

    def color(self) -> int:
        """Return the colour that moves in this node. RlgoError if both do."""
        if self.has("B") and self.has("W"):
            raise RlgoError("B and W in one node: expected one move")
        return BLACK if self.has("B") else WHITE

    def text(self, name: str) -> str | None:
        """Return the only value of a property; None if it is missing or empty. RlgoError if there are several."""
        values = self._values.get(name, [])
        if len(values) > 1:
            raise RlgoError(f"{name}: expected one value, found {len(values)}")
        return values[0].decode("ascii", "replace").strip() or None if values else None

    def integer(self, name: str, low: int, high: int, expected: str, default: int = 0) -> int:
        text = self.text(name)
        if text is None:
            return default
        if not re.fullmatch("[0-9]{1,3}", text) or not low <= int(text) <= high:
            raise _unexpected(name, text, expected)
        return int(text)

    def number(self, name: str, bounds: Number, default: float) -> float:
        text = self.text(name)
        if text is None:
            return default
        if not re.fullmatch(r"[+-]?([0-9]{1,9}(\.[0-9]*)?|\.[0-9]+)", text) or not bounds.admits(float(text)):
            raise _unexpected(name, text, bounds.words)
        return float(text)

    def points(self, name: str, size: int) -> list[int]:
        """Return the points of a list; ``aa:cc`` is the rectangle between two corners. RlgoError for a pass."""
        points = []
        for value in self._values.get(name, []):
            text = value.decode("ascii", "replace").strip()
            corners = [_point(name, text, corner, size) for corner in text.split(":", 1)]
            if PASS in corners:
                raise _unexpected(name, text, "a point")
            (top, left), (bottom, right) = (to_row_col(p, size) for p in (corners[0], corners[-1]))
            rows, cols = range(min(top, bottom), max(top, bottom) + 1), range(min(left, right), max(left, right) + 1)
            points += [from_row_col(row, col, size) for row in rows for col in cols]
        return points

    def move(self, size: int) -> tuple[int, int]:
        """Return the colour and the point of the node's move."""
        color = self.color()
        name = _LETTERS[color].upper()
        text = self.text(name) or ""
        return color, _point(name, text, text, size)


def _point(name: str, text: str, corner: str, size: int) -> int:
    try:
        return from_sgf(corner, size)
    except RlgoError:
        last = to_sgf(from_row_col(0, size - 1, size), size)
        raise _unexpected(name, text, f"a point from aa to {last}, or nothing for a pass") from None


def _unexpected(name: str, text: str, expected: str) -> RlgoError:
    shown = "".join(c if c.isprintable() else "?" for c in text[:_SHOWN]) + "..." * (len(text) > _SHOWN)
    return RlgoError(f"{name}[{shown}]: expected {expected}")


def _set_up(game: Game, nodes: Sequence[_Node], next_color: int | None) -> None:
    """Set up the stones of the nodes before the first move, and of that node itself.

    next_color : the colour of the first move; None in a record without moves
    """
    size, stones = game.size, dict[int, int]()
    to_play = EMPTY
    for node in nodes:
        for name, color in (("AB", BLACK), ("AW", WHITE), ("AE", EMPTY)):
            stones.update(dict.fromkeys(node.points(name, size), color))
        to_play = _whose_turn(node) or to_play
    placed = sorted((color, p) for p, color in stones.items() if color != EMPTY)
    n = nodes[0].integer("HA", 0, size * size - 1, f"a number from 0 to {size * size - 1}")
    if n >= 2 and not placed and next_color == WHITE:
        raise RlgoError(f"HA[{n}]: expected the handicap stones in AB")
    if placed or to_play:
        handicap = all(color == BLACK for color, _ in placed)
        game.set_up(placed, to_play or (WHITE if handicap else BLACK))


def _whose_turn(node: _Node) -> int:
    """Return the colour that plays next by the node's PL; EMPTY if it has none."""
    letter = node.text("PL")
    if letter is None:
        return EMPTY
    if letter.lower()[:1] not in _COLORS:
        raise _unexpected("PL", letter, "B or W")
    return _COLORS[letter.lower()[:1]]


def _play(game: Game, nodes: Sequence[_Node], n_moves: int | None) -> None:
    """Play the moves of the nodes: all, or the first `n_moves`."""
    moves = 0
    for i, node in enumerate(nodes):
        if i and node.has("AB", "AW", "AE"):
            raise RlgoError(f"setup properties after move {moves}: expected them before the first one")
        if not node.has("B", "W"):
            game.to_play = _whose_turn(node) or game.to_play
            continue
        if n_moves is not None and moves >= n_moves:
            game.to_play = node.color()
            return
        moves += 1
        try:
            color, p = node.move(game.size)
            game.play(p, color, may_repeat=True)
        except RlgoError as error:
            raise RlgoError(f"move {moves}: {error}") from None


def komi_of(data: bytes) -> float:
    """Return the komi that an SGF record states; NaN if it states none, or no valid one."""
    try:
        return _komi(_nodes(data)[0], math.nan)
    except RlgoError:
        return math.nan


def winner_of(data: bytes) -> float:
    """Return the outcome z that an SGF record states: 1 Black won, 0 White won, 0.5 a draw, NaN if it states none."""
    try:
        result = (_nodes(data)[0].text("RE") or "").lower()
    except RlgoError:
        return math.nan
    if result in ("0", "draw", "jigo"):
        return 0.5
    return {"b+": 1.0, "w+": 0.0}.get(result[:2], math.nan)


def write_sgf(
    game: Game,
    black: str,
    white: str,
    result: str | None = None,
    comment: str = "",
    comments: Mapping[int, str] | None = None,
) -> bytes:
    """Return a game as an SGF record, in bytes.

    Parameters
    ----------
    black, white : the players' names
    result : for the property RE; None: `Game.result` if the game is over, and no result otherwise
    comment : on the game
    comments : on its moves, by their numbers from 1

    >>> import rlgo
    >>> game = rlgo.Game(5)
    >>> game.play("C3")
    >>> record = rlgo.write_sgf(game, black="Ann", white="Bob")
    >>> b"PB[Ann]PW[Bob]" in record, b"B[cc]" in record
    (True, True)
    """
    One(Game).check("game", game)
    for name, text in (("black", black), ("white", white), ("comment", comment)):
        One(str).check(name, text)
    OrNone(One(str)).check("result", result)
    for text in (OrNone(One(Mapping)).check("comments", comments) or {}).values():
        One(str).check("comments", text)
    result = game.result if result is None and game.is_over() else result
    properties = {"PB": black, "PW": white, "RE": result, "C": comment or None}
    known = {name: value for name, value in properties.items() if value is not None}
    to_play = game.moves[0][0] if game.moves else game.to_play
    starts_oddly = game.setup or to_play != BLACK
    return write_record(
        game.size, game.komi, game.moves, known,
        setup=game.setup, to_play=to_play if starts_oddly else None, comments=comments or {},
    )  # fmt: skip


def write_record(
    size: int,
    komi: float,
    moves: Iterable[tuple[int, int]],
    properties: Mapping[str, Any],
    *,
    setup: Sequence[tuple[int, int]] = (),
    to_play: int | None = None,
    comments: Mapping[int, str] | None = None,
) -> bytes:
    """Write moves as an SGF record, whether they are legal or not.

    Parameters
    ----------
    moves, setup : (colour, point) each; the stones set up at the start
    properties : of the root node, by their SGF names
    to_play : the colour that plays first, if it must be stated
    comments : on the moves, by their numbers from 1
    """
    from sgfmill import sgf

    record = sgf.Sgf_game(size)
    root = record.get_root()
    for name, value in {"AP": ("rlgo", version()), "RU": "Chinese", "KM": komi, **properties}.items():
        root.set(name, value)
    if setup:
        stones: dict[int, list[tuple[int, int]]] = {BLACK: [], WHITE: []}
        for color, p in setup:
            stones[color].append(to_row_col(p, size))
        root.set_setup_stones(stones[BLACK], stones[WHITE])
        if len(stones[BLACK]) >= 2 and not stones[WHITE]:
            root.set("HA", len(stones[BLACK]))
    if to_play is not None:
        root.set("PL", _LETTERS[to_play])
    for number, (color, p) in enumerate(moves, 1):
        node = record.extend_main_sequence()
        node.set_move(_LETTERS[color], None if p == PASS else to_row_col(p, size))
        if comments and comments.get(number):
            node.set("C", comments[number])
    data: bytes = record.serialise()
    return data
