"""The layers of the network: from planes to a policy, a value, a score and the owners of the points.

Start reading at `evaluate`. The network is fully convolutional, so that it fits all board sizes; residual blocks are
those of He et al. 2016, "Deep residual learning for image recognition", and Silver et al. 2017, without normalisation;
global pooling, and score and ownership as teachers of the value, are those of Wu 2019, "Accelerating self-play learning
in Go", Sections 3.3 and 3.4. For K planes and C channels, the equations are

    x_0     = relu(stem * planes + stem_bias)
    h       = relu(conv_2k * x_k + conv_bias_2k)
    x_{k+1} = relu(x_k + conv_2k+1 * relu(h + pool_k' pooled(h)) + conv_bias_2k+1)    for each block k
    P, G, V = head' x_B + head_bias
    logits  = policy . relu(P + policy_pool' pooled(relu(G))),   pass = pass_move . pooled(relu(G)) + pass_bias
    win, score = result' relu(hidden' pooled(relu(V)) + hidden_bias) + result_bias
    owners  = tanh(ownership . relu(V))

where * is a convolution with 3x3 points. A convolution is three matrix products: one for each row of the 3x3 points,
of the triples of neighbours in that row with a matrix. Positions are evaluated one by one: their matrices are large
enough for the BLAS, which is no faster with four positions at once.

Points are those of the board's own padded arrays (`board.py`), whose border stays zero.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rlgo.compiler.blas import add_product
from rlgo.compiler.jit import copy_record, inline, njit
from rlgo.features.planes import (
    KO,
    KOMI_UNIT,
    LIBERTY_CLASSES,
    RECENT,
    PlaneTools,
    new_plane_tools,
    write_constant,
    write_ladders,
    write_last_moves,
    write_liberties,
    write_points,
    write_stones,
)
from rlgo.go.board import BLACK
from rlgo.go.positions import PositionArrays, new_positions
from rlgo.go.rules import n_points
from rlgo.network.parameters import N_PLANES, N_POOLED, Parameters, shape_of

SCORE_UNIT = 20.0  # points of score that are 1
_MEAN_SIZE, _SIZE_UNIT = 14.0, 10.0  # of the second pooled number (Wu 2019, Section 3.3)
_LEAST = np.float32(-3.0e38)


class LayerScratch(NamedTuple):
    """What one thread computes with, for one board size; N points, P with the border.

    Attributes
    ----------
    planes : float32[1, K, size, size]
    input : float32[P, 3 K], triples of planes; triples : float32[P, 3 C], those of channels
    x, h, heads : float32[P, C], [P, C] and [P, 3 H]
    pooled, bias : float32, the results of `pool`, and what is made of them
    logits : float32[N + 1], the policy before a softmax, row by row from A1, the pass last
    owners : float32[N], 1 for points of the side to play, -1 for those of its opponent
    result : float32[2], the logit of P(the side to play wins), and its score in points
    """

    planes: np.ndarray
    input: np.ndarray
    triples: np.ndarray
    x: np.ndarray
    h: np.ndarray
    heads: np.ndarray
    pooled: np.ndarray
    bias: np.ndarray
    logits: np.ndarray
    owners: np.ndarray
    result: np.ndarray


class NetworkScratch(NamedTuple):
    """The same for a thread that evaluates boards. Its type depends on the board size, that of `layers` does not.

    Attributes
    ----------
    position : `PositionArrays` of one position
    constant : float32[1], the value of a plane that is the same everywhere
    tools : `PlaneTools`
    layers : `LayerScratch`
    """

    position: PositionArrays
    constant: np.ndarray
    tools: PlaneTools
    layers: LayerScratch


def new_layer_scratch(size: int, parameters: Parameters) -> LayerScratch:
    """Make the scratch of the layers."""
    _, c, h, v = shape_of(parameters)
    points, widest = n_points(size), max(c, h, v)

    def zeros(*dims: int) -> np.ndarray:
        return np.zeros(dims, np.float32)

    return LayerScratch(
        zeros(1, N_PLANES, size, size), zeros(points, 3 * N_PLANES), zeros(points, 3 * c),
        zeros(points, c), zeros(points, c), zeros(points, 3 * h),
        zeros(N_POOLED * widest), zeros(widest), zeros(size * size + 1), zeros(size * size), zeros(2),
    )  # fmt: skip


def new_network_scratch(size: int, parameters: Parameters) -> NetworkScratch:
    """Make the scratch of one thread."""
    constant = np.zeros(1, np.float32)
    return NetworkScratch(
        new_positions(1, size, RECENT), constant, new_plane_tools(size), new_layer_scratch(size, parameters)
    )


# ---------------------------------------------------------------------------------------------
# The network
# ---------------------------------------------------------------------------------------------


@njit
def evaluate(w, s):
    """Evaluate the position whose planes are in `s.planes`; results are in `s.logits`, `s.owners` and `s.result`.

    w, s : `Parameters` and `LayerScratch`
    """
    size = s.planes.shape[2]
    enter(s.planes[0], s.input)
    s.x[:] = 0.0
    convolve(s.input, w.stem, size, s.x)
    rectify(s.x, w.stem_bias, size)
    for k in range(len(w.pool)):
        spread(s.x, size, s.triples)
        s.h[:] = 0.0
        convolve(s.triples, w.conv[2 * k], size, s.h)
        rectify(s.h, w.conv_bias[2 * k], size)
        pool(s.h, 0, w.pool.shape[2], size, s.pooled)
        multiply(s.pooled, w.pool[k], s.bias)
        rectify(s.h, s.bias, size)
        spread(s.h, size, s.triples)
        convolve(s.triples, w.conv[2 * k + 1], size, s.x)
        rectify(s.x, w.conv_bias[2 * k + 1], size)
    s.heads[:] = 0.0
    first, last = _range(size)
    add_product(s.x[first:last], w.head, s.heads[first:last])
    give_policy(w, s, size)
    give_result(w, s, size)


@inline
def _range(size):
    """Return the first point of the board, and the one after the last; the border between its rows is among them."""
    return size + 2, (size + 1) * (size + 1)


@njit
def convolve(triples, kernel, size, y):
    """Add a convolution with 3x3 points to y: y[p] += sum over rows d of triples[p + (d - 1) stride] kernel[d].

    triples : float32[P, 3 C]; kernel : float32[3, 3 C, C']; y : float32[P, C'], of which the border means nothing
    """
    first, last = _range(size)
    for d in range(3):
        shift = (d - 1) * (size + 1)
        add_product(triples[first + shift : last + shift], kernel[d], y[first:last])


@njit
def spread(y, size, triples):
    """Write the triples of neighbours: triples[p] = (y[p - 1], y[p], y[p + 1]); the border's y is 0."""
    n = y.shape[1]
    for row in range(size):
        first = (row + 1) * (size + 1) + 1
        for p in range(first, first + size):
            for j in range(n):
                triples[np.uint64(p + 1), np.uint64(j)] = y[np.uint64(p), np.uint64(j)]
            for j in range(n):
                triples[np.uint64(p), np.uint64(n + j)] = y[np.uint64(p), np.uint64(j)]
            for j in range(n):
                triples[np.uint64(p - 1), np.uint64(2 * n + j)] = y[np.uint64(p), np.uint64(j)]


