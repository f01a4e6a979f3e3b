"""Windows of any form, which may see liberties: kept up to date move by move, with what moves add to them.

Start reading at `follow_others` (what a move changes) and `gain_of_others` (what a move would change).
`incremental.py` and `value.py` call them beside their own work on the other kind of windows, squares that see stones
alone. For feature sets of squares, `has_others` tells them to compile to nothing.

The record holds the state of every point in C liberty classes, as many as any of the windows tells apart: its colour
and min(C, liberties of its chain). A window that tells fewer apart reads it with these put together (`_digit`). A move
changes the state of the stone played, of stones captured, and of all stones of a chain that crosses the boundary of a
class: chains next to the stone played lose a liberty or are joined, chains next to captured stones gain some. Nothing
else changes, so that only these chains are looked at.

Gains
-----
The record counts the liberties of every chain, up to C + 1. A chain with at most C is *weak*: the next move may change
its class. A move that changes no other chain's class is *quiet*: it changes the windows over its own point, which are
looked up at once. Other moves also change the windows over weak chains, which takes longer (`_wide_gain`).

Gains are computed when a player first needs them, and kept until they are *stale*. The gain of a move depends on the
windows over its point, and on weak chains next to it: their liberties, and the windows over their stones. So a point is
stale when a stone nearby changed its state (nearby: in the same window), or a weak chain that has it as a liberty
changed or has such a stone nearby. Captures depend on more and are computed anew each time.
"""

from __future__ import annotations

import numpy as np

from rlgo.compiler.jit import by_type, has_field, inline, njit
from rlgo.features.kinds import SEES
from rlgo.go.board import BLACK, EMPTY, WHITE
from rlgo.go.rules import padded_points

_MOST_CLASSES = max(SEES.values())


def other_fields(size: int) -> list[tuple]:
    """Return the fields that `incremental.shapes_dtype` begins with (P padded points, N area; colour index c - 1).

    Fields
    ------
    state[P] : of each point: 0, class, or C + class
    count[P] : liberties of the chain of the stone at each point, C + 1 for more than C; 0 without a stone
    liberty[P, 3] : by chain, the liberties of a weak one
    other_gain[2, P] : what a stone of this colour at an empty point adds to the irregular windows ...
    stale[2, P], stale_points[2, P], n_stale[2] : ... except where it is to be computed anew
    total[2, P] : gains over all windows
    moved[N], n_moved : points whose state the last move changed
    done[N], n_done : scratch: chains that a move changes
    found[4] : scratch: liberties
    """
    points, area = padded_points(size), size * size
    return [
        ("other_gain", np.float32, (2, points)),
        ("total", np.float32, (2, points)),
        ("n_stale", np.int32, (2,)),
        ("n_moved", np.int32),
        ("n_done", np.int32),
        ("stale_points", np.uint16, (2, points)),
        ("liberty", np.uint16, (points, _MOST_CLASSES)),
        ("moved", np.uint16, (2 * area,)),
        ("done", np.uint16, (2 * area,)),
        ("found", np.uint16, (_MOST_CLASSES + 1,)),
        ("stale", np.uint8, (2, points)),
        ("state", np.uint8, (points,)),
        ("count", np.uint8, (points,)),
    ]


# ---------------------------------------------------------------------------------------------
# What is decided when a function is compiled, by the type of the geometry (first the interpreted form)
# ---------------------------------------------------------------------------------------------


def has_others(g):
    """Return True for a geometry with irregular windows, else None: a type for which little is compiled."""
    return True if has_field(g, "n_classes") else None


@by_type(has_others)
def _overload_has_others(g):
    answer = True if "n_classes" in g.fields else None
    return lambda g: answer  # noqa: ARG005  # numba matches names


@inline
def is_square(g, w):
    """Return whether window w is a square that sees stones alone."""
    return not has_field(g, "n_classes") or w < g.n_squares


@inline
def has_two_weights(g, w):
    """Return whether shapes of window w may have two weights, LD and LI; else `li_base` need not be read."""
    return not has_field(g, "one_table") and (not has_field(g, "n_classes") or w < g.n_double)


@inline
def shape_value(g, weights, w, configuration):
    """Return the weight of the shape that a window holds: sign_LD theta_LD + sign_LI theta_LI (equation 9)."""
    value = weights[np.uint64(np.int64(g.ld_base[np.uint64(w)]) + configuration)]
    if has_two_weights(g, w):
        value += weights[np.uint64(np.int64(g.li_base[np.uint64(w)]) + configuration)]
    return value


