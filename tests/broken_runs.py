"""Commands in forked children of this process, with injected faults; and the files of a training run.

A child inherits everything imported and compiled by its parent, so that hundreds of faults take a minute.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from rlgo.features.weights import load_weights
from train.cli import main as cli
from train.runs import run

# Points of the logs, measurements, merges, checkpoints and the end fall together here and apart there.
GAMES = 1_000
TINY = """
[run]
name = "tiny"
games = 1_000
log_every = 90
eval_every = 300
eval_games = 10
merge_every = 60
[board]
size = 5
komi = 0.5
[features]
sizes = [1, 2]
"""
RUN = Path("my runs/tiny")  # to be quoted in a command
RESUME = ["train", "--resume", str(RUN)]


def config(place: Path, **settings: Any) -> list[str]:
    """Write a config; returns the command line that starts its run."""
    (place / "tiny.toml").write_text(TINY, "utf-8")
    sets = [f"{key.replace('__', '.')}={value}" for key, value in settings.items()]
    return ["train", "tiny.toml", "--out", str(RUN.parent), *(["--set", *sets] if sets else [])]


# ---------------------------------------------------------------------------------------------
# One attempt at a command, with a fault in it. A fault is a function that the child calls before it starts.
# ---------------------------------------------------------------------------------------------

Fault = Callable[[], None]
LONGEST = 900  # seconds, on a machine that may be busy


def attempt(argv: list[str], place: Path, *faults: Fault, kill_after: float | None = None) -> tuple[int, str]:
    """Run the command `argv` in a forked child, in the folder `place`; returns (status or -signal, standard error).

    kill_after : seconds until the child is killed, as by ``kill -9``
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)  # this process answers them in another way
    child = os.fork()
    if child == 0:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        _child(argv, place, faults)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    stderr = place / "stderr"  # missing if it was killed at once
    return os.waitstatus_to_exitcode(status), stderr.read_text("utf-8") if stderr.exists() else ""


def _child(argv: list[str], place: Path, faults: tuple[Fault, ...]) -> NoReturn:
    status = 99  # of an exception that nobody catches
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # pytest-timeout's handler is not for us
        signal.alarm(LONGEST)  # one that hangs fails, too
        os.chdir(place)
        for number, name in ((1, "stdout"), (2, "stderr")):
            stream = (place / name).open("w", buffering=1, encoding="utf-8")
            setattr(sys, name, stream)
            os.dup2(stream.fileno(), number)
        for fault in faults:
            fault()
        status = cli.main(argv)
    except SystemExit as end:
        status = int(str(end.code))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def often() -> None:
    """Slices of a few games, and a saved state after each."""
    run.BATCH_SECONDS, run.SAVE_SECONDS = 0.002, 0.0
    os.fsync = os.fstat  # type: ignore[assignment]  # slow, and seen only where the power goes


# ---------------------------------------------------------------------------------------------
# What a run leaves
# ---------------------------------------------------------------------------------------------


def events(folder: Path) -> list[tuple[str, int, bytes]]:
    """(tag, step, value) of all that stands in the event files; nothing twice."""
    # TensorBoard's way to read one file, which leaves out nothing.
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    found = [
        (value.tag, event.step, value.SerializeToString())
        for path in folder.glob("events.out.tfevents.*")
        for event in loader.LegacyEventFileLoader(str(path)).Load()
        for value in event.summary.value
    ]
    assert len({event[:2] for event in found}) == len(found)
    return sorted(found)


def outcome(folder: Path) -> dict[str, Any]:
    """All that a run leaves and that must not depend on what happened to it: all but speeds, times and log.txt."""
    points = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    logged = events(folder)
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("events.")]
    return {
        "weights": {
            path.stem: (weights.games, weights.theta.tobytes())
            for path in files
            if path.suffix == ".npz" and path.name != "state.npz"
            for weights in [load_weights(path)]
        },
        "metrics": [{k: v for k, v in point.items() if not k.startswith("speed/")} for point in points],
        "events": [event[:2] if event[0].startswith("speed/") else event for event in logged],
        "files": sorted(str(path.relative_to(folder)) for path in files),
        "beside": sorted(path.name for path in folder.parent.iterdir()),
    }


def flip(path: Path, bit: int) -> None:
    """Flip one bit of a file."""
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
