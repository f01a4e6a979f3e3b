"""Fast convolutions, against the slow one of the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.network import convolution

from rlgo.network.winograd import convolve, multiply, new_grid, new_products, padded, side_of, tiles_of, transform


def grid_of(x: np.ndarray) -> np.ndarray:
    """Write x[y, x, channel] into a grid."""
    size, grid = len(x), new_grid(len(x), x.shape[2])
    side = side_of(tiles_of(size))
    board(grid, size, side)[..., : x.shape[2]] = x
    return grid


def board(grid: np.ndarray, size: int, side: int) -> np.ndarray:
    return grid[: side * side].reshape(side, side, -1)[1 : size + 1, 1 : size + 1]


@pytest.mark.interpreted
@pytest.mark.parametrize(("size", "n", "n_out"), [(2, 1, 8), (5, 13, 24), (9, 32, 32), (13, 8, 40)])
def test_it_is_a_convolution(size: int, n: int, n_out: int) -> None:
    rng = np.random.default_rng(size)
    x, kernel = rng.normal(size=(size, size, n)), rng.normal(size=(3, 3, n, n_out))
    y = new_grid(size, n_out)
    y[:] = np.nan  # nothing is read from there
    products = new_products(size, max(n, n_out))
    convolve(grid_of(x), transform(kernel.reshape(3, 3 * n, n_out)), size, products, y)
    found = board(y, size, side_of(tiles_of(size)))
    expected = convolution(x, kernel)
    np.testing.assert_allclose(found[..., :n_out], expected, atol=1e-5 * np.abs(expected).max())
    assert not found[..., n_out:].any()


@pytest.mark.interpreted
def test_a_product_at_each_point() -> None:
    rng = np.random.default_rng(1)
    x, matrix = rng.normal(size=(7, 7, 16)), rng.normal(size=(16, 24)).astype(np.float32)
    y = new_grid(7, 24)
    multiply(grid_of(x), np.pad(matrix, ((0, 0), (0, padded(24) - 24))), y)
    np.testing.assert_allclose(board(y, 7, 11)[..., :24], x @ matrix, atol=1e-5)


def test_several_kernels_are_transformed_at_once() -> None:
    kernels = np.random.default_rng(2).normal(size=(4, 3, 3 * 16, 16))
    np.testing.assert_array_equal(transform(kernels)[2], transform(kernels[2]))
