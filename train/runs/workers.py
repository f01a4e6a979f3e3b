"""A training run on a cluster: the same loop, with Ray actors in the place of threads.

Start reading at `RayWorkers.learn`. Between two rounds the workers hold nothing that matters: with every call the
driver sends weights and the state of the random numbers, and gets back new ones. So an actor that dies takes the games
of one round with it and no more, and a run is saved and resumed without asking anybody.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rlgo.errors import RlgoError
from rlgo.jit import CACHE_DIR, compiling, make_rng, seed_sequence
from rlgo.learner import Learner, LearnWorker, LearnWorkers, WorkerArguments, add_up, merged, share_out
from rlgo.settings import Learning, Policy
from rlgo.shapes import make_features
from rlgo.td import check_max_moves
from train.ray_cluster import cluster_setting, connect, fingerprint, short_error

_JOIN_SECONDS = 60.0  # for machines to join, where there are fewer CPUs than workers
_TOLD_AFTER = 5.0  # seconds of waiting, before the reason is told
_DEATHS = 3  # in a row in one place, without a game in between: something is wrong there


# ---------------------------------------------------------------------------------------------
# What runs on the machines of the cluster
# ---------------------------------------------------------------------------------------------


class Hello(NamedTuple):
    """Who a worker is."""

    host: str
    pid: int
    rlgo: str  # see `fingerprint`


class Answer(NamedTuple):
    """What a worker knows after its games."""

    theta: np.ndarray  # float32[n + 1]
    rng: np.ndarray  # uint64[1]
    occurrences: np.ndarray  # int64[n + 1], in these games; see `td.UpdateScratch`
    tally: np.record


class ClusterWorker:
    """A `learner.LearnWorker` in a process of its own, on any machine; `RayWorkers` makes Ray actors of this class."""

    def __init__(
        self,
        size: int,
        sizes: tuple[int, ...],
        sharing: str,
        learning: Learning,
        policy: Policy,
        komi: float,
        max_moves: int,
    ):
        # Nothing is compiled here: `hello` comes first.
        self._features, self._contract = (size, sizes, sharing), (learning, policy, komi, max_moves)

    def hello(self) -> Hello:
        """Answer as soon as there is a CPU for this worker."""
        return Hello(socket.gethostname(), os.getpid(), fingerprint())

    def prepare(self) -> Hello:
        """Compile whatever learning needs."""
        from filelock import FileLock

        size = self._features[0]
        # One worker of a machine compiles, and the others load what it compiled.
        with FileLock(CACHE_DIR / "cluster.lock"), compiling(f"self-play and learning, {size}x{size}"):
            self._worker = LearnWorker(make_features(*self._features), *self._contract, seed=0)
            self.learn(np.zeros_like(self._worker.theta), self._worker.rng, 1, 0)
        return self.hello()

    def learn(self, theta: np.ndarray, rng: np.ndarray, games: int, first: int) -> Answer:
        """`learner.LearnWorker.learn`, from these weights and this state of the random numbers."""
        worker = self._take_over(theta, rng)
        worker.occurrences[:] = 0
        tally = worker.learn(games, first)
        return Answer(worker.theta, worker.rng, worker.occurrences, tally)

    def play(self, theta: np.ndarray, rng: np.ndarray, games: int) -> tuple[np.ndarray, np.record]:
        """`learner.LearnWorker.play`, likewise; returns (rng, tally)."""
        worker = self._take_over(theta, rng)
        tally = worker.play(games)
        return worker.rng, tally

    def _take_over(self, theta: np.ndarray, rng: np.ndarray) -> LearnWorker:
        # Copied, since what comes from Ray is read-only: to numba another type, for which it would compile again.
        self._worker.adopt(np.array(theta))
        self._worker.rng[:] = rng
        return self._worker


# ---------------------------------------------------------------------------------------------
# The driver
# ---------------------------------------------------------------------------------------------


@dataclass
class _Place:
    """The place of a worker, and the actor that has it now."""

    number: int  # for people, from 1
    seed: np.random.SeedSequence
    rng: np.ndarray  # uint64[1]
    replaced: int = 0  # actors that died here
    deaths: int = 0  # the same, since games last came from here
    actor: Any = None
    who: Hello | None = None
    hello: Any = None  # Ray's reference to what `ClusterWorker.hello` returns
    prepared: Any = None  # and to what `prepare` does; None as soon as it has: the actor is at work

    def __str__(self) -> str:
        return f"worker {self.number}" + (f" (process {self.who.pid} on {self.who.host})" if self.who else "")


class RayWorkers(LearnWorkers):
    """Workers on a Ray cluster, who merge on the driver: while none dies, bit for bit what as many threads do.

    per_worker : what each `learner.LearnWorker` would be made with
    cluster : see `ray_cluster.connect`
    timeout : seconds to wait for workers, for them to start and in each round; who has not answered then is replaced

    Raises
    ------
    RlgoError : see `ray_cluster.connect`; if there are fewer CPUs than workers; if the workers have another rlgo.
    """

    def __init__(self, per_worker: Sequence[WorkerArguments], cluster: str, timeout: float):
        features, learning, policy, komi, max_moves, _, theta = per_worker[0]
        terms = features.size, features.sizes, features.sharing, learning, policy, komi
        self._terms = (*terms, check_max_moves(max_moves, features.size))
        self._name, self._timeout = cluster_setting(cluster), timeout
        self.theta = np.zeros(features.n_weights + 1, np.float32)
        if theta is not None:
            self.theta[:] = theta
        self._occurrences = np.zeros(features.n_weights + 1, np.int64)
        seeds = [arguments.seed for arguments in per_worker]
        sequences = [seed_sequence(seed) for seed in seeds]
        self._places = [_Place(i, sequence, make_rng(sequence)) for i, sequence in enumerate(sequences, 1)]
        self.log(f"connecting to Ray ({cluster}) ...")
        self._ray, self._is_ours = connect(cluster, len(per_worker), features.n_weights)
        try:
            self.log(f"starting {len(per_worker)} workers, who compile where this rlgo is new ...")
            self._start_all()
        except BaseException:
            self.close()
            raise

    def learn(self, games: int, first: int) -> np.record:
        """Share out this many games, merge what the workers learn from them, and return their tally.

        The games of workers that died, or gave no answer in time, are missing in it.
        """
        places = self._present()
        theta = self._ray.put(self.theta)
        calls = {}
        for place, (share, start) in zip(places, share_out(games, first, len(places)), strict=True):
            if share:
                calls[place.actor.learn.remote(theta, place.rng, share, start)] = place, share
        answered: dict[int, Answer] = {}
        for call, (place, share) in self._ended(calls, self._timeout):
            answer = self._get(call, place, share)
            if answer is not None:
                answered[place.number] = answer
                place.rng, place.deaths = answer.rng, 0
                self._occurrences += answer.occurrences
        for place, share in calls.values():
            self._replace(place, f"gave no answer for {self._timeout:g} s (run.cluster_timeout)", share)
        # In the order of the places, whoever was first: sums of floats depend on it.
        answers = [answer for _, answer in sorted(answered.items())]
        if answers:
            # A worker without others is not rounded, as on threads.
            alone = len(self._places) == 1
            self.theta = answers[0].theta.copy() if alone else merged(self.theta, [a.theta for a in answers])
        return add_up([answer.tally for answer in answers])

    def play(self, games: int) -> np.record:
        """See `learner.LearnWorkers.play`."""
        place = self._present()[0]
        place.rng, tally = self._ray.get(place.actor.play.remote(self.theta, place.rng, games), timeout=self._timeout)
        return tally

    def occurrences(self) -> np.ndarray:
        """See `learner.LearnWorkers.occurrences`; lost games do not count."""
        return self._occurrences.copy()

    def state(self) -> dict[str, np.ndarray]:
        """See `learner.LearnWorkers.state`."""
        return {
            "theta": self.theta.copy(),
            "occurrences": self._occurrences.copy(),
            "rng": np.concatenate([place.rng for place in self._places]),
            "replaced": np.array([place.replaced for place in self._places]),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `learner.LearnWorkers.restore`; the state of as many threads will do."""
        self.theta[:] = state["theta"]
        self._occurrences[:] = state["occurrences"]
        for i, place in enumerate(self._places):
            place.rng = state["rng"][i : i + 1].copy()
            place.replaced = int(state["replaced"][i]) if "replaced" in state else 0

    def close(self) -> None:
        """Let the actors go, and leave the cluster; one that was started here ends."""
        for place in self._places:
            self._dismiss(place)
        if self._is_ours:
            self._is_ours = False
            self._ray.shutdown()

    # -----------------------------------------------------------------------------------------
    # Actors come and go
    # -----------------------------------------------------------------------------------------

    def _start(self, place: _Place) -> None:
        options = {"num_cpus": 1, "scheduling_strategy": "SPREAD", "max_restarts": 0, "max_task_retries": 0}
        place.actor = self._ray.remote(ClusterWorker).options(**options).remote(*self._terms)
        place.hello, place.prepared = place.actor.hello.remote(), place.actor.prepare.remote()

    def _start_all(self) -> None:
        """Start the first actors and wait until all of them are at work."""
        for place in self._places:
            self._start(place)
        n, cpus = len(self._places), self._cpus()
        limit = self._timeout if cpus[0] >= n else min(self._timeout, _JOIN_SECONDS)
        hellos = {place.hello: place for place in self._places}
        for call, place in self._ended(hellos, limit, f"of {n} workers"):
            self._greet(call, place)
        if hellos:
            total, free = self._cpus()
            raise RlgoError(
                f"{self._name}: {len(hellos)} of {n} workers (run.workers) found no CPU within {limit:g} s: "
                f"the cluster has {total}, {free} of them still free"
            )
        rest = {place.prepared: place for place in self._places}
        for call, place in self._ended(rest, self._timeout):
            self._greet(call, place)
            place.prepared = None
        if rest:
            raise RlgoError(
                f"{self._name}: {len(rest)} of {n} workers did not start within {self._timeout:g} s "
                f"(run.cluster_timeout)"
            )

    def _greet(self, call: Any, place: _Place) -> None:
        """Read who one of the first actors is. Raises RlgoError if it did not start, or has another rlgo."""
        try:
            who = self._ray.get(call, timeout=self._timeout)
        except self._ray.exceptions.RayError as error:
            raise RlgoError(
                f"{self._name}: {place} cannot start ({short_error(error)}): expected {fingerprint()} on every machine"
            ) from None
        self._check(who, place)

    def _check(self, who: Hello, place: _Place) -> None:
        if who.rlgo != fingerprint():
            raise RlgoError(f"{self._name}: {who.host} has {who.rlgo}: expected {fingerprint()}, as here")
        place.who = who

    def _present(self) -> list[_Place]:
        """The places whose actors are at work; waits for one."""
        begun, is_told = time.monotonic(), False
        while True:
            for place in self._places:
                if place.prepared is not None and self._ray.wait([place.prepared], timeout=0)[0]:
                    self._let_in(place)
            present = [place for place in self._places if place.prepared is None]
            if present:
                return present
            waited = time.monotonic() - begun
            told = "no worker is left; the cluster has {} CPUs, {} of them free".format(*self._cpus())
            if waited > self._timeout:
                raise RlgoError(f"{self._name}: {told}; none came within {self._timeout:g} s (run.cluster_timeout)")
            if waited > _TOLD_AFTER and not is_told:
                is_told = True
                self.log(f"{told}; waiting for one")
            self._ray.wait([place.prepared for place in self._places], timeout=1.0)

    def _let_in(self, place: _Place) -> None:
        """An actor that replaces another has started, or failed to."""
        try:
            who = self._ray.get(place.prepared, timeout=self._timeout)
        except self._ray.exceptions.RayError as error:
            self._replace(place, f"cannot start ({short_error(error)})", 0)
            return
        self._check(who, place)
        place.prepared = None
        self.log(f"{place} is at work")

    def _get(self, call: Any, place: _Place, share: int) -> Answer | None:
        """What the games of a worker taught it; None if it died, in whose place there is another then."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(call, timeout=self._timeout)
        except errors.RayTaskError:
            raise  # a fault of the program: another actor would have it too
        except errors.RayError as error:
            self._replace(place, _reason(error), share)
        return None

    def _replace(self, place: _Place, reason: str, share: int) -> None:
        """A new actor, with random numbers of its own, in the place of one that is lost with its share of games."""
        told = f"{place} {reason}" + (f"; its {share:,} games are lost" if share else "")
        self._dismiss(place)
        place.deaths += 1
        if place.deaths == _DEATHS:
            raise RlgoError(f"{self._name}: {told}; that makes {_DEATHS} in a row")
        self.log(f"{told}; another takes its place")
        # The children of the place's seed are independent of it, of each other, and of all other places.
        key = (*place.seed.spawn_key, place.replaced)
        place.rng = make_rng(np.random.SeedSequence(place.seed.entropy, spawn_key=key))
        place.replaced += 1
        place.who = None
        self._start(place)

    def _dismiss(self, place: _Place) -> None:
        if place.actor is not None and self._ray.is_initialized():
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.kill(place.actor)
        place.actor = None

    def _ended(self, calls: dict[Any, Any], seconds: float, waiting: str = "") -> Iterator[tuple[Any, Any]]:
        """Take calls out of `calls` as they end, well or not; what is in it afterwards has not, within `seconds`.

        waiting : what for, to be told when it takes long
        """
        begun, is_told = time.monotonic(), not waiting
        while calls and (waited := time.monotonic() - begun) < seconds:
            if waited > _TOLD_AFTER and not is_told:
                is_told = True
                self.log(f"waiting for {len(calls)} {waiting}; the cluster has {self._cpus()[0]} CPUs")
            # In steps, for Ctrl-C.
            for call in self._ray.wait(list(calls), timeout=min(1.0, seconds - waited))[0]:
                yield call, calls.pop(call)

    def _cpus(self) -> tuple[int, int]:
        """CPUs of the cluster as Ray counts them: (all, free ones)."""
        everything, free = self._ray.cluster_resources(), self._ray.available_resources()
        return int(everything.get("CPU", 0)), int(free.get("CPU", 0))


class RayLearner(Learner):
    """A `learner.Learner` with workers on a Ray cluster; see `RayWorkers` for `cluster` and `timeout`."""

    def __init__(self, *args: Any, cluster: str = "local", timeout: float = 300.0, **kwargs: Any):
        self._cluster, self._timeout = cluster, timeout
        super().__init__(*args, **kwargs)

    def _spawn(self, per_worker: Sequence[WorkerArguments]) -> LearnWorkers:
        return RayWorkers(per_worker, self._cluster, self._timeout)


def _reason(error: Exception) -> str:
    """What became of an actor, after "worker 3"."""
    return "went down with its machine" if "node has died" in str(error) else "died"
