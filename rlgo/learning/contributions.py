"""The value of a position, window by window: what each local shape adds to the logit.

Start reading at `contributions`. phi(s) . theta is a sum over windows (TD paper, equation 9), so a position's logit,
and the change that a move makes to it, can be decomposed exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.settings import SHARINGS, VALUES
from rlgo.features.incremental import new_shapes, reset
from rlgo.features.weights import Weights
from rlgo.features.windows import inside
from rlgo.go.board import BORDER
from rlgo.go.coords import from_row_col
from rlgo.learning.value import squash


class Window(NamedTuple):
    """A window of a position, and the contribution of its shape to the logit under one kind of sharing."""

    name: str  # of its kind, for instance "3x3" (`kinds.py`)
    row: int  # of its lower left corner, from 0 at A1
    col: int
    kind: str  # "LI", "LD", "inversion" or "none"
    weight: float  # for Black
    cells: np.ndarray  # uint8[k, k], rows from the bottom: EMPTY, BLACK or WHITE; BORDER outside the window
    configuration: int  # the shape (`shapes.py`)

    @property
    def block(self) -> str:
        """The block of weights that it belongs to, for instance ``3x3-LD``."""
        return f"{self.name}-{self.kind}"


class Change(NamedTuple):
    """A window before and after a change on the board."""

    before: Window
    after: Window

    @property
    def difference(self) -> float:
        """The increase of the logit."""
        return self.after.weight - self.before.weight


def contributions(weights: Weights, board: np.record) -> list[Window]:
    """Return the contribution of every window to the logit of a position, by window and then by kind of sharing.

    The sum of all weights is phi(s) . theta, which `value_of` turns into V(s). RlgoError for another board size.
    """
    f = weights.features
    if int(board.board_size) != f.size:
        raise RlgoError(f"weights for board size {f.size}: expected a board of that size")
    table = weights.table().black
    sh = new_shapes(1, f.size, f.capacity)[0]
    reset(board, sh, weights.table())
    windows = []
    for w, ((name, row, col), form) in enumerate(zip(f.windows, f.forms, strict=True)):
        configuration = int(sh.configuration[w])
        cells = np.full((form.height, form.width), BORDER, np.uint8)
        for j, i in form.cells:
            cells[j, i] = board.color[from_row_col(row + j, col + i, f.size)]
        row, col, cells = inside(row, col, cells, f.size)
        for kind in SHARINGS[f.sharing_of(name)]:
            weight = float(table[int(f.base(name, kind)[w]) + configuration])
            windows.append(Window(name, row, col, kind, weight, cells, configuration))
    return windows


def changes(weights: Weights, before: np.record, after: np.record) -> list[Change]:
    """Return the windows that differ between two positions; their differences add up to that of the logits."""
    pairs = zip(contributions(weights, before), contributions(weights, after), strict=True)
    return [Change(old, new) for old, new in pairs if old.configuration != new.configuration]


def logit_of(windows: list[Window]) -> float:
    """Return x = phi(s) . theta, the sum of the contributions of all windows."""
    return sum(window.weight for window in windows)


def value_of(weights: Weights, x: float) -> float:
    """Return V(s), P(Black wins), from x = phi(s) . theta."""
    return float(squash(VALUES[weights.value], x))


def strongest(windows: list[Window], top: int) -> list[Window]:
    """Return the `top` windows with the largest |weight|, leaving out weights of 0."""
    return sorted((w for w in windows if w.weight), key=lambda window: -abs(window.weight))[:top]
