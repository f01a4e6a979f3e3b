"""Where the results of experiments are: those that ship with rlgo, and the user's own, at any scale.

Start reading at `own_results`. Below the working folder (``experiments``), whole experiments have their results in
``results``, those at a scale in ``scale-X/results``, and those with a limit of time in ``minutes/results``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.base.resources import checkpoints_dir
from train.experiments.findings import Analysis, analyze
from train.experiments.model import Experiment
from train.experiments.raw import read_header

RESULTS = "results"  # name of a folder of raw results


@dataclass(frozen=True)
class Place:
    """The raw results of one experiment.

    Attributes
    ----------
    name : of the experiment
    folder : the folder that contains them
    header : the first line of their file
    """

    name: str
    folder: Path
    header: dict[str, Any]

    @property
    def path(self) -> Path:
        """Their file."""
        return self.folder / f"{self.name}.jsonl"

    def __str__(self) -> str:
        return f"{self.header['finished']}, {part_in_words(self.header)}"


def part_in_words(header: dict[str, Any]) -> str:
    """Say which part of an experiment's games results have: ``whole``, ``scale 0.1`` or ``10 min``."""
    if minutes := header.get("minutes"):
        return f"{minutes:g} min"
    return "whole" if header["scale"] == 1 else f"scale {header['scale']:g}"


def published() -> Path | None:
    """Return the folder of the results that ship with rlgo; None where they do not, as in an installed wheel."""
    folder = checkpoints_dir().parent / "results" / "experiments"
    return folder if folder.is_dir() else None


def is_published(folder: Path) -> bool:
    """Return whether a folder is that of the results that ship with rlgo."""
    shipped = published()
    return shipped is not None and folder.resolve() == shipped.resolve()


def result_folders(out: str | Path) -> list[Path]:
    """Return the folders with raw results below a working folder: that of whole experiments first."""
    parts = [Path(out), *sorted(p for p in Path(out).glob("*") if re.fullmatch(r"scale-.*|minutes", p.name))]
    return [folder / RESULTS for folder in parts if any((folder / RESULTS).glob("*.jsonl"))]


def own_results(out: str | Path) -> list[Place]:
    """Return the raw results below a working folder, at all scales, the latest first."""
    found = [place for folder in result_folders(out) for place in results_in(folder)]
    return sorted(found, key=lambda place: place.path.stat().st_mtime, reverse=True)


def results_in(folder: Path) -> list[Place]:
    """Return the raw results in one folder, by name."""
    found = [Place(path.stem, path.parent, read_header(path)) for path in sorted(folder.glob("*.jsonl"))]
    return [place for place in found if place.header]


def latest(out: str | Path, name: str) -> Place:
    """Return the latest raw results of an experiment. RlgoError if it has not run."""
    found = [place for place in own_results(out) if place.name == name]
    if not found:
        raise RlgoError(f"{name}: has not run: no results of it below {out} (rlgo experiment run {name})")
    return found[0]


def shipped_analysis(e: Experiment) -> Analysis | None:
    """Return the results that ship with rlgo of the same experiment; None for an experiment of the user's own."""
    folder = published() if e.argument == e.name else None
    return None if folder is None else analyze(folder, e.name)
