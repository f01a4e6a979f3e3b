"""A default policy that is learned: a softmax over local features (Silver & Tesauro 2009).

It is a negative result. It was to play better simulations than MoGo's handcrafted rules, and it does not: the best of
eight learned policies, by REINFORCE, wins 50 % against MoGo's with equal simulations, and 27.5 % (15.3 to 44.4) with
equal time, as it plays less than half as many; no policy learned by simulation balancing won more than 42.5 %
(docs/knowledge.md). MoGo's policy stays the default.

P(a) = exp(x_a) / sum over all sensible moves b of exp(x_b), where x_a is the sum of the weights of a's features:

* its *shape*: the 3x3 square around it, in which the four adjacent chains may be in atari;
* on the eight points around the last move: another weight for the same shape, as an *answer*;
* the flags of `FLAGS`, and self-atari.

Start reading at `draw_softmax`, then `_renew`; `SoftmaxPolicy` holds the learned weights. The gradient is in
`rlgo/learning/balancing.py`, learning from the positions of games in `train/games/playouts.py`.

What makes it fast
------------------
* A point's shape is a code of 20 bits, updated move by move. Only ataris can change away from the changed points; a
  chain in atari has one liberty, so this affects one more point.
* exp(x) of both colours at every point, and its sums over blocks of 16 points, are updated too. They are integers, so
  sums stay exact. Only the few points with flags are weighed again at each move.
* Self-atari is only checked for the move drawn, which is then rejected with probability 1 - exp(x). This gives exactly
  the softmax, but requires a weight of at most 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.archive import intact, read_archive, write_archive
from rlgo.base.errors import RlgoError
from rlgo.base.resources import SHIPPED_POLICIES
from rlgo.compiler.jit import inline, njit, random_unit
from rlgo.go.board import BLACK, BORDER, EMPTY, PASS, in_atari, last_liberty, liberties_after
from rlgo.go.mogo_patterns import neighbourhood

FORMAT, VERSION = "rlgo-softmax-policy", 1
NOT_SOFTMAX = -1

# Flags of a move, which are features: bit i is FLAGS[i]. The first only selects the weights of answers.
FLAGS = ("next to the last move", "diagonal to it", "next to the last move but one", "saves", "recaptures")
_NEAR, _DIAGONAL, _BEFORE, _SAVES, _RECAPTURES = 1, 2, 4, 8, 16
OTHERS = (*FLAGS[1:], "self-atari")  # features that are not shapes
_MOST_SPECIAL = 32  # points with flags, and the ko

_CODES = 1 << 20
_UNIT = 1 << 16  # exp(0) as an integer
_MOST_X = 9.0  # limits of x in the tables, so that they and all sums stay whole numbers in range
_MOST_WEIGHT = float(1 << 44)
LEAST_SELF_ATARI = -5.0

# The places of a code, from the lowest bits: the row below from left to right, left, right, the row above.
_PLACES = tuple((dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0))
ADJACENT = (1, 3, 4, 6)  # bits 16 to 19 mark their ataris
# By symmetry and place: the place that is moved there.
SYMMETRIES = [
    [_PLACES.index((a * at[first], b * at[1 - first])) for at in _PLACES]
    for first in (0, 1)
    for a in (1, -1)
    for b in (1, -1)
]


# ---------------------------------------------------------------------------------------------
# The policy
# ---------------------------------------------------------------------------------------------


class Tables(NamedTuple):
    """The weights of moves in simulations: exp(x) as integers, where 65536 is 1.

    Attributes
    ----------
    shape : uint32[2^20], by the code as the player sees it; 0 for codes that are not sensible moves
    answer : uint32[2^20], the same next to the last move
    flags : float64[32], the factor of each set of flags
    self_atari : float64[1], the probability that a self-atari is accepted when drawn
    """

    shape: np.ndarray
    answer: np.ndarray
    flags: np.ndarray
    self_atari: np.ndarray


@dataclass(frozen=True)
class SoftmaxPolicy:
    """The weights of a softmax policy, for boards of any size.

    Attributes
    ----------
    codes : uint32[n], the shapes around sensible moves, up to rotation and reflection: the smallest code of each,
        ascending
    theta : float32[K], weights of no shape and of these, extra weights of the same as answers, and of `OTHERS`
    provenance : how they were learned: method, settings, games, versions (JSON)
    """

    codes: np.ndarray
    theta: np.ndarray
    provenance: dict[str, Any] = field(default_factory=dict)

    def tables(self) -> Tables:
        """Return the tables for simulations. Weights beyond their range are clipped."""
        return make_tables(self.theta.astype(np.float64), shapes_by_code(self.codes))


def shapes_by_code(codes: np.ndarray) -> np.ndarray:
    """Return the number of the shape that each code shows, from 1 on, uint16[2^20]; 0 for none of `codes`."""
    every = np.arange(_CODES, dtype=np.uint32)
    colors, atari = [every >> 2 * i & 3 for i in range(8)], [every >> 16 + k & 1 for k in range(4)]
    least = every.copy()
    for turn in SYMMETRIES:
        image = np.zeros(_CODES, np.uint32)
        for i in range(8):
            image |= colors[turn[i]] << 2 * i
        for k, i in enumerate(ADJACENT):
            image |= atari[ADJACENT.index(turn[i])] << 16 + k
        np.minimum(least, image, out=least)
    numbers = np.zeros(_CODES, np.uint16)
    numbers[codes] = np.arange(1, len(codes) + 1)
    return numbers[least]


def make_tables(theta: np.ndarray, shape_of: np.ndarray) -> Tables:
    """Make the tables of weights, float64[K], in the order of `SoftmaxPolicy.theta`; shape_of : `shapes_by_code`."""
    x, answers, others = split_weights(theta)
    tables = []
    for sums in (x, x + answers):
        gamma = np.exp(np.clip(sums, -_MOST_X, _MOST_X)) * _UNIT
        gamma[0] = 0
        tables.append(np.rint(gamma).astype(np.uint32)[shape_of])
    sets = np.arange(1 << len(FLAGS))
    flags = np.exp(sum(others[i] * (sets >> i + 1 & 1) for i in range(len(FLAGS) - 1)))
    self_atari = np.exp(np.clip(others[-1:], LEAST_SELF_ATARI, 0))
    return Tables(tables[0], tables[1], flags.astype(np.float64), self_atari.astype(np.float64))


def split_weights(theta: np.ndarray) -> list[np.ndarray]:
    """Return the weights of shapes, of the same as answers, [0] of both belonging to none, and of `OTHERS`."""
    n = (len(theta) - len(OTHERS)) // 2
    return np.split(theta, [n, 2 * n])


def softmax_fields(points: int) -> list[tuple[Any, ...]]:
    """Return the fields of `rollout.rollout_dtype` that hold the softmax policy's state (P padded points).

    Fields
    ------
    weight[2, 16 n], block[2, n] : exp(x) by colour and point, and its sums over 16 points
    code[P] : the code of each point; 20 bits
    last, before : the last move, and the one before
    n_special, special[], kept[] : the points with flags, and their `weight` without flags
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
# Choosing a move. `rollout.py` calls `begin_softmax`, `draw_softmax` and `follow_softmax` for every default policy;
# without tables, they compile to nothing.
# ---------------------------------------------------------------------------------------------


