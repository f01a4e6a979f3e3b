"""Game records: what is read, what is refused, and the error messages."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wild_records import WILD_RECORDS, WildRecord

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, WHITE
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.go.sgf import BadMove, load_sgf, read_sgf, read_sgf_records, record_note, write_sgf


def moves(game: Game) -> str:
    return " ".join(f"{'?BW'[color]}:{to_vertex(p, game.size)}" for color, p in game.moves)


@pytest.mark.parametrize(
    ("sgf", "message"),
    [
        ("", "not an SGF game record of Go: no SGF data found"),
        ("(;SZ[9];\nB[cc", "not an SGF game record of Go: line 2, column 2: [: expected a property before it, and ]"),
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
        ("(;SZ[9]AB[jj])", "AB[jj]: expected a point from aa to ii"),
        ("(;SZ[9]AW[aa:jj])", "AW[aa:jj]: expected a point from aa to ii"),
        ("(;SZ[5]AB[ab][ba]AW[aa])", "setup White A5: suicide"),
        ("(;SZ[9];B[zz])", "move 1: B[zz]: expected a point from aa to ii, or nothing for a pass"),
        ("(;SZ[9];B[cc];W[é])", "move 2: W["),
        ("(;SZ[9];B[cc];W[cc])", "move 2: illegal move White C7: occupied"),
        ("(;SZ[9];B[cc]W[dd])", "B and W in one node: expected one move"),
        ("(;SZ[9];B[ab];W[ee];B[ba];AW[aa])", "after move 3: setup White A9: suicide"),
        ("(;SZ[9](;SZ[13];B[cc]))", "SZ: expected one value, found 2"),
        ("(;SZ[9];B[cc](;C[x]GM[1]SZ[9];B[dd])", "after move 1: GM, FF or SZ: expected them at the start of a game"),
        ("(;SZ[9]KM[6.5]KM[7.5])", "KM: expected one value, found 2"),
        ("(;SZ[9];B[cc]C[a [b] c];W[dd])", "line 1, column 22: c: expected a property's value after it"),
        ("(;SZ[9];B[cc]LZ2;W[dd])", "line 1, column 14: LZ2: expected a property's value after it"),
        ("(;SZ[9];B[cc][dd])", "B: expected one value, found 2"),
        ("(;SZ[9]];B[cc])", "line 1, column 8: ]: expected [ before it"),
        ("(;SZ[9]" + ";B[]" * 10_001 + ")", "move 10001: expected at most 10,000 moves"),
        ("(;SZ[9]" + ";" * 100_000 + ")", "expected at most 100,000 nodes in a main line"),
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
        # What other programs write: see WILD_RECORDS, too
        ("\ufeff(;SZ[9];B[cc];W[dd])", "B:C7 W:D6"),
        ("(\n;\r\nSZ [9]\r\n; B\t[cc] ; W[ dd ]\u3000)", "B:C7 W:D6"),
        ("(;SZ[9];B[cc](;W[dd])(;W[ee](;FF[4]SZ[9];B[dd])", "B:C7 W:D6"),
        ("(;(;SZ[9](;B[cc](;W[dd];B[ee])(;W[ff]))(;B[gg])))", "B:C7 W:D6 B:E5"),
        # A missing ";" or "(" never makes a variation the game
        ("(GM[1]SZ[9];B[cc](;W[dd];B[ee])(;W[gg]))", "B:C7 W:D6 B:E5"),
        ("(GM[1]SZ[9];B[cc](W[dd];B[ee])(W[gg]))", "B:C7 W:D6 B:E5"),
        (";GM[1]SZ[9];B[cc](;W[dd];B[ee])(;W[gg])", "B:C7 W:D6 B:E5"),
        ("GM[1]SZ[9];B[cc](;W[dd];B[ee])(;W[gg]))", "B:C7 W:D6 B:E5"),
    ],
)
def test_the_main_line_is_read(sgf: str, expected: str) -> None:
    game = read_sgf(sgf.encode(), komi=0.5)
    assert (moves(game), game.komi) == (expected, 0.5)


@pytest.mark.parametrize(
    ("root", "komi"),
    [
        ("KM[6.5]", 6.5),
        ("KM[7,5]", 7.5),
        ("KM[0.5]KM[0.5]", 0.5),
        ("AP[foxwq]RU[Chinese]KM[375]", 7.5),  # 3.75 stones
        ("AP[GNU Go:3.8]AP[foxwq]RU[chinese]KM[375]", 7.5),
        ("AP[foxwq]RU[chinese]KM[325]", 6.5),
        ("AP[foxwq]RU[Japanese]KM[650]", 6.5),
        ("AP[foxwq]RU[Japanese]KM[50]", 0.5),
        ("AP[foxwq]RU[Chinese]KM[0]", 0),
        ("AP[foxwq]RU[Chinese]KM[7.5]", 7.5),
        ("AP[SGFC:2.0]RU[Chinese]KM[375]", 7.5),
        ("AP[other]KM[375]", 7.5),
        ("AP[other]RU[Chinese]KM[750]", 7.5),
        ("RU[Chinese]KM[3.75]", 7.5),
        ("AP[other]KM[65]", 65),
        ("AP[rlgo:1.0]KM[375]", 375),
    ],
)
def test_komi(root: str, komi: float) -> None:
    """The komi of a record, and one line about one that was converted or looks wrong."""
    game = read_sgf(f"(;SZ[9]{root})".encode())
    assert game.komi == komi
    stated = float(root.rpartition("KM[")[2].strip("]").replace(",", "."))
    assert ("is read as a komi of" in record_note(game)) == (komi != stated)
    assert ("looks wrong" in record_note(game)) == (komi == 65)


def test_the_komi_of_a_game_without_one_is_that_of_the_caller() -> None:
    assert [record.game(6.25).komi for record in read_sgf_records(b"(;SZ[9]KM[0.5])(;SZ[9])")] == [0.5, 6.25]


@pytest.mark.parametrize(
    ("encoding", "stated", "name", "comment"),
    [
        ("cp932", "Shift_JIS", "表", "白八十"),  # their last bytes are those of a backslash and of a bracket
        ("cp932", "", "表示", "黒の良い手です。能力"),
        ("gb18030", "", "聂卫平", "黑棋很好。白棋角上死了"),
        ("big5", "Big5", "許功蓋", "這是好棋"),
        ("euc_kr", "", "이세돌", "흑의 좋은 수"),
        ("iso2022_jp", "", "井山", "黒の良い手"),
        ("utf-8", "", "武宮 정", "Größe ]"),
        ("utf-8", "GB2312", "柯洁", "这步棋很好"),  # wrong, as some programs state it
        ("utf-8", "no-such", "柯洁", "这步棋很好"),
        ("utf-16", "UTF-16", "柯洁", "这步"),
        ("latin-1", "", "Größe", "é"),
        ("cp1251", "Windows-1251", "Иванов", "ход"),
    ],
)
def test_text_is_decoded_before_it_is_parsed(encoding: str, stated: str, name: str, comment: str) -> None:
    """A byte of a character is no bracket: moves, komi, names and comments are those of the record."""
    header = f"CA[{stated}]" if stated else ""
    text = f"(;{header}GM[1]SZ[9]PW[{name}]KM[0.5];B[cc]C[{comment.replace(']', chr(92) + ']')}];W[dd];B[ee])"
    data = text.encode(encoding)
    record = next(read_sgf_records(data))
    assert (record.text("PW"), record.comments) == (name, {1: comment})
    game = read_sgf(data)
    assert (moves(game), game.komi) == ("B:C7 W:D6 B:E5", 0.5)


def test_what_is_no_text_is_no_character_of_a_message() -> None:
    with pytest.raises(RlgoError, match=r"KM\[6\?ÿ5\]: expected a number"):
        read_sgf(b"(;SZ[9]KM[6\x81\xff5])")


def test_all_games_of_a_collection_are_read() -> None:
    text = "ignored (;SZ[9]RE[B+R];B[cc](;W[dd])(;W[ee])) between (;SZ[9]RE[W+2];B[dd])\n(SZ[9]RE[?];B[ee])"
    records = list(read_sgf_records(text.encode()))
    assert [moves(record.game()) for record in records] == ["B:C7 W:D6", "B:D6", "B:E5"]
    np.testing.assert_equal([record.z for record in records], [1.0, 0.0, np.nan])


@pytest.mark.parametrize(
    ("result", "z"),
    [
        ("B+R", 1), ("W+0.5", 0), ("b+time", 1), ("W + Resign", 0), ("0", 0.5), ("Draw", 0.5), ("Jigo", 0.5),
        ("Void", np.nan), ("?", np.nan), ("", np.nan), ("Black resigns", np.nan), ("Black wins", 1), ("White won", 0),
        ("黑中盘胜", 1), ("白胜3目半", 0), ("黒番中押し勝ち", 1), ("白4目半勝ち", 0), ("흑 불계승", 1),
        ("黑负白胜", np.nan),
    ],
)  # fmt: skip
def test_results(result: str, z: float) -> None:
    np.testing.assert_equal(next(read_sgf_records(f"(;SZ[9]RE[{result}])".encode())).z, z)


def test_a_position_that_was_edited_is_played_on_from() -> None:
    game = read_sgf(b"(;SZ[9]KM[0.5];B[cc];W[dd];B[ee];AE[cc]AW[gg:hg]PL[W];W[ff];B[aa])")
    assert (moves(game), game.n_played) == ("W:F4 B:A9", 5)
    assert [to_vertex(p, 9) for p in game.stones(WHITE)] == ["G3", "H3", "F4", "D6"]
    assert [to_vertex(p, 9) for p in game.stones(BLACK)] == ["E5", "A9"]
    assert read_sgf(write_sgf(game, "a", "b")).moves == game.moves
    game.undo(2)
    assert (game.moves, game.to_play, len(game.stones(WHITE))) == ([], WHITE, 3)
    game.undo()  # the edit, and the move before it
    assert (moves(game), game.to_play) == ("B:C7 W:D6", BLACK)
    game.play("E5")
    game.undo(3)
    assert (moves(game), game.to_play) == ("", BLACK)
    with pytest.raises(RlgoError, match="no move to undo"):
        game.undo()
    assert moves(read_sgf(b"(;SZ[9];B[cc];W[dd];AE[cc];B[cc])", n_moves=1)) == "B:C7"
    assert moves(read_sgf(b"(;SZ[9];B[cc];W[dd];AB[cc]AE[ee];B[ee])")) == "B:C7 W:D6 B:E5"  # nothing changed


@pytest.mark.parametrize(
    ("sgf", "message", "n_before"),
    [
        ("(;SZ[9];B[cc];W[dd];B[dd])", "move 3: illegal move Black D6: occupied", 2),
        ("(;SZ[5];B[ab];W[ee];B[ba];W[aa])", "move 4: illegal move White A5: suicide", 3),
        ("(;SZ[9];B[cc];W[dd];AB[zz])", r"after move 2: AB\[zz\]: expected a point", 2),
    ],
)
def test_what_comes_before_a_bad_move_can_be_read(sgf: str, message: str, n_before: int, tmp_path: Path) -> None:
    path = tmp_path / "a.sgf"
    path.write_text(sgf)
    with pytest.raises(BadMove, match=message) as refused:
        load_sgf(path)
    assert str(refused.value).startswith(repr(str(path)))
    assert refused.value.n_before == n_before
    assert len(load_sgf(path, n_moves=n_before).moves) == n_before


def test_a_record_of_many_nested_variations_is_read_or_refused_without_being_kept() -> None:
    """Only the main line is kept, whether the others lie beside it or inside it."""
    many = b"(;B[]" * 150_000
    tracemalloc.start()
    game = read_sgf(b"(;SZ[9];B[cc](;W[dd])" + many + b")" * 150_001)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert moves(game) == "B:C7 W:D6"
    assert most < 5 * len(many)
    with pytest.raises(RlgoError, match="at most 100,000 nodes"):
        read_sgf(b"(;SZ[9]" + many)


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
    assert record_note(game).startswith("move 9 repeats an earlier position")
    game.play(from_vertex("E1", 5))
    game.undo()
    assert game.repetitions == [9]
    game.undo()
    assert game.repetitions == []
    assert record_note(game) == ""
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


@pytest.mark.parametrize("wild", WILD_RECORDS, ids=[wild.kind for wild in WILD_RECORDS])
def test_records_of_other_programs(wild: WildRecord) -> None:
    if wild.expected.startswith("refused: "):
        with pytest.raises(RlgoError, match=re.escape(wild.expected.removeprefix("refused: "))) as refused:
            read_sgf(wild.data)
        assert str(refused.value).isprintable()
    else:
        game = read_sgf(wild.data)
        assert moves(game) + (f" komi {game.komi:g}" if game.komi != 7.5 else "") == wild.expected.strip()
