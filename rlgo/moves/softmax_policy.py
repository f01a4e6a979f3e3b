"""A default policy that is learned: a softmax over local features, fast enough for simulations.

Start reading at `softmax_move`, then `_renew`; `SoftmaxPolicy` is what is learned and kept in files. Silver & Tesauro
2009, "Monte-Carlo simulation balancing", play simulations by such a policy and learn its weights (`balancing.py`):

    P(a) = exp(x_a) / sum over all sensible moves b of exp(x_b),

where x_a is the sum of the weights of a's features:

* its *shape*: the 3x3 square around it, in which the four adjacent chains may be in atari;
* next to the last move (the eight points around it): another weight for the same shape, as an *answer*;
* the flags of `FLAGS`, and self-atari.

What makes it fast
------------------
* A point's shape is a code of 20 bits, kept up to date move by move. Only an atari is not next to a changed point; a
  chain in atari has one liberty, so it concerns one more point.
* exp(x) of both colours, of every point, and their sums over blocks of 16 points stay up to date too. They are whole
  numbers, so that sums stay exact. Only the few points with flags are weighed anew at each move.
* Self-atari is looked for only where the draw falls, and then rejected with probability 1 - exp(x). That leaves exactly
  the softmax, but takes a weight of 0 or less.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.archive import read_archive, write_archive
from rlgo.base.errors import RlgoError
from rlgo.base.jit import by_type, inline, njit, random_unit
from rlgo.base.resources import find_file, shipped_softmax_policy
from rlgo.go.board import BLACK, BORDER, EMPTY, PASS, in_atari, last_liberty, liberties_after

FORMAT, VERSION = "rlgo-softmax-policy", 1
NOT_SOFTMAX = -1

# Flags of a move, which are features: bit i of a flag is FLAGS[i]. The first only selects the weights of answers.
FLAGS = ("next to the last move", "diagonal to it", "next to the last move but one", "saves", "recaptures")
_NEAR, _DIAGONAL, _BEFORE, _SAVES, _RECAPTURES = 1, 2, 4, 8, 16
OTHERS = (*FLAGS[1:], "self-atari")  # features that are no shapes
_MOST_SPECIAL = 32  # points with flags, and the ko

_CODES = 1 << 20
_UNIT = 1 << 16  # what exp(0) is as a whole number
_MOST_X = 9.0  # limits of x in the tables, so that they and all sums stay whole numbers in range
_MOST_WEIGHT = float(1 << 44)
LEAST_SELF_ATARI = -5.0

# The places of a code, from the lowest bits: the row below from left to right, left, right, the row above.
_PLACES = tuple((dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0))
ADJACENT = (1, 3, 4, 6)  # whose ataris are bits 16 to 19


# ---------------------------------------------------------------------------------------------
# Shapes
# ---------------------------------------------------------------------------------------------


class Shapes(NamedTuple):
    """All shapes around a sensible move, alike under rotation and reflection.

    Attributes
    ----------
    codes : uint32[n + 1], the smallest code of each; [0] stands for none
    shape_of : uint16[2^20], the shape of each code, 0 for codes that are no sensible moves
    """

    codes: np.ndarray
    shape_of: np.ndarray


@cache
def all_shapes() -> Shapes:
    """List all shapes, for the player whose stones have the code of Black."""
    codes = np.arange(_CODES, dtype=np.uint32)
    colors = [codes >> 2 * i & 3 for i in range(8)]
    atari = [codes >> 16 + i & 1 for i in range(4)]
    least = codes.copy()
    for turn in _symmetries():
        image = np.zeros(_CODES, np.uint32)
        for i in range(8):
            image |= colors[turn[i]] << 2 * i
        for k, i in enumerate(ADJACENT):
            image |= atari[ADJACENT.index(turn[i])] << 16 + k
        np.minimum(least, image, out=least)
    known, shape_of = np.unique(least[_is_sensible(colors, atari)], return_inverse=True)
    numbers = np.zeros(_CODES, np.uint16)
    numbers[_is_sensible(colors, atari)] = shape_of + 1
    found = Shapes(np.concatenate([np.zeros(1, np.uint32), known]), numbers)
    for array in found:
        array.flags.writeable = False
    return found


@cache
def kinds_of_shapes() -> np.ndarray:
    """Return the kind of each shape, int64[n + 1]: shapes with the same adjacent points, in any order, are of one."""
    codes = all_shapes().codes.astype(np.int64)
    states = [(codes >> 2 * i & 3) + 4 * (codes >> 16 + k & 1) for k, i in enumerate(ADJACENT)]
    kinds = np.unique(np.sort(states, axis=0), axis=1, return_inverse=True)[1] + 1
    kinds[0] = 0
    return kinds


def _symmetries() -> list[list[int]]:
    """Return the eight symmetries as permutations of places."""
    turns = []
    for flip in (False, True):
        for k in range(4):
            images = []
            for dy, dx in _PLACES:
                y, x = (dx, dy) if flip else (dy, dx)
                for _ in range(k):
                    y, x = -x, y
                images.append(_PLACES.index((y, x)))
            turns.append(images)
    return turns


def _is_sensible(colors: list[np.ndarray], atari: list[np.ndarray]) -> np.ndarray:
    """Return which codes are of points on a board where the colour of code 1 may sensibly play, but for ko."""
    is_border = np.stack([c == BORDER for c in colors])
    below, above, left, right = is_border[[0, 1, 2]], is_border[[5, 6, 7]], is_border[[0, 3, 5]], is_border[[2, 4, 7]]
    sides = [side.all(0) for side in (below, above, left, right)]
    on_board = ~(sides[0] & sides[1]) & ~(sides[2] & sides[3])
    for i, (dy, dx) in enumerate(_PLACES):
        outside = (sides[0] & (dy < 0)) | (sides[1] & (dy > 0)) | (sides[2] & (dx < 0)) | (sides[3] & (dx > 0))
        on_board &= is_border[i] == outside
    own = [colors[i] == 1 for i in ADJACENT]
    enemy = [colors[i] == 2 for i in ADJACENT]
    for k in range(4):
        on_board &= own[k] | enemy[k] | (atari[k] == 0)
    has_room = np.any([colors[i] == EMPTY for i in ADJACENT], 0)
    breathes = np.any([np.where(own[k], atari[k] == 0, enemy[k] & (atari[k] == 1)) for k in range(4)], 0)
    enemies = sum((colors[i] == 2).astype(int) for i in (0, 2, 5, 7)) + is_border.any(0)
    is_eye = np.all([own[k] | is_border[i] for k, i in enumerate(ADJACENT)], 0) & (enemies < 2)
    return on_board & (has_room | (breathes & ~is_eye))


# ---------------------------------------------------------------------------------------------
# The policy
# ---------------------------------------------------------------------------------------------


class Tables(NamedTuple):
    """What simulations weigh moves by: exp(x) as whole numbers, where 65536 is 1.

    Attributes
    ----------
    shape : uint32[2^20], by the code that the player sees; 0 for codes that are no sensible moves
    answer : uint32[2^20], the same next to the last move
    flags : float64[32], the factor of each set of flags
    self_atari : float64[1], the probability that a draw of a self-atari stands
    """

    shape: np.ndarray
    answer: np.ndarray
    flags: np.ndarray
    self_atari: np.ndarray


@dataclass(frozen=True)
class SoftmaxPolicy:
    """The weights of a softmax policy; they fit boards of any size.

    Attributes
    ----------
    shape : float32[n + 1], of the shapes of `all_shapes`; [0] is 0
    answer : float32[n + 1], added for shapes next to the last move; [0] is 0
    others : float32[len(OTHERS)]
    provenance : how they were learned: method, settings, targets, versions (JSON)
    """

    shape: np.ndarray
    answer: np.ndarray
    others: np.ndarray
    provenance: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<SoftmaxPolicy: {len(self.shape) - 1:,} shapes>"

    @property
    def theta(self) -> np.ndarray:
        """All weights one after another, float64[2 (n + 1) + len(OTHERS)]."""
        return np.concatenate([self.shape, self.answer, self.others]).astype(np.float64)

    def tables(self) -> Tables:
        """Return what simulations need. Weights beyond the range of the tables are cut off."""
        return make_tables(self.theta)


def policy_of(theta: np.ndarray, provenance: dict[str, Any] | None = None) -> SoftmaxPolicy:
    """Return the policy with these weights, in the order of `SoftmaxPolicy.theta`."""
    n = len(all_shapes().codes)
    parts = np.split(theta.astype(np.float32), [n, 2 * n])
    return SoftmaxPolicy(parts[0], parts[1], parts[2], provenance or {})


def n_weights() -> int:
    """Return the length of `SoftmaxPolicy.theta`."""
    return 2 * len(all_shapes().codes) + len(OTHERS)


def make_tables(theta: np.ndarray) -> Tables:
    """Make the tables of weights in the order of `SoftmaxPolicy.theta`."""
    shapes = all_shapes()
    n = len(shapes.codes)
    others = theta[2 * n :]
    tables = []
    for x in (theta[:n], theta[:n] + theta[n : 2 * n]):
        gamma = np.exp(np.clip(x, -_MOST_X, _MOST_X)) * _UNIT
        gamma[0] = 0
        tables.append(np.rint(gamma).astype(np.uint32)[shapes.shape_of])
    sets = np.arange(1 << len(FLAGS))
    flags = np.exp(sum(others[i] * (sets >> i + 1 & 1) for i in range(len(FLAGS) - 1)))
    self_atari = np.exp(np.clip(others[-1:], LEAST_SELF_ATARI, 0))
    return Tables(tables[0], tables[1], flags.astype(np.float64), self_atari.astype(np.float64))


def softmax_fields(points: int) -> list[tuple[Any, ...]]:
    """Return the fields of `rollout.rollout_dtype` that hold the softmax policy's state (P padded points).

    Fields
    ------
    weight[2, 16 n], block[2, n] : exp(x) by colour and point, and its sums over 16 points
    code[P] : of each point; 20 bits
    last, before : the last move, and the one before
    n_special, special[], kept[] : the points with flags, and what `weight` was without them
    flags[P] : bits of `FLAGS`
    """
    blocks = -(-points // 16)
    return [
        ("weight", np.int64, (2, 16 * blocks)),
        ("block", np.int64, (2, blocks)),
        ("kept", np.int64, (_MOST_SPECIAL,)),
        ("code", np.uint32, (points,)),
        ("last", np.int32),
        ("before", np.int32),
        ("n_special", np.int32),
        ("special", np.uint16, (_MOST_SPECIAL,)),
        ("flags", np.uint8, (points,)),
    ]


# ---------------------------------------------------------------------------------------------
# What `rollout.py` calls. Each function does nothing for other default policies; which, is decided when it is compiled,
# by the type of `policy.softmax` (first the interpreted form).
# ---------------------------------------------------------------------------------------------


def begin_softmax(b, policy, r):
    """Prepare `r` for moves from the position on `b`."""
    if policy.softmax is not None:
        begin(b, policy.softmax, r)


def softmax_move(b, policy, r, rng):
    """Draw a move from the softmax, PASS if there is no sensible one; NOT_SOFTMAX for other policies."""
    return NOT_SOFTMAX if policy.softmax is None else draw(b, policy.softmax, r, rng)


def follow_softmax(b, policy, r):
    """Bring `r` up to date after a move on `b`."""
    if policy.softmax is not None:
        follow(b, policy.softmax, r)


def _has_tables(policy):
    return hasattr(policy.types[policy.fields.index("softmax")], "fields")


@by_type(begin_softmax)
def _overload_begin_softmax(b, policy, r):  # noqa: ARG001  # numba matches names
    if _has_tables(policy):
        return lambda b, policy, r: begin(b, policy.softmax, r)
    return lambda b, policy, r: None  # noqa: ARG005  # numba matches names


@by_type(softmax_move)
def _overload_softmax_move(b, policy, r, rng):  # noqa: ARG001  # numba matches names
    if _has_tables(policy):
        return lambda b, policy, r, rng: draw(b, policy.softmax, r, rng)
    return lambda b, policy, r, rng: NOT_SOFTMAX  # noqa: ARG005  # numba matches names


@by_type(follow_softmax)
def _overload_follow_softmax(b, policy, r):  # noqa: ARG001  # numba matches names
    if _has_tables(policy):
        return lambda b, policy, r: follow(b, policy.softmax, r)
    return lambda b, policy, r: None  # noqa: ARG005  # numba matches names


# ---------------------------------------------------------------------------------------------
# Choosing a move
# ---------------------------------------------------------------------------------------------


@njit
def draw(b, tables, r, rng):
    """Draw a sensible move from the softmax; PASS if there is none. `r` must be up to date."""
    c = np.uint64(b.to_play - 1)
    weigh_specials(b, tables, r)
    total = np.int64(0)
    for i in range(r.block.shape[1]):
        total += r.block[c, np.uint64(i)]
    p = np.int64(PASS)
    while total > 0:
        left = np.int64(random_unit(rng) * np.float64(total))
        block = 0
        while left >= r.block[c, np.uint64(block)]:
            left -= r.block[c, np.uint64(block)]
            block += 1
        p = block << 4
        while left >= r.weight[c, np.uint64(p)]:
            left -= r.weight[c, np.uint64(p)]
            p += 1
        if not is_self_atari(b, p) or random_unit(rng) < tables.self_atari[0]:
            break
    forget_specials(b, r)
    return p


@inline
def is_self_atari(b, p):
    """Return whether a sensible move puts its own chain into atari."""
    return b.nbr[np.uint64(p)] < 512 and liberties_after(b, p, np.int64(b.to_play)) == 1


@njit
def weigh_specials(b, tables, r):
    """Change the weights of the colour to play where moves have flags, and take the ko away."""
    r.n_special = 0
    if r.last != PASS:
        _flag_around(b, r, np.int64(r.last), _NEAR, _DIAGONAL)
        _flag_fights(b, r, np.int64(r.last))
    if r.before != PASS:
        _flag_around(b, r, np.int64(r.before), _BEFORE, 0)
    if b.ko != 0:
        _flag(b, r, np.int64(b.ko), 0)
    for i in range(r.n_special):
        p = np.int64(r.special[np.uint64(i)])
        flags = np.uint64(r.flags[np.uint64(p)])
        r.kept[np.uint64(i)] = r.weight[np.uint64(b.to_play - 1), np.uint64(p)]
        if p == b.ko:
            weight = 0
        else:
            code = seen_by(np.int64(b.to_play), r.code[np.uint64(p)])
            gamma = tables.answer[code] if flags & np.uint64(_NEAR) else tables.shape[code]
            weight = np.int64(min(np.float64(gamma) * tables.flags[flags], _MOST_WEIGHT))
        _set_weight(r, b.to_play - 1, p, weight)


@njit
def forget_specials(b, r):
    """Undo `weigh_specials`."""
    for i in range(r.n_special):
        p = np.int64(r.special[np.uint64(i)])
        r.flags[np.uint64(p)] = 0
        _set_weight(r, b.to_play - 1, p, r.kept[np.uint64(i)])


@inline
def _flag(b, r, p, flags):
    """Give an empty point flags, and list it."""
    if b.color[np.uint64(p)] == EMPTY:
        if r.flags[np.uint64(p)] == 0:
            r.special[np.uint64(r.n_special)] = p
            r.n_special += 1
        r.flags[np.uint64(p)] |= flags


@inline
def _flag_around(b, r, p, near, diagonal):
    """Give flags to the eight points around p."""
    stride = np.int64(b.stride)
    for q in (p - stride, p - 1, p + 1, p + stride):
        _flag(b, r, q, near)
    for q in (p - stride - 1, p - stride + 1, p + stride - 1, p + stride + 1):
        _flag(b, r, q, near | diagonal)


@inline
def _flag_fights(b, r, last):
    """Flag the extensions of own chains that the last stone put into atari, and the capture of that stone."""
    stride = np.int64(b.stride)
    for q in (last - stride, last - 1, last + 1, last + stride):
        if b.color[np.uint64(q)] == b.to_play:
            p = last_liberty(b, np.int64(b.chain[np.uint64(q)]))
            if p != 0:
                _flag(b, r, p, _SAVES)
    p = last_liberty(b, np.int64(b.chain[np.uint64(last)]))
    if p != 0:
        _flag(b, r, p, _RECAPTURES)


# ---------------------------------------------------------------------------------------------
# Staying up to date with a board
# ---------------------------------------------------------------------------------------------


@njit
def begin(b, tables, r):
    """Compute the codes and weights of all points from the board."""
    r.weight[:] = 0
    r.block[:] = 0
    r.flags[:] = 0
    r.last = np.int64(b.changed[0]) if b.n_changed > 0 else PASS
    r.before = PASS  # a board does not know the last move but one
    for i in range(b.n_empty):
        p = np.int64(b.empties[np.uint64(i)])
        _see_ataris(b, r, p)
    stride = np.int64(b.stride)
    for row in range(1, b.board_size + 1):
        for p in range(row * stride + 1, row * stride + 1 + b.board_size):
            code = np.uint32(0)
            shift = np.uint32(0)
            for q in (
                p - stride - 1, p - stride, p - stride + 1, p - 1, p + 1, p + stride - 1, p + stride, p + stride + 1,
            ):  # fmt: skip
                code |= np.uint32(b.color[np.uint64(q)]) << shift
                shift += np.uint32(2)
            r.code[np.uint64(p)] = code | r.code[np.uint64(p)] & np.uint32(0xF0000)
            if b.color[np.uint64(p)] == EMPTY:
                _renew(b, tables, r, p)


@njit
def follow(b, tables, r):
    """Bring codes and weights up to date after a move."""
    r.before = r.last
    r.last = PASS
    if b.n_changed == 0:
        return
    p = np.int64(b.changed[0])
    r.last = p
    stride = np.int64(b.stride)
    captured = np.int64(b.to_play)  # the colour of captured stones
    for i in range(b.n_changed):
        s = np.int64(b.changed[np.uint64(i)])
        # s has place 7 - k in the code of its neighbour at place k.
        delta = np.uint32(3 - captured if i == 0 else -captured)
        shift = np.uint32(14)
        for q in (
            s - stride - 1, s - stride, s - stride + 1, s - 1, s + 1, s + stride - 1, s + stride, s + stride + 1,
        ):  # fmt: skip
            r.code[np.uint64(q)] += delta << shift
            shift -= np.uint32(2)
    if b.n_changed > 1:
        _free_chains(b, tables, r)
    for i in range(b.n_changed):
        _renew_around(b, tables, r, np.int64(b.changed[np.uint64(i)]))
    for q in (p, p - stride, p - 1, p + 1, p + stride):
        c = b.color[np.uint64(q)]
        if (c != EMPTY) & (c != BORDER):
            liberty = last_liberty(b, np.int64(b.chain[np.uint64(q)]))
            if liberty != 0:
                _see_ataris(b, r, liberty)
                _renew(b, tables, r, liberty)


@inline
def _free_chains(b, tables, r):
    """Look again at all ataris after a capture, which may have saved chains far away."""
    for i in range(b.n_empty):
        q = np.int64(b.empties[np.uint64(i)])
        if r.code[np.uint64(q)] > 0xFFFF:
            _see_ataris(b, r, q)
            _renew(b, tables, r, q)
    for i in range(1, b.n_changed):
        _see_ataris(b, r, np.int64(b.changed[np.uint64(i)]))


@inline
def _renew_around(b, tables, r, p):
    """Renew the weights of p and the eight points around it."""
    stride = np.int64(b.stride)
    for first in (p - stride - 1, p - 1, p + stride - 1):
        for q in range(first, first + 3):
            if b.color[np.uint64(q)] == EMPTY or q == p:
                _renew(b, tables, r, q)


@njit
def _see_ataris(b, r, p):
    """Write into the code of empty point p which adjacent chains are in atari."""
    stride = np.int64(b.stride)
    bits = np.uint32(0)
    bit = np.uint32(1 << 16)
    for q in (p - stride, p - 1, p + 1, p + stride):
        c = b.color[np.uint64(q)]
        if (c != EMPTY) & (c != BORDER) and in_atari(b, q):
            bits |= bit
        bit <<= np.uint32(1)
    r.code[np.uint64(p)] = bits | r.code[np.uint64(p)] & np.uint32(0xFFFF)


@njit
def _renew(b, tables, r, p):
    """Recompute the weights of p for both colours from its code; they are 0 if there is a stone."""
    black, white = np.int64(0), np.int64(0)
    if b.color[np.uint64(p)] == EMPTY:
        code = r.code[np.uint64(p)]
        black, white = np.int64(tables.shape[code]), np.int64(tables.shape[seen_by(2, code)])
    _set_weight(r, 0, p, black)
    _set_weight(r, 1, p, white)


@inline
def _set_weight(r, c, p, weight):
    """Set the weight of a point for colour index c, and keep the sums."""
    change = weight - r.weight[np.uint64(c), np.uint64(p)]
    r.weight[np.uint64(c), np.uint64(p)] = weight
    r.block[np.uint64(c), np.uint64(p >> 4)] += change


@inline
def seen_by(color, code):
    """Return a code as the player sees it, whose own stones look like Black's."""
    if color == BLACK:
        return code
    own, enemy = code & np.uint32(0x5555), code >> np.uint32(1) & np.uint32(0x5555)
    return enemy | own << np.uint32(1) | code & np.uint32(0xF0000)


