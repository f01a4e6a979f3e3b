"""Decisions: moves of games as choices among candidates with features, from which patterns are learned.

Start reading at `describe_games`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rlgo.compiler.jit import compiling, njit
from rlgo.go.board import PASS, new_board, play
from rlgo.go.replay import MoveLists, begin_game
from rlgo.moves.move_features import N_GROUPS, features_of, list_candidates, new_study, study
from rlgo.moves.nested_shapes import GrowingTree, ShapeTree, find_shapes, new_growing_tree, see_shape

_GAMES_AT_ONCE = 200


class TrainingGames(NamedTuple):
    """Training games of patterns.

    Attributes
    ----------
    lists : their moves; M in all
    is_learned : uint8[M], whether to learn from the move
    """

    lists: MoveLists
    is_learned: np.ndarray


class Decisions(NamedTuple):
    """D decisions among N candidates in all.

    Attributes
    ----------
    starts : int64[D + 1], where the candidates of each decision begin
    chosen : int64[D], index of the move played among the decision's candidates
    game, ply : int64[D], the game and the number of earlier moves
    move : uint16[N], the candidates: points, or PASS
    features : uint8[N, N_GROUPS], see `move_features.FEATURES`
    shape : int32[N], the largest known shape
    """

    starts: np.ndarray
    chosen: np.ndarray
    game: np.ndarray
    ply: np.ndarray
    move: np.ndarray
    features: np.ndarray
    shape: np.ndarray

    def __len__(self) -> int:
        return len(self.chosen)


def new_decisions(decisions: int, candidates: int) -> Decisions:
    """Allocate decisions."""
    chosen, game, ply = (np.zeros(decisions, np.int64) for _ in range(3))
    move, shape = np.zeros(candidates, np.uint16), np.zeros(candidates, np.int32)
    features = np.zeros((candidates, N_GROUPS), np.uint8)
    return Decisions(np.zeros(decisions + 1, np.int64), chosen, game, ply, move, features, shape)


@njit
def turn(b, color):
    """Make it this colour's turn."""
    if b.to_play != color:
        b.to_play = color
        b.ko = 0


@njit
def describe_games(games, first, stop, tree, s, b, out):
    """Compute the features of all candidates of the moves to learn from, in games first to stop - 1.

    tree, s, b : `ShapeTree`, and `Study` and a board record for the games' board size
    out : `Decisions` with enough room

    Returns the number of decisions. Moves that are not candidates, such as filling one's own eye, make none.
    """
    lists, moves = games.lists, s.moves
    n_decisions, n_all = 0, 0
    for g in range(first, stop):
        begin_game(lists, g, b, s.zobrist)
        last_but_one, last = np.int64(PASS), np.int64(PASS)
        for t in range(lists.first_move[g], lists.first_move[g + 1]):
            played = np.int64(lists.move[t])
            turn(b, np.int64(lists.color[t]))
            if games.is_learned[t]:
                study(b, s)
                n = list_candidates(b, moves)
                find_shapes(moves, 0, n, s.around, tree)
                chosen = -1
                for i in range(n):
                    p = moves[i]
                    chosen = i if p == played else chosen
                    features_of(b, p, last_but_one, s)
                    out.move[n_all + i] = p
                    for group in range(N_GROUPS):
                        out.features[n_all + i, group] = s.features[group]
                    out.shape[n_all + i] = tree.entries[s.around.entry[i]].number
                if chosen >= 0:
                    out.chosen[n_decisions], out.game[n_decisions] = chosen, g
                    out.ply[n_decisions] = t - lists.first_move[g]
                    n_all += n
                    n_decisions += 1
                    out.starts[n_decisions] = n_all
            play(b, played, s.zobrist)
            last_but_one, last = last, played
    return n_decisions


@njit
def see_games(games, growing, often, rings, s, b):
    """Count the shapes around all candidates of the moves to learn from; see `nested_shapes.see_shape`."""
    lists, moves = games.lists, s.moves
    for g in range(len(lists.first_move) - 1):
        begin_game(lists, g, b, s.zobrist)
        for t in range(lists.first_move[g], lists.first_move[g + 1]):
            turn(b, np.int64(lists.color[t]))
            if games.is_learned[t]:
                study(b, s)
                for i in range(list_candidates(b, moves) - 1):
                    see_shape(moves[i], s.around, growing, often, rings)
            play(b, np.int64(lists.move[t]), s.zobrist)


def grow_tree(games: TrainingGames, size: int, often: int, rings: int, room: int) -> GrowingTree:
    """Find the shapes of at most `rings` rings seen at least `often` times, counting at most `room` shapes."""
    growing = new_growing_tree(room)
    with compiling(f"patterns, {size}x{size}"):
        see_games(games, growing, often, rings, new_study(size), new_board(size))
    return growing


def decisions_of(games: TrainingGames, size: int, tree: ShapeTree) -> Decisions:
    """Compute the features of the candidates of all moves to learn from."""
    s, b = new_study(size), new_board(size)
    parts: list[Decisions] = []
    n_games = len(games.lists.first_move) - 1
    for first in range(0, n_games, _GAMES_AT_ONCE):
        stop = min(first + _GAMES_AT_ONCE, n_games)
        most = int(games.lists.first_move[stop] - games.lists.first_move[first])
        out = new_decisions(most, most * (size * size + 1))
        n = describe_games(games, first, stop, tree, s, b, out)
        end = out.starts[n]
        by_decision, by_candidate = [a[:n].copy() for a in out[1:4]], [a[:end].copy() for a in out[4:]]
        parts.append(Decisions(out.starts[: n + 1], *by_decision, *by_candidate))
    starts = [np.zeros(1, np.int64)]
    for part in parts:
        starts.append(part.starts[1:] + starts[-1][-1])
    columns = zip(*(part[1:] for part in parts), strict=True)
    return Decisions(np.concatenate(starts), *(np.concatenate(column) for column in columns))
