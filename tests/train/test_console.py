"""The console: messages, progress and tables."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from train import console
from train.console import LogFile, Progress, command, markdown, message, table


class Stream(io.StringIO):
    """A stream in memory that may claim to be a terminal."""

    def __init__(self, is_terminal: bool = False, encoding: str = "utf-8") -> None:
        super().__init__()
        self.is_terminal, self.name_of_encoding = is_terminal, encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.name_of_encoding

    def isatty(self) -> bool:
        return self.is_terminal


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: Any) -> None:
    for name in ("NO_COLOR", "TERM", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


# ---------------------------------------------------------------------------------------------
# Streams and messages
# ---------------------------------------------------------------------------------------------


def test_a_log_is_appended_to(tmp_path: Path) -> None:
    for words in ("= ok", "= Größe"):
        with LogFile(tmp_path / "log.txt") as log:
            log(words)
    lines = (tmp_path / "log.txt").read_text("utf-8").splitlines()
    assert [line.split(" ", 2)[2] for line in lines] == ["= ok", "= Größe"]
    assert [len(part) for part in lines[0].split(" ", 2)[:2]] == [10, 8]


def test_a_full_disk_ends_no_game_that_is_logged(capsys: Any) -> None:
    with LogFile(Path("/dev/full")) as log:
        log("= A1")
        log("= B1")
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "rlgo: /dev/full: cannot be written: No space left on device; continuing without it"


# ---------------------------------------------------------------------------------------------
# Progress
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: Any) -> Callable[[float], None]:
    """A clock that stands still; the function that it returns moves it on."""
    now = [1000.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])

    def advance(seconds: float) -> None:
        now[0] += seconds

    return advance


def test_where_there_is_no_terminal_progress_is_a_line_every_half_minute(
    clock: Callable[[float], None], capsys: Any
) -> None:
    with Progress(400, "games", initial=100) as bar:
        for _ in range(100):
            clock(1)
            bar.update(2)
        bar.set_postfix("best 61%")
        assert bar.n == 300
        assert bar.line() == "games: 300 of 400 (75%), 2/s, 0:00:50 left, best 61%"
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "games: 162 of 400 (40%), 2/s, 0:01:59 left",
        "games: 222 of 400 (55%), 2/s, 0:01:29 left",
        "games: 282 of 400 (70%), 2/s, 0:00:59 left",
    ]


def test_the_rate_leaves_out_the_first_step_which_may_have_compiled(
    clock: Callable[[float], None], capsys: Any
) -> None:
    with Progress(400, "games") as bar:
        bar.update(0)
        clock(90)
        bar.update(1)
        assert bar.line() == "games: 1 of 400 (0%)"
        for _ in range(30):
            clock(1)
            bar.update(3)
    assert capsys.readouterr().err.splitlines() == ["games: 91 of 400 (22%), 3/s, 0:01:43 left"]


def test_progress_that_is_switched_off_is_silent(clock: Callable[[float], None], capsys: Any) -> None:
    with Progress(3, "games", enabled=False) as bar:
        for _ in bar.track(range(3)):
            clock(100)
        assert bar.n == 3
    assert capsys.readouterr() == ("", "")


def test_text_that_takes_time_is_made_once_a_second(clock: Callable[[float], None]) -> None:
    made: list[int] = []
    with Progress(100, "games", enabled=False) as bar:
        for _ in range(30):
            bar.set_postfix(lambda: f"{made.append(1) or len(made)} made")
            assert bar.line().endswith(f"{len(made)} made")
            clock(0.25)
    assert len(made) == 8


def test_on_a_terminal_progress_is_a_bar(monkeypatch: Any) -> None:
    stream = Stream(is_terminal=True)
    monkeypatch.setattr("sys.stderr", stream)
    with Progress(2, "games", "games between checkpoints") as bar:
        bar.set_postfix("best 61%")
        assert list(bar.track("ab")) == ["a", "b"]
        message("a line above")
    text = stream.getvalue()
    assert text.startswith("\rgames between checkpoints:   0%|")
    assert "| 2/2 [" in text
    assert "best 61%" in text
    assert "\ra line above\n" in text.replace(" \r", "\r")


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------

HEADER = ("name", "Elo", "state")
ROWS = [("a", "1,200", "finished"), ("long name", "5", "")]
PLAIN = """\
name         Elo  state
a          1,200  finished
long name      5"""


def test_plain_tables() -> None:
    assert table(HEADER, ROWS, align="lr") == PLAIN
    assert table(HEADER, [], align="lr") == "name  Elo  state"


def test_markdown_tables() -> None:
    assert markdown([("a", "b"), ("1", ""), ("2", "x")], align="lr") == "| a | b |\n|---|---:|\n| 1 |  |\n| 2 | x |\n"


@pytest.mark.process
def test_importing_the_console_is_cheap() -> None:
    code = "import train.console, sys; print([m for m in ('numba', 'numpy', 'tqdm') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.process
def test_an_imported_ipykernel_makes_no_notebook() -> None:
    """Libraries import it too; bars are for notebooks and terminals only."""
    code = """
import sys, types
sys.modules["ipykernel"] = types.ModuleType("ipykernel")
from train.console import Progress
Progress(total=10, unit="games")
print("tqdm" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_command_to_type_from_another_folder(tmp_path: Path, monkeypatch: Any) -> None:
    """A program that is not on the PATH is named in full, unless it lies below this folder."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "bin" / "rlgo").touch(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    for folder, program in (
        ("elsewhere", tmp_path / "bin" / "rlgo"),
        (".", "bin/rlgo"),
        ("bin", tmp_path / "bin" / "rlgo"),
    ):
        monkeypatch.chdir(tmp_path / folder)
        assert command("rlgo", "weights", "info", "a b", 7) == f"{program} weights info 'a b' 7"
    assert command("tensorboard") == "tensorboard"
