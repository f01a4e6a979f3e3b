"""Positions that every tree search must get right: a ko, a seki, a snapback and a ladder, with one right move each."""

from __future__ import annotations

import pytest
from board_data import from_diagram

from mcts.player import TreeSearch
from mcts.policies import Ucb1
from mcts.settings import ALGORITHMS, Search
from rlgo.go.board import BLACK, WHITE
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.moves.rollout import DefaultPolicy

# Only one question is open in each: everything else is stones, and single-point eyes that nobody fills.
KO = """
X X X O O
. X X O .
X X O . O
X . X O O
X X X O .
"""  # D3 takes the ko, or connects it; there are no threats

SEKI = """
O O X X X X X X X
. O X X . X X X X
O O X X X X X X X
. O X X X X . X X
O O X X X X X X X
O O X X X X X X X
X X O X X X X X X
X . O X X X X . X
X . O X X X X X X
"""  # two liberties, B1 and B2, that both inner chains live by: whoever plays there loses his

SNAPBACK = """
X X X X X X X O O
X . X X X X X O .
X X X X X X X O O
X X X X . X X O O
X X X X X X X O .
X X X X X X X O O
X X X X X X X O O
X O O O X X X O O
X O . . O O O O O
"""  # Black throws in at D1: whoever takes it at C1 is taken back; White connects there

LADDER = """
. . . . . . . . .
. . . . . . . . .
. . . . X O . . .
. . . X O O X . .
. . . X O X . . .
. . X . X . . . .
. . O . . . O . .
. . . . . . . . .
. . . . . . . . .
"""  # F8 keeps White in the ladder; from G7 it gets away


# Komi lies between what the right move and any other one make of it.
POSITIONS = {
    "ko, Black": (KO, BLACK, 4.5, "D3"),
    "ko, White": (KO, WHITE, 4.5, "D3"),
    "seki, Black": (SEKI, BLACK, 45.5, "pass"),
    "seki, White": (SEKI, WHITE, 53.5, "pass"),
    "snapback, Black": (SNAPBACK, BLACK, 33.5, "D1"),
    "snapback, White": (SNAPBACK, WHITE, 33.5, "D1"),
    "ladder, Black": (LADDER, BLACK, 7.5, "F8"),
}


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("settings", [Search(Ucb1(0.4, 1.0)), ALGORITHMS["mc_rave"]], ids=["uct", "mc_rave"])
def test_the_one_right_answer(name: str, settings: Search):
    diagram, color, komi, expected = POSITIONS[name]
    game = from_diagram(diagram, color, komi)
    player = TreeSearch(game.size, settings, 6000, default_policy=DefaultPolicy(mercy=False), seed=1)
    assert to_vertex(player.genmove(game), game.size) == expected, player.report()


# Lines of play to the end, and who wins them: the right answer's, and others' with what refutes them.
LINES = [
    ("ko, Black", "D3 pass C3 pass pass", BLACK),
    ("ko, Black", "pass D3 pass pass", WHITE),
    ("ko, White", "D3 pass pass", WHITE),
    ("ko, White", "pass D3 pass C3 pass pass", BLACK),
    ("seki, Black", "pass pass", BLACK),
    ("seki, Black", "B1 B2 pass pass", WHITE),
    ("seki, Black", "B2 B1 pass pass", WHITE),
    ("seki, White", "pass pass", WHITE),
    ("seki, White", "B1 B2 pass pass", BLACK),
    ("seki, White", "B2 B1 pass pass", BLACK),
    ("snapback, Black", "D1 C1 D1 pass pass", BLACK),
    ("snapback, Black", "D1 pass C1 pass pass", BLACK),
    ("snapback, Black", "C1 D1 pass pass", WHITE),
    ("snapback, Black", "pass D1 pass pass", WHITE),
    ("snapback, White", "D1 pass pass", WHITE),
    ("snapback, White", "C1 D1 pass pass", BLACK),
    ("snapback, White", "pass D1 C1 D1 pass pass", BLACK),
]


@pytest.mark.parametrize(("name", "line", "winner"), LINES)
def test_the_answers_are_right(name, line, winner):
    diagram, color, komi, _ = POSITIONS[name]
    game = from_diagram(diagram, color, komi)
    for vertex in line.split():
        p = from_vertex(vertex, game.size)
        assert game.is_legal(p)
        game.play(p)
    assert game.is_over()
    assert (game.score() > 0) == (winner == BLACK)
