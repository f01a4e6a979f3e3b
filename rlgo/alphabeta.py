"""Alpha-beta search on a value function. TD paper, Sections 3.3.5 and 6.1.

Start reading at `negamax`, then `AlphaBetaSearch`. The search has full width, as the paper's, unless late moves are
reduced. It stops at a fixed depth, or deepens until time is up. Values are logits, x = phi(s) . theta, for the colour
to play: they sort like V and need no sigmoid. A finished game is worth WON_LOGIT or -WON_LOGIT.

What makes it fast
------------------
* Weights are constant during a search, so all window sizes are fused into one 3x3 table (`rewriting.fuse`).
* Nothing is undone: an inner node copies its parent's records and plays its move on the copy. Leaves are never played:
  the value of a move is the logit plus its gain, and finding the best move is one pass over an array
  (`value.best_afterstate`).
* Every enhancement that prunes more than plain alpha-beta can be switched off (`Options`). Only null moves and late
  move reductions, which are off by default, change the result.
* Several threads search the same position, every other one a ply deeper, and tell each other what they find in nothing
  but the transposition table ("lazy SMP"). Its entries are written without locks: a torn one does not fit its key
  (Hyatt and Mann 2002). How many positions they value, the line, and the choice among equal moves then differ from
  search to search.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import repeat
from threading import Lock
from typing import NamedTuple

import numpy as np

from rlgo.board import BLACK, PASS, new_boards, outcome, play, position_key
from rlgo.bounds import One, OrNone, Whole, checked
from rlgo.budget import Budget
from rlgo.coords import to_vertex
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.jit import compiling, copy_record, make_rng, njit, seed_sequence
from rlgo.liberties import sees_liberties
from rlgo.memory import announce, on_own_cache_lines
from rlgo.player import Candidate, Insight, Seed, moves_to_try
from rlgo.rollout import Rules, make_rules
from rlgo.settings import SECONDS, THREADS, board_size
from rlgo.shapes import Table, make_features, padded_points
from rlgo.value import best_afterstate, gain_of, new_shapes, reset, shapes_dtype, update

MAX_DEPTH = 40
DEPTH = Whole(ge=1, le=MAX_DEPTH - 1)
TABLE_BITS = Whole(ge=4, le=28)
WON_LOGIT = 1e6  # far above any logit
_WIDTH = 1e-9  # width of a null window: logits are sums of float32, so they are equal or differ by more
_EXACT, _LOWER, _UPPER = 1, 2, 3
_NULL = -1  # the number of the null move, which a node tries before its moves 0, 1, ...
_NULL_DEPTH = 3  # plies that a null move takes off the depth
# Plies that a late move takes off the depth: an even number, so that the same colour has the last move before the leaf.
_REDUCTION = 2
_EARLY = 3  # moves of a node that are never reduced
_HISTORY = 1e-3  # of a logit, for each squared depth
_FIRST_NODES = 2_000  # of the first slice: a fraction of a millisecond
_MOST_NODES = 1 << 62  # for threads that others stop


@checked
class Options(NamedTuple):
    """Which enhancements of plain alpha-beta are on. Raises `RlgoError` for anything but True and False."""

    table: bool = True  # transposition table: values of positions met before, and the best move there
    killers: bool = True  # moves that cut at this depth elsewhere come early
    history: bool = True  # moves that cut anywhere come earlier
    pvs: bool = True  # principal variation search: all but the first move must only be proved worse
    null_move: bool = False  # cut where the opponent could move twice and still not help it; unsound
    reductions: bool = False  # late move reductions: late moves are searched less deeply first; unsound


@cache
def entry_dtype() -> np.dtype:
    """Return the record type of an entry of the transposition table (24 bytes).

    Fields
    ------
    lock : the key of the position, exclusive-or both other words: it fits only words that were written together
    value, bound, depth : its value or a bound of it, which of these, and at what depth
    move : the best one
    search : the number of the search that wrote it; entries of other searches are ignored, since weights may differ
    words[2] : the bits of all fields but the lock
    """
    fields = {
        "lock": ("u8", 0),
        "value": ("f8", 8),
        "search": ("u4", 16),
        "move": ("u2", 20),
        "depth": ("u1", 22),
        "bound": ("u1", 23),
        "words": (("u8", (2,)), 8),
    }
    formats, offsets = zip(*fields.values(), strict=True)
    whole = np.dtype({"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": 24})
    return np.dtype((np.record, whole))


@cache
def state_dtype(size: int) -> np.dtype:
    """Return the record type of a search's state, without boards and shapes (P padded points, N area, D = MAX_DEPTH).

    Fields
    ------
    nodes : positions valued, inside the tree and at its leaves
    search : its number, for the transposition table
    ply : the current ply, so that the search can be interrupted anywhere
    history[2, P] : by colour and point, the squared depths at which a move cut
    killers[D, 2] : by ply, the last two moves that cut
    moves[D, N], order[D, N] : of the node at each ply: its moves, and how early they come
    n[D], i[D] : number of moves, and the one being searched, from 0 or from `_NULL`
    depth[D], alpha[D], beta[D], start[D] : remaining depth, the current window, and the initial alpha
    reduction[D] : plies taken off the depth of the move being searched
    high[D] : the end of the window of the move being searched
    best[D], best_move[D], after_null[D], key[D] : of the node at each ply
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
        *[(name, np.int32, (d,)) for name in ("n", "i", "depth", "reduction", "best_move", "after_null", "length")],
        ("order", np.float32, (d, area)),
        ("moves", np.uint16, (d, area)),
        ("line", np.uint16, (d, d)),
        ("killers", np.uint16, (d, 2)),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


