"""The tree search family as a player, and what a search found.

Start reading at `TreeSearch.search`. One class is all of them; `ALGORITHMS` says what settings make which.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from mcts.heuristic import NO_HEURISTIC, RLGO, USER, add_prior
from mcts.search import DONE, FLAT, MC, MC_RAVE, RAVE, Settings, path_dtype, simulate
from mcts.tree import NO_CHILD, add_root, edge_dtype, find_edge, keep_subtree, node_dtype, sizes_dtype
from rlgo.board import BLACK, PASS, new_boards, zobrist
from rlgo.coords import to_row_col, to_vertex
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.jit import compiling, make_rng
from rlgo.player import RESIGN, Player, Seed, check_size, moves_to_try
from rlgo.rollout import DefaultPolicy, is_hopeless, mogo_patterns, new_rollout
from rlgo.shapes import fuse, make_features, unshare
from rlgo.td import check_max_moves
from rlgo.td_search import TdSearch
from rlgo.value import VALUES, new_shapes
from rlgo.weights import Weights

# What makes which algorithm of the MC-RAVE paper; vanilla UCT as in its Section 2.5, c = 1 and first-play urgency 1.
ALGORITHMS = {
    "mc": Settings(value=FLAT),
    "mcts_greedy": Settings(value=MC),
    "uct": Settings(value=MC, c=1.0, first_play_urgency=1.0),
    "rave": Settings(value=RAVE),
    "mc_rave": Settings(value=MC_RAVE),
    "uct_rave": Settings(value=MC_RAVE, c=0.1),
    "heuristic_mc_rave": Settings(value=MC_RAVE, heuristic=RLGO),
}

# A user's prior: of a board record and its moves (points, int64[n]), (H, C, C~), each float[n] or a number.
Prior = Callable[[np.record, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]

_SLICE_SECONDS = 0.01


@cache
def tally_dtype() -> np.dtype:
    """What simulations add up to: how many, the sum of z, the moves played, and nodes that wait for a prior."""
    fields = [("simulations", "i8"), ("moves", "i8"), ("waiting", "i8"), ("wins", "f8")]
    return np.dtype((np.record, np.dtype(fields)))


class Found(NamedTuple):
    """What a search found, of the root's m moves, the most visited first."""

    moves: np.ndarray  # int64[m]: points, or PASS; of flat Monte-Carlo, the best first
    visits: np.ndarray  # int64[m]: N(s, a) without the prior's C
    q: np.ndarray  # float64[m]: Q(s, a), P(Black wins); NaN without a visit
    q_amaf: np.ndarray  # float64[m]: Q~(s, a); NaN without any
    n_amaf: np.ndarray  # int64[m]: N~(s, a)
    line: list[int]  # the principal variation, by visits
    simulations: int  # of this search
    nodes: int  # in the tree


