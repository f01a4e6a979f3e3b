"""Confidence intervals by hand, against their formulas, and against simulated matches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import binomtest, norm

from train.stats import (
    NORMAL_975,
    clustered_interval,
    design_effect,
    normal_half_width,
    student_quantile,
    wilson_interval,
)

# ---------------------------------------------------------------------------------------------
# Parts
# ---------------------------------------------------------------------------------------------


def test_quantiles_are_those_of_scipy() -> None:
    assert pytest.approx(norm.ppf(0.975), abs=1e-15) == NORMAL_975
    assert student_quantile(0.975, 4) == pytest.approx(2.776445, abs=1e-6)  # from a table


@pytest.mark.parametrize(("variance", "expected"), [(4.0, 2 * 1.959964), (0.0, 0.0), (-1e-18, 0.0)])
def test_half_the_width_of_a_normal_interval(variance: float, expected: float) -> None:
    assert normal_half_width(variance) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("wins", "n"), [(0, 5), (1, 5), (37, 100), (100, 100)])
def test_wilsons_interval_is_that_of_scipy(wins: int, n: int) -> None:
    theirs = binomtest(wins, n).proportion_ci(0.95, method="wilson")
    assert wilson_interval(wins / n, n) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(
    "openings",
    [[[1, 1]], [[1, 0]] * 5, [[1, 1], [0, 0]] * 10, [[1, 0.5], [0, 0.5], [1, 1], [1]], [[1, 1]] * 50, [[0], [1], [1]]],
)
def test_the_design_effect_is_that_of_the_win_rates_interval(openings: list[list[float]]) -> None:
    """`clustered_interval`, from its design effect on."""
    m, n = len(openings), sum(map(len, openings))
    p, n_eff, t = sum(map(sum, openings)) / n, n / design_effect(openings), float(stdtrit(m + 1, 0.975))
    half = t * math.sqrt(p * (1 - p) / n_eff + t * t / (4 * n_eff**2))
    expected = [(p + t * t / (2 * n_eff) + end) / (1 + t * t / n_eff) for end in (-half, half)]
    assert clustered_interval(openings) == pytest.approx(expected, abs=1e-12)


def test_design_effects_by_hand() -> None:
    assert design_effect([[1, 1], [0, 0]] * 1000) == pytest.approx(2, rel=1e-3)
    assert design_effect([[1, 0]] * 1000) == pytest.approx(4 / 1001)  # of the two further openings alone
    assert design_effect([[1], [0]] * 1000) == pytest.approx(1, rel=1e-2)


# ---------------------------------------------------------------------------------------------
# The interval of a match
# ---------------------------------------------------------------------------------------------


def test_the_interval_by_hand() -> None:
    """Three openings: won twice, won once, lost twice.

    p = 3/6. With the openings (1, 1) and (0, 0) added, m = 5, n = 10, p = 1/2, and the sums differ from
    n_i p = 1 by 1, 0, -1, 1, -1: v = 5/4 * 4 / 100 = 0.05, p (1 - p) / n = 0.025, so d = 2, n_eff = 6/2 = 3.
    t (4 degrees) = 2.776445, t^2 = 7.708647. Centre (0.5 + 7.708647 / 6) / (1 + 7.708647 / 3) = 0.5, half
    2.776445 * sqrt(0.25 / 3 + 7.708647 / 36) / 3.569549 = 2.776445 * 0.545401 / 3.569549 = 0.424221.
    """
    low, high = clustered_interval([[1, 1], [1, 0], [0, 0]])
    assert low == pytest.approx(0.5 - 0.424221, abs=2e-6)
    assert high == pytest.approx(0.5 + 0.424221, abs=2e-6)


def test_the_interval_knows_that_the_games_of_an_opening_are_alike() -> None:
    def width(clusters: list[list[float]]) -> float:
        low, high = clustered_interval(clusters)
        return high - low

    same = width([[1, 1], [0, 0]] * 100)
    independent = width([[1, 1], [0, 0], [1, 0], [0, 1]] * 50)
    opposite = width([[1, 0], [0, 1]] * 100)
    assert same == pytest.approx(independent * 2**0.5, rel=0.03)
    assert 0 < opposite < independent / 2


@pytest.mark.parametrize("openings", [1, 2, 10, 500])
@pytest.mark.parametrize("score", [0.0, 1.0, 0.5])
def test_the_interval_always_has_a_width(openings: int, score: float) -> None:
    low, high = clustered_interval([[score, score]] * openings)
    assert 0 <= low <= score <= high <= 1
    assert high - low > 0.1 / openings
    if score != 0.5:
        # Every opening counts as one game (rule of three: about 3 / n); t for the few.
        assert high - low > 3 / (openings + 3)


def test_a_better_result_never_lowers_the_interval() -> None:
    n = 50
    lows, highs = zip(*(clustered_interval([[1, 1]] * (n - k) + [[1, 0]] * k) for k in range(12)), strict=True)
    assert sorted(lows, reverse=True) == list(lows)
    assert sorted(highs, reverse=True) == list(highs)


@pytest.mark.parametrize("rate", [0.5, 0.9])
@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
def test_the_interval_covers(rate: float, alike: float) -> None:
    """The true rate lies inside in about 95 % of matches of 60 games, however alike those of an opening."""
    rng = np.random.default_rng(2)
    covered, trials = 0, 1000
    for _ in range(trials):
        scores = (rng.random((30, 2)) < rate).astype(float)
        copies = rng.random(30) < alike
        scores[copies, 1] = scores[copies, 0]
        low, high = clustered_interval(scores.tolist())
        covered += low <= rate <= high
    assert 0.93 < covered / trials < 0.995
