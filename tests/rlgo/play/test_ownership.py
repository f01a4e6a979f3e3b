"""Ownership by playouts: maps and scores."""

from __future__ import annotations

import numpy as np
import pytest
from board_data import TWO_HALVES, from_diagram
from oracles.naive import NaiveBoard

from rlgo.base.errors import RlgoError
from rlgo.compiler.jit import make_rng
from rlgo.go.board import BLACK, EMPTY, WHITE, new_boards
from rlgo.go.coords import from_row_col, from_vertex
from rlgo.go.game import Game
from rlgo.go.rules import make_rules
from rlgo.moves.rollout import DefaultPolicy, new_rollout, playouts
from rlgo.play.ownership import Ownership


def game_of_halves(komi: float = 7.5) -> Game:
    return from_diagram(TWO_HALVES, komi=komi)


def test_a_map_of_two_halves() -> None:
    found = Ownership.of(game_of_halves(), 200, seed=1)
    assert (found.map[:, :4] > 0.5).all()
    assert (found.map[:, 4:] < -0.5).all()
    assert found.map[:, :4].mean() > 0.9
    assert found.map[:, 4:].mean() < -0.8
    assert found.map.shape == (9, 9)
    assert np.abs(found.map).max() <= 1
    assert found.wins < 0.3  # by komi, where White does not die
    assert Ownership.of(game_of_halves(-30.5), 200).wins > 0.9


def test_an_empty_board_is_nobodys() -> None:
    found = Ownership.of(Game(9, 0.0), 2000, seed=3)
    assert abs(float(found.map.mean())) < 0.25
    assert 0.3 < found.wins < 0.7


def test_the_same_seed_gives_the_same_map() -> None:
    game = Game(9)
    game.play(from_vertex("E5", 9))
    maps = [Ownership.of(game, 50, seed).map.tolist() for seed in (1, 1, 2)]
    assert maps[0] == maps[1] != maps[2]


@pytest.mark.interpreted
@pytest.mark.boundscheck
def test_points_count_for_whoever_holds_them_in_the_end() -> None:
    """Against the area of the position in which the same playout ends."""
    game, outcomes = Game(5, 0.5), set()
    for vertex in ("C3", "B2", "D4"):
        game.play(from_vertex(vertex, 5))
    for seed in range(20):
        boards = new_boards(2, 5)
        boards[0] = game.board
        playouts(boards, DefaultPolicy(mercy=False), new_rollout(5), make_rules(5, 0.5), 1, make_rng(seed))
        end = NaiveBoard(5)
        end.stones = {p: int(boards[1].color[from_row_col(*p, 5)]) for p in end.points}
        end.stones = {p: color for p, color in end.stones.items() if color != EMPTY}
        sign, owners = {BLACK: 1, WHITE: -1, EMPTY: 0}, end.owners()
        found = Ownership.of(game, 1, seed)
        assert found.map.tolist() == [[sign[owners.get((row, col), EMPTY)] for col in range(5)] for row in range(5)]
        assert found.wins == (end.area_score() > 0.5)
        outcomes.add(found.wins)
    assert outcomes == {0, 1}


@pytest.mark.parametrize("playouts", [0, -1, 1.5])
def test_no_playouts(playouts: float) -> None:
    with pytest.raises(RlgoError, match="playouts"):
        Ownership.of(Game(5), playouts)
