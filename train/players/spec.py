"""Player specs: the text that names a player and its keys.

Start reading at `parse_spec`, then `make_player`. A spec is written

    NAME[,key=value...]       for instance  random   greedy,weights=runs/quick/weights.npz,epsilon=0.05
    FILE.toml[,key=value...]  the same from a file: `player = "NAME"` and keys, as in configs/players
    MODULE:CLASS[,key=value...]  a player in Python, for instance  my_players:Cautious,depth=3
    gtp:COMMAND               an external engine, for instance  gtp:gnugo --mode gtp --level 0

A player within a spec (`prior_search`) has semicolons in place of commas. A value with commas or semicolons goes in
double quotes: weights="a,b.npz"; a double quote within it is written twice. Lists are written with plus signs, 1+2+3;
switches are on or off; 10_000 and 1e4 are integers. ``gtp:COMMAND`` is split as a shell would, but no shell runs it.
The keys themselves are declared in `keys.py` and `tree_keys.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.checks import check, not_none, types_of
from rlgo.base.errors import RlgoError, nearest, shown
from rlgo.base.resources import config_path
from rlgo.base.settings import DEFAULT_SIZE, board_size
from rlgo.compiler.jit import seed_sequence
from rlgo.play.player import Player, Seed
from train.config import read_toml
from train.players.engines import GtpClient
from train.players.keys import PLAYERS, Keys
from train.players.levels import spec_of_level
from train.players.loading import note_file
from train.players.python_players import is_python, python_keys
from train.settings import parse_count, read_spec_value, spelled, split_spec, unknown_key

_SWITCHES = {"on": True, "true": True, "off": False, "false": False}


class Spec(NamedTuple):
    """A parsed player spec."""

    name: str  # a key of `PLAYERS`, MODULE:CLASS, or gtp
    values: dict[str, Any]  # the values given, by the full names of keys; for ``gtp:COMMAND`` only ``command``


def parse_spec(text: str) -> Spec:
    """Read a player spec.

    Raises
    ------
    RlgoError : for an unknown player or key, suggesting the nearest one, and for a value out of range.
    """
    check("player", text, str)
    if text.startswith("gtp:"):
        return Spec("gtp", {"command": text.removeprefix("gtp:")})
    name, *parts = split_spec(text)
    name = read_spec_value(name)
    values: dict[str, Any] = {}
    if name.endswith(".toml"):
        name, values = _read_file(name)
    written, given = _checked(name, [_read_part(part, name) for part in parts])
    kind = find_player(name)
    if given.get("seconds") or "strength" in given:  # a time or a level given here replaces the limits in the file
        values = {key: value for key, value in values.items() if key not in kind.limits}
    values |= given
    _refuse_without_effect(kind, values, written)  # keys given here may make those of the file ineffective
    return Spec(name, values)


def make_player(spec: str | Spec, size: int, seed: Seed = None, key: tuple[int, ...] = ()) -> Player:
    """Make a player from a spec such as ``dyna2,simulations=500``, for boards of one size.

    Parameters
    ----------
    spec : as text, or parsed
    seed : seed for players whose spec sets none; None draws a fresh one each time
    key : number of the game, if there are many, so that each game has different random numbers, whatever the seed

    Raises
    ------
    RlgoError : for a bad spec, for missing weights, and for an engine that does not start or rejects the size.

    >>> from train import make_player
    >>> make_player("mc_rave,simulations=500", size=9, seed=1)
    <TreeSearch 'mc_rave', 9x9, 500 simulations>
    """
    if not isinstance(spec, str | Spec):
        raise RlgoError(f'spec = {shown(spec)}: expected a player spec, such as "dyna2,sims=500"')
    size = board_size(size)
    name, values = parse_spec(spec) if isinstance(spec, str) else spec
    values = dict(values)
    if name == "gtp":
        return GtpClient(values["command"], size)
    kind = find_player(name)
    seed = values.pop("seed", seed)
    if check("key", key, tuple) and seed is not None:
        parent = seed_sequence(seed)
        seed = np.random.SeedSequence(parent.entropy, spawn_key=(*parent.spawn_key, *key))
    try:
        keys = _keys(kind, values, size)
        player = keys.make(size, seed)
    except RlgoError as error:
        raise RlgoError(f"player {name}: {error}") from None
    if keys.name != kind.name:
        player.name = kind.name
    return player


def strongest(spec: str, seconds: float | None = None) -> str:
    """Return who gives hints and analyses where a player plays: for ``rlgo,strength=3``, ``rlgo``.

    seconds : of a search, in place of a level's limit
    """
    name, values = parse_spec(spec)
    limit = "" if seconds is None else f",seconds={seconds:g}"
    return name + limit if "strength" in values else spec


def _keys(kind: type[Keys], values: dict[str, Any], size: int | None = None) -> Keys:
    """Return the keys of a player, or of the one that stands in for it, by the values given.

    size : of the board; None leaves out what the player has of its own on some boards
    """
    if "strength" in values:
        name, at_level = parse_spec(spec_of_level(values["strength"], size or DEFAULT_SIZE))
        known = find_player(name).all_keys().keys() - {"strength"}
        others = {field: value for field, value in values.items() if field in known}
        return _keys(find_player(name), others | at_level, size)
    keys = kind.from_table({**kind.by_size.get(size or 0, {}), **_with_implied(kind, values)})
    if not keys.stand_in():
        return keys
    handed_on = {field: value for field, value in values.items() if field not in kind.own}
    limits = {limit: getattr(keys, limit) for limit in kind.limits}
    return _keys(find_player(keys.stand_in()), limits | handed_on, size)


def find_player(name: str) -> type[Keys]:
    """Find the keys of a player by its name, MODULE:CLASS included. RlgoError for an unknown name."""
    if check("player", name, str) in PLAYERS:
        return PLAYERS[name]
    if is_python(name):
        return python_keys(name)
    if name in _GONE:
        raise RlgoError(f"player {name} is gone: {_GONE[name]}")
    first, *rest = name.split() or [name]
    if rest and first.rstrip(",") in PLAYERS:
        raise RlgoError(f"player {name}: expected no spaces: did you mean {','.join([first.rstrip(','), *rest])}?")
    hint = nearest(name, PLAYERS, f"expected {', '.join(PLAYERS)}, MODULE:CLASS, gtp:COMMAND or FILE.toml")
    raise RlgoError(f"unknown player {name or repr(name)}; {hint}")


_GONE = {  # keys that players once had, and a player
    "apart": "Dyna-2 keeps both memories in one table",
    "c_puct": "it is a key of the player puct",
    "c": "the constant of PUCT is c_puct",
    "history": "table = off also forgets it",
    "killers": "table = off also forgets them",
    "network_policy": "a network's policy stands alone, or is added to Q_rlgo",
    "policy_shift": "a policy has no shift",
    "prior_n": "PUCT takes prior knowledge as a policy",
    "prior_n_amaf": "PUCT takes prior knowledge as a policy",
    "pvs": "alpha-beta always searches with null windows",
    "puct_rave": "puct, and mc_rave with a heuristic, are what it was made of",
    "puct_rule": "PUCT adds AlphaGo's bonus",
    "sharing": "the short-term memory shares no weights",
}


def _field(key: str, name: str) -> str:
    """Find the field for a key of a player, by its full name or an alias."""
    kind = find_player(name)
    field = kind.aliases().get(key, key)
    if field not in kind.all_keys():
        if field in kind.no_keys:
            raise RlgoError(f"player {name}: {key}: {kind.no_keys[field]}")
        if field in _GONE:
            raise RlgoError(f"player {name}: {key} is gone: {_GONE[field]}")
        raise RlgoError(f"player {name}: {unknown_key(key, kind.all_keys(), aliases=kind.aliases())}")
    return field


def _read_part(part: str, name: str) -> tuple[str, Any]:
    """Read KEY=VALUE: the key as it is written, and the value."""
    key, equals, value = part.partition("=")
    if key.isdecimal():
        raise RlgoError(f"player {name}: {part!r}: expected KEY=VALUE; lists are written 1+2")
    if not key:
        raise RlgoError(f"player {name}: {part!r}: expected KEY=VALUE")
    field = _field(key, name)
    if not equals or not value:
        raise RlgoError(f"player {name}: {part}: expected {spelled(field)}=VALUE")
    return key, _parse(read_spec_value(value), types_of(not_none(find_player(name).all_keys()[field].kind)))


def _with_implied(kind: type[Keys], values: dict[str, Any]) -> dict[str, Any]:
    """Add what the values of a player imply."""
    if values.get("seconds"):
        values = {**{limit: "none" for limit in kind.limits if limit != "seconds"}, **values}
    implied: dict[str, Any] = {}
    for given, others in kind.implications().items():
        implied.update(others if given in values else {})
    return {**implied, **values}


def _read_file(file: str) -> tuple[str, dict[str, Any]]:
    """Read the name and the values of a player's TOML file, or of a shipped one."""
    path = config_path(file, "players")
    note_file(path)
    data = read_toml(path)
    name = data.pop("player", None)
    try:
        if not isinstance(name, str):
            raise RlgoError('expected player = "NAME"')
        written, values = _checked(name, data.items())
        _refuse_without_effect(find_player(name), values, written)
        return name, values
    except RlgoError as error:
        raise RlgoError(f"{path}: {error}") from None


