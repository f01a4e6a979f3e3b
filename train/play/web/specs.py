"""Player specs from the page: their limits, and menus of players and keys.

Start reading at `Specs.check`. On the command line, a spec may run a program, read and write any file and use any
amount of memory, as its user may anyway. A request may not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mcts.settings import NO_NETWORK
from rlgo.base.checks import choices_of, not_none, types_of
from rlgo.base.errors import RlgoError
from rlgo.base.resources import list_shipped_networks, list_shipped_patterns, shipped_softmax_policy
from rlgo.play.player import Player
from train.play.web.files import WeightFiles
from train.play.web.options import Options
from train.players.keys import PLAYERS
from train.players.levels import LEVELS
from train.players.listing import KeyRow, PlayerRow, players_table
from train.players.spec import Spec, make_player, parse_spec
from train.settings import nested_spec, spelled, split_spec

_WEIGHTS = ("weights", "long_term")  # keys that name a weight file
_NO_FILES = ("", "none")
_PRIOR_SEARCHES = ("td_search", "dyna2")
# The largest values of keys that take memory, or during which a search does not check the clock.
_MOST: dict[str, dict[str, int]] = {
    "": {"workers": 1, "table_bits": 20, "delay": 10, "max_moves": 10_000},
    "table_search": {"simulations": 20_000},
    "open_spiel": {"simulations": 1_000},
}


class Specs:
    """The players that the page may use.

    Parameters
    ----------
    options : those of the server; the values of its own spec are trusted
    weights : the weight files that specs may name
    """

    def __init__(self, options: Options, weights: WeightFiles) -> None:
        self._options, self._weights = options, weights

    def check(self, text: str, size: int) -> Spec:
        """Read a spec for boards of one size, with its files found and its memory bounded.

        Raises RlgoError for a bad spec, and for one that a request may not use.
        """
        trusted = text == self._options.player
        if not trusted and split_spec(text)[0] not in PLAYERS:
            raise RlgoError(f"player {text[:60]!r}: expected one of {', '.join(PLAYERS)}")
        spec = parse_spec(text)
        if spec.name not in PLAYERS:
            return spec
        own = parse_spec(self._options.player)
        trusted_values = own.values.items() if own.name == spec.name else ()
        chosen = {key: value for key, value in spec.values.items() if (key, value) not in trusted_values}
        fields, most = PLAYERS[spec.name].all_keys(), self._options.limits.memory_mb
        _expect_at_most(most, spec.name, "memory_mb", chosen)
        self._confine(spec.name, chosen, size)
        values = {**spec.values, **chosen}
        if "memory_mb" in fields:
            values.setdefault("memory_mb", min(most, fields["memory_mb"].default))
        return Spec(spec.name, values)

    def make(self, text: str, size: int) -> Player:
        """Make the player of a spec."""
        return make_player(self.check(text, size), size)

    def _confine(self, name: str, values: dict[str, Any], size: int) -> None:
        """Check values that a request chose, and replace names of weight files by their paths."""
        if values.get("long_save"):
            raise RlgoError(f"player {name}: long_save: not available here, because it writes a file")
        for key, most in {**_MOST[""], **_MOST.get(name, {})}.items():
            _expect_at_most(most, name, key, values)
        for key in _WEIGHTS:
            if values.get(key, "") not in _NO_FILES:
                values[key] = str(self._weights.find(values[key], size).path)
        if values.get("patterns") and values["patterns"] not in list_shipped_patterns():
            raise RlgoError(f"patterns = {values['patterns'][:60]}: expected {' or '.join(list_shipped_patterns())}")
        shipped = shipped_softmax_policy().stem
        if values.get("policy_file") not in (None, "", shipped):
            raise RlgoError(f"policy_file = {values['policy_file'][:60]}: expected {shipped}")
        networks = [*list_shipped_networks(), NO_NETWORK]
        if values.get("network", NO_NETWORK) not in networks:
            raise RlgoError(f"network = {values['network'][:60]}: expected {' or '.join(networks)}")
        nested = values.get("prior_search")
        if nested:
            inner = nested_spec(nested)
            if inner == self._options.player or split_spec(inner)[0] not in _PRIOR_SEARCHES:
                raise RlgoError(f"prior_search = {nested[:60]}: expected a td_search or dyna2 player")
            given = self.check(inner, size).values
            if any(given.get(key, "") not in _NO_FILES for key in _WEIGHTS):
                raise RlgoError(f"prior_search = {nested[:60]}: expected no weight file; it uses the best shipped ones")


def _expect_at_most(most: float, name: str, key: str, values: dict[str, Any]) -> None:
    value = values.get(key, 0)
    if not isinstance(value, str) and value > most:
        raise RlgoError(f"player {name}: {key} = {value:g}: expected at most {most:g}")


# ---------------------------------------------------------------------------------------------
# Menus
# ---------------------------------------------------------------------------------------------


class Slider(NamedTuple):
    """The useful range of a key."""

    low: float
    high: float
    is_log: bool = False


SLIDERS: dict[str, Slider] = {
    "strength": Slider(min(LEVELS), max(LEVELS)),
    "simulations": Slider(100, 100_000, True),
    "seconds": Slider(0, 60),
    "c": Slider(0, 2),
    "first_play_urgency": Slider(0, 2),
    "rave_k": Slider(10, 100_000, True),
    "rave_bias": Slider(0, 0.5),
    "prior_n": Slider(0, 500),
    "prior_n_amaf": Slider(0, 500),
    "expand_after": Slider(1, 50),
    "epsilon": Slider(0, 1),
    "lambda_": Slider(0, 1),
    "alpha": Slider(0.001, 10, True),
    "alpha_half": Slider(10, 100_000, True),
    "policy_plies": Slider(0, 40),
    "learn_plies": Slider(1, 100),
    "depth": Slider(1, 8),
    "temperature": Slider(0, 1),
    "pruning": Slider(0, 5),
    "truncate": Slider(0, 50),
    "resign": Slider(0, 0.5),
    "long_alpha": Slider(0.001, 10, True),
    "long_lambda": Slider(0, 1),
    "long_epsilon": Slider(0, 1),
}
_NOT_OFFERED = ("long_save", "patterns", "policy_file", "workers", "root_parallel", "virtual_loss", "memory_mb")


def players_menu() -> list[dict[str, Any]]:
    """List all players with the keys that the page offers, as ``GET /api/players`` answers."""
    return [
        {"name": row.name, "summary": row.summary, "keys": [_menu_key(row.name, key) for key in _offered(row)]}
        for row in players_table()
    ]


def _offered(row: PlayerRow) -> list[KeyRow]:
    return [key for key in row.keys if key.name not in _NOT_OFFERED]


def _menu_key(player: str, key: KeyRow) -> dict[str, Any]:
    kind = PLAYERS[player]
    name, setting = next((name, setting) for name, setting in kind.all_keys().items() if spelled(name) == key.name)
    slider, choices = SLIDERS.get(name), choices_of(setting.kind)
    number = setting.default if isinstance(setting.default, int | float) and type(setting.default) is not bool else None
    return {
        "name": key.name,
        "aliases": list(key.aliases),
        "default": key.default,
        "expected": key.expected,
        "meaning": key.meaning,
        "kind": _kind(name, types_of(not_none(setting.kind)), choices),
        "choices": choices,
        "range": None
        if slider is None
        else {
            "low": slider.low,
            "high": slider.high,
            "scale": "log" if slider.is_log else "linear",
            "default": number,
        },
    }


def _kind(name: str, types: set[type], choices: list[str]) -> str:
    if name in _WEIGHTS:
        return "weights"
    if bool in types:
        return "switch"
    if list in types:
        return "sizes"
    if float in types:
        return "number"
    if int in types:
        return "integer"
    return "choice" if choices else "text"
