"""A handcrafted prior: captures, atari, extensions, MoGo's patterns, distance to the last move, the edge.

Start reading at `judge`. It is richer than the paper's Q_mogo (MC-RAVE paper, Section 5.1), which is in `mogo.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rlgo.compiler.jit import njit
from rlgo.go.board import BORDER, EMPTY, PASS, in_atari, last_liberty, liberties_after, would_be_in_atari
from rlgo.go.mogo_patterns import neighbourhood

# Contribution of each property of a move to x.
_ANY_MOVE = -0.4
_CAPTURE = 0.8
_CAPTURE_THAT_SAVES = 0.8  # added to _CAPTURE: the captured chain held own stones in atari
_SAVE = 1.2  # an own chain in atari gets two liberties
_ATARI = 0.4
_SELF_ATARI = -1.6
_PATTERN = 0.7
_NEAR = (0.5, 0.4, 0.2)  # at distance 1, 2 and 3 from the last move: the larger of rows and columns
_LONELY = (-0.9, -0.4, 0.2)  # on the first, second and third line, with no stone on the eight points around


class Handcrafted(NamedTuple):
    """Values by hand: captures, atari, patterns, distances.

    >>> import mcts
    >>> mcts.ALGORITHMS["rlgo"].prior[0].prior
    Handcrafted()
    """


@njit
def add_x(prior, node, before, b, tree, context, workspace):  # noqa: ARG001
    """Add x of each action; see `priors.add_x`."""
    first, x = np.int64(tree.first_edge[node]), workspace.path.x
    for k in range(np.int64(tree.n_edges[node])):
        x[k] += judge(b, np.int64(tree.move[first + k]), context.rules.patterns)


@njit
def judge(b, p, patterns):
    """Return x of a sensible move or a pass; H = sigma(x) is P(the colour to play wins).

    patterns : `rollout.mogo_patterns()`
    """
    if p == PASS:
        return _ANY_MOVE
    color = np.int64(b.to_play)
    stride = np.int64(b.stride)
    captures, captures_that_save, saves, ataris = 0, 0, 0, 0
    liberties = liberties_after(b, p, color)
    for q in (p - stride, p - 1, p + 1, p + stride):
        c = b.color[np.uint64(q)]
        if (c == EMPTY) | (c == BORDER):
            continue
        chain = np.int64(b.chain[np.uint64(q)])
        last = last_liberty(b, chain)
        if c == color:
            saves |= np.int64(last != 0 and liberties == 2)
        elif last != 0:
            captures = 1
            captures_that_save |= np.int64(_holds_in_atari(b, chain, color))
        else:
            ataris |= np.int64(would_be_in_atari(b, chain, p))
    x = _ANY_MOVE + captures * _CAPTURE + captures_that_save * _CAPTURE_THAT_SAVES
    x += saves * _SAVE + ataris * _ATARI
    if liberties == 1:
        x += _SELF_ATARI
    code = neighbourhood(b, p)
    if patterns[code] & color != 0:
        x += _PATTERN
    if b.n_changed > 0:
        last = np.int64(b.changed[0])
        distance = max(abs(p // stride - last // stride), abs(p % stride - last % stride))
        if distance <= 3:
            x += _NEAR[distance - 1]
    if (code ^ code >> 1) & 0x5555 == 0:  # neither Black (1) nor White (2) among the neighbours
        size = np.int64(b.board_size)
        row, column = p // stride, p % stride
        line = min(min(row, size + 1 - row), min(column, size + 1 - column))
        if line <= 3:
            x += _LONELY[line - 1]
    return x


@njit
def _holds_in_atari(b, chain, color):
    """Whether a chain touches a chain of `color` that is in atari."""
    stride = b.stride
    stone = chain
    while True:
        for q in (stone - stride, stone - 1, stone + 1, stone + stride):
            if b.color[np.uint64(q)] == color and in_atari(b, q):
                return True
        stone = np.int64(b.next[np.uint64(stone)])
        if stone == chain:
            return False
