"""Two processes that use one folder, one results file or one cache at the same time."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import kill_match
import kill_sweep
import kill_tournament
import kill_training
from harness import Outcome, StressTest, main
from broken_runs import RESUME, Fault, ended, often, start
from kills import Broken, Variant, fork_fleets, wait_for_the_end

from train.cli import main as cli


class Race(NamedTuple):
    """What two processes do at the same time in one folder."""

    write: Callable[[Path], list[str]]  # as `kills.Variant`
    left: Callable[[Path], object]
    faults: tuple[Fault, ...] = ()
    prepared: bool = False  # whether the command has been run to a part before


def _kernel(place: Path) -> list[str]:
    """Write a module with a kernel of its own, which both processes compile into an empty cache."""
    (place / "kernel_of_a_race.py").write_text(
        "from rlgo.compiler.jit import njit\n\n@njit\ndef triangle(n):\n    total = 0\n    for i in range(n):\n"
        "        total += i\n    return total\n",
        "utf-8",
    )
    return ["--version"]


def _use_one_cache() -> None:
    """A fault that uses the cache of the folder: compile the kernel, or load what the other one compiled."""
    import numba

    numba.config.CACHE_DIR = os.path.join(os.getcwd(), "cache")
    sys.path.insert(0, os.getcwd())
    assert importlib.import_module("kernel_of_a_race").triangle(100) == 4950


def _cached(place: Path) -> object:
    """Return the result that a third process gets from the cache. Broken if it is damaged."""
    child = start(["--version"], place, _use_one_cache)
    status, printed = ended(child, place)
    if status != 0:
        raise Broken(printed[-500:])
    return status


def _of(variant: Variant, *faults: Fault) -> Race:
    return Race(variant.write, variant.left, faults)


RACES = {
    "two starts of one run": _of(kill_training.run_with(1), often),
    "two resume one run": _of(kill_training.run_with(1), often)._replace(prepared=True),
    "one results file": _of(kill_match.match_with(1)),
    "one tournament": _of(kill_tournament.tournament("round_robin", 4)),
    "one sweep": Race(kill_sweep.write, kill_sweep.left, (fork_fleets, often)),
    "one cache": Race(_kernel, _cached, (_use_one_cache,)),
}


def trials(draw: random.Random) -> Iterator[Outcome]:
    """Let two processes race again and again."""
    with tempfile.TemporaryDirectory() as place:
        expected: dict[str, object] = {}
        while True:
            name = draw.choice(list(RACES))
            if name not in expected:
                expected[name] = _alone(RACES[name], Path(place, name))
            home = Path(tempfile.mkdtemp(dir=place))
            failure = ""
            try:
                winners = _race(draw, RACES[name], home)
                wait_for_the_end(str(home))
                if RACES[name].left(home) != expected[name]:
                    failure = f"{name}: the results differ"
                name += ", one refused" if winners == 1 else ", both ended well"
            except Broken as broken:
                failure = f"{name}: {broken}"
            yield Outcome(name, failure)


def _alone(race: Race, home: Path) -> object:
    """Return what is left by a command that nobody disturbs, run in this process, which then has all compiled."""
    if race.left is _cached:
        return 0
    home.mkdir()
    nowhere = io.StringIO()
    with contextlib.chdir(home), contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        assert cli.main(race.write(home)) == 0
    return race.left(home)


def _race(draw: random.Random, race: Race, home: Path) -> int:
    """Start two processes a moment apart; return how many ended well. Broken unless the other was refused in a line."""
    argv = race.write(home)
    if race.prepared:
        child = start(argv, home, *race.faults)
        time.sleep(draw.uniform(0.05, 0.5))
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, 9)
        ended(child, home)
        if (home / RESUME[-1]).exists():
            argv = RESUME
    ends = []
    # Each has a folder of its own for what it prints.
    children = []
    for i in (1, 2):
        out = home.parent / f"{home.name}-{i}"
        out.mkdir()
        children.append((start(argv, out, _in(home), *race.faults), out))
        time.sleep(draw.choice((0.0, 0.0, draw.uniform(0, 0.3))))
    for child, out in children:
        status, printed = ended(child, out)
        refused = status == 2 and printed.count("rlgo: error: ") == 1 and "Traceback" not in printed
        if status != 0 and not refused:
            raise Broken(f"status {status}: {printed[-500:]}")
        ends.append(status)
    if 0 not in ends and not race.prepared:
        raise Broken("both were refused")
    return ends.count(0)


def _in(home: Path) -> Fault:
    return lambda: os.chdir(home)


STRESS_TEST = StressTest(
    "races",
    "two processes in one run, results file, tournament, sweep or cache",
    "a one-line error for one of them, or both succeed; the same results as from one alone",
    unit="races",
    count=500,
    trials=trials,
)

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
