"""Files that ship with rlgo (configs and reference weights), and its version.

In an installed wheel both folders are inside the package. In a source tree, even one installed in editable mode, they
are at the root, next to the package.
"""

from __future__ import annotations

import importlib.metadata
import importlib.resources
from pathlib import Path

from rlgo.errors import RlgoError, nearest


def version() -> str:
    """Return the version of the installed distribution; ``unknown`` in a source tree that was never installed."""
    try:
        return importlib.metadata.version("rlgo")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _folder(name: str) -> Path:
    package = Path(str(importlib.resources.files("rlgo")))
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
    files = {int(name.partition("x")[0]): path for name, path in list_shipped_patterns().items()}
    return files[min(files, key=lambda n: (abs(n - size), n))]


def shipped_softmax_policy() -> Path:
    """Find the shipped softmax policy, which plays on boards of any size."""
    path = checkpoints_dir() / "playouts" / "9x9.npz"
    if not path.is_file():
        raise RlgoError("no shipped softmax policy: expected the file of one")
    return path


def list_configs(kind: str = "") -> list[str]:
    """List the names of the shipped configs, without ``.toml``.

    kind : "" for those of runs, or the name of a subfolder, for instance ``sweeps``
    """
    return sorted(path.stem for path in (_folder("configs") / kind).glob("*.toml"))


def config_path(name: str, kind: str = "") -> Path:
    """Find the config file that `name` refers to.

    Parameters
    ----------
    name : a path, or the name of a shipped config: ``quick``, ``quick.toml`` or ``configs/quick.toml``. The last form
        lets the same command line work in a source tree and anywhere else
    kind : see `list_configs`

    Raises
    ------
    RlgoError : if there is no such file
    """
    path = Path(name)
    if path.is_file():
        return path
    shipped = list_configs(kind)
    stem = path.name.removesuffix(".toml")
    if stem in shipped and path.parent in (Path(), Path("configs", kind)):
        return _folder("configs") / kind / f"{stem}.toml"
    what = "expected a file, found a folder" if path.is_dir() else "no such config file"
    hint = nearest(stem, shipped, f"shipped configs: {', '.join(shipped)}")
    raise RlgoError(f"{name}: {what}; {hint}")
