"""Many games at a time: in this process, in others on this machine, or on a Ray cluster.

Start reading at `GameWorker.play`, then `Farm.run`. A process that dies, whatever for, is replaced, and its game is
played again by another. Players that are made from specs begin each game anew, with random numbers that belong to the
game: so no result depends on who plays it, or when.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import traceback
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from rlgo.errors import RlgoError
from rlgo.player import Player
from train.arena.referee import GameRecord, Rules, play_game
from train.players.spec import make_player
from train.ray_cluster import connect, fingerprint

_DEATHS = 3  # of processes over one game: something is wrong with it
_JOIN_SECONDS = 300.0  # for the processes of a cluster to start


@dataclass(frozen=True)
class GameTask:
    """A game to be played."""

    number: int
    black: str  # player specs
    white: str
    opening: tuple[int, ...]
    seed: int  # of players whose specs name none
    rules: Rules
    comment: str = ""  # for its SGF record
    names: tuple[str, ...] = ()  # of the players there; (): their specs
    opening_number: int = 1  # the games of one opening belong together


class GameWorker:
    """Plays games one after the other, and keeps the engines that it has started, while they are needed."""

    def __init__(self, given: Mapping[str, Player] | None = None):
        """given : players by the names that stand for specs of theirs; they stay as they are between games"""
        self._given = given or {}
        self._engines: dict[tuple[str, int], Player] = {}

    def play(self, task: GameTask) -> GameRecord:
        """Play one game. RlgoError for a bad spec, and for an engine that cannot be started."""
        kept = self._engines
        # Of two equal specs each has an engine of its own.
        wanted = [(task.black, 0), (task.white, int(task.black == task.white))]
        self._engines = {key: kept.pop(key) for key in wanted if key in kept}
        _close(kept.values())
        black, white = (self._player(key, side, task) for side, key in enumerate(wanted))
        return play_game(black, white, task.opening, task.rules, task.comment, task.names or (task.black, task.white))

    def _player(self, key: tuple[str, int], side: int, task: GameTask) -> Player:
        spec = key[0]
        if spec in self._given:
            return self._given[spec]
        if key in self._engines:
            return self._engines[key]
        player = make_player(spec, task.rules.size, task.seed, (task.number, side))
        if player.persistent:
            self._engines[key] = player
        player.warm_up()
        return player

    def close(self) -> None:
        """End the engines."""
        engines, self._engines = self._engines, {}
        _close(engines.values())


def _close(engines: Iterable[Player]) -> None:
    for engine in engines:
        engine.close()


class Died(Exception):
    """Whoever played a game is gone."""


class Farm:
    """Those who play games, a place each. `run` is the same for all."""

    places: int

    def run(self, tasks: Iterable[GameTask]) -> Iterator[tuple[GameTask, GameRecord]]:
        """Play them all; each is handed out as soon as it is over, in whatever order.

        Raises
        ------
        RlgoError : see `GameWorker.play`, and for a game over which one process after the other dies.
        """
        waiting, again, deaths = iter(tasks), deque[GameTask](), dict[int, int]()
        busy: dict[Any, tuple[int, GameTask]] = {}

        def hand_out(place: int) -> None:
            task = again.popleft() if again else next(waiting, None)
            if task is not None:
                busy[self._begin(place, task)] = place, task

        for place in range(self.places):
            hand_out(place)
        while busy:
            for call in self._ended(list(busy)):
                place, task = busy.pop(call)
                try:
                    record = self._result(call)
                except Died:
                    deaths[task.number] = deaths.get(task.number, 0) + 1
                    if deaths[task.number] == _DEATHS:
                        raise RlgoError(f"game {task.number}: its process died {_DEATHS} times") from None
                    print(f"rlgo: game {task.number}: its process died; it is played again", file=sys.stderr)
                    self._replace(place)
                    again.append(task)
                    hand_out(place)
                else:
                    hand_out(place)
                    yield task, record

    def close(self) -> None:
        """Give up whatever is under way."""

    def _begin(self, place: int, task: GameTask) -> Any:
        """Have a game begin; returns what names it, while it lasts."""
        raise NotImplementedError

    def _ended(self, calls: list[Any]) -> list[Any]:
        """Wait for games to end; returns which have, or none so far."""
        return calls

    def _result(self, call: Any) -> GameRecord:
        """The game. Died: there will be none."""
        raise NotImplementedError

    def _replace(self, place: int) -> None:
        """Somebody new in the place of one who died."""
        raise NotImplementedError


def make_farm(jobs: int, cluster: str, games: int, given: Mapping[str, Player] | None = None) -> Farm:
    """Who plays some games, `jobs` at a time; on a Ray cluster, where one is named, at most, and 1 is for all its CPUs.

    given : see `GameWorker`; only in this process. Close the farm at the end.
    """
    if jobs < 1:
        raise RlgoError(f"jobs = {jobs}: expected at least 1")
    if games and cluster:
        return RayFarm(cluster, jobs if jobs > 1 else None)
    return Processes(min(jobs, games)) if min(jobs, games) > 1 else OwnProcess(given)


class OwnProcess(Farm):
    """One game at a time, in this process."""

    places = 1

    def __init__(self, given: Mapping[str, Player] | None = None):
        self._worker = GameWorker(given)

    def _begin(self, place: int, task: GameTask) -> GameTask:
        return task

    def _result(self, call: GameTask) -> GameRecord:
        return self._worker.play(call)

    def close(self) -> None:
        self._worker.close()


class Processes(Farm):
    """n games at a time, each in a process of its own on this machine."""

    def __init__(self, n: int):
        # Not forked: this process may have threads.
        self._context = multiprocessing.get_context("spawn")
        self.places = n
        self._crew = [self._hire() for _ in range(n)]

    def _hire(self) -> tuple[Any, Connection]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        return process, ours

    def _begin(self, place: int, task: GameTask) -> Connection:
        connection = self._crew[place][1]
        with contextlib.suppress(OSError):  # dead already, which is seen in a moment
            connection.send(task)
        return connection

    def _ended(self, calls: list[Connection]) -> list[Any]:
        return wait(calls)

    def _result(self, call: Connection) -> GameRecord:
        try:
            answer = call.recv()
        except (EOFError, OSError):
            raise Died from None
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, GameRecord)
        return answer

    def _replace(self, place: int) -> None:
        self._crew[place][1].close()
        self._crew[place] = self._hire()

    def close(self) -> None:
        for process, connection in self._crew:
            connection.close()
            process.terminate()
        for process, _ in self._crew:
            process.join(5)
            if process.is_alive():
                process.kill()


def _serve(connection: Connection) -> None:
    """Play whatever games come, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that we play for
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
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # while Python cleans up, it would be told as an error


