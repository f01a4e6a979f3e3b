"""Clocks: the time left, running out of time, and the time for the next move."""

from __future__ import annotations

import re

import pytest

from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, WHITE
from rlgo.go.clock import Clock, TimeSettings, parse_time, seconds_for


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("60", TimeSettings(60)),
        ("0.5", TimeSettings(0.5)),
        ("60+30/5", TimeSettings(60, 30, 5)),
        ("0+30/5", TimeSettings(0, 30, 5)),
        ("60+3x10", TimeSettings(60, 10, 1, 3)),
    ],
)
def test_times_are_read_and_written(text: str, settings: TimeSettings) -> None:
    assert parse_time(text) == settings
    assert str(settings) == text


@pytest.mark.parametrize(
    "text", ["", "0", "x", "-1", "60+", "60+30", "60+30/0", "60+0x10", "60+3x", "60+0/5", "1e9", "nan"]
)
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(RlgoError, match=re.escape(f"time {text!r}: expected seconds")):
        parse_time(text)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stones": 5}, "period = 0 cannot be combined with stones = 5"),
        ({"period": 10, "stones": 5, "periods": 3}, "periods = 3 cannot be combined with stones = 5"),
        ({"period": 10, "periods": 3}, "periods = 3 cannot be combined with stones = 0"),
    ],
)
def test_overtime_that_is_none(settings: dict[str, int], message: str) -> None:
    with pytest.raises(RlgoError, match=message):
        validated(TimeSettings(60, **settings))


def test_without_settings_there_is_no_limit() -> None:
    clock = Clock()
    clock.set_left(BLACK, 1)
    clock.spend(BLACK, 1e6, None)
    assert clock.budget(BLACK, 9) is None
    assert clock.allows(BLACK) is None
    assert not clock.has_lost(BLACK)


def test_absolute_time() -> None:
    clock = Clock(TimeSettings(10))
    clock.spend(BLACK, 9.5)
    assert clock.left(BLACK) == (0.5, 0)
    assert clock.allows(BLACK) == 0.5
    assert clock.left(WHITE) == (10, 0)
    clock.spend(BLACK, 0.5)
    assert not clock.has_lost(BLACK)  # to the second
    clock.spend(BLACK, 0.1)
    assert clock.has_lost(BLACK)
    assert not clock.has_lost(WHITE)
    assert clock.left(BLACK) == (0, 0)
    clock.restart()
    assert not clock.has_lost(BLACK)
    assert clock.left(BLACK) == (10, 0)


def test_canadian_overtime() -> None:
    clock = Clock(TimeSettings(10, 6, 3))
    assert clock.allows(BLACK) == 16
    clock.spend(BLACK, 11)  # a second of the first period, and a move of it
    assert clock.left(BLACK) == (5, 2)
    assert clock.allows(BLACK) == 5
    clock.spend(BLACK, 2)
    assert clock.left(BLACK) == (3, 1)
    clock.spend(BLACK, 2.5)  # the third move: another period begins
    assert clock.left(BLACK) == (6, 3)
    assert not clock.has_lost(BLACK)
    clock.spend(BLACK, 6.5)
    assert clock.has_lost(BLACK)


def test_byo_yomi() -> None:
    clock = Clock(TimeSettings(10, 5, 1, 3))
    assert clock.allows(BLACK) == 25
    clock.spend(BLACK, 9)
    assert clock.left(BLACK) == (1, 0)
    assert clock.allows(BLACK) == 16
    clock.spend(BLACK, 3)  # two seconds of the first period, which begins anew
    assert clock.left(BLACK) == (5, 3)
    clock.spend(BLACK, 12)  # two periods overstepped: one is left
    assert clock.left(BLACK) == (5, 1)
    assert clock.allows(BLACK) == 5
    assert not clock.has_lost(BLACK)
    clock.spend(BLACK, 4.9)
    assert clock.left(BLACK) == (5, 1)
    clock.spend(BLACK, 5.1)
    assert clock.has_lost(BLACK)


def test_what_the_controller_tells_counts() -> None:
    clock = Clock(TimeSettings(60, 30, 5))
    clock.spend(WHITE, 20)
    clock.set_left(WHITE, 55)
    assert clock.left(WHITE) == (55, 0)
    clock.set_left(WHITE, 12, 2)
    assert clock.left(WHITE) == (12, 2)
    byo_yomi = Clock(TimeSettings(60, 10, 1, 3))
    byo_yomi.set_left(WHITE, 8, 2)  # of byo-yomi, the periods that are left
    assert byo_yomi.left(WHITE) == (8, 2)
    assert byo_yomi.allows(WHITE) == 18


def test_main_time_is_spent_exponentially() -> None:
    """Every move gets the same share of what is left, but for the delays of the moves to come, 1/20 s each."""
    clock = Clock(TimeSettings(1000))
    for n in range(60):
        left, budget = clock.left(BLACK)[0], clock.budget(BLACK, 9)
        assert budget == pytest.approx((left - 0.05 * max(20.25, 60.75 - n)) * 4 / 81)
        clock.spend(BLACK, budget)
    assert clock.left(BLACK)[0] == pytest.approx(1000 * (77 / 81) ** 60, rel=0.1)


