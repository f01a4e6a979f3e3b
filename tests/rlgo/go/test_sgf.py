"""Game records: what is read, what is refused, and the error messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, WHITE
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.go.sgf import load_sgf, read_sgf, repetition_note, write_sgf


def moves(game: Game) -> str:
    return " ".join(f"{'?BW'[color]}:{to_vertex(p, game.size)}" for color, p in game.moves)


@pytest.mark.parametrize(
    ("sgf", "message"),
    [
        ("", "not an SGF game record of Go: no SGF data found"),
        ("(;SZ[9];B[cc", "not an SGF game record of Go: unexpected end of SGF data"),
        ("(;GM[2]SZ[9])", "GM[2]: expected 1, the game of Go"),
        ("(;SZ[9:13])", "SZ[9:13]: expected a board size from 5 to 19"),
        ("(;SZ[25])", "SZ[25]: expected a board size from 5 to 19"),
        ("(;SZ[9]SZ[13])", "SZ: expected one value, found 2"),
        ("(;SZ[9]KM[nan])", "KM[nan]: expected a number from -10,000 to 10,000"),
        ("(;SZ[9]KM[1e9])", "KM[1e9]: expected a number from -10,000 to 10,000"),
        ("(;SZ[9]KM[10001])", "KM[10001]: expected a number from -10,000 to 10,000"),
        ("(;SZ[9]HA[99])", "HA[99]: expected a number from 0 to 80"),
        ("(;SZ[9]HA[4];W[cc])", "HA[4]: expected the handicap stones in AB"),
        ("(;SZ[9]PL[z])", "PL[z]: expected B or W"),
        ("(;SZ[9]AB[])", "AB[]: expected a point"),
        ("(;SZ[9]AW[aa:jj])", "AW[aa:jj]: expected a point from aa to ii"),
        ("(;SZ[5]AB[ab][ba]AW[aa])", "setup White A5: suicide"),
        ("(;SZ[9];B[zz])", "move 1: B[zz]: expected a point from aa to ii, or nothing for a pass"),
        ("(;SZ[9];B[cc];W[é])", "move 2: W["),
        ("(;SZ[9];B[cc];W[cc])", "move 2: illegal move White C7: occupied"),
        ("(;SZ[9];B[cc]W[dd])", "B and W in one node: expected one move"),
        ("(;SZ[9];B[cc];AB[dd])", "setup properties after move 1: expected them before the first one"),
        ("(;SZ[9];B[c\n\x00\u200b])", "B[c??"),
        (f"(;SZ[9];B[{'x' * 99}])", f"B[{'x' * 40}...]: expected a point"),
    ],
)
def test_what_is_refused_is_named(sgf: str, message: str) -> None:
    with pytest.raises(RlgoError) as refused:
        read_sgf(sgf.encode())
    assert message in str(refused.value)
    assert "b'" not in str(refused.value)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("sgf", "expected"),
    [
        ("(;SZ[9];B[cc];W[];B[tt])", "B:C7 W:pass B:pass"),
        ("(;GM[1]SZ[9]HA[2];B[cc];B[gg];W[ee])", "B:C7 B:G3 W:E5"),  # a handicap that was placed move by move
        ("nonsense before (;SZ[9];C[first a comment]AB[aa];B[cc](;W[dd])(;W[ee])) (;SZ[7])", "B:C7 W:D6"),
        ("(;SZ[9]KM[]HA[0];B[cc])", "B:C7"),
    ],
)
def test_the_main_line_is_read(sgf: str, expected: str) -> None:
    game = read_sgf(sgf.encode(), komi=0.5)
    assert (moves(game), game.komi) == (expected, 0.5)


@pytest.mark.parametrize(
    ("root", "komi"),
    [
        ("KM[6.5]", 6.5),
        ("AP[foxwq]RU[Chinese]KM[375]", 7.5),  # 3.75 stones
        ("AP[foxwq]RU[Japanese]KM[650]", 6.5),
        ("AP[foxwq]RU[Chinese]KM[0]", 0),
        ("AP[other]KM[375]", 375),
    ],
)
def test_komi(root: str, komi: float) -> None:
    assert read_sgf(f"(;SZ[9]{root})".encode()).komi == komi


@pytest.mark.parametrize("n_moves", [-1, 1.5, "two"])
def test_a_number_of_moves_that_is_none(n_moves: Any) -> None:
    with pytest.raises(RlgoError, match=r"^n_moves = .*: expected"):
        read_sgf(b"(;SZ[9])", n_moves=n_moves)


def test_rectangles_of_stones() -> None:
    game = read_sgf(b"(;SZ[9]AB[aa:cb]AE[bb];W[cc])")
    assert [to_vertex(p, 9) for p in game.stones(BLACK)] == ["A8", "C8", "A9", "B9", "C9"]
    assert moves(game) == "W:C7"


def test_a_record_may_repeat_a_position() -> None:
    """Other ko rules allow it. It is told, and from there on our rule holds."""
    points = ["B1", "A2", "C2", "B2", "D1", "E5", "A1", "C1", "B1"]
    played = [(BLACK if i % 2 == 0 else WHITE, from_vertex(name, 5)) for i, name in enumerate(points)]
    strict = Game(5)
    for color, p in played[:-1]:
        strict.play(p, color)
    with pytest.raises(RlgoError, match="illegal move Black B1: superko"):
        strict.play(played[-1][1])
    strict.play(played[-1][1], may_repeat=True)
    game = read_sgf(write_sgf(strict, "a", "b"))
    assert game.moves == played
    assert game.repetitions == strict.repetitions == game.copy().repetitions == game.after(9).repetitions == [9]
    assert game.after(8).repetitions == []
    assert repetition_note(game).startswith("move 9 repeats an earlier position")
    game.play(from_vertex("E1", 5))
    game.undo()
    assert game.repetitions == [9]
    game.undo()
    assert game.repetitions == []
    assert repetition_note(game) == ""
    assert not game.is_legal(played[-1][1])


def test_a_folder_is_no_record(tmp_path: Path) -> None:
    folder = tmp_path / "x.sgf"
    folder.mkdir()
    with pytest.raises(RlgoError, match=r"x\.sgf': expected a file, found a folder"):
        load_sgf(folder)
    with pytest.raises(RlgoError, match="no such file"):
        load_sgf(tmp_path / "y.sgf")


_PROPERTIES = st.sampled_from([*"BWC;()(;", "AB", "AW", "AE", "SZ", "KM", "HA", "PL", "GM", "XX"])
_VALUES = st.sampled_from(["cc", "dd", "ii", "tt", "zz", "9", "5", "6.5", "nan", "B", "aa:cc", "-3"]) | st.text(
    max_size=5
)


@settings(max_examples=300)
@given(st.lists(st.tuples(_PROPERTIES, _VALUES), max_size=12))
def test_whatever_is_read_is_a_game_or_refused(parts: list[tuple[str, str]]) -> None:
    text = "(;SZ[9]" + "".join(name if name in ";()" else f"{name}[{value}]" for name, value in parts) + ")"
    try:
        game = read_sgf(text.encode())
    except RlgoError as error:
        message = str(error)
    else:
        message = "read"
        assert read_sgf(write_sgf(game, "a", "b")).moves == game.moves
    assert message
    assert message.isprintable()


@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_who_is_to_play_on_an_empty_board_is_kept(color: int) -> None:
    game = Game(9)
    game.set_up([], color)
    record = write_sgf(game, "a", "b")
    assert read_sgf(record).to_play == color
    assert (b"PL[W]" in record) == (color == WHITE)


def test_whose_turn_it_is_after_some_moves_is_that_of_the_record() -> None:
    assert read_sgf(b"(;SZ[9];B[aa];B[bb];W[cc])", n_moves=1).to_play == BLACK


def test_a_record_may_say_whose_turn_it_is_at_its_end() -> None:
    assert read_sgf(b"(;SZ[9];B[dd];PL[B])").to_play == BLACK
    game = read_sgf(b"(;SZ[9];B[dd];W[ee];PL[W])")
    assert game.to_play == WHITE
    assert read_sgf(write_sgf(game, "a", "b")).moves == game.moves
    assert read_sgf(b"(;SZ[9];B[dd];PL[B];W[ee])").to_play == BLACK
    with pytest.raises(RlgoError, match=r"PL\[x\]: expected B or W"):
        read_sgf(b"(;SZ[9];B[dd];PL[x])")


def test_stones_of_both_colours_are_no_handicap() -> None:
    game = Game(9)
    game.set_up([(BLACK, from_vertex("C3", 9)), (BLACK, from_vertex("D4", 9)), (WHITE, from_vertex("E5", 9))])
    assert b"HA[" not in write_sgf(game, "a", "b")
