"""The training runs in a folder, and the status of each.

Start reading at `inspect`. It only reads the run folders; no run has to wait.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rlgo.base.errors import RlgoError
from train import console
from train.config import Config
from train.runs.folder import RunFolder

RUNNING, INTERRUPTED, FINISHED, DAMAGED = "running", "interrupted", "finished", "damaged"


@dataclass(frozen=True)
class RunInfo:
    """The status of a run, from its folder; numbers are those of the last saved state, seconds old if it is running."""

    path: Path
    state: str  # RUNNING, INTERRUPTED, FINISHED or DAMAGED
    reason: str = ""  # why it is damaged
    config: Config | None = None
    games: int = 0
    seconds: float = 0.0  # spent on self-play, learning and measuring
    strength: dict[str, Any] = field(default_factory=dict)  # last measurement by opponent, see `strength.Strength`
    # The rating that `rlgo train` printed last, on the rating scale (`strength.elo`); None before the first.
    # Nothing is rated again, so both commands show the same number.
    elo: float | None = None
    started: str = ""  # ISO 8601, UTC

    @property
    def games_per_s(self) -> float:
        """Average games per second, measurements included; 0 before the first saved state."""
        return self.games / self.seconds if self.seconds else 0.0

    @property
    def resume_command(self) -> str:
        """The command that resumes the run; empty unless it was interrupted."""
        return RunFolder(self.path).resume_command() if self.state == INTERRUPTED else ""

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain data for JSON."""
        return {
            **asdict(self),
            "path": str(self.path),
            "games_per_s": self.games_per_s,
            "resume_command": self.resume_command,
        }


def inspect(path: str | Path) -> RunInfo:
    """Return the status of a run. It never raises: a run that cannot be read is reported as damaged."""
    folder = RunFolder(path)
    try:
        running = folder.in_use()
        config = _config(folder)
        _, progress = folder.load()
        started = str(folder.read_about().get("started", ""))
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
    return folder.read_config()


def find_runs(path: str | Path, tags: Iterable[str] = ()) -> list[RunInfo]:
    """Return all runs in a folder and in its sweeps, by name; or the single run if the folder is one.

    tags : only runs that have all of these

    Raises RlgoError if there is no such folder, or no such run in it.
    """
    top = Path(path)
    if not top.is_dir():
        raise RlgoError(f"{path}: expected a folder of training runs" + (", found a file" if top.exists() else ""))
    found = [inspect(folder.path) for folder in run_folders(top).values()]
    if not found:
        raise RlgoError(f"{path}: no training runs here; start one with rlgo train")
    tagged = [run for run in found if {*tags} <= {*(run.config.run.tags if run.config else ())}]
    if not tagged:
        known = sorted({tag for run in found if run.config for tag in run.config.run.tags})
        raise RlgoError(f"{path}: no run has the tags {', '.join(tags)}; there are: {', '.join(known) or 'none'}")
    return tagged


def run_folders(top: Path) -> dict[str, RunFolder]:
    """Return the folders of all runs in a folder and in its sweeps, by name; a run of a sweep is called SWEEP/RUN.

    A folder that is a run itself is named after its folder.
    """
    if _is_run(top):
        return {top.resolve().name: RunFolder(top)}
    runs = [path for path in (*top.glob("*"), *top.glob("*/*")) if path.is_dir() and _is_run(path)]
    names = sorted(path.relative_to(top).as_posix() for path in runs)
    return {name: RunFolder(top / name) for name in names if not name.startswith(".") and "/." not in name}


def is_network(path: Path) -> bool:
    """Return whether a network learns here, in rounds or from games that there are."""
    return any((path / name).is_file() for name in ("plan.json", "network.npz"))


def _is_run(path: Path) -> bool:
    """Return whether any file of a run is here, so that damaged runs are listed, too."""
    if is_network(path) or is_network(path.parent):
        return False
    folder = RunFolder(path)
    return any(file.is_file() for file in (folder.config, folder.run_json, folder.state))


# ---------------------------------------------------------------------------------------------
# As a table
# ---------------------------------------------------------------------------------------------

_HEADER = (
    "run", "state", "games", "games/s", "Elo", "won against", "board", "features", "started (UTC)", "tags", "note",
)  # fmt: skip


def table(runs: list[RunInfo], top: str | Path) -> str:
    """Return a table with one line per run, and below it how to resume runs and what is wrong with damaged ones.

    Parameters
    ----------
    runs : what `find_runs` found
    top : the folder that names are relative to
    """
    rows = [_row(run, Path(top)) for run in runs]
    shown = [i for i, name in enumerate(_HEADER) if name not in ("tags", "note") or any(row[i] for row in rows)]
    align = "".join("r" if _HEADER[i] in ("games/s", "Elo") else "l" for i in shown)
    text = console.table([_HEADER[i] for i in shown], [[row[i] for i in shown] for row in rows], align=align)
    notes = [(run, run.reason if run.config is None else run.resume_command) for run in runs]
    lines = [f"{_name(run, Path(top))}: {note}" for run, note in notes if note]
    return "\n".join([text, *([""] if lines else []), *lines])


def _name(run: RunInfo, top: Path) -> str:
    return os.path.relpath(run.path, top) if run.path != top else str(top)


def _row(run: RunInfo, top: Path) -> tuple[str, ...]:
    name = _name(run, top)
    if run.config is None:
        return name, run.state, *[""] * (len(_HEADER) - 2)
    c, total = run.config, run.config.run.games
    return (
        name,
        run.state,
        f"{run.games:,} of {total:,} ({100 * run.games // total}%)",
        f"{run.games_per_s:,.0f}" if run.seconds else "",
        f"{run.elo:,.0f}" if run.elo is not None else "",
        ", ".join(f"{key} {s['win_rate']:.0%}" for key, s in run.strength.items()),
        f"{c.board.size}x{c.board.size}",
        features_text(c),
        run.started[:16].replace("T", " "),
        " ".join(c.run.tags),
        c.run.note,
    )


def features_text(config: Config) -> str:
    """Describe the features of a run in a few characters: ``1+2+3 LI+LD``."""
    plain = "+".join(map(str, config.features.sizes)) + " " + config.features.sharing
    return ", ".join([plain, *config.features.windows])