class Search(NamedTuple):
    """The working memory of one thread's search; boards[i] and shapes[i] belong to the node at ply i."""

    boards: np.ndarray  # `board_dtype`[MAX_DEPTH + 1]
    shapes: np.ndarray  # `shapes_dtype`[MAX_DEPTH + 1]
    state: np.record  # `state_dtype`
    entries: np.ndarray  # `entry_dtype`[2^k]: the transposition table, which all threads share
    entry: np.ndarray  # `entry_dtype`[1]: a copy of one, which other threads do not change (numba takes no such record)
    stop: np.ndarray  # int64[1]: 1 ends the search; other threads may set it
    rng: np.ndarray  # uint64[1]
    table: Table  # the value function (`rewriting.fuse`)
    options: Options
    rules: Rules


# ---------------------------------------------------------------------------------------------
# The search
# ---------------------------------------------------------------------------------------------


@njit
def negamax(n_nodes, search):
    """Search the moves of the root, which `begin_root` has listed, until done or until n_nodes more are valued.

    Returns whether the search is done; if not, and it was not stopped, another call continues it. Written recursively,
    for a node with a window (alpha, beta):

        negamax(node, depth, alpha, beta):
            value a leaf, or a position in the table, at once             _enter
            for each move:
                value = -negamax(child, depth - 1, -beta, -alpha)         _descend, and the same again
                (a late move: depth - 3 first, and again if above alpha)  _choose_next, _take
                best = max(best, value); alpha = max(alpha, best)         _take
                cut if alpha >= beta
            return best

    A value is exact between alpha and beta; else it is a bound on that side. (numba cannot cache recursive functions,
    and a recursion cannot be interrupted and continued.)
    """
    s = search.state
    limit = s.nodes + n_nodes
    while s.nodes < limit and search.stop[0] == 0:
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
    s.after_null[0] = 1  # never pass at the root
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
    is_null = s.i[ply] == _NULL
    p = PASS if is_null else np.int64(s.moves[ply, s.i[ply]])
    b, sh = boards[ply + 1], shapes[ply + 1]
    copy_record(boards[ply], b)
    copy_record(shapes[ply], sh)
    play(b, p, search.rules.zobrist)
    update(b, sh, search.table)
    child = ply + 1
    s.depth[child] = s.depth[ply] - (_NULL_DEPTH if is_null else 1 + s.reduction[ply])
    s.after_null[child] = is_null
    s.alpha[child] = s.start[child] = -s.high[ply]
    s.beta[child] = -(s.beta[ply] - _WIDTH if is_null else s.alpha[ply])
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
        if n > 0:  # the leaves, all at once
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
    # The null move comes first: if a pass, searched less deeply, still reaches beta, it cuts like a move.
    beta = s.beta[ply]
    may_pass = depth > _NULL_DEPTH and s.after_null[ply] == 0 and b.n_passes == 0 and sign * sh.x[0] >= beta
    s.i[ply] = _NULL
    s.high[ply] = beta
    if not (search.options.null_move and may_pass):
        _choose_next(ply, s, search.options)
    return False, 0.0


