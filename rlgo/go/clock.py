"""Game clocks: time settings, time left, and the budget of the next move.

Start reading at `Clock.budget`.

Main time is spent on an exponentially decaying schedule (TD paper, Section 6.1, which does not give the constants):
every move gets the same fraction of what is left. Early moves, which matter more, get more, and the time never runs
out. Overtime is spent evenly over the moves of a period.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from rlgo.base.errors import RlgoError
from rlgo.base.settings import CountOr0, NonNegative
from rlgo.go.board import BLACK, WHITE

# After this many of a side's moves (a fraction of size * size), 1 / e of its time is left: 20 of about 40 on 9x9.
_TAU = 0.25
# Main time held in reserve, in moves of a side (as fractions of size * size): for a whole game, and the least.
# First for delays that were measured, which could lose a long game on time; then for `_LAG`, which is only a guess.
_DELAYED, _LAGGED = (1.0, 0.5), (0.75, 0.25)
# Seconds between the end of a search and the controller stopping the clock: a last slice, pipes, a busy machine.
_LAG = 0.05
# The difference between the best two moves, in logits of P(win), at which a move takes about its budget. (Half of those
# of Dyna-2 on 9x9 are below 0.14; on average the factor is 1.)
_CLOSE = 0.09
# Factor per move by which a measured delay is forgotten.
_FORGET = 0.9
_NUMBER = r"(\d{1,6}(?:\.\d{1,3})?)"
_FORM = re.compile(rf"{_NUMBER}(?:\+(?:{_NUMBER}/(\d{{1,4}})|(\d{{1,4}})x{_NUMBER}))?")


class TimeSettings(NamedTuple):
    """The time control of a game, in seconds for each side: absolute, Canadian or byo-yomi.

    Absolute: main time only. Canadian: then `stones` moves in every `period`. Byo-yomi: then `periods` periods, one for
    each move; a side that exceeds a period loses it. A period without moves means no overtime. `GameSession`
    checks them.

    >>> import rlgo
    >>> print(rlgo.TimeSettings(main=300, period=30, stones=5))
    300+30/5
    """

    main: NonNegative
    period: NonNegative = 0.0
    stones: CountOr0 = 0  # moves in a period; 1 for byo-yomi
    periods: CountOr0 = 0  # for byo-yomi; 0: Canadian overtime, which never ends

    def combine(self) -> None:
        """Refuse overtime without time, and byo-yomi with other than one move in a period."""
        if self.stones and not self.period:
            raise RlgoError(f"period = 0 cannot be combined with stones = {self.stones}: overtime needs time")
        if self.periods and self.stones != 1:
            raise RlgoError(f"periods = {self.periods} cannot be combined with stones = {self.stones}: byo-yomi has 1")

    def __str__(self) -> str:
        if not self.stones:
            return f"{self.main:g}"
        return f"{self.main:g}+" + (
            f"{self.periods}x{self.period:g}" if self.periods else f"{self.period:g}/{self.stones}"
        )


def parse_time(text: str) -> TimeSettings:
    """Parse ``60`` (absolute), ``60+30/5`` (Canadian: 5 moves in 30 s) or ``60+3x10`` (byo-yomi: 3 periods of 10 s).

    RlgoError for anything else.
    """
    match = _FORM.fullmatch(text)
    main, canadian, stones, periods, byo_yomi = (float(x or 0) for x in match.groups()) if match else [0.0] * 5
    if match is not None:
        # Overtime needs time and moves; without overtime there must be main time.
        if canadian and stones:
            return TimeSettings(main, canadian, int(stones))
        if periods and byo_yomi:
            return TimeSettings(main, byo_yomi, 1, int(periods))
        if main and "+" not in text:
            return TimeSettings(main)
    raise RlgoError(f"time {text!r}: expected seconds, as 60, 60+30/5 (5 moves in 30 s) or 60+3x10 (3 times 10 s)")


def seconds_for(budget: float, spare: float, gap: float) -> float:
    """Return the seconds for a move whose best two candidates differ by `gap` logits of P(win).

    It ranges from half the budget, if one is far ahead, to budget + spare, if both have the same value.
    """
    return budget / 2 + (budget / 2 + spare) * math.exp(-gap / _CLOSE)


class _Side:
    """The clock of one side."""

    def __init__(self, settings: TimeSettings):
        self.settings = settings
        self.left = settings.main  # seconds, of the main time or of the period
        self.stones = 0  # moves still to be made in this period; 0: main time
        self.periods = settings.periods
        self.moves = 0
        self.delay = 0.0  # seconds by which recent searches exceeded their budget
        self.has_lost = False

    def share(self, size: int) -> float:
        """Return a move's share of the main time, in seconds."""
        area = size * size

        def to_come(whole: float, least: float) -> float:
            return max(least * area, whole * area - self.moves)

        kept = self.delay * to_come(*_DELAYED) + max(0.0, _LAG - self.delay) * to_come(*_LAGGED)
        return (self.left - kept) / (_TAU * area)

    def pace(self) -> float:
        """Return the seconds of a move in overtime, with a margin."""
        return 0.9 * self.settings.period / self.settings.stones - _LAG - self.delay

    def spend(self, seconds: float) -> None:
        """Subtract the time of a move."""
        s, self.left, self.moves = self.settings, self.left - seconds, self.moves + 1
        if not self.stones and self.left < 0 and s.stones:  # main time is over
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

    A controller may state the time left before a move (`set_left`). If it never does, the time of each move, from the
    command to the answer, is subtracted by `spend`.

    Attributes
    ----------
    settings : the time settings; None if there is no clock
    """

    def __init__(self, settings: TimeSettings | None = None):
        """Start with full time, or without a clock if `settings` is None."""
        self.settings = settings
        self._delays: dict[int, float] = {}  # by colour, from previous games
        self._sides: dict[int, _Side] = {}
        self.restart()

    def restart(self) -> None:
        """Give both sides their full time again, for a new game."""
        self._delays |= {color: side.delay for color, side in self._sides.items()}
        self._sides = {} if self.settings is None else {c: _Side(self.settings) for c in (BLACK, WHITE)}
        for color, side in self._sides.items():
            side.delay = self._delays.get(color, 0.0)  # a property of the machine, not of the game

    def set(self, settings: TimeSettings | None) -> None:
        """Replace the time settings, or remove the clock (None), and give both sides their full time."""
        self.settings = settings
        self.restart()

    def set_left(self, color: int, seconds: float, stones: int = 0) -> None:
        """Set the time a side has left, as in GTP's time_left.

        stones : in overtime, the moves to make in that time (byo-yomi: the periods left); 0 in main time
        """
        if color not in self._sides:
            return
        side = self._sides[color]
        side.left, side.stones = max(0.0, seconds), stones
        if stones and side.settings.periods:
            side.stones, side.periods = 1, stones

    def spend(self, color: int, seconds: float, budget: float | None = None) -> None:
        """Subtract a move's time from a side's clock.

        budget : the seconds allotted to the move; None if the player manages its own time
        """
        if color in self._sides:
            side = self._sides[color]
            side.spend(seconds)
            if budget is not None:
                side.delay = max(_FORGET * side.delay, min(1.0, seconds - budget))

    def left(self, color: int) -> tuple[float, int]:
        """Return what a side has left, as in `set_left`. KeyError if there is no clock."""
        side = self._sides[color]
        return max(0.0, side.left), side.periods if side.stones and side.settings.periods else side.stones

    def has_lost(self, color: int) -> bool:
        """Return whether a side exceeded its time with its last move."""
        return color in self._sides and self._sides[color].has_lost

    def allows(self, color: int) -> float | None:
        """Return the seconds a side may take for one move before it loses; None if there is no clock."""
        if color not in self._sides:
            return None
        side = self._sides[color]
        s = side.settings
        overtime = s.period * max(1, side.periods) if s.stones and not side.stones else s.period * (side.periods - 1)
        return side.left + max(0.0, overtime)

    def budget(self, color: int, size: int) -> float | None:
        """Return the seconds a side should take for its next move; None if there is no clock, 0 to move at once.

        size : board size, used to estimate the number of moves to come
        """
        if color not in self._sides:
            return None
        side, settings = self._sides[color], self._sides[color].settings
        if side.stones:
            seconds = side.left / side.stones - _LAG - side.delay
            if side.stones == 1:
                seconds -= min(0.1 * side.left, 1.0)  # exceeding this period would lose
        else:
            seconds = side.share(size)
            if settings.stones:  # no need to save main time below the pace of overtime
                seconds = max(seconds, side.pace())
        return max(0.0, seconds)

    def spare(self, color: int, size: int) -> float:
        """Return the seconds that a hard move may take on top of `budget`; 0 in overtime, and without a clock."""
        if color not in self._sides or self._sides[color].stones:
            return 0.0
        side = self._sides[color]
        budget = self.budget(color, size)
        assert budget is not None
        return max(0.0, 2 * side.share(size) - budget)
