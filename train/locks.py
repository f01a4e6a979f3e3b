"""Locks: only one process at a time writes to a file or a folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from rlgo.base.errors import RlgoError
from rlgo.base.files import unwritable


@contextlib.contextmanager
def only_writer(path: Path, seconds: float = 0, why: str = "another process is writing to it") -> Iterator[None]:
    """Keep other processes from writing to a file or folder while the context lasts.

    A process that dies releases its lock. The lock file stays, in the folder or next to the file.

    Raises RlgoError with `why` as its reason if another process is still writing to `path` after some seconds, or if
    `path` cannot be written.
    """
    from filelock import FileLock, Timeout  # needed only for writing

    lock = FileLock(path / ".lock" if path.is_dir() else f"{path}.lock", timeout=seconds)
    try:
        held = lock.acquire()
    except Timeout:
        raise RlgoError(f"{path}: {why}") from None
    except OSError as error:
        raise unwritable(path, error) from None
    with held:
        yield
