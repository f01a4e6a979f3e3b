"""Train the runs of an experiment, and report them as raw results.

Start reading at `train_runs`. Runs are kept in a folder that all experiments share: a run that two of them need is
trained once.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.features.weights import Weights, load_weights
from train.experiments.declaration.experiment import Experiment
from train.experiments.results.files import run_point
from train.runs.fleet import FAILED, RunSpec, RunStatus, check_folders, train_all
from train.runs.status import FINISHED


@dataclass(frozen=True)
class Point:
    """Weights that play in a tournament.

    Attributes
    ----------
    name : its name there; see `files.run_point`
    run : number of its run; 0 is the reference run, -1 no run
    games : how many games of self-play the weights have learned from
    weights, path : the weights and their file; None for random play
    """

    name: str
    run: int
    games: int
    weights: Weights | None = None
    path: Path | None = None


@dataclass(frozen=True)
class TrainedRun:
    """A finished training run.

    Attributes
    ----------
    label : its label in the experiment
    status : the run and how it ended
    points : its checkpoints with finite weights, from early to late
    """

    label: str
    status: RunStatus
    points: tuple[Point, ...]


def labelled_runs(e: Experiment) -> list[tuple[str, RunSpec]]:
    """Return all runs of an experiment with their labels, in the order of its file."""
    return [(label, run) for label, runs in e.runs.items() for run in runs]


def train_runs(
    e: Experiment, labelled: Sequence[tuple[str, RunSpec]], jobs: int, progress: bool
) -> tuple[list[TrainedRun], list[dict[str, Any]]]:
    """Finish the training of some runs; return all of them, and a line of raw results for each.

    Two labels may refer to the same run: it is trained once and listed under both.

    Raises RlgoError for a run that failed without diverging, and for folders that contain other runs.
    """
    statuses = {run.name: RunStatus(run) for _, run in labelled}
    train(e, list(statuses.values()), jobs, progress)
    trained = [
        TrainedRun(label, statuses[run.name], tuple(_points(i, label, statuses[run.name])))
        for i, (label, run) in enumerate(labelled)
    ]
    reference = e.reference.name if e.reference is not None else ""
    return trained, [_run_line(run, reference) for run in trained]


def train(e: Experiment, statuses: Sequence[RunStatus], jobs: int, progress: bool) -> None:
    """Train runs to the end, and record how each one ended.

    Raises RlgoError for a folder that contains a run with other settings.
    """
    check_folders([status.spec for status in statuses], "use another --out folder")
    train_all(statuses, e.folder / "runs", jobs, progress)


def _points(number: int, label: str, status: RunStatus) -> Iterator[Point]:
    """Yield the checkpoints of a run whose weights are finite, from early to late."""
    wanted, folder = status.spec.config.run, status.spec.folder
    files = {games: path for games, path in folder.saved().items() if games <= wanted.games}
    if status.state == FINISHED:
        files.setdefault(wanted.games, folder.weights)
    for games, path in files.items():
        weights = load_weights(path)
        if np.isfinite(weights.theta).all():
            yield Point(run_point(label, wanted.seed, games), number, games, weights, path)


def _run_line(run: TrainedRun, reference: str) -> dict[str, Any]:
    """Return a run as a line of raw results; `reference` is the name of the reference run."""
    status, points = run.status, run.points
    spec = status.spec
    diverged = status.has_diverged
    if status.state == FAILED and not diverged:
        raise RlgoError(f"{spec.folder.path}: {status.reason}")
    try:
        seconds = spec.folder.load()[1]["seconds"]
    except RlgoError:
        seconds = 0.0
    return {
        "run": run.label,
        "seed": spec.config.run.seed,
        "base": spec.base,
        "changed": spec.values,
        "reference": spec.name == reference,
        "state": "diverged" if diverged else status.state,
        "reason": status.reason,
        # A run that diverged counts up to its last checkpoint, which is the same on every machine.
        "games": status.games if not diverged else points[-1].games if points else 0,
        "seconds": round(seconds, 1),
        "checkpoints": [point.games for point in points],
        # A checksum of the last weights, to compare when the run is repeated.
        "crc32": "".join(f"{zlib.crc32(point.weights.theta.tobytes()):08x}" for point in points[-1:] if point.weights),
    }
