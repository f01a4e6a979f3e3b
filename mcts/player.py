"""One player for the whole tree-search family.

Start reading at `TreeSearch.search`. One class plays all algorithms; `settings.ALGORITHMS` lists what they are composed
of. It works with the root and the reuse of the old tree (`root.py`), the threads (`threads.py`), the batches of an
evaluator (`outside/batches.py`) and the result (`result.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from mcts.leaves import CorrectedValue, NetworkValue, OutsideValue
from mcts.outside.evaluator import Evaluator
from mcts.policies import Flat, Gumbel, Rave, has_amaf, has_policy
from mcts.policies.gumbel import plan_root, target_of, write_scores
from mcts.policies.puct import draw_by_visits, pruned_visits, with_noise
from mcts.policies.rave import write_values
from mcts.priors import Outside, Rlgo
from mcts.result import (
    TreeResult,
    empty_maps,
    no_result,
    principal_variations,
    read_result,
    result_maps,
    scores_of_leaves,
)
from mcts.root import Root
from mcts.search import simulate
from mcts.settings import (
    ALGORITHMS,
    Composition,
    Resources,
    Search,
    compose,
    needs,
    needs_weights,
    parts,
    with_evaluator,
    with_network,
)
from mcts.statistics import tree_statistics
from mcts.threads import SearchThreads, Task
from mcts.tree import (
    MOST_EDGES,
    MOST_VISITS,
    NO_PRIOR,
    PRIOR_UNITS,
    WAITING,
    Tree,
    add_root,
    add_scores,
    edge_arrays,
    edges_in,
    find_edge,
    may_pass,
    new_tree,
    node_arrays,
    nodes_in,
    tree_kernels,
)
from mcts.workspace import Context, Models
from rlgo.base.budget import Budget, check_budget, never
from rlgo.base.checks import check, validated
from rlgo.base.errors import RlgoError, shown
from rlgo.base.ram import announce
from rlgo.base.settings import DEFAULT_SIZE, LOGISTIC, VALUES, Probability, board_size
from rlgo.base.softmax import softmax
from rlgo.compiler.jit import compile_together, compiling, interpreted, seed_sequence
from rlgo.features.shapes import Table, with_others
from rlgo.features.weights import Weights
from rlgo.go.board import BLACK, PASS
from rlgo.go.coords import to_vertex
from rlgo.go.game import Game
from rlgo.go.positions import Positions, places_of
from rlgo.go.rules import make_rules, n_points
from rlgo.moves.patterns import Patterns
from rlgo.moves.rollout import DefaultPolicy, is_hopeless, step_rollout
from rlgo.network.conv_network import ConvNetwork
from rlgo.network.inference import evaluate_board
from rlgo.play.player import RESIGN, Candidate, Player, SearchStatistics, Seed, check_size, moves_to_try, won_by
from rlgo.search.td_search import TdSearch

_EDGES_PER_NODE = 8  # a low estimate, used to size the tree: nodes late in a game have 5 to 10 edges
_NEARLY_FULL = 0.5  # from here on, `tree.visits_to_expand` saves room
_LARGE_LOSS, _SURE_VISITS = 0.1, 1_000  # so large a loss is believed from so many visits on: docs/engine.md
_AT_ONCE = 16  # simulations if no clock time is left: a full slice on 13x13 takes 9 ms, a lot at a second per game


class TreeSearch(Player):
    """A player that chooses its moves by Monte-Carlo tree search.

    Parameters
    ----------
    size : board size
    settings : what the search is composed of: an entry of `ALGORITHMS`, or one changed by ``_replace``
    simulations, seconds : the budget of a move. The search ends at the first limit it reaches, or at `Player.limit`.
    resources : threads and memory
    default_policy : how simulations continue beyond the tree
    weights : the value function of `Rlgo`, `LearnedValue` and `CorrectedValue`, and of truncated playouts
    patterns : learned patterns, for `Patterns`
    evaluator : policies and values of positions, such as a neural network's: a function as described at `Evaluator`.
        It is called for the root, and for new nodes, which wait until there are ``resources.batch`` of them. Its policy
        is the prior, and its value that of leaves, if they have one (`settings.with_evaluator`), unless `settings` has
        an `Outside` or `OutsideValue` already, and says what of it is used. Or a `rlgo.ConvNetwork`, which is compiled
        into the search (`settings.with_network`)
    prior_search : a TD search that runs before each search and whose short-term memory is the value function of `Rlgo`
        (two-phase search)
    resign : resign if P(win) of the best move is below this
    seed : seed of all random numbers; None draws a fresh one each time
    name : the name shown in GTP and in tables; by default, that of the algorithm in `ALGORITHMS`

    Attributes
    ----------
    result : the `TreeResult` of the last search, or None
    evaluation : whatever else the evaluator said about the root, by name, such as ``ownership``; of a
        `rlgo.ConvNetwork`, its answer with ``policy``, the probabilities of legal moves
    settings, simulations, seconds, resources, default_policy, prior_search, resign : as above; the settings are those
        that the evaluator is part of
    composition : the settings as kernels take them
    root, threads, models : what the search works with: `Root`, `SearchThreads` and `workspace.Models`

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
    >>> settings = mcts.Search(mcts.Rave(prior_n_amaf=30))
    >>> result = mcts.TreeSearch(5, settings, 500, evaluator=avoid_the_edge, seed=1).search(rlgo.Game(5))
    >>> rlgo.to_vertex(result.moves[0], 5), round(float(result.prior[0]), 2)
    ('C4', 0.45)
    """

    def __init__(
        self,
        size: int = DEFAULT_SIZE,
        settings: Search = ALGORITHMS["mc_rave"],
        simulations: int | None = 3_000,
        seconds: float | None = None,
        *,
        resources: Resources = Resources(),
        default_policy: DefaultPolicy = DefaultPolicy(),
        weights: Weights | None = None,
        patterns: Patterns | None = None,
        evaluator: Evaluator | Callable[..., Any] | None = None,
        prior_search: TdSearch | None = None,
        resign: float = 0.0,
        seed: Seed = None,
        name: str = "",
    ):
        size = board_size(size)
        self.simulations, self.seconds = check_budget(simulations, seconds)
        self.resources = resources = check("resources", resources, Resources)
        self.default_policy = check("default_policy", default_policy, DefaultPolicy)
        self.resign = check("resign", resign, Probability)
        self.name = name or next(
            (known for known, one in ALGORITHMS.items() if repr(one) == repr(settings)), "tree search"
        )
        self.sizes, self._size = (size,), size
        self.prior_search = check("prior_search", prior_search, TdSearch | None)
        settings = _with(evaluator, check("settings", settings, Search))
        self._network = evaluator if isinstance(evaluator, ConvNetwork) else None
        if self._network is not None:
            evaluator = None
        if prior_search is not None:
            self._check_prior_search(prior_search, settings)
        self.settings = validated(settings)
        self.composition = compose(settings, size, resources.workers > 1 and not resources.root_parallel)
        self._weights = None if prior_search is not None else self._needed(weights, needs_weights(settings))
        self.models = self._learned(patterns)

        n_trees = resources.workers if resources.root_parallel else 1
        is_flat = isinstance(settings.policy, Flat)
        self._halves = isinstance(settings.policy, Gumbel)
        if self._halves:
            self._check_halving(resources)
        if not is_flat:
            announce(f"memory_mb = {resources.memory_mb:g}", resources.memory_mb * 1e6)
        has_score = self._network is not None
        trees = [_new_tree(size, self.composition, resources.memory_mb / n_trees, has_score) for _ in range(n_trees)]
        sequence = seed_sequence(seed)
        reuses = resources.reuse and not is_flat and not self._halves
        self.root = Root(size, trees, reuses, np.random.default_rng(sequence))
        self._capacity = None if self._weights is None else self._weights.features.capacity
        if prior_search is not None:
            self._capacity = prior_search.features.capacity
        self.threads = SearchThreads(
            size, trees, resources, sequence, self.composition, self.models, self._capacity, evaluator
        )
        self._rng = np.random.default_rng(sequence.spawn(1)[0])  # of noise, and of moves that are drawn
        self._is_warm = False
        self.new_game()

    def _check_halving(self, resources: Resources) -> None:
        """RlgoError if sequential halving at the root cannot be combined with the settings."""
        if self.simulations is None:
            raise RlgoError(f"{self.name}: expected a number of simulations, which Gumbel plans at the root")
        if resources.root_parallel:
            raise RlgoError("root_parallel cannot be combined with Gumbel, whose root is one")

    def _check_prior_search(self, prior_search: TdSearch, settings: Search) -> None:
        """RlgoError if a prior search cannot be combined with the settings."""
        if prior_search.sizes != self.sizes:
            raise RlgoError(f"prior_search: expected one for {self._size}x{self._size}")
        # Its values change from move to move.
        if len(settings.prior) != 1 or not any(isinstance(part, Rlgo) for part in parts(settings)):
            raise RlgoError("prior_search: expected one stage of prior knowledge, with Rlgo, whose values it learns")
        if prior_search.resign:
            raise RlgoError("prior_search: resign has no effect there; set it for the tree search")

    def _needed(self, weights: Weights | None, is_needed: bool) -> Weights | None:
        """Return the weights if they are needed; RlgoError if they are missing, or for another board size."""
        if not is_needed:
            return None
        if weights is None:
            raise RlgoError(f"{self.name}: expected weights for {self._size}x{self._size}")
        return check("weights", weights, Weights).for_board(self._size, self.name)

    def _learned(self, patterns: Patterns | None) -> Models:
        """Return what has been learned for the search; RlgoError for what is missing."""
        table, value, strengths = None, LOGISTIC, None
        if self._weights is not None:
            table, value = self._weights.table(is_fused=True), VALUES[self._weights.value]
        if needs(self.settings, "patterns"):
            if patterns is None:
                raise RlgoError(f"{self.name}: expected patterns")
            strengths = check("patterns", patterns, Patterns).strengths()
        if needs(self.settings, "network") and self._network is None:
            raise RlgoError(f"{self.name}: expected a network")
        return Models(table, value, strengths, None if self._network is None else self._network.layers)

    # --- the player ---

    def new_game(self) -> None:
        """Forget the trees and the last result."""
        self.root.forget()
        self.result: TreeResult | None = None
        self._searched: Game | None = None  # at the root, until somebody asks what the network says about it
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
        prior, is_own = result.prior, self._has_policy or game.to_play == BLACK
        if not self.settings.prior:
            prior = np.full(len(result.moves), np.nan)
        visited = np.flatnonzero(result.visits > 0)
        moves = result.moves[visited].tolist()
        columns = (result.q, result.visits, prior if is_own else 1.0 - prior)
        lines = principal_variations(self.trees[0], moves, self.composition.prior_n)
        return [
            Candidate(p, q, n, line, h, visits)
            for p, q, n, h, (line, visits) in zip(moves, *(c[visited].tolist() for c in columns), lines, strict=True)
        ]

    def scores(self, game: Game) -> tuple[float | None, dict[int, float]]:
        """Return Black's points, in the position and after each move: means of the network's score over leaves."""
        if self._network is None:
            return super().scores(game)
        if not self.root.is_at(game):  # no search is needed where a pass wins
            return (None, {}) if moves_to_try(game) else (game.score(), {PASS: game.score()})
        found, candidates = scores_of_leaves(self.trees, self.composition.prior_n), self.candidates(game)
        if not found or not candidates:
            return None, {}
        n, total = (sum(column) for column in zip(*found.values(), strict=True))
        known = [(c, *found[c.move]) for c in candidates if c.move in found]
        points = {c.move: self._points(below / k, c.value, game) for c, k, below in known}
        return self._points(total / n, candidates[0].value, game), points

    def _points(self, score: float, value: float, game: Game) -> float:
        """Return points that agree with the chance, as the calibration says."""
        if self.calibration is None:
            return score
        return self.calibration.points(score, self.chance(value, game), game.n_played, game.size)

    def compare(self, game: Game, move: int) -> list[Candidate]:
        """Search a position, and its `move` as much as the best one; return the candidates, the best first.

        Half of the budget goes to a search that chooses freely. Then `move` alone is searched, in the same tree, until
        it has as many visits as the best move. A difference that is large and rests on few visits varies much from
        search to search: then both moves are searched on, beyond the budget.
        """
        own, moves = self.own_budget(), moves_to_try(game)
        if not moves and move == PASS:
            return super().compare(game, move)
        half = Budget(own.simulations and (own.simulations + 1) // 2, own.seconds and own.seconds / 2, stop=own.stop)
        self.search(game, half, moves if move in moves else [*moves, move])
        if isinstance(self.settings.policy, Flat | Gumbel):
            return self.candidates(game)
        found = self.candidates(game)
        if not found:
            return found
        best, line, visits = found[0].move, found[0].line, {c.move: c.visits for c in found}
        self._search_alone(game, move, visits[best] - visits.get(move, 0), own.stop)
        while True:
            known = {c.move: c for c in self.candidates(game) if c.move in (best, move)}
            n, chances = min(c.visits for c in known.values()), [self.chance(c.value, game) for c in known.values()]
            more = min(n, _SURE_VISITS - n) if max(chances) - min(chances) >= _LARGE_LOSS else 0
            if not all(self._search_alone(game, p, more, own.stop) for p in (best, move)):
                first, *rest = sorted(self.candidates(game), key=lambda c: c.move != best)
                return [first._replace(line=line), *rest]

    def _search_alone(self, game: Game, move: int, n: int, stop: Callable[[], bool]) -> int:
        """Run n simulations that all begin with one move, and return how many there were.

        The root's edge for it comes first, and the others are hidden.
        """
        if n <= 0 or stop():
            return 0
        actions = [int(tree.n_edges[0]) for tree in self.trees]
        for tree in self.trees:
            i = [int(interpreted(find_edge)(0, move, tree)), 0]
            for array in edge_arrays(tree):
                array[i] = array[i[::-1]]
            tree.n_edges[0] = 1
        try:
            return self.threads.run(n, self._task(game.komi)._replace(is_over=stop))
        finally:
            for tree, k in zip(self.trees, actions, strict=True):
                tree.n_edges[0] = k

    def policy_target(self, game: Game) -> dict[int, int]:
        """Return what a policy should learn from the last search, move by move, without what only noise explains."""
        is_at_root = self.root.is_at(game)  # else it passed without a search
        if self.was_quick or not is_at_root or not (self._halves or self._noise_share):
            return super().policy_target(game)
        if self._halves:
            return target_of(self.settings.policy, self.root.board.to_play, self.trees[0])
        result = self._read_result(0)
        q = result.q if self.root.board.to_play == BLACK else 1.0 - result.q
        pruned = pruned_visits(result.visits, q, result.prior, self.settings.policy.c)
        return dict(zip(result.moves[result.visits > 0].tolist(), pruned[result.visits > 0].tolist(), strict=True))

    def statistics(self, game: Game) -> SearchStatistics | None:
        """Return the statistics of the root's moves; it may be called during a search. See `statistics.py`."""
        if not self.root.is_at(game):
            return super().statistics(game)
        found = tree_statistics(self._read_result(self.threads.simulations), self.threads, self.composition)
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
        knows = with_others(self._capacity or 0) + " with patterns" * (self.models.patterns is not None)
        knows += " with a network" * (self._network is not None)
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
        """Compile simulations, and what else the first searches call."""
        tree, workspace, numbers, board = self.trees[0], self.threads.workspaces[0], np.zeros(1), self.root.board
        rules = make_rules(self._size, 0.0)
        context = Context(self.composition, self.default_policy, self.models, rules)
        first, later = tree_kernels(tree)
        if self._network is not None:
            later = [*later, (add_scores, tree, 0, np.zeros(1, np.float32), np.zeros(1, np.int32), numbers, numbers)]
        inlined: list[Any] = []
        if self.models.network is not None:
            inlined = [(evaluate_board, board, 0, 0, rules.komi, self.models.network, workspace.network.scratch)]
        if isinstance(self.settings.policy, Rave):
            later = [*later, (write_values, self.settings.policy, (numbers,) * 4, numbers, numbers)]
        compile_together(
            (simulate, np.zeros(1, np.int64), board, self.root.last_moves, tree, context, workspace),
            *first,
            (is_hopeless, board, 0.0),
            inlined=[*inlined, (step_rollout, board, self.default_policy, workspace.rollout, rules, workspace.rng)],
            later=later,
        )

    def analyses(self) -> dict[str, np.ndarray]:
        """Return maps by move: ``value`` Q and ``amaf`` Q~, both P(Black wins), ``visits`` as shares, ``prior`` H.

        With PUCT, it is ``policy`` P in place of ``prior``. With a network of rlgo's own, that is the network's, and
        there is ``owner`` for each point, P(Black owns it at the end).
        """
        maps = empty_maps(self._size) if self.result is None else result_maps(self.result, self._size)
        if self._has_policy:
            maps["policy"] = maps.pop("prior")
        if self._network is not None and (answer := self.evaluation):
            ownership = (1 + answer["ownership"]) / 2
            maps |= {"policy": answer["policy"][:-1].reshape(self._size, -1), "ownership": ownership}
        return maps

    def searched(self) -> int:
        """Return the simulations of the last search."""
        return 0 if self.result is None else self.result.simulations

    @property
    def evaluation(self) -> Mapping[str, np.ndarray]:
        """What the evaluator said about the root of the last search, by name; see `TreeSearch`."""
        if self._network is not None:
            game, self._searched = self._searched, None
            if game is not None:
                positions = Positions.of(game, self._network.history)
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

    def search(self, game: Game, budget: Budget | None = None, moves: list[int] | None = None) -> TreeResult:
        """Search from the position of `game` until the budget is spent.

        It also ends once no other move can become the most visited one: within the simulations that are left or, where
        saving time helps, within those that the remaining time allows. It does not search where the player should pass
        (`player.moves_to_try`).

        budget : by default `own_budget`
        moves : the moves to search, by default those of `moves_to_try`
        """
        check_size(self, game)
        budget = check("budget", budget, Budget | None)
        self.threads.clear()
        self.root.leave()
        moves = moves_to_try(game) if moves is None else moves
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
            self._searched = game.copy()
        self.set_root(game, moves, budget.ends)
        if self._halves:
            actions, planned = int(self.trees[0].n_edges[0]), budget.left() or 0
            plan_root(self.settings.policy, self.threads.policy_scratch, actions, planned, self._rng)
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
        passes = PASS not in moves and (game.allowed is None or PASS in game.allowed)
        passes = passes and interpreted(may_pass)(len(moves), game.size, self.composition.passes)
        actions = [*moves, PASS] if passes else moves
        self.root.move_to(game, np.array(actions, np.int64))
        if self._halves:
            plan_root(self.settings.policy, self.threads.policy_scratch, len(actions), 0, self._rng)
        if self.threads.batches is not None:
            self.threads.batches.begin(game, self.root.board)
        self.threads.give_prior_to_roots(self._task(game.komi)._replace(is_over=is_over))

    @property
    def _has_policy(self) -> bool:
        """Whether the prior of actions is a policy, and not their values for Black."""
        return has_policy(self.settings.policy)

    @property
    def _noise_share(self) -> float:
        return float(getattr(self.settings.policy, "noise", 0.0))

    @contextmanager
    def _noise(self) -> Iterator[None]:
        """Add Dirichlet noise to PUCT's policy at the root, and remove it in the end: a later search may keep it."""
        share = self._noise_share
        if not share:
            yield
            return
        own = [tree.prior[: tree.n_edges[0]].copy() for tree in self.trees]
        for tree, units in zip(self.trees, own, strict=True):
            if tree.stage[0] not in (NO_PRIOR, WAITING):
                noisy = with_noise(units / PRIOR_UNITS, share, self.settings.policy.noise_alpha, self._rng)
                tree.prior[: len(units)] = np.rint(PRIOR_UNITS * np.minimum(noisy, 1.0))
        try:
            yield
        finally:
            for tree, units in zip(self.trees, own, strict=True):
                tree.prior[: len(units)] = units

    def simulate(self, game: Game, n: int) -> int:
        """Run n simulations from the root, which `set_root` set to `game`, and return how many there were.

        There are fewer than n if the tree can take no more visits.
        """
        return self.threads.run(n, self._task(game.komi))

    def is_decided(self, left: int) -> bool:
        """Whether the most visited move stays the most visited one, whatever the simulations that are left do."""
        if isinstance(self.settings.policy, Flat | Gumbel) or self.settings.move_temperature:
            return False
        n = np.sort(self.threads.root_edges()["n"])
        # Virtual losses of simulations that run or wait are visits that may never be made.
        under_way = self.composition.virtual_loss * self.threads.under_way()
        return len(n) > 1 and int(n[-1]) - int(n[-2]) > left + under_way

    def _task(self, komi: float) -> Task:
        """Return what the threads are to search."""
        return Task(self.root.board, self.root.last_moves, self.context(komi))

    def context(self, komi: float) -> Context:
        """Return what is constant during a search; mercy is off where it would end simulations at the root."""
        mercy = self.default_policy.mercy and not is_hopeless(self.root.board, komi)
        default_policy = self.default_policy._replace(mercy=mercy)
        return Context(self.composition, default_policy, self.models, make_rules(self._size, komi))

    def _search_prior(self, prior_search: TdSearch, game: Game, budget: Budget, is_move: bool) -> None:
        """Run the TD search, in at most half the time; its value function becomes Q_rlgo of the nodes that are new.

        is_move : whether a move of the game follows, rather than an analysis; see `TdSearch.acting_memory`
        """
        prior_search.limit = None if budget.seconds is None else budget.seconds / 2
        prior_search.search(game, prior_search.own_budget(budget.stop))
        self._take_values(prior_search.fused_table(prior_search.acting_memory(game) if is_move else None))

    def _take_values(self, table: Table) -> None:
        """Make the value function of the TD search Q_rlgo; the type of its table may be another one."""
        assert self.prior_search is not None
        self.models = self.models._replace(table=table, value=self.prior_search.learning.value)

    def _read_result(self, simulations: int) -> TreeResult:
        """Return the result according to the trees' current statistics."""
        root = self.threads.root_edges()
        color, scores = self.root.board.to_play, None
        if self._halves:
            scores = np.zeros(n_points(self._size))
            write_scores(self.settings.policy, color, self.trees[0], self.threads.policy_scratch, scores)
            scores = scores[: len(root)]
        return read_result(root, self.trees, color, self.composition, simulations, scores)


