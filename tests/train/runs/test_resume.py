"""Runs that are killed, interrupted, or run out of disk: nothing is lost, and they end like undisturbed runs.

Start reading at `broken_runs.attempt`. Most faults hit a forked child of this process, which has everything
imported and compiled already, at any call of any function. Some hit processes from outside.
"""

from __future__ import annotations

import builtins
import errno
import io
import itertools
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from broken_runs import RESUME, RUN, Fault, attempt, config, flip, often, outcome
from tiny_runs import edit

from rlgo.base.archive import read_archive, write_archive
from rlgo.learning.learner import Learner
from train.cli import main as cli
from train.config import to_toml
from train.runs.folder import FORMAT, VERSION, RunFolder

resource = pytest.importorskip("resource", reason="forks, and limits files, as POSIX does")
pytestmark = [
    pytest.mark.process,
    # Threads of tests before these wait for nothing that a child holds.
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
]

# ---------------------------------------------------------------------------------------------
# One attempt at a run, with a fault in it. A fault is a function that the child calls before it starts.
# ---------------------------------------------------------------------------------------------

# What a run calls to write, and where.
WRITING = {"write", "print", "flush", "fsync", "fstat", "replace", "rename", "open", "truncate", "mkdir", "chmod"}
OURS = {"run", "folder", "monitor", "files", "record_writer", "tempfile", "pathlib"}  # modules


def at_call(n: int, act: Callable[[], None], writing: bool = False) -> Fault:
    """Act when, for the n-th time, any function is called or returns; `writing`: any of those that write."""

    def fault() -> None:
        left = n

        def step(frame: Any, event: str, arg: Any) -> None:
            nonlocal left
            if writing and not (
                event in ("c_call", "c_return")
                and arg.__name__ in WRITING
                and OURS & {*frame.f_globals["__name__"].split(".")}
            ):
                return
            left -= 1
            if left < 0:
                sys.setprofile(None)
                act()

        sys.setprofile(step)

    return fault


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def press(number: int, times: int = 1) -> Callable[[], None]:
    """Ctrl-C, or a polite kill, again and again."""

    def act() -> None:
        if times > 1:
            at_call(500, press(number, times - 1))()
        os.kill(os.getpid(), number)

    return act


def no_space() -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def full_disk(room: int) -> Fault:
    """A disk with room for this many bytes, and for none thereafter."""
    opened, written, left = io.open, os.write, room

    def fitting(data: Any) -> bytes:
        nonlocal left
        data = bytes(data)
        n = min(left, len(data))
        left -= n
        if data and n == 0:
            no_space()
        return data[:n]

    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            return super().write(fitting(data))

    def open_(file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None, *more: Any, **named: Any):
        if not set(mode) & set("wxa+"):
            return opened(file, mode, buffering, encoding, *more, **named)
        buffer = io.BufferedWriter(Full(file, mode.strip("bt")))
        return buffer if "b" in mode else io.TextIOWrapper(buffer, encoding)

    def fault() -> None:
        io.open = builtins.open = open_  # type: ignore[assignment]
        os.write = lambda file, data: written(file, fitting(data))

    return fault


def at_games(games: int, act: Callable[[], None]) -> Fault:
    """Act at the end of the slice that reaches this number of games."""
    learn = Learner.learn

    def learn_and_act(self: Learner, n: int) -> Any:
        tally = learn(self, n)
        if self.games - n < games <= self.games:
            act()
        return tally

    def fault() -> None:
        Learner.learn = learn_and_act  # type: ignore[method-assign]

    return fault


# ---------------------------------------------------------------------------------------------
# What a run leaves
# ---------------------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file but the lock: what is in it, and when that was written."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: Any) -> dict[int, Any]:
    """By the number of workers, the outcome of a run that nothing happened to."""
    place = tmp_path_factory.mktemp("warm")
    with pytest.MonkeyPatch.context() as patch:  # compiles outside of children
        patch.chdir(place)
        assert cli.main(config(place)) == 0
    out = {1: outcome(place / RUN)}
    place = tmp_path_factory.mktemp("two")
    status, printed = attempt(config(place, run__workers=2), place)
    assert status == 0, printed
    return out | {2: outcome(place / RUN)}