@njit
def draw_softmax(b, tables, r, rng):
    """Draw a sensible move from the softmax; PASS if there is none, NOT_SOFTMAX if `tables` is None.

    `r` must be up to date.
    """
    if tables is None:
        return NOT_SOFTMAX
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
    """Apply flags to the weights of the colour to play, and exclude the ko."""
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
def begin_softmax(b, tables, r):
    """Compute the codes and weights of all points from the board."""
    if tables is None:
        return
    r.weight[:] = 0
    r.block[:] = 0
    r.flags[:] = 0
    r.last = np.int64(b.changed[0]) if b.n_changed > 0 else PASS
    r.before = PASS  # a board does not record the last move but one
    for row in range(1, b.board_size + 1):
        for p in range(row * b.stride + 1, row * b.stride + 1 + b.board_size):
            r.code[np.uint64(p)] = neighbourhood(b, p)
            if b.color[np.uint64(p)] == EMPTY:
                _see_ataris(b, r, p)
                _renew(b, tables, r, p)


@njit
def follow_softmax(b, tables, r):
    """Bring codes and weights up to date after a move."""
    if tables is None:
        return
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
    for i in range(b.n_changed):  # the weights of the point and of the eight around it
        s = np.int64(b.changed[np.uint64(i)])
        for first in (s - stride - 1, s - 1, s + stride - 1):
            for q in range(first, first + 3):
                if b.color[np.uint64(q)] == EMPTY or q == s:
                    _renew(b, tables, r, q)
    for q in (p, p - stride, p - 1, p + 1, p + stride):
        c = b.color[np.uint64(q)]
        if (c != EMPTY) & (c != BORDER):
            liberty = last_liberty(b, np.int64(b.chain[np.uint64(q)]))
            if liberty != 0:
                _see_ataris(b, r, liberty)
                _renew(b, tables, r, liberty)


