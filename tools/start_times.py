"""Measure how long rlgo takes to start, with a filled cache: `python tools/start_times.py [TREE ...]`.

Each TREE is a checkout of rlgo, by default this one; they take turns, and the medians of all rounds are printed, in
seconds of wall-clock time from the start of the process. Every tree first fills its cache of machine code.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 7
ENGINE = ("-m", "rlgo", "gtp", "--player", "rlgo,sims=100,seed=1")
EPISODE = """
from train.config import load_config
from train.runs.learners import make_learner
make_learner(load_config("paper"), 1).play(1)
"""
COMMANDS = ("name", "play b E5", "genmove w")


def run(tree: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start Python in a checkout."""
    return subprocess.Popen(
        [sys.executable, "-P", *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def measure(tree: Path) -> dict[str, float]:
    """Time each of the starts once."""
    found = {}
    for name, arguments in (("first episode", ("-c", EPISODE)), ("rlgo --help", ("-m", "rlgo", "--help"))):
        start = time.perf_counter()
        run(tree, *arguments).communicate()
        found[name] = time.perf_counter() - start
    start = time.perf_counter()
    engine = run(tree, *ENGINE)
    assert engine.stdin is not None
    assert engine.stdout is not None
    for command in COMMANDS:
        engine.stdin.write(f"{command}\n".encode())
        engine.stdin.flush()
        while engine.stdout.readline().strip():
            pass
        found[f"rlgo gtp: {command}"] = time.perf_counter() - start
    engine.communicate(b"quit\n")
    return found


def main() -> None:
    """Measure the checkouts in turn, and print a table."""
    trees = [Path(argument).resolve() for argument in sys.argv[1:]] or [Path(__file__).resolve().parents[1]]
    for tree in trees:
        measure(tree)
    rounds = [[measure(tree) for tree in trees] for _ in range(ROUNDS)]
    for name in rounds[0][0]:
        medians = [statistics.median(times[i][name] for times in rounds) for i in range(len(trees))]
        ratio = f"  ratio {medians[0] / medians[-1]:.2f}" if len(trees) > 1 else ""
        print(f"{name:22}", *(f"{seconds:6.2f}" for seconds in medians), ratio)


if __name__ == "__main__":
    main()