@inline
def gain_at(sh, c, p, has):
    """Return the gain at point p for colour index c over all windows, unless it captures; has : `has_others(g)`."""
    if has is None:
        return sh.gain[c, np.uint64(p)]
    return sh.total[c, np.uint64(p)]


# ---------------------------------------------------------------------------------------------
# Staying up to date with a board
# ---------------------------------------------------------------------------------------------


@njit
def follow_others(b, sh, g, n, has):
    """Bring the configurations up to date after a move on `b`, and add the windows that changed to sh.changed[:n].

    Returns the new n.
    """
    if has is None:
        return n
    if b.n_changed == 0:
        return n
    stride = b.stride
    color = np.int64(3 - b.to_play)
    sh.n_moved = 0
    for i in range(1, b.n_changed):
        s = np.int64(b.changed[np.uint64(i)])
        sh.count[np.uint64(s)] = 0
        n = _set_state(sh, g, s, 0, n)
    played = np.int64(b.changed[0])
    n = _follow_joined(b, sh, g, played, n)
    for q in (played - stride, played - 1, played + 1, played + stride):
        if b.color[np.uint64(q)] == 3 - color:
            n = _follow_chain(b, sh, g, q, n)
    for i in range(1, b.n_changed):
        s = np.int64(b.changed[np.uint64(i)])
        for q in (s - stride, s - 1, s + 1, s + stride):
            if b.color[np.uint64(q)] == color:
                n = _follow_chain(b, sh, g, q, n)
    _mark_around(b, sh, g)
    return n


@inline
def _set_state(sh, g, p, state, n):
    """Give point p a state, and shift the configurations of the windows over it."""
    old = np.int64(sh.state[np.uint64(p)])
    sh.state[np.uint64(p)] = state
    sh.moved[np.uint64(sh.n_moved)] = p
    sh.n_moved += 1
    for c in range(g.fewest_classes, g.n_classes + 1):
        shift = _digit(g, state, c) - _digit(g, old, c)
        if shift != 0:
            for i in _slots(g, p, c):
                w = g.window_at[np.uint64(i)]
                sh.changed[np.uint64(n)] = w
                n += 1 - np.int64(sh.dirty[np.uint64(w)])
                sh.dirty[np.uint64(w)] = 1
                sh.configuration[np.uint64(w)] = np.int64(sh.configuration[np.uint64(w)]) + shift * np.int64(
                    g.power_at[np.uint64(i)]
                )
    return n


@inline
def _slots(g, p, n_classes):
    """List the slots of the windows over p that see so many liberty classes."""
    first = np.uint64(3 * p + n_classes - 1)
    return range(g.slots_at[first], g.slots_at[first + np.uint64(1)])


@inline
def _digit(g, state, n_classes):
    """Return a state as the digit of a window that sees so many liberty classes."""
    white = np.int64(state > g.n_classes)
    return min(state - white * np.int64(g.n_classes), np.int64(n_classes)) + white * np.int64(n_classes)


@inline
def _state(color, count, n_classes):
    """Return the state of a stone whose chain has this many liberties."""
    return min(np.int64(count), np.int64(n_classes)) + (0 if color == BLACK else np.int64(n_classes))


@njit
def _follow_joined(b, sh, g, played, n):
    """Count the liberties of the chain of the stone played, and bring all chains that it joined up to date."""
    stride = b.stride
    color = np.int64(b.color[np.uint64(played)])
    chain = np.int64(b.chain[np.uint64(played)])
    new = _count_liberties(b, sh, chain, g.n_classes)
    n_classes = np.int64(g.n_classes)
    was_weak, differs = False, False
    for q in (played - stride, played - 1, played + 1, played + stride):
        if b.color[np.uint64(q)] == color:
            was_weak |= sh.count[np.uint64(q)] <= n_classes
            differs |= sh.count[np.uint64(q)] != new
    sh.count[np.uint64(played)] = new
    n = _set_state(sh, g, played, _state(color, new, n_classes), n)
    if differs:
        n = _set_count(b, sh, g, chain, new, n)
    if was_weak or new <= n_classes:
        _mark_liberties(b, sh, chain)
    return n


