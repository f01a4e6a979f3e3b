"""Processors and memory of a container: control groups of both versions, as the kernel shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlgo.base import machine
from rlgo.base.machine import machine_bytes, processors

V1 = "5:cpu,cpuacct:/docker/a\n4:memory:/docker/a\n0::/\n"
UNLIMITED = "9223372036854771712\n"  # version 1 has no word for it


@pytest.fixture
def groups(tmp_path, monkeypatch) -> Path:
    """The folder of the control groups, of which this process is in none, on a machine with 64 processors."""
    monkeypatch.setattr(machine, "_GROUPS", tmp_path)
    monkeypatch.setattr(machine, "_OWN", tmp_path / "own")
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: range(64), raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("own", "files", "cpus", "memory"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n", "memory.max": "1000000\n"}, 2, 1e6),  # a container sees its own root
        ("0::/\n", {"cpu.max": "max 100000\n", "memory.max": "max\n"}, 64, None),
        ("0::/a/b\n", {"a/cpu.max": "10000 100000", "a/b/cpu.max": "max 100000", "a/memory.max": "7000"}, 1, 7e3),
        ("0::/a/b\n", {"a/memory.max": "7000", "a/b/memory.max": "5000", "c/memory.max": "3000"}, 64, 5e3),
        (V1, {"memory/docker/a/memory.limit_in_bytes": "2000\n", "memory/memory.limit_in_bytes": UNLIMITED}, 64, 2e3),
        (V1, {"memory/memory.limit_in_bytes": "3000\n", "memory.max": "max"}, 64, 3e3),  # its group is the mounted root
        (V1, {"cpu/docker/a/cpu.cfs_quota_us": "300000", "cpu/docker/a/cpu.cfs_period_us": "100000"}, 3, None),
        (V1, {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 64, None),
        ("", {"memory.max": "5"}, 64, None),  # no control groups
    ],
)
def test_limits(groups, own: str, files: dict[str, str], cpus: int, memory: float | None) -> None:
    whole = machine_bytes()
    (groups / "own").write_text(own)
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text)
    assert processors() == cpus
    assert machine_bytes() == (memory or whole)
