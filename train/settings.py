"""Settings that people write, in configs and player specs, and one-line errors for wrong ones.

Start reading at `Section`, a dataclass of settings that checks itself, then `Group`, which makes keys of an algorithm's
own settings. `config.py` has the settings of training runs, `players/keys.py` those of players. Errors take one of
three forms::

    FILE: learning.alpha = -1: expected a positive number
    FILE: unknown key run.log_evry; did you mean run.log_every?
    FILE: learning.alpha_final = 0 cannot be combined with learning.alpha_schedule = "exponential"
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, NamedTuple

from annotated_types import MinLen, Predicate
from pydantic import AfterValidator

from rlgo.base.checks import (
    Expected,
    Key,
    Needs,
    allows,
    codes_of,
    convert,
    expected,
    fields_of,
    name_of,
    not_none,
    numbers_of,
    split,
    validated,
)
from rlgo.base.errors import RlgoError, cut, nearest, printable, shown
from rlgo.base.files import user_path
from rlgo.base.settings import SIZES
from rlgo.features.kinds import WINDOWS_WORDS, check_windows

# ---------------------------------------------------------------------------------------------
# How values are written
# ---------------------------------------------------------------------------------------------

_COUNT = re.compile(r"[+-]?[0-9]+(_[0-9]+)*(\.[0-9]+)?(e\+?[0-9]{1,2})?", re.IGNORECASE)


def parse_count(text: str) -> int:
    """Read a whole number: ``1000``, ``1_000`` and ``1e3`` are the same.

    Raises
    ------
    RlgoError : for anything else, ``1.5e0`` and ``1e-3`` included.
    """
    number = Decimal(text) if _COUNT.fullmatch(text) else None
    if number is None or number != number.to_integral_value():
        raise RlgoError(f"{shorten(text)}: expected a whole number (1000, 1_000 and 1e3 are the same)")
    return int(number)


def to_toml_value(value: Any) -> str:
    """Write a value of a config as TOML; finite numbers and printable strings look the same in JSON."""
    return json.dumps(value, ensure_ascii=False)


_OUTSIDE_QUOTES = r'(?=(?:[^"]*"[^"]*")*[^"]*$)'  # an even number of double quotes follows


def split_spec(text: str) -> list[str]:
    """Split a player spec at its commas, but not within double quotes. RlgoError for a quote without an end."""
    if text.count('"') % 2:
        raise RlgoError(f"player {shorten(text)}: expected another double quote")
    return [part.strip() for part in re.split(f",{_OUTSIDE_QUOTES}", text)]


def nested_spec(text: str) -> str:
    """Read a spec within another one, with semicolons in place of commas."""
    return re.sub(f";{_OUTSIDE_QUOTES}", ",", text)


def spec_value(value: Any) -> str:
    """Write a value, such as a path, so that it can stand in a player spec: in double quotes if it has to."""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if re.search(r'[,;"]|^\s|\s$', text) else text


def read_spec_value(text: str) -> str:
    """Read what `spec_value` wrote."""
    is_quoted = re.fullmatch(r'"(?:[^"]|"")*"', text) is not None
    return text[1:-1].replace('""', '"') if is_quoted else text


def read_toml_value(text: str) -> Any:
    """Read a value as TOML, or as a plain string if it is not TOML."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        parsed = {}
    # More than one key means that the value contains a second line, so it is not a TOML value.
    return parsed["value"] if list(parsed) == ["value"] else text


def shorten(value: Any) -> str:
    """Show a wrong value in an error message as in a file: on one line, in at most 60 characters."""
    return cut(to_toml_value(value)) if isinstance(value, str | bool) else shown(value)


def written(value: Any, kind: Any) -> Any:
    """Return a value as files and specs have it: the name of a code, or its word."""
    codes = codes_of(kind)
    return name_of(value, codes) if type(value) is not str and value in codes.values() else value


# ---------------------------------------------------------------------------------------------
# Text and lists
# ---------------------------------------------------------------------------------------------


def different(values: tuple[Any, ...]) -> bool:
    """Return whether the values of a list are all different."""
    return len(set(values)) == len(values)


def _at_home(value: str) -> str:
    """Replace a ``~`` or ``~user`` at the start of a path by that home folder, as a shell would."""
    try:
        return str(user_path(value)) if value.startswith("~") else value
    except RlgoError:
        raise ValueError("no such user") from None


def _is_ascending(value: tuple[int, ...]) -> bool:
    return list(value) == sorted({*value} & {*SIZES})