@njit
def _follow_chain(b, sh, g, q, n):
    """Bring the chain at q, which lost or gained liberties, up to date."""
    chain = np.int64(b.chain[np.uint64(q)])
    old = np.int64(sh.count[np.uint64(q)])
    new = _count_liberties(b, sh, chain, g.n_classes)
    if new != old:
        n = _set_count(b, sh, g, chain, new, n)
    if old <= g.n_classes or new <= g.n_classes:
        _mark_liberties(b, sh, chain)
    return n


@inline
def _set_count(b, sh, g, chain, new, n):
    """Tell every stone of a chain how many liberties it has."""
    state = _state(b.color[np.uint64(chain)], new, g.n_classes)
    stone = chain
    while True:
        sh.count[np.uint64(stone)] = new
        if sh.state[np.uint64(stone)] != state:
            n = _set_state(sh, g, stone, state, n)
        stone = np.int64(b.next[np.uint64(stone)])
        if stone == chain:
            break
    return n


@njit
def _count_liberties(b, sh, chain, n_classes):
    """Count the liberties of a chain, up to n_classes + 1, and list those of a weak one in `sh.liberty`."""
    stride = b.stride
    n = np.int64(0)
    stone = chain
    while True:
        if b.nbr[np.uint64(stone)] >= 256:
            for q in (stone - stride, stone - 1, stone + 1, stone + stride):
                if b.color[np.uint64(q)] == EMPTY:
                    is_new = True
                    for i in range(n):
                        is_new &= sh.liberty[np.uint64(chain), np.uint64(i)] != q
                    if is_new:
                        if n == n_classes:
                            return n + 1
                        sh.liberty[np.uint64(chain), np.uint64(n)] = q
                        n += 1
        stone = np.int64(b.next[np.uint64(stone)])
        if stone == chain:
            return n


@inline
def _mark(sh, p):
    """Make the gains at point p stale for both colours."""
    for c in range(2):
        n = np.int64(sh.n_stale[np.uint64(c)])
        sh.stale_points[np.uint64(c), np.uint64(n)] = p
        sh.n_stale[np.uint64(c)] = n + 1 - np.int64(sh.stale[np.uint64(c), np.uint64(p)])
        sh.stale[np.uint64(c), np.uint64(p)] = 1


@njit
def _mark_liberties(b, sh, chain):
    """Make the gains at all liberties of a chain stale."""
    stride = b.stride
    stone = chain
    while True:
        if b.nbr[np.uint64(stone)] >= 256:
            for q in (stone - stride, stone - 1, stone + 1, stone + stride):
                if b.color[np.uint64(q)] == EMPTY:
                    _mark(sh, q)
        stone = np.int64(b.next[np.uint64(stone)])
        if stone == chain:
            break


@njit
def _mark_around(b, sh, g):
    """Make the gains stale that depend on windows over points whose state changed."""
    for i in range(sh.n_moved):
        p = np.int64(sh.moved[np.uint64(i)])
        for k in range(g.around_at[np.uint64(p)], g.around_at[np.uint64(p + 1)]):
            q = np.int64(g.around[np.uint64(k)])
            c = b.color[np.uint64(q)]
            if c == EMPTY:
                _mark(sh, q)
            elif sh.count[np.uint64(q)] <= g.n_classes:
                chain = np.uint64(b.chain[np.uint64(q)])
                for m in range(sh.count[np.uint64(q)]):
                    _mark(sh, np.int64(sh.liberty[chain, np.uint64(m)]))


@njit
def reset_others(b, sh, g, has):
    """Recompute states, counts and configurations, which must be 0, from the board."""
    if has is None:
        return
    sh.stale[:] = 0
    sh.n_stale[:] = 0
    sh.other_gain[:] = 0.0
    n_classes = np.int64(g.n_classes)
    for p in range(b.color.shape[0]):
        c = np.int64(b.color[p])
        sh.count[p] = 0
        sh.state[p] = 0
        if c in (BLACK, WHITE) and b.chain[p] == p:
            sh.count[p] = _count_liberties(b, sh, p, n_classes)
    for p in range(b.color.shape[0]):
        c = np.int64(b.color[p])
        if c in (BLACK, WHITE):
            sh.count[p] = sh.count[b.chain[p]]
            state = _state(c, sh.count[p], n_classes)
            sh.state[p] = state
            for k in range(g.fewest_classes, n_classes + 1):
                for i in _slots(g, p, k):
                    w = g.window_at[i]
                    sh.configuration[w] = np.int64(sh.configuration[w]) + _digit(g, state, k) * np.int64(g.power_at[i])