@njit
def _look_up(search):
    """Look up the node at s.ply in the transposition table: (whether its value is known, the value, best move)."""
    s = search.state
    ply = s.ply
    first = PASS
    if search.options.table:
        key, entry = s.key[ply], search.entry[0]
        copy_record(search.entries[key & np.uint64(len(search.entries) - 1)], entry)
        if entry.lock ^ entry.words[0] ^ entry.words[1] == key and entry.search == s.search:
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
    if i == _NULL:
        if value >= s.beta[ply]:
            return True, value
        _choose_next(ply, s, options)
        return False, 0.0
    if value > s.alpha[ply] and s.reduction[ply] > 0:
        s.reduction[ply] = 0  # as good as the best, as far as a shallower search can see: search it in full
        return False, 0.0
    if value > s.alpha[ply] and value < s.beta[ply] and s.high[ply] != s.beta[ply]:
        s.high[ply] = s.beta[ply]  # better than the best by more than the null window: by how much?
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
    """Remember the finished node at s.ply: the move p that cut, and its value in the transposition table."""
    s = search.state
    ply = s.ply
    best, beta, depth = s.best[ply], s.beta[ply], np.int64(s.depth[ply])
    if best >= beta and p != PASS:
        s.history[search.boards[ply].to_play - 1, p] += depth * depth
        if s.killers[ply, 0] != p:
            s.killers[ply, 1] = s.killers[ply, 0]
            s.killers[ply, 0] = p
    if search.options.table and ply > 0:
        key, entry = s.key[ply], search.entry[0]
        entry.search = s.search
        entry.value = best
        entry.depth = depth
        entry.bound = _LOWER if best >= beta else (_UPPER if best <= s.start[ply] else _EXACT)
        entry.move = s.best_move[ply]
        entry.lock = key ^ entry.words[0] ^ entry.words[1]
        copy_record(entry, search.entries[key & np.uint64(len(search.entries) - 1)])


@njit
def _list_moves(search, first):
    """List the sensible moves of the node at s.ply, or a pass, with how early to try each.

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
            if options.history:
                order += _HISTORY * s.history[c, p]
            if options.killers and (s.killers[ply, 0] == p or s.killers[ply, 1] == p):
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
    """Make the earliest of the remaining moves the next one, and set the window for it.

    In principal variation search, all moves but the first must only be proved worse, by a null window.
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
    s.high[ply] = s.alpha[ply] + _WIDTH if options.pvs and i > 0 else s.beta[ply]
    s.reduction[ply] = _REDUCTION if options.reductions and i >= _EARLY and s.depth[ply] > _REDUCTION else 0


# ---------------------------------------------------------------------------------------------
# For Python
# ---------------------------------------------------------------------------------------------


class AlphaBetaResult(NamedTuple):
    """The result of a search."""

    move: int  # PASS if there was nothing to try
    x: float  # logit after the line, for Black: V = sigma(x); +-WON_LOGIT for a game that is over
    depth: int  # plies, all moves of the root searched
    nodes: int  # positions valued
    line: list[int]  # the principal variation, as far as known
    seconds: float


def describe(result: AlphaBetaResult, size: int) -> str:
    """Describe a search in one line."""
    if not result.depth:
        return "alpha-beta: nothing to try"
    line = " ".join(to_vertex(p, size) for p in result.line)
    v = sigmoid(result.x)
    return f"alpha-beta: depth {result.depth}, {result.nodes:,} positions, Black wins with {v:.1%} after {line}"


def sigmoid(x: float) -> float:
    """Return sigma(x), also where exp(-x) would overflow: far from 0, where a game is over, it is 0 or 1."""
    return 0.5 * (1 + math.tanh(x / 2))


