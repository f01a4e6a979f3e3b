"""Locks: only one process at a time writes to a file or a folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from rlgo.base.errors import RlgoError
from rlgo.base.files import unwritable


@contextlib.contextmanager
def only_writer(path: Path, seconds: float = 0, why: str = "another process is writing to it") -> Iterator[None]:
    """Keep other processes from writing to a file or folder while the context lasts.

    A process that dies releases its lock. The lock file, in the folder or next to the file, is removed at the end,
    except on Windows.

    Raises RlgoError with `why` as its reason if another process is still writing to `path` after some seconds, or if
    `path` cannot be written.
    """
    from filelock import FileLock, Timeout  # needed only for writing

    name = path / ".lock" if path.is_dir() else Path(f"{path}.lock")
    lock, is_held = FileLock(name, timeout=seconds), False
    try:
        while not is_held:
            with open(name, "ab") as file:  # which keeps the number of its inode from being used again
                lock.acquire()
                is_held = _is_same(name, file.fileno())  # otherwise another process has just removed it
            if not is_held:
                lock.release()
    except Timeout:
        raise RlgoError(f"{path}: {why}") from None
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # on Windows, an open file
            os.unlink(name)
        lock.release()


def _is_same(name: Path, file: int) -> bool:
    """Whether a name still belongs to an open file."""
    try:
        return os.path.samestat(os.stat(name), os.fstat(file))
    except FileNotFoundError:
        return False
