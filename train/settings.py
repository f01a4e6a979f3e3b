"""Settings: checked values, and one-line errors for wrong ones.

Start reading at `section`, which makes a frozen class of checked pydantic fields, then `group`, which makes such fields
from an algorithm's own settings. `config.py` has the settings of training runs, `players/keys.py` those of players.
Errors take one of three forms::

    FILE: learning.alpha = -1: expected a positive number
    FILE: unknown key run.log_evry; did you mean run.log_every?
    FILE: learning.alpha_final = 0 cannot be combined with learning.alpha_schedule = "exponential"
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import types
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

import pydantic.dataclasses
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import core_schema

from rlgo.base.bounds import (
    HUGE,
    Choice,
    Key,
    Needs,
    Number,
    OrWord,
    Switch,
    Whole,
    bounds_of,
    keys_of,
    name_of,
    words_of,
)
from rlgo.base.errors import RlgoError, cut, nearest, printable, shown
from rlgo.base.files import user_path
from rlgo.base.settings import EVEN_COUNT, FAST_GAMES, PAIRED_GAMES, SIZES
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


def shorten(value: Any) -> str:
    """Show a wrong value in an error message as in a file: on one line, in at most 60 characters."""
    return cut(to_toml_value(value)) if isinstance(value, str | bool) else shown(value)


def _kind_of(value: Any) -> str:
    """Name the type of a value as TOML does."""
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
# Kinds of values in addition to pydantic's
# ---------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Expected:
    """The allowed values in words, for error messages and tables of keys, where bounds are not enough."""

    text: str


class Within:
    """A number within the bounds of an algorithm's setting, where pydantic cannot express them."""

    def __init__(self, bounds: Number):
        self.bounds, self.le = bounds, bounds.le

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Make pydantic check the bounds after the type."""
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def _check(self, value: Any) -> Any:
        if not self.bounds.admits(value):
            raise ValueError("out of bounds")
        return value


class OneOf:
    """One of several strings, such as the keys of a dictionary of the algorithms' codes."""

    def __init__(self, *choices: str):
        self.choices = choices

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Make pydantic accept exactly these strings."""
        return core_schema.literal_schema(list(self.choices))


def _whole(value: Any) -> Any:
    """Accept 1e6, which is a float in TOML, where a count is expected."""
    return int(value) if type(value) is float and value.is_integer() else value


def as_tuple(value: Any) -> Any:
    """Turn a list, as TOML has it, into a tuple; leave anything else for pydantic to reject."""
    return tuple(value) if isinstance(value, list) else value


def different(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values of a list in a config; pydantic rejects a list with duplicates."""
    if len(set(values)) < len(values):
        raise ValueError("not all different")
    return values


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("not printable")
    return value


def _at_home(value: str) -> str:
    """Replace a ``~`` or ``~user`` at the start of a path by that home folder, as a shell would."""
    try:
        return str(user_path(value)) if value.startswith("~") else value
    except RlgoError:
        raise ValueError("no such user") from None


def _ascending(value: tuple[int, ...]) -> tuple[int, ...]:
    if list(value) != sorted({*value} & {*SIZES}):
        raise ValueError("not an ascending subset")
    return value


