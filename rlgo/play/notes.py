"""Notes on standard error: one line for people, or the traceback of a bug."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator

from rlgo.base.errors import RlgoError


def print_note(text: str) -> None:
    """Print a line on standard error, if it is still writable."""
    with contextlib.suppress(OSError, ValueError):
        print(f"rlgo: {text}", file=sys.stderr)


def print_bug() -> None:
    """Print the traceback of the current exception on standard error, if it is still writable."""
    with contextlib.suppress(OSError, ValueError):
        traceback.print_exc(file=sys.stderr)


@contextlib.contextmanager
def bugs_as_errors() -> Iterator[None]:
    """Turn a bug in a player into an RlgoError, and print the traceback."""
    try:
        yield
    except (RlgoError, BrokenPipeError):  # the reader of the reports is gone
        raise
    except Exception as error:
        print_bug()
        raise RlgoError(f"internal error: {type(error).__name__}: {error}") from error
