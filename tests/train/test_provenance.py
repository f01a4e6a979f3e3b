"""The provenance of results."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from pathlib import Path

import numba
import numpy as np
import pytest

from rlgo.base.resources import version
from rlgo.compiler.sources import sources_digest
from train import provenance
from train.games.collect import origin


def test_versions_of_what_computes_and_of_engines() -> None:
    own = {"rlgo": version(), "python": platform.python_version(), "numpy": np.__version__, "numba": numba.__version__}
    assert provenance.versions() == own
    assert list(provenance.versions({"GNU Go": "3.8"}).items()) == [*own.items(), ("GNU Go", "3.8")]


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["/usr/bin/rlgo", "games", "uct,sims=9", "--out", "my games"], "rlgo games uct,sims=9 --out 'my games'"),
        (["/some/rlgo/__main__.py", "match"], "rlgo match"),
        (["/usr/bin/pytest", "-q"], ""),
        (["/some/mylab/__main__.py", "match"], ""),
        (["-c"], ""),
    ],
)
def test_the_command_as_it_is_typed(argv: list[str], command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", argv)
    assert provenance.command_line() == command
    assert origin()["command"] == command


def in_a_checkout(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """Have `provenance` believe that it stands in `root`/train."""
    monkeypatch.setattr(provenance, "__file__", str(root / "train" / "provenance.py"))


def git(root: Path, *arguments: str) -> str:
    names = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    return subprocess.run(["git", *names, *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def test_the_commit_and_whether_files_differ_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("one")
    git(tmp_path, "init")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-m", "one")
    head = git(tmp_path, "rev-parse", "--short", "HEAD").strip()
    in_a_checkout(monkeypatch, tmp_path)
    assert provenance.commit() == head
    (tmp_path / "untracked").write_text("x")
    assert provenance.commit() == head
    (tmp_path / "file").write_text("two")
    assert provenance.commit() == head + "+"


def test_no_commit_without_a_checkout_or_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_a_checkout(monkeypatch, tmp_path)
    assert provenance.commit() == ""
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", "/nowhere")
    assert provenance.commit() == ""


def test_programs_are_the_sources_and_the_weight_files(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"abc")
    assert provenance.programs({}) == {"sources": sources_digest()}
    digest = hashlib.sha256(b"abc").hexdigest()[:16]
    assert provenance.file_digest(path) == digest
    assert provenance.programs({"mine": path}) == {"sources": sources_digest(), "files": {"mine": digest}}
