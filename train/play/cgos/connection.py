"""Lines to and from the server, and the log that shows them."""

from __future__ import annotations

import contextlib
import select
import socket
import sys
import time
from typing import TextIO

from rlgo.base.errors import RlgoError
from rlgo.base.files import user_path
from train.play.cgos.messages import Lost

CONNECT_TIMEOUT = 30.0  # seconds

_MAX_LINE = 100_000  # bytes; the setup line of the longest game has about 10,000
_MAX_LOGGED = 500  # characters of a line


class Log:
    """Writes each line, with the time and its direction, to standard error and a file. Hides the password."""

    def __init__(self, path: str, secret: str) -> None:
        """Open the file, unless `path` is empty. RlgoError if it cannot be written."""
        self._secret = secret
        self._file: TextIO | None = None
        if path:
            try:
                self._file = user_path(path).open("a", encoding="utf-8")
            except OSError as error:
                raise RlgoError(f"log = {path}: expected a file that can be written: {error.strerror}") from None

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()

    def censor(self, words: str) -> str:
        """Make text from outside fit for the log: no password, no control characters, not too long."""
        # The order matters: no step may reassemble the password, or cut it in two.
        printable = "".join(c if c.isprintable() else "?" for c in words)
        public = printable.replace(self._secret, "***")
        return public if len(public) <= _MAX_LOGGED else public[: _MAX_LOGGED - 3] + "..."

    def received(self, line: str) -> None:
        """Log a line from the server."""
        self._write("<", line)

    def sent(self, line: str) -> None:
        """Log a line to the server."""
        self._write(">", line)

    def note(self, words: str) -> None:
        """Log a message from the client itself."""
        self._write("-", words)

    def _write(self, direction: str, words: str) -> None:
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {direction} {self.censor(words)}"
        for sink in (sys.stderr, self._file):
            # A full disk, a closed terminal or Ctrl-C at this point must not end a game.
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                if sink is not None:
                    print(line, file=sink, flush=True)


class Connection:
    """A connection to the server. Any failure raises `Lost`.

    Attributes
    ----------
    asked_password, logged_in, game_sent : how far the login has progressed
    """

    def __init__(self, host: str, port: int, timeout: float, log: Log) -> None:
        """Connect.

        timeout : seconds of silence after which the connection counts as lost
        """
        self.asked_password = False
        self.logged_in = False
        self.game_sent = False
        self._timeout = timeout
        self._log = log
        self._buffer = b""
        self._ended = False
        try:
            self._socket = socket.create_connection((host, port), CONNECT_TIMEOUT)
        except (OSError, UnicodeError) as error:  # UnicodeError: not a valid host name
            raise Lost(f"cannot connect: {getattr(error, 'strerror', None) or error}") from None
        self._socket.settimeout(timeout)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # our clock runs
        self._last = time.monotonic()  # of the last traffic in either direction
        self._begun = self._last  # of the first bytes of a line that is not complete

    def read(self) -> str:
        """Wait for the next line, and return it without its end."""
        while b"\n" not in self._buffer:
            if len(self._buffer) > _MAX_LINE or (self._buffer and time.monotonic() > self._begun + self._timeout):
                raise Lost("the server sends a line without an end")
            if self._ended:
                raise Lost("the server closed the connection")
            # In slices: not every system lets Ctrl-C interrupt a wait.
            while not self._readable(min(1.0, self._timeout)):
                if time.monotonic() > self._last + self._timeout:
                    raise Lost(f"no word from the server for {self._timeout:g} s")
            try:
                data = self._socket.recv(65_536)
            except OSError as error:
                raise Lost(f"the connection broke: {error.strerror or error}") from None
            self._last = time.monotonic()
            self._begun = self._begun if self._buffer else self._last
            self._ended = not data
            # The last line may come without an end.
            self._buffer += data if data or not self._buffer else b"\n"
        line, _, self._buffer = self._buffer.partition(b"\n")
        words = line.decode("utf-8", "replace").strip()
        self._log.received(words)
        return words

    def has_news(self) -> bool:
        """Return whether `read` would return, or fail, at once."""
        if b"\n" in self._buffer or self._ended or time.monotonic() > self._last + self._timeout:
            return True
        return self._readable(0.0)

    def send(self, line: str) -> None:
        """Send a line."""
        self._log.sent(line)
        try:
            self._socket.sendall(f"{line}\n".encode())
        except OSError as error:
            raise Lost(f"the connection broke: {error.strerror or error}") from None
        self._last = time.monotonic()

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def _readable(self, wait: float) -> bool:
        """Wait for data, at most `wait` seconds. An error counts as data, because `recv` will report it."""
        try:
            return bool(select.select([self._socket], [], [], wait)[0])
        except (OSError, ValueError):
            return True
