"""Where machine code is kept on disk. Nothing here imports numba's insides.

Start reading at `CacheFolders`.
"""

from __future__ import annotations

import atexit
import getpass
import os
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np

_PREFIX = "kernels-"  # of the folders of all machine code
_VERSIONS_KEPT = 4  # of each folder of machine code


class CacheFolders(NamedTuple):
    """Where machine code is."""

    written: Path
    read_only: Path | None  # searched as well: a cache that comes with a container or a cluster


def _cache_folders() -> CacheFolders:
    """Find the folders of all machine code, and delete all but the latest few of other numba or numpy versions.

    A folder that cannot be written is still read. What it lacks goes to a folder of the user's among the temporary
    files, which outlasts the process, so that the next one need not compile it again.
    """
    # Python environments share it, and numpy may not be able to read what another version has pickled.
    name = f"{_PREFIX}numba-{numba.__version__}-numpy-{np.__version__}"
    chosen = _chosen_folder()
    if chosen and _can_write(Path(chosen) / name):
        found = CacheFolders(Path(chosen) / name, None)
    else:
        shared = Path(chosen) / name if chosen and (Path(chosen) / name).is_dir() else None
        found = CacheFolders(_private_folder(chosen) / name, shared)
    _can_write(found.written)
    _keep_latest(found.written, _PREFIX)
    return found


def _chosen_folder() -> str:
    """Return the folder for machine code that the user has chosen, or the usual one; "" if there is none."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("RLGO_CACHE_DIR") or ("" if home.startswith("~") else os.path.join(home, "rlgo"))


def _can_write(folder: Path) -> bool:
    """Make a folder if there is none, and return whether files can be made in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _private_folder(unwritable: str) -> Path:
    """Return the user's own folder among the temporary files. It is said when it is made, and only then."""
    folder = Path(tempfile.gettempdir(), f"rlgo-cache-{os.getuid() if hasattr(os, 'getuid') else getpass.getuser()}")
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if _is_ours(folder):
            return folder
        # Machine code that others could replace is not loaded. This process's children share the new folder.
        os.environ["RLGO_CACHE_DIR"] = base = tempfile.mkdtemp(prefix="rlgo-cache-")
        atexit.register(shutil.rmtree, base, ignore_errors=True)
        return Path(base)
    why = f"{unwritable} cannot be written" if unwritable else "there is no home folder"
    print(f"rlgo: {why}: machine code is kept in {folder} (or in RLGO_CACHE_DIR)", file=sys.stderr, flush=True)
    return folder


def _is_ours(folder: Path) -> bool:
    """Return whether a folder belongs to this user, and nobody else can write to it."""
    found = folder.lstat()
    owner = os.getuid() if hasattr(os, "getuid") else found.st_uid
    return stat.S_ISDIR(found.st_mode) and found.st_uid == owner and (os.name != "posix" or not found.st_mode & 0o022)


def _keep_latest(folder: Path, prefix: str) -> None:
    """Mark a folder as the latest, and delete all but the latest few of its siblings with this prefix."""
    with suppress(OSError):  # another process may be deleting them
        os.utime(folder)
        others = sorted(folder.parent.glob(f"{prefix}*"), key=lambda p: p.stat().st_mtime, reverse=True)
        for old in others[_VERSIONS_KEPT:]:
            shutil.rmtree(old, ignore_errors=True)


def folder_for(what: str, digest: str) -> Path:
    """Return the folder for what is built from sources with this digest."""
    folder = CACHE_DIR / f"{what}-{digest}"
    with suppress(OSError):  # without it, nothing can be saved, which is said when something should be
        if folder.is_dir():
            os.utime(folder)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            _keep_latest(folder, f"{what}-")
    return folder


def read_only(path: Path) -> Path | None:
    """Return the counterpart, in the cache that can only be read, of a path in the one that can be written."""
    return None if _READ_ONLY_DIR is None else _READ_ONLY_DIR / path.relative_to(CACHE_DIR)


CACHE_DIR, _READ_ONLY_DIR = _cache_folders()