def _with(evaluator: Any, settings: Search) -> Search:
    """Return the settings that an evaluator is part of. RlgoError if there is none, or if it cannot be part of them."""
    uses_evaluator = any(isinstance(part, Outside | OutsideValue) for part in parts(settings))
    if evaluator is None:
        if uses_evaluator:
            raise RlgoError("settings: expected an evaluator")
        return settings
    if not callable(evaluator):
        raise RlgoError(f"evaluator = {shown(evaluator)}: expected a function")
    if isinstance(settings.policy, Flat):
        raise RlgoError("evaluator: cannot be combined with flat Monte-Carlo, which has no tree")
    if isinstance(evaluator, ConvNetwork):
        if uses_evaluator:
            raise RlgoError("evaluator: cannot be combined with a network of rlgo's own; see network_value")
        return with_network(settings)
    return settings if uses_evaluator else with_evaluator(settings)


def _new_tree(size: int, search: Composition, memory_mb: float, has_score: bool) -> Tree:
    """Return a tree that takes this much memory when full; for flat Monte-Carlo, with room only for the root."""
    most = size * size + 1
    kinds = NetworkValue | CorrectedValue | (OutsideValue if isinstance(search.policy, Gumbel) else NetworkValue)
    has_correction = isinstance(getattr(search.leaf, "value", None), kinds)
    statistics = has_amaf(search.policy), has_correction, has_score
    one = new_tree(1, 1, *statistics)
    node_bytes = sum(array.itemsize for array in node_arrays(one))
    edge_bytes = sum(array.itemsize for array in edge_arrays(one))
    edges = max(most, int(memory_mb * 1e6 / (edge_bytes + node_bytes / _EDGES_PER_NODE)))
    edges = min(edges, MOST_EDGES)
    if isinstance(search.policy, Flat):
        return new_tree(1, most, *statistics)
    return new_tree(1 + edges // _EDGES_PER_NODE, edges, *statistics)