class _Deepening:
    """Iterative deepening from one position: the next depth tries the best move of the last one first.

    Threads with an odd number begin a ply ahead. Whoever is the first to finish a depth ends the others' searches of
    that depth, and of lesser ones.

    Parameters
    ----------
    searches : the memory of each thread; boards[0] and shapes[0] are the position
    moves : moves of the root, int64[n], n > 0, in the order in which the first thread tries them
    budget : its depth limits the search, and results tell its time
    order : draws the order in which other threads try all but the best move
    results : to which the result at each complete depth is added
    """

    def __init__(
        self,
        searches: list[Search],
        moves: np.ndarray,
        budget: Budget,
        order: np.random.Generator,
        results: list[AlphaBetaResult],
    ):
        self._searches, self._moves, self._budget, self._order = searches, moves, budget, order
        self._results = results
        self._depths = [0] * len(searches)  # that each thread searches
        self._finished: tuple[np.ndarray, np.ndarray] = np.zeros(0, np.uint16), np.zeros(0)  # see `root`
        self._is_over = False
        self._lock = Lock()  # of all that is here

    def run(self, k: int, slices: Iterator[int]) -> None:
        """Search deeper and deeper as thread k, in slices of so many nodes, until they or all depths are done."""
        search, left = self._searches[k], 0
        while self._begin(k):
            is_done = False
            while not is_done and not search.stop[0]:
                if left <= 0 and (left := next(slices, 0)) == 0:
                    return
                before = int(search.state.nodes)
                is_done = bool(negamax(left, search))
                left -= int(search.state.nodes) - before  # what is left of a slice goes to the next depth
            if is_done:
                self._finish(k)

    def end(self) -> None:
        """End the searches of all threads."""
        with self._lock:
            self._stop(MAX_DEPTH)

    def result(self) -> AlphaBetaResult:
        """Return the result of the last complete depth, or what the first thread has found at the next."""
        if self._has_found_more():
            return self._read(0, self._reached())
        p = int(self._moves[0])
        return self._results[-1] if self._results else AlphaBetaResult(p, 0.0, 0, 0, [p], 0.0)

    def root(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the moves of the root and their values, -inf if not searched yet, at the depth of `result`."""
        if self._has_found_more():
            s, n = self._searches[0].state, len(self._moves)
            return s.moves[0, :n].copy(), s.values[:n].copy()
        return self._finished

    def _has_found_more(self) -> bool:
        """Whether the first thread has searched a move deeper than the last complete depth: it began with the best."""
        return self._depths[0] > self._reached() and self._searches[0].state.length[0] > 0

    def _reached(self) -> int:
        """Return the last complete depth."""
        return self._results[-1].depth if self._results else 0

    def _begin(self, k: int) -> bool:
        """Let thread k begin with the next depth. Return whether there is one."""
        with self._lock:
            if self._is_over:
                return False
            depth = self._depths[k] = min(self._reached() + 1 + k % 2, self._budget.depth or MAX_DEPTH - 1)
            moves = self._moves
            if k > 0:
                moves = np.append(moves[:1], self._order.permutation(moves[1:]))
            self._searches[k].stop[0] = 0
            begin_root(moves, depth, self._searches[k].state)
            return True

    def _finish(self, k: int) -> None:
        """Take the result of thread k, which has finished its depth, unless another was there before."""
        with self._lock:
            depth = self._depths[k]
            if self._is_over or depth <= self._reached():
                return
            result = self._read(k, depth)
            self._results.append(result)
            s, n = self._searches[k].state, len(self._moves)
            moves, values = self._finished = s.moves[0, :n].copy(), s.values[:n].copy()
            # The best move first, the others by their bounds: the next depth then cuts most.
            self._moves = moves[np.argsort(-values, kind="stable")].astype(np.int64)
            is_last = depth == (self._budget.depth or MAX_DEPTH - 1) or abs(result.x) == WON_LOGIT
            self._stop(MAX_DEPTH if is_last else depth)

    def _stop(self, depth: int) -> None:
        """End all searches of at most this depth; with MAX_DEPTH, that of the position."""
        self._is_over = self._is_over or depth == MAX_DEPTH
        for search, its_depth in zip(self._searches, self._depths, strict=True):
            if its_depth <= depth:
                search.stop[0] = 1

    def _read(self, k: int, depth: int) -> AlphaBetaResult:
        """Return the result in the memory of thread k."""
        s = self._searches[k].state
        x = float(s.best[0]) * (1 if self._searches[k].boards[0].to_play == BLACK else -1)
        line = [int(p) for p in s.line[0, : s.length[0]]]
        nodes = sum(int(search.state.nodes) for search in self._searches)
        return AlphaBetaResult(int(s.best_move[0]), x, depth, nodes, line, self._budget.elapsed)


class AlphaBetaSearch:
    """Alpha-beta over any value function of one board size.

    Parameters
    ----------
    size : board size
    options : `Options`
    table_bits : the transposition table has 2^table_bits entries of 24 bytes
    workers : number of threads. Several reach a depth sooner; without the table they are of no use
    seed : seed of the order in which equal root moves are tried; None draws a fresh one each time

    Attributes
    ----------
    results : of the search that runs, or ran last: its result at each complete depth. Several threads may skip depths

    Raises
    ------
    RlgoError : for table_bits or workers out of range
    """

    def __init__(
        self, size: int, options: Options = Options(), table_bits: int = 18, workers: int = 1, seed: Seed = None
    ):
        table_bits, workers = TABLE_BITS.check("table_bits", table_bits), THREADS.check("workers", workers)
        size = self.size = board_size(size)
        self.options = One(Options).check("options", options)
        self.results: list[AlphaBetaResult] = []
        sequence = seed_sequence(seed)
        self._order = np.random.default_rng(sequence)
        none = make_features(size, (3,), "none").table_of(np.zeros(1, np.float32))
        n_entries = 1 << table_bits if options.table else 1
        announce(f"table_bits = {table_bits}", n_entries * entry_dtype().itemsize)
        entries = np.zeros(n_entries, entry_dtype())
        self._searches = [
            Search(
                new_boards(MAX_DEPTH + 1, size),
                new_shapes(MAX_DEPTH + 1, size),
                np.zeros(1, state_dtype(size))[0],
                entries,
                on_own_cache_lines(np.zeros(1, entry_dtype())),
                on_own_cache_lines(np.zeros(1, np.int64)),
                on_own_cache_lines(make_rng(child)),
                none,
                options,
                make_rules(size, 0.0),
            )
            for child in (sequence, *sequence.spawn(workers - 1))
        ]
        self._threads = ThreadPoolExecutor(workers - 1, "alpha-beta") if workers > 1 else None
        self._deepening: _Deepening | None = None  # of the search that runs
        self._root: tuple[np.ndarray, np.ndarray] = np.zeros(0, np.uint16), np.zeros(0)  # of the one that ran last
        self._result: AlphaBetaResult | None = None

    @property
    def nodes(self) -> int:
        """Positions valued in the search that runs, or ran last."""
        return sum(int(search.state.nodes) for search in self._searches)

    @property
    def n_entries(self) -> int:
        """Entries of the transposition table; 1 without one."""
        return len(self._searches[0].entries)

    def search(self, game: Game, table: Table, budget: Budget) -> AlphaBetaResult:
        """Find the best move in the position of `game`.

        Parameters
        ----------
        game : the position; the moves searched are those that `player.moves_to_try` lists
        table : the value function, fused (`Weights.table`)
        budget : its depth (at most MAX_DEPTH - 1), seconds and `stop`, checked about every 10 ms. When it is spent, the
            best move so far is returned

        Raises
        ------
        RlgoError : if neither depth nor seconds limit the search, or they are out of range
        """
        check_limits(budget.depth, budget.seconds)
        self.results, self._result = [], None
        moves = np.array(moves_to_try(game), np.int64)
        self.warm_up(table)
        self._stand_on(game, table)
        if not len(moves):
            self._root = np.zeros(0, np.uint16), np.zeros(0)
            return AlphaBetaResult(PASS, 0.0, 0, 0, [PASS], 0.0)
        self._order.shuffle(moves)
        deepening = self._deepening = _Deepening(self._searches, moves, budget, self._order, self.results)
        jobs: list[Future[None]] = []
        try:
            if self._threads is not None:
                others = range(1, len(self._searches))
                jobs.extend(self._threads.submit(deepening.run, k, repeat(_MOST_NODES)) for k in others)
            deepening.run(0, budget.slices(_FIRST_NODES))
        finally:
            deepening.end()
            wait(jobs)
            self._deepening, self._root = None, deepening.root()
        for job in jobs:
            job.result()
        self._result = deepening.result()
        return self._result

    def searched(self, color: int) -> dict[int, float]:
        """Return V of the root's moves as far as the depth of the result is searched, P(Black wins), by move.

        The best move's value is exact. Other values are bounds: the moves are no better than that for `color`, which
        is to play.
        """
        moves, values = self._root if self._deepening is None else self._deepening.root()
        sign = 1 if color == BLACK else -1
        pairs = zip(moves.tolist(), values.tolist(), strict=True)
        return {p: float(sigmoid(sign * x)) for p, x in pairs if x > -np.inf}

    def look_into(self, by_value: list[Candidate], color: int) -> Insight:
        """Return the numbers of the search that runs, or ran last; see `player.Insight`.

        by_value : all moves, best first by V without search
        """
        result = self._result or (self.results[-1] if self.results else None)
        candidates = led_by(by_value, result)
        searched = self.searched(color)
        columns = {
            "value": np.array([c.value for c in candidates]),
            "searched": np.array([searched.get(c.move, np.nan) for c in candidates]),
        }
        first = self._searches[0]
        return Insight(
            "depth",
            [c.move for c in candidates],
            columns,
            [] if result is None else [result.line],
            done=self.nodes,
            unit="positions",
            depth=self.results[-1].depth if self.results else 0,
            size=int(np.count_nonzero(first.entries["search"] == first.state.search)),
            n_bytes=first.entries.nbytes,
            depths=tuple(self.results),
        )

    def _stand_on(self, game: Game, table: Table) -> None:
        """Make the position of `game` the root."""
        rules = make_rules(self.size, game.komi)
        self._searches = [search._replace(table=table, rules=rules) for search in self._searches]
        for search in self._searches:
            s = search.state
            s.search += 1
            s.nodes = 0
            s.history[:] = 0
            s.killers[:] = 0
            search.boards[0] = game.board
            reset(search.boards[0], search.shapes[0], table)

    def _fit(self, table: Table) -> None:
        """Make records for the windows of this table."""
        sees = sees_liberties(table.g)
        if self._searches[0].shapes.dtype != shapes_dtype(self.size, sees):
            self._searches = [s._replace(shapes=new_shapes(MAX_DEPTH + 1, self.size, sees)) for s in self._searches]

    def warm_up(self, table: Table | None = None) -> None:
        """Compile what a search by this table (None: the last one) needs, so that compiling costs no clock time."""
        if table is not None:
            self._fit(table)
            self._searches = [search._replace(table=table) for search in self._searches]
        first = self._searches[0]
        liberties = " with liberties" if sees_liberties(first.table.g) else ""
        with compiling(f"alpha-beta, {self.size}x{self.size}{liberties}"):
            begin_root(np.zeros(1, np.int64), 1, first.state)
            negamax(0, first)


def led_by(candidates: list[Candidate], result: AlphaBetaResult | None) -> list[Candidate]:
    """Put the move of a search first, with its principal variation; the others stay ranked by value."""
    best = next((candidate for candidate in candidates if result is not None and candidate.move == result.move), None)
    if result is None or best is None:
        return candidates
    others = [candidate for candidate in candidates if candidate is not best]
    return [best._replace(visits=max(1, result.nodes), line=result.line), *others]


def check_limits(depth: int | None, seconds: float | None) -> tuple[int | None, float | None]:
    """Return the limits of a search as plain numbers. `RlgoError` if there is none, or one is out of range."""
    if depth is None and seconds is None:
        raise RlgoError("alpha-beta: expected a depth, or seconds, or both")
    return OrNone(DEPTH).check("depth", depth), SECONDS.check("seconds", seconds)
