"""Nested shapes around a move: the patterns of Stern, Herbrich & Graepel 2006, and of Coulom 2007.

Start reading at `find_shapes`. A shape is all points within some distance of an empty point, where the distance of
(dx, dy) is |dx| + |dy| + max(|dx|, |dy|). It is described ring by ring, as one of its eight symmetric images,
with "own" and "enemy" for colours. The first ring, the four neighbours, also records how many liberties their chains
have: one, two or more. The second completes the 3x3 square.

Known shapes form a tree: a shape's parent is the same shape without its last ring. To find the largest known shape at
a point, walk down from the root while there is a child. This is the back-off: only shapes seen often enough become
known, and large ones are only looked up where the smaller ones are known. Only the symmetric images with the smallest
code for a ring are kept for the next one, so each shape has exactly one place in the tree.

What makes it fast
------------------
* All moves of a position are described together. First the codes of four points at a time become a byte, for every
  point of the board at once (`pack_rings`). A ring is one to three of these bytes.
* The codes of a ring's eight images come from tables with eight numbers in a row, one for each half of a byte, so that
  one vector instruction serves all images.
* The children of a shape lie side by side, with their keys, strengths and the places of their own children: a step
  down the tree is one cache line, and shapes without children need none.
* The walks of all moves advance together, a ring at a time, so that the processor waits for many lines at once.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from rlgo.base.settings import MOST_RINGS
from rlgo.compiler.jit import inline, njit
from rlgo.compiler.vectors import least_of_eight
from rlgo.go.coords import from_row_col
from rlgo.go.rules import n_points

# Codes of a point: in the first ring, and in all others. In the first ring, the number of liberties, 1 to 3, is added
# for own and enemy stones.
EMPTY_NEAR, BORDER_NEAR, OWN_NEAR, ENEMY_NEAR = 0, 1, 1, 4
OWN, ENEMY, BORDER_FAR = 1, 2, 3
_NEAR_BITS, _FAR_BITS = 3, 2
_CODE_BITS = np.uint64(24)  # in the widest ring
_NO_KEY = np.uint64(2**64 - 1)
_EVERY = 255  # all eight symmetries
_QUADS = 3  # bytes in the widest ring
_PER_LINE = 4  # entries in a cache line
_HASH = np.uint64(0x9E3779B97F4A7C15)


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


_REACH = max(abs(dx) for dx, _ in _OFFSETS)


@cache
def _image_codes() -> np.ndarray:
    """Return what half a byte of a ring adds to the codes of the ring's images, uint32[MOST_RINGS * 6 * 16, 8].

    Row 16 * (6 * ring + 2 * k + half) + v: for value v of the half of byte k, by symmetry.
    """
    added = np.zeros((MOST_RINGS, 2 * _QUADS, 16, 8), np.uint32)
    values = np.arange(16)
    for ring, points in enumerate(RINGS):
        bits, first = _bits(ring), RING_ENDS[ring] - len(points)
        mask = (1 << bits) - 1
        for s in range(8):
            for i in range(len(points)):
                j = IMAGES[s, first + i] - first  # the point that image s shows at i
                half, shift = divmod(j, _per_half(ring))
                code = values >> shift * bits & mask
                added[ring, half, :, s] |= (code << bits * (len(points) - 1 - i)).astype(np.uint32)
    return added.reshape(-1, 8)


def _bits(ring: int) -> int:
    """Return the bits of a point's code in a ring."""
    return _FAR_BITS if ring else _NEAR_BITS


def _per_half(ring: int) -> int:
    """Return how many points of a ring half a byte holds."""
    return 2 if ring else 1


