"""GTP over standard input and output, with interrupts and pondering.

Start reading at `run`.
"""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
from typing import Any, BinaryIO

from rlgo.play.gtp.lines import format_answer, split_line
from rlgo.play.gtp.protocol import GtpEngine

_INTERRUPT = "# interrupt"  # GoGui sends it while a command runs
_MAX_LINE = 1 << 20  # bytes
_MOST_WAITING = 1_000  # lines read ahead, to notice an interrupt; reading more has to wait
_TOO_LONG = b"\n\n"  # replaces a longer line; no real line looks like this


def run(engine: GtpEngine, source: BinaryIO | None = None, sink: BinaryIO | None = None) -> None:
    """Answer commands until ``quit`` or the end of the input.

    source, sink : streams of commands and answers; default: standard input and output
    """
    with _Streams(engine, source, sink) as streams:
        streams.serve()


class _Streams:
    """The streams of commands and answers; a thread reads ahead."""

    def __init__(self, engine: GtpEngine, source: BinaryIO | None, sink: BinaryIO | None) -> None:
        # Not sys.stdin: a thread still waiting for it would block Python's shutdown.
        self._source = open(0, "rb", closefd=False) if source is None else source  # noqa: SIM115 - it stays open
        self._sink = sys.stdout.buffer if sink is None else sink
        self._lines: queue.Queue[tuple[int, bytes | None]] = queue.Queue(_MOST_WAITING)
        self._engine = engine
        # Standard output is reserved for GTP: output of players goes to standard error.
        self._redirected = contextlib.redirect_stdout(sys.stderr)

    def __enter__(self) -> _Streams:
        self._redirected.__enter__()
        threading.Thread(target=self._read, daemon=True, name="gtp").start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._redirected.__exit__(*error)

    def serve(self) -> None:
        """Answer commands."""
        engine = self._engine
        engine.has_input = lambda: not self._lines.empty()
        while not engine.done:
            number, line = self._lines.get()
            if line is None:
                break
            self._answer(number, line)
            if not engine.done:
                engine.session.ponder(engine.has_input)

    def _answer(self, number: int, line: bytes) -> None:
        if line == _TOO_LONG:
            self._write(format_answer("?", "", f"line too long: expected at most {_MAX_LINE:,} bytes"))
            return
        answer = self._engine.handle(_decode(line), self._write, number)
        if answer is not None:
            self._write(answer)

    def _write(self, text: str) -> None:
        self._sink.write(text.encode("utf-8", "replace"))
        self._sink.flush()

    # --- in the thread that reads ---

    def _read(self) -> None:
        """Read and number lines, up to quit. Reading ahead lets an interrupt arrive while a command runs."""
        number = 0
        with contextlib.suppress(ValueError, OSError):  # the stream was closed
            while line := self._source.readline(_MAX_LINE):
                if len(line) == _MAX_LINE and not line.endswith(b"\n"):
                    while (rest := self._source.readline(_MAX_LINE)) and not rest.endswith(b"\n"):
                        pass
                    line = _TOO_LONG
                if line.decode("utf-8", "replace").strip() == _INTERRUPT:
                    self._engine.interrupt(number)  # the previous command, whether it is running or still waiting
                    continue
                number += 1
                self._lines.put((number, line))
                if _is_last(line):
                    break
        self._lines.put((number + 1, None))


def _decode(line: bytes) -> str:
    # A file's name may be any bytes.
    return line.decode("utf-8", "surrogateescape")


def _is_last(line: bytes) -> bool:
    return split_line(line.decode("utf-8", "replace"))[1][:1] == ["quit"]
