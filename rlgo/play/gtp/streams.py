"""GTP over standard input and output, with interrupts and pondering.

Start reading at `run`.
"""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
from collections.abc import Callable
from typing import BinaryIO

from rlgo.play.gtp.protocol import GtpEngine, format_answer, split_line

_INTERRUPT = "# interrupt"  # GoGui sends it while a command runs
_MAX_LINE = 1 << 20  # bytes
_MOST_WAITING = 1_000  # lines read ahead, to notice an interrupt; reading more has to wait
_TOO_LONG = b"\n\n"  # replaces a longer line; no real line looks like this


def run(engine: GtpEngine, source: BinaryIO | None = None, sink: BinaryIO | None = None) -> None:
    """Answer commands until ``quit`` or the end of the input.

    source, sink : streams of commands and answers; default: standard input and output
    """
    if source is None:
        # Not sys.stdin: a thread still waiting for it would block Python's shutdown.
        source = open(0, "rb", closefd=False)  # noqa: SIM115 - standard input stays open
    out = sys.stdout.buffer if sink is None else sink
    lines: queue.Queue[tuple[int, bytes | None]] = queue.Queue(_MOST_WAITING)

    def write(text: str) -> None:
        out.write(text.encode("utf-8", "replace"))
        out.flush()

    def has_input() -> bool:
        return not lines.empty()

    engine.has_input = has_input
    reader = threading.Thread(target=_read, args=(source, lines.put, engine.interrupt), daemon=True, name="gtp")
    # Standard output is reserved for GTP: output of players goes to standard error.
    with contextlib.redirect_stdout(sys.stderr):
        reader.start()
        while not engine.done:
            engine.ponder(has_input)
            number, line = lines.get()
            if line is None:
                break
            if line == _TOO_LONG:
                write(format_answer("?", "", f"line too long: expected at most {_MAX_LINE:,} bytes"))
                continue
            # A file's name may be any bytes.
            answer = engine.handle(line.decode("utf-8", "surrogateescape"), write, number)
            if answer is not None:
                write(answer)


def _read(source: BinaryIO, put: Callable[[tuple[int, bytes | None]], None], interrupt: Callable[[int], None]) -> None:
    """Read and number lines, up to quit. Reading ahead lets an interrupt arrive while a command runs."""
    number = 0
    with contextlib.suppress(ValueError, OSError):  # the stream was closed
        while line := source.readline(_MAX_LINE):
            if len(line) == _MAX_LINE and not line.endswith(b"\n"):
                while (rest := source.readline(_MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
                line = _TOO_LONG
            text = line.decode("utf-8", "replace")
            if text.strip() == _INTERRUPT:
                interrupt(number)  # the previous command, whether it is running or still waiting
                continue
            number += 1
            put((number, line))
            if split_line(text)[1][:1] == ["quit"]:
                break
    put((number + 1, None))
