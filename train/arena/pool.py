"""Pools that play games: in this process, in several processes on this machine, or on a Ray cluster.

Start reading at `GameWorker.play`, then `GamePool.run`. A process that dies is replaced, and its game is played again.
Players made from specs start each game afresh, with random numbers that belong to the game. So no result depends on
which process plays a game, or when.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from mcts.outside.side_by_side import Job, SideBySide
from rlgo.base.errors import RlgoError
from rlgo.play.player import Player
from train import console, ray_cluster
from train.arena.referee import GameRecord, GameRules, play_game
from train.players import make_player
from train.players.loading import files_loaded

_MOST_DEATHS = 3  # process deaths in one game, or at start-up, before giving up
_START_SECONDS = 300.0  # to wait for a process of a cluster to be ready
_NOTICE_SECONDS = 10.0  # before a message about the wait
_SAFE_PATH = "PYTHONSAFEPATH"  # keeps the current folder, whose modules may hide ours, out of a new process


@dataclass(frozen=True)
class GameTask:
    """A game to be played."""

    number: int  # from 1, unique in a match or tournament
    black: str  # player specs
    white: str  # "": the player of Black plays both sides
    opening: tuple[int, ...]  # moves played before the players take over
    seed: int  # seed of players whose specs set none
    rules: GameRules
    comment: str = ""  # for the SGF record
    names: tuple[str, ...] = ()  # of Black and White in records; (): their specs
    opening_number: int = 1  # games with the same opening belong together


class GameWorker:
    """Plays games one after another, and keeps engines running between them."""

    def __init__(self, players: Mapping[str, Player] | None = None) -> None:
        """Make a worker.

        players : player objects, by the names that tasks use for them in place of specs; they play all games
        """
        self._players = players or {}
        self._engines: dict[tuple[str, int], Player] = {}  # by spec and copy
        self._changed: dict[Path, int] = {}  # modification times of the files that players are made from

    def play(self, task: GameTask) -> GameRecord:
        """Play one game. RlgoError for a bad spec, and for an engine that cannot be started."""
        kept = self._engines
        # Two equal specs get an engine each.
        wanted = [(task.black, 0)] + [(task.white, int(task.black == task.white))] * (task.white != "")
        self._engines = {key: kept.pop(key) for key in wanted if key in kept}
        _close(kept.values())
        players = [self._player(key, side, task) for side, key in enumerate(wanted)]
        black, white = players[0], players[-1]
        names = task.names or (task.black, task.white or task.black)
        return play_game(black, white, task.opening, task.rules, comment=task.comment, names=names)

    def _player(self, key: tuple[str, int], side: int, task: GameTask) -> Player:
        spec = key[0]
        if spec in self._players:
            return self._players[spec]
        if key in self._engines:
            return self._engines[key]
        with files_loaded() as files:
            player = make_player(spec, task.rules.size, task.seed, (task.number, side))
        for file in files:
            changed = file.stat().st_mtime_ns
            if self._changed.setdefault(file, changed) != changed:
                raise RlgoError(f"{file}: was changed after the first game; play with a copy")
        if player.persistent:
            self._engines[key] = player
        player.warm_up()
        return player

    def close(self) -> None:
        """Stop the engines."""
        engines, self._engines = self._engines, {}
        _close(engines.values())


def _close(engines: Iterable[Player]) -> None:
    """Stop engines: all of them, even if one is interrupted."""
    with contextlib.ExitStack() as stack:
        for engine in engines:
            stack.callback(engine.close)


class WorkerDied(Exception):
    """Raised when the process that was playing a game is gone."""


class GamePool:
    """Base class of pools: a number of places where games are played at the same time.

    `run` is common to all pools. A pool defines how a game is started in a place (`start`), how to wait for games
    (`wait`), how to get a finished one (`result`), and how to replace a worker that died (`replace`). If workers are
    slow to start, or may fail to, it also defines when they are ready (`readiness`, `admit`).
    """

    places: int  # numbered from 0

    def run(self, tasks: Iterable[GameTask]) -> Iterator[tuple[GameTask, GameRecord]]:
        """Play all games, and yield each as soon as it is over, in any order.

        Raises
        ------
        RlgoError : see `GameWorker.play`; for a game during which one process after another dies; and on a cluster if
            its processes do not start or have another version of rlgo.
        """
        waiting, again, deaths = iter(tasks), deque[GameTask](), Counter[int]()
        busy: dict[Any, tuple[int, GameTask]] = {}
        starting: dict[Any, int] = {}
        idle: list[int] = []  # while there are any, no game is waiting

        def start_next(place: int) -> None:
            task = again.popleft() if again else next(waiting, None)
            if task is None:
                idle.append(place)
            else:
                busy[self.start(place, task)] = place, task

        def start_when_ready(place: int) -> None:
            handle = self.readiness(place)
            if handle is None:
                start_next(place)
            else:
                starting[handle] = place

        for place in range(self.places):
            start_when_ready(place)
        while busy or not idle:
            for handle in self.wait([*busy, *starting]):
                if handle in starting:
                    place = starting.pop(handle)
                    if self.admit(handle):
                        start_next(place)
                    else:
                        self.replace(place)
                        start_when_ready(place)
                    continue
                place, task = busy.pop(handle)
                try:
                    record = self.result(handle)
                except WorkerDied:
                    deaths[task.number] += 1
                    if deaths[task.number] == _MOST_DEATHS:
                        raise RlgoError(f"game {task.number}: its process died {_MOST_DEATHS} times") from None
                    console.message(f"rlgo: game {task.number}: its process died; playing the game again")
                    self.replace(place)
                    again.append(task)
                    start_when_ready(place)
                    if again and idle:
                        start_next(idle.pop())
                else:
                    start_next(place)
                    yield task, record

    def close(self) -> None:
        """Abandon the games in progress, and release all workers."""

    def start(self, place: int, task: GameTask) -> Any:
        """Start a game in a place; return a handle for it."""
        raise NotImplementedError

    def wait(self, handles: list[Any]) -> list[Any]:
        """Wait for games; returns those that are over, possibly none yet."""
        return handles

    def result(self, handle: Any) -> GameRecord:
        """Return a finished game. WorkerDied if its process is gone."""
        raise NotImplementedError

    def replace(self, place: int) -> None:
        """Put a new worker in the place of one that died."""
        raise NotImplementedError

    def readiness(self, place: int) -> Any:  # noqa: ARG002 - a worker takes its first game while it starts
        """Return a handle to wait for until the worker of a place can play; None if it can already."""
        return None

    def admit(self, handle: Any) -> bool:
        """Accept a worker whose `readiness` is over; return whether it is still alive. RlgoError if it cannot play."""
        raise NotImplementedError


def make_pool(
    jobs: int, cluster: str, games: int, players: Mapping[str, Player] | None = None, parallel: int = 1
) -> GamePool:
    """Make a pool for some games. Close it when done.

    Parameters
    ----------
    jobs : games at a time. On a cluster, this is the limit, and 1 means as many as it has CPUs.
    cluster : where to play, see `ray_cluster.connect`; "": on this machine
    games : number of games to play
    players : see `GameWorker`; used in this process only
    parallel : games at a time in this process, whose searches are evaluated in one batch

    Raises
    ------
    RlgoError : for less than one job, and for a cluster that cannot be used.
    """
    if jobs < 1:
        raise RlgoError(f"jobs = {jobs}: expected at least 1")
    if parallel > 1:
        if jobs > 1 or cluster:
            raise RlgoError("parallel cannot be combined with jobs or a cluster: its games share a process")
        return OneBatch(min(parallel, max(1, games)))
    if games and cluster:
        return RayPool(cluster, jobs if jobs > 1 else None)
    return ProcessPool(min(jobs, games)) if min(jobs, games) > 1 else InProcess(players)


class InProcess(GamePool):
    """One game at a time, in this process."""

    places = 1

    def __init__(self, players: Mapping[str, Player] | None = None) -> None:
        """Make the pool; players : see `GameWorker`."""
        self._worker = GameWorker(players)

    def start(self, place: int, task: GameTask) -> GameTask:  # noqa: ARG002 - there is one place
        """Do nothing yet: the game is played when its result is asked for."""
        return task

    def result(self, handle: GameTask) -> GameRecord:
        """Play the game."""
        return self._worker.play(handle)

    def close(self) -> None:
        """Stop the engines."""
        self._worker.close()


class OneBatch(GamePool):
    """n games at a time in this process, whose searches are evaluated in one batch."""

    def __init__(self, n: int) -> None:
        """Make the pool."""
        self.places = n
        self._workers = [GameWorker() for _ in range(n)]
        self._games = SideBySide()

    def start(self, place: int, task: GameTask) -> Job:
        """Play the game up to its first evaluation."""
        return self._games.start(lambda: self._workers[place].play(task))

    def wait(self, handles: list[Any]) -> list[Any]:  # noqa: ARG002 - all games go on
        """Go on with all games until one is over."""
        return self._games.step()

    def result(self, handle: Job) -> GameRecord:
        """Return the record of a game that is over."""
        record: GameRecord = handle.result
        return record

    def close(self) -> None:
        """Give up the games, and stop the engines."""
        self._games.close()
        for worker in self._workers:
            worker.close()


class ProcessPool(GamePool):
    """n games at a time, each in its own process on this machine."""

    def __init__(self, n: int) -> None:
        """Start n processes."""
        self._context = multiprocessing.get_context("spawn")  # not forked: this process may have threads
        self.places = n
        self._workers = [self._spawn() for _ in range(n)]

    @property
    def pids(self) -> list[int]:
        """The ids of the processes, by place."""
        return [process.pid for process, _ in self._workers]

    def _spawn(self) -> tuple[Any, Connection]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, os.environ.get(_SAFE_PATH)), daemon=True)
        with _without_main(), _environment(_SAFE_PATH, "1"), _without_interrupts():
            process.start()
        theirs.close()
        return process, ours

    def start(self, place: int, task: GameTask) -> Connection:
        """Send the game to the process of a place."""
        connection = self._workers[place][1]
        with contextlib.suppress(OSError):  # the process is dead already; `result` will notice
            connection.send(task)
        return connection

    def wait(self, handles: list[Connection]) -> list[Any]:
        """Wait for at least one game."""
        return wait(handles)

    def result(self, handle: Connection) -> GameRecord:
        """Receive a game, or raise what its process raised."""
        try:
            answer = handle.recv()
        except (EOFError, OSError):
            raise WorkerDied from None
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, GameRecord)
        return answer

    def replace(self, place: int) -> None:
        """Start a new process in a place."""
        self._workers[place][1].close()
        self._workers[place] = self._spawn()

    def close(self) -> None:
        """End all processes."""
        for process, connection in self._workers:
            connection.close()
            process.terminate()
        try:
            for process, _ in self._workers:
                process.join(5)
        finally:  # after Ctrl-C, too
            for process, _ in self._workers:
                if process.is_alive():
                    process.kill()


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Keep processes that are started inside the block from importing the main module.

    A script would run again in each of them, unless it asks whether it is the main module.
    """
    own: dict[str, Any] = vars(sys.modules["__main__"])
    hidden: dict[str, Any] = {name: own[name] for name in ("__file__", "__spec__") if name in own}
    own.pop("__file__", None)
    own["__spec__"] = None
    try:
        yield
    finally:
        own.update(hidden)


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block Ctrl-C inside the block, and in processes started there until they unblock it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # started later, it would unblock Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """Set an environment variable inside the block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        _restore(name, before)


