"""Planes: positions as the input of a convolutional network.

Start reading at `planes`; `PLANES` lists every kind of plane. Everything is seen by the side to play: its own stones
come first, komi counts for it or against it. Each kind has its own kernel, which nobody compiles who does not use it.

The set of AlphaGo Zero is that of Silver et al. 2017, "Mastering the game of Go without human knowledge", Methods,
"Neural network architecture"; liberties, last moves and ladders are like those of Silver et al. 2016, "Mastering the
game of Go with deep neural networks and tree search", Extended Data Table 2.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.errors import RlgoError, shown
from rlgo.compiler.jit import compiling, njit
from rlgo.features.windows import move_point
from rlgo.go.board import BLACK, BORDER, EMPTY, PASS, breathes, is_eye, last_liberty
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


@cache
def _plane_names() -> dict[str, tuple[str, ...]]:
    ago = [f"{k} {'ply' if k == 1 else 'plies'} ago" for k in range(1, HISTORY)]
    return {
        "stones": ("own stones", "the opponent's stones"),
        "history": tuple(f"{side} stones {k}" for k in ago for side in ("own", "the opponent's")),
        "color": ("1 everywhere if Black is to play",),
        "ones": ("1 everywhere",),
        "empty": ("empty points",),
        "liberties": tuple(f"chains with {n} libert{'y' if n == '1' else 'ies'}" for n in ("1", "2", "3", "4 or more")),
        "ko": ("empty points where simple ko or superko forbids a stone",),
        "legal": ("legal points",),
        "sensible": ("legal points that are no single-point eye of the side to play",),
        "last_moves": ("the last move", *(f"the move {k}" for k in ago)),
        "recent_moves": ("the last move", f"the move {ago[0]}"),
        "passes": ("1 everywhere if the last move was a pass",),
        "ladders": (
            "moves that catch an opponent's chain of two liberties in a ladder",
            "moves that save an own chain in atari: no ladder catches it",
        ),
        "komi": (f"komi / {KOMI_UNIT:g} everywhere, positive if White is to play, negative if Black is",),
    }


PLANES: dict[str, tuple[str, ...]] = _plane_names()  # what each plane of a kind shows
SETS: dict[str, tuple[str, ...]] = {"alphago_zero": ("stones", "history", "color")}
Kinds = str | Sequence[str]


def kinds_of(kinds: Kinds) -> tuple[str, ...]:
    """Return the kinds of planes that `planes` takes, sets written out. RlgoError for an unknown one, or none."""
    given = (kinds,) if isinstance(kinds, str) else tuple(kinds) if isinstance(kinds, Sequence) else ()
    found: list[str] = []
    for kind in given:
        if not isinstance(kind, str) or (kind not in PLANES and kind not in SETS):
            raise RlgoError(f"kinds = {shown(kind)}: expected one of {', '.join((*SETS, *PLANES))}")
        found += SETS.get(kind, (kind,))
    if not found:
        raise RlgoError(f"kinds = {shown(kinds)}: expected a kind of planes, or a list of them")
    return tuple(found)


def history_of(kinds: Sequence[str]) -> int:
    """Return how many positions these kinds look back, the current one included."""
    return HISTORY if {"history", "last_moves"} & set(kinds) else RECENT if "recent_moves" in kinds else 1


def plane_dtype(dtype: Any, kinds: Sequence[str]) -> np.dtype:
    """Return the dtype of planes of some kinds. RlgoError for one that cannot hold them."""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise RlgoError(f"dtype = {shown(dtype)}: expected float32 or uint8") from None
    if kind not in _DTYPES:
        raise RlgoError(f"dtype = {kind}: expected float32 or uint8")
    if kind == np.uint8 and "komi" in kinds:
        raise RlgoError("kinds = komi cannot be combined with dtype = uint8")
    return kind


def plane_names(kinds: Kinds = "alphago_zero") -> list[str]:
    """List what each plane shows, in the order in which `planes` returns them.

    >>> import rlgo
    >>> rlgo.plane_names(["stones", "color"])
    ['own stones', "the opponent's stones", '1 everywhere if Black is to play']
    >>> len(rlgo.plane_names("alphago_zero"))
    17
    """
    return [name for kind in kinds_of(kinds) for name in PLANES[kind]]


def planes(
    positions: Any, kinds: Kinds = "alphago_zero", *, dtype: Any = np.float32, out: np.ndarray | None = None
) -> np.ndarray:
    """Encode positions as planes, from the view of the side to play.

    Parameters
    ----------
    positions : `Positions`, a `Game`, a board, or a list of games or boards of one size
    kinds : kinds of planes, in order: keys of `rlgo.features.planes.PLANES`, or ``alphago_zero``, which stands for
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
    shape = (len(given), sum(len(PLANES[name]) for name in names), given.size, given.size)
    if out is None:
        out = np.empty(shape, kind)
    elif out.shape != shape or out.dtype != kind or not out.flags.c_contiguous:
        raise RlgoError(f"out = {out.dtype}{list(out.shape)}: expected {kind}{list(shape)}, C-contiguous")
    first, tools = 0, plane_tools(given.size)
    for name in names:
        _compile(name, given.size, kind)
        KERNELS[name](given.arrays, first, out, tools)
        first += len(PLANES[name])
    return out