@njit
def rectify(y, bias, size):
    """Set y = relu(y + bias) on all points of the board."""
    for row in range(size):
        first = (row + 1) * (size + 1) + 1
        for p in range(first, first + size):
            for j in range(y.shape[1]):
                y[np.uint64(p), np.uint64(j)] = max(y[np.uint64(p), np.uint64(j)] + bias[np.uint64(j)], np.float32(0.0))


@njit
def pool(y, start, n, size, pooled):
    """Pool n channels of y from `start` on over the board (Wu 2019, Section 3.3).

    pooled : float32[3 n]: the mean of each channel, the mean times (size - 14) / 10, and the maximum
    """
    for j in range(n):
        pooled[j] = 0.0
        pooled[2 * n + j] = _LEAST
    for row in range(size):
        first = (row + 1) * (size + 1) + 1
        for p in range(first, first + size):
            for j in range(n):
                pooled[np.uint64(j)] += y[np.uint64(p), np.uint64(start + j)]
            for j in range(n):
                pooled[np.uint64(2 * n + j)] = max(pooled[np.uint64(2 * n + j)], y[np.uint64(p), np.uint64(start + j)])
    for j in range(n):
        pooled[j] /= np.float32(size * size)
        pooled[n + j] = pooled[j] * np.float32((size - _MEAN_SIZE) / _SIZE_UNIT)


