"""Liberties of chains, and ladders read out.

Start reading at `escapes`. A board record knows only whether a chain is in atari; `liberties_of` finds the liberties
themselves. Ladders are read on a stack of board copies, because compiled code never undoes a move.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rlgo.board import EMPTY, is_legal, last_liberty, new_boards, play_stone
from rlgo.jit import copy_record, njit

MOST_NODES = 60  # positions that are read for a ladder; one with more of them counts as escaped
_DEPTH = 126  # plies of the longest ladder
_MOST_REPLIES = 8


class LadderScratch(NamedTuple):
    """What ladders are read on.

    Attributes
    ----------
    boards : a stack of board records; [0] holds the position to be read
    replies : int64[len(boards), 8], moves to be tried in each
    nodes : int64[1], positions that may still be read
    """

    boards: np.ndarray
    replies: np.ndarray
    nodes: np.ndarray


def new_ladder_scratch(size: int) -> LadderScratch:
    """Make the scratch for one board size."""
    replies = np.zeros((_DEPTH + 3, _MOST_REPLIES), np.int64)
    return LadderScratch(new_boards(_DEPTH + 3, size), replies, np.zeros(1, np.int64))


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
def liberties_with(b, p, color):
    """Return the liberties, 3 for more, of the chain that a stone of `color` at empty point p would make.

    Captures are not played out: the stones they would take off still stand.
    """
    stride = b.stride
    first, second = 0, 0
    for q in (p - stride, p - 1, p + 1, p + stride):
        s = np.int64(q)
        while True:
            # A neighbour that is empty is a liberty; one that is a stone brings the liberties of its chain.
            for r in (s - stride, s - 1, s + 1, s + stride) if b.color[np.uint64(q)] == color else (q, q, q, q):
                if (b.color[np.uint64(r)] == EMPTY) & (r != p) & (r != first) & (r != second):
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
def escapes(scratch, depth, stone, only, zobrist):
    """Return whether the chain at `stone`, in atari and its owner to play on boards[depth], gets out of the ladder.

    The owner extends, or captures a chain in atari next to its own; the enemy then gives atari again. Three liberties
    are an escape, one is not. Ko is played by the rules of the board.

    only : the one move that the owner may try first; 0 for any
    """
    if depth >= _DEPTH:
        return True
    boards = scratch.boards
    scratch.replies[depth, 0] = only
    n_replies = 1 if only else _list_replies(boards[depth], stone, scratch.replies[depth])
    for i in range(n_replies):
        copy_record(boards[depth], boards[depth + 1])
        play_stone(boards[depth + 1], scratch.replies[depth, i], zobrist)
        n, first, second = liberties_of(boards[depth + 1], stone)
        is_caught = n == 1
        if n == 2:
            for p in (first, second):
                scratch.nodes[0] -= 1
                if scratch.nodes[0] < 0:
                    return True
                if not is_caught and is_legal(boards[depth + 1], p):
                    copy_record(boards[depth + 1], boards[depth + 2])
                    play_stone(boards[depth + 2], p, zobrist)
                    is_caught = not escapes(scratch, depth + 2, stone, 0, zobrist)
        if not is_caught:
            return True
    return False


@njit
def _list_replies(b, stone, replies):
    """List what the owner of a chain in atari may try, and return how many moves there are."""
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
    _set_up(b, np.int64(b.color[np.uint64(stone)]), scratch)
    return escapes(scratch, 0, stone, p, zobrist)


@njit
def is_caught_by(b, stone, p, scratch, zobrist):
    """Return whether an enemy move at p, a liberty of a chain with two, catches the chain in a ladder."""
    _set_up(b, 3 - np.int64(b.color[np.uint64(stone)]), scratch)
    if not is_legal(scratch.boards[0], p):
        return False
    play_stone(scratch.boards[0], p, zobrist)
    return not escapes(scratch, 0, stone, 0, zobrist)


@njit
def _set_up(b, color, scratch):
    copy_record(b, scratch.boards[0])
    root = scratch.boards[0]
    if root.to_play != color:
        root.to_play = color
        root.ko = 0
    scratch.nodes[0] = MOST_NODES
