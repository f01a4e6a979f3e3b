"""Compile kernels in a second process, because numba's compiler runs in one thread of a process.

Start reading at `compile_elsewhere`. The second process puts its machine code into the cache on disk, where this one
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
from queue import Empty, SimpleQueue
from typing import IO, Any

from rlgo.compiler.sources import ROOT

_PATIENCE = 20.0  # seconds without work after which the process ends

_process: subprocess.Popen[bytes] | None = None


def compile_elsewhere(kernels: Sequence[tuple[Any, Any, bool]]) -> bool:
    """Have kernels compiled by a second process, in this order, while this one goes on.

    It leaves out those that another process is compiling already. `RLGO_COMPILE_AHEAD=0` switches it off, and so does
    a single core. Returns whether there is such a process.

    kernels : Python functions that are kernels of the same name in their modules, their signatures, and whether to
        compile them as parts of other kernels
    """
    if os.environ.get("RLGO_COMPILE_AHEAD") == "0" or _cores() < 2:
        return False
    work = [pickle.dumps((function.__module__, function.__name__, *how)) for function, *how in kernels]
    try:
        pipe = _running()
        pipe.write(b"".join(pickle.dumps(item) for item in work))  # read even before numba is imported
        pipe.flush()
    except OSError:
        return False
    return True


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def _read(work: SimpleQueue[bytes]) -> None:
    """Read what the first process wants, until it ends."""
    with suppress(Exception):
        while True:
            work.put(pickle.load(sys.stdin.buffer))  # nosec B301
    os._exit(0)


def main() -> None:
    """Compile what the first process wants."""
    work: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(work,), daemon=True).start()
    from rlgo.compiler.machine_code import patience

    with suppress(Empty), patience(False):
        while True:
            item = work.get(timeout=_PATIENCE)
            with suppress(Exception):  # of which the first process will hear when it compiles the kernel
                module, name, signature, is_part = pickle.loads(item)  # nosec B301
                kernel = getattr(import_module(module), name)
                (kernel.part() if is_part else kernel).compile(signature)


if __name__ == "__main__":
    main()
