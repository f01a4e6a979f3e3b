"""The one njit decorator, the on-disk cache of machine code, and the random numbers of compiled code.

Start reading elsewhere: nothing here knows about Go.

numba's own cache looks only at the file of the function that it caches. A callee or a constant that
changes in *another* file leaves stale machine code behind, without a word. So the cache folder is named
by a digest of all sources that hold compiled code: any change starts with an empty folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

_ROOT = Path(__file__).resolve().parent.parent
_COMPILED_PACKAGES = ("rlgo", "mcts")
_CACHES_KEPT = 4


def sources_digest() -> str:
    """A digest of all sources that hold compiled code, and of numba's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for package in _COMPILED_PACKAGES:
        for path in sorted((_ROOT / package).glob("*.py")):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_dir() -> Path:
    """The folder for this version of the sources; older versions beyond a few are swept out."""
    base = os.environ.get("RLGO_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "rlgo"
    )
    folder = Path(base) / sources_digest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        others = sorted(Path(base).iterdir(), key=lambda p: p.stat().st_mtime, reverse=True)
        for old in others[_CACHES_KEPT:]:
            shutil.rmtree(old, ignore_errors=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink(missing_ok=True)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="rlgo-cache-"))
    return folder


CACHE_DIR = _cache_dir()
numba.config.CACHE_DIR = str(CACHE_DIR)
# Sums over short constant loops become vectors (off in numba by default): 18 ns against 83 ns for `value._renew_strip`.
numba.config.SLP_VECTORIZE = 1


def njit(function: Any = None, allocates: bool = False, **options: Any) -> Any:
    """`numba.njit` as every kernel of the house wants it. Use as `@njit` or `@njit(fastmath=...)`.

    Cached on disk, free of the interpreter lock, with numpy's error model (no test for a zero divisor in hot loops),
    and without counting references to arrays, which numba does by atomic operations wherever an array comes out of a
    tuple: whoever calls compiled code holds its arrays anyway (100,000 simulations/s of UCT against 71,000).

    allocates : for functions that make arrays, or copy one onto another, which need the counting
    """
    options = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": allocates, **options}
    decorate = numba.njit(**options)
    return decorate if function is None else decorate(function)


def inline(function: Any) -> Any:
    """`njit` for the small functions of hot loops: the machine code is always inlined into the caller."""
    return njit(function, forceinline=True)


@contextmanager
def compiling(what: str) -> Iterator[None]:
    """Say on stderr that `what` is about to be compiled, if this version of the sources never was.

    Parameters
    ----------
    what : what is compiled, for a reader, for instance ``"self-play, 9x9"``.
    """
    marker = CACHE_DIR / ("done-" + "".join(c if c.isalnum() else "-" for c in what))
    if marker.exists() or numba.config.DISABLE_JIT:
        yield
        return
    print(f"compiling {what} (first use only) ...", end=" ", file=sys.stderr, flush=True)
    start = time.perf_counter()
    try:
        yield
    except BaseException:
        print(file=sys.stderr)
        raise
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    try:
        marker.touch()
    except OSError:
        pass


# ---------------------------------------------------------------------------------------------
# Random numbers. A state is an array of one uint64, passed to whoever draws from it (SplitMix64:
# Steele, Lea & Flood 2014). The interpreted form wraps by hand: numpy scalars would warn.
# ---------------------------------------------------------------------------------------------


def seed_sequence(seed: int | np.random.SeedSequence | None) -> np.random.SeedSequence:
    """The `SeedSequence` of a seed; one that is a sequence already is returned itself, and None is different each time.

    Every random number descends from one of these: a search with several generators spawns a child for each.
    """
    return seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)


def make_rng(seed: int | np.random.SeedSequence | None) -> np.ndarray:
    """A random state for compiled code, uint64[1], from a seed or a `SeedSequence` (for workers: `spawn`)."""
    return seed_sequence(seed).generate_state(1, np.uint64)