def _checked(name: str, given: Iterable[tuple[str, Any]]) -> tuple[dict[str, str], dict[str, Any]]:
    """Check the keys of a player; return how they are written, and their values, both by full names."""
    kind = find_player(name)
    values: dict[str, Any] = {}
    written: dict[str, str] = {}
    for key, value in given:
        field = _field(key, name)
        if field in values:
            twice = "is given twice" if key == written[field] else f"cannot be combined with {written[field]}: same key"
            raise RlgoError(f"player {name}: {key} {twice}")
        written[field] = key
        try:
            values[field] = kind.all_keys()[field].read(key, value)
        except RlgoError as error:
            raise RlgoError(f"player {name}: {error}") from None
    return written, values


def _refuse_without_effect(kind: type[Keys], values: dict[str, Any], written: dict[str, str]) -> None:
    """Raise RlgoError for a key that has no effect given the others.

    written : the keys to check as they are written, by full names
    """
    for field in values.keys() - Keys.all_keys().keys() - {"strength"} if "strength" in values else ():
        raise RlgoError(f"player {kind.name}: strength cannot be combined with {field}")
    try:
        keys = _keys(kind, values)
    except RlgoError as error:
        raise RlgoError(f"player {kind.name}: {error}") from None
    for field, key in written.items():
        if field in kind.own and keys.name != kind.name:
            raise RlgoError(f"player {kind.name}: {key} has no effect here: {keys.name} plays in its place")
        if needed := keys.unmet(field):
            raise RlgoError(f"player {kind.name}: {key} has no effect here: it needs {needed}")


def _parse(text: str, types: set[type]) -> Any:
    """Read a value as it is written in a spec, as one of these types; as text if it is none of them."""
    if bool in types and text in _SWITCHES:
        return _SWITCHES[text]
    if list in types:
        return [] if text in ("none", "[]") else [_parse(part, {int}) for part in text.split("+")]
    for kind, read in ((int, parse_count), (float, float)):
        if kind in types:
            try:
                return read(text)
            except (RlgoError, ValueError):
                continue
    return text
