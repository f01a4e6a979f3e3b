"""Values that may be passed to a function by mistake."""

from __future__ import annotations

import math

import numpy as np

NONSENSE = (
    None, math.nan, math.inf, -1, 0, 3.7, 10**30, "x", "", "a\0b", [], {}, (), object(), True, b"x", 1j,
    np.zeros(3), np.zeros((2, 2)),
)  # fmt: skip