@pytest.mark.parametrize(("size", "main"), [(9, 4), (13, 8), (19, 20)])
def test_short_games_have_time_from_the_first_move_on(size: int, main: float) -> None:
    clock = Clock(TimeSettings(main))
    budgets = []
    for _ in range(size * size // 2):
        budgets.append(clock.budget(BLACK, size))
        clock.spend(BLACK, budgets[-1] + 0.02, budgets[-1])
    assert min(budgets) > 0
    assert clock.left(BLACK)[0] < 0.65 * main


@pytest.mark.parametrize(
    ("main", "moves", "delay"), [(60, 81, 0.1), (60, 81, 0.3), (30, 60, 0.1), (30, 120, 0.02), (300, 100, 0.5)]
)
def test_time_is_never_over(main: float, moves: int, delay: float) -> None:
    """On a machine that answers so much later than it was to."""
    clock = Clock(TimeSettings(main))
    for _ in range(moves):
        budget = clock.budget(BLACK, 9)
        assert budget is not None
        clock.spend(BLACK, budget + delay, budget)
        assert not clock.has_lost(BLACK)
    assert clock.left(BLACK)[0] > 0


def test_hard_moves_take_twice_as_long_as_a_rule_and_easy_ones_half() -> None:
    clock = Clock(TimeSettings(1000))
    budget, spare = clock.budget(BLACK, 9), clock.spare(BLACK, 9)
    assert spare == budget
    assert seconds_for(budget, spare, 0.0) == 2 * budget
    assert seconds_for(budget, spare, 10.0) == pytest.approx(budget / 2)
    times = [seconds_for(budget, spare, gap) for gap in (0.0, 0.01, 0.03, 0.1, 1.0)]
    assert times == sorted(times, reverse=True)
    assert Clock().spare(BLACK, 9) == 0


@pytest.mark.parametrize(
    "settings", [TimeSettings(60), TimeSettings(5, 10, 5), TimeSettings(5, 2, 1, 3), TimeSettings(0, 10, 25)]
)
def test_time_is_never_over_though_all_moves_are_hard(settings: TimeSettings) -> None:
    clock = Clock(settings)
    for _ in range(81):
        budget = clock.budget(BLACK, 9)
        assert budget is not None
        most = budget + clock.spare(BLACK, 9)
        if clock.left(BLACK)[1]:
            assert most == budget  # overtime has nothing to spare
        clock.spend(BLACK, most + 0.1, most)
        assert not clock.has_lost(BLACK)
    assert clock.left(BLACK)[1] == settings.periods or not settings.periods


def test_one_sides_delays_are_not_the_others() -> None:
    clock = Clock(TimeSettings(60))
    fresh = clock.budget(WHITE, 9)
    clock.spend(BLACK, 6.0, 2.0)
    assert clock.budget(WHITE, 9) == fresh
    assert clock.budget(BLACK, 9) == 0
    late = clock.budget(BLACK, 9)
    clock.restart()  # the machine is the same in the next game
    assert clock.budget(BLACK, 9) == late
    assert clock.budget(WHITE, 9) == fresh
    own = Clock(TimeSettings(60))
    own.spend(BLACK, 6.0)  # who looks at the clock itself
    assert own.budget(BLACK, 9) == pytest.approx((54 - 0.05 * 59.75) * 4 / 81)


@pytest.mark.parametrize("settings", [TimeSettings(5, 10, 5), TimeSettings(5, 2, 1, 3), TimeSettings(0, 10, 25)])
def test_overtime_is_never_over(settings: TimeSettings) -> None:
    clock = Clock(settings)
    for _ in range(200):
        budget = clock.budget(BLACK, 9)
        assert budget is not None
        assert budget <= 3
        clock.spend(BLACK, budget + 0.1, budget)
        assert not clock.has_lost(BLACK)
    left = clock.left(BLACK)
    assert left[1] == 3 if settings.periods else left[1] > 0


def test_overtime_gives_each_move_its_share() -> None:
    clock = Clock(TimeSettings(0, 30, 5))
    clock.set_left(BLACK, 20, 4)
    assert clock.budget(BLACK, 9) == pytest.approx(20 / 4 - 0.05)
    clock.set_left(BLACK, 5, 1)  # nothing behind it forgives
    assert clock.budget(BLACK, 9) == pytest.approx(5 - 0.05 - 0.5)
    # Little main time is worth less than the pace of overtime.
    clock.set_left(BLACK, 0.5, 0)
    assert clock.budget(BLACK, 9) == pytest.approx(0.9 * 30 / 5 - 0.05)


def test_new_settings_do_not_forget_the_delays() -> None:
    """GoGui states the time anew before every game; the machine is as slow as it was."""
    clock = Clock(TimeSettings(60))
    clock.spend(BLACK, 3.5, 3.0)
    clock.set(None)
    assert clock.budget(BLACK, 9) is None
    clock.set(TimeSettings(60))
    assert clock.left(BLACK) == (60, 0)
    assert clock.budget(BLACK, 9) == pytest.approx((60 - 0.5 * 81) * 4 / 81)


def test_a_long_stall_counts_as_a_delay_of_a_second() -> None:
    clock = Clock(TimeSettings(600))
    clock.spend(BLACK, 40.0, 2.0)
    assert clock.budget(BLACK, 9) == pytest.approx((560 - 1.0 * 80) * 4 / 81)
