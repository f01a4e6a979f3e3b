"""Threads of a search: whatever happens, none goes on when it is over.

Start reading at `started`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager
from typing import Any


@contextmanager
def started(
    threads: Executor | None, calls: Iterable[tuple[Any, ...]], stop: Callable[[], object]
) -> Iterator[list[Future[Any]]]:
    """Start these calls on threads; all have ended when the block is left, and their exceptions are raised.

    threads : None if there are no calls
    calls : each a function and its arguments
    stop : ends them early; it is called if the block is left by an exception, such as Ctrl-C
    """
    jobs: list[Future[Any]] = []
    try:
        for call in calls:
            assert threads is not None
            jobs.append(threads.submit(*call))
        yield jobs
    except BaseException:  # the caller may use what they work on only while none of them does
        stop()
        wait(jobs)
        raise
    wait(jobs)
    for job in jobs:
        job.result()