class TreeSearch(Player):
    """Monte-Carlo tree search as a player.

    Parameters
    ----------
    size : of the board
    settings : what the tree policy goes by, see `Settings` and `ALGORITHMS`
    simulations, seconds : of each move; whichever is given ends the search, or the first of both
    default : the default policy
    weights : the value function of Q_rlgo, for settings.heuristic = RLGO
    prior : a user's own heuristic, instead of settings.heuristic; asked for a batch of new nodes at a time, while
        their simulations go on
    first : a TD search that learns before each search, and whose short-term value is Q_rlgo (two-phase search)
    reuse : keep the part of the tree below the position that is reached next
    memory_mb : of the tree, at most; where it is full, the search goes on without growing it
    resign : give up where P(win) of the best move is below
    batch : nodes that a user's prior is asked for at once
    seed : of all random numbers; None: different every time

    Attributes
    ----------
    found : what the last search found, or None

    Raises
    ------
    RlgoError : for what is out of range, and for a prior that is.
    """

    def __init__(
        self,
        size: int = 9,
        settings: Settings = ALGORITHMS["mc_rave"],
        simulations: int | None = 3_000,
        seconds: float | None = None,
        default: DefaultPolicy = DefaultPolicy(),
        weights: Weights | None = None,
        prior: Prior | None = None,
        first: TdSearch | None = None,
        reuse: bool = True,
        memory_mb: float = 256,
        resign: float = 0.0,
        batch: int = 8,
        seed: Seed = None,
        name: str = "mc_rave",
    ):
        _check(settings, simulations, seconds, memory_mb, resign, batch)
        self.name, self.sizes = name, (size,)
        self.simulations, self.seconds, self.resign, self.reuse = simulations, seconds, resign, reuse
        self.default, self._prior, self._first = default, prior, first
        max_moves = check_max_moves(0, size)
        self.settings = settings._replace(max_moves=max_moves, heuristic=USER if prior else settings.heuristic)
        self._features = make_features(size, (3,), "none")
        self._theta_bar, self._value = np.zeros(1, np.float32), VALUES["logistic"]
        if self.settings.heuristic == RLGO and first is None:
            if weights is None or weights.features.size != size:
                raise RlgoError(f"{name}: expected weights for {size}x{size}")
            features, theta = unshare(weights.features, weights.theta, weights.features.sizes)
            self._theta_bar, self._value = fuse(features, features.expand(theta))[1], VALUES[weights.value]

        n_edges = int(memory_mb * 1e6 / (edge_dtype().itemsize + node_dtype().itemsize / 20))
        if self.settings.value == FLAT:
            n_edges = size * size + 1  # the root alone
        self._nodes = np.zeros(max(1, n_edges // 20 if n_edges > size * size + 1 else 1), node_dtype())
        self._edges = np.zeros(max(n_edges, size * size + 1), edge_dtype())
        self._sizes = np.zeros(1, sizes_dtype())[0]
        self._boards, self._shapes = new_boards(2, size), new_shapes(1, size)[0]
        self._path, self._rollout = np.zeros(1, path_dtype(size))[0], new_rollout(size)
        self._leaves, self._leaf_nodes = new_boards(batch, size), np.zeros(batch, np.int64)
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        self._rng, self._order = make_rng(sequence), np.random.default_rng(sequence)
        self._before: tuple[list[tuple[int, int]], list[tuple[int, int]]] | None = None  # setup and moves of the root
        self.tally = np.zeros(1, tally_dtype())[0]
        self.found: Found | None = None
        self._maps: dict[str, np.ndarray] = {}
        self.new_game()

    # --- the player ---

    def new_game(self) -> None:
        self._before = None
        self.found = None
        names = ("value", "visits", "amaf")
        self._maps = {name: np.full((self._boards[0].board_size,) * 2, np.nan) for name in names}
        if self._first is not None:
            self._first.new_game()

    def genmove(self, game: Game) -> int:
        found = self.search(game)
        if not len(found.moves):
            return PASS
        self._draw(found, game.size)
        best = float(found.q[0])
        if self.resign > 0 and (best if game.to_play == BLACK else 1 - best) < self.resign:
            return RESIGN
        return int(found.moves[0])

    def warm_up(self) -> None:
        """Compile what a search needs, so that no clock runs meanwhile."""
        with compiling(f"tree search, {self._features.size}x{self._features.size}"):
            add_root(np.zeros(1, np.int64), self._sizes, self._nodes, self._edges)
            self._run(0, 0.0)
            keep_subtree(0, self._sizes, self._nodes, self._edges)
            find_edge(0, PASS, self._nodes, self._edges)
        self._before = None
        if self._first is not None:
            self._first.warm_up()

    def analyses(self) -> dict[str, np.ndarray]:
        """Maps by move: ``value`` Q, ``amaf`` Q~, both P(Black wins), and ``visits``, the share of them."""
        return self._maps

    def report(self) -> list[str]:
        if self.found is None:
            return []
        line = " ".join(to_vertex(p, self._features.size) for p in self.found.line[:10])
        n = self.found.simulations
        won = f"Black won {self.tally.wins / n:.1%} of {n:,} simulations" if n else "one move alone"
        return [f"{won}; {self.found.nodes:,} nodes; {line}"]

    # --- the search ---

    def search(self, game: Game, stop: Callable[[], bool] | None = None) -> Found:
        """Search from the position of `game` until the budget is spent, or `stop` (or `Player.stop`) says so.

        It ends early where the most visited move cannot be caught any more. Nothing is searched where the player
        should pass (`player.moves_to_try`), or has one move alone.
        """
        check_size(self, game)
        stop = stop or self.stop
        moves = np.array(moves_to_try(game), np.int64)
        self.tally = np.zeros(1, tally_dtype())[0]
        if not len(moves):
            self._before = None
            self.found = None
            return Found(*(np.zeros(0),) * 5, [PASS], 0, 0)
        self.warm_up() if self._before is None else None
        start = time.perf_counter()
        if self._first is not None:
            self._first.search(game, stop)
            self._theta_bar = fuse(*self._first.value_table())[1]
            self._value = self._first.learning.value
        self._stand_on(game, moves)
        done, n = 0, 16
        while len(moves) > 1:
            if self.simulations is not None:
                n = min(n, self.simulations - done)
            began = time.perf_counter()
            self._run(n, game.komi)
            done = int(self.tally.simulations)
            now = time.perf_counter()
            n = max(1, min(4 * n, int(n * _SLICE_SECONDS / max(now - began, 1e-9))))
            if self.simulations is not None and (done >= self.simulations or self._is_decided(self.simulations - done)):
                break
            if (self.seconds is not None and now - start >= self.seconds) or stop():
                break
        self._before = (game.setup.copy(), game.moves.copy())
        self.found = self._look(done)
        return self.found

    def tree_sizes(self) -> np.record:
        """How many nodes and edges the tree has, see `tree.sizes_dtype`."""
        return self._sizes

    def _stand_on(self, game: Game, moves: np.ndarray) -> None:
        """Make the position of `game` the root: what the tree has below it, or a new tree."""
        root = self._root_for(game) if self.reuse else NO_CHILD
        self._boards[0] = game.board
        self._boards[0].n_passes = 0  # at the root the game goes on, whatever was passed
        if root == NO_CHILD or self.settings.value == FLAT:
            self._order.shuffle(moves)
            add_root(moves, self._sizes, self._nodes, self._edges)
            self._ask_for_root(game)
            return
        keep_subtree(root, self._sizes, self._nodes, self._edges)
        node = self._nodes[0]
        mine = self._edges[: node.n_edges]
        allowed = np.isin(mine["move"], moves)
        if not allowed.all():  # superko forbids what simulations may play
            kept = mine[allowed].copy()
            mine[: len(kept)] = kept
            node.n_edges = len(kept)
            node.n = int(kept["n"].sum())

    def _root_for(self, game: Game) -> int:
        """The node of the position of `game`, if it has come about by moves in the tree."""
        if self._before is None or self._before[0] != game.setup:
            return NO_CHILD
        before = self._before[1]
        if game.moves[: len(before)] != before or len(game.moves) == len(before):
            return NO_CHILD
        node = 0
        for _, p in game.moves[len(before) :]:
            e = int(find_edge(node, p, self._nodes, self._edges))
            node = int(self._edges[e].child) if e >= 0 else NO_CHILD
            if node == NO_CHILD:
                return NO_CHILD
        return node

    def _run(self, n: int, komi: float) -> None:
        mercy = self.default.mercy and not is_hopeless(self._boards[0], komi)
        left = n
        while left >= 0:
            before = int(self.tally.simulations)
            status = simulate(
                left, self._boards, self._sizes, self._nodes, self._edges, self.settings,
                self.default._replace(mercy=mercy), komi, self._path, self._shapes, self._features.geometry,
                self._theta_bar, self._value, self._rollout, mogo_patterns(), zobrist(self._features.size), self._rng,
                self._leaves, self._leaf_nodes, self.tally,
            )  # fmt: skip
            left -= int(self.tally.simulations) - before
            self._ask()
            if status == DONE or left == 0:
                return

    def _is_decided(self, left: int) -> bool:
        """Whether the most visited move stays so, whatever the simulations that are left do."""
        n = np.sort(self._edges["n"][: self._nodes[0].n_edges])
        return len(n) > 1 and int(n[-1]) - int(n[-2]) > left

    # --- priors ---

    def _ask_for_root(self, game: Game) -> None:
        """The prior of a new root, as of any other new node."""
        s = self.settings
        if s.heuristic == USER:
            self._leaves[0], self._leaf_nodes[0], self.tally.waiting = self._boards[0], 0, 1
            self._ask()
        elif s.heuristic != NO_HEURISTIC:
            add_prior(
                0, NO_CHILD, self._boards[0], s.heuristic, s.prior_n, s.prior_n_amaf, self._nodes, self._edges,
                self._shapes, self._features.geometry, self._theta_bar, self._value, self.default, self._rollout,
                mogo_patterns(),
            )  # fmt: skip

    def _ask(self) -> None:
        """Ask the user's prior for the nodes that wait, and add what it says to their statistics."""
        for i in range(int(self.tally.waiting)):
            assert self._prior is not None
            node = self._nodes[int(self._leaf_nodes[i])]
            edges = self._edges[node.first : node.first + node.n_edges]
            moves = edges["move"].astype(np.int64)
            h, c, c_amaf = (np.broadcast_to(np.asarray(x, np.float64), moves.shape) for x in self._told(i, moves))
            for what, values, low, high in (("H", h, 0, 1), ("C", c, 0, 1e6), ("C~", c_amaf, 0, 1e6)):
                wrong = np.flatnonzero(~((values >= low) & (values <= high)))
                if len(wrong):
                    vertex = to_vertex(int(moves[wrong[0]]), self._features.size)
                    raise RlgoError(f"prior: {what} of {vertex} = {values[wrong[0]]}: expected {low} to {high:g}")
            n, n_amaf = np.rint(c).astype(np.int32), np.rint(c_amaf).astype(np.int32)
            edges["n"] += n
            edges["w"] += n * h
            edges["n_amaf"] += n_amaf
            edges["w_amaf"] += n_amaf * h
            node.n += n.sum()
        self.tally.waiting = 0

    def _told(self, i: int, moves: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        assert self._prior is not None
        told = self._prior(self._leaves[i], moves)
        if not isinstance(told, tuple) or len(told) != 3:
            raise RlgoError("prior: expected three things, (H, C, C~)")
        for name, values in zip(("H", "C", "C~"), told, strict=True):
            if np.shape(values) not in ((), moves.shape):
                raise RlgoError(
                    f"prior: {name} has shape {np.shape(values)}: expected {moves.shape}, one for each move"
                )
        return told

    # --- what was found ---

    def _look(self, done: int) -> Found:
        root = self._edges[: self._nodes[0].n_edges]
        c = self.settings.prior_n if self.settings.heuristic not in (NO_HEURISTIC, USER) else 0
        if self.settings.value == FLAT:  # visits are all the same
            mean = root["w"] / np.maximum(root["n"], 1)
            order = np.argsort(-mean if self._boards[0].to_play == BLACK else mean, kind="stable")
        else:
            order = np.lexsort((-root["n_amaf"], -root["n"]))
        root = root[order]
        with np.errstate(invalid="ignore", divide="ignore"):
            q, q_amaf = root["w"] / root["n"].astype(np.float64), root["w_amaf"] / root["n_amaf"].astype(np.float64)
        return Found(
            root["move"].astype(np.int64), root["n"].astype(np.int64) - c, q, q_amaf, root["n_amaf"].astype(np.int64),
            self._line(), done, int(self._sizes.nodes),
        )  # fmt: skip

    def _line(self) -> list[int]:
        line: list[int] = []
        node = 0
        while node != NO_CHILD:
            edges = self._edges[self._nodes[node].first : self._nodes[node].first + self._nodes[node].n_edges]
            best = int(np.argmax(edges["n"]))
            if line and edges[best].n <= self.settings.prior_n:
                break
            line.append(int(edges[best].move))
            node = int(edges[best].child)
        return line

    def _draw(self, found: Found, size: int) -> None:
        for values in self._maps.values():
            values[:] = np.nan
        total = max(1, int(found.visits.sum()))
        for p, n, q, q_amaf in zip(found.moves, found.visits, found.q, found.q_amaf, strict=True):
            if p != PASS:
                at = to_row_col(int(p), size)
                self._maps["value"][at], self._maps["amaf"][at], self._maps["visits"][at] = q, q_amaf, n / total


def _check(
    settings: Settings, simulations: int | None, seconds: float | None, memory_mb: float, resign: float, batch: int
) -> None:
    """RlgoError for a setting out of range."""
    if simulations is None and seconds is None:
        raise RlgoError("expected a number of simulations (sims), or seconds, or both")
    checks = [
        (simulations is None or simulations >= 1, "simulations", simulations, "an integer of at least 1"),
        (seconds is None or seconds > 0, "seconds", seconds, "a positive number"),
        (settings.c >= 0, "c", settings.c, "a number of at least 0"),
        (settings.rave_k > 0, "rave_k", settings.rave_k, "a positive number"),
        (settings.rave_bias >= 0, "rave_bias", settings.rave_bias, "a number of at least 0"),
        (settings.expand_after >= 1, "expand_after", settings.expand_after, "an integer of at least 1"),
        (settings.prior_n >= 0, "prior_n", settings.prior_n, "an integer of at least 0"),
        (settings.prior_n_amaf >= 0, "prior_n_amaf", settings.prior_n_amaf, "an integer of at least 0"),
        (memory_mb > 0, "memory_mb", memory_mb, "a positive number"),
        (0 <= resign < 1, "resign", resign, "a number from 0 to 1"),
        (batch >= 1, "batch", batch, "an integer of at least 1"),
    ]
    for holds, name, value, expected in checks:
        if not holds:
            raise RlgoError(f"{name} = {value}: expected {expected}")
