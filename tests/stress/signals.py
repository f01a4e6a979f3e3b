"""Ctrl-C and SIGTERM at random moments of all commands that take long."""

from __future__ import annotations

import functools
import json
import signal
import sys
from pathlib import Path
from typing import Any

import kill_experiment
import kill_match
import kill_sweep
import kill_tournament
import kill_training
import numpy as np
from harness import StressTest, main
from broken_runs import often
from kills import Variant, fork_fleets, trials_of

from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, save_weights
from rlgo.learning.collection import read_collection


def command(*argv: str) -> Variant:
    """A command on two weight files that keeps nothing until its end, when it writes result.json."""

    def write(place: Path) -> list[str]:
        features, rng = make_features(5, (1, 2)), np.random.default_rng(1)
        for name in "ab":
            theta = rng.normal(size=features.n_weights + 1).astype(np.float32)
            theta[0] = 0
            save_weights(place / f"{name}.npz", Weights(features, theta, 0.5, games=1))
        return [*argv, "--json", "result.json"]

    return Variant(write, left)


def left(place: Path) -> Any:
    """Return the result without times."""
    return {**json.loads((place / "result.json").read_text("utf-8")), "seconds": None}


def write_collection(_: Path) -> list[str]:
    return ["games", "mc_rave,sims=20,memory_mb=1", "--games=60", "--size=5", "--komi=2.5", "--out=games"]


def collected(place: Path) -> Any:
    """Return the games that were collected; `repr` has NaN equal itself."""
    return {name: repr(column.tolist()) for name, column in read_collection([place / "games"]).arrays.items()}


STRESS_TEST = StressTest(
    "signals",
    "Ctrl-C and SIGTERM at random moments of all commands that take long, then the same command",
    "status 130 or 143, no traceback, nothing lost, no process left",
    unit="signals",
    count=1_000,
    trials=functools.partial(
        trials_of,
        {
            "train, 1 worker": kill_training.run_with(1),
            "train, 2 workers": kill_training.run_with(2),
            "match": kill_match.match_with(1),
            "match, two games at a time": kill_match.match_with(2),
            "tournament": kill_tournament.tournament("swiss", 20),
            "sweep": Variant(kill_sweep.write, kill_sweep.left, faults=(fork_fleets, often)),
            "experiment": kill_experiment.experiment(kill_experiment.CURVES),
            "games": Variant(write_collection, collected),
            "match --fast": command("match", "greedy,weights=a.npz", "random", "--size=5", "--fast", "--games=10_000"),
            "eval": command("eval", "a.npz", "b.npz", "--games=4_000"),
        },
        numbers=(signal.SIGINT, signal.SIGTERM),
    ),
)

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
