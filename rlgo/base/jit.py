"""Everything specific to numba: the decorators, the cache of machine code, and random numbers for kernels.

Nothing here knows about Go; to learn the engine, start with `board.py`.

How kernels are written
-----------------------
* *The cache.* numba's own cache checks only the file that defines a function. If a callee or a constant changes in
  another file, it silently keeps stale machine code. Here the machine code of a module is kept in a folder named after
  a digest of all sources that it depends on (`sources.py`). A change starts an empty folder for the affected
  modules, and all copies of the same sources share one.
* *Arguments* are passed in NamedTuples of arrays, records and numbers, nested as needed. They cost nothing: numba
  passes their fields one by one, and reference counting is off (see `njit`). No kernel takes more than eight arguments.
* *Indices* are wrapped in ``np.uint64(...)`` in hot code. A signed index may be negative, counting from the end, so
  numba tests for that at every access; an unsigned one needs no test, and loops can be vectorised.
  Mixing signed and unsigned integers gives a float in numba, so arithmetic is done in int64 and only the finished
  index is wrapped.
* *Constants* that select an algorithm are plain integers. numba treats an `enum` member as another type, and would
  compile every kernel that takes one again.
"""

from __future__ import annotations

import atexit
import getpass
import os
import shutil
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core import cgutils, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.types.misc import unliteral
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

from rlgo.base.errors import RlgoError, shown
from rlgo.base.parts import PartCompiler, rebuild_part, reduce_part
from rlgo.base.sources import PACKAGES, ROOT, kernel_digest

_COMPILED_FOLDERS = tuple(ROOT / package for package in PACKAGES)
_VERSIONS_KEPT = 4  # of each folder of machine code
_PREFIX = "kernels-"
_TICK_SECONDS = 5.0  # between two dots while something is compiled
_compiled: set[str] = set()  # already announced in this process


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
numba.config.CACHE_DIR = str(CACHE_DIR / f"others-{kernel_digest()}")  # for users' kernels, which call ours
# Vectorise sums over short constant loops (off in numba by default): 18 ns against 83 ns for
# `incremental._renew_strip`.
numba.config.SLP_VECTORIZE = 1


def njit(function: Any = None, allocates: bool = False, **options: Any) -> Any:
    """Compile a function with the options that all kernels share. Use as `@njit` or `@njit(fastmath=...)`.

    Machine code is cached on disk, runs without the interpreter lock, and uses numpy's error model, which does not
    test for zero divisors. References to arrays are not counted: numba would do an atomic operation each time an array
    is taken out of a tuple, and callers of compiled code keep their arrays alive anyway (100,000 simulations/s of UCT
    against 71,000).

    Parameters
    ----------
    function : the function to compile
    allocates : the function creates arrays, or copies one onto another, and so needs reference counting
    options : further options of `numba.njit`
    """
    # Nothing here is called from C: omitting the C wrappers makes compiling 4 % faster.
    options = {"nogil": True, "error_model": "numpy", "_nrt": allocates, "no_cfunc_wrapper": True} | options

    def decorate(f: Any) -> Any:
        dispatcher = numba.njit(**options)(f)
        if numba.config.DISABLE_JIT:
            return dispatcher  # a plain function
        dispatcher._cache = _KernelCache(f)
        return _as_parts(dispatcher, options)

    return decorate if function is None else decorate(function)


def _as_parts(dispatcher: Any, options: dict[str, Any]) -> Any:
    """Make compiled callers use the function as a part of their own (`parts.py`); Python calls it as a whole.

    Constants such as 0 or 1 are also passed as plain `int64`. Otherwise numba would give each constant a type of its
    own and compile the function and its callees once for each, and also for provisional types of its type inference:
    230 compilations for the default player's first move instead of 184. LLVM still specialises what it inlines.
    """

    @cache
    def part() -> Any:
        compiled = numba.njit(**options, no_cpython_wrapper=True, pipeline_class=PartCompiler)(dispatcher.py_func)
        compiled._compiling_counter = dispatcher._compiling_counter  # by which numba detects recursion
        if _CopiesShare.is_ours(dispatcher.py_func):
            compiled._cache = _PartCache(dispatcher.py_func)
        return compiled

    def get_call_template(args: Any, kws: Any) -> Any:
        return part().get_call_template([unliteral(a) for a in args], {k: unliteral(a) for k, a in kws.items()})

    dispatcher.get_call_template = get_call_template
    dispatcher.get_overload = lambda signature: part().get_overload(signature)
    return dispatcher


