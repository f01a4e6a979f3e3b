"""Iterative deepening of alpha-beta. TD paper, Section 6.1.

Start reading at `AlphaBetaSearch.search`; one depth is `alphabeta.negamax`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rlgo.base.budget import SLICE_SECONDS, Budget
from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.ram import announce, on_own_cache_lines
from rlgo.base.settings import Positive, board_size
from rlgo.compiler.jit import compiling, make_rng, seed_sequence
from rlgo.features.incremental import new_shapes, reset, shapes_dtype
from rlgo.features.shapes import Table, make_features, with_others
from rlgo.go.board import BLACK, PASS, new_boards
from rlgo.go.coords import vertices
from rlgo.go.game import Game
from rlgo.go.rules import make_rules
from rlgo.play.player import Candidate, SearchStatistics, Seed, moves_to_try, position_of
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
    line = vertices(result.line, size)
    v = sigmoid(result.x)
    return f"alpha-beta: depth {result.depth}, {result.nodes:,} positions, P(Black wins) = {v:.1%} after {line}"


def sigmoid(x: float) -> float:
    """Return sigma(x), without overflow for large |x|, where a game is over and V is 0 or 1."""
    return 0.5 * (1 + math.tanh(x / 2))


class AlphaBetaSearch:
    """Alpha-beta over any value function of one board size.

    Parameters
    ----------
    size : board size
    options : `AlphaBetaOptions`
    table_bits : the transposition table has 2^table_bits entries of 24 bytes
    seed : seed of the order in which equal root moves are tried; None draws a fresh one each time

    Attributes
    ----------
    results : the result at each complete depth of the current or last search

    Raises
    ------
    RlgoError : for table_bits out of range
    """

    def __init__(
        self,
        size: int,
        options: AlphaBetaOptions = AlphaBetaOptions(),
        table_bits: int = DEFAULT_TABLE_BITS,
        seed: Seed = None,
    ):
        table_bits = check("table_bits", table_bits, TableBits)
        size = self.size = board_size(size)
        self.options = check("options", options, AlphaBetaOptions)
        self.results: list[AlphaBetaResult] = []
        sequence = seed_sequence(seed)
        self._order = np.random.default_rng(sequence)
        n_entries = 1 << table_bits if options.table else 1
        announce(f"table_bits = {table_bits}", n_entries * entry_dtype().itemsize)
        self._memory = SearchMemory(
            new_boards(MAX_DEPTH + 1, size),
            new_shapes(MAX_DEPTH + 1, size),
            on_own_cache_lines(state_dtype(size))[0],
            np.zeros(n_entries, entry_dtype()),
            make_rng(sequence),
            make_features(size, (3,), "none").table_of(np.zeros(1, np.float32)),
            options,
            make_rules(size, 0.0),
        )
        self._depth = 0  # that is being searched
        self._result: AlphaBetaResult | None = None
        self._finished: tuple[np.ndarray, np.ndarray] = np.zeros(0, np.uint16), np.zeros(0)  # see `_root`
        self._position: tuple[int, ...] = ()  # that is searched

    @property
    def nodes(self) -> int:
        """Positions valued in the current or last search."""
        return int(self._memory.state.nodes)

    @property
    def result(self) -> AlphaBetaResult | None:
        """The result of the last search, or of the last complete depth during a search; None before it."""
        return self._result or (self.results[-1] if self.results else None)

    def has_searched(self, game: Game) -> bool:
        """Return whether the current or last search is of the position of `game`."""
        return self._position == position_of(game)

    def candidates(self, game: Game, by_value: list[Candidate]) -> list[Candidate]:
        """Put the move found in the position of `game` first, with its value and line; the others stay ranked by V."""
        best = next((c for c in by_value if self.result is not None and c.move == self.result.move), None)
        if self.result is None or best is None or not self.has_searched(game):
            return by_value
        result = self.result
        found = best._replace(value=sigmoid(result.x), visits=max(1, result.nodes), line=result.line)
        return [found, *(candidate for candidate in by_value if candidate is not best)]

    def report(self) -> list[str]:
        """Describe the last search in one line."""
        return [] if self.result is None else [describe(self.result, self.size)]

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
        moves = np.array(moves_to_try(game), np.int64)
        self.warm_up(table)
        self._stand_on(game, table)
        if not len(moves):
            self._result = AlphaBetaResult(PASS, 0.0, 0, 0, [PASS], 0.0)
            return self._result
        if len(moves) == 1 and budget.seconds is not None:
            budget.seconds = min(budget.seconds, SLICE_SECONDS)  # more time would change nothing
        self._order.shuffle(moves)
        self._deepen(moves, budget)
        if self._has_found_more():
            self._result = self._read(self.results[-1].depth if self.results else 0, budget)
        else:
            p = int(moves[0])
            self._result = self.results[-1] if self.results else AlphaBetaResult(p, 0.0, 0, 0, [p], 0.0)
        return self._result

    def _deepen(self, moves: np.ndarray, budget: Budget) -> None:
        """Search deeper and deeper, until the budget or the depths run out."""
        state = self._memory.state
        slices, left = budget.slices(_FIRST_NODES), 0
        for depth in range(1, (budget.depth or MAX_DEPTH - 1) + 1):
            self._depth = depth
            begin_root(moves, depth, state)
            is_done = False
            while not is_done:
                if left <= 0 and (left := next(slices, 0)) == 0:
                    return
                before = int(state.nodes)
                is_done = bool(negamax(left, self._memory))
                left -= int(state.nodes) - before  # the rest of a slice is used for the next depth
            self._finished = state.moves[0, : len(moves)].copy(), state.values[: len(moves)].copy()
            self.results.append(self._read(depth, budget))
            # Best move first, then the others by their bounds, which gives most cuts at the next depth.
            moves = self._finished[0][np.argsort(-self._finished[1], kind="stable")].astype(np.int64)
            if abs(self.results[-1].x) == WON_LOGIT:
                return

    def _has_found_more(self) -> bool:
        """Whether a move has been searched beyond the last complete depth, which begins with the best."""
        return self._depth > len(self.results) and self._memory.state.length[0] > 0

    def _read(self, depth: int, budget: Budget) -> AlphaBetaResult:
        """Return what has been found at the root."""
        s = self._memory.state
        x = float(s.best[0]) * (1 if self._memory.boards[0].to_play == BLACK else -1)
        line = [int(p) for p in s.line[0, : s.length[0]]]
        return AlphaBetaResult(int(s.best_move[0]), x, depth, self.nodes, line, budget.elapsed)

    def _root(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the moves of the root and their values, -inf if not searched yet, at the depth of the result."""
        if self._has_found_more():
            s, n = self._memory.state, self._memory.state.n[0]
            return s.moves[0, :n].copy(), s.values[:n].copy()
        return self._finished

    def searched(self, color: int) -> dict[int, float]:
        """Return V of the root's moves searched at the depth of the result, P(Black wins), by move.

        The best move's value is exact. Other values are bounds: the moves are no better than that for `color`, the side
        to play.
        """
        moves, values = self._root()
        sign = 1 if color == BLACK else -1
        pairs = zip(moves.tolist(), values.tolist(), strict=True)
        return {p: float(sigmoid(sign * x)) for p, x in pairs if x > -np.inf}

    def statistics(self, game: Game, by_value: list[Candidate]) -> SearchStatistics:
        """Return the statistics of the search in the position of `game`; see `player.SearchStatistics`.

        by_value : all moves, best first by V without search
        """
        result, entries = self.result, self._memory.entries
        moves = [c.move for c in self.candidates(game, by_value)]
        at_once, searched = {c.move: c.value for c in by_value}, self.searched(game.to_play)
        columns = {
            "value": np.array([at_once[move] for move in moves]),
            "searched": np.array([searched.get(move, np.nan) for move in moves]),
        }
        return SearchStatistics(
            "depth",
            moves,
            columns,
            [] if result is None else [result.line],
            done=self.nodes,
            unit="positions",
            depth=len(self.results),
            size=int(np.count_nonzero(entries["search"] == self._memory.state.search)),
            n_bytes=entries.nbytes,
            depths=tuple(self.results),
        )

    def forget(self) -> None:
        """Forget the last search."""
        self.results, self._result, self._depth = [], None, 0
        self._finished = np.zeros(0, np.uint16), np.zeros(0)
        self._position = ()

    def _stand_on(self, game: Game, table: Table) -> None:
        """Make the position of `game` the root."""
        self.forget()
        self._position = position_of(game)
        self._memory = self._memory._replace(table=table, rules=make_rules(self.size, game.komi))
        s = self._memory.state
        s.search += 1
        s.nodes = 0
        s.history[:] = 0
        s.killers[:] = 0
        self._memory.boards[0] = game.board
        reset(self._memory.boards[0], self._memory.shapes[0], table)

    def warm_up(self, table: Table) -> None:
        """Compile what a search by this table needs, so that compiling costs no clock time."""
        capacity = int(table.g.capacity)
        memory = self._memory._replace(table=table)
        if memory.shapes.dtype != shapes_dtype(self.size, capacity):
            memory = memory._replace(shapes=new_shapes(MAX_DEPTH + 1, self.size, capacity))
        self._memory = memory
        with compiling(f"alpha-beta, {self.size}x{self.size}{with_others(capacity)}"):
            reset(memory.boards[0], memory.shapes[0], table)
            begin_root(np.zeros(1, np.int64), 1, memory.state)
            negamax(0, memory)


def check_limits(depth: int | None, seconds: float | None) -> tuple[int | None, float | None]:
    """Return the limits of a search as plain numbers. `RlgoError` if there is none, or one is out of range."""
    if depth is None and seconds is None:
        raise RlgoError("alpha-beta: expected a depth, or seconds, or both")
    return check("depth", depth, Depth | None), check("seconds", seconds, Positive | None)
