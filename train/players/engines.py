"""External engines as players, over the Go Text Protocol.

Start reading at `GtpClient`. An engine can do no harm: each answer has a time limit, no more of its output is kept than
an answer can need, and it is killed together with its children.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shlex
import shutil
import signal
import subprocess
import threading
import time
from typing import IO, NamedTuple, NoReturn

from rlgo.base.decoding import decode
from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_SIZE
from rlgo.go.clock import Clock, TimeSettings
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.play.player import RESIGN, Player

ANSWER_TIMEOUT = 60.0  # seconds that an engine may take for one answer
GRACE_SECONDS = 5.0  # seconds that an engine may exceed its time before it is stopped; it has lost by then
QUIT_SECONDS = 1.0  # seconds that an engine may take to quit before it is killed
_STARTS = 3  # attempts to start a process
_MOST_BYTES = 1 << 20  # of one answer of an engine; real answers have a few thousand
_MOST_ERRORS = 1 << 12  # bytes kept of its standard error
_MOST_TEXT = 200  # characters quoted of an answer
_CONTROL = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))  # which GTP ignores
_NO_LIMIT = TimeSettings(0, 1, 0)  # GTP's code for no clock


class EngineError(RlgoError):
    """Raised when an external engine dies, falls silent, or gives an invalid answer."""


def find_program(name: str) -> str | None:
    """Return the path of a program on PATH or in /usr/games, or None if it is not installed."""
    # Debian installs GNU Go in /usr/games, which is often not on PATH.
    return shutil.which(name) or shutil.which(name, path="/usr/games")


class GtpClient(Player):
    """An external engine as a player, over its standard input and output.

    Before each move the engine is sent the part of the game that it lacks: board size, komi and moves. Use the
    client in a ``with`` statement, or `close` it. After an EngineError the process may be gone; `new_game` starts
    another one.

    Attributes
    ----------
    name, version : as reported by the engine
    time : the time settings of each side; sent to the engine with the next game
    time_left : of the side to play, as in GTP's time_left; sent before each move if there is a `time`
    patience : seconds to wait for the next move; None: `timeout`
    timeout : seconds to wait for any other answer
    """

    persistent = True
    time: TimeSettings | None = None
    time_left: tuple[float, int] = (0.0, 0)
    patience: float | None = None

    def __init__(self, command: str, size: int = DEFAULT_SIZE, timeout: float = ANSWER_TIMEOUT) -> None:
        """Start the engine and set its board size.

        Parameters
        ----------
        command : split as a shell would, ~ being the home folder; the program is looked up on PATH and in /usr/games.
        size : board size
        timeout : seconds to wait for one answer

        Raises
        ------
        RlgoError : if the engine does not start, does not speak GTP, or refuses the size.
        """
        try:
            self._argv = [os.path.expanduser(word) for word in shlex.split(command)]
        except ValueError as error:
            raise RlgoError(f"engine {command!r}: {error}") from None
        if not self._argv:
            raise RlgoError(f"engine {command!r}: expected a command after gtp:")
        program = find_program(self._argv[0])
        if program is None:
            raise RlgoError(f"engine {self._argv[0]!r} not found on PATH or in /usr/games")
        # Two peers may be one program with other arguments, often after a long path.
        words = " ".join(self._argv)
        self.label = f"engine {words if len(words) <= 60 else f'{words[:28]}...{words[-29:]}'!r}"
        self._argv[0] = program
        self.timeout = timeout
        self._known_commands: dict[str, bool] = {}
        self._said = ""  # what it last wrote that is no answer
        self._has_clock = False  # whether the engine was last sent a time limit
        self._process: subprocess.Popen[bytes] | None = None
        self._is_busy = False  # whether an answer is being waited for
        self._output: _Lines | None = None  # until the process has started
        self._errors: _Tail | None = None
        self._sent_game: _SentGame | None = None
        try:
            self._start()
            self.send(f"boardsize {size}")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> GtpClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the player ---

    def genmove(self, game: Game) -> int:
        """Ask the engine for a move. EngineError if it fails to answer."""
        self.send_game(game)
        color = game.to_play
        if self.time is not None:
            if self.knows("time_left"):
                seconds, stones = self._time_left_in_gtp(self.time)
                self.send(f"time_left {_color(color)} {int(seconds)} {stones}")
        elif self.limit is not None and self.knows("time_settings"):  # a time for this move alone
            self.send(f"time_settings 0 {max(1, int(self.limit))} 1")  # 0 seconds would mean: no limit
            self._has_clock = True
        patience = self.patience
        if patience is None and self.limit is not None:
            patience = max(self.timeout, self.limit + GRACE_SECONDS)
        answer = " ".join(self.send(f"genmove {_color(color)}", patience).lower().split()[:1])  # some add a value
        if answer == "resign":
            return RESIGN
        try:
            p = from_vertex(answer, game.size)
        except RlgoError:
            self._sent_game = None
            raise EngineError(f"{self.label}: genmove: expected a vertex, found {_quoted(answer, 40)!r}") from None
        # The engine has played its move; if it is not in the game later, the whole game is sent again.
        assert self._sent_game is not None
        self._sent_game.moves.append((color, p))
        return p

    def start_clock(self, settings: TimeSettings | None) -> None:
        """Set the time settings of the next game. The engine manages its own time."""
        self.time, self.patience, self.limit = settings, None, None

    def read_clock(self, clock: Clock, color: int, size: int) -> float | None:
        """Take the remaining time, which is sent to the engine before its move; returns None."""
        if self.time is None:
            return super().read_clock(clock, color, size)
        self.time_left = clock.left(color)
        self.patience = (clock.allows(color) or 0.0) + GRACE_SECONDS
        return None

    def stones(self, game: Game, color: int) -> set[int] | None:
        """Return the points of a colour's stones on the engine's board; None if it does not know ``list_stones``."""
        self.send_game(game)
        if not self.knows("list_stones"):
            return None
        return {from_vertex(text, game.size) for text in self.send(f"list_stones {_color(color)}").split()}

    def new_game(self) -> None:
        """Restart the engine if it is gone, and forget the last game.

        EngineError if it cannot be started in several attempts.
        """
        self._sent_game = None
        if self._process is not None and self._process.poll() is not None:
            self.close()
        for attempt in range(_STARTS):
            if self._process is None:
                try:
                    self._start()
                except EngineError:
                    if attempt == _STARTS - 1:
                        raise

    def send_game(self, game: Game) -> None:
        """Send the engine the part of a game it has not received yet."""
        sent = self._sent_game
        if (
            sent is None
            or (sent.size, sent.komi, sent.setup) != (game.size, game.komi, game.setup)
            or sent.moves != game.moves[: len(sent.moves)]
        ):
            self._sent_game = None
            self.send(f"boardsize {game.size}")
            self.send("clear_board")
            self._try(f"komi {game.komi:g}")  # the referee counts
            self._send_time()
            sent = _SentGame(game.size, game.komi, game.setup.copy(), [])
            for color, p in game.setup:
                self.send(f"play {_color(color)} {to_vertex(p, game.size)}")
            self._sent_game = sent
        for color, p in game.moves[len(sent.moves) :]:
            self.send(f"play {_color(color)} {to_vertex(p, game.size)}")
            sent.moves.append((color, p))

    def knows(self, command: str) -> bool:
        """Return whether the engine has a command: by ``known_command``, else by ``list_commands``, else it has not."""
        if command not in self._known_commands:
            known = self._try(f"known_command {command}")
            listed = (self._try("list_commands") or "").split() if known is None else ()
            self._known_commands[command] = command in listed or (known or "").lower() == "true"
        return self._known_commands[command]

    def _time_left_in_gtp(self, time: TimeSettings) -> tuple[float, int]:
        """Return `time_left` as the engine understands it.

        To an engine without ``kgs-time_settings``, a period of byo-yomi is one stone to play in that time. Without main
        time, overtime begins with the first move.
        """
        seconds, stones = self.time_left
        knows_periods = bool(time.periods) and self.knows("kgs-time_settings")
        if stones == 0 and time.main == 0 and time.stones:
            return time.period, time.periods if knows_periods else time.stones
        return seconds, stones if knows_periods or not time.periods else min(stones, 1)

    def _send_time(self) -> None:
        if self.time is None and not self._has_clock:
            return
        main, period, stones, periods = self.time or _NO_LIMIT
        self._has_clock = self.time is not None
        if periods and self.knows("kgs-time_settings"):
            self.send(f"kgs-time_settings byoyomi {_whole(main)} {_whole(period)} {periods}")
        elif self.knows("time_settings"):
            self.send(f"time_settings {_whole(main)} {_whole(period)} {stones}")

    # --- the process ---

    def send(self, command: str, timeout: float | None = None) -> str:
        """Send one command and return the text of its answer. EngineError if it fails or does not answer in time.

        timeout : seconds to wait, in place of the client's `timeout`
        """
        mark, text = self._ask(command, self.timeout if timeout is None else timeout)
        if mark == "?":
            raise EngineError(f"{self.label}: {command}: failed: {_quoted(text) or 'no reason given'}")
        return text

    def _try(self, command: str) -> str | None:
        """Send a command that not every engine has; None if this one refuses it."""
        mark, text = self._ask(command, self.timeout)
        return None if mark == "?" else text

    def _ask(self, command: str, timeout: float) -> tuple[str, str]:
        """Send one command; return the mark and the text of its answer."""
        self._write(command)
        lines = self._read_answer(command, timeout)
        self._is_busy = False
        return lines[0][0], "\n".join([lines[0][1:].strip(), *lines[1:]]).strip()

    def _write(self, command: str) -> None:
        """Send one command. EngineError if the engine is gone."""
        if self._process is None:
            raise EngineError(f"{self.label}: is closed")
        assert self._process.stdin is not None
        self._is_busy = True
        try:
            self._process.stdin.write(f"{command}\n".encode())
            self._process.stdin.flush()
        except OSError:
            self._fail_ended(command)

    def close(self) -> None:
        """End the process: ask it to quit, and kill it if it does not, or if it still owes an answer."""
        process, self._process, self._sent_game = self._process, None, None
        if process is None:
            return
        assert process.stdin is not None
        if not self._is_busy:
            with contextlib.suppress(OSError):
                process.stdin.write(b"quit\n")
                process.stdin.flush()
        # Closing a broken pipe tries to flush it, and fails again.
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(0 if self._is_busy else QUIT_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            _kill(process)
            self._is_busy = False
            for reader in (self._output, self._errors):
                if reader is not None:  # a signal may come while the process starts
                    reader.join(1)

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(
                self._argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C must end the match first, which then closes its engines and, by this group, their children.
                process_group=0,
            )
        except OSError as error:
            raise EngineError(f"{self.label}: cannot be started: {error.strerror}") from None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._output, self._errors = _Lines(self._process.stdout), _Tail(self._process.stderr)
        self.name = _quoted(self._try("name") or os.path.basename(self._argv[0]))
        self.version = _quoted(self._try("version") or "")

    def _read_answer(self, command: str, timeout: float) -> list[str]:
        """Read the lines of one answer, without the empty line that ends it, or anything that is said before it."""
        deadline = time.monotonic() + timeout
        self._said = ""
        lines: list[str] = []
        length = 0
        while True:
            text = self._next_line(command, deadline, timeout)
            length += len(text)
            if length > _MOST_BYTES:
                self._fail_flooded(command)
            if not lines and text[0] not in "=?":
                self._said = text.strip() or self._said
                if text.strip() == command:
                    self._fail_stopped(f"{command}: expected a GTP answer, found the command")
            elif text.strip():
                lines.append(text.rstrip())
            elif lines:
                return lines

    def _next_line(self, command: str, deadline: float, timeout: float) -> str:
        """Return the next line of output, with its end. EngineError without one by a deadline, `timeout` in words."""
        assert self._output is not None
        try:
            line = self._output.take(deadline - time.monotonic())
        except queue.Empty:
            said = f"; it said {_quoted(self._said, 40)!r}" if self._said else ""
            self._fail_stopped(f"{command}: no answer within {timeout:g} s{said}")
        except _Flood:
            self._fail_flooded(command)
        if line is None:
            self._fail_ended(command)
        return decode(line).translate(_CONTROL)

    def _fail_flooded(self, command: str) -> NoReturn:
        self._fail_stopped(f"{command}: more than {_MOST_BYTES:,} bytes without the end of an answer")

    def _fail_stopped(self, what: str) -> NoReturn:
        """Kill the engine: a late answer would be mistaken for the answer to another command."""
        self.close()
        raise EngineError(f"{self.label}: {what}")

    def _fail_ended(self, command: str) -> NoReturn:
        process = self._process
        assert process is not None
        assert self._errors is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)  # it may have closed its output a moment before its end
        self.close()
        last = self._errors.last_line()
        words = f"; last output: {_quoted(last, 100)}" if last else ""
        raise EngineError(f"{self.label}: {command}: it ended with status {process.returncode}{words}")


class _SentGame(NamedTuple):
    """The part of a game that an engine was sent."""

    size: int
    komi: float
    setup: list[tuple[int, int]]
    moves: list[tuple[int, int]]


def _whole(seconds: float) -> int:
    """Round down to GTP's whole seconds, but any positive time to at least 1."""
    return max(1, int(seconds)) if seconds else 0