def _restore(name: str, value: str | None) -> None:
    """Set an environment variable; None: delete it."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _serve(connection: Connection, safe_path: str | None) -> None:
    """Play the games that come over a connection, until its other end is closed.

    safe_path : PYTHONSAFEPATH for the engines that this process starts
    """
    _restore(_SAFE_PATH, safe_path)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent process, which then ends this one
    if hasattr(signal, "pthread_sigmask"):  # blocked until now
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    worker = GameWorker()
    try:
        while True:
            task = connection.recv()
            try:
                answer: GameRecord | Exception = worker.play(task)
            except RlgoError as error:
                answer = RlgoError(str(error))
            except Exception:
                answer = RuntimeError(traceback.format_exc())
            connection.send(answer)
    except (EOFError, OSError):
        return
    finally:
        worker.close()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a signal during cleanup would print a traceback


class RayPool(GamePool):
    """One game at a time for each free CPU of a Ray cluster, at most n."""

    def __init__(self, cluster: str, n: int | None = None) -> None:
        """Start the workers, as soon as a CPU is free.

        cluster : see `ray_cluster.connect`

        Raises
        ------
        RlgoError : if there is no such cluster, or none of its CPUs becomes free for minutes.
        """
        self._name = f"--cluster {cluster}"
        self._ray, self._is_ours = ray_cluster.connect(cluster, n or 1, setting=self._name)
        self.actors: list[Any] = []
        try:
            free = self._wait_for_cpus()
        except BaseException:
            self.close()
            raise
        self.places = min(n or free, free)
        self._kind = self._ray.remote(_Actor).options(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")
        self.actors = [self._kind.remote(os.getcwd()) for _ in range(self.places)]
        self._starting: set[Any] = set()
        self._deaths = 0  # of processes that were starting, in a row
        self._waits_since, self._has_told = time.monotonic(), False

    def _wait_for_cpus(self) -> int:
        """Wait for a free CPU of the cluster, and return how many there are. RlgoError if there is none for long."""
        for second in range(int(_START_SECONDS)):
            free = int(self._ray.available_resources().get("CPU", 0))  # with those of machines that have just died
            if free:
                return free
            if second == 0:
                console.message(f"rlgo: {self._name}: all of its CPUs are busy; waiting for a free one")
            time.sleep(1.0)
        raise RlgoError(f"{self._name}: none of its CPUs was free for {_START_SECONDS:g} s")

    def start(self, place: int, task: GameTask) -> Any:
        """Send the game to the actor of a place."""
        return self.actors[place].play.remote(task)

    def wait(self, handles: list[Any]) -> list[Any]:
        """Wait for a game or a process that is starting, for a second at most, so that Ctrl-C is seen.

        Raises RlgoError if no process can play for minutes, because no CPU is free.
        """
        over = list(self._ray.wait(handles, timeout=1.0)[0])
        waited = time.monotonic() - self._waits_since
        if over or not self._starting.issuperset(handles):
            self._waits_since = time.monotonic()
        elif waited > _START_SECONDS:
            raise RlgoError(f"{self._name}: no process could start for {_START_SECONDS:g} s: are its CPUs free?")
        elif waited > _NOTICE_SECONDS and not self._has_told:
            self._has_told = True
            console.message(f"rlgo: {self._name}: no process can play; waiting for a free CPU")
        return over

    def result(self, handle: Any) -> GameRecord:
        """Get a game, or raise what its actor raised."""
        errors = self._ray.exceptions
        try:
            record: GameRecord = self._ray.get(handle)
        except errors.RayTaskError as error:
            raise (RlgoError(str(error.cause)) if isinstance(error.cause, RlgoError) else error) from None
        except errors.RayError:
            raise WorkerDied from None
        return record

    def replace(self, place: int) -> None:
        """Start a new actor in a place."""
        self.actors[place] = self._kind.remote(os.getcwd())

    def readiness(self, place: int) -> Any:
        """Ask the actor of a place for its fingerprint. Without a free CPU for it, there is no answer."""
        handle = self.actors[place].fingerprint.remote()
        self._starting.add(handle)
        return handle

    def admit(self, handle: Any) -> bool:
        """Check the fingerprint of an actor. RlgoError, too, if one after another dies first."""
        self._starting.remove(handle)
        try:
            found = str(self._ray.get(handle))
        except self._ray.exceptions.RayError as error:
            self._deaths += 1
            if ray_cluster.was_killed(error) and self._deaths < _MOST_DEATHS:
                return False
            raise RlgoError(f"{self._name}: its processes do not start: {ray_cluster.short_error(error)}") from None
        ray_cluster.check_fingerprint(found, "a machine", self._name)
        self._deaths = 0
        return True

    def close(self) -> None:
        """End all actors, and the connection if it is ours."""
        for actor in self.actors:
            with contextlib.suppress(Exception):
                self._ray.kill(actor)
        if self._is_ours:
            self._ray.shutdown()


class _Actor(GameWorker):
    """A `GameWorker` on any machine of a cluster.

    folder : the current folder of the process that requests games, for relative paths in specs
    """

    def __init__(self, folder: str) -> None:
        super().__init__()
        with contextlib.suppress(OSError):  # another machine may not have it
            os.chdir(folder)

    def fingerprint(self) -> str:
        """Return what must be equal on all machines."""
        return ray_cluster.fingerprint()