def _known_windows(value: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return check_windows(value)
    except RlgoError:
        raise ValueError("not such windows") from None


# A number of games or simulations: `games = 1e6` is fine.
Count = Annotated[int, BeforeValidator(_whole), Field(le=HUGE)]
EvenCount = Annotated[Count, Within(EVEN_COUNT)]
PairedGames = Annotated[Count, Within(PAIRED_GAMES)]
FastGameCount = Annotated[Count, Within(FAST_GAMES)]
# Any text on one line; paths, which may begin with ~. `AnyPath` and `Path` may be empty, `Name` and `Folder` may not.
Line = Annotated[str, AfterValidator(_printable)]
AnyPath = Annotated[Line, AfterValidator(_at_home), Expected("a path, or nothing")]
Path = Annotated[AnyPath, Expected("the path of a file, or nothing")]
Shipped = Annotated[AnyPath, Expected("the path of a file, the name of a shipped one, or nothing")]
ShippedOrNone = Annotated[
    AnyPath, Field(min_length=1), Expected("the path of a file, the name of a shipped one, or none")
]
Memory = Annotated[AnyPath, Expected("the path of a file, the name of a shipped one, none, or nothing")]
FirstPhase = Annotated[AnyPath, Expected("a player spec with semicolons, the path of its file, or nothing")]
Folder = Annotated[AnyPath, Field(min_length=1), Expected("the path of a folder")]
Name = Annotated[Line, Field(min_length=1), Expected("a name")]
SpecText = Annotated[Line, Field(min_length=1), Expected("a player spec")]
Sizes = Annotated[
    tuple[int, ...],
    BeforeValidator(as_tuple),
    AfterValidator(_ascending),
    Field(min_length=1),
    Expected("an ascending subset of [1, 2, 3], not empty"),
]
Windows = Annotated[
    tuple[str, ...], BeforeValidator(as_tuple), AfterValidator(_known_windows), Expected(f"a list of {WINDOWS_WORDS}")
]
SizesOrNone = Annotated[
    tuple[int, ...],
    BeforeValidator(as_tuple),
    AfterValidator(_ascending),
    Expected("an ascending subset of [1, 2, 3], or []"),
]


# ---------------------------------------------------------------------------------------------
# What a field expects, in words
# ---------------------------------------------------------------------------------------------


class _Type(NamedTuple):
    """A type and, separately, its annotations in order."""

    bare: Any
    notes: list[Any]


def _unwrap(annotation: Any, notes: Iterable[Any]) -> _Type:
    """Strip `Annotated` from a type, and collect the constraints from pydantic's fields."""
    found: list[Any] = []
    for note in notes:
        found += note.metadata if isinstance(note, FieldInfo) else [note]
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        bare, within = _unwrap(inner, more)
        return _Type(bare, within + found)
    return _Type(annotation, found)


def expected(field: FieldInfo) -> str:
    """Describe what a field may be, as in its error message after "expected"."""
    return _expected(_unwrap(field.annotation, field.metadata))


def _expected(kind: _Type) -> str:
    for note in reversed(kind.notes):
        if isinstance(note, Expected):
            return note.text
        if isinstance(note, Within):
            return note.bounds.words
        if isinstance(note, OneOf):
            return "one of " + ", ".join(map(to_toml_value, note.choices))
    if get_origin(kind.bare) in (Union, types.UnionType):
        parts = [_expected(_unwrap(part, ())) for part in get_args(kind.bare) if part is not types.NoneType]
        return ", or ".join(parts)
    if get_origin(kind.bare) is Literal:
        return " or ".join(map(str, get_args(kind.bare)))
    if kind.bare is bool:
        return "on or off, in a file true or false"
    if isinstance(kind.bare, _Checked):
        return f"a {kind.bare.__name__}"
    return _within_bounds("an integer" if kind.bare is int else "a number", kind.notes)


def _within_bounds(noun: str, notes: Iterable[Any]) -> str:
    found = [(name, getattr(note, name)) for note in notes for name in ("gt", "ge", "le") if hasattr(note, name)]
    low = {name: max(bound for of, bound in found if of == name) for name, _ in found if name != "le"}
    return words_of(noun, low.get("gt"), low.get("ge"), min((bound for of, bound in found if of == "le"), default=None))


def choices_of(field: FieldInfo) -> list[str]:
    """List the words that a field accepts, such as ``none`` next to numbers; empty if there are none."""
    return _choices(_unwrap(field.annotation, field.metadata))


def _choices(kind: _Type) -> list[str]:
    for note in kind.notes:
        if isinstance(note, OneOf):
            return list(note.choices)
    if get_origin(kind.bare) in (Union, types.UnionType):
        return [word for part in get_args(kind.bare) for word in _choices(_unwrap(part, ()))]
    if get_origin(kind.bare) is Literal:
        return [word for word in get_args(kind.bare) if isinstance(word, str)]
    return []


def accepted_types(field: FieldInfo) -> set[type]:
    """List the types that a field's value may have in a file."""
    return _types_of(_unwrap(field.annotation, field.metadata))


def _types_of(kind: _Type) -> set[type]:
    if get_origin(kind.bare) in (Union, types.UnionType):
        return set().union(*(_types_of(_unwrap(part, ())) for part in get_args(kind.bare)))
    if get_origin(kind.bare) is Literal:
        return {type(choice) for choice in get_args(kind.bare)}
    if get_origin(kind.bare) is tuple:
        return {list, tuple}
    return {int, float} if kind.bare is float else {kind.bare}


# ---------------------------------------------------------------------------------------------
# Keys from the settings of an algorithm
# ---------------------------------------------------------------------------------------------


class Group:
    """Fields of a NamedTuple as keys of a section, with their names there; see `group`."""

    def __init__(self, start: Any, keys: Mapping[str, Key]):
        bounds = dict(bounds_of(type(start)))
        self.start, self.keys = start, {field: key.name or field for field, key in keys.items()}
        self.declared = {
            self.keys[field]: _as_key(
                getattr(start, field),
                key.bound or bounds[field],
                dataclasses.replace(key, needs=key.needs and self._by_keys(key.needs)),
            )
            for field, key in keys.items()
        }

    def __get__(self, section: Section | None, owner: type) -> Any:
        """Return the NamedTuple of a section's values, where it is an attribute of a section."""
        return self if section is None else self.read(section)

    def read(self, section: Section, **others: Any) -> Any:
        """Return the NamedTuple of a section's values, and of further fields that are not keys."""
        try:
            return self.start._replace(**{field: getattr(section, key) for field, key in self.keys.items()}, **others)
        except RlgoError as error:  # about several fields, by their own names
            raise RlgoError(self._in_words(str(error), section.prefix)) from None

    def _in_words(self, text: str, prefix: str = "") -> str:
        """Return a text about fields as one about keys."""
        fields = rf"\b({'|'.join(self.keys)}) ="
        return re.sub(fields, lambda field: f"{prefix}{spelled(self.keys[field[1]])} =", text)

    def _by_keys(self, needs: Needs) -> Needs:
        """Return a condition on fields as one on keys."""
        if all(field == key for field, key in self.keys.items()):
            return needs

        def is_met(keys: Any) -> bool:
            named = {field: getattr(keys, key) for field, key in self.keys.items()}
            return needs.is_met(types.SimpleNamespace(**{**vars(keys), **named}))

        return Needs(self._in_words(needs.words), is_met)


def group(start: Any, *fields: str, without: Iterable[str] = (), **changes: Mapping[str, Any]) -> Any:
    """Declare the fields of a NamedTuple of settings as keys of a section.

    In a section, ``rule: Learning = group(Learning())`` adds a key for each field that has a `Key`; the section's
    attribute `rule` is the `Learning` of its values.

    Parameters
    ----------
    start : the NamedTuple with the section's defaults
    fields, without : the fields to add, by default all that have a `Key`, and those to leave out
    changes : by field, attributes of its `Key` that differ in this section, such as its name
    """
    keys = {field: key for field, key in keys_of(type(start)).items() if field in (fields or start._fields)}
    return Group(
        start, {f: dataclasses.replace(key, **changes.get(f, {})) for f, key in keys.items() if f not in without}
    )


def key(default: Any, meaning: str, experiments: str = "", **others: Any) -> Any:
    """Declare a key that is not an algorithm's setting, with its default and meaning; see `Key` for the rest."""
    return _field(default, Key(meaning, experiments, **others))


def _field(default: Any, key: Key) -> Any:
    return Field(default=default, description=key.meaning, json_schema_extra={"key": key})  # type: ignore[dict-item]


def note_of(field: FieldInfo) -> Key:
    """Return what is declared about a field besides its type; if it is not a player's key, only its meaning."""
    extra: Any = field.json_schema_extra or {"key": Key(str(field.description))}
    return extra["key"]


def _as_key(default: Any, kind: Any, key: Key) -> tuple[Any, Any]:
    """Return the type of a key and its field."""
    hint: Any
    if isinstance(kind, Choice):
        hint, default = Annotated[str, OneOf(*kind.codes)], name_of(default, kind.codes)
    elif isinstance(kind, OrWord):
        hint = Annotated[int, BeforeValidator(_whole), Within(kind.kind)] | Literal[kind.word]
        default = kind.word if default == kind.code else default
    elif isinstance(kind, Whole):
        hint = Annotated[int, BeforeValidator(_whole), Within(kind)]
    else:
        hint = bool if isinstance(kind, Switch) else Annotated[float, Within(kind)]
    return hint, _field(default, key)


def _expand(cls: type[Section]) -> None:
    """Replace each group in the annotations of a section by its keys."""
    annotations: dict[str, Any] = {}
    for name, hint in vars(cls).get("__annotations__", {}).items():
        found = vars(cls).get(name)
        if not isinstance(found, Group):
            annotations[name] = hint
            continue
        for key, (kind, field) in found.declared.items():
            annotations[key] = kind
            setattr(cls, key, field)
    cls.__annotations__ = annotations


# ---------------------------------------------------------------------------------------------
# Sections
# ---------------------------------------------------------------------------------------------


class _Checked(type):
    """Turns pydantic's errors about a section's arguments into a one-line RlgoError."""

    def __call__(cls, *args: Any, **values: Any) -> Any:
        try:
            return super().__call__(*args, **values)
        except ValidationError as error:
            section_type: Any = cls
            given = dict(zip(section_type.fields(), args, strict=False)) | values
            raise RlgoError(_refusal(section_type, error, given)) from None


class Section(metaclass=_Checked):
    """Base class of a group of settings.

    Attributes
    ----------
    prefix : prefix of keys in error messages, such as ``learning.``
    aliases : other spellings of keys, mapped to the keys
    implied : if the first key is given, the others take these values instead of their defaults
    """

    prefix: ClassVar[str] = ""
    aliases: ClassVar[Mapping[str, str]] = {}
    implied: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    @classmethod
    def fields(cls) -> dict[str, FieldInfo]:
        """Return the field of every key: its default, allowed values (see `expected`) and description."""
        return cls.__pydantic_fields__  # type: ignore[attr-defined]


class GroupedSection(Section):
    """A section with groups; type checkers do not know their keys."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


SectionType = TypeVar("SectionType", bound=type[Section])


@dataclass_transform(frozen_default=True, field_specifiers=(Field,))
def section(cls: SectionType) -> SectionType:
    """Make a frozen dataclass whose values are always checked on construction.

    Types are strict: no string passes for a number, no boolean for an integer. RlgoError names the key, the value and
    what was expected. `dataclasses.replace`, which checks again, and `dataclasses.asdict` work as for any dataclass.
    """
    _expand(cls)
    config = ConfigDict(
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_default=True,
        defer_build=True,  # until the first instance: most commands need few of the sections
    )
    made: Any = pydantic.dataclasses.dataclass(frozen=True, config=config)(cls)
    notes = {name: note_of(field) for name, field in made.fields().items()}
    spellings = {spelled(name): name for name in made.fields() if spelled(name) != name}
    made.aliases = spellings | {alias: name for name, key in notes.items() for alias in key.aliases.split()}
    made.implied = {**cls.implied, **{name: key.implies for name, key in notes.items() if key.implies}}
    return made


def _refusal(cls: type[Section], error: ValidationError, given: Mapping[str, Any]) -> str:
    """Describe the first of several mistakes in one line."""
    key = str(error.errors()[0]["loc"][0])
    if key not in cls.fields():
        return unknown_key(key, cls.fields(), cls.prefix)
    field = cls.fields()[key]
    return refusal(field, cls.prefix + spelled(key), given.get(key, field.default))


def refusal(field: FieldInfo, key: str, value: Any) -> str:
    """Describe a rejected value and what was expected; a field with `repr=False` keeps its value secret."""
    if not field.repr:
        return f"{key}: expected {expected(field)} (not shown here)"
    is_count = any(getattr(note, "le", None) == HUGE for note in _unwrap(field.annotation, field.metadata).notes)
    if is_count and type(value) in (int, float) and HUGE < value < math.inf:
        return f"{key} = {shorten(value)}: expected at most {HUGE:,}"
    found = "" if type(value) in accepted_types(field) else f", found {_kind_of(value)}"
    return f"{key} = {shorten(value)}: expected {expected(field)}{found}"


def spelled(field: str) -> str:
    """Spell a field's name as users write it: ``lambda``, reserved by Python, is the field ``lambda_``."""
    return field.rstrip("_")


def unknown_key(key: str, known: Iterable[str], prefix: str = "", aliases: Iterable[str] = ()) -> str:
    """Describe an unknown key, and suggest the nearest one or list them all."""
    names = [spelled(name) for name in known]
    hint = nearest(key, [*names, *aliases], f"expected one of {', '.join(names)}")
    hint = hint.replace("did you mean ", f"did you mean {prefix}")
    return f"unknown key {prefix}{printable(key)}; {hint}"
