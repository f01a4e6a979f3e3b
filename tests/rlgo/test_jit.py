"""Where machine code is kept, and what is left alone."""

from __future__ import annotations

import os
from pathlib import Path

from rlgo import jit


def test_old_machine_code_is_deleted_and_nothing_else(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("RLGO_CACHE_DIR", str(tmp_path))
    for i in range(6):
        for name in (f"kernels-{i}", f"photos-{i}"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "file").touch()
            os.utime(tmp_path / name, (i, i))
    now = jit._cache_dir()
    assert {path.name for path in tmp_path.glob("kernels-*")} == {"kernels-3", "kernels-4", "kernels-5", now.name}
    assert len([*tmp_path.glob("photos-*/file")]) == 6