# ---------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------


def save_softmax_policy(path: str | Path, policy: SoftmaxPolicy) -> None:
    """Write a policy file, atomically. Raises RlgoError if it cannot be written."""
    meta = {"format": FORMAT, "version": VERSION, "others": list(OTHERS), "provenance": policy.provenance}
    arrays = {"codes": all_shapes().codes[1:], "shape": policy.shape[1:], "answer": policy.answer[1:]}
    write_archive(path, meta, {**arrays, "weights_of_others": policy.others})


def find_softmax_policy(name: str | Path) -> Path:
    """Find the policy file that a user names: a path, or ``9x9``, the shipped one, for which an empty name stands, too.

    Raises RlgoError if there is no such file.
    """
    path = shipped_softmax_policy()
    if not str(name):
        return path
    return find_file(name, {path.stem: path}, Path("checkpoints/playouts"), "file of a softmax policy", "policies")


def load_softmax_policy(path: str | Path) -> SoftmaxPolicy:
    """Read a policy file. RlgoError if it is missing, damaged, no policy file, or of other features."""
    meta, arrays = read_archive(path, "file of a softmax policy", FORMAT, VERSION)
    try:
        parts = [arrays["shape"], arrays["answer"], arrays["weights_of_others"]]
        provenance, codes, others = dict(meta["provenance"]), arrays["codes"], meta["others"]
        if not len(parts[0]) == len(parts[1]) == len(codes) or not all(np.isfinite(part).all() for part in parts):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise RlgoError(f"{path}: damaged: not the arrays of a softmax policy") from None
    if not np.array_equal(codes, all_shapes().codes[1:]) or others != list(OTHERS) or len(parts[2]) != len(OTHERS):
        raise RlgoError(f"{path}: a softmax policy of other features than this rlgo's; train it anew")
    none = np.zeros(1, np.float32)
    shape, answer = (np.concatenate([none, part.astype(np.float32)]) for part in parts[:2])
    return SoftmaxPolicy(shape, answer, parts[2].astype(np.float32), provenance)


def describe(policy: SoftmaxPolicy) -> str:
    """Describe a softmax policy in a few lines: its weights, and how they were learned."""
    made = policy.provenance
    n = len(policy.shape) - 1
    lines = [f"{n:,} shapes, {n:,} answers, {len(OTHERS)} other features"]
    lines += [f"{weight:+6.2f}  {name}" for name, weight in zip(OTHERS, policy.others.tolist(), strict=True)]
    if made:
        lines.append("learned by " + ", ".join(f"{key} {made[key]}" for key in made if key in _TOLD))
        lines += [f"{key} {value}" for key, value in made.items() if key in ("command", "commit")]
    return "\n".join(lines)


_TOLD = ("method", "games", "moves", "positions", "alpha", "epochs", "simulations", "batch", "l2", "seed")
