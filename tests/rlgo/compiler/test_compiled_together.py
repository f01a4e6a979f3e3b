"""Compiling in two processes, calls through an address, and numba's public interface alone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numba
import numpy as np
import pytest

from rlgo.base.files import CACHE_PREFIX
from rlgo.compiler import ahead, jit, machine_code

ROOT = Path(__file__).resolve().parents[3]

compiled = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


@jit.apart
def add_up_apart(arguments):
    numbers, record, out = jit.unpacked(arguments)
    out[0] = numbers[0] + numbers[1] + record.x


_call = jit.calls(add_up_apart)


@jit.njit
def add_up(address, numbers, record, out):
    for _ in range(2):
        out[1] += 1.0
        _call(address, (numbers, record, out))


def test_a_kernel_is_called_through_its_address() -> None:
    """With numbers, records and arrays as arguments, and what it writes is seen."""
    record = np.zeros(1, np.dtype((np.record, [("x", "f8")])))[0]
    out = np.zeros(2)
    for x in (0.5, 1.5):
        record.x = x
        address = jit.address_of(add_up_apart, (3, 4.0), record, out)
        assert jit.address_of(add_up_apart, (1, 2.0), record, out) == address
        add_up(address, (3, 4.0), record, out)
        assert out[0] == 7 + x
    assert out[1] == 4


@compiled
def test_what_another_process_compiles_is_waited_for(tmp_path: Path) -> None:
    """Or not, if there is something else to do. The end of a process, however it comes, ends its claim."""
    path = tmp_path / "kernel.nbc"
    program = (
        "import sys; from pathlib import Path; from rlgo.compiler.machine_code import _claim;"
        "claim = _claim(Path(sys.argv[1])); print('claimed', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "claimed\n"
        with pytest.raises(machine_code.Claimed), machine_code.patience(False):
            machine_code._claim(path)
        assert machine_code._claim(tmp_path / "another.nbc") is not None
        other.kill()
        claim = machine_code._claim(path)
    assert claim is not None
    os.close(claim[0])


@compiled
def test_threads_that_compile_the_same_kernel_release_their_own_claims(tmp_path: Path) -> None:
    kernel = jit.njit(lambda x: x + 1)
    cache, thread = kernel._cache, threading.Thread(target=kernel._cache.release)
    cache._claims[threading.get_ident()] = machine_code._claim(tmp_path / "kernel.nbc")
    thread.start()
    thread.join()
    with pytest.raises(machine_code.Claimed), machine_code.patience(False):
        machine_code._claim(tmp_path / "kernel.nbc")
    cache.release()
    assert not [*tmp_path.iterdir()]


_KERNELS = """
import sys
from pathlib import Path
from rlgo.compiler import ahead, jit, machine_code
rng = jit.make_rng(1)
jit.compile_together((jit.random_u64, rng), (jit.random_below, rng, 5), later=[(jit.random_unit, rng)])
own = [k for k in (jit.random_u64, jit.random_below, jit.random_unit) if k.stats.cache_misses]
print(len(own), jit.random_unit(rng), ahead._process is not None, flush=True)
if ahead._process is not None:
    print(ahead._process.pid, flush=True)
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
    if ahead._cores() > 1:
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
@pytest.mark.process
def test_the_second_process_begins_early_only_if_nothing_was_ever_compiled(tmp_path: Path) -> None:
    program = "from rlgo.compiler import ahead; ahead.begin_early(); print(ahead._process is not None)"

    def begins(switch: str) -> bool:
        environment = os.environ | {"RLGO_CACHE_DIR": str(tmp_path), "RLGO_COMPILE_AHEAD": switch}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True, cwd=ROOT
        )
        assert not done.stderr
        return done.stdout == "True\n"

    assert not begins("0")
    assert begins("1") == (ahead._cores() > 1)
    (tmp_path / f"{CACHE_PREFIX}of-some-version").mkdir(exist_ok=True)
    assert not begins("1")


@compiled
def test_generators_compile_with_the_shortcuts() -> None:
    """They need what other functions do without: the variables that live at the entry of each block."""

    def squares(n):
        total = 0
        for i in range(n):
            total += i * i
            yield total

    assert list(numba.njit(squares)(5)) == [0, 1, 5, 14, 30]


_PLAIN = """
import sys, numpy as np
{before}
import rlgo
from rlgo.compiler import jit
game = rlgo.Game(5)
game.play("C3")
counts = np.zeros(1, np.int64)
jit.njit(lambda a: jit.atomic_add(a, 0, 2))(counts)
print(jit.PLAIN, len(game.sensible_moves()), int(counts[0]), "rlgo.compiler.parts" in sys.modules)
"""


@compiled
@pytest.mark.process
@pytest.mark.parametrize("before", ["", "import numba.core.caching as c; del c._CacheLocator"])
def test_numbas_public_interface_suffices(tmp_path: Path, before: str) -> None:
    """Where it is asked for, in silence, or where numba has changed inside, after a line that says so."""
    environment = os.environ | {"RLGO_CACHE_DIR": str(tmp_path)} | ({} if before else {"RLGO_PLAIN_NUMBA": "1"})
    command = [sys.executable, "-c", _PLAIN.format(before=before)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == ["True", "24", "2", "False"]
    warning, *rest = done.stderr.splitlines() if before else ["", *done.stderr.splitlines()]
    assert ("cannot import name '_CacheLocator'" in warning) == bool(before)
    assert [line.partition(" (")[0] for line in rest] == ["compiling the rules of the game, 5x5"]


def test_patience_is_that_of_one_thread() -> None:
    seen: list[bool] = []
    begun, ended = threading.Event(), threading.Event()

    def other() -> None:
        with machine_code.patience(False):
            begun.set()
            ended.wait()
        seen.append(machine_code._patience.waits)

    with machine_code.patience(False):
        thread = threading.Thread(target=other)
        thread.start()
        begun.wait()
    assert machine_code._patience.waits  # although it is not for the other one, which began with this one's
    ended.set()
    thread.join()
    assert seen == [True]
