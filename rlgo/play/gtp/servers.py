"""Commands of Go servers: clocks, rules and cleaning up for KGS, and what the client of CGOS sends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.go.clock import TimeSettings
from rlgo.play.gtp.arguments import parse_color, parse_count, parse_seconds, take
from rlgo.play.gtp.commands import move_text
from rlgo.play.gtp.protocol import command
from rlgo.play.session import GameSession

# For each system: the names of its arguments, their parsers, and the time settings.
_SYSTEMS: dict[str, tuple[str, tuple[Callable[[str], Any], ...], Callable[..., TimeSettings | None]]] = {
    "none": ("none", (), lambda: None),
    "absolute": ("absolute MAIN_TIME", (parse_seconds,), TimeSettings),
    "byoyomi": (
        "byoyomi MAIN_TIME PERIOD_TIME PERIODS",
        (parse_seconds, parse_seconds, parse_count),
        lambda main, period, n: TimeSettings(main, period, 1, n) if period and n else TimeSettings(main),
    ),
    "canadian": (
        "canadian MAIN_TIME PERIOD_TIME STONES",
        (parse_seconds, parse_seconds, parse_count),
        lambda main, period, n: TimeSettings(main, period, n) if period and n else TimeSettings(main),
    ),
}


@command("kgs-time_settings")
def time_settings(session: GameSession, args: list[str]) -> None:
    """Set the clock by one of four time systems."""
    if not args or args[0] not in _SYSTEMS:
        raise RlgoError(f"syntax error: expected {', '.join(_SYSTEMS)}")
    form, parsers, make = _SYSTEMS[args[0]]
    session.set_time(make(*take(args[1:], form, *parsers)))


@command("kgs-genmove_cleanup")
def genmove_cleanup(session: GameSession, args: list[str]) -> str:
    """Play a move, but do not pass while the opponent has dead stones on the board."""
    (color,) = take(args, "COLOR", parse_color)
    return move_text(session.clean_up(color), session.game.size)


@command("kgs-game_over")
def game_over(_session: GameSession, _args: list[str]) -> None:
    """Acknowledge the end of a game."""


@command("cgos-opponent_name", "cgos-gameover")
def take_note(_session: GameSession, _args: list[str]) -> None:
    """Acknowledge the opponent's name, or the end of a game."""
