"""Planes: positions as the input of a convolutional network.

Start reading at `planes`, then `PLANE_KINDS`, the table of all kinds of planes. A new kind is a kernel and an entry of
the table. Everything is seen by the side to play: its own stones come first, komi counts for it or against it. Kernels
are compiled when they are first used.

The set of AlphaGo Zero is that of Silver et al. 2017, "Mastering the game of Go without human knowledge", Methods,
"Neural network architecture"; liberties, last moves and ladders are like those of Silver et al. 2016, "Mastering the
game of Go with deep neural networks and tree search", Extended Data Table 2.
"""

# ruff: noqa: ARG001 - the kernels of a table take the same arguments

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.errors import RlgoError, shown
from rlgo.compiler.jit import by_type, compiling, njit
from rlgo.go.board import BLACK, BORDER, EMPTY, breathes, last_liberty
from rlgo.go.positions import HISTORY, PositionArrays, Positions, may_play, new_positions
from rlgo.go.rules import n_points, zobrist
from rlgo.moves.ladders import LadderScratch, escapes_by, is_caught_by, liberties_of, new_ladder_scratch

KOMI_UNIT = 20.0  # points of komi that are 1 on the plane `komi`
LIBERTY_CLASSES = 4  # 1, 2, 3, and 4 or more
RECENT = 2  # moves on the planes `recent_moves`
N_SYMMETRIES = 8  # of a square; numbered as in `features/windows.py`
_DTYPES = (np.float32, np.uint8)


class PlaneTools(NamedTuple):
    """Constants and scratch of the kernels.

    Attributes
    ----------
    zobrist : uint64[3, P]
    ladders : `LadderScratch`
    marks : int64[P], the last chain that a point was counted for
    """

    zobrist: np.ndarray
    ladders: LadderScratch
    marks: np.ndarray


def new_plane_tools(size: int) -> PlaneTools:
    """Make the constants and scratch of one thread, for one board size."""
    return PlaneTools(zobrist(size), new_ladder_scratch(size), np.zeros(n_points(size), np.int64))


# ---------------------------------------------------------------------------------------------
# Kernels. Each writes the planes of one kind, of all positions:
#
#   arrays : `PositionArrays` of n positions
#   first, out : the planes are out[:, first], out[:, first + 1], ..., of an array [n, planes, size, size]
#   tools : `PlaneTools`
# ---------------------------------------------------------------------------------------------


@njit
def write_stones(arrays, first, out, tools):
    """Write the own stones and the opponent's."""
    _write_stones_before(arrays, 0, first, out)


@njit
def write_history(arrays, first, out, tools):
    """Write the stones of the plies before, as `write_stones` does."""
    for ago in range(1, HISTORY):
        _write_stones_before(arrays, ago, first + 2 * ago - 2, out)


@njit
def _write_stones_before(arrays, ago, first, out):
    """Write two planes: own stones so many plies ago, and the opponent's."""
    size = out.shape[2]
    for i in range(out.shape[0]):
        own = arrays.boards[i].to_play
        for row in range(size):
            p = (row + 1) * (size + 1) + 1
            for col in range(size):
                c = arrays.stones[i, ago, np.uint64(p + col)]
                out[i, first, row, col] = c == own
                out[i, first + 1, row, col] = c == 3 - own


@njit
def write_color(arrays, first, out, tools):
    """Mark all points if Black is to play."""
    for i in range(out.shape[0]):
        out[i, first] = arrays.boards[i].to_play == BLACK


@njit
def write_ones(arrays, first, out, tools):
    """Mark all points."""
    out[:, first] = 1


@njit
def write_komi(arrays, first, out, tools):
    """Write komi on all points, as the side to play sees it."""
    for i in range(out.shape[0]):
        sign = -1.0 if arrays.boards[i].to_play == BLACK else 1.0
        out[i, first] = sign * arrays.komi[i] / KOMI_UNIT


