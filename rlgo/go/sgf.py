"""Reading and writing game records in SGF.

Start reading at `load_sgf`, `SgfRecord` and `write_sgf`. What other programs write is read if it can only mean one
thing; otherwise it is refused with its place in the file, rather than read as another game. sgfmill writes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from rlgo.base.checks import allows, check, expected
from rlgo.base.decoding import decode
from rlgo.base.errors import RlgoError
from rlgo.base.resources import version
from rlgo.base.settings import DEFAULT_KOMI, MAX_SIZE, MIN_SIZE, CountOr0, Komi
from rlgo.go.board import BLACK, EMPTY, PASS, WHITE
from rlgo.go.coords import from_row_col, from_sgf, to_row_col, to_sgf
from rlgo.go.game import Game

_MAX_SGF_BYTES = 10_000_000
_MOST_NODES = 100_000  # of a main line
_MOST_MOVES = 10_000
_USUAL_KOMI = 40  # points; a larger one is told
_SHOWN = 40  # characters of a bad value in an error message
_COLORS = {"b": BLACK, "w": WHITE}
_LETTERS = {color: letter for letter, color in _COLORS.items()}
_SETUP = {"AB": BLACK, "AW": WHITE, "AE": EMPTY}


def load_sgf(name: str | Path, komi: float = DEFAULT_KOMI, n_moves: int | None = None) -> Game:
    """Read the main line of the first game of an SGF file.

    See `read_sgf` for the parameters. Errors are `RlgoError`s that name the file.

    >>> import pathlib, rlgo, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "game.sgf")
    ...     n_bytes = path.write_bytes(b"(;GM[1]SZ[5]KM[3.5];B[cc];W[bd])")
    ...     rlgo.load_sgf(path)
    <Game 5x5, komi 3.5, 2 moves, Black to play>
    """
    data = read_sgf_file(name)
    try:
        return read_sgf(data, komi, n_moves)
    except RlgoError as error:
        error.args = (f"{str(name)!r}: {error}",)
        raise


def read_sgf_file(name: str | Path) -> bytes:
    """Return the contents of an SGF file. RlgoError if there is none, it is too large, or it cannot be read."""
    path, name = Path(name), str(name)
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
    """Read the main line of the first game of an SGF file.

    A move may repeat an earlier position, as ko rules other than positional superko allow. `record_note` tells of it,
    and of whatever else was not taken literally.

    Parameters
    ----------
    data : the file's contents
    komi : used if the record does not state it
    n_moves : stop after this many moves, with the colour of the next move to play; None: play all

    Raises
    ------
    RlgoError : if `n_moves` is negative or no integer, or the data is not SGF, or contains an illegal move. It names
        the property or the move. It is a `BadMove` if the moves before it can be read.
    """
    check("n_moves", n_moves, CountOr0 | None)
    return next(read_sgf_records(data)).game(komi, n_moves)


class BadMove(RlgoError):
    """A move of a record, or an edited position, that is not legal. The `n_before` moves before it can be read."""

    n_before = 0


def record_note(game: Game) -> str:
    """Tell in one line how a game differs from its record; "" if it does not."""
    notes = list(game.notes)
    if n_before := game.n_played - len(game.moves):
        notes.append(
            f"its position is edited after move {n_before}: the game is what follows, its moves counted from 1"
        )
    if game.repetitions:
        numbers = ", ".join(str(n) for n in game.repetitions)
        move, verb = ("move", "repeats") if len(game.repetitions) == 1 else ("moves", "repeat")
        notes.append(f"{move} {numbers} {verb} an earlier position; from here on, positional superko applies")
    return "; ".join(notes)


# ---------------------------------------------------------------------------------------------
# The text: games, nodes, properties
# ---------------------------------------------------------------------------------------------

STATED_ENCODING = re.compile(rb"(?<![A-Za-z0-9_])CA\s*\[\s*([!-Z^-~]+)\s*\]")
_SPACE = r"[\s\ufeff\0]*"
_NAME = r"[^\s\ufeff\0\[\]();\\]+"  # SGF has capitals only; other programs have added digits, "_" and more
_VALUE = r"\[[^\\\]]*(?:\\.[^\\\]]*)*\]"
_TOKEN = re.compile(rf"{_SPACE}(?:(?P<mark>[();\]])|(?P<name>{_NAME})(?={_SPACE}\[)|(?P<value>{_VALUE})|\Z)", re.DOTALL)
_SKIPPED = re.compile(rf"[()]|{_VALUE}|\[", re.DOTALL)
# A game may lack its first ";", and the first game of a file its "(", too.
_START = re.compile(rf"\({_SPACE}(?:;|{_NAME}{_SPACE}\[)")
_NEXT_GAME = re.compile(rf"\({_SPACE}(?:;{_SPACE})?(?:GM|FF|SZ){_SPACE}\[")  # inside a game that lacks its ")"
_BARE_START = re.compile(rf"{_SPACE}(?:;{_SPACE})?[A-Za-z]\w*{_SPACE}\[")


def read_sgf_records(data: bytes) -> Iterator[SgfRecord]:
    """Yield the games of an SGF file, at least one, each as it is reached.

    The text is decoded first, by the encoding that it states (CA) or by the likeliest one.

    Raises
    ------
    RlgoError : where a game cannot be read. It names the line and the column.

    >>> [record.text("PB") for record in read_sgf_records("(;PB[武宮];B[ee])(;PB[Ann])".encode("cp932"))]
    ['武宮', 'Ann']
    """
    stated = STATED_ENCODING.search(data)
    text = decode(data, stated[1].decode() if stated else "")
    start = _BARE_START.match(text) or _START.search(text)
    if start is None:
        raise RlgoError("not an SGF game record of Go: no SGF data found")
    while start is not None:
        record, end = _read_record(text, start.start())
        yield record
        start = _START.search(text, end)


def _read_record(text: str, i: int) -> tuple[SgfRecord, int]:
    """Read the game that starts at text[i]; return it and where it ends. Of variations, the first ones are read."""
    nodes, depth, is_bare = list[_Node](), 0, _BARE_START.match(text, i) is not None
    values: list[str] | None = None  # of the current property
    node: _Node | None = None
    has_moves = False
    while (token := _TOKEN.match(text, i)) is not None and token.lastgroup is not None and token["mark"] != ")":
        if has_moves and token["mark"] == "(" and _NEXT_GAME.match(text, token.start("mark")):
            break
        i = token.end()
        if token["value"] is not None:
            if values is None:
                raise _misplaced(text, token.start("value"))
            values.append(re.sub(r"\\(?:\r\n|\n\r|\n|\r|(.))", r"\1", token["value"][1:-1], flags=re.DOTALL))
            continue
        if token["mark"] == "]":  # as in PB[Ann [3k]], where the first ] should have been escaped
            if not values or values[-1].count("[") <= values[-1].count("]"):
                raise _misplaced(text, token.start("mark"))
            values[-1] += "]"
            continue
        if token["mark"] == "(":
            depth, node, values = depth + 1, None, None
            continue
        if node is None or token["mark"] == ";":
            node, values = _Node(), None
            nodes.append(node)
            if len(nodes) > _MOST_NODES:
                raise RlgoError(f"expected at most {_MOST_NODES:,} nodes in a main line")
        if token["name"] is not None:
            name = _short_name(token["name"])
            values, has_moves = node.setdefault(name, []), has_moves or name in ("B", "W")
    if token is None:
        raise _misplaced(text, i)
    end, is_whole = _end_of_game(text, i, depth + is_bare)
    return SgfRecord(nodes, [] if is_whole or is_bare else ["the record lacks its last )"]), end


def _end_of_game(text: str, i: int, depth: int) -> tuple[int, bool]:
    """Return where a game ends, of which `depth` variations are open at text[i], and whether its end is written."""
    for token in _SKIPPED.finditer(text, i):
        if token[0] == "[":
            raise _misplaced(text, token.start())
        if token[0] == "(" and _NEXT_GAME.match(text, token.start()):
            return token.start(), False
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth <= 0:
            return token.end(), True
    return len(text), False


def _short_name(name: str) -> str:
    """Return the name of a property as SGF has it now: AB for AddBlack, as in its first versions."""
    capitals = re.sub("[a-z]", "", name)
    return capitals if re.search("[A-Z]", capitals) else name.upper()


def _misplaced(text: str, i: int) -> RlgoError:
    """Say where a text is not SGF any more: at the first character from text[i] on that is no space."""
    i += len(text[i:]) - len(text[i:].lstrip())
    line, column = text.count("\n", 0, i) + 1, i - text.rfind("\n", 0, i)
    word = _printable(re.match(rf"{_NAME}|.?", text[i:], re.DOTALL)[0])  # type: ignore[index]  # it always matches
    known = {"[": "a property before it, and ] at its end", "]": "[ before it"}
    expected = known.get(word, "a property's value after it")
    return RlgoError(f"not an SGF game record of Go: line {line}, column {column}: {word}: expected {expected}")


# ---------------------------------------------------------------------------------------------
# The game
# ---------------------------------------------------------------------------------------------


class SgfRecord:
    """A game of an SGF file: the nodes of its main line, not yet played.

    Attributes
    ----------
    comments : on the moves, by their numbers from 1; 0: before the first move
    notes : what is unusual about the record, in words
    """

    def __init__(self, nodes: Sequence[_Node], notes: Sequence[str] = ()) -> None:
        self._nodes = nodes
        self._first = next((i for i, node in enumerate(nodes) if node.has("B", "W")), len(nodes))
        self._root = _Node()  # what stands before the first move
        for node in reversed(nodes[: self._first + 1]):
            sizes = [*node.get("SZ", []), *self._root.get("SZ", [])]
            self._root.update(node, **({"SZ": sizes} if sizes else {}))
        self.notes = list(notes)

    def text(self, name: str) -> str:
        """Return a property of the game, such as PB, Black's name; "" if it is missing.

        >>> next(read_sgf_records(b"(;PB[Ann]PW[Bob];B[ee])")).text("PW")
        'Bob'
        """
        return self._root.get(name, [""])[-1].strip()

    @cached_property
    def comments(self) -> dict[int, str]:
        """Return the comments, by the number of moves before them."""
        moves, found = 0, dict[int, str]()
        for node in self._nodes:
            moves += node.has("B", "W")
            for text in node.get("C", []):
                found[moves] = "\n".join(filter(None, [found.get(moves), text.strip()]))
        return found

    @property
    def z(self) -> float:
        """The outcome that the record states (RE): 1 Black won, 0 White won, 0.5 a draw, NaN if it states none."""
        result = self.text("RE").lower()
        if result in ("0", "draw", "jigo"):
            return 0.5
        for z, winner, loser in ((1.0, "b黑黒흑", "w白백"), (0.0, "w白백", "b黑黒흑")):
            if re.match(rf"{winner[0]}((lack|hite) w[io]n| *\+)|[{winner}][^{loser}]*[胜勝승]", result):
                return z
        return math.nan

    @property
    def komi(self) -> float:
        """The komi that the record states, in points; NaN if it states none, or no valid one."""
        try:
            return _komi(self._root, math.nan)[0]
        except RlgoError:
            return math.nan

    def game(self, komi: float = DEFAULT_KOMI, n_moves: int | None = None) -> Game:
        """Play the moves: all, or the first `n_moves`. See `read_sgf` for the parameters and errors.

        >>> next(read_sgf_records(b"(;SZ[9]KM[5.5];B[ee];W[cc])")).game()
        <Game 9x9, komi 5.5, 2 moves, Black to play>
        """
        self._root.integer("GM", 1, 1, "1, the game of Go")
        game = Game(self._root.size(), komi)
        game.komi, note = _komi(self._root, komi)
        next_color = self._nodes[self._first].color() if self._first < len(self._nodes) else None
        _set_up(game, self._root, self._nodes[: self._first + 1], next_color)
        _play(game, self._nodes[self._first :], n_moves)
        game.notes = (*self.notes, *filter(None, [note]))
        return game


class _Node(dict[str, list[str]]):
    """The properties of a node: their values by name."""

    def has(self, *names: str) -> bool:
        return any(name in self for name in names)

    def color(self) -> int:
        """Return the colour that moves in this node. RlgoError if both do."""
        if self.has("B") and self.has("W"):
            raise RlgoError("B and W in one node: expected one move")
        return BLACK if self.has("B") else WHITE

    def text(self, name: str) -> str | None:
        """Return the only value of a property; None if it is missing or empty. RlgoError if there are several."""
        values = list(dict.fromkeys(value.strip() for value in self.get(name, [])))
        if len(values) > 1:
            raise RlgoError(f"{name}: expected one value, found {len(values)}")
        return values[0] or None if values else None

    def integer(self, name: str, low: int, high: int, expected: str, default: int = 0) -> int:
        text = self.text(name)
        if text is None:
            return default
        if not re.fullmatch("[0-9]{1,3}", text) or not low <= int(text) <= high:
            raise _unexpected(name, text, expected)
        return int(text)

    def size(self) -> int:
        """Return the board size; SZ[9:9] is the form for boards that may be oblong."""
        text = self.text("SZ") or ""
        square = re.fullmatch("([0-9]{1,3}):([0-9]{1,3})", text)
        if square and square[1] == square[2]:
            self["SZ"] = [square[1]]
        return self.integer("SZ", MIN_SIZE, MAX_SIZE, f"a board size from {MIN_SIZE} to {MAX_SIZE}", 19)

    def number(self, name: str, kind: Any) -> float | None:
        text = self.text(name)
        if text is None:
            return None
        decimal = text.replace(",", ".", 1)
        if not re.fullmatch(r"[+-]?([0-9]{1,9}(\.[0-9]*)?|\.[0-9]+)", decimal) or not allows(kind, float(decimal)):
            raise _unexpected(name, text, expected(kind))
        return float(decimal)

    def setup(self, size: int) -> dict[int, int]:
        """Return the colours of the points that are set up or cleared. RlgoError for a pass."""
        return {p: color for name, color in _SETUP.items() for p in self._points(name, size)}

    def _points(self, name: str, size: int) -> Iterator[int]:
        """Yield the points of a list; ``aa:cc`` is the rectangle between two corners, an empty list has none."""
        for value in filter(None, map(str.strip, self.get(name, []))):
            corners = [_point(name, value, corner, size) for corner in value.split(":", 1)]
            if PASS in corners:
                raise _unexpected(name, value, f"a point from aa to {_last_point(size)}")
            (top, left), (bottom, right) = (to_row_col(p, size) for p in (corners[0], corners[-1]))
            for row in range(min(top, bottom), max(top, bottom) + 1):
                for col in range(min(left, right), max(left, right) + 1):
                    yield from_row_col(row, col, size)

    def move(self, size: int) -> tuple[int, int]:
        """Return the colour and the point of the node's move."""
        color = self.color()
        name = _LETTERS[color].upper()
        text = self.text(name) or ""
        return color, _point(name, text, text, size)

    def whose_turn(self) -> int:
        """Return the colour that plays next by PL; EMPTY if the node has none."""
        letter = self.text("PL")
        if letter is None:
            return EMPTY
        if letter.lower()[:1] not in _COLORS:
            raise _unexpected("PL", letter, "B or W")
        return _COLORS[letter.lower()[:1]]


