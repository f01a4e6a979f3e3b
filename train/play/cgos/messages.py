"""Parsing the server's lines."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

COLORS = ("b", "w")


class Lost(Exception):
    """Raised when the connection is unusable: closed, silent for too long, or carrying nonsense."""


@dataclass
class ServerGame:
    """A game as the server sent it. Colours are ``b`` and ``w``."""

    id: str
    size: int
    komi: float
    main_ms: int  # main time of each side
    white: str
    black: str
    color: str  # ours; empty if we are neither of the two
    moves: list[tuple[str, str]]  # (colour, vertex)
    left_ms: dict[str, int]  # time left by colour, as last sent

    @property
    def to_play(self) -> str:
        """The colour to play."""
        return COLORS[len(self.moves) % 2]

    @property
    def opponent(self) -> str:
        """The name of our opponent."""
        return self.black if self.color == "w" else self.white


def parse_setup(line: str, args: list[str], user: str) -> ServerGame:
    """Parse the arguments of a ``setup`` line; `user` is our name. Lost if they make no sense."""
    if len(args) < 6 or len(args) % 2:
        raise Lost(f"{line}: expected setup ID SIZE KOMI MS WHITE BLACK [MOVE MS]...")
    id_, size, komi, ms = _parse(line, args, _id, _size, _komi, _ms)
    white, black = (name.partition("(")[0] for name in args[4:6])
    moves, left_ms = [], {}
    for i, (vertex, left) in enumerate(zip(args[6::2], args[7::2], strict=True)):
        moves.append((COLORS[i % 2], *_parse(line, [vertex], _vertex)))
        (left_ms[COLORS[i % 2]],) = _parse(line, [left], _ms)
    color = "b" if black == user else "w" if white == user else ""
    return ServerGame(id_, size, komi, ms, white, black, color, moves, left_ms)


def parse_play(line: str, args: list[str]) -> tuple[str, str, int]:
    """Parse the arguments of a ``play`` line: colour, vertex and milliseconds. Lost if they make no sense."""
    color, vertex, ms = _parse(line, args, _color, _vertex, _ms)
    return color, vertex, ms


def parse_genmove(line: str, args: list[str]) -> tuple[str, int]:
    """Parse the arguments of a ``genmove`` line: colour and milliseconds. Lost if they make no sense."""
    color, ms = _parse(line, args, _color, _ms)
    return color, ms


def _parse(line: str, args: list[str], *parsers: Callable[[str], Any]) -> list[Any]:
    """Parse the leading arguments. Lost if one is missing or makes no sense."""
    if len(args) >= len(parsers):
        with contextlib.suppress(ValueError):
            return [parse(word) for parse, word in zip(parsers, args, strict=False)]
    raise Lost(f"{line}: does not make sense")


def _matching(pattern: str, convert: Callable[[str], Any]) -> Callable[[str], Any]:
    matches = re.compile(pattern, re.ASCII).fullmatch

    def parse(word: str) -> Any:
        if not matches(word):
            raise ValueError
        return convert(word)

    return parse


_id = _matching(r"[\w-]{1,40}", str)  # also the name of a file
_size = _matching(r"\d{1,2}", int)
_komi = _matching(r"-?\d{1,4}(\.\d{1,4})?", float)
_ms = _matching(r"-?\d{1,12}", int)
_color = _matching(r"(?i:b|w|black|white)", lambda word: word[0].lower())
_vertex = _matching(r"(?i:pass|[a-hj-z]\d{1,2})", str.upper)
