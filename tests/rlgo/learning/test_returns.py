"""Lambda-returns against their definition as a sum, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rlgo.learning.returns import lambda_returns

NAN = math.nan
VALUES = [NAN, NAN, 0.5, 0.25, NAN, 0.75, 0.625, 0.5, NAN]  # of games with 4, 0, 4 and 1 moves
LENGTHS = np.array([4, 0, 4, 1])


def by_the_sum(later: list[float], z: float, lam: float) -> float:
    """(1 - lambda) sum of lambda^(n-1) v_t+n, and lambda^K z."""
    known = [v for v in later if not math.isnan(v)]
    if math.isnan(z):  # the last value is all that is known of the end
        known, z = known[:-1], known[-1] if known else NAN
    return sum((1 - lam) * lam**n * v for n, v in enumerate(known)) + lam ** len(known) * z


@pytest.mark.parametrize("lam", [0.0, 0.5, 0.95, 1.0])
def test_returns_are_their_definition(lam: float) -> None:
    z = np.array([1.0, 0.5, NAN, 0.0])
    found = lambda_returns(np.array(VALUES, np.float32), z, LENGTHS, lam)
    expected, first = [], 0
    for n, outcome in zip(LENGTHS, z, strict=True):
        values = VALUES[first : first + n]
        expected += [by_the_sum(values[t + 1 :], outcome, lam) for t in range(n)]
        first += n
    np.testing.assert_allclose(found, expected)


def test_by_hand() -> None:
    """z = 1 after 0.5, 0.25: the last is z, the one before 0.5 (0.25 + 1)."""
    found = lambda_returns(np.array([0.5, 0.5, 0.25]), np.array([1.0]), np.array([3]), 0.5)
    np.testing.assert_array_equal(found, [0.5 * 0.5 + 0.5 * 0.625, 0.625, 1.0])
