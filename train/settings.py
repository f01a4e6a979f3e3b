"""Settings: frozen dataclasses whose fields say what they may be, checked wherever a value comes from.

Start reading at `Section`. `config.py` declares those of training runs, `players.py` those of players.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rlgo.errors import RlgoError

# ---------------------------------------------------------------------------------------------
# How values are written
# ---------------------------------------------------------------------------------------------


def to_toml_value(value: Any) -> str:
    # For the values of a config (finite numbers, printable strings), JSON is TOML.
    return json.dumps(value, ensure_ascii=False)


def shown(value: Any) -> str:
    """A wrong value as an error message shows it: on one line, and not too long."""
    text = to_toml_value(value) if isinstance(value, str | bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _kind(value: Any) -> str:
    """What TOML calls the type of a value."""
    kinds = {
        bool: "a boolean",
        int: "an integer",
        float: "a float",
        str: "a string",
        list: "an array",
        dict: "a table",
    }
    return kinds.get(type(value), f"a {type(value).__name__}")


# ---------------------------------------------------------------------------------------------
# What a value may be. `accept` gives the value as its field holds it, or None where it is out of range.
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """One kind of value: its types in TOML, how it reads in an error message, and the test that it passes."""

    types: tuple[type, ...]
    expected: str
    accept: Callable[[Any], Any]

    def __call__(self, key: str, value: Any) -> Any:
        # By exact type, since bool is a subclass of int, and `games = true` is a mistake.
        typed = type(value) in self.types
        accepted = self.accept(value) if typed else None
        if accepted is None:
            found = "" if typed else f", found {_kind(value)}"
            raise RlgoError(f"{key} = {shown(value)}: expected {self.expected}{found}")
        return accepted


def setting(default: Any, check: Check) -> Any:
    return field(default=default, metadata={"check": check})


def integer(low: int, high: int | None = None) -> Check:
    bounds = f"of at least {low}" if high is None else f"from {low} to {high}"
    return Check((int,), f"an integer {bounds}", lambda n: n if n >= low and (high is None or n <= high) else None)


def number(expected: str, holds: Callable[[float], bool]) -> Check:
    def accept(value: int | float) -> float | None:
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) and holds(number) else None

    return Check((int, float), expected, accept)


def choice(*choices: str | int) -> Check:
    expected = "one of " + ", ".join(to_toml_value(choice) for choice in choices)
    return Check((type(choices[0]),), expected, lambda value: value if value in choices else None)


def text(expected: str, pattern: str) -> Check:
    matches = re.compile(pattern).fullmatch
    return Check((str,), expected, lambda text: text if text.isprintable() and matches(text) else None)


def _window_sizes(value: list[Any] | tuple[Any, ...]) -> tuple[int, ...] | None:
    integers = all(type(k) is int for k in value)
    return tuple(value) if integers and value and list(value) == sorted({*value} & {1, 2, 3}) else None


SWITCH = Check((bool,), "on or off, in a file true or false", lambda value: value)
POSITIVE = number("a number above 0", lambda x: x > 0)
NOT_NEGATIVE = number("a number of at least 0", lambda x: x >= 0)
UNIT = number("a number from 0 to 1", lambda x: 0 <= x <= 1)
SIZES = Check((list, tuple), "an ascending subset of [1, 2, 3], not empty", _window_sizes)


class Section:
    """A table of settings. Values are checked on construction, however it comes about.

    Attributes
    ----------
    prefix : what stands before a key in error messages; None: the name of the class and a dot
    """

    prefix: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        prefix = f"{type(self).__name__.lower()}." if self.prefix is None else self.prefix
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            key = f"{prefix}{f.name}"
            object.__setattr__(self, f.name, f.metadata["check"](key, getattr(self, f.name)))
