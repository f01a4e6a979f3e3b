"""Kinds of windows by name: what the states of their cells tell apart, and which cells they have.

Start reading at `kind_of`. A name such as "atari 2x3" has two parts: what the states of a cell tell apart, a name in
`SEES` ("stones" may be left out), and a form. The form is HxW, a name in `FORMS`, or a picture of the cells, x, with
rows between slashes, such as ".x/xx". If one cell is an o instead, windows may hang over the edge of the board, unless
this cell does. A kind includes its rotations and reflections.

Nothing heavy is imported, so that reading a config does not load numba.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from rlgo.base.errors import RlgoError, shown
from rlgo.base.settings import SIZES

SEES = {"stones": 1, "atari": 2, "liberties": 3}  # liberty classes: all alike; one or more; one, two or more liberties
FORMS = {"plus": ".x./xox/.x."}  # a point and its neighbours
MOST_CELLS, MOST_SIDE = 9, 5
MOST_SHAPES = 5**9  # configurations of one window: room for a 3x3 window that sees atari

WINDOWS_WORDS = (
    f'names such as "2x3", "atari plus" or "liberties .x/xx", up to {MOST_CELLS} cells (7 that see liberties) within '
    f"{MOST_SIDE}x{MOST_SIDE}"
)


class Form(NamedTuple):
    """The cells of a window that lie on the board, within the smallest rectangle around all of its cells."""

    height: int
    width: int
    cells: tuple[tuple[int, int], ...]  # (row, column) from the lowest, leftmost corner, in digit order: row by row


class Kind(NamedTuple):
    """A kind of window: the same cells anywhere on the board, turned and reflected as well."""

    name: str
    form: Form  # all cells
    n_classes: int  # liberty classes: 1 sees stones alone, 2 sees atari, 3 tells one, two and more liberties apart
    centre: tuple[int, int] | None  # the cell that must lie on the board; None: all must

    @property
    def n_states(self) -> int:
        """The states of a cell: empty, and a stone of either colour in each liberty class."""
        return 1 + 2 * self.n_classes

    @property
    def is_square(self) -> bool:
        """Whether it is one of the papers' windows, which `incremental.py` keeps up to date."""
        return self.name in _SQUARES

    def span(self, form: Form) -> int:
        """Return the number of configurations of a window of this form."""
        return self.n_states ** len(form.cells)


def square(k: int) -> str:
    """Return the name of k x k windows that see stones alone."""
    return f"{k}x{k}"


_SQUARES = [square(k) for k in SIZES]


@cache
def kind_of(name: str) -> Kind:
    """Return the kind of window that a name describes, under its canonical name. `RlgoError` if it describes none."""
    unknown = RlgoError(f"window {shown(name)}: expected {WINDOWS_WORDS}")
    sees, _, text = name.rpartition(" ")
    n_classes = SEES.get(sees or "stones", 0)
    sides = re.fullmatch(f"([1-{MOST_SIDE}])x([1-{MOST_SIDE}])", text)
    picture = "/".join(["x" * int(sides[2])] * int(sides[1])) if sides else FORMS.get(text, text)
    if not n_classes or not re.fullmatch("[./xo]+", picture) or len({len(row) for row in picture.split("/")}) > 1:
        raise unknown
    picture = _canonical(picture)
    rows = picture.split("/")[::-1]
    cells = tuple((j, i) for j, row in enumerate(rows) for i, cell in enumerate(row) if cell != ".")
    centre = next(((j, i) for j, i in cells if rows[j][i] == "o"), None)
    height, width = len(rows), len(rows[0])
    is_tight = {j for j, _ in cells} >= {0, height - 1} and {i for _, i in cells} >= {0, width - 1}
    is_small = max(height, width) <= MOST_SIDE and len(cells) <= MOST_CELLS
    if not is_tight or not is_small or picture.count("o") > 1 or (1 + 2 * n_classes) ** len(cells) > MOST_SHAPES:
        raise unknown
    known = {_canonical(of_form): form for form, of_form in FORMS.items()}
    form = known.get(picture, picture) if {".", "o"} & {*picture} else f"{height}x{width}"
    return Kind(form if n_classes == 1 else f"{sees} {form}", Form(height, width, cells), n_classes, centre)


def _canonical(picture: str) -> str:
    """Return the picture that stands for the eight positions of one: with the fewest rows, then the first in order."""
    rows = picture.split("/")
    turned = ["".join(column) for column in zip(*rows, strict=True)]
    flipped = [image for side in (rows, turned) for image in (side, side[::-1])]
    images = [*flipped, *([row[::-1] for row in image] for image in flipped)]
    return min(map("/".join, images), key=lambda image: (image.count("/"), image))


def check_windows(windows: object) -> tuple[str, ...]:
    """Return the canonical names of windows, each once and in the order of a feature set. `RlgoError` for others."""
    if not isinstance(windows, tuple | list) or not all(isinstance(name, str) for name in windows):
        raise RlgoError(f"windows = {shown(windows)}: expected {WINDOWS_WORDS}")
    kinds = {kind_of(name) for name in windows}
    in_order = sorted(kinds, key=lambda kind: (kind.n_classes, not kind.is_square, kind.name))
    return tuple(kind.name for kind in in_order)