class _CopiesShare(_CacheLocator):
    """Locate the machine code of our sources: one place for all copies of them, installed or not.

    numba's own locators name the folder after the path of the source, so each copy would compile everything again.
    They also test whether it is writable, once per kernel at each start.
    """

    subfolder = ""

    @staticmethod
    def is_ours(function: Any) -> bool:
        """Return whether the name of the cache folder identifies the function's source."""
        file = Path(function.__code__.co_filename).resolve()
        return any(folder in file.parents for folder in _COMPILED_FOLDERS)

    @classmethod
    def from_function(cls, function: Any, file: str) -> _CopiesShare | None:
        """Return the locator for one of our functions, None for others."""
        return cls(function, file) if cls.is_ours(function) else None

    def __init__(self, function: Any, file: str) -> None:
        self._py_file = file  # numba uses it in warnings about functions that cannot be cached
        module = ".".join(Path(file).resolve().relative_to(ROOT).with_suffix("").parts)
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
    """numba's cache of compiled functions, with our own location for ours; tests' and users' stay in numba's."""

    _locator_classes = [_CopiesShare, *CompileResultCacheImpl._locator_classes]  # noqa: RUF012  # as in numba


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


class _KernelCache(FunctionCache):
    """numba's cache of one function, which also reads a cache that cannot be written.

    If saving fails, as on a full disk, the program goes on.
    """

    _impl_class = _KernelPlaces

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        locator = self._impl.locator
        shared = getattr(locator, "read_only", None)
        self._shared = shared and IndexDataCacheFile(
            cache_path=str(shared), filename_base=self._impl.filename_base, source_stamp=locator.get_source_stamp()
        )

    def _load_overload(self, signature: Any, target_context: Any) -> Any:
        found = super()._load_overload(signature, target_context)
        if found is not None or self._shared is None or not self._enabled:
            return found
        with suppress(OSError):
            data = self._shared.load(self._index_key(signature, target_context.codegen()))
            return None if data is None else self._impl.rebuild(target_context, data)
        return None

    def save_overload(self, signature: Any, code: Any) -> None:
        try:
            super().save_overload(signature, code)
        except OSError as error:
            _say_what_is_lost(error.strerror)


class _PartCache(_KernelCache):
    _impl_class = _PartPlaces


@cache
def _say_what_is_lost(reason: str | None) -> None:
    text = f"rlgo: {CACHE_DIR}: machine code cannot be saved and will be compiled again next time: {reason}"
    print(text, file=sys.stderr, flush=True)


def inline(function: Any) -> Any:
    """Compile a small function used in hot loops, and always inline it into its callers."""
    return njit(function, forceinline=True)


def inline_once(function: Any) -> Any:
    """Compile a part of a larger kernel, with one caller in each, as part of that caller.

    numba copies the body into the caller before it compiles it; with `inline`, LLVM would optimise each part twice. For
    the parts of `mcts.search.simulate` this saves 18 of 48 seconds of compiling. It also saves a call that
    would pass tuples by value: a tree, a context and a workspace are hundreds of numbers.
    """
    return njit(function, inline="always")


def callback(signature: str, function: Any) -> Any:
    """Compile a function that kernels call through a pointer, so that they need not be compiled again for each.

    signature : in numba's notation, ``float64(float64, float32[::1])``
    """
    return numba.cfunc(signature, error_model="numpy")(function)


@contextmanager
def compiling(what: str) -> Iterator[None]:
    """Report on stderr that something is being compiled, unless this version of it was compiled before.

    Parameters
    ----------
    what : name shown to users, for instance ``"self-play, 9x9"``
    """
    marker = _folder_for("done", kernel_digest()) / "".join(c if c.isalnum() else "-" for c in what)
    shared = _read_only(marker)
    if what in _compiled or marker.exists() or (shared and shared.exists()) or numba.config.DISABLE_JIT:
        _compiled.add(what)  # the marker may vanish: newer sources delete older folders
        yield
        return
    print(f"compiling {what} (first use only) ...", end=" ", file=sys.stderr, flush=True)
    start, is_over = time.perf_counter(), threading.Event()

    def tick() -> None:
        while not is_over.wait(_TICK_SECONDS):
            print(".", end="", file=sys.stderr, flush=True)

    threading.Thread(target=tick, daemon=True).start()
    try:
        yield
    except BaseException:
        print(file=sys.stderr)
        raise
    finally:
        is_over.set()
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    _compiled.add(what)
    with suppress(OSError):
        marker.parent.mkdir(exist_ok=True)  # newer sources may have deleted it
        marker.touch()


# ---------------------------------------------------------------------------------------------
# Random numbers: SplitMix64 (Steele, Lea & Flood 2014). The state is an array of one uint64, which is passed to every
# function that draws from it.
# ---------------------------------------------------------------------------------------------


def seed_sequence(seed: Any) -> np.random.SeedSequence:
    """Return the `SeedSequence` of a seed; None gives a different one each time.

    A sequence is copied in its original state, before it spawned anything, so other uses of it do not matter.

    All random numbers descend from these. Several generators of one kind get a child each. The generators of compiled
    code and of numpy are unrelated and may start from the same sequence.
    `RlgoError` for anything but a SeedSequence, an integer of at least 0, or None.
    """
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0):
        raise RlgoError(f"seed = {shown(seed)}: expected an integer of at least 0, or None")
    return np.random.SeedSequence(None if seed is None else int(seed))


