"""The cache of machine code: what it keeps, what makes it stale, and where it cannot be written."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from rlgo.compiler import jit, machine_code

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


def test_each_signature_has_a_file_that_is_claimed_while_it_is_compiled(tmp_path: Path) -> None:
    """With numba's index, processes that compile at the same time give several signatures the same file."""
    kernel = jit.njit(lambda x: x + 1)
    kernel._cache._folder = tmp_path
    for argument in (1, 1.5, np.float32(2.5)):
        assert kernel(argument) == argument + 1
    assert len([*tmp_path.iterdir()]) == 3  # and no claims
    signature = (numba.typeof(1j),)
    with kernel._cache.claim(signature):
        with pytest.raises(machine_code.Claimed):
            kernel.compile(signature, waits=False)
        kernel.compile((numba.typeof(True),), waits=False)
    kernel.compile(signature, waits=False)
    assert len([*tmp_path.iterdir()]) == 5


def test_what_another_process_compiles_is_waited_for(tmp_path: Path) -> None:
    """The end of a process, however it comes, ends its claim."""
    program = (
        "import sys; from pathlib import Path; from rlgo.compiler.machine_code import _lock;"
        "lock = _lock(Path(sys.argv[1]), True); print('claimed', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "claimed\n"
        with pytest.raises(machine_code.Claimed):
            machine_code._lock(tmp_path / "lock", waits=False)
        other.kill()
        lock = machine_code._lock(tmp_path / "lock", waits=True)
    assert lock is not None
    os.close(lock)


def test_a_full_disk_costs_the_machine_code_alone(monkeypatch, capsys) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)

    @jit.njit
    def double(x):
        return 2 * x

    assert (double(2), double(2.5)) == (4, 5.0)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("machine code cannot be saved and will be compiled again next time: No space left on device")


@pytest.mark.process
def test_copies_of_the_same_sources_share_machine_code(tmp_path: Path) -> None:
    program = (
        "from rlgo.compiler.jit import make_rng, random_below; random_below(make_rng(1), 5);"
        "print(sum(random_below.stats.cache_misses.values()), sum(random_below.stats.cache_hits.values()))"
    )

    def misses_and_hits(root: Path) -> str:
        environment = os.environ | {"PYTHONPATH": str(root), "RLGO_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=root, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def copy(name: str, changed: str = "") -> Path:
        for package in ("rlgo", "mcts"):
            shutil.copytree(ROOT / package, tmp_path / name / package)
        if changed:
            with (tmp_path / name / changed).open("a", encoding="utf-8") as file:
                file.write("# changed\n")
        return tmp_path / name

    assert misses_and_hits(copy("same")) == "1 0"
    assert misses_and_hits(ROOT) == "0 1"
    assert misses_and_hits(copy("elsewhere", "rlgo/go/board.py")) == "0 1"
    assert misses_and_hits(copy("here", "rlgo/compiler/jit.py")) == "1 0"
    assert misses_and_hits(copy("below", "rlgo/base/errors.py")) == "1 0"


@pytest.mark.process
def test_a_cache_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    """What it lacks is compiled once, into a folder that outlasts the process."""
    start = """if True:
        import errno, pathlib, sys
        touch = pathlib.Path.touch
        def read_only(path, *args, **kwargs):
            if "shared" in path.parts:
                raise OSError(errno.EROFS, "Read-only file system")
            touch(path, *args, **kwargs)
        if sys.argv[1] == "read":
            pathlib.Path.touch = read_only
        from rlgo.compiler.jit import *
        calls = {"below": lambda: random_below(make_rng(1), 5), "unit": lambda: random_unit(make_rng(1))}
        for name in sys.argv[2:]:
            with compiling(name):
                calls[name]()
        kernels = random_below, random_unit
        print(sum(sum(k.stats.cache_misses.values()) for k in kernels))
    """

    def misses(*arguments: str) -> tuple[int, list[str]]:
        environment = os.environ | {"RLGO_CACHE_DIR": str(tmp_path / "shared"), "TMPDIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", start, *arguments], env=environment, check=True, capture_output=True, text=True
        )
        return int(done.stdout), done.stderr.splitlines()

    def listing() -> list[tuple[str, int]]:
        return sorted((str(path), path.stat().st_mtime_ns) for path in (tmp_path / "shared").rglob("*"))

    assert misses("write", "below")[0] == 1
    before = listing()
    n, lines = misses("read", "below", "unit")
    assert n == 1
    assert [line.split()[0] for line in lines] == ["rlgo:", "compiling"]
    assert "shared cannot be written: machine code is kept in " in lines[0]
    assert lines[1].startswith("compiling unit")
    assert misses("read", "below", "unit") == (0, [])
    assert listing() == before


@pytest.mark.process
def test_what_kernels_call_is_compiled_once_for_all_of_them(tmp_path: Path) -> None:
    environment = os.environ | {"RLGO_CACHE_DIR": str(tmp_path)}

    def files_after(kernel: str) -> dict[Path, int]:
        program = (
            f"from rlgo.compiler.jit import *; rng = make_rng(1); {kernel}; print('signatures', random_u64.signatures)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
        )
        assert "signatures []" in done.stdout  # only what Python calls has any
        return {path: path.stat().st_mtime_ns for path in tmp_path.rglob("inlined/random_u64*")}

    assert len(saved := files_after("random_unit(rng)")) == 1
    assert files_after("random_below(rng, 5)") == saved  # loaded, not saved again


def test_functions_of_users_can_be_called_by_their_kernels_and_by_python() -> None:
    @jit.njit
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    @jit.njit
    def cubes(xs):
        total = 0
        for x in xs:
            total += power(x, 3)
        return total

    assert cubes(np.arange(4)) == 36
    assert not power.nopython_signatures
    assert power(2, 10) == 1024


@pytest.mark.slow
@pytest.mark.process
def test_machine_code_is_read_without_what_only_compiling_needs(tmp_path: Path) -> None:
    """Such as scipy, for which a kernel with a function of numpy's may ask when it is compiled."""
    (tmp_path / "kernel.py").write_text(
        "import sys\nimport numpy as np\nfrom rlgo.compiler.jit import njit\n\n"
        "@njit(allocates=True)\ndef middle(values):\n    if values[0] < 0:\n        raise ValueError('negative')\n"
        "    return np.median(values), values[::-1].copy()\n\n"
        "number, turned = middle(np.arange(5.0))\n"
        "try:\n    middle(np.full(3, -1.0))\nexcept ValueError as error:\n    turned = error, turned\n"
        "print(number, turned, [name for name in ('scipy.linalg', 'numba.np.arraymath') if name in sys.modules])\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "RLGO_CACHE_DIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    run = [sys.executable, "kernel.py"]
    first, second = (subprocess.check_output(run, env=env, cwd=tmp_path, text=True) for _ in range(2))
    assert first == "2.0 (ValueError('negative'), array([4., 3., 2., 1., 0.])) ['scipy.linalg', 'numba.np.arraymath']\n"
    assert second == "2.0 (ValueError('negative'), array([4., 3., 2., 1., 0.])) []\n"
