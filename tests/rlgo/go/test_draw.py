"""Boards, shapes and maps, as text and as SVG."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.draw import (
    board_ansi,
    board_narrow,
    board_svg,
    board_text,
    colors_of,
    shapes_text,
    values_narrow,
    values_text,
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


def test_narrow_boards_have_a_character_for_each_point(game: Game) -> None:
    wide = board_text(game.board).splitlines()
    narrow = board_narrow(game.board, game.last_move).splitlines()
    assert narrow[-1] == f"last move: {to_vertex(game.last_move, game.size)}"
    assert [line[:2] + line[2:-2].replace(" ", "") for line in wide[1:-1]] == [
        line[:2] + line[3:-2].replace(" ", "") for line in narrow[1:-2]
    ]
    assert max(map(len, board_narrow(Game(19).board).splitlines())) == 25
    values = np.full((game.size, game.size), 0.46)
    values[0, 4] = 1.0
    first, *rows, _ = values_narrow(game.board, values).splitlines()
    assert first == narrow[0]
    assert rows[-1][7] == "9"
    assert "4" in rows[0]
    values[0, 4] = -0.3  # of a linear V
    assert values_narrow(game.board, values).splitlines()[-2][7] == "0"
    assert "-" not in values_text(game.board, values)


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


COLORED = """\
    A B C D E F G
  7 ┌─┬─┬─┬─┬─┬─●  7
  6 ├─┼─┼─┼─┼─┼─┤  6
  5 ├─┼─╋─┼─╋─┼─┤  5
  4 ├─┼─┼(●)┼─┼─┤  4
  3 ├─┼─●─┼─╋─┼─┤  3
  2 ├─┼─┼─┼─┼─┼─┤  2
  1 ●─┴─┴─┴─┴─┴─┘  1
    A B C D E F G"""


def without_colors(text: str) -> list[str]:
    return re.sub("\033\\[[0-9;]*m", "", text).splitlines()


def test_board_ansi(game: Game) -> None:
    text = board_ansi(game.board, game.last_move)
    plain = without_colors(text)
    assert [line.rstrip() for line in plain] == COLORED.splitlines()
    assert {len(line) for line in plain} == {21}  # the wood is a rectangle
    black, white, red = "\033[38;5;16m●", "\033[38;5;231m●", "\033[38;5;160m"
    assert text.count(black) == text.count(white) == 2
    lines = text.splitlines()
    assert black in lines[5]
    assert white in lines[1]
    assert f"{red}({white}{red})" in lines[4]
    assert all(line.startswith("\033[48;5;179") and line.endswith("\033[0m") for line in lines)
    assert "(" not in board_ansi(game.board)
    assert "(" not in board_ansi(game.board, PASS)


@pytest.mark.parametrize("size", [5, 9, 19])
def test_colored_boards_are_rectangles(size: int) -> None:
    lines = without_colors(board_ansi(Game(size).board))
    assert {len(line) for line in lines} == {2 * size + 7}
    assert len(lines) == size + 2
    assert lines[1].startswith(f" {size:2} ┌─")
    assert lines[1].endswith(f"─┐ {size:2} ")


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
