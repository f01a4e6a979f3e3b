"""The commands of the standard, and their answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from gtp_controller import Controller, Scripted

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, WHITE
from rlgo.go.coords import from_vertex
from rlgo.go.draw import board_text
from rlgo.go.sgf import read_sgf
from rlgo.play.gtp import GtpEngine
from rlgo.play.player import RandomPlayer


def test_moves() -> None:
    player = Scripted("C3 pass")
    gtp = Controller(player, size=9)
    assert gtp.ok("play b D4") == ""
    assert gtp.ok("play BLACK g7") == ""  # twice in a row
    assert gtp.ok("genmove White") == "C3"
    assert gtp.ok("genmove w") == "PASS"
    assert player.asked == [WHITE, WHITE]
    assert [color for color, _ in gtp.game.moves] == [BLACK, BLACK, WHITE, WHITE]
    for _ in range(4):
        assert gtp.ok("undo") == ""
    assert gtp.fail("undo") == "cannot undo"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("play b D4", "illegal move: occupied"),
        ("play w C3", "illegal move: ko"),
        ("play w A9", "illegal move: suicide"),
        ("play b K1", "not on the 9x9 board"),
        ("play b I3", "expected a letter"),
        ("play x D4", "syntax error: expected COLOR VERTEX"),
        ("play b", "syntax error: expected COLOR VERTEX"),
        ("play", "syntax error"),
        ("genmove", "syntax error: expected COLOR"),
        ("genmove green", "syntax error"),
        ("play b resign", "expected a letter"),
    ],
)
def test_moves_refused(line: str, why: str) -> None:
    gtp = Controller()
    # Black takes the ko at C3, and has an eye at A9.
    for move in ["b B3", "b C4", "b C2", "b A8", "b B9", "w D4", "w D2", "w E3", "w C3", "b D3"]:
        gtp.ok(f"play {move}")
    assert why in gtp.fail(line)


def test_superko_is_reported() -> None:
    gtp = Controller(size=5)
    for i, name in enumerate(["B1", "A2", "C2", "B2", "D1", "E5", "A1", "C1"]):
        gtp.ok(f"play {'bw'[i % 2]} {name}")
    assert gtp.fail("play b B1") == "illegal move: superko"


def test_genmove_out_of_turn_and_reg_genmove() -> None:
    player = Scripted("C3 G7 resign resign D5")
    gtp = Controller(player)
    assert gtp.ok("reg_genmove w") == "C3"
    assert gtp.game.moves == []
    assert gtp.game.to_play == BLACK
    assert gtp.ok("genmove w") == "G7"
    assert gtp.ok("reg_genmove b") == gtp.ok("genmove b") == "resign"
    assert len(gtp.game.moves) == 1
    assert not gtp.game.is_over()
    assert gtp.ok("genmove b") == "D5"
    assert player.asked == [WHITE, WHITE, BLACK, BLACK, BLACK]


def test_the_game_goes_on_after_two_passes() -> None:
    gtp = Controller(Scripted("C3"))
    gtp.ok("play b pass")
    gtp.ok("play w pass")
    assert gtp.ok("genmove b") == "C3"


def test_boards() -> None:
    player = Scripted()
    gtp = Controller(player, size=9, komi=6.5)
    gtp.ok("play b D4")
    assert gtp.ok("boardsize 13") == ""
    assert (gtp.game.size, gtp.game.komi, gtp.game.moves) == (13, 6.5, [])
    gtp.ok("play b N13")
    assert gtp.ok("clear_board") == ""
    assert (gtp.game.size, gtp.game.moves, player.games) == (13, [], 3)
    for size in ("4", "20", "-9", "0", "999999999"):
        assert gtp.fail(f"boardsize {size}").startswith("unacceptable size")
    for size in ("", "nine", "9.0", "1" * 5000, "\u0669"):
        assert gtp.fail(f"boardsize {size}") == "syntax error: expected SIZE"
    assert gtp.game.size == 13


def test_a_player_of_one_size() -> None:
    gtp = Controller(Scripted(sizes=(9,)), size=9)
    assert gtp.ok("boardsize 9") == ""
    assert gtp.fail("boardsize 19") == "unacceptable size: scripted plays on 9x9"
    assert gtp.game.size == 9
    with pytest.raises(RlgoError, match="scripted plays on 5x5"):
        GtpEngine(Scripted(sizes=(5,)), size=9)


def test_a_player_is_made_for_another_size() -> None:
    """A GUI changes the size of the default player, too; the player of the first size comes back as it was."""
    made: list[int] = []

    def make(size: int) -> Scripted:
        made.append(size)
        if size == 11:
            raise RlgoError("no weights for 11x11")
        return Scripted(sizes=(size,))

    first = Scripted(sizes=(9,))
    gtp = Controller(first, size=9, make=make)
    assert gtp.ok("boardsize 13") == gtp.ok("play b N13") == ""
    assert gtp.engine.session.player.sizes == (13,)
    assert gtp.ok("genmove w") == "PASS"
    assert gtp.fail("boardsize 11") == "unacceptable size: no weights for 11x11"
    assert gtp.fail("boardsize 25") == "unacceptable size: board size 25: expected 5 to 19"
    assert (gtp.game.size, len(gtp.game.moves)) == (13, 2)
    assert gtp.ok("boardsize 9") == gtp.ok("boardsize 13") == gtp.ok("boardsize 9") == ""
    assert gtp.engine.session.player is first
    assert made == [13, 11]


def test_komi() -> None:
    gtp = Controller()
    for text, komi in (("6.5", 6.5), ("0", 0.0), ("-5", -5.0), ("+.5", 0.5), ("7.", 7.0)):
        assert gtp.ok(f"komi {text}") == ""
        assert gtp.game.komi == komi
    for text in ("", "six", "nan", "inf", "1e3", "10001", "1_0", "7,5", "9" * 400, "\u0667"):
        assert gtp.fail(f"komi {text}") == "syntax error: expected KOMI"


def test_handicap() -> None:
    gtp = Controller(Scripted("C3"))
    assert gtp.ok("fixed_handicap 3") == "C3 G7 C7"
    assert gtp.game.to_play == WHITE
    assert gtp.fail("fixed_handicap 2") == "board not empty"
    assert gtp.fail("place_free_handicap 2") == gtp.fail("set_free_handicap A1 A2") == "board not empty"
    assert gtp.fail("undo") == "cannot undo"
    gtp.ok("clear_board")
    assert gtp.ok("set_free_handicap a1 J9 E5") == ""
    assert gtp.game.to_play == WHITE
    assert int(gtp.game.board.n_stones[BLACK]) == 3
    gtp.ok("clear_board")
    for args in ("", "A1", "A1 A1", "A1 pass", "A1 K1", "A1 foo"):
        gtp.fail(f"set_free_handicap {args}")
    for args in ("", "x", "1", "10", "-2"):
        gtp.fail(f"fixed_handicap {args}")
    assert len(gtp.ok("place_free_handicap 20").split()) == 9


def test_time() -> None:
    gtp = Controller()
    assert gtp.ok("time_settings 300 30 5") == gtp.ok("time_left b 120 0") == ""
    for line in (
        "time_settings",
        "time_settings 1 2",
        "time_settings a b c",
        "time_left 1 2 3",
        "time_left b 1",
    ):
        assert gtp.fail(line).startswith("syntax error")


def test_score_and_status() -> None:
    gtp = Controller(size=5, komi=0.5)
    for color, column in (("b", "B"), ("w", "D")):
        for row in range(1, 6):
            gtp.ok(f"play {color} {column}{row}")
    gtp.ok("play b A1")
    assert gtp.ok("final_score") == "W+0.5"
    gtp.ok("komi 0")
    assert gtp.ok("final_score") == "0"
    chains = {frozenset(line.split()) for line in gtp.ok("final_status_list alive").split("\n")}
    assert chains == {frozenset(["A1", "B1", "B2", "B3", "B4", "B5"]), frozenset(["D1", "D2", "D3", "D4", "D5"])}
    assert gtp.ok("final_status_list dead") == gtp.ok("final_status_list seki") == ""
    gtp.fail("final_status_list ghosts")


def test_showboard() -> None:
    gtp = Controller(size=7)
    gtp.ok("play b C3")
    answer = gtp.engine.handle("5 showboard")
    assert answer == f"=5\n{board_text(gtp.game.board, gtp.game.last_move)}\nWhite (O) to play, komi 7.5\n\n"


def test_loadsgf(tmp_path: Path) -> None:
    player = Scripted()
    gtp = Controller(player, size=9, komi=5.5)
    path = tmp_path / "a game.sgf"
    path.write_text("(;GM[1]FF[4]SZ[7]KM[6.5];B[cc];W[ee](;B[];W[ga])(;B[aa]))")
    assert gtp.ok(f"loadsgf {path}") == ""
    assert (gtp.game.size, gtp.game.komi, player.games) == (7, 6.5, 2)
    assert gtp.game.moves == [(i % 2 + 1, from_vertex(v, 7)) for i, v in enumerate(["C5", "E3", "pass", "G7"])]
    for number, moves, to_play in (
        (1, 0, BLACK),
        (2, 1, WHITE),
        (4, 3, WHITE),
        (5, 4, BLACK),
        (99, 4, BLACK),
    ):
        assert gtp.ok(f"loadsgf {path} {number}") == ""
        assert (len(gtp.game.moves), gtp.game.to_play) == (moves, to_play)


@pytest.mark.parametrize(
    ("sgf", "message"),
    [
        ("hello", "not an SGF"),
        ("(;SZ[25];B[cc])", "SZ[25]: expected a board size from 5 to 19"),
        ("(;SZ[9];B[cc];W[cc])", "move 2: illegal move White C7: occupied"),
    ],
)
def test_records_that_cannot_be_loaded(sgf: str, message: str, tmp_path: Path) -> None:
    gtp = Controller()
    gtp.ok("play b D4")
    path = tmp_path / "game.sgf"
    path.write_text(sgf)
    answer = gtp.fail(f"loadsgf {path}")
    assert answer.startswith("cannot load file: ")
    assert message in answer


def test_a_record_without_komi_has_that_of_the_option_or_the_command(tmp_path: Path) -> None:
    """Not that of the record before."""
    (tmp_path / "a.sgf").write_text("(;SZ[9]KM[0.5]HA[2]AB[cc][gg];W[ee])")
    (tmp_path / "b.sgf").write_text("(;SZ[9];B[ee];W[cc])")
    gtp = Controller(komi=5.5)
    for line, komi in (("boardsize 9", 5.5), ("komi 6.25", 6.25), ("clear_board", 6.25)):
        gtp.ok(line)
        gtp.ok(f"loadsgf {tmp_path / 'a.sgf'}")
        assert gtp.game.komi == 0.5
        gtp.ok(f"loadsgf {tmp_path / 'b.sgf'}")
        assert gtp.game.komi == komi
        gtp.ok(f"loadsgf {tmp_path / 'a.sgf'}")
        gtp.ok("clear_board")
        assert gtp.game.komi == komi


def test_quotes_around_the_name_of_a_record(tmp_path: Path) -> None:
    (tmp_path / "a game.sgf").write_text("(;SZ[9];B[ee])")
    gtp = Controller()
    gtp.ok(f'loadsgf "{tmp_path}/a game.sgf"')
    assert len(gtp.game.moves) == 1
    assert gtp.fail(f'loadsgf "{tmp_path}/no game.sgf"').endswith("no game.sgf': no such file")


def test_a_record_can_be_loaded_up_to_its_illegal_move(tmp_path: Path) -> None:
    path = tmp_path / "a.sgf"
    path.write_text("(;SZ[9];B[ee];W[cc];B[cc])")
    gtp = Controller()
    answer = gtp.fail(f"loadsgf {path}")
    assert answer.endswith(f"move 3: illegal move Black C7: occupied; loadsgf {path} 3 loads what comes before")
    gtp.ok(f"loadsgf {path} 3")
    assert len(gtp.game.moves) == 2


def test_files_that_cannot_be_loaded(tmp_path: Path) -> None:
    gtp = Controller(Scripted(sizes=(9,)))
    small = tmp_path / "small.sgf"
    small.write_text("(;SZ[7])")
    assert "scripted plays on 9x9" in gtp.fail(f"loadsgf {small}")
    for name in (tmp_path, tmp_path / "none.sgf", "x" * 5000, "/dev/zero"):
        assert gtp.fail(f"loadsgf {name}").startswith("cannot load file: ")
    assert gtp.fail("loadsgf").startswith("syntax error")


@pytest.mark.parametrize(
    ("sgf", "to_play"),
    [
        ("(;SZ[9]AB[cc][gg])", WHITE),
        ("(;SZ[9]AB[cc][gg]PL[B])", BLACK),
        ("(;SZ[9]AB[cc]AW[gg])", BLACK),
        ("(;SZ[9]PL[W])", WHITE),
        ("(;SZ[9])", BLACK),
    ],
)
def test_who_plays_first_in_a_record(sgf: str, to_play: int) -> None:
    game = read_sgf(sgf.encode(), komi=0.5)
    assert (game.to_play, game.komi, game.moves) == (to_play, 0.5, [])
    with pytest.raises(RlgoError, match="no move to undo"):
        game.undo()


def test_undo_goes_on_before_stones_that_a_record_adds(tmp_path):
    file = tmp_path / "game.sgf"
    file.write_text("(;SZ[9];B[ee];W[dd];AB[aa])")
    gtp = Controller(RandomPlayer(1))
    gtp.ok(f"loadsgf {file}")
    gtp.ok("undo")
    assert (gtp.ok("list_stones b"), gtp.ok("list_stones w")) == ("E5", "")
    gtp.ok("undo")
    assert gtp.fail("undo") == "cannot undo"


def test_undo_after_a_record_that_white_begins(tmp_path):
    file = tmp_path / "game.sgf"
    file.write_text("(;SZ[9]PL[W])")
    engine = GtpEngine(RandomPlayer(1), 9)
    for line in (f"loadsgf {file}", "play w d4", "undo"):
        engine.handle(line)
    assert engine.session.game.to_play == WHITE


def test_small_talk() -> None:
    gtp = Controller()
    gtp.ok("play b D4")
    gtp.ok("play w C3")
    assert gtp.ok("list_stones black") == "D4"
    assert gtp.ok("list_stones w") == "C3"
    assert gtp.ok("gogui-title") == "rlgo scripted"
    assert gtp.ok("gogui-interrupt") == gtp.ok("kgs-game_over") == gtp.ok("cgos-gameover B+R") == ""
    assert gtp.ok("cgos-opponent_name somebody") == ""
    assert float(gtp.ok("cputime")) > 0
    assert gtp.ok("kgs-rules chinese") == gtp.ok("kgs-rules AGA") == ""
    assert "games are scored by area" in gtp.fail("kgs-rules japanese")


def test_a_session_closes_all_its_players() -> None:
    closed: list[int] = []

    class Closing(Scripted):
        def close(self) -> None:
            closed.append((self.sizes or (0,))[0])

    gtp = Controller(Closing(sizes=(9,)), size=9, make=lambda size: Closing(sizes=(size,)))
    gtp.ok("boardsize 13")
    gtp.ok("boardsize 9")
    gtp.engine.session.close()
    assert sorted(closed) == [9, 13]
