"""What the documents print: their blocks, what is run of them, and how it is compared.

A block without a language is one of these:

* *commands and what they print*: it has lines ``$ rlgo ...``. They are run, in one folder for each page;
* *commands alone*, ``rlgo ...`` or of the shell: the options of rlgo are parsed, and nothing is run;
* *what a Python block prints*: the block after it;
* *not run*: its first line is ``# not run by the tests: WHY``. That is for what takes long, needs what is not shipped,
  or prints speeds.

``...`` on a line of its own stands for any lines. Seconds, speeds of machines, dates and commits are not compared. A
Python block that begins with ``# NAME.py`` is a file of that name for the commands of its page.
"""

from __future__ import annotations

import contextlib
import functools
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import typer

from train.cli.main import app, main

NOT_RUN = "# not run by the tests: "
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = (
    "rlgo ",
    "pip ",
    "make ",
    "source ",
    "export ",
    "ray ",
    "python ",
    "tensorboard ",
    "git ",
    "docker ",
    "podman ",
)
_VARIES = (  # what depends on the machine, the day, or the commit
    (r"\b\d[\d.,]*(?= s\b)", "T"),
    (r"\bratio \d[\d.]*", "ratio T"),
    (r"\bcommit [0-9a-f]{7,40}\+?", "commit C"),
    (re.escape(f"{Path(sys.executable).parent}/"), ""),  # of commands to go on with, if the folder is not on PATH
)
_PROGRESS = re.compile(  # on standard error
    r"compiling .*|\.*T s$|\w+ is getting ready|[\w ]+: [\d,]+ of [\d,]+ \(\d+%\)|"
    r"rlgo: .*: machine code cannot be saved"
)


class Block(NamedTuple):
    """A block of a page."""

    name: str  # of the page, and a number
    language: str
    text: str
    is_output: bool  # of the Python block before it

    @property
    def is_run(self) -> bool:
        return not self.text.startswith(NOT_RUN)

    @property
    def is_transcript(self) -> bool:
        return not self.language and bool(re.search(r"^\$ ", self.text, re.MULTILINE))

    @property
    def commands(self) -> list[str]:
        """The command lines of a block of commands, each on one line."""
        whole, start = re.sub(r" *\\\n\s*", " ", self.text), "$ " if self.is_transcript else _SHELL
        return [line.removeprefix("$ ") for line in whole.splitlines() if line.startswith(start)]


def blocks_of(page: Path) -> list[Block]:
    """Return all blocks of a page."""
    blocks: list[Block] = []
    for i, (language, text) in enumerate(_BLOCK.findall(page.read_text("utf-8"))):
        is_plain = not language and not text.startswith((*_SHELL, "$ ", "#"))
        follows = is_plain and bool(blocks) and blocks[-1].language == "python"
        blocks.append(Block(f"{page.name}-{i}", language, text, follows))
    return blocks


def comparable(text: str) -> list[str]:
    """Return the lines of a text without what varies, and without spaces at their ends and empty lines around."""
    for pattern, name in _VARIES:
        text = re.sub(pattern, name, text)
    lines = [line.rstrip() for line in text.splitlines() if not _PROGRESS.match(line)]
    return "\n".join(lines).strip("\n").splitlines()


def agrees(printed: str, expected: str) -> bool:
    """Whether a text is as the document shows it, where ``...`` stands for any lines."""
    parts = [re.escape(line) if line != "..." else r"(?:.*\n)*?.*" for line in comparable(expected)]
    return re.fullmatch("\n".join(parts), "\n".join(comparable(printed))) is not None


def transcript(text: str) -> Iterator[tuple[str, str]]:
    """Return each command of a block, and what it prints; a command with a backslash goes on in the next line."""
    for part in re.split(r"^\$ ", re.sub(r" *\\\n\s*", " ", text), flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


class _Typed(io.StringIO):
    """Lines that somebody types, which a terminal shows."""

    def readline(self, *_: int) -> str:
        line = super().readline()
        print(line, end="")
        return line


def run_command(command: str, expected: str) -> str:
    """Run a command of rlgo, type what the document types, and return what it prints."""
    words = shlex.split(command, comments=True)
    if words[0] != "rlgo":
        raise ValueError(f"{command}: expected a command of rlgo, or {NOT_RUN}WHY")
    typed = re.findall(r"^\d+ \w+> (.*)$|^([a-z]\w*(?: .*)?)\n[=?]", expected, re.MULTILINE)
    if words[1] == "gtp":  # reads from the process's own standard input
        lines = [a or b for a, b in typed]
        done = subprocess.run(
            [sys.executable, "-m", "rlgo", *words[1:]],
            input="\n".join(lines),
            capture_output=True,
            text=True,
            check=True,
        )
        return "\n\n".join(f"{line}\n{answer}" for line, answer in zip(lines, done.stdout.split("\n\n"), strict=False))
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        before, sys.stdin = sys.stdin, _Typed("".join(f"{a or b}\n" for a, b in typed))
        try:
            main(words[1:])
        finally:
            sys.stdin = before
    return out.buffer.getvalue().decode()


_command = functools.cache(lambda: typer.main.get_command(app))


def check_words(command: str) -> None:
    """Parse a command line of rlgo. Raises a usage error of click for what it does not take."""
    node = _command()
    words = shlex.split(command, comments=True)[1:]
    while True:
        context = node.make_context("rlgo", words, resilient_parsing=False, allow_extra_args=hasattr(node, "commands"))
        if not hasattr(node, "commands"):
            return
        _, node, words = node.resolve_command(context, [*context._protected_args, *context.args])
        assert node is not None
