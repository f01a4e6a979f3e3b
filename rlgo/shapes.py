"""Local shape features: all configurations of all k x k windows, k = 1 to 3, and how they share weights.

Start reading at `make_features`. TD paper, Sections 3.1.2 and 3.1.3, Table 1.

A *window* is a k x k square of the board at one anchor. Its *configuration* is a number in base 3 with one digit a
cell (empty 0, black 1, white 2). A *shape* is a configuration at a window. In any position exactly one shape of each
window is active, so that phi(s) has one entry a window.

Shapes that are related by a symmetry share one weight, theta_i, with a sign:

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
column i) of a window is worth 3^(j*k + i). (This is the numbering of the original RLGO.)

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

from rlgo.board import EMPTY, n_points
from rlgo.errors import RlgoError, shown
from rlgo.settings import SHARINGS, SIZES, board_size

WINDOWS_OVER_POINT = 14  # windows over one point: 1 + 4 + 9
GROUP = 4  # places of a weight are listed in groups of this size, so that branches in loops over them predict well
STRIP = 8  # points renewed at once, one vector of float32
_PAD = 2 * 3**9  # tables end in zeros: cells that hold a stone are looked up too, and ignored


def padded_points(size: int) -> int:
    """Return the points of a board array, with room for strips and whole vectors."""
    return (n_points(size) + STRIP + 31) // 32 * 32


def max_windows(size: int) -> int:
    """Count the windows of all sizes on a board, which is what records reserve room for."""
    return sum((size - k + 1) ** 2 for k in SIZES)


class Block(NamedTuple):
    """The weights of one window size under one kind of sharing: theta[start:stop]."""

    name: str  # for instance "3x3-LD"
    size: int
    kind: str  # "LI", "LD", "inversion" or "none"
    start: int
    stop: int


@cache
def geometry_dtype(size: int, one_table: bool = False) -> np.dtype:
    """Return the record type that describes the windows to compiled code (W windows, P padded points).

    Fields
    ------
    n_windows : windows in use; n_cells[W] : cells of each
    cell_point[W, 9] : the point of each cell, in digit order
    cell_slot[W, 9] : the window's place in `Shapes.part`: slot at that point * P + point
    n_slots[P] : windows over each point; slot_window[P, 14] : which
    slot_power[P, 14] : 3^digit of the point in each
    near[P], near_rows[P] : first point, and number of rows, of the square of points that share a window
    ld_base[W], li_base[W] : where each window's two tables start
    one_table : an empty field that exists only if the features have no LI block, so that `li_base` need not be read
    """
    windows = max_windows(size)
    points = padded_points(size)
    # It comes first, because numba mistakes a record that only has more fields at its end for the shorter one.
    fields = [
        *([("one_table", np.int64)] if one_table else []),
        ("n_windows", np.int32),
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


class FeatureSet:
    """The local shape features of one board size: windows, shared weights, and their numbering.

    Attributes
    ----------
    size : board size N
    sizes : window sizes, for instance (1, 2, 3)
    sharing : a key of `SHARINGS`
    blocks : the `Block`s, in order
    n_weights : unique weights (theta without its index 0)
    n_features : raw features, sum of (N-k+1)^2 * 3^(k*k)
    windows : list of (k, row, col), the anchor of every window, in order
    geometry : `geometry_dtype(size)` record, for `value.py`
    class_of : int32[K], by place in the table: sign * index into theta; 0 for neutral shapes
    classes : `Classes`, for learning shared weights (made on first use)
    """

    def __init__(self, size: int, sizes: tuple[int, ...], sharing: str):
        self.size, self.sizes, self.sharing = size, sizes, sharing
        self.windows = [(k, row, col) for k in sizes for row in range(size - k + 1) for col in range(size - k + 1)]
        self.n_features = sum((size - k + 1) ** 2 * 3 ** (k * k) for k in sizes)
        self.blocks: list[Block] = []
        self.geometry = np.zeros(1, geometry_dtype(size, "LI" not in SHARINGS[sharing]))[0]
        self.class_of = self._number_weights(self._place_windows())
        self.n_weights = self.blocks[-1].stop - 1
        self._list_slots()

    def __repr__(self) -> str:
        return f"<FeatureSet {self.name}: {self.n_weights:,} weights of {self.n_features:,} shapes>"

    @property
    def name(self) -> str:
        """The name for users and files, for instance ``9x9 1x1+2x2+3x3 LI+LD``."""
        return f"{self.size}x{self.size} " + "+".join(f"{k}x{k}" for k in self.sizes) + f" {self.sharing}"

    def expand(self, theta: np.ndarray) -> np.ndarray:
        """Write theta, float32[n_weights + 1] (index 0 unused and 0), out by shape: float32[K].

        `RlgoError` if it is of another shape.
        """
        self.check(theta)
        weights = theta.astype(np.float32)[np.abs(self.class_of)]
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

    def _place_windows(self) -> dict[int, dict[tuple[int, int], int]]:
        """Lay out which part of the table each window reads, and the order of its cells.

        Returns the canonical anchors of each k, and where their parts of the table start.
        """
        n, g = self.size, self.geometry
        shares_orbits = self.sharing in ("LI+LD", "LI", "LD")
        anchors: dict[int, dict[tuple[int, int], int]] = {k: {} for k in self.sizes}
        self._li_start = n_tables = 0
        g.n_windows = len(self.windows)
        for w, (k, row, col) in enumerate(self.windows):
            images = [_move_window(i, k, row, col, n) for i in (range(8) if shares_orbits else range(1))]
            symmetry = min(range(len(images)), key=lambda i: images[i])
            if images[symmetry] not in anchors[k]:
                anchors[k][images[symmetry]] = n_tables
                n_tables += 3 ** (k * k)
            g.ld_base[w] = anchors[k][images[symmetry]]
            g.n_cells[w] = k * k
            for j in range(k):
                for i in range(k):
                    jj, ii = _move_point(symmetry, j, i, k)
                    g.cell_point[w, jj * k + ii] = _point(row + j, col + i, n)
        # They are followed by one location-independent table for each k.
        li_start = {k: n_tables + sum(3 ** (j * j) for j in self.sizes if j < k) for k in self.sizes}
        for w, (k, _, _) in enumerate(self.windows):
            g.li_base[w] = li_start[k]
        self._li_start = n_tables
        return anchors

    def _number_weights(self, anchors: dict[int, dict[tuple[int, int], int]]) -> np.ndarray:
        """Assign numbers to the classes, block by block, and return `class_of`."""
        n, li_base = self.size, self._li_start
        classes = np.zeros(li_base + sum(3 ** (k * k) for k in self.sizes) + _PAD, np.int32)
        n_theta = 1
        for k in self.sizes:
            span = 3 ** (k * k)
            for kind in SHARINGS[self.sharing]:
                start = n_theta
                if kind == "LI":
                    own, n_classes = _classes(k, tuple(range(8)), True)
                    classes[li_base : li_base + span] = _offset(own, n_theta)
                    n_theta += n_classes
                else:
                    for (row, col), base in sorted(anchors[k].items()):
                        own, n_classes = _window_classes(kind, k, row, col, n)
                        classes[base : base + span] = _offset(own, n_theta)
                        n_theta += n_classes
                self.blocks.append(Block(f"{k}x{k}-{kind}", k, kind, start, n_theta))
            li_base += span
        return classes

    def _list_slots(self) -> None:
        """List the windows over each point.

        Slots are ordered as seen from the point's canonical image, so that sums over the slots of
        symmetric points run in the same order: equal values are equal to the last bit.
        """
        n, g = self.size, self.geometry
        index_of = {window: w for w, window in enumerate(self.windows)}
        reach = max(self.sizes) - 1
        for row in range(n):
            for col in range(n):
                p = _point(row, col, n)
                symmetry = min(range(8), key=lambda i: _move_point(i, row, col, n))
                over = [
                    (k, r, c)
                    for k in self.sizes
                    for r in range(max(0, row - k + 1), min(row, n - k) + 1)
                    for c in range(max(0, col - k + 1), min(col, n - k) + 1)
                ]
                over.sort(key=lambda v: (v[0], _move_window(symmetry, v[0], v[1], v[2], n)))
                g.n_slots[p] = len(over)
                for slot, window in enumerate(over):
                    w = index_of[window]
                    digit = int(np.flatnonzero(g.cell_point[w, : g.n_cells[w]] == p)[0])
                    g.slot_window[p, slot] = w
                    g.slot_power[p, slot] = 3**digit
                    g.cell_slot[w, digit] = slot * padded_points(n) + p
                g.near[p] = _point(max(0, row - reach), max(0, col - reach), n)
                g.near_rows[p] = min(n - 1, row + reach) - max(0, row - reach) + 1

    @cached_property
    def _canonical(self) -> np.ndarray:
        """The place of each weight's canonical shape: its first place with a positive sign."""
        names, places = np.unique(self.class_of, return_index=True)
        return places[names >= 0] if names[names >= 0][0] == 0 else np.append(0, places[names >= 0])

    def shape_of(self, weight: int) -> tuple[Block, int, int, np.ndarray]:
        """Return the canonical shape of a weight, 1 <= weight <= n_weights.

        Returns (block, row, col, cells): the window's anchor (0, 0 for LI) and its cells, uint8[k, k] with
        rows from the bottom of the board, EMPTY, BLACK or WHITE.
        """
        block = next(b for b in self.blocks if b.start <= weight < b.stop)
        place = int(self._canonical[weight])
        k, bases = block.size, self.geometry.li_base if block.kind == "LI" else self.geometry.ld_base
        windows = [w for w, v in enumerate(self.windows) if v[0] == k and bases[w] <= place < bases[w] + 3 ** (k * k)]
        anchor = (0, 0) if block.kind == "LI" else min(self.windows[w][1:] for w in windows)
        configuration = place - int(bases[windows[0]])
        cells = np.array([configuration // 3**d % 3 for d in range(k * k)], np.uint8).reshape(k, k)
        return block, anchor[0], anchor[1], cells


def make_features(size: int, sizes: tuple[int, ...] = SIZES, sharing: str = "LI+LD") -> FeatureSet:
    """Make the feature set of a board size. The result is cached; making it takes well under a second on 9x9.

    Parameters
    ----------
    size : board size, 5 to 19
    sizes : window sizes, an ascending subset of (1, 2, 3)
    sharing : "LI+LD", "LI", "LD", "inversion" or "none"

    Raises
    ------
    RlgoError : for other sizes or another sharing
    """
    return _cached_features(board_size(size), check_sizes(sizes), check_sharing(sharing))


def check_sizes(sizes: Any) -> tuple[int, ...]:
    """Return window sizes as plain integers. `RlgoError` for anything but an ascending subset of (1, 2, 3)."""
    if not isinstance(sizes, tuple | list) or not sizes or list(sizes) != [k for k in SIZES if k in sizes]:
        raise RlgoError(f"sizes = {shown(sizes)}: expected an ascending subset of [1, 2, 3]")
    return tuple(int(k) for k in sizes)


def check_sharing(sharing: Any) -> str:
    """Return the name of a kind of weight sharing. `RlgoError` for any other."""
    if not isinstance(sharing, str) or sharing not in SHARINGS:
        raise RlgoError(f"sharing = {shown(sharing)}: expected one of {', '.join(SHARINGS)}")
    return sharing


@cache
def _cached_features(size: int, sizes: tuple[int, ...], sharing: str) -> FeatureSet:
    return FeatureSet(size, sizes, sharing)


def count_weights(size: int, sizes: tuple[int, ...], sharing: str) -> int:
    """Return `n_weights` of a feature set without making it."""
    total = 0
    for k in sizes:
        width = size - k + 1
        for kind in SHARINGS[sharing]:
            if kind == "LI":
                total += _classes(k, tuple(range(8)), True)[1]
            elif kind == "LD":
                anchors = [(row, col) for row in range(width) for col in range(width)]
                canonical = {min(_move_window(i, k, row, col, size) for i in range(8)) for row, col in anchors}
                total += sum(_window_classes(kind, k, row, col, size)[1] for row, col in canonical)
            else:
                total += width * width * _window_classes(kind, k, 0, 0, size)[1]
    return total


def unshare(features: FeatureSet, theta: np.ndarray, sizes: tuple[int, ...] = SIZES) -> tuple[FeatureSet, np.ndarray]:
    """Write a value function out without weight sharing, over all shapes of `sizes`, which include the features'.

    theta_unshared[shape] = sign_LI * theta_LI + sign_LD * theta_LD, and 0 for sizes that `features` lacks. In this form
    any two value functions of a board size can be compared, or play each other.

    Returns
    -------
    (the feature set "none" of these sizes, float32[its n_weights + 1])
    """
    whole = make_features(features.size, sizes, "none")
    table = features.expand(theta)
    old, new = features.geometry, whole.geometry
    index_of = {window: w for w, window in enumerate(features.windows)}
    out = np.zeros(whole.n_weights + 1, np.float32)
    for w, window in enumerate(whole.windows):
        if window not in index_of:
            continue
        v, n = index_of[window], int(new.n_cells[w])
        # The old window may list its cells in another order.
        digit = {int(p): 3**d for d, p in enumerate(old.cell_point[v, :n])}
        power = np.array([digit[int(p)] for p in new.cell_point[w, :n]])
        configurations = np.arange(3**n)
        moved = configurations[:, None] // 3 ** np.arange(n) % 3 @ power
        weights = whole.class_of[new.ld_base[w] + configurations]
        out[weights] = table[old.ld_base[v] + moved] + table[old.li_base[v] + moved]
    out[0] = 0
    return whole, out


def fuse(features: FeatureSet, weights: np.ndarray) -> Table:
    """Fuse a value function into 3x3 windows alone: each takes in the smaller windows that lie in its square.

    For searches with constant weights: on 9x9, this leaves 49 windows of 194. A smaller window goes to the 3x3 window
    at its own anchor, or to the nearest one.

    Parameters
    ----------
    features : a feature set without sharing
    weights : float32[K], its weights written out by shape

    Returns
    -------
    the table of the feature set "none" of size 3
    """
    size = features.size
    whole = make_features(size, (3,), "none")
    # Round to a grid so coarse that float32 sums of a window's weights, and of a point's windows, are exact in any
    # order. Symmetric moves then stay equal to the last bit.
    grid = 2.0 ** (np.frexp(max(float(np.abs(weights).max()), 1e-30))[1] - 19)
    rounded = (np.round(weights / grid) * grid).astype(np.float32)
    out = np.zeros(len(whole.class_of), np.float32)
    start = {window[1:]: int(whole.geometry.ld_base[w]) for w, window in enumerate(whole.windows)}
    for w, (k, row, col) in enumerate(features.windows):
        anchor = min(row, size - 3), min(col, size - 3)
        part = _part(k, row - anchor[0], col - anchor[1])
        base = start[anchor]
        out[base : base + 3**9] += rounded[int(features.geometry.ld_base[w]) + part]
    return whole.table_of(out)


@cache
def _part(k: int, row: int, col: int) -> np.ndarray:
    """Map configurations of a 3x3 square to those of the k x k window at (row, col) in it: int64[3^9]."""
    digits = [3 * (row + j) + col + i for j in range(k) for i in range(k)]
    return np.arange(3**9)[:, None] // 3 ** np.array(digits) % 3 @ 3 ** np.arange(k * k)


# ---------------------------------------------------------------------------------------------
# Symmetries. Number g = 0..7: bit 0 flips the rows, bit 1 flips the columns, bit 2 then transposes.
# ---------------------------------------------------------------------------------------------


def _point(row: int, col: int, size: int) -> int:
    return (row + 1) * (size + 1) + col + 1


def _move_point(g: int, row: int, col: int, size: int) -> tuple[int, int]:
    """Return where symmetry g of a size x size square takes the cell (row, col)."""
    row = size - 1 - row if g & 1 else row
    col = size - 1 - col if g & 2 else col
    return (col, row) if g & 4 else (row, col)


def _move_window(g: int, k: int, row: int, col: int, size: int) -> tuple[int, int]:
    """Return the anchor of the image of the k x k window at (row, col); anchors move like cells of a smaller square."""
    return _move_point(g, row, col, size - k + 1)


@cache
def _moved(k: int) -> np.ndarray:
    """Map each configuration by each symmetry of the window: int32[2, 8, 3^(k*k)], [1] with colours inverted."""
    n = 3 ** (k * k)
    digits = np.arange(n)[:, None] // 3 ** np.arange(k * k) % 3
    inverted = np.array([0, 2, 1])[digits]
    out = np.zeros((2, 8, n), np.int32)
    for g in range(8):
        power = np.zeros(k * k, np.int64)
        for j in range(k):
            for i in range(k):
                jj, ii = _move_point(g, j, i, k)
                power[j * k + i] = 3 ** (jj * k + ii)
        out[0, g] = digits @ power
        out[1, g] = inverted @ power
    return out


@cache
def _classes(k: int, symmetries: tuple[int, ...], inversion: bool) -> tuple[np.ndarray, int]:
    """Group the configurations of one window into classes under some symmetries.

    Returns (int32[3^(k*k)], number of classes): sign * (class + 1), 0 for neutral and all-empty configurations.
    Classes are numbered by their smallest configuration.
    """
    moved = _moved(k)[:, symmetries]
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


def _window_classes(kind: str, k: int, row: int, col: int, size: int) -> tuple[np.ndarray, int]:
    """Group the configurations of a canonical window, at (row, col), under LD, inversion or none; see `_classes`."""
    stabiliser = tuple(i for i in range(8) if _move_window(i, k, row, col, size) == (row, col))
    return _classes(k, stabiliser if kind == "LD" else (0,), kind != "none")


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
