"""Many training runs side by side, each in a process of its own.

Start reading at `train_all`. Each run, a *member*, is an ordinary run folder, and there is no state besides: what is
to be done follows from how the members' folders stand. So it goes on after anything, `kill -9` included, when it is
started again.
"""

from __future__ import annotations

import _thread
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from rlgo.errors import RlgoError
from rlgo.fast_games import play_fast
from rlgo.jit import compiling
from train.config import Config, flat, load_config, overrides
from train.provenance import processors
from train.runs.folder import RunFolder
from train.runs.run import make_learner
from train.runs.status import DAMAGED, FINISHED, INTERRUPTED, look

_LONGEST_NAME = 150  # file systems take 255 characters
_TRAIN = "import sys; from train.runs.fleet import train_member; sys.exit(train_member(sys.argv[1:]))"
FAILED = "failed"
_WIN_RATE = "strength/win_rate_"  # in the metrics of a run


@dataclass(frozen=True)
class Member:
    """One run of many."""

    values: dict[str, Any]  # of what tells it from the others, by section.key
    config: Config  # whole
    base: str  # name or path of the config that it starts from

    @property
    def name(self) -> str:
        """Of its folder."""
        return self.config.run.name

    @property
    def folder(self) -> RunFolder:
        """Where it stands."""
        return RunFolder(Path(self.config.run.out) / self.name)


@dataclass(eq=False)
class Training:
    """How the training of a member stands, or ended."""

    member: Member
    state: str = INTERRUPTED  # `runs.FINISHED`, `runs.INTERRUPTED` or FAILED
    reason: str = ""  # why it failed
    games: int = 0  # of self-play
    strength: dict[str, float] = field(default_factory=dict)  # its own last measurements: win rates by opponent


def member_name(values: Mapping[str, Any], seed: int, prefix: str = "") -> str:
    """The name of a member's folder: its values and its seed, after `prefix` where there is one."""
    parts = [f"{_leaf(key)}-{_file_text(value)}" for key, value in values.items()]
    name = "_".join([*([_file_text(prefix)] if prefix else []), *parts, f"seed-{seed}"])
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 9]}-{zlib.crc32(name.encode()):08x}"
    return name


def _leaf(key: str) -> str:
    return key.partition(".")[2].rstrip("_")


def _file_text(value: Any) -> str:
    """A value as a part of a folder's name."""
    if isinstance(value, list | tuple):
        return "-".join(map(_file_text, value))
    return re.sub(r"[^A-Za-z0-9.-]+", "-", str(value))


def train_all(trainings: Sequence[Training], folder: Path, jobs: int, progress: bool) -> None:
    """Bring every member to its end, or to its failure, and fill in how it ended.

    Parameters
    ----------
    trainings : one for each member, as new
    folder : of all of them; what they print goes to its folder logs
    jobs : processes at a time
    progress : show a progress bar on stderr
    """
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    pending = [training for training in trainings if not _is_over(training)]
    done = len(trainings) - len(pending)
    n_finished = sum(training.state == FINISHED for training in trainings)
    say(f"{len(trainings)} runs in {folder}, {n_finished} finished; {jobs} at a time")
    for training in trainings:
        if training.state == FAILED:
            say(f"{training.member.name}: failed: {training.reason}")
    if pending:
        warm_up(pending[0].member.config)
    working: list[_Process] = []
    waiting = False
    total = sum(training.member.config.run.games for training in trainings)
    begun = sum(training.games for training in trainings)
    with tqdm(total=total, initial=begun, unit=" games", smoothing=0.1, disable=not progress) as bar:
        try:
            while pending or working:
                for process in [p for p in working if p.has_ended()]:
                    working.remove(process)
                    done += 1
                    say(f"[{done}/{len(trainings)}] {process.told()}")
                while len(working) < jobs and (ready := next(filter(_is_free, pending), None)) is not None:
                    pending.remove(ready)
                    if _is_over(ready):  # by another process, meanwhile
                        done += 1
                    else:
                        working.append(_Process(ready, logs))
                if pending and not working and not waiting:
                    waiting = True
                    say(f"{pending[0].member.folder.path}: in use by another process; waiting for it")
                time.sleep(0.05)
                bar.update(sum(training.games for training in trainings) - bar.n)
                bar.set_postfix_str(_best(trainings), refresh=False)
        finally:
            # Asked all at once, then waited for: each saves its state.
            for process in working:
                process.stop()
            for process in working:
                process.wait()


