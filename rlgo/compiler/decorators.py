"""The decorators of kernels: numba's options for all of them, the cache, and functions inlined into their callers."""

from __future__ import annotations

import atexit
import gc
import re
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from numba.extending import overload

from rlgo.base.errors import RlgoError
from rlgo.compiler import numba_patches
from rlgo.compiler.cache_folders import folder_for
from rlgo.compiler.inlined import InlinedCompiler
from rlgo.compiler.machine_code import InlinedCache, KernelCache
from rlgo.compiler.sources import kernel_digest

numba_patches.install()
numba.config.CACHE_DIR = str(folder_for("others", kernel_digest()))  # for kernels of numba's own, which call ours
# The process is about to end: without this, Python looks for cycles among all of numba's objects first, for 0.1 s.
atexit.register(gc.freeze)
# LLVM may not work in another thread while the process ends: wait for the kernel that is being compiled.
atexit.register(global_compiler_lock.acquire)
# Vectorise sums over short constant loops (off in numba by default): 18 ns against 83 ns for
# `incremental._renew_strip`.
numba.config.SLP_VECTORIZE = 1

_unliteral = types.unliteral  # type: ignore[attr-defined]  # which numba does export


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
        cache, compile_kernel = KernelCache(f), dispatcher.compile

        def compile_claimed(signature: Any, waits: bool = True) -> Any:
            """Compile a signature. waits : for another process that does; otherwise, `Claimed` is raised."""
            with cache.claim(signature, waits):
                return compile_kernel(signature)

        dispatcher._cache, dispatcher.compile = cache, compile_claimed
        # numba loads packages that extend it before each first call; the compiler does so again, if it is needed.
        dispatcher._compilation_chain_init_hook = lambda: None
        return _inlined_by_kernels(dispatcher, options)

    return decorate if function is None else decorate(function)


def _inlined_by_kernels(dispatcher: Any, options: dict[str, Any]) -> Any:
    """Make compiled callers inline the function (`inlined.py`); Python calls it as a kernel.

    Constants such as 0 or 1 are also passed as plain `int64`. Otherwise numba would give each constant a type of its
    own and compile the function and its callees once for each, and also for provisional types of its type inference:
    230 compilations for a first move of MC-RAVE with patterns instead of 184. LLVM still specialises what it inlines.
    """

    @cache
    def inlined() -> Any:
        compiled = numba.njit(**options, no_cpython_wrapper=True, pipeline_class=InlinedCompiler)(dispatcher.py_func)
        compiled._compiling_counter = dispatcher._compiling_counter  # by which numba detects recursion
        if InlinedCache.can_hold(dispatcher.py_func):
            compiled._cache = InlinedCache(dispatcher.py_func)
        return compiled

    def get_call_template(args: Any, kws: Any) -> Any:
        return inlined().get_call_template([_unliteral(a) for a in args], {k: _unliteral(a) for k, a in kws.items()})

    dispatcher.inlined = inlined
    dispatcher.get_call_template = get_call_template
    dispatcher.get_overload = lambda signature: inlined().get_overload(signature)
    return dispatcher


def inline(function: Any) -> Any:
    """Compile a small function used in hot loops, and always inline it into its callers."""
    return njit(function, forceinline=True)


def inline_once(function: Any) -> Any:
    """Compile a part of a larger kernel, with one caller in each, as part of that caller.

    numba copies the body into the caller before it compiles it. With `inline`, the kernels of a tree search are some
    percent slower: a tree, a context and a workspace are hundreds of numbers, which are passed by value.
    """
    return njit(function, inline="always")


def interpreted(kernel: Any) -> Any:
    """Return a kernel that calls no other as Python code, for calls so rare that loading it would take longer."""
    return getattr(kernel, "py_func", kernel)


def by_type(function: Any, **options: Any) -> Any:
    """Decorate a function that chooses an implementation by the numba types of its arguments.

    options : of `numba.extending.overload`
    """
    # Otherwise the implementation and its callees inherit "forceinline" from an inlined caller: minutes of compiling.
    compiled = {"error_model": "numpy", "forceinline": False, "_nrt": False, "pipeline_class": InlinedCompiler}
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
        place = re.findall(r'File "(.*?)", line (\d+)', str(error))
        where = f" ({Path(place[-1][0]).name}, line {place[-1][1]})" if place else ""
        raise RlgoError(f"{function.__name__}: cannot be compiled: {why}{where}") from None
