"""Batches: asking an evaluator about the simulations that wait, while others go on.

Start reading at `Batches.answer_all`, for a search of one thread, and `Batches.conduct`, for one of several. The
evaluator runs in a thread of its own, so that Ctrl-C and time limits hold while it computes: what it has not answered
by then is given up.
"""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np

from mcts.outside.answers import NO_ANSWERS, Answers, answer, gather, take
from mcts.outside.evaluator import Evaluation, evaluate
from mcts.outside.side_by_side import ask, is_side_by_side
from mcts.outside.waiting import ALL, BATCH, COLLIDED, ROOM, UNSENT
from mcts.search import begin_at_root
from mcts.settings import Composition
from mcts.tree import Tree
from mcts.workspace import Waiting, Workspace
from rlgo.base.budget import SLICE_SECONDS, never
from rlgo.base.errors import RlgoError
from rlgo.go.board import board_dtype, new_board
from rlgo.go.game import Game
from rlgo.go.positions import HISTORY, PositionArrays, Positions
from rlgo.go.rules import n_points, zobrist

_UNDER_WAY = 2  # batches at a time: one that is evaluated, and one that is ready when it is done


def new_counts(batch: int, n_threads: int) -> tuple[np.ndarray, int]:
    """Return `Waiting.counts` for the threads of one tree, and the slots that each of them needs.

    A single thread stops for each batch, so that the search can be repeated. Several fill the next batch meanwhile.
    """
    room = batch if n_threads == 1 else (_UNDER_WAY + 1) * batch
    counts = np.zeros(4, np.int64)
    counts[ROOM], counts[BATCH] = room, batch
    return counts, room + n_threads  # threads that look at the room at the same time may all take it


class Caller:
    """A thread that calls an evaluator, one batch after another. It ends with the object, or with the process."""

    def __init__(self, evaluator: Any):
        self._evaluator = evaluator
        self._jobs: queue.SimpleQueue[Any] | None = None

    def submit(self, positions: Positions) -> Future[Evaluation]:
        """Have a batch evaluated: in this thread's time, side by side with other searches, or by the other thread."""
        future: Future[Evaluation] = Future()
        if is_side_by_side():
            try:
                future.set_result(ask(self._evaluator, positions))
            except Exception as error:
                future.set_exception(error)
            return future
        if self._jobs is None:
            self._jobs = queue.SimpleQueue()
            threading.Thread(target=_call, args=(self._evaluator, self._jobs), daemon=True).start()
            weakref.finalize(self, self._jobs.put, None)
        self._jobs.put((future, positions))
        return future


def _call(evaluator: Any, jobs: queue.SimpleQueue[Any]) -> None:
    """Evaluate batches until there is None in place of one; batches that were given up are left out."""
    while (job := jobs.get()) is not None:
        future, positions = job
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(evaluate(evaluator, positions))
            except BaseException as error:
                future.set_exception(error)
        del job, future, positions  # not kept until the next batch comes


class _Batch(NamedTuple):
    """A batch that is being evaluated: its answer, and the slots it comes from as (thread, first, number)."""

    tree: int
    future: Future[Evaluation]
    parts: list[tuple[int, int, int]]


