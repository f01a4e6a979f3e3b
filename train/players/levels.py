"""The levels of strength of the player `rlgo`: what `strength=N` and `--strength N` stand for.

Levels count simulations, so that a level plays alike on every machine. docs/engine.md says how strong they are, and
studies/levels.py measured it.
"""

from __future__ import annotations

from typing import Any

_NO_NETWORK: dict[str, Any] = {"network": "none"}
_NO_KNOWLEDGE: dict[str, Any] = {"heuristic": "none", "leaf_value": 0.0, **_NO_NETWORK}

# From a beginner to the full strength of the engine in about its normal time, in roughly equal steps of Elo.
LEVELS: dict[int, dict[str, Any]] = {
    1: {"simulations": 20, **_NO_KNOWLEDGE},
    2: {"simulations": 50, **_NO_KNOWLEDGE},
    3: {"simulations": 80, **_NO_KNOWLEDGE},
    4: {"simulations": 170, **_NO_KNOWLEDGE},
    5: {"simulations": 10, **_NO_NETWORK},
    6: {"simulations": 40, **_NO_NETWORK},
    7: {"simulations": 160, **_NO_NETWORK},
    8: {"simulations": 700, **_NO_NETWORK},
    9: {"simulations": 3_000, **_NO_NETWORK},
    10: {"simulations": 8_000},
}
