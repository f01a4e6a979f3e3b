"""Several threads: on one tree with virtual loss, or each on a tree of its own whose roots are added up.

Start reading at `Team.run`. What keeps the counts of one tree exact stands in `tree.add`, `search._take` and
`rave.back_up`. Chaslot, Winands & van den Herik 2008, "Parallel Monte-Carlo tree search": tree and root
parallelisation.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from mcts.search import FULL, NEEDS_PRIOR, Worker, new_worker, simulate
from mcts.tree import Tree, edges_of

_Asked = Callable[[], bool]
_Decided = Callable[[int], bool]
_Ask = Callable[[Worker, Tree], None]

_POLL_SECONDS = 0.01
_SLICE = 256  # simulations: some 7 ms on 9x9


class Team:
    """Workers, one a thread, and their trees: one for all, or one each.

    Parameters
    ----------
    size : of the board
    n : threads
    trees : one, or n
    batch : see `search.new_worker`
    seed : one worker draws from it itself, several from its children

    One thread is reproducible from its seed, and so are several with a tree each, if simulations end them, not time.
    """

    def __init__(
        self,
        size: int,
        n: int,
        trees: list[Tree],
        batch: int,
        seed: np.random.SeedSequence,
    ):
        self._size, self.trees = size, trees
        self.workers = [new_worker(size, batch, s) for s in ([seed] if n == 1 else seed.spawn(n))]
        self._threads = ThreadPoolExecutor(n) if n > 1 else None

    def run(self, n: int, goes_on: _Asked, is_decided: _Decided, ask: _Ask, *search: Any) -> int:
        """Up to n simulations; returns how many there were.

        goes_on : asked now and then, every 10 ms or so, whether there should be more
        is_decided : asked whether so many more would change nothing; at moments that no clock chooses, where
            the search should be reproducible
        ask : called with a worker whose leaves wait for a user's prior, and its tree; never while simulations run
        search : root, last, settings, default, rules, knowledge, as `search.simulate` has them
        Fewer than n also where the tree can take no more visits (`tree.MOST_VISITS`).
        """
        before = self.simulations
        if self._threads is None:
            self._run_slices(n, goes_on, is_decided, ask, search)
        else:
            self._run_threads(n, goes_on, is_decided, ask, search)
        return self.simulations - before

    def _run_slices(self, n: int, goes_on: _Asked, is_decided: _Decided, ask: _Ask, search: tuple[Any, ...]) -> None:
        """In the caller's own thread, a slice after the other."""
        left = n
        while True:  # once at least, so that no simulations at all compile what they would need
            budget = np.array([min(_SLICE, left)], np.int64)
            left -= int(budget[0])
            while (state := self._work(0, budget, search)) == NEEDS_PRIOR:
                ask(self.workers[0], self.trees[0])
            ask(self.workers[0], self.trees[0])
            if state == FULL or left == 0 or is_decided(left) or not goes_on():
                return

    def _run_threads(self, n: int, goes_on: _Asked, is_decided: _Decided, ask: _Ask, search: tuple[Any, ...]) -> None:
        """Without slices: waking threads up takes so long that 10 ms slices cost a tenth of the simulations."""
        assert self._threads is not None
        if len(self.trees) == 1:
            budgets = [np.array([n], np.int64)] * len(self.workers)
        else:
            shares = np.full(len(self.workers), n // len(self.workers))
            shares[: n % len(self.workers)] += 1
            budgets = [np.array([share], np.int64) for share in shares]

        def is_over() -> bool:
            # Of separate trees each does its share, and the result does not depend on who was quicker.
            shared = len(self.trees) == 1
            return not goes_on() or (shared and is_decided(max(0, int(budgets[0][0])) + len(self.workers)))

        busy = list(range(len(self.workers)))
        while busy:
            work = [self._threads.submit(self._work, i, budgets[i], search) for i in busy]
            try:
                while wait(work, _POLL_SECONDS).not_done:
                    if is_over():
                        _end(budgets)
            except BaseException:  # nobody may be at work on a tree that the caller believes to be at rest
                _end(budgets)
                wait(work)
                raise
            for i in busy:
                ask(self.workers[i], self.trees[i % len(self.trees)])
            busy = [i for i, done in zip(busy, work, strict=True) if done.result() == NEEDS_PRIOR]
            if busy and is_over():
                _end(budgets)

    def _work(self, i: int, budget: np.ndarray, search: tuple[Any, ...]) -> int:
        root, last, *rest = search
        tree = self.trees[i % len(self.trees)]
        return int(simulate(budget, root, last, tree, *rest, self.workers[i]))

    @property
    def simulations(self) -> int:
        """Of all workers, since `clear`."""
        return sum(int(worker.tally.simulations) for worker in self.workers)

    @property
    def wins(self) -> float:
        """The sum of z."""
        return sum(float(worker.tally.wins) for worker in self.workers)

    def clear(self) -> None:
        """Count simulations from 0."""
        for worker in self.workers:
            for name in ("simulations", "moves", "wins", "waiting"):
                worker.tally[name] = 0

    def root(self) -> Any:
        """The root's edges, as `tree.edges_of` gives them; of several trees added up."""
        first, *others = (edges_of(tree, 0) for tree in self.trees)
        for other in others:
            order = np.argsort(other.move)[np.searchsorted(np.sort(other.move), first.move)]
            for name in ("n", "w", "n_amaf", "w_amaf"):
                first[name] += other[name][order]
        return first


def _end(budgets: list[np.ndarray]) -> None:
    """Have the threads stop after the simulations that they are at."""
    for budget in budgets:
        budget[0] = 0