@inline
def random_u64(rng):
    """The next 64 random bits of SplitMix64; `rng` is uint64[1]."""
    rng[0] += np.uint64(0x9E3779B97F4A7C15)
    z = rng[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inline
def random_below(rng, n):
    """A uniform integer in [0, n), 0 < n < 2^31 (multiply and shift; bias below n / 2^32)."""
    return np.int64(((random_u64(rng) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@inline
def random_unit(rng):
    """A uniform float in [0, 1), 53 bits."""
    return np.float64(random_u64(rng) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


# ---------------------------------------------------------------------------------------------
# Copying records. `array[i] = array[j]` copies a record byte by byte in the eyes of LLVM, which takes
# seconds to compile for records of some kilobytes; this is one memcpy.
# ---------------------------------------------------------------------------------------------


def copy_record(source, target):
    """Copy one record onto another of the same type; for boards, shapes and whatever else is one block."""
    for name in source.dtype.names:
        target[name] = source[name]


@intrinsic
def _copy_record(typing_context, source, target):
    if source != target or not isinstance(source, types.Record):
        return None

    def codegen(context, builder, signature, arguments):
        to, origin = (builder.bitcast(a, cgutils.voidptr_t) for a in (arguments[1], arguments[0]))
        cgutils.raw_memcpy(builder, to, origin, context.get_constant(types.intp, source.size), 1)
        return context.get_dummy_value()

    return types.void(source, target), codegen


@overload(copy_record)
def _overload_copy_record(source, target):
    return lambda source, target: _copy_record(source, target)


# ---------------------------------------------------------------------------------------------
# Questions that are answered while compiling.
# ---------------------------------------------------------------------------------------------


def has_field(record, name):
    """Whether records of this type have a field of this name: a constant, so that dead branches cost nothing."""
    return name in record.dtype.names


@overload(has_field, prefer_literal=True)
def _overload_has_field(record, name):
    known = name.literal_value in record.fields
    return lambda record, name: known


# ---------------------------------------------------------------------------------------------
# Additions and exchanges that no other thread can come between, on elements of integer arrays. What was written
# before them is seen by whoever sees their result. (numba has none for the processor.) Interpreted code is for
# one thread alone.
# ---------------------------------------------------------------------------------------------


def atomic_add(array, i, value):
    """array[i] += value; returns what stood there before."""
    before = array[i]
    array[i] = before + value
    return before


def compare_and_swap(array, i, expected, value):
    """Put `value` where `expected` stands; returns whether it stood there."""
    if array[i] != expected:
        return False
    array[i] = value
    return True


def _pointer(context, builder, array_type, array, i):
    struct = make_array(array_type)(context, builder, value=array)
    return cgutils.get_item_pointer(context, builder, array_type, struct, [i], wraparound=False)


@intrinsic
def _atomic_add(typing_context, array, i, value):
    def codegen(context, builder, signature, arguments):
        element = signature.args[0].dtype
        pointer = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        added = context.cast(builder, arguments[2], signature.args[2], element)
        return builder.atomic_rmw("add", pointer, added, "acq_rel")

    return array.dtype(array, types.intp, value), codegen


@intrinsic
def _compare_and_swap(typing_context, array, i, expected, value):
    def codegen(context, builder, signature, arguments):
        element = signature.args[0].dtype
        pointer = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        old, new = (context.cast(builder, arguments[k], signature.args[k], element) for k in (2, 3))
        return builder.extract_value(builder.cmpxchg(pointer, old, new, "acq_rel", "monotonic"), 1)

    return types.boolean(array, types.intp, expected, value), codegen


@overload(atomic_add)
def _overload_atomic_add(array, i, value):
    return lambda array, i, value: _atomic_add(array, i, value)


@overload(compare_and_swap)
def _overload_compare_and_swap(array, i, expected, value):
    return lambda array, i, expected, value: _compare_and_swap(array, i, expected, value)