def make_rng(seed: int | np.random.SeedSequence | None) -> np.ndarray:
    """Make the random state that compiled code draws from: uint64[1]."""
    return seed_sequence(seed).generate_state(1, np.uint64)


@inline
def random_u64(rng):
    """Draw 64 random bits; `rng` is uint64[1]."""
    rng[0] += np.uint64(0x9E3779B97F4A7C15)
    z = rng[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inline
def random_below(rng, n):
    """Draw a uniform integer in [0, n), for 0 < n < 2^31; the bias is below n / 2^32."""
    return np.int64(((random_u64(rng) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@inline
def random_unit(rng):
    """Draw a uniform float in [0, 1) with 53 random bits."""
    return np.float64(random_u64(rng) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


# ---------------------------------------------------------------------------------------------
# Copying records. LLVM sees `array[i] = array[j]` as a copy byte by byte, which takes seconds to compile for records
# of some kilobytes. This is one memcpy.
# ---------------------------------------------------------------------------------------------


def copy_record(source, target):
    """Copy one record onto another of the same type."""
    for name in source.dtype.names:
        target[name] = source[name]


@intrinsic
def _copy_record(typing_context, source, target):  # noqa: ARG001  # numba's signature
    if source != target or not isinstance(source, types.Record):
        return None

    def codegen(context, builder, signature, arguments):  # noqa: ARG001  # numba's signature
        to, origin = (builder.bitcast(a, cgutils.voidptr_t) for a in (arguments[1], arguments[0]))
        cgutils.raw_memcpy(builder, to, origin, context.get_constant(types.intp, source.size), 1)
        return context.get_dummy_value()

    return types.void(source, target), codegen


@overload(copy_record)
def _overload_copy_record(source, target):  # noqa: ARG001  # numba matches names
    return lambda source, target: _copy_record(source, target)


# ---------------------------------------------------------------------------------------------
# Compile-time queries
# ---------------------------------------------------------------------------------------------


def has_field(record, name):
    """Return whether records of this type have a field of this name; a compile-time constant, so it is free."""
    return name in record.dtype.names


def by_type(function: Any) -> Any:
    """Decorate a function that chooses an implementation by the numba types of its arguments."""
    # Otherwise the implementation and its callees inherit "forceinline" from an inlined caller: minutes of compiling.
    return overload(function, jit_options={"error_model": "numpy", "_nrt": False, "forceinline": False})


@overload(has_field, prefer_literal=True)
def _overload_has_field(record, name):
    known = name.literal_value in record.fields
    return lambda record, name: known  # noqa: ARG005  # numba matches names


# ---------------------------------------------------------------------------------------------
# Atomic additions and exchanges on elements of integer arrays, which numba lacks for CPUs. A thread that sees their
# result also sees everything written before them. The interpreted forms are for a single thread.
# ---------------------------------------------------------------------------------------------


def atomic_add(array, i, value):
    """Add `value` to array[i] atomically, and return the old value."""
    before = array[i]
    array[i] = before + value
    return before


def compare_and_swap(array, i, expected, value):
    """Replace array[i] by `value` if it equals `expected`, atomically; return whether it did."""
    if array[i] != expected:
        return False
    array[i] = value
    return True


def _pointer(context, builder, array_type, array, i):
    struct = make_array(array_type)(context, builder, value=array)
    return cgutils.get_item_pointer(context, builder, array_type, struct, [i], wraparound=False)


@intrinsic
def _atomic_add(typing_context, array, i, value):  # noqa: ARG001  # numba's signature
    def codegen(context, builder, signature, arguments):
        element = signature.args[0].dtype
        pointer = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        added = context.cast(builder, arguments[2], signature.args[2], element)
        return builder.atomic_rmw("add", pointer, added, "acq_rel")

    return array.dtype(array, types.intp, value), codegen


@intrinsic
def _compare_and_swap(typing_context, array, i, expected, value):  # noqa: ARG001  # numba's signature
    def codegen(context, builder, signature, arguments):
        element = signature.args[0].dtype
        pointer = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        old, new = (context.cast(builder, arguments[k], signature.args[k], element) for k in (2, 3))
        return builder.extract_value(builder.cmpxchg(pointer, old, new, "acq_rel", "monotonic"), 1)

    return types.boolean(array, types.intp, expected, value), codegen


@overload(atomic_add)
def _overload_atomic_add(array, i, value):  # noqa: ARG001  # numba matches names
    return lambda array, i, value: _atomic_add(array, i, value)


@overload(compare_and_swap)
def _overload_compare_and_swap(array, i, expected, value):  # noqa: ARG001  # numba matches names
    return lambda array, i, expected, value: _compare_and_swap(array, i, expected, value)
