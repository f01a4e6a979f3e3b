"""Archives: written as a whole or not at all, and every flipped bit is detected."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from weight_files import refused, some_weights

from rlgo.base.errors import RlgoError
from rlgo.base.files import write_atomically
from rlgo.base.resources import config_path
from rlgo.features.weights import (
    load_weights,
    save_weights,
)


@pytest.fixture
def saved(tmp_path) -> Path:
    path = tmp_path / "w.npz"
    save_weights(path, some_weights())
    return path


def test_numpy_reads_the_file_too(saved):
    with np.load(saved, allow_pickle=False) as arrays:
        assert (arrays["theta"] == some_weights().theta[1:]).all()
        meta = json.loads(bytes(arrays["meta"]))
    stored = [(block.name, block.stop - block.start) for block in some_weights().features.blocks]
    assert list(meta["blocks"].items()) == stored == [("1x1-LI", 1), ("1x1-LD", 6), ("2x2-LI", 8), ("2x2-LD", 92)]
    assert (meta["format"], meta["version"], meta["size"], meta["komi"]) == ("rlgo-weights", 1, 5, 6.5)
    assert zipfile.ZipFile(saved).testzip() is None


def test_saving_replaces_the_file_and_leaves_nothing_else(saved):
    save_weights(saved, some_weights(games=456))
    assert load_weights(saved).games == 456
    assert list(saved.parent.iterdir()) == [saved]


def test_a_write_that_fails_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(f"os.{step}", fail)
            with pytest.raises(RlgoError, match=rf"{re.escape(str(saved))}: cannot be written: No space left"):
                save_weights(saved, some_weights(games=456))
        assert saved.read_bytes() == before
        assert list(saved.parent.iterdir()) == [saved]


def test_a_write_that_is_interrupted_leaves_the_old_file(saved, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(saved, b"new")
    assert load_weights(saved).games == 123
    assert list(saved.parent.iterdir()) == [saved]


@pytest.mark.parametrize("folder", ["missing", "file"])
def test_a_folder_that_is_none(tmp_path, folder):
    (tmp_path / "file").write_text("in the way")
    path = tmp_path / folder / "w.npz"
    with pytest.raises(RlgoError, match=rf"{re.escape(str(path))}: cannot be written: (No such|Not a dir)"):
        save_weights(path, some_weights())
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_missing_file_and_a_folder(tmp_path):
    refused(tmp_path / "none.npz", "no such weight file")
    refused(tmp_path, "expected a weight file, found a folder")
    refused(tmp_path / ("x" * 300), "no such weight file")
    with pytest.raises(RlgoError, match="no such config file"):
        config_path("x" * 300)


def test_truncated_files(saved):
    data = saved.read_bytes()
    lengths = {0, 1, 4, 30, 100, 192, len(data) - 1, len(data) - 63, len(data) - 64, len(data) - 65, len(data) - 80}
    for length in lengths | set(range(0, len(data), len(data) // 40)):
        saved.write_bytes(data[:length])
        refused(saved)


def test_a_longer_file(saved):
    data = saved.read_bytes()
    for more in (b"\0", b"0" * 64, data):
        saved.write_bytes(data + more)
        refused(saved)


def test_every_flipped_bit_is_noticed(saved):
    data = saved.read_bytes()
    rng = np.random.default_rng(1)
    # 1,000 anywhere; and at both ends of the file, which its formats look at first.
    anywhere, end = rng.choice(8 * len(data), 1_000, replace=False), rng.choice(8 * 96, 100, replace=False)
    for bit in [*range(32), *anywhere.tolist(), *(8 * len(data) - 1 - end).tolist()]:
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        saved.write_bytes(broken)
        refused(saved)
    saved.write_bytes(data)
    assert load_weights(saved).games == 123


def test_files_of_another_kind(tmp_path):
    path = tmp_path / "w.npz"
    for content in (b"", b"garbage", b"PK\x05\x06" + bytes(18), np.random.default_rng(1).bytes(5000), b"\x93NUMPY"):
        path.write_bytes(content)
        refused(path, "weight file")
    np.savez(path, a=np.arange(3))
    refused(path, "weight file")
    np.savez(path, theta=np.zeros(107, np.float32), meta=np.frombuffer(b"{}", np.uint8))
    refused(path, "weight file")
    np.savez(path, theta=np.zeros(107, np.float32), meta=np.frombuffer(b"[1", np.uint8))
    refused(path, "weight file")
    with path.open("wb") as file:
        np.save(file, np.zeros(107, np.float32))
    refused(path, "weight file")
