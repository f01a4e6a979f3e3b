"""Local shape features: all configurations of all windows of some kinds, and how they share weights.

Start reading at `make_features`. TD paper, Sections 3.1.2 and 3.1.3, Table 1.

A *shape* is a configuration at a window (see `windows.py`). In any position exactly one shape of each window is active,
so that phi(s) has one entry a window. Shapes that are related by a symmetry share one weight, theta_i, with a sign:

============  ======================================================================  =================
block         symmetries                                                              9x9, k = 1, 2, 3
============  ======================================================================  =================
LI            rotation, reflection, colour inversion, translation                     1, 8, 1418
LD            rotation and reflection of the whole board, colour inversion            15, 344, 61517
inversion     colour inversion                                                        81, 2560, 482209
none          none                                                                    162, 5120, 964418
============  ======================================================================  =================

Colour inversion flips the sign. A shape that some symmetry maps onto its own inversion is *neutral*: its weight would
be its own negative. Neutral shapes are removed, and so are all-empty shapes, under any sharing. The weights of a block
are numbered by ascending canonical index, which is the smallest raw index in the class. The raw index is
anchor * 3^(k*k) + configuration, where the anchor counts from A1 along the rows, and the digit of the cell (row j,
column i) of a window is worth 3^(j*k + i). (This is the numbering of the original RLGO.) Windows of several forms,
which share no weights, are ordered by form first; the digits of their cells count row by row.

Layout for compiled code
------------------------
A `Table` is theta written out for look-up: the weight of every shape, with its sign, so that the value of a
shape is `table[ld_base[window] + configuration] + table[li_base[window] + configuration]`: its
location-dependent and its location-independent weight (absent blocks read zeros).

Under LI and LD, windows that a symmetry of the board maps onto each other read the same part of the table: each window
lists its cells in the order of the *canonical* window of its orbit, so that its configuration is an index into the
canonical window's part. On 9x9 that leaves 10 parts of 3^9 instead of 49, which fit into the second-level cache.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.errors import RlgoError, shown
from rlgo.base.settings import SHARINGS, SIZES, board_size
from rlgo.features.kinds import MOST_CELLS, MOST_SIDE, Form, check_windows, kind_of, square
from rlgo.features.windows import (
    inside,
    move_cell,
    move_point,
    move_window,
    window_classes,
    windows_of,
)
from rlgo.go.coords import from_row_col
from rlgo.go.rules import padded_points

WINDOWS_OVER_POINT = 14  # windows over one point: 1 + 4 + 9
GROUP = 4  # places of a weight are listed in groups of this size, so that branches in loops over them predict well
OVER_ORBITS = ("LI+LD", "LI", "LD")  # the kinds of sharing over rotations and reflections
_MOST_PLACES = 2**31 - 2**22  # of a table, so that their numbers fit into 32 bits
_PAD = 2 * 3**9  # tables end in zeros: cells that hold a stone are looked up too, and ignored


def max_windows(size: int, capacity: int = 0) -> int:
    """Count the windows that records reserve space for: squares of all sizes, and others, see `FeatureSet.capacity`."""
    return sum((size - k + 1) ** 2 for k in SIZES) + capacity * 4 * size * size


class Block(NamedTuple):
    """The weights of one kind of window under one kind of sharing: theta[start:stop]."""

    name: str  # for instance "3x3-LD"
    window: str  # name of the kind of window, for instance "3x3"
    kind: str  # "LI", "LD", "inversion" or "none"
    start: int
    stop: int


@cache
def geometry_dtype(size: int, one_table: bool = False, capacity: int = 0) -> np.dtype:
    """Return the record type that describes the windows to compiled code (W windows, P padded points).

    Fields
    ------
    n_windows : windows in use; n_squares : those that are squares, which come first; n_cells[W] : cells of each
    n_double : windows with two tables, which come first too
    capacity : see `FeatureSet.capacity`
    cell_point[W, 9] : the point of each cell, in digit order
    cell_slot[W, 9] : the window's place in `Shapes.part`: slot at that point * P + point
    n_slots[P] : squares over each point; slot_window[P, 14] : which
    slot_power[P, 14] : 3^digit of the point in each
    near[P], near_rows[P] : first point, and number of rows, of the square of points that share a square
    ld_base[W], li_base[W] : where each window's two tables start
    one_table : an empty field that exists only if the features have no LI block, so that `li_base` need not be read

    Only with irregular windows (Q cells of all of them, at most):
    n_classes, fewest_classes : the most liberty classes, C, that one of them sees, and the fewest
    window_at[Q], power_at[Q] : the irregular windows over each point, and n_states^digit of the point in each
    slots_at[3 * P + 1] : where those with c classes over point p start in the last two, at [3p + c - 1]
    around_at[P + 1], around : the same for the points that share such a window with each point
    """
    windows, points = max_windows(size, capacity), padded_points(size)
    slots = capacity * 4 * size * size * MOST_CELLS
    others = [
        ("n_classes", np.int32),
        ("fewest_classes", np.int32),
        ("slots_at", np.int32, (3 * points + 1,)),
        ("around_at", np.int32, (points + 1,)),
        ("power_at", np.int32, (slots,)),
        ("window_at", np.uint16, (slots,)),
        ("around", np.uint16, (points * (2 * MOST_SIDE - 1) ** 2,)),
    ]
    # It comes first, because numba mistakes a record that only has more fields at its end for the shorter one.
    fields = [
        *([("one_table", np.int64)] if one_table else []),
        *(others if capacity else []),
        ("n_windows", np.int32),
        ("n_squares", np.int32),
        ("n_double", np.int32),
        ("capacity", np.int32),
        ("n_cells", np.int32, (windows,)),
        ("ld_base", np.int32, (windows,)),
        ("li_base", np.int32, (windows,)),
        ("near", np.int32, (points,)),
        ("near_rows", np.int32, (points,)),
        ("n_slots", np.int32, (points,)),
        ("slot_power", np.int32, (points, WINDOWS_OVER_POINT)),
        ("slot_window", np.uint16, (points, WINDOWS_OVER_POINT)),
        ("cell_point", np.uint16, (windows, 9)),
        ("cell_slot", np.uint16, (windows, 9)),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


def with_others(capacity: int) -> str:
    """Return what to add to the name of kernels of feature sets with irregular windows."""
    return " with irregular windows" + (f" (capacity {capacity})" if capacity > 1 else "") if capacity else ""


class Classes(NamedTuple):
    """Which shapes share each weight, in the form that learning needs; n weights, K places in the table.

    theta is stored from index 1 on. Neutral and absent shapes point to theta[0], which is not a weight.
    """

    classes: np.ndarray  # int32[K]: sign * index into theta
    start: np.ndarray  # int32[n + 2]: the places of weight i are members[start[i]:start[i + 1]] ...
    members: np.ndarray  # int32: ... as place, or ~place where the sign is -1, in groups of GROUP


class Table(NamedTuple):
    """A value function as compiled code reads it: the weight of every shape, written out by window.

    The two players of a game may have different weights; usually both fields are the same array.
    """

    g: np.record  # `geometry_dtype`: where each window reads
    black: np.ndarray  # float32[K]: the weights by which Black chooses
    white: np.ndarray  # float32[K]: the weights by which White chooses


class Part(NamedTuple):
    """The table of one canonical window (kind "LD", for all sharings but LI), or of all windows of a form ("LI")."""

    start: int
    name: str
    kind: str
    form: Form
    row: int
    col: int


class FeatureSet:
    """The local shape features of one board size: windows, shared weights, and their numbering.

    Attributes
    ----------
    size : board size N
    names : canonical names of the kinds of windows, squares, then irregular windows, first those that see stones alone
    sizes : sides of the squares, for instance (1, 2, 3)
    others : the names of irregular windows
    sharing : a key of `SHARINGS`
    liberty_sharing : how windows that see liberties share weights, a key of `SHARINGS`
    blocks : the `Block`s, in order
    n_weights : unique weights (theta without its index 0)
    n_features : raw features, the configurations of all windows
    windows : list of (name, row, col): the kind of every window, in order, and its anchor, the lowest, leftmost corner
        of the rectangle around its cells
    forms : the `Form` of every window
    capacity : how many irregular windows records have space for, in units of four windows a point: 0, or a
        power of two, so that few feature sets need to be compiled anew
    geometry : `geometry_dtype(size)` record, for `incremental.py`
    parts : the `Part`s of the table, in order
    class_of : int32[K], by place in the table: sign * index into theta; 0 for neutral shapes
    classes : `Classes`, for learning shared weights (made on first use)

    >>> import rlgo
    >>> features = rlgo.make_features(9, sizes=(1, 2), sharing="LI")
    >>> features.n_weights, len(features.windows)
    (9, 145)
    """

    def __init__(self, size: int, names: tuple[str, ...], sharing: str, liberty_sharing: str):
        self.size, self.names, self.sharing, self.liberty_sharing = size, names, sharing, liberty_sharing
        self._kinds = [kind_of(name) for name in names]
        self.sizes = tuple(k for k in SIZES if square(k) in names)
        self.others = names[len(self.sizes) :]
        placed = [(kind.name, *window) for kind in self._kinds for window in windows_of(kind, size)]
        self.windows = [(name, row, col) for name, _, row, col in placed]
        self.forms = [form for _, form, _, _ in placed]
        self.n_features = sum(kind_of(name).span(form) for name, form, _, _ in placed)
        self.blocks: list[Block] = []
        one_table = all("LI" not in SHARINGS[self.sharing_of(k)] or self._has_one_table(k) for k in names)
        units = -(-sum(name in self.others for name, _, _ in self.windows) // (4 * size * size))
        self.capacity = 1 << (units - 1).bit_length() if units else 0
        if max_windows(size, self.capacity) > 2**16:  # then their numbers do not fit into 16 bits
            raise RlgoError(f"{self.name}: {len(self.windows):,} windows, expected fewer")
        self.geometry = np.zeros(1, geometry_dtype(size, one_table, self.capacity))[0]
        self.parts: list[Part] = []
        self._place_windows()
        self.class_of = self._number_weights()
        self.n_weights = self.blocks[-1].stop - 1
        self._list_slots()
        if self.others:
            self._list_other_slots()

    def __repr__(self) -> str:
        return f"<FeatureSet {self.name}: {self.n_weights:,} weights of {self.n_features:,} shapes>"

    @property
    def name(self) -> str:
        """The name for users and files, for instance ``9x9 1x1+2x2+3x3 LI+LD, atari 2x2 + atari plus LI``."""
        plain = [kind.name for kind in self._kinds if kind.n_classes == 1]
        liberties = [kind.name for kind in self._kinds if kind.n_classes > 1]
        parts = [f"{'+'.join(plain)} {self.sharing}"] if plain else []
        parts += [f"{' + '.join(liberties)} {self.liberty_sharing}"] if liberties else []
        return f"{self.size}x{self.size} {', '.join(parts)}"

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of `make_features`."""
        return self.size, self.sizes, self.sharing, self.others, self.liberty_sharing

    @property
    def kernels(self) -> str:
        """What compiled code depends on, for messages about compiling, for instance ``9x9``."""
        return f"{self.size}x{self.size}" + with_others(self.capacity)

    @property
    def sees_liberties(self) -> bool:
        """Whether some windows see liberties."""
        return self._kinds[-1].n_classes > 1

    def sharing_of(self, name: str) -> str:
        """Return how windows of a kind share weights."""
        return self.sharing if kind_of(name).n_classes == 1 else self.liberty_sharing

    def _has_one_table(self, name: str) -> bool:
        """Whether windows of a kind read one table only; those without liberties always have a place for LI."""
        return kind_of(name).n_classes > 1 and len(SHARINGS[self.liberty_sharing]) == 1

    def base(self, name: str, sharing: str) -> np.ndarray:
        """Return where the tables of windows of a kind start, under one of their kinds of sharing: int32[W]."""
        return self.geometry.li_base if sharing == "LI" and not self._has_one_table(name) else self.geometry.ld_base

    def expand(self, theta: np.ndarray) -> np.ndarray:
        """Write theta, float32[n_weights + 1] (index 0 is unused), out by shape: float32[K].

        `RlgoError` if it is of another shape.
        """
        self.check(theta)
        theta = theta.astype(np.float32)
        theta[0] = 0.0
        weights = theta[np.abs(self.class_of)]
        np.negative(weights, where=self.class_of < 0, out=weights)
        return weights

    def check(self, theta: Any, name: str = "theta") -> None:
        """Raise `RlgoError` unless theta is an array of n_weights + 1 floats."""
        if not isinstance(theta, np.ndarray) or theta.dtype.kind != "f" or theta.ndim != 1:
            raise RlgoError(f"{name} = {shown(theta)}: expected a row of n_weights + 1 = {self.n_weights + 1} floats")
        if len(theta) != self.n_weights + 1:
            found = max(0, len(theta) - 1)  # theta[0] is unused
            raise RlgoError(f"{name}: {found} weights, expected {self.n_weights} of the feature set {self.name}")

    def table(self, theta: np.ndarray) -> Table:
        """Return the look-up table of theta, float32[n_weights + 1], the same for both colours."""
        return self.table_of(self.expand(theta))

    def table_of(self, weights: np.ndarray) -> Table:
        """Return the look-up table of weights that are written out already, float32[K]; they are not copied."""
        return Table(self.geometry, weights, weights)

    @cached_property
    def classes(self) -> Classes:
        """The places of each weight's shapes in the table."""
        return _list_members(self.class_of)

    def _place_windows(self) -> None:
        """Lay out which part of the table each window reads, and the order of its cells: first LD, then LI parts."""
        n, g = self.size, self.geometry
        start: dict[tuple[str, Form, int, int], int] = {}
        g.n_windows, g.capacity = len(self.windows), self.capacity
        g.n_squares = sum(kind_of(name).is_square for name, _, _ in self.windows)
        g.n_double = sum(not self._has_one_table(name) for name, _, _ in self.windows)
        end = 0
        canonical = []
        cell_point, n_cells, ld_base, li_base = g.cell_point, g.n_cells, g.ld_base, g.li_base
        for w, ((name, row, col), form) in enumerate(zip(self.windows, self.forms, strict=True)):
            sharing = self.sharing_of(name)
            images = [move_window(i, form, row, col, n) for i in (range(8) if sharing in OVER_ORBITS else range(1))]
            symmetry = min(range(len(images)), key=lambda i: images[i])
            key = (name, *images[symmetry])
            canonical.append(key)
            if key not in start and not (self._has_one_table(name) and sharing == "LI"):
                start[key] = end
                self.parts.append(Part(end, name, "LD", *images[symmetry]))
                end += kind_of(name).span(form)
            n_cells[w] = len(form.cells)
            for j, i in form.cells:
                moved = move_cell(symmetry, j, i, form)
                cell_point[w, images[symmetry][0].cells.index(moved)] = from_row_col(row + j, col + i, n)
        # They are followed by the location-independent tables, one for each form.
        anywhere: dict[tuple[str, Form], int] = {}
        for name, form, _, _ in canonical:
            has_part = kind_of(name).n_classes == 1 or "LI" in SHARINGS[self.liberty_sharing]
            if has_part and (name, form) not in anywhere:
                anywhere[name, form] = end
                self.parts.append(Part(end, name, "LI", form, 0, 0))
                end += kind_of(name).span(form)
        if end > _MOST_PLACES:
            raise RlgoError(f"{self.name}: {end:,} shapes to tell apart, expected at most {_MOST_PLACES:,}")
        self._end = end
        for w, key in enumerate(canonical):
            own = anywhere.get(key[:2], end)  # behind the end there are zeros
            ld_base[w], li_base[w] = (start[key], own) if key in start else (own, end)

    def _number_weights(self) -> np.ndarray:
        """Assign numbers to the classes, block by block, and return `class_of`."""
        classes = np.zeros(self._end + max(_PAD, *(kind.span(kind.form) for kind in self._kinds)), np.int32)
        n_theta = 1
        for kind in self._kinds:
            for sharing in SHARINGS[self.sharing_of(kind.name)]:
                start = n_theta
                is_li = sharing == "LI"
                parts = [p for p in self.parts if p.name == kind.name and (p.kind == "LI") == is_li]
                for part in sorted(parts, key=lambda p: (p.form, p.row, p.col)):
                    own, n_classes = window_classes(sharing, kind.n_states, part.form, part.row, part.col, self.size)
                    classes[part.start : part.start + len(own)] = _offset(own, n_theta)
                    n_theta += n_classes
                self.blocks.append(Block(f"{kind.name}-{sharing}", kind.name, sharing, start, n_theta))
        return classes

    def _list_slots(self) -> None:
        """List the windows over each point.

        Slots are ordered as seen from the point's canonical image, so that sums over the slots of
        symmetric points run in the same order: equal values are equal to the last bit.
        """
        n, g = self.size, self.geometry
        index_of = {window: w for w, window in enumerate(self.windows)}
        reach = max(self.sizes, default=1) - 1
        # Fields of a record are slow to reach from Python.
        n_slots, slot_window, slot_power, cell_slot = g.n_slots, g.slot_window, g.slot_power, g.cell_slot
        near, near_rows = g.near, g.near_rows
        digit_of = [
            {p: digit for digit, p in enumerate(points[:n_cells])}
            for points, n_cells in zip(g.cell_point.tolist(), g.n_cells.tolist(), strict=True)
        ]
        point = [[from_row_col(row, col, n) for col in range(n)] for row in range(n)]
        for row in range(n):
            for col in range(n):
                p = point[row][col]
                symmetry = min(range(8), key=lambda i: move_point(i, row, col, n))
                over = [
                    (square(k), r, c)
                    for k in self.sizes
                    for r in range(max(0, row - k + 1), min(row, n - k) + 1)
                    for c in range(max(0, col - k + 1), min(col, n - k) + 1)
                ]
                over.sort(key=lambda v: (v[0], move_window(symmetry, kind_of(v[0]).form, v[1], v[2], n)))
                n_slots[p] = len(over)
                for slot, window in enumerate(over):
                    w = index_of[window]
                    digit = digit_of[w][p]
                    slot_window[p, slot] = w
                    slot_power[p, slot] = 3**digit
                    cell_slot[w, digit] = slot * padded_points(n) + p
                near[p] = point[max(0, row - reach)][max(0, col - reach)]
                near_rows[p] = min(n - 1, row + reach) - max(0, row - reach) + 1

    def _list_other_slots(self) -> None:
        """List the windows over each point that are no squares, by their liberty classes, and the points around it."""
        g, classes = self.geometry, [kind_of(name).n_classes for name in self.others]
        g.n_classes, g.fewest_classes = max(classes), min(classes)
        n_points = padded_points(self.size)
        over: list[list[tuple[int, int]]] = [[] for _ in range(3 * n_points)]
        near: list[set[int]] = [set() for _ in range(n_points)]
        for w in range(int(g.n_squares), len(self.windows)):
            kind, points = kind_of(self.windows[w][0]), g.cell_point[w, : g.n_cells[w]].tolist()
            for d, p in enumerate(points):
                over[3 * p + kind.n_classes - 1].append((w, kind.n_states**d))
                near[p].update(points)
        g.slots_at[:] = np.cumsum([0, *map(len, over)])
        slots = [slot for slots in over for slot in slots]
        g.window_at[: len(slots)], g.power_at[: len(slots)] = np.transpose(slots)
        g.around_at[:] = np.cumsum([0, *map(len, near)])
        g.around[: g.around_at[-1]] = [q for points in near for q in sorted(points)]

    @cached_property
    def _canonical(self) -> np.ndarray:
        """The place of each weight's canonical shape: its first place with a positive sign."""
        names, places = np.unique(self.class_of, return_index=True)
        return places[names >= 0] if names[names >= 0][0] == 0 else np.append(0, places[names >= 0])

    def shape_of(self, weight: int) -> tuple[Block, int, int, np.ndarray]:
        """Return the canonical shape of a weight, 1 <= weight <= n_weights.

        Returns (block, row, col, states): the window's anchor (0, 0 for LI) and the states of its cells, uint8[height,
        width] with rows from the bottom of the board: EMPTY, BLACK or WHITE for a window that sees no liberties, see
        `Kind`; 255 for what does not belong to the window, or hangs over the edge. Only LI shapes show rows and columns
        over the edge.
        """
        block = next(b for b in self.blocks if b.start <= weight < b.stop)
        place = int(self._canonical[weight])
        part = max((p for p in self.parts if p.start <= place), key=lambda p: p.start)
        form, n_states = part.form, kind_of(part.name).n_states
        states = np.full((form.height, form.width), 255, np.uint8)
        for d, (j, i) in enumerate(form.cells):
            states[j, i] = (place - part.start) // n_states**d % n_states
        return (block, 0, 0, states) if part.kind == "LI" else (block, *inside(part.row, part.col, states, self.size))


