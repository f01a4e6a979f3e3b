"""Clocks: what a controller allows, what is left of it, and how much of that the next move gets.

Start reading at `Clock.budget`.

Main time is spent by an exponentially decaying schedule (TD paper, Section 6, has one, without its constants): every
move gets the same fraction of what is left, so that early moves, which decide more, get more, and time never ends.
Overtime is spent evenly over the moves of a period.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rlgo.board import BLACK, WHITE
from rlgo.errors import RlgoError

# Of size * size: the own moves after which 1 / e of the time is left; 20 on 9x9, where a side makes some 40 moves.
_TAU = 0.25
# Own moves, of size * size, that are still to come at least, as far as anybody knows; at first, of all points.
_TO_COME = 0.5
# Seconds between the end of a search and the controller's clock: a slice of simulations, pipes, a busy machine.
_LAG = 0.05
# How fast a delay that was seen is forgotten, per move.
_FORGET = 0.9
_NUMBER = r"(\d{1,6}(?:\.\d{1,3})?)"
_FORM = re.compile(rf"{_NUMBER}(?:\+(?:{_NUMBER}/(\d{{1,4}})|(\d{{1,4}})x{_NUMBER}))?")


class TimeSettings(NamedTuple):
    """What each side may use; seconds.

    Absolute: main alone. Canadian: then `stones` moves in every `period`. Byo-yomi: then `periods` of them, in each of
    which a move may be made; who oversteps one has one less.
    """

    main: float
    period: float = 0.0
    stones: int = 0  # of a period; byo-yomi: 1
    periods: int = 0  # byo-yomi: how many; 0: a period of Canadian overtime never is the last one

    def __str__(self) -> str:
        if not self.stones:
            return f"{self.main:g}"
        return f"{self.main:g}+" + (
            f"{self.periods}x{self.period:g}" if self.periods else f"{self.period:g}/{self.stones}"
        )


def parse_time(text: str) -> TimeSettings:
    """Read ``60`` (absolute), ``60+30/5`` (Canadian: 5 moves in 30 s) or ``60+3x10`` (byo-yomi: 3 periods of 10 s)."""
    match = _FORM.fullmatch(text)
    main, canadian, stones, periods, byo_yomi = (float(x or 0) for x in match.groups()) if match else [0.0] * 5
    if match is not None:
        # Overtime has time and moves in it; without it, there is main time.
        if canadian and stones:
            return TimeSettings(main, canadian, int(stones))
        if periods and byo_yomi:
            return TimeSettings(main, byo_yomi, 1, int(periods))
        if main and "+" not in text:
            return TimeSettings(main)
    raise RlgoError(f"time {text!r}: expected seconds, as 60, 60+30/5 (5 moves in 30 s) or 60+3x10 (3 times 10 s)")


class _Side:
    """One side's clock."""

    def __init__(self, settings: TimeSettings):
        self.settings = settings
        self.left = settings.main  # of the main time, or of the period
        self.stones = 0  # still to be made in this period; 0: main time
        self.periods = settings.periods
        self.moves = 0
        self.delay = 0.0  # by which searches have overstepped what they were given, lately
        self.has_lost = False

    def spend(self, seconds: float) -> None:
        """A move took so long."""
        s, self.left, self.moves = self.settings, self.left - seconds, self.moves + 1
        if not self.stones and self.left < 0 and s.stones:  # the end of main time
            self.left, self.stones = self.left + s.period, s.stones
        while s.periods and self.left < 0 and self.periods > 1:
            self.left, self.periods = self.left + s.period, self.periods - 1
        self.has_lost = self.left < 0
        if self.stones == 1:
            self.left, self.stones = s.period, s.stones
        elif self.stones:
            self.stones -= 1


class Clock:
    """The clocks of both sides.

    A controller may tell what is left (`tell`) before a move. Those who never do are believed to count from their
    command to the answer, which `spend` adds up.
    """

    def __init__(self, settings: TimeSettings | None = None):
        """None: there is no limit."""
        self.settings = settings
        self._sides: dict[int, _Side] = {}
        self.restart()

    def restart(self) -> None:
        """A new game begins."""
        delays = {color: side.delay for color, side in self._sides.items()}  # the machine is the same
        self._sides = {} if self.settings is None else {c: _Side(self.settings) for c in (BLACK, WHITE)}
        for color, side in self._sides.items():
            side.delay = delays.get(color, 0.0)

    def tell(self, color: int, seconds: float, stones: int = 0) -> None:
        """What GTP's time_left says: time left, and in overtime for so many moves (byo-yomi: periods)."""
        if color not in self._sides:
            return
        side = self._sides[color]
        side.left, side.stones = max(0.0, seconds), stones
        if stones and side.settings.periods:
            side.stones, side.periods = 1, stones

    def spend(self, color: int, seconds: float, budget: float | None = None) -> None:
        """A move of a colour took so long. It was given `budget`, which None says of who looks at the clock itself."""
        if color in self._sides:
            side = self._sides[color]
            side.spend(seconds)
            if budget is not None:
                side.delay = max(_FORGET * side.delay, min(1.0, seconds - budget))

    def left(self, color: int) -> tuple[float, int]:
        """What GTP's time_left says: see `tell`. A clock without a limit has nothing to say: KeyError."""
        side = self._sides[color]
        return max(0.0, side.left), side.periods if side.stones and side.settings.periods else side.stones

    def has_lost(self, color: int) -> bool:
        """Whether a colour has overstepped its time with its last move."""
        return color in self._sides and self._sides[color].has_lost

    def allows(self, color: int) -> float | None:
        """Seconds that a colour may use for one move before it has lost; None without a limit."""
        if color not in self._sides:
            return None
        side = self._sides[color]
        s = side.settings
        overtime = s.period * max(1, side.periods) if s.stones and not side.stones else s.period * (side.periods - 1)
        return side.left + max(0.0, overtime)

    def budget(self, color: int, size: int) -> float | None:
        """Seconds for the next move of a colour on a board of this size; None: no limit. 0: at once."""
        if color not in self._sides:
            return None
        side, settings = self._sides[color], self._sides[color].settings
        lag = _LAG + side.delay
        if side.stones:
            seconds = side.left / side.stones - lag
            if side.stones == 1:
                seconds -= min(0.1 * side.left, 1.0)  # nothing behind it forgives
        else:
            # What goes by between the searches of all moves to come is not there to be spent.
            to_come = max(_TO_COME * size * size, size * size - side.moves)
            seconds = (side.left - lag * to_come) / (_TAU * size * size)
            if settings.stones:  # who has overtime need not save main time below its pace
                seconds = max(seconds, 0.9 * settings.period / settings.stones - lag)
        return max(0.0, seconds)
