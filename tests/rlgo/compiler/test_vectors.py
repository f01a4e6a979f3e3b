"""Vector instructions, against numpy."""

from __future__ import annotations

import numpy as np

from rlgo.compiler.jit import njit
from rlgo.compiler.vectors import least_of_eight


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
