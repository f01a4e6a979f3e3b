"""The machine code of kernels on disk: where it is, and in which files.

Start reading at `KernelCache`. numba's own cache checks only the file that defines a function: if a callee or a
constant changes in another file, it silently keeps stale machine code. Here the machine code of a module is kept in a
folder named after a digest of all sources that it depends on (`sources.py`). A change starts an empty folder for the
affected modules, and all copies of the same sources share one.
"""

from __future__ import annotations

import atexit
import getpass
import glob
import hashlib
import os
import pickle  # nosec B403  # machine code is code: only its owner can write to it, see `_is_ours`
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import _nrt_python
from numba.core.serialize import dumps

from rlgo.base.parts import rebuild_part, reduce_part
from rlgo.base.sources import PACKAGES, ROOT, kernel_digest

_VERSIONS_KEPT = 4  # of each folder of machine code
_PREFIX = "kernels-"


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
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    chosen = os.environ.get("RLGO_CACHE_DIR") or ("" if home.startswith("~") else os.path.join(home, "rlgo"))
    if chosen and _can_write(Path(chosen) / name):
        found = CacheFolders(Path(chosen) / name, None)
    else:
        shared = Path(chosen) / name if chosen and (Path(chosen) / name).is_dir() else None
        found = CacheFolders(_private_folder(chosen) / name, shared)
    _can_write(found.written)
    _keep_latest(found.written, _PREFIX)
    return found


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


def _folder_for(what: str, digest: str) -> Path:
    """Return the folder for what is built from sources with this digest."""
    folder = CACHE_DIR / f"{what}-{digest}"
    with suppress(OSError):  # without it, nothing can be saved, which is said when something should be
        if folder.is_dir():
            os.utime(folder)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            _keep_latest(folder, f"{what}-")
    return folder


def _read_only(path: Path) -> Path | None:
    """Return the counterpart, in the cache that can only be read, of a path in the one that can be written."""
    return None if _READ_ONLY_DIR is None else _READ_ONLY_DIR / path.relative_to(CACHE_DIR)


CACHE_DIR, _READ_ONLY_DIR = _cache_folders()


@cache
def _module_of(file: str) -> str | None:
    """Return which of our modules a source is; None for others."""
    path = Path(file).resolve()
    if not any(ROOT / package in path.parents for package in PACKAGES):
        return None
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


class _CopiesShare(_CacheLocator):
    """Locate the machine code of our sources: one place for all copies of them, installed or not.

    numba's own locators name the folder after the path of the source, so each copy would compile everything again.
    They also test whether it is writable, once per kernel at each start.
    """

    subfolder = ""

    @staticmethod
    def is_ours(function: Any) -> bool:
        """Return whether the name of the cache folder identifies the function's source."""
        return _module_of(function.__code__.co_filename) is not None

    @classmethod
    def from_function(cls, function: Any, file: str) -> _CopiesShare | None:
        """Return the locator for one of our functions, None for others."""
        return cls(function, file) if cls.is_ours(function) else None

    def __init__(self, function: Any, file: str) -> None:
        self._py_file = file  # numba uses it in warnings about functions that cannot be cached
        module = _module_of(file) or ""
        self._digest = kernel_digest(module)
        self._path = _folder_for(module, self._digest) / self.subfolder
        with suppress(OSError):
            self._path.mkdir(parents=True, exist_ok=True)
        self.read_only = _read_only(self._path)
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(self._path)

    def get_source_stamp(self) -> str:
        return self._digest

    def get_disambiguator(self) -> str:
        return str(self._line)


class _KernelPlaces(CompileResultCacheImpl):
    """numba's cache of compiled functions, with our own location for ours; tests' and users' stay in numba's.

    What Python calls is kept, and no more. numba also keeps the code that callers link, which they have as parts, and
    imports the modules of all functions that were called, scipy among them.
    """

    _locator_classes = [_CopiesShare, *CompileResultCacheImpl._locator_classes]  # noqa: RUF012  # as in numba

    def reduce(self, result: Any) -> tuple[Any, ...]:
        (name, kind, (code, _)), *rest, environments = result._reduce()
        library = name, kind, (code, _names_only(result.library._get_module_for_linking()))
        return library, *rest, [(e.env_name, e.globals["__name__"], e.consts) for e in environments]

    def rebuild(self, target_context: Any, data: tuple[Any, ...]) -> Any:
        *rest, environments = data
        return CompileResult._rebuild(target_context, *rest, tuple(_environment(*e) for e in environments))


def _names_only(module: Any) -> bytes:
    """Return the bitcode of a module that defines the same names, as nothing: numba looks them up there."""
    functions = [f'define void @"{f.name}"() {{ ret void }}' for f in module.functions if not f.is_declaration]
    values = [f'@"{v.name}" = global i8 0' for v in module.global_variables if not v.is_declaration]
    code: bytes = llvm.parse_assembly("\n".join([*values, *functions])).as_bitcode()
    return code


