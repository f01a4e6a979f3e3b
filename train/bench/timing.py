"""What all parts measure with: repeated runs, their medians, and the cores that the process may use.

Start reading at `rates`.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

RUNS = 5
Numbers = Iterator[tuple[str, float]]  # keys of the table, each with what was measured


def rates(run: Callable[[], tuple[float, ...]]) -> list[float]:
    """Return the median rates, per second of CPU time, of what `run` counts, after a run that compiles and warms up."""
    run()
    found = []
    for _ in range(RUNS):
        start = time.process_time()
        counts = run()
        seconds = time.process_time() - start
        found.append([n / seconds for n in counts])
    return [statistics.median(column) for column in zip(*found, strict=True)]


def median(measure: Callable[[], float]) -> float:
    """Return the median of RUNS measurements, after one that compiles and warms up."""
    measure()
    return statistics.median(measure() for _ in range(RUNS))


def speedup(cpus: set[int], counts: Sequence[Callable[[], float]]) -> float:
    """Return the median ratio of the second count's rate to the first's, in wall-clock time on all of `cpus`.

    The two take turns, so that changes in the load of the machine affect both alike.
    """

    def ratio() -> float:
        found = []
        for count in counts:
            start = time.perf_counter()
            n = count()
            found.append(n / (time.perf_counter() - start))
        return found[1] / found[0]

    with on_all(cpus):
        return median(ratio)


@contextmanager
def pinned() -> Iterator[set[int]]:
    """Pin the process to one of its cores where the system allows it; yield the cores that it had, and has again."""
    cpus = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()
    if cpus:
        os.sched_setaffinity(0, {min(cpus)})
    try:
        yield cpus
    finally:
        if cpus:
            os.sched_setaffinity(0, cpus)


@contextmanager
def on_all(cpus: set[int]) -> Iterator[None]:
    """Let the process run on all of `cpus`, and pin it to one again; without any, it is not pinned at all."""
    if cpus:
        os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        if cpus:
            os.sched_setaffinity(0, {min(cpus)})
