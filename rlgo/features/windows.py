"""Windows of points: where they lie, their symmetries, and which of their configurations are alike.

Start reading at `windows_of`. TD paper, Sections 3.1.2 and 3.1.3.

A *window* is a set of points: the cells of a `Kind` (see `kinds.py`), at one place of the board. Each cell has a
*state*, and the window's *configuration* is a number with one digit a cell. The papers' windows are k x k squares,
k = 1 to 3, whose cells are empty (0), black (1) or white (2). Others are irregular, or also see liberties: with
C liberty classes, a black stone has the state min(C, liberties of its chain), a white one C more. Cells may hang over
the edge (of a plus). Such a cell has one state only and needs no digit, so that windows which hang over the edge in
different ways have different *forms*.

The eight symmetries of a square have numbers, g = 0..7: bit 0 flips the rows, bit 1 flips the columns, bit 2 then
transposes.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from rlgo.features.kinds import Form, Kind
from rlgo.go.board import BLACK, BORDER, EMPTY, WHITE

# ---------------------------------------------------------------------------------------------
# Places
# ---------------------------------------------------------------------------------------------


def colors_of(states: np.ndarray, kind: Kind) -> np.ndarray:
    """Return the colours of a shape whose states `FeatureSet.shape_of` gave, BORDER for what is no part of it."""
    color_of = np.full(256, BORDER, np.uint8)
    color_of[: kind.n_states] = [EMPTY] + kind.n_classes * [BLACK] + kind.n_classes * [WHITE]
    return color_of[states]


def inside(row: int, col: int, cells: np.ndarray, size: int) -> tuple[int, int, np.ndarray]:
    """Cut off what lies over the edge of the board from the cells of a window with this anchor."""
    cells = cells[max(0, -row) : size - row, max(0, -col) : size - col]
    return max(0, row), max(0, col), cells


def windows_of(kind: Kind, size: int) -> list[tuple[Form, int, int]]:
    """List the windows of a kind on a board, row by row: form and anchor of each."""
    found = {}  # in order; windows that hang over the edge may be the same turned
    turned = {(move_form(g, kind.form), kind.centre and move_cell(g, *kind.centre, kind.form)) for g in range(8)}
    for (height, width, cells), centre in sorted(turned):
        over_row, over_col = (0, 0) if centre is None else (height - 1, width - 1)
        for row in range(-over_row, size - height + 1 + over_row):
            for col in range(-over_col, size - width + 1 + over_col):
                inside = tuple((j, i) for j, i in cells if 0 <= row + j < size and 0 <= col + i < size)
                if inside == cells or centre in inside:
                    found[Form(height, width, inside), row, col] = True
    return list(found)


# ---------------------------------------------------------------------------------------------
# Symmetries
# ---------------------------------------------------------------------------------------------


def move_point(g: int, row: int, col: int, size: int) -> tuple[int, int]:
    """Return where symmetry g of a size x size square takes the cell (row, col)."""
    row = size - 1 - row if g & 1 else row
    col = size - 1 - col if g & 2 else col
    return (col, row) if g & 4 else (row, col)


def move_cell(g: int, j: int, i: int, form: Form) -> tuple[int, int]:
    """Return where symmetry g takes a cell of a window, within the rectangle around its cells."""
    j = form.height - 1 - j if g & 1 else j
    i = form.width - 1 - i if g & 2 else i
    return (i, j) if g & 4 else (j, i)


@cache
def move_form(g: int, form: Form) -> Form:
    """Return the image of a form under symmetry g."""
    sides = (form.width, form.height) if g & 4 else (form.height, form.width)
    return Form(*sides, tuple(sorted(move_cell(g, j, i, form) for j, i in form.cells)))


def move_window(g: int, form: Form, row: int, col: int, size: int) -> tuple[Form, int, int]:
    """Return the image of a window: its form and anchor."""
    row = size - form.height - row if g & 1 else row
    col = size - form.width - col if g & 2 else col
    return (move_form(g, form), col, row) if g & 4 else (move_form(g, form), row, col)


# ---------------------------------------------------------------------------------------------
# Classes
# ---------------------------------------------------------------------------------------------


@cache
def _moved(form: Form, n_states: int) -> np.ndarray:
    """Map each configuration by each symmetry: int32[2, 8, n_states^cells], [1] with colours inverted.

    Symmetries that change the form give zeros.
    """
    cells, n_classes = form.cells, n_states // 2
    digits = np.arange(n_states ** len(cells))[:, None] // n_states ** np.arange(len(cells)) % n_states
    inverted = np.array([0, *range(n_classes + 1, n_states), *range(1, n_classes + 1)])[digits]
    out = np.zeros((2, 8, len(digits)), np.int32)
    for g in range(8):
        if move_form(g, form) == form:
            power = np.array([n_states ** cells.index(move_cell(g, j, i, form)) for j, i in cells])
            out[0, g] = digits @ power
            out[1, g] = inverted @ power
    return out


@cache
def _classes(form: Form, n_states: int, symmetries: tuple[int, ...], inversion: bool) -> tuple[np.ndarray, int]:
    """Group the configurations of one window into classes under some symmetries, which keep its form.

    Returns (int32[configurations], number of classes): sign * (class + 1), 0 for neutral and all-empty ones.
    Classes are numbered by their smallest configuration.
    """
    moved = _moved(form, n_states)[:, symmetries]
    same = moved[0].min(0)
    if inversion:
        other = moved[1].min(0)
        canonical = np.minimum(same, other)
        sign = np.where(same < other, 1, -1)
        neutral = same == other
    else:
        canonical, sign = same, np.ones_like(same)
        neutral = canonical == EMPTY
    names, number = np.unique(canonical[~neutral], return_inverse=True)
    classes = np.zeros(canonical.size, np.int32)
    classes[~neutral] = sign[~neutral] * (number + 1)
    return classes, len(names)


def window_classes(kind: str, n_states: int, form: Form, row: int, col: int, size: int) -> tuple[np.ndarray, int]:
    """Group the configurations of a canonical window under a kind of sharing (for LI, anywhere); see `_classes`."""
    if kind == "LI":
        kept = tuple(i for i in range(8) if move_form(i, form) == form)
    elif kind == "LD":
        kept = tuple(i for i in range(8) if move_window(i, form, row, col, size) == (form, row, col))
    else:
        kept = (0,)
    return _classes(form, n_states, kept, kind != "none")
