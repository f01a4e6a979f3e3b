"""Training on a cluster: the same loop as on one machine, with Ray tasks in place of threads.

Start reading at `RayWorkers.learn`. A task gets the weights and the state of its random numbers, and returns both
updated; nothing stays on the cluster between rounds. So Ray may run a task anywhere, and again if its process or its
machine dies, and a run can be saved and resumed on another cluster, or on none.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.settings import Learning, Policy
from rlgo.compiler.cache_folders import CACHE_DIR
from rlgo.compiler.jit import make_rng
from rlgo.features.shapes import make_features
from rlgo.go.rules import check_max_moves
from rlgo.learning.learner import Learner, LearnWorker, LearnWorkers, WorkerArguments, add_up, merged, share_out
from rlgo.learning.optimisers import LearningRule, find_rule
from train.ray_cluster import Cluster, TaskDied

_RETRIES = 2  # of a task whose process or machine dies
_NOTICE_SECONDS = 5.0  # to wait silently
_HERE = "train.runs.workers"  # this module, on the machines of the cluster

# ---------------------------------------------------------------------------------------------
# On the machines of the cluster
# ---------------------------------------------------------------------------------------------


class Task(NamedTuple):
    """What the tasks of a run have in common."""

    run: str  # tells this run apart from others in the same process
    features: tuple[Any, ...]
    learning: Learning
    policy: Policy
    komi: float
    max_moves: int
    optimiser: str | LearningRule


class Answer(NamedTuple):
    """What a task returns after its games."""

    theta: np.ndarray  # float32[n + 1]
    optimiser: np.ndarray  # float32[n + 1, k], see `LearnWorker.state`
    rng: np.ndarray  # uint64[1]
    occurrences: np.ndarray  # int64[n + 1], in these games; see `td.UpdateScratch`
    tally: np.record


_workers: dict[str, LearnWorker] = {}  # of this process, by `Task.run`


def learn(task: Task, learned: tuple[np.ndarray, np.ndarray], rng: np.ndarray, games: int, first: int) -> Answer:
    """Play and learn as `LearnWorker.learn` does, from some weights and a state of the random numbers.

    learned : the weights, and what the learning rule keeps for each of them
    """
    worker = _worker(task, learned, rng)
    worker.occurrences[:] = 0
    tally = worker.learn(games, first)
    return Answer(worker.theta, worker.state, worker.rng, worker.occurrences, tally)


def play(
    task: Task, learned: tuple[np.ndarray, np.ndarray], rng: np.ndarray, games: int
) -> tuple[np.ndarray, np.record]:
    """Play as `LearnWorker.play` does; returns (rng, tally)."""
    worker = _worker(task, learned, rng)
    tally = worker.play(games)
    return worker.rng, tally


def _worker(task: Task, learned: tuple[np.ndarray, np.ndarray], rng: np.ndarray) -> LearnWorker:
    """Return this process's worker with some weights and random numbers; compile what it needs when it is new."""
    if task.run not in _workers:
        from filelock import FileLock  # needed only here

        features = make_features(*task.features)
        worker = LearnWorker(
            features, task.learning, task.policy, task.komi, task.max_moves, seed=0, optimiser=task.optimiser
        )
        # One process of each machine compiles; the others load the result from its cache.
        with FileLock(CACHE_DIR / "cluster.lock"):
            worker.compile()
            worker.learn(1, 0)
        _workers.clear()
        _workers[task.run] = worker
    worker = _workers[task.run]
    # A copy, because arrays from Ray are read-only, a different type for which numba would compile again.
    worker.adopt(np.array(learned[0]), learned[1])
    worker.rng[:] = rng
    return worker


# ---------------------------------------------------------------------------------------------
# The driver
# ---------------------------------------------------------------------------------------------


