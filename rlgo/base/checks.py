"""What settings may be, said in types, and the check of a value.

Start reading at `check`, then `validated`, which checks a NamedTuple of settings where it enters. Types are those of
Python and `annotated_types`, such as ``Annotated[float, Gt(0)]``; their names are in `settings.py`. pydantic compares
values with them. It is imported when the first number is checked.
"""

from __future__ import annotations

import functools
import os
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints, overload

from annotated_types import Ge, Gt, Le, MultipleOf

from rlgo.base.errors import RlgoError, shown

HUGE = 10**12  # the bound of counts that have no other; messages do not mention it
_BASIC = (bool, int, float, str)
_Kind = TypeVar("_Kind")
_Settings = TypeVar("_Settings", bound=tuple)

# ---------------------------------------------------------------------------------------------
# What a type may say besides
# ---------------------------------------------------------------------------------------------


class Choice:
    """One of several names, or its code, which is what compiled code works with.

    codes : the codes by name
    """

    def __init__(self, codes: Mapping[str, int]):
        self.codes = codes

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Make pydantic turn names into codes."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self._code)

    def _code(self, value: Any) -> int:
        if isinstance(value, str) and value in self.codes:
            return int(self.codes[value])
        if isinstance(value, bool) or value not in self.codes.values():
            raise ValueError("not a choice")
        return int(value)


