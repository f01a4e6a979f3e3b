"""The cache of machine code, and what it leaves alone."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pytest

from rlgo.compiler import cache_folders, jit, machine_code

ROOT = Path(__file__).resolve().parents[3]


def test_old_machine_code_is_deleted_and_nothing_else(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("RLGO_CACHE_DIR", str(tmp_path))
    for i in range(6):
        for name in (f"kernels-{i}", f"photos-{i}"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "file").touch()
            os.utime(tmp_path / name, (i, i))
    now = cache_folders._cache_folders().written
    cache_folders._cache_folders()
    assert {path.name for path in tmp_path.glob("kernels-*")} == {"kernels-3", "kernels-4", "kernels-5", now.name}
    assert len([*tmp_path.glob("photos-*/file")]) == 6


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_compiling_is_announced_when_it_happens(tmp_path: Path, monkeypatch, capsys) -> None:
    """Once for some work with all its details, and only where there is no machine code."""

    def double(x):
        return 2 * x

    def said(folder: str) -> str:
        """Do some work as a new process would, with the machine code in a folder."""
        kernel = jit.njit(double)
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.setattr(kernel._cache, "_cache_file", machine_code._Files(tmp_path / folder, "double", "stamp"))
        with jit.compiling("a game, 9x9"):
            assert kernel(2) == 4
            with jit.compiling("a detail"):
                assert kernel(1.5) == 3
        with jit.compiling("another game"):
            assert kernel(3) == 6
        return capsys.readouterr().err

    once = r"compiling a game, 9x9 \(first use only\) \.\.\. \d+ s\n"
    assert re.fullmatch(once, said("here"))
    assert said("here") == ""
    assert re.fullmatch(once, said("elsewhere"))
    for file in (tmp_path / "here").iterdir():
        file.write_bytes(file.read_bytes()[:-1])  # as after a power cut
    assert re.fullmatch(once, said("here"))
    assert said("here") == ""


def test_processes_that_compile_at_the_same_time_keep_their_machine_code_apart(tmp_path: Path) -> None:
    """With numba's index, several signatures get the same file."""

    def save(process: int) -> None:
        files = machine_code._Files(tmp_path, "kernel", "stamp")
        for signature in range(20):
            files.save((process, signature), f"code {process} {signature}")

    with ThreadPoolExecutor(8) as executor:
        list(executor.map(save, range(8)))
    files = machine_code._Files(tmp_path, "kernel", "stamp")
    assert {k: files.load(k) for k in np.ndindex(8, 20)} == {(p, s): f"code {p} {s}" for p, s in np.ndindex(8, 20)}
    assert machine_code._Files(tmp_path, "kernel", "changed").load((0, 0)) is None
    assert machine_code._Files(tmp_path, "kern", "stamp").load((0, 0)) is None
    assert len([*tmp_path.iterdir()]) == 160
    files.flush()
    assert not [*tmp_path.iterdir()]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_long_compiling_shows_that_it_goes_on(monkeypatch, capsys) -> None:
    monkeypatch.setattr(jit, "_TICK_SECONDS", 0.001)
    told, threads = "", threading.active_count()
    with jit.compiling("a game that takes long, 9x9"):
        jit._announce()
        while "... .." not in told:
            told += capsys.readouterr().err
    told += capsys.readouterr().err
    # No dot comes after the last line.
    assert re.fullmatch(r"compiling a game that takes long, 9x9 \(first use only\) \.\.\. \.{2,}\d+ s\n", told)
    assert threading.active_count() == threads


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_compiling_in_a_thread_is_told_in_whole_lines(capsys) -> None:
    def work() -> None:
        with jit.compiling("a game"):
            jit._announce()

    with ThreadPoolExecutor(1) as executor:
        executor.submit(work).result()
    told = capsys.readouterr().err
    assert re.fullmatch(r"compiling a game \(first use only\) \.\.\.\ncompiling a game: \d+ s\n", told)


def test_another_numpy_has_machine_code_of_its_own(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("RLGO_CACHE_DIR", str(tmp_path))
    here = cache_folders._cache_folders().written
    assert cache_folders._cache_folders().written == here
    monkeypatch.setattr("numpy.__version__", "9.9")
    assert cache_folders._cache_folders().written != here


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_full_disk_costs_the_machine_code_alone(monkeypatch, capsys) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numba.core.caching.Cache._save_overload", full)

    @jit.njit
    def double(x):
        return 2 * x

    assert (double(2), double(2.5)) == (4, 5.0)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("machine code cannot be saved and will be compiled again next time: No space left on device")


@pytest.mark.process
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
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
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
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


def test_a_private_folder_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch) -> None:
    """Machine code is loaded without a check: whoever can write it can run it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("RLGO_CACHE_DIR", "unchanged")
    own = cache_folders._private_folder("")
    assert cache_folders._private_folder("") == own
    own.chmod(0o777)
    other = cache_folders._private_folder("")
    assert other != own
    assert other.stat().st_mode & 0o077 == 0
    own.rmdir()
    own.symlink_to(other)
    assert cache_folders._private_folder("") not in (own, other)


def test_without_a_home_the_cache_is_among_the_temporary_files(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("RLGO_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = cache_folders._cache_folders()
    assert found.read_only is None
    assert found.written.parent.parent == tmp_path
    assert not (Path.cwd() / "~").exists()


@pytest.mark.process
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
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
        return {path: path.stat().st_mtime_ns for path in tmp_path.rglob("parts/jit.random_u64*")}

    assert len(saved := files_after("random_unit(rng)")) == 1
    assert files_after("random_below(rng, 5)") == saved  # loaded, not saved again


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
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
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
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
