"""Learning by self-play, a batch of games at a time, with one or several workers.

Start reading at `Learner.learn`. Several workers play and learn on threads, each with its own weights, scratch and
random numbers, and merge their weights every few games (`merged`). The mean of the weights over time, `theta_mean`,
plays better than the last weights (`averaging_rate`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np

from rlgo.base.budget import BATCH_SECONDS, Budget
from rlgo.base.checks import check
from rlgo.base.ram import announce, bytes_of
from rlgo.base.settings import DEFAULT_KOMI, Count, CountOr0, Komi, Learning, Policy, Workers
from rlgo.base.threads import started
from rlgo.compiler.jit import compile_together, compiling, njit, seed_sequence
from rlgo.features.incremental import reset, update
from rlgo.features.rewriting import fuse
from rlgo.features.shapes import FeatureSet, Table
from rlgo.go.board import outcome
from rlgo.go.rules import check_max_moves, make_rules
from rlgo.learning.optimisers import LearningRule, find_rule, state_of
from rlgo.learning.scratch import clear_tally, make_scratch
from rlgo.learning.selfplay import Tally, learn_episodes, play_episodes, tally_dtype
from rlgo.learning.td import learn_game, make_memory, write_through

_LOOK_SECONDS = 0.5  # between two checks for signals while threads work


def averaging_rate(k: int, averaging: float) -> float:
    """Return how far the mean moves towards the k-th weights (from 1): (averaging + 1) / (k + averaging).

    This is polynomial-decay averaging (Shamir & Zhang 2013, Section 4): the j-th of k weights counts roughly in
    proportion to j^averaging, so early weights are forgotten no matter when the run ends. 0 is the plain mean.
    """
    return (averaging + 1) / (k + averaging)


def merged(theta: np.ndarray, thetas: Sequence[np.ndarray]) -> np.ndarray:
    """Merge what several workers learned from the same `theta` into one set of weights, float32[n + 1].

    Each weight moves by the MEAN of the changes by the workers that changed it. The sum would overshoot: in a
    few hundred games the weights of common shapes reach their equilibrium in every worker, and n workers would go n
    times as far. For a rare shape seen by only one worker, the whole change is kept. Averaging the weights of
    independent workers is local SGD (Stich 2019).
    """
    total, n_changed = np.zeros_like(theta), np.zeros(theta.shape, np.float32)
    for own in thetas:
        change = own - theta
        total += change
        n_changed += change != 0
    return theta + total / np.maximum(n_changed, 1)


class WorkerArguments(NamedTuple):
    """The arguments of a `LearnWorker`; see `Learner`."""

    features: FeatureSet
    learning: Learning
    policy: Policy
    komi: float
    max_moves: int
    seed: int | np.random.SeedSequence
    theta: np.ndarray | None = None
    optimiser: str | LearningRule = "normalised"


class LearnWorker:
    """One stream of self-play with private weights, scratch and random numbers; see `WorkerArguments`.

    Attributes
    ----------
    memory : the weights, float32[n + 1] as `theta`, and as a table by shape (`td.Memory`)
    state : float32[n + 1, k], state of the learning rule for each weight
    episode : the last game (`td.episode_dtype`)
    rng : uint64[1], the state of the random numbers
    occurrences : int64[n + 1], how often each weight's shapes occurred, see `td.UpdateScratch`
    stopped : set from another thread, it ends `learn` and `play` within a tenth of a second
    """

    stopped = False

    def __init__(self, arguments: WorkerArguments):
        features, learning, policy, komi, max_moves, seed, theta, optimiser = arguments
        self.features, self.learning, self.policy = features, learning, policy
        self.max_moves = check_max_moves(max_moves, features.size, "policy.max_moves")
        self.memory = make_memory(features, learning, theta, find_rule(optimiser))
        self.theta, self.state = self.memory.theta, state_of(self.memory.optimiser)
        assert self.memory.scratch is not None  # as without a `memory_by_shape`
        self.occurrences = self.memory.scratch.occurrences
        self._rules = make_rules(features.size, komi)
        self._scratch = make_scratch(features.size, tally_dtype(), seed, capacity=features.capacity)
        self.episode, self.rng = self._scratch.episode, self._scratch.rng

    def _start(self, table: Table) -> None:
        reset(self._scratch.boards[0], self._scratch.shapes[0], table)

    def compile(self) -> None:
        """Compile everything `learn` needs, by learning from no games."""
        with compiling(f"self-play and learning, {self.features.kernels}"):
            settings, table = (self.policy, self.learning, self._rules, self.max_moves), self.memory.table
            board, shapes = self._scratch.boards[0], self._scratch.shapes[0]
            compile_together(
                (learn_episodes, 0, 0, self._scratch, self.memory, *settings),
                (reset, board, shapes, table),
                inlined=[
                    (learn_game, self.episode, 0.0, 0.0, self.learning, self.memory),
                    (update, board, shapes, table),
                    (outcome, board, 0.0),
                ],
            )
            self.learn(0, 0)

    def learn(self, games: int, first: int) -> np.record:
        """Play and learn from this many games, the first of which has the number `first`; return their tally."""
        clear_tally(self._scratch.tally)
        self._start(self.memory.table)
        for n in self._slices(games):
            learn_episodes(
                n, first, self._scratch, self.memory, self.policy, self.learning, self._rules, self.max_moves
            )
            first += n
        return self._scratch.tally.copy()

    def play(self, games: int) -> np.record:
        """Play this many games without learning; return their tally."""
        clear_tally(self._scratch.tally)
        table = fuse(self.features, self.memory.table.black)  # a fifth faster than the table that learns
        self._start(table)
        for n in self._slices(games):
            play_episodes(n, self._scratch, table, self.policy, self.learning.value, self._rules, self.max_moves)
        return self._scratch.tally.copy()

    def _slices(self, games: int) -> Iterator[int]:
        """Cut games into slices, so that Ctrl-C takes effect in between. Results do not depend on them."""
        return Budget(games, stop=lambda: self.stopped).slices(seconds=BATCH_SECONDS)

    def adopt(self, theta: np.ndarray, state: np.ndarray) -> None:
        """Replace the weights and the state of the learning rule, float32[n + 1] and float32[n + 1, k]."""
        _adopt(theta, self.memory)
        self.state[:] = state


@njit
def _adopt(source, memory):
    theta, touched = memory.theta, memory.scratch.touched
    n = 0
    for i in range(1, len(theta)):
        if source[i] != theta[i]:
            theta[i] = source[i]
            touched[n] = i
            n += 1
    write_through(n, touched, memory)


class LearnWorkers:
    """Workers that learn on threads of this process and merge their weights.

    Attributes
    ----------
    theta : float32[n + 1], the merged weights
    optimiser : float32[n + 1, k], state of the learning rule for each weight, merged like the weights
    """

    theta: np.ndarray
    optimiser: np.ndarray

    def __init__(self, workers: Sequence[LearnWorker]):
        self.workers = workers
        self.theta, self.optimiser = workers[0].theta, workers[0].state
        if len(workers) > 1:
            self.theta, self.optimiser = self.theta.copy(), self.optimiser.copy()
        self._threads = ThreadPoolExecutor(len(workers)) if len(workers) > 1 else None

    def learn(self, games: int, first: int) -> np.record:
        """Divide this many games among the workers, merge their weights, and return the tally."""
        self.compile()  # in the main thread, where Ctrl-C takes effect
        if self._threads is None:
            return self.workers[0].learn(games, first)
        shares = share_out(games, first, len(self.workers))

        def stop() -> None:  # Ctrl-C: in the middle of a round, there is nothing to merge
            for worker in self.workers:
                worker.stopped = True

        calls = [(worker.learn, *share) for worker, share in zip(self.workers, shares, strict=True)]
        with started(self._threads, calls, stop) as jobs:
            while wait(jobs, _LOOK_SECONDS).not_done:
                pass  # in short steps, since a signal delivered to another thread does not wake this one
            tallies = [job.result() for job in jobs]
        self.theta = merged(self.theta, [worker.theta for worker in self.workers])
        self.optimiser = merged(self.optimiser, [worker.state for worker in self.workers])
        list(self._threads.map(lambda worker: worker.adopt(self.theta, self.optimiser), self.workers))
        return add_up(tallies)

    def compile(self) -> None:
        """Compile everything `learn` needs."""
        self.workers[0].compile()

    def play(self, games: int) -> np.record:
        """Play this many games without learning, by the first worker; return their tally."""
        return self.workers[0].play(games)

    def occurrences(self) -> np.ndarray:
        """Count the occurrences over all workers, int64[n + 1]; see `td.UpdateScratch`."""
        return np.sum([worker.occurrences for worker in self.workers], axis=0)

    def state(self) -> dict[str, np.ndarray]:
        """Return everything that `restore` needs to continue as if nothing had happened."""
        return {
            "theta": self.theta.copy(),
            "optimiser": self.optimiser.copy(),
            "occurrences": self.occurrences(),
            "rng": np.concatenate([worker.rng for worker in self.workers]),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from what `state` returned."""
        for worker in self.workers:
            worker.stopped = False
        self.theta[:] = state["theta"]
        self.optimiser[:] = state.get("optimiser", 0)  # missing in states from before there were learning rules
        for i, worker in enumerate(self.workers):
            worker.theta[:], worker.state[:] = self.theta, self.optimiser
            worker.memory.table.black[:] = worker.features.expand(self.theta)
            worker.rng[0] = state["rng"][i]
            worker.occurrences[:] = state["occurrences"] if i == 0 else 0

    def close(self) -> None:
        """Stop the workers."""
        if self._threads is not None:
            self._threads.shutdown()


