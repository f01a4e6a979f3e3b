"""Searches side by side in one thread, whose evaluators answer all of them in one batch.

Start reading at `SideBySide.step`. Each job, such as a game, runs in a greenlet: it goes on until its search needs an
answer, and lets the next one run. So games are played by the same code as one alone, and a search takes the same
course, however many there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, NamedTuple

from greenlet import GreenletExit, getcurrent, greenlet

from mcts.outside.evaluator import Evaluation, evaluate
from rlgo.go.positions import Positions, joined


class _Request(NamedTuple):
    evaluator: Any
    positions: Positions


class Job(greenlet):
    """A function that runs by turns with others.

    result : what it returned, once it is over
    """

    result: Any = None


def is_side_by_side() -> bool:
    """Return whether this is a job that runs side by side with others."""
    return isinstance(getcurrent(), Job)


def ask(evaluator: Any, positions: Positions) -> Evaluation:
    """Let other jobs run until the evaluator has been asked about these positions, too. RlgoError if it fails."""
    answer: Evaluation = getcurrent().parent.switch(_Request(evaluator, positions))
    return answer


class SideBySide:
    """Jobs that run by turns in this thread; a context manager that gives up those that are not over."""

    def __init__(self) -> None:
        self._new = deque[Job]()
        self._asking: list[tuple[Job, _Request]] = []
        self._running = set[Job]()

    def __enter__(self) -> SideBySide:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up the jobs that are not over."""
        for job in self._running:
            if job:  # begun, and not dead
                job.throw(GreenletExit)
        self._running.clear()

    def start(self, function: Callable[[], Any]) -> Job:
        """Take a function, which `step` will run."""
        job = Job(function)
        job.gr_context = copy_context()
        self._running.add(job)
        self._new.append(job)
        return job

    def step(self) -> list[Job]:
        """Run jobs until one is over at least; return those that are. Raises what a job raises.

        Once all of them ask, each evaluator is called once, with all positions.
        """
        over = list[Job]()
        while not over and (self._new or self._asking):
            if self._new:
                self._note(job := self._new.popleft(), job.switch(), over)
                continue
            asking, self._asking = self._asking, []
            for job, answer in _answered(asking):
                said = job.throw(answer) if isinstance(answer, Exception) else job.switch(answer)
                self._note(job, said, over)
        return over

    def _note(self, job: Job, said: Any, over: list[Job]) -> None:
        if job.dead:
            job.result = said
            self._running.discard(job)
            over.append(job)
        else:
            self._asking.append((job, said))


def _answered(asking: list[tuple[Job, _Request]]) -> list[tuple[Job, Evaluation | Exception]]:
    """Return the answer for each job, or the error that it gets in its place."""
    answers = list[tuple[Job, Evaluation | Exception]]()
    by_evaluator = dict[Any, list[tuple[Job, _Request]]]()
    for job, request in asking:
        positions = request.positions
        by_evaluator.setdefault((id(request.evaluator), positions.size, positions.history), []).append((job, request))
    for group in by_evaluator.values():
        jobs, requests = zip(*group, strict=True)
        try:
            evaluated = evaluate(requests[0].evaluator, joined([request.positions for request in requests]))
        except Exception as error:
            answers += [(job, error) for job in jobs]
            continue
        first = 0
        for job, request in group:
            answers.append((job, evaluated.rows(first, first + len(request.positions))))
            first += len(request.positions)
    return answers
