"""A program that speaks GTP, for stress tests; it shares no code with rlgo's own client. See `GtpProcess`."""

from __future__ import annotations

import collections
import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")


class GtpProcess:
    """A program and its pipes.

    Attributes
    ----------
    seconds : how long its last answer took
    """

    def __init__(self, command: Sequence[str], patience: float = 1800.0) -> None:
        """Start it. It is killed if an answer takes longer than `patience` seconds."""
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._in: Any = self._process.stdin
        self._out: Any = self._process.stdout
        self._errors: collections.deque[bytes] = collections.deque(maxlen=200)
        self._reader = threading.Thread(target=lambda: self._errors.extend(self._process.stderr or ()), daemon=True)
        self._reader.start()
        self._patience = patience
        self.seconds = 0.0

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._in.write(data)
        self._in.flush()

    def read(self) -> bytes:
        """Return the next answer, with the empty line that ends it. EOFError if the program ends or is killed."""
        watch = threading.Timer(self._patience, self._process.kill)
        watch.start()
        try:
            answer = b""
            while not answer.endswith(b"\n\n"):
                line = self._out.readline()
                if not line:
                    raise EOFError(f"it ended: {self.errors()[-300:]}")
                answer += line
            return answer
        finally:
            watch.cancel()

    def ask(self, line: str) -> str:
        """Send a command and return the text of its answer. ValueError if it fails."""
        began = time.monotonic()
        self.write(line.encode() + b"\n")
        answer = self.read().decode()
        self.seconds = time.monotonic() - began
        if not answer.startswith("="):
            raise ValueError(f"{line}: {answer.strip()}")
        return answer[1:].strip()

    def errors(self) -> str:
        """Return the last lines of its standard error."""
        return b"".join(self._errors).decode("utf-8", "replace")

    def cpu_seconds(self) -> float:
        """Return the CPU time it has used."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory_mb(self) -> float:
        """Return its resident memory."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def crashed(self) -> bool:
        """Whether a signal has ended it. For a program that has closed its output: it gets a second to end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(1) < 0
        return False

    def close(self) -> int:
        """End it, and return its exit status."""
        with contextlib.suppress(OSError):
            self.write(b"quit\n")
        try:
            status = self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._reader.join(5)
        with contextlib.suppress(OSError):
            self._in.close()
        self._out.close()
        return status
