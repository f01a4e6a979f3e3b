"""Files that players are made from: loaded once, reloaded when they change, and listed on request."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rlgo.features import weights as weights_module
from train.players import loading as loading_module
from train.players import make_player
from train.players.loading import files_loaded, loaded, note_file


def test_a_file_is_loaded_again_only_when_it_has_changed(tmp_path: Path) -> None:
    file, reads = tmp_path / "file", []

    def load(path: Path, times: int) -> str:
        reads.append(path)
        return path.read_text("utf-8") * times

    file.write_text("a", "utf-8")
    assert [loaded(load, file, 2), loaded(load, file, 2), loaded(load, file, 3)] == ["aa", "aa", "aaa"]
    file.write_text("b", "utf-8")
    os.utime(file, ns=(1, 1))
    assert loaded(load, file, 2) == "bb"
    assert len(reads) == 3


def test_files_are_told_to_who_asks(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with files_loaded() as files:
        loaded(Path.read_text, file)
        with files_loaded() as others:
            note_file(tmp_path)
        loaded(Path.read_text, file)  # from memory, and used all the same
    note_file(tmp_path / "later")
    assert (files, others) == ({file}, {tmp_path})


def test_a_player_reads_the_best_shipped_weights_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of the shipped files is the best one is known by their names, and the next game has it in memory."""
    reads: list[str] = []
    read = weights_module.read_archive

    def counted(path: Path, *arguments: object) -> object:
        reads.append(Path(path).name)
        return read(path, *arguments)

    monkeypatch.setattr(weights_module, "read_archive", counted)
    loading_module._load.cache_clear()
    for _ in range(3):
        make_player("dyna2", 9, 1).close()
    assert reads == ["9x9-100M.npz"]
