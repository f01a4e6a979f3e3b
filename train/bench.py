"""The speed table: `rlgo bench`.

Start reading at `main`. Everything runs on one core (the process is pinned to it), warm, in several runs of
which the median counts. Rates are per second of process CPU time, so that a busy neighbour disturbs them less;
`warm_start_s` and `train_scaling_2_workers`, which needs two free cores, are what a clock on the wall shows.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

RUNS = 5

# One compiled episode, from the start of a new interpreter on.
_FIRST_EPISODE = """
from rlgo.learner import Learner
from rlgo.shapes import make_features
from train.config import load_config
from train.run import make_learner
make_learner(load_config("paper"), 1).play(1)
"""

# The peak memory of a process that trains, in MB.
_PEAK_MEMORY = """
import resource
from train.config import load_config
from train.run import make_learner
make_learner(load_config("paper"), 1).learn(1000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def main(scale: float = 1.0) -> dict[str, Any]:
    """Measure everything, print a table, and return it: flat keys to numbers, and "machine".

    scale : of the work behind each number; below 1 the numbers are rough.
    """
    result: dict[str, Any] = {}
    cpus = _pin()
    try:
        for numbers in (
            _playouts(9, _scaled(100_000, scale)),
            _playouts(19, _scaled(20_000, scale)),
            _selfplay(_scaled(5_000, scale)),
            _training(_scaled(20_000, scale)),
            _start(),
            _memory(),
            _scaling(_scaled(10_000, scale), cpus),
        ):
            for key, value in numbers:
                result[key] = value
                print(f"{key:28s} {value:>16,.2f}" if value < 100 else f"{key:28s} {value:>16,.0f}", flush=True)
    finally:
        if cpus:
            os.sched_setaffinity(0, cpus)
    result["machine"] = _machine()
    print("  ".join(f"{key} {value}" for key, value in result["machine"].items()))
    return result


def _scaled(n: int, scale: float) -> int:
    return max(1, round(n * scale))


Numbers = Iterator[tuple[str, float]]


def _rates(run: Callable[[], tuple[float, ...]]) -> list[float]:
    """Median rates of what `run` counts, over RUNS runs; one more, first, to compile and to warm up."""
    run()
    rates = []
    for _ in range(RUNS):
        start = time.process_time()
        counts = run()
        seconds = time.process_time() - start
        rates.append([n / seconds for n in counts])
    return [statistics.median(column) for column in zip(*rates, strict=True)]


def _playouts(size: int, n: int) -> Numbers:
    from rlgo.board import new_boards, zobrist
    from rlgo.jit import make_rng
    from rlgo.rollout import playouts

    boards, rng = new_boards(2, size), make_rng(1)

    def run() -> tuple[float, ...]:
        playouts(boards, 7.5, n, zobrist(size), rng)
        return (n,)

    yield f"playouts_{size}x{size}_per_s", _rates(run)[0]


def _learner(workers: int = 1) -> Any:
    """A learner with the paper's settings, in the middle of a long run."""
    from rlgo.learner import Learner
    from rlgo.weights import load_weights, shipped_weights
    from train.config import load_config
    from train.run import make_learner

    plain = make_learner(load_config("paper"), 1)
    theta = load_weights(shipped_weights(9)).theta
    return Learner(plain.features, plain.learning, plain.policy, plain.komi, seed=1, theta=theta, workers=workers)


def _selfplay(n: int) -> Numbers:
    learner = _learner()

    def run() -> tuple[float, ...]:
        tally = learner.play(n)
        return n, float(tally.evaluations)

    games, evaluations = _rates(run)
    yield "selfplay_games_per_s", games
    yield "selfplay_evals_per_s", evaluations


def _training(n: int) -> Numbers:
    learner = _learner()

    def run() -> tuple[float, ...]:
        learner.learn(n)
        return (n,)

    yield "train_games_per_s", _rates(run)[0]


def _scaling(n: int, cpus: set[int]) -> Numbers:
    """How much faster two workers learn than one, in turns, so that the machine is in the same mood for both."""
    if len(cpus) < 2:
        return
    learners = [_learner(workers) for workers in (1, 2)]
    ratios = []
    os.sched_setaffinity(0, cpus)
    try:
        for _ in range(RUNS + 1):
            rates = []
            for learner, games in zip(learners, (n, 2 * n), strict=True):
                start = time.perf_counter()
                learner.learn(games)
                rates.append(games / (time.perf_counter() - start))
            ratios.append(rates[1] / rates[0])
    finally:
        os.sched_setaffinity(0, {min(cpus)})
    yield "train_scaling_2_workers", statistics.median(ratios[1:])


def _start() -> Numbers:
    seconds = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", _FIRST_EPISODE], check=True, stderr=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    yield "warm_start_s", statistics.median(seconds[1:])


def _memory() -> Numbers:
    run = [sys.executable, "-c", _PEAK_MEMORY]
    yield "train_memory_mb", float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)


def _pin() -> set[int]:
    """Pin the process to one of its cores, where the system can; returns the cores it had."""
    if not hasattr(os, "sched_setaffinity"):
        return set()
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    return cpus


def _machine() -> dict[str, str]:
    import numba

    from rlgo.resources import version

    cpu = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            cpu = next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {
        "cpu": cpu,
        "cores": str(os.cpu_count()),
        "system": platform.system(),
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": np.__version__,
        "rlgo": version(),
    }
