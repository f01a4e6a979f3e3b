"""The teacher of openings: its rule by hand, and what games learn from it."""

from __future__ import annotations

import pytest

import rlgo
from rlgo import to_vertex
from studies.opening_teacher import OpeningTeacher, opening_moves

SEARCH = "puct;heuristic=handcrafted;sims=8"


def moves_after(*vertices: str) -> dict[str, int]:
    game = rlgo.Game(19)
    for vertex in vertices:
        game.play(vertex)
    return {to_vertex(p, 19): n for p, n in opening_moves(game).items()}


def test_empty_corners_come_first():
    in_one = {"D4": 2, "C4": 1, "D3": 1}
    moves = moves_after("Q16", "D16", "Q4")
    assert moves == in_one
    assert len(moves_after()) == 12
    assert moves_after("Q16", "D16", "H4") == in_one | {"Q4": 2, "R4": 1, "Q3": 1}
    assert set(in_one) & set(moves_after("G4")) == {"C4"}  # four columns away, the others three


def test_there_is_no_rule_once_stones_are_near_each_other():
    assert not moves_after("Q16", "N16")
    assert moves_after("Q16", "M16")
    assert not moves_after("K10", "D4", "L11")


@pytest.mark.parametrize("follow", [1.0, 0.0])
def test_the_rule_is_the_target(follow):
    game = rlgo.Game(19)
    game.play("D4")
    teacher = OpeningTeacher(19, 1, SEARCH, follow)
    teacher.new_game()
    move = teacher.genmove(game)
    rule = opening_moves(game)
    assert teacher.policy_target(game) == rule
    found = teacher.candidates(game)[0]
    assert found.visits > 0
    assert move in rule if follow else move == found.move
