"""The folder of a training run: its files, its saved state, and its lock.

Start reading at `RunFolder`. A run is resumed from `state.npz`, a checksummed archive that is replaced as a whole. The
state records the length of every file of numbers that the run appends to. Anything appended later is cut off before the
run continues, and is then written again. So a run that was killed at any moment, even by ``kill -9``, ends with the
same weights, checkpoints and logged numbers as an uninterrupted one. Only log.txt keeps the messages of every session.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.archive import read_archive, write_archive
from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.files import TEMPORARY, read_text, write_atomically
from train.checksums import add_checksum, add_checksum_to_text, verify, verify_text
from train.config import Config, load_config, to_toml
from train.console import command
from train.locks import only_writer

FORMAT, VERSION = "rlgo-run", 1
IN_USE, EXISTS = "in use by another process", "already contains a run"  # in errors, after the folder
_SERIES = (1, 2, 5)
_FIRST = 100


class Logged(NamedTuple):
    """Lines of metrics.jsonl, and where in the file they are."""

    lines: list[dict[str, Any]]  # numbers by name; "games", or "step", is always one
    begin: int  # byte
    end: int


class RunFolder:
    """The files of a training run.

    config.toml       the complete config
    run.json          seed, command, versions, git commit, and results at the end
    state.npz         the state from which the run can be resumed
    checkpoints/      the weights after 100, 200, 500, 1,000, 2,000 ... games
    metrics.jsonl     all logged numbers; the TensorBoard event files contain the same
    config.tfevents   the config again, for TensorBoard's table of runs
    log.txt           the messages of the run
    weights.npz       the weights, written at the end or when the run is interrupted

    Parameters
    ----------
    path : the folder, which need not exist yet
    """

    def __init__(self, path: str | Path):
        self.path = check("path", path, Path)
        self.config = self.path / "config.toml"
        self.run_json = self.path / "run.json"
        self.state = self.path / "state.npz"
        self.log = self.path / "log.txt"
        self.metrics = self.path / "metrics.jsonl"
        self.weights = self.path / "weights.npz"
        self.checkpoints = self.path / "checkpoints"
        self._lock = self.path / ".lock"

    def checkpoint(self, games: int) -> Path:
        """Return the path of the weights after this many games; names sort by number."""
        return self.checkpoints / f"{games:012d}.npz"

    def saved(self) -> dict[int, Path]:
        """Return the paths of the existing checkpoints by their number of games, ascending."""
        return {int(path.stem): path for path in sorted(self.checkpoints.glob("*.npz")) if path.stem.isdecimal()}

    def exists(self) -> bool:
        """Return whether the folder contains a run, finished or not."""
        return self.config.is_file()

    def write_config(self, config: Config) -> None:
        """Write config.toml, with a checksum. Raises RlgoError if it cannot be written."""
        write_atomically(self.config, add_checksum_to_text(to_toml(config)).encode())

    def read_config(self) -> Config:
        """Read config.toml. Raises RlgoError if it is missing, damaged or no config."""
        try:
            verify_text(read_text(self.config))
        except ValueError:
            raise RlgoError(
                f"{self.config}: damaged or edited: its checksum does not match (to edit it, remove its last line)"
            ) from None
        return load_config(self.config)

    def write_about(self, about: dict[str, Any]) -> None:
        """Write run.json, with a checksum. Raises RlgoError if it cannot be written."""
        write_atomically(self.run_json, f"{json.dumps(add_checksum(about), indent=2)}\n".encode())

    def read_about(self) -> dict[str, Any]:
        """Read run.json. Raises RlgoError if it is missing or damaged."""
        text = read_text(self.run_json)
        try:
            return verify(json.loads(text))
        except ValueError:
            raise RlgoError(f"{self.run_json}: damaged: its checksum is missing or does not match") from None

    def read_metrics(self, begin: int = 0, most_bytes: int = -1) -> Logged:
        """Read what the run has logged, except for a line that is being written.

        Parameters
        ----------
        begin : the byte to read from; if the log is shorter, because the run was resumed from an earlier state: 0
        most_bytes : number of bytes to read; -1: to the end
        """
        try:
            with self.metrics.open("rb") as file:
                begin = begin if begin <= file.seek(0, os.SEEK_END) else 0
                file.seek(begin)
                data = file.read(most_bytes)
        except FileNotFoundError:
            return Logged([], 0, 0)
        data = data[: data.rfind(b"\n") + 1]
        lines = []
        for text in data.splitlines():
            with contextlib.suppress(ValueError):
                line = json.loads(text)
                if isinstance(line, dict) and ("games" in line or "step" in line):
                    lines.append(line)
        return Logged(lines, begin, begin + len(data))

    def resume_command(self) -> str:
        """Return the command that resumes the run."""
        return command("rlgo", "train", "--resume", self.path)

    def lock(self) -> contextlib.AbstractContextManager[None]:
        """Keep other processes out of the run while the context lasts; see `only_writer`."""
        # Wait a moment: the holder may be `in_use`, which releases the lock at once.
        return only_writer(self.path, 0.5, IN_USE)

    def in_use(self) -> bool:
        """Return whether a process is using the run, without writing anything or locking others out."""
        try:
            import fcntl
        except ImportError:  # Windows, where a lock can only be tested by taking it
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
            # A shared lock: two processes that test at once do not see each other.
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return True
        finally:
            os.close(handle)
        return False

    @contextlib.contextmanager
    def build(self) -> Iterator[RunFolder]:
        """Create the folder atomically: yield a temporary folder to fill, and rename it at the end.

        Raises RlgoError if the folder exists or cannot be created.
        """
        parent, name = self.path.parent, self.path.name
        temporary = None
        try:
            self._refuse_existing()
            parent.mkdir(parents=True, exist_ok=True)
            for left in parent.glob(f".{name}.????????{TEMPORARY}"):
                if not RunFolder(left).in_use():  # left behind by a killed process
                    shutil.rmtree(left, ignore_errors=True)
            temporary = Path(tempfile.mkdtemp(TEMPORARY, f".{name}.", parent))
            new = RunFolder(temporary)
            with contextlib.ExitStack() as stack:
                stack.enter_context(new.lock())
                temporary.chmod(0o755)
                new.checkpoints.mkdir()
                yield new
                self._refuse_existing()
                if os.name == "nt":  # where a folder with an open file in it cannot be renamed
                    stack.close()
                os.rename(temporary, self.path)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):  # another process was faster
                self._refuse_existing()
            where = f": {error.filename}" if error.filename else ""
            raise RlgoError(f"{self.path}: cannot be created: {error.strerror}{where}") from None
        except RlgoError as error:  # may name a file in the temporary folder, which is gone by now
            raise RlgoError(str(error).replace(str(temporary), str(self.path))) from None
        finally:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)

    def _refuse_existing(self) -> None:
        if self.exists():
            raise RlgoError(
                f"{self.path}: {EXISTS}; expected another name (--set run.name=NAME), or --resume to continue that run"
            )
        if self.path.exists():
            raise RlgoError(f"{self.path}: exists, but contains no run; expected another name (--set run.name=NAME)")

    def save(self, arrays: dict[str, np.ndarray], progress: dict[str, Any], lengths: dict[str, int]) -> None:
        """Replace the saved state.

        Parameters
        ----------
        arrays : the state of the learner
        progress : everything else the run needs to continue, as plain data for JSON
        lengths : length in bytes, on the disk, of each file that the run appends to
        """
        meta = {"format": FORMAT, "version": VERSION, "progress": progress, "lengths": lengths}
        write_archive(self.state, meta, arrays)

    def load(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the saved state, (arrays, progress), and leave all other files unchanged."""
        meta, arrays = self._read()
        return arrays, meta["progress"]

    def rewind(self) -> None:
        """Cut files that were appended to back to the saved state, and remove what a killed process left unfinished.

        Raises RlgoError if one of these files is damaged; nothing is changed then.
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
        for games, path in self.saved().items():
            if games > meta["progress"]["games"]:
                path.unlink()

    def _read(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if not self.exists():
            raise RlgoError(f"{self.path}: expected the folder of a training run")
        return read_archive(self.state, "run state", FORMAT, VERSION)


def next_checkpoint(games: int) -> int:
    """Return the first of 100, 200, 500, 1,000, 2,000 ... that is greater than `games`."""
    decade = _FIRST
    while True:
        for factor in _SERIES:
            if factor * decade > games:
                return factor * decade
        decade *= 10
