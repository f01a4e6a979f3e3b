"""The machine code of kernels on disk, in a file for each signature.

Start reading at `KernelCache`. numba's own cache checks only the file that defines a function: if a callee or a
constant changes in another file, it silently keeps stale machine code. It also numbers its files in an index: two
processes that compile at the same time can give one number to two signatures. Here the machine code of a module is
kept in a folder named after a digest of all sources that it depends on (`sources.py`). A change starts an empty folder
for the affected modules, and all copies of the same sources share one.

A process that compiles a kernel claims it first: others that need the same one wait for it, and load what it saved.
"""

from __future__ import annotations

import hashlib
import os
import pickle  # nosec B403  # machine code is code: only its owner can write to it, see `_is_ours`
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python
from numba.core.serialize import dumps

from rlgo.compiler.cache_folders import CACHE_DIR, folder_for, read_only
from rlgo.compiler.inlined import rebuild_inlined, reduce_inlined
from rlgo.compiler.progress import announce
from rlgo.compiler.sources import PACKAGES, ROOT, fields_of, has_user_types, kernel_digest, module_of

if sys.platform != "win32":
    import fcntl


@cache
def _module_of(file: str) -> str | None:
    """Return which of our modules a source is; None for others."""
    path = Path(file).resolve()
    if not any(ROOT / package in path.parents for package in PACKAGES):
        return None
    return module_of(path)


@cache
def _folder_of(file: str) -> Path | None:
    """Return the folder for the machine code of a source; None if the source is no file."""
    module = _module_of(file)
    if module is not None:
        return folder_for(module, kernel_digest(module))
    try:
        source = Path(file).resolve().read_bytes()
    except OSError:
        return None
    return folder_for("others", kernel_digest()) / f"{Path(file).stem}-{hashlib.sha256(source).hexdigest()[:16]}"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Claimed(Exception):
    """Another process is compiling this kernel."""


class KernelCache:
    """The machine code of one function, which numba asks for before it compiles, and hands over afterwards.

    A cache that cannot be written is read as well. If saving fails, as on a full disk, the program goes on. Kernels
    that take a user's own types are not kept, since a change of what they then call would not be noticed.
    """

    subfolder = ""

    def __init__(self, function: Any) -> None:
        self._function = function

    @cached_property
    def _folder(self) -> Path | None:
        """The folder, made when it is needed: most functions are only compiled into others."""
        code = self._function.__code__
        folder = _folder_of(code.co_filename)
        if folder is None:
            return None
        folder /= self.subfolder
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def cache_path(self) -> str:
        """The folder, for numba's statistics."""
        return str(self._folder)

    def has(self, signature: Any) -> bool:
        """Return whether there is machine code for a signature, as far as its name tells."""
        return any(path.exists() for path in self._paths(signature))

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, or None.

        numba would load all that it knows of Python's and numpy's functions first, scipy included, which takes longer
        than everything else. Only its compiler needs them, and loads them itself.
        """
        _register_runtime()
        key = self._key(signature)
        for path in self._paths(signature):
            with suppress(OSError, EOFError, pickle.UnpicklingError), path.open("rb") as file:
                if pickle.load(file) == key:  # nosec B301
                    return self._rebuild(target_context, pickle.load(file))  # nosec B301
        announce()
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Save what was compiled for a signature, if that is possible: not with addresses in this process."""
        paths = self._paths(signature)
        if not paths or result.library.has_dynamic_globals:
            return
        path = paths[0]
        temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
        try:
            try:
                temporary.write_bytes(dumps(self._key(signature)) + dumps(self._reduce(result)))
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            _say_what_is_lost(error.strerror)

    @contextmanager
    def claim(self, signature: Any, waits: bool = True) -> Iterator[None]:
        """Claim a signature that has to be compiled, until the block or the process ends.

        waits : wait for another process that compiles it; otherwise, raise `Claimed`
        """
        paths = self._paths(signature)
        if not paths or self.has(signature):
            yield
            return
        path = paths[0].with_suffix(".lock")
        lock = _lock(path, waits)
        try:
            yield
        finally:
            if lock is not None:
                path.unlink(missing_ok=True)
                os.close(lock)

    def _key(self, signature: Any) -> tuple[Any, ...]:
        """Return what determines machine code besides the sources: types, fields, the processor, the function."""
        code = self._function.__code__
        cells = tuple(cell.cell_contents for cell in self._function.__closure__ or ())
        function = code.co_firstlineno, _digest(code.co_code), _digest(dumps(cells))
        processor = cpu_target.target_context.codegen().magic_tuple()
        return signature, fields_of(signature), processor, sys.version_info[:2], function

    def _paths(self, signature: Any) -> list[Path]:
        """Return the file of a signature, and the one in a cache that can only be read; none if it is not kept."""
        if self._folder is None or has_user_types(signature):
            return []
        name = self._function.__qualname__.replace("<locals>.", "").strip("<>")
        path = self._folder / f"{name}.{_digest(repr(self._key(signature)).encode())[:16]}.nbc"
        return [path, *filter(None, [read_only(path)])]

    def _reduce(self, result: Any) -> tuple[Any, ...]:
        """Return what Python needs to call a function, and no more.

        numba also keeps the code that callers link, which they have inlined, and imports the modules of all functions
        that were called, scipy among them.
        """
        (name, kind, (code, _)), *rest, environments = result._reduce()
        library = name, kind, (code, _names_only(result.library._get_module_for_linking()))
        return library, *rest, [(e.env_name, e.globals["__name__"], e.consts) for e in environments]

    def _rebuild(self, target_context: Any, data: tuple[Any, ...]) -> Any:
        *rest, environments = data
        return CompileResult._rebuild(target_context, *rest, tuple(_environment(*e) for e in environments))


class InlinedCache(KernelCache):
    """The cache of a function that is inlined into others (`inlined.py`)."""

    subfolder = "inlined"

    @staticmethod
    def can_hold(function: Any) -> bool:
        """Return whether it can be cached: not a user's function, whose folder says nothing of what it calls."""
        return _module_of(function.__code__.co_filename) is not None

    def _reduce(self, result: Any) -> tuple[Any, ...]:
        return reduce_inlined(result)

    def _rebuild(self, target_context: Any, data: tuple[Any, ...]) -> Any:
        return rebuild_inlined(target_context, data)


def _lock(path: Path, waits: bool) -> int | None:
    """Lock a file until it is closed or the process ends. None where that is impossible: work may be done twice."""
    if sys.platform == "win32":
        return None
    try:
        lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except BaseException as error:
        os.close(lock)
        if isinstance(error, BlockingIOError):
            raise Claimed(path.name) from None
        if isinstance(error, OSError):  # a file system without locks
            return None
        raise  # Ctrl-C
    return lock


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


@cache
def _register_runtime() -> None:
    """Name the functions of numba's runtime that machine code calls; numba does it when it begins to compile."""
    for name, address in _nrt_python.c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


@cache
def _say_what_is_lost(reason: str | None) -> None:
    text = f"rlgo: {CACHE_DIR}: machine code cannot be saved and will be compiled again next time: {reason}"
    print(text, file=sys.stderr, flush=True)