@dataclass(frozen=True)
class Word:
    """A word that stands for a special code, beside the numbers that the type allows.

    word : such as ``never``
    code : the number that compiled code uses for the word; the type need not allow it
    """

    word: str
    code: int

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Make pydantic turn the word into its code."""
        from pydantic_core import core_schema

        def read(value: Any, number: Callable[[Any], Any]) -> Any:
            return self.code if value in (self.word, self.code) and not isinstance(value, bool) else number(value)

        return core_schema.no_info_wrap_validator_function(read, handler(source))


@dataclass(frozen=True)
class Expected:
    """The allowed values in words, for error messages and tables of keys, where types and bounds are not enough."""

    text: str


class Needs(NamedTuple):
    """The condition under which a key has an effect."""

    words: str  # after "it needs"
    is_met: Callable[[Any], bool]  # takes all keys of a player; choices are names


def needs(key: str, *values: str) -> Needs:
    """Require that another key has one of a few values."""
    return Needs(f"{key} = {' or '.join(values)}", lambda keys: getattr(keys, key) in values)


@dataclass(frozen=True, eq=False)
class Key:
    """The meaning of a setting, and how it is written in configs and player specs.

    A condition whose function uses names of its module is a constant there: annotations are evaluated elsewhere.

    Attributes
    ----------
    meaning : a sentence or two, for people who choose a value
    experiments : the experiments in configs/experiments that measured it, separated by spaces
    name : the key, if it differs from the name of the field
    aliases : other spellings, separated by spaces
    needs : the condition under which a key has an effect; a spec or ``--set`` with it is refused otherwise
    implies : values of other keys of a player, used if this key is given and they are not
    kind : the type of the key, if narrower than that of the field
    """

    meaning: str
    experiments: str = ""
    name: str = ""
    aliases: str = ""
    needs: Needs | None = None
    implies: Mapping[str, Any] = field(default_factory=dict)
    kind: Any = None


# ---------------------------------------------------------------------------------------------
# Checking
# ---------------------------------------------------------------------------------------------


@overload
def check(name: str, value: Any, kind: type[_Kind]) -> _Kind: ...
@overload
def check(name: str, value: Any, kind: Any) -> Any: ...
def check(name: str, value: Any, kind: Any) -> Any:
    """Return a value as its type has it, see `convert`. RlgoError, ``name = value: expected ...``, if not allowed.

    >>> from typing import Annotated
    >>> from annotated_types import Gt
    >>> check("alpha", 1, Annotated[float, Gt(0)])
    1.0
    """
    try:
        return convert(value, kind)
    except (ValueError, OverflowError):
        raise RlgoError(f"{name} = {shown(value)}: expected {expected(kind, value)}") from None


def validated(settings: _Settings) -> _Settings:
    """Return a NamedTuple of settings with each field as its type has it; `combine`, if any, checks combinations.

    Names of choices become codes, and numbers plain ones, because numba would compile again for any other type.
    RlgoError, ``alpha = nan: expected a positive number``, for a value that is not allowed.
    """
    kind: Any = type(settings)
    made = kind(
        *(check(name, value, f.kind) for (name, f), value in zip(fields_of(kind).items(), settings, strict=True))
    )
    if hasattr(made, "combine"):
        made.combine()
    return made


def convert(value: Any, kind: Any) -> Any:
    """Return a value as its type has it: plain numbers, codes, tuples, `validated` settings. ValueError if not allowed.

    Whole numbers may be floats, 1e6, and numbers those of numpy, but no number is text, a boolean, infinite or NaN.
    """
    some = object if kind is Any else not_none(kind)
    if value is None and some is not kind:
        return None
    if isinstance(some, type) and some not in _BASIC:
        if some is Path:
            value = _path(value)
        if not isinstance(value, some):
            raise ValueError(f"not a {some.__name__}")
        return validated(value) if isinstance(value, tuple) and hasattr(value, "_fields") else value
    return _adapter(some).validate_python(_plain(value, types_of(some)))


def allows(kind: Any, value: Any) -> bool:
    """Return whether a type allows a value."""
    try:
        convert(value, kind)
    except (ValueError, RlgoError):
        return False
    return True


@functools.cache
def _adapter(kind: Any) -> Any:
    from pydantic import ConfigDict, TypeAdapter  # imported here, since it takes 0.2 s

    return TypeAdapter(kind, config=ConfigDict(strict=True, allow_inf_nan=False, arbitrary_types_allowed=True))


def _plain(value: Any, wanted: set[type]) -> Any:
    """Return numpy's numbers as Python's, whole floats as integers where only those are wanted, and lists as tuples."""
    if isinstance(value, list):
        return tuple(value) if tuple in wanted else value
    if type(value).__name__ in ("bool", "bool_"):  # numpy's, too
        return bool(value)
    if isinstance(value, Real):
        value = int(value) if isinstance(value, Integral) else float(value)
        if int in wanted and float not in wanted:
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if abs(value) >= 1 << 63:
                raise ValueError("more than 64 bits")
    return value


def _path(value: Any) -> Path:
    if not isinstance(value, str | os.PathLike) or "\0" in str(value):
        raise ValueError("not a path")
    return Path(value)


# ---------------------------------------------------------------------------------------------
# What a type says
# ---------------------------------------------------------------------------------------------


class Field(NamedTuple):
    """The type of a setting, and its meaning if people may set it."""

    kind: Any
    key: Key | None


@functools.cache
def fields_of(cls: Any) -> dict[str, Field]:
    """Return the fields of a NamedTuple or a dataclass of settings by name."""
    found = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        bare, notes = split(hint)
        others = tuple(note for note in notes if not isinstance(note, Key))
        found[name] = Field(_annotated(bare, others), next((note for note in notes if isinstance(note, Key)), None))
    return found


def keys_of(cls: type) -> dict[str, Key]:
    """Return the `Key` of each field of a NamedTuple that people may set."""
    return {name: f.key for name, f in fields_of(cls).items() if f.key is not None}


def split(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without its annotations, and the annotations in order."""
    if get_origin(kind) is Annotated:
        bare, *notes = get_args(kind)
        return bare, tuple(notes)
    return kind, ()


def _annotated(bare: Any, notes: tuple[Any, ...]) -> Any:
    return Annotated[(bare, *notes)] if notes else bare


def not_none(kind: Any) -> Any:
    """Return a type without None."""
    parts = _parts(kind)
    if type(None) not in parts:
        return kind
    rest = tuple(part for part in parts if part is not type(None))
    return Union[rest] if len(rest) > 1 else rest[0]  # noqa: UP007  (of a tuple)


