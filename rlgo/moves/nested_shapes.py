"""Nested shapes around a move: the patterns of Stern, Herbrich & Graepel 2006, and of Coulom 2007.

Start reading at `shape_at`. A shape is all points within some distance of an empty point, where the distance of
(dx, dy) is |dx| + |dy| + max(|dx|, |dy|). It is described ring by ring, as one of its eight symmetric images,
with "own" and "enemy" for colours. The first ring, the four neighbours, also records how many liberties their chains
have: one, two or more. The second completes the 3x3 square.

Known shapes form a tree: a shape's parent is the same shape without its last ring. To find the largest known shape at
a point, walk down from the root while there is a child. This is the back-off: only shapes seen often enough become
known, and large ones are only looked up where the smaller ones are known. Only the symmetric images with the smallest
code for a ring are kept for the next one, so each shape has exactly one place in the tree.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from rlgo.base.jit import inline, njit
from rlgo.base.settings import MOST_RINGS
from rlgo.go.coords import from_row_col
from rlgo.go.rules import n_points

# Codes of a point: in the first ring, and in all others. In the first ring, the number of liberties, 1 to 3, is added
# for own and enemy stones.
EMPTY_NEAR, BORDER_NEAR, OWN_NEAR, ENEMY_NEAR = 0, 1, 1, 4
OWN, ENEMY = 1, 2
_NEAR_BITS, _FAR_BITS = 3, 2
_CODE_BITS = np.uint64(24)  # in the widest ring
_NO_KEY = np.uint64(2**64 - 1)


def distance(dx: int, dy: int) -> int:
    """Return the distance of a point from the move."""
    return abs(dx) + abs(dy) + max(abs(dx), abs(dy))


def _rings() -> list[list[tuple[int, int]]]:
    """List the (dx, dy) of each ring: distance 2, 3 and so on."""
    square = [(dx, dy) for dy in range(-6, 7) for dx in range(-6, 7)]
    return [[at for at in square if distance(*at) == d] for d in range(2, 2 + MOST_RINGS)]


RINGS = _rings()
_OFFSETS = [at for ring in RINGS for at in ring]
RING_ENDS = np.cumsum([len(ring) for ring in RINGS])


def _image(symmetry: int, dx: int, dy: int) -> tuple[int, int]:
    """Return the image of (dx, dy) under a symmetry, 0 to 7."""
    if symmetry & 4:
        dx, dy = dy, dx
    return (-dx if symmetry & 1 else dx), (-dy if symmetry & 2 else dy)


IMAGES = np.array([[_OFFSETS.index(_image(s, *at)) for at in _OFFSETS] for s in range(8)])


@cache
def places(size: int) -> np.ndarray:
    """Return the points around each point, uint16[P, 72], ring by ring; 0, a border point, if off the board."""
    around = np.zeros((n_points(size), len(_OFFSETS)), np.uint16)
    for row in range(size):
        for col in range(size):
            for i, (dx, dy) in enumerate(_OFFSETS):
                if 0 <= row + dy < size and 0 <= col + dx < size:
                    around[from_row_col(row, col, size), i] = from_row_col(row + dy, col + dx, size)
    return around


class ShapeTree(NamedTuple):
    """Known shapes, for one board size; shape 0 is the empty one, the root.

    Attributes
    ----------
    places : `places(size)`
    images, ring_ends : `IMAGES` and `RING_ENDS`
    keys : uint64[2^k], hash table: a parent and the code of a ring
    shapes : int32[2^k], the child for each key
    """

    places: np.ndarray
    images: np.ndarray
    ring_ends: np.ndarray
    keys: np.ndarray
    shapes: np.ndarray


def make_tree(size: int, parents: np.ndarray, codes: np.ndarray, room: int = 0) -> ShapeTree:
    """Make the tree of some shapes for one board size.

    parents, codes : int32[n], uint32[n], for shapes 1 to n: the parent, and the code of the last ring
    room : number of shapes that can be added
    """
    bits = max(4, int(2 * (len(parents) + room)).bit_length())
    tree = ShapeTree(
        places(size), IMAGES, RING_ENDS, np.full(1 << bits, _NO_KEY, np.uint64), np.zeros(1 << bits, np.int32)
    )
    _insert_all(tree, parents, codes)
    return tree


@njit
def _insert_all(tree, parents, codes):
    for i in range(len(parents)):
        slot = _slot_of(tree, np.int64(parents[i]), np.uint64(codes[i]))
        tree.keys[slot] = np.uint64(parents[i]) << _CODE_BITS | np.uint64(codes[i])
        tree.shapes[slot] = i + 1


@inline
def _slot_of(tree, parent, code):
    """Return the slot of a shape in the hash table, or the slot to insert it."""
    key = np.uint64(parent) << _CODE_BITS | np.uint64(code)
    mask = np.uint64(len(tree.keys) - 1)
    mixed = key * np.uint64(0x9E3779B97F4A7C15)
    slot = (mixed ^ mixed >> np.uint64(29)) & mask
    while (tree.keys[slot] != key) & (tree.keys[slot] != _NO_KEY):
        slot = slot + np.uint64(1) & mask
    return slot


@inline
def _ring_code(p, ring, alive, near, far, tree):
    """Return the smallest code of a ring around p, and the symmetries that have it, out of those in `alive` (bits)."""
    best, best_alive = np.uint64(2**63), 0
    first = np.int64(tree.ring_ends[ring - 1]) if ring > 0 else 0
    last = np.int64(tree.ring_ends[ring])
    for s in range(8):
        if alive >> s & 1:
            code = np.uint64(0)
            for i in range(first, last):
                q = np.uint64(tree.places[np.uint64(p), np.uint64(tree.images[s, i])])
                if ring == 0:
                    code = code << np.uint64(_NEAR_BITS) | np.uint64(near[q])
                else:
                    code = code << np.uint64(_FAR_BITS) | np.uint64(far[q])
            if code < best:
                best, best_alive = code, 1 << s
            elif code == best:
                best_alive |= 1 << s
    return best, best_alive


@njit
def shape_at(p, near, far, tree):
    """Return the largest known shape around empty point p, 0 if there is none.

    near, far : uint8[P], the code of each point in the first ring and in the others, see `move_features.study`
    """
    shape, alive = 0, 255
    for ring in range(MOST_RINGS):
        code, alive = _ring_code(p, ring, alive, near, far, tree)
        slot = _slot_of(tree, shape, code)
        if tree.keys[slot] == _NO_KEY:
            return shape
        shape = np.int64(tree.shapes[slot])
    return shape


class GrowingTree(NamedTuple):
    """A tree that collects and counts shapes, at most N.

    Attributes
    ----------
    tree : `ShapeTree` with room for all
    parents, codes, seen : int32[N + 1], uint32[N + 1], int64[N + 1] by shape; `seen` counts occurrences
    used : int64[1], the number of shapes so far
    """

    tree: ShapeTree
    parents: np.ndarray
    codes: np.ndarray
    seen: np.ndarray
    used: np.ndarray


def new_growing_tree(size: int, room: int) -> GrowingTree:
    """Make an empty tree that can grow to `room` shapes."""
    tree = make_tree(size, np.zeros(0, np.int32), np.zeros(0, np.uint32), room)
    n = room + 1
    parents, codes, seen = np.zeros(n, np.int32), np.zeros(n, np.uint32), np.zeros(n, np.int64)
    return GrowingTree(tree, parents, codes, seen, np.zeros(1, np.int64))


@njit
def see_shape(p, near, far, growing, often, rings):
    """Count the shapes around point p, smallest first; children count once their parent was seen `often` times."""
    shape, alive = 0, 255
    for ring in range(rings):
        code, alive = _ring_code(p, ring, alive, near, far, growing.tree)
        slot = _slot_of(growing.tree, shape, code)
        if growing.tree.keys[slot] == _NO_KEY:
            if growing.used[0] + 1 >= len(growing.seen):
                return
            growing.used[0] += 1
            child = growing.used[0]
            growing.tree.keys[slot] = np.uint64(shape) << _CODE_BITS | code
            growing.tree.shapes[slot] = child
            growing.parents[child], growing.codes[child] = shape, code
        shape = np.int64(growing.tree.shapes[slot])
        growing.seen[shape] += 1
        if growing.seen[shape] < often:
            return


def known_shapes(growing: GrowingTree, often: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the shapes seen at least `often` times, renumbered from 1, parents before children.

    Returns
    -------
    parents int32[n], codes uint32[n], seen int64[n]
    """
    is_known = growing.seen[: int(growing.used[0]) + 1] >= often
    is_known[0] = False
    chosen = np.flatnonzero(is_known)
    number = np.zeros(len(is_known), np.int32)
    number[chosen] = np.arange(1, len(chosen) + 1)
    return number[growing.parents[chosen]], growing.codes[chosen], growing.seen[chosen]


def rings_of(parents: np.ndarray) -> np.ndarray:
    """Return the number of rings of shapes 0 to n, int64[n + 1], from `parents`, int32[n]."""
    rings = np.zeros(len(parents) + 1, np.int64)
    for i, parent in enumerate(parents.tolist(), 1):
        rings[i] = rings[parent] + 1
    return rings


def cells_of(shape: int, parents: np.ndarray, codes: np.ndarray) -> dict[tuple[int, int], int]:
    """Return the code of each point of a shape, by (dx, dy): codes in the first ring differ from the others."""
    chain = []
    while shape:
        chain.append(int(codes[shape - 1]))
        shape = int(parents[shape - 1])
    cells = {}
    for i, code in enumerate(reversed(chain)):
        bits = _NEAR_BITS if i == 0 else _FAR_BITS
        for at in reversed(RINGS[i]):
            cells[at] = code & (1 << bits) - 1
            code >>= bits
    return cells
