"""The files that players and the web page use: each is loaded once, and those who play can ask which they were.

Start reading at `loaded`; `files_loaded` is for what records where games come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

_T = TypeVar("_T")
_files: ContextVar[set[Path] | None] = ContextVar("files", default=None)  # those loaded, if anybody collects them


def loaded(load: Callable[..., _T], file: Path, *arguments: Any) -> _T:
    """Load a file, or return what the last call made of it: a player is made for each game.

    load : called with the file and the arguments, which must be hashable
    """
    note_file(file)
    made: _T = _load(load, file, file.stat().st_mtime_ns, *arguments)
    return made


@lru_cache(maxsize=16)
def _load(load: Callable[..., Any], file: Path, changed: int, *arguments: Any) -> Any:  # noqa: ARG001 - else it is old
    return load(file, *arguments)


def note_file(file: Path) -> None:
    """Tell whoever collects them that a player is made from this file."""
    files = _files.get()
    if files is not None:
        files.add(file)


@contextmanager
def files_loaded() -> Iterator[set[Path]]:
    """Collect the files from which this thread makes players in the meantime."""
    files: set[Path] = set()
    token = _files.set(files)
    try:
        yield files
    finally:
        _files.reset(token)
