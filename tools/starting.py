"""Measure how long rlgo lets a person wait, for two versions of it.

    python tools/starting.py OTHER [--runs 3] [--only first_move ...]

OTHER is a checkout of another version (`git worktree add`). Every figure is wall-clock time from the start of a
process. The versions take turns, and the table shows medians and their ratios. Figures that are `cold` start with an
empty cache each time, the others with a full one. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parents[1]
_GENMOVE = ("boardsize 9", "clear_board", "genmove b")


class Version(NamedTuple):
    """A checkout, and the cache that it uses."""

    path: Path
    cache: Path

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start `rlgo COMMAND` in a folder of its own, with its error output on its standard output."""
        return subprocess.Popen(
            [sys.executable, "-m", "rlgo", *command],
            env=os.environ | {"PYTHONPATH": str(self.path), "RLGO_CACHE_DIR": str(self.cache)},
            cwd=tempfile.mkdtemp(dir=self.cache),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def seconds_to(version: Version, end: str, count: int, *command: str, lines: Sequence[str] = ()) -> float:
    """Return the seconds until the output of a command has `count` lines that begin with `end`."""
    start = time.perf_counter()
    with version.start(*command) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(f"{line}\n" for line in lines))
        process.stdin.flush()
        output = []
        try:
            for line in process.stdout:
                output.append(line)
                count -= line.startswith(end)
                if not count:
                    return time.perf_counter() - start
        finally:
            process.kill()
    raise SystemExit("".join(output) or f"{command}: no output")


def first_move(version: Version, *player: str) -> float:
    """Return the seconds until `rlgo gtp` answers its first `genmove`."""
    return seconds_to(version, "=", len(_GENMOVE), "gtp", *player, lines=_GENMOVE)


def first_game(version: Version) -> float:
    """Return the seconds until `rlgo train quick` has compiled self-play; the first game takes less than 1 ms."""
    return seconds_to(version, "compiling self-play", 1, "train", "quick")


def warm_start(version: Version) -> float:
    """Return `warm_start_s` of `rlgo bench`."""
    with version.start("bench", "warm_start", "--json", "bench.json") as process:
        output = process.communicate()[0]
    for path in version.cache.glob("*/bench.json"):
        seconds = float(json.loads(path.read_text("utf-8"))["warm_start_s"])
        path.unlink()
        return seconds
    raise SystemExit(output)


# What is measured: the label, whether the cache is empty, and how.
MEASURES = {
    "first_move": ("the default player's first move, `rlgo gtp`", True, first_move),
    "first_game": ("the first game of `rlgo train quick`", True, first_game),
    "dyna2": ("the first move of `dyna2`", True, lambda version: first_move(version, "--player", "dyna2")),
    "warm_start": ("the first episode (`warm_start_s`)", False, warm_start),
    "name": ("`rlgo gtp` answers `name`", False, lambda version: seconds_to(version, "=", 1, "gtp", lines=["name"])),
    "warm_move": ("the default player's first move", False, first_move),
}


def measure(paths: Sequence[Path], names: Sequence[str], runs: int) -> dict[str, list[list[float]]]:
    """Return the seconds of each run, by name and version."""
    seconds: dict[str, list[list[float]]] = {name: [[] for _ in paths] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        full = [Version(path, Path(tempfile.mkdtemp(dir=folder))) for path in paths]
        for name in names:
            _, is_cold, how = MEASURES[name]
            for version in () if is_cold else full:
                how(version)  # fills the cache
            for _ in range(runs):
                for i, path in enumerate(paths):
                    version = Version(path, Path(tempfile.mkdtemp(dir=folder))) if is_cold else full[i]
                    seconds[name][i].append(how(version))
                    print(f"{name} {path}: {seconds[name][i][-1]:.2f} s", file=sys.stderr, flush=True)
    return seconds


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description="How long rlgo lets a person wait, for two versions of it.")
    parser.add_argument("other", type=Path, help="a checkout of another version")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=list(MEASURES), metavar="NAME")
    arguments = parser.parse_args()
    seconds = measure([arguments.other.resolve(), HERE], arguments.only, arguments.runs)
    print("| seconds until | cache | before | after | ratio |\n|---|---|---:|---:|---:|")
    for name, (before, after) in seconds.items():
        label, is_cold, _ = MEASURES[name]
        old, new = statistics.median(before), statistics.median(after)
        print(f"| {label} | {'empty' if is_cold else 'full'} | {old:.2f} | {new:.2f} | {new / old:.2f} |")


if __name__ == "__main__":
    main()