def make_features(
    size: int,
    sizes: tuple[int, ...] = SIZES,
    sharing: str = "LI+LD",
    others: tuple[str, ...] = (),
    liberty_sharing: str = "LI",
) -> FeatureSet:
    """Make the feature set of a board size.

    The result is cached; making it takes well under a second on 9x9.

    Parameters
    ----------
    size : board size, 5 to 19
    sizes : sides of squares that see stones alone, an ascending subset of (1, 2, 3); may be () if there are `others`
    sharing : "LI+LD", "LI", "LD", "inversion" or "none"
    others : names of irregular windows, for instance ("2x3", "atari plus"), see `kinds.py`
    liberty_sharing : how windows that see liberties share weights

    Raises
    ------
    RlgoError : for other sizes, another sharing or other windows

    >>> import rlgo
    >>> rlgo.make_features(9)
    <FeatureSet 9x9 1x1+2x2+3x3 LI+LD: 63,303 weights of 969,894 shapes>
    """
    size, squares = board_size(size), [square(k) for k in check_sizes(sizes, may_be_none=bool(others))]
    sharing, liberty_sharing = check_sharing(sharing), check_sharing(liberty_sharing, "liberty_sharing")
    names = check_windows([*squares, *check_windows(others)])
    return _cached_features(size, names, sharing, liberty_sharing if kind_of(names[-1]).n_classes > 1 else "LI")


