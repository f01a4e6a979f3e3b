"""Memory: large needs are announced before they are met, and refused where they exceed what the machine has.

Start reading at `announce`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError

_GB = 10**9
_SAID_FROM = _GB  # bytes; less is taken without a word
_said: set[tuple[str, float]] = set()  # in a match, a player is made for each game
_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container on Linux


def announce(what: str, n_bytes: float) -> None:
    """Say on standard error, once, that this much memory will be taken, if it is more than 1 GB.

    Parameters
    ----------
    what : who takes it, for the message, with the setting that changes it: ``memory_mb = 8000``
    n_bytes : how much, at most

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


def machine_bytes() -> float:
    """Return how much memory this machine or container has; infinity if the system does not say."""
    try:
        most = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return float("inf")
    try:
        return min(most, float(_LIMIT.read_text("ascii")))  # a number, or "max"
    except (OSError, ValueError):
        return most


def bytes_of(*values: Any) -> int:
    """Add up the memory of arrays and of tuples of arrays."""
    return sum(bytes_of(*value) if isinstance(value, tuple) else np.asarray(value).nbytes for value in values)
