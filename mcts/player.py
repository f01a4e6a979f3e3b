"""One player for the whole tree-search family.

Start reading at `TreeSearch.search`. One class plays all algorithms; `settings.ALGORITHMS` lists their
settings. Its parts are the root and the reuse of the old tree (`root.py`), the threads (`parallel.py`), the batches of
an evaluator (`batches.py`) and the result (`result.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from mcts.evaluator import Evaluator, LearnedEvaluator
from mcts.heuristic import knowledge_of, prior_apart
from mcts.parallel import SearchThreads, Task
from mcts.puct import draw_by_visits, pruned_visits, with_noise
from mcts.result import TreeResult, empty_maps, no_result, read_result, result_maps
from mcts.root import Root
from mcts.search import SearchContext, simulate
from mcts.settings import (
    ALGORITHMS,
    LEARNED_PATTERNS,
    LEARNED_VALUES,
    NO_TRUNCATION,
    ActionValue,
    Heuristic,
    PuctRule,
    Resources,
    Settings,
    Use,
)
from mcts.statistics import tree_statistics, write_values
from mcts.tree import (
    MOST_VISITS,
    PRIOR_UNITS,
    Tree,
    add_root,
    edge_arrays,
    edges_in,
    may_pass,
    new_tree,
    node_arrays,
    nodes_in,
    tree_kernels,
)
from rlgo.base.bounds import One, OrNone
from rlgo.base.budget import Budget, check_budget, never
from rlgo.base.errors import RlgoError, shown
from rlgo.base.ram import announce
from rlgo.base.settings import DEFAULT_SIZE, EPSILON_GREEDY, PROBABILITY, Policy, board_size
from rlgo.base.softmax import softmax
from rlgo.compiler.jit import address_of, compile_together, compiling, interpreted, seed_sequence
from rlgo.features.shapes import Table, with_others
from rlgo.features.weights import Weights
from rlgo.go.board import BLACK, PASS
from rlgo.go.coords import to_vertex
from rlgo.go.game import Game
from rlgo.go.positions import Positions, places_of
from rlgo.go.rules import check_max_moves, make_rules
from rlgo.moves.patterns import Patterns
from rlgo.moves.rollout import LEARNED, DefaultPolicy, is_hopeless
from rlgo.network.network import ConvNetwork
from rlgo.play.player import RESIGN, Candidate, Player, SearchStatistics, Seed, check_size, moves_to_try, won_by
from rlgo.search.td_search import TdSearch

# A low estimate, used to size the tree: nodes late in a game have 5 to 10 edges. (A node takes 17 bytes, an edge 24.)
_EDGES_PER_NODE = 8
_NEARLY_FULL = 0.5  # from here on, `tree.visits_to_expand` saves room
_AT_ONCE = 16  # simulations if no clock time is left: a full slice on 13x13 takes 9 ms, a lot at a second per game


class TreeSearch(Player):
    """A player that chooses its moves by Monte-Carlo tree search.

    Parameters
    ----------
    size : board size
    settings : the algorithm and its parameters: an entry of `ALGORITHMS`, or one changed by ``_replace``
    simulations, seconds : the budget of a move. The search ends at the first limit it reaches, or at `Player.limit`.
    resources : threads and memory
    default_policy : how simulations continue beyond the tree
    epsilon : probability of a uniformly random move in the default policy LEARNED
    weights : the value function of Q_rlgo: for the heuristics RLGO, BOTH and RLGO_PATTERNS, the default policy LEARNED,
        truncation, and values of leaves
    patterns : learned patterns: for the heuristics PATTERNS and RLGO_PATTERNS
    evaluator : policies and values of positions, such as a neural network's: a function as described at `Evaluator`, or
        a `LearnedEvaluator`, or a `rlgo.ConvNetwork`, which are compiled into the search. It is called for the root,
        and for new nodes, which wait until there are ``resources.batch`` of them. ``settings.evaluator`` tells which of
        its answers are used: a policy in place of ``settings.heuristic``, with the confidences `prior_n` (C) and
        `prior_n_amaf` (C~) and as the policy of PUCT; a value with the share `leaf_value`, or as everything that is
        backed up, with ``playouts=False``
    prior_search : a TD search that runs before each search and whose short-term memory provides Q_rlgo (two-phase
        search)
    resign : resign if P(win) of the best move is below this
    seed : seed of all random numbers; None draws a fresh one each time
    name : the name shown in GTP and in tables

    Attributes
    ----------
    result : the `TreeResult` of the last search, or None
    evaluation : whatever else the evaluator said about the root, by name, such as ``ownership``; of a
        `rlgo.ConvNetwork`, its answer with ``policy``, the probabilities of legal moves
    settings, simulations, seconds, resources, default_policy, epsilon, prior_search, resign : as above. The settings
        are complete: for instance, `max_moves` is a number of plies, and not 0.
    root, threads, knowledge : what the search works with: `Root`, `SearchThreads` and `heuristic.Knowledge`

    Raises
    ------
    RlgoError : if a setting is out of range; in a search, if the evaluator fails, or its answer is wrong

    Examples
    --------
    >>> import mcts, rlgo
    >>> player = mcts.TreeSearch(5, mcts.ALGORITHMS["mc_rave"], simulations=5000, seed=1)
    >>> rlgo.to_vertex(player.genmove(rlgo.Game(5)), 5)
    'C3'

    A policy of your own. This one avoids the edge, and its H counts for 30 simulations as an AMAF value:

    >>> import numpy as np
    >>> def avoid_the_edge(positions):
    ...     inside = np.zeros((5, 5))
    ...     inside[1:4, 1:4] = 1.0
    ...     logits = np.append(inside, -1.0)  # the pass comes last
    ...     return {"logits": np.tile(logits, (len(positions), 1))}
    >>> settings = mcts.ALGORITHMS["mc_rave"]._replace(prior_n_amaf=30)
    >>> result = mcts.TreeSearch(5, settings, 500, evaluator=avoid_the_edge, seed=1).search(rlgo.Game(5))
    >>> rlgo.to_vertex(result.moves[0], 5), round(float(result.prior_q[0]), 2)
    ('C4', 0.45)
    """

    def __init__(
        self,
        size: int = DEFAULT_SIZE,
        settings: Settings = ALGORITHMS["mc_rave"],
        simulations: int | None = 3_000,
        seconds: float | None = None,
        *,
        resources: Resources = Resources(),
        default_policy: DefaultPolicy = DefaultPolicy(),
        epsilon: float = 0.1,
        weights: Weights | None = None,
        patterns: Patterns | None = None,
        evaluator: Evaluator | Callable[..., Any] | None = None,
        prior_search: TdSearch | None = None,
        resign: float = 0.0,
        seed: Seed = None,
        name: str = "mc_rave",
    ):
        size = board_size(size)
        self.simulations, self.seconds = check_budget(simulations, seconds)
        self.resources = One(Resources).check("resources", resources)
        self.default_policy = One(DefaultPolicy).check("default_policy", default_policy)
        self.resign, self.epsilon = PROBABILITY.check("resign", resign), PROBABILITY.check("epsilon", epsilon)
        self.name, self.sizes, self._size = name, (size,), size
        self.prior_search = OrNone(One(TdSearch)).check("prior_search", prior_search)
        settings = One(Settings).check("settings", settings)
        _check_evaluator(evaluator, settings)
        if isinstance(evaluator, LearnedEvaluator):  # simulations evaluate by it themselves
            settings = _with_learned(settings, evaluator)
            weights, patterns, evaluator = evaluator.weights or weights, evaluator.patterns or patterns, None
        self._network = evaluator if isinstance(evaluator, ConvNetwork) else None
        network = None
        if isinstance(evaluator, ConvNetwork):
            settings, network, evaluator = _with_network(settings), evaluator.layers, None
        shares_tree = resources.workers > 1 and not resources.root_parallel
        self.settings = _complete(settings, size, evaluator is not None, shares_tree)
        if prior_search is not None:
            self._fit_prior_search(prior_search)
        self._weights = self._needed(weights, network is not None)
        self._patterns = self._needed_patterns(patterns)
        policy = Policy(EPSILON_GREEDY, self.epsilon) if self.default_policy.kind == LEARNED else None
        self.knowledge = knowledge_of(self._weights, self._patterns, size, policy, network)

        n_trees = resources.workers if resources.root_parallel else 1
        if settings.action_value != ActionValue.FLAT:
            announce(f"memory_mb = {resources.memory_mb:g}", resources.memory_mb * 1e6)
        trees = [_new_tree(size, self.settings, resources.memory_mb / n_trees) for _ in range(n_trees)]
        sequence = seed_sequence(seed)
        self.root = Root(size, trees, self.settings, resources.reuse, np.random.default_rng(sequence))
        if prior_search is not None:
            self._room = prior_search.features.capacity
        else:
            self._room = 0 if self._weights is None else self._weights.features.capacity
        kinds = self._room, self._patterns is not None, network
        self.threads = SearchThreads(size, trees, resources, sequence, kinds, evaluator, self.settings)
        self._rng = np.random.default_rng(sequence.spawn(1)[0])  # of noise, and of moves that are drawn
        self._is_warm = False
        self._prior: int | None = None  # `SearchContext.prior`, once it is known
        self.new_game()

    def _fit_prior_search(self, prior_search: TdSearch) -> None:
        """Adapt the settings to a prior search. RlgoError if they cannot be combined."""
        if prior_search.sizes != self.sizes:
            raise RlgoError(f"prior_search: expected one for {self._size}x{self._size}")
        if self.settings.heuristic not in LEARNED_VALUES:
            raise RlgoError("prior_search: expected heuristic = rlgo, both or rlgo_patterns, whose values it learns")
        if prior_search.resign:
            raise RlgoError("prior_search: resign has no effect there; set it for the tree search")
        # Its values change from move to move, so a prior could not be removed again.
        self.settings = self.settings._replace(patterns_after=1, network_after=1)

    def _needed(self, weights: Weights | None, has_network: bool) -> Weights | None:
        """Return the weights if the settings need any; RlgoError if they are missing, or for another board size.

        A network that corrects V altogether needs no weights.
        """
        needs_value = self.settings.truncate != NO_TRUNCATION or self.default_policy.kind == LEARNED
        is_replaced = has_network and self.settings.network_value == 1
        if not self.settings.evaluator & Use.VALUE and not is_replaced:
            needs_value |= self.settings.leaf_value > 0 or not self.settings.playouts
        if self.prior_search is not None or not (needs_value or self.settings.heuristic in LEARNED_VALUES):
            return None
        if weights is None:
            raise RlgoError(f"{self.name}: expected weights for {self._size}x{self._size}")
        return One(Weights).check("weights", weights).for_board(self._size, self.name)

    def _needed_patterns(self, patterns: Patterns | None) -> Patterns | None:
        """Return the patterns if the settings need any; RlgoError if they are missing."""
        if not {self.settings.heuristic, self.settings.earlier_heuristic} & set(LEARNED_PATTERNS):
            return None
        if patterns is None:
            raise RlgoError(f"{self.name}: expected patterns")
        return One(Patterns).check("patterns", patterns)

    # --- the player ---

    def new_game(self) -> None:
        """Forget the trees and the last result."""
        self.root.forget()
        self.result: TreeResult | None = None
        self._searched: Positions | None = None  # the root, until somebody asks what the network says about it
        self._answer: Mapping[str, np.ndarray] = {}
        if self.prior_search is not None:
            self.prior_search.new_game()

    def genmove(self, game: Game) -> int:
        """Search, and return the most visited move, PASS or RESIGN."""
        resources, simulations = self.resources, self.simulations
        self.was_quick = resources.quick_simulations > 0 and (
            self._rng.random() < resources.quick_share or self._is_beyond(resources.quick_beyond)
        )
        if self.was_quick:
            self.simulations = min(resources.quick_simulations, simulations or MOST_VISITS)
        try:
            result = self.search(game)
        finally:
            self.simulations = simulations
        if not len(result.moves):
            return PASS
        if result.visits[0] > 0 and won_by(game.to_play, self.chance(float(result.q[0]), game)) < self.resign:
            return RESIGN
        move = self._choose(game, result)
        return move if self.prior_search is None else self.prior_search.explore(game, move)

    def _is_beyond(self, p: float) -> bool:
        """Return whether the last search valued either side above p."""
        return p < 1 and self.result is not None and abs(float(self.result.q[0]) - 0.5) > p - 0.5

    def _choose(self, game: Game, result: TreeResult) -> int:
        """Return the most visited move, or one that is drawn by visits."""
        s = self.settings
        is_drawn = s.move_temperature > 0 and not (s.temperature_plies and len(game.moves) >= s.temperature_plies)
        if not is_drawn or not result.visits.any():
            return int(result.moves[0])
        return int(result.moves[draw_by_visits(result.visits, s.move_temperature, self._rng)])

    def end_game(self, game: Game, outcome: float) -> None:
        """Let the prior search learn from the game; see `Player.end_game`."""
        if self.prior_search is not None:
            self.prior_search.end_game(game, outcome)

    def ponder(self, game: Game, stop: Callable[[], bool]) -> None:
        """Search until `stop`; the tree below the move that is played is kept for the next search."""
        self.search(game, Budget(stop=stop))

    def candidates(self, game: Game) -> list[Candidate]:
        """Return the moves visited so far, most visits first; it may be called during a search."""
        check_size(self, game)
        if not self.root.is_at(game):
            return [] if moves_to_try(game) else [Candidate(PASS, game.outcome, 1, [PASS])]
        result = self._read_result(0)
        prior, is_own = result.prior_q, self.settings.c_puct > 0 or game.to_play == BLACK
        if self.settings.heuristic == Heuristic.NONE:
            prior = np.full(len(result.moves), np.nan)
        lines = [result.line.tolist(), *([int(p)] for p in result.moves[1:])]
        columns = zip(result.moves, result.q, result.visits, lines, prior if is_own else 1.0 - prior, strict=True)
        return [Candidate(int(p), float(q), int(n), line, float(h)) for p, q, n, line, h in columns if n > 0]

    def policy_target(self, game: Game) -> dict[int, int]:
        """Return what a policy should learn from the last search; without visits that only noise explains."""
        visits, s = super().policy_target(game), self.settings
        is_plain = s.puct_rule == PuctRule.ALPHAGO and s.action_value == ActionValue.MC and not s.prior_n
        if not visits or not self._has_noise() or not is_plain:
            return visits
        result = self._read_result(0)
        q = result.q if self.root.board.to_play == BLACK else 1.0 - result.q
        pruned = pruned_visits(result.visits, q, result.prior_q, s.c_puct)
        return {move: n for move, n in zip(result.moves.tolist(), pruned.tolist(), strict=True) if move in visits}

    def statistics(self, game: Game) -> SearchStatistics | None:
        """Return the statistics of the root's moves; it may be called during a search. See `statistics.py`."""
        if not self.root.is_at(game):
            return super().statistics(game)
        found = tree_statistics(self._read_result(self.threads.simulations), self.threads, self.settings)
        answer = self.evaluation
        if self._network is None or not answer:
            return found
        policy = answer["policy"][places_of(np.array(found.moves), self._size)]
        return found._replace(columns={**found.columns, "policy": policy})

    def value_weights(self) -> Weights | None:
        """Return the weights that the search needs, if any."""
        return self._weights

    def warm_up(self) -> None:
        """Compile what a search needs, so that compiling costs no clock time; the trees are lost.

        A second process, if there is one, may still compile what only the next search needs.
        """
        knows = with_others(self._room) + " with patterns" * (self._patterns is not None)
        knows += " with a network" * (self.knowledge.network is not None)
        knows += " with a softmax policy" * (self.default_policy.softmax is not None)
        knows += " with a learned policy" * (self.default_policy.kind == LEARNED)
        if self.prior_search is not None:  # first, since its values may include liberties
            self.prior_search.warm_up()
            self._take_values(self.prior_search.value_weights().table(is_fused=True))
        with compiling(f"tree search, {self._size}x{self._size}{knows}"):
            self._compile()
            for tree in self.trees:
                add_root(np.zeros(1, np.int64), tree)
            self.threads.run(0, self._task(0.0))
            if self.threads.batches is not None:
                self.threads.batches.warm_up(self._size)
            self._read_result(0)
        self.root.forget()
        self._is_warm = True

    def _compile(self) -> None:
        """Compile simulations and prior knowledge, each of which takes half of the time, side by side."""
        board, tree, workspace = self.root.board, self.trees[0], self.threads.workspaces[0]
        context = self._constants(self.default_policy)
        first, later = tree_kernels(tree)
        compile_together(
            (simulate, np.zeros(1, np.int64), board, self.root.last_moves, tree, context, workspace),
            *first,
            (is_hopeless, board, 0.0),
            (prior_apart, 0, 0, 1, (0, 0, 0), board, tree, context, workspace),
            later=[*later, (write_values, (np.zeros(1),) * 4, self.settings, np.zeros(1), np.zeros(1))],
        )

    def analyses(self) -> dict[str, np.ndarray]:
        """Return maps by move: ``value`` Q and ``amaf`` Q~, both P(Black wins), ``visits`` as shares, ``prior`` H.

        With PUCT, it is ``policy`` P in place of ``prior``. With a network of rlgo's own, that is the network's, and
        there is ``owner`` for each point, P(Black owns it at the end).
        """
        maps = empty_maps(self._size) if self.result is None else result_maps(self.result, self._size)
        if self.settings.c_puct > 0:
            maps["policy"] = maps.pop("prior")
        if self._network is not None and (answer := self.evaluation):
            maps |= {"policy": answer["policy"][:-1].reshape(self._size, -1), "owner": (1 + answer["ownership"]) / 2}
        return maps

    def searched(self) -> int:
        """Return the simulations of the last search."""
        return 0 if self.result is None else self.result.simulations

    @property
    def evaluation(self) -> Mapping[str, np.ndarray]:
        """What the evaluator said about the root of the last search, by name; see `TreeSearch`."""
        if self._network is not None:
            positions, self._searched = self._searched, None
            if positions is not None:
                answer = {name: array[0] for name, array in self._network(positions).items()}
                policy = softmax(np.where(positions.legal()[0], answer["logits"], -np.inf))
                self._answer = {**answer, "policy": policy}
            return self._answer
        return {} if self.threads.batches is None else self.threads.batches.root_answers

    def report(self) -> list[str]:
        """Return a line about the last search: its outcomes, the size of the tree and the principal variation."""
        if self.result is None:
            return []
        line = " ".join(to_vertex(int(p), self._size) for p in self.result.line[:10])
        n = self.result.simulations
        full = max(max(edges_in(tree) / len(tree.move), nodes_in(tree) / len(tree.first_edge)) for tree in self.trees)
        nodes = f"{self.result.nodes:,} nodes" + (f", {full:.0%} of memory_mb" if full > _NEARLY_FULL else "")
        return [f"Black won {self.wins / max(n, 1):.1%} of {n:,} simulations; {nodes}; {line}"]

    @property
    def trees(self) -> list[Tree]:
        """The tree of the last search, or one for each thread."""
        return self.threads.trees

    @property
    def wins(self) -> float:
        """The sum of the outcomes z of the last search's simulations."""
        return self.threads.wins

    # --- the search ---

    def search(self, game: Game, budget: Budget | None = None) -> TreeResult:
        """Search from the position of `game` until the budget is spent.

        It also ends once no other move can become the most visited one: within the simulations that are left or, where
        saving time helps, within those that the remaining time allows. It does not search where the player should pass
        (`player.moves_to_try`).

        budget : by default `own_budget`
        """
        check_size(self, game)
        budget = OrNone(One(Budget)).check("budget", budget)
        self.threads.clear()
        self.root.leave()
        moves = moves_to_try(game)
        if not moves:
            self.root.forget()
            self.result = None
            return no_result()
        if not self._is_warm:
            self.warm_up()
        is_move = budget is None
        is_timed = is_move and self.limit is not None
        budget = budget or self.own_budget()
        if self.prior_search is not None:
            self._search_prior(self.prior_search, game, budget, is_move)
        if self._network is not None:
            self._searched = Positions.of(game, self._network.history)
        self.set_root(game, moves, budget.ends)
        began = budget.elapsed

        def is_over() -> bool:
            if budget.ends():
                return True
            seconds, n = budget.seconds_left(), self.threads.simulations
            if not is_timed or seconds is None or not n:
                return False
            to_come = n * seconds / max(budget.elapsed - began, 1e-3)
            return self.is_decided(int(to_come))

        task = self._task(game.komi)._replace(
            is_over=is_over, is_decided=self.is_decided, seconds_left=budget.seconds_left
        )
        most = MOST_VISITS if budget.seconds != 0 else _AT_ONCE
        left = budget.left()
        with self._noise():
            n = self.threads.run(most if left is None else min(left, most), task)
        budget.done += n
        self.root.finish(game)
        self.result = self._read_result(n)
        return self.result

    def set_root(self, game: Game, moves: list[int], is_over: Callable[[], bool] = never) -> None:
        """Make the position of `game` the root, keep what the trees know about it, and give a new root its prior.

        moves : the sensible moves there; a pass is added where it may be the best move (`tree.may_pass`)
        is_over : polled while an evaluator computes; True goes on without its answer
        """
        actions = [*moves, PASS] if interpreted(may_pass)(len(moves), game.size, self.settings.heuristic) else moves
        self.root.move_to(game, np.array(actions, np.int64))
        if self.threads.batches is not None:
            self.threads.batches.begin(game, self.root.board)
        self.threads.give_prior_to_roots(self._task(game.komi)._replace(is_over=is_over))

    def _has_noise(self) -> bool:
        return self.settings.noise > 0 and self.settings.c_puct > 0

    @contextmanager
    def _noise(self) -> Iterator[None]:
        """Add Dirichlet noise to PUCT's policy at the root, and remove it in the end: a later search may keep it."""
        s = self.settings
        if not self._has_noise():
            yield
            return
        own = [tree.prior_q[: tree.n_edges[0]].copy() for tree in self.trees]
        for tree, units in zip(self.trees, own, strict=True):
            if tree.prior_kind[0] not in (Heuristic.NONE, Heuristic.WAITING):
                noisy = with_noise(units / PRIOR_UNITS, s.noise, s.noise_alpha, self._rng)
                tree.prior_q[: len(units)] = np.rint(PRIOR_UNITS * np.minimum(noisy, 1.0))
        try:
            yield
        finally:
            for tree, units in zip(self.trees, own, strict=True):
                tree.prior_q[: len(units)] = units

    def simulate(self, game: Game, n: int) -> int:
        """Run n simulations from the root, which `set_root` set to `game`, and return how many there were.

        There are fewer than n if the tree can take no more visits.
        """
        return self.threads.run(n, self._task(game.komi))

    def is_decided(self, left: int) -> bool:
        """Whether the most visited move stays the most visited one, whatever the simulations that are left do."""
        if self.settings.action_value == ActionValue.FLAT or self.settings.move_temperature:
            return False
        n = np.sort(self.threads.root_edges().n)
        # Virtual losses of simulations that run or wait are visits that may never be made.
        under_way = self.settings.virtual_loss * self.threads.under_way()
        return len(n) > 1 and int(n[-1]) - int(n[-2]) > left + under_way

    def _task(self, komi: float) -> Task:
        """Return what the threads are to search."""
        return Task(self.root.board, self.root.last_moves, self.context(komi))

    def context(self, komi: float) -> SearchContext:
        """Return what is constant during a search; mercy is off where it would end simulations at the root."""
        mercy = self.default_policy.mercy and not is_hopeless(self.root.board, komi)
        context = self._constants(self.default_policy._replace(mercy=mercy), komi)
        if self._prior is None:
            board, tree, workspace = self.root.board, self.trees[0], self.threads.workspaces[0]
            self._prior = address_of(prior_apart, 0, 0, 1, (0, 0, 0), board, tree, context, workspace)
        return context._replace(prior=self._prior)

    def _constants(self, default_policy: DefaultPolicy, komi: float = 0.0) -> SearchContext:
        return SearchContext(self.settings, default_policy, self.knowledge, make_rules(self._size, komi), 0)

    def _search_prior(self, prior_search: TdSearch, game: Game, budget: Budget, is_move: bool) -> None:
        """Run the TD search, in at most half the time; its value function becomes Q_rlgo of the nodes that are new.

        is_move : whether a move of the game follows, rather than an analysis; see `TdSearch.acting_memory`
        """
        prior_search.limit = None if budget.seconds is None else budget.seconds / 2
        prior_search.search(game, prior_search.own_budget(budget.stop))
        self._take_values(prior_search.fused_table(prior_search.acting_memory(game) if is_move else None))

    def _take_values(self, table: Table) -> None:
        """Make the value function of the TD search Q_rlgo; the type of its table may be another one."""
        self._prior = None
        assert self.prior_search is not None
        self.knowledge = self.knowledge._replace(table=table, value=self.prior_search.learning.value, has_weights=True)

    def _read_result(self, simulations: int) -> TreeResult:
        """Return the result according to the trees' current statistics."""
        root = self.threads.root_edges()
        return read_result(root, self.trees, self.root.board.to_play, self.settings, simulations)