@njit
def write_liberties(arrays, first, out, tools):
    """Mark the stones of chains with 1, 2, 3, and 4 or more liberties."""
    stride, marks = out.shape[2] + 1, tools.marks
    marks[:] = 0
    chain = 0
    for i in range(out.shape[0]):
        b = arrays.boards[i]
        out[i, first : first + LIBERTY_CLASSES] = 0
        for p in range(b.color.shape[0]):
            c = b.color[p]
            if c in (EMPTY, BORDER) or b.chain[p] != p:
                continue
            chain += 1
            n = 0
            stone = np.int64(p)
            while True:
                for q in (stone - stride, stone - 1, stone + 1, stone + stride):
                    if b.color[np.uint64(q)] == EMPTY and marks[np.uint64(q)] != chain:
                        marks[np.uint64(q)] = chain
                        n += 1
                stone = np.int64(b.next[np.uint64(stone)])
                if stone == p:
                    break
            plane = first + min(n, LIBERTY_CLASSES) - 1
            while True:
                out[i, plane, stone // stride - 1, stone % stride - 1] = 1
                stone = np.int64(b.next[np.uint64(stone)])
                if stone == p:
                    break


@njit
def write_ko(arrays, first, out, tools):
    """Mark empty points where simple ko or superko forbids a stone."""
    size = out.shape[2]
    for i in range(out.shape[0]):
        b = arrays.boards[i]
        for row in range(size):
            for col in range(size):
                p = (row + 1) * (size + 1) + col + 1
                is_empty = b.color[np.uint64(p)] == EMPTY and breathes(b, p, b.to_play)
                out[i, first, row, col] = is_empty and not may_play(arrays, i, p, tools.zobrist)


@njit
def write_legal(arrays, first, out, tools):
    """Mark legal points."""
    size = out.shape[2]
    for i in range(out.shape[0]):
        for row in range(size):
            for col in range(size):
                out[i, first, row, col] = may_play(arrays, i, (row + 1) * (size + 1) + col + 1, tools.zobrist)


@njit
def write_last_moves(arrays, first, out, tools):
    """Mark all moves that a position remembers."""
    _mark_moves(arrays, HISTORY, first, out)


@njit
def write_recent_moves(arrays, first, out, tools):
    """Mark the last moves."""
    _mark_moves(arrays, RECENT, first, out)


@njit
def _mark_moves(arrays, n, first, out):
    """Mark the last n moves, the latest first; passes leave their planes empty."""
    size = out.shape[2]
    for i in range(out.shape[0]):
        out[i, first : first + n] = 0
        for k in range(n):
            p = np.int64(arrays.moves[i, k])
            if p > 0:
                out[i, first + k, p // (size + 1) - 1, p % (size + 1) - 1] = 1


@njit
def write_ladders(arrays, first, out, tools):
    """Mark the moves that catch chains in ladders, and those that save own chains in atari."""
    stride, zobrist, scratch = out.shape[2] + 1, tools.zobrist, tools.ladders
    for i in range(out.shape[0]):
        b = arrays.boards[i]
        out[i, first : first + 2] = 0
        for stone in range(b.color.shape[0]):
            c = b.color[stone]
            if c in (EMPTY, BORDER) or b.chain[stone] != stone:
                continue
            n, one, two = liberties_of(b, stone)
            if c != b.to_play and n == 2:
                for p in (one, two):
                    if may_play(arrays, i, p, zobrist) and is_caught_by(b, stone, p, one + two - p, scratch, zobrist):
                        out[i, first, p // stride - 1, p % stride - 1] = 1
            elif c == b.to_play and n == 1:
                _mark_escapes(arrays, i, stone, out[i, first + 1], tools)


@njit
def _mark_escapes(arrays, i, stone, marked, tools):
    """Mark what saves a chain in atari: its liberty, or the last liberty of an enemy chain, which is captured."""
    b = arrays.boards[i]
    stride = marked.shape[0] + 1
    for other in range(b.color.shape[0]):
        c = b.color[other]
        if other != stone and (c != 3 - b.to_play or b.chain[other] != other):
            continue
        p = last_liberty(b, other)
        if p and may_play(arrays, i, p, tools.zobrist) and escapes_by(b, stone, p, tools.ladders, tools.zobrist):
            marked[p // stride - 1, p % stride - 1] = 1


# ---------------------------------------------------------------------------------------------
# The table of kinds
# ---------------------------------------------------------------------------------------------


class PlaneKind(NamedTuple):
    """A kind of planes.

    Attributes
    ----------
    write : its kernel
    names : what each of its planes shows
    history : how many positions it looks back, the current one included
    sees_superko : it depends on the positions that superko forbids
    is_binary : all numbers are 0 or 1
    """

    write: Callable[[PositionArrays, int, np.ndarray, PlaneTools], None]
    names: tuple[str, ...]
    history: int = 1
    sees_superko: bool = False
    is_binary: bool = True


_AGO = [f"{k} {'ply' if k == 1 else 'plies'} ago" for k in range(1, HISTORY)]
_STONES = tuple(f"{side} stones {k}" for k in _AGO for side in ("own", "the opponent's"))
_LIBERTIES = ("1 liberty", "2 liberties", "3 liberties", "4 or more liberties")
_MOVES = ("the last move", *(f"the move {k}" for k in _AGO))
_LADDERS = (
    "moves that catch an opponent's chain of two liberties in a ladder",
    "moves that save an own chain in atari: no ladder catches it",
)
_KOMI = f"komi / {KOMI_UNIT:g} everywhere, positive if White is to play, negative if Black is"

PLANE_KINDS: dict[str, PlaneKind] = {
    "stones": PlaneKind(write_stones, ("own stones", "the opponent's stones")),
    "history": PlaneKind(write_history, _STONES, history=HISTORY),
    "color": PlaneKind(write_color, ("1 everywhere if Black is to play",)),
    "ones": PlaneKind(write_ones, ("1 everywhere",)),
    "liberties": PlaneKind(write_liberties, tuple(f"chains with {n}" for n in _LIBERTIES)),
    "ko": PlaneKind(write_ko, ("empty points where simple ko or superko forbids a stone",), sees_superko=True),
    "legal": PlaneKind(write_legal, ("legal points",), sees_superko=True),
    "last_moves": PlaneKind(write_last_moves, _MOVES, history=HISTORY),
    "recent_moves": PlaneKind(write_recent_moves, _MOVES[:RECENT], history=RECENT),
    "ladders": PlaneKind(write_ladders, _LADDERS, sees_superko=True),
    "komi": PlaneKind(write_komi, (_KOMI,), is_binary=False),
}
SETS: dict[str, tuple[str, ...]] = {"alphago_zero": ("stones", "history", "color")}
Kinds = str | Sequence[str]


# ---------------------------------------------------------------------------------------------
# For Python
# ---------------------------------------------------------------------------------------------


def kinds_of(kinds: Kinds) -> tuple[str, ...]:
    """Return the kinds of planes that `planes` takes, sets written out. RlgoError for an unknown one, or none."""
    given = (kinds,) if isinstance(kinds, str) else tuple(kinds) if isinstance(kinds, Sequence) else ()
    found: list[str] = []
    for kind in given:
        if not isinstance(kind, str) or (kind not in PLANE_KINDS and kind not in SETS):
            raise RlgoError(f"kinds = {shown(kind)}: expected one of {', '.join((*SETS, *PLANE_KINDS))}")
        found += SETS.get(kind, (kind,))
    if not found:
        raise RlgoError(f"kinds = {shown(kinds)}: expected a kind of planes, or a list of them")
    return tuple(found)


def history_of(kinds: Sequence[str]) -> int:
    """Return how many positions these kinds look back, the current one included."""
    return max(PLANE_KINDS[kind].history for kind in kinds)


def see_superko(kinds: Sequence[str]) -> bool:
    """Return whether any of these kinds depends on the positions that superko forbids."""
    return any(PLANE_KINDS[kind].sees_superko for kind in kinds)


def plane_dtype(dtype: Any, kinds: Sequence[str]) -> np.dtype:
    """Return the dtype of planes of some kinds. RlgoError for one that cannot hold them."""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise RlgoError(f"dtype = {shown(dtype)}: expected float32 or uint8") from None
    if kind not in _DTYPES:
        raise RlgoError(f"dtype = {kind}: expected float32 or uint8")
    numbers = [name for name in kinds if not PLANE_KINDS[name].is_binary]
    if kind == np.uint8 and numbers:
        raise RlgoError(f"kinds = {numbers[0]} cannot be combined with dtype = uint8")
    return kind


def plane_names(kinds: Kinds = "alphago_zero") -> list[str]:
    """List what each plane shows, in the order in which `planes` returns them.

    >>> import rlgo
    >>> rlgo.plane_names(["stones", "color"])
    ['own stones', "the opponent's stones", '1 everywhere if Black is to play']
    >>> len(rlgo.plane_names("alphago_zero"))
    17
    """
    return [name for kind in kinds_of(kinds) for name in PLANE_KINDS[kind].names]


def planes(
    positions: Any, kinds: Kinds = "alphago_zero", *, dtype: Any = np.float32, out: np.ndarray | None = None
) -> np.ndarray:
    """Encode positions as planes, from the view of the side to play.

    Parameters
    ----------
    positions : `Positions`, a `Game`, a board, or a list of games or boards of one size
    kinds : kinds of planes, in order: keys of `rlgo.features.planes.PLANE_KINDS`, or ``alphago_zero``, which stands for
        stones, history and color
    dtype : float32, or uint8 for a quarter of the memory (without the kind komi)
    out : write here, an array of the right shape and dtype, C-contiguous; default: a new one

    Returns
    -------
    dtype[n, planes, size, size]; row 0 is the bottom row, as A1 is (0, 0). `plane_names` tells what each plane shows.

    Raises
    ------
    RlgoError : for an unknown kind, positions with too little history, or an `out` that does not fit

    >>> import rlgo
    >>> game = rlgo.Game(9)
    >>> game.play("E5")
    >>> x = rlgo.planes(game)
    >>> x.shape, x.dtype.name
    ((1, 17, 9, 9), 'float32')
    >>> x[0, 1, 4, 4].item(), x[0, 16].max().item()  # the opponent's stone; White is to play
    (1.0, 0.0)
    """
    given = positions if isinstance(positions, Positions) else Positions.of(positions)
    names = kinds_of(kinds)
    kind = plane_dtype(dtype, names)
    if given.history < (needed := history_of(names)):
        raise RlgoError(f"positions with a history of {given.history}: expected {needed}")
    shape = (len(given), len(plane_names(names)), given.size, given.size)
    if out is None:
        out = np.empty(shape, kind)
    elif out.shape != shape or out.dtype != kind or not out.flags.c_contiguous:
        raise RlgoError(f"out = {out.dtype}{list(out.shape)}: expected {kind}{list(shape)}, C-contiguous")
    _compile(names, given.size, kind)
    plane_writer(names)(given.arrays, out, _tools_of(given.size, threading.get_ident()))
    return out


@cache
def _compile(kinds: tuple[str, ...], size: int, dtype: np.dtype) -> None:
    none = np.zeros((0, len(plane_names(kinds)), size, size), dtype)
    with compiling(f"planes, {size}x{size} {dtype.name}"):
        plane_writer(kinds)(new_positions(0, size), none, new_plane_tools(size))


@cache
def plane_writer(kinds: tuple[str, ...]) -> Any:
    """Return a function (arrays, out, tools) that writes planes of some kinds, for Python and for compiled code."""
    before = plane_writer(kinds[:-1]) if len(kinds) > 1 else None
    write, names = PLANE_KINDS[kinds[-1]].write, PLANE_KINDS[kinds[-1]].names
    first = len(plane_names(kinds)) - len(names)

    def write_planes(arrays, out, tools):
        if before is not None:
            before(arrays, out, tools)
        write(arrays, first, out, tools)

    @by_type(write_planes)
    def _compiled(arrays, out, tools):
        return write_planes

    return write_planes


@cache
def _tools_of(size: int, thread: int) -> PlaneTools:
    """Return the tools of a thread: to make them takes several times as long as most planes."""
    return new_plane_tools(size)


# ---------------------------------------------------------------------------------------------
# Symmetries
# ---------------------------------------------------------------------------------------------


def apply_symmetry(values: np.ndarray, symmetry: Any, *, inverse: bool = False) -> np.ndarray:
    """Turn and reflect planes, ownership or policies by symmetries of the square.

    Parameters
    ----------
    values : [n, planes, size, size], [n, size, size], or [n, size * size + 1], whose last column, the pass, stays
    symmetry : 0 to 7, or an integer for each of the n; bit 0 flips the rows, bit 1 flips the columns, and then bit 2
        transposes
    inverse : apply the inverse symmetry

    Returns
    -------
    a new array like `values`

    Raises
    ------
    RlgoError : for another shape, or a symmetry out of range

    >>> import numpy as np, rlgo
    >>> planes = np.arange(50.0).reshape(1, 2, 5, 5)
    >>> turned = rlgo.apply_symmetry(planes, 6)
    >>> turned[0, 0, 0].tolist()  # the last column has become the bottom row
    [4.0, 9.0, 14.0, 19.0, 24.0]
    >>> bool((rlgo.apply_symmetry(turned, 6, inverse=True) == planes).all())
    True
    """
    values = np.asarray(values)
    n = len(values) if values.ndim else 0
    n_board = int(np.prod(values.shape[-2:])) if values.ndim > 2 else values.shape[-1] - 1 if values.ndim == 2 else 0
    size = round(n_board**0.5) if n_board > 0 else 0
    if values.ndim not in (2, 3, 4) or size**2 != n_board or (values.ndim > 2 and values.shape[-1] != size):
        raise RlgoError(f"values of shape {list(values.shape)}: expected [n, planes, size, size], or policies")
    given = np.asarray(symmetry)
    if given.dtype.kind not in "iu" or given.shape not in ((), (n,)) or ((given < 0) | (given >= N_SYMMETRIES)).any():
        raise RlgoError(f"symmetry = {shown(symmetry)}: expected 0 to 7, or as many of them as values")
    g = np.broadcast_to(given, (n,)).astype(np.int64)
    if inverse:
        g = np.where(g & 4, 4 | (g & 1) << 1 | (g & 2) >> 1, g)
    out = np.array(values, order="C")
    boards, turned = (a[:, :-1].reshape(n, size, size) if a.ndim == 2 else a for a in (values, out))
    for k in np.unique(g):
        moved = boards[g == k]
        moved = moved[..., ::-1, :] if k & 1 else moved
        moved = moved[..., ::-1] if k & 2 else moved
        turned[g == k] = moved.swapaxes(-1, -2) if k & 4 else moved
    return out
