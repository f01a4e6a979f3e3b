"""Openings of matches: balanced ones from a file, random ones, or the empty board.

Start reading at `find_openings`. The shipped openings are balanced: a judge gives each side a fair chance
(`make_openings.py`). From random ones, one side has often won already, so that both games of a pair go to the same
colour and say nothing about the players.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError, shown
from rlgo.base.files import read_text, user_path
from rlgo.base.resources import checkpoints_dir
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_OPENING_PLIES
from rlgo.compiler.jit import seed_sequence
from rlgo.features.windows import move_point
from rlgo.go.board import PASS
from rlgo.go.coords import from_row_col, from_vertex, to_row_col
from rlgo.go.game import Game
from rlgo.play.player import random_move
from train.checksums import verify

BALANCED, TUNING, EMPTY = "balanced", "balanced-tuning", "empty"
RANDOM_OPENINGS = f"random:{DEFAULT_OPENING_PLIES}"
SYMMETRIES = range(8)  # see `rlgo.features.windows`
FORMAT, VERSION = "rlgo-openings", 1
NO_MOVE = -1  # fills the rows of `Openings.array` after the end of an opening
_RANDOM = re.compile(r"random:(\d{1,9})")
_WORDS = f"{BALANCED}, {TUNING}, random:N, {EMPTY} or a file of openings"


class Opening(NamedTuple):
    """An opening of a file.

    Attributes
    ----------
    moves : points, or PASS; Black moves first
    value : P(Black wins) as the judge reports it; NaN: not known
    chance : `value`, calibrated (`rlgo.play.calibration`); the band refers to it
    number : of the candidate, from 1; 0: not known
    """

    moves: tuple[int, ...]
    value: float = math.nan
    chance: float = math.nan
    number: int = 0


class Openings(NamedTuple):
    """Where the games of a match begin.

    Attributes
    ----------
    name : as in `find_openings`
    size : of the board
    plies : moves of a random opening, or of the longest one in a file
    listed : the openings of a file; (): random ones
    path : the file, or None
    """

    name: str
    size: int
    plies: int
    listed: tuple[tuple[int, ...], ...] = ()
    path: Path | None = None

    def sequence(self, seed: int | np.random.SeedSequence) -> Iterator[tuple[int, ...]]:
        """Yield an endless sequence of openings, the same for the same seed.

        The openings of a file come in random order, each in a random one of its eight symmetric positions. Once all
        have been played, they come again, in another order.
        """
        own = seed_sequence(seed)
        rng = np.random.default_rng(np.random.SeedSequence(own.entropy, spawn_key=(*own.spawn_key, 0)))
        while True:
            if not self.listed:
                yield tuple(_random_opening(self.size, self.plies, rng))
                continue
            for i in rng.permutation(len(self.listed)):
                yield moved(int(rng.integers(8)), self.listed[i], self.size)

    def first(self, n: int, seed: int | np.random.SeedSequence) -> list[tuple[int, ...]]:
        """Return the first n openings of `sequence`."""
        return list(itertools.islice(self.sequence(seed), n))

    def array(self, n: int, seed: int | np.random.SeedSequence) -> np.ndarray | int:
        """Return the first n openings for compiled games (`rlgo.play_fast`): int64[n, plies], or the number of plies.

        Compiled code makes its own random openings, which are not those of `sequence`.
        """
        if not self.listed:
            return self.plies
        rows = np.full((n, self.plies), NO_MOVE, np.int64)
        for row, moves in zip(rows, self.first(n, seed), strict=True):
            row[: len(moves)] = moves
        return rows


def _random_opening(size: int, plies: int, rng: np.random.Generator) -> list[int]:
    """Return uniformly random sensible moves from the empty board; a pass if there is none."""
    game = Game(size)
    for _ in range(plies):
        game.play(random_move(game, rng))
    return [p for _, p in game.moves]


# ---------------------------------------------------------------------------------------------
# Names
# ---------------------------------------------------------------------------------------------


def find_openings(name: str, size: int, komi: float, max_moves: int | None = None) -> Openings:
    """Find the openings that a user names.

    Parameters
    ----------
    name : ``balanced``, the shipped openings; ``balanced-tuning``, others of the same kind, for choosing settings;
        ``random:N``, N uniformly random sensible moves; ``empty``; or a file (`read_openings`). "" stands for
        `default_openings`.
    size, komi : of the games
    max_moves : plies, including the opening, after which a game is scored as it stands; None: no such limit

    Raises
    ------
    RlgoError : for anything else, for a size or komi without balanced openings, and for openings that leave too little
        of a game.

    >>> find_openings("balanced", 9, 7.5).plies
    4
    """
    name = check("openings", name, str) or default_openings(size, komi)
    found = _find(name, size, komi)
    most = size * size // 2
    if found.plies > most:
        raise RlgoError(f"openings = {name}: expected at most {most} moves on {size}x{size}, half its points")
    if max_moves is not None and max_moves <= found.plies:
        raise RlgoError(f"max_moves = {max_moves}: expected more than the {found.plies} moves of the opening")
    return found


def with_openings(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the header of results with the name of their openings, which were all random at first."""
    plies = header.get("opening_plies")
    return {**({} if plies is None else {"openings": f"random:{plies}"}), **header}


