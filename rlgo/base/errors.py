"""The exception for mistakes that a user can correct, and how its messages show values and suggest names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

CLOSE = 0.7  # how similar a name must be to be suggested, by difflib's measure from 0 to 1
_LONGEST = 60  # characters of a value in a message


class RlgoError(Exception):
    """A mistake in the input, described in one line that names the value and what was expected.

    rlgo raises it for every mistake that the caller can correct: values out of range, values of the wrong type or
    shape, illegal moves, and files that cannot be read. The command line prints it as ``rlgo: error: <line>`` and exits
    with status 2; GTP as ``? <line>``.

    >>> import rlgo
    >>> try:
    ...     rlgo.Game(9).play("K10")
    ... except rlgo.RlgoError as error:
    ...     print(error)
    vertex 'K10': not on the 9x9 board (A1 to J9)
    """


def shown(value: Any) -> str:
    """Show a value in a message: on one line, in at most 60 characters."""
    return cut(" ".join(repr(value).split()))


def cut(text: str) -> str:
    """Shorten a text to fit into a message."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def printable(text: str) -> str:
    """Show a name in a message as it is, but on one line, shortened, and with ? for what cannot be printed."""
    return cut("".join(c if c.isprintable() else "?" for c in " ".join(text.split())))


def nearest(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Suggest a correction of a wrong word: the closest known word, or else the list of all.

    otherwise : text used instead of the list
    """
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(word, names, 1, CLOSE)
    return f"did you mean {near[0]}?" if near else otherwise or f"expected one of {', '.join(names)}"
