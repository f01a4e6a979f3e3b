"""Many training runs side by side, each in its own process.

Start reading at `train_all`. Each run has an ordinary run folder, and a fleet keeps no state outside those folders:
the remaining work follows from their contents. So a fleet that was interrupted, even by ``kill -9``, continues
when it is started again.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.base.files import make_folder
from rlgo.base.machine import processors
from rlgo.go.rules import check_max_moves
from rlgo.learning.fast_games import compile_matches
from rlgo.learning.optimisers import find_rule
from train.config import Config, flat, load_config, overrides
from train.console import Progress, message
from train.runs.folder import EXISTS, IN_USE, RunFolder
from train.runs.learners import make_learner
from train.runs.run import SAVED
from train.runs.status import DAMAGED, FINISHED, INTERRUPTED, inspect

FAILED = "failed"
# Not -m: it searches the current folder first, where a user's train.py would hide ours.
_START = "import runpy, sys; sys.path[:] = {path!r}; runpy.run_module({child!r}, run_name='__main__', alter_sys=True)"
CHILD = "train.runs.child"  # the module that each process runs; it imports this package, never the reverse
_LONGEST_NAME = 150  # file systems allow 255 characters
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class RunSpec:
    """One run of a fleet: its config, and the settings that set it apart from the others."""

    values: dict[str, Any]  # those settings, by section.key
    config: Config  # complete
    base: str  # name or path of the config it was derived from

    @property
    def name(self) -> str:
        """The name of the run folder."""
        return self.config.run.name

    @property
    def folder(self) -> RunFolder:
        """The run folder."""
        return RunFolder(Path(self.config.run.out) / self.name)


@dataclass(eq=False)
class RunStatus:
    """The status of a run of a fleet, or how it ended."""

    spec: RunSpec
    state: str = INTERRUPTED  # FINISHED, INTERRUPTED or FAILED
    reason: str = ""  # why it failed
    games: int = 0  # games of self-play so far

    @property
    def has_diverged(self) -> bool:
        """Whether it failed because its weights grew without bound, which counts as a result."""
        return self.state == FAILED and self.reason.startswith("diverged")


def run_name(values: Mapping[str, Any], seed: int, prefix: str = "") -> str:
    """Return the name of a run folder: its settings and its seed, after `prefix` if there is one.

    A name longer than 150 characters is cut and ends with a checksum of the whole.
    """
    parts = [f"{_leaf(key)}-{_file_text(value)}" for key, value in values.items()]
    name = "_".join([*([_file_text(prefix)] if prefix else []), *parts, f"seed-{seed}"])
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 9]}-{zlib.crc32(name.encode()):08x}"
    return name


def _leaf(key: str) -> str:
    return key.partition(".")[2].rstrip("_")


def _file_text(value: Any) -> str:
    """Format a value so that it can be part of a folder's name."""
    if isinstance(value, list | tuple):
        return "-".join(map(_file_text, value))
    return re.sub(r"[^A-Za-z0-9.-]+", "-", str(value))