def _check_evaluator(evaluator: Any, settings: Settings) -> None:
    """Raise RlgoError for an evaluator that is none, or has no tree to be used in."""
    if evaluator is not None and not callable(evaluator):
        raise RlgoError(f"evaluator = {shown(evaluator)}: expected a function")
    if evaluator is not None and settings.action_value == ActionValue.FLAT:
        raise RlgoError("evaluator: cannot be combined with flat Monte-Carlo, which has no tree")


def _check_use(settings: Settings) -> None:
    """Raise RlgoError for an evaluator whose values nothing would use, without its policy."""
    if settings.playouts and not settings.leaf_value:
        raise RlgoError("evaluator: cannot be combined with leaf_value = 0, unless its policy is used")


def _with_learned(settings: Settings, evaluator: LearnedEvaluator) -> Settings:
    """Return the settings with the heuristic that is compiled from the same weights and patterns."""
    if not settings.evaluator & Use.POLICY:
        _check_use(settings)
        return settings
    if evaluator.patterns is None:
        return settings._replace(heuristic=Heuristic.RLGO)
    return settings._replace(heuristic=Heuristic.PATTERNS if evaluator.weights is None else Heuristic.RLGO_PATTERNS)


def _with_network(settings: Settings) -> Settings:
    """Return the settings for a network of ours: its policy as the heuristic, with Q_rlgo if that is part of it now."""
    if settings.evaluator != Use.BOTH:
        raise RlgoError("evaluator: cannot be combined with a network of rlgo's own; see network_value")
    before = settings.heuristic
    kind = Heuristic.RLGO_NETWORK if before in LEARNED_VALUES else Heuristic.NETWORK
    # The grandparent's values change, so that a prior from them could not be removed again.
    after = 1 if before == Heuristic.GRANDFATHER else settings.network_after
    return settings._replace(heuristic=kind, earlier_heuristic=before, network_after=after)


