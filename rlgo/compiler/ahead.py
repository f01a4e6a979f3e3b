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
from itertools import count
from pathlib import Path
from queue import Empty, PriorityQueue
from typing import IO, Any

from rlgo.base.files import CACHE_PREFIX, cache_home
from rlgo.compiler.sources import ROOT

_PATIENCE = 20.0  # seconds without work after which the process ends

_process: subprocess.Popen[bytes] | None = None


def compile_elsewhere(kernels: Sequence[tuple[Any, Any, bool]], later: Sequence[tuple[Any, Any, bool]] = ()) -> bool:
    """Have kernels compiled by a second process, in this order, while this one goes on.

    It leaves out those that another process is compiling already. `RLGO_COMPILE_AHEAD=0` switches it off, and so does
    a single core. Returns whether there is such a process.

    kernels : Python functions that are kernels of the same name in their modules, their signatures, and whether to
        compile them as parts of other kernels
    later : the same for kernels that wait until it has no others to compile
    """
    if not _is_wanted():
        return False
    work = [
        (is_later, pickle.dumps((function.__module__, function.__name__, *how)))
        for is_later, some in enumerate((kernels, later))
        for function, *how in some
    ]
    try:
        pipe = _running()
        pipe.write(b"".join(pickle.dumps(item) for item in work))  # read even before numba is imported
        pipe.flush()
    except OSError:
        return False
    return True


def begin_early() -> None:
    """Start the second process before there is anything to do, if nothing has ever been compiled on this machine.

    It imports numba while this process reads its arguments.
    """
    home = cache_home()
    if home and not any(Path(home).glob(f"{CACHE_PREFIX}*")) and _is_wanted():
        with suppress(OSError):
            _running()


def _is_wanted() -> bool:
    is_off = os.environ.get("RLGO_COMPILE_AHEAD") == "0" or os.environ.get("RLGO_PLAIN_NUMBA") == "1"
    return not is_off and _cores() > 1


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


def _read(work: PriorityQueue[tuple[int, int, bytes]]) -> None:
    """Read what the first process wants, until it ends."""
    with suppress(Exception):
        for n in count():
            is_later, item = pickle.load(sys.stdin.buffer)  # nosec B301
            work.put((is_later, n, item))
    os._exit(0)


def main() -> None:
    """Compile what the first process wants."""
    work: PriorityQueue[tuple[int, int, bytes]] = PriorityQueue()
    threading.Thread(target=_read, args=(work,), daemon=True).start()
    from numba.core.registry import cpu_target

    from rlgo.compiler.machine_code import patience

    cpu_target.target_context.refresh()  # otherwise, it would be part of the first kernel
    with suppress(Empty), patience(False):
        while True:
            *_, item = work.get(timeout=_PATIENCE)
            with suppress(Exception):  # of which the first process will hear when it compiles the kernel
                module, name, signature, is_part = pickle.loads(item)  # nosec B301
                kernel = getattr(import_module(module), name)
                (kernel.part() if is_part else kernel).compile(signature)


if __name__ == "__main__":
    main()