class RayWorkers(LearnWorkers):
    """Workers on a Ray cluster, whose weights are merged on the driver.

    The result is bit-identical to that of the same number of threads on the same type of CPU.

    Parameters
    ----------
    per_worker : the arguments of each `learner.LearnWorker`
    cluster : see `ray_cluster.connect`
    timeout : seconds to wait for the cluster in each round

    Raises
    ------
    RlgoError : as `ray_cluster.Cluster` does, and if the cluster does not answer in time.
    """

    def __init__(self, per_worker: Sequence[WorkerArguments], cluster: str, timeout: float):
        features, learning, policy, komi, max_moves, _, theta, optimiser = per_worker[0]
        most, rule = check_max_moves(max_moves, features.size), find_rule(optimiser)
        self._task = Task(uuid.uuid4().hex, features.arguments, learning, policy, komi, most, optimiser)
        self.timeout = timeout
        self.theta = np.zeros(features.n_weights + 1, np.float32)
        if theta is not None:
            self.theta[:] = theta
        self.optimiser = np.zeros((0, 0) if rule is None else (features.n_weights + 1, rule.n_state), np.float32)
        self._occurrences = np.zeros(features.n_weights + 1, np.int64)
        self._rng = [make_rng(arguments.seed) for arguments in per_worker]
        self.log(f"connecting to Ray ({cluster}) ...")
        self._cluster = Cluster(cluster, len(per_worker), features.n_weights, retries=_RETRIES)
        try:
            self.log(f"starting {len(per_worker)} workers, which compile if this version of rlgo is new there ...")
            self._run("play", [(rng, 0) for rng in self._rng])
        except BaseException:
            self.close()
            raise

    def compile(self) -> None:
        """Do nothing: the machines of the cluster compile."""

    def learn(self, games: int, first: int) -> np.record:
        """Share out this many games, merge what the workers learn from them, and return their tally."""
        shares = [(i, *share) for i, share in enumerate(share_out(games, first, len(self._rng))) if share[0]]
        answers: list[Answer] = self._run("learn", [(self._rng[i], n, start) for i, n, start in shares])
        for (i, _, _), answer in zip(shares, answers, strict=True):
            self._rng[i] = answer.rng
            self._occurrences += answer.occurrences
        if len(self._rng) == 1:  # a single worker's weights are not rounded by merging, as on threads
            self.theta, self.optimiser = answers[0].theta.copy(), answers[0].optimiser.copy()
        else:
            self.theta = merged(self.theta, [answer.theta for answer in answers])
            self.optimiser = merged(self.optimiser, [answer.optimiser for answer in answers])
        return add_up([answer.tally for answer in answers])

    def play(self, games: int) -> np.record:
        """Play without learning, by the first worker; return the tally."""
        ((self._rng[0], tally),) = self._run("play", [(self._rng[0], games)])
        return tally

    def _run(self, function: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Run a function of this module with the weights and further arguments; return the results in their order."""
        learned = self._cluster.put((self.theta, self.optimiser))
        calls = [self._cluster.submit(f"{_HERE}:{function}", self._task, learned, *more) for more in arguments]
        pending, begun, has_logged = set(calls), time.monotonic(), False
        while pending:
            pending.difference_update(self._cluster.wait(list(pending), min(1.0, self.timeout)))
            waited, (total, free) = time.monotonic() - begun, self._cluster.cpus()
            if pending and waited > self.timeout:
                raise RlgoError(
                    f"{self._cluster.setting}: {len(pending)} of {len(calls)} workers did not answer within "
                    f"{self.timeout:g} s (run.cluster_timeout); the cluster has {total} CPUs, {free} of them free"
                )
            if pending and waited > _NOTICE_SECONDS and not has_logged and total < len(calls):
                has_logged = True
                self.log(f"waiting for {len(pending)} of {len(calls)} workers; the cluster has {total} CPUs")
        try:
            return [self._cluster.result(call) for call in calls]
        except TaskDied as error:
            raise RlgoError(f"{self._cluster.setting}: a worker died {_RETRIES + 1} times: {error}") from None

    def occurrences(self) -> np.ndarray:
        """Return int64[n + 1], how often each weight occurred; see `td.UpdateScratch`."""
        return self._occurrences.copy()

    def state(self) -> dict[str, np.ndarray]:
        """Return the state that `restore` takes."""
        return {
            "theta": self.theta.copy(),
            "optimiser": self.optimiser.copy(),
            "occurrences": self._occurrences.copy(),
            "rng": np.concatenate(self._rng),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from a state, which may be that of as many threads."""
        self.theta[:] = state["theta"]
        self.optimiser[:] = state.get("optimiser", 0)
        self._occurrences[:] = state["occurrences"]
        self._rng = [state["rng"][i : i + 1].copy() for i in range(len(self._rng))]

    def close(self) -> None:
        """End the tasks and leave the cluster; a cluster that was started here ends."""
        self._cluster.close()


class RayLearner(Learner):
    """A `learner.Learner` whose workers run on a Ray cluster; see `RayWorkers` for `cluster` and `timeout`."""

    def __init__(self, *args: Any, cluster: str = "local", timeout: float = 300.0, **kwargs: Any):
        self._cluster, self._timeout = cluster, timeout
        super().__init__(*args, **kwargs)

    def _spawn(self, per_worker: Sequence[WorkerArguments]) -> LearnWorkers:
        return RayWorkers(per_worker, self._cluster, self._timeout)
