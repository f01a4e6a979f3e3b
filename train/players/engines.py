"""Outside engines as players, over the Go Text Protocol.

Start reading at `GtpClient`.
"""

from __future__ import annotations

import collections
import contextlib
import queue
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from typing import IO, NamedTuple, NoReturn

from rlgo.clock import TimeSettings
from rlgo.coords import from_vertex, to_vertex
from rlgo.errors import RlgoError
from rlgo.game import COLOR_NAMES, Game
from rlgo.player import RESIGN, Player

ANSWER_TIMEOUT = 60.0  # seconds that an engine may take over one answer
_STARTS = 3
_NO_LIMIT = TimeSettings(0, 1, 0)  # as GTP says it


class EngineError(RlgoError):
    """An outside engine has died, is silent, or has answered with what it should not."""


def find_program(name: str) -> str | None:
    """The path of a program, on PATH or in /usr/games; None where it is not installed."""
    # Debian installs games, GNU Go among them, where PATH often does not look.
    return shutil.which(name) or shutil.which(name, path="/usr/games")


class GtpClient(Player):
    """An outside engine as a player, over its standard input and output.

    It is told whatever it lacks of a game before each move: board size, komi, and all moves so far. Use it in
    a ``with`` statement, or `close` it. After an EngineError the process may be gone; `new_game` starts
    another one.

    Attributes
    ----------
    name, version : as the engine gives them
    time : what each side may use; the engine is told of it with the next game
    time_left : of the colour to play, as GTP's time_left has it; told before each move, where there is a `time`
    patience : seconds that the next move may take
    """

    time: TimeSettings | None = None
    time_left: tuple[float, int] = (0.0, 0)

    def __init__(self, command: str, size: int = 9, timeout: float = ANSWER_TIMEOUT) -> None:
        """Start the engine and let it prepare a board.

        Parameters
        ----------
        command : split as a shell would; the program is looked for on PATH and in /usr/games.
        timeout : seconds for one answer.

        Raises
        ------
        RlgoError : if it does not start, does not speak GTP, or refuses the size.
        """
        try:
            self._argv = shlex.split(command)
        except ValueError as error:
            raise RlgoError(f"engine {command!r}: {error}") from None
        if not self._argv:
            raise RlgoError(f"engine {command!r}: expected a command after gtp:")
        program = find_program(self._argv[0])
        if program is None:
            raise RlgoError(f"engine {self._argv[0]!r} is not found, neither on PATH nor in /usr/games")
        self._label = f"engine {self._argv[0]!r}"
        self._argv[0] = program
        self._timeout = timeout
        self.patience: float | None = None  # None: `timeout`
        self._known: dict[str, bool] = {}
        self._told_time = False  # whether the engine believes in a clock
        self._process: subprocess.Popen[str] | None = None
        self._readers: list[threading.Thread] = []
        self._told: _Told | None = None
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
        """The engine's move. EngineError if there is none to be had."""
        self.tell(game)
        color = game.to_play
        if self.time is not None:
            if self.knows("time_left"):
                seconds, stones = self.time_left
                self.send(f"time_left {_color(color)} {int(seconds)} {stones}")
        elif self.limit is not None and self.knows("time_settings"):  # somebody else's clock: so long for this move
            self.send(f"time_settings 0 {_whole(self.limit)} 1")
            self._told_time = True
        answer = self.send(f"genmove {_color(color)}", self.patience).lower()
        if answer == "resign":
            return RESIGN
        try:
            p = from_vertex(answer, game.size)
        except RlgoError:
            self._told = None
            raise EngineError(f"{self._label}: genmove: expected a vertex, found {answer[:40]!r}") from None
        # The engine has played its move; if the game does not take it, all is told again.
        assert self._told is not None
        self._told.moves.append((color, p))
        return p

    def new_game(self) -> None:
        """Start the engine anew if it is gone; it will be told the next game from the beginning.

        EngineError if it cannot be started, tried several times.
        """
        self._told = None
        if self._process is not None and self._process.poll() is not None:
            self.close()
        for attempt in range(_STARTS):
            if self._process is None:
                try:
                    self._start()
                except EngineError:
                    if attempt == _STARTS - 1:
                        raise

    def tell(self, game: Game) -> None:
        """Tell the engine whatever it lacks of a game."""
        told = self._told
        if (
            told is None
            or (told.size, told.komi, told.setup) != (game.size, game.komi, game.setup)
            or told.moves != game.moves[: len(told.moves)]
        ):
            self._told = None
            self.send(f"boardsize {game.size}")
            self.send("clear_board")
            self.send(f"komi {game.komi:g}")
            self._tell_time()
            told = _Told(game.size, game.komi, game.setup.copy(), [])
            for color, p in game.setup:
                self.send(f"play {_color(color)} {to_vertex(p, game.size)}")
            self._told = told
        for color, p in game.moves[len(told.moves) :]:
            self.send(f"play {_color(color)} {to_vertex(p, game.size)}")
            told.moves.append((color, p))

    def knows(self, command: str) -> bool:
        """Whether the engine has a command."""
        if command not in self._known:
            self._known[command] = self.send(f"known_command {command}").lower() == "true"
        return self._known[command]

    def _tell_time(self) -> None:
        if self.time is None and not self._told_time:
            return
        main, period, stones, periods = self.time or _NO_LIMIT
        self._told_time = self.time is not None
        if periods and self.knows("kgs-time_settings"):
            self.send(f"kgs-time_settings byoyomi {_whole(main)} {_whole(period)} {periods}")
        elif self.knows("time_settings"):
            self.send(f"time_settings {_whole(main)} {_whole(period)} {stones}")

    # --- the process ---

    def send(self, command: str, timeout: float | None = None) -> str:
        """Send one command; returns the text of its answer. EngineError if it fails or none comes in time.

        timeout : seconds for this answer, instead of the usual ones
        """
        if self._process is None:
            raise EngineError(f"{self._label}: has been closed")
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
        except OSError:
            self._fail_ended(command)
        lines = self._read_answer(command, self._timeout if timeout is None else timeout)
        mark, text = lines[0][0], "\n".join([lines[0][1:].strip(), *lines[1:]]).strip()
        if mark == "?":
            raise EngineError(f"{self._label}: {command}: failed: {text or 'no reason given'}")
        return text

    def close(self) -> None:
        """End the process: it is asked to quit, and killed if it does not."""
        process, self._process, self._told = self._process, None, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.write("quit\n")
            process.stdin.flush()
        # A broken pipe keeps what it could not write, and says so again.
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for reader in self._readers:
            reader.join(1)

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(
                self._argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                # Ctrl-C ends the match, which then ends its engines: not all at once.
                start_new_session=True,
            )
        except OSError as error:
            raise EngineError(f"{self._label}: cannot be started: {error.strerror}") from None
        # Threads read, since not every system can wait for a pipe with a time limit. None is the end.
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._last_words: collections.deque[str] = collections.deque(maxlen=1)
        self._readers = [
            threading.Thread(target=_read_lines, args=(self._process.stdout, self._lines.put), daemon=True),
            threading.Thread(
                target=_read_lines, args=(self._process.stderr, _keep_words(self._last_words)), daemon=True
            ),
        ]
        for reader in self._readers:
            reader.start()
        self.name = " ".join(self.send("name").split())
        self.version = " ".join(self.send("version").split())

    def _read_answer(self, command: str, timeout: float) -> list[str]:
        """The lines of one answer, without the empty line at its end."""
        assert self._process is not None
        deadline = time.monotonic() + timeout
        lines: list[str] = []
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self._fail_stopped(f"{command}: no answer within {timeout:g} s")
            if line is None:
                self._fail_ended(command)
            if line.strip():
                if not lines and line[0] not in "=?":
                    self._fail_stopped(f"{command}: expected a GTP answer, found {line.strip()[:40]!r}")
                lines.append(line.rstrip())
            elif lines:
                return lines

    def _fail_stopped(self, what: str) -> NoReturn:
        """Stop the engine: whatever it says later would be taken for the answer to another command."""
        assert self._process is not None
        self._process.kill()
        self.close()
        raise EngineError(f"{self._label}: {what}")

    def _fail_ended(self, command: str) -> NoReturn:
        process = self._process
        assert process is not None
        self.close()
        words = f"; its last words: {self._last_words[0][:100]}" if self._last_words else ""
        raise EngineError(f"{self._label}: {command}: it ended with status {process.returncode}{words}")


class _Told(NamedTuple):
    """What an engine knows of a game."""

    size: int
    komi: float
    setup: list[tuple[int, int]]
    moves: list[tuple[int, int]]


def _whole(seconds: float) -> int:
    """Seconds as GTP has them: whole ones, no more than there are, but where there are any, some."""
    return max(1, int(seconds)) if seconds else 0


def _color(color: int) -> str:
    return COLOR_NAMES[color].lower()


def _read_lines(pipe: IO[str], put: Callable[[str | None], None]) -> None:
    with pipe:
        for line in pipe:
            put(line)
    put(None)


def _keep_words(kept: collections.deque[str]) -> Callable[[str | None], None]:
    def put(line: str | None) -> None:
        if line and line.strip():
            kept.append(line.strip())

    return put
