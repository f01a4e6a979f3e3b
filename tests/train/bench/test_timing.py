"""What all parts of the speed table measure with: medians without the warm-up, and cores that are given back."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from train.bench import timing
from train.bench.timing import median, on_all, pinned, rates, speedup


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Both clocks show the one number of the list."""
    now = [0.0]
    clocks = SimpleNamespace(process_time=lambda: now[0], perf_counter=lambda: now[0])
    monkeypatch.setattr(timing, "time", clocks)
    return now


def test_a_median_leaves_out_the_warm_up() -> None:
    measured = iter([1000.0, 5.0, 1.0, 4.0, 2.0, 3.0])
    assert timing.RUNS == 5
    assert median(lambda: next(measured)) == 3
    assert list(measured) == []


def test_rates_are_medians_of_each_count(clock: list[float]) -> None:
    seconds = iter([1000.0, 1.0, 2.0, 4.0, 8.0, 16.0])

    def run() -> tuple[float, ...]:
        clock[0] += next(seconds)
        return 8.0, 32.0

    assert rates(run) == [2, 8]
    assert list(seconds) == []


def test_a_speedup_is_the_second_rate_by_the_first(clock: list[float]) -> None:
    def count(seconds: float) -> float:
        clock[0] += seconds
        return 6.0

    assert speedup(set(), [lambda: count(3.0), lambda: count(2.0)]) == 1.5


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no process")
def test_cores_are_given_back_after_an_error() -> None:
    before = os.sched_getaffinity(0)

    def fail() -> None:
        with pinned() as cpus:
            assert cpus == before
            assert os.sched_getaffinity(0) == {min(before)}
            try:
                with on_all(cpus):
                    assert os.sched_getaffinity(0) == before
                    raise ZeroDivisionError
            finally:
                assert os.sched_getaffinity(0) == {min(before)}

    with pytest.raises(ZeroDivisionError):
        fail()
    assert os.sched_getaffinity(0) == before
