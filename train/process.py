"""How a process starts, is interrupted, and ends: standard streams, Ctrl-C and SIGTERM, exit statuses.

Start reading at `exit_status` for commands, and at `StopRequest` for work that ends in an orderly way.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from rlgo.base.errors import RlgoError

if TYPE_CHECKING:
    from rlgo.play.player import Player

_AGAIN_SECONDS = 0.05  # before a lost KeyboardInterrupt is repeated

# ---------------------------------------------------------------------------------------------
# Ctrl-C and SIGTERM
# ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def signals_to(handler: Callable[[int], None], *numbers: int) -> Iterator[None]:
    """Send the signals `numbers` to `handler(number)` inside the block.

    Does nothing outside the main thread, where Python delivers no signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, _: FrameType | None) -> None:
        handler(number)

    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


class StopRequest:
    """Request an orderly end on the first Ctrl-C or SIGTERM, and raise KeyboardInterrupt on the second.

    Shells start background jobs with Ctrl-C ignored; inside this block it works for those, too.

    Use it as a context manager, and check `signal` between steps of the work.

    Parameters
    ----------
    signals : the signals that count as requests
    on_request : called with the signal's number on the first one
    at_once : while true, the first signal raises KeyboardInterrupt, too; it can be changed at any time

    Attributes
    ----------
    signal : number of the last signal received; 0 if there was none
    """

    def __init__(
        self,
        signals: Sequence[int] = (signal.SIGINT, signal.SIGTERM),
        on_request: Callable[[int], None] | None = None,
        *,
        at_once: bool = False,
    ) -> None:
        self.signal = 0
        self.at_once = at_once
        self._on_request = on_request
        self._handlers = signals_to(self.receive, *signals)

    def __bool__(self) -> bool:
        return self.signal != 0

    def __enter__(self) -> Self:
        _requests.append(self)
        self._handlers.__enter__()
        self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
        return self

    def __exit__(self, *error: Any) -> None:
        sys.unraisablehook = self._hook
        self._handlers.__exit__(*error)
        _requests.remove(self)

    def _unraisable(self, lost: Any) -> None:
        """Repeat a KeyboardInterrupt raised where Python must ignore it, such as in one of numba's finalizers."""
        if self and issubclass(lost.exc_type, KeyboardInterrupt):
            threading.Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), self.signal)).start()
        else:
            self._hook(lost)

    def receive(self, number: int) -> None:
        """Take one signal: note the request, or raise KeyboardInterrupt on the second one or where `at_once` is set."""
        insisted, self.signal = bool(self), number
        if insisted or self.at_once:
            raise KeyboardInterrupt(number)  # its argument becomes the exit status: see `exit_status`
        if self._on_request is not None:
            self._on_request(number)


_requests: list[StopRequest] = []  # those with a running block


def repeat_lost_interrupt() -> None:
    """Raise the KeyboardInterrupt of a signal again if another exception may have replaced it.

    Call it where any exception is caught. If a signal arrives while numba converts an argument, numba's C code raises
    an AttributeError instead.
    """
    for request in _requests:
        if request and request.at_once:
            raise KeyboardInterrupt(request.signal)


@contextlib.contextmanager
def interruptible(player: Player, signals: Sequence[int] = (signal.SIGINT,)) -> Iterator[StopRequest]:
    """End the player's search on the first of some signals, and raise KeyboardInterrupt on the second.

    A search stopped this way returns the best move so far. `player.stop` is set inside the block and restored
    afterwards.
    """
    before = player.stop
    with StopRequest(signals) as request:
        player.stop = lambda: bool(request) or before()
        try:
            yield request
        finally:
            player.stop = before


# ---------------------------------------------------------------------------------------------
# How a command ends
# ---------------------------------------------------------------------------------------------

_SIGPIPE = 13  # Windows does not define it
# Errors without a file name come from standard output. Files that rlgo writes raise an RlgoError; see
# `rlgo.base.files`.
_OUTPUT_ERRORS = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_LIMIT_ERRORS = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # also of processes that cannot be started
_NO_THREAD = "can't start new thread"  # a RuntimeError of Python's


