"""The state of a training run on disk, and its lock.

Start reading at `RunFolder`. A run is resumed from `state.npz`, a sealed file that is replaced as a whole. It names
the lengths that all files to which the run appends had at its moment; whatever was written after it is cut off
before the run goes on, and is written again. So a run that was killed at any moment, with `kill -9` too, leaves
the files of one that was not.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.archive import TEMPORARY, read_archive, write_archive
from rlgo.errors import RlgoError

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
    config.tfevents   the config once more, for TensorBoard's table of runs
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
        self._lock = self.path / ".lock"

    def checkpoint(self, games: int) -> Path:
        """The weights after this many games; names sort by number."""
        return self.checkpoints / f"{games:012d}.npz"

    def saved(self) -> dict[int, Path]:
        """The checkpoints that there are, by games, ascending."""
        return {int(path.stem): path for path in sorted(self.checkpoints.glob("*.npz")) if path.stem.isdecimal()}

    def exists(self) -> bool:
        """Whether a run stands here, in whatever state."""
        return self.config.is_file()

    def way_back(self) -> str:
        """The command that goes on with the run."""
        return f"{called()}rlgo train --resume {shlex.quote(str(self.path))}"

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes out of the run. Raises RlgoError if one is in it. A dead process holds no lock."""
        from filelock import FileLock, Timeout

        lock = FileLock(self._lock, timeout=0.5)
        try:
            # Not at the first refusal: it may be the look of `in_use`, which is over at once.
            lock.acquire()
        except Timeout:
            raise RlgoError(f"{self.path}: in use by another process") from None
        except OSError as error:
            raise RlgoError(f"{self.path}: cannot be written: {error.strerror}") from None
        try:
            yield
        finally:
            lock.release()

    def in_use(self) -> bool:
        """Whether a process is in the run. Writes nothing, and keeps no process out."""
        try:
            import fcntl
        except ImportError:  # Windows, where locks cannot be looked at without taking them
            try:
                with self.lock():
                    return False
            except RlgoError:
                return True
        try:
            handle = os.open(self._lock, os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            # Shared: others who look do not see this look.
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return True
        finally:
            os.close(handle)
        return False

    @contextlib.contextmanager
    def build(self) -> Iterator[RunFolder]:
        """Make the folder: fill the one that is given, and it takes its name at the end, so it is there whole or not.

        Raises RlgoError if it exists or cannot be made.
        """
        parent, name = self.path.parent, self.path.name
        temporary = None
        try:
            self._refuse_existing()
            parent.mkdir(parents=True, exist_ok=True)
            for left in parent.glob(f".{name}.????????{TEMPORARY}"):  # by a process killed here
                shutil.rmtree(left, ignore_errors=True)
            temporary = Path(tempfile.mkdtemp(TEMPORARY, f".{name}.", parent))
            temporary.chmod(0o755)
            (temporary / self.checkpoints.name).mkdir()
            yield RunFolder(temporary)
            self._refuse_existing()
            os.rename(temporary, self.path)
        except OSError as error:
            where = f": {error.filename}" if error.filename else ""
            raise RlgoError(f"{self.path}: cannot be made: {error.strerror}{where}") from None
        except RlgoError as error:  # of a file under the name that is gone by now
            raise RlgoError(str(error).replace(str(temporary), str(self.path))) from None
        finally:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)

    def _refuse_existing(self) -> None:
        if self.path.exists():
            raise RlgoError(f"{self.path}: holds a run already; expected a new name, --set run.name=NAME, or --resume")

    def save(self, arrays: dict[str, np.ndarray], progress: dict[str, Any], lengths: dict[str, int]) -> None:
        """Replace the state. `lengths`: of the files that are appended to, as they are on the disk by now."""
        meta = {"format": FORMAT, "version": VERSION, "progress": progress, "lengths": lengths}
        write_archive(self.state, meta, arrays)

    def load(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The state as it was saved: (arrays, progress). The other files stay as they are."""
        meta, arrays = self._read()
        return arrays, meta["progress"]

    def rewind(self) -> None:
        """Bring the files that are appended to back to the state, and remove what a killed process left half-written.

        Raises RlgoError if one of these files is damaged, before anything is changed.
        """
        meta, _ = self._read()
        lengths = meta["lengths"]
        for name, length in lengths.items():
            path = self.path / name
            if not path.is_file() or path.stat().st_size < length:
                raise RlgoError(f"{path}: missing or damaged: expected at least {length:,} bytes, as of {self.state}")
        for path in [self.metrics, *self.path.glob("events.out.tfevents.*"), *self.path.rglob(f".*{TEMPORARY}")]:
            if path.name in lengths:
                os.truncate(path, lengths[path.name])
            else:
                path.unlink(missing_ok=True)

    def _read(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if not self.exists():
            raise RlgoError(f"{self.path}: expected the folder of a training run")
        return read_archive(self.state, "run state", FORMAT, VERSION)


def called() -> str:
    """What to put before `rlgo` in commands to type: its folder, where the PATH does not have it (`make train`)."""
    here = Path(sys.executable).parent  # scripts stand beside the interpreter
    hidden = shutil.which("rlgo") is None and (here / "rlgo").is_file()
    return f"{shlex.quote(os.path.relpath(here))}/" if hidden else ""


def next_checkpoint(games: int) -> int:
    """The first of 100, 200, 500, 1,000, 2,000 ... above `games`."""
    decade = _FIRST
    while True:
        for factor in _SERIES:
            if factor * decade > games:
                return factor * decade
        decade *= 10
