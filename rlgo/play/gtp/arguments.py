"""Parsers for the arguments of GTP commands: points, colours and numbers.

Start reading at `take`. A parser takes a word and raises ValueError if it cannot parse it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

from rlgo.base.checks import allows
from rlgo.base.errors import RlgoError
from rlgo.base.settings import Komi
from rlgo.go.coords import COLORS


def take(args: list[str], names: str, *parsers: Callable[[str], Any]) -> list[Any]:
    """Parse the leading arguments, one per parser. Extra arguments are ignored, as in GNU Go.

    names : the arguments' names, for the error message: ``COLOR VERTEX``

    Raises
    ------
    RlgoError : if an argument is missing, or a parser raises ValueError.
    """
    if len(args) >= len(parsers):
        with contextlib.suppress(ValueError):
            return [parse(text) for parse, text in zip(parsers, args, strict=False)]
    raise RlgoError(f"syntax error: expected {names}")


def parse_color(text: str) -> int:
    """Parse ``b``, ``black``, ``w`` or ``white``, in upper or lower case."""
    if text.lower() not in COLORS:
        raise ValueError
    return COLORS[text.lower()]


def parse_integer(text: str) -> int:
    """Parse an integer of up to nine digits."""
    if not re.fullmatch("-?[0-9]{1,9}", text):
        raise ValueError
    return int(text)


def parse_count(text: str) -> int:
    """Parse an integer of at least 0."""
    n = parse_integer(text)
    if n < 0:
        raise ValueError
    return n


def parse_number(text: str) -> float:
    """Parse a komi: plain digits, since `float` also accepts nan, 1_0 and the digits of other scripts."""
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text) or not allows(Komi, float(text)):
        raise ValueError
    return float(text)


def parse_seconds_left(text: str) -> float:
    """Parse the time that is left. Some controllers let it fall below 0 at the start of overtime, which means 0."""
    return 0.0 if re.fullmatch(r"-[0-9]{1,9}(\.[0-9]{1,9})?", text) else parse_seconds(text)


def parse_seconds(text: str) -> float:
    """Parse a time of at least 0. The standard specifies integers; some controllers send fractions."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise ValueError
    return float(text)