def _find(name: str, size: int, komi: float) -> Openings:
    """Find openings by name, of any length."""
    if name == EMPTY:
        return Openings(name, size, 0)
    if match := _RANDOM.fullmatch(name):
        return Openings(name, size, int(match[1]))
    if name in (BALANCED, TUNING):
        if not _is_shipped(size, komi):
            sizes = " and ".join(f"{n}x{n}" for n in shipped_sizes())
            raise RlgoError(f"openings = {name}: expected {sizes} with komi {DEFAULT_KOMI:g}, or random:N or {EMPTY}")
        path = _shipped(name, size)
    else:
        path = user_path(name)
        if not path.is_file():
            raise RlgoError(f"openings = {shown(name)}: expected {_WORDS}")
    listed = _moves_of(path, path.stat().st_mtime_ns, size)
    return Openings(name, size, max(map(len, listed)), listed, path)


def default_openings(size: int, komi: float) -> str:
    """Return the name of the openings of games where nothing else is said: balanced ones where they are shipped."""
    return BALANCED if _is_shipped(size, komi) else RANDOM_OPENINGS


def _is_shipped(size: int, komi: float) -> bool:
    """Whether there are balanced openings for a size and komi."""
    return komi == DEFAULT_KOMI and size in shipped_sizes()


@cache
def shipped_sizes() -> tuple[int, ...]:
    """Return the board sizes with shipped balanced openings, ascending."""
    found = (checkpoints_dir() / "openings").glob(f"*-{BALANCED}.jsonl")
    return tuple(sorted(int(path.name.partition("x")[0]) for path in found))


def _shipped(name: str, size: int) -> Path:
    """Return the file of shipped openings."""
    return checkpoints_dir() / "openings" / f"{size}x{size}-{name}.jsonl"


# ---------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------


def read_openings(path: Path, size: int) -> list[Opening]:
    """Read a file of openings.

    It is either one that `rlgo openings make` wrote, or a plain text: an opening a line, its moves as vertices
    (``B4 B3 E4 F3``), Black first. In a plain text, lines that begin with # and what follows a tab are ignored.

    Raises
    ------
    RlgoError : naming the line, for a damaged file, another board size, and an illegal or missing move.
    """
    lines = read_text(path).splitlines()
    if lines and lines[0].startswith("{"):
        return read_made(path, lines, size)[1]
    found = []
    for number, text in enumerate(lines, 1):
        if text.strip() and not text.startswith("#"):
            found.append(Opening(_parsed(text.partition("\t")[0], size, f"{path}, line {number}")))
    if not found:
        raise RlgoError(f"{path}: expected openings, one a line: B4 B3 E4 F3")
    return found


def read_made(path: Path, lines: Sequence[str], size: int) -> tuple[dict[str, object], list[Opening]]:
    """Read the lines of a file that `rlgo openings make` wrote: its header, and its openings."""
    try:
        header = verify(json.loads(lines[0]))
        if (header["format"], header["version"]) != (FORMAT, VERSION):
            raise ValueError
    except (ValueError, KeyError, IndexError):
        raise RlgoError(f"{path}: damaged, or not a file of openings of this version of rlgo") from None
    if header["size"] != size:
        raise RlgoError(f"{path}: openings for {header['size']}x{header['size']}: expected {size}x{size}")
    found = []
    for number, line in enumerate(lines[1:], 2):
        place = f"{path}, line {number}"
        try:
            data = verify(json.loads(line))
            text, value, chance, candidate = data["moves"], data["value"], data["chance"], data["number"]
        except (ValueError, KeyError):
            raise RlgoError(f"{place}: damaged, or not an opening") from None
        found.append(Opening(_parsed(text, size, place), value, chance, candidate))
    return header, found


def _parsed(text: str, size: int, place: str) -> tuple[int, ...]:
    """Read the moves of an opening, and check that they are legal."""
    game = Game(size)
    for word in text.split():
        try:
            game.play(from_vertex(word, size))
        except RlgoError as error:
            raise RlgoError(f"{place}: {error}") from None
    if not game.moves or game.is_over():
        raise RlgoError(f"{place}: expected an opening, such as B4 B3 E4 F3")
    return tuple(p for _, p in game.moves)


@lru_cache(maxsize=8)
def _moves_of(path: Path, changed: int, size: int) -> tuple[tuple[int, ...], ...]:  # noqa: ARG001 - a cache key
    """Return the moves of all openings of a file. RlgoError if it has none."""
    found = tuple(opening.moves for opening in read_openings(path, size))
    if not found:
        raise RlgoError(f"{path}: has no openings yet")
    return found


# ---------------------------------------------------------------------------------------------
# Symmetries
# ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 14)  # the images of all listed openings: long matches play each of them many times
def moved(g: int, moves: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return where symmetry g takes some moves."""
    return tuple(p if p == PASS else from_row_col(*move_point(g, *to_row_col(p, size), size), size) for p in moves)


def position_key(moves: Sequence[int], size: int) -> tuple[tuple[int, ...], ...]:
    """Return a key that openings share if they lead to the same position, up to symmetry."""
    game = Game(size)
    for p in moves:
        game.play(p)
    stones = [tuple(p for p, c in enumerate(game.board.color.tolist()) if c == color) for color in (1, 2)]
    return min(tuple(tuple(sorted(moved(g, points, size))) for points in stones) for g in SYMMETRIES)
