"""rlgo: reinforcement learning for computer Go.

The names below are loaded when first used, so that `import rlgo` is fast. Where to start reading: `board.py` for the
rules, `shapes.py` for the features, `value.py` for the value function, `td.py` for the update.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "AlphaBeta": "rlgo.alphabeta",
    "BLACK": "rlgo.board",
    "Budget": "rlgo.budget",
    "Dyna2": "rlgo.dyna2",
    "Game": "rlgo.game",
    "GameSession": "rlgo.session",
    "GreedyPlayer": "rlgo.player",
    "Learner": "rlgo.learner",
    "Learning": "rlgo.settings",
    "PASS": "rlgo.board",
    "Policy": "rlgo.settings",
    "RandomPlayer": "rlgo.player",
    "RlgoError": "rlgo.errors",
    "TableSearch": "rlgo.table_search",
    "TdSearch": "rlgo.td_search",
    "TwoPhase": "rlgo.two_phase",
    "ValueFunction": "rlgo.value",
    "WHITE": "rlgo.board",
    "Weights": "rlgo.weights",
    "from_vertex": "rlgo.coords",
    "load_sgf": "rlgo.sgf",
    "load_weights": "rlgo.weights",
    "make_features": "rlgo.shapes",
    "new_board": "rlgo.board",
    "play_fast": "rlgo.fast_games",
    "save_weights": "rlgo.weights",
    "shipped_weights": "rlgo.weights",
    "to_vertex": "rlgo.coords",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rlgo' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
