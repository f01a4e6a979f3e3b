"""The levels of strength of the player `rlgo`: what `strength=N` and `--strength N` stand for.

Levels count simulations, so that a level plays alike on every machine. The weakest search without prior knowledge.
docs/engine.md says how strong they are, and docs/levels.py measured it.
"""

from __future__ import annotations

from typing import Any

# Their values of leaves are off, as they were when the levels were measured; the last has all that the engine has.
_MEASURED: dict[str, Any] = {"leaf_value": 0.0}

# From a beginner to all that the engine can do in about its normal time. Steps of equal Elo, more or less.
LEVELS: dict[int, dict[str, Any]] = {
    1: {"heuristic": "none", "simulations": 20, **_MEASURED},
    2: {"heuristic": "none", "simulations": 50, **_MEASURED},
    3: {"heuristic": "none", "simulations": 80, **_MEASURED},
    4: {"heuristic": "none", "simulations": 170, **_MEASURED},
    5: {"simulations": 25, **_MEASURED},
    6: {"simulations": 90, **_MEASURED},
    7: {"simulations": 250, **_MEASURED},
    8: {"simulations": 900, **_MEASURED},
    9: {"simulations": 3_000, **_MEASURED},
    10: {"simulations": 16_000},
}