class _OfThread(threading.local):
    """What each thread has for itself."""

    def __init__(self) -> None:
        self.tools: dict[int, PlaneTools] = {}  # by board size


_OF_THREAD = _OfThread()


def new_plane_tools(size: int) -> PlaneTools:
    """Make the scratch of one thread, for one board size."""
    return PlaneTools(zobrist(size), new_ladder_scratch(size), np.zeros(n_points(size), np.int64))


def plane_tools(size: int) -> PlaneTools:
    """Return the constants and scratch of a board size; each thread that calls this has its own."""
    known = _OF_THREAD.tools
    if size not in known:
        known[size] = new_plane_tools(size)
    return known[size]


@cache
def _compile(name: str, size: int, dtype: np.dtype) -> None:
    with compiling(f"planes {name}, {size}x{size} {dtype.name}"):
        none = np.zeros((0, len(PLANES[name]), size, size), dtype)
        KERNELS[name](new_positions(0, size), 0, none, plane_tools(size))


# ---------------------------------------------------------------------------------------------
# Kernels: write the planes of a kind into out[:, first:], [n, planes, size, size], of all positions
# ---------------------------------------------------------------------------------------------


@njit
def write_stones(arrays, ago, first, out):
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
def write_history(arrays, first, out):
    """Write the stones of the plies before, as `write_stones` does."""
    size = out.shape[2]
    for i in range(out.shape[0]):
        own = arrays.boards[i].to_play
        for ago in range(1, HISTORY):
            mine = first + 2 * ago - 2
            for row in range(size):
                p = (row + 1) * (size + 1) + 1
                for col in range(size):
                    c = arrays.stones[i, ago, np.uint64(p + col)]
                    out[i, mine, row, col] = c == own
                    out[i, mine + 1, row, col] = c == 3 - own


@njit
def write_constant(value, first, out):
    """Fill a plane of position i with value[i], float32[n]."""
    for i in range(out.shape[0]):
        for row in range(out.shape[2]):
            for col in range(out.shape[3]):
                out[i, first, row, col] = value[i]


@njit
def write_liberties(arrays, first, out, marks):
    """Mark the stones of chains with 1, 2, 3, and 4 or more liberties."""
    size = out.shape[2]
    stride = size + 1
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
def write_points(arrays, kind, first, out, zobrist):
    """Mark the points of one of the kinds _EMPTY, KO, _LEGAL and _SENSIBLE."""
    size = out.shape[2]
    for i in range(out.shape[0]):
        b = arrays.boards[i]
        for row in range(size):
            for col in range(size):
                p = (row + 1) * (size + 1) + col + 1
                if kind == _EMPTY:
                    is_marked = b.color[np.uint64(p)] == EMPTY
                elif kind == KO:
                    is_empty = b.color[np.uint64(p)] == EMPTY and breathes(b, p, b.to_play)
                    is_marked = is_empty and not may_play(arrays, i, p, zobrist)
                else:
                    is_marked = may_play(arrays, i, p, zobrist)
                    if kind == _SENSIBLE:
                        is_marked = is_marked and not is_eye(b, p, b.to_play)
                out[i, first, row, col] = is_marked


