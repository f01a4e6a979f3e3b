"""The framework of all stress tests: arguments, progress, a tally of outcomes and a JSON record.

A stress test tries one promise of the program thousands of times, at random. It is a file of this folder with a
`StressTest`, whose `trials` yield one `Outcome` after another:

    from harness import Outcome, StressTest, main

    def trials(draw: random.Random) -> Iterator[Outcome]:
        while True:
            ...
            yield Outcome("killed while it saved")
            yield Outcome("other weights", failure="seed 7, killed after 0.81 s")

    STRESS_TEST = StressTest("kill_training", "kill -9 of a training run, then --resume",
                  "the weights of an undisturbed run, bit for bit", unit="kills", count=1_000, trials=trials)

    if __name__ == "__main__":
        sys.exit(main(STRESS_TEST))

``python tests/stress/NAME.py --count N --seed S --json results/stress/NAME.json`` runs it, and adds to an existing
record: a stress test of a million trials can be spread over several days. `tests/stress/test_stress.py` runs a few
trials of each. Import this module before anything else: it makes rlgo and the helpers of the tests importable.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import random
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [path for path in (str(ROOT), str(ROOT / "tests")) if path not in sys.path]

from rlgo.base.errors import RlgoError  # noqa: E402 - found by the line above
from rlgo.base.files import write_atomically  # noqa: E402
from train import console, provenance  # noqa: E402
from train.process import exit_status  # noqa: E402

_SAVE_SECONDS = 60.0  # between two records of a stress test that is under way
_MOST_FAILURES = 20  # described in the record; all are counted


@dataclass(frozen=True)
class Outcome:
    """What came of one trial, or of `n` trials at once."""

    kind: str  # in a few words that many trials share: they are counted
    failure: str = ""  # how the promise was broken, and how to see it again; "": it was kept
    n: int = 1
    figures: Mapping[str, float] = field(default_factory=dict)  # measured so far, such as memory; the last ones count


@dataclass(frozen=True)
class StressTest:
    """One promise, and how to try it."""

    name: str  # of its file, without .py
    subject: str  # what happens, in a few words: "kill -9 of a training run, then --resume"
    promise: str  # what must come of it
    unit: str  # what is counted, in the plural: "kills"
    count: int  # the number of trials of a full stress test
    trials: Callable[[random.Random], Iterator[Outcome]]  # without end; all its random numbers come from the argument


class Tally:
    """The outcomes of a stress test so far.

    Attributes
    ----------
    count : trials so far
    begun : trials of earlier stress tests among them
    kinds : trials by kind
    failures : the broken promises, in words
    figures : the last figures
    seeds : of the stress tests that are counted here
    """

    def __init__(self, seed: int, earlier: Mapping[str, Any] | None = None) -> None:
        earlier = earlier or {}
        self.count, self.failed = earlier.get("count", 0), earlier.get("failures", 0)
        self.begun = self.count
        self.kinds: collections.Counter[str] = collections.Counter(earlier.get("outcomes", {}))
        self.failures: list[str] = [*earlier.get("described", [])]
        self.figures: dict[str, float] = {}
        self.seeds: list[int] = [*earlier.get("seeds", []), seed]
        self._began = time.monotonic() - earlier.get("machine_seconds", 0.0)

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        self.count += outcome.n
        self.kinds[outcome.kind] += outcome.n
        self.figures |= outcome.figures
        if outcome.failure:
            self.failed += 1
            self.failures.append(outcome.failure)

    def record(self, test: StressTest) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        return {
            "stress_test": test.name,
            "subject": test.subject,
            "promise": test.promise,
            "unit": test.unit,
            "count": self.count,
            "wanted": test.count,
            "failures": self.failed,
            "described": self.failures[:_MOST_FAILURES],
            "outcomes": dict(self.kinds.most_common()),
            "figures": self.figures,
            "seeds": self.seeds,
            "commit": provenance.commit(),
            "machine": provenance.machine(),
            "machine_seconds": round(time.monotonic() - self._began, 1),
        }


def run(test: StressTest, count: int, seed: int, path: Path | None = None, *, progress: bool = True) -> Tally:
    """Run a stress test, and return its tally. What is in `path` is never more than a minute old.

    Ctrl-C ends it early; the record has the number of trials until then. Further trials, with another seed, are added.
    """
    earlier = json.loads(path.read_text()) if path is not None and path.exists() else None
    if earlier is not None and seed in earlier["seeds"]:
        raise RlgoError(f"{path}: seed {seed} is counted there; expected another one")
    tally, saved = Tally(seed, earlier), time.monotonic()
    trials = test.trials(random.Random(seed))
    assert isinstance(trials, Generator)  # so that it can be closed
    with contextlib.closing(trials), console.Progress(count, test.unit, enabled=progress) as bar:
        try:
            for outcome in trials:
                tally.add(outcome)
                if outcome.failure:
                    console.message(f"{test.name}: {outcome.kind}: {outcome.failure}")
                bar.set_postfix(f"{tally.failed} failures")
                bar.update(outcome.n)
                if time.monotonic() - saved > _SAVE_SECONDS:
                    saved = time.monotonic()
                    _save(path, tally.record(test))
                if tally.count - tally.begun >= count:
                    break
        finally:
            _save(path, tally.record(test))
    return tally


def _save(path: Path | None, record: dict[str, Any]) -> None:
    if path is not None:
        write_atomically(path, (json.dumps(record, indent=2) + "\n").encode())


def main(test: StressTest, argv: Sequence[str] | None = None) -> int:
    """Run a stress test from the command line; returns 1 if a promise was broken or not tried, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(description=f"{test.subject}: {test.promise}.")
    parser.add_argument("--count", type=int, default=test.count, help=f"number of {test.unit} (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of all random numbers (%(default)s)")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="keep the record here, or add to the one that is there"
    )
    args = parser.parse_args(argv)

    def work() -> int:
        tally = run(test, args.count, args.seed, args.json)
        kinds = [[kind, f"{n:,}"] for kind, n in tally.kinds.most_common()]
        print(console.table(["outcome", test.unit], kinds, align="lr"))
        print(f"{test.name}: {tally.count:,} {test.unit}, {tally.failed:,} failures")
        return int(tally.failed > 0 or tally.count - tally.begun < args.count)

    return exit_status(work)
