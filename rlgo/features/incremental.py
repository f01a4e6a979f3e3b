"""The shapes on one board, and what a stone at each point would add to phi(s) . theta, kept up to date move by move.

Start reading at `update`: what a move changes. TD paper, Section 3.2.

A shapes record (`shapes_dtype`) holds the configuration of every window, and for each colour the *gain* of a stone at
each point: by how much phi . theta grows for that colour. A window contributes only to the gains of its own cells. A
move therefore updates the contributions of the windows that it touched, 14 of 194 on 9x9, and the sums of the 25 points
around. A capture touches more windows; its gain is computed by difference, and only when needed (`value.gain_of`).
Whether a point may be played is updated only where a neighbour, a diagonal, a ko or a last liberty changed.

Two kinds of functions keep a record valid, from scratch and after a move. What is valid then:

==============================================  ======================================  ================
valid                                           from scratch                            after a move
==============================================  ======================================  ================
everything                                      `reset`; `reweigh`, for new weights     `update`
x[0], and the gains of the colour to play       `reset_gains`
x[0]                                            `reset_value`                           `update_value`
==============================================  ======================================  ================
"""

from __future__ import annotations

from functools import cache

import numpy as np

from rlgo.base.ram import on_own_cache_lines
from rlgo.compiler.jit import has_field, inline, njit
from rlgo.features.other_windows import (
    follow_others,
    forget_gains,
    has_others,
    is_square,
    other_fields,
    reset_others,
    shape_value,
)
from rlgo.features.shapes import WINDOWS_OVER_POINT, max_windows
from rlgo.go.board import BLACK, EMPTY, WHITE, breathes, is_eye, last_liberty
from rlgo.go.rules import STRIP, padded_points

FORBIDDEN = np.float32(-np.inf)  # the mask of a point that a colour may not choose
_POWER = np.array([3**d for d in range(9)], np.int64)


def configuration_type(capacity: int) -> type:
    """Return the type of configurations: those of squares fit into 16 bits."""
    return np.uint32 if capacity else np.uint16


