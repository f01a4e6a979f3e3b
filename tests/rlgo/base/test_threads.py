"""Threads of a search: none outlives it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from rlgo.base.threads import started


@pytest.fixture
def executor():
    with ThreadPoolExecutor(2) as pool:
        yield pool


def test_all_have_ended_after_the_block(executor):
    first, second = Event(), Event()
    with started(executor, [(first.wait, 60), (second.wait, 60)], pytest.fail) as jobs:
        first.set()
        second.set()
    assert [job.done() for job in jobs] == [True, True]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_they_are_stopped_by_an_exception(executor, error):
    over = Event()
    with pytest.raises(error), started(executor, [(over.wait, 60)] * 2, over.set) as jobs:
        raise error
    assert [job.result(0) for job in jobs] == [True, True]


def test_they_are_stopped_if_another_cannot_start(executor, monkeypatch):
    over, jobs, submit = Event(), [], executor.submit

    def submit_one(*call):
        if jobs:
            raise RuntimeError("can't start new thread")
        jobs.append(submit(*call))
        return jobs[0]

    monkeypatch.setattr(executor, "submit", submit_one)
    with pytest.raises(RuntimeError, match="new thread"), started(executor, [(over.wait, 60)] * 2, over.set):
        pytest.fail("the block was entered")
    assert jobs[0].result(0)


def test_their_exceptions_are_raised(executor):
    with pytest.raises(ZeroDivisionError), started(executor, [(divmod, 1, 0), (divmod, 1, 1)], pytest.fail):
        pass


def test_without_calls_no_threads_are_needed():
    with started(None, [], pytest.fail) as jobs:
        assert jobs == []
