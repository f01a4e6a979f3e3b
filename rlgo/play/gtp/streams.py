"""GTP over standard input and output, with interrupts and pondering.

Start reading at `run`; `run_early` answers before there is an engine.
"""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO

from rlgo.base.threads import in_background
from rlgo.play.gtp.early import EarlyAnswers
from rlgo.play.gtp.lines import format_answer, split_line

if TYPE_CHECKING:
    from rlgo.play.gtp.protocol import GtpEngine
    from rlgo.play.player import Player

Ready = Callable[[BaseException | None], None]

_INTERRUPT = "# interrupt"  # GoGui sends it while a command runs
_MAX_LINE = 1 << 20  # bytes
_MOST_WAITING = 1_000  # lines read ahead, to notice an interrupt; reading more has to wait
_PATIENCE = 0.05  # seconds to wait for the next line before numba is loaded
_TOO_LONG = b"\n\n"  # replaces a longer line; no real line looks like this

_Line = tuple[int, bytes]  # with its number


def run(engine: GtpEngine, source: BinaryIO | None = None, sink: BinaryIO | None = None) -> None:
    """Answer commands until ``quit`` or the end of the input.

    source, sink : streams of commands and answers; default: standard input and output
    """
    with _Streams(source, sink) as streams:
        streams.serve(engine)


def run_early(
    make_player: Callable[[], Player],
    make_engine: Callable[[Player, Ready], GtpEngine],
    early: EarlyAnswers,
    source: BinaryIO | None = None,
    sink: BinaryIO | None = None,
    log: Callable[[str], None] | None = None,
) -> None:
    """Answer commands like `run`, but from the beginning, while the engine is made in another thread.

    Parameters
    ----------
    make_player : makes the player
    make_engine : makes the engine of the player. Its second argument is for `GameSession`: called with an error, it
        ends the run with it
    early : answers as long as there is no engine
    source, sink : as for `run`
    log : as for `GtpEngine`; used here for a run that ends before there is an engine

    Raises
    ------
    What `make_player` raises, even if the input has ended before; and what `make_engine` does.
    """
    player: Future[Player] = Future()

    def make() -> GtpEngine:
        try:
            player.set_result(make_player())
        except BaseException as error:
            player.set_exception(error)
            raise
        return make_engine(player.result(), streams.fail)

    @cache
    def engine() -> Future[GtpEngine]:
        made = in_background(make)
        made.add_done_callback(lambda made: streams.fail(made.exception()))
        return made

    with _Streams(source, sink) as streams:
        answered, line = streams.serve_early(early, engine)
        if line is None:
            if log is not None:
                for _, text in answered:
                    log(f"> {_decode(text).strip()}")
                    log(f"< {(early.answer(_decode(text)) or '').strip()}")
            engine()
            player.result().close()
            return
        made = engine().result()
        try:
            streams.serve(made, answered, line)
        finally:
            made.session.close()


class _Streams:
    """The streams of commands and answers; a thread reads ahead."""

    def __init__(self, source: BinaryIO | None, sink: BinaryIO | None) -> None:
        # Not sys.stdin: a thread still waiting for it would block Python's shutdown.
        self._source = open(0, "rb", closefd=False) if source is None else source  # noqa: SIM115 - it stays open
        self._sink = sys.stdout.buffer if sink is None else sink
        self._lines: queue.Queue[tuple[int, bytes | None]] = queue.Queue(_MOST_WAITING)
        self._engine: GtpEngine | None = None
        self._interrupted = 0  # the last line to be interrupted
        self._error: BaseException | None = None
        # Standard output is reserved for GTP: output of players goes to standard error.
        self._redirected = contextlib.redirect_stdout(sys.stderr)

    def __enter__(self) -> _Streams:
        self._redirected.__enter__()
        threading.Thread(target=self._read, daemon=True, name="gtp").start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._redirected.__exit__(*error)

    def fail(self, error: BaseException | None) -> None:
        """End the run with an error, if there is one. May be called from any thread."""
        if error is not None:
            self._error = error
            with contextlib.suppress(queue.Full):
                self._lines.put_nowait((0, None))

    def serve_early(
        self, early: EarlyAnswers, engine: Callable[[], Future[GtpEngine]]
    ) -> tuple[list[_Line], _Line | None]:
        """Answer commands until there is an engine, or a command needs it.

        engine : begins to make it. That slows the answers down, so they come first if there are any to be given

        Returns
        -------
        the lines that have been answered, and the next one; None after ``quit`` and at the end of the input
        """
        answered: list[_Line] = []
        started: Future[GtpEngine] | None = None
        while True:
            try:
                line = self._next(None if started else _PATIENCE)
            except queue.Empty:
                started = engine()
                continue
            if line is None:
                return answered, None
            is_made = started is not None and started.done()
            text = None if is_made or line[1] == _TOO_LONG else early.answer(_decode(line[1]))
            if text is None:
                return answered, line
            self._write(text)
            answered.append(line)

    def serve(self, engine: GtpEngine, answered: Iterable[_Line] = (), line: _Line | None = None) -> None:
        """Answer commands.

        answered : lines that the engine carries out first; they have their answers already
        line : the line after them, if it has been read
        """
        engine.has_input = lambda: not self._lines.empty()
        for number, text in answered:
            engine.handle(_decode(text), lambda _: None, number)
        self._engine = engine
        if self._interrupted:
            engine.interrupt(self._interrupted)
        while True:
            if line is not None:
                self._answer(engine, *line)
            if engine.done:
                break
            engine.ponder(engine.has_input)
            line = self._next()
            if line is None:
                break

    def _answer(self, engine: GtpEngine, number: int, line: bytes) -> None:
        if line == _TOO_LONG:
            self._write(format_answer("?", "", f"line too long: expected at most {_MAX_LINE:,} bytes"))
            return
        answer = engine.handle(_decode(line), self._write, number)
        if answer is not None:
            self._write(answer)

    def _next(self, seconds: float | None = None) -> _Line | None:
        """Wait for a line; None at the end. Raises what `fail` was called with, and queue.Empty after some seconds."""
        number, line = self._lines.get(timeout=seconds)
        if self._error is not None:
            raise self._error
        return None if line is None else (number, line)

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
                    self._interrupt(number)  # the previous command, whether it is running or still waiting
                    continue
                number += 1
                self._lines.put((number, line))
                if _is_last(line):
                    break
        self._lines.put((number + 1, None))

    def _interrupt(self, number: int) -> None:
        self._interrupted = number
        if self._engine is not None:
            self._engine.interrupt(number)


def _decode(line: bytes) -> str:
    # A file's name may be any bytes.
    return line.decode("utf-8", "surrogateescape")


def _is_last(line: bytes) -> bool:
    return split_line(line.decode("utf-8", "replace"))[1][:1] == ["quit"]
