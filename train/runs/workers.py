"""Training on a cluster: the same loop as on one machine, with tasks of Ray's in place of threads.

Start reading at `RayWorkers.learn`. A task gets the weights and the state of a worker's random numbers, and returns
both updated. So it does not matter which process runs it: if its process or machine dies, Ray starts the task again,
and the result is the same.
"""

from __future__ import annotations

import contextlib
import os
import time
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
from train.console import message
from train.ray_cluster import cancel, check_alive, check_fingerprint, cluster_setting, connect, fingerprint, short_error

_RETRIES = 3  # of a task whose process or machine dies, before giving up

# ---------------------------------------------------------------------------------------------
# On the machines of the cluster
# ---------------------------------------------------------------------------------------------


class Terms(NamedTuple):
    """What all workers of a run have in common."""

    features: tuple[Any, ...]  # arguments of `make_features`
    learning: Learning
    policy: Policy
    komi: float
    max_moves: int
    optimiser: str | LearningRule
    folder: str  # for relative paths, such as that of a learning rule
    rlgo: str  # see `ray_cluster.fingerprint`
    setting: str  # names the cluster, for messages


class Answer(NamedTuple):
    """What a task returns after its games."""

    theta: np.ndarray  # float32[n + 1]
    optimiser: np.ndarray  # float32[n + 1, k], see `LearnWorker.state`
    rng: np.ndarray  # uint64[1]
    occurrences: np.ndarray  # int64[n + 1], in these games; see `td.UpdateScratch`
    tally: np.record


_made = dict[str, LearnWorker]()  # the worker of this process, by its terms: it works for one run


def _worker_for(terms: Terms) -> LearnWorker:
    """Return the worker of this process; the first time, it is made, and compiles everything that learning needs."""
    from filelock import FileLock  # needed only here

    o = terms.optimiser
    key = repr(terms._replace(optimiser=o if isinstance(o, str) else f"{o.name} {o.parameters}"))
    if (known := _made.get(key)) is not None:
        return known
    check_fingerprint(terms.rlgo, terms.setting)
    with contextlib.suppress(OSError):  # another machine may not have it
        os.chdir(terms.folder)
    # One process of each machine compiles; the others load the result from its cache.
    with FileLock(CACHE_DIR / "cluster.lock"):
        features = make_features(*terms.features)
        worker = LearnWorker(WorkerArguments(features, *terms[1:5], seed=0, optimiser=terms.optimiser))
        worker.compile()
    _made.clear()
    _made[key] = worker
    return worker


def _learn(
    terms: Terms, learned: tuple[np.ndarray, np.ndarray], rng: np.ndarray, games: int, first: int, learns: bool
) -> Answer:
    """Play and learn as `LearnWorker.learn` does, or only play, from some weights and a state of the random numbers.

    learned : the weights, and what the learning rule keeps for each of them
    """
    worker = _worker_for(terms)
    # A copy, because arrays from Ray are read-only, a different type for which numba would compile again.
    worker.adopt(np.array(learned[0]), learned[1])
    worker.rng[:] = rng
    worker.occurrences[:] = 0
    tally = worker.learn(games, first) if learns else worker.play(games)
    return Answer(worker.theta, worker.state, worker.rng, worker.occurrences, tally)


# ---------------------------------------------------------------------------------------------
# The driver
# ---------------------------------------------------------------------------------------------