def _known_windows(value: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return check_windows(value)
    except RlgoError:
        raise ValueError("not such windows") from None


# Any text on one line; paths, which may begin with ~. `AnyPath` and `Path` may be empty, `Name` and `Folder` may not.
Line = Annotated[str, Predicate(str.isprintable)]
AnyPath = Annotated[Line, AfterValidator(_at_home), Expected("a path, or nothing")]
Path = Annotated[AnyPath, Expected("the path of a file, or nothing")]
Shipped = Annotated[AnyPath, Expected("the path of a file, the name of a shipped one, or nothing")]
ShippedOrNone = Annotated[AnyPath, MinLen(1), Expected("the path of a file, the name of a shipped one, or none")]
Memory = Annotated[AnyPath, Expected("the path of a file, the name of a shipped one, none, or nothing")]
FirstPhase = Annotated[AnyPath, Expected("a player spec with semicolons, the path of its file, or nothing")]
Folder = Annotated[AnyPath, MinLen(1), Expected("the path of a folder")]
Name = Annotated[Line, MinLen(1), Expected("a name")]
SpecText = Annotated[Line, MinLen(1), Expected("a player spec")]
SizesOrNone = Annotated[tuple[int, ...], Predicate(_is_ascending), Expected("an ascending subset of [1, 2, 3], or []")]
Sizes = Annotated[SizesOrNone, MinLen(1), Expected("an ascending subset of [1, 2, 3], not empty")]
Windows = Annotated[tuple[str, ...], AfterValidator(_known_windows), Expected(f"a list of {WINDOWS_WORDS}")]

# ---------------------------------------------------------------------------------------------
# Keys
# ---------------------------------------------------------------------------------------------


class Group:
    """Makes keys of the fields of a NamedTuple that have a `Key`.

    In a section, ``rule: Annotated[Learning, Group()] = Learning()`` is a key for each of them, with the defaults of
    this `Learning`; the section's attribute `rule` is the `Learning` of its values.

    Parameters
    ----------
    fields, without : the fields, by default all that have a `Key`, and those to leave out
    changes : by field, attributes of its `Key` that differ in this section, such as its name
    """

    def __init__(self, *fields: str, without: Iterable[str] = (), **changes: Mapping[str, Any]):
        self.fields, self.without, self.changes = fields, without, changes

    def keys(self, attribute: str, start: Any) -> dict[str, Setting]:
        """Return the keys by name; `start` has their defaults."""
        chosen = {
            name: (kind, dataclasses.replace(key, **self.changes.get(name, {})))
            for name, (kind, key) in fields_of(type(start)).items()  # type: ignore[arg-type]  # a NamedTuple is hashable
            if key is not None and name in (self.fields or start._fields) and name not in self.without
        }
        names = {field: key.name or field for field, (_, key) in chosen.items()}
        found = {}
        for field, (kind, key) in chosen.items():
            narrow = key.kind or kind
            condition = key.needs and Needs(_in_words(key.needs.words, names), key.needs.is_met)
            default = written(getattr(start, field), narrow)
            found[names[field]] = Setting(
                names[field], attribute, field, narrow, default, dataclasses.replace(key, needs=condition)
            )
        return found


class Setting(NamedTuple):
    """A key of a section.

    Attributes
    ----------
    name : as it is in Python; see `spelled`
    attribute, field : where its value is: the section's attribute, and the field of this NamedTuple or ""
    kind, default, key : its type, its default as it is written, and what else is declared
    """

    name: str
    attribute: str
    field: str
    kind: Any
    default: Any
    key: Key

    @property
    def expected(self) -> str:
        """The allowed values in words, as in an error message after "expected"."""
        kind = not_none(self.kind)
        return "on or off, in a file true or false" if split(kind)[0] is bool else expected(kind)

    def read(self, name: str, value: Any) -> Any:
        """Return a value from a file or a spec as it is written there; RlgoError if it is not allowed."""
        try:
            if (
                type(value) is not str
                and value in codes_of(self.kind).values()
                and not allows(numbers_of(self.kind), value)
            ):
                raise ValueError("a code, which is not written")
            return written(convert(value, self.kind), self.kind)
        except ValueError:
            beyond = expected(self.kind, value)
            words = beyond if beyond.startswith("at most") else self.expected
            raise RlgoError(f"{name} = {shorten(value)}: expected {words}") from None


def _in_words(text: str, names: Mapping[str, str], prefix: str = "") -> str:
    """Return a text about fields as one about keys."""
    fields = rf"\b({'|'.join(names)}) ="
    return re.sub(fields, lambda field: f"{prefix}{spelled(names[field[1]])} =", text) if names else text


def spelled(field: str) -> str:
    """Spell a field's name as users write it: ``lambda``, reserved by Python, is the field ``lambda_``."""
    return field.rstrip("_")


def unknown_key(key: str, known: Iterable[str], prefix: str = "", aliases: Iterable[str] = ()) -> str:
    """Describe an unknown key, and suggest the nearest one or list them all."""
    names = [spelled(name) for name in known]
    hint = nearest(key, [*names, *aliases], f"expected one of {', '.join(names)}")
    hint = hint.replace("did you mean ", f"did you mean {prefix}")
    return f"unknown key {prefix}{printable(key)}; {hint}"


# ---------------------------------------------------------------------------------------------
# Sections
# ---------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Section:
    """Base class of a group of settings: frozen dataclasses, whose values are checked on construction.

    A key is declared as ``out: Annotated[Folder, Key("The folder.")] = "runs"``; see also `Group`. Types are strict: no
    string passes for a number, no boolean for an integer. RlgoError names the key, the value and what was expected.

    Attributes
    ----------
    prefix : prefix of keys in error messages, such as ``learning.``
    """

    prefix: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Check the values, then their combinations."""
        for name, keys in _attributes_of(type(self)).items():  # type: ignore[arg-type]  # a frozen dataclass is hashable
            value = getattr(self, name)
            if "" in keys:  # the key itself, not a group
                value = keys[""].read(self.prefix + spelled(name), value)
            else:
                try:
                    value = validated(value)
                except RlgoError as error:  # about fields, by their own names
                    names = {field: key.name for field, key in keys.items()}
                    raise RlgoError(_in_words(str(error), names, self.prefix)) from None
            object.__setattr__(self, name, value)
        self.combine()

    def combine(self) -> None:
        """Raise RlgoError for values that cannot be combined."""

    @classmethod
    def all_keys(cls) -> dict[str, Setting]:
        """Return all keys by name."""
        return _keys_of(cls)  # type: ignore[arg-type]  # see above

    @classmethod
    def aliases(cls) -> dict[str, str]:
        """Return other spellings of keys, mapped to the keys."""
        spellings = {spelled(name): name for name in cls.all_keys() if spelled(name) != name}
        return spellings | {alias: name for name, s in cls.all_keys().items() for alias in s.key.aliases.split()}

    @classmethod
    def implications(cls) -> dict[str, Mapping[str, Any]]:
        """Return, by key, the values that other keys take if it is given."""
        return {name: s.key.implies for name, s in cls.all_keys().items() if s.key.implies}

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Any:
        """Make a section of the values of its keys, as files and specs have them. RlgoError for a wrong one."""
        values: dict[str, dict[str, Any]] = {}
        for name, value in table.items():
            if name not in cls.all_keys():
                raise RlgoError(unknown_key(name, cls.all_keys(), cls.prefix))
            setting = cls.all_keys()[name]
            read = setting.read(cls.prefix + spelled(name), value)
            values.setdefault(setting.attribute, {})[setting.field] = read
        return cls(
            **{
                attribute: fields[""] if "" in fields else getattr(cls, attribute)._replace(**fields)
                for attribute, fields in values.items()
            }
        )

    def values(self) -> dict[str, Any]:
        """Return the values of all keys, as files have them."""
        return {name: self._value(setting) for name, setting in self.all_keys().items()}

    def _value(self, setting: Setting) -> Any:
        value = getattr(self, setting.attribute)
        return written(getattr(value, setting.field), setting.kind) if setting.field else value

    def unmet(self, name: str) -> str:
        """Return what a key needs to have an effect beside the other values; "" if it has one."""
        setting = self.all_keys().get(name)
        condition = setting and setting.key.needs
        if setting is None or condition is None:
            return ""
        # A condition that an algorithm declares is about its own fields, whatever the keys are called here.
        own = {
            s.field: self._value(s) for s in self.all_keys().values() if s.field and s.attribute == setting.attribute
        }
        return "" if condition.is_met(SimpleNamespace(**{**self.values(), **own})) else condition.words


@functools.cache
def _keys_of(cls: Any) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    hints = fields_of(cls)
    for f in dataclasses.fields(cls):
        kind, key = hints[f.name]
        group = next((note for note in split(kind)[1] if isinstance(note, Group)), None)
        if group is not None:
            found |= group.keys(f.name, f.default)
        else:
            found[f.name] = Setting(f.name, f.name, "", kind, f.default, key or Key(""))
    return found


@functools.cache
def _attributes_of(cls: Any) -> dict[str, dict[str, Setting]]:
    """Return the keys of each attribute of a section, by the fields that have their values."""
    found: dict[str, dict[str, Setting]] = {}
    for setting in cls.all_keys().values():
        found.setdefault(setting.attribute, {})[setting.field] = setting
    return found


def section_from(kind: type[Section], table: Mapping[str, Any], source: str) -> Any:
    """Make a section from a table of some file; error messages begin with `source`."""
    try:
        return kind.from_table(table)
    except RlgoError as error:
        raise RlgoError(f"{source}: {error}") from None


def with_values(start: Any, values: Mapping[str, Any], source: str) -> Any:
    """Change a NamedTuple of settings by values as files have them, by their keys as in a `Group`.

    RlgoError for a wrong one; `source` comes before the key.
    """
    keys = {spelled(name): setting for name, setting in Group().keys("", start).items()}
    for name, value in values.items():
        if name not in keys:
            raise RlgoError(f"{source}{unknown_key(name, keys)}")
        start = start._replace(**{keys[name].field: keys[name].read(source + name, value)})
    try:
        return validated(start)
    except RlgoError as error:
        raise RlgoError(f"{source}{error}") from None
