"""Compiled inference: from planes to a policy, a value, a score and ownership.

Start reading at `evaluate`. The network is fully convolutional, so that it fits all board sizes; residual blocks are
those of He et al. 2016, "Deep residual learning for image recognition", and Silver et al. 2017, without normalisation;
global pooling, and score and ownership as auxiliary targets, are those of Wu 2019, "Accelerating self-play learning in
Go", Sections 3.3 and 4.1. For K planes and C channels, the equations are

    x_0     = relu(stem * planes + stem_bias)
    h       = relu(conv_2k * x_k + conv_bias_2k)
    x_{k+1} = relu(x_k + conv_2k+1 * relu(h + pool_k' pooled(h)) + conv_bias_2k+1)    for each block k
    P, G, V = head' x_B + head_bias
    logits  = policy . relu(P + policy_pool' pooled(relu(G))),   pass = pass_move . pooled(relu(G)) + pass_bias
    win, score = result' relu(hidden' pooled(relu(V)) + hidden_bias) + result_bias
    owned   = tanh(ownership . relu(V))

where * is a convolution with 3x3 points, which `winograd.py` computes in a third of its multiplications. Positions are
evaluated one by one. What is stored for each point is a grid, see there.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rlgo.compiler.jit import copy_record, njit
from rlgo.features.planes import PlaneTools, new_plane_tools, plane_writer
from rlgo.go.positions import PositionArrays, new_positions
from rlgo.network.architecture import (
    HISTORY,
    KINDS,
    MEAN_SIZE,
    N_PLANES,
    N_POOLED,
    SCORE_UNIT,
    SIZE_UNIT,
    Parameters,
    shape_of,
)
from rlgo.network.winograd import convolve, first_of, multiply, new_grid, new_products, padded, transform

_LEAST = np.float32(-3.0e38)
_write_planes = plane_writer(KINDS)


class Layers(Parameters):
    """`Parameters` as they are computed with: kernels by `winograd.transform`, and C in rows of 16, with zeros.

    stem : [25 K, C]; conv : [2 B, 25 C, C]; pool : [B, 3 C, C]; head : [C, 3 H], padded likewise
    """

    __slots__ = ()


def layers_of(parameters: Parameters) -> Layers:
    """Return a network in the form that is computed with."""
    p, shape = parameters, shape_of(parameters)
    c = padded(shape.channels)
    wider = c - shape.channels
    pool = np.zeros((shape.blocks, N_POOLED, c, c), np.float32)
    pool[:, :, : shape.channels, : shape.channels] = p.pool.reshape(shape.blocks, N_POOLED, shape.channels, -1)
    return Layers(**p._asdict() | {
        "stem": transform(p.stem), "stem_bias": np.pad(p.stem_bias, (0, wider)),
        "conv": transform(p.conv), "conv_bias": np.pad(p.conv_bias, ((0, 0), (0, wider))),
        "pool": pool.reshape(shape.blocks, N_POOLED * c, c),
        "head": np.pad(p.head, ((0, wider), (0, padded(p.head.shape[1]) - p.head.shape[1]))),
    })  # fmt: skip


class LayerScratch(NamedTuple):
    """What one thread computes with, for one board size of N points.

    Attributes
    ----------
    planes : float32[1, K, size, size]
    input, x, h, y, heads : grids: of the planes, of C channels, and of 3 H
    products : scratch of convolutions
    pooled, bias : float32, the results of `pool`, and what is made of them
    logits : float32[N + 1], the policy before a softmax, row by row from A1, the pass last
    ownership : float32[N], 1 for points of the side to play, -1 for those of its opponent
    result : float32[2], the logit of P(the side to play wins), and its score in points
    """

    planes: np.ndarray
    input: np.ndarray
    x: np.ndarray
    h: np.ndarray
    y: np.ndarray
    heads: np.ndarray
    products: tuple[np.ndarray, np.ndarray, np.ndarray]
    pooled: np.ndarray
    bias: np.ndarray
    logits: np.ndarray
    ownership: np.ndarray
    result: np.ndarray


class NetworkScratch(NamedTuple):
    """The same for a thread that evaluates boards. Its type depends on the board size, that of `layers` does not.

    Attributes
    ----------
    position : `PositionArrays` of one position
    tools : `PlaneTools`
    layers : `LayerScratch`
    """

    position: PositionArrays
    tools: PlaneTools
    layers: LayerScratch


def new_layer_scratch(size: int, layers: Layers) -> LayerScratch:
    """Make the scratch of the layers."""
    c, h = layers.stem.shape[1], len(layers.policy)
    widest = max(c, h, len(layers.hidden_bias))

    def zeros(*dims: int) -> np.ndarray:
        return np.zeros(dims, np.float32)

    return LayerScratch(
        zeros(1, N_PLANES, size, size), new_grid(size, N_PLANES), new_grid(size, c), new_grid(size, c),
        new_grid(size, c), new_grid(size, 3 * h), new_products(size, max(c, N_PLANES)),
        zeros(N_POOLED * widest), zeros(widest), zeros(size * size + 1), zeros(size * size), zeros(2),
    )  # fmt: skip


def new_network_scratch(size: int, layers: Layers) -> NetworkScratch:
    """Make the scratch of one thread."""
    return NetworkScratch(new_positions(1, size, HISTORY), new_plane_tools(size), new_layer_scratch(size, layers))


# ---------------------------------------------------------------------------------------------
# The network
# ---------------------------------------------------------------------------------------------


@njit
def evaluate(w, s):
    """Evaluate the position whose planes are in `s.planes`; results are in `s.logits`, `s.ownership` and `s.result`.

    w, s : `Layers` and `LayerScratch`
    """
    size = s.planes.shape[2]
    enter(s.planes[0], s.input)
    convolve(s.input, w.stem, size, s.products, s.y)
    rectify(s.y, w.stem_bias, size, s.x)
    for k in range(len(w.pool)):
        convolve(s.x, w.conv[2 * k], size, s.products, s.y)
        rectify(s.y, w.conv_bias[2 * k], size, s.h)
        pool(s.h, 0, s.h.shape[1], size, s.pooled)
        multiply_vector(s.pooled, w.pool[k], s.bias)
        rectify(s.h, s.bias, size, s.h)
        convolve(s.h, w.conv[2 * k + 1], size, s.products, s.y)
        add_rectified(s.y, w.conv_bias[2 * k + 1], size, s.x)
    multiply(s.x, w.head, s.heads)
    give_policy(w, s, size)
    give_result(w, s, size)


@njit
def rectify(y, bias, size, x):
    """Set x = relu(y + bias) on all points of the board."""
    for row in range(size):
        first = first_of(row, size)
        for p in range(first, first + size):
            for j in range(x.shape[1]):
                x[np.uint64(p), np.uint64(j)] = max(y[np.uint64(p), np.uint64(j)] + bias[np.uint64(j)], np.float32(0.0))


@njit
def add_rectified(y, bias, size, x):
    """Set x = relu(x + y + bias) on all points of the board."""
    for row in range(size):
        first = first_of(row, size)
        for p in range(first, first + size):
            for j in range(x.shape[1]):
                total = x[np.uint64(p), np.uint64(j)] + y[np.uint64(p), np.uint64(j)] + bias[np.uint64(j)]
                x[np.uint64(p), np.uint64(j)] = max(total, np.float32(0.0))


@njit
def pool(y, start, n, size, pooled):
    """Pool n channels of y from `start` on over the board (Wu 2019, Section 3.3).

    pooled : float32[3 n]: the mean of each channel, the mean times (size - 14) / 10, and the maximum
    """
    for j in range(n):
        pooled[j] = 0.0
        pooled[2 * n + j] = _LEAST
    for row in range(size):
        first = first_of(row, size)
        for p in range(first, first + size):
            for j in range(n):
                pooled[np.uint64(j)] += y[np.uint64(p), np.uint64(start + j)]
            for j in range(n):
                pooled[np.uint64(2 * n + j)] = max(pooled[np.uint64(2 * n + j)], y[np.uint64(p), np.uint64(start + j)])
    for j in range(n):
        pooled[j] /= np.float32(size * size)
        pooled[n + j] = pooled[j] * np.float32((size - MEAN_SIZE) / SIZE_UNIT)


@njit
def multiply_vector(x, matrix, y):
    """Set y = matrix' x, for a matrix float32[m, n]; x and y may be longer."""
    for j in range(matrix.shape[1]):
        y[j] = 0.0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            y[np.uint64(j)] += x[np.uint64(i)] * matrix[np.uint64(i), np.uint64(j)]


