"""Training, a match and an engine running together for hours: their memory and open files do not grow."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from harness import ROOT, Outcome, StressTest, main
from kills import Broken

RLGO = [sys.executable, "-m", "rlgo"]
COMMANDS = {
    "training": [
        "train",
        "paper",
        "--out",
        ".",
        "--set",
        "run.games=1_000_000_000",
        "run.name=soak",
        "run.eval_games=20",
    ],
    "match": ["match", "mc_rave,sims=100", "greedy", "--games", "1_000_000", "--results", "games.jsonl"],
    "engine": ["gtp", "--player", "heuristic_mc_rave,sims=300"],
}
MINUTE = 60.0  # seconds; less in tests
_WARM = 3  # minutes until everything is compiled and has its size
_MAY_GROW = 1.1  # times
_MAY_ADD = 20.0  # MB: a match keeps its games


def trials(_: random.Random) -> Iterator[Outcome]:
    """Yield an outcome every minute."""
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        processes = {}
        for name, argv in COMMANDS.items():
            errors = stack.enter_context(Path(place, f"{name}.txt").open("w"))
            processes[name] = subprocess.Popen(
                [*RLGO, *argv], cwd=place, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=errors,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
            stack.callback(_end, processes[name])
        engine = processes["engine"]
        assert engine.stdin is not None
        assert engine.stdout is not None
        threading.Thread(target=_play, args=(engine.stdin, engine.stdout), daemon=True).start()
        first: dict[str, float] = {}
        minute = 0
        while True:
            time.sleep(MINUTE)
            minute += 1
            try:
                now = _measure(processes)
            except Broken as broken:
                yield Outcome("dead", f"after {minute} minutes: {broken}")
                return
            if minute == _WARM:
                first = now
            grown = [
                f"{key} from {first[key]:g} to {x:g}"
                for key, x in now.items()
                if first and not _is_flat(key, first[key], x)
            ]
            figures = {**{f"{key}, after {_WARM} min": x for key, x in first.items()}, **now}
            yield Outcome(
                "warming up" if minute < _WARM else "flat" if not grown else "grown", "; ".join(grown), 1, figures
            )


def _is_flat(key: str, first: float, now: float) -> bool:
    return now <= first * _MAY_GROW + _MAY_ADD if key.endswith("MB") else now <= first + 5


def _measure(processes: dict[str, subprocess.Popen[bytes]]) -> dict[str, float]:
    """Return memory and open files of all processes. Broken if one has ended."""
    figures = {}
    for name, process in processes.items():
        if process.poll() is not None:
            raise Broken(f"{name} ended with status {process.returncode}")
        status = Path(f"/proc/{process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        assert found is not None
        figures[f"{name}, MB"] = round(int(found[1]) / 1024, 1)
        figures[f"{name}, open files"] = float(len(os.listdir(f"/proc/{process.pid}/fd")))
    return figures


def _play(commands: IO[bytes], answers: IO[bytes]) -> None:
    """Let the engine play against itself until it ends."""
    with contextlib.suppress(OSError):
        while True:
            passes = 0
            for line in [b"clear_board", *[b"genmove b", b"genmove w"] * 60]:
                commands.write(line + b"\n")
                commands.flush()
                answer = answers.readline().upper()
                if not answers.readline():
                    return
                passes = passes + 1 if b"PASS" in answer else 0
                if passes == 2 or b"RESIGN" in answer:
                    break


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process as a service manager would."""
    process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


STRESS_TEST = StressTest(
    "soak",
    "training, a match and an engine at full load together",
    "no growth of memory or of open files",
    unit="minutes",
    count=180,
    trials=trials,
)

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