def _point(name: str, text: str, corner: str, size: int) -> int:
    try:
        return from_sgf(corner.strip(), size)
    except RlgoError:
        expected = f"a point from aa to {_last_point(size)}, or nothing for a pass"
        raise _unexpected(name, text, expected) from None


def _last_point(size: int) -> str:
    return to_sgf(from_row_col(0, size - 1, size), size)


def _unexpected(name: str, text: str, expected: str) -> RlgoError:
    return RlgoError(f"{name}[{_printable(text)}]: expected {expected}")


def _printable(text: str) -> str:
    """Return a text as a message shows it."""
    shown = "".join(c if c.isprintable() and c != "\ufffd" else "?" for c in text[:_SHOWN])
    return shown + "..." * (len(text) > _SHOWN)


def _komi(root: _Node, default: float) -> tuple[float, str]:
    """Return the komi, and what to tell about it, if anything.

    The Fox server writes hundredths, KM[375], and records keep this when other programs save them. Under Chinese rules
    these are hundredths of stones, two points each. Quarters of a stone, as in KM[3.75], are found elsewhere, too.
    """
    stated = root.number("KM", Komi)
    if stated is None:
        return default, ""
    if any("rlgo" in value.lower() for value in root.get("AP", [])):
        return stated, ""
    is_fox = any("foxwq" in value.lower() for name in ("AP", "PC", "SO") for value in root.get(name, []))
    is_hundredths = stated % 25 == 0 and (abs(stated) >= 100 or (is_fox and stated != 0))
    komi = stated / 100 if is_hundredths else stated
    is_chinese = any(re.match("ch|cn|中", value.strip().lower()) for value in root.get("RU", []))
    # Nobody gives half of 5 to 10 points under these rules, but many give these points.
    if abs(komi) < 10 and (komi * 4 % 2 == 1 or (is_hundredths and is_chinese and 2.5 <= abs(komi) < 5)):
        komi *= 2
    if komi != stated:
        return komi, f"KM[{stated:g}] is read as a komi of {komi:g} points"
    looks_right = abs(komi) <= _USUAL_KOMI and komi * 2 % 1 == 0
    return komi, "" if looks_right else f"KM[{stated:g}] looks wrong, but is taken as it is"


