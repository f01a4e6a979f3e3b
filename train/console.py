"""What commands show: messages, progress bars and tables.

Start reading at `table`. Results go to standard output; messages and progress go to standard error. Nothing heavy is
imported until it is needed, such as `tqdm` for the first bar.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from rlgo.base.errors import RlgoError
from rlgo.base.files import unwritable

_T = TypeVar("_T")

_LINE_SECONDS = 30.0  # between two lines of progress where standard error is not a terminal

# ---------------------------------------------------------------------------------------------
# Messages
# ---------------------------------------------------------------------------------------------


def unicode_output() -> bool:
    """Whether standard output can show characters beyond ASCII, such as stones."""
    return (sys.stdout.encoding or "").lower().startswith("utf")


def message(text: str) -> None:
    """Write a message to standard error, above the progress bar if there is one."""
    if "tqdm" in sys.modules:
        from tqdm import tqdm

        tqdm.write(text, file=sys.stderr)
    else:
        print(text, file=sys.stderr, flush=True)


def command(program: str, *arguments: object) -> str:
    """Return a command to type, quoted for the shell: `program` if it is on PATH, else its installed path."""
    found = Path(sys.executable).with_name(program)  # scripts are installed next to the interpreter
    if shutil.which(program) is None and found.is_file():
        here = Path.cwd()
        program = str(found.relative_to(here) if here in found.parents[1:] else found)
    return shlex.join([program, *map(str, arguments)])


@contextlib.contextmanager
def optional_picture() -> Iterator[None]:
    """Report why the block could not draw a picture, such as a missing matplotlib, instead of failing."""
    try:
        yield
    except RlgoError as error:
        message(f"rlgo: no picture: {error}")


class LogFile:
    """A log that is appended to, each line prefixed with the local date and time. Call it with a line.

    Use it as a context manager. A full disk does not end the game that is logged; it is reported once.

    Raises
    ------
    RlgoError : if the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._is_full = path, False
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise unwritable(path, error) from None

    def __call__(self, line: str) -> None:
        """Write a line."""
        try:
            self._file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n".encode("utf-8", "replace"))
        except OSError as error:
            if not self._is_full:
                message(f"rlgo: {unwritable(self._path, error)}; continuing without it")
            self._is_full = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._file.close()


# ---------------------------------------------------------------------------------------------
# Progress
# ---------------------------------------------------------------------------------------------


class Progress:
    """Progress of a piece of work: a bar on a terminal or in a notebook, elsewhere a line every half minute.

    All of it goes to standard error. Use it as a context manager; iterate over `track(items)` to count them.

    Parameters
    ----------
    total : total number of steps
    unit : what is counted, in the plural: "games"
    description : text in front of the bar
    initial : steps already done
    enabled : if false, nothing is shown

    Attributes
    ----------
    n : steps done so far
    """

    def __init__(self, total: int, unit: str, description: str = "", initial: int = 0, *, enabled: bool = True) -> None:
        self.n, self.total, self.unit, self.description = initial, total, unit, description
        self._postfix, self._made = "", -math.inf
        self._make_postfix: Callable[[], str] | None = None
        self._start: tuple[float, int] | None = None  # time and n after the first step, which may have compiled kernels
        self._printed = time.monotonic()
        self._prints_lines = enabled and not _has_bars()
        self._bar = self._make_bar() if enabled and _has_bars() else None

    def _make_bar(self) -> Any:
        if _in_notebook():
            from tqdm.auto import tqdm  # a text bar if the widgets are not installed
        else:
            from tqdm import tqdm
        return tqdm(
            desc=self.description or None,
            total=self.total,
            initial=self.n,
            unit=f" {self.unit}",
            smoothing=0.1,
            dynamic_ncols=True,
            file=sys.stderr,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def track(self, items: Iterable[_T]) -> Iterator[_T]:
        """Iterate over `items`, and count each one as a step once it is finished."""
        for item in items:
            yield item
            self.update()

    def update(self, n: int = 1) -> None:
        """Count `n` more steps."""
        self.n += n
        now = time.monotonic()
        if self._start is None and n > 0:
            self._start, self._printed = (now, self.n), now
            if self._bar is not None:
                self._bar.unpause()  # what came before compiled, which counts towards no rate
        if self._bar is not None:
            self._bar.update(n)
        elif self._prints_lines and now - self._printed >= _LINE_SECONDS:
            self._printed = now
            message(self.line())

    def set_postfix(self, text: str | Callable[[], str]) -> None:
        """Show `text` after the bar.

        Pass a function if the text is slow to make; it is called at most once a second, and at the end.
        """
        self._make_postfix = text if callable(text) else None
        if callable(text):
            now = time.monotonic()
            if now - self._made < 1:
                return
            text, self._made = text(), now
        self._postfix = text
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)

    def close(self) -> None:
        """Close the bar and leave it on screen."""
        if self._bar is not None:
            if self._make_postfix is not None:
                self._bar.set_postfix_str(self._make_postfix(), refresh=False)
            self._bar.close()

    def line(self) -> str:
        """Return the progress as one line of text: ``games: 50 of 200 (25%), 12.5/s, 0:00:12 left``.

        The first step counts towards the number but not the rate, since it may include compilation.
        """
        start, n = self._start or (time.monotonic(), self.n)
        done, seconds = self.n - n, time.monotonic() - start
        percent = 100 * self.n // max(1, self.total)
        parts = [f"{self.description or self.unit}: {self.n:,} of {self.total:,} ({percent}%)"]
        if done > 0 and seconds > 0:
            rate = done / seconds
            left = datetime.timedelta(seconds=round(max(0, self.total - self.n) / rate))
            parts += [f"{rate:,.3g}/s" if rate < 100 else f"{rate:,.0f}/s", f"{left} left"]
        return ", ".join([*parts, *([self._postfix] if self._postfix else [])])


def _in_notebook() -> bool:
    """Whether a Jupyter kernel runs this code; an imported `ipykernel` does not prove it."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


def _has_bars() -> bool:
    return _in_notebook() or sys.stderr.isatty()


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, align: str = "") -> str:
    """Lay out a table in columns that line up, without a newline at the end.

    Parameters
    ----------
    header : names of the columns
    rows : cells; each row as long as the header
    align : "l" or "r" for each column; columns beyond its end are aligned to the left
    """
    lines = [list(map(str, header)), *(list(map(str, row)) for row in rows)]
    align = align.ljust(len(lines[0]), "l")
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    cells = [
        [text.rjust(w) if side == "r" else text.ljust(w) for text, w, side in zip(line, widths, align, strict=True)]
        for line in lines
    ]
    return "\n".join("  ".join(line).rstrip() for line in cells)


def markdown(rows: Sequence[Sequence[str]], align: str = "") -> str:
    """Return a table in Markdown, whose first row is the header, with a newline at the end.

    Cells are not padded, unlike in `table`: a changed result leaves the other lines of a document unchanged.

    align : "l" or "r" for each column; columns beyond its end are aligned to the left
    """
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    rule = ["---:" if side == "r" else "---" for side in align.ljust(len(rows[0]), "l")]
    return "\n".join([lines[0], "|" + "|".join(rule) + "|", *lines[1:]]) + "\n"
