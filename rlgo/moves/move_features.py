"""Features of candidate moves: captures, ladders, fights, distances, and the shape around the move.

Start reading at `study`, which analyses a position once, and `features_of`, which finds the features of one move. A
move has at most one feature from each group in `GROUPS`, plus its shape (`nested_shapes.py`). The approach is that of
Coulom 2007, "Computing Elo ratings of move patterns in the game of Go".
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from rlgo.compiler.jit import inline, inline_once, njit
from rlgo.go.board import BORDER, EMPTY, PASS, is_sensible, liberties_after
from rlgo.go.coords import from_row_col
from rlgo.go.rules import n_points, zobrist
from rlgo.moves.ladders import (
    LadderScratch,
    escapes_by,
    is_caught_by,
    liberties_of,
    liberties_with,
    new_ladder_scratch,
    weakest_neighbour,
)
from rlgo.moves.nested_shapes import (
    EMPTY_NEAR,
    ENEMY,
    ENEMY_NEAR,
    OWN,
    OWN_NEAR,
    Surroundings,
    new_surroundings,
    pack_rings,
)

# The groups of features, and the names of the features in each.
GROUPS: dict[str, tuple[str, ...]] = {
    "captures": (
        "captures 1 stone", "captures 2 or 3 stones", "captures 4 stones or more",
        "captures 1 stone and saves own stones in atari", "captures 2 or 3 stones and saves own stones in atari",
        "captures 4 stones or more and saves own stones in atari",
    ),
    "captured": (
        "captures the last stone played", "captures stones that would have escaped",
        "captures stones that could not have escaped",
    ),
    "extension": (
        "extends out of atari to 3 liberties", "extends out of atari to 2 liberties, no ladder",
        "extends in vain: a ladder, or 1 liberty",
    ),
    "self-atari": ("self-atari of 1 stone", "self-atari of 2 or 3 stones", "self-atari of 4 stones or more"),
    "atari": (
        "atari: catches stones in a ladder", "atari in a race with own stones of 2 liberties or fewer", "other atari",
    ),
    "two liberties": (
        "own stones that a ladder threatens get 3 liberties", "touches own stones that a ladder threatens",
        "own stones with 2 liberties get 3",
    ),
    "connection": ("connects own chains", "cuts enemy chains", "connects own chains and cuts enemy chains"),
    "line": ("line 1", "line 2", "line 3", "line 4", "line 5 or higher"),
    "last": (*(f"distance {d} to the last move" for d in range(2, 17)), "distance 17 or more to the last move"),
    "last but one": (
        *(f"distance {d} to the last move but one" for d in range(2, 17)),
        "distance 17 or more to the last move but one",
    ),
    "ko": ("takes a ko", "atari while a ko may not be retaken"),
    "pass": ("pass", "pass after a pass"),
}  # fmt: skip
FEATURES = tuple(name for names in GROUPS.values() for name in names)  # feature i + 1 is FEATURES[i]; 0: none
N_GROUPS = len(GROUPS)
_ENDS = np.cumsum([0] + [len(names) for names in GROUPS.values()]).tolist()
(
    _CAPTURES, _CAPTURED, _EXTENSION, _SELF_ATARI, _ATARI, _TWO, _CONNECTION, _LINE, _LAST, _LAST_BUT_ONE, _KO, _PASS,
) = range(N_GROUPS)  # fmt: skip
_START = tuple(_ENDS[:-1])  # the first level of group g, which is 1, is feature _START[g] + 1
_FAREST = 17
_ROW, _COLUMN, _AT_LINE = range(3)  # of `Study.where`


@cache
def _where(size: int) -> np.ndarray:
    """Return the row, the column and the line, at most 5, of each point."""
    where = np.zeros((n_points(size), 4), np.int64)
    for row, column in np.ndindex(size, size):
        line = min(row, column, size - 1 - row, size - 1 - column) + 1
        where[from_row_col(row, column, size), :3] = row, column, min(line, 5)
    return where


class Study(NamedTuple):
    """The results of `study` for a position; P padded points.

    Attributes
    ----------
    around : `nested_shapes.Surroundings`, with the codes of all points
    n_liberties : uint8[P], of each chain at its representative; 3 for more
    fate : uint8[P], for chains with one liberty: 1 if they escape when their owner plays. For enemy chains with two:
        bits 0 and 1 are set if a move at their first or second liberty catches them. For own chains with two: 1 if the
        enemy can catch them.
    liberties : int64[P, 2], two liberties of each chain at its representative
    rival : uint8[P], the fewest liberties of the enemies that touch a chain with one or two liberties
    where : `_where(size)`
    features : int64[N_GROUPS], scratch of `features_of`
    moves : int64[N + 1], scratch for `list_candidates`
    ladders : `LadderScratch`
    zobrist : `board.zobrist(size)`
    """

    around: Surroundings
    n_liberties: np.ndarray
    fate: np.ndarray
    liberties: np.ndarray
    rival: np.ndarray
    where: np.ndarray
    features: np.ndarray
    moves: np.ndarray
    ladders: LadderScratch
    zobrist: np.ndarray


def new_study(size: int) -> Study:
    """Make the scratch for one board size."""
    n = n_points(size)
    n_liberties, fate, rival = (np.zeros(n, np.uint8) for _ in range(3))
    liberties, features = np.zeros((n, 2), np.int64), np.zeros(N_GROUPS, np.int64)
    ladders = new_ladder_scratch(size)
    moves = np.zeros(size * size + 1, np.int64)
    return Study(
        new_surroundings(size), n_liberties, fate, liberties, rival, _where(size), features, moves, ladders,
        zobrist(size),
    )  # fmt: skip


@njit
def study(b, s):
    """Analyse a position for the colour to play: liberties, ladders and the codes of all points."""
    own = np.int64(b.to_play)
    for p in range(b.color.shape[0]):
        c = np.int64(b.color[np.uint64(p)])
        if (c != EMPTY) & (c != BORDER) and b.chain[np.uint64(p)] == p:
            n, first, second = liberties_of(b, p)
            s.n_liberties[p] = n
            s.liberties[p, 0], s.liberties[p, 1] = first, second
    for p in range(b.color.shape[0]):
        c = np.int64(b.color[np.uint64(p)])
        place = s.around.place[p]
        if c == EMPTY:
            s.around.near[place], s.around.far[place] = EMPTY_NEAR, EMPTY
        elif c != BORDER:
            chain = np.int64(b.chain[np.uint64(p)])
            n = np.int64(s.n_liberties[chain])
            s.around.near[place] = (OWN_NEAR if c == own else ENEMY_NEAR) + n
            s.around.far[place] = OWN if c == own else ENEMY
            if chain == p and n < 3:
                _read_chain(b, p, c == own, s)
    pack_rings(s.around)


@inline_once
def _read_chain(b, chain, is_own, s):
    """Read the fate of a chain with one or two liberties."""
    s.rival[chain] = weakest_neighbour(b, chain, s.n_liberties)
    if s.n_liberties[chain] == 1:
        s.fate[chain] = escapes_by(b, chain, 0, s.ladders, s.zobrist)
        return
    first, second = s.liberties[chain, 0], s.liberties[chain, 1]
    by_first = is_caught_by(b, chain, first, second, s.ladders, s.zobrist)
    if is_own and by_first:
        s.fate[chain] = 1
        return
    by_second = is_caught_by(b, chain, second, first, s.ladders, s.zobrist)
    s.fate[chain] = np.int64(by_second) if is_own else np.int64(by_first) + 2 * np.int64(by_second)


@inline_once
def features_of(b, p, last_but_one, s):
    """Put the features of a sensible move or a pass into `s.features`, one per group; 0 for none.

    Call `study` for the position first. last_but_one : the move before the last one, PASS if there is none
    """
    s.features[:] = 0
    if p == PASS:
        s.features[_PASS] = _START[_PASS] + (2 if b.n_passes > 0 else 1)
        return
    n_empty = np.int64(b.nbr[np.uint64(p)]) >> 8
    if b.nbr[np.uint64(p)] != 256 * n_empty + 17 * (4 - n_empty):  # not only empty points and border around it
        _fights(b, p, s)
    s.features[_LINE] = _START[_LINE] + s.where[np.uint64(p), _AT_LINE]
    if b.n_changed > 0:
        s.features[_LAST] = _START[_LAST] + _distance(p, b.changed[0], s.where) - 1
    if last_but_one != PASS:
        s.features[_LAST_BUT_ONE] = _START[_LAST_BUT_ONE] + _distance(p, last_but_one, s.where) - 1


@inline
def _distance(p, q, where):
    """Return the distance between two points, at least 2 (the stone may be gone, and p its point) and at most 17."""
    dy = abs(where[np.uint64(p), _ROW] - where[np.uint64(q), _ROW])
    dx = abs(where[np.uint64(p), _COLUMN] - where[np.uint64(q), _COLUMN])
    return min(max(dx + dy + max(dx, dy), 2), _FAREST)


@inline_once
def _fights(b, p, s):
    """Find the features of a stone that depend on the chains it touches."""
    color, stride = np.int64(b.to_play), np.int64(b.stride)
    last = np.int64(b.chain[np.uint64(b.changed[0])]) if b.n_changed > 0 else -1
    captured, saves, captured_kind = 0, 0, 4
    own, enemies, own_stones, in_atari, two, threatened, atari = 0, 0, 1, 0, 0, 0, 4
    seen_0, seen_1, seen_2 = 0, 0, 0
    for q in (p - stride, p - 1, p + 1, p + stride):
        c = np.int64(b.color[np.uint64(q)])
        chain = np.int64(b.chain[np.uint64(q)])
        if (c == EMPTY) | (c == BORDER) or (chain == seen_0) | (chain == seen_1) | (chain == seen_2):
            continue
        seen_0, seen_1, seen_2 = seen_1, seen_2, chain
        n, fate = np.int64(s.n_liberties[chain]), np.int64(s.fate[chain])
        if c == color:
            own += 1
            own_stones += np.int64(b.n_chain[chain])
            in_atari = chain if n == 1 else in_atari
            two |= np.int64(n == 2)
            threatened |= np.int64(n == 2 and fate == 1)
        elif n == 1:
            captured += np.int64(b.n_chain[chain])
            saves |= np.int64(s.rival[chain] == 1)
            captured_kind = min(captured_kind, 1 if chain == last else 2 if fate == 1 else 3)
        else:
            enemies += 1
            if n == 2:
                catches = (fate >> np.int64(s.liberties[chain, 1] == p)) & 1
                atari = min(atari, 1 if catches else 2 if s.rival[chain] <= 2 else 3)
    if captured > 0:
        s.features[_CAPTURES] = _START[_CAPTURES] + _size_class(captured) + 3 * saves
        s.features[_CAPTURED] = _START[_CAPTURED] + captured_kind
    else:
        _defence(b, p, in_atari, two, threatened, own_stones, s)
    if atari < 4:
        s.features[_ATARI] = _START[_ATARI] + atari
    _links(b, p, captured, own, enemies, s)


@inline
def _size_class(stones):
    """Return 1 for one stone, 2 for two or three, 3 for more."""
    return 1 if stones == 1 else 2 if stones <= 3 else 3


@inline_once
def _defence(b, p, in_atari, two, threatened, own_stones, s):
    """Find the features of own chains in danger, for a move that captures nothing.

    in_atari : an own chain in atari that the move extends, or 0; two, threatened : whether it touches own chains with
    two liberties, and one that the enemy could catch; own_stones : of the chain that it makes
    """
    if in_atari or two:
        n = liberties_with(b, p, np.int64(b.to_play), 0)
        if in_atari:
            level = 1 if n == 3 else 3
            if n == 2 and escapes_by(b, in_atari, p, s.ladders, s.zobrist):
                level = 2
            s.features[_EXTENSION] = _START[_EXTENSION] + level
        elif threatened:
            s.features[_TWO] = _START[_TWO] + (1 if n == 3 else 2)
        elif n == 3:
            s.features[_TWO] = _START[_TWO] + 3
    if liberties_after(b, p, np.int64(b.to_play)) == 1:
        s.features[_SELF_ATARI] = _START[_SELF_ATARI] + _size_class(own_stones)


@inline
def _links(b, p, captured, own, enemies, s):
    """Find the features of connections, cuts and ko."""
    connects, cuts = np.int64(own >= 2), np.int64(enemies >= 2)
    if connects | cuts:
        s.features[_CONNECTION] = _START[_CONNECTION] + connects + 2 * cuts
    enemy = 3 - np.int64(b.to_play)
    is_surrounded = (b.nbr[np.uint64(p)] >> (4 * (enemy - 1))) & 15 == 4
    if captured == 1 and is_surrounded:
        s.features[_KO] = _START[_KO] + 1
    elif b.ko != 0 and s.features[_ATARI] != 0:
        s.features[_KO] = _START[_KO] + 2


@njit
def list_candidates(b, moves):
    """List the sensible moves in ascending order, then PASS, in `moves`; return their number."""
    n = 0
    for p in range(b.color.shape[0]):
        if b.color[np.uint64(p)] == EMPTY and is_sensible(b, p):
            moves[n] = p
            n += 1
    moves[n] = PASS
    return n + 1
