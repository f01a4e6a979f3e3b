"""Change logs, by which threads that learn the same weights in separate copies exchange updates.

Start reading at `exchange`. Each thread records every change of its weights in its *change log*, a ring that only it
writes. Every few simulations it publishes its new changes, and adds the new changes of the others to its own copy.
Nothing is lost: once all have read everything, their copies differ only by rounding. No thread waits for another as
long as all keep running.

Updates that several threads learn from the same weights overshoot, and more so with a larger step size. (At alpha = 1,
two threads that exchanged after 8 simulations each won 43 of 120 games against one thread with as many simulations in
all; after 2 each, 63 of 120.) So the exchanges are more frequent the larger alpha is.

The TD paper's tournament program shared its memories between processes (Section 6.1, which does not say how). With one
table for all and no locks, each simulation reads and writes most of the table's busy cache lines, and each of these
moves from core to core: on two distant cores, two threads were as fast as one. A change log is read in order, and each
of its lines moves once.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from rlgo.base.ram import on_own_cache_lines
from rlgo.compiler.jit import atomic_add, inline, njit

_STEPS = 2.0  # between two exchanges: simulations times alpha
_MOST_EVERY = 8  # simulations between two exchanges, at most
_AHEAD = 8  # exchanges that a thread may be ahead of another
_TRIES = 200  # polls of the other threads, about ten microseconds, before a thread that is ahead yields its core
_LENGTH = 1 << 19  # changes in a change log: 4 MB, more than a core's cache holds, so that lines are not fetched back
_LINE = 16  # int64 in two cache lines: the spacing of counts written by different threads


@cache
def change_dtype() -> np.dtype:
    """Return the record type of a change: a place in the table, and the amount to add to its weight."""
    return np.dtype((np.record, np.dtype([("place", "i4"), ("amount", "f4")])))


class ChangeLog(NamedTuple):
    """The change logs of all n threads, from the point of view of one of them."""

    me: int  # the number of this thread
    every: int  # simulations between two exchanges
    ahead: int  # most changes that another thread may still have to read for this one to go on
    changes: np.ndarray  # `change_dtype`[n, 2^k]: a ring for each thread
    published: np.ndarray  # int64[n * _LINE], in every _LINE-th place: changes ready for the others, by thread
    read: np.ndarray  # int64[n * n * _LINE], likewise: changes that thread i has read of thread j, at i * n + j
    written: np.ndarray  # int64[1]: changes that this thread has written


def make_change_logs(n: int, alpha: float, usual: int, most: int) -> list[ChangeLog | None]:
    """Make an empty change log for each of n threads; a single one needs none.

    alpha : the largest step size
    usual, most : the usual and the largest number of changes in a simulation
    """
    if n == 1:
        return [None]
    every = int(min(_MOST_EVERY, max(1.0, _STEPS / alpha)))
    ahead = _AHEAD * every * usual
    length = max(_LENGTH, 1 << (ahead + every * most - 1).bit_length())
    changes = np.zeros((n, length), change_dtype())
    published, read = np.zeros(n * _LINE, np.int64), np.zeros(n * n * _LINE, np.int64)
    return [ChangeLog(me, every, ahead, changes, published, read, on_own_cache_lines(np.int64)) for me in range(n)]


def clear(change_logs: list[ChangeLog | None]) -> None:
    """Empty the change logs, before a search."""
    for change_log in filter(None, change_logs):
        change_log.published[:] = change_log.read[:] = change_log.written[:] = 0


@inline
def n_written(change_log):
    """Return how many changes this thread has written; 0 without a change log (None)."""
    return np.int64(0) if change_log is None else change_log.written[0]


@inline
def end_changes(change_log, n):
    """Note that this thread has written n changes in all."""
    if change_log is not None:
        change_log.written[0] = n


@inline
def log_change(change_log, n, place, amount):
    """Record a change as number n, unless it is of place 0; return the number of the next one."""
    if change_log is None:
        return n
    change = change_log.changes[np.uint64(change_log.me), np.uint64(n) & np.uint64(change_log.changes.shape[1] - 1)]
    change.place = place
    change.amount = amount
    return n + np.int64(place != 0)


@njit
def keeps_up(change_log, done, theta):
    """Exchange changes if it is time to, after `done` simulations; return whether to go on, see `exchange`."""
    if change_log is None:
        return True
    return done % change_log.every != 0 or exchange(change_log, theta)


@njit
def exchange(change_log, theta):
    """Publish this thread's changes, and add those of the others to theta, float32[K].

    change_log : None for a single thread
    Returns whether the thread may run another `change_log.every` simulations; if not, it is too far ahead of another.
    """
    if change_log is None:
        return True
    at = change_log.me * _LINE
    atomic_add(change_log.published, at, change_log.written[0] - change_log.published[at])
    for _ in range(_TRIES):
        catch_up(change_log, theta)
        if not _is_ahead(change_log):
            return True
    return False


@njit
def _is_ahead(change_log):
    """Return whether some thread has yet to read more than `change_log.ahead` changes of this one."""
    n = change_log.changes.shape[0]
    for other in range(n):
        read = atomic_add(change_log.read, (other * n + change_log.me) * _LINE, 0)
        if other != change_log.me and change_log.written[0] - read > change_log.ahead:
            return True
    return False


@njit
def catch_up(change_log, theta):
    """Add to theta what the other threads have published since the last call."""
    n = change_log.changes.shape[0]
    mask = np.uint64(change_log.changes.shape[1] - 1)
    for other in range(n):
        if other != change_log.me:
            at = (change_log.me * n + other) * _LINE
            first = change_log.read[at]
            last = atomic_add(change_log.published, other * _LINE, 0)
            for k in range(first, last):
                change = change_log.changes[np.uint64(other), np.uint64(k) & mask]
                theta[np.uint64(change.place)] += change.amount
            atomic_add(change_log.read, at, last - first)
