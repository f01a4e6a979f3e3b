"""The searches of a session: on its clock, with reports, and ended by an interrupt.

Start reading at `Searching.choose`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rlgo.base.budget import never
from rlgo.base.errors import RlgoError
from rlgo.go.clock import Clock
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.play.notes import bugs_as_errors
from rlgo.play.player import RESIGN, Candidate
from rlgo.play.sized_players import SizedPlayers

REPORT_SECONDS = 0.5  # between two reports of an analysis, by default

Report = Callable[[list[Candidate], Game], None]


class LastSearch(NamedTuple):
    """The result of the last search for a move."""

    game: Game  # the position searched
    candidates: list[Candidate]  # the player's opinion of its moves, best first


class Searching:
    """The searches of a session.

    Parameters
    ----------
    players : of which the current one searches
    clock : of both sides
    log : called with a line of text for each search and its result

    Attributes
    ----------
    last : the last search for a move, or None
    stop : polled during a search; for a front end with its own way of interrupting
    """

    def __init__(self, players: SizedPlayers, clock: Clock, log: Callable[[str], None]) -> None:
        self._players, self._clock, self._log = players, clock, log
        self.last: LastSearch | None = None
        self.stop: Callable[[], bool] = never
        self._is_interrupted = False

    def interrupt(self) -> None:
        """End the search in progress with the best move so far. May be called from any thread."""
        self._is_interrupted = True

    def is_stopped(self) -> bool:
        """Return whether the search in progress should end."""
        return self._is_interrupted or self.stop()

    def choose(
        self,
        game: Game,
        choose: Callable[[Game], int] | None = None,
        *,
        timed: bool = False,
        report: Report | None = None,
        every: float = REPORT_SECONDS,
    ) -> int:
        """Find a legal move for the side to play, or RESIGN, without changing the game.

        Parameters
        ----------
        choose : chooses the move, with the player; by default its `genmove`
        timed : whether the side's clock runs
        report, every : see `analyze`
        """
        player, color = self._players.current, game.to_play
        start = time.monotonic()
        player.read_clock(self._clock, color, game.size)
        self.last, self._is_interrupted = None, False
        try:
            with bugs_as_errors(), self._reporting(report, game, every):
                p = int((choose or player.genmove)(game))
            why = None if p == RESIGN else game.why_illegal(p)
            if why is not None:
                raise RlgoError(f"{player.name} chose an illegal move: {why}")
        finally:
            seconds, budget = time.monotonic() - start, player.limit
            if timed:
                self._clock.spend(color, seconds, budget)
        with bugs_as_errors():
            self.last = LastSearch(game.copy(), self._candidates(game))
            self._log(f"{COLOR_NAMES[color]} {seconds:.3f} s" + ("" if budget is None else f" of {budget:.3f} s"))
            for line in player.report():
                self._log(line)
        return p

    def analyze(self, game: Game, report: Report, every: float, stop: Callable[[], bool]) -> None:
        """Think about a position until `stop` returns True or the search is complete.

        Parameters
        ----------
        report : called with the candidates so far and the position, at intervals and at the end
        every : seconds between two reports
        """
        self._is_interrupted = False
        player = self._players.current
        reporter = _Reporter(lambda: self._report(report, game), every, lambda: stop() or self.is_stopped())
        with bugs_as_errors():
            player.ponder(game, reporter.stop)
            self._report(report, game)

    def _report(self, report: Report, game: Game) -> None:
        candidates = self._candidates(game)
        if candidates:
            report(candidates, game)

    def _candidates(self, game: Game) -> list[Candidate]:
        found = self._players.current.candidates(game)
        return [c for c in found if game.allowed is None or c.move in game.allowed]

    @contextlib.contextmanager
    def _reporting(self, report: Report | None, game: Game, every: float) -> Iterator[None]:
        """Report the candidates during a search."""
        if report is None:
            yield
            return
        player = self._players.current
        player.stop = _Reporter(lambda: self._report(report, game), every, self.is_stopped).stop
        try:
            yield
        finally:
            player.stop = self.is_stopped


class _Reporter:
    """A `stop` function that also calls `report` at intervals."""

    def __init__(self, report: Callable[[], None], every: float, stop: Callable[[], bool]):
        self._report, self._every, self._stop = report, every, stop
        self._last = time.monotonic()

    def stop(self) -> bool:
        now = time.monotonic()
        if now - self._last >= self._every:
            self._last = now
            self._report()
        return self._stop()
