"""The value function V(s) = sigmoid(phi(s) . theta), and the values of all afterstates.

Start reading at `best_afterstate`; from Python, use `ValueFunction`. TD paper, equation 9 and Section 3.2. V is always
P(Black wins); gains are for the colour to play, see `incremental`.

`incremental` keeps the components of V(s) up to date with the board. Finding the best afterstate is then one pass over
an array of gains.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError, shown
from rlgo.base.settings import LOGISTIC, VALUES
from rlgo.compiler.jit import compiling, inline, njit, random_below
from rlgo.features.incremental import FORBIDDEN, new_shapes, reset
from rlgo.features.other_windows import gain_at, gain_of_others, has_others, renew_gains, shape_value
from rlgo.go.board import BLACK, PASS, board_dtype, board_of, is_legal


@inline
def sigma(x):
    """Return the logistic function 1 / (1 + e^-x) (TD paper, Section 2.4)."""
    return 1.0 / (1.0 + math.exp(-x))


@inline
def squash(kind, x):
    """Return V from x = phi(s) . theta: logistic (equation 9), or linear, 1/2 + x.

    Without neutral shapes x is odd under colour inversion, so a linear V needs to add the 1/2 that sigma(0) gives the
    logistic one.
    """
    return sigma(x) if kind == LOGISTIC else 0.5 + x


# ---------------------------------------------------------------------------------------------
# Afterstates
# ---------------------------------------------------------------------------------------------


@njit
def _capture_gain(b, sh, table, p):
    """Compute the gain of the capturing move p for the colour to play, over all windows that it changes."""
    g = table.g
    color = np.int64(b.to_play)
    weights = table.black if color == BLACK else table.white
    stride = b.stride
    n = np.int64(0)
    gain = 0.0
    done = (0, 0, 0)
    # Shift the digits of the windows over p and over each captured stone ...
    n = _shift_digits(sh, g, p, color, n)
    for q in (p - stride, p - 1, p + 1, p + stride):
        if b.color[np.uint64(q)] == 3 - color:
            chain = np.int64(b.chain[np.uint64(q)])
            if sh.last_liberty[np.uint64(chain)] == p and chain not in done:
                done = (done[1], done[2], chain)
                stone = chain
                while True:
                    n = _shift_digits(sh, g, stone, color - 3, n)
                    stone = np.int64(b.next[np.uint64(stone)])
                    if stone == chain:
                        break
    # ... and sum the changes.
    for i in range(n):
        w = sh.changed[np.uint64(i)]
        old = np.int64(sh.configuration[np.uint64(w)])
        gain += shape_value(g, weights, w, old + sh.delta[np.uint64(w)]) - shape_value(g, weights, w, old)
        sh.delta[np.uint64(w)] = 0
    return gain if color == BLACK else -gain


@inline
def _shift_digits(sh, g, p, digit, n):
    for slot in range(g.n_slots[np.uint64(p)]):
        w = g.slot_window[np.uint64(p), np.uint64(slot)]
        # A window's delta is 0 only before its first shift: shifts at different cells never cancel.
        if sh.delta[np.uint64(w)] == 0:
            sh.changed[np.uint64(n)] = w
            n += 1
        sh.delta[np.uint64(w)] += digit * g.slot_power[np.uint64(p), np.uint64(slot)]
    return n


@njit
def gain_of(b, sh, table, p):
    """Return how much phi . theta grows for the colour to play by a stone at p, which must be legal."""
    c = b.to_play - 1
    stride = b.stride
    for q in (p - stride, p - 1, p + 1, p + stride):
        if b.color[np.uint64(q)] == 3 - b.to_play and sh.last_liberty[np.uint64(b.chain[np.uint64(q)])] == p:
            return _capture_gain(b, sh, table, p) + gain_of_others(b, sh, table, p, has_others(table.g))
    return np.float64(sh.gain[c, np.uint64(p)]) + gain_of_others(b, sh, table, p, has_others(table.g))


@njit(fastmath={"reassoc"}, forceinline=True)
def _best_quiet(gain, mask, color_index):
    """Find the largest gain among the unmasked points: (gain, points that have it, sum of these, unmasked points).

    Floats are compared as integers of the same order, because LLVM vectorises an integer maximum, but not a float one
    (37 ns against 84 ns for both passes).
    """
    c = np.uint64(color_index)
    most = np.int32(-2147483648)
    for i in range(gain.shape[1]):
        p = np.uint64(i)
        most = max(most, _ordered(np.float32(gain[c, p] + mask[c, p]).view(np.int32)))
    best = np.int32(_ordered(most)).view(np.float32)
    n = np.float32(0.0)
    total = np.float32(0.0)
    unmasked = np.float32(0.0)
    for i in range(gain.shape[1]):
        p = np.uint64(i)
        equal = np.float32(1.0) if gain[c, p] + mask[c, p] == best else np.float32(0.0)
        n += equal
        total += equal * np.float32(i)
        unmasked += np.float32(1.0) + max(mask[c, p], np.float32(-1.0))
    return best, np.int64(n), np.int64(total), np.int64(unmasked)


@inline
def _best_of_all(sh, c, has):
    """Find the largest gain over all windows; see `_best_quiet`."""
    if has is None:
        return _best_quiet(sh.gain, sh.mask, c)
    return _best_quiet(sh.total, sh.mask, c)


@inline
def _ordered(bits):
    """Map the bits of a float to an integer that sorts like it; the map is its own inverse."""
    return np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))


@inline
def keep_best(p, value, best, ties, choice, rng):
    """Compare one more move with the best so far, and break exact ties uniformly (reservoir sampling).

    Begin with ties = 0. Returns the new (best value, number of moves with it, chosen move).
    """
    if ties == 0 or value > best:
        return value, 1, p
    if value == best:
        ties += 1
        if random_below(rng, ties) == 0:
            choice = p
    return best, ties, choice


@njit
def best_afterstate(b, sh, table, rng):
    """Find argmax (Black) or argmin (White) of V(s o a), breaking exact ties uniformly.

    Candidates are the sensible moves: legal, and not in a single-point eye of the player's own.
    Overwrites `sh.changed`. Returns (point, or PASS without candidates; number of candidates).
    """
    c, has = b.to_play - 1, has_others(table.g)
    renew_gains(b, sh, table, has)
    best, ties, choice, n_candidates = _best_of_all(sh, c, has)
    if n_candidates == 0 or best == FORBIDDEN:  # the latter only if the weights have diverged
        ties, choice = 0, PASS
    if ties > 1:
        k = random_below(rng, ties)
        for p in range(sh.gain.shape[1]):
            if gain_at(sh, c, p, has) + sh.mask[c, np.uint64(p)] == best:
                if k == 0:
                    choice = p
                    break
                k -= 1
    for i in range(sh.n_captures[c]):
        p = np.int64(sh.captures[c, np.uint64(i)])
        if sh.is_fresh[c, np.uint64(p)] == 0:
            sh.gain_capture[c, np.uint64(p)] = _capture_gain(b, sh, table, p)
            sh.is_fresh[c, np.uint64(p)] = 1
        gain_capture = np.float32(sh.gain_capture[c, np.uint64(p)] + gain_of_others(b, sh, table, p, has))
        best, ties, choice = keep_best(p, gain_capture, best, ties, choice, rng)
    return choice, n_candidates + sh.n_captures[c]


# ---------------------------------------------------------------------------------------------
# Python interface
# ---------------------------------------------------------------------------------------------


@njit
def all_afterstates(b, sh, table, kind, out):
    """Write V after every move of the colour to play to `out`: rows from A1, then a pass; NaN for illegal moves."""
    sign = 1.0 if b.to_play == BLACK else -1.0
    n = b.board_size
    for row in range(n):
        for col in range(n):
            p = (row + 1) * b.stride + col + 1
            out[row * n + col] = np.nan
            if is_legal(b, p):
                out[row * n + col] = squash(kind, sh.x[0] + sign * gain_of(b, sh, table, p))
    out[n * n] = squash(kind, sh.x[0])


class ValueFunction:
    """A learned value function: V(s) = P(Black wins) of positions and of their afterstates.

    Parameters
    ----------
    weights : the `Weights`

    Attributes
    ----------
    weights : as given
    size : board size

    >>> import rlgo
    >>> value = rlgo.ValueFunction(rlgo.load_weights(rlgo.shipped_weights(9)))
    >>> game = rlgo.Game(9)
    >>> game.play("E5")
    >>> round(value.value(game), 2)
    0.61
    """

    def __init__(self, weights: Any):
        if not hasattr(weights, "features"):
            raise RlgoError(f"weights = {shown(weights)}: expected Weights, for instance from load_weights")
        self.weights = weights
        self.size: int = weights.features.size
        self._kind = VALUES[weights.value]
        self._shapes = new_shapes(1, self.size, weights.features.capacity)[0]

    def __repr__(self) -> str:
        return f"<ValueFunction {self.weights.features.name}, {self.weights.value}, {self.weights.games:,} games>"

    def _follow(self, position: Any) -> Any:
        """Make the shapes match a position, and return its board."""
        board = board_of(position)
        if board.dtype != board_dtype(self.size):
            raise RlgoError(f"weights for board size {self.size}: expected a board of that size")
        with compiling(f"value function, {self.weights.features.kernels}"):
            reset(board, self._shapes, self.weights.table())
        return board

    def value(self, position: Any) -> float:
        """Return V(s) of a `Game` or of a board record, such as `Game.board`. `RlgoError` for another board size."""
        self._follow(position)
        return float(squash(self._kind, float(self._shapes.x[0])))

    def afterstates(self, position: Any) -> np.ndarray:
        """Return V(s o a) for every action of the colour to play, float64[size * size + 1].

        position : a `Game`, or a board record

        The index is row * size + col, both from 0 at A1; the last entry is the pass. Moves that are illegal by the
        board's rules are NaN. (Single-point eyes are legal; superko is left to `game.Game`.)

        Raises RlgoError for a board of another size.
        """
        board = self._follow(position)
        out = np.empty(self.size * self.size + 1)
        all_afterstates(board, self._shapes, self.weights.table(), self._kind, out)
        return out
