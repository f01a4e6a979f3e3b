"""Saving game records: a file is only replaced by one that holds all that it held.

Start reading at `save_sgf`. What rlgo itself has written about a game may be replaced: a mark in the same node repeats
it, so that nobody else's words are taken for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlgo.base.checks import check
from rlgo.base.decoding import decode
from rlgo.base.errors import RlgoError, printable
from rlgo.base.files import write_atomically
from rlgo.go.sgf import STATED_ENCODING, read_sgf, read_sgf_file

OWN = "RLGO"  # the mark: NAME:VALUE of each property of the node, or line of its comment, that rlgo wrote


def save_sgf(path: str | Path, record: bytes) -> None:
    """Write a game record to a file; one that exists is only replaced if the record holds all that it holds.

    That is: each of its games, with all variations and properties, but for annotations by rlgo and the encoding.

    Raises `RlgoError`, with the file unchanged, if it would lose something, if the record cannot be read, or if the
    file cannot be written.

    >>> import rlgo, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "game.sgf")
    >>> rlgo.save_sgf(path, b"(;SZ[5];B[cc]C[why?])")
    >>> rlgo.save_sgf(path, b"(;SZ[5];B[cc];W[bb])")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    rlgo.base.errors.RlgoError: ...game.sgf: expected another file: this one would lose C[why?]
    """
    check_holds(path, record)
    write_atomically(path, record)


def check_holds(path: str | Path, record: bytes) -> None:
    """Raise RlgoError now if `save_sgf` will refuse to replace a file by this record, or by more."""
    path, places = Path(check("path", path, str | Path)), dict[tuple[int, int], int]()
    read_sgf(check("record", record, bytes))
    old = read_sgf_file(path) if path.is_file() else b""
    try:
        lost = sorted(_contents(old, places) - _contents(record, places)) if old.strip() else []
    except RlgoError as error:
        raise RlgoError(f"{path}: expected another file: this one has {error}") from None
    if lost:
        (_, name, value), n = lost[0], len(lost)
        text = printable(f"{name}[{value.decode()}]") + f" and {n - 1} more" * (n > 1)
        raise RlgoError(f"{path}: expected another file: this one would lose {text}")


def _contents(data: bytes, places: dict[tuple[int, int], int]) -> set[tuple[int, str, bytes]]:
    """Collect (place of a node, property, value) of what a file holds but rlgo has not written; `places` grows."""
    found = set()
    open_ = [(tree, -1, index) for index, tree in enumerate(read_trees(data))]
    while open_:
        tree, place, index = open_.pop()
        for properties in tree.sequence:
            place, index = places.setdefault((place, index), len(places)), 0
            for name, values in without_own(properties).items():
                found |= {(place, name, value) for value in values if name != "CA"}
        others = [child for child in tree.children if not is_own(child)]
        open_ += [(child, place, index) for index, child in enumerate(others)]
    return found


def read_trees(data: bytes) -> list[Any]:
    """Read all games of a file with all variations, as sgfmill's `Coarse_game_tree`; values in UTF-8, as written.

    Raises `RlgoError`, which names it, if the file has anything that the trees would not hold.
    """
    from sgfmill.sgf_grammar import parse_sgf_game, tokenise

    stated = STATED_ENCODING.search(data)
    text = decode(data, stated[1].decode() if stated else "")
    if "\ufffd" in text and text.encode() != data:
        raise RlgoError("a character that no encoding explains")
    trees, rest = [], text.strip("\0 \t\r\n").encode()
    while rest:
        tokens, end = tokenise(rest)
        try:
            if not re.match(rb"\(\s*;", rest) or ("I", b"") in tokens:
                end = 0
            trees.append(parse_sgf_game(rest[:end]))
        except ValueError:
            raise RlgoError(f"what cannot be read strictly: {printable(rest[end:].decode())}") from None
        rest = rest[end:].strip(b"\0 \t\r\n")
    return trees


def is_own(tree: Any) -> bool:
    """Return whether rlgo has added a variation, a `Coarse_game_tree`, and nobody has written anything there."""
    return all(OWN in node and not without_own(node) for node in tree.sequence) and all(map(is_own, tree.children))


def without_own(properties: Mapping[str, list[bytes]]) -> dict[str, list[bytes]]:
    """Return the properties of a node without what rlgo has written there, as long as nobody has changed it."""
    found = {name: list(values) for name, values in properties.items() if name != OWN}
    for mark in properties.get(OWN, []):
        name, _, ours = mark.partition(b":")
        *others, last = found.pop(name.decode(), [ours])
        lines = last.split(b"\n")
        if ours in (plain := [line.strip() for line in reversed(lines)]):
            del lines[~plain.index(ours)]
        found |= {name.decode(): [*others, b"\n".join(lines)]} if others or lines else {}
    return found
