"""Game records of the server's games."""

from __future__ import annotations

from collections.abc import Callable

from rlgo.go.board import BLACK, WHITE
from rlgo.go.coords import from_vertex
from rlgo.go.sgf import write_record
from train.play.cgos.messages import ServerGame

_POINTS = {"b": BLACK, "w": WHITE}


def to_sgf(
    game: ServerGame, result: str, reason: str, date: str, host: str, censor: Callable[[str], str] = str
) -> bytes:
    """Write a server's game as SGF. It need not be legal.

    Parameters
    ----------
    result, reason, date : as in the server's ``gameover``
    host : where it was played
    censor : makes the server's text fit for a file

    Raises
    ------
    RlgoError : for a game that SGF cannot represent, such as one with a move off the board.
    """
    words = {"PW": game.white, "PB": game.black, "PC": f"CGOS {host}", "DT": date, "RE": result, "GC": reason}
    properties = {name: censor(text) for name, text in words.items() if text or name != "GC"}
    moves = [(_POINTS[color], from_vertex(vertex, game.size)) for color, vertex in game.moves]
    return write_record(game.size, game.komi, moves, {"TM": game.main_ms / 1000, **properties})
