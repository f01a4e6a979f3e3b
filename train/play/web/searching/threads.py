"""Threads that never keep the process from ending.

Start reading at `Workers`. The standard library's executors wait for their threads when Python exits, and a thread that
compiles cannot be interrupted: Ctrl-C would wait for it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")


class Workers:
    """Daemon threads that run functions in turn; each starts when it is first needed.

    n : number of threads; a single one runs one function after another
    """

    def __init__(self, name: str, n: int = 1) -> None:
        self._name, self._n = name, n
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def submit(self, function: Callable[[], _T]) -> Future[_T]:
        """Run `function` in a thread, in the order of submission, unless the future is cancelled before then."""
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
            if len(self._threads) < self._n:
                name = f"{self._name}-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._run, name=name, daemon=True))
                self._threads[-1].start()
        return future

    def close(self) -> None:
        """Let the threads end once their work is done."""
        for _ in range(self._n):
            self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()