@njit
def forget_gains(sh, g, has):
    """Make all gains stale, after the weights changed."""
    if has is None:
        return
    for p in range(sh.count.shape[0]):
        if g.around_at[p] < g.around_at[p + 1]:
            _mark(sh, p)


# ---------------------------------------------------------------------------------------------
# Afterstates
# ---------------------------------------------------------------------------------------------


@njit
def renew_gains(b, sh, table, has):
    """Compute the stale gains of the colour to play, so that `sh.total` is valid for it where it captures nothing."""
    if has is None:
        return
    c = np.uint64(b.to_play - 1)
    n = np.int64(0)
    for i in range(sh.n_stale[c]):
        p = np.int64(sh.stale_points[c, np.uint64(i)])
        if sh.mask[c, np.uint64(p)] == 0:
            sh.stale[c, np.uint64(p)] = 0
            sh.other_gain[c, np.uint64(p)] = gain_of_others(b, sh, table, p, True)
        else:  # it stays stale
            sh.stale_points[c, np.uint64(n)] = p
            n += np.int64(b.color[np.uint64(p)] == EMPTY)
            sh.stale[c, np.uint64(p)] = b.color[np.uint64(p)] == EMPTY
    sh.n_stale[c] = n
    for i in range(sh.gain.shape[1]):
        sh.total[c, np.uint64(i)] = sh.gain[c, np.uint64(i)] + sh.other_gain[c, np.uint64(i)]


@njit
def gain_of_others(b, sh, table, p, has):
    """Return what a stone of the colour to play at p adds, for that colour, to the irregular windows."""
    if has is None:
        return 0.0
    g = table.g
    color = np.int64(b.to_play)
    n_classes = np.int64(g.n_classes)
    stride = b.stride
    own = np.int64(b.nbr[np.uint64(p)] >> 8) & 15
    fewest = n_classes + 1  # liberties of chains of either colour next to p
    fewest_enemy = n_classes + 1
    for q in (p - stride, p - 1, p + 1, p + stride):
        c = b.color[np.uint64(q)]
        count = np.int64(sh.count[np.uint64(q)])
        if c == color:
            fewest = min(fewest, count)
            own += n_classes * np.int64(count > n_classes)
        elif c == 3 - color:
            fewest_enemy = min(fewest_enemy, count)
    if (fewest_enemy <= n_classes) | (fewest < n_classes) | ((fewest == n_classes) & (own < n_classes)):
        return _wide_gain(b, sh, table, p)
    state = _state(color, max(1, own), n_classes)
    weights = table.black if color == BLACK else table.white
    gain = 0.0
    for k in range(g.fewest_classes, n_classes + 1):
        digit = _digit(g, state, k)
        for i in _slots(g, p, k):
            w = np.uint64(g.window_at[np.uint64(i)])
            moved = np.int64(sh.configuration[w]) + digit * np.int64(g.power_at[np.uint64(i)])
            gain += np.float64(shape_value(g, weights, w, moved)) - np.float64(sh.now[np.uint64(color - 1), w])
    return gain if color == BLACK else -gain


@njit
def _wide_gain(b, sh, table, p):
    """Compute the gain of a move next to weak chains, over all windows that it changes."""
    g = table.g
    color = np.int64(b.to_play)
    n_classes = np.int64(g.n_classes)
    stride = b.stride
    near = (p - stride, p - 1, p + 1, p + stride)
    sh.n_done = 0
    own = max(1, _liberties_of_joined(b, sh, g, p))
    n = _shift_state(sh, g, p, _state(color, own, n_classes), np.int64(0))
    captures = False
    for q in near:
        c = b.color[np.uint64(q)]
        count = np.int64(sh.count[np.uint64(q)])
        if c == color:
            n = _shift_chain(b, sh, g, q, own - min(count, n_classes), n)
        elif c == 3 - color and count == 1:
            captures = True
            n = _shift_chain(b, sh, g, q, -np.int64(sh.state[np.uint64(q)]), n)
        elif c == 3 - color and count <= n_classes:
            n = _shift_chain(b, sh, g, q, -1, n)
    if captures:
        for q in near:
            if b.color[np.uint64(q)] == 3 - color and sh.count[np.uint64(q)] == 1:
                n = _shift_freed(b, sh, g, q, p, n)
    weights = table.black if color == BLACK else table.white
    gain = 0.0
    for i in range(n):
        w = np.uint64(sh.changed[np.uint64(i)])
        moved = np.int64(sh.configuration[w]) + np.int64(sh.delta[w])
        sh.delta[w] = 0
        gain += np.float64(shape_value(g, weights, w, moved)) - np.float64(sh.now[np.uint64(color - 1), w])
    return gain if color == BLACK else -gain


