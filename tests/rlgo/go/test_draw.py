"""Boards, shapes and maps, as text and as SVG."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import from_vertex
from rlgo.go.draw import (
    board_svg,
    board_text,
    colors_of,
    shapes_text,
)
from rlgo.go.game import Game


@pytest.fixture
def game() -> Game:
    game = Game(7)
    for name in ("C3", "G7", "A1", "D4"):
        game.play(from_vertex(name, 7))
    return game


BOARD = """\
   A B C D E F G
 7 . . . . . . O 7
 6 . . . . . . . 6
 5 . . + . + . . 5
 4 . . . O . . . 4
 3 . . X . + . . 3
 2 . . . . . . . 2
 1 X . . . . . . 1
   A B C D E F G"""


def test_board_text(game: Game) -> None:
    assert board_text(game.board) == BOARD
    assert board_text(game.board, PASS) == BOARD
    marked = board_text(game.board, game.last_move)
    assert marked == BOARD.replace(" 4 . . . O . . . 4", " 4 . . .(O). . . 4")
    edges = {"A1": " 1(X). . . . . . 1", "G7": " 7 . . . . . .(O)7"}
    for name, line in edges.items():
        assert line in board_text(game.board, from_vertex(name, 7)).splitlines()


def test_board_text_in_unicode(game: Game) -> None:
    text = board_text(game.board, unicode=True)
    stars, stones = BOARD.split("\n", 1)
    assert text == stars + "\n" + stones.replace("X", "●").replace("O", "○")[: len(stones)]


def svg_circles(text: str) -> dict[str, list[tuple[float, float]]]:
    """The centres of the circles of an SVG image by their fill."""
    found: dict[str, list[tuple[float, float]]] = {}
    for element in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}circle"):
        found.setdefault(element.attrib["fill"], []).append((float(element.attrib["cx"]), float(element.attrib["cy"])))
    return found


def test_board_svg(game: Game) -> None:
    circles = svg_circles(board_svg(game.board, game.last_move, cell=10))
    # Columns count from the left, and rows from below.
    assert sorted(circles["#141414"]) == [(10, 70), (30, 50)]  # A1, C3
    assert sorted(circles["#f5f5f5"]) == [(40, 40), (70, 10)]  # D4, G7
    assert circles["#e63c32"] == [(40, 40)]
    assert "#e63c32" not in svg_circles(board_svg(game.board, PASS, cell=10))
    assert game._repr_svg_() == board_svg(game.board, game.last_move)
    texts = [element.text for element in ElementTree.fromstring(board_svg(game.board)).iter() if element.text]
    assert [text for text in texts if text.strip()] == [*"ABCDEFG", *"1234567"]


def test_board_svg_shows_values(game: Game) -> None:
    values = np.full((7, 7), np.nan)
    values[0, 1], values[6, 0] = 1.0, 0.25
    root = ElementTree.fromstring(board_svg(game.board, values=values, cell=10))
    squares = [r.attrib for r in root.iter("{http://www.w3.org/2000/svg}rect") if "fill-opacity" in r.attrib]
    assert [(s["x"], s["y"], s["fill"], s["fill-opacity"]) for s in squares] == [
        ("15", "65", "#cd322d", "1.000"),
        ("5", "5", "#285ac8", "0.500"),
    ]


def test_large_boards_keep_their_columns() -> None:
    lines = board_text(Game(19).board).splitlines()
    assert lines[0] == "   A B C D E F G H J K L M N O P Q R S T"
    assert lines[1] == "19 . . . . . . . . . . . . . . . . . . . 19"
    assert lines[4][3:].split(" ").count("+") == 3
    assert {line.index("+") for line in lines if "+" in line} == {lines[0].index("D")}


def test_colors_of(game: Game) -> None:
    colors = colors_of(game.board)
    assert colors.shape == (7, 7)
    assert colors[2, 2] == colors[0, 0] == BLACK
    assert colors[6, 6] == colors[3, 3] == WHITE
    assert np.count_nonzero(colors) == 4
    colors[:] = 0
    assert colors_of(game.board).any()  # a copy


SHAPE = np.array([[1, 0, 0], [0, 2, 0], [0, 0, 2]])  # Black at the lower left


def test_shapes_text() -> None:
    text = shapes_text([SHAPE, SHAPE[:2, :2], np.array([[1]])], ["+0.5", "-12.25", ""])
    assert text.splitlines() == [
        ". . ○",
        ". ○ .   . ○",
        "● . .   ● .      ●",
        "+0.5    -12.25",
    ]
    assert shapes_text([SHAPE], unicode=False) == ". . O\n. O .\nX . ."
    assert shapes_text([]) == ""


def test_shapes_text_breaks_lines() -> None:
    text = shapes_text([SHAPE] * 5, width=21)
    assert [len(line) for line in text.splitlines()] == [21] * 3 + [0] + [13] * 3
    assert shapes_text([SHAPE] * 2, width=1).count("\n\n") == 1