@njit
def write_last_moves(arrays, n, first, out):
    """Mark the last n moves, the latest first; passes leave their planes empty."""
    size = out.shape[2]
    for i in range(out.shape[0]):
        out[i, first : first + n] = 0
        for k in range(n):
            p = np.int64(arrays.moves[i, k])
            if p > 0:
                out[i, first + k, p // (size + 1) - 1, p % (size + 1) - 1] = 1


@njit
def write_ladders(arrays, first, out, zobrist, scratch):
    """Mark the moves that catch chains in ladders, and those that save own chains in atari."""
    stride = out.shape[2] + 1
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
                _mark_escapes(arrays, i, stone, out[i, first + 1], zobrist, scratch)


@njit
def _mark_escapes(arrays, i, stone, marked, zobrist, scratch):
    """Mark what saves a chain in atari: its liberty, or the last liberty of an enemy chain, which is captured."""
    b = arrays.boards[i]
    stride = marked.shape[0] + 1
    for other in range(b.color.shape[0]):
        c = b.color[other]
        if other != stone and (c != 3 - b.to_play or b.chain[other] != other):
            continue
        p = last_liberty(b, other)
        if p and may_play(arrays, i, p, zobrist) and escapes_by(b, stone, p, scratch, zobrist):
            marked[p // stride - 1, p % stride - 1] = 1


_EMPTY, KO, _LEGAL, _SENSIBLE = range(4)
_POINTS = {"empty": _EMPTY, "ko": KO, "legal": _LEGAL, "sensible": _SENSIBLE}
_Kernel = Callable[[PositionArrays, int, np.ndarray, PlaneTools], None]


def _points(kind: int) -> _Kernel:
    return lambda arrays, first, out, tools: write_points(arrays, kind, first, out, tools.zobrist)


def _constant(value: Callable[[PositionArrays], np.ndarray]) -> _Kernel:
    return lambda arrays, first, out, _: write_constant(value(arrays).astype(np.float32), first, out)


KERNELS: dict[str, _Kernel] = {
    "stones": lambda arrays, first, out, _: write_stones(arrays, 0, first, out),
    "history": lambda arrays, first, out, _: write_history(arrays, first, out),
    "color": _constant(lambda arrays: arrays.boards["to_play"] == BLACK),
    "ones": _constant(lambda arrays: np.ones(len(arrays.komi))),
    "liberties": lambda arrays, first, out, tools: write_liberties(arrays, first, out, tools.marks),
    **{name: _points(kind) for name, kind in _POINTS.items()},
    "last_moves": lambda arrays, first, out, _: write_last_moves(arrays, HISTORY, first, out),
    "recent_moves": lambda arrays, first, out, _: write_last_moves(arrays, RECENT, first, out),
    "passes": _constant(lambda arrays: arrays.moves[:, 0] == PASS),
    "ladders": lambda arrays, first, out, tools: write_ladders(arrays, first, out, tools.zobrist, tools.ladders),
    "komi": _constant(lambda arrays: np.where(arrays.boards["to_play"] == BLACK, -1, 1) * arrays.komi / KOMI_UNIT),
}


# ---------------------------------------------------------------------------------------------
# Symmetries
# ---------------------------------------------------------------------------------------------


@cache
def symmetry_table(size: int) -> np.ndarray:
    """Return where the eight symmetries take each point, int64[8, size * size], both by row * size + col."""
    table = np.zeros((N_SYMMETRIES, size * size), np.int64)
    for g in range(N_SYMMETRIES):
        for row in range(size):
            for col in range(size):
                to_row, to_col = move_point(g, row, col, size)
                table[g, row * size + col] = to_row * size + to_col
    table.flags.writeable = False
    return table


@njit
def move_planes(values, symmetry, table, out):
    """Move values[i, plane, point] by symmetry[i] into out; points beyond the board, such as the pass, stay."""
    n_board = table.shape[1]
    for i in range(values.shape[0]):
        target = table[symmetry[i]]
        for plane in range(values.shape[1]):
            for j in range(n_board):
                out[i, plane, np.uint64(target[j])] = values[i, plane, j]
            for j in range(n_board, values.shape[2]):
                out[i, plane, j] = values[i, plane, j]


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
    values = np.ascontiguousarray(values)
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
    per_plane = values.shape[-1] if values.ndim == 2 else n_board
    flat = values.reshape(n, -1, per_plane) if n else values.reshape(0, 1, per_plane)
    out = np.empty_like(flat)
    move_planes(flat, g, symmetry_table(size), out)
    return out.reshape(values.shape)
