"""Vector instructions, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from rlgo.compiler.jit import njit
from rlgo.compiler.vectors import LANES, PRODUCT_ROWS, least_of_eight, linear_map, multiply_rows


@njit
def _compiled(table, rows, dead):
    return least_of_eight(table, rows, dead)


def test_least_of_eight():
    rng = np.random.default_rng(1)
    table = rng.integers(0, 2, (20, 8)).astype(np.uint32) << rng.integers(0, 31, (20, 8)).astype(np.uint32)
    table[:5] = 0  # ties
    table[5] = 2**31 - 1
    counts = set()
    for _ in range(500):
        rows, dead = tuple(rng.integers(0, 20, 6).astype(np.uint64)), int(rng.integers(0, 255))
        columns = [np.bitwise_or.reduce([table[r, k] for r in rows]) for k in range(8) if not dead >> k & 1]
        least = min(columns)
        where = sum(
            1 << k for k in range(8) if not dead >> k & 1 and np.bitwise_or.reduce([table[r, k] for r in rows]) == least
        )
        for function in (_compiled, least_of_eight):
            assert tuple(map(int, function(table, rows, np.uint32(dead)))) == (least, where)
        counts.add(where.bit_count())
    assert {1, 2} <= counts


_MATRIX = ((2, -1, -2, 1, 0), (0, 0.5, 0, -1, 0), (0, 0, 0, 0, 1))
_map = linear_map(_MATRIX)


@njit
def _mapped(x, y):
    _map(x, y)


@pytest.mark.parametrize("function", [_mapped, _map])
def test_a_linear_map_combines_rows(function):
    x = np.random.default_rng(1).random((20, LANES), np.float32)
    y = np.zeros((12, LANES), np.float32)
    function((x, 3 * LANES, 2 * LANES), (y, LANES, 4 * LANES))
    expected = np.zeros_like(y)
    expected[[1, 5, 9]] = np.array(_MATRIX) @ x[[3, 5, 7, 9, 11]]
    np.testing.assert_allclose(y, expected, atol=1e-6)


@njit
def _multiplied(a, b, n, c):
    multiply_rows(a, b, n, c)


@pytest.mark.parametrize("function", [_multiplied, multiply_rows])
@pytest.mark.parametrize("n", [1, 7])
def test_rows_of_a_product(function, n):
    rng = np.random.default_rng(2)
    a, b = rng.random((PRODUCT_ROWS + 1, 10), np.float32), rng.random((n, 3 * LANES), np.float32)
    c = np.zeros((PRODUCT_ROWS + 2, 2 * LANES), np.float32)
    function((a, 10, 10), (b, LANES, 3 * LANES), n, (c, 3 * LANES, 2 * LANES))
    expected = np.zeros_like(c)
    expected[1 : PRODUCT_ROWS + 1, LANES:] = a[1:, :n] @ b[:, LANES : 2 * LANES]
    np.testing.assert_allclose(c, expected, atol=1e-6)
