"""The folder of a run: its lock, how it is created, its state and its checkpoints."""

from __future__ import annotations

import fcntl
import itertools
import zipfile
from pathlib import Path

import numpy as np
import pytest
from broken_runs import flip

from rlgo.base.errors import RlgoError
from rlgo.base.files import TEMPORARY
from train.runs.folder import RunFolder, next_checkpoint


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run with a saved state and a log."""
    folder = RunFolder(tmp_path / "runs" / "some run")
    with folder.build() as new:
        new.config.write_text("[run]\n")
        new.metrics.write_text("one\n")
        new.save({"theta": np.arange(3_000, dtype=np.float32)}, {"games": 7}, {"metrics.jsonl": 4})
    return folder


# ---------------------------------------------------------------------------------------------
# Creating it, and the lock
# ---------------------------------------------------------------------------------------------


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "runs" / "name")

    def fail() -> None:
        with folder.build() as new:
            new.config.write_text("half")
            assert not folder.path.exists()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(folder.path.parent.iterdir()) == []
    with folder.build() as new:
        new.config.write_text("whole")
    assert folder.exists()
    assert folder.config.read_text() == "whole"
    assert folder.saved() == {}


def test_two_runs_that_start_under_one_name(tmp_path: Path) -> None:
    """The later one does not take the folder that the first one fills for one that a killed process has left."""
    folder = RunFolder(tmp_path / "name")
    left = tmp_path / f".name.abcdefgh{TEMPORARY}"
    left.mkdir()
    (left / "config.toml").write_text("left behind")

    def start_both() -> None:
        with folder.build() as first:
            first.config.write_text("first")
            with folder.build() as second:
                second.config.write_text("second")
            first.run_json.write_text("still there")

    with pytest.raises(RlgoError, match=r"name: already contains a run"):
        start_both()
    assert folder.config.read_text() == "second"
    assert list(tmp_path.iterdir()) == [folder.path]


def test_testing_the_lock_keeps_nobody_out(folder: RunFolder) -> None:
    assert not folder.in_use()
    # Two processes that test do not see each other, ...
    (folder.path / ".lock").touch()
    with open(folder.path / ".lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        assert not folder.in_use()
    with folder.lock():
        assert folder.in_use()
        # ... but whoever wants the lock has to wait.
        with pytest.raises(RlgoError, match="in use by another process"), folder.lock():
            pass
    assert not folder.in_use()


# ---------------------------------------------------------------------------------------------
# The state
# ---------------------------------------------------------------------------------------------


def test_a_state_comes_back_as_it_was_saved(folder: RunFolder) -> None:
    arrays, progress = folder.load()
    assert progress == {"games": 7}
    assert {name: array.tolist() for name, array in arrays.items()} == {"theta": list(range(3_000))}


def test_rewinding_cuts_off_what_came_after_the_state(folder: RunFolder) -> None:
    folder.metrics.write_text("one\ntwo\nthr")
    stray = folder.checkpoints / ".000000000100.npz.abcdefgh.tmp"
    later = folder.path / "events.out.tfevents.1"
    stray.write_bytes(b"half")
    later.write_bytes(b"of a session that saved no state")
    for games in (5, 10):
        folder.checkpoint(games).touch()
    folder.rewind()
    assert list(folder.saved()) == [5]
    assert folder.metrics.read_text() == "one\n"
    assert not stray.exists()
    assert not later.exists()


def test_rewinding_refuses_a_file_that_is_too_short(folder: RunFolder) -> None:
    folder.metrics.write_text("one")
    with pytest.raises(RlgoError, match=r"metrics.jsonl: missing or damaged: expected at least 4 bytes, as of .*state"):
        folder.rewind()
    assert folder.metrics.read_text() == "one"


def test_every_flipped_bit_of_a_state_is_noticed(folder: RunFolder) -> None:
    data = folder.state.read_bytes()
    with zipfile.ZipFile(folder.state) as archive:
        directory, comment = 8 * archive.start_dir, 8 * (len(data) - len(archive.comment))
    rng = np.random.default_rng(1)
    # The first header, what follows, the archive's directory, and its comment.
    for start, end in itertools.pairwise([0, 8 * 30, directory, comment, 8 * len(data)]):
        for bit in rng.choice(np.arange(start, end), 50, replace=False).tolist():
            flip(folder.state, bit)
            with pytest.raises(RlgoError, match=r"state\.npz: .*damaged"):
                folder.load()
            flip(folder.state, bit)
    assert folder.load()[1] == {"games": 7}


# ---------------------------------------------------------------------------------------------
# Names, numbers and commands
# ---------------------------------------------------------------------------------------------


def test_checkpoints_are_found_by_their_games(folder: RunFolder) -> None:
    for games in (1_000, 100, 20_000):
        folder.checkpoint(games).touch()
    (folder.checkpoints / "notes.npz").touch()
    assert list(folder.saved().items()) == [(n, folder.checkpoint(n)) for n in (100, 1_000, 20_000)]


def test_checkpoints_lie_ever_further_apart() -> None:
    found = [100]
    while found[-1] < 10**9:
        found.append(next_checkpoint(found[-1]))
    assert found == [100, 200, 500, *(n * 10**k for k in range(3, 9) for n in (1, 2, 5)), 10**9]
    assert [next_checkpoint(n) for n in (0, 99, 100, 499)] == [100, 100, 200, 500]


def test_metrics_are_read_line_by_line(tmp_path):
    folder = RunFolder(tmp_path)
    assert folder.read_metrics(7) == ([], 0, 0)  # nothing logged yet
    folder.metrics.write_bytes(b'{"games": 100, "a": 1.5}\nno JSON\n{"a": 2}\n[1]\n{"games": 200}\n{"gam')
    lines, begin, end = folder.read_metrics()
    assert lines == [{"games": 100, "a": 1.5}, {"games": 200}]
    assert begin == 0
    assert folder.metrics.read_bytes()[end:] == b'{"gam'
    assert folder.read_metrics(end) == ([], end, end)
    with folder.metrics.open("ab") as file:
        file.write(b'es": 300}\n')
    assert folder.read_metrics(end).lines == [{"games": 300}]
    assert folder.read_metrics(25, most_bytes=20) == ([], 25, 42)  # whole lines only
    assert folder.read_metrics(10_000) == folder.read_metrics()  # the log was cut back
