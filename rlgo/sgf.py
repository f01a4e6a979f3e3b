"""Game records in SGF, over sgfmill.

Start reading at `read_sgf` and `write_sgf`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rlgo.board import BLACK, EMPTY, PASS, WHITE
from rlgo.coords import from_row_col, to_row_col
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.resources import version

_MAX_SGF_BYTES = 10_000_000
_COLORS = {"b": BLACK, "w": WHITE}
_LETTERS = {color: letter for letter, color in _COLORS.items()}


def load_sgf(name: str | Path, komi: float = 7.5, n_moves: int | None = None) -> Game:
    """The main line of an SGF file; see `read_sgf`. RlgoError names the file."""
    data = _read_file(str(name))
    try:
        return read_sgf(data, komi, n_moves)
    except RlgoError as error:
        raise RlgoError(f"{str(name)!r}: {error}") from None


def _read_file(name: str) -> bytes:
    path = Path(name)
    try:
        # Never read from a device or a pipe: it might not end.
        if not path.is_file():
            raise RlgoError(f"{name!r}: no such file")
        if path.stat().st_size > _MAX_SGF_BYTES:
            raise RlgoError(f"{name!r}: expected at most {_MAX_SGF_BYTES // 1_000_000} MB")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise RlgoError(f"{name!r}: {getattr(error, 'strerror', None) or error}") from None


def read_sgf(data: bytes, komi: float = 7.5, n_moves: int | None = None) -> Game:
    """The main line of an SGF game record.

    Parameters
    ----------
    komi : for records that name none
    n_moves : stop after so many moves, with the colour to play that is next in the record; None: play all

    Raises
    ------
    RlgoError : for what is no SGF, for stones set up in the midst of the game, and for an illegal move.
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


def write_sgf(
    game: Game,
    black: str,
    white: str,
    result: str | None = None,
    comment: str = "",
    comments: Mapping[int, str] | None = None,
) -> bytes:
    """A game as an SGF record.

    Parameters
    ----------
    black, white : the players' names
    result : as SGF's RE has it; None: `Game.result` of a game that is over, and none of one that is not
    comment : on the game
    comments : on its moves, by their numbers from 1
    """
    from sgfmill import sgf

    record = sgf.Sgf_game(game.size)
    root = record.get_root()
    root.set("AP", ("rlgo", version()))
    root.set("RU", "Chinese")
    root.set("KM", game.komi)
    root.set("PB", black)
    root.set("PW", white)
    result = game.result if result is None and game.is_over() else result
    if result is not None:
        root.set("RE", result)
    if comment:
        root.set("C", comment)
    if game.setup:
        stones: dict[int, list[tuple[int, int]]] = {BLACK: [], WHITE: []}
        for color, p in game.setup:
            stones[color].append(to_row_col(p, game.size))
        root.set_setup_stones(stones[BLACK], stones[WHITE])
        if len(stones[BLACK]) >= 2 and not stones[WHITE]:
            root.set("HA", len(stones[BLACK]))
    if game.setup or (game.moves and game.moves[0][0] != BLACK):
        root.set("PL", _LETTERS[game.moves[0][0] if game.moves else game.to_play])
    for number, (color, p) in enumerate(game.moves, 1):
        node = record.extend_main_sequence()
        node.set_move(_LETTERS[color], None if p == PASS else to_row_col(p, game.size))
        if comments and comments.get(number):
            node.set("C", comments[number])
    data: bytes = record.serialise()
    return data
