"""The exception for mistakes that a user can correct, and how it shows values."""

from __future__ import annotations

from typing import Any

_LONGEST = 60  # characters of a value in a message


class RlgoError(Exception):
    """Bad input, described in one line that names the value and what was expected.

    This is what rlgo raises for everything that its caller can put right: values out of range, values of a wrong type
    or shape, illegal moves, files that cannot be read. The command line prints it as ``rlgo: error: <line>`` and exits
    with status 2; GTP as ``? <line>``.
    """


def shown(value: Any) -> str:
    """Show a value in a message: on one line, in at most 60 characters."""
    return cut(" ".join(repr(value).split()))


def cut(text: str) -> str:
    """Cut a text to what a message has room for."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def expect(holds: bool, name: str, value: object, expected: str) -> None:
    """Raise `RlgoError` with ``name = value: expected ...`` unless `holds`."""
    if not holds:
        raise RlgoError(f"{name} = {value}: expected {expected}")
