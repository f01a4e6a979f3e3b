"""GNU Go's own commands: those that regression files and controllers use and rlgo can answer.

Their arguments and answers are described in GNU Go's manual, "The Go Text Protocol".
"""

from __future__ import annotations

import time

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, EMPTY, WHITE
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.go.sgf import write_sgf
from rlgo.play.gtp.arguments import parse_color, parse_integer, take, vertices
from rlgo.play.gtp.commands import TERRITORY, genmove, move_text, play
from rlgo.play.gtp.protocol import Handler, command
from rlgo.play.session import GameSession

_NAMES = {BLACK: "black", WHITE: "white", EMPTY: "empty"}


# --- moves ---


@command("restricted_genmove")
def restricted_genmove(session: GameSession, args: list[str]) -> str:
    """Choose a move among some vertices without playing it."""
    (color,) = take(args, "COLOR VERTEX ...", parse_color)
    points = [from_vertex(text, session.game.size) for text in args[1:]]
    if not points:
        raise RlgoError("no allowed vertex")
    return move_text(session.suggest_among(points, color), session.game.size)


def _gtp_1(name: str, run: Handler, color: str) -> None:
    """Register a GTP 1 command, which has the colour in its name."""
    command(name)(lambda session, args: run(session, [color, *args]))


for _color in ("black", "white"):
    _gtp_1(_color, play, _color)
    _gtp_1(f"genmove_{_color}", genmove, _color)


@command("gg-undo")
def gg_undo(session: GameSession, args: list[str]) -> None:
    """Take several moves back."""
    (n,) = take(args or ["1"], "MOVES", parse_integer)
    session.undo(n)


@command("clear_cache")
def clear_cache(session: GameSession, _args: list[str]) -> None:
    """Forget what the player has found and learned in this game."""
    session.player.new_game()


# --- the rules ---


@command("is_legal")
def is_legal(session: GameSession, args: list[str]) -> str:
    """Return 1 if a move is legal, and 0 if it is not."""
    color, vertex = take(args, "COLOR VERTEX", parse_color, str)
    return str(int(session.game.is_legal(from_vertex(vertex, session.game.size), color)))


@command("all_legal")
def all_legal(session: GameSession, args: list[str]) -> str:
    """List the points where a side may play."""
    (color,) = take(args, "COLOR", parse_color)
    game = session.game.copy()
    game.to_play = color
    return vertices(game.legal_moves(), game.size)


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


@command("color")
def color_of(session: GameSession, args: list[str]) -> str:
    """Return the colour of a point: black, white or empty."""
    return _NAMES[int(session.game.board.color[_point(session.game, args)])]


@command("countlib")
def countlib(session: GameSession, args: list[str]) -> str:
    """Count the liberties of a chain."""
    return str(len(session.game.liberties(_stone(session.game, args))))


@command("findlib")
def findlib(session: GameSession, args: list[str]) -> str:
    """List the liberties of a chain."""
    return vertices(session.game.liberties(_stone(session.game, args)), session.game.size)


def _point(game: Game, args: list[str]) -> int:
    """Parse a vertex on the board."""
    (vertex,) = take(args, "VERTEX", str)
    p = from_vertex(vertex, game.size)
    if not p:
        raise RlgoError("syntax error: expected VERTEX, found a pass")
    return p


def _stone(game: Game, args: list[str]) -> int:
    """Parse the vertex of a stone."""
    p = _point(game, args)
    if game.board.color[p] == EMPTY:
        raise RlgoError(f"vertex {to_vertex(p, game.size)}: must not be empty")
    return p


# --- the game ---


@command("final_status")
def final_status(session: GameSession, args: list[str]) -> str:
    """Return the status of a point: alive, dead, black_territory, white_territory or dame."""
    p = _point(session.game, args)
    ownership = session.ownership()
    if session.game.board.color[p] == EMPTY:
        return next((name for name, color in TERRITORY.items() if p in ownership.territory(color)), "dame")
    return "dead" if any(p in chain for chain in session.dead(ownership)) else "alive"


@command("last_move")
def last_move(session: GameSession, _args: list[str]) -> str:
    """Return the colour and the vertex of the last move."""
    if not session.game.moves:
        raise RlgoError("no previous move known")
    return _move(session.game, *session.game.moves[-1])


@command("move_history")
def move_history(session: GameSession, _args: list[str]) -> str:
    """List all moves, the last one first."""
    return "\n".join(_move(session.game, color, p) for color, p in reversed(session.game.moves))


def _move(game: Game, color: int, p: int) -> str:
    return f"{_NAMES[color]} {move_text(p, game.size)}"


@command("query_boardsize")
def query_boardsize(session: GameSession, _args: list[str]) -> str:
    """Return the board size."""
    return str(session.game.size)


@command("get_komi")
def get_komi(session: GameSession, _args: list[str]) -> str:
    """Return the komi."""
    return str(session.game.komi)


@command("get_handicap")
def get_handicap(session: GameSession, _args: list[str]) -> str:
    """Return the number of handicap stones: 0 if others were set up."""
    colors = [color for color, _ in session.game.setup]
    return str(0 if WHITE in colors else len(colors))


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


@command("echo")
def echo(_session: GameSession, args: list[str]) -> str:
    """Return the arguments."""
    return " ".join(args)