@njit
def multiply(x, matrix, y):
    """Set y = matrix' x, for a matrix float32[m, n]; x and y may be longer."""
    for j in range(matrix.shape[1]):
        y[j] = 0.0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            y[np.uint64(j)] += x[np.uint64(i)] * matrix[np.uint64(i), np.uint64(j)]


@njit
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
    rectify(s.heads[:, n:], w.head_bias[n:], size)
    pool(s.heads, n, n, size, s.pooled)
    multiply(s.pooled, w.policy_pool, s.bias)
    s.logits[size * size] = dot(w.pass_move, s.pooled) + w.pass_bias[0]
    for row in range(size):
        for col in range(size):
            p = (row + 1) * (size + 1) + col + 1
            x = np.float32(0.0)
            for j in range(n):
                x += w.policy[j] * max(s.heads[p, j] + w.head_bias[j] + s.bias[j], np.float32(0.0))
            s.logits[row * size + col] = x


@njit
def give_result(w, s, size):
    """Compute the logit of a win, the score and the owners of the points from the channels V, which are rectified."""
    n, n_hidden = len(w.ownership), len(w.hidden_bias)
    pool(s.heads, 2 * n, n, size, s.pooled)
    multiply(s.pooled, w.hidden, s.bias)
    for j in range(n_hidden):
        s.bias[j] = max(s.bias[j] + w.hidden_bias[j], np.float32(0.0))
    multiply(s.bias, w.result, s.result)
    s.result[0] += w.result_bias[0]
    s.result[1] = SCORE_UNIT * (s.result[1] + w.result_bias[1])
    for row in range(size):
        for col in range(size):
            p = (row + 1) * (size + 1) + col + 1
            s.owners[row * size + col] = math.tanh(dot(w.ownership, s.heads[p, 2 * n :]))


# ---------------------------------------------------------------------------------------------
# Planes
# ---------------------------------------------------------------------------------------------


@njit
def enter(planes, triples):
    """Write planes, float32[K, size, size], as triples of neighbours: see `spread`."""
    n, size = planes.shape[0], planes.shape[1]
    for k in range(n):
        for row in range(size):
            first = (row + 1) * (size + 1) + 1
            for col in range(size):
                x = planes[np.uint64(k), np.uint64(row), np.uint64(col)]
                triples[np.uint64(first + col + 1), np.uint64(k)] = x
                triples[np.uint64(first + col), np.uint64(n + k)] = x
                triples[np.uint64(first + col - 1), np.uint64(2 * n + k)] = x


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
def write_planes(arrays, s):
    """Write the planes of `parameters.KINDS`, in that order, of one position; arrays : `PositionArrays`, [1]."""
    out, tools, at = s.layers.planes, s.tools, 0
    write_stones(arrays, 0, at, out)
    at += 2
    s.constant[0] = 1.0
    write_constant(s.constant, at, out)
    at += 1
    write_liberties(arrays, at, out, tools.marks)
    at += LIBERTY_CLASSES
    write_points(arrays, KO, at, out, tools.zobrist)
    at += 1
    write_last_moves(arrays, RECENT, at, out)
    at += RECENT
    write_ladders(arrays, at, out, tools.zobrist, tools.ladders)
    at += 2
    s.constant[0] = (-1.0 if arrays.boards[0].to_play == BLACK else 1.0) * arrays.komi[0] / KOMI_UNIT
    write_constant(s.constant, at, out)


@njit
def evaluate_board(b, last, last_but_one, komi, w, s):
    """Evaluate the position on a board; see `set_position` and `evaluate`.

    s : `NetworkScratch`, whose `layers` hold the results
    """
    set_position(b, last, last_but_one, komi, s)
    write_planes(s.position, s)
    evaluate(w, s.layers)


@njit(allocates=True)
def evaluate_planes(planes, w, s, outputs):
    """Evaluate positions by their planes, float32[n, K, size, size].

    s : `LayerScratch`; outputs : its `logits`, `owners` and `result`, with a row for each position
    """
    logits, owners, result = outputs
    for i in range(len(planes)):
        s.planes[0] = planes[i]
        evaluate(w, s)
        logits[i] = s.logits
        owners[i] = s.owners
        result[i] = s.result
