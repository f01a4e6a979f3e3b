"""Reading and writing game records in SGF, using sgfmill.

Start reading at `read_sgf` and `write_sgf`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rlgo.board import BLACK, EMPTY, PASS, WHITE
from rlgo.coords import from_row_col, to_row_col
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.resources import version

_MAX_SGF_BYTES = 10_000_000
_COLORS = {"b": BLACK, "w": WHITE}
_LETTERS = {color: letter for letter, color in _COLORS.items()}


def load_sgf(name: str | Path, komi: float = 7.5, n_moves: int | None = None) -> Game:
    """Read the main line of an SGF file; see `read_sgf`. An RlgoError names the file."""
    data = _read_file(str(name))
    try:
        return read_sgf(data, komi, n_moves)
    except RlgoError as error:
        raise RlgoError(f"{str(name)!r}: {error}") from None


def _read_file(name: str) -> bytes:
    path = Path(name)
    try:
        # Reading from a device or a pipe might never end.
        if not path.is_file():
            raise RlgoError(f"{name!r}: no such file")
        if path.stat().st_size > _MAX_SGF_BYTES:
            raise RlgoError(f"{name!r}: expected at most {_MAX_SGF_BYTES // 1_000_000} MB")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise RlgoError(f"{name!r}: {getattr(error, 'strerror', None) or error}") from None


def read_sgf(data: bytes, komi: float = 7.5, n_moves: int | None = None) -> Game:
    """Read the main line of an SGF game record.

    Parameters
    ----------
    data : the record
    komi : used if the record does not state it
    n_moves : stop after this many moves, with the colour to play that moves next in the record; None: play all

    Raises
    ------
    RlgoError : if the data is not SGF, sets up stones in the middle of the game, or contains an illegal move.
    """
    from sgfmill import sgf, sgf_moves

    try:
        record = sgf.Sgf_game.from_bytes(data)
        root = record.get_root()
        if root.has_property("GM") and root.get("GM") != 1:
            raise ValueError(f"GM[{root.get('GM')}] is another game")
        game = Game(record.get_size(), record.get_komi() if root.has_property("KM") else komi)
        board, plays = sgf_moves.get_setup_and_moves(record)
        to_play = _COLORS[root.get("PL")] if root.has_property("PL") else EMPTY
    except ValueError as error:
        raise RlgoError(f"not an SGF game record of Go: {error or 'a property has a bad value'}") from None
    occupied = board.list_occupied_points()
    stones = [(_COLORS[color], from_row_col(row, col, game.size)) for color, (row, col) in occupied]
    if stones or to_play:
        handicap = all(color == BLACK for color, _ in stones)
        game.set_up(stones, to_play or (WHITE if handicap else BLACK))
    n_moves = len(plays) if n_moves is None else max(0, n_moves)
    for i, (color, at) in enumerate(plays[:n_moves], 1):
        try:
            game.play(from_row_col(at[0], at[1], game.size) if at else PASS, _COLORS[color])
        except RlgoError as error:
            raise RlgoError(f"move {i}: {error}") from None
    if n_moves < len(plays):
        game.to_play = _COLORS[plays[n_moves][0]]
    return game


def winner_of(data: bytes) -> float:
    """Return the outcome z that an SGF record states: 1 Black won, 0 White won, 0.5 a draw, NaN if it states none."""
    from sgfmill import sgf

    try:
        record = sgf.Sgf_game.from_bytes(data)
        result = str(record.get_root().get("RE")).strip().lower()
    except (ValueError, KeyError):
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
    """Write a game as an SGF record.

    Parameters
    ----------
    black, white : the players' names
    result : for the property RE; None: `Game.result` if the game is over, and no result otherwise
    comment : on the game
    comments : on its moves, by their numbers from 1
    """
    result = game.result if result is None and game.is_over() else result
    properties = {"PB": black, "PW": white, "RE": result, "C": comment or None}
    known = {name: value for name, value in properties.items() if value is not None}
    to_play = game.moves[0][0] if game.moves else game.to_play
    starts_oddly = game.setup or (game.moves and to_play != BLACK)
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
