"""Alpha-beta search on a value function. TD paper, Sections 3.4 and 6.1.

Start reading at `negamax`, then `AlphaBetaSearch`. Full width, to a fixed depth or deeper and deeper until the time
is up. Values are logits, x = phi(s) . theta, seen by the colour to play: they sort like V and need no sigmoid. A
finished game is worth WON or -WON.

What makes it fast
------------------
* The weights are constant during a search, so those of all sizes are fused into one 3x3 table (`shapes.fuse`).
* Nothing is undone: an inner node copies the records of its parent and plays its move there. Leaves are not played at
  all: the value of a move is the logit plus its gain, and the best of all moves is one pass over an array
  (`value.best_afterstate`).
* Everything that cuts more than plain alpha-beta can be switched off (`Options`). All but the null move leave the
  result as it is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from rlgo.board import BLACK, PASS, new_board, new_boards, outcome, play, position_key, zobrist
from rlgo.coords import to_vertex
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.jit import compiling, copy_record, make_rng, njit
from rlgo.player import Candidate, Player, Seed, check_size, moves_to_try, never, position_of, ranked, shorter
from rlgo.shapes import FeatureSet, fuse, make_features, padded_points, unshare
from rlgo.value import ValueFunction, best_afterstate, gain_of, new_shapes, observe, rebuild
from rlgo.weights import Weights

MAX_DEPTH = 40
WON = 1e6  # far above any logit
_WIDTH = 1e-9  # of a null window: logits are sums of float32, and differ by more or not at all
_EXACT, _LOWER, _UPPER = 1, 2, 3
_REDUCTION = 3  # plies that a null move takes off the depth
_HISTORY = 1e-3  # of a logit, for each squared depth
_SLICE_NODES = 200_000  # about 10 ms
_NO_WEIGHTS = np.zeros(1, np.float32)


class Options(NamedTuple):
    """What to switch on."""

    table: bool = True  # transposition table: values of positions met before, and the best move there
    killers: bool = True  # moves that cut at this depth elsewhere come early
    history: bool = True  # moves that cut anywhere come earlier
    pvs: bool = True  # principal variation search: all but the first move must only be proved worse
    null_move: bool = False  # cut where the opponent could move twice and still not help it; unsound


@cache
def table_dtype() -> np.dtype:
    """An entry of the transposition table (24 bytes).

    key : of the position; value : its value, or a bound of it (`bound`), at this depth; move : the best one
    search : which search wrote it; those of others have other weights, and do not count
    """
    fields = [("key", "u8"), ("value", "f8"), ("search", "u4"), ("move", "u2"), ("depth", "u1"), ("bound", "u1")]
    return np.dtype((np.record, np.dtype(fields, align=True)))


@cache
def state_dtype(size: int) -> np.dtype:
    """What one search keeps besides boards and shapes (P padded points, N = size * size, D = MAX_DEPTH).

    nodes : positions valued, inside the tree and at its leaves; search : its number, for the table
    ply : where the search is, so that it can be interrupted anywhere
    history[2, P] : by colour and point, the squared depths at which a move cut
    killers[D, 2] : by ply, the last two moves that cut
    moves[D, N], order[D, N] : of the node at each ply: its moves, and how early they come
    n[D], i[D] : how many, and which one is being searched; -1 is the null move
    depth[D], alpha[D], beta[D], start[D] : how deep, the window now, and alpha as it was at first
    high[D] : the end of the window of the move being searched
    best[D], best_move[D], after_null[D], key[D] : of the node at each ply
    line[D, D], length[D] : by ply, the best line found from there on
    values[N] : of the root's moves, as far as searched
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
        *[(name, np.int32, (d,)) for name in ("n", "i", "depth", "best_move", "after_null", "length")],
        ("order", np.float32, (d, area)),
        ("moves", np.uint16, (d, area)),
        ("line", np.uint16, (d, d)),
        ("killers", np.uint16, (d, 2)),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


# ---------------------------------------------------------------------------------------------
# The search
# ---------------------------------------------------------------------------------------------


@njit
def negamax(budget, boards, shapes, g, theta_bar, s, table, options, komi, zobrist, rng):
    """Search the moves of the root, which `begin_root` has listed, until done or until `budget` nodes are valued.

    Returns whether it is done; if not, another call goes on. In recursive words, for a node with a window
    (alpha, beta):

        negamax(node, depth, alpha, beta):
            value a leaf, or a position in the table, at once             _enter
            for each move:
                value = -negamax(child, depth - 1, -beta, -alpha)         _descend, and the same again
                best = max(best, value); alpha = max(alpha, best)         _take
                cut if alpha >= beta
            return best

    A value is exact between alpha and beta; else it is a bound on that side. (numba does not take recursive functions
    from its cache, and a recursion cannot stop and go on.)
    """
    limit = s.nodes + budget
    while s.nodes < limit:
        _descend(s, boards, shapes, g, theta_bar, options, zobrist)
        is_valued, value = _enter(s, boards, shapes, g, theta_bar, table, options, komi, rng)
        while is_valued:
            is_valued, value = _take(s, boards, table, options, -value)
            if is_valued and s.ply == 0:
                return True
    return False


