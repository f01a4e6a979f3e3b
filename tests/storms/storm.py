"""What all storms share: arguments, progress, a tally of outcomes and a JSON record.

A storm tries one promise of the program thousands of times, at random. It is a file of this folder with a `Storm`,
whose `trials` yield one `Outcome` after another:

    from storm import Outcome, Storm, main

    def trials(draw: random.Random) -> Iterator[Outcome]:
        while True:
            ...
            yield Outcome("killed while it saved")
            yield Outcome("other weights", failure="seed 7, killed after 0.81 s")

    STORM = Storm("kill_training", "kill -9 of a training run, then --resume",
                  "the weights of an undisturbed run, bit for bit", unit="kills", count=1_000, trials=trials)

    if __name__ == "__main__":
        sys.exit(main(STORM))

``python tests/storms/NAME.py --count N --seed S --json docs/results/storms/NAME.json`` runs it, and adds to a record
that is there already: a storm of a million trials need not be had in one day. `tests/storms/test_storms.py` runs a few
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

from rlgo.errors import RlgoError  # noqa: E402 - found by the line above
from rlgo.files import write_atomically  # noqa: E402
from train import console, provenance  # noqa: E402

_SAVE_SECONDS = 60.0  # between two records of a storm that is under way
_MOST_FAILURES = 20  # described in the record; all are counted


@dataclass(frozen=True)
class Outcome:
    """What came of one trial, or of `n` trials at once."""

    kind: str  # in a few words that many trials share: they are counted
    failure: str = ""  # how the promise was broken, and how to see it again; "": it was kept
    n: int = 1
    figures: Mapping[str, float] = field(default_factory=dict)  # measured so far, such as memory; the last ones count


@dataclass(frozen=True)
class Storm:
    """One promise, and how to try it."""

    name: str  # of its file, without .py
    subject: str  # what happens, in a few words: "kill -9 of a training run, then --resume"
    promise: str  # what must come of it
    unit: str  # what is counted, in the plural: "kills"
    count: int  # the number of trials of a full storm
    trials: Callable[[random.Random], Iterator[Outcome]]  # without end; all its random numbers come from the argument


class Tally:
    """The outcomes of a storm so far.

    Attributes
    ----------
    count : trials so far
    begun : trials of earlier storms among them
    kinds : trials by kind
    failures : the broken promises, in words
    figures : the last figures
    seeds : of the storms that are counted here
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

    def record(self, storm: Storm) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        return {
            "storm": storm.name,
            "subject": storm.subject,
            "promise": storm.promise,
            "unit": storm.unit,
            "count": self.count,
            "wanted": storm.count,
            "failures": self.failed,
            "described": self.failures[:_MOST_FAILURES],
            "outcomes": dict(self.kinds.most_common()),
            "figures": self.figures,
            "seeds": self.seeds,
            "commit": provenance.commit(),
            "machine": provenance.machine(),
            "machine_seconds": round(time.monotonic() - self._began, 1),
        }


def run(storm: Storm, count: int, seed: int, path: Path | None = None, *, progress: bool = True) -> Tally:
    """Run a storm, and return its tally. What is in `path` is never more than a minute old.

    Ctrl-C ends it early; the record has the number of trials until then. Further trials, with another seed, are added.
    """
    earlier = json.loads(path.read_text()) if path is not None and path.exists() else None
    if earlier is not None and seed in earlier["seeds"]:
        raise RlgoError(f"{path}: seed {seed} is counted there; expected another one")
    tally, saved = Tally(seed, earlier), time.monotonic()
    trials = storm.trials(random.Random(seed))
    assert isinstance(trials, Generator)  # so that it can be closed
    with contextlib.closing(trials), console.Progress(count, storm.unit, enabled=progress) as bar:
        try:
            for outcome in trials:
                tally.add(outcome)
                if outcome.failure:
                    console.message(f"{storm.name}: {outcome.kind}: {outcome.failure}")
                bar.set_postfix(f"{tally.failed} failures")
                bar.update(outcome.n)
                if time.monotonic() - saved > _SAVE_SECONDS:
                    saved = time.monotonic()
                    _save(path, tally.record(storm))
                if tally.count - tally.begun >= count:
                    break
        finally:
            _save(path, tally.record(storm))
    return tally


def _save(path: Path | None, record: dict[str, Any]) -> None:
    if path is not None:
        write_atomically(path, (json.dumps(record, indent=2) + "\n").encode())


def main(storm: Storm, argv: Sequence[str] | None = None) -> int:
    """Run a storm from the command line; returns 1 if a promise was broken or not tried, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(description=f"{storm.subject}: {storm.promise}.")
    parser.add_argument("--count", type=int, default=storm.count, help=f"number of {storm.unit} (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of all random numbers (%(default)s)")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="keep the record here, or add to the one that is there"
    )
    args = parser.parse_args(argv)

    def work() -> int:
        tally = run(storm, args.count, args.seed, args.json)
        kinds = [[kind, f"{n:,}"] for kind, n in tally.kinds.most_common()]
        print(console.table(["outcome", storm.unit], kinds, align="lr"))
        print(f"{storm.name}: {tally.count:,} {storm.unit}, {tally.failed:,} failures")
        return int(tally.failed > 0 or tally.count - tally.begun < args.count)

    return console.exit_status(work)
