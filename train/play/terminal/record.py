"""The record of a game in the terminal, kept up to date in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rlgo.base.errors import RlgoError
from rlgo.base.files import user_path, write_atomically


class RecordFile:
    """The SGF file of the current game.

    Parameters
    ----------
    path : or None; further games go to new files next to it
    data : returns the record as it is now

    Attributes
    ----------
    path : the file of the current game, or None
    """

    def __init__(self, path: Path | None, data: Callable[[], bytes]) -> None:
        self.path, self._first, self._data = path, path, data
        self._saved: dict[Path, bytes] = {}  # the files this game was saved to, and their content

    @property
    def is_saved(self) -> bool:
        """Whether the current game is in its file."""
        return self.path in self._saved

    def begin(self) -> bool:
        """Begin the record of another game; returns True if it gets a file of its own."""
        is_new = self._first is not None and self.is_saved
        if self._first is not None and is_new:
            self.path = _unused(self._first)
        self._saved = {}
        return is_new

    def update(self, has_begun: bool) -> None:
        """Write the file, if there is one and the game has begun or was written before."""
        if self.path is not None and (has_begun or self.is_saved):
            self._write(self.path)

    def save(self, name: str, may_overwrite: Callable[[Path], bool]) -> Path | None:
        """Write the record to a file of a name, or to its own; returns the path, None if it may not be overwritten.

        may_overwrite : whether to replace a file that has another game
        """
        path = user_path(name) if name else self.path
        assert path is not None
        try:
            is_folder, exists = path.is_dir(), path.exists()
        except OSError as error:  # a name that is too long
            raise RlgoError(f"{path}: {error.strerror}") from None
        if is_folder:
            raise RlgoError(f"{path}: expected a file, found a folder")
        if path not in self._saved and exists and not may_overwrite(path):
            return None
        self._write(path)
        return path

    def _write(self, path: Path) -> None:
        data = self._data()
        if self._saved.get(path) != data:
            write_atomically(path, data)
            self._saved[path] = data


def _unused(path: Path) -> Path:
    """Return the first unused name of NAME-2.sgf, NAME-3.sgf ..."""
    n = 2
    while (new := path.with_name(f"{path.stem}-{n}{path.suffix}")).exists():
        n += 1
    return new
