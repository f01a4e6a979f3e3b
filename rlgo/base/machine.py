"""How much of the machine this process may use: processors and memory.

A container, and a job of a cluster, may have less than the machine has. On Linux, their limits are those of control
groups, of version 1 or 2, and of the groups around them.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")  # lines of NUMBER:CONTROLLERS:PATH, version 2 without controllers


def processors() -> int:
    """Return the number of processors this process may use; a share of one counts as one."""
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for group in _groups("cpu"):
        quota = _read(group / "cpu.max") or f"{_read(group / 'cpu.cfs_quota_us')} {_read(group / 'cpu.cfs_period_us')}"
        if limit := re.fullmatch(r"(\d+) (\d+)", quota):  # otherwise there is none: max, -1
            n = min(n, max(1, math.ceil(int(limit[1]) / int(limit[2]))))
    return n


def machine_bytes() -> float:
    """Return the memory this process may use in bytes; infinity if unknown."""
    try:
        most = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        most = float("inf")
    limits = (_read(group / "memory.max") or _read(group / "memory.limit_in_bytes") for group in _groups("memory"))
    return min([most, *(float(limit) for limit in limits if limit.isdigit())])


def _groups(controller: str) -> Iterator[Path]:
    """Yield the folders of the groups that limit this process, from the innermost to the root."""
    for line in _read(_OWN).splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or controller in controllers.split(","):
            own = Path(path.lstrip("/"))
            yield from (_GROUPS / (controllers and controller) / part for part in (own, *own.parents))


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
