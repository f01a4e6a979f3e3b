"""MoGo's 3x3 patterns as a look-up table (Gelly, Wang, Munos & Teytaud 2006). The policy is in `moves/rollout.py`."""

from __future__ import annotations

from functools import cache

import numpy as np

from rlgo.compiler.jit import inline

# MoGo's patterns, the candidate at the centre. X one colour, O the other, . empty, ? anything, x not X, o not O,
# # off the board; with all rotations, reflections and colour swaps. The last of `_X_ONLY` is for X to play alone.
_PATTERNS = (
    "XOX ... ???",  # hane
    "XO. ... ?.?",
    "XO? X.. x.?",
    "XO? O.o ?o?",  # cut
    "XO? O.X ???",
    "?X? O.O ooo",
    "X.? O.? ###",  # edge
    "OX? X.O ###",
    "?X? x.O ###",
    "?XO x.x ###",
    "?OX X.O ###",
)
_X_ONLY = ("XOO ... ?.?",)
_MEANS = {"X": "X", "O": "O", ".": ".", "#": "#", "?": "XO.#", "x": "O.#", "o": "X.#"}


@cache
def mogo_patterns() -> np.ndarray:
    """Return MoGo's patterns, uint8[65536], by the code of a point's eight neighbours.

    Bit 1 of an entry is set if the pattern is for Black to play, bit 2 if it is for White. The code has two bits for
    the colour of each neighbour, lowest first: the row below from left to right, left, right, the row above.
    """
    digit = {"X": 1, "O": 2, ".": 0, "#": 3}
    table = np.zeros(1 << 16, np.uint8)
    for pattern, swaps in [(p, (False, True)) for p in _PATTERNS] + [(p, (False,)) for p in _X_ONLY]:
        rows = np.array([list(row) for row in pattern.split()])
        for square in (np.rot90(turned, k) for turned in (rows, rows.T) for k in range(4)):
            cells = [_MEANS[c] for i, c in enumerate(square.ravel()) if i != 4]
            codes = np.zeros(1, np.int64)
            for place, colors in enumerate(cells):
                codes = (codes[:, None] + np.array([digit[c] << 2 * place for c in colors])).ravel()
            swapped = _swap_colors(codes)
            # X is Black; then X is White. Patterns for both to play hold for either colour to play.
            table[codes] |= 3 if len(swaps) == 2 else 1
            table[swapped] |= 3 if len(swaps) == 2 else 2
    table.flags.writeable = False
    return table


def _swap_colors(codes: np.ndarray) -> np.ndarray:
    """Exchange the colours in each code: 1 becomes 2 and 2 becomes 1; 0 and 3 stay."""
    low, high = codes & 0x5555, codes >> 1 & 0x5555
    return high | low << 1


@inline
def neighbourhood(b, p):
    """Return the code of p's eight neighbours for `mogo_patterns`; `rollout.py` has a faster way for many points."""
    stride = b.stride
    code = np.int64(0)
    shift = 0
    for q in (
        p - stride - 1, p - stride, p - stride + 1, p - 1, p + 1, p + stride - 1, p + stride, p + stride + 1,
    ):  # fmt: skip
        code |= np.int64(b.color[np.uint64(q)]) << shift
        shift += 2
    return code
