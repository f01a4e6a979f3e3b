"""KataGo's analysis protocol, which KaTrain uses: queries and answers are lines of JSON.

Start reading at `AnalysisEngine.run`. A thread reads the queries, which `query_fields` checks; the most urgent turn is
answered first. All queries share one player, so searches run one after another.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import from_row_col
from rlgo.go.game import Game
from rlgo.play.gtp.analyze import AnalysisOptions
from rlgo.play.gtp.kata import describe
from rlgo.play.gtp.query_fields import Action, Query, read_query
from rlgo.play.notes import print_bug
from rlgo.play.player import Candidate
from rlgo.play.searching import REPORT_SECONDS
from rlgo.play.session import GameSession
from rlgo.play.sized_players import MakePlayer

# What answers to actions have beside the query
_ACTIONS: dict[str, dict[str, Any]] = {
    "query_version": {"version": "1.16.0", "git_hash": "rlgo"}, "query_models": {"models": []},
}  # fmt: skip
_FIRST, _LAST = -(1 << 62), 1 << 62  # urgencies


@dataclass(eq=False)
class _Job:
    """A turn of a query, until it is answered."""

    query: Query
    turn: int
    is_stopped: bool = False


class AnalysisEngine:
    """Answers queries about positions.

    Parameters
    ----------
    make : makes the player for a board size
    write : takes each answer, a line
    """

    def __init__(self, make: MakePlayer, write: Callable[[str], None]) -> None:
        self._make, self._write = make, write
        self._sessions: dict[int, GameSession] = {}
        self._jobs: queue.PriorityQueue[tuple[int, int, _Job | Action | None]] = queue.PriorityQueue()
        self._open: dict[int, _Job] = {}  # by their numbers, until they are answered
        self._put_so_far = 0
        self._lost: OSError | None = None  # why nothing can be written any more

    def run(self, lines: Iterable[str]) -> None:
        """Answer all queries, until the lines end. OSError if the answers cannot be written."""
        threading.Thread(target=self._read_all, args=(lines,), daemon=True).start()
        try:
            while True:
                _, number, job = self._jobs.get()
                if self._lost is not None:
                    raise self._lost
                if job is None:
                    break
                self._act(job) if isinstance(job, Action) else self._answer(job)
                self._open.pop(number, None)
        finally:
            for session in self._sessions.values():
                session.close()

    # --- in the thread that reads ---

    def _read_all(self, lines: Iterable[str]) -> None:
        try:
            with contextlib.suppress(OSError):  # of the lines, or of the answers, which `run` raises
                for line in lines:
                    if line.strip():
                        self._read(line)
        finally:  # after a bug, too: otherwise `run` would wait for ever
            self._put(_FIRST if self._lost else _LAST, None)

    def _read(self, line: str) -> None:
        query = read_query(line)
        if isinstance(query, dict):
            self._answer_with(query)
            return
        for field, text in query.warnings.items():
            self._answer_with({"id": query.id, "field": field, "warning": text})
        if isinstance(query, Query):
            for turn in query.analyzeTurns:
                self._put(-query.priority, _Job(query, turn))
        elif query.action == "clear_cache":  # between two searches
            self._put(_FIRST, query)
        else:
            self._act(query)

    def _put(self, urgency: int, job: _Job | Action | None) -> None:
        self._put_so_far += 1
        if isinstance(job, _Job):
            self._open[self._put_so_far] = job
        self._jobs.put((urgency, self._put_so_far, job))

    def _act(self, action: Action) -> None:
        if action.action.startswith("terminate"):
            for job in list(self._open.values()):
                is_meant = getattr(action, "terminateId", job.query.id) == job.query.id
                job.is_stopped |= is_meant and job.turn in (action.turnNumbers or [job.turn])
        for session in self._sessions.values() if action.action == "clear_cache" else ():
            session.player.new_game()
        given = action.model_dump(exclude_unset=True, include=set(type(action).model_fields))
        self._answer_with({**given, **_ACTIONS.get(action.action, {})})

    # --- searches ---

    def _answer(self, job: _Job) -> None:
        query, about = job.query, {"id": job.query.id, "turnNumber": job.turn}
        if job.is_stopped:
            self._answer_with({**about, "isDuringSearch": False, "noResults": True})
            return
        about["field"] = "boardXSize"  # which the player may not know
        try:
            game = query.position(job.turn)
            session = self._session(game.size)
            session.follow(game)
            del about["field"]
            self._search(job, session)
        except BrokenPipeError:  # the client is gone
            raise
        except RlgoError as error:
            self._answer_with({**about, "error": str(error)})
        except Exception as error:
            print_bug()
            self._answer_with({**about, "error": f"internal error: {type(error).__name__}"})

    def _search(self, job: _Job, session: GameSession) -> None:
        """Search a position up to the visits of the query, with answers meanwhile, if it wants them, and at the end."""
        query, game = job.query, session.game
        every = query.reportDuringSearchEvery
        found: list[Candidate] = []
        began = time.monotonic()

        def is_over() -> bool:
            return (
                job.is_stopped
                or self._lost is not None
                or time.monotonic() - began >= query.overrideSettings.maxTime
                or sum(c.visits for c in session.player.candidates(game)) >= query.maxVisits
            )

        def report(candidates: list[Candidate], _: Game) -> None:
            found[:] = candidates
            if every and not is_over():
                self._answer_with(self._describe(job, candidates, game, during=True))

        session.analyze(report, every or REPORT_SECONDS, stop=is_over)
        self._answer_with(self._describe(job, found, game, during=False))

    def _session(self, size: int) -> GameSession:
        if size not in self._sessions:
            self._sessions[size] = GameSession(self._make(size), size)
        return self._sessions[size]

    def _describe(self, job: _Job, found: Sequence[Candidate], game: Game, *, during: bool) -> dict[str, Any]:
        query, view = job.query, job.query.overrideSettings.reportAnalysisWinratesAs
        color = {"BLACK": BLACK, "WHITE": WHITE}.get(view, game.to_play)
        options = AnalysisOptions(color, ownership=query.includeOwnership, pv_visits=query.includePVVisits)
        options = options._replace(moves_ownership=query.includeMovesOwnership)
        answer: dict[str, Any] = {"id": query.id, "isDuringSearch": during, "turnNumber": job.turn}
        answer |= describe(found, game, self._session(game.size).player, options)
        return answer | ({"policy": _policy(found, game)} if query.includePolicy else {})

    def _answer_with(self, answer: Mapping[str, Any]) -> None:
        try:
            self._write(json.dumps(answer) + "\n")
        except OSError as error:
            self._lost = error
            raise


def _policy(found: Sequence[Candidate], game: Game) -> list[float]:
    """Return the share of the visits of each move, from the top left, then of a pass; -1 where a move is illegal.

    It replaces a network's policy.
    """
    size = game.size
    total = max(1, sum(c.visits for c in found))
    shares = {c.move: c.visits / total for c in found}
    legal = set(game.legal_moves())
    points = [from_row_col(row, col, size) for row in reversed(range(size)) for col in range(size)]
    return [*(shares.get(p, 0.0) if p in legal else -1.0 for p in points), shares.get(PASS, 0.0)]
