"""The same value function over other features: over more of them, without sharing, or fused into 3x3 windows.

`extend` and `unshare` make value functions comparable; `fuse` makes constant weights faster to look up.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from rlgo.base.settings import SIZES
from rlgo.features.kinds import kind_of, square
from rlgo.features.shapes import OVER_ORBITS, FeatureSet, Table, make_features


def extend(features: FeatureSet, theta: np.ndarray, larger: FeatureSet) -> np.ndarray:
    """Return the weights of the same value function over a feature set that has all blocks of `features`, and more."""
    out = np.zeros(larger.n_weights + 1, np.float32)
    blocks = {block.name: block for block in larger.blocks}
    for block in features.blocks:
        out[blocks[block.name].start : blocks[block.name].stop] = theta[block.start : block.stop]
    return out


def unshare(
    features: FeatureSet, theta: np.ndarray, windows: tuple[str, ...] | None = None
) -> tuple[FeatureSet, np.ndarray]:
    """Write a value function out without weight sharing, over all shapes of some windows.

    theta_unshared[shape] = sign_LI * theta_LI + sign_LD * theta_LD, and 0 for windows that `features` lacks. In this
    form any two value functions of a board size can be compared, or play each other.

    Parameters
    ----------
    features, theta : the value function
    windows : names of the windows of the result; None: those of the features, and squares of all sizes

    Returns
    -------
    (the feature set "none" of these windows, float32[its n_weights + 1])
    """
    names = (*map(square, SIZES), *features.others) if windows is None else windows
    whole = make_features(features.size, (), "none", names, "none")
    table = features.expand(theta)
    index_of = {window: w for w, window in enumerate(zip(features.windows, features.forms, strict=True))}
    out = np.zeros(whole.n_weights + 1, np.float32)
    for w, window in enumerate(zip(whole.windows, whole.forms, strict=True)):
        if window in index_of:
            ours, theirs = _same_shapes(whole, w, features, index_of[window])
            weights = whole.class_of[ours]
            out[weights[weights > 0]] = _shape_values(features, table, index_of[window])[theirs][weights > 0]
    out[0] = 0
    return whole, out


def _same_shapes(a: FeatureSet, w: int, b: FeatureSet, v: int) -> tuple[np.ndarray, np.ndarray]:
    """Pair the shapes of the same window in two feature sets, w and v, which may list its cells in different orders.

    Returns the places in a's table, behind `ld_base`, and the configurations of b.
    """
    kind, n = kind_of(a.windows[w][0]), int(a.geometry.n_cells[w])
    digit = {int(p): kind.n_states**d for d, p in enumerate(b.geometry.cell_point[v, :n])}
    power = np.array([digit[int(p)] for p in a.geometry.cell_point[w, :n]])
    configurations = np.arange(kind.n_states**n)
    digits = configurations[:, None] // kind.n_states ** np.arange(n) % kind.n_states
    return a.geometry.ld_base[w] + configurations, digits @ power


def _shape_values(features: FeatureSet, weights: np.ndarray, w: int) -> np.ndarray:
    """Add up both weights of all shapes of a window: float32[configurations]."""
    g, n = features.geometry, kind_of(features.windows[w][0]).span(features.forms[w])
    return weights[g.ld_base[w] :][:n] + weights[g.li_base[w] :][:n]


def fuse(features: FeatureSet, weights: np.ndarray) -> Table:
    """Fuse a value function into 3x3 windows alone: each takes in a share of the smaller windows in its square.

    For searches and self-play with constant weights: on 9x9, it leaves 49 windows of 194, with one table each. A window
    is divided equally among the 1, 2 or 4 windows of the next size that contain it, so that all symmetries remain.
    Windows that are no squares, or see liberties, stay as they are.

    Parameters
    ----------
    features : the feature set
    weights : float32[K], its weights written out by shape

    Returns
    -------
    the table of a feature set of size 3: "LD" if `features` share weights over rotations and reflections, else "none"
    """
    size = features.size
    sharing = "LD" if features.sharing in OVER_ORBITS else "none"
    liberty_sharing = "LD" if features.liberty_sharing in OVER_ORBITS else "none"
    fused = make_features(size, (3,), sharing, features.others, liberty_sharing)
    index_of = {window: w for w, window in enumerate(zip(features.windows, features.forms, strict=True))}
    out = np.zeros(len(fused.class_of), np.float32)
    # Canonical windows list their cells row by row, in `fused` as in `features`.
    parts = [part for part in fused.parts if part.kind == "LD"]
    squares = {(part.row, part.col) for part in parts if part.name == square(3)}
    values: dict[tuple[int, int], np.ndarray] = {}  # as `_by_cell`, of the windows of size k, by anchor
    for k in SIZES:
        smaller, values = values, {}
        for row, col in product(range(size - k + 1), repeat=2):
            if k == 3 and (row, col) not in squares:
                continue
            w = index_of.get(((square(k), row, col), kind_of(square(k)).form))
            own = np.zeros(k * k * (3,), np.float32) if w is None else _by_cell(features, weights, w)
            for j, i in product(range(2), repeat=2) if k > 1 else ():
                larger = (1 + (0 < row + j < size - k + 1)) * (1 + (0 < col + i < size - k + 1))  # that contain it
                own = own + smaller[row + j, col + i][_inside(k, j, i)] / np.float32(larger)
            values[row, col] = own
    for start, name, _, form, row, col in parts:
        own = (
            values[row, col]
            if name == square(3)
            else _shape_values(features, weights, index_of[(name, row, col), form])
        )
        out[start : start + own.size] = own.ravel()
    # Round to a grid so coarse that float32 sums over a point's windows are exact in any order. Symmetric moves then
    # stay equal to the last bit.
    grid = np.float32(2.0 ** (np.frexp(max(float(np.abs(out).max()), 1e-30))[1] - 19))
    return fused.table_of(np.rint(out / grid) * grid)


def _by_cell(features: FeatureSet, weights: np.ndarray, w: int) -> np.ndarray:
    """Return `_shape_values` of a square with an axis for each cell, the last one first: float32[3, 3, ...]."""
    cells = features.geometry.cell_point[w, : features.geometry.n_cells[w]]
    axes = np.argsort(cells[::-1])[::-1]
    return _shape_values(features, weights, w).reshape(len(cells) * (3,)).transpose(axes)


@cache
def _inside(k: int, row: int, col: int) -> tuple[slice | None, ...]:
    """Return the index that spreads `_by_cell` of the window of size k - 1 at (row, col) over a square of size k."""
    cells = reversed(list(product(range(k), repeat=2)))
    return tuple(slice(None) if 0 <= j - row < k - 1 and 0 <= i - col < k - 1 else None for j, i in cells)