def _set_up(game: Game, root: _Node, nodes: Sequence[_Node], next_color: int | None) -> None:
    """Set up the stones of the nodes before the first move, and of that node itself.

    next_color : the colour of the first move; None in a record without moves
    """
    stones: dict[int, int] = {}
    to_play = EMPTY
    for node in nodes:
        stones.update(node.setup(game.size))
        to_play = node.whose_turn() or to_play
    placed = sorted((color, p) for p, color in stones.items() if color != EMPTY)
    handicap = root.text("HA") or ""  # some programs describe the game here: HA[even]
    if not placed and handicap[:1].isdigit():
        most = game.size * game.size - 1
        n = root.integer("HA", 0, most, f"a number from 0 to {most}")
        if n >= 2 and next_color == WHITE:
            raise RlgoError(f"HA[{n}]: expected the handicap stones in AB")
    if placed or to_play:
        is_handicap = all(color == BLACK for color, _ in placed)
        game.set_up(placed, to_play or (WHITE if is_handicap else BLACK))


def _play(game: Game, nodes: Sequence[_Node], n_moves: int | None) -> None:
    """Play the moves of the nodes, and edit the position where they do: all, or the first `n_moves`."""
    moves = 0
    for i, node in enumerate(nodes):
        try:
            if i and node.has("GM", "FF", "SZ"):
                raise RlgoError("GM, FF or SZ: expected them at the start of a game; is a ) missing before them?")
            if i and node.has(*_SETUP):
                game.edit(node.setup(game.size))
            if not node.has("B", "W"):
                game.to_play = node.whose_turn() or game.to_play
                continue
            if n_moves is not None and moves >= n_moves:
                game.to_play = node.color()
                return
            if moves == _MOST_MOVES:
                raise RlgoError(f"expected at most {_MOST_MOVES:,} moves")
            color, p = node.move(game.size)
            game.play(p, color, may_repeat=True)
        except RlgoError as error:
            if n_moves is not None and moves >= n_moves:
                return  # all that was asked for could be read
            where = f"move {moves + 1}" if node.has("B", "W") else f"after move {moves}"
            bad = BadMove(f"{where}: {error}")
            bad.n_before = moves
            raise bad from None
        moves += 1


# ---------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------


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
    check("game", game, Game)
    for name, text in (("black", black), ("white", white), ("comment", comment)):
        check(name, text, str)
    check("result", result, str | None)
    for text in (check("comments", comments, Mapping | None) or {}).values():
        check("comments", text, str)
    result = game.result if result is None and game.is_over() else result
    properties = {"PB": black, "PW": white, "RE": result, "C": comment or None}
    known = {name: value for name, value in properties.items() if value is not None}
    to_play = game.moves[0][0] if game.moves else game.to_play
    starts_oddly = game.setup or to_play != BLACK
    return write_record(
        game.size, game.stated_komi, game.moves, known,
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
