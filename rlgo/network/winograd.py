"""Convolutions with 3x3 points in a third of the multiplications (Lavin & Gray 2016).

Start reading at `convolve`; the paper is "Fast algorithms for convolutional neural networks". The board is covered by
tiles of 3x3 points. For the 5x5 points d around a tile and a kernel g, each with a matrix of channels at every point,
the tile of the result is

    Y = A' [(G g G') . (B' d B)] A

where . multiplies the matrices of channels at each of 25 points: 25 products in place of 81. A, B and G are those of
interpolation at 0, 1, -1, 2 and infinity; B' is applied to columns and then to rows, and so is A'.

A *grid* holds the numbers of all points: float32[R, C] for T tiles along each side, with row (3 T + 2) y + x for the
point (x - 1, y - 1) of the board, channels in rows of 16, and a border of zeros.
"""

from __future__ import annotations

import numpy as np

from rlgo.compiler.jit import inline, interpreted, njit
from rlgo.compiler.vectors import LANES, PRODUCT_ROWS, linear_map, multiply_rows

_TILE, _WINDOW = 3, 5  # points of a tile along a side, and of what they depend on
_POINTS = _WINDOW * _WINDOW
_A = ((1, 1, 1, 1, 0), (0, 1, -1, 2, 0), (0, 1, 1, 4, 1))  # A'
_B = ((2, -1, -2, 1, 0), (0, -2, -1, 1, 0), (0, 2, -3, 1, 0), (0, -1, 0, 1, 0), (0, 2, -1, -2, 1))  # B'
_G = np.array([[1 / 2, 0, 0], [-1 / 2, -1 / 2, -1 / 2], [-1 / 6, 1 / 6, -1 / 6], [1 / 6, 1 / 3, 2 / 3], [0, 0, 1]])

_enter_points = linear_map(_B)
_leave_points = linear_map(_A)


@inline
def tiles_of(size):
    """Return how many tiles cover one side of a board."""
    return (size + _TILE - 1) // _TILE


@inline
def side_of(tiles):
    """Return how many points one side of a grid has."""
    return _TILE * tiles + 2


@inline
def rows_of(tiles):
    """Return how many rows the tiles of a board take in a product."""
    return (tiles * tiles + PRODUCT_ROWS - 1) // PRODUCT_ROWS * PRODUCT_ROWS


@inline
def first_of(row, size):
    """Return the place of the first point of a row of the board in a grid."""
    return (row + 1) * side_of(tiles_of(size)) + 1


def padded(n: int, unit: int = LANES) -> int:
    """Return the least multiple of a unit that is not below n."""
    return -(-n // unit) * unit


def new_grid(size: int, channels: int) -> np.ndarray:
    """Return an empty grid for a board size."""
    side = interpreted(side_of)(interpreted(tiles_of)(size))
    return np.zeros((padded(side * side, PRODUCT_ROWS), padded(channels)), np.float32)


def new_products(size: int, channels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the scratch of `convolve` for so many channels: what enters, the products, and a tile."""
    n = _POINTS * interpreted(rows_of)(interpreted(tiles_of)(size))
    return (
        np.zeros((n, padded(channels)), np.float32),
        np.zeros((n, padded(channels)), np.float32),
        np.zeros((_POINTS, LANES), np.float32),
    )


def transform(kernel: np.ndarray) -> np.ndarray:
    """Return G g G' of a kernel, float32[..., 3, 3 C, C'], as float32[..., 25 C, C'], with channels in rows of 16."""
    *several, _, n, n_out = kernel.shape
    points = kernel.reshape(-1, 3, 3, n // 3, n_out).astype(np.float64)
    found = np.einsum("ia,nabcd,jb->nijcd", _G, points, _G)
    found = np.pad(found, [(0, 0)] * 3 + [(0, padded(n // 3) - n // 3), (0, padded(n_out) - n_out)])
    return np.ascontiguousarray(found.reshape(*several, _POINTS * found.shape[3], found.shape[4]), np.float32)


@njit
def convolve(x, kernel, size, products, y):
    """Set y to a convolution of x: y[p] = sum over 3x3 neighbours q of x[q] g[q - p].

    x, y : grids. What y gets beyond the board means nothing.
    kernel : that of `transform`
    products : `new_products` for the channels of either
    """
    entered, left, tile = products
    n, n_out, lanes, window = x.shape[1], y.shape[1], np.int64(LANES), np.int64(_WINDOW)
    tiles = tiles_of(size)
    side, rows = side_of(tiles), rows_of(tiles)
    for t in range(tiles * tiles):
        corner = _TILE * (t // tiles) * side + _TILE * (t % tiles)
        for c in range(0, n, LANES):
            for i in range(_WINDOW):
                _enter_points((x, (corner + i) * n + c, side * n), (tile, i * lanes, window * lanes))
            for i in range(_WINDOW):
                _enter_points((tile, i * window * lanes, lanes), (entered, (i * window * rows + t) * n + c, rows * n))
    for k in range(_POINTS):
        for r in range(k * rows, (k + 1) * rows, PRODUCT_ROWS):
            for c in range(0, n_out, LANES):
                b = kernel, k * n * n_out + c, n_out
                multiply_rows((entered, r * n, n), b, n, (left, r * n_out + c, n_out))
    for t in range(tiles * tiles):
        corner = (_TILE * (t // tiles) + 1) * side + _TILE * (t % tiles) + 1
        for c in range(0, n_out, LANES):
            for i in range(_WINDOW):
                _leave_points(
                    (left, (i * rows + t) * n_out + c, window * rows * n_out), (tile, i * lanes, window * lanes)
                )
            for i in range(_TILE):
                _leave_points((tile, i * window * lanes, lanes), (y, (corner + i * side) * n_out + c, n_out))


@njit
def multiply(x, matrix, y):
    """Set y to the product of a grid with a matrix, float32[C, C'], at each point; channels in rows of 16."""
    n, n_out = x.shape[1], y.shape[1]
    for r in range(0, x.shape[0], PRODUCT_ROWS):
        for c in range(0, n_out, LANES):
            multiply_rows((x, r * n, n), (matrix, c, n_out), n, (y, r * n_out + c, n_out))
