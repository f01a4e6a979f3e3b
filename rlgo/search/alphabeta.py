"""Alpha-beta search on a value function, in compiled code. TD paper, Sections 3.3.5 and 6.1.

Start reading at `negamax`. The search has full width, like the paper's, unless late moves are reduced. Iterative
deepening is in `deepening.py`. Values are logits, x = phi(s) . theta, for the colour to
play: they sort like V and need no sigmoid. A finished game is worth WON_LOGIT or -WON_LOGIT.

What makes it fast
------------------
* Weights are constant during a search, so all window sizes are fused into one 3x3 table (`rewriting.fuse`).
* Nothing is undone: an inner node copies its parent's records and plays its move on the copy. Leaves are never played:
  the value of a move is the logit plus its gain, and finding the best move is one pass over an array
  (`value.best_afterstate`).
* Moves are ordered by what was found elsewhere: in a transposition table, by killer moves and the history heuristic.
* All moves of a node but the first must only be proved worse (principal variation search).
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from rlgo.base.checks import Key
from rlgo.compiler.jit import copy_record, njit
from rlgo.features.incremental import update
from rlgo.features.shapes import Table
from rlgo.go.board import BLACK, PASS, outcome, play, position_key
from rlgo.go.rules import Rules, padded_points
from rlgo.learning.value import best_afterstate, gain_of

DEFAULT_DEPTH, DEFAULT_TABLE_BITS = 4, 18  # plies; 2**18 entries of the transposition table
MAX_DEPTH = 40
Depth = Annotated[int, Ge(1), Le(MAX_DEPTH - 1)]
TableBits = Annotated[int, Ge(4), Le(28)]
WON_LOGIT = 1e6  # far above any logit
_WIDTH = 1e-9  # width of a null window: less than the grid of a fused table's weights, unless all are below 2^-11
_EXACT, _LOWER, _UPPER = 1, 2, 3
# Plies that a late move takes off the depth: even, so that the same colour makes the last move before the leaf.
_REDUCTION = 2
_EARLY = 3  # number of first moves of a node that are never reduced
_HISTORY = 1e-3  # of a logit, for each squared depth


class AlphaBetaOptions(NamedTuple):
    """What alpha-beta does besides; `AlphaBeta` checks it.

    >>> import rlgo
    >>> weights = rlgo.load_weights(rlgo.shipped_weights(9))
    >>> rlgo.AlphaBeta(weights, depth=2, options=rlgo.AlphaBetaOptions(reductions=True))
    <AlphaBeta 'alphabeta', 9x9>
    """

    table: Annotated[
        bool,
        Key(
            "Remember positions (transposition table) and moves that caused cut-offs elsewhere (killer moves, "
            "history heuristic)."
        ),
    ] = True
    reductions: Annotated[
        bool,
        Key(
            "Late move reductions: search late moves less deeply at first, to reach three plies more in the same time. "
            "They may change the result."
        ),
    ] = False


@cache
def entry_dtype() -> np.dtype:
    """Return the record type of an entry of the transposition table (24 bytes).

    Fields
    ------
    key : that of the position
    value, bound, depth : its value or a bound of it, which of the two, and at what depth
    move : the best move
    search : the number of the search that wrote it; entries of other searches are ignored, since weights may differ
    """
    fields = [("key", "u8"), ("value", "f8"), ("search", "u4"), ("move", "u2"), ("depth", "u1"), ("bound", "u1")]
    return np.dtype((np.record, fields))


@cache
def state_dtype(size: int) -> np.dtype:
    """Return the record type of a search's state, without boards and shapes.

    P are the padded points, N the area, D = MAX_DEPTH + 1.

    Fields
    ------
    nodes : positions valued, inside the tree and at its leaves
    search : number of the search, for the transposition table
    ply : the current ply, kept so that the search can be interrupted anywhere
    history[2, P] : by colour and point, the squared depths at which a move cut
    killers[D, 2] : by ply, the last two moves that cut
    moves[D, N], order[D, N] : moves of the node at each ply, and their priorities
    n[D], i[D] : number of moves, and the index of the current one
    depth[D], alpha[D], beta[D], start[D] : remaining depth, the current window, and the initial alpha
    reduction[D] : plies taken off the depth of the move being searched
    high[D] : upper end of the window of the move being searched
    best[D], best_move[D], key[D] : by ply
    line[D, D], length[D] : by ply, the best line found from there on
    values[N] : values of the root moves searched so far
    """
    points, area, d = padded_points(size), size * size, MAX_DEPTH + 1
    fields = [
        ("nodes", np.int64),
        ("search", np.uint32),
        ("ply", np.int32),
        ("history", np.int64, (2, points)),
        ("key", np.uint64, (d,)),
        ("values", np.float64, (area,)),
        *[(name, np.float64, (d,)) for name in ("alpha", "beta", "start", "high", "best")],
        *[(name, np.int32, (d,)) for name in ("n", "i", "depth", "reduction", "best_move", "length")],
        ("order", np.float32, (d, area)),
        ("moves", np.uint16, (d, area)),
        ("line", np.uint16, (d, d)),
        ("killers", np.uint16, (d, 2)),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


class SearchMemory(NamedTuple):
    """The working memory of a search; boards[i] and shapes[i] belong to the node at ply i."""

    boards: np.ndarray  # `board_dtype`[MAX_DEPTH + 1]
    shapes: np.ndarray  # `shapes_dtype`[MAX_DEPTH + 1]
    state: np.record  # `state_dtype`
    entries: np.ndarray  # `entry_dtype`[2^k]: the transposition table
    rng: np.ndarray  # uint64[1]
    table: Table  # the value function (`rewriting.fuse`)
    options: AlphaBetaOptions
    rules: Rules


# ---------------------------------------------------------------------------------------------
# The search
# ---------------------------------------------------------------------------------------------


@njit
def negamax(n_nodes, search):
    """Search the root moves listed by `begin_root`, until done or until n_nodes more positions are valued.

    Returns whether the search is done; if not, call again to continue. Written recursively, for a node with a window
    (alpha, beta):

        negamax(node, depth, alpha, beta):
            value a leaf, or a position in the table, at once             _enter
            for each move:
                value = -negamax(child, depth - 1, -beta, -alpha)         _descend, and the same again
                (a late move: depth - 3 first, and again if above alpha)  _choose_next, _take
                best = max(best, value); alpha = max(alpha, best)         _take
                cut if alpha >= beta
            return best

    A value between alpha and beta is exact; otherwise it is a bound on that side. (numba cannot cache recursive
    functions, nor can a recursion be interrupted and continued.)
    """
    s = search.state
    limit = s.nodes + n_nodes
    while s.nodes < limit:
        _descend(search)
        is_valued, value = _enter(search)
        while is_valued:
            is_valued, value = _take(search, -value)
            if is_valued and s.ply == 0:
                return True
    return False


@njit
def begin_root(moves, depth, s):
    """Begin a search of these moves of the root, in this order, to this depth."""
    s.ply = 0
    s.n[0] = len(moves)
    s.depth[0] = depth
    s.reduction[0] = 0
    s.alpha[0] = s.start[0] = -np.inf
    s.beta[0] = s.high[0] = np.inf
    s.best[0] = -np.inf
    s.best_move[0] = PASS
    s.i[0] = 0
    s.length[0] = 0
    for i in range(len(moves)):
        s.moves[0, i] = moves[i]
        s.order[0, i] = -i
        s.values[i] = -np.inf


@njit
def _descend(search):
    """Play the next move of the node at s.ply, and go to its child."""
    s, boards, shapes = search.state, search.boards, search.shapes
    ply = s.ply
    b, sh = boards[ply + 1], shapes[ply + 1]
    copy_record(boards[ply], b)
    copy_record(shapes[ply], sh)
    play(b, np.int64(s.moves[ply, s.i[ply]]), search.rules.zobrist)
    update(b, sh, search.table)
    child = ply + 1
    s.depth[child] = s.depth[ply] - 1 - s.reduction[ply]
    s.alpha[child] = s.start[child] = -s.high[ply]
    s.beta[child] = -s.alpha[ply]
    s.ply = child


@njit
def _enter(search):
    """Value the node at s.ply at once (True, value), or list its moves (False, 0)."""
    s, table = search.state, search.table
    ply = s.ply
    b, sh = search.boards[ply], search.shapes[ply]
    s.nodes += 1
    s.length[ply] = 0
    sign = 1.0 if b.to_play == BLACK else -1.0
    if b.n_passes >= 2:
        return True, sign * (2.0 * outcome(b, search.rules.komi) - 1.0) * WON_LOGIT
    depth = np.int64(s.depth[ply])
    if depth == 0:
        return True, sign * sh.x[0]
    if depth == 1:
        p, n = best_afterstate(b, sh, table, search.rng)
        if n > 0:  # all leaves at once
            s.nodes += n
            s.line[ply, 0] = p
            s.length[ply] = 1
            return True, sign * sh.x[0] + gain_of(b, sh, table, p)

    s.key[ply] = position_key(b)
    is_known, value, first = _look_up(search)
    if is_known:
        s.line[ply, 0] = first
        s.length[ply] = 1
        return True, value

    s.best[ply] = -np.inf
    s.best_move[ply] = PASS
    _list_moves(search, first)
    s.i[ply] = -1
    _choose_next(ply, s, search.options)
    return False, 0.0


@njit
def _look_up(search):
    """Look up the node at s.ply in the transposition table: (whether its value is known, the value, best move)."""
    s = search.state
    ply = s.ply
    first = PASS
    if search.options.table:
        key = s.key[ply]
        entry = search.entries[key & np.uint64(len(search.entries) - 1)]
        if entry.key == key and entry.search == s.search:
            first = np.int64(entry.move)
            if entry.depth == s.depth[ply] and (
                entry.bound == _EXACT
                or (entry.bound == _LOWER and entry.value >= s.beta[ply])
                or (entry.bound == _UPPER and entry.value <= s.alpha[ply])
            ):
                return True, entry.value, first
    return False, 0.0, first


@njit
def _take(search, value):
    """Return to the parent of the node at s.ply, with the value from the parent's point of view.

    Returns (True, the parent's value) if the parent is finished; else its next move is ready.
    """
    s, options = search.state, search.options
    s.ply -= 1
    ply = s.ply
    i = s.i[ply]
    if value > s.alpha[ply] and s.reduction[ply] > 0:
        s.reduction[ply] = 0  # a shallower search finds it as good as the best: search to full depth
        return False, 0.0
    if value > s.alpha[ply] and value < s.beta[ply] and s.high[ply] != s.beta[ply]:
        s.high[ply] = s.beta[ply]  # better than the best by more than the null window: find its value
        return False, 0.0
    p = np.int64(s.moves[ply, i])
    if ply == 0:
        s.values[i] = value
    if value > s.best[ply]:
        s.best[ply], s.best_move[ply] = value, p
        n = s.length[ply + 1]
        s.line[ply, 0] = p
        for k in range(n):
            s.line[ply, k + 1] = s.line[ply + 1, k]
        s.length[ply] = n + 1
    s.alpha[ply] = max(s.alpha[ply], s.best[ply])
    if s.alpha[ply] < s.beta[ply] and i + 1 < s.n[ply]:
        _choose_next(ply, s, options)
        return False, 0.0
    _store(search, p)
    return True, s.best[ply]


@njit
def _store(search, p):
    """Store the finished node at s.ply: the move p that cut, and the value in the transposition table."""
    s = search.state
    ply = s.ply
    best, beta, depth = s.best[ply], s.beta[ply], np.int64(s.depth[ply])
    if best >= beta and p != PASS:
        s.history[search.boards[ply].to_play - 1, p] += depth * depth
        if s.killers[ply, 0] != p:
            s.killers[ply, 1] = s.killers[ply, 0]
            s.killers[ply, 0] = p
    if search.options.table and ply > 0:
        key = s.key[ply]
        entry = search.entries[key & np.uint64(len(search.entries) - 1)]
        entry.key = key
        entry.search = s.search
        entry.value = best
        entry.depth = depth
        entry.bound = _LOWER if best >= beta else (_UPPER if best <= s.start[ply] else _EXACT)
        entry.move = s.best_move[ply]


@njit
def _list_moves(search, first):
    """List the sensible moves of the node at s.ply, or a pass, with the priority of each.

    The move `first` from the table comes first, then killers, then moves that often cut elsewhere, then large gains.
    """
    s, options = search.state, search.options
    ply = s.ply
    b, sh = search.boards[ply], search.shapes[ply]
    c = b.to_play - 1
    n = 0
    for i in range(b.n_empty):
        p = np.int64(b.empties[np.uint64(i)])
        if sh.mask[c, p] == 0 or sh.is_capture[c, p] == 1:
            order = gain_of(b, sh, search.table, p)
            if options.table:
                order += _HISTORY * s.history[c, p]
                if s.killers[ply, 0] == p or s.killers[ply, 1] == p:
                    order += 1e6
            if p == first:
                order += 1e9
            s.moves[ply, n] = p
            s.order[ply, n] = order
            n += 1
    if n == 0:
        s.moves[ply, 0] = PASS
        n = 1
    s.n[ply] = n


@njit
def _choose_next(ply, s, options):
    """Select the remaining move with the highest priority, and set its window.

    All moves but the first must only be proved worse, by a null window.
    """
    i = s.i[ply] + 1
    earliest = i
    for j in range(i + 1, s.n[ply]):
        if s.order[ply, j] > s.order[ply, earliest]:
            earliest = j
    p = s.moves[ply, earliest]
    s.moves[ply, earliest] = s.moves[ply, i]
    s.order[ply, earliest] = s.order[ply, i]
    s.moves[ply, i] = p
    s.i[ply] = i
    s.high[ply] = s.alpha[ply] + _WIDTH if i > 0 else s.beta[ply]
    s.reduction[ply] = _REDUCTION if options.reductions and i >= _EARLY and s.depth[ply] > _REDUCTION else 0