@inline
def _shift_state(sh, g, p, state, n):
    """Shift the configurations of the windows over p to this state of it, in `sh.delta`; see `value._shift_digits`."""
    old = np.int64(sh.state[np.uint64(p)])
    for c in range(g.fewest_classes, g.n_classes + 1):
        shift = _digit(g, state, c) - _digit(g, old, c)
        if shift != 0:
            for i in _slots(g, p, c):
                w = np.uint64(g.window_at[np.uint64(i)])
                if sh.delta[w] == 0:
                    sh.changed[np.uint64(n)] = w
                    n += 1
                sh.delta[w] += shift * np.int64(g.power_at[np.uint64(i)])
    return n


@njit
def _shift_chain(b, sh, g, q, shift, n):
    """Shift the states of all stones of the chain at q, unless that is done already."""
    chain = np.int64(b.chain[np.uint64(q)])
    for i in range(sh.n_done):
        if sh.done[np.uint64(i)] == chain:
            return n
    sh.done[np.uint64(sh.n_done)] = chain
    sh.n_done += 1
    if shift != 0:
        state = np.int64(sh.state[np.uint64(q)]) + shift
        stone = chain
        while True:
            n = _shift_state(sh, g, stone, state, n)
            stone = np.int64(b.next[np.uint64(stone)])
            if stone == chain:
                break
    return n


@njit
def _shift_freed(b, sh, g, q, p, n):
    """Shift the states of chains that gain liberties because the move p captures the chain at q."""
    stride = b.stride
    color = np.int64(b.to_play)
    n_classes = np.int64(g.n_classes)
    chain = np.int64(b.chain[np.uint64(q)])
    stone = chain
    while True:
        for r in (stone - stride, stone - 1, stone + 1, stone + stride):
            count = np.int64(sh.count[np.uint64(r)])
            if b.color[np.uint64(r)] == color and count < n_classes:
                new = _add_liberties(b, sh, np.int64(b.chain[np.uint64(r)]), p, 0, n_classes)
                n = _shift_chain(b, sh, g, r, new - count, n)
        stone = np.int64(b.next[np.uint64(stone)])
        if stone == chain:
            break
    return n


@njit
def _liberties_of_joined(b, sh, g, p):
    """Count the liberties of the chain that a stone of the colour to play at p would belong to, up to C."""
    stride = b.stride
    n_classes = np.int64(g.n_classes)
    color = b.to_play
    n = np.int64(0)
    near = (p - stride, p - 1, p + 1, p + stride)
    for q in near:
        if b.color[np.uint64(q)] == color and sh.count[np.uint64(q)] > n_classes:
            return n_classes
        if _will_be_empty(b, sh, q, p) and n < n_classes:
            sh.found[np.uint64(n)] = q
            n += 1
    for q in near:
        if b.color[np.uint64(q)] == color and n < n_classes:
            n = _add_liberties(b, sh, np.int64(b.chain[np.uint64(q)]), p, n, n_classes)
    return n


@njit
def _add_liberties(b, sh, chain, p, n, most):
    """Add the liberties that a chain would have after the move p to sh.found[:n], up to `most`; return the new n."""
    stride = b.stride
    stone = chain
    while n < most:
        for q in (stone - stride, stone - 1, stone + 1, stone + stride):
            if _will_be_empty(b, sh, q, p) and n < most:
                is_new = True
                for i in range(n):
                    is_new &= sh.found[np.uint64(i)] != q
                if is_new:
                    sh.found[np.uint64(n)] = q
                    n += 1
        stone = np.int64(b.next[np.uint64(stone)])
        if stone == chain:
            break
    return n


@inline
def _will_be_empty(b, sh, q, p):
    """Return whether q will be empty after a move at p: it is now and is not p, or its stone is captured."""
    c = b.color[np.uint64(q)]
    if c == EMPTY:
        return q != p
    if c == 3 - b.to_play and sh.count[np.uint64(q)] == 1:
        return sh.liberty[np.uint64(b.chain[np.uint64(q)]), 0] == p
    return False
