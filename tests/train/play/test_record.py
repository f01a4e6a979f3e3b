"""Records with all that their files had."""

from __future__ import annotations

import pytest
from sgfmill import sgf

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from train.play.record import Record

TREE = b"(;SZ[5]KM[0.5]C[start];B[cc](;W[bb](;B[dd];W[ee])(;B[de]))(;W[dd]N[other];B[bb]))"


def point(vertex: str) -> int:
    return from_vertex(vertex, 5)


def played(record: Record) -> list[str]:
    from rlgo.go.coords import to_vertex

    return [to_vertex(p, 5) for _, p in record.game.moves]


def test_sgfmill_reads_what_is_written():
    record = Record.read(TREE)
    record.choose(1, 1)
    record.add(3, WHITE, point("E1"))
    tree = sgf.Sgf_game.from_bytes(record.write())
    node = tree.get_root()[0]
    assert [child.get_move() for child in node] == [("w", (3, 1)), ("w", (1, 3))]
    assert node[1][0][0].get_move() == ("w", (0, 4))
    assert len(node[0]) == 2


def test_lines():
    record = Record.read(TREE)
    assert (played(record), record.is_main()) == (["C3", "B4", "D2", "E1"], True)
    assert record.describe_tree()["parents"] == [-1, 0, 1, 2, 3, 2, 1, 6]
    record.choose(2, 1)
    assert (played(record), record.is_main()) == (["C3", "B4", "D1"], False)
    record.choose(1, 1)
    assert played(record) == ["C3", "D2", "B4"]
    record.choose(0, None)
    assert record.is_main()
    record.remove(1, 0)
    assert played(record) == ["C3", "D2", "B4"]  # what is left of it
    record.go_along([(BLACK, point("C3")), (WHITE, PASS)])
    assert (played(record), len(record.variations(1))) == (["C3", "pass"], 2)


def test_an_illegal_variation_is_refused_and_nothing_changes():
    record = Record.read(b"(;SZ[5];B[cc](;W[bb])(;W[cc]))")
    with pytest.raises(RlgoError, match="move 2: illegal"):
        record.choose(1, 1)
    assert played(record) == ["C3", "B4"]


def test_moves_taken_back_go_unless_they_come_from_a_file():
    record = Record.read(b"(;SZ[5];B[cc];W[bb])")
    record.add(2, BLACK, point("D2"))
    game = record.game.after(1)
    record.take_back(2, game)
    assert (played(record), [v.move for v in record.variations(1)]) == (["C3"], [(WHITE, point("B4"))])
    assert b"B[dd]" not in record.write()


@pytest.mark.parametrize("text", ["[3k] and \\\\ :", "two\nlines", "\u6b66\u5bae"])
def test_texts(text):
    record = Record.of(Game(5), "Ann", "Bob")
    record.set_comment(0, text)
    assert Record.read(record.write()).comment(0) == text


def test_encodings_and_what_only_our_own_reader_takes():
    record = Record.read("(;SZ[5]CA[GB18030]PB[\u6b66\u5bae];B[cc])".encode("gb18030"))
    assert record.info()["PB"] == "\u6b66\u5bae"
    assert "\u6b66\u5bae".encode() in record.write()
    odd = Record.read(b"(SZ[5]X1[y];B[cc];W[bb])")
    assert played(odd) == ["C3", "B4"]
    assert (record.lost, odd.lost) == ("", "what cannot be read strictly: (SZ[5]X1[y];B[cc];W[bb])")


def test_comments_between_moves_and_a_position_edited_in_the_middle():
    record = Record.read(b"(;SZ[5];B[cc];C[note](;W[bb])(;W[dd]))")
    assert record.comment(1) == "note"
    assert len(record.variations(1)) == 2
    record.add(1, WHITE, point("A1"))  # beside them, behind the note
    assert len(sgf.Sgf_game.from_bytes(record.write()).get_root()[0][0]) == 3
    record.set_comment(1, "mine")
    assert (record.comment(1), record.write().count(b"C[")) == ("mine", 1)
    edited = Record.read(b"(;SZ[5];B[cc];AW[aa]AE[cc];B[bb];W[dd])")
    assert (len(edited.game.moves), edited.node(1).get_move()) == (2, ("b", (3, 1)))
    commented = Record.read(b"(;SZ[5]C[root];B[cc]C[one];AW[aa]C[edit];B[bb];W[dd])")
    assert commented.comment(0) == "edit"
    commented.set_comment(0, "mine")
    assert all(text in commented.write() for text in (b"C[root]", b"C[one]", b"C[mine]"))
    assert b"C[edit]" not in commented.write()


def test_a_line_without_moves() -> None:
    record = Record.read(b"(;SZ[5];B[cc];W[bb])")
    record.go_along([])
    assert played(record) == []
    record.go_along([(BLACK, point("C3")), (WHITE, point("B4"))])
    assert record.write().count(b";") == 3


def test_marks_are_set_and_removed_as_sgfmill_reads_them():
    record = Record.read(b"(;SZ[5];B[cc]TR[ab:aa]LB[cc:a\\]];W[bb]C[no marks])")
    assert {name: texts for name, texts in record.marks(1).items() if texts} == {"TR": ["ab:aa"], "LB": ["cc:a]"]}
    record.set_marks(1, {"TR": [], "SQ": ["aa"], "LB": ["cc:x]"], "AR": ["ae:ea"]})
    node = sgf.Sgf_game.from_bytes(record.write()).get_main_sequence()[1]
    assert sorted(node.properties()) == ["AR", "B", "LB", "SQ"]
    assert (node.get("SQ"), node.get("AR")) == ({(4, 0)}, [((0, 0), (4, 4))])
    assert node.get("LB") == [((2, 2), "x]")]


def test_a_variation_that_sets_stones_keeps_what_is_before_it():
    record = Record.read(b"(;SZ[5];B[cc]C[one];W[bb](;B[dd])(;AW[aa]C[edit];B[bd]))")
    assert [parent for _, parent in record.nodes()] == [-1, 0, 1, 2, 2, 4]
    assert record.choose(2, 1) == 0
    assert (played(record), record.comment(0)) == (["B2"], "edit")
    assert record.show(1) == 1  # the line goes on along its first variations
    assert (played(record), record.comment(1)) == (["C3", "B4", "D2"], "one")
    assert record.show(5) == 1
    record.go_along(record.game.moves)
    assert record.write().count(b";") == 6
    with pytest.raises(RlgoError, match="expected less than 6"):
        record.show(6)


def test_a_file_of_several_games():
    data = b"(;SZ[5]PB[Ann];B[cc])(;SZ[5]PB[Bob];B[bb];W[cc])"
    record = Record.read(data, place=1)
    record.set_comment(2, "mine")
    again = Record.read(record.write(), place=1)
    assert (played(again), again.comment(2), Record.read(record.write()).info()["PB"]) == (["B4", "C3"], "mine", "Ann")
    with pytest.raises(RlgoError, match="expected less than 2, the number of games"):
        Record.read(data, place=2)