def _parts(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def codes_of(kind: Any) -> Mapping[str, int]:
    """Return the codes of the names or the word that a type allows; empty if there are none."""
    for note in split(kind)[1]:
        if isinstance(note, Choice):
            return note.codes
        if isinstance(note, Word):
            return {note.word: note.code}
    return {}


def numbers_of(kind: Any) -> Any:
    """Return the type of the numbers that a type with a `Word` allows beside it; text for a `Choice`, without any."""
    bare, notes = split(kind)
    is_choice = any(isinstance(note, Choice) for note in notes)
    return str if is_choice else _annotated(bare, tuple(note for note in notes if not isinstance(note, Word)))


def name_of(code: int, codes: Mapping[str, int]) -> str:
    """Return the name of a code; the first if it has several."""
    return next(name for name, known in codes.items() if known == code)


def choices_of(kind: Any) -> list[str]:
    """List the words that a type allows, such as ``none`` next to numbers; empty if there are none."""
    bare, _ = split(kind)
    if get_origin(bare) is Literal:
        return [word for word in get_args(bare) if isinstance(word, str)]
    return [*codes_of(kind), *(word for part in _parts(bare) if part is not bare for word in choices_of(part))]


@functools.cache
def types_of(kind: Any) -> set[type]:
    """List the types of the values that may be written for a type."""
    bare, notes = split(kind)
    if any(isinstance(note, Choice) for note in notes):
        return {str}
    if get_origin(bare) is Literal:
        return {type(choice) for choice in get_args(bare)}
    own = {str} if codes_of(kind) else set()
    if (parts := _parts(bare)) != (bare,):
        return own.union(*map(types_of, parts))
    return own | ({list, tuple} if get_origin(bare) is tuple else {int, float} if bare is float else {bare})


def expected(kind: Any, value: Any = None) -> str:
    """Describe what a type allows, after "expected" in an error message; only a value beyond `HUGE` is told of it."""
    bare, notes = split(kind)
    for note in reversed(notes):
        if isinstance(note, Expected):
            return note.text
        if isinstance(note, Choice):
            return _one_of(note.codes)
        if isinstance(note, Word):
            others = tuple(other for other in notes if other is not note)
            return f"{expected(_annotated(bare, others), value)}, or {note.word}"
    if get_origin(bare) is Literal:
        words = [str(word) for word in get_args(bare)]
        return words[0] if len(words) == 1 else _one_of(words)
    if (parts := _parts(bare)) != (bare,):
        return ", or ".join("None" if part is type(None) else expected(part, value) for part in parts)
    if bare in (int, float):
        return _number(bare, notes, value)
    named = {bool: "True or False", str: "text", Path: "a path"}
    return named.get(bare) or ("an " if bare.__name__[0] in "AEIO" else "a ") + bare.__name__


def _one_of(words: Iterable[str]) -> str:
    return "one of " + ", ".join(f'"{word}"' for word in words)


def _number(bare: type, notes: tuple[Any, ...], value: Any) -> str:
    """Describe a number: ``a positive number``, ``an integer from 1 to 64``."""
    gt = next((note.gt for note in notes if isinstance(note, Gt)), None)
    ge = next((note.ge for note in notes if isinstance(note, Ge)), None)
    le: Any = min((note.le for note in notes if isinstance(note, Le)), default=None)  # type: ignore[type-var]
    if le == HUGE:
        if isinstance(value, int | float) and HUGE < value < float("inf"):
            return f"at most {HUGE:,}"
        le = None
    is_even = any(isinstance(note, MultipleOf) for note in notes)
    noun = "an even number" if is_even else "an integer" if bare is int else "a number"
    top = "" if le is None else f" up to {le:,}"
    if gt is not None:
        return f"a positive number{top}" if gt == 0 else f"{noun} above {gt:,}{top}"
    if ge is None:
        return noun + top
    return f"{noun} of at least {ge:,}" if le is None else f"{noun} from {ge:,} to {le:,}"
