"""Where machine code is kept."""

from __future__ import annotations

import os
from pathlib import Path

from rlgo.compiler import cache_folders


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


def test_another_numpy_has_machine_code_of_its_own(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("RLGO_CACHE_DIR", str(tmp_path))
    here = cache_folders._cache_folders().written
    assert cache_folders._cache_folders().written == here
    monkeypatch.setattr("numpy.__version__", "9.9")
    assert cache_folders._cache_folders().written != here


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
