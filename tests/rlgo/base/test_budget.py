"""Budgets: what ends a search, and how it is cut into slices. The tests set the clock."""

from __future__ import annotations

import pytest

from rlgo.base import budget as budgets
from rlgo.base.budget import SLICE_SECONDS, Budget, check_budget, never, shorter
from rlgo.base.errors import RlgoError


class Time:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch) -> Time:
    clock = Time()
    monkeypatch.setattr(budgets, "time", clock)
    return clock


def run(budget: Budget, time: Time, seconds_each: float, **settings) -> list[int]:
    """The slices of a search whose simulations take so long each."""
    slices = []
    for n in budget.slices(**settings):
        slices.append(n)
        time.now += n * seconds_each
    return slices


def test_simulations_end_a_search(time):
    budget = Budget(simulations=1_000)
    slices = run(budget, time, 1e-6)
    assert sum(slices) == budget.done == 1_000
    assert budget.left() == 0
    assert budget.seconds_left() is None
    assert budget.ends()


def test_time_ends_a_search(time):
    budget = Budget(seconds=1.0)
    slices = run(budget, time, 1e-4)
    assert 1.0 <= budget.elapsed < 1.0 + 2e-4  # not by a slice: the last one is as long as the time that is left
    assert budget.left() is None
    assert budget.seconds_left() == 0.0
    # Slices grow to what takes 10 ms, and stay there.
    assert slices[:4] == [1, 4, 16, 64]
    assert set(slices[5:-2]) <= {99, 100}


def test_the_first_limit_ends_a_search(time):
    assert sum(run(Budget(simulations=10, seconds=1e9), time, 1.0)) == 10
    assert sum(run(Budget(simulations=10**9, seconds=5.0), time, 1.0)) == 5


def test_who_stops_a_search_is_asked_after_each_slice(time):
    asked = []
    budget = Budget(stop=lambda: asked.append(budget.done) or len(asked) == 3)
    assert run(budget, time, 1e-6) == [1, 4, 16]
    assert asked == [1, 5, 21]
    # The last of the simulations ends it by itself.
    asked.clear()
    assert run(Budget(simulations=1, stop=lambda: asked.append(0) or False), time, 1e-6) == [1]
    assert asked == []


def test_there_is_always_one_slice(time):
    assert run(Budget(simulations=0), time, 1.0) == [0]
    assert run(Budget(seconds=0.0), time, 1.0) == [1]
    assert run(Budget(stop=lambda: True), time, 1.0) == [1]


def test_slices_have_a_least_size(time):
    assert run(Budget(simulations=100), time, 1e-9, least=20) == [20, 80]
    assert set(run(Budget(seconds=100.0), time, 5.0, least=2)) == {2}


def test_a_slow_simulation_makes_a_search_late_by_itself_alone(time):
    """On a board where each takes 3 ms, as on a slow machine."""
    budget = Budget(seconds=0.5)
    assert max(run(budget, time, 3e-3)) <= SLICE_SECONDS / 3e-3 + 1
    assert budget.elapsed <= 0.503 + 1e-9


def test_the_time_is_reviewed_from_half_of_it_on(time):
    asked = []

    def review(answer: float) -> float:
        asked.append(time.now - 100.0)
        return answer

    short = Budget(seconds=1.0, review=lambda: review(0.6))
    run(short, time, 1e-4)
    assert asked[0] == pytest.approx(0.5, abs=SLICE_SECONDS)
    assert short.elapsed == pytest.approx(0.6, abs=1e-3)
    time.now = 100.0
    long = Budget(seconds=1.0, review=lambda: review(1.7))
    run(long, time, 1e-4)
    assert long.elapsed == pytest.approx(1.7, abs=1e-3)
    assert long.seconds == 1.7


def test_seconds_that_are_left(time):
    budget = Budget(seconds=3.0)
    time.now += 1.0
    assert (budget.elapsed, budget.seconds_left()) == (1.0, 2.0)
    assert not budget.ends()
    time.now += 5.0
    assert budget.seconds_left() == 0.0
    assert budget.ends()


def test_no_limit_at_all(time):
    budget = Budget()
    time.now += 1e6
    budget.done = 10**12
    assert not budget.ends()
    assert not never()
    assert (budget.left(), budget.seconds_left(), budget.depth) == (None, None, None)


def test_shorter_limits():
    assert shorter(None, 2.0, 1.0) == 1.0
    assert shorter(None, None) is None


@pytest.mark.parametrize(
    ("simulations", "seconds", "message"),
    [
        (None, None, r"expected a number of simulations \(sims\), or seconds, or both"),
        (0, None, "simulations = 0: expected an integer from 1 to 1,000,000,000"),
        (None, 0.0, "seconds = 0.0: expected a positive number"),
        (10, -1.0, "seconds = -1.0: expected a positive number"),
    ],
)
def test_budgets_out_of_range(simulations, seconds, message):
    with pytest.raises(RlgoError, match=message):
        check_budget(simulations, seconds)