class Batches:
    """The batches of a search.

    Parameters
    ----------
    evaluator : see `evaluator.Evaluator`
    workspaces : of the threads
    trees : one for all threads, or one each
    search : what the search is composed of
    batch_ms : milliseconds that simulations wait until their batch is full; 0: as long as a slice

    Attributes
    ----------
    values : the sum of the values that were backed up in place of outcomes
    root_answers : what else the evaluator said about the root, by name
    """

    def __init__(
        self, evaluator: Any, workspaces: Sequence[Workspace], trees: list[Tree], search: Composition, batch_ms: float
    ):
        self._workspaces, self._trees, self._search = workspaces, trees, search
        self.history = int(getattr(evaluator, "history", HISTORY))
        self._evaluator, self._caller = evaluator, Caller(evaluator)
        self._most_under_way = max(_UNDER_WAY, len(trees))
        self._patience = batch_ms / 1000 or SLICE_SECONDS
        self._news = threading.Event()  # a batch is full or answered, or a thread has ended
        self._room = threading.Condition()
        self.clear()

    def clear(self) -> None:
        """Forget everything that waits."""
        self._is_over = False
        self._under_way: deque[_Batch] = deque()
        self._taken = [0] * len(self._workspaces)  # of the simulations that waited, by thread, those in a batch
        self._answered = [0] * len(self._workspaces)
        self._waits_since: list[float | None] = [None] * len(self._trees)
        self.values = 0.0
        self.root_answers: Mapping[str, np.ndarray] = {}
        for i in range(len(self._workspaces)):
            waiting = self._waiting(i)
            waiting.filled[0] = 0
            waiting.counts[: UNSENT + 1] = 0

    def begin(self, game: Game, board: Any) -> None:
        """Make the position of a game the root, with its history; `board` is the root's own record of it."""
        self.root = Positions.of(game, self.history)
        self.root.arrays.boards[0] = board

    def warm_up(self, size: int) -> None:
        """Compile what batches need, and let the evaluator prepare itself, if it has a `warm_up`."""
        prepare = getattr(self._evaluator, "warm_up", None)
        if prepare is not None:
            prepare(size)
        self.begin(Game(size), new_board(size))
        self.root.legal()  # see `evaluate`
        positions = _empty_positions(1, self.root, self.history)
        self.add_root(0)
        gather(self._waiting(0).slots, 0, 1, 0, self.root.arrays, positions.arrays, zobrist(size))
        self._put(0, 0, 1, NO_ANSWERS)
        self.clear()

    def add_root(self, i: int) -> None:
        """Have the root evaluated, like a new node of the tree that thread i grows."""
        begin_at_root(self.root.arrays.boards[0], self._trees[i % len(self._trees)], self._search, self._workspaces[i])

    # --- a search of one thread ---

    def answer_all(self, is_over: Callable[[], bool] = never) -> None:
        """Have everything evaluated that waits, and put the answers into the trees; give up if the search is over."""
        if any(self._counts(tree)[ALL] for tree in range(len(self._trees))) and is_over():
            self.give_up()
            return
        for tree in range(len(self._trees)):
            while self._send(tree):
                pass
        while self._under_way:
            while not self._under_way[0].future.done():
                self._await(self._under_way[0].future)
                if is_over() and not self._under_way[0].future.done():
                    self.give_up()
                    return
            self._apply(self._under_way.popleft())

    def _await(self, future: Future[Evaluation]) -> None:
        """Wait for an answer, at most for a slice, so that Ctrl-C and the time limit are noticed."""
        try:
            future.exception(SLICE_SECONDS)
        except TimeoutError:
            return

    # --- a search of several threads ---

    def feed(self, i: int, budget: np.ndarray) -> None:
        """Report a full batch, and wait until there is room; thread i calls it if its simulations need answers."""
        self._news.set()
        counts = self._waiting(i).counts
        with self._room:
            while counts[ALL] >= counts[ROOM] and budget[0] > 0 and not self._is_over:
                self._room.wait(SLICE_SECONDS)

    def conduct(self, work: list[Future[Any]], is_over: Callable[[], bool], stop: Callable[[], None]) -> None:
        """Send batches and put answers into the trees until all threads have ended and have their answers."""
        for future in work:
            future.add_done_callback(lambda _: self._news.set())
        looked = time.perf_counter()
        while True:
            has_ended = all(future.done() for future in work)
            self._news.clear()
            self._send_what_is_due(has_ended)
            while self._under_way and self._under_way[0].future.done():
                self._apply(self._under_way.popleft())
                self._send_what_is_due(has_ended)
                with self._room:
                    self._room.notify_all()
            if has_ended and not self._under_way:
                return
            if time.perf_counter() - looked >= SLICE_SECONDS:
                looked = time.perf_counter()
                if is_over():
                    stop()
                    if has_ended:
                        self.give_up()
                        return
            self._news.wait(min(self._patience, SLICE_SECONDS))

    def stop(self) -> None:
        """Wake threads that wait for room: the search is over."""
        with self._room:
            self._is_over = True
            self._room.notify_all()

    def _send_what_is_due(self, everything: bool) -> None:
        """Send batches that are full, or have waited long enough; or everything."""
        now = time.perf_counter()
        for tree in range(len(self._trees)):
            counts = self._counts(tree)
            unsent = int(counts[UNSENT])
            if not unsent:
                self._waits_since[tree] = None
            elif self._waits_since[tree] is None:
                self._waits_since[tree] = now
            since = self._waits_since[tree]
            is_late = since is not None and now - since >= self._patience
            if unsent >= counts[BATCH] or (unsent and (everything or is_late or counts[ALL] >= counts[ROOM])):
                while len(self._under_way) < self._most_under_way and self._send(tree):
                    self._waits_since[tree] = None
                    if not everything and counts[UNSENT] < counts[BATCH]:
                        break

    # --- both ---

    def _waiting(self, i: int) -> Waiting:
        waiting = self._workspaces[i].waiting
        assert waiting is not None
        return waiting

    def _counts(self, tree: int) -> np.ndarray:
        return self._waiting(tree if len(self._trees) > 1 else 0).counts

    def _threads_of(self, tree: int) -> range:
        return range(tree, tree + 1) if len(self._trees) > 1 else range(len(self._workspaces))

    def _send(self, tree: int) -> bool:
        """Send a batch of one tree, as full as it can be; return whether there was anything to send."""
        counts = self._counts(tree)
        room, parts = int(counts[BATCH]), []
        for i in self._threads_of(tree):
            n = min(room, int(self._waiting(i).filled[0]) - self._taken[i])
            if n > 0:
                parts.append((i, self._taken[i], n))
                self._taken[i] += n
                room -= n
        n = int(counts[BATCH]) - room
        if n == 0:
            return False
        take(counts, UNSENT, n)
        positions = _empty_positions(n, self.root, self.history)
        rows = 0
        for i, first, k in parts:
            slots = self._waiting(i).slots
            rows = gather(slots, first, k, rows, self.root.arrays, positions.arrays, zobrist(self.root.size))
        if rows:
            future = self._caller.submit(positions if rows == n else positions[:rows])
        else:
            future = Future()
            future.set_result(Evaluation(NO_ANSWERS, {}))
        future.add_done_callback(lambda _: self._news.set())
        self._under_way.append(_Batch(tree, future, parts))
        return True

    def _apply(self, batch: _Batch) -> None:
        """Put the answers to a batch into its tree. RlgoError if the evaluator failed."""
        answers, others = batch.future.result()
        if self._search.waits and answers is not NO_ANSWERS and not answers.has_value:
            raise RlgoError("evaluator: no value: expected one, since playouts = off")
        if others and batch.parts[0][:2] == (0, 0):  # the first of a search is the root
            self.root_answers = {name: array[0] for name, array in others.items()}
        for i, first, n in batch.parts:
            self._put(i, first, n, answers)

    def _put(self, i: int, first: int, n: int, answers: Answers) -> None:
        """Put the answers for n simulations of thread i into its tree."""
        waiting, tree = self._waiting(i), self._trees[i % len(self._trees)]
        self.values += answer(waiting.slots, first, n, answers, self._search, tree)
        self._answered[i] = first + n
        take(waiting.counts, ALL, n)

    def give_up(self) -> None:
        """Give up whatever waits: virtual losses are taken back, and simulations without an outcome do not count."""
        for batch in self._under_way:
            batch.future.cancel()
        self._under_way.clear()
        for i, workspace in enumerate(self._workspaces):
            waiting, first = self._waiting(i), self._answered[i]
            n = int(waiting.filled[0]) - first
            if n:
                if self._search.waits:
                    paths = waiting.slots[np.arange(first, first + n) % len(waiting.slots)]
                    given_up = (paths["leaf_node"] != COLLIDED) & (paths["n_nodes"] > 0)
                    workspace.tally.simulations -= int(given_up.sum())
                waiting.counts[UNSENT] -= int(waiting.filled[0]) - self._taken[i]
                self._taken[i] = first + n
                self._put(i, first, n, NO_ANSWERS)


def _empty_positions(n: int, root: Positions, history: int) -> Positions:
    """Return room for n positions below a root; new memory each time, since the evaluator may keep them."""
    size, points = root.size, n_points(root.size)
    return Positions(
        size,
        PositionArrays(
            boards=np.empty(n, board_dtype(size)),
            stones=np.empty((n, history, points), np.uint8),
            moves=np.empty((n, history), np.int16),
            komi=np.empty(n, np.float32),
            hashes=root.arrays.hashes,
            first_hash=np.empty(n, np.int32),
            n_hashes=np.empty(n, np.int32),
        ),
    )
