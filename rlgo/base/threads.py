"""Threads of a search, which always end before the search does, and work in the background, which may not.

Start reading at `started`.
"""

from __future__ import annotations

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


def in_background(work: Callable[[], _T]) -> Future[_T]:
    """Do some work in a thread of its own, and return its result or exception to be. The process may end before.

    >>> from rlgo.base.threads import in_background
    >>> in_background(lambda: 6 * 7).result()
    42
    """
    future: Future[_T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, daemon=True).start()
    return future