def jobs_for(members: Iterable[Member]) -> int:
    """As many runs at a time as there are processors for their workers."""
    return max(1, processors() // max((member.config.run.workers for member in members), default=1))


def check_folders(members: Iterable[Member], way_out: str, besides: Sequence[str] = ()) -> None:
    """Whether runs that stand in the members' folders are the members. RlgoError.

    way_out : what to do otherwise, for people
    besides : settings that may be others
    """
    for member in members:
        if not member.folder.exists():
            continue
        try:
            there = flat(load_config(member.folder.config))
        except RlgoError:
            continue  # damaged: `train_all` tells
        expected = flat(member.config)
        free = {"run.out", *besides}  # the folder may have been moved
        wrong = [key for key in expected if key not in free and there[key] != expected[key]]
        if wrong:
            key = wrong[0]
            raise RlgoError(
                f"{member.folder.path}: holds a run with {key} = {there[key]!r}, expected {expected[key]!r}; "
                f"{way_out}, or remove that run"
            )


def say(line: str) -> None:
    """On stderr, above a progress bar."""
    tqdm.write(line, file=sys.stderr)


def warm_up(config: Config) -> None:
    """Compile once what all members need, before they would do it side by side."""
    size = config.board.size
    with compiling(f"self-play and learning, {size}x{size}"):
        learner = make_learner(config, 0)
        learner.learn(1)
    with compiling(f"matches, {size}x{size}"):
        play_fast(learner.features, learner.theta, learner.theta, 2, 0)


def _best(trainings: Sequence[Training]) -> str:
    """The best by the runs' own measurements so far, against the strongest opponent that all of them have."""
    measured = [training for training in trainings if training.strength]
    opponent = "shipped" if all("shipped" in training.strength for training in measured) else "random"
    if not measured:
        return ""
    best = max(measured, key=lambda training: training.strength.get(opponent, 0))
    return f"best {best.member.name}: {best.strength.get(opponent, 0):.1%} against {opponent}"


def _is_over(training: Training) -> bool:
    """Whether a member needs no process (any more)."""
    folder = training.member.folder
    if not folder.path.exists():
        return False
    info = look(folder.path)
    training.games = info.games
    training.strength = {key: s["win_rate"] for key, s in info.strength.items() if "win_rate" in s}
    if info.state == DAMAGED:
        training.state, training.reason = FAILED, info.reason
    if info.state == FINISHED:
        training.state = FINISHED
    return info.state in (DAMAGED, FINISHED)


def _is_free(training: Training) -> bool:
    return not training.member.folder.in_use()


class _Process:
    """A member at work: `rlgo train` in a process that ends when its standard input does, by whatever cause."""

    def __init__(self, training: Training, logs: Path):
        member = training.member
        if member.folder.path.exists():
            argv = ["train", "--resume", str(member.folder.path)]
        else:
            argv = ["train", member.base, "--set", *overrides(load_config(member.base), member.config)]
        self.training = training
        self._log = logs / f"{member.name}.txt"
        self._read = 0  # bytes of metrics.jsonl
        with self._log.open("ab") as log:
            self._begin = log.tell()
            # In a session of its own, out of reach of the terminal's Ctrl-C: a second signal would not be polite.
            self._process = subprocess.Popen(
                [sys.executable, "-c", _TRAIN, *argv],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def has_ended(self) -> bool:
        """Look how far it is, and whether it has ended."""
        status = self._process.poll()
        self._look()
        if status is None:
            return False
        info = look(self.training.member.folder.path)
        self.training.games = info.games
        self.training.state = FINISHED if info.state == FINISHED else FAILED
        if self.training.state == FAILED:
            self.training.reason = self._last_words(status)
        self.stop()
        return True

    def _look(self) -> None:
        """Read on in metrics.jsonl."""
        path = self.training.member.folder.metrics
        try:
            if path.stat().st_size < self._read:
                self._read = 0  # cut back to the state that it went on from
            with path.open("rb") as file:
                file.seek(self._read)
                lines = file.read().rpartition(b"\n")[0]
        except FileNotFoundError:
            return
        self._read += len(lines) + 1 if lines else 0
        for line in lines.splitlines():
            try:
                point = json.loads(line)
            except ValueError:
                continue
            self.training.games = point["games"]
            rates = {k.removeprefix(_WIN_RATE): x for k, x in point.items() if k.startswith(_WIN_RATE)}
            self.training.strength |= rates

    def _last_words(self, status: int) -> str:
        with self._log.open("rb") as log:
            log.seek(self._begin)
            lines = [line for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
        if status < 0:
            return f"killed by {signal.Signals(-status).name}"
        if status == 128 + signal.SIGINT:
            return "interrupted"
        # How to go on with one run alone is not the way of many.
        words = lines[-1].removeprefix("rlgo: error: ").partition("; the run's state of ")[0] if lines else ""
        return words or f"exit status {status}"

    def told(self) -> str:
        """How it ended, for people."""
        name, games = self.training.member.name, self.training.games
        if self.training.state == FAILED:
            return f"{name}: failed: {self.training.reason}"
        won = ", ".join(f"{x:.1%} against {key}" for key, x in self.training.strength.items())
        return f"{name}: {games:,} games; won {won}"

    def stop(self) -> None:
        """Ask it to save and end."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def wait(self) -> None:
        """Wait for its end."""
        self._process.wait()


def train_member(argv: list[str]) -> int:
    """The process of a member: `rlgo` with these arguments, and Ctrl-C when standard input ends."""
    from train.cli.main import main

    def watch() -> None:
        os.read(0, 1)
        _thread.interrupt_main()

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background process may have been told to ignore it
    sys.argv = ["rlgo", *argv]  # what a run tells of its command is what a person would type
    threading.Thread(target=watch, daemon=True).start()
    return main(argv)
