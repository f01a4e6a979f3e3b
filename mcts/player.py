"""The tree search family as a player, and what a search found.

Start reading at `TreeSearch.search`. One class is all of them; `ALGORITHMS` says what settings make which.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mcts.heuristic import BOTH, MOST_PRIOR, NO_HEURISTIC, RLGO, USER, add_prior, knowledge_of, sort_by_prior
from mcts.parallel import Team
from mcts.rave import FLAT, HAND_SELECTED, KINDS, MC, MC_RAVE, RAVE, learned_bias, observe_bias
from mcts.search import LEARNED, NEVER, Settings, Worker
from mcts.tree import (
    MOST_VISITS,
    NO_CHILD,
    Tree,
    add_root,
    edges_of,
    find_edge,
    keep_moves,
    keep_subtree,
    may_pass,
    new_tree,
    nodes_in,
    statistic,
)
from rlgo.board import BLACK, PASS, new_board
from rlgo.budget import shorter
from rlgo.coords import to_row_col, to_vertex
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.jit import compiling, copy_record, seed_sequence
from rlgo.player import RESIGN, Candidate, Player, Seed, check_size, moves_to_try, position_of, won_by
from rlgo.rollout import DefaultPolicy, is_hopeless, make_rules, mogo_patterns
from rlgo.settings import EPSILON_GREEDY, Policy
from rlgo.td import check_max_moves
from rlgo.td_search import TdSearch
from rlgo.weights import Weights

# What makes which algorithm of the MC-RAVE paper; vanilla UCT as in its Section 2.5, c = 1 and first-play urgency 1.
ALGORITHMS = {
    "mc": Settings(value=FLAT),
    "mcts_greedy": Settings(value=MC),
    "uct": Settings(value=MC, c=1.0, first_play_urgency=1.0),
    "rave": Settings(value=RAVE),
    "mc_rave": Settings(value=MC_RAVE),
    "uct_rave": Settings(value=MC_RAVE, c=0.1, schedule=HAND_SELECTED),
    "heuristic_mc_rave": Settings(value=MC_RAVE, heuristic=RLGO),
}

# A user's prior: of a board record and its moves (points, int64[n]), (H, C, C~), each float[n] or a number. Or of
# several at once: a list of boards, and one of their moves, to a list of such triples.
Prior = Callable[[np.record, np.ndarray], Any]
Priors = Callable[[list[np.record], list[np.ndarray]], Any]

_MOVES_PER_NODE = 20  # at least, on average: what room for nodes is reckoned by


class Found(NamedTuple):
    """What a search found, of the root's m moves, the most visited first: more robust than the papers' best value."""

    moves: np.ndarray  # int64[m]: points, or PASS; of flat Monte-Carlo, the best first
    visits: np.ndarray  # int64[m]: N(s, a), without a built-in heuristic's C (a user's is in it)
    q: np.ndarray  # float64[m]: Q(s, a), P(Black wins); NaN without a visit
    q_amaf: np.ndarray  # float64[m]: Q~(s, a); NaN without any
    n_amaf: np.ndarray  # int64[m]: N~(s, a)
    prior: np.ndarray  # float64[m]: H(s, a), to the nearest 1/255; without a heuristic about 1/2
    line: np.ndarray  # int64[...]: the principal variation, by visits
    simulations: int  # of this search
    nodes: int  # in the tree, or in all trees


class TreeSearch(Player):
    """Monte-Carlo tree search as a player.

    Parameters
    ----------
    size : of the board
    settings : what the tree policy goes by, see `Settings` and `ALGORITHMS`
    simulations, seconds : of each move; whichever is given ends the search, or the first of both, or `Player.limit`
    default : the default policy
    weights : the value function of Q_rlgo, for the heuristics RLGO and BOTH, the default policy LEARNED, and truncation
    epsilon : of the default policy LEARNED: the probability of a uniformly random move
    prior : a user's own heuristic, instead of settings.heuristic; asked for every new node
    priors : the same for a network, say: asked for all nodes that wait, up to `batch`, at once
    first : a TD search that learns before each search, and whose short-term value is Q_rlgo (two-phase search)
    reuse : keep the part of the tree below the position that is reached next
    memory_mb : of the tree, at most; where it is full, the search goes on without growing it
    resign : give up where P(win) of the best move is below
    batch : new nodes that wait for a user's prior; simulations go on below them meanwhile, without it
    workers : threads
    root_parallel : each thread has a tree of its own, and the roots are added up; otherwise they share one
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
        epsilon: float = 0.1,
        prior: Prior | None = None,
        priors: Priors | None = None,
        first: TdSearch | None = None,
        reuse: bool = True,
        memory_mb: float = 256,
        resign: float = 0.0,
        batch: int = 8,
        workers: int = 1,
        root_parallel: bool = False,
        seed: Seed = None,
        name: str = "mc_rave",
    ):
        # An integer for a number would have numba compile all of it once more.
        values: Any = [float(x) if type(d) is float else x for d, x in zip(Settings(), settings, strict=True)]
        settings = Settings(*values)
        _check(settings, simulations, seconds, memory_mb, resign, batch, workers, epsilon)
        self.name, self.sizes = name, (size,)
        self.simulations, self.seconds, self.resign, self.reuse = simulations, seconds, resign, reuse
        if prior is not None:
            priors = lambda boards, moves: [prior(*position) for position in zip(boards, moves, strict=True)]  # noqa: E731
        self.default, self._priors, self._first = default, priors, first
        heuristic = USER if priors else settings.heuristic
        if settings.widening > 0 and heuristic == NO_HEURISTIC:
            raise RlgoError(f"widening = {settings.widening}: expected a heuristic, by which moves are tried in order")
        if first is not None and heuristic not in (RLGO, BOTH):
            raise RlgoError("first: expected the heuristic rlgo, or both, whose value function it learns")
        shared = workers > 1 and not root_parallel
        self.settings = settings._replace(
            max_moves=check_max_moves(settings.max_moves, size),
            heuristic=heuristic,
            prior_n=settings.prior_n if heuristic not in (NO_HEURISTIC, USER) else 0,
            virtual_loss=max(1, settings.virtual_loss) if shared else 0,
        )
        knows = self.settings.heuristic in (RLGO, BOTH) or default.kind == LEARNED or settings.truncate != NEVER
        if not knows or first is not None:
            weights = None
        elif weights is None or weights.features.size != size:
            raise RlgoError(f"{name}: expected weights for {size}x{size}")
        policy = Policy(EPSILON_GREEDY, epsilon)
        self._knowledge = knowledge_of(weights, size, policy, settings.rave_bias)
        n_trees = workers if root_parallel else 1
        trees = [_new_tree(size, self.settings, memory_mb / n_trees) for _ in range(n_trees)]
        sequence = seed_sequence(seed)
        self._order = np.random.default_rng(sequence)
        self._team = Team(size, workers, trees, batch, sequence)
        self._board = new_board(size)  # the root's
        self._last = PASS  # the move that led to it
        self._before: tuple[Any, ...] | None = None  # what led to the root: moves, who plays, setup and komi
        self._bias_seen = np.zeros((2, KINDS))  # what `rave.observe_bias` adds up
        self._stands_on: tuple[int, ...] = ()  # the position that the roots are
        self._weights = weights
        self.found: Found | None = None
        self._maps: dict[str, np.ndarray] = {}
        self.new_game()

    # --- the player ---

    def new_game(self) -> None:
        self._before = None
        self._stands_on = ()
        self.found = None
        self._bias_seen[:] = 0
        self._knowledge.bias[:] = self.settings.rave_bias
        self._blank()
        if self._first is not None:
            self._first.new_game()

    def genmove(self, game: Game) -> int:
        found = self.search(game)
        if not len(found.moves):
            return PASS
        self._draw(found, game.size)
        return RESIGN if won_by(game.to_play, float(found.q[0])) < self.resign else int(found.moves[0])

    def ponder(self, game: Game, stop: Callable[[], bool]) -> None:
        found = self.search(game, stop, endless=True)
        if len(found.moves):
            self._draw(found, game.size)

    def candidates(self, game: Game) -> list[Candidate]:
        if self._stands_on != position_of(game):
            return [] if moves_to_try(game) else [Candidate(PASS, game.outcome, 1, [PASS])]
        found = self._look(0)
        prior = found.prior if self.settings.heuristic != NO_HEURISTIC else np.full(len(found.moves), np.nan)
        lines = [found.line.tolist(), *([int(p)] for p in found.moves[1:])]
        columns = zip(found.moves, found.q, found.visits, lines, prior, strict=True)
        return [Candidate(int(p), float(q), int(n), line, float(h)) for p, q, n, line, h in columns if n > 0]

    def value_weights(self) -> Weights | None:
        return self._weights

    def warm_up(self) -> None:
        """Compile what a search needs, so that no clock runs meanwhile."""
        with compiling(f"tree search, {self._board.board_size}x{self._board.board_size}"):
            for tree in self._team.trees:
                add_root(np.zeros(1, np.int64), tree)
            self._run(0, 0.0)
            keep_subtree(0, self._team.trees[0])
            find_edge(0, PASS, self._team.trees[0])
            if self.settings.learn_bias:
                self._observe_bias()
                self._bias_seen[:] = 0
        self._before = None
        if self._first is not None:
            self._first.warm_up()

    def analyses(self) -> dict[str, np.ndarray]:
        """Maps by move: ``value`` Q, ``amaf`` Q~, both P(Black wins); ``visits``, the share of them; ``prior`` H."""
        return self._maps

    def report(self) -> list[str]:
        if self.found is None:
            return []
        line = " ".join(to_vertex(int(p), self._board.board_size) for p in self.found.line[:10])
        n = self.found.simulations
        return [f"Black won {self._team.wins / max(n, 1):.1%} of {n:,} simulations; {self.found.nodes:,} nodes; {line}"]

    # --- the search ---

    def search(self, game: Game, stop: Callable[[], bool] | None = None, endless: bool = False) -> Found:
        """Search from the position of `game` until the budget is spent, or `stop` (or `Player.stop`) says so.

        It ends early where the most visited move cannot be caught any more; by simulations that are left, or, to save
        time that a clock gives, by how many the time that is left will allow. Nothing is searched where the player
        should pass (`player.moves_to_try`).

        endless : there is no budget
        """
        check_size(self, game)
        stop = stop or self.stop
        moves = np.array(moves_to_try(game), np.int64)
        self._team.clear()
        self._stands_on = ()
        if not len(moves):
            self._before = self.found = None
            self._blank()
            nothing, numbers = np.zeros(0, np.int64), np.zeros(0)
            return Found(nothing, nothing, numbers, numbers, nothing, numbers, np.array([PASS]), 0, 0)
        if may_pass(len(moves), game.size):
            moves = np.append(moves, PASS)
        self.warm_up() if self._before is None else None
        start = time.perf_counter()
        seconds = None if endless else shorter(self.seconds, self.limit)

        if self._first is not None:
            self._first.limit = None if endless or self.limit is None else self.limit / 2
            self._first.search(game, self._first.own_budget(stop))
            table = self._first.fused_table()
            self._knowledge = self._knowledge._replace(table=table, value=self._first.learning.value)
        self._stand_on(game, moves)
        self._stands_on = position_of(game)
        began = time.perf_counter()

        def goes_on() -> bool:
            if stop():
                return False
            now = time.perf_counter()
            if seconds is None or now - start >= seconds:
                return seconds is None
            to_come = self._team.simulations * (start + seconds - now) / max(now - began, 1e-3)
            return self.limit is None or not self._is_decided(int(to_come))

        if endless:
            done = self._run(MOST_VISITS, game.komi, goes_on)
        else:
            done = self._run(self.simulations or MOST_VISITS, game.komi, goes_on, self._is_decided)
        self._before = (game.moves.copy(), game.to_play, game.setup.copy(), game.komi)
        if self.settings.learn_bias:
            self._observe_bias()
            self._knowledge.bias[:] = learned_bias(self._bias_seen[0], self._bias_seen[1], self.settings.rave_bias)
        self.found = self._look(done)
        return self.found

    def _observe_bias(self) -> None:
        for tree in self.trees:
            observe_bias(tree, self._last, self._board.stride, self.settings, self._bias_seen[0], self._bias_seen[1])

    @property
    def trees(self) -> list[Tree]:
        """The tree of the last search, or each thread's."""
        return self._team.trees

    @property
    def wins(self) -> float:
        """The sum of z over the last search's simulations."""
        return self._team.wins

    def _stand_on(self, game: Game, moves: np.ndarray) -> None:
        """Make the position of `game` the root: what a tree has below it, or a new tree."""
        copy_record(game.board, self._board)
        if self._board.n_passes >= 2:
            self._board.n_passes = 0  # who asks for a move means the game to go on
        self._last = game.moves[-1][1] if game.moves else PASS
        roots = [self._root_for(game, tree) if self.reuse else NO_CHILD for tree in self.trees]
        self._before = None  # until the search is over: whatever ends it early, no later one stands on half of it
        for root, tree in zip(roots, self.trees, strict=True):
            if root != NO_CHILD and self.settings.value != FLAT:
                keep_subtree(root, tree)
                known = edges_of(tree, 0).move
                if np.isin(moves, known).all():
                    if len(known) > len(moves):  # superko forbids what simulations may play
                        keep_moves(tree, 0, np.isin(known, moves))
                    continue
            self._order.shuffle(moves)
            add_root(moves, tree)
            self._ask_for_root(tree)

    def _root_for(self, game: Game, tree: Tree) -> int:
        """The node of the position of `game`, if it has come about by moves in the tree."""
        if self._before is None or self._before[2:] != (game.setup, game.komi):
            return NO_CHILD
        before, color = self._before[:2]
        if game.moves[: len(before)] != before:
            return NO_CHILD
        node = 0
        for player, p in game.moves[len(before) :]:
            e = int(find_edge(node, p, tree)) if player == color else -1
            node = int(tree.child[e]) if e >= 0 else NO_CHILD
            if node == NO_CHILD:
                return NO_CHILD
            color = 3 - color
        return node if color == game.to_play else NO_CHILD

    def _run(
        self,
        n: int,
        komi: float,
        goes_on: Callable[[], bool] = lambda: True,
        is_decided: Callable[[int], bool] = lambda left: False,
    ) -> int:
        mercy = self.default.mercy and not is_hopeless(self._board, komi)
        default = self.default._replace(mercy=mercy)
        search = (
            self._board,
            self._last,
            self.settings,
            default,
            make_rules(int(self._board.board_size), komi),
            self._knowledge,
        )
        return self._team.run(n, goes_on, is_decided, self._ask, *search)

    def _is_decided(self, left: int) -> bool:
        """Whether the most visited move stays so, whatever the simulations that are left do."""
        if self.settings.value == FLAT:
            return False
        n = np.sort(self._team.root().n)
        expected = self.settings.virtual_loss * len(self._team.workers)  # that threads under way may not have made
        return len(n) > 1 and int(n[-1]) - int(n[-2]) > left + expected

    # --- priors ---

    def _ask_for_root(self, tree: Tree) -> None:
        """The prior of a new root, as of any other new node."""
        worker = self._team.workers[0]
        if self.settings.heuristic == USER:
            worker.leaves[0], worker.leaf_nodes[0], worker.tally.waiting = self._board, 0, 1
            self._ask(worker, tree)
        elif self.settings.heuristic != NO_HEURISTIC:
            add_prior(
                0, NO_CHILD, self._board, self.settings, self._knowledge, self.default, mogo_patterns(), tree,
                worker.sh, worker.r,
            )  # fmt: skip

    def _ask(self, worker: Worker, tree: Tree) -> None:
        """Ask the user's prior for the nodes that wait, and add what it says to their statistics."""
        if not worker.tally.waiting:
            return
        assert self._priors is not None
        nodes = [int(node) for node in worker.leaf_nodes[: worker.tally.waiting]]
        boards = [worker.leaves[i] for i in range(len(nodes))]
        moves = [edges_of(tree, node).move for node in nodes]
        told = self._priors(boards, moves)
        if not isinstance(told, Sequence) or len(told) != len(nodes):
            raise RlgoError(f"priors: expected a list of {len(nodes)} triples (H, C, C~), one for each board")
        for node, board, here, one in zip(nodes, boards, moves, told, strict=True):
            h, c, c_amaf = self._checked(one, here)
            first = int(tree.first[node])
            for i in range(len(here)):
                tree.mc[first + i] += statistic(c[i], c[i] * h[i])
                tree.amaf[first + i] += statistic(c_amaf[i], c_amaf[i] * h[i])
            tree.prior[first : first + len(here)] = np.rint(255 * h)
            tree.n[node] += int(c.sum())
            if self.settings.widening > 0:
                sort_by_prior(node, board.to_play, tree)
        worker.tally.waiting = 0

    def _checked(self, told: Any, moves: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What a user's prior says of one position: H, and C and C~ as whole visits, one for each move."""
        if not isinstance(told, Sequence) or len(told) != 3:
            raise RlgoError("prior: expected three things, (H, C, C~)")
        columns = []
        for name, values, high in zip(("H", "C", "C~"), told, (1, MOST_PRIOR, MOST_PRIOR), strict=True):
            if np.shape(values) not in ((), moves.shape):
                raise RlgoError(
                    f"prior: {name} has shape {np.shape(values)}: expected {moves.shape}, one for each move"
                )
            column = np.broadcast_to(np.asarray(values, np.float64), moves.shape)
            wrong = np.flatnonzero(~((column >= 0) & (column <= high)))
            if len(wrong):
                vertex = to_vertex(int(moves[wrong[0]]), self._board.board_size)
                raise RlgoError(f"prior: {name} of {vertex} = {column[wrong[0]]}: expected 0 to {high:g}")
            columns.append(column)
        return columns[0], np.rint(columns[1]), np.rint(columns[2])

    # --- what was found ---

    def _look(self, done: int) -> Found:
        root = self._team.root()
        c = self.settings.prior_n * len(self.trees)
        with np.errstate(invalid="ignore", divide="ignore"):
            q, q_amaf = root.w / root.n, root.w_amaf / root.n_amaf
        if self.settings.value == FLAT:  # visits may be all the same
            order = np.argsort(np.nan_to_num(-q if self._board.to_play == BLACK else q, nan=1.0), kind="stable")
        else:
            order = np.lexsort((-root.n_amaf, -root.n))
        moves = root.move[order]
        nodes = sum(nodes_in(tree) for tree in self.trees)
        return Found(
            moves, root.n[order] - c, q[order], q_amaf[order], root.n_amaf[order], root.prior[order],
            self._line(moves), done, nodes,
        )  # fmt: skip

    def _line(self, moves: np.ndarray) -> np.ndarray:
        """The principal variation: the best move, then the most visited ones of the (first) tree."""
        tree, line = self.trees[0], [int(moves[0])]
        e = int(find_edge(0, line[0], tree))
        while e >= 0 and tree.child[e] != NO_CHILD:
            node = int(tree.child[e])
            edges = edges_of(tree, node)
            best = int(np.argmax(edges.n))
            if edges.n[best] <= self.settings.prior_n:
                break
            line.append(int(edges.move[best]))
            e = int(tree.first[node]) + best
        return np.array(line, np.int64)

    def _blank(self) -> None:
        names = ("value", "visits", "amaf", "prior")
        self._maps = {name: np.full((self._board.board_size,) * 2, np.nan) for name in names}

    def _draw(self, found: Found, size: int) -> None:
        self._blank()
        total = max(1, int(found.visits.sum()))
        columns = zip(found.moves, found.q, found.visits / total, found.q_amaf, found.prior, strict=True)
        for p, *numbers in columns:
            if p != PASS:
                for values, number in zip(self._maps.values(), numbers, strict=True):
                    values[to_row_col(int(p), size)] = number


def _new_tree(size: int, settings: Settings, memory_mb: float) -> Tree:
    """A tree that takes so much memory when it is full; of flat Monte-Carlo, the root alone."""
    most = size * size + 1
    one = new_tree(1, 1)
    per_node = sum(array.itemsize for array in one[:3])
    per_edge = sum(array.itemsize for array in one[3:8])
    edges = max(most, int(memory_mb * 1e6 / (per_edge + per_node / _MOVES_PER_NODE)))
    return new_tree(1, most) if settings.value == FLAT else new_tree(1 + edges // _MOVES_PER_NODE, edges)


def _check(
    settings: Settings, simulations: int | None, seconds: float | None, memory_mb: float, resign: float, batch: int,
    workers: int, epsilon: float,
) -> None:  # fmt: skip
    """RlgoError for a setting out of range."""
    if simulations is None and seconds is None:
        raise RlgoError("expected a number of simulations (sims), or seconds, or both")
    s = settings
    checks = [
        (simulations is None or simulations >= 1, "simulations", simulations, "an integer of at least 1"),
        (seconds is None or seconds > 0, "seconds", seconds, "a positive number"),
        (s.c >= 0, "c", s.c, "a number of at least 0"),
        (s.rave_k > 0, "rave_k", s.rave_k, "a positive number"),
        (s.rave_bias >= 0, "rave_bias", s.rave_bias, "a number of at least 0"),
        (s.expand_after >= 1, "expand_after", s.expand_after, "an integer of at least 1"),
        (0 <= s.prior_n <= MOST_PRIOR, "prior_n", s.prior_n, f"an integer from 0 to {MOST_PRIOR:,}"),
        (0 <= s.prior_n_amaf <= MOST_PRIOR, "prior_n_amaf", s.prior_n_amaf, f"an integer from 0 to {MOST_PRIOR:,}"),
        (s.progressive_bias >= 0, "progressive_bias", s.progressive_bias, "a number of at least 0"),
        (s.widening == 0 or s.widening > 1, "widening", s.widening, "0, or a number above 1"),
        (s.temperature >= 0, "temperature", s.temperature, "a number of at least 0"),
        (s.pruning >= 0, "pruning", s.pruning, "a number of at least 0"),
        (s.truncate >= NEVER, "truncate", s.truncate, "a number of plies, or -1 for never"),
        (s.virtual_loss >= 0, "virtual_loss", s.virtual_loss, "an integer of at least 0"),
        (memory_mb > 0, "memory_mb", memory_mb, "a positive number"),
        (0 <= resign < 1, "resign", resign, "a number from 0 to 1"),
        (batch >= 1, "batch", batch, "an integer of at least 1"),
        (workers >= 1, "workers", workers, "an integer of at least 1"),
        (0 <= epsilon <= 1, "epsilon", epsilon, "a number from 0 to 1"),
    ]
    for holds, name, value, expected in checks:
        if not holds:
            raise RlgoError(f"{name} = {value}: expected {expected}")
