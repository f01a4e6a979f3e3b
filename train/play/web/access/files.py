"""Files that the page may use: weight files and game records, in folders given on the command line.

Start reading at `confined`. Paths in requests are never used directly: names are looked up below a folder, and links
must not lead out of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rlgo.base.errors import RlgoError
from rlgo.base.files import make_folder
from rlgo.base.resources import checkpoints_dir
from rlgo.features.weights import Weights, load_weights, shipped_weights
from rlgo.go.sgf import read_sgf
from rlgo.go.sgf_files import save_sgf
from train.players.loading import loaded

_MOST_FILES = 1_000  # listed of a folder


def confined(folder: Path, name: str) -> Path:
    """Return the path of `name` below `folder`; RlgoError if it is not a relative path that stays there."""
    try:
        top, path = folder.resolve(), (folder / name).resolve()
        path.exists()
    except (OSError, ValueError, RuntimeError):  # a null byte, a loop of links, a name that is too long
        raise RlgoError(f"{name!r}: expected the name of a file") from None
    if not name or Path(name).is_absolute() or not path.is_relative_to(top) or path == top:
        raise RlgoError(f"{name!r}: expected a name below the folder {folder}")
    return path


def names_below(folder: Path, suffix: str) -> list[str]:
    """List the files below a folder by their relative names, sorted; hidden ones are left out."""
    names = []
    for path in sorted(folder.rglob(f"*{suffix}")):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            names.append(name.as_posix())
            if len(names) == _MOST_FILES:
                break
    return names


# ---------------------------------------------------------------------------------------------
# Weights
# ---------------------------------------------------------------------------------------------


class WeightFile(NamedTuple):
    """A weight file, with the name that requests use."""

    name: str
    path: Path
    weights: Weights
    is_default: bool = False  # whether it is the best shipped file of its board size


class WeightFiles:
    """The shipped weight files, by names such as ``9x9-1M``, and those of some folders, by relative paths.

    folders : searched in order
    """

    def __init__(self, folders: tuple[Path, ...] = ()) -> None:
        self.folders = folders

    def list(self) -> list[WeightFile]:
        """List the files that can be read."""
        names = [path.stem for path in sorted(checkpoints_dir().glob("*.npz"))]
        names += [name for folder in self.folders for name in names_below(folder, ".npz")]
        found = []
        for name in dict.fromkeys(names):
            try:
                file = self.find(name)
            except RlgoError:  # another kind of archive, or one that is being written
                continue
            is_default = file.path.parent == checkpoints_dir() and file.path == shipped_weights(
                file.weights.features.size
            )
            found.append(file._replace(is_default=is_default))
        return found

    def find(self, name: str, size: int | None = None) -> WeightFile:
        """Read the file of a name; the empty name is the best shipped file of a size.

        Raises RlgoError if there is no such file, or if it is for another board size.
        """
        path = self._path(name, size)
        weights = loaded(load_weights, path)
        return WeightFile(name or path.stem, path, weights if size is None else weights.for_board(size, name))

    def _path(self, name: str, size: int | None) -> Path:
        if not name and size is not None:
            return shipped_weights(size)
        shipped = {path.stem: path for path in checkpoints_dir().glob("*.npz")}
        if name in shipped:
            return shipped[name]
        for folder in self.folders:
            path = confined(folder, name)
            if path.is_file() and path.suffix == ".npz":
                return path
        raise RlgoError(f"weights {name!r}: expected the name of a weight file")


# ---------------------------------------------------------------------------------------------
# Game records
# ---------------------------------------------------------------------------------------------


class Records:
    """Game records in some folders; the first one takes new ones."""

    def __init__(self, folders: tuple[Path, ...] = ()) -> None:
        self.folders = folders

    def list(self) -> list[str]:
        """List the names of all records."""
        return list(dict.fromkeys(name for folder in self.folders for name in names_below(folder, ".sgf")))

    def read(self, name: str, most_bytes: int) -> bytes:
        """Read a record. RlgoError if there is none of this name, or if it is too large."""
        for folder in self.folders:
            path = confined(folder, name)
            if path.is_file() and path.suffix == ".sgf":
                if path.stat().st_size > most_bytes:
                    raise RlgoError(f"{name}: expected at most {most_bytes:,} bytes")
                return path.read_bytes()
        raise RlgoError(f"file {name!r}: expected the name of a record")

    def write(self, name: str, record: bytes) -> None:
        """Write a new record to the first folder. RlgoError if the file exists."""
        if not self.folders:
            raise RlgoError("file: expected a server with a folder for records (rlgo web --sgf DIR)")
        path = confined(self.folders[0], name)
        if path.suffix != ".sgf" or any(part.startswith(".") for part in Path(name).parts):
            raise RlgoError(f"file {name!r}: expected a name that ends with .sgf")
        if path.exists():
            raise RlgoError(f"file {name!r}: exists already")
        read_sgf(record)  # so that every saved record can be read again
        try:
            make_folder(path.parent)
            save_sgf(path, record)
        except RlgoError:  # which names the folder, too
            raise RlgoError(f"file {name!r}: cannot be written") from None