def check_sizes(sizes: Any, may_be_none: bool = False) -> tuple[int, ...]:
    """Return sides of squares as plain integers. `RlgoError` for anything but an ascending subset of (1, 2, 3)."""
    is_listed = isinstance(sizes, tuple | list) and (may_be_none or len(sizes) > 0)
    if not is_listed or list(sizes) != [k for k in SIZES if k in sizes]:
        raise RlgoError(f"sizes = {shown(sizes)}: expected an ascending subset of [1, 2, 3]")
    return tuple(int(k) for k in sizes)


def check_sharing(sharing: Any, key: str = "sharing") -> str:
    """Return the name of a kind of weight sharing. `RlgoError` for any other."""
    if not isinstance(sharing, str) or sharing not in SHARINGS:
        raise RlgoError(f"{key} = {shown(sharing)}: expected one of {', '.join(SHARINGS)}")
    return sharing


@cache
def _cached_features(*arguments: Any) -> FeatureSet:
    return FeatureSet(*arguments)


def count_weights(size: int, sizes: tuple[int, ...], sharing: str) -> int:
    """Return `n_weights` of a feature set without liberties, without making it."""
    total = 0
    for k in sizes:
        kind = kind_of(square(k))
        places = [(row, col) for _, row, col in windows_of(kind, size)]
        for sharing_kind in SHARINGS[sharing]:
            turns = range(8) if sharing_kind == "LD" else range(1)
            apart = {min(move_window(i, kind.form, *place, size)[1:] for i in turns) for place in places}
            canonical = [(0, 0)] if sharing_kind == "LI" else apart
            total += sum(window_classes(sharing_kind, 3, kind.form, *place, size)[1] for place in canonical)
    return total


def _list_members(classes: np.ndarray) -> Classes:
    """List the places of each weight, padded to whole groups by repeating the last."""
    owner = np.abs(classes)
    order = np.argsort(owner, kind="stable").astype(np.int32)
    count = np.bincount(owner)
    first = np.cumsum(count) - count
    groups = -(-count // GROUP)
    groups[0] = 0  # theta[0] has no places
    start = np.append(0, np.cumsum(groups)) * GROUP
    weight = np.repeat(np.arange(count.size), groups * GROUP)
    rank = np.minimum(np.arange(weight.size) - start[weight], count[weight] - 1)
    place = order[first[weight] + rank]
    return Classes(classes, start.astype(np.int32), np.where(classes[place] < 0, ~place, place))


def _offset(classes: np.ndarray, start: int) -> np.ndarray:
    """Renumber classes 1, 2, ... as indices into theta from `start` on, keeping the signs."""
    return np.where(classes == 0, 0, np.sign(classes) * (np.abs(classes) + start - 1)).astype(np.int32)
