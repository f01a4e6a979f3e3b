"""Games as flat arrays, replayed in compiled code to the positions that somebody wants.

Start reading at `MoveLists`, then `replay`; `positions.replayed` calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.compiler.jit import copy_record, inline, njit
from rlgo.go.board import BLACK, BORDER, EMPTY, PASS, clear, is_legal, new_boards, play
from rlgo.go.game import Game
from rlgo.go.rules import n_points

NO_MOVE = -1  # in place of a move before the first one
_OK, _OFF_BOARD, _ILLEGAL = 0, 1, 2


class MoveLists(NamedTuple):
    """Games as flat arrays: G games with M moves and S stones set up, all one after another.

    Attributes
    ----------
    first_move : int64[G + 1], game g has the moves first_move[g] to first_move[g + 1] - 1
    color, move : uint8[M], int16[M]: a colour, and a point or PASS
    first_setup : int64[G + 1], the same of the stones set up at the start
    setup_color, setup_point : uint8[S], int16[S]
    next_color : uint8[G], the colour to play after the last move; EMPTY: the other one
    komi : float32[G]
    """

    first_move: np.ndarray
    color: np.ndarray
    move: np.ndarray
    first_setup: np.ndarray
    setup_color: np.ndarray
    setup_point: np.ndarray
    next_color: np.ndarray
    komi: np.ndarray


class Wanted(NamedTuple):
    """Which positions of which games to make, in ascending order of game and ply.

    Attributes
    ----------
    game : int64[n], index of the game
    ply : int64[n], number of moves before the position
    row : int64[n], where the position goes
    """

    game: np.ndarray
    ply: np.ndarray
    row: np.ndarray


class ReplayScratch(NamedTuple):
    """What `replay` works in: a board, and the stones and moves of the last H plies in a ring."""

    boards: np.ndarray  # a board record, [1]
    stones: np.ndarray  # uint8[H, P]
    moves: np.ndarray  # int16[H]


def new_replay_scratch(size: int, history: int) -> ReplayScratch:
    """Make the scratch of `replay`."""
    return ReplayScratch(
        new_boards(1, size), np.zeros((history, n_points(size)), np.uint8), np.zeros(history, np.int16)
    )


@njit
def place(b, color, p, zobrist):
    """Play a move that may be illegal or out of turn: return _OK, or what is wrong with it, the stones unchanged."""
    if p != PASS and not (0 < p < b.color.shape[0] and b.color[np.uint64(p)] != BORDER):
        return _OFF_BOARD
    if b.to_play != color:
        b.to_play = color
        b.ko = 0  # only the other colour is forbidden to retake
    if not is_legal(b, p):
        return _ILLEGAL
    play(b, p, zobrist)
    return _OK


@njit
def begin_game(games, g, b, zobrist):
    """Make `b` the position before the first move of game g; return _OK, or what is wrong with a stone."""
    clear(b, int(b.board_size))  # not a numpy integer: without numba, comparisons with those do not add up
    for s in range(games.first_setup[g], games.first_setup[g + 1]):
        p = np.int64(games.setup_point[s])
        wrong = place(b, np.int64(games.setup_color[s]), p, zobrist) if p != PASS else _OFF_BOARD
        if wrong:
            return wrong
    b.to_play = next_color(games, g, 0, BLACK)
    b.ko, b.n_moves, b.n_passes, b.n_changed = 0, 0, 0, 0
    return _OK


@inline
def next_color(games, g, ply, default):
    """Return the colour to play in game g after so many moves; `default` if the record does not tell."""
    move = games.first_move[g] + ply
    color = games.color[move] if move < games.first_move[g + 1] else games.next_color[g]
    return np.int64(color) if color else np.int64(default)


@njit
def replay(games, wanted, scratch, zobrist, out):
    """Play games through, and copy the wanted positions out; return -1, or the index of a game with an illegal move.

    games : `MoveLists`; wanted : `Wanted`, each ply at most the moves of its game; out : `PositionArrays`, whose hashes
    are filled if there is room for the plies of all games that are visited, and one more for each
    """
    b = scratch.boards[0]
    history, points = scratch.stones.shape
    with_hashes = len(out.hashes) > 0
    current, ply, first_hash, n_hashes = np.int64(-1), np.int64(0), np.int64(0), np.int64(0)
    for w in range(len(wanted.game)):
        g = wanted.game[w]
        if g != current:
            current, ply, first_hash = g, 0, n_hashes
            if begin_game(games, g, b, zobrist):
                return g
            _remember(b, scratch, 0, NO_MOVE)
            if with_hashes:
                out.hashes[np.uint64(n_hashes)] = b.hash
                n_hashes += 1
        while ply < wanted.ply[w]:
            move = games.first_move[g] + ply
            p = np.int64(games.move[move])
            if place(b, np.int64(games.color[move]), p, zobrist):
                return g
            ply += 1
            _remember(b, scratch, ply, p)
            if with_hashes:
                out.hashes[np.uint64(n_hashes)] = b.hash
                n_hashes += 1
        row = wanted.row[w]
        copy_record(b, out.boards[row])
        to_play = next_color(games, g, ply, b.to_play)
        if to_play != b.to_play:
            out.boards[row].to_play = to_play
            out.boards[row].ko = 0
        for k in range(history):
            slot = (ply - k) % history
            for p in range(points):
                out.stones[row, k, p] = scratch.stones[slot, p] if k <= ply else EMPTY
            out.moves[row, k] = scratch.moves[slot] if k < ply else NO_MOVE
        out.komi[row] = games.komi[g]
        out.first_hash[row] = first_hash
        out.n_hashes[row] = n_hashes - first_hash
    return -1


@inline
def _remember(b, scratch, ply, move):
    """Put the stones after so many plies, and the move that led to them, into the ring."""
    slot = ply % scratch.stones.shape[0]
    for p in range(scratch.stones.shape[1]):
        scratch.stones[slot, p] = b.color[p]
    scratch.moves[slot] = move


def move_lists(games: Sequence[Game]) -> MoveLists:
    """Return the moves of games."""

    def column(rows: Sequence[Sequence[tuple[int, int]]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        pairs = np.array([pair for row in rows for pair in row], np.int16).reshape(-1, 2)
        return first, pairs[:, 0].astype(np.uint8), pairs[:, 1].copy()

    moves, setup = column([game.moves for game in games]), column([game.setup for game in games])
    to_play = np.array([game.to_play for game in games], np.uint8)
    return MoveLists(*moves, *setup, to_play, np.array([game.komi for game in games], np.float32))


class IllegalMove(RlgoError):
    """A game has an illegal move; `game` is its index."""

    def __init__(self, game: int) -> None:
        super().__init__(f"game {game}: illegal move")
        self.game = game