class Surroundings(NamedTuple):
    """A position as the walks down the tree see it, and the walks themselves; P padded points, N candidates.

    Its maps have a border as wide as the largest shape reaches: the point `place[p]` in them is `p` of the board.

    Attributes
    ----------
    place : uint16[P]
    first : the place of A1
    near, far : uint8[F], the code of each point in the first ring and in the others; border outside of the board
    sources : int64[MOST_RINGS, 3, 4], where the points of each byte of a ring are, relative to the move
    rings : uint8[3 * MOST_RINGS, L], the codes around each point from A1 on, by ring and byte; unused ones are 0
    images : `_image_codes()`
    entry : int32[N], by candidate: the place in `ShapeTree.entries` of the largest shape known so far
    alive : uint32[N], the symmetries that have the smallest codes so far (bits)
    active : uint16[N], the candidates whose walks go on
    """

    place: np.ndarray
    first: int
    near: np.ndarray
    far: np.ndarray
    sources: np.ndarray
    rings: np.ndarray
    images: np.ndarray
    entry: np.ndarray
    alive: np.ndarray
    active: np.ndarray


def new_surroundings(size: int) -> Surroundings:
    """Make the scratch for one board size."""
    stride = size + _REACH  # one border between two rows serves both
    first = _REACH * stride + _REACH
    area, candidates = (size + 2 * _REACH) * stride + _REACH, size * size + 1
    place = np.zeros(n_points(size), np.uint16)
    for row in range(size):
        for col in range(size):
            place[from_row_col(row, col, size)] = first + row * stride + col
    sources = np.zeros((MOST_RINGS, _QUADS, 4), np.int64)
    for ring, points in enumerate(RINGS):
        for j, (dx, dy) in enumerate(points):
            k, i = divmod(j, 2 * _per_half(ring))
            sources[ring, k, i] = dx + dy * stride
    near, far = np.full(area, BORDER_NEAR, np.uint8), np.full(area, BORDER_FAR, np.uint8)
    rings = np.zeros((_QUADS * MOST_RINGS, (size - 1) * stride + size), np.uint8)
    return Surroundings(
        place, first, near, far, sources, rings, _image_codes(),
        np.zeros(candidates, np.int32), np.zeros(candidates, np.uint32), np.zeros(candidates, np.uint16),
    )  # fmt: skip


@njit
def pack_rings(around):
    """Collect the codes in the rings around all points from `near` and `far`; call it before walks."""
    near, far, first, rings = around.near, around.far, around.first, around.rings
    n = rings.shape[1]
    for k in range(2):
        a, b = first + around.sources[0, k, 0], first + around.sources[0, k, 1]
        for i in range(n):
            rings[np.uint64(k), np.uint64(i)] = near[np.uint64(a + i)] | near[np.uint64(b + i)] << np.uint8(4)
    for ring in range(1, MOST_RINGS):
        for k in range(_bytes_in(ring)):
            row = np.uint64(_QUADS * ring + k)
            a, b = first + around.sources[ring, k, 0], first + around.sources[ring, k, 1]
            c, d = first + around.sources[ring, k, 2], first + around.sources[ring, k, 3]
            for i in range(n):
                rings[row, np.uint64(i)] = (
                    far[np.uint64(a + i)]
                    | far[np.uint64(b + i)] << np.uint8(2)
                    | far[np.uint64(c + i)] << np.uint8(4)
                    | far[np.uint64(d + i)] << np.uint8(6)
                )


@inline
def _bytes_in(ring):
    """Return how many bytes hold the codes of a ring, but the first one."""
    return 1 if ring < 3 else 2 if ring < 6 else 3


@inline
def _ring_code(ring, place, alive, around):
    """Return the smallest code of the ring around a place, and the symmetries that have it, out of those in `alive`."""
    rings, at = around.rings, np.uint64(place - around.first)
    row, half, four, low = np.uint64(_QUADS * ring), np.uint64(16), np.uint64(4), np.uint64(15)
    a, b, c = rings[row, at], rings[row + np.uint64(1), at], rings[row + np.uint64(2), at]
    row = np.uint64(2) * half * row
    rows = (
        row + (np.uint64(a) & low),
        row + half + (np.uint64(a) >> four),
        row + half * np.uint64(2) + (np.uint64(b) & low),
        row + half * np.uint64(3) + (np.uint64(b) >> four),
        row + half * np.uint64(4) + (np.uint64(c) & low),
        row + half * np.uint64(5) + (np.uint64(c) >> four),
    )
    return least_of_eight(around.images, rows, np.uint32(~alive))


