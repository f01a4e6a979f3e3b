"""Players written in Python, by `module:Class`.

Start reading at `python_keys`. A spec such as ``my_players:Cautious,depth=3`` imports `my_players`, from the current
folder or wherever Python finds it, and calls ``Cautious(depth=3)``. Arguments `size` and `seed` are passed as well, if
the class has them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, get_type_hints

from rlgo.base.checks import Key
from rlgo.base.errors import RlgoError, shown
from rlgo.base.user_code import guarded, load
from rlgo.play.player import Player, Seed, check_player
from train.players.keys import Keys
from train.players.loading import note_source

_GIVEN = ("size", "seed")  # arguments that are no keys
_TYPES = (bool, int, float, str)


def is_python(name: str) -> bool:
    """Return whether a name of a spec is that of a player in Python."""
    return ":" in name


def python_keys(name: str) -> type[Keys]:
    """Return the keys of a player in Python: the arguments of its class that are numbers, switches or text.

    Raises
    ------
    RlgoError : if the module or the class is missing or fails to load, or an argument without a default is no key
    """
    kind = _keys_of(name)
    note_source(sys.modules[kind.maker.__module__])  # type: ignore[attr-defined]
    return kind


@cache
def _keys_of(name: str) -> type[Keys]:
    maker = load(f"player {name}", name, "a subclass of rlgo.Player", callable)
    try:
        parameters = inspect.signature(maker).parameters.values()
        hints = get_type_hints(maker.__init__ if inspect.isclass(maker) else maker)
    except (NameError, TypeError, ValueError):
        raise RlgoError(f"player {name}: its arguments cannot be read") from None
    body: dict[str, Any] = {"__doc__": (inspect.getdoc(maker) or name).partition("\n")[0], "__module__": __name__}
    types: dict[str, Any] = {}
    no_keys: dict[str, str] = {}
    for parameter in parameters:
        if parameter.name in _GIVEN or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            raise RlgoError(f"player {name}: argument {parameter.name}: expected a default, so that it can be a key")
        if hasattr(Keys, parameter.name):
            raise RlgoError(f"player {name}: argument {parameter.name}: expected another name, which no key has")
        kind = hints.get(parameter.name, type(parameter.default))
        if kind in _TYPES and isinstance(parameter.default, (int, float) if kind is float else kind):
            types[parameter.name] = Annotated[kind, Key(f"The argument {parameter.name} of {name}.")]
            body[parameter.name] = kind(parameter.default)
        else:
            no_keys[parameter.name] = f"its default is {shown(parameter.default)}: expected a number, a switch or text"
    given = {argument for argument in _GIVEN if argument in {p.name for p in parameters}}
    body |= {"__annotations__": types, "maker": staticmethod(maker), "make": _maker(name, maker, given, tuple(types))}
    body["no_keys"] = no_keys
    return dataclass(frozen=True)(type("PythonKeys", (Keys,), body | {"name": name}))


def _maker(name: str, maker: Callable[..., Any], given: set[str], fields: tuple[str, ...]) -> Callable[..., Player]:
    """Return the method that makes the player."""

    def make(self: Any, size: int, seed: Seed) -> Player:
        arguments = {field: getattr(self, field) for field in fields}
        arguments |= {argument: {"size": size, "seed": seed}[argument] for argument in given}
        player = check_player("it", guarded("", maker, **arguments))
        if not getattr(player, "name", ""):
            player.name = name
        return player

    return make
