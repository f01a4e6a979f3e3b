"""The logs of a folder of training runs, for display while they grow.

Start reading at `RunHistory`. Nothing is written, and runs in progress are not disturbed.
"""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.features.weights import Weights
from train.arena.elo import elo_from_share
from train.runs.folder import RunFolder
from train.runs.run import current_weights
from train.runs.status import RunInfo, features_text, inspect, is_network, run_folders

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
        """Return the status of every run, of weights or of a network, as plain data, for JSON."""
        runs = [_describe(name, run) for name, run in self.runs().items()]
        networks = [_describe_network(name, path) for name, path in self._networks().items()]
        return {"folder": str(self.folder), "runs": runs + networks}

    def _networks(self) -> dict[str, Path]:
        """Return the folders in which networks learn, by name."""
        if is_network(self.folder):
            return {self.folder.resolve().name: self.folder}
        found = [
            p for p in (*self.folder.glob("*"), *self.folder.glob("*/*")) if is_network(p) and not is_network(p.parent)
        ]
        return {path.relative_to(self.folder).as_posix(): path for path in sorted(found)}

    def curves(self, name: str, after: int = 0) -> dict[str, Any]:
        """Return the numbers that a run has logged from byte `after` of its log on.

        Returns
        -------
        ``curves``, by metric: a list of [games, value], or [step, value] of a network; ``after``, the byte where they
        begin: 0 if the log is shorter than it was; and ``next``, the byte to continue from.
        """
        network = self._networks().get(name)
        folder = self.find(name) if network is None else RunFolder(_learning(network))
        lines, begin, end = folder.read_metrics(after, _MOST_BYTES)
        curves: dict[str, list[list[float | None]]] = {}
        for line in lines:
            games = line.pop("step" if "step" in line else "games")
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
        "rounds": None,
    }


def _learning(network: Path) -> Path:
    """Return the folder that has the log of a network that learns."""
    return network / "learning" if (network / "plan.json").is_file() else network


def _describe_network(name: str, path: Path) -> dict[str, Any]:
    """Describe a network that learns as `_describe` describes a run; ``rounds`` has curves by the number of a round."""
    plan = _json_lines(path / "plan.json", whole=True)
    learned = {_number(file): _json_lines(file, whole=True) for file in path.glob("round-*/learned.json")}
    ratings, elo = dict[str, float](), list[tuple[int, float]]()
    for file in sorted(path.glob("round-*/sims.jsonl"), key=_number):
        head, *games = _json_lines(file) or [{}]
        if not games or len(games) < plan.get("match_games", 0):
            continue
        won = sum(game["z"] if game["black"] == head["a"] else 1 - game["z"] for game in games) / len(games)
        before = ratings.get(head["b"]) if _number(file) > 1 else 0.0
        if before is not None and 0 < won < 1:  # a network that wins every game has no rating
            ratings[head["a"]] = before + elo_from_share(won)
            elo.append((_number(file), ratings[head["a"]]))
    measures = {k: data["measures"] for k, data in sorted(learned.items()) if data.get("measures")}
    return {
        "name": name,
        "state": "running" if _in_use(RunFolder(path)) else "not running",
        "reason": "",
        "games": sum(data.get("games", 0) for data in learned.values()),
        "of": 0,
        "games_per_s": None,
        "elo": elo[-1][1] if elo else None,
        "size": plan.get("size"),
        "features": "network {blocks} x {channels}".format(**plan) if "channels" in plan else "network",
        "started": "",
        "resume": "",
        "rounds": {
            "elo": elo,
            **{key: [(k, m[key]) for k, m in measures.items()] for key in ("value_loss", "policy_loss")},
        },
    }


def _number(file: Path) -> int:
    return int(file.parent.name.removeprefix("round-"))


def _json_lines(file: Path, whole: bool = False) -> Any:
    """Read a file of JSON lines, or one that is JSON as a whole, as far as it can be read."""
    try:
        text = file.read_text("utf-8")
        return json.loads(text) if whole else [json.loads(line) for line in text.splitlines() if line.endswith("}")]
    except (OSError, ValueError):
        return {} if whole else []
