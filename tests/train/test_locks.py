"""Locks: one process at a time writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rlgo.base.errors import RlgoError
from train.locks import only_writer


@pytest.mark.parametrize("is_folder", [True, False])
def test_one_process_at_a_time_writes(tmp_path: Path, is_folder: bool) -> None:
    path = tmp_path / "results"
    if is_folder:
        path.mkdir()
    with only_writer(path):
        with pytest.raises(RlgoError) as error, only_writer(path):
            pass
        with only_writer(tmp_path / "others"):
            pass
    assert str(error.value) == f"{path}: another process is writing to it"
    with only_writer(path):  # let go of
        pass


@pytest.mark.skipif(os.name != "posix", reason="Windows keeps the file of a lock")
def test_no_lock_files_stay(tmp_path: Path) -> None:
    with only_writer(tmp_path / "results"), only_writer(tmp_path):
        assert {path.name for path in tmp_path.iterdir()} == {"results.lock", ".lock"}
    assert not list(tmp_path.iterdir())


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="Windows keeps the file of a lock")
def test_writers_that_wait_for_each_other_never_write_together(tmp_path: Path) -> None:
    """Each adds one to a number in a file, 40 times; the lock file is removed and made again all the time."""
    (tmp_path / "number").write_text("0")
    code = (
        "import sys; from pathlib import Path; from train.locks import only_writer\n"
        "path = Path(sys.argv[1])\n"
        "for _ in range(40):\n"
        "    with only_writer(path, 60):\n"
        "        path.write_text(str(int(path.read_text()) + 1))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "number")]
    writers = [subprocess.Popen(command) for _ in range(4)]
    assert [writer.wait(60) for writer in writers] == [0] * 4
    assert (tmp_path / "number").read_text() == "160"
