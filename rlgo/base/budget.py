"""Search budgets: when a search must end, and how it is cut into slices.

Start reading at `Budget`. Compiled code never looks at a clock. A search calls it in slices of about ten milliseconds,
sized by the speed measured so far, and checks its budget in between. The last slice is sized to the time left, so a
search ends on time as long as its speed is steady.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.settings import Count, CountOr0, NonNegative, Positive

SLICE_SECONDS = 0.01
BATCH_SECONDS = 0.1  # for batches of games, which are not shown move by move


def never() -> bool:
    """Return False: for searches that cannot be interrupted."""
    return False


def shorter(*seconds: float | None) -> float | None:
    """Return the shortest of several time limits; None means unlimited."""
    return min((s for s in seconds if s is not None), default=None)


class Budget:
    """The limits of one search: simulations, time and depth.

    The search ends at the first limit that it reaches. The clock starts when the budget is made.

    Parameters
    ----------
    simulations : maximum number of simulations; None means unlimited
    seconds : maximum wall-clock time; None means unlimited
    depth : maximum depth in plies, for iterative deepening; None means unlimited
    stop : polled between slices; returning True ends the search with its result so far
    review : called between slices once half of `seconds` has passed; what it returns replaces `seconds`

    Attributes
    ----------
    done : simulations run so far

    >>> import rlgo
    >>> budget = rlgo.Budget(simulations=1000)
    >>> for n in budget.slices():
    ...     pass  # run n simulations
    >>> budget.done
    1000
    """

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        depth: int | None = None,
        stop: Callable[[], bool] = never,
        review: Callable[[], float] | None = None,
    ):
        self.simulations = check("simulations", simulations, CountOr0 | None)
        self.seconds = check("seconds", seconds, NonNegative | None)
        self.depth, self.stop, self.review = depth, stop, review
        self.done = 0
        self._half = 0.0 if self.seconds is None else self.seconds / 2
        self._start = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self._start

    def left(self) -> int | None:
        """Return the simulations that are left, or None if they are not limited."""
        return None if self.simulations is None else max(0, self.simulations - self.done)

    def seconds_left(self) -> float | None:
        """Return the seconds left (never negative), or None if time is not limited."""
        return None if self.seconds is None else max(0.0, self.seconds - self.elapsed)

    def ends(self) -> bool:
        """Return whether the search must end now: all simulations done, time up, or stopped."""
        if self.review is not None and self.elapsed >= self._half:
            self.seconds = self.review()
        return self.left() == 0 or self.seconds_left() == 0.0 or self.stop()

    def slices(self, least: int = 1, seconds: float = SLICE_SECONDS) -> Iterator[int]:
        """Cut the budget into slices: yield how many simulations to run next, until the budget ends.

        There is always a first slice. Slices grow from `least` to what takes about `seconds`, or the time that is left.
        """
        n = least
        while True:
            left = self.left()
            n = n if left is None else min(n, left)
            began = time.perf_counter()
            yield n
            self.done += n
            if self.ends():
                return
            took = max(time.perf_counter() - began, 1e-9)
            n = max(least, min(4 * n, int(n * min(seconds, self.seconds_left() or seconds) / took)))


def check_budget(simulations: int | None, seconds: float | None) -> tuple[int | None, float | None]:
    """Return a move's budget as plain numbers. `RlgoError` if it is out of range or unlimited."""
    if simulations is None and seconds is None:
        raise RlgoError("expected a number of simulations (sims), or seconds, or both")
    return check("simulations", simulations, Count | None), check("seconds", seconds, Positive | None)
