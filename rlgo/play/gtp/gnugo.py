"""GNU Go's own commands: those that controllers use and rlgo can answer.

Their arguments and answers are described in GNU Go's manual, "The Go Text Protocol".
"""

from __future__ import annotations

import time

from rlgo.base.errors import RlgoError
from rlgo.go.board import EMPTY
from rlgo.go.coords import from_vertex, vertices
from rlgo.go.sgf import write_sgf
from rlgo.play.gtp.arguments import parse_color, parse_integer, take
from rlgo.play.gtp.commands import TERRITORY
from rlgo.play.gtp.protocol import command
from rlgo.play.session import GameSession


@command("gg-undo")
def gg_undo(session: GameSession, args: list[str]) -> None:
    """Take several moves back."""
    (n,) = take(args or ["1"], "MOVES", parse_integer)
    session.undo(n)


@command("clear_cache")
def clear_cache(session: GameSession, _args: list[str]) -> None:
    """Forget what the player has found and learned in this game."""
    session.player.new_game()


@command("captures")
def captures(session: GameSession, args: list[str]) -> str:
    """Count the stones that a side has captured."""
    (color,) = take(args, "COLOR", parse_color)
    return str(session.game.captures(color))


@command("list_stones")
def list_stones(session: GameSession, args: list[str]) -> str:
    """List the stones of a side."""
    (color,) = take(args, "COLOR", parse_color)
    return vertices(session.game.stones(color), session.game.size)


@command("final_status")
def final_status(session: GameSession, args: list[str]) -> str:
    """Return the status of a point: alive, dead, seki, black_territory, white_territory or dame."""
    (vertex,) = take(args, "VERTEX", str)
    p = from_vertex(vertex, session.game.size)
    if not p:
        raise RlgoError("syntax error: expected VERTEX, found a pass")
    ending = session.ending()
    if session.game.board.color[p] == EMPTY:
        return next((name for name, color in TERRITORY.items() if ending.owners[p] == color), "dame")
    status = {"dead": ending.dead, "seki": ending.seki}
    return next((name for name, chains in status.items() if any(p in chain for chain in chains)), "alive")


@command("printsgf")
def printsgf(session: GameSession, args: list[str]) -> str:
    """Return the game as an SGF record."""
    if args and args != ["-"]:
        raise RlgoError("syntax error: expected no file; the record is the answer")
    return write_sgf(session.game, "Black", "White", session.final_result()).decode()


@command("cputime")
def cputime(_session: GameSession, _args: list[str]) -> str:
    """Return the CPU time that the process has used, in seconds."""
    return f"{time.process_time():.3f}"