@njit(fastmath={"reassoc"})  # so that sums become vectors
def dot(a, b):
    """Return the scalar product of a vector a with as many elements of b."""
    total = np.float32(0.0)
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@njit
def give_policy(w, s, size):
    """Compute the logits of all moves from the channels P and G."""
    n = len(w.policy)
    rectify(s.heads[:, n : 2 * n], w.head_bias[n:], size, s.heads[:, n : 2 * n])
    pool(s.heads, n, n, size, s.pooled)
    multiply_vector(s.pooled, w.policy_pool, s.bias)
    s.logits[size * size] = dot(w.pass_move, s.pooled) + w.pass_bias[0]
    for j in range(n):
        s.bias[j] += w.head_bias[j]
    rectify(s.heads[:, :n], s.bias, size, s.heads[:, :n])
    for row in range(size):
        first = first_of(row, size)
        for col in range(size):
            s.logits[row * size + col] = dot(w.policy, s.heads[first + col])


@njit
def give_result(w, s, size):
    """Compute the logit of a win, the score and the ownership from the channels V."""
    n, n_hidden = len(w.ownership), len(w.hidden_bias)
    rectify(s.heads[:, 2 * n : 3 * n], w.head_bias[2 * n :], size, s.heads[:, 2 * n : 3 * n])
    pool(s.heads, 2 * n, n, size, s.pooled)
    multiply_vector(s.pooled, w.hidden, s.bias)
    for j in range(n_hidden):
        s.bias[j] = max(s.bias[j] + w.hidden_bias[j], np.float32(0.0))
    multiply_vector(s.bias, w.result, s.result)
    s.result[0] += w.result_bias[0]
    s.result[1] = SCORE_UNIT * (s.result[1] + w.result_bias[1])
    for row in range(size):
        first = first_of(row, size)
        for col in range(size):
            s.ownership[row * size + col] = math.tanh(dot(w.ownership, s.heads[first + col, 2 * n :]))