def _environment(name: str, module: str, constants: list[Any]) -> Environment:
    """Return the environment of a function that a kernel calls, without its module: no kernel looks up globals."""
    found = lookup_environment(name)
    if found is None:
        found = Environment._memo[name] = Environment({"__name__": module})
        found.env_name, found.consts[:] = name, constants
    return found


class _PartsShare(_CopiesShare):
    """Locate parts, which have the same names as the functions that Python calls."""

    subfolder = "parts"


class _PartPlaces(CompileResultCacheImpl):
    """numba's cache of compiled functions, for parts."""

    _locator_classes = [_PartsShare]  # noqa: RUF012  # as in numba

    def reduce(self, result: Any) -> tuple[Any, ...]:
        return reduce_part(result)

    def rebuild(self, target_context: Any, data: tuple[Any, ...]) -> Any:
        return rebuild_part(target_context, data)

    def check_cachable(self, result: Any) -> bool:
        return not result.library.has_dynamic_globals  # addresses in this process; its callers may not need them


class _Files:
    """The machine code of one function: a file for each signature.

    numba has numbered files and an index of them. Two processes that compile at the same time can give one number to
    two signatures; whoever reads it next runs machine code that expects other arguments, and crashes.

    Parameters
    ----------
    folder : where the files are
    name : how their names begin
    stamp : identifies the source of the function
    """

    def __init__(self, folder: Path, name: str, stamp: object):
        self._folder, self._name, self._stamp = folder, name, stamp

    def _path(self, key: object) -> Path:
        return self._folder / f"{self._name}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"

    def load(self, key: object) -> Any:
        """Return what was saved for a signature; None if there is nothing, or if it cannot be read."""
        try:
            with self._path(key).open("rb") as file:
                if pickle.load(file) != self._stamp:  # nosec B301
                    return None
                saved, code = pickle.load(file)  # nosec B301
        except (OSError, EOFError, pickle.UnpicklingError):
            return None
        return code if saved == key else None

    def save(self, key: object, code: object) -> None:
        """Save what is known of a signature. Raises OSError, for instance if the disk is full."""
        path = self._path(key)
        temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
        try:
            temporary.write_bytes(dumps(self._stamp) + dumps((key, code)))
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def flush(self) -> None:
        """Delete the files of all signatures."""
        for path in self._folder.glob(f"{glob.escape(self._name)}.*.nbc"):
            path.unlink(missing_ok=True)


_opening = threading.RLock()


class KernelCache(FunctionCache):
    """numba's cache of one function, in files of our own.

    A cache that cannot be written is read as well. If saving fails, as on a full disk, the program goes on.

    Parameters
    ----------
    function : what is compiled
    missing : called when there is no machine code for a signature, before it is compiled
    """

    _impl_class = _KernelPlaces

    def __init__(self, function: Any, missing: Callable[[], None]) -> None:
        self._function, self._missing = function, missing

    def __getattr__(self, name: str) -> Any:
        """Do the rest of the initialisation when it is needed: most functions are compiled as parts of others only."""
        with _opening:
            if "_impl" not in self.__dict__ and not name.startswith("__"):
                super().__init__(self._function)
                locator, base = self._impl.locator, self._impl.filename_base
                self._cache_file = _Files(Path(self.cache_path), base, locator.get_source_stamp())
                shared = getattr(locator, "read_only", None)
                self._shared = shared and _Files(shared, base, locator.get_source_stamp())
        return self.__getattribute__(name)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, or None.

        numba would load all that it knows of Python's and numpy's functions first, scipy included, which takes longer
        than everything else. Only its compiler needs them, and loads them itself.
        """
        _register_runtime()
        with self._guard_against_spurious_io_errors():
            return self._load_overload(signature, target_context)

    def _load_overload(self, signature: Any, target_context: Any) -> Any:
        found = super()._load_overload(signature, target_context)
        if found is None and self._shared is not None and self._enabled:
            data = self._shared.load(self._index_key(signature, target_context.codegen()))
            found = None if data is None else self._impl.rebuild(target_context, data)
        if found is None:
            self._missing()
        return found

    def save_overload(self, signature: Any, code: Any) -> None:
        """Save what was compiled for a signature, if that is possible."""
        try:
            super().save_overload(signature, code)
        except OSError as error:
            _say_what_is_lost(error.strerror)


@cache
def _register_runtime() -> None:
    """Name the functions of numba's runtime that machine code calls; numba does it when it begins to compile."""
    for name, address in _nrt_python.c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class PartCache(KernelCache):
    """The cache of a part of kernels."""

    _impl_class = _PartPlaces

    @staticmethod
    def can_hold(function: Any) -> bool:
        """Return whether a part of kernels can be cached: not a user's, whose source has no digest."""
        return _CopiesShare.is_ours(function)


@cache
def _say_what_is_lost(reason: str | None) -> None:
    text = f"rlgo: {CACHE_DIR}: machine code cannot be saved and will be compiled again next time: {reason}"
    print(text, file=sys.stderr, flush=True)
