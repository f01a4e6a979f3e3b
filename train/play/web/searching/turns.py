"""Fair shares: as many searches run at a time as there are cores, and they take turns.

Start reading at `Turn.offer`. A search calls it about every ten milliseconds. After its share of time, it makes
way for the search that has waited longest.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

QUANTUM = 0.02  # seconds of a turn
_LOOK_SECONDS = 0.05  # between two checks of a waiting search whether it is still wanted


class Turns:
    """The slots of searches that run at the same time.

    Parameters
    ----------
    n : slots
    quantum : seconds that a search keeps its slot while others wait
    clock : returns seconds
    """

    def __init__(self, n: int, quantum: float = QUANTUM, clock: Callable[[], float] = time.monotonic) -> None:
        self.n, self.quantum, self.clock = n, quantum, clock
        self.changed = threading.Condition()
        self.waiting: deque[Turn] = deque()
        self.running: set[Turn] = set()


class Turn:
    """One search's claim to a slot, as a context manager.

    Parameters
    ----------
    turns : shared by all searches
    is_over : whether the search is to end; then it no longer waits for a slot
    """

    def __init__(self, turns: Turns, is_over: Callable[[], bool]) -> None:
        self._turns, self._is_over = turns, is_over
        self._began = 0.0

    def __enter__(self) -> Self:
        with self._turns.changed:
            self._take()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        with self._turns.changed:
            self._leave()

    def offer(self) -> None:
        """Let a waiting search have the slot, if this one has had its share, and wait for the next turn."""
        turns = self._turns
        with turns.changed:
            if turns.waiting and turns.clock() - self._began >= turns.quantum:
                self._leave()
                self._take()

    def _take(self) -> None:
        """Wait for a slot, behind those that wait already."""
        turns = self._turns
        turns.waiting.append(self)
        turns.changed.notify_all()
        while not self._is_over() and (turns.waiting[0] is not self or len(turns.running) >= turns.n):
            turns.changed.wait(_LOOK_SECONDS)
        turns.waiting.remove(self)
        turns.running.add(self)
        turns.changed.notify_all()
        self._began = turns.clock()

    def _leave(self) -> None:
        self._turns.running.discard(self)
        self._turns.changed.notify_all()