@pytest.fixture(scope="module")
def _interrupted(whole: Any, tmp_path_factory: Any) -> Path:
    assert whole  # everything is compiled
    place = tmp_path_factory.mktemp("interrupted")
    status, printed = attempt(config(place), place, at_games(500, press(signal.SIGINT)))
    assert status == 130, printed
    return place


@pytest.fixture
def interrupted(_interrupted: Path, tmp_path: Path, monkeypatch: Any) -> RunFolder:
    """A run after Ctrl-C, below the current folder."""
    shutil.copytree(_interrupted, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return RunFolder(RUN)


# ---------------------------------------------------------------------------------------------
# Stress tests
# ---------------------------------------------------------------------------------------------

# About as many calls, calls that write, and bytes, a run takes. What is to strike later does not strike.
CALLS, WRITES, BYTES = 200_000, 3_000, 500_000


def strike(kind: str, rng: np.random.Generator) -> tuple[Fault, int]:
    """A fault of this kind, at any moment, more often an early one."""
    moment = rng.random() / rng.choice([1, 2, 4, 8, 16])
    calls, writes, room = (int(n * moment) for n in (CALLS, WRITES, BYTES))
    return {
        "kill": (at_call(calls, kill), calls),
        "kill at a write": (at_call(writes, kill, writing=True), writes),
        "Ctrl-C": (at_call(calls, press(signal.SIGINT)), calls),
        "Ctrl-C thrice": (at_call(calls, press(signal.SIGINT, 3)), calls),
        "polite kill": (at_call(calls, press(signal.SIGTERM)), calls),
        "full disk": (full_disk(room), room),
        "failing disk": (at_call(writes, no_space, writing=True), writes),
    }[kind]


STATUS = {
    "kill": {-signal.SIGKILL},
    "kill at a write": {-signal.SIGKILL},
    "Ctrl-C": {130},
    "Ctrl-C thrice": {130},
    "polite kill": {143, -signal.SIGTERM},  # the latter outside of the run, where nothing is to be saved
    "full disk": {2},
    "failing disk": {2},
}


def disturb(place: Path, counts: dict[str, int], workers: int, expected: dict[str, Any]) -> None:
    """Break runs, one after the other, until this many faults of each kind have struck."""
    rng = np.random.default_rng(workers)
    todo = [kind for kind, n in counts.items() for _ in range(n)]
    rng.shuffle(todo)
    for n in itertools.count():
        home = place / str(n)
        home.mkdir()
        folder = RunFolder(home / RUN)
        start = argv = config(home, run__workers=workers)
        history: list[Any] = []
        while True:
            faults, at = [], 0
            if todo:
                fault, at = strike(todo[-1], rng)
                faults = [often, fault] if rng.random() < 0.8 else [fault]
            status, printed = attempt(argv, home, *faults)
            history.append((todo[-1:], at, status))
            if status == 0:
                break
            assert todo, (history, printed)
            assert status in STATUS[todo.pop()], (history, printed)
            assert not re.search("Traceback|Exception ignored", printed), (history, printed)
            if status == 2:
                one_clear_line(printed)
                assert not [path for path in home.rglob(".*") if path.name != ".lock"], history
            if folder.exists() and folder.load()[1]["finished"]:
                break
            argv = resume_command(printed) or (RESUME if folder.exists() else start)
            if status == -signal.SIGKILL and folder.exists() and rng.random() < 0.5:  # in the middle of a write
                for path in [folder.metrics, *sorted(folder.path.glob("events.out.tfevents.*"))[-1:]]:
                    with path.open("ab") as file:
                        file.write(rng.bytes(20))
        assert outcome(folder.path) == expected, history
        if not todo:
            return


def one_clear_line(printed: str) -> str:
    """The error at the end of the output, which names the run."""
    line = printed.splitlines()[-1]
    assert printed.count("rlgo: error:") == 1, printed
    assert line.startswith(f"rlgo: error: {RUN}"), printed
    return line


def resume_command(printed: str) -> list[str] | None:
    """The arguments of the printed command that resumes the run."""
    found = re.search(r"resume with: (.*)", printed)
    return shlex.split(found[1])[1:] if found else None


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "n"), [(1, 8), (2, 3)])
def test_kills(workers: int, n: int, whole: Any, tmp_path: Path) -> None:
    disturb(tmp_path, {"kill": n, "kill at a write": n}, workers, whole[workers])


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "n"), [(1, 3), (2, 2)])
def test_signals(workers: int, n: int, whole: Any, tmp_path: Path) -> None:
    disturb(tmp_path, {"Ctrl-C": n, "Ctrl-C thrice": n, "polite kill": n, "kill": n}, workers, whole[workers])


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "n"), [(1, 4), (2, 2)])
def test_full_disks(workers: int, n: int, whole: Any, tmp_path: Path) -> None:
    disturb(tmp_path, {"full disk": n, "failing disk": n, "kill at a write": n // 2}, workers, whole[workers])


@pytest.mark.slow
def test_a_start_that_is_killed(whole: Any, tmp_path: Path) -> None:
    folder, kills = RunFolder(tmp_path / RUN), 0
    start = config(tmp_path)
    while not folder.exists():
        assert attempt(start, tmp_path, at_call(kills, kill, writing=True))[0] == -signal.SIGKILL
        kills += 1
    assert kills > 20
    assert attempt(RESUME, tmp_path)[0] == 0
    assert outcome(folder.path) == whole[1]


# ---------------------------------------------------------------------------------------------
# Processes, from outside
# ---------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[3]
# Long enough to be found at work.
LONG = {"run__games": 30_000, "run__log_every": 120, "run__eval_every": 0}


def test_ctrl_c_twice_stops_at_once(whole: Any, tmp_path: Path) -> None:
    def twice() -> None:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)

    status, printed = attempt(config(tmp_path), tmp_path, at_games(700, twice))
    assert status == 130
    assert "stopped at once; saved up to 0 games; resume with: " in printed
    assert resume_command(printed) == RESUME
    assert attempt(RESUME, tmp_path)[0] == 0
    assert outcome(tmp_path / RUN) == whole[1]


def test_two_processes_in_one_run(interrupted: RunFolder, whole: Any, tmp_path: Path) -> None:
    before = contents(interrupted.path)
    with interrupted.lock():
        status, printed = attempt(RESUME, tmp_path)
    assert status == 2
    assert one_clear_line(printed) == f"rlgo: error: {RUN}: in use by another process"
    assert contents(interrupted.path) == before
    assert attempt(RESUME, tmp_path)[0] == 0
    assert outcome(interrupted.path) == whole[1]


# ---------------------------------------------------------------------------------------------
# Damage, and what else cannot go on: one line, status 2, and nothing is changed
# ---------------------------------------------------------------------------------------------


def refused(argv: list[str], capsys: Any, *words: str) -> None:
    before = contents(Path())
    assert cli.main(argv) == 2
    out, printed = capsys.readouterr()
    assert (out, printed.count("\n")) == ("", 1)
    assert printed.startswith("rlgo: error: ")
    for word in words:
        assert word in printed
    assert contents(Path()) == before


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def renew(folder: RunFolder) -> None:
    meta, arrays = read_archive(folder.state, "run state", FORMAT, VERSION)
    write_archive(folder.state, {**meta, "version": VERSION + 1}, arrays)


def log_of_events(folder: RunFolder) -> Path:
    return next(folder.path.glob("events.out.tfevents.*"))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda f: flip(f.state, 9_999), ["state.npz: damaged"]),
        (lambda f: cut(f.state), ["state.npz: not a run state of rlgo, or a damaged or truncated one"]),
        (lambda f: f.state.unlink(), ["state.npz: cannot be read: No such file"]),
        (lambda f: shutil.copy(f.weights, f.state), ["state.npz: expected a run state of rlgo"]),
        (renew, [f"state.npz: run state version {VERSION + 1}: this rlgo reads up to {VERSION}"]),
        (lambda f: f.metrics.unlink(), ["metrics.jsonl: missing or damaged"]),
        (lambda f: cut(f.metrics), ["metrics.jsonl: missing or damaged: expected at least "]),
        (lambda f: log_of_events(f).unlink(), ["events.out.tfevents.", "missing or damaged"]),
        (lambda f: cut(log_of_events(f)), ["events.out.tfevents.", "missing or damaged"]),
        (lambda f: f.run_json.unlink(), ["run.json: cannot be read: No such file"]),
        (lambda f: f.run_json.write_text("{"), ["run.json: damaged"]),
        (lambda f: f.run_json.write_text("[]"), ["run.json: damaged"]),
        (lambda f: flip(f.run_json, 500), ["run.json: damaged"]),
        (lambda f: flip(f.config, 500), ["config.toml: damaged or edited: its checksum does not match"]),
        (lambda f: f.config.unlink(), ["tiny: expected the folder of a training run"]),
        (lambda f: f.config.write_text("x"), ["config.toml: not valid TOML"]),
        (lambda f: edit(f.config, "alpha =", "alhpa ="), ["config.toml: unknown key learning.alhpa"]),
        (lambda f: edit(f.config, "seed = 1", "seed = 2"), ["config.toml: expected run.seed=1 as at the start"]),
        (lambda f: edit(f.config, "[1, 2]", "[1, 2, 3]"), ["config.toml: expected features.sizes=[1, 2] as"]),
        (lambda f: edit(f.config, "workers = 1", "workers = 2"), ["config.toml: expected run.workers=1 as"]),
        (lambda f: edit(f.config, "games = 1000", "games = 90"), ["tiny: expected run.games of at least the "]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_damaged_run(damage: Any, words: list[str], interrupted: RunFolder, capsys: Any) -> None:
    damage(interrupted)
    refused(RESUME, capsys, *words)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["tiny.toml", "--resume", str(RUN)], ["expected either a CONFIG or --resume DIR"]),
        (["--resume", str(RUN), "--out", "."], ["--out cannot be combined with --resume"]),
        (["--resume", str(RUN), "--set", "run.seed=2"], ["--set run.seed=2: expected run.games or run.cluster"]),
        (["--resume", str(RUN), "--set", "run.games=2000", "x=1"], ["--set x=1: expected run.games or run.cluster"]),
        (["--resume", str(RUN), "--set", "run.games=no"], ['run.games = "no": expected an integer']),
        (["--resume", str(RUN), "--set", "run.games=90"], ["tiny: expected run.games of at least the "]),
        (["--resume", str(RUN.parent)], ["my runs: expected the folder of a training run"]),
        (["--resume", "tiny.toml"], ["tiny.toml: expected the folder of a training run"]),
        (["--resume", "nothing"], ["nothing: expected the folder of a training run"]),
    ],
    ids=lambda value: " ".join(value),
)
@pytest.mark.usefixtures("interrupted")
def test_commands_that_are_refused(argv: list[str], words: list[str], capsys: Any) -> None:
    refused(["train", *argv], capsys, *words)


