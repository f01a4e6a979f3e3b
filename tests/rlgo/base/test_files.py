"""Files: replaced as a whole, appended to or left alone, and every error is one line that names the file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rlgo.base import files
from rlgo.base.errors import RlgoError
from rlgo.base.files import append, check_writable, make_folder, read_file, read_text, write_atomically

ROOT = Path(__file__).resolve().parents[3]
FULL = "/dev/full: cannot be written: No space left on device"


@pytest.mark.parametrize("write", [write_atomically, append])
def test_a_full_disk(write) -> None:
    with pytest.raises(RlgoError, match=FULL):
        write("/dev/full", b"x")


def test_a_device_stays_a_device() -> None:
    write_atomically("/dev/null", b"x")
    append(Path("/dev/null"), b"x")
    assert not os.path.isfile("/dev/null")


def test_a_link_stays_a_link(tmp_path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_name_as_long_as_names_can_be(tmp_path) -> None:
    path = tmp_path / ("ä" * 127)
    write_atomically(path, b"x")
    assert read_file(path) == b"x"


def half(handle: int, data: memoryview) -> int:
    """Write half of what is left, and fail at the last byte: a disk that fills up."""
    if len(data) == 1:
        raise OSError(28, "No space left on device")
    return real_write(handle, data[: len(data) // 2])


real_write = os.write


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_what_cannot_be_appended_is_taken_back(error, tmp_path, monkeypatch) -> None:
    path = tmp_path / "games.jsonl"
    append(path, b"first\n")

    def fail(handle: int, data: memoryview) -> int:
        if len(data) == 1 and error is KeyboardInterrupt:
            raise KeyboardInterrupt
        return half(handle, data)

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "write", fail)
        with pytest.raises((RlgoError, KeyboardInterrupt)):
            append(path, b"second\n")
    assert path.read_bytes() == b"first\n"
    append(path, b"second\n")
    assert path.read_bytes() == b"first\nsecond\n"


def test_what_cannot_be_replaced_stays(tmp_path, monkeypatch) -> None:
    path = tmp_path / "state"
    write_atomically(path, b"old")
    monkeypatch.setattr(files.os, "write", half)
    with pytest.raises(RlgoError, match="state: cannot be written: No space left"):
        write_atomically(path, b"newer")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("state", b"old")]


def test_what_cannot_be_read(tmp_path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for path, why in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file")):
        with pytest.raises(RlgoError, match=f"{path}: cannot be read: {why}"):
            read_file(path)
    with pytest.raises(RlgoError, match="bytes: expected a text file in UTF-8"):
        read_text(tmp_path / "bytes")


def test_a_folder_in_place_of_a_file(tmp_path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    (tmp_path / "file").touch()
    with pytest.raises(RlgoError, match="file: expected a folder, found a file"):
        make_folder(tmp_path / "file")
    with pytest.raises(RlgoError, match="cannot be written: Not a directory"):
        make_folder(tmp_path / "file" / "a")


def test_files_that_cannot_be_written_are_noticed_first(tmp_path) -> None:
    check_writable(tmp_path / "new")
    check_writable("/dev/full")
    for path, why in ((tmp_path, "it is a folder"), (tmp_path / "none" / "x", f"there is no folder {tmp_path}/none")):
        with pytest.raises(RlgoError, match=f"--json {path}: expected a file that can be written: {why}"):
            check_writable(path, "--json ")


def test_a_device_is_not_read() -> None:
    with pytest.raises(RlgoError, match="/dev/zero: expected a file, found a device or a pipe"):
        read_file("/dev/zero")


def test_who_may_read_a_file(tmp_path) -> None:
    """New files obey the umask; others stay as they were."""
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "new", b"x")
    finally:
        os.umask(before)
    (tmp_path / "private").touch(0o600)
    write_atomically(tmp_path / "private", b"x")
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new", "private")] == [0o640, 0o600]


def test_standard_output_is_written_to(tmp_path) -> None:
    code = (
        "from rlgo.base.files import write_atomically as w; print('first', flush=True); w('/dev/stdout', b'second\\n')"
    )
    with (tmp_path / "out").open("a") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True, cwd=ROOT)
    assert (tmp_path / "out").read_text() == "first\nsecond\n"
