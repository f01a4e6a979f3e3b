"""The commands of the GTP standard, over a `GameSession`."""

from __future__ import annotations

import os
import re

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, EMPTY, PASS, WHITE
from rlgo.go.clock import TimeSettings
from rlgo.go.coords import from_vertex, vertices
from rlgo.go.draw import board_text
from rlgo.go.game import COLOR_NAMES
from rlgo.go.sgf import BadMove
from rlgo.play.gtp.arguments import (
    parse_color,
    parse_count,
    parse_integer,
    parse_number,
    parse_seconds,
    parse_seconds_left,
    take,
)
from rlgo.play.gtp.protocol import command
from rlgo.play.player import name_of_move
from rlgo.play.session import GameSession

# --- the game ---


@command("boardsize")
def boardsize(session: GameSession, args: list[str]) -> None:
    """Begin a new game on a board of another size."""
    (size,) = take(args, "SIZE", parse_integer)
    session.new_game(size)


@command("clear_board")
def clear_board(session: GameSession, _args: list[str]) -> None:
    """Begin a new game."""
    session.new_game()


@command("komi")
def komi(session: GameSession, args: list[str]) -> None:
    """Set the komi."""
    session.set_komi(*take(args, "KOMI", parse_number))


@command("fixed_handicap")
def fixed_handicap(session: GameSession, args: list[str]) -> str:
    """Place handicap stones on their traditional points."""
    (n,) = take(args, "STONES", parse_integer)
    return vertices(session.game.fixed_handicap(n), session.game.size)


@command("place_free_handicap")
def place_free_handicap(session: GameSession, args: list[str]) -> str:
    """Place handicap stones where the engine chooses."""
    (n,) = take(args, "STONES", parse_integer)
    return vertices(session.game.place_free_handicap(n), session.game.size)


@command("set_free_handicap")
def set_free_handicap(session: GameSession, args: list[str]) -> None:
    """Place handicap stones on given points."""
    session.game.set_free_handicap([from_vertex(text, session.game.size) for text in args])


@command("play")
def play(session: GameSession, args: list[str]) -> None:
    """Play a move for a side."""
    color, vertex = take(args, "COLOR VERTEX", parse_color, str)
    session.play(from_vertex(vertex, session.game.size), color)


@command("genmove")
def genmove(session: GameSession, args: list[str]) -> str:
    """Choose a move for a side, and play it."""
    (color,) = take(args, "COLOR", parse_color)
    return move_text(session.genmove(color), session.game.size)


@command("reg_genmove")
def reg_genmove(session: GameSession, args: list[str]) -> str:
    """Choose a move for a side without playing it."""
    (color,) = take(args, "COLOR", parse_color)
    return move_text(session.suggest(color), session.game.size)


@command("undo")
def undo(session: GameSession, _args: list[str]) -> None:
    """Take the last move back."""
    session.undo()


# --- time ---


@command("time_settings")
def time_settings(session: GameSession, args: list[str]) -> None:
    """Set the clock: absolute time, or Canadian overtime."""
    form = "MAIN_TIME BYO_YOMI_TIME BYO_YOMI_STONES"
    main, period, stones = take(args, form, parse_seconds, parse_seconds, parse_count)
    # Overtime without stones means no clock (GTP 2, Section 4.2), and so does no time at all.
    if (period and not stones) or not (main or period):
        session.set_time(None)
    else:
        session.set_time(TimeSettings(main, period, stones if period else 0))


@command("time_left")
def time_left(session: GameSession, args: list[str]) -> None:
    """Set the time that a side has left."""
    color, seconds, stones = take(args, "COLOR TIME STONES", parse_color, parse_seconds_left, parse_count)
    session.set_left(color, seconds, stones)


# --- the end ---


@command("final_score")
def final_score(session: GameSession, _args: list[str]) -> str:
    """Score the game without its dead stones. It fails if the game is unfinished."""
    ending = session.ending()
    ending.check()
    return ending.result


TERRITORY = {"black_territory": BLACK, "white_territory": WHITE}
_STATUS = ("alive", "seki", "dead", *TERRITORY, "dame")


@command("final_status_list")
def final_status_list(session: GameSession, args: list[str]) -> str:
    """List the chains that are alive, dead or in seki, or the empty points of a territory, as in GNU Go."""
    (status,) = take(args, "STATUS", str)
    if status not in _STATUS:
        raise RlgoError(f"syntax error: expected one of {', '.join(_STATUS)}")
    ending = session.ending()
    if status in (*TERRITORY, "dame"):
        return vertices(ending.territory(TERRITORY.get(status, EMPTY)), session.game.size)
    wanted = {"alive": ending.alive, "dead": ending.dead, "seki": ending.seki}[status]
    return "\n".join(vertices(points, session.game.size) for points in wanted)


# --- files, boards and the machine ---


@command("loadsgf")
def loadsgf(session: GameSession, args: list[str]) -> None:
    """Continue from an SGF file, up to the position before a given move."""
    # The name may contain spaces; a number after it is the move number.
    numbered = len(args) > 1 and re.fullmatch("[0-9]{1,9}", args[-1]) is not None
    name = " ".join(args[:-1] if numbered else args)
    if not name:
        raise RlgoError("syntax error: expected FILE [MOVE_NUMBER]")
    if re.fullmatch('".+"', name) and not os.path.exists(name):  # GTP has no quotes, but some controllers write them
        name = name[1:-1]
    try:
        session.load(name, max(0, int(args[-1]) - 1) if numbered else None)
    except RlgoError as error:
        hint = f"; loadsgf {name} {error.n_before + 1} loads what comes before" if isinstance(error, BadMove) else ""
        raise RlgoError(f"cannot load file: {error}{hint}") from None


@command("showboard")
def showboard(session: GameSession, _args: list[str]) -> str:
    """Draw the board."""
    game = session.game
    color = f"{COLOR_NAMES[game.to_play]} ({'.XO'[game.to_play]})"
    return f"\n{board_text(game.board, game.last_move)}\n{color} to play, komi {game.komi:g}"


def move_text(point: int, size: int) -> str:
    """Format the answer to genmove: a vertex, ``PASS`` or ``resign``, as GNU Go writes them."""
    return "PASS" if point == PASS else name_of_move(point, size)
