"""Threads of a search, which always end before the search does, and work in the background, which may not.

Start reading at `started` and `Workers`. The standard library's executors wait for their threads when Python exits, and
a thread that compiles cannot be interrupted: Ctrl-C would wait for it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager
from typing import Any, TypeVar

_T = TypeVar("_T")


@contextmanager
def started(
    threads: Executor | None, calls: Iterable[tuple[Any, ...]], stop: Callable[[], object]
) -> Iterator[list[Future[Any]]]:
    """Run calls on threads; on leaving the block, wait for all of them and raise their exceptions.

    threads : None if there are no calls
    calls : each a function and its arguments
    stop : ends them early; called if the block is left by an exception, such as Ctrl-C
    """
    jobs: list[Future[Any]] = []
    try:
        for call in calls:
            assert threads is not None
            jobs.append(threads.submit(*call))
        yield jobs
    except BaseException:  # the caller must not touch their data until all have ended
        stop()
        wait(jobs)
        raise
    wait(jobs)
    for job in jobs:
        job.result()


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


def in_background(work: Callable[[], _T]) -> Future[_T]:
    """Do some work in a thread of its own, and return its result or exception to be. The process may end before.

    >>> from rlgo.base.threads import in_background
    >>> in_background(lambda: 6 * 7).result()
    42
    """
    workers = Workers("background")
    future = workers.submit(work)
    workers.close()
    return future
