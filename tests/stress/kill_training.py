"""`kill -9` at random moments of a training run of one or two workers, which is then resumed."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

from harness import StressTest, main
from broken_runs import RESUME, RUN, config, often, outcome
from kills import Variant, trials_of

from train.runs.folder import RunFolder


def resume(place: Path, argv: list[str]) -> list[str]:
    """Return the command that resumes a run, or starts it again if it has no folder yet; [] if it is finished."""
    folder = RunFolder(place / RUN)
    if not folder.exists():
        return argv
    return [] if folder.load()[1]["finished"] else RESUME


def run_with(workers: int) -> Variant:
    """A training run; what it leaves is everything but speeds and times."""

    def write(place: Path) -> list[str]:
        return config(place, run__workers=workers)

    def left(place: Path) -> Any:
        return outcome(place / RUN)

    return Variant(write, left, resume, (often,))


STRESS_TEST = StressTest(
    "kill_training",
    "kill -9 at random moments of a training run, then --resume",
    "weights, checkpoints and logs bit-identical to those without kills",
    unit="kills",
    count=1_000,
    trials=functools.partial(trials_of, {"1 worker": run_with(1), "2 workers": run_with(2)}),
)

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