# ---------------------------------------------------------------------------------------------
# Known shapes
# ---------------------------------------------------------------------------------------------

_FIELDS = [("code", np.uint32), ("children", np.uint32), ("weight", np.float32), ("number", np.int32)]
_ENTRY = np.dtype((np.record, np.dtype(_FIELDS, align=True)))
_MOST_FULL = 0.75  # of a block


class ShapeTree(NamedTuple):
    """Known shapes; shape 0 is the empty one, the root.

    The children of a shape lie in a small hash table of their own, a block of 2^k entries. A block of up to four is
    within one cache line.

    Attributes
    ----------
    entries : records of 16 bytes: the ``number`` of the shape, 0 if the entry is not used; ``code``, of its last ring;
        its ``weight``; and ``children``, 32 s + k + 1, where s is the start of the block with its children, or 0. [0]
        is the root.
    """

    entries: np.ndarray


def make_tree(parents: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> ShapeTree:
    """Make the tree of some shapes.

    parents, codes : int32[n], uint32[n], for shapes 1 to n: the parent, and the code of the last ring
    weights : float32[n + 1], their weights; [0] is 0
    """
    n_children = np.bincount(parents, minlength=len(parents) + 1)
    room = np.where(n_children > 1, n_children / _MOST_FULL, n_children)
    k = np.ceil(np.log2(np.maximum(room, 1))).astype(np.int64)
    sizes = np.where(n_children > 0, 1 << k, 0)
    order = np.argsort(-sizes, kind="stable")  # so that each block starts at a multiple of its size
    ends = _PER_LINE + np.cumsum(sizes[order])
    children = np.zeros(len(sizes), np.uint32)
    children[order] = 32 * (ends - sizes[order]) + k[order] + 1
    children[n_children == 0] = 0
    space = np.zeros(ends[-1] + _PER_LINE, _ENTRY)
    skipped = -space.ctypes.data % (_PER_LINE * _ENTRY.itemsize) // _ENTRY.itemsize
    entries = space[skipped : skipped + ends[-1]]
    entries["children"][0] = children[0]
    at = _insert(entries, parents, codes, children)
    entries["code"][at], entries["children"][at] = codes, children[1:]
    if weights is not None:
        entries["weight"][at] = weights[1:]
    return ShapeTree(entries)


def _insert(entries: np.ndarray, parents: np.ndarray, codes: np.ndarray, children: np.ndarray) -> np.ndarray:
    """Give each shape a place in its parent's block, and return the places.

    All shapes try the next place of theirs at the same time, as `_find` will. Of those that want the same one, the last
    gets it.
    """
    number = entries["number"]
    block, mask = children[parents] >> 5, (1 << ((children[parents] & 31).astype(np.uint64) - 1)) - 1
    place = (codes.astype(np.uint64) * _HASH >> 32) & mask
    waiting = np.arange(len(parents))
    while len(waiting):
        at = block[waiting] + place[waiting]
        is_free = number[at] == 0
        number[at[is_free]] = waiting[is_free] + 1
        waiting = waiting[number[at] != waiting + 1]
        place[waiting] = place[waiting] + 1 & mask[waiting]
    return block + place


@inline
def _find(entries, children, code):
    """Return the place of the child with this code in a block of children, or that of another entry if there is none.

    The other entry is not used, unless the block has only one.
    """
    block, k = np.uint64(children >> np.uint32(5)), np.uint64(children & np.uint32(31)) - np.uint64(1)
    mask = (np.uint64(1) << k) - np.uint64(1)
    i = np.uint64(code) * _HASH >> np.uint64(32) & mask
    while (entries[block + i].code != code) & (entries[block + i].number != 0) & (mask != np.uint64(0)):
        i = i + np.uint64(1) & mask
    return block + i


@njit
def find_shapes(moves, first, n, around, tree):
    """Find the largest known shapes around empty points, and leave their places in `tree.entries` in `around.entry`.

    Call `pack_rings` for the position first.

    moves, first, n : the points are moves[first : first + n]; a PASS has the empty shape
    """
    entries, entry, alive, active = tree.entries, around.entry, around.alive, around.active
    n_active = 0
    for i in range(n):
        entry[i], alive[i], active[n_active] = 0, _EVERY, i
        n_active += np.int64(moves[first + i] != 0) & np.int64(entries[0].children != 0)
    for ring in range(MOST_RINGS):
        going, n_active = n_active, 0
        for j in range(going):
            i = np.uint64(active[np.uint64(j)])
            at = np.uint64(entry[i])
            place = around.place[np.uint64(moves[np.uint64(first) + i])]
            code, alive[i] = _ring_code(ring, place, alive[i], around)
            child = _find(entries, entries[at].children, code)
            if (entries[child].code == code) & (entries[child].number != 0):
                entry[i] = child
                if entries[child].children != 0:
                    active[np.uint64(n_active)] = i
                    n_active += 1


# ---------------------------------------------------------------------------------------------
# Shapes yet to be known
# ---------------------------------------------------------------------------------------------


class GrowingTree(NamedTuple):
    """A tree that collects and counts shapes, at most N.

    Attributes
    ----------
    keys : uint64[2^k], hash table: a parent and the code of a ring
    shapes : int32[2^k], the child for each key
    parents, codes, seen : int32[N + 1], uint32[N + 1], int64[N + 1] by shape; `seen` counts occurrences
    used : int64[1], the number of shapes so far
    """

    keys: np.ndarray
    shapes: np.ndarray
    parents: np.ndarray
    codes: np.ndarray
    seen: np.ndarray
    used: np.ndarray


def new_growing_tree(room: int) -> GrowingTree:
    """Make an empty tree that can grow to `room` shapes."""
    n, slots = room + 1, 1 << max(4, int(2 * room).bit_length())
    keys, shapes = np.full(slots, _NO_KEY, np.uint64), np.zeros(slots, np.int32)
    parents, codes, seen = np.zeros(n, np.int32), np.zeros(n, np.uint32), np.zeros(n, np.int64)
    return GrowingTree(keys, shapes, parents, codes, seen, np.zeros(1, np.int64))


@inline
def _slot_of(growing, parent, code):
    """Return the slot of a shape in the hash table, or the slot to insert it."""
    key = np.uint64(parent) << _CODE_BITS | np.uint64(code)
    mask = np.uint64(len(growing.keys) - 1)
    mixed = key * _HASH
    slot = (mixed ^ mixed >> np.uint64(29)) & mask
    while (growing.keys[slot] != key) & (growing.keys[slot] != _NO_KEY):
        slot = slot + np.uint64(1) & mask
    return slot


@njit
def see_shape(p, around, growing, often, rings):
    """Count the shapes around point p, smallest first; children count once their parent was seen `often` times.

    Call `pack_rings` for the position first.
    """
    shape, alive = 0, np.uint32(_EVERY)
    for ring in range(rings):
        code, alive = _ring_code(ring, around.place[p], alive, around)
        slot = _slot_of(growing, shape, code)
        if growing.keys[slot] == _NO_KEY:
            if growing.used[0] + 1 >= len(growing.seen):
                return
            growing.used[0] += 1
            child = growing.used[0]
            growing.keys[slot] = np.uint64(shape) << _CODE_BITS | np.uint64(code)
            growing.shapes[slot] = child
            growing.parents[child], growing.codes[child] = shape, code
        shape = np.int64(growing.shapes[slot])
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
