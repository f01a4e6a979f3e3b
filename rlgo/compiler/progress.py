"""Say on standard error that something is compiled, and how long it takes. Start reading at `compiling`."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_TICK_SECONDS = 5.0  # between two dots while something is compiled


class _Work:
    """Work that may have to compile first."""

    def __init__(self, what: str):
        self.what = what
        self.start = 0.0  # of compiling; 0 before it
        self.ticker: threading.Thread | None = None  # in other threads than the main one, others may write meanwhile
        self.is_over = threading.Event()

    def announce(self) -> None:
        """Say that something is compiled, and then show that it goes on."""
        self.start = time.perf_counter()
        is_main = threading.current_thread() is threading.main_thread()
        print(f"compiling {self.what} (first use only) ...", end=" " if is_main else "\n", file=sys.stderr, flush=True)
        if is_main:
            self.ticker = threading.Thread(target=self._tick, daemon=True)
            self.ticker.start()

    def _tick(self) -> None:
        while not self.is_over.wait(_TICK_SECONDS):
            print(".", end="", file=sys.stderr, flush=True)

    def end(self, is_done: bool) -> None:
        """End the line if there is one, with the seconds if the work was done."""
        if not self.start:
            return
        seconds = f"{time.perf_counter() - self.start:.0f} s" if is_done else ""
        if self.ticker is not None:
            self.is_over.set()
            self.ticker.join()  # no dot may follow the seconds
            print(seconds, file=sys.stderr, flush=True)
        elif is_done:
            print(f"compiling {self.what}: {seconds}", file=sys.stderr, flush=True)


_work: list[_Work] = []  # the innermost last


def announce() -> None:
    """Say that something is compiled now. Outside of any work, compiling is a matter of moments."""
    if _work and not any(work.start for work in _work):
        _work[-1].announce()


@contextmanager
def compiling(what: str) -> Iterator[None]:
    """Report on stderr if something has to be compiled, because the cache has no machine code for this machine.

    Parameters
    ----------
    what : name shown to users, for instance ``"self-play, 9x9"``
    """
    work = _Work(what)
    _work.append(work)
    is_done = False
    try:
        yield
        is_done = True
    finally:
        _work.remove(work)
        work.end(is_done)
