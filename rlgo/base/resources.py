"""Files that ship with rlgo (configs and reference weights), and its version.

In an installed wheel both folders are inside the package. In a source tree, even one installed in editable mode, they
are at the root, next to the package.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

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


def list_shipped_patterns() -> dict[str, Path]:
    """List the shipped pattern files by name, such as ``9x9``."""
    return {path.stem: path for path in sorted((checkpoints_dir() / "patterns").glob("*x*.npz"))}


def shipped_patterns(size: int) -> Path:
    """Find the shipped pattern file for a board size, or for the nearest size that has one."""
    files = list_shipped_patterns()
    return files[nearest_size(size, files)]


def shipped_softmax_policy() -> Path:
    """Find the shipped softmax policy, which plays on boards of any size."""
    path = checkpoints_dir() / "playouts" / "9x9.npz"
    if not path.is_file():
        raise RlgoError("no shipped softmax policy: expected the file of one")
    return path


def list_shipped_networks() -> dict[str, Path]:
    """List the shipped network files by name, such as ``9x9``."""
    return {path.stem: path for path in sorted((checkpoints_dir() / "networks").glob("*.npz"))}


def shipped_calibration(player: str, size: int) -> Path:
    """Find the shipped calibration of a player for a board size, or for the nearest size that has one.

    Raises `RlgoError` if the player has none.
    """
    files = {path.stem: path for path in sorted((checkpoints_dir() / "calibration" / player).glob("*x*.npz"))}
    if not files:
        raise RlgoError(f"no shipped calibration of {player}: expected calibration = FILE or none")
    return files[nearest_size(size, files)]


def nearest_size(size: int, names: Iterable[str]) -> str:
    """Return which of some names, such as ``9x9``, is that of a board size, or of the nearest one; of two, the smaller.

    >>> from rlgo.base.resources import nearest_size
    >>> nearest_size(11, ["9x9", "13x13", "19x19"])
    '9x9'
    """
    return min(names, key=lambda name: (abs(int(name.partition("x")[0]) - size), int(name.partition("x")[0])))


def list_configs(kind: str = "") -> list[str]:
    """List the names of the shipped configs, without ``.toml``.

    kind : "" for configs of runs, or the name of a subfolder, such as ``sweeps``
    """
    return sorted(path.stem for path in (_folder("configs") / kind).glob("*.toml"))


def config_path(name: str | Path, kind: str = "") -> Path:
    """Find the config file that a user names; see `find_file`.

    name : ``quick``, ``quick.toml``, ``configs/quick.toml``, or any other path
    kind : see `list_configs`
    """
    check("path", name, Path)
    folder = Path("configs", kind)
    shipped = {stem: _folder("configs") / kind / f"{stem}.toml" for stem in list_configs(kind)}
    return find_file(name, shipped, folder, "config file", "configs")


def find_file(name: str | Path, shipped: Mapping[str, Path], folder: Path, what: str, all_of_them: str) -> Path:
    """Find the file that a user names: any path, or the name of a shipped file with or without folder and ending.

    With the folder allowed, the same command line works inside and outside a source tree.

    Parameters
    ----------
    shipped : the shipped files by name, without endings
    folder : their place in a source tree: ``checkpoints``
    what, all_of_them : nouns for the error: a ``weight file``; shipped ``weights``

    Raises
    ------
    RlgoError : if there is no such file
    """
    path = user_path(str(name))
    if os.path.isfile(path):  # `Path.is_file` raises an error for some names
        return path
    stem = path.stem if path.suffix in (".npz", ".toml") else path.name
    if stem in shipped and path.parent in (Path(), folder):
        return shipped[stem]
    problem = f"no such {what}"
    if os.path.exists(path):
        problem = f"expected a {what}, found a {'folder' if os.path.isdir(path) else 'device or a pipe'}"
    hint = nearest(stem, shipped, f"shipped {all_of_them}: {', '.join(shipped)}")
    raise RlgoError(f"{str(name) or shown('')}: {problem}; {hint}")
