"""Threads that never keep the process from ending.

Start reading at `Worker`. The standard library's executors wait for their threads when Python exits, and a thread that
compiles cannot be interrupted: Ctrl-C would wait for it.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")


class Worker:
    """A daemon thread that runs what it is given, one thing after another; it starts when it is first needed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, function: Callable[[], _T]) -> Future[_T]:
        """Run `function` in the thread, after what was submitted before, unless the future is cancelled until then."""
        future: Future[_T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = function()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._work.put(run)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        return future

    def close(self) -> None:
        """Let the thread end once its work is done."""
        self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()


class Workers:
    """A few workers that take turns."""

    def __init__(self, name: str, n: int) -> None:
        self._workers = itertools.cycle([Worker(f"{name}-{i}") for i in range(n)])

    def submit(self, function: Callable[[], _T]) -> Future[_T]:
        """Run `function` in the next worker."""
        return next(self._workers).submit(function)
