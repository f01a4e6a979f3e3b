"""What training runs there are, and how they stand.

Start reading at `look`. Everything is read off the folders as they are: nothing is written, no run is kept waiting.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rlgo.errors import RlgoError
from train.config import Config, load_config
from train.runs.folder import RunFolder

RUNNING, INTERRUPTED, FINISHED, DAMAGED = "running", "interrupted", "finished", "damaged"
_DEPTH = 2  # runs, and the runs of a sweep


@dataclass(frozen=True)
class RunInfo:
    """A run as its folder tells it; the numbers are those of the last saved state, seconds old where it runs."""

    path: Path
    state: str  # RUNNING, INTERRUPTED, FINISHED or DAMAGED
    reason: str = ""  # why damaged
    config: Config | None = None
    games: int = 0
    seconds: float = 0.0  # of self-play, learning and measuring
    strength: dict[str, Any] = field(default_factory=dict)  # last measured, see `strength.Strength`
    elo: float | None = None  # last measured, see `strength.elo`
    started: str = ""  # ISO 8601, UTC

    @property
    def games_per_s(self) -> float:
        """On average, measurements of strength included; 0 before the first saved state."""
        return self.games / self.seconds if self.seconds else 0.0

    @property
    def way_back(self) -> str:
        """The command that goes on with the run; empty where it needs none, or none helps."""
        return RunFolder(self.path).way_back() if self.state == INTERRUPTED else ""

    def to_json(self) -> dict[str, Any]:
        """All of it, as what `json` can write."""
        return {
            **asdict(self),
            "path": str(self.path),
            "games_per_s": self.games_per_s,
            "way_back": self.way_back,
        }


def look(path: str | Path) -> RunInfo:
    """How a run stands. Whatever cannot be read makes it damaged; nothing raises."""
    folder = RunFolder(path)
    try:
        running = folder.in_use()
        config = _config(folder)
        _, progress = folder.load()
        started = _started(folder)
        games, seconds, strength = progress["games"], progress["seconds"], progress["strength"]
        elo = progress.get("elo") if strength else None
        finished = progress["finished"] and games >= config.run.games
    except RlgoError as error:
        return RunInfo(folder.path, DAMAGED, str(error))
    except OSError as error:
        return RunInfo(folder.path, DAMAGED, f"{error.filename or folder.path}: cannot be read: {error.strerror}")
    state = RUNNING if running else FINISHED if finished else INTERRUPTED
    return RunInfo(folder.path, state, "", config, games, seconds, strength, elo, started)


def _config(folder: RunFolder) -> Config:
    if not folder.exists():
        raise RlgoError(f"{folder.config}: missing")
    return load_config(folder.config)


def _started(folder: RunFolder) -> str:
    try:
        return str(json.loads(folder.run_json.read_text("utf-8"))["started"])
    except (ValueError, KeyError, TypeError) as error:
        raise RlgoError(f"{folder.run_json}: damaged: {type(error).__name__}: {error}") from None


def find_runs(path: str | Path) -> list[RunInfo]:
    """All runs in a folder, and those of the sweeps in it, by name; or the run that the folder is.

    Raises RlgoError if there is no such folder, or no run in it.
    """
    top = Path(path)
    if not top.is_dir():
        raise RlgoError(f"{path}: expected a folder of training runs" + (", found a file" if top.exists() else ""))
    found = [look(top)] if _is_run(top) else _find(top, _DEPTH)
    if not found:
        raise RlgoError(f"{path}: no training runs in it (rlgo train makes them)")
    return found


def _find(folder: Path, depth: int) -> list[RunInfo]:
    found = []
    try:
        below = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
        for path in below:
            if _is_run(path):
                found.append(look(path))
            elif depth > 1:
                found += _find(path, depth - 1)
    except OSError as error:
        found.append(RunInfo(folder, DAMAGED, f"{folder}: cannot be read: {error.strerror}"))
    return found


def _is_run(path: Path) -> bool:
    """Whether anything of a run is here, so that a damaged one is not passed over."""
    folder = RunFolder(path)
    return any(file.is_file() for file in (folder.config, folder.run_json, folder.state))


# ---------------------------------------------------------------------------------------------
# For people
# ---------------------------------------------------------------------------------------------


def table(runs: list[RunInfo], top: str | Path) -> str:
    """One line a run; names are paths below `top`."""
    rows: list[tuple[str, ...]] = [
        ("run", "state", "games", "games/s", "Elo", "won against", "board", "features", "started (UTC)", "")
    ]
    rows += [_row(run, Path(top)) for run in runs]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    right = {"games/s", "Elo"}
    lines = []
    for row in rows:
        cells = [
            text.rjust(width) if rows[0][i] in right else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _row(run: RunInfo, top: Path) -> tuple[str, ...]:
    name = os.path.relpath(run.path, top) if run.path != top else str(top)
    if run.config is None:
        return name, run.state, *[""] * 7, run.reason
    c, total = run.config, run.config.run.games
    return (
        name,
        run.state,
        f"{run.games:,} of {total:,} ({100 * run.games // total}%)",
        f"{run.games_per_s:,.0f}" if run.seconds else "",
        f"{run.elo:,.0f}" if run.elo is not None else "",
        ", ".join(f"{key} {s['win_rate']:.0%}" for key, s in run.strength.items()),
        f"{c.board.size}x{c.board.size}",
        "+".join(map(str, c.features.sizes)) + " " + c.features.sharing,
        run.started[:16].replace("T", " "),
        f"resume: {run.way_back}" if run.way_back else "",
    )
