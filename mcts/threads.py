"""Parallel search: threads share one tree with virtual loss, or each grows its own and the roots are summed.

Start reading at `SearchThreads.run`. Chaslot, Winands & van den Herik 2008, "Parallel Monte-Carlo tree search", call
the two tree parallelisation and root parallelisation. The counts of a shared tree are kept exact by `tree.add`,
`workspace.take_action` and `search.back_up`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np

from mcts.outside.batches import Batches, new_counts
from mcts.policies import new_scratch
from mcts.priors.network import new_network_workspace
from mcts.priors.patterns import new_pattern_scratch
from mcts.search import FULL, NEEDS_ANSWERS, simulate
from mcts.settings import Composition, Resources
from mcts.tree import MOST_VISITS, Tree, edges_of
from mcts.workspace import Context, Models, new_workspace
from rlgo.base.budget import SLICE_SECONDS
from rlgo.base.threads import started

_SLICE = 256  # simulations: 5 to 10 ms on 9x9, up to 60 ms on 19x19
_FIRST_SLICE = 32  # if slices follow the speed, which is not known yet


class Task(NamedTuple):
    """A task for `SearchThreads.run`: what to search, and the callbacks it uses.

    Attributes
    ----------
    root, last_moves, context : as for `search.simulate`
    is_over : called about every 10 ms, or every 256 simulations if only their number is limited; True stops the search
    seconds_left : called between slices: the time left, or None if it is not limited. Slices are as long as that time,
        and at most `SLICE_SECONDS`, at the speed of the previous slice.
    is_decided : called with a number of simulations; True if that many more cannot change the move. If the search
        should be reproducible, the time of the call does not depend on a clock.
    """

    root: np.record
    last_moves: tuple[int, int]
    context: Context
    is_over: Callable[[], bool] = lambda: False
    seconds_left: Callable[[], float | None] = lambda: None
    is_decided: Callable[[int], bool] = lambda _: False


class SearchThreads:
    """The threads of a search with their workspaces, and the trees: one for all threads, or one each.

    A single thread is reproducible from its seed. So are several with a tree each, if the search is limited by
    simulations and not by time.

    Parameters
    ----------
    size : board size
    trees : one tree, or one for each thread
    resources : the number of threads, and the batches of the evaluator. A single thread is the caller's own.
    seed : a single thread draws from it directly, several from its children
    search, models : what the search is composed of, and what has been learned for it
    capacity : of the feature set of the weights (`FeatureSet.capacity`); None without weights
    evaluator : a user's evaluator, or None

    Attributes
    ----------
    workspaces : of the threads
    batches : what waits for the evaluator; None without one
    policy_scratch : of the tree policy, shared by the threads; see `policies.new_scratch`
    """

    def __init__(
        self,
        size: int,
        trees: list[Tree],
        resources: Resources,
        seed: np.random.SeedSequence,
        search: Composition,
        models: Models,
        capacity: int | None = None,
        evaluator: Any = None,
    ):
        self.trees, n = trees, resources.workers
        seeds = [seed] if n == 1 else seed.spawn(n)
        rings: list[Any] = [None] * n
        if evaluator is not None:
            one_tree = len(trees) == 1
            rings = (
                [new_counts(resources.batch, n)] * n if one_tree else [new_counts(resources.batch, 1) for _ in range(n)]
            )
        self.policy_scratch = new_scratch(search.policy, size)
        self.workspaces = [
            new_workspace(
                size,
                s,
                capacity,
                ring,
                None if models.patterns is None else new_pattern_scratch(size),
                None if models.network is None else new_network_workspace(size, models.network),
                self.policy_scratch,
            )
            for s, ring in zip(seeds, rings, strict=True)
        ]
        self.batches: Batches | None = None
        if evaluator is not None:
            self.batches = Batches(evaluator, self.workspaces, trees, search, resources.batch_ms)
        self._patience = resources.batch_ms / 1000
        self._executor = ThreadPoolExecutor(n) if n > 1 else None

    def run(self, n: int, task: Task) -> int:
        """Run up to n simulations and return how many there were.

        There are fewer if `task` ends the search, or if the tree can hold no more visits (`tree.MOST_VISITS`).
        """
        before = self.simulations
        if self._executor is None:
            self._run_slices(n, task)
        else:
            self._run_threads(n, task, self._executor)
        return self.simulations - before

    def _run_slices(self, n: int, task: Task) -> None:
        """Run in the caller's thread, one slice after another."""
        left = n
        # Slices that follow the speed depend on the machine: not allowed if the search is reproducible.
        follows_speed = n >= MOST_VISITS or task.seconds_left() is not None or self._patience > 0
        longest = min(SLICE_SECONDS, self._patience or SLICE_SECONDS)
        size = _FIRST_SLICE if follows_speed else _SLICE
        while True:  # at least once, so that even a run without simulations compiles everything
            size = min(size, left)
            budget = np.array([size], np.int64)
            left -= size
            began = time.perf_counter()
            while (state := self._simulate(0, budget, task)) == NEEDS_ANSWERS:
                self._answer_all(task)
                if task.is_over():  # an evaluator may take long
                    _spend([budget])
            self._answer_all(task)
            if state == FULL or left == 0 or task.is_decided(left) or task.is_over():
                return
            if follows_speed:
                took, seconds = max(time.perf_counter() - began, 1e-9), task.seconds_left()
                slice_seconds = longest if seconds is None else min(longest, seconds)
                size = max(1, min(_SLICE, int(size * slice_seconds / took)))

    def _run_threads(self, n: int, task: Task, executor: ThreadPoolExecutor) -> None:
        """Run in all threads, without slices: waking threads every 10 ms costs a tenth of the simulations."""
        count = len(self.workspaces)
        shared = len(self.trees) == 1
        if shared:
            budgets = [np.array([n], np.int64)] * count
        else:
            budgets = [np.array([n // count + (i < n % count)], np.int64) for i in range(count)]

        def is_over() -> bool:
            # Each of several trees gets an equal share, so that the result does not depend on which thread is faster.
            return task.is_over() or (shared and task.is_decided(max(0, int(budgets[0][0])) + count))

        def stop() -> None:
            _spend(budgets)
            if self.batches is not None:
                self.batches.stop()

        calls = [(self._search, i, budgets[i], task) for i in range(count)]
        with started(executor, calls, stop) as work:
            if self.batches is not None:
                self.batches.conduct(work, is_over, stop)
            while wait(work, SLICE_SECONDS).not_done:
                if is_over():
                    stop()

    def _search(self, i: int, budget: np.ndarray, task: Task) -> None:
        """Run simulations in thread i; if they need the answers of an evaluator, wait for room for more."""
        while self._simulate(i, budget, task) == NEEDS_ANSWERS and budget[0] > 0:
            assert self.batches is not None
            self.batches.feed(i, budget)

    def _answer_all(self, task: Task) -> None:
        """Have everything evaluated that waits."""
        if self.batches is not None:
            self.batches.answer_all(task.is_over)

    def _simulate(self, i: int, budget: np.ndarray, task: Task) -> int:
        """Run simulations in the workspace of thread i; see `search.simulate`."""
        tree, workspace = self.trees[i % len(self.trees)], self.workspaces[i]
        return int(simulate(budget, task.root, task.last_moves, tree, task.context, workspace))

    def give_prior_to_roots(self, task: Task) -> None:
        """Give new roots their prior knowledge, before several threads start there."""
        for i in range(len(self.trees)):
            self._simulate(i, np.zeros(1, np.int64), task)
            if self.batches is not None:
                self.batches.add_root(i)
        self._answer_all(task)

    def under_way(self) -> int:
        """Return how many simulations may be under way at most, whose virtual losses are in a tree."""
        waiting = sum(len(w.waiting.slots) for w in self.workspaces if w.waiting is not None)
        return len(self.workspaces) + waiting

    @property
    def simulations(self) -> int:
        """The number of simulations that all threads have run since `clear`."""
        return sum(int(workspace.tally.simulations) for workspace in self.workspaces)

    @property
    def wins(self) -> float:
        """The sum of their outcomes z."""
        wins = sum(float(workspace.tally.wins) for workspace in self.workspaces)
        return wins if self.batches is None else wins + self.batches.values

    def clear(self) -> None:
        """Reset the counts of simulations and wins, and forget what waits for an evaluator."""
        for workspace in self.workspaces:
            for name in ("simulations", "moves", "wins", "deepest"):
                workspace.tally[name] = 0
        if self.batches is not None:
            self.batches.clear()

    def root_edges(self) -> Any:
        """Return the root's edges, summed over all trees: an array with the fields of `tree.edges_of`."""
        first, *others = (edges_of(tree, 0).view(np.ndarray) for tree in self.trees)
        for other in others:
            order = np.argsort(other["move"])[np.searchsorted(np.sort(other["move"]), first["move"])]
            for name in ("n", "w", "n_amaf", "w_amaf"):
                first[name] += other[name][order]
        return first


def _spend(budgets: list[np.ndarray]) -> None:
    """Stop each thread after its current simulation."""
    for budget in budgets:
        budget[0] = 0
