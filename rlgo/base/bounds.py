"""Declarations of settings: type, bounds and meaning, stated once.

Start reading at `checked`, which makes a NamedTuple of settings check itself, then `Number` and `Key`. Configs, player
specs and tables of keys all come from these declarations. Nothing heavy is imported.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar, get_type_hints

from rlgo.base.errors import RlgoError, shown

HUGE = 10**12  # the default bound of counts
_Tuple = TypeVar("_Tuple", bound=tuple)


def _refuse(name: str, value: Any, words: str) -> RlgoError:
    return RlgoError(f"{name} = {shown(value)}: expected {words}")


@dataclass(frozen=True)
class Number:
    """A finite number within bounds.

    Attributes
    ----------
    gt, ge, le : greater than, at least, at most; None: unbounded
    """

    gt: float | None = None
    ge: float | None = None
    le: float | None = None
    noun: ClassVar[str] = "a number"

    @property
    def words(self) -> str:
        """What is allowed, for an error message after "expected"."""
        return words_of(self.noun, self.gt, self.ge, self.le)

    def read(self, value: Any) -> float | None:
        """Convert a value to a plain number; None for any other type, for booleans, infinity and NaN."""
        if isinstance(value, bool) or not isinstance(value, Real):
            return None
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None

    def admits(self, number: float) -> bool:
        """Return whether a number is within the bounds."""
        return (
            (self.gt is None or number > self.gt)
            and (self.ge is None or number >= self.ge)
            and (self.le is None or number <= self.le)
        )

    def check(self, name: str, value: Any) -> Any:
        """Return the value as a plain number. RlgoError, ``name = value: expected ...``, if it is not allowed."""
        number = self.read(value)
        if number is None or not self.admits(number):
            beyond = self.le == HUGE and number is not None and number > HUGE
            raise _refuse(name, value, f"at most {HUGE:,}" if beyond else self.words)
        return number


@dataclass(frozen=True)
class Whole(Number):
    """An integer within bounds; ``1e6`` counts as one.

    even : it must be an even number
    """

    even: bool = False

    @property
    def noun(self) -> str:  # type: ignore[override]
        """The kind of number, without its bounds."""
        return "an even number" if self.even else "an integer"

    def admits(self, number: float) -> bool:
        """Return whether an integer is within the bounds."""
        return super().admits(number) and not (self.even and number % 2)

    def read(self, value: Any) -> int | None:
        """Convert a value to a plain integer; None if it is not an integer or does not fit into 64 bits."""
        if isinstance(value, bool) or not isinstance(value, Real):
            return None
        if not isinstance(value, Integral) and not float(value).is_integer():
            return None
        number: int = math.floor(value)  # type: ignore[assignment]  # typed for numbers in general
        return number if abs(number) < 1 << 63 else None


@dataclass(frozen=True)
class OrNone:
    """None, or a value that `kind` allows."""

    kind: Any

    def check(self, name: str, value: Any) -> Any:
        """Return None or the plain number; see `Number.check`."""
        if value is None:
            return None
        try:
            return self.kind.check(name, value)
        except RlgoError:
            raise _refuse(name, value, f"{self.kind.words}, or None") from None


@dataclass(frozen=True)
class OrWord:
    """An integer, or a word that stands for a special code.

    kind : what the integer may be
    word : such as ``never``
    code : the number that compiled code uses for the word; `kind` need not allow it
    """

    kind: Whole
    word: str
    code: int

    @property
    def words(self) -> str:
        """What is allowed, for an error message after "expected"."""
        return f"{self.kind.words}, or {self.word}"

    def check(self, name: str, value: Any) -> int:
        """Return the integer or the code; see `Number.check`."""
        if (isinstance(value, str) and value == self.word) or self.kind.read(value) == self.code:
            return self.code
        try:
            return self.kind.check(name, value)
        except RlgoError:
            raise _refuse(name, value, self.words) from None


class Choice:
    """One of several names, or its code, which is what compiled code works with.

    codes : the codes by name
    """

    def __init__(self, codes: Mapping[str, int]):
        self.codes = codes

    @property
    def words(self) -> str:
        """What is allowed, for an error message after "expected"."""
        return "one of " + ", ".join(f'"{name}"' for name in self.codes)

    def check(self, name: str, value: Any) -> int:
        """Return the code, a plain integer; see `Number.check`."""
        if isinstance(value, str) and value in self.codes:
            return int(self.codes[value])
        code = Whole().read(value)
        if code is not None and code in self.codes.values():
            return code
        raise _refuse(name, value, self.words)


class Switch:
    """True or False."""

    words = "True or False"

    def check(self, name: str, value: Any) -> bool:
        """Return the value as a plain bool; see `Number.check`."""
        if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):  # numpy's
            raise _refuse(name, value, self.words)
        return bool(value)


class One:
    """An object of one class.

    kind : the class
    """

    def __init__(self, kind: type):
        self.kind = kind

    @property
    def words(self) -> str:
        """What is allowed, for an error message after "expected"."""
        if self.kind is str:
            return "text"
        return ("an " if self.kind.__name__[0] in "AEIO" else "a ") + self.kind.__name__

    def check(self, name: str, value: Any) -> Any:
        """Return the object. RlgoError if it is of another class."""
        if not isinstance(value, self.kind):
            raise _refuse(name, value, self.words)
        return value


class Place:
    """The path of a file or folder."""

    words = "a path"

    def check(self, name: str, value: Any) -> Path:
        """Return the path. RlgoError if it is not one, for instance text with a zero byte."""
        if not isinstance(value, str | os.PathLike) or "\0" in str(value):
            raise _refuse(name, value, self.words)
        return Path(value)


def words_of(noun: str, gt: float | None, ge: float | None, le: float | None) -> str:
    """Describe bounds: ``a positive number``, ``an integer from 1 to 64``; `HUGE` is not mentioned."""
    le = None if le == HUGE else le
    top = "" if le is None else f" up to {le:,}"
    if gt is not None:
        return f"a positive number{top}" if gt == 0 else f"{noun} above {gt:,}{top}"
    if ge is None:
        return noun + top
    return f"{noun} of at least {ge:,}" if le is None else f"{noun} from {ge:,} to {le:,}"


# ---------------------------------------------------------------------------------------------
# Settings that check themselves
# ---------------------------------------------------------------------------------------------


class Needs(NamedTuple):
    """The condition under which a key has an effect."""

    words: str  # after "it needs"
    is_met: Callable[[Any], bool]  # takes all keys of a player; choices are names


def needs(key: str, *values: str) -> Needs:
    """Require that another key has one of a few values."""
    return Needs(f"{key} = {' or '.join(values)}", lambda keys: getattr(keys, key) in values)


@dataclass(frozen=True)
class Key:
    """The meaning of a setting, and how it is written in configs and player specs.

    Attributes
    ----------
    meaning : a sentence or two, for people who choose a value
    experiments : the experiments in configs/experiments that measured it, separated by spaces
    name : the key, if it differs from the name of the field
    aliases : other spellings, separated by spaces
    needs : the condition under which a key has an effect; a spec or ``--set`` with it is refused otherwise
    implies : values of other keys of a player, used if this key is given and they are not
    bound : the allowed values, if narrower than those of the field
    of : the algorithms that have it, if the NamedTuple serves several; None: all
    """

    meaning: str
    experiments: str = ""
    name: str = ""
    aliases: str = ""
    needs: Needs | None = None
    implies: Mapping[str, Any] = field(default_factory=dict)
    bound: Any = None
    of: tuple[int, ...] | None = None


def checked(cls: type[_Tuple]) -> type[_Tuple]:
    """Make a NamedTuple check its fields whenever an instance is created, including by `_replace`.

    A field is declared as ``alpha: Annotated[float, Number(gt=0), Key("Step size.")] = 0.3``.
    Fields that are bools or objects need no bound, and internal fields no `Key`. Values become plain numbers, because
    numba would compile again for any other type. An optional method `combine` checks combinations of fields.

    The tuple raises RlgoError, ``alpha = nan: expected a positive number``.
    """
    fields = dict(bounds_of(cls))
    plain, combine = cls.__new__, getattr(cls, "combine", None)

    @functools.wraps(plain)
    def make(own: type[_Tuple], *args: Any, **values: Any) -> _Tuple:
        given = plain(own, *args, **values)
        made = tuple.__new__(own, [kind.check(name, v) for (name, kind), v in zip(fields.items(), given, strict=True)])
        if combine is not None:
            combine(made)
        return made

    cls.__new__ = make  # type: ignore[assignment]
    cls._make = classmethod(lambda own, values: own(*values))  # type: ignore[attr-defined]
    return cls


def bounds_of(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the name and the bound of each field of a NamedTuple of settings: `Number`, `Whole`, `Choice`, `Switch`."""
    for name, hint in _hints_of(cls).items():
        kind = getattr(hint, "__origin__", hint)  # the annotated type
        own = Switch() if kind is bool else One(kind)
        yield name, next((note for note in getattr(hint, "__metadata__", ()) if hasattr(note, "check")), own)


@functools.cache
def _hints_of(cls: type) -> Mapping[str, Any]:
    return get_type_hints(cls, include_extras=True)


def keys_of(cls: type) -> dict[str, Key]:
    """Return the `Key` of each field of a NamedTuple that people may set."""
    notes = ((name, note) for name, hint in _hints_of(cls).items() for note in getattr(hint, "__metadata__", ()))
    return {name: note for name, note in notes if isinstance(note, Key)}


def name_of(code: int, codes: Mapping[str, int]) -> str:
    """Return the name of a code; the first if it has several."""
    return next(name for name, known in codes.items() if known == code)