class RayWorkers(LearnWorkers):
    """Workers on a Ray cluster, whose weights are merged on the driver.

    The result is bit-identical to running the same number of threads on the same type of CPU.

    Parameters
    ----------
    per_worker : the arguments of each `learner.LearnWorker`
    cluster : see `ray_cluster.connect`
    timeout : seconds to wait for the workers of a round

    Raises
    ------
    RlgoError : as `ray_cluster.connect` does; if a machine has another rlgo.
    """

    def __init__(self, per_worker: Sequence[WorkerArguments], cluster: str, timeout: float):
        features, learning, policy, komi, max_moves, _, theta, optimiser = per_worker[0]
        self._setting, self._timeout = cluster_setting(cluster), timeout
        self._terms = Terms(
            features.arguments,
            learning,
            policy,
            komi,
            check_max_moves(max_moves, features.size),
            optimiser,
            os.getcwd(),
            fingerprint(),
            self._setting,
        )
        rule = find_rule(optimiser)
        self.theta = np.zeros(features.n_weights + 1, np.float32)
        if theta is not None:
            self.theta[:] = theta
        self.optimiser = np.zeros((0, 0) if rule is None else (features.n_weights + 1, rule.n_state), np.float32)
        self._occurrences = np.zeros(features.n_weights + 1, np.int64)
        self._rng = np.concatenate([make_rng(arguments.seed) for arguments in per_worker])
        message(f"connecting to Ray ({cluster}) ...")
        self._ray, self._is_ours = connect(cluster, len(per_worker), features.n_weights)
        self._task = self._ray.remote(_learn).options(num_cpus=1, scheduling_strategy="SPREAD", max_retries=_RETRIES)
        try:
            n, cpus = len(per_worker), self._cpus()
            few = "" if cpus[0] >= n else f"; the cluster has {cpus[0]} CPUs, so some wait for others"
            message(f"starting {n} workers, which compile if this version of rlgo is new there{few} ...")
            self._answers([(1, 0)] * n)
        except BaseException:
            self.close()
            raise

    def compile(self) -> None:
        """Do nothing: processes compile when they start."""

    def learn(self, games: int, first: int) -> np.record:
        """Share out this many games, merge what the workers learn from them, and return their tally."""
        found = self._answers(share_out(games, first, len(self._rng)))
        for i, answer in found.items():
            self._rng[i : i + 1] = answer.rng
            self._occurrences += answer.occurrences
        answers = list(found.values())
        if answers:
            # A single worker's weights are not rounded by merging, as on threads.
            is_alone = len(self._rng) == 1
            self.theta = answers[0].theta.copy() if is_alone else merged(self.theta, [a.theta for a in answers])
            kept = [a.optimiser for a in answers]
            self.optimiser = kept[0].copy() if is_alone else merged(self.optimiser, kept)
        return add_up([answer.tally for answer in answers])

    def play(self, games: int) -> np.record:
        """Play without learning, by the first worker; return the tally."""
        answer = self._answers([(games, 0)], learns=False)[0]
        self._rng[:1] = answer.rng
        return answer.tally

    def _answers(self, shares: Sequence[tuple[int, int]], *, learns: bool = True) -> dict[int, Answer]:
        """Let workers play their shares of games, and return what they answer, by their number from 0, ascending."""
        learned = self._ray.put((self.theta, self.optimiser))
        calls = {
            self._task.remote(self._terms, learned, self._rng[i : i + 1], games, first, learns): i
            for i, (games, first) in enumerate(shares)
            if games
        }
        waiting, begun = list(calls), time.monotonic()
        try:
            while waiting:  # in short steps, so that Ctrl-C works
                check_alive(self._ray, self._setting)
                waiting = self._ray.wait(waiting, num_returns=len(waiting), timeout=1.0)[1]
                if waiting and time.monotonic() - begun > self._timeout:
                    raise RlgoError(
                        f"{self._setting}: {len(waiting)} of {len(calls)} workers did not answer within "
                        f"{self._timeout:g} s (run.cluster_timeout); the cluster has "
                        "{} CPUs, {} of them free".format(*self._cpus())
                    )
            return {i: self._ray.get(call) for call, i in calls.items()}
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, RlgoError):
                raise RlgoError(str(error.cause)) from None
            raise RlgoError(
                f"{self._setting}: a worker failed ({short_error(error)}): expected {fingerprint()} on every machine"
            ) from None
        except self._ray.exceptions.RayError as error:
            raise RlgoError(f"{self._setting}: a worker died {_RETRIES + 1} times: {short_error(error)}") from None
        finally:
            if not self._is_ours:  # otherwise `close` ends them
                cancel(self._ray, waiting)

    def occurrences(self) -> np.ndarray:
        """Return int64[n + 1], how often each weight occurred; see `td.UpdateScratch`."""
        return self._occurrences.copy()

    def state(self) -> dict[str, np.ndarray]:
        """Return the state that `restore` takes."""
        return {
            "theta": self.theta.copy(),
            "optimiser": self.optimiser.copy(),
            "occurrences": self._occurrences.copy(),
            "rng": self._rng.copy(),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from a state, which may be that of as many threads."""
        self.theta[:] = state["theta"]
        self.optimiser[:] = state.get("optimiser", 0)
        self._occurrences[:] = state["occurrences"]
        self._rng[:] = state["rng"]

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if self._is_ours:
            self._is_ours = False
            self._ray.shutdown()

    def _cpus(self) -> tuple[int, int]:
        """Return the CPUs of the cluster as Ray counts them: (all, free ones)."""
        everything, free = self._ray.cluster_resources(), self._ray.available_resources()
        return int(everything.get("CPU", 0)), int(free.get("CPU", 0))


class RayLearner(Learner):
    """A `learner.Learner` whose workers run on a Ray cluster; see `RayWorkers` for `cluster` and `timeout`."""

    def __init__(self, *args: Any, cluster: str = "local", timeout: float = 300.0, **kwargs: Any):
        self._cluster, self._timeout = cluster, timeout
        super().__init__(*args, **kwargs)

    def _spawn(self, per_worker: Sequence[WorkerArguments]) -> LearnWorkers:
        return RayWorkers(per_worker, self._cluster, self._timeout)
