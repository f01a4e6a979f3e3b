"""Pools that play games: in this process, in several processes on this machine, or on a Ray cluster.

Start reading at `GameWorker.play`, then `GamePool.run`. A process that dies is replaced, and its game is played again.
Players made from specs start each game afresh, with random numbers that belong to the game. So no result depends on
which process plays a game, or when.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import sys
import traceback
from collections import Counter
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
from train.provenance import file_digest

_MOST_DEATHS = 3  # process deaths in one game before giving up
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
        self._digests: dict[Path, str] = {}

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
            if self._changed.get(file) != changed:  # git and rsync may write the same content again
                digest = file_digest(file)
                if self._digests.setdefault(file, digest) != digest:
                    raise RlgoError(f"{file}: was changed after the first game; play with a copy")
                self._changed[file] = changed
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
    """Raised when the process that was playing a game is gone; its text is the reason, as far as it is known."""


class GamePool:
    """Base class of pools: a number of places where games are played at the same time.

    `run` is common to all pools. A pool defines how a game is started in a place (`start`), how to wait for games
    (`wait`), how to get a finished one (`result`), and how to replace a worker that died (`replace`).
    """

    places: int  # numbered from 0

    def run(self, tasks: Iterable[GameTask]) -> Iterator[tuple[GameTask, GameRecord]]:
        """Play all games, and yield each as soon as it is over, in any order.

        Raises
        ------
        RlgoError : see `GameWorker.play`; for a game during which one process after another dies; and if a machine of
            a cluster has another version of rlgo.
        """
        waiting, deaths = iter(tasks), Counter[int]()
        busy: dict[Any, tuple[int, GameTask]] = {}

        def start_next(place: int) -> None:
            task = next(waiting, None)
            if task is not None:
                busy[self.start(place, task)] = place, task

        for place in range(self.places):
            start_next(place)
        while busy:
            for handle in self.wait([*busy]):
                place, task = busy.pop(handle)
                try:
                    record = self.result(handle)
                except WorkerDied as error:
                    deaths[task.number] += 1
                    if deaths[task.number] == _MOST_DEATHS:
                        why = f": {error}" if str(error) else ""
                        raise RlgoError(f"game {task.number}: its process died {_MOST_DEATHS} times{why}") from None
                    console.message(f"rlgo: game {task.number}: its process died; playing the game again")
                    self.replace(place)
                    busy[self.start(place, task)] = place, task
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
        """Take the game, which goes on in `wait`."""
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
    """n games at a time on a Ray cluster, or as many as it has CPUs. Those for which no CPU is free wait for one."""

    def __init__(self, cluster: str, n: int | None = None) -> None:
        """Connect to a cluster, see `ray_cluster.connect`. RlgoError if there is no such cluster."""
        self._name = name = f"--cluster {cluster}"
        self._ray, self._is_ours = ray_cluster.connect(cluster, n or 1, setting=name)
        self.places = n or max(1, int(self._ray.cluster_resources().get("CPU", 0)))
        if self._ray.available_resources().get("CPU", 0) < 1:
            console.message(f"rlgo: {name}: all of its CPUs are busy; waiting for a free one")
        # A game whose process died is played again by `run`.
        options = {"num_cpus": 1, "max_retries": 0, "scheduling_strategy": "SPREAD"}
        task = self._ray.remote(_play).options(**options)
        self._play = functools.partial(task.remote, os.getcwd(), ray_cluster.fingerprint(), name)
        self._calls: set[Any] = set()

    def start(self, place: int, task: GameTask) -> Any:  # noqa: ARG002 - Ray finds a place
        """Send the game to the cluster."""
        call = self._play(task)
        self._calls.add(call)
        return call

    def wait(self, handles: list[Any]) -> list[Any]:
        """Wait for a game, for a second at most, so that Ctrl-C is seen."""
        ray_cluster.check_alive(self._ray, self._name)
        return list(self._ray.wait(handles, timeout=1.0)[0])

    def result(self, handle: Any) -> GameRecord:
        """Get a game, or raise what its process raised."""
        errors = self._ray.exceptions
        self._calls.remove(handle)
        try:
            record: GameRecord = self._ray.get(handle)
        except errors.RayTaskError as error:
            if isinstance(error.cause, RlgoError):
                raise RlgoError(str(error.cause)) from None
            raise RlgoError(f"{self._name}: a game failed: {ray_cluster.short_error(error)}") from None
        except errors.RayError as error:
            raise WorkerDied(ray_cluster.short_error(error)) from None
        return record

    def replace(self, place: int) -> None:
        """Do nothing: Ray has another process."""

    def close(self) -> None:
        """End the connection if it is ours, and with it all games; otherwise only the games."""
        if self._is_ours:
            self._ray.shutdown()
        else:
            ray_cluster.cancel(self._ray, self._calls)


@functools.cache
def _worker_in(folder: str, fingerprint: str, name: str) -> GameWorker:
    """Make the worker of a process of a cluster, which keeps engines between games.

    folder : the current folder of the process that requests games, for relative paths in specs
    fingerprint : see `ray_cluster.check_fingerprint`, also for the name
    """
    ray_cluster.check_fingerprint(fingerprint, name)
    with contextlib.suppress(OSError):  # another machine may not have it
        os.chdir(folder)
    return GameWorker()


def _play(folder: str, fingerprint: str, name: str, task: GameTask) -> GameRecord:
    """Play a game in a process of a cluster."""
    worker = _worker_in(folder, fingerprint, name)
    try:
        return worker.play(task)
    except KeyboardInterrupt:  # cancelled: an engine may still owe an answer
        worker.close()
        raise
