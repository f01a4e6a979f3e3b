"""The logs of a folder of training runs, for display while they grow.

Start reading at `RunHistory`. Nothing is written, and runs in progress are not disturbed.
"""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.features.weights import Weights
from train.runs.folder import RunFolder
from train.runs.run import current_weights
from train.runs.status import RunInfo, features_text, inspect, run_folders

_MOST_BYTES = 4_000_000  # of a log, read at a time


class RunHistory:
    """The training runs in a folder and in its sweeps.

    Parameters
    ----------
    folder : a folder of runs, or a single run, which is then named after its folder

    Raises
    ------
    RlgoError : if there is no such folder.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise RlgoError(f"{folder}: expected a folder of training runs")
        self.folder = folder
        self._known: dict[Path, tuple[tuple[Any, ...], RunInfo]] = {}  # reading a state takes a while
        self._lock = threading.Lock()

    def find(self, name: str) -> RunFolder:
        """Return the folder of a run. RlgoError if there is no run of this name."""
        try:
            return run_folders(self.folder)[name]
        except KeyError:
            raise RlgoError(f"run {name!r}: no such run in {self.folder}") from None

    def runs(self) -> dict[str, RunInfo]:
        """Return the status of every run by name."""
        with self._lock:
            return {name: self._inspect(folder) for name, folder in run_folders(self.folder).items()}

    def _inspect(self, folder: RunFolder) -> RunInfo:
        written = tuple(path.stat().st_mtime_ns for path in (folder.state, folder.run_json) if path.exists())
        key = (*written, _in_use(folder))
        if self._known.get(folder.path, (None,))[0] != key:
            self._known[folder.path] = key, inspect(folder.path)
        return self._known[folder.path][1]

    def describe(self) -> dict[str, Any]:
        """Return the status of every run as plain data, for JSON."""
        return {"folder": str(self.folder), "runs": [_describe(name, run) for name, run in self.runs().items()]}

    def curves(self, name: str, after: int = 0) -> dict[str, Any]:
        """Return the numbers that a run has logged from byte `after` of its log on.

        Returns
        -------
        ``curves``, by metric: a list of [games, value]; ``after``, the byte where they begin: 0 if the log is shorter
        than it was; and ``next``, the byte to continue from.
        """
        lines, begin, end = self.find(name).read_metrics(after, _MOST_BYTES)
        curves: dict[str, list[list[float | None]]] = {}
        for line in lines:
            games = line.pop("games")
            for metric, value in line.items():
                curves.setdefault(metric, []).append([games, value if math.isfinite(value) else None])
        return {"after": begin, "next": end, "curves": curves}

    def learned(self, name: str) -> tuple[Weights, np.ndarray]:
        """Return the weights that a run would export, as last saved, and how often the shapes of each occurred.

        Returns
        -------
        (weights, int64[n_weights + 1])
        """
        folder = self.find(name)
        arrays, _ = folder.load()
        return current_weights(folder.path), arrays["occurrences"]


def _in_use(folder: RunFolder) -> bool:
    try:
        return folder.in_use()
    except OSError:
        return False


def _describe(name: str, run: RunInfo) -> dict[str, Any]:
    config = run.config
    return {
        "name": name,
        "state": run.state,
        "reason": run.reason,
        "games": run.games,
        "of": 0 if config is None else config.run.games,
        "games_per_s": run.games_per_s,
        "elo": run.elo,
        "size": None if config is None else config.board.size,
        "features": "" if config is None else features_text(config),
        "started": run.started,
        "resume": run.resume_command,
    }
