"""The clocks of humans: they run while it is their turn, stop while the game pauses, and report a loss on time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rlgo.go.clock import Clock, TimeSettings


class HumanTimes:
    """The clocks of both sides, of which only humans use theirs.

    Parameters
    ----------
    settings : None: no clock
    lost : called with the colour whose time is up, from a thread of its own
    clock : returns seconds

    Attributes
    ----------
    runs_for : the colour whose clock runs, or None
    """

    def __init__(
        self,
        settings: TimeSettings | None,
        lost: Callable[[int], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clocks, self._lost, self._now = Clock(settings), lost, clock
        self._used = self._began = 0.0  # seconds of this turn before the last pause; when it went on
        self._timer: threading.Timer | None = None
        self._loser: int | None = None
        self._turn: int | None = None  # whose time `_used` is
        self.runs_for: int | None = None

    def go_on(self, color: int | None) -> None:
        """Let the clock of a colour run on; None: none."""
        self.stop()
        allowed = None if color is None else self._clocks.allows(color)
        if color is None or allowed is None or self._loser is not None:
            return
        if color != self._turn:
            self._used, self._turn = 0.0, color
        self._began, self.runs_for = self._now(), color
        self._timer = threading.Timer(max(0.0, allowed - self._used), self._time_is_up, (color,))
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """Stop the clock that runs."""
        if self._timer is not None:
            self._timer.cancel()
        if self.runs_for is not None:
            self._used += self._now() - self._began
        self._timer, self.runs_for = None, None

    def end_turn(self, color: int) -> None:
        """Subtract the time of a move that has been played."""
        self.stop()
        if color == self._turn:
            self._clocks.spend(color, self._used)
        self._used, self._turn = 0.0, None

    def left(self, color: int) -> tuple[float, int] | None:
        """Return what a colour has left, (seconds, stones) as in `Clock.left`, less what this turn has used."""
        if self._clocks.settings is None:
            return None
        seconds, stones = self._clocks.left(color)
        used = 0.0
        if color == self._turn:
            used = self._used + (self._now() - self._began if self.runs_for is not None else 0.0)
        return seconds - used, stones

    def has_lost(self, color: int) -> bool:
        """Return whether a colour's time is up."""
        return self._loser is not None and self._loser == color

    def forgive(self) -> None:
        """Go on without a clock, after a loss on time that is taken back."""
        if self._loser is not None:
            self.stop()
            self._loser = None
            self._clocks.set(None)

    def _time_is_up(self, color: int) -> None:
        if self.runs_for == color:
            self._loser = color
            self.stop()
            self._lost(color)
