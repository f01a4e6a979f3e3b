"""rlgo compile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from rlgo.base.errors import RlgoError
from rlgo.base.files import check_folder
from train.cli.main import main
from train.config import config_from_dict
from train.runs.run import run as train

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_what_was_compiled_in_advance_is_not_compiled_again(tmp_path: Path) -> None:
    """A game after `rlgo compile` saves no machine code."""
    environment = os.environ | {"RLGO_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}

    def rlgo(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rlgo", *arguments]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True)

    said = rlgo("compile", "random", "--size", "5").stderr.splitlines()
    assert all(line.startswith("compiling ") for line in said[:-1])
    assert "random on 5x5: ready after" in said[-1]
    kept = {path.name for path in tmp_path.rglob("*.nbc")}
    assert kept
    played = rlgo("match", "random", "random", "--games", "2", "--size", "5")
    assert "compiling" not in played.stderr
    assert {path.name for path in tmp_path.rglob("*.nbc")} == kept


def test_a_player_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "no-such"]) == 2
    assert "no-such" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_noticed_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiles(*_: object) -> None:
        raise AssertionError("before the folder was checked")

    monkeypatch.setattr("train.runs.run.learner_of", compiles)
    (tmp_path / "file").touch()
    with pytest.raises(RlgoError, match=r"file is a file; choose another folder with --out$"):
        train(config_from_dict({"run": {"out": f"{tmp_path}/file/runs"}}))
    monkeypatch.setattr("os.access", lambda path, _mode: Path(path) != tmp_path)
    with pytest.raises(RlgoError, match=rf"^--out {tmp_path}/a/b: .*: {tmp_path} cannot be written$"):
        check_folder(tmp_path / "a" / "b", "--out ")
    check_folder(tmp_path.parent / "other")
