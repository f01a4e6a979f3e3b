"""The machine code of kernels on disk, in a file for each signature.

Start reading at `KernelCache`. numba's own cache checks only the file that defines a function: if a callee or a
constant changes in another file, it silently keeps stale machine code. Here the machine code of a module is kept in a
folder named after a digest of all sources that it depends on (`sources.py`). A change starts an empty folder for the
affected modules, and all copies of the same sources share one.

A process that compiles a kernel claims it first: others that need the same one wait for it, and load what it saved.
"""

from __future__ import annotations

import glob
import hashlib
import os
import pickle  # nosec B403  # machine code is code: only its owner can write to it, see `_is_ours`
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import _nrt_python
from numba.core.serialize import dumps

from rlgo.compiler.cache_folders import CACHE_DIR, folder_for, read_only
from rlgo.compiler.parts import rebuild_part, reduce_part
from rlgo.compiler.sources import PACKAGES, ROOT, has_user_types, kernel_digest

if sys.platform != "win32":
    import fcntl


@cache
def _module_of(file: str) -> str | None:
    """Return which of our modules a source is; None for others."""
    path = Path(file).resolve()
    if not any(ROOT / package in path.parents for package in PACKAGES):
        return None
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


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
        self._path = folder_for(module, self._digest) / self.subfolder
        with suppress(OSError):
            self._path.mkdir(parents=True, exist_ok=True)
        self.read_only = read_only(self._path)
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

    def path(self, key: object) -> Path:
        """Return the file of a signature."""
        return self._folder / f"{self._name}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"

    def load(self, key: object) -> Any:
        """Return what was saved for a signature; None if there is nothing, or if it cannot be read."""
        try:
            with self.path(key).open("rb") as file:
                if pickle.load(file) != self._stamp:  # nosec B301
                    return None
                saved, code = pickle.load(file)  # nosec B301
        except (OSError, EOFError, pickle.UnpicklingError):
            return None
        return code if saved == key else None

    def save(self, key: object, code: object) -> None:
        """Save what is known of a signature. Raises OSError, for instance if the disk is full."""
        path = self.path(key)
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


class Claimed(Exception):
    """Another process is compiling this kernel; see `patience`."""


class _Patience(threading.local):
    """Whether a thread waits for kernels that other processes compile."""

    waits = True


_patience = _Patience()


@contextmanager
def patience(waits: bool) -> Iterator[None]:
    """Let this thread wait for kernels that other processes compile, as usual; or raise `Claimed` instead."""
    before, _patience.waits = _patience.waits, waits
    try:
        yield
    finally:
        _patience.waits = before


def _claim(path: Path) -> tuple[int, Path] | None:
    """Claim a file that is about to be made: lock a file beside it, until that is closed or the process ends.

    Returns the lock, or None where that is impossible: then two processes may do the same work.
    """
    if sys.platform == "win32":
        return None
    lock = path.with_suffix(".lock")
    try:
        claim = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | (0 if _patience.waits else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(claim)
        raise Claimed(path.name) from None
    except OSError:  # a file system without locks
        os.close(claim)
        return None
    except BaseException:  # Ctrl-C
        os.close(claim)
        raise
    return claim, lock


_opening = threading.RLock()


class KernelCache(FunctionCache):
    """numba's cache of one function, in files of our own.

    A cache that cannot be written is read as well. If saving fails, as on a full disk, the program goes on. Kernels
    that take a user's own types are not kept, since a change of what they then call would not be noticed.

    Parameters
    ----------
    function : what is compiled
    missing : called when there is no machine code for a signature, before it is compiled
    """

    _impl_class = _KernelPlaces
    _is_shared = True  # so that a process that compiles claims it

    def __init__(self, function: Any, missing: Callable[[], None]) -> None:
        self._function, self._missing = function, missing
        self._claims: dict[int, tuple[int, Path] | None] = {}  # by thread

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

    def has(self, signature: Any, target_context: Any) -> bool:
        """Return whether there is machine code for a signature, as far as its name tells."""
        if has_user_types(signature):
            return False
        key = self._index_key(signature, target_context.codegen())
        return any(files is not None and files.path(key).exists() for files in (self._cache_file, self._shared))

    def release(self) -> None:
        """Let other processes compile the kernel, since this thread does not any more."""
        found = self._claims.pop(threading.get_ident(), None)
        if found is not None:
            claim, lock = found
            lock.unlink(missing_ok=True)
            os.close(claim)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, or None.

        numba would load all that it knows of Python's and numpy's functions first, scipy included, which takes longer
        than everything else. Only its compiler needs them, and loads them itself.
        """
        _register_runtime()
        with self._guard_against_spurious_io_errors():
            return self._load_overload(signature, target_context)

    def _load_overload(self, signature: Any, target_context: Any) -> Any:
        if has_user_types(signature):
            self._missing()
            return None
        found = self._read(signature, target_context)
        if found is None:
            self._missing()
            if self._is_shared and self._enabled:
                path = self._cache_file.path(self._index_key(signature, target_context.codegen()))
                self._claims[threading.get_ident()] = _claim(path)
                found = self._read(signature, target_context)  # another process may have compiled it by now
        return found

    def _read(self, signature: Any, target_context: Any) -> Any:
        found = super()._load_overload(signature, target_context)
        if found is None and self._shared is not None and self._enabled:
            data = self._shared.load(self._index_key(signature, target_context.codegen()))
            found = None if data is None else self._impl.rebuild(target_context, data)
        return found

    def save_overload(self, signature: Any, code: Any) -> None:
        """Save what was compiled for a signature, if that is possible."""
        if has_user_types(signature):
            return
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
    _is_shared = False

    @staticmethod
    def can_hold(function: Any) -> bool:
        """Return whether a part of kernels can be cached: not a user's, whose source has no digest."""
        return _CopiesShare.is_ours(function)


@cache
def _say_what_is_lost(reason: str | None) -> None:
    text = f"rlgo: {CACHE_DIR}: machine code cannot be saved and will be compiled again next time: {reason}"
    print(text, file=sys.stderr, flush=True)