def jobs_for(specs: Iterable[RunSpec]) -> int:
    """Return how many runs can train at a time so that each of their workers has a processor."""
    return max(1, processors() // max((spec.config.run.workers for spec in specs), default=1))


def check_folders(specs: Iterable[RunSpec], hint: str) -> None:
    """Raise RlgoError if the folder of a run already contains a run with another config.

    Parameters
    ----------
    specs : the runs to check
    hint : what to do about it, for the message
    """
    for spec in specs:
        if not spec.folder.exists():
            continue
        try:
            found = flat(spec.folder.read_config())
        except RlgoError:
            continue  # damaged: `train_all` reports it
        expected = flat(spec.config)
        # Its folder may have been moved.
        differing = (key for key in expected if key != "run.out" and found[key] != expected[key])
        if key := next(differing, ""):
            raise RlgoError(
                f"{spec.folder.path}: already contains a run with {key} = {found[key]!r}, expected {expected[key]!r}; "
                f"{hint}, or remove that run"
            )


def warm_up(config: Config) -> None:
    """Compile what all runs need, once for all of them."""
    learner = make_learner(config, 0)
    learner.compile()
    compile_matches(learner.features)


def train_all(runs: Sequence[RunStatus], folder: Path, jobs: int, progress: bool) -> None:
    """Train every run until it finishes or fails, and update its status.

    Parameters
    ----------
    runs : the runs; those already finished or damaged are skipped
    folder : their common folder; their output goes to its subfolder logs
    jobs : number of runs that train at a time
    progress : show progress on standard error
    """
    logs = folder / "logs"
    make_folder(logs)
    pending = [run for run in runs if not _is_over(run)]
    n_finished = sum(run.state == FINISHED for run in runs)
    message(f"{len(runs)} runs in {folder}, {n_finished} finished; {jobs} at a time")
    for run in runs:
        if run.state == FAILED:
            message(f"{run.spec.name}: failed: {run.reason}")
    for run in pending:
        _check(run.spec)
    if pending:
        warm_up(pending[0].spec.config)
    total, initial = sum(run.spec.config.run.games for run in runs), sum(run.games for run in runs)
    with (
        Progress(total, "games", initial=initial, enabled=progress) as bar,
        contextlib.closing(_Fleet(pending, logs, len(runs))) as fleet,
    ):
        while fleet.is_busy():
            fleet.collect()
            fleet.launch(jobs)
            time.sleep(_POLL_SECONDS)
            bar.update(sum(run.games for run in runs) - bar.n)


def _check(spec: RunSpec) -> None:
    """Raise RlgoError for a config with which a run could not start, though each of its settings is within bounds."""
    try:
        find_rule(spec.config.learning.optimiser)
        check_max_moves(spec.config.policy.max_moves, spec.config.board.size, "policy.max_moves")
    except RlgoError as error:
        raise RlgoError(f"{spec.name}: {error}") from None


def _is_over(run: RunStatus) -> bool:
    """Update the status of a run from its folder; return whether it has finished or is damaged."""
    folder = run.spec.folder
    if not folder.path.exists():
        return False
    info = inspect(folder.path)
    run.games = info.games
    if info.state == DAMAGED:
        run.state, run.reason = FAILED, info.reason
    if info.state == FINISHED:
        run.state = FINISHED
    return info.state in (DAMAGED, FINISHED)


class _Fleet:
    """The runs waiting for a process, and the running processes.

    pending : runs that have not finished
    logs : folder for what the processes print
    total : number of all runs, for messages
    """

    def __init__(self, pending: list[RunStatus], logs: Path, total: int):
        self._pending, self._logs, self._total = pending, logs, total
        self._working: list[_Process] = []
        self._done = total - len(pending)
        self._has_said_waiting = False

    def is_busy(self) -> bool:
        """Whether any run is waiting or running."""
        return bool(self._pending or self._working)

    def collect(self) -> None:
        """Report the processes that have ended."""
        for process in [p for p in self._working if p.has_ended()]:
            self._working.remove(process)
            if process.came_too_late():
                self._pending.append(process.run)
            else:
                self._done += 1
                message(f"[{self._done}/{self._total}] {process.report()}")

    def launch(self, jobs: int) -> None:
        """Start processes until `jobs` are running, for runs that no other process is using."""
        while len(self._working) < jobs:
            ready = next((run for run in self._pending if not run.spec.folder.in_use()), None)
            if ready is None:
                break
            self._pending.remove(ready)
            if _is_over(ready):  # another process has finished it
                self._done += 1
            else:
                self._working.append(_Process(ready, self._logs))
        if self._pending and not self._working and not self._has_said_waiting:
            self._has_said_waiting = True
            message(f"{self._pending[0].spec.folder.path}: {IN_USE}; waiting for it")

    def close(self) -> None:
        """End the processes; each saves its state."""
        for process in self._working:  # first ask them all, then wait
            process.stop()
        for process in self._working:
            process.wait()


class _Process:
    """A running child process, which ends when its standard input closes, even if the parent was killed."""

    def __init__(self, run: RunStatus, logs: Path):
        spec = run.spec
        if spec.folder.path.exists():
            argv = ["train", "--resume", str(spec.folder.path)]
        else:
            argv = ["train", spec.base, "--set", *overrides(load_config(spec.base), spec.config)]
        self.run = run
        self._log = logs / f"{spec.name}.txt"
        self._bytes_read = 0  # of metrics.jsonl
        with self._log.open("ab") as log:
            self._log_start = log.tell()
            # In its own session, so that Ctrl-C in the terminal does not reach it as a second, forceful signal.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START.format(path=sys.path, child=CHILD), *argv],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def has_ended(self) -> bool:
        """Update the status of the run, and return whether its process has ended."""
        exit_status = self._process.poll()
        self._read_metrics()
        if exit_status is None:
            return False
        info = inspect(self.run.spec.folder.path)
        self.run.games = info.games
        self.run.state = FINISHED if info.state == FINISHED else FAILED
        if self.run.state == FAILED:
            self.run.reason = self._failure(exit_status)
        self.stop()
        return True

    def _read_metrics(self) -> None:
        """Read the lines that were added to metrics.jsonl."""
        lines, _, self._bytes_read = self.run.spec.folder.read_metrics(self._bytes_read)
        for line in lines:
            self.run.games = line["games"]

    def _failure(self, exit_status: int) -> str:
        """Return why the process failed: its signal, or the last line it printed."""
        if exit_status < 0:
            return f"killed by {signal.Signals(-exit_status).name}"
        if exit_status in (128 + signal.SIGINT, 128 + signal.SIGTERM):
            return "interrupted"
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            lines = [line for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
        # Drop the command that resumes this run alone: the fleet has its own.
        reason = lines[-1].removeprefix("rlgo: error: ").partition(SAVED)[0] if lines else ""
        return reason or f"exit status {exit_status}"

    def came_too_late(self) -> bool:
        """Whether another process took the run first; then this one counts as never started."""
        run = self.run
        taken = tuple(f"{run.spec.folder.path}: {why}" for why in (IN_USE, EXISTS))
        if run.state != FAILED or not run.reason.startswith(taken):
            return False
        run.state, run.reason = INTERRUPTED, ""
        return True

    def report(self) -> str:
        """Return one line about how the run ended."""
        run = self.run
        if run.state == FAILED:
            return f"{run.spec.name}: failed: {run.reason}"
        return f"{run.spec.name}: {run.games:,} games"

    def stop(self) -> None:
        """Ask the process to save its state and end."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def wait(self) -> None:
        """Wait until the process has ended."""
        self._process.wait()
