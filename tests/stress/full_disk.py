"""A disk that fills up at a random byte of any file a command writes; then the same command with free space.

A limit on the length of a file stands in for the disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from harness import Outcome, StressTest, main
from tiny_runs import TINY
from weight_files import some_weights

from rlgo.features.weights import export_w, load_weights, save_weights
from train.cli import main as cli
from train.config import config_from_dict, to_toml
from train.runs.folder import RunFolder

OLD = b"old\n"  # what stood in files that are replaced
SECONDS = 120  # a command that takes longer hangs
TOURNAMENT = """
[tournament]
name = "cup"
games = 4
size = 5
sgf = true
[players]
random = "random"
a = "greedy,weights=a.npz"
b = "greedy,weights=b.npz"
"""
GTP = b"boardsize 5\nkomi 0.5\ngenmove b\ngenmove w\nshowboard\nquit\n"


def same(_: Path, argv: list[str]) -> list[str]:
    """Go on with the same command."""
    return argv


def resume(home: Path, argv: list[str]) -> list[str]:
    """Go on with a training run, unless it has no folder yet; [] if it is finished."""
    folder = RunFolder(home / "runs" / "tiny")
    if not folder.exists():
        return argv
    return [] if folder.load()[1]["finished"] else ["train", "--resume", str(Path("runs", "tiny"))]


class Command(NamedTuple):
    """A command that writes files."""

    argv: str  # its words, in a folder that `prepare` has filled
    replaces: tuple[str, ...] = ()  # files that were there before, and are replaced as a whole
    again: Callable[[Path, list[str]], list[str]] = same  # returns the command that goes on; [] if it has ended


COMMANDS = {
    "training": Command("train tiny.toml --out runs", again=resume),
    "match": Command(
        "match random greedy,weights=a.npz --size 5 --games 6 --results games.jsonl --sgf sgf --json result.json",
        ("result.json",),
    ),
    "tournament": Command("tournament cup.toml --out cups"),
    "games to learn from": Command("games greedy,weights=a.npz --size 5 --games 6 --out study --sgf sgf"),
    "experiment": Command("experiment run shape_counts --out experiments"),
    "weights export": Command("weights export a.npz -o new.w --force", ("new.w",)),
    "weights import": Command("weights import a.w -o new.npz --force", ("new.npz",)),
    "weights convert": Command("weights convert a.npz --sharing none -o new.npz --force", ("new.npz",)),
    "weights show": Command("weights show a.npz --png new.png", ("new.png",)),
    "analyze": Command(
        "analyze game.sgf --player greedy,weights=a.npz --json new.json --png new.png", ("new.json", "new.png")
    ),
    "eval": Command("eval a.npz b.npz --games 20 --json new.json --png new.png", ("new.json", "new.png")),
    "gtp": Command("gtp --player greedy,weights=a.npz --size 5 --log log.txt"),
}


def prepare(home: Path, command: Command) -> None:
    """Fill a folder with what commands read, and with what they replace."""
    for name, games in (("a", 100), ("b", 200)):
        save_weights(home / f"{name}.npz", some_weights(games=games))
    export_w(home / "a.w", some_weights())
    (home / "game.sgf").write_text("(;SZ[5]KM[0.5];B[cc];W[bb];B[cb])")
    (home / "tiny.toml").write_text(to_toml(config_from_dict(TINY)))
    (home / "cup.toml").write_text(TOURNAMENT)
    for name in command.replaces:
        (home / name).write_bytes(OLD)


# ---------------------------------------------------------------------------------------------
# What a command leaves
# ---------------------------------------------------------------------------------------------

# Times, and what hangs on them; the last states of runs have times in them, too.
_VOLATILE = re.compile(r"log\.txt|.*\.lock|events\..*|config\.tfevents|run\.json|state\.npz|stdout|shown\..*")
_TIMES = {"seconds", "longest", "check", "finished", "provenance"}


def left(home: Path) -> dict[str, Any]:
    """Return the content of all files but for times, by name."""
    paths = (path for path in sorted(home.rglob("*")) if path.is_file() and not _VOLATILE.fullmatch(path.name))
    return {str(path.relative_to(home)): _content(path) for path in paths}


def _content(path: Path) -> Any:
    if path.suffix == ".npz" and path.parent.name != "study":
        return load_weights(path).theta.tobytes()
    if path.suffix in (".json", ".jsonl"):
        return [_without_times(json.loads(line)) for line in _objects(path)]
    return path.read_bytes() if path.suffix in (".w", ".png", ".toml") else "there"


def _objects(path: Path) -> list[str]:
    text = path.read_text("utf-8")
    return text.splitlines() if path.suffix == ".jsonl" else [text]


def _without_times(data: Any) -> Any:
    if isinstance(data, Mapping):
        kept = {k: v for k, v in data.items() if k not in _TIMES and not k.startswith("speed/")}
        return {key: _without_times(value) for key, value in kept.items()}
    return data


# ---------------------------------------------------------------------------------------------
# Children with little room
# ---------------------------------------------------------------------------------------------


def attempt(argv: list[str], home: Path, limit: int | None = None, *, shows: bool = False) -> tuple[int, str]:
    """Run a command in a forked child; returns its status, or -signal, and what it printed.

    limit : the longest file that it may write, in bytes
    shows : whether standard output is a file in its folder, too
    """
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _child(argv, home, theirs, limit, shows)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        printed = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), printed


def _child(argv: list[str], home: Path, pipe: int, limit: int | None, shows: bool) -> NoReturn:
    status = 99
    try:
        signal.alarm(SECONDS)
        os.chdir(home)
        commands, answers = os.pipe()
        os.write(answers, GTP)
        os.close(answers)
        os.dup2(commands, 0)
        os.dup2(pipe, 2)
        os.dup2(os.open("shown.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if shows else pipe, 1)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
        sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        status = cli.main(argv)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


# ---------------------------------------------------------------------------------------------
# Trials
# ---------------------------------------------------------------------------------------------


class Calm(NamedTuple):
    """What an undisturbed command leaves."""

    files: dict[str, Any]
    longest: int  # bytes of the longest file


def _calm(name: str, home: Path) -> Calm:
    """Run a command twice: in this process, so that children find everything compiled, and undisturbed."""
    command = COMMANDS[name]
    for folder in (home / "warm", home / "calm"):
        folder.mkdir(parents=True)
        prepare(folder, command)
    if name != "gtp":  # it would read our own input
        with contextlib.chdir(home / "warm"):
            assert cli.main(command.argv.split()) == 0
    status, printed = attempt(command.argv.split(), home / "calm")
    assert status == 0, printed
    sizes = [path.stat().st_size for path in (home / "calm").rglob("*") if path.is_file()]
    return Calm(left(home / "calm"), max(sizes))


def trials(draw: random.Random) -> Iterator[Outcome]:
    """Run one command after another with little room, and again with more."""
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.redirect_stdout(sys.stderr):
            calm = {name: _calm(name, Path(folder, name)) for name in COMMANDS}
        while True:
            name, home = draw.choice(list(COMMANDS)), Path(tempfile.mkdtemp(dir=folder))
            yield _trial(draw, name, home, calm[name])
            shutil.rmtree(home, ignore_errors=True)


def _trial(draw: random.Random, name: str, home: Path, calm: Calm) -> Outcome:
    """Run one command with little room once to three times, and then to its end."""
    command = COMMANDS[name]
    prepare(home, command)
    argv, struck, history = command.argv.split(), 0, []
    for _ in range(draw.randint(1, 3)):
        shows, limit = draw.random() < 0.2, draw.randrange(calm.longest + 1)
        status, printed = attempt(argv, home, limit, shows=shows)
        history.append((limit, status))
        struck += status == 2
        wrong = _wrong(command, status, printed, home, calm)
        if wrong:
            return Outcome(name, f"{name}, {history}: {wrong}", n=1)
        argv = command.again(home, argv)
        if not argv:
            break
    if argv:
        status, printed = attempt(argv, home)
        if status:
            return Outcome(name, f"{name}, {history}, then with room: {status}: {printed[-500:]}")
    found = left(home)
    differ = [path for path in {*found, *calm.files} if found.get(path) != calm.files.get(path)]
    kind = name if struck else f"{name}, enough room"
    return Outcome(kind, f"{name}, {history}: other content in the end: {differ}" if differ else "")


def _wrong(command: Command, status: int, printed: str, home: Path, calm: Calm) -> str:
    """Say how a command with little room broke its promise; "" if it did not."""
    if status not in (0, 2):
        return f"status {status}: {printed[-500:]}"
    if re.search("Traceback|Exception ignored", printed):
        return f"a traceback: {printed[-1000:]}"
    if status == 2 and len(re.findall("^rlgo: error: ", printed, re.MULTILINE)) != 1:
        return f"not one clear line: {printed[-500:]}"
    for name in command.replaces:
        content = (home / name).read_bytes()
        if content != OLD and _content(home / name) != calm.files[name]:
            return f"{name} is neither the old file nor the new one"
    rest = [str(path) for path in home.rglob(".*.tmp")]
    return f"{rest} are left" if rest else ""


STRESS_TEST = StressTest(
    "full_disk",
    "a disk that fills up at a random byte of any file a command writes",
    "a one-line error and status 2; old files intact; with free space again, the same files as without the fault",
    unit="trials",
    count=1_000,
    trials=trials,
)

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
