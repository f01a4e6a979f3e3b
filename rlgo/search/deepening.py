"""Iterative deepening of alpha-beta, in one thread or several ("lazy SMP"). TD paper, Section 6.1.

Start reading at `AlphaBetaSearch.search`, then `Deepening`; one depth is `alphabeta.negamax`. Several threads search
the same position, every other one a ply deeper, and communicate only through the transposition table. The number of
positions valued, the line, and the choice among equal moves then vary from search to search.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from threading import Lock
from typing import NamedTuple

import numpy as np

from rlgo.base.budget import SLICE_SECONDS, Budget
from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.ram import announce, on_own_cache_lines
from rlgo.base.settings import Positive, Threads, board_size
from rlgo.base.threads import started
from rlgo.compiler.jit import compiling, make_rng, seed_sequence
from rlgo.features.incremental import new_shapes, reset, shapes_dtype
from rlgo.features.shapes import Table, make_features, with_others
from rlgo.go.board import BLACK, PASS, new_boards
from rlgo.go.coords import to_vertex
from rlgo.go.game import Game
from rlgo.go.rules import make_rules
from rlgo.play.player import Candidate, SearchStatistics, Seed, moves_to_try
from rlgo.search.alphabeta import (
    DEFAULT_TABLE_BITS,
    MAX_DEPTH,
    WON_LOGIT,
    AlphaBetaOptions,
    Depth,
    SearchMemory,
    TableBits,
    begin_root,
    entry_dtype,
    negamax,
    state_dtype,
)

_FIRST_NODES = 2_000  # in the first slice: a fraction of a millisecond
_MOST_NODES = 1 << 62  # for threads that are stopped by others


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
    return f"alpha-beta: depth {result.depth}, {result.nodes:,} positions, P(Black wins) = {v:.1%} after {line}"


def sigmoid(x: float) -> float:
    """Return sigma(x), without overflow for large |x|, where a game is over and V is 0 or 1."""
    return 0.5 * (1 + math.tanh(x / 2))


class Deepening:
    """Iterative deepening from one position: the next depth tries the best move of the last one first.

    Odd-numbered threads begin a ply ahead. The first thread to finish a depth ends the others' searches of that and
    lower depths.

    Parameters
    ----------
    searches : the memory of each thread; boards[0] and shapes[0] are the position
    moves : moves of the root, int64[n], n > 0, in the order of the first thread
    budget : its depth limits the search, and results tell its time
    order : draws the order in which the other threads try moves after the best
    results : list to which the result at each complete depth is appended
    """

    def __init__(
        self,
        searches: list[SearchMemory],
        moves: np.ndarray,
        budget: Budget,
        order: np.random.Generator,
        results: list[AlphaBetaResult],
    ):
        self._searches, self._moves, self._budget, self._order = searches, moves, budget, order
        self._results, self._most = results, budget.depth or MAX_DEPTH - 1
        self._depths = [0] * len(searches)  # current depth of each thread
        self._finished: tuple[np.ndarray, np.ndarray] = np.zeros(0, np.uint16), np.zeros(0)  # see `root`
        self._is_over = False
        self._lock = Lock()  # guards all attributes

    def run(self, k: int, slices: Iterator[int]) -> None:
        """Search deeper and deeper as thread k, in slices of nodes, until slices or depths run out."""
        search, left = self._searches[k], 0
        while self._begin(k):
            is_done = False
            while not is_done and not search.stop[0]:
                if left <= 0 and (left := next(slices, 0)) == 0:
                    return
                before = int(search.state.nodes)
                is_done = bool(negamax(left, search))
                left -= int(search.state.nodes) - before  # the rest of a slice is used for the next depth
            if is_done:
                self._finish(k)

    def end(self) -> None:
        """End the searches of all threads."""
        with self._lock:
            self._stop(MAX_DEPTH)

    def result(self) -> AlphaBetaResult:
        """Return the result of the last complete depth, or that of the first thread so far at the next."""
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
        """Whether the first thread has searched a move beyond the last complete depth; it begins with the best."""
        return self._depths[0] > self._reached() and self._searches[0].state.length[0] > 0

    def _reached(self) -> int:
        """Return the last complete depth."""
        return self._results[-1].depth if self._results else 0

    def _begin(self, k: int) -> bool:
        """Let thread k begin with the next depth. Return whether there is one."""
        with self._lock:
            if self._is_over:
                return False
            depth = self._depths[k] = min(self._reached() + 1 + k % 2, self._most)
            moves = self._moves
            if k > 0:
                moves = np.append(moves[:1], self._order.permutation(moves[1:]))
            self._searches[k].stop[0] = 0
            begin_root(moves, depth, self._searches[k].state)
            return True

    def _finish(self, k: int) -> None:
        """Record the result of thread k, which has finished its depth, unless another thread was first."""
        with self._lock:
            depth = self._depths[k]
            if self._is_over or depth <= self._reached():
                return
            result = self._read(k, depth)
            self._results.append(result)
            s, n = self._searches[k].state, len(self._moves)
            moves, values = self._finished = s.moves[0, :n].copy(), s.values[:n].copy()
            # Best move first, then the others by their bounds, which gives most cuts at the next depth.
            self._moves = moves[np.argsort(-values, kind="stable")].astype(np.int64)
            is_last = depth == self._most or abs(result.x) == WON_LOGIT
            self._stop(MAX_DEPTH if is_last else depth)

    def _stop(self, depth: int) -> None:
        """End all searches of at most this depth; MAX_DEPTH ends the whole search."""
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
    options : `AlphaBetaOptions`
    table_bits : the transposition table has 2^table_bits entries of 24 bytes
    workers : number of threads. Several reach a depth sooner, but only with a transposition table
    seed : seed of the order in which equal root moves are tried; None draws a fresh one each time

    Attributes
    ----------
    results : the result at each complete depth of the current or last search. Several threads may skip depths

    Raises
    ------
    RlgoError : for table_bits or workers out of range
    """

    def __init__(
        self,
        size: int,
        options: AlphaBetaOptions = AlphaBetaOptions(),
        table_bits: int = DEFAULT_TABLE_BITS,
        workers: int = 1,
        seed: Seed = None,
    ):
        table_bits, workers = check("table_bits", table_bits, TableBits), check("workers", workers, Threads)
        size = self.size = board_size(size)
        self.options = check("options", options, AlphaBetaOptions)
        self.results: list[AlphaBetaResult] = []
        sequence = seed_sequence(seed)
        self._order = np.random.default_rng(sequence)
        none = make_features(size, (3,), "none").table_of(np.zeros(1, np.float32))
        n_entries = 1 << table_bits if options.table else 1
        announce(f"table_bits = {table_bits}", n_entries * entry_dtype().itemsize)
        entries = np.zeros(n_entries, entry_dtype())
        self._searches = [
            SearchMemory(
                new_boards(MAX_DEPTH + 1, size),
                new_shapes(MAX_DEPTH + 1, size),
                on_own_cache_lines(state_dtype(size))[0],
                entries,
                on_own_cache_lines(entry_dtype()),
                on_own_cache_lines(np.int64),
                make_rng(child),
                none,
                options,
                make_rules(size, 0.0),
            )
            for child in (sequence, *sequence.spawn(workers - 1))
        ]
        self._threads = ThreadPoolExecutor(workers - 1, "alpha-beta") if workers > 1 else None
        self._deepening: Deepening | None = None  # the current search
        self._root: tuple[np.ndarray, np.ndarray] = np.zeros(0, np.uint16), np.zeros(0)  # the last one
        self._result: AlphaBetaResult | None = None

    @property
    def nodes(self) -> int:
        """Positions valued in the current or last search."""
        return sum(int(search.state.nodes) for search in self._searches)

    @property
    def n_entries(self) -> int:
        """Entries of the transposition table; 1 if there is none."""
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
        if len(moves) == 1 and budget.seconds is not None:
            budget.seconds = min(budget.seconds, SLICE_SECONDS)  # more time would change nothing
        self._order.shuffle(moves)
        deepening = self._deepening = Deepening(self._searches, moves, budget, self._order, self.results)
        others = [(deepening.run, k, repeat(_MOST_NODES)) for k in range(1, len(self._searches))]
        try:
            with started(self._threads, others, deepening.end):
                deepening.run(0, budget.slices(_FIRST_NODES))
                deepening.end()
        finally:
            self._deepening, self._root = None, deepening.root()
        self._result = deepening.result()
        return self._result

    def searched(self, color: int) -> dict[int, float]:
        """Return V of the root's moves searched at the depth of the result, P(Black wins), by move.

        The best move's value is exact. Other values are bounds: the moves are no better than that for `color`, the side
        to play.
        """
        moves, values = self._root if self._deepening is None else self._deepening.root()
        sign = 1 if color == BLACK else -1
        pairs = zip(moves.tolist(), values.tolist(), strict=True)
        return {p: float(sigmoid(sign * x)) for p, x in pairs if x > -np.inf}

    def search_statistics(self, by_value: list[Candidate], color: int) -> SearchStatistics:
        """Return the statistics of the current or last search; see `player.SearchStatistics`.

        by_value : all moves, best first by V without search
        """
        result = self._result or (self.results[-1] if self.results else None)
        moves = [c.move for c in best_first(by_value, result)]
        at_once, searched = {c.move: c.value for c in by_value}, self.searched(color)
        columns = {
            "value": np.array([at_once[move] for move in moves]),
            "searched": np.array([searched.get(move, np.nan) for move in moves]),
        }
        first = self._searches[0]
        return SearchStatistics(
            "depth",
            moves,
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
        capacity = int(table.g.capacity)
        if self._searches[0].shapes.dtype != shapes_dtype(self.size, capacity):
            self._searches = [s._replace(shapes=new_shapes(MAX_DEPTH + 1, self.size, capacity)) for s in self._searches]

    def warm_up(self, table: Table | None = None) -> None:
        """Compile what a search by this table (None: the last one) needs, so that compiling costs no clock time."""
        if table is not None:
            self._fit(table)
            self._searches = [search._replace(table=table) for search in self._searches]
        first = self._searches[0]
        with compiling(f"alpha-beta, {self.size}x{self.size}{with_others(int(first.table.g.capacity))}"):
            reset(first.boards[0], first.shapes[0], first.table)
            begin_root(np.zeros(1, np.int64), 1, first.state)
            negamax(0, first)


def best_first(candidates: list[Candidate], result: AlphaBetaResult | None) -> list[Candidate]:
    """Put the move of a search first, with its value and line; the others stay ranked by V."""
    best = next((candidate for candidate in candidates if result is not None and candidate.move == result.move), None)
    if result is None or best is None:
        return candidates
    others = [candidate for candidate in candidates if candidate is not best]
    found = best._replace(value=sigmoid(result.x), visits=max(1, result.nodes), line=result.line)
    return [found, *others]


def check_limits(depth: int | None, seconds: float | None) -> tuple[int | None, float | None]:
    """Return the limits of a search as plain numbers. `RlgoError` if there is none, or one is out of range."""
    if depth is None and seconds is None:
        raise RlgoError("alpha-beta: expected a depth, or seconds, or both")
    return check("depth", depth, Depth | None), check("seconds", seconds, Positive | None)