@inline
def _free_chains(b, tables, r):
    """Check all ataris again after a capture, which may have saved chains far away."""
    for i in range(b.n_empty):
        q = np.int64(b.empties[np.uint64(i)])
        if r.code[np.uint64(q)] > 0xFFFF:
            _see_ataris(b, r, q)
            _renew(b, tables, r, q)
    for i in range(1, b.n_changed):
        _see_ataris(b, r, np.int64(b.changed[np.uint64(i)]))


@njit
def _see_ataris(b, r, p):
    """Record in the code of empty point p which adjacent chains are in atari."""
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
    """Set the weight of a point for colour index c, and update the sums."""
    change = weight - r.weight[np.uint64(c), np.uint64(p)]
    r.weight[np.uint64(c), np.uint64(p)] = weight
    r.block[np.uint64(c), np.uint64(p >> 4)] += change


@inline
def seen_by(color, code):
    """Return a code from the player's point of view: own stones as Black's."""
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
    shape, answer, others = split_weights(policy.theta)
    arrays = {"codes": policy.codes, "shape": shape[1:], "answer": answer[1:], "weights_of_others": others}
    write_archive(path, meta, arrays)


def load_softmax_policy(name: str | Path) -> SoftmaxPolicy:
    """Read a policy: a file, or the shipped one by its name, ``9x9``, which plays on boards of any size.

    RlgoError if it is missing, damaged, not a policy file, or has other features.
    """
    path = SHIPPED_POLICIES.find(name)
    meta, arrays = read_archive(path, "file of a softmax policy", FORMAT, VERSION)
    with intact(path, "a softmax policy"):
        codes, shape, answer, others = (arrays[n] for n in ("codes", "shape", "answer", "weights_of_others"))
        none = np.zeros(1, np.float32)
        theta = np.concatenate([none, shape, none, answer, others]).astype(np.float32)
        is_whole = len(shape) == len(answer) == len(codes) and codes.dtype == np.uint32 and codes.max() < _CODES
        if not is_whole or (np.diff(codes.astype(np.int64)) <= 0).any() or not np.isfinite(theta).all():
            raise ValueError
        named, provenance = meta["others"], dict(meta["provenance"])
    if named != list(OTHERS) or len(others) != len(OTHERS):
        raise RlgoError(f"{path}: a softmax policy of other features than this rlgo's; train it anew")
    return SoftmaxPolicy(codes, theta, provenance)


def describe(policy: SoftmaxPolicy) -> str:
    """Describe a softmax policy in a few lines: its weights, and how they were learned."""
    n, made = len(policy.codes), policy.provenance
    lines = [f"{n:,} shapes, {n:,} answers, {len(OTHERS)} other features"]
    lines += [f"{weight:+6.2f}  {name}" for name, weight in zip(OTHERS, split_weights(policy.theta)[2], strict=True)]
    if made:
        lines.append("learned by " + ", ".join(f"{key} {made[key]}" for key in made if key in _TOLD))
        lines += [f"{key} {value}" for key, value in made.items() if key in ("command", "commit")]
    return "\n".join(lines)


_TOLD = ("method", "positions", "alpha", "epochs", "simulations", "batch", "seed")
