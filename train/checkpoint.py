"""The state of a training run on disk, and its lock.

Start reading at `RunFolder`. A run is resumed from `state.npz`, a sealed file that is replaced as a whole. It names
the lengths that all files to which the run appends had at its moment; whatever was written after it is cut off
before the run goes on, and is written again. So a run that was killed at any moment, with `kill -9` too, leaves
the files of one that was not.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.errors import RlgoError
from rlgo.sealed import read_sealed, write_sealed

FORMAT, VERSION = "rlgo-run", 1
_SERIES = (1, 2, 5)
_FIRST = 100


class RunFolder:
    """The folder of a training run.

    config.toml       the resolved config
    run.json          seed, command, versions, git commit, start and end
    state.npz         what a resumed run goes on from
    checkpoints/      the weights after 100, 200, 500, 1,000, 2,000 ... games
    metrics.jsonl     every logged number; the same in TensorBoard's event files beside it
    log.txt           what the run said
    weights.npz       the weights, at the end or when interrupted
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.config = self.path / "config.toml"
        self.run_json = self.path / "run.json"
        self.state = self.path / "state.npz"
        self.log = self.path / "log.txt"
        self.metrics = self.path / "metrics.jsonl"
        self.weights = self.path / "weights.npz"
        self.checkpoints = self.path / "checkpoints"

    def checkpoint(self, games: int) -> Path:
        """The weights after this many games; names sort by number."""
        return self.checkpoints / f"{games:012d}.npz"

    def exists(self) -> bool:
        """Whether a run stands here, in whatever state."""
        return self.config.is_file()

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes out of the run. Raises RlgoError if one is in it. A dead process holds no lock."""
        from filelock import FileLock, Timeout

        try:
            with FileLock(self.path / ".lock", blocking=False):
                yield
        except Timeout:
            raise RlgoError(f"{self.path}: this run is in use by another process") from None

    @contextlib.contextmanager
    def build(self) -> Iterator[RunFolder]:
        """Make the folder: fill the one that is given, and it takes its name at the end, so it is there whole or not.

        Raises RlgoError if it exists or cannot be made.
        """
        try:
            if self.path.exists():
                raise RlgoError(
                    f"{self.path}: holds a run already; expected a new name, --set run.name=NAME, or --resume"
                )
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary = Path(tempfile.mkdtemp(prefix=f".{self.path.name}.", dir=self.path.parent))
        except OSError as error:
            raise RlgoError(f"{self.path}: cannot be made: {error.strerror}: {error.filename}") from None
        try:
            temporary.chmod(0o755)
            (temporary / self.checkpoints.name).mkdir()
            yield RunFolder(temporary)
            os.rename(temporary, self.path)
        except OSError as error:
            raise RlgoError(f"{self.path}: cannot be made: {error.strerror}: {error.filename}") from None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def save(self, arrays: dict[str, np.ndarray], progress: dict[str, Any], lengths: dict[str, int]) -> None:
        """Replace the state. `lengths`: of the files that are appended to, as they are on the disk by now."""
        meta = {"format": FORMAT, "version": VERSION, "progress": progress, "lengths": lengths}
        write_sealed(self.state, meta, arrays)

    def load(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The state as it was saved: (arrays, progress). The other files stay as they are."""
        meta, arrays = self._read()
        return arrays, meta["progress"]

    def rewind(self) -> None:
        """Bring the files that are appended to back to the state."""
        meta, _ = self._read()
        lengths = meta["lengths"]
        for path in [self.metrics, *sorted(self.path.glob("events.out.tfevents.*"))]:
            if path.name not in lengths:
                path.unlink(missing_ok=True)
            elif not path.exists() or path.stat().st_size < lengths[path.name]:
                raise RlgoError(f"{path}: damaged: expected at least {lengths[path.name]} bytes, as of {self.state}")
            else:
                os.truncate(path, lengths[path.name])

    def _read(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if not self.exists():
            raise RlgoError(f"{self.path}: expected the folder of a training run")
        return read_sealed(self.state, "run state", FORMAT, VERSION)


def next_checkpoint(games: int) -> int:
    """The first of 100, 200, 500, 1,000, 2,000 ... above `games`."""
    decade = _FIRST
    while True:
        for factor in _SERIES:
            if factor * decade > games:
                return factor * decade
        decade *= 10
