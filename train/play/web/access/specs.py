"""Player specs from the page, and their limits.

Start reading at `Specs.check`. On the command line, a spec may run a program, read and write any file and use any
amount of memory, as its user may anyway. A request may not.
"""

from __future__ import annotations

from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.base.resources import NO_NETWORK, SHIPPED_NETWORKS, SHIPPED_PATTERNS
from rlgo.play.player import Player
from train.play.web.access.files import WeightFiles
from train.play.web.options import Options
from train.players.keys import PLAYERS
from train.players.spec import Spec, make_player, parse_spec
from train.settings import nested_spec, split_spec

WEIGHT_KEYS = ("weights", "long_term")  # keys that name a weight file
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
        for key in WEIGHT_KEYS:
            if values.get(key, "") not in _NO_FILES:
                values[key] = str(self._weights.find(values[key], size).path)
        if values.get("patterns") and values["patterns"] not in SHIPPED_PATTERNS.files():
            raise RlgoError(f"patterns = {values['patterns'][:60]}: expected {' or '.join(SHIPPED_PATTERNS.files())}")
        networks = [*SHIPPED_NETWORKS.files(), NO_NETWORK]
        if values.get("network", NO_NETWORK) not in networks:
            raise RlgoError(f"network = {values['network'][:60]}: expected {' or '.join(networks)}")
        nested = values.get("prior_search")
        if nested:
            inner = nested_spec(nested)
            if inner == self._options.player or split_spec(inner)[0] not in _PRIOR_SEARCHES:
                raise RlgoError(f"prior_search = {nested[:60]}: expected a td_search or dyna2 player")
            given = self.check(inner, size).values
            if any(given.get(key, "") not in _NO_FILES for key in WEIGHT_KEYS):
                raise RlgoError(f"prior_search = {nested[:60]}: expected no weight file; it uses the best shipped ones")


def _expect_at_most(most: float, name: str, key: str, values: dict[str, Any]) -> None:
    value = values.get(key, 0)
    if not isinstance(value, str) and value > most:
        raise RlgoError(f"player {name}: {key} = {value:g}: expected at most {most:g}")
