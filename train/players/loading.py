"""Load the files of players and the web page, each file once.

Start reading at `loaded`; `files_loaded` lists the files in use, which matches record with their games.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

_T = TypeVar("_T")
_files: ContextVar[set[Path] | None] = ContextVar("files", default=None)  # collected inside `files_loaded`


def loaded(load: Callable[..., _T], file: Path, *arguments: Any) -> _T:
    """Load a file, or return the cached result, since each game makes new players.

    load : called with the file and the arguments, which must be hashable
    """
    note_file(file)
    made: _T = _load(load, file, file.stat().st_mtime_ns, *arguments)
    return made


@lru_cache(maxsize=16)
def _load(load: Callable[..., Any], file: Path, changed: int, *arguments: Any) -> Any:  # noqa: ARG001 - a cache key
    return load(file, *arguments)


def note_file(file: Path) -> None:
    """Add a file that a player is made from to the collection of `files_loaded`."""
    files = _files.get()
    if files is not None:
        files.add(file)


def note_source(module: ModuleType) -> None:
    """Add the file of a user's module to the collection, by a name that is the same on another machine."""
    file, here = Path(inspect.getfile(module)), Path.cwd()
    note_file(file.relative_to(here) if file.is_relative_to(here) else file)


@contextmanager
def files_loaded() -> Iterator[set[Path]]:
    """Collect the files from which this thread makes players inside the block."""
    files: set[Path] = set()
    token = _files.set(files)
    try:
        yield files
    finally:
        _files.reset(token)
