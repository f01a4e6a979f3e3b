"""Everything specific to numba: the decorators, and random numbers, atomics and copies for kernels.

Nothing here knows about Go; to learn the engine, start with `board.py`.

How kernels are written
-----------------------
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

import atexit
import gc
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from numbers import Integral
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, event, types
from numba.core.errors import NumbaError
from numba.extending import intrinsic, overload

from rlgo.base.errors import RlgoError, shown
from rlgo.base.ram import on_own_cache_lines
from rlgo.compiler.cache_folders import folder_for
from rlgo.compiler.sources import has_user_types, kernel_digest

PLAIN = os.environ.get("RLGO_PLAIN_NUMBA") == "1"  # use numba's public interface alone
if not PLAIN:
    try:
        from rlgo.compiler import shortcuts
        from rlgo.compiler.ahead import compile_elsewhere
        from rlgo.compiler.apart import Arguments
        from rlgo.compiler.apart import address_of as address_of
        from rlgo.compiler.apart import calls as calls
        from rlgo.compiler.apart import unpacked as unpacked
        from rlgo.compiler.machine_code import Claimed, KernelCache, PartCache, patience
        from rlgo.compiler.parts import PartCompiler
    except (ImportError, AttributeError) as error:
        PLAIN = True
        text = f"rlgo: numba {numba.__version__} is built differently ({error}); compiling takes longer"
        print(text, file=sys.stderr, flush=True)
    else:
        shortcuts.install()

_unliteral = types.unliteral  # type: ignore[attr-defined]  # which numba does export
_TICK_SECONDS = 5.0  # between two dots while something is compiled

numba.config.CACHE_DIR = str(folder_for("others", kernel_digest()))  # for users' kernels, which call ours
# The process is about to end: without this, Python looks for cycles among all of numba's objects first, for 0.1 s.
atexit.register(gc.freeze)
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
    options = {"nogil": True, "error_model": "numpy"} | options
    if not PLAIN:
        # Nothing here is called from C: omitting the C wrappers makes compiling 4 % faster.
        options |= {"_nrt": allocates, "no_cfunc_wrapper": True}

    def decorate(f: Any) -> Any:
        dispatcher = numba.njit(**options)(f)
        if numba.config.DISABLE_JIT:
            return dispatcher  # a plain function
        if PLAIN:
            with suppress(RuntimeError):  # for a function without a file
                dispatcher.enable_caching()  # in a folder named after a digest of all sources
            return dispatcher
        cache = dispatcher._cache = KernelCache(f, _announce)
        compile_kernel = dispatcher.compile

        def compile_claimed(signature: Any) -> Any:
            try:
                return compile_kernel(signature)
            finally:
                cache.release()

        dispatcher.compile = compile_claimed
        # numba loads packages that extend it before each first call; the compiler does so again, if it is needed.
        dispatcher._compilation_chain_init_hook = lambda: None
        return _as_parts(dispatcher, options)

    return decorate if function is None else decorate(function)


def _as_parts(dispatcher: Any, options: dict[str, Any]) -> Any:
    """Make compiled callers use the function as a part of their own (`parts.py`); Python calls it as a whole.

    Constants such as 0 or 1 are also passed as plain `int64`. Otherwise numba would give each constant a type of its
    own and compile the function and its callees once for each, and also for provisional types of its type inference:
    230 compilations for a first move of MC-RAVE with patterns instead of 184. LLVM still specialises what it inlines.
    """

    @cache
    def part() -> Any:
        compiled = numba.njit(**options, no_cpython_wrapper=True, pipeline_class=PartCompiler)(dispatcher.py_func)
        compiled._compiling_counter = dispatcher._compiling_counter  # by which numba detects recursion
        if PartCache.can_hold(dispatcher.py_func):
            compiled._cache = PartCache(dispatcher.py_func, _announce)
        return compiled

    def get_call_template(args: Any, kws: Any) -> Any:
        return part().get_call_template([_unliteral(a) for a in args], {k: _unliteral(a) for k, a in kws.items()})

    dispatcher.part = part
    dispatcher.get_call_template = get_call_template
    dispatcher.get_overload = lambda signature: part().get_overload(signature)
    return dispatcher


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


def interpreted(kernel: Any) -> Any:
    """Return a kernel that calls no other as Python code, for calls so rare that loading it would take longer."""
    return getattr(kernel, "py_func", kernel)


def apart(function: Any) -> Any:
    """Compile a kernel that others call through its address; see `apart.py`."""
    if not PLAIN:
        return njit(function, no_cpython_wrapper=True)
    kernel = njit(function)
    if not numba.config.DISABLE_JIT:
        kernel.is_apart = True
    return kernel


if PLAIN:

    def address_of(kernel: Any, *arguments: Any) -> int:  # noqa: ARG001
        """Return 0: kernels call each other directly."""
        return 0

    def calls(kernel: Any) -> Any:
        """Return what calls a kernel of one argument, directly."""

        @inline
        def call(address, arguments):  # noqa: ARG001
            kernel(arguments)

        return call

    @inline_once
    def unpacked(arguments):
        """Return the argument of a kernel that is called apart."""
        return arguments


def by_type(function: Any, **options: Any) -> Any:
    """Decorate a function that chooses an implementation by the numba types of its arguments.

    options : of `numba.extending.overload`
    """
    # Otherwise the implementation and its callees inherit "forceinline" from an inlined caller: minutes of compiling.
    compiled: dict[str, Any] = {"error_model": "numpy", "forceinline": False}
    if not PLAIN:
        compiled |= {"_nrt": False, "pipeline_class": PartCompiler}
        compiled |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return overload(function, jit_options=compiled, **options)


def callback(signature: str, function: Any) -> Any:
    """Compile a function that kernels call through a pointer, so that they need not be compiled again for each.

    signature : in numba's notation, ``float64(float64, float32[::1])``

    Raises RlgoError if it cannot be compiled.
    """
    try:
        return numba.cfunc(signature, error_model="numpy")(function)
    except NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        why = lines[1 % len(lines)]  # the first one names a step of numba
        raise RlgoError(f"{function.__name__}: cannot be compiled: {why}") from None


def compile_together(
    *calls: tuple[Any, ...],
    parts: Sequence[tuple[Any, ...]] = (),
    later: Sequence[tuple[Any, ...]] = (),
    waits: bool = True,
) -> None:
    """Compile kernels, half of them in a second process if there is a core for it.

    This process begins with the first, the other one with the last, until they meet.

    calls : each a kernel and its arguments, as it will be called
    parts : the same for parts of the first kernel (`parts.py`) that the second process compiles before all others. They
        save time if they are large, and the last ones that the first process comes to
    later : calls of kernels that are needed only later; the second process compiles them last, if there is one
    waits : whether all must be ready at the end; otherwise, the second process compiles them all if there is one
    """
    if numba.config.DISABLE_JIT:
        return
    if PLAIN:
        for kernel, *arguments in (*calls, *later):
            if not hasattr(kernel, "is_apart"):  # else it is a part of others, without a call through an address
                kernel.compile(_signature(kernel, *arguments))
        return
    missing, missing_later = _missing(calls), _missing(later)
    if missing:
        _announce()
    if missing or missing_later:
        work = [(kernel.py_func, _signature(kernel, *arguments), True) for kernel, *arguments in parts if missing]
        work += [(kernel.py_func, types, False) for kernel, types in reversed(missing) if not has_user_types(types)]
        if not compile_elsewhere(work, [(kernel.py_func, types, False) for kernel, types in missing_later]):
            missing += missing_later
        elif not waits:
            return
    for is_last in (False, True):
        for kernel, signature in missing:
            with suppress(Claimed), patience(is_last):
                kernel.compile(signature)


def _missing(calls: Sequence[tuple[Any, ...]]) -> list[tuple[Any, tuple[Any, ...]]]:
    """Return the kernels, with signatures, that the cache does not have."""
    target = numba.core.registry.cpu_target.target_context
    wanted = [(kernel, _signature(kernel, *arguments)) for kernel, *arguments in calls]
    return [(kernel, types) for kernel, types in wanted if not kernel._cache.has(types, target)]


def _signature(kernel: Any, *arguments: Any) -> tuple[Any, ...]:
    if kernel.targetoptions.get("no_cpython_wrapper"):
        return (Arguments(numba.typeof(arguments)),)
    return tuple(numba.typeof(argument) for argument in arguments)


class _Work:
    """Work that may have to compile first."""

    def __init__(self, what: str):
        self.what = what
        self.start = 0.0  # of compiling; 0 before it
        self.end = ""  # what the line with the seconds begins with
        self._is_over = threading.Event()
        self._ticker: threading.Thread | None = None

    def announce(self) -> None:
        """Say on stderr that something is compiled, and then show that it goes on."""
        self.start = time.perf_counter()
        in_front = threading.current_thread() is threading.main_thread()  # otherwise others may write meanwhile
        print(f"compiling {self.what} (first use only) ...", end=" " if in_front else "\n", file=sys.stderr, flush=True)
        if in_front:
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()
        else:
            self.end = f"compiling {self.what}: "

    def _tick(self) -> None:
        while not self._is_over.wait(_TICK_SECONDS):
            print(".", end="", file=sys.stderr, flush=True)

    def stop_ticking(self) -> None:
        """Wait for the last dot, so that none comes after what is printed next."""
        self._is_over.set()
        if self._ticker is not None:
            self._ticker.join()


_work: list[_Work] = []  # the innermost last


def _announce() -> None:
    """Say what has to be compiled now. Outside of any work, compiling is a matter of moments."""
    if _work and not any(work.start for work in _work):
        _work[-1].announce()


if PLAIN:

    class _Listener(event.Listener):
        def on_start(self, event: Any) -> None:  # noqa: ARG002  # numba's signature
            _announce()

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", _Listener())


@contextmanager
def compiling(what: str) -> Iterator[None]:
    """Report on stderr if something has to be compiled, because the cache has no machine code for this machine.

    Parameters
    ----------
    what : name shown to users, for instance ``"self-play, 9x9"``
    """
    work = _Work(what)
    _work.append(work)
    try:
        yield
    except BaseException:
        work.stop_ticking()
        if work.start and not work.end:
            print(file=sys.stderr)
        raise
    else:
        work.stop_ticking()
        if work.start:
            print(f"{work.end}{time.perf_counter() - work.start:.0f} s", file=sys.stderr, flush=True)
    finally:
        _work.remove(work)


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
