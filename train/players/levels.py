"""The levels of strength of the player `rlgo`: what `strength=N` and `--strength N` stand for.

Levels count simulations, so that a level plays alike on every machine. The weakest search without prior knowledge.
docs/engine.md says more.
"""

from __future__ import annotations

from typing import Any

# From a beginner to all that the engine can do in about its normal time. Steps of equal Elo, more or less.
LEVELS: dict[int, dict[str, Any]] = {
    1: {"heuristic": "none", "simulations": 20},
    2: {"heuristic": "none", "simulations": 50},
    3: {"heuristic": "none", "simulations": 80},
    4: {"heuristic": "none", "simulations": 170},
    5: {"simulations": 25},
    6: {"simulations": 90},
    7: {"simulations": 250},
    8: {"simulations": 900},
    9: {"simulations": 3_000},
    10: {"simulations": 16_000},
}