# ---------------------------------------------------------------------------------------------
# Planes
# ---------------------------------------------------------------------------------------------


@njit
def enter(planes, grid):
    """Write planes, float32[K, size, size], into a grid."""
    size = planes.shape[1]
    for k in range(planes.shape[0]):
        for row in range(size):
            first = first_of(row, size)
            for col in range(size):
                grid[np.uint64(first + col), np.uint64(k)] = planes[np.uint64(k), np.uint64(row), np.uint64(col)]


@njit
def set_position(b, last, last_but_one, komi, s):
    """Make the position on a board that of the scratch; its superko is not known.

    last, last_but_one : the last two moves, or PASS
    """
    position = s.position
    copy_record(b, position.boards[0])
    for p in range(position.stones.shape[2]):
        position.stones[0, 0, p] = b.color[p]
    position.moves[0, 0] = last
    position.moves[0, 1] = last_but_one
    position.komi[0] = komi


@njit
def evaluate_board(b, last, last_but_one, komi, w, s):
    """Evaluate the position on a board; see `set_position` and `evaluate`.

    s : `NetworkScratch`, whose `layers` hold the results
    """
    set_position(b, last, last_but_one, komi, s)
    _write_planes(s.position, s.layers.planes, s.tools)
    evaluate(w, s.layers)


@njit(allocates=True)
def evaluate_planes(planes, w, s, outputs):
    """Evaluate positions by their planes, float32[n, K, size, size].

    s : `LayerScratch`; outputs : its `logits`, `ownership` and `result`, with a row for each position
    """
    logits, ownership, result = outputs
    for i in range(len(planes)):
        s.planes[0] = planes[i]
        evaluate(w, s)
        logits[i] = s.logits
        ownership[i] = s.ownership
        result[i] = s.result
