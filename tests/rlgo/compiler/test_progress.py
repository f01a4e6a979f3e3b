"""What people are told while something is compiled."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import pytest

from rlgo.compiler import jit, progress

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


def test_compiling_is_announced_when_it_happens(tmp_path: Path, capsys) -> None:
    """Once for some work with all its details, and only where there is no machine code."""

    def double(x):
        return 2 * x

    def said(folder: str) -> str:
        """Do some work as a new process would, with the machine code in a folder."""
        kernel = jit.njit(double)
        (tmp_path / folder).mkdir(exist_ok=True)
        kernel._cache._folder = tmp_path / folder
        with jit.compiling("a game, 9x9"):
            assert kernel(2) == 4
            with jit.compiling("a detail"):
                assert kernel(1.5) == 3
        with jit.compiling("another game"):
            assert kernel(3) == 6
        return capsys.readouterr().err

    once = r"compiling a game, 9x9 \(first use only\) \.\.\. \d+ s\n"
    assert re.fullmatch(once, said("here"))
    assert said("here") == ""
    assert re.fullmatch(once, said("elsewhere"))
    for file in (tmp_path / "here").iterdir():
        file.write_bytes(file.read_bytes()[:-1])  # as after a power cut
    assert re.fullmatch(once, said("here"))
    assert said("here") == ""


def test_long_compiling_shows_that_it_goes_on(monkeypatch, capsys) -> None:
    monkeypatch.setattr(progress, "_TICK_SECONDS", 0.001)
    told = ""
    with jit.compiling("a game that takes long, 9x9"):
        progress.announce()
        while "... .." not in told:
            told += capsys.readouterr().err
    told += capsys.readouterr().err
    assert re.fullmatch(r"compiling a game that takes long, 9x9 \(first use only\) \.\.\. \.+\d+ s\n", told)


def test_compiling_in_a_thread_is_told_in_whole_lines(capsys) -> None:
    def work() -> None:
        with jit.compiling("a game"):
            progress.announce()

    with ThreadPoolExecutor(1) as executor:
        executor.submit(work).result()
    told = capsys.readouterr().err
    assert re.fullmatch(r"compiling a game \(first use only\) \.\.\.\ncompiling a game: \d+ s\n", told)


def test_a_line_ends_when_compiling_fails(capsys) -> None:
    with pytest.raises(ZeroDivisionError), jit.compiling("a game"):  # noqa: PT012
        progress.announce()
        raise ZeroDivisionError
    assert capsys.readouterr().err == "compiling a game (first use only) ... \n"
