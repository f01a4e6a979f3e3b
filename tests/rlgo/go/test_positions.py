"""Positions: made from games, and from nodes of a tree, always the same."""

from __future__ import annotations

import numpy as np
import pytest
from random_play import random_game
from stand_ins import TWO_STONES_SENT

import rlgo
from rlgo.base.errors import RlgoError
from rlgo.go.board import new_boards
from rlgo.go.game import Game
from rlgo.go.positions import (
    NO_MOVE,
    MoveLists,
    Positions,
    copy_position,
    follow,
    move_lists,
    new_positions,
    replayed,
)
from rlgo.go.rules import zobrist

SIZE = 5
GAMES = [random_game(moves, seed) for seed, moves in enumerate((0, 1, 5, 30, 40))]
FIELDS = ("color", "to_play", "ko", "hash", "n_moves", "n_passes")


def legal(game: Game) -> set[int]:
    """By row * size + col; the pass comes last."""
    return {(p // (game.size + 1) - 1) * game.size + p % (game.size + 1) - 1 for p in game.legal_moves()} | {
        game.size**2
    }


def assert_is(positions: Positions, i: int, game: Game) -> None:
    for field in FIELDS:
        np.testing.assert_array_equal(positions.arrays.boards[i][field], game.board[field], err_msg=field)
    past = [game.after(n).board.color for n in range(len(game.moves), -1, -1)]
    for ago in range(positions.history):
        expected = past[ago] if ago < len(past) else np.zeros_like(past[0])
        np.testing.assert_array_equal(positions.arrays.stones[i, ago], expected, err_msg=f"{ago} plies ago")
    moves = [p for _, p in game.moves[::-1]][: positions.history]
    assert positions.last_moves[i].tolist() == moves + [NO_MOVE] * (positions.history - len(moves))
    assert positions.komi[i] == game.komi
    assert set(np.flatnonzero(positions.legal()[i]).tolist()) == legal(game)


@pytest.mark.interpreted
@pytest.mark.boundscheck
def test_positions_of_games_are_theirs() -> None:
    positions = Positions.of(GAMES)
    assert len(positions) == len(GAMES)
    for i, game in enumerate(GAMES):
        assert_is(positions, i, game)
    for ply in range(len(GAMES[-1].moves) + 1):
        assert_is(Positions.along(GAMES[-1]), ply, GAMES[-1].after(ply))


def test_all_kinds_of_games() -> None:
    handicap = Game(9, 0.5)
    handicap.fixed_handicap(3)
    handicap.play("E5")
    back = random_game(20, 3)
    back.undo(7)
    twice = Game(SIZE)
    twice.play("C3")
    twice.to_play = "black"
    for game in (handicap, back, twice):
        assert_is(Positions.of(game), 0, game)
    assert Positions.along(handicap).to_play.tolist() == [rlgo.WHITE, rlgo.BLACK]


def test_superko_looks_at_all_earlier_positions() -> None:
    game = Game(SIZE)
    for vertex in TWO_STONES_SENT.split():
        game.play(vertex)
    forbidden = {p for p in range(len(game.board.color)) if game.why_illegal(p) == "superko"}
    assert len(forbidden) == 1
    positions = Positions.of([random_game(9, 1), game])
    assert_is(positions, 1, game)
    assert_is(positions[[1]], 0, game)
    assert Positions.of(game.board).legal().sum() == len(legal(game)) + 1  # a board knows simple ko only


@pytest.mark.interpreted
@pytest.mark.boundscheck
@pytest.mark.parametrize("history", [1, 3, 8])
@pytest.mark.parametrize("depth", [0, 1, 2, 7, 8, 20])
def test_a_node_of_a_tree_is_a_position(history: int, depth: int) -> None:
    game = random_game(30, 5)
    root = Positions.of(game.after(10), history=history).arrays
    nodes = new_positions(3, SIZE, history)._replace(hashes=root.hashes)
    path = np.array([p for _, p in game.moves[10 : 10 + depth]] + [99], np.int64)
    copy_position(root, 0, nodes, 1)
    follow(nodes, 1, path, depth, zobrist(SIZE))
    expected = Positions.of(game.after(10 + depth), history=history).arrays
    for name in ("stones", "moves", "komi"):
        np.testing.assert_array_equal(getattr(nodes, name)[1], getattr(expected, name)[0], err_msg=name)
    for field in FIELDS:
        np.testing.assert_array_equal(nodes.boards[1][field], expected.boards[0][field], err_msg=field)
    assert (nodes.first_hash[1], nodes.n_hashes[1]) == (0, 11)  # the game's, not the path's


def test_positions_come_in_the_order_asked_for() -> None:
    draw = np.random.default_rng(1)
    which = draw.integers(0, len(GAMES), 50)
    ply = np.array([draw.integers(0, len(GAMES[g].moves) + 1) for g in which])
    positions = replayed(move_lists(GAMES), which, ply, SIZE, 8, True)
    for i, (g, n) in enumerate(zip(which, ply, strict=True)):
        assert_is(positions, i, GAMES[g].after(n))


def test_some_of_a_batch() -> None:
    positions = Positions.along(GAMES[3])
    assert len(positions[2:5]) == 3
    assert positions[-1].to_play.tolist() == [GAMES[3].to_play]
    np.testing.assert_array_equal(positions[2:5].stones(1), positions.stones(1)[2:5])
    with pytest.raises(IndexError):
        positions[len(positions)]
    with pytest.raises(RlgoError, match="ago = 8: expected an integer from 0 to 7"):
        positions.stones(8)


@pytest.mark.parametrize("move", [7, 200, -3, 6 * 6])
def test_an_illegal_move_is_found(move: int) -> None:
    games = move_lists([GAMES[1], GAMES[2]])
    played = games.move.copy()
    played[-1] = played[-2] if move == 7 else move
    with pytest.raises(RlgoError, match="game 1: illegal move"):
        replayed(MoveLists(**{**games._asdict(), "move": played}), np.array([0, 1]), np.array([1, 5]), SIZE, 8, False)


@pytest.mark.parametrize("wrong", [[], "E5", None, [Game(5), "E5"], [Game(5), Game(9)], new_boards(2, 5)])
def test_what_is_no_position(wrong: object) -> None:
    with pytest.raises(RlgoError, match="expected"):
        Positions.of(wrong)
    with pytest.raises(RlgoError, match="expected a Game"):
        Positions.along(wrong)
