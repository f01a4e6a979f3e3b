"""A thread that searches, for an engine's move or for analysis.

Start reading at `Searcher._run`. A tab has one searcher for each role. A new job replaces the old one, whose
search ends between two slices, and whose result is dropped.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from rlgo.base.errors import RlgoError
from rlgo.base.threads import Workers
from rlgo.go.clock import TimeSettings
from rlgo.go.game import Game
from rlgo.play.notes import print_bug
from rlgo.play.player import Player
from rlgo.play.session import GameSession
from train.play.curve import opinion_of
from train.play.web.access.specs import Specs
from train.play.web.options import Limits
from train.play.web.searching.watch import Subject, Watch
from train.players.networks import make_judge

STATES = ("idle", "preparing", "searching")


class Shared:
    """State that all tabs of a server share.

    Attributes
    ----------
    specs : makes players
    limits : see `options.Limits`
    player_slots : each live player takes one
    """

    def __init__(self, specs: Specs, limits: Limits) -> None:
        self.specs, self.limits = specs, limits
        self.player_slots = threading.BoundedSemaphore(limits.players)


@dataclass(eq=False)
class Job:
    """One search."""

    spec: str
    game: Game  # the position; it must not change
    number: int  # number of the search within its tab
    played: int | None = None  # for a review: the move played there, which is compared with the best
    plays: bool = False  # whether to play a move on the clock, rather than analyse
    resigns: bool = False  # whether to give up a lost game
    seconds: float | None = None  # limit of the search
    game_number: int = 0  # a player forgets the last game when it changes
    time_settings: TimeSettings | None = None  # of the game
    is_ended: bool = False
    is_cancelled: bool = False

    def end(self) -> None:
        """End the search with the best move so far."""
        self.is_ended = True

    def cancel(self) -> None:
        """End the search, and forget its result."""
        self.is_cancelled = self.is_ended = True


class Listener(NamedTuple):
    """Callbacks of a searcher, called from its thread.

    Attributes
    ----------
    send : takes a message as JSON, and a key: a later message of the same key may replace it. None: it must arrive
    state_changed : takes the searcher's state, one of STATES
    done : takes the job and its move, once the search is over
    so_far : takes the position and the player, now and then during a search and at its end; or None
    """

    send: Callable[[str, str | None], None]
    state_changed: Callable[[str], None]
    done: Callable[[Job, int], None]
    so_far: Callable[[Game, Player], None] | None = None


class Searcher:
    """The search of one role of a tab.

    Parameters
    ----------
    role : game, analysis, a, b or review
    shared : by all tabs
    listener : its callbacks
    """

    def __init__(self, role: str, shared: Shared, listener: Listener) -> None:
        self.role, self._shared, self._listener = role, shared, listener
        self._worker = Workers(f"search-{role}")
        self._job: Job | None = None
        self._lock = threading.RLock()  # of `_job`, which the thread forgets once it is done
        self._session: GameSession | None = None
        self._made: tuple[Any, ...] = ()  # spec and board size of the session's player
        self._game_number: int | None = None
        self.last: Watch | None = None  # of the last search, or of the one that runs

    @property
    def number(self) -> int:
        """The number of the last search; 0 before the first."""
        return 0 if self.last is None else self.last.subject.number

    def start(self, job: Job) -> None:
        """Begin a job; an earlier one is cancelled."""
        with self._lock:
            self.cancel()
            self._job = job
        self._worker.submit(lambda: self._try(job, self._run))

    def prepare(self, job: Job) -> None:
        """Make the player of a job in advance, so that its first move need not wait for a compiler."""
        self._job = job
        self._worker.submit(lambda: self._try(job, self._session_of))

    def end(self) -> None:
        """End the search in hand with the best move so far."""
        with self._lock:
            if self._job is not None:
                self._job.end()

    def cancel(self) -> None:
        """End the search in hand, and forget its result."""
        with self._lock:
            if self._job is not None:
                self._job.cancel()
                self._job = None

    def clock_left(self, color: int, game_number: int) -> tuple[float, int] | None:
        """Return what the player has left on its clock, (seconds, stones); None without a clock in this game."""
        session = self._session
        if session is None or session.clock.settings is None or game_number != self._game_number:
            return None
        return session.clock.left(color)

    def close(self) -> None:
        """Cancel the search, and release the thread and the player."""
        self.cancel()
        self._worker.submit(self._drop_player)
        self._worker.close()

    # --- in the thread ---

    def _try(self, job: Job, run: Callable[[Job], object]) -> None:
        """Run a job, and report any error."""
        try:
            if not job.is_cancelled:
                run(job)
        except RlgoError as error:
            self._fail(job, str(error))
        except Exception as error:
            print_bug()
            self._fail(job, f"internal error: {type(error).__name__}: {error}")
        finally:
            with self._lock:
                if self._job is job:
                    self._job = None
                is_idle = self._job is None
            if is_idle:
                self._listener.state_changed("idle")

    def _fail(self, job: Job, message: str) -> None:
        if not job.is_cancelled:
            self._listener.send(json.dumps({"type": "error", "id": None, "role": self.role, "message": message}), None)

    def _run(self, job: Job) -> None:
        session = self._session_of(job)
        session.follow(job.game)
        subject = Subject(self.role, job.number, job.spec, session.game.copy())
        watch = Watch(subject, session.player, self._send_frame, self._shared.limits.frames)
        watch.is_on, watch.so_far = self.role != "review", self._listener.so_far
        self.last = watch
        self._listener.state_changed("searching")
        session.stop, session.resigns, more = self._stop_of(job, watch), job.resigns, {}
        if self.role == "review":
            session.player.limit = self._seconds_of(job)
            opinion = opinion_of(session.game, session.player, job.played)
            move, more = opinion.best, {"opinion": opinion._asdict()}
        else:
            move = session.genmove() if job.plays else session.suggest()
        if job.is_cancelled:
            return
        self._listener.send(json.dumps({**watch.finish(move), **more}), None)
        self._listener.done(job, move)

    def _stop_of(self, job: Job, watch: Watch) -> Callable[[], bool]:
        """Return the function that stops the search; it is called between two slices."""
        most = self._shared.limits.seconds if self.role == "review" else self._seconds_of(job)
        ends = time.monotonic() + most  # a review keeps to its seconds by itself

        def stop() -> bool:
            if job.is_ended or time.monotonic() >= ends:
                return True
            watch.look()
            return job.is_ended

        return stop

    def _seconds_of(self, job: Job) -> float:
        return min(self._shared.limits.seconds, job.seconds or math.inf)

    def _send_frame(self, text: str) -> None:
        self._listener.send(text, f"search {self.role}")

    def _session_of(self, job: Job) -> GameSession:
        """Return the session of the job's player, and begin its game if that is new."""
        key = job.spec, job.game.size
        if self._session is None or key != self._made:
            self._listener.state_changed("preparing")
            self._drop_player()
            self._session = self._make(job)
            self._made, self._game_number = key, None
        if job.game_number != self._game_number:
            self._session.new_game(job.game.size, job.game.komi)
            self._session.set_time(job.time_settings)
            self._game_number = job.game_number
        return self._session

    def _make(self, job: Job) -> GameSession:
        if not self._shared.player_slots.acquire(blocking=False):
            most = self._shared.limits.players
            raise RlgoError(f"the server has all of its {most} players in use: close another tab")
        try:
            player = self._shared.specs.make(job.spec, job.game.size)
            return GameSession(player, job.game.size, job.game.komi, judge=make_judge, early_pass=self.role == "game")
        except BaseException:
            self._shared.player_slots.release()
            raise

    def _drop_player(self) -> None:
        if self._session is not None:
            try:
                self._session.close()
            finally:
                self._session, self._made = None, ()
                self._shared.player_slots.release()