# ---------------------------------------------------------------------------------------------
# More games, and checkpoints
# ---------------------------------------------------------------------------------------------


def test_going_on_with_more_games(whole: Any, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    folder = RunFolder(RUN)
    assert attempt(config(tmp_path, run__games=450), tmp_path)[0] == 0
    refused(RESUME, capsys, "tiny: finished at 450 games; to continue, --set run.games=N")
    assert attempt([*RESUME, "--set", "run.games=900"], tmp_path)[0] == 0
    edit(folder.config, "games = 900", "games = 1000")  # does the same
    assert attempt(RESUME, tmp_path)[0] == 0
    refused(RESUME, capsys, "tiny: finished at 1,000 games; to continue, --set run.games=N")
    found, expected = outcome(folder.path), whole[1]
    assert found["weights"] == expected["weights"]
    # 450 is a point of the logs, but strength was measured then, too.
    extra = [point for point in found["metrics"] if point not in expected["metrics"]]
    assert [point["games"] for point in extra] == [450]
    assert [point for point in found["metrics"] if point not in extra] == expected["metrics"]
    assert folder.read_about()["config"] == to_toml(folder.read_config())


def test_a_schedule_that_ends_with_the_run(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    start = config(tmp_path, run__games=90, learning__alpha_schedule="linear")
    assert attempt(start, tmp_path)[0] == 0
    refused([*RESUME, "--set", "run.games=180"], capsys, 'learning.alpha_schedule = "linear" ends at run.games = 90')
