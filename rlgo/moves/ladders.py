"""Liberties of chains, and ladder reading.

Start reading at `escapes`. A board record only shows whether a chain is in atari; `liberties_of` finds the liberties
themselves. Ladders are read on a stack of board copies, because compiled code never undoes a move.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rlgo.compiler.jit import copy_record, njit
from rlgo.go.board import EMPTY, in_atari, is_legal, last_liberty, new_boards, play_stone

MOST_NODES = 60  # most positions read for a ladder; beyond that the chain counts as escaped
_STEPS = 62  # moves of each side in the longest ladder
_MOST_REPLIES = 8
# Columns of `LadderScratch.steps`.
_N_REPLIES, _REPLY, _ATTACK, _FIRST, _SECOND = range(5)
_NEXT_REPLY = 2  # in place of an attack: the reply has failed


class LadderScratch(NamedTuple):
    """An explicit stack for reading ladders, because numba cannot cache recursive functions.

    Attributes
    ----------
    boards : board records: at [2 i] the owner of the chain is to play in step i, at [2 i + 1] its enemy
    replies : int64[_STEPS, 8], the owner's moves in each step
    steps : int64[_STEPS, 5], number of replies, current reply, current attack against it (0 or 1), and the two
        liberties that the enemy may attack from
    nodes : int64[1], positions that may still be read
    """

    boards: np.ndarray
    replies: np.ndarray
    steps: np.ndarray
    nodes: np.ndarray


def new_ladder_scratch(size: int) -> LadderScratch:
    """Make the scratch for one board size."""
    replies, steps = np.zeros((_STEPS, _MOST_REPLIES), np.int64), np.zeros((_STEPS, 5), np.int64)
    return LadderScratch(new_boards(2 * _STEPS + 1, size), replies, steps, np.zeros(1, np.int64))


@njit
def liberties_of(b, stone):
    """Return (n, first, second): the number of liberties of a stone's chain, 3 for more, and two of them, or 0."""
    stride = b.stride
    first, second = 0, 0
    s = np.int64(stone)
    while True:
        for q in (s - stride, s - 1, s + 1, s + stride):
            if (b.color[np.uint64(q)] == EMPTY) & (q != first) & (q != second):
                if first == 0:
                    first = q
                elif second == 0:
                    second = q
                else:
                    return 3, first, second
        s = np.int64(b.next[np.uint64(s)])
        if s == stone:
            return np.int64(first != 0) + np.int64(second != 0), first, second


@njit
def liberties_with(b, p, color, taken):
    """Return the liberties, 3 for more, of the chain that a stone of `color` at empty point p would make.

    Captures are not played out: captured stones stay on the board. taken : a point that is none of the liberties, or 0
    """
    stride = b.stride
    first, second = 0, 0
    for q in (p - stride, p - 1, p + 1, p + stride):
        s = np.int64(q)
        while True:
            # A neighbour that is empty is a liberty; one that is a stone brings the liberties of its chain.
            for r in (s - stride, s - 1, s + 1, s + stride) if b.color[np.uint64(q)] == color else (q, q, q, q):
                if (b.color[np.uint64(r)] == EMPTY) & (r != p) & (r != taken) & (r != first) & (r != second):
                    if first == 0:
                        first = r
                    elif second == 0:
                        second = r
                    else:
                        return 3
            s = np.int64(b.next[np.uint64(s)]) if b.color[np.uint64(q)] == color else q
            if s == q:
                break
    return np.int64(first != 0) + np.int64(second != 0)


@njit
def weakest_neighbour(b, stone, n_liberties):
    """Return the fewest liberties of the enemy chains that touch a stone's chain; 3 if there is none.

    n_liberties : of each chain at its representative, 3 for more
    """
    stride = b.stride
    enemy = 3 - np.int64(b.color[np.uint64(stone)])
    fewest = 3
    s = np.int64(stone)
    while True:
        for q in (s - stride, s - 1, s + 1, s + stride):
            if b.color[np.uint64(q)] == enemy:
                fewest = min(fewest, np.int64(n_liberties[np.uint64(b.chain[np.uint64(q)])]))
        s = np.int64(b.next[np.uint64(s)])
        if s == stone:
            return fewest


@njit
def escapes(scratch, stone, only, zobrist):
    """Return whether the chain at `stone`, in atari with its owner to play on boards[0], escapes the ladder.

    The owner extends, or captures a chain in atari next to its own; the enemy then gives atari again. Three liberties
    are an escape, one is not. Ko is played by the rules of the board.

    only : the owner's only first move to try; 0 for any
    """
    steps = scratch.steps
    i = _begin_step(scratch, 0, stone, only)
    while True:
        answer = -1  # whether the owner of step i escapes; not known yet
        if steps[i, _ATTACK] == _NEXT_REPLY:
            answer = _try_reply(scratch, i, stone, zobrist)
        else:
            scratch.nodes[0] -= 1
            if scratch.nodes[0] < 0:
                return True
            if _try_attack(scratch, i, zobrist):
                i = _begin_step(scratch, i + 1, stone, 0)
            else:
                steps[i, _ATTACK] += 1
                answer = 1 if steps[i, _ATTACK] == 2 else -1
        while answer >= 0:
            if i == 0:
                return answer == 1
            i -= 1
            if answer == 0:  # the attack works
                steps[i, _ATTACK] = _NEXT_REPLY
                answer = -1
            else:
                steps[i, _ATTACK] += 1
                answer = 1 if steps[i, _ATTACK] == 2 else -1


