"""Compiling in two processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest

from rlgo.base.machine import processors

ROOT = Path(__file__).resolve().parents[3]

compiled = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


_KERNELS = """
import sys
from pathlib import Path
from rlgo.compiler import jit, parallel
rng = jit.make_rng(1)
jit.compile_together((jit.random_u64, rng), (jit.random_below, rng, 5), later=[(jit.random_unit, rng)])
own = [k for k in (jit.random_u64, jit.random_below, jit.random_unit) if k.stats.cache_misses]
print(len(own), jit.random_unit(rng), parallel._process is not None, flush=True)
if parallel._process is not None:
    print(parallel._process.pid, flush=True)
"""


@compiled
@pytest.mark.process
def test_a_second_process_compiles_ahead_and_ends_with_the_first(tmp_path: Path) -> None:
    """The result is the same with it and without it; a full cache starts none. It does alone what is for later."""

    def run(folder: str, switch: str) -> list[str]:
        environment = os.environ | {"RLGO_CACHE_DIR": str(tmp_path / folder), "RLGO_COMPILE_AHEAD": switch}
        command = [sys.executable, "-c", _KERNELS]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, cwd=ROOT)
        assert not done.stderr
        return done.stdout.split()

    alone, together, again = run("alone", "0"), run("together", "1"), run("together", "1")
    assert alone[0] == "3"
    assert alone[1] == together[1] == again[1]
    assert (alone[2], again[0], again[2]) == ("False", "0", "False")
    if processors() > 1:
        assert together[2] == "True"
        assert int(together[0]) < 3
        _wait_for_the_end(int(together[3]))
    files = {path.name for path in (tmp_path / "together").rglob("*") if path.is_file()}
    assert files == {path.name for path in (tmp_path / "alone").rglob("*") if path.is_file()}  # and no claims


def _wait_for_the_end(pid: int) -> None:
    while True:  # pytest's limit of time ends it if the process stays
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)


@compiled
def test_generators_compile_with_the_patches() -> None:
    """They need what other functions do without: the variables that live at the entry of each block."""

    def squares(n):
        total = 0
        for i in range(n):
            total += i * i
            yield total

    assert list(numba.njit(squares)(5)) == [0, 1, 5, 14, 30]
