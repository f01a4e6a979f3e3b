"""Files that ship with rlgo (configs and reference weights), and its version.

In an installed wheel both folders are inside the package. In a source tree, even one installed in editable mode, they
are at the root, next to the package.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError, nearest, shown
from rlgo.base.files import user_path


def version() -> str:
    """Return the version of the installed distribution; ``unknown`` in a source tree that was never installed."""
    import importlib.metadata  # slow to load

    try:
        return importlib.metadata.version("rlgo")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _folder(name: str) -> Path:
    package = Path(__file__).resolve().parents[1]
    for folder in (package / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise RlgoError(f"{name}: expected this folder of shipped files in {package} or next to it")


def checkpoints_dir() -> Path:
    """Return the folder of the shipped reference weights."""
    return _folder("checkpoints")


class Shipped(NamedTuple):
    """The shipped files of one kind, which users name without folder and ending.

    Attributes
    ----------
    folder : their place in a source tree
    names : their names, as a pattern for `Path.glob`
    what, all_of_them : nouns for errors: a ``weight file``; shipped ``weights``
    """

    folder: Path
    names: str
    what: str
    all_of_them: str

    def files(self) -> dict[str, Path]:
        """List them by name, such as ``9x9``."""
        folder = _folder(self.folder.parts[0]).joinpath(*self.folder.parts[1:])
        return {path.stem: path for path in sorted(folder.glob(self.names))}

    def for_size(self, size: int) -> Path:
        """Find the one for a board size, or for the nearest size that has one. `RlgoError` if there is none."""
        files = self.files()
        if not files:
            raise RlgoError(f"no shipped {self.all_of_them}: expected a {self.what}")
        return files[nearest_size(size, files)]

    def find(self, name: str | Path, size: int | None = None) -> Path:
        """Find the file that a user names: any path, or the name of a shipped file with or without folder and ending.

        With the folder allowed, the same command line works inside and outside a source tree. If there is a `size`, an
        empty name stands for the shipped file that is the nearest. `RlgoError` if there is no such file.
        """
        if size is not None and not str(name):
            return self.for_size(size)
        path = user_path(str(name))
        if os.path.isfile(path):  # `Path.is_file` raises an error for some names
            return path
        shipped = self.files()
        stem = path.stem if path.suffix in (".npz", ".toml") else path.name
        if stem in shipped and path.parent in (Path(), self.folder):
            return shipped[stem]
        problem = f"no such {self.what}"
        if os.path.exists(path):
            problem = f"expected a {self.what}, found a {'folder' if os.path.isdir(path) else 'device or a pipe'}"
        hint = nearest(stem, shipped, f"shipped {self.all_of_them}: {', '.join(shipped)}")
        raise RlgoError(f"{str(name) or shown('')}: {problem}; {hint}")


SHIPPED_WEIGHTS = Shipped(Path("checkpoints"), "*x*-*.npz", "weight file", "weights")
SHIPPED_PATTERNS = Shipped(Path("checkpoints/patterns"), "*x*.npz", "pattern file", "patterns")
SHIPPED_NETWORKS = Shipped(Path("checkpoints/networks"), "*.npz", "network file", "networks")
NO_NETWORK = "none"  # in specs, in place of the name of a network


def shipped_calibration(player: str, size: int) -> Path:
    """Find the shipped calibration of a player for a board size, or for the nearest size that has one.

    Raises `RlgoError` if the player has none.
    """
    shipped = Shipped(Path("checkpoints/calibration", player), "*x*.npz", "calibration", "calibrations")
    if not shipped.files():
        raise RlgoError(f"no shipped calibration of {player}: expected calibration = FILE or none")
    return shipped.for_size(size)


def nearest_size(size: int, names: Iterable[str]) -> str:
    """Return which of some names, such as ``9x9``, is that of a board size, or of the nearest one; of two, the smaller.

    >>> from rlgo.base.resources import nearest_size
    >>> nearest_size(11, ["9x9", "13x13", "19x19"])
    '9x9'
    """
    return min(names, key=lambda name: (abs(int(name.partition("x")[0]) - size), int(name.partition("x")[0])))


def _configs(kind: str) -> Shipped:
    return Shipped(Path("configs", kind), "*.toml", "config file", "configs")


def list_configs(kind: str = "") -> list[str]:
    """List the names of the shipped configs, without ``.toml``.

    kind : "" for configs of runs, or the name of a subfolder, such as ``sweeps``
    """
    return list(_configs(kind).files())


def config_path(name: str | Path, kind: str = "") -> Path:
    """Find the config file that a user names; see `Shipped.find`.

    name : ``quick``, ``quick.toml``, ``configs/quick.toml``, or any other path
    kind : see `list_configs`
    """
    check("path", name, Path)
    file = _configs(kind).find(name)
    if Path(name).parent != Path() and not os.path.isfile(user_path(str(name))):
        print(f"{name} is not here: the one that ships with rlgo is used", file=sys.stderr)
    return file
