"""The sequential test: by hand, by simulation, and as text."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rlgo.base.errors import RlgoError
from train.arena.sprt import Sprt, Verdict, judge, log_likelihood_ratios, parse_sprt


def test_the_log_likelihood_ratio() -> None:
    """Against normal densities."""
    means = [0.5, 1.0, 0.5, 0.0, 1.0, 1.0, 0.5, 0.75, 0.5, 1.0]
    sprt = Sprt(0, 60)
    s0, s1 = 0.5, 1 / (1 + 10 ** (-60 / 400))

    def log_density(s: float, n: int) -> float:
        v = np.var([*means[:n], 0.0, 1.0])  # with an opening won, and one lost
        return sum(-((y - s) ** 2) / (2 * v) for y in means[:n])

    expected = [log_density(s1, n) - log_density(s0, n) for n in range(1, 11)]
    ratios = log_likelihood_ratios(means, sprt)
    assert ratios == pytest.approx(expected)
    assert ratios[-1] > 0 > log_likelihood_ratios([1 - y for y in means], sprt)[-1]
    assert sprt.bounds == pytest.approx((-math.log(19), math.log(19)))


@pytest.mark.parametrize(("p", "accepted"), [(0.5, "H0"), (0.65, "H1")])
def test_the_test_errs_as_rarely_as_it_says(p: float, accepted: str) -> None:
    rng = np.random.default_rng(1)
    sprt = Sprt(0, 107)  # 65 %
    right = length = 0
    for _ in range(1000):
        verdict = judge(rng.binomial(2, p, 600) / 2, sprt)
        assert verdict.accepted
        right += verdict.accepted == accepted
        length += verdict.openings
    # 95 % of 1,000, less three standard errors
    assert right >= 930
    assert length / 1000 < 100


@pytest.mark.parametrize(
    ("elo0", "elo1", "h0", "h1"),
    [
        (0, 20, "not 20 Elo stronger", "more than 0 Elo stronger"),
        (-25, 25, "not 25 Elo stronger", "not 25 Elo weaker"),
        (-20, 0, "more than 0 Elo weaker", "not 20 Elo weaker"),
        (-20, -5, "more than 5 Elo weaker", "not 20 Elo weaker"),
    ],
)
def test_a_verdict_in_words(elo0: float, elo1: float, h0: str, h1: str) -> None:
    """A hypothesis that is accepted only excludes the other one."""
    for accepted, words in (("H0", h0), ("H1", h1), ("", "undecided")):
        text = Verdict(1.0, 7, accepted).describe(parse_sprt(f"elo0={elo0},elo1={elo1}"))
        assert text == (
            f"SPRT elo0={elo0}, elo1={elo1}: {words} after 7 openings (log-likelihood ratio 1.00, bounds -2.94, 2.94)"
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected elo0=NUMBER"),
        ("elo0=0,elo2=3", "expected elo0=NUMBER"),
        ("elo0=0,elo0=1,elo1=3", "expected elo0=NUMBER"),
        ("elo0=x,elo1=3", "expected elo0=NUMBER"),
        ("elo0=20,elo1=20", "expected elo0 < elo1"),
        ("elo0=nan,elo1=20", "sprt: elo0 = nan: expected a number from -1,000 to 1,000"),
        ("elo0=0,elo1=20,alpha=0.5", "alpha = 0.5: expected a number between 0 and 0.5"),
    ],
)
def test_tests_that_are_none(text: str, message: str) -> None:
    with pytest.raises(RlgoError, match=message):
        parse_sprt(text)
    assert parse_sprt("elo0=-5,elo1=15,beta=0.1") == Sprt(-5, 15, 0.05, 0.1)
