"""Memory: limits of large allocations, and cache lines of threads.

Start reading at `announce`, which refuses what the machine has no memory for.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.machine import machine_bytes

_GB = 10**9
_SAID_FROM = _GB  # bytes; less is not announced
_said: set[tuple[str, float]] = set()  # announce once, though a match makes a player for each game
_TWO_CACHE_LINES = 128  # bytes that a processor may transfer at once


def announce(what: str, n_bytes: float) -> None:
    """Announce once, on standard error, that more than 1 GB of memory will be used.

    Parameters
    ----------
    what : the user of the memory, for the message, as the setting that controls it: ``memory_mb = 8000``
    n_bytes : the most it can take

    Raises
    ------
    RlgoError : if the machine has less.
    """
    if n_bytes < _SAID_FROM or (what, n_bytes) in _said:
        return
    most = machine_bytes()
    if n_bytes > most:
        raise RlgoError(
            f"{what} takes {n_bytes / _GB:,.1f} GB: expected at most the {most / _GB:,.1f} GB of this machine"
        )
    _said.add((what, n_bytes))
    print(f"rlgo: {what}: needs up to {n_bytes / _GB:,.1f} GB of memory", file=sys.stderr, flush=True)


def bytes_of(*values: Any) -> int:
    """Add up the memory of arrays and of tuples of arrays."""
    return sum(bytes_of(*value) if isinstance(value, tuple) else np.asarray(value).nbytes for value in values)


def on_own_cache_lines(dtype: Any, n: int = 1) -> np.ndarray:
    """Make an array of n zeros with cache lines of its own, for a thread that writes to it.

    Threads that write to the same cache line slow each other down, the more the farther apart their cores are. numpy
    puts small arrays that are made one after the other 32 bytes apart.

    >>> from rlgo.base.ram import on_own_cache_lines
    >>> on_own_cache_lines("i4", 2)
    array([0, 0], dtype=int32)
    """
    dtype = np.dtype(dtype)
    room = np.zeros(n * dtype.itemsize + 2 * _TWO_CACHE_LINES, np.uint8)
    return room[_TWO_CACHE_LINES : _TWO_CACHE_LINES + n * dtype.itemsize].view(dtype)
