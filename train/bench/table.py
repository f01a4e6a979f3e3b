"""What each key of the speed table measures, and all measurements in turn.

Start reading at `main`. The process is pinned to one core. Each rate is the median of several runs, after a warm-up run
that also compiles. The cold start and memory are measured once. Rates are per second of CPU time, which other processes
disturb less than wall-clock time. Start-up and the speed-up by a second worker or thread, which needs two free cores,
are measured in wall-clock time. Each measurement imports the code that it measures, so that `KEYS` can be read without
loading numba.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from itertools import chain
from typing import Any

from rlgo.base.errors import RlgoError
from train.bench import measures
from train.bench.timing import Numbers, pinned
from train.console import markdown
from train.provenance import cpu_name, versions

# What each key measures, and the fastest C++ program that does the same, on one core of a comparable machine.
KEYS: dict[str, tuple[str, str]] = {
    "playouts_9x9_per_s": ("uniform random playouts from the empty board", "libego 52,600"),
    "playouts_19x19_per_s": ("the same on 19x19", "libego 9,800"),
    "mogo_playouts_9x9_per_s": ("playouts of MoGo's policy", "Pachi 17,200"),
    "selfplay_games_per_s": ("ε-greedy self-play with fixed weights", ""),
    "selfplay_evals_per_s": ("the same: afterstates considered", "original RLGO 1,080,000"),
    "train_games_per_s": ("the same, learning", "original RLGO 335"),
    "tdsearch_T6_uniform_3x3_sims_per_s": (
        "TD search, 1x1 to 3x3, uniformly random after T = 6, learning from 6 states",
        "original RLGO 10,600",
    ),
    "tdsearch_T6_uniform_2x2_sims_per_s": ("the same, 1x1 to 2x2", ""),
    "tdsearch_T6_mogo_2x2_sims_per_s": (
        "the same with MoGo's policy, learning from all states",
        "original RLGO 7,900",
    ),
    "tdsearch_T6_mogo_2x2_first6_sims_per_s": ("the same, learning from 6 states", ""),
    "tdsearch_throughout_3x3_sims_per_s": (
        "TD search, 1x1 to 3x3, the learned policy throughout",
        "original RLGO 1,660",
    ),
    "dyna2_T6_mogo_3x3_sims_per_s": (
        "Dyna-2, 1x1 to 3x3, MoGo's policy after T = 6, learning from all states",
        "original RLGO 4,100",
    ),
    "dyna2_T6_mogo_3x3_first6_sims_per_s": ("the same, learning from 6 states", ""),
    "alphabeta_nodes_per_s": ("alpha-beta from a middle game: positions evaluated", "original RLGO 4,100,000"),
    "planes_9x9_per_s": ("positions encoded as the 17 planes of AlphaGo Zero", ""),
    "random_steps_9x9_per_s": ("moves of 256 games in one batch of positions, drawn by numpy among the legal ones", ""),
    "read_games_9x9_per_s": ("positions of games in shuffled minibatches of 256: planes, symmetries, targets", ""),
    "network_16_9x9_per_s": ("positions that a network of three blocks of 16 channels evaluates", ""),
    "network_32_9x9_per_s": ("the same with 32 channels", ""),
    "network_48_9x9_per_s": ("the same with 48 channels", ""),
    "network_32_19x19_per_s": ("the same with 32 channels on 19x19", ""),
    "pattern_moves_per_s": ("candidate moves described: tactics, ladders, shapes", ""),
    "uct_uniform_sims_per_s": ("UCT, uniformly random playouts", "Pachi 37,300"),
    "uct_mogo_sims_per_s": ("UCT, MoGo's policy", "Fuego 10,200"),
    "mcrave_mogo_sims_per_s": ("MC-RAVE, MoGo's policy", "Pachi 14,300"),
    "heuristic_mcrave_mogo_sims_per_s": ("the same with the prior `Q_rlgo`", "Fuego 8,300"),
    "mc_rave_patterns_sims_per_s": ("heuristic MC-RAVE with learned patterns and values of leaves", ""),
    "rlgo_sims_per_s": ("the default player: PUCT with a network", ""),
    "mcts_bytes_per_stored_move": ("memory of the tree", ""),
    "uct_uniform_19x19_sims_per_s": ("UCT on 19x19, uniformly random playouts", ""),
    "uct_mogo_19x19_sims_per_s": ("UCT on 19x19, MoGo's policy", ""),
    "mcrave_mogo_19x19_sims_per_s": ("MC-RAVE on 19x19, MoGo's policy", ""),
    "heuristic_mcrave_mogo_19x19_sims_per_s": ("the same with the prior `Q_rlgo`", ""),
    "warm_start_s": ("from process start to the first episode, cache filled", ""),
    "cold_first_move_s": ("from process start to the default player's first move, cache empty", ""),
    "train_memory_mb": ("peak memory of a process that trains", ""),
    "train_scaling_2_workers": ("learning: two workers against one", ""),
    "tdsearch_scaling_2_threads": ("TD search, 1x1 to 2x2: two threads against one", ""),
    "dyna2_scaling_2_threads": ("Dyna-2, 1x1 to 3x3: two threads against one", ""),
    "mcts_scaling_2_threads": ("MC-RAVE on one tree: two threads against one", ""),
}


def main(scale: float = 1.0, player: str = "greedy", parts: Sequence[str] = ()) -> dict[str, Any]:
    """Measure everything, print a table, and return it.

    Parameters
    ----------
    scale : factor for the amount of work; below 1, the numbers are rough
    player : the player for the cold start, its first move with all compiling; `rlgo bench` takes the default player
    parts : what to measure, by the names of `parts_of`; empty: everything

    Returns
    -------
    each key with its number, and "machine" with a description of the machine

    Raises
    ------
    RlgoError : for an unknown part
    """
    result: dict[str, Any] = {}
    with pinned() as cpus:
        numbers = parts_of(scale, player, cpus)
        for part in parts:
            if part not in numbers:
                raise RlgoError(f"{part}: expected one of {', '.join(numbers)}")
        for part in dict.fromkeys(parts) or numbers:
            measured = dict[str, float]()
            for key, value in numbers[part]:
                measured[key] = value
                print(f"{key:38s} {number_text(value):>16s}", flush=True)
            if part in parts and not measured:
                raise RlgoError(f"{part}: expected two cores or more, and a system that can pin a process to one")
            result |= measured
    result["machine"] = _machine()
    print("  ".join(f"{key} {value}" for key, value in result["machine"].items()))
    return result


def parts_of(scale: float, player: str, cpus: set[int]) -> dict[str, Numbers]:
    """Return all measurements by name, in the order of `KEYS`; cpus are the cores of the process."""

    def scaled(n: int) -> int:
        return max(1, round(n * scale))

    return {
        "playouts": chain(
            measures.playouts(9, scaled(100_000)),
            measures.playouts(19, scaled(20_000)),
            measures.playouts(9, scaled(20_000), mogo=True),
        ),
        "selfplay": measures.selfplay(scaled(5_000)),
        "training": measures.training(scaled(20_000)),
        "td_search": measures.td_searches(scaled(20_000)),
        "alphabeta": measures.alphabeta(scaled(20_000_000)),
        "planes": chain(
            measures.positions(scaled(100)), measures.steps(scaled(1_000)), measures.minibatches(scaled(1_000))
        ),
        "network": measures.networks(scaled(5_000)),
        "patterns": measures.moves_of_patterns(scaled(2_000)),
        "tree_search": chain(measures.tree_searches(9, scaled(20_000)), measures.tree_searches(19, scaled(5_000))),
        "warm_start": measures.warm_start(),
        "cold_start": measures.cold_start(player),
        "memory": measures.memory(),
        "scaling": chain(
            measures.learning_by_workers(scaled(10_000), cpus),
            measures.searches_by_threads(scaled(20_000), cpus),
        ),
    }


def number_text(value: float) -> str:
    """Format a number with its significant digits."""
    if value < 1:
        return f"{value:.3g}"
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def markdown_table(result: dict[str, Any]) -> str:
    """Return a result of `main`, or of an earlier version with fewer keys, as a table in Markdown."""
    rows = [("key", "what", "measured", "peer")]
    rows += [(f"`{k}`", what, number_text(result[k]), peer) for k, (what, peer) in KEYS.items() if k in result]
    machine = ", ".join(f"{key} {value}" for key, value in result["machine"].items())
    return f"{markdown(rows)}\nMachine: {machine}."


def _machine() -> dict[str, str]:
    return {"cpu": cpu_name(), "cores": str(os.cpu_count()), "system": platform.system(), **versions()}
