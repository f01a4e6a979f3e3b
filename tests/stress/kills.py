"""Commands that are killed repeatedly, and processes that may outlive them.

Start reading at `trials_of`.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from harness import Outcome
from broken_runs import Fault, attempt

from train import console
from train.cli import main as cli
from train.runs import child as run_of_a_fleet
from train.runs import fleet


class Broken(Exception):
    """A promise is broken, in words."""


def repeat(_place: Path, argv: list[str]) -> list[str]:
    """Go on with the same command."""
    return argv


class Variant(NamedTuple):
    """A command that goes on where it was killed."""

    write: Callable[[Path], list[str]]  # writes what it reads into the folder it runs in, and returns it
    left: Callable[[Path], Any]  # what it leaves in that folder; equal for all that ended well. Broken if that is bad
    again: Callable[[Path, list[str]], list[str]] = repeat  # returns the command that goes on; []: it has ended
    faults: tuple[Fault, ...] = ()  # see `broken_runs.attempt`


def trials_of(variants: Mapping[str, Variant], draw: random.Random) -> Iterator[Outcome]:
    """Kill one command after another, each one to eight times; each yields the number of its kills.

    At last, its results must be those of an undisturbed one, and no process of it may be left.
    """
    with tempfile.TemporaryDirectory() as place:
        seconds: dict[str, float] = {}
        expected: dict[str, Any] = {}
        while True:
            name = draw.choice(list(variants))
            if name not in expected:
                seconds[name], expected[name] = _undisturbed(variants[name], Path(place, f"calm-{name}"))
            kills, failure = 0, ""
            home = Path(tempfile.mkdtemp(dir=place))
            try:
                kills = _kill_again_and_again(draw, variants[name], home, seconds[name])
                wait_for_the_end(str(home))
                if variants[name].left(home) != expected[name]:
                    failure = f"{name}: the results differ after {kills} kills"
            except Broken as broken:
                failure = f"{name}: {broken}"
            if failure:
                console.message(f"kept in {shutil.copytree(home, tempfile.mkdtemp(), dirs_exist_ok=True)}")
            shutil.rmtree(home, ignore_errors=True)
            yield Outcome(name, failure, kills)


def _undisturbed(variant: Variant, home: Path) -> tuple[float, Any]:
    """Return how long a command takes, and what it leaves."""
    _here(variant, home / "warm")
    argv, begun = variant.write(home), time.monotonic()
    _check(*attempt(argv, home, *variant.faults), kills=0)
    return time.monotonic() - begun, variant.left(home)


def _here(variant: Variant, home: Path) -> None:
    """Run a command in this process, so that all children find everything compiled."""
    home.mkdir(parents=True)
    printed = io.StringIO()
    with contextlib.chdir(home), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(printed):
        status = cli.main(variant.write(home))
    _check(status, printed.getvalue(), kills=0)


# What Python says in a process that was being started when its parent was killed.
_ORPHAN = re.compile(r"Traceback \(most recent call last\):\n(?:  .*\n)*?.* in spawn_main\n(?:  .*\n)*EOFError: .*\n?")


def _kill_again_and_again(draw: random.Random, variant: Variant, home: Path, seconds: float) -> int:
    """Start a command, kill it at random moments, and let it finish at last; return how often it was killed."""
    kills, argv = 0, variant.write(home)
    for _ in range(draw.randint(1, 8)):
        status, printed = attempt(argv, home, *variant.faults, kill_after=draw.uniform(0, 1.1 * seconds))
        if status == 0:
            return kills
        kills += 1
        if "Traceback" in _ORPHAN.sub("", printed) or status != -signal.SIGKILL:
            raise Broken(f"status {status} after a kill: {printed[-1000:]}")
        argv = variant.again(home, argv)
        if not argv:
            return kills
    _check(*attempt(argv, home, *variant.faults), kills)
    return kills


def _check(status: int, printed: str, kills: int) -> None:
    if status != 0 or "Traceback" in printed:
        raise Broken(f"status {status} after {kills} kills: {printed[-1000:]}")


# ---------------------------------------------------------------------------------------------
# Processes that are left
# ---------------------------------------------------------------------------------------------


def processes_of(word: str) -> list[int]:
    """Return the processes, zombies included, whose command line or folder has a word in it."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (path / "cmdline").read_bytes().decode("utf-8", "replace")
            if word in words or word in os.readlink(path / "cwd"):
                found.append(int(path.name))
    return [pid for pid in found if pid != os.getpid()]


def wait_for_the_end(word: str, seconds: float = 300.0) -> None:
    """Wait until no process of `processes_of` is left. Raises Broken if one stays."""
    end = time.monotonic() + seconds
    while left := processes_of(word):
        if time.monotonic() > end:
            raise Broken(f"processes {left} are left after {seconds:g} s")
        time.sleep(0.02)


# ---------------------------------------------------------------------------------------------
# The processes of a fleet, forked
# ---------------------------------------------------------------------------------------------


class ForkedPopen:
    """What `fleet` needs of `subprocess.Popen`, for the module `train.runs.child`, without starting an interpreter."""

    def __init__(self, argv: Sequence[str], *, stdin: int, stdout: IO[bytes], **_: Any) -> None:
        assert stdin == subprocess.PIPE
        theirs, ours = os.pipe()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            status = 99
            try:
                os.setsid()
                os.dup2(theirs, 0)
                os.dup2(stdout.fileno(), 1)
                os.dup2(stdout.fileno(), 2)
                os.closerange(3, 1024)
                sys.stdout, sys.stderr = open(1, "w", buffering=1), open(2, "w", buffering=1)  # noqa: SIM115
                status = run_of_a_fleet.main(list(argv[argv.index("train") :]))
            finally:
                os._exit(status)
        os.close(theirs)
        self.stdin = os.fdopen(ours, "wb")

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self) -> int:
        """Wait for its end."""
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


def fork_fleets() -> None:
    """A fault that lets a fleet fork its runs."""

    class Forking:
        PIPE, Popen = subprocess.PIPE, ForkedPopen

    fleet.subprocess = Forking  # type: ignore[assignment]