@njit
def _begin_step(scratch, i, stone, only):
    """List the owner's replies in step i, and return i."""
    scratch.replies[i, 0] = only
    n = 1 if only else _list_replies(scratch.boards[2 * i], stone, scratch.replies[i])
    scratch.steps[i, _N_REPLIES], scratch.steps[i, _REPLY], scratch.steps[i, _ATTACK] = n, -1, _NEXT_REPLY
    return i


@njit
def _try_reply(scratch, i, stone, zobrist):
    """Play the next reply of step i; return 1 if it escapes, 0 if there is none left, and otherwise -1."""
    step, boards = scratch.steps[i], scratch.boards
    step[_REPLY] += 1
    if step[_REPLY] == step[_N_REPLIES]:
        return 0
    copy_record(boards[2 * i], boards[2 * i + 1])
    play_stone(boards[2 * i + 1], scratch.replies[i, step[_REPLY]], zobrist)
    n, step[_FIRST], step[_SECOND] = liberties_of(boards[2 * i + 1], stone)
    if n == 2:
        step[_ATTACK] = 0
    return 1 if n == 3 else -1


@njit
def _try_attack(scratch, i, zobrist):
    """Play the enemy's attack in step i; return whether the owner must answer, in step i + 1."""
    p = scratch.steps[i, _FIRST + scratch.steps[i, _ATTACK]]
    if i + 1 == _STEPS or not is_legal(scratch.boards[2 * i + 1], p):
        return False
    copy_record(scratch.boards[2 * i + 1], scratch.boards[2 * i + 2])
    play_stone(scratch.boards[2 * i + 2], p, zobrist)
    return True


@njit
def _list_replies(b, stone, replies):
    """List the replies of the owner of a chain in atari, and return their number."""
    n = 0
    p = last_liberty(b, np.int64(b.chain[np.uint64(stone)]))
    if is_legal(b, p):
        replies[0] = p
        n = 1
    stride = b.stride
    enemy = 3 - np.int64(b.color[np.uint64(stone)])
    s = np.int64(stone)
    while True:
        for q in (s - stride, s - 1, s + 1, s + stride):
            if b.color[np.uint64(q)] == enemy:
                p = last_liberty(b, np.int64(b.chain[np.uint64(q)]))
                if p != 0 and n < _MOST_REPLIES and is_legal(b, p):
                    is_new = True
                    for i in range(n):
                        is_new &= replies[i] != p
                    if is_new:
                        replies[n] = p
                        n += 1
        s = np.int64(b.next[np.uint64(s)])
        if s == stone:
            return n


@njit
def escapes_by(b, stone, p, scratch, zobrist):
    """Return whether a chain in atari would escape if its owner played at p, a legal move; p = 0: by any move."""
    color = np.int64(b.color[np.uint64(stone)])
    # The first move that is tried may be enough. The last liberty of a chain is not forbidden by ko.
    if p == 0 and liberties_with(b, last_liberty(b, np.int64(b.chain[np.uint64(stone)])), color, 0) == 3:
        return True
    _set_up(b, color, scratch)
    return escapes(scratch, stone, p, zobrist)


@njit
def is_caught_by(b, stone, p, other, scratch, zobrist):
    """Return whether an enemy move at p catches a chain with two liberties, p and `other`, in a ladder."""
    color = np.int64(b.color[np.uint64(stone)])
    if not _may_catch(b, p, other, color):
        return False
    _set_up(b, 3 - color, scratch)
    if not is_legal(scratch.boards[0], p):
        return False
    play_stone(scratch.boards[0], p, zobrist)
    return not escapes(scratch, stone, 0, zobrist)


@njit
def _may_catch(b, p, other, color):
    """Return False if a chain, attacked at p, gets three liberties by its first reply, at its `other` liberty.

    This is known without playing the moves, unless the attack captures stones of `color`, which may be part of the
    reply's chain.
    """
    stride = b.stride
    for q in (p - stride, p - 1, p + 1, p + stride):
        if b.color[np.uint64(q)] == color and in_atari(b, q):
            return True
    return liberties_with(b, other, color, p) != 3


@njit
def _set_up(b, color, scratch):
    copy_record(b, scratch.boards[0])
    root = scratch.boards[0]
    if root.to_play != color:
        root.to_play = color
        root.ko = 0
    scratch.nodes[0] = MOST_NODES
