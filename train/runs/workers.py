"""Training on a cluster: the same loop as on one machine, with Ray actors in place of threads.

Start reading at `RayWorkers.learn`. Actors keep no state between rounds: each call sends them the weights and the
state of their random numbers, and returns both updated. So an actor that dies costs no more than the games of one
round, and a run can be saved and resumed without its actors.
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

from rlgo.base.errors import RlgoError
from rlgo.base.settings import Learning, Policy
from rlgo.compiler.cache_folders import CACHE_DIR
from rlgo.compiler.jit import make_rng, seed_sequence
from rlgo.features.shapes import make_features
from rlgo.go.rules import check_max_moves
from rlgo.learning.learner import Learner, LearnWorker, LearnWorkers, WorkerArguments, add_up, merged, share_out
from rlgo.learning.optimisers import LearningRule, find_rule
from train.ray_cluster import check_fingerprint, cluster_setting, connect, fingerprint, short_error, was_killed

JOIN_SECONDS = 60.0  # seconds to wait for more machines, if there are fewer CPUs than workers
MAX_DEATHS = 3  # deaths of one slot's actors in a row, without a game in between, before giving up
_NOTICE_SECONDS = 5.0  # seconds to wait silently


# ---------------------------------------------------------------------------------------------
# On the machines of the cluster
# ---------------------------------------------------------------------------------------------


class Handshake(NamedTuple):
    """The identity of an actor."""

    host: str
    pid: int
    rlgo: str  # see `ray_cluster.fingerprint`


class Answer(NamedTuple):
    """What an actor returns after its games."""

    theta: np.ndarray  # float32[n + 1]
    optimiser: np.ndarray  # float32[n + 1, k], see `LearnWorker.state`
    rng: np.ndarray  # uint64[1]
    occurrences: np.ndarray  # int64[n + 1], in these games; see `td.UpdateScratch`
    tally: np.record


class ClusterWorker:
    """A `learner.LearnWorker` in its own process, on any machine; `RayWorkers` makes Ray actors of this class."""

    def __init__(
        self,
        features: tuple[Any, ...],
        learning: Learning,
        policy: Policy,
        komi: float,
        max_moves: int,
        optimiser: str | LearningRule,
        folder: str,
    ):
        with contextlib.suppress(OSError):  # another machine may not have it
            os.chdir(folder)  # for relative paths, such as that of a learning rule
        # Compile nothing yet, so that `shake_hands` answers at once.
        self._features, self._arguments = features, (learning, policy, komi, max_moves)
        self._optimiser = optimiser

    def shake_hands(self) -> Handshake:
        """Answer as soon as this worker has a CPU."""
        return Handshake(socket.gethostname(), os.getpid(), fingerprint())

    def prepare(self) -> Handshake:
        """Compile everything that learning needs."""
        from filelock import FileLock  # needed only here

        # One worker of each machine compiles; the others load the result from its cache.
        with FileLock(CACHE_DIR / "cluster.lock"):
            self._worker = LearnWorker(
                make_features(*self._features), *self._arguments, seed=0, optimiser=self._optimiser
            )
            self._worker.compile()
            learned = np.zeros_like(self._worker.theta), np.zeros_like(self._worker.state)
            self.learn(learned, self._worker.rng, 1, 0)
        return self.shake_hands()

    def learn(self, learned: tuple[np.ndarray, np.ndarray], rng: np.ndarray, games: int, first: int) -> Answer:
        """Play and learn as `LearnWorker.learn` does, from these weights and this state of the random numbers.

        learned : the weights, and what the learning rule keeps for each of them
        """
        worker = self._with_state(learned, rng)
        worker.occurrences[:] = 0
        tally = worker.learn(games, first)
        return Answer(worker.theta, worker.state, worker.rng, worker.occurrences, tally)

    def play(self, learned: tuple[np.ndarray, np.ndarray], rng: np.ndarray, games: int) -> tuple[np.ndarray, np.record]:
        """Play as `LearnWorker.play` does; returns (rng, tally)."""
        worker = self._with_state(learned, rng)
        tally = worker.play(games)
        return worker.rng, tally

    def _with_state(self, learned: tuple[np.ndarray, np.ndarray], rng: np.ndarray) -> LearnWorker:
        # A copy, because arrays from Ray are read-only, a different type for which numba would compile again.
        self._worker.adopt(np.array(learned[0]), learned[1])
        self._worker.rng[:] = rng
        return self._worker


# ---------------------------------------------------------------------------------------------
# The driver
# ---------------------------------------------------------------------------------------------


@dataclass
class Slot:
    """The place of one worker, and its current actor."""

    number: int  # from 1, for messages
    seed: np.random.SeedSequence
    rng: np.ndarray  # uint64[1]
    replaced: int = 0  # how many of its actors have died
    deaths: int = 0  # the same, since the last answer
    actor: Any = None
    who: Handshake | None = None
    handshake: Any = None  # Ray's reference to the result of `ClusterWorker.shake_hands`
    prepared: Any = None  # and of `prepare`; None once that has ended and the actor is working

    def __str__(self) -> str:
        return f"worker {self.number}" + (f" (process {self.who.pid} on {self.who.host})" if self.who else "")

    @property
    def is_ready(self) -> bool:
        """Whether its actor is working."""
        return self.prepared is None


class RayWorkers(LearnWorkers):
    """Workers on a Ray cluster, whose weights are merged on the driver.

    Unless a worker dies, the result is bit-identical to running the same number of threads on the same type of CPU.

    Parameters
    ----------
    per_worker : the arguments of each `learner.LearnWorker`
    cluster : see `ray_cluster.connect`
    timeout : seconds to wait for workers, at the start and in each round; one that does not answer in time is replaced

    Attributes
    ----------
    slots : list of `Slot`
    timeout : float

    Raises
    ------
    RlgoError : as `ray_cluster.connect` does; if there are fewer CPUs than workers, or a machine has another rlgo.
    """

    def __init__(self, per_worker: Sequence[WorkerArguments], cluster: str, timeout: float):
        features, learning, policy, komi, max_moves, _, theta, optimiser = per_worker[0]
        terms = features.arguments, learning, policy, komi
        self._terms = (*terms, check_max_moves(max_moves, features.size), optimiser, os.getcwd())
        rule = find_rule(optimiser)
        self._setting, self.timeout = cluster_setting(cluster), timeout
        self.theta = np.zeros(features.n_weights + 1, np.float32)
        if theta is not None:
            self.theta[:] = theta
        self.optimiser = np.zeros((0, 0) if rule is None else (features.n_weights + 1, rule.n_state), np.float32)
        self._occurrences = np.zeros(features.n_weights + 1, np.int64)
        seeds = [arguments.seed for arguments in per_worker]
        sequences = [seed_sequence(seed) for seed in seeds]
        self.slots = [Slot(i, sequence, make_rng(sequence)) for i, sequence in enumerate(sequences, 1)]
        self.log(f"connecting to Ray ({cluster}) ...")
        self._ray, self._is_ours = connect(cluster, len(per_worker), features.n_weights)
        try:
            self.log(f"starting {len(per_worker)} workers, which compile if this version of rlgo is new there ...")
            self._start_all()
        except BaseException:
            self.close()
            raise

    def compile(self) -> None:
        """Do nothing: actors compile when they start, see `ClusterWorker.prepare`."""

    def learn(self, games: int, first: int) -> np.record:
        """Share out this many games, merge what the workers learn from them, and return their tally.

        Games of workers that died or did not answer in time are missing from the tally.
        """
        slots = self.ready()
        learned = self._ray.put((self.theta, self.optimiser))
        calls = {}
        for slot, (share, start) in zip(slots, share_out(games, first, len(slots)), strict=True):
            if share:
                calls[slot.actor.learn.remote(learned, slot.rng, share, start)] = slot, share
        answered: dict[int, Answer] = {}
        for call, (slot, share) in self._ended(calls, self.timeout):
            answer = self._answer(call, slot, share)
            if answer is not None:
                answered[slot.number] = answer
                slot.rng, slot.deaths = answer.rng, 0
                self._occurrences += answer.occurrences
        for slot, share in calls.values():
            self._replace(slot, f"did not answer for {self.timeout:g} s (run.cluster_timeout)", share)
        # In the order of the slots, not of arrival: sums of floats depend on the order.
        answers = [answer for _, answer in sorted(answered.items())]
        if answers:
            # A single worker's weights are not rounded by merging, as on threads.
            is_alone = len(self.slots) == 1
            self.theta = answers[0].theta.copy() if is_alone else merged(self.theta, [a.theta for a in answers])
            kept = [a.optimiser for a in answers]
            self.optimiser = kept[0].copy() if is_alone else merged(self.optimiser, kept)
        return add_up([answer.tally for answer in answers])

    def play(self, games: int) -> np.record:
        """Play without learning, by the first worker; return the tally."""
        slot = self.ready()[0]
        slot.rng, tally = self._ray.get(
            slot.actor.play.remote((self.theta, self.optimiser), slot.rng, games), timeout=self.timeout
        )
        return tally

    def occurrences(self) -> np.ndarray:
        """Return int64[n + 1], how often each weight occurred, without lost games; see `td.UpdateScratch`."""
        return self._occurrences.copy()

    def state(self) -> dict[str, np.ndarray]:
        """Return the state that `restore` takes."""
        return {
            "theta": self.theta.copy(),
            "optimiser": self.optimiser.copy(),
            "occurrences": self._occurrences.copy(),
            "rng": np.concatenate([slot.rng for slot in self.slots]),
            "replaced": np.array([slot.replaced for slot in self.slots]),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from a state, which may be that of as many threads."""
        self.theta[:] = state["theta"]
        self.optimiser[:] = state.get("optimiser", 0)
        self._occurrences[:] = state["occurrences"]
        for i, slot in enumerate(self.slots):
            slot.rng = state["rng"][i : i + 1].copy()
            slot.replaced = int(state["replaced"][i]) if "replaced" in state else 0

    def close(self) -> None:
        """Stop the actors and leave the cluster; a cluster that was started here ends."""
        for slot in self.slots:
            self._dismiss(slot)
        if self._is_ours:
            self._is_ours = False
            self._ray.shutdown()

    # -----------------------------------------------------------------------------------------
    # Actors start and die
    # -----------------------------------------------------------------------------------------

    def ready(self) -> list[Slot]:
        """Return the slots whose actors are working; wait until there is one. Newly started actors join in.

        Raises RlgoError if none appears within `timeout`.
        """
        begun, has_logged = time.monotonic(), False
        while True:
            for slot in self.slots:
                if not slot.is_ready and self._ray.wait([slot.prepared], timeout=0)[0]:
                    self._admit_replacement(slot)
            ready = [slot for slot in self.slots if slot.is_ready]
            if ready:
                return ready
            waited = time.monotonic() - begun
            problem = "no worker is left; the cluster has {} CPUs, {} of them free".format(*self._cpus())
            if waited > self.timeout:
                raise RlgoError(
                    f"{self._setting}: {problem}; none came within {self.timeout:g} s (run.cluster_timeout)"
                )
            if waited > _NOTICE_SECONDS and not has_logged:
                has_logged = True
                self.log(f"{problem}; waiting for one")
            self._ray.wait([slot.prepared for slot in self.slots], timeout=1.0)

    def _start(self, slot: Slot) -> None:
        """Start an actor in a slot."""
        options = {"num_cpus": 1, "scheduling_strategy": "SPREAD", "max_restarts": 0, "max_task_retries": 0}
        slot.actor = self._ray.remote(ClusterWorker).options(**options).remote(*self._terms)
        slot.handshake, slot.prepared = slot.actor.shake_hands.remote(), slot.actor.prepare.remote()

    def _start_all(self) -> None:
        """Start the first actors, and wait until all of them are working."""
        for slot in self.slots:
            self._start(slot)
        n, cpus = len(self.slots), self._cpus()
        limit = self.timeout if cpus[0] >= n else min(self.timeout, JOIN_SECONDS)
        handshakes = {slot.handshake: slot for slot in self.slots}
        for call, slot in self._ended(handshakes, limit, f"of {n} workers"):
            if not self._admit(call, slot):
                handshakes[slot.handshake] = slot
        if handshakes:
            total, free = self._cpus()
            raise RlgoError(
                f"{self._setting}: {len(handshakes)} of {n} workers (run.workers) found no CPU within {limit:g} s: "
                f"the cluster has {total}, {free} of them still free"
            )
        rest = {slot.prepared: slot for slot in self.slots}
        for call, slot in self._ended(rest, self.timeout):
            if self._admit(call, slot):
                slot.prepared = None
            else:
                rest[slot.prepared] = slot
        if rest:
            raise RlgoError(
                f"{self._setting}: {len(rest)} of {n} workers did not start within {self.timeout:g} s "
                f"(run.cluster_timeout)"
            )

    def _admit(self, call: Any, slot: Slot) -> bool:
        """Read the handshake of one of the first actors; if it died, start another and return False.

        Raises RlgoError if it cannot start or has another rlgo.
        """
        try:
            who = self._ray.get(call, timeout=self.timeout)
        except self._ray.exceptions.RayError as error:
            if was_killed(error):
                self._replace(slot, _reason(error), 0)
                return False
            raise RlgoError(
                f"{self._setting}: {slot} cannot start ({short_error(error)}): "
                f"expected {fingerprint()} on every machine"
            ) from None
        self._check(who, slot)
        return True

    def _admit_replacement(self, slot: Slot) -> None:
        """Admit an actor that replaces another, or replace it too if it failed to start."""
        try:
            who = self._ray.get(slot.prepared, timeout=self.timeout)
        except self._ray.exceptions.RayError as error:
            self._replace(slot, f"cannot start ({short_error(error)})", 0)
            return
        self._check(who, slot)
        slot.prepared = None
        self.log(f"{slot} is working")

    def _check(self, who: Handshake, slot: Slot) -> None:
        """Raise RlgoError if an actor has another rlgo; otherwise remember who it is."""
        check_fingerprint(who.rlgo, who.host, self._setting)
        slot.who = who

    def _answer(self, call: Any, slot: Slot, share: int) -> Answer | None:
        """Return the answer of an actor; if it died, start another in its slot and return None."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(call, timeout=self.timeout)
        except errors.RayTaskError:
            raise  # a bug: another actor would have it, too
        except errors.RayError as error:
            self._replace(slot, _reason(error), share)
        return None

    def _replace(self, slot: Slot, reason: str, share: int) -> None:
        """Start a new actor, with its own random numbers, for one that is lost along with its share of games."""
        problem = f"{slot} {reason}" + (f"; its {share:,} games are lost" if share else "")
        self._dismiss(slot)
        slot.deaths += 1
        if slot.deaths == MAX_DEATHS:
            raise RlgoError(f"{self._setting}: {problem}; that makes {MAX_DEATHS} in a row")
        self.log(f"{problem}; another takes its place")
        # Children of the slot's seed are independent of it, of each other, and of all other slots.
        key = (*slot.seed.spawn_key, slot.replaced)
        slot.rng = make_rng(np.random.SeedSequence(slot.seed.entropy, spawn_key=key))
        slot.replaced += 1
        slot.who = None
        self._start(slot)

    def _dismiss(self, slot: Slot) -> None:
        """End the actor of a slot, if there is one."""
        if slot.actor is not None and self._ray.is_initialized():
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.kill(slot.actor)
        slot.actor = None

    def _ended(self, calls: dict[Any, Any], seconds: float, waiting: str = "") -> Iterator[tuple[Any, Any]]:
        """Remove calls from `calls` as they end, successfully or not, and yield them; the rest have timed out.

        Parameters
        ----------
        calls : any values, by Ray's references to the results
        seconds : until they time out
        waiting : what is being waited for; reported if it takes long
        """
        begun, has_logged = time.monotonic(), not waiting
        while calls and (waited := time.monotonic() - begun) < seconds:
            if waited > _NOTICE_SECONDS and not has_logged:
                has_logged = True
                self.log(f"waiting for {len(calls)} {waiting}; the cluster has {self._cpus()[0]} CPUs")
            # In short steps, so that Ctrl-C works.
            for call in self._ray.wait(list(calls), timeout=min(1.0, seconds - waited))[0]:
                yield call, calls.pop(call)

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


def _reason(error: Exception) -> str:
    """Return what became of an actor, to follow "worker 3"."""
    return "went down with its machine" if "node has died" in str(error) else "died"