def share_out(games: int, first: int, workers: int) -> list[tuple[int, int]]:
    """Divide games among workers as evenly as possible: (games, number of the first game) for each."""
    ends = [first + games * (i + 1) // workers for i in range(workers)]
    return [(end - start, start) for start, end in zip([first, *ends], ends, strict=False)]


def add_up(tallies: Sequence[np.record]) -> np.record:
    """Add up several tallies."""
    total = np.zeros(1, np.dtype((Tally, tallies[0].dtype if tallies else tally_dtype())))[0]
    for name in total.dtype.names:
        total[name] = sum(tally[name] for tally in tallies)
    return total


def mean_of(theta: np.ndarray, theta_mean: np.ndarray, games: int, games_a_round: int) -> np.ndarray:
    """Return the mean of the weights so far, float32[n_weights + 1]; before the first round has ended, theta itself."""
    return (theta_mean if games >= games_a_round else theta).astype(np.float32)


class Learner:
    """A learner of weights by self-play from the empty board.

    With one worker, the games and therefore the weights depend on the seed alone, not on how the games are divided into
    calls. With several, they also depend on the number of workers, on `merge_every`, and on the division into calls,
    since every call ends with a merge. They never depend on timing.

    Parameters
    ----------
    features : `shapes.FeatureSet`
    learning : `settings.Learning`
    policy : `settings.Policy`; its V is that of `learning`
    komi : points
    max_moves : plies; a longer game is discarded; 0 is 3 * size * size
    seed : an int or a `numpy.random.SeedSequence`
    theta : weights to start from, copied; None: zeros
    optimiser : the learning rule, or its name, see `optimisers.find_rule`
    workers : threads that play and learn
    merge_every : games of each worker between two merges, or, with one worker, two updates of the mean

    Attributes
    ----------
    games : games played so far, discarded ones included
    pool : `LearnWorkers`, the workers
    theta_mean : float64[n_weights + 1], the mean of theta over time (`averaging_rate`), as of the last full round
        (`workers * merge_every` games)

    >>> import rlgo
    >>> features = rlgo.make_features(5, sizes=(1, 2))
    >>> learner = rlgo.Learner(features, rlgo.Learning(), rlgo.Policy(), seed=1)
    >>> tally = learner.learn(games=1000)
    >>> rlgo.Weights(features, learner.theta, games=learner.games)
    <Weights 5x5 1x1+2x2 LI+LD: 107 weights, logistic, komi 7.5, 1,000 games>
    """

    def __init__(
        self,
        features: FeatureSet,
        learning: Learning,
        policy: Policy,
        komi: float = DEFAULT_KOMI,
        max_moves: int = 0,
        seed: int | np.random.SeedSequence = 1,
        *,
        theta: np.ndarray | None = None,
        optimiser: str | LearningRule = "normalised",
        workers: int = 1,
        merge_every: int = 1_000,
    ):
        check("features", features, FeatureSet)
        learning, policy = check("learning", learning, Learning), check("policy", policy, Policy)
        workers, merge_every = check("workers", workers, Workers), check("merge_every", merge_every, Count)
        # One worker draws from the seed itself.
        seeds = [seed] if workers == 1 else seed_sequence(seed).spawn(workers)
        self.features, self.learning, self.policy = features, learning, policy
        self.komi = check("komi", komi, Komi)
        self.round = workers * merge_every
        arguments = WorkerArguments(features, learning, policy, self.komi, max_moves, seeds[0], theta, optimiser)
        self.pool = self._spawn([arguments._replace(seed=seed) for seed in seeds])
        self.theta_mean = self.theta.astype(np.float64)
        self.games = 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.features.name}, komi {self.komi:g}: {self.games:,} games>"

    def _spawn(self, per_worker: Sequence[WorkerArguments]) -> LearnWorkers:
        """Start the workers: here on threads."""
        first, *others = per_worker
        workers = [LearnWorker(first)]
        announce(f"run.workers = {len(per_worker)}", len(per_worker) * bytes_of(workers[0].memory))
        return LearnWorkers([*workers, *(LearnWorker(arguments) for arguments in others)])

    @property
    def theta(self) -> np.ndarray:
        """float32[n_weights + 1], the weights as last updated (index 0 unused)."""
        return self.pool.theta

    def compile(self) -> None:
        """Compile all that `learn` needs, which else its first call does."""
        self.pool.compile()

    def learn(self, games: int) -> np.record:
        """Play and learn from this many games; return their tally (`selfplay.tally_dtype`).

        KeyboardInterrupt within a tenth of a second of Ctrl-C. It leaves the round that was being played unfinished: to
        learn on, `restore` a state.
        """
        end, tallies = self.games + check("games", games, CountOr0), []
        while self.games < end:
            wanted = min(end - self.games, self.round - self.games % self.round)
            tally = self.pool.learn(wanted, self.games)
            tallies.append(tally)
            self.games += wanted
            if self.games % self.round == 0:
                rate = averaging_rate(self.games // self.round, self.learning.averaging)
                self.theta_mean += rate * (self.theta - self.theta_mean)
        return add_up(tallies)

    def mean(self) -> np.ndarray:
        """Return the mean weights, float32[n_weights + 1]; before the first round has ended, theta itself."""
        return mean_of(self.theta, self.theta_mean, self.games, self.round)

    def play(self, games: int) -> np.record:
        """Play this many games without learning; return their tally. They do not count as games played."""
        return add_up([self.pool.play(check("games", games, CountOr0))])

    def close(self) -> None:
        """Stop the workers for good."""
        self.pool.close()

    def state(self) -> dict[str, np.ndarray]:
        """Return everything that `restore` needs to continue as if nothing had happened: arrays by name."""
        return {**self.pool.state(), "theta_mean": self.theta_mean.copy(), "games": np.array(self.games)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from what `state` returned, in a learner made with the same arguments."""
        self.pool.restore(state)
        self.theta_mean[:] = state["theta_mean"]
        self.games = int(state["games"])
