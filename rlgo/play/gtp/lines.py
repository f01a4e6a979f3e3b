"""Lines and answers of GTP as text, without what they mean.

Start reading at `split_line`.
"""

from __future__ import annotations

import re


def split_line(line: str) -> tuple[str, list[str]]:
    """Split a line into its id ("" without one) and its words.

    A byte order mark and control characters are dropped (a tab is a space), then the comment (GTP 2, Section 3.1).
    Leading digits are the id, even if no command follows.
    """
    line = line.removeprefix("\ufeff").replace("\t", " ")
    text = "".join(c for c in line if not _is_control(c)).partition("#")[0]
    words = text.split()
    id_ = words.pop(0) if words and re.fullmatch("[0-9]+", words[0]) else ""
    return id_, words


def format_answer(mark: str, id_: str, text: str) -> str:
    """Format an answer: no control characters, and no empty line before the one that ends it."""
    first, *others = printable(text)
    return "\n".join([f"{mark}{id_} {first}".rstrip(), *filter(None, others)]) + "\n\n"


def printable(text: str) -> list[str]:
    """Split a text into lines without control characters."""
    return ["".join(c for c in line if not _is_control(c)).rstrip() for line in text.split("\n")]


def _is_control(c: str) -> bool:
    return c < " " or "\x7f" <= c < "\xa0"


def one_line(text: str) -> str:
    """Join the lines of a text."""
    return text.replace("\n", " ")