class RayFarm(Farm):
    """As many games at a time as a Ray cluster has free CPUs, or n at most."""

    def __init__(self, cluster: str, n: int | None = None):
        """cluster : see `ray_cluster.connect`; RlgoError where there is none, or a machine has another rlgo."""
        name = f"--cluster {cluster}"
        self._ray, self._is_ours = connect(cluster, n or 1, setting=name)
        free = int(self._ray.available_resources().get("CPU", 0))
        self._actors: list[Any] = []
        if not free:
            self.close()
            raise RlgoError(f"{name}: none of its CPUs is free")
        self.places = min(n or free, free)
        self._kind = self._ray.remote(_Actor).options(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")
        self._actors = [self._kind.remote() for _ in range(self.places)]
        try:
            found = self._ray.get([actor.fingerprint.remote() for actor in self._actors], timeout=_JOIN_SECONDS)
        except self._ray.exceptions.RayError as error:
            self.close()
            raise RlgoError(f"{name}: its processes do not start: {str(error).splitlines()[0]}") from None
        others = {one for one in found if one != fingerprint()}
        if others:
            self.close()
            raise RlgoError(f"{name}: a machine has {others.pop()}: expected {fingerprint()}, as here")

    def _begin(self, place: int, task: GameTask) -> Any:
        return self._actors[place].play.remote(task)

    def _ended(self, calls: list[Any]) -> list[Any]:
        return list(self._ray.wait(calls, timeout=1.0)[0])  # in steps, for Ctrl-C

    def _result(self, call: Any) -> GameRecord:
        errors = self._ray.exceptions
        try:
            record: GameRecord = self._ray.get(call)
        except errors.RayTaskError as error:
            raise (RlgoError(str(error.cause)) if isinstance(error.cause, RlgoError) else error) from None
        except errors.RayError:
            raise Died from None
        return record

    def _replace(self, place: int) -> None:
        self._actors[place] = self._kind.remote()

    def close(self) -> None:
        for actor in self._actors:
            with contextlib.suppress(Exception):
                self._ray.kill(actor)
        if self._is_ours:
            self._ray.shutdown()


class _Actor(GameWorker):
    """A `GameWorker` on any machine of a cluster."""

    def fingerprint(self) -> str:
        return fingerprint()
