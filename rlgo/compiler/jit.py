"""What kernels are written with: the decorators, random numbers, copies and atomics. Everything specific to numba.

Nothing here knows about Go; to learn the engine, start with `board.py`.

How kernels are written
-----------------------
* *The decorators* are in `decorators.py`; `compiling` and `compile_together` say what is compiled, and do it.
* *The cache* of machine code depends on the sources of all that a kernel calls: `machine_code.py`.
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

from numbers import Integral
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from rlgo.base.errors import RlgoError, shown
from rlgo.base.ram import on_own_cache_lines
from rlgo.compiler.decorators import by_type as by_type
from rlgo.compiler.decorators import callback as callback
from rlgo.compiler.decorators import inline as inline
from rlgo.compiler.decorators import inline_once as inline_once
from rlgo.compiler.decorators import interpreted as interpreted
from rlgo.compiler.decorators import njit as njit
from rlgo.compiler.parallel import compile_together as compile_together
from rlgo.compiler.progress import compiling as compiling

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
    state = on_own_cache_lines(np.uint64)
    state[:] = seed_sequence(seed).generate_state(1, np.uint64)
    return state


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


@by_type(copy_record)
def _overload_copy_record(source, target):  # noqa: ARG001  # numba matches names
    return lambda source, target: _copy_record(source, target)


# ---------------------------------------------------------------------------------------------
# Compile-time queries
# ---------------------------------------------------------------------------------------------


def has_field(record, name):
    """Return whether records of this type have a field of this name; a compile-time constant, so it is free."""
    return name in record.dtype.names


@by_type(has_field, prefer_literal=True)
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
    struct = context.make_array(array_type)(context, builder, value=array)
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


@by_type(atomic_add)
def _overload_atomic_add(array, i, value):  # noqa: ARG001  # numba matches names
    return lambda array, i, value: _atomic_add(array, i, value)


@by_type(compare_and_swap)
def _overload_compare_and_swap(array, i, expected, value):  # noqa: ARG001  # numba matches names
    return lambda array, i, expected, value: _compare_and_swap(array, i, expected, value)