@njit
def begin_root(moves, depth, s):
    """Begin a search of these moves of the root, in this order."""
    s.ply = 0
    s.n[0] = len(moves)
    s.depth[0] = depth
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
def _descend(s, boards, shapes, g, theta_bar, options, zobrist):
    """Play the next move of the node at s.ply, and go there."""
    ply = s.ply
    is_null = s.i[ply] < 0
    p = PASS if is_null else np.int64(s.moves[ply, s.i[ply]])
    b, sh = boards[ply + 1], shapes[ply + 1]
    copy_record(boards[ply], b)
    copy_record(shapes[ply], sh)
    play(b, p, zobrist)
    observe(b, sh, g, theta_bar, theta_bar)
    child = ply + 1
    s.depth[child] = s.depth[ply] - (_REDUCTION if is_null else 1)
    s.after_null[child] = is_null
    s.alpha[child] = s.start[child] = -s.high[ply]
    s.beta[child] = -(s.beta[ply] - _WIDTH if is_null else s.alpha[ply])
    s.ply = child


@njit
def _enter(s, boards, shapes, g, theta_bar, table, options, komi, rng):
    """Value the node at s.ply at once (True, value), or list its moves (False, 0)."""
    ply = s.ply
    depth, alpha, beta = np.int64(s.depth[ply]), s.alpha[ply], s.beta[ply]
    b, sh = boards[ply], shapes[ply]
    s.nodes += 1
    s.length[ply] = 0
    sign = 1.0 if b.to_play == BLACK else -1.0
    if b.n_passes >= 2:
        return True, sign * (2.0 * outcome(b, komi) - 1.0) * WON
    if depth == 0:
        return True, sign * sh.x[0]
    if depth == 1:
        p, n = best_afterstate(b, sh, g, theta_bar, theta_bar, rng)
        if n > 0:  # the leaves, all at once
            s.nodes += n
            s.line[ply, 0] = p
            s.length[ply] = 1
            return True, sign * sh.x[0] + gain_of(b, sh, g, theta_bar, p)

    # Has this position been met before?
    key = position_key(b)
    first = PASS
    if options.table:
        entry = table[key & np.uint64(len(table) - 1)]
        if entry.key == key and entry.search == s.search:
            first = np.int64(entry.move)
            if entry.depth == depth and (
                entry.bound == _EXACT
                or (entry.bound == _LOWER and entry.value >= beta)
                or (entry.bound == _UPPER and entry.value <= alpha)
            ):
                s.line[ply, 0] = first
                s.length[ply] = 1
                return True, entry.value

    s.key[ply] = key
    s.best[ply] = -np.inf
    s.best_move[ply] = PASS
    _list_moves(ply, b, sh, g, theta_bar, s, options, first)
    # A pass that still reaches beta, searched less deep, cuts like a move; it goes before all of them.
    may_pass = depth > _REDUCTION and s.after_null[ply] == 0 and b.n_passes == 0 and sign * sh.x[0] >= beta
    s.i[ply] = -1
    s.high[ply] = beta
    if not (options.null_move and may_pass):
        _choose_next(ply, s, options)
    return False, 0.0


@njit
def _take(s, boards, table, options, value):
    """Go back to the parent of the node at s.ply with its value, seen by the parent.

    Returns (True, the parent's value) if the parent is finished; else its next move is ready.
    """
    s.ply -= 1
    ply = s.ply
    i = s.i[ply]
    if i < 0:
        if value >= s.beta[ply]:
            return True, value
        _choose_next(ply, s, options)
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

    best, beta, depth = s.best[ply], s.beta[ply], np.int64(s.depth[ply])
    if best >= beta and p != PASS:
        s.history[boards[ply].to_play - 1, p] += depth * depth
        if s.killers[ply, 0] != p:
            s.killers[ply, 1] = s.killers[ply, 0]
            s.killers[ply, 0] = p
    if options.table and ply > 0:
        entry = table[s.key[ply] & np.uint64(len(table) - 1)]
        entry.key = s.key[ply]
        entry.search = s.search
        entry.value = best
        entry.depth = depth
        entry.bound = _LOWER if best >= beta else (_UPPER if best <= s.start[ply] else _EXACT)
        entry.move = s.best_move[ply]
    return True, best