def exit_status(run: Callable[[], int | None]) -> int:
    """Run a command, and return the exit status of its process: what `run` returns, 0 for None.

    Errors that the user can correct are printed on one line, with status 2: an `RlgoError`, a file or standard output
    that cannot be read or written, and lack of memory, processes, threads or open files. A closed output pipe gives
    141. Any other exception is a bug and keeps its traceback.

    Ctrl-C and SIGTERM become KeyboardInterrupt, with the signal's number as its argument. A command that has results by
    then catches it, prints them, and returns as usual. Either way, the status is 128 plus the number of the signal, as
    in shells: 130 after Ctrl-C, 143 after SIGTERM.
    """
    status = _status_of(run)
    try:
        sys.stdout.flush()
    except OSError as error:
        # Python flushes once more on exit, and must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return status or _status_of_error(error)
    return status


def _status_of(run: Callable[[], int | None]) -> int:
    stop = StopRequest(at_once=True)
    try:
        with stop:
            status = run() or 0
        return 128 + stop.signal if stop else status
    except RlgoError as error:
        return _fail(str(error))
    except KeyboardInterrupt as interrupt:
        return 128 + (interrupt.args[0] if interrupt.args else stop.signal or signal.SIGINT)
    except SystemExit as exit:  # a shell asks for completions
        return exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except MemoryError as error:
        return _fail(f"not enough memory: {error}".removesuffix(": "))
    except RuntimeError as error:
        if str(error) != _NO_THREAD:
            raise
        return _fail_at_limit(_NO_THREAD)
    except OSError as error:
        if error.filename is None and error.errno == errno.ENOENT:
            return _fail("the current folder does not exist any more")
        if error.errno in _LIMIT_ERRORS:
            return _fail_at_limit(error.strerror or str(error))
        if error.filename is None and error.errno not in _OUTPUT_ERRORS:
            raise
        return _status_of_error(error)


def _status_of_error(error: OSError) -> int:
    if isinstance(error, BrokenPipeError):  # the reader of our output is gone (`rlgo ... | head`)
        return 128 + _SIGPIPE
    return _fail(f"{error.filename or 'standard output'}: {error.strerror}")


def _fail_at_limit(why: str) -> int:
    return _fail(f"{why}: expected a higher limit of processes, threads and open files, or fewer jobs")


def _fail(text: str) -> int:
    with contextlib.suppress(OSError):
        print("rlgo: error:", " ".join(text.split("\n")), file=sys.stderr)
    return 2


class _Messages(io.TextIOWrapper):
    """Standard error that never raises: output to a full disk or a closed terminal is lost."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def prepare_process() -> None:
    """Set up the encoding and the standard streams of this process; call it once, at its start.

    In a locale that is not UTF-8, the process restarts in Python's UTF-8 mode, since rlgo's files and most file names
    are UTF-8. Closed streams are opened on the null device, standard error never fails, and characters that standard
    output cannot encode are printed as escapes.
    """
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        os.environ["PYTHONUTF8"] = "1"  # for child processes, too
        os.execv(sys.executable, sys.orig_argv)  # nosec B606  # this very command
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115 - stays open
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)  # keeps it open when sys.stderr is replaced below
    codecs.register_error("readable", _readable)
    sys.stdout.reconfigure(errors="readable")  # type: ignore[union-attr]  # it is Python's own
    sys.stderr = _Messages(sys.stderr.buffer, sys.stderr.encoding, "readable", line_buffering=True)


def _readable(error: UnicodeError) -> tuple[str | bytes, int]:
    """Encode characters that an encoding lacks: bytes of file names that are not UTF-8 unchanged, others as escapes."""
    assert isinstance(error, UnicodeEncodeError)
    part = error.object[error.start : error.end]
    if all("\udc80" <= c <= "\udcff" for c in part):
        return os.fsencode(part), error.end
    return codecs.backslashreplace_errors(error)
