"""Compile kernels in two processes, because numba's compiler runs in one thread of a process.

Start reading at `compile_together`. The second process puts its machine code into the cache on disk, where this one
finds it (`machine_code.py`). It says nothing, and ends with this process, however that ends. If it fails, this process
compiles everything itself.
"""

from __future__ import annotations

import os
import pickle  # nosec B403  # from this process to its child, through a pipe of their own
import subprocess  # nosec B404
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from itertools import count
from queue import Empty, PriorityQueue
from typing import IO, Any

import numba

from rlgo.base.machine import processors
from rlgo.compiler.machine_code import Claimed
from rlgo.compiler.progress import announce
from rlgo.compiler.sources import ROOT, has_user_types

_PATIENCE = 20.0  # seconds without work after which the process ends

_process: subprocess.Popen[bytes] | None = None


def compile_together(
    *calls: tuple[Any, ...], inlined: Sequence[tuple[Any, ...]] = (), later: Sequence[tuple[Any, ...]] = ()
) -> None:
    """Compile kernels, half of them in a second process if there is a core for it.

    This process begins with the first, the other one with the last, until they meet. `RLGO_COMPILE_AHEAD=0` switches
    the second process off.

    calls : each a kernel and its arguments, as it will be called
    inlined : the same for functions inlined into the first kernel, which the second process compiles before all others.
        They save time if they are large, and the last ones that the first process comes to
    later : the same for kernels that are needed only later: the second process compiles them last, and nobody waits
    """
    if numba.config.DISABLE_JIT:
        return
    missing, missing_later = _missing(calls), _missing(later)
    if missing:
        announce()
    if missing or missing_later:
        work = [(kernel, _signature(arguments), True) for kernel, *arguments in inlined if missing]
        work += [(kernel, types, False) for kernel, types in reversed(missing) if not has_user_types(types)]
        if not _compile_elsewhere(work, [(kernel, types, False) for kernel, types in missing_later]):
            missing += missing_later
    for waits in (False, True):
        for kernel, signature in missing:
            with suppress(Claimed):
                kernel.compile(signature, waits)


def _missing(calls: Sequence[tuple[Any, ...]]) -> list[tuple[Any, tuple[Any, ...]]]:
    """Return the kernels, with signatures, that the cache does not have."""
    wanted = [(kernel, _signature(arguments)) for kernel, *arguments in calls]
    return [(kernel, types) for kernel, types in wanted if not kernel._cache.has(types)]


def _signature(arguments: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(numba.typeof(argument) for argument in arguments)


def _compile_elsewhere(kernels: Sequence[tuple[Any, Any, bool]], later: Sequence[tuple[Any, Any, bool]]) -> bool:
    """Have kernels compiled by a second process, in this order; return whether there is one.

    kernels : kernels of the same name in their modules, their signatures, and whether to inline them
    later : the same for kernels that wait until it has no others to compile
    """
    if os.environ.get("RLGO_COMPILE_AHEAD") == "0" or processors() == 1:
        return False
    work = b"".join(
        pickle.dumps((is_later, pickle.dumps((kernel.py_func.__module__, kernel.py_func.__name__, *how))))
        for is_later, some in enumerate((kernels, later))
        for kernel, *how in some
    )
    try:
        pipe = _running()
        pipe.write(work)
        pipe.flush()
    except OSError:
        return False
    return True


def _running() -> IO[bytes]:
    """Return the standard input of the process, which is started if there is none."""
    global _process
    if _process is None or _process.poll() is not None:
        if _process is not None and _process.stdin is not None:
            with suppress(OSError):  # it has ended before it read everything
                _process.stdin.close()
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        _process = subprocess.Popen(  # nosec B603
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": path, "RLGO_COMPILE_AHEAD": "0"},
            start_new_session=True,  # Ctrl-C is for the first process; the pipe ends with it
        )
    assert _process.stdin is not None
    return _process.stdin


def _read(work: PriorityQueue[tuple[int, int, bytes]]) -> None:
    """Read what the first process wants, until it ends."""
    with suppress(Exception):
        for n in count():
            is_later, item = pickle.load(sys.stdin.buffer)  # nosec B301
            work.put((is_later, n, item))
    os._exit(0)


def _main() -> None:
    """Compile what the first process wants."""
    work: PriorityQueue[tuple[int, int, bytes]] = PriorityQueue()
    threading.Thread(target=_read, args=(work,), daemon=True).start()
    numba.core.registry.cpu_target.target_context.refresh()  # otherwise, it would be part of the first kernel
    with suppress(Empty):
        while True:
            *_, item = work.get(timeout=_PATIENCE)
            with suppress(Exception):  # of which the first process will hear when it compiles the kernel
                module, name, signature, is_inlined = pickle.loads(item)  # nosec B301
                kernel = getattr(import_module(module), name)
                if is_inlined:
                    kernel.inlined().compile(signature)
                else:
                    kernel.compile(signature, waits=False)


if __name__ == "__main__":
    _main()
