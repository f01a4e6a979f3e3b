"""Processes: Ctrl-C and SIGTERM, how a command ends, closed streams."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from rlgo.base.errors import RlgoError
from train.process import StopRequest, exit_status, interruptible, signals_to


def deliver(number: int) -> None:
    """Send this process a signal, as the kernel would."""
    signal.raise_signal(number)


def handlers() -> list[Any]:
    return [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]


# ---------------------------------------------------------------------------------------------
# Ctrl-C and SIGTERM
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_interrupt_at_once_where_asked_to_from_the_start(number: int) -> None:
    before = handlers()
    with pytest.raises(KeyboardInterrupt), StopRequest(at_once=True):
        deliver(number)
    assert handlers() == before


def test_ctrl_c_works_where_a_shell_ignores_it() -> None:
    with signals_to(lambda _: None, signal.SIGINT):
        before = handlers()
        with pytest.raises(KeyboardInterrupt), StopRequest(at_once=True):
            deliver(signal.SIGINT)
        assert handlers() == before


def test_other_threads_leave_signals_alone() -> None:
    before, seen = handlers(), []

    def work() -> None:
        with StopRequest(at_once=True), StopRequest() as request:
            seen.append((handlers(), bool(request)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(before, False)]


def test_the_first_signal_is_a_request_and_the_second_one_interrupts() -> None:
    asked: list[int] = []
    before = handlers()
    with StopRequest(on_request=asked.append) as request:
        assert not request
        deliver(signal.SIGTERM)
        assert request
        assert request.signal == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            deliver(signal.SIGINT)
        assert request.signal == signal.SIGINT
    assert asked == [signal.SIGTERM]
    assert handlers() == before


def test_an_interrupt_that_python_must_ignore_comes_again() -> None:
    """As in the finalizers that run while numba compiles."""

    class Finalized:
        def __del__(self) -> None:
            deliver(signal.SIGTERM)

    def work(request: StopRequest) -> None:
        Finalized()  # gone at once
        assert request.signal == signal.SIGTERM
        while True:
            time.sleep(0.01)

    before = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt) as found, StopRequest(at_once=True) as request:
        work(request)
    assert found.value.args == (signal.SIGTERM,)
    assert sys.unraisablehook is before


def test_interruptible_ends_a_search_first_and_everything_second() -> None:
    player: Any = SimpleNamespace(stop=lambda: False)
    before = player.stop
    with interruptible(player):
        assert not player.stop()
        deliver(signal.SIGINT)
        assert player.stop()
        with pytest.raises(KeyboardInterrupt):
            deliver(signal.SIGINT)
    assert player.stop is before


# ---------------------------------------------------------------------------------------------
# How a command ends
# ---------------------------------------------------------------------------------------------


MORE = "expected a higher limit of processes, threads and open files, or fewer jobs"


def fail(error: BaseException) -> None:
    raise error


def without_threads() -> None:
    """Start threads in a process of which nobody may have a second one."""
    code = "import resource, threading; resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))\n"
    code += "for _ in range(1000): threading.Thread(target=threading.Event().wait, daemon=True).start()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    fail(RuntimeError(done.stderr.splitlines()[-1].removeprefix("RuntimeError: ")))


@pytest.mark.parametrize(
    ("end", "status", "err"),
    [
        (lambda: None, 0, ""),
        (lambda: 1, 1, ""),
        (lambda: fail(RlgoError("two\nlines")), 2, "rlgo: error: two lines\n"),
        (lambda: os.remove("/no/such/file"), 2, "rlgo: error: /no/such/file: No such file or directory\n"),
        (lambda: fail(OSError(errno.EMFILE, "Too many open files")), 2, f"rlgo: error: Too many open files: {MORE}\n"),
        (lambda: fail(BlockingIOError(errno.EAGAIN, "No process")), 2, f"rlgo: error: No process: {MORE}\n"),
        (without_threads, 2, f"rlgo: error: can't start new thread: {MORE}\n"),
        (lambda: fail(KeyboardInterrupt()), 130, ""),
        (lambda: fail(KeyboardInterrupt(signal.SIGTERM)), 143, ""),
        (lambda: fail(SystemExit(143)), 143, ""),
        (lambda: fail(SystemExit()), 0, ""),
    ],
)
def test_how_a_command_ends(end: Callable[[], int | None], status: int, err: str, capsys: Any) -> None:
    assert exit_status(end) == status
    assert capsys.readouterr() == ("", err)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_that_a_signal_ends(number: int, status: int) -> None:
    """One rule for all, whether a command shows what it has or not."""

    def shows_what_it_has() -> int:
        with contextlib.suppress(KeyboardInterrupt):
            deliver(number)
        return 0

    def saves_first() -> None:
        with StopRequest() as stop:
            deliver(number)
        raise KeyboardInterrupt(stop.signal)

    before = handlers()

    def ends_by_itself() -> int:
        with contextlib.suppress(KeyboardInterrupt):
            deliver(number)
        raise KeyboardInterrupt

    ends = (lambda: deliver(number), shows_what_it_has, saves_first, ends_by_itself)
    assert [exit_status(end) for end in ends] == [status] * 4
    assert handlers() == before


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="closes streams as POSIX does")
def test_closed_streams_lead_nowhere() -> None:
    code = (
        "import gc, os, sys; from train.console import message; from train.process import prepare_process;"
        "prepare_process(); gc.collect(); print('out'); message('err'); sys.stdout.flush();"
        "sys.exit(3 + sys.stderr.isatty())"
    )
    for closed in ((0,), (1,), (2,), (0, 1, 2)):
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            preexec_fn=lambda closed=closed: [os.close(number) for number in closed] and None,
        )
        assert done.returncode == 3, done.stderr
        assert (done.stdout, done.stderr) == ("" if 1 in closed else "out\n", "" if 2 in closed else "err\n")