@njit
def _list_moves(ply, b, sh, g, theta_bar, s, options, first):
    """List the sensible moves, or a pass, with how early to try them: the gain, and bonuses far above it.

    The move from the table comes first, then killers, then what cut often elsewhere.
    """
    c = b.to_play - 1
    n = 0
    for i in range(b.n_empty):
        p = np.int64(b.empties[np.uint64(i)])
        if sh.mask[c, p] == 0 or sh.is_capture[c, p] == 1:
            order = gain_of(b, sh, g, theta_bar, p)
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
    """Make the earliest of the moves that are left the next one, and set the window for it.

    Principal variation search: all moves but the first must only be proved worse, by a null window.
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


# ---------------------------------------------------------------------------------------------
# For people
# ---------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """What a search found."""

    move: int  # PASS where there was nothing to try
    x: float  # logit after the line, for Black: V = sigma(x); +-WON for a game that is over
    depth: int  # plies, all moves of the root searched
    nodes: int  # positions valued
    line: list[int]  # the best moves of both sides, as far as known
    seconds: float


def describe(found: Found, size: int) -> str:
    """A search in words."""
    if not found.depth:
        return "alpha-beta: nothing to try"
    line = " ".join(to_vertex(p, size) for p in found.line)
    # Far from 0, where a game is over, sigma(x) is 0 or 1.
    v = 0.5 * (1 + math.tanh(found.x / 2))
    return f"alpha-beta: depth {found.depth}, {found.nodes:,} positions, Black wins with {v:.1%} after {line}"


class AlphaBetaSearch:
    """Alpha-beta over any table of weights; one board size.

    Parameters
    ----------
    size : of the board
    options : `Options`
    table_bits : the transposition table has 2^table_bits entries of 24 bytes
    seed : of the order in which equal moves of the root are tried; None: different every time
    """

    def __init__(self, size: int, options: Options = Options(), table_bits: int = 18, seed: Seed = None):
        if not 4 <= table_bits <= 28:
            raise RlgoError(f"table_bits = {table_bits}: expected an integer from 4 to 28")
        self.size, self.options = size, options
        self._boards, self._shapes = new_boards(MAX_DEPTH + 1, size), new_shapes(MAX_DEPTH + 1, size)
        self._state = np.zeros(1, state_dtype(size))[0]
        self._table = np.zeros(1 << table_bits if options.table else 1, table_dtype())
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        self._rng, self._order = make_rng(sequence), np.random.default_rng(sequence)
        self._features = make_features(size, (3,), "none")

    @property
    def nodes(self) -> int:
        """Positions valued in the search that runs, or ran last."""
        return int(self._state.nodes)

    def search(
        self,
        game: Game,
        features: FeatureSet,
        theta_bar: np.ndarray,
        depth: int | None = None,
        seconds: float | None = None,
        stop: Callable[[], bool] = never,
    ) -> Found:
        """The best move of the position of `game`, by the values of theta_bar.

        Parameters
        ----------
        features, theta_bar : a feature set without sharing, and its table
        depth : search so deep at most; None: as deep as the time allows
        seconds : until then; None: until done
        stop : asked every 10 ms; True ends the search with the best move so far

        Raises
        ------
        RlgoError : where neither depth nor seconds says when to end, or they are out of range.
        """
        check_limits(depth, seconds)
        moves = np.array(moves_to_try(game), np.int64)
        if not len(moves):
            return Found(PASS, 0.0, 0, 0, [PASS], 0.0)
        self.warm_up()
        start = time.perf_counter()
        fused = fuse(features, theta_bar)[1]
        s = self._state
        s.search += 1
        s.nodes = 0
        s.history[:] = 0
        s.killers[:] = 0
        self._boards[0] = game.board
        rebuild(self._boards[0], self._shapes[0], self._features.geometry, fused, fused)
        self._order.shuffle(moves)
        found = Found(int(moves[0]), 0.0, 0, 0, [int(moves[0])], 0.0)
        for d in range(1, (depth or MAX_DEPTH - 1) + 1):
            begin_root(moves, d, s)
            is_done = False
            while not is_done:
                is_done = self._run(_SLICE_NODES, fused, game.komi)
                elapsed = time.perf_counter() - start
                is_late = (seconds is not None and elapsed >= seconds) or stop()
                if is_late:
                    break
            if s.length[0] > 0:  # the moves searched by now: the best of the last depth came first
                x = float(s.best[0]) * (1 if game.to_play == BLACK else -1)
                line = [int(p) for p in s.line[0, : s.length[0]]]
                complete = d if is_done else found.depth
                found = Found(int(s.best_move[0]), x, complete, int(s.nodes), line, elapsed)
            if is_late or abs(found.x) == WON:
                break
            # The best first, the others as they were found, which is what the next depth cuts best with.
            moves = s.moves[0, : len(moves)][np.argsort(-s.values[: len(moves)], kind="stable")].astype(np.int64)
        return found

    def _run(self, budget: int, theta_bar: np.ndarray, komi: float) -> bool:
        done: bool = negamax(
            budget, self._boards, self._shapes, self._features.geometry, theta_bar, self._state, self._table,
            self.options, komi, zobrist(self.size), self._rng,
        )  # fmt: skip
        return done

    def warm_up(self) -> None:
        """Compile what a search needs, so that no clock runs meanwhile: it values no node at all."""
        with compiling(f"alpha-beta, {self.size}x{self.size}"):
            begin_root(np.zeros(1, np.int64), 1, self._state)
            self._run(0, _NO_WEIGHTS, 0.0)


def led_by(candidates: list[Candidate], found: Found | None) -> list[Candidate]:
    """Candidates by value alone, with the move that a search found put first, and its principal variation."""
    best = next((candidate for candidate in candidates if found is not None and candidate.move == found.move), None)
    if found is None or best is None:
        return candidates
    others = [candidate for candidate in candidates if candidate is not best]
    return [best._replace(visits=max(1, found.nodes), line=found.line), *others]


def check_limits(depth: int | None, seconds: float | None) -> None:
    """RlgoError for limits of a search that are none."""
    if depth is None and seconds is None:
        raise RlgoError("alpha-beta: expected a depth, or seconds, or both")
    if depth is not None and not 1 <= depth < MAX_DEPTH:
        raise RlgoError(f"depth = {depth}: expected an integer from 1 to {MAX_DEPTH - 1}")
    if seconds is not None and not seconds > 0:
        raise RlgoError(f"seconds = {seconds}: expected a positive number")


class AlphaBeta(Player):
    """Alpha-beta on learned weights, which stay as they are (TD paper, Section 3.4, Table 2).

    Parameters
    ----------
    weights : of any sharing
    depth, seconds : of each move, see `AlphaBetaSearch.search`
    others : of `AlphaBetaSearch`

    Attributes
    ----------
    found : what the last search found, or None

    Raises
    ------
    RlgoError : for limits out of range.
    """

    def __init__(
        self,
        weights: Weights,
        depth: int | None = 4,
        seconds: float | None = None,
        options: Options = Options(),
        table_bits: int = 18,
        seed: Seed = None,
        name: str = "alphabeta",
    ):
        check_limits(depth, seconds)
        self.name, self.sizes = name, (weights.features.size,)
        self.depth, self.seconds = depth, seconds
        self.found: Found | None = None
        self._position: tuple[int, ...] = ()  # where it was found
        self._features, theta = unshare(weights.features, weights.theta, weights.features.sizes)
        self._theta_bar = self._features.expand(theta)
        self._values = ValueFunction(weights)
        self._map = np.full((weights.features.size, weights.features.size), np.nan)
        self._search = AlphaBetaSearch(weights.features.size, options, table_bits, seed)

    def genmove(self, game: Game) -> int:
        check_size(self, game)
        seconds = shorter(self.seconds, self.limit if self.limit is None else max(1e-3, self.limit))
        self.found = self._search.search(game, self._features, self._theta_bar, self.depth, seconds, self.stop)
        self._map[:] = self._values.afterstates(game.board)[:-1].reshape(self._map.shape)
        self._position = position_of(game)
        return self.found.move

    def warm_up(self) -> None:
        """Compile what a search needs, so that no clock runs meanwhile."""
        self._search.warm_up()
        self._values.afterstates(new_board(len(self._map)))

    def new_game(self) -> None:
        self.found = None
        self._map[:] = np.nan

    def report(self) -> list[str]:
        return [] if self.found is None else [describe(self.found, len(self._map))]

    def candidates(self, game: Game) -> list[Candidate]:
        """By V alone, without search; the move that was found first, with its principal variation."""
        found = ranked(game, self._values.afterstates(game.board))
        return led_by(found, self.found if self._position == position_of(game) else None)

    def value_weights(self) -> Weights:
        return self._values.weights

    def analyses(self) -> dict[str, np.ndarray]:
        """``value``: V after each legal move, P(Black wins), without search."""
        return {"value": self._map}