@cache
def shapes_dtype(size: int, capacity: int = 0) -> np.dtype:
    """Return the record type of the shapes on one board of this size (P padded points, W windows; colour index c - 1).

    capacity : of the feature set; unless it is 0, the record begins with the fields of `other_windows.other_fields`

    Fields
    ------
    configuration[W] : the configuration of each window
    x[2] : phi(s) . theta by the tables of Black's and of White's player
    now[2, W] : the weight of the shape in each window
    gain[2, P] : what a stone of this colour adds for its player (valid at empty points, captures left out)
    part[2, 14 * P] : the contributions that `gain` sums, by window
    mask[2, P] : 0 where this colour may choose the point, else -inf; captures are -inf too
    captures[2, P], n_captures[2] : the points where this colour may capture; is_capture[2, P] the same
    gain_capture[2, P] : the gain of a capturing move, valid where is_fresh[2, P]
    touched[P] : the last move (its number, one byte) that changed a window over the point
    last_liberty[P] : by chain, as `board.last_liberty`
    ko : the ko point that the masks take into account
    dirty[W] : scratch; changed[W + 1], n_changed : windows that the last move changed
    delta[W] : scratch of `value.gain_of`
    """
    points = padded_points(size)
    windows = max_windows(size, capacity)
    fields = [
        *(other_fields(size) if capacity else []),
        ("x", np.float64, (2,)),
        ("n_captures", np.int32, (2,)),
        ("n_changed", np.int32),
        ("ko", np.int32),
        ("part", np.float32, (2, WINDOWS_OVER_POINT * points)),
        ("gain", np.float32, (2, points)),
        ("gain_capture", np.float32, (2, points)),
        ("mask", np.float32, (2, points)),
        ("delta", np.int32, (windows,)),
        ("now", np.float32, (2, windows)),
        ("configuration", configuration_type(capacity), (windows,)),
        ("changed", np.uint16, (windows + 1,)),
        ("captures", np.uint16, (2, points)),
        ("last_liberty", np.uint16, (points,)),
        ("is_capture", np.uint8, (2, points)),
        ("is_fresh", np.uint8, (2, points)),
        ("touched", np.uint8, (points,)),
        ("dirty", np.uint8, (windows,)),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


def new_shapes(n: int, size: int, capacity: int = 0) -> np.ndarray:
    """Make n records of `shapes_dtype(size, capacity)`; each needs a `reset` before use."""
    return on_own_cache_lines(shapes_dtype(size, capacity), n)


@inline
def _look_up(g, weights, ld, li):
    """Add up the weights at both places, or return the only one: half the look-ups."""
    value = weights[np.uint64(ld)]
    if not has_field(g, "one_table"):
        value += weights[np.uint64(li)]
    return value


@inline
def _renew_window(sh, table, w):
    """Recompute the contributions of window w to `x` and to the gains of its cells.

    Cells that hold a stone are looked up as well and never used, which is cheaper than an unpredictable
    branch. The tables are padded for it.
    """
    g = table.g
    c = np.int64(sh.configuration[np.uint64(w)])
    now_black = shape_value(g, table.black, w, c)
    now_white = shape_value(g, table.white, w, c)
    sh.x[0] += np.float64(now_black) - np.float64(sh.now[0, np.uint64(w)])
    sh.x[1] += np.float64(now_white) - np.float64(sh.now[1, np.uint64(w)])
    sh.now[0, np.uint64(w)] = now_black
    sh.now[1, np.uint64(w)] = now_white
    if not is_square(g, w):  # its gains are not kept by window
        return
    ld = np.int64(g.ld_base[np.uint64(w)]) + c
    li = np.int64(g.li_base[np.uint64(w)]) + c
    now = (now_black, now_white)
    n = np.int64(g.n_cells[np.uint64(w)])
    if n == 9:  # a constant loop is unrolled
        for d in range(9):
            _renew_cell(sh, table, w, d, ld, li, now)
    else:
        for d in range(n):
            _renew_cell(sh, table, w, d, ld, li, now)


@inline
def _renew_cell(sh, table, w, d, ld, li, now):
    g = table.g
    one = _POWER[np.uint64(d)]
    two = 2 * one
    slot = np.uint64(g.cell_slot[np.uint64(w), np.uint64(d)])
    sh.part[0, slot] = _look_up(g, table.black, ld + one, li + one) - now[0]
    sh.part[1, slot] = now[1] - _look_up(g, table.white, ld + two, li + two)


@inline
def _renew_strip(sh, color_index, start):
    """Sum the contributions to the gains of STRIP points in a row, by one vector addition a slot."""
    c = np.uint64(color_index)
    width = np.uint64(sh.gain.shape[1])
    for i in range(STRIP):
        p = np.uint64(start + i)
        total = np.float32(0.0)
        for slot in range(WINDOWS_OVER_POINT):
            total += sh.part[c, np.uint64(slot) * width + p]
        sh.gain[c, p] = total


@inline
def _renew_masks(b, sh, p):
    """Recompute for both colours whether they may choose the point p, and whether they would capture there."""
    if b.color[np.uint64(p)] != EMPTY:
        _set_mask(sh, p, 0, False, False)
        _set_mask(sh, p, 1, False, False)
        return
    stride = b.stride
    doomed = 0  # colours that p captures: bit 1 black, bit 2 white (no chain: last liberty 0)
    for q in (p - stride, p - 1, p + 1, p + stride):
        last = sh.last_liberty[np.uint64(b.chain[np.uint64(q)])] == p
        doomed |= np.int64(last) * np.int64(b.color[np.uint64(q)])
    if (b.nbr[np.uint64(p)] >= 256) & (doomed == 0):
        _set_mask(sh, p, 0, True, False)
        _set_mask(sh, p, 1, True, False)
    else:
        _set_mask(sh, p, 0, _may_choose(b, p, BLACK), doomed & WHITE != 0)
        _set_mask(sh, p, 1, _may_choose(b, p, WHITE), doomed & BLACK != 0)


@inline
def _may_choose(b, p, color):
    """Return whether a move is sensible, for either colour; see `board.is_sensible`."""
    if b.nbr[np.uint64(p)] >= 256:
        return True
    return (p != b.ko or color != b.to_play) and not is_eye(b, p, color) and breathes(b, p, color)


@inline
def _set_mask(sh, p, color_index, may, captures):
    c = np.uint64(color_index)
    captures &= may
    sh.mask[c, np.uint64(p)] = np.float32(0.0) if may & (not captures) else FORBIDDEN
    sh.is_fresh[c, np.uint64(p)] = 0
    if captures != (sh.is_capture[c, np.uint64(p)] == 1):
        _set_capture(sh, p, c, captures)


@njit
def _set_capture(sh, p, c, captures):
    """Add the point to the colour's list of captures, or remove it."""
    n = sh.n_captures[c]
    if captures:
        sh.captures[c, np.uint64(n)] = p
        sh.n_captures[c] = n + 1
    else:
        for i in range(n):
            if sh.captures[c, np.uint64(i)] == p:
                sh.captures[c, np.uint64(i)] = sh.captures[c, np.uint64(n - 1)]
                break
        sh.n_captures[c] = n - 1
    sh.is_capture[c, np.uint64(p)] = captures


@inline
def _follow_chain(b, sh, q):
    """Update the last liberty of the chain at q, and the masks of both points that depend on it."""
    c = b.color[np.uint64(q)]
    if (c == BLACK) | (c == WHITE):
        chain = np.int64(b.chain[np.uint64(q)])
        old = np.int64(sh.last_liberty[np.uint64(chain)])
        new = last_liberty(b, chain)
        if old != new:
            sh.last_liberty[np.uint64(chain)] = new
            if old != 0:
                _renew_masks(b, sh, old)
            if new != 0:
                _renew_masks(b, sh, new)


@inline
def _renew_configurations(b, sh, g):
    """Bring the configurations up to date after a move on `b`, and list the windows that changed."""
    n = np.int64(0)
    for i in range(b.n_changed):
        p = np.int64(b.changed[np.uint64(i)])
        # The stone played comes first; the others are captured stones, of the colour to play.
        digit = np.int64(3 - b.to_play) if i == 0 else -np.int64(b.to_play)
        for slot in range(g.n_slots[np.uint64(p)]):
            w = g.slot_window[np.uint64(p), np.uint64(slot)]
            if sh.dirty[np.uint64(w)] == 0:
                sh.dirty[np.uint64(w)] = 1
                sh.changed[np.uint64(n)] = w
                n += 1
            sh.configuration[np.uint64(w)] = (
                np.int64(sh.configuration[np.uint64(w)]) + digit * g.slot_power[np.uint64(p), np.uint64(slot)]
            )
    n = follow_others(b, sh, g, n, has_others(g))
    sh.n_changed = n
    for i in range(n):
        sh.dirty[np.uint64(sh.changed[np.uint64(i)])] = 0


@njit
def update_value(b, sh, table):
    """Bring only the configurations and x[0] up to date after a move on `b`, by Black's weights.

    For default policies, which choose no move by value.
    """
    _renew_configurations(b, sh, table.g)
    for i in range(sh.n_changed):
        w = np.uint64(sh.changed[np.uint64(i)])
        now = shape_value(table.g, table.black, w, np.int64(sh.configuration[w]))
        sh.x[0] += np.float64(now) - np.float64(sh.now[0, w])
        sh.now[0, w] = now


@njit
def update(b, sh, table):
    """Bring `sh` up to date after a move on `b`; call it once after every `play`.

    The windows that changed are left in `sh.changed[:sh.n_changed]`.
    """
    g = table.g
    _renew_configurations(b, sh, g)
    for i in range(sh.n_changed):
        _renew_window(sh, table, np.int64(sh.changed[np.uint64(i)]))

    # The last liberties first: the masks read them.
    stride = b.stride
    stamp = np.uint8(b.n_moves & 255)
    if b.n_changed > 0:
        sh.last_liberty[np.uint64(b.changed[0])] = 0  # left over from an earlier chain with the same representative
    for i in range(b.n_changed):
        p = np.int64(b.changed[np.uint64(i)])
        for q in (p, p - stride, p - 1, p + 1, p + stride):
            _follow_chain(b, sh, q)
    for i in range(b.n_changed):
        p = np.int64(b.changed[np.uint64(i)])
        start = np.int64(g.near[np.uint64(p)])
        for _ in range(g.near_rows[np.uint64(p)]):
            _renew_strip(sh, 0, start)
            _renew_strip(sh, 1, start)
            for j in range(STRIP):
                sh.touched[np.uint64(start + j)] = stamp
            start += stride
        for row in (p - stride, p, p + stride):
            for q in range(row - 1, row + 2):
                _renew_masks(b, sh, q)
    if sh.ko != b.ko:
        old = np.int64(sh.ko)
        sh.ko = b.ko
        if old != 0:
            _renew_masks(b, sh, old)
        if b.ko != 0:
            _renew_masks(b, sh, np.int64(b.ko))
    for c in range(2):
        for i in range(sh.n_captures[c]):
            p = np.int64(sh.captures[c, np.uint64(i)])
            if sh.is_fresh[c, np.uint64(p)] == 1 and _capture_touched(b, sh, p, c + 1, stamp):
                sh.is_fresh[c, np.uint64(p)] = 0


@njit
def _capture_touched(b, sh, p, color, stamp):
    """Return whether a window over p, or over a stone that `color` captures there, changed in move `stamp`."""
    if sh.touched[np.uint64(p)] == stamp:
        return True
    stride = b.stride
    for q in (p - stride, p - 1, p + 1, p + stride):
        if b.color[np.uint64(q)] == 3 - color:
            chain = np.int64(b.chain[np.uint64(q)])
            if sh.last_liberty[np.uint64(chain)] == p:
                stone = chain
                while True:
                    if sh.touched[np.uint64(stone)] == stamp:
                        return True
                    stone = np.int64(b.next[np.uint64(stone)])
                    if stone == chain:
                        break
    return False


@njit
def reset(b, sh, table):
    """Recompute everything from the board: at a root, or for another table."""
    sh.part[:] = 0
    _read_board(b, sh, table.g)
    reweigh(sh, table)
    sh.n_captures[:] = 0
    sh.n_changed = 0
    sh.ko = b.ko
    sh.mask[:] = FORBIDDEN
    sh.is_capture[:] = 0
    for i in range(b.n_empty):
        _renew_masks(b, sh, np.int64(b.empties[i]))


@njit
def reweigh(sh, table):
    """Recompute values and gains from the configurations, after the weights changed; everything else stays valid."""
    sh.x[:] = 0.0
    sh.now[:] = 0.0
    for w in range(table.g.n_windows):
        _renew_window(sh, table, w)
    for start in range(0, sh.gain.shape[1], STRIP):
        _renew_strip(sh, 0, start)
        _renew_strip(sh, 1, start)
    sh.is_fresh[:] = 0
    forget_gains(sh, table.g, has_others(table.g))


@njit
def reset_gains(b, sh, table):
    """Recompute only x[0] and what `value.gain_of` needs for the colour to play: half the look-ups of `reset`."""
    g, c = table.g, np.uint64(b.to_play - 1)
    for i in range(sh.part.shape[1]):
        sh.part[c, np.uint64(i)] = 0
    _read_board(b, sh, g)
    sh.x[0] = x_of(sh.configuration, table)
    weights = table.black if c == 0 else table.white
    for w in range(g.n_windows):
        _renew_window_of(sh, g, weights, c, w)
    for start in range(0, sh.gain.shape[1], STRIP):
        _renew_strip(sh, c, start)


@njit
def reset_value(b, sh, table):
    """Recompute only the configurations and x[0], by Black's weights."""
    _read_configurations(b, sh, table.g)
    sh.x[0] = x_of(sh.configuration, table)


@njit
def x_of(configuration, table):
    """Compute phi(s) . theta from the configurations of the windows, by Black's weights."""
    x = 0.0
    for w in range(table.g.n_windows):
        x += shape_value(table.g, table.black, w, np.int64(configuration[w]))
    return x


@inline
def _renew_window_of(sh, g, weights, c, w):
    """Recompute the contributions of window w to the gains of one colour; see `_renew_window`."""
    configuration = np.int64(sh.configuration[np.uint64(w)])
    now = shape_value(g, weights, w, configuration)
    sh.now[c, np.uint64(w)] = now
    if is_square(g, w):
        ld = np.int64(g.ld_base[np.uint64(w)]) + configuration
        li = np.int64(g.li_base[np.uint64(w)]) + configuration
        for d in range(g.n_cells[np.uint64(w)]):
            shift = _POWER[np.uint64(d)] * np.int64(c + np.uint64(1))
            change = _look_up(g, weights, ld + shift, li + shift) - now
            slot = np.uint64(g.cell_slot[np.uint64(w), np.uint64(d)])
            sh.part[c, slot] = change if c == 0 else -change


@inline
def _read_board(b, sh, g):
    """Recompute the configurations and the last liberties, and forget changes."""
    sh.dirty[:] = 0
    sh.delta[:] = 0
    _read_configurations(b, sh, g)
    sh.last_liberty[:] = 0
    for p in range(b.color.shape[0]):
        if b.color[p] in (BLACK, WHITE):
            chain = np.int64(b.chain[p])
            sh.last_liberty[chain] = last_liberty(b, chain)


@inline
def _read_configurations(b, sh, g):
    for w in range(g.n_windows):
        configuration = np.int64(0)
        if is_square(g, w):
            for d in range(g.n_cells[w]):
                configuration += _POWER[d] * np.int64(b.color[np.uint64(g.cell_point[w, d])])
        sh.configuration[w] = configuration
    reset_others(b, sh, g, has_others(g))