def _complete(settings: Settings, size: int, has_evaluator: bool, shares_tree: bool) -> Settings:
    """Check the settings, and adapt them to the board, to an evaluator, and to whether threads share the tree."""
    use = settings.evaluator if has_evaluator else int(Use.NOTHING)
    if has_evaluator and not use & Use.POLICY:
        _check_use(settings)
    if settings.playouts and not settings.leaf_value:
        use &= ~int(Use.VALUE)
    heuristic = int(Heuristic.EVALUATOR) if use & Use.POLICY else settings.heuristic
    if heuristic == Heuristic.EVALUATOR and not has_evaluator:
        raise RlgoError("heuristic = evaluator: expected an evaluator")
    waits = bool(use & Use.VALUE) and not settings.playouts
    return settings._replace(
        max_moves=check_max_moves(settings.max_moves, size),
        heuristic=heuristic,
        evaluator=use,
        prior_n=settings.prior_n if heuristic != Heuristic.NONE else 0,
        virtual_loss=max(1, settings.virtual_loss) if shares_tree or waits else 0,
    )


def _new_tree(size: int, settings: Settings, memory_mb: float) -> Tree:
    """Return a tree that takes this much memory when full; for flat Monte-Carlo, with room only for the root."""
    most = size * size + 1
    one = new_tree(1, 1)
    node_bytes = sum(array.itemsize for array in node_arrays(one))
    edge_bytes = sum(array.itemsize for array in edge_arrays(one))
    edges = max(most, int(memory_mb * 1e6 / (edge_bytes + node_bytes / _EDGES_PER_NODE)))
    if settings.action_value == ActionValue.FLAT:
        return new_tree(1, most)
    return new_tree(1 + edges // _EDGES_PER_NODE, edges)
