"""Locks: one process at a time writes."""

from __future__ import annotations

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