def _color(color: int) -> str:
    return COLOR_NAMES[color].lower()


def _quoted(text: str, most: int = _MOST_TEXT) -> str:
    """Return an engine's output on one line, without control characters, of limited length."""
    words = " ".join(text[: 4 * most].split())
    return "".join(c if c.isprintable() and c != "\ufffd" else "?" for c in words[:most])


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a session, with those of its children that are left in it, and wait for its end."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):  # they have all ended
            os.killpg(process.pid, signal.SIGKILL)
    else:  # Windows
        process.kill()
    process.wait()


class _Flood(Exception):
    """Raised when more was written than an answer can need."""


class _Lines:
    """The lines from a pipe, read at most `_MOST_BYTES` ahead.

    Not every system can wait for a pipe with a timeout, so a thread reads it. The thread closes the pipe at its end, or
    as soon as it has read too much ahead.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe, self._held = pipe, 0
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()  # None marks the end
        self._lock = threading.Lock()
        self._is_flood = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._pipe:
            while line := self._pipe.readline(_MOST_BYTES):
                with self._lock:
                    self._held += len(line)
                    self._is_flood = self._held >= _MOST_BYTES
                if self._is_flood:
                    break
                self._lines.put(line)
        self._lines.put(None)

    def take(self, seconds: float) -> bytes | None:
        """Return the next line; None at the end. queue.Empty after some seconds, _Flood for too much at once."""
        line = self._lines.get(timeout=max(0.0, seconds))
        if line is None and self._is_flood:
            raise _Flood
        with self._lock:
            self._held -= len(line or b"")
        return line

    def join(self, seconds: float) -> None:
        """Wait for the end of the pipe."""
        self._thread.join(seconds)


class _Tail:
    """The last output of a pipe, which a thread empties so that its writer never has to wait."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe, self._kept = pipe, b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._pipe:
            while data := os.read(self._pipe.fileno(), 1 << 16):
                self._kept = (self._kept + data[-_MOST_ERRORS:])[-_MOST_ERRORS:]

    def last_line(self) -> str:
        """Return the last line that is not empty."""
        lines = [line for line in decode(self._kept).splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def join(self, seconds: float) -> None:
        """Wait for the end of the pipe."""
        self._thread.join(seconds)
