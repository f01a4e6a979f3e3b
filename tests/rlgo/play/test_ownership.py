"""Ownership by playouts: maps, dead stones, and scores without them."""

from __future__ import annotations

import numpy as np
import pytest
from board_data import from_diagram
from oracles.naive import NaiveBoard

from rlgo.base.errors import RlgoError
from rlgo.compiler.jit import make_rng
from rlgo.go.board import BLACK, EMPTY, PASS, WHITE, new_boards
from rlgo.go.coords import from_row_col, from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.go.rules import make_rules
from rlgo.moves.rollout import DefaultPolicy, new_rollout, playouts
from rlgo.play.ownership import Ownership

# Black lives in the left half, White in the right one, and one stone of each is lost in the other's.
TWO_HALVES = """
. X . X O . O . .
X . X X O O . O .
. X . X O . . . .
X X X X O O O O O
. . . X O . . . .
. O . X O . X . .
. . . X O . . . .
. . . X O . . . .
. . . X O . . . .
"""


def game_of_halves(komi: float = 7.5) -> Game:
    return from_diagram(TWO_HALVES, komi=komi)


def names(points: list[int]) -> set[str]:
    return {to_vertex(p, 9) for p in points}


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


def test_lost_stones_are_dead() -> None:
    game = game_of_halves()
    found = Ownership.of(game, 200, seed=1)
    assert sorted(map(names, found.dead())) == [{"B4"}, {"G4"}]
    rest = found.without_dead()
    assert rest.score() == 4 * 9 - 5 * 9 - 7.5
    assert rest.result == "W+16.5"
    assert rest.board.n_stones.sum() == game.board.n_stones.sum() - 2
    assert game.score() == 22 - 26 - 7.5  # where they stand, two regions are nobody's
    assert sum(map(len, found.chains)) == game.board.n_stones.sum()


def test_a_finished_game_keeps_its_score() -> None:
    """Once it is played out, nothing is dead, and the score is that of the board as it stands."""
    rng = np.random.default_rng(5)
    for size in (5, 9):
        game = Game(size, 0.5)
        while not game.is_over():
            moves = game.sensible_moves()
            game.play(moves[rng.integers(len(moves))] if moves else PASS)
        rest = Ownership.of(game, 200).without_dead()
        assert rest.score() == game.score()


def test_an_empty_board_is_nobodys() -> None:
    found = Ownership.of(Game(9, 0.0), 2000, seed=3)
    assert abs(float(found.map.mean())) < 0.25
    assert 0.3 < found.wins < 0.7
    assert found.dead() == []
    assert found.chains == []


def test_the_colour_to_play_and_passes_do_not_matter_for_halves() -> None:
    game = game_of_halves()
    game.play(PASS)
    game.play(PASS)
    assert len(Ownership.of(game, 200).dead()) == 2
    assert game.is_over()


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


@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_who_resigned_stays_so(color: int) -> None:
    game = game_of_halves()
    game.resign(color)
    assert Ownership.of(game, 50).without_dead().result == ("W+R" if color == BLACK else "B+R")


@pytest.mark.parametrize("playouts", [0, -1, 1.5])
def test_no_playouts(playouts: float) -> None:
    with pytest.raises(RlgoError, match="playouts"):
        Ownership.of(Game(5), playouts)
