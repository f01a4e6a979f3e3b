"""The menu of players and their keys, with a slider for a number that has a useful range.

Start reading at `players_menu`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rlgo.base.checks import choices_of, not_none, types_of
from train.play.web.access.specs import WEIGHT_KEYS
from train.players.keys import PLAYERS
from train.players.levels import STRENGTHS
from train.players.listing import KeyRow, players_table
from train.settings import spelled


class Slider(NamedTuple):
    """The useful range of a key."""

    low: float
    high: float
    is_log: bool = False


SLIDERS: dict[str, Slider] = {
    "strength": Slider(min(STRENGTHS), max(STRENGTHS)),
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
_NOT_OFFERED = ("long_save", "patterns", "workers", "root_parallel", "virtual_loss", "memory_mb")


def players_menu() -> list[dict[str, Any]]:
    """List all players with the keys that the page offers."""
    return [
        {
            "name": row.name,
            "summary": row.summary,
            "keys": [_menu_key(row.name, key) for key in row.keys if key.name not in _NOT_OFFERED],
        }
        for row in players_table()
    ]


def _menu_key(player: str, key: KeyRow) -> dict[str, Any]:
    name, setting = next((name, s) for name, s in PLAYERS[player].all_keys().items() if spelled(name) == key.name)
    choices = choices_of(setting.kind)
    return {
        "name": key.name,
        "aliases": list(key.aliases),
        "default": key.default,
        "expected": key.expected,
        "meaning": key.meaning,
        "kind": _kind(name, types_of(not_none(setting.kind)), choices),
        "choices": choices,
        "range": _range(name, setting.default),
    }


def _range(name: str, default: Any) -> dict[str, Any] | None:
    """Return the useful range of a key; None if it has no slider."""
    if name not in SLIDERS:
        return None
    low, high, is_log = SLIDERS[name]
    number = default if isinstance(default, int | float) and not isinstance(default, bool) else None
    return {"low": low, "high": high, "scale": "log" if is_log else "linear", "default": number}


def _kind(name: str, types: set[type], choices: list[str]) -> str:
    if name in WEIGHT_KEYS:
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
