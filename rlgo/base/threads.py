"""Threads of a search, which always end before the search does.

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
