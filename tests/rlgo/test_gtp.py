"""GTP: what is answered to what. Start reading at `Session`."""

from __future__ import annotations

import io
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from rlgo.board import BLACK, PASS, WHITE
from rlgo.coords import from_vertex
from rlgo.draw import board_text
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.gtp import GtpEngine, run
from rlgo.player import RESIGN, Player, RandomPlayer
from rlgo.sgf import read_sgf

ROOT = Path(__file__).resolve().parents[2]


class Scripted(Player):
    """Answers what it was given, then passes; counts the games."""

    def __init__(self, answers: str = "", sizes: tuple[int, ...] | None = None) -> None:
        self.name = "scripted"
        self.sizes = sizes
        self.answers = answers.split()
        self.asked: list[int] = []
        self.games = 0
        self.maps: dict[str, np.ndarray] = {}

    def genmove(self, game: Game) -> int:
        self.asked.append(game.to_play)
        answer = self.answers.pop(0) if self.answers else "pass"
        if answer == "print":
            print("chatter")
            return PASS
        if answer == "crash":
            raise ZeroDivisionError("two\nlines")
        return RESIGN if answer == "resign" else from_vertex(answer, game.size)

    def new_game(self) -> None:
        self.games += 1

    def analyses(self) -> dict[str, np.ndarray]:
        return self.maps


class Session:
    """An engine, and what it answers: `ok` and `fail` return the text and check the form."""

    def __init__(self, player: Player | None = None, **kwargs: Any) -> None:
        self.engine = GtpEngine(player or Scripted(), **kwargs)

    def ok(self, line: str) -> str:
        return self._text(line, "=")

    def fail(self, line: str) -> str:
        before = board_text(self.game.board), self.game.moves.copy(), self.game.komi, self.game.to_play
        text = self._text(line, "?")
        after = board_text(self.game.board), self.game.moves, self.game.komi, self.game.to_play
        assert after == before
        assert text and "\n" not in text
        return text

    def _text(self, line: str, mark: str) -> str:
        answer = self.engine.handle(line)
        assert answer is not None
        assert answer[0] == mark, f"{line}: {answer}"
        assert answer.endswith("\n\n") and "\n\n" not in answer[:-2]
        return answer[1:-2].removeprefix(" ")

    @property
    def game(self) -> Game:
        return self.engine.game


CORE = """protocol_version name version known_command list_commands quit boardsize clear_board komi play
genmove undo set_free_handicap fixed_handicap place_free_handicap time_settings time_left final_score
showboard loadsgf reg_genmove"""


def test_commands_are_listed() -> None:
    gtp = Session()
    listed = gtp.ok("list_commands").split("\n")
    assert set(CORE.split()) <= set(listed)
    assert all(gtp.ok(f"known_command {name}") == "true" for name in listed)
    assert gtp.ok("known_command genmove_white") == "false"
    assert gtp.fail("known_command") == "syntax error: expected NAME"
    assert gtp.fail("genmove_white") == "unknown command"
    assert gtp.ok("protocol_version") == "2"
    assert gtp.ok("name") == "rlgo scripted"
    assert gtp.ok("version")


@pytest.mark.parametrize(
    "line, answer",
    [
        ("protocol_version", "= 2\n\n"),
        ("7 protocol_version", "=7 2\n\n"),
        ("007 protocol_version\n", "=007 2\n\n"),
        ("12 komi 6.5\r\n", "=12\n\n"),
        ("\t3\tprotocol_version\t# and a comment", "=3 2\n\n"),
        ("\x01proto\x02col_version\x7f\x85", "= 2\n\n"),
        ("5 # a comment alone", "?5 syntax error: expected a command\n\n"),
        ("5", "?5 syntax error: expected a command\n\n"),
        ("5nonsense", "? unknown command\n\n"),
        ("-5 name", "? unknown command\n\n"),
        ("٣ name", "? unknown command\n\n"),
        ("1 2 name", "?1 unknown command\n\n"),
        ("PLAY b D4", "? unknown command\n\n"),
        ("protocol_version 1 2 3", "= 2\n\n"),
        ("", None),
        (" \t\r\n", None),
        ("# boardsize 19", None),
        ("\x00\x1b", None),
    ],
)
def test_form(line: str, answer: str | None) -> None:
    assert Session().engine.handle(line) == answer


def test_moves() -> None:
    player = Scripted("C3 pass")
    gtp = Session(player, size=9)
    assert gtp.ok("play b D4") == ""
    assert gtp.ok("play BLACK g7") == ""  # twice in a row
    assert gtp.ok("genmove White") == "C3"
    assert gtp.ok("genmove w") == "pass"
    assert player.asked == [WHITE, WHITE]
    assert [color for color, _ in gtp.game.moves] == [BLACK, BLACK, WHITE, WHITE]
    for _ in range(4):
        assert gtp.ok("undo") == ""
    assert gtp.fail("undo") == "cannot undo"


@pytest.mark.parametrize(
    "line, why",
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
    gtp = Session()
    # Black takes the ko at C3, and has an eye at A9.
    for move in "b B3, b C4, b C2, b A8, b B9, w D4, w D2, w E3, w C3, b D3".split(", "):
        gtp.ok(f"play {move}")
    assert why in gtp.fail(line)


def test_superko_is_told() -> None:
    gtp = Session(size=5)
    for i, name in enumerate("B1 A2 C2 B2 D1 E5 A1 C1".split()):
        gtp.ok(f"play {'bw'[i % 2]} {name}")
    assert gtp.fail("play b B1") == "illegal move: superko"


def test_genmove_out_of_turn_and_reg_genmove() -> None:
    player = Scripted("C3 G7 resign resign D5")
    gtp = Session(player)
    assert gtp.ok("reg_genmove w") == "C3"
    assert gtp.game.moves == [] and gtp.game.to_play == BLACK
    assert gtp.ok("genmove w") == "G7"
    assert gtp.ok("reg_genmove b") == gtp.ok("genmove b") == "resign"
    assert len(gtp.game.moves) == 1 and not gtp.game.is_over()
    assert gtp.ok("genmove b") == "D5"
    assert player.asked == [WHITE, WHITE, BLACK, BLACK, BLACK]


def test_the_game_goes_on_after_two_passes() -> None:
    gtp = Session(Scripted("C3"))
    gtp.ok("play b pass")
    gtp.ok("play w pass")
    assert gtp.ok("genmove b") == "C3"


def test_players_that_fail(capsys: pytest.CaptureFixture[str]) -> None:
    gtp = Session(Scripted("D4 D4 crash E5"))
    gtp.ok("genmove b")
    assert gtp.fail("genmove w") == "scripted chose an illegal move: occupied"
    assert gtp.fail("genmove w") == "internal error: ZeroDivisionError: two lines"
    out, err = capsys.readouterr()
    assert out == "" and "Traceback" in err
    assert gtp.ok("genmove w") == "E5"


def test_boards() -> None:
    player = Scripted()
    gtp = Session(player, size=9, komi=6.5)
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
    gtp = Session(Scripted(sizes=(9,)), size=9)
    assert gtp.ok("boardsize 9") == ""
    assert gtp.fail("boardsize 19") == "unacceptable size: scripted plays on 9x9"
    assert gtp.game.size == 9
    with pytest.raises(RlgoError, match="scripted plays on 5x5"):
        GtpEngine(Scripted(sizes=(5,)), size=9)


def test_komi() -> None:
    gtp = Session()
    for text, komi in (("6.5", 6.5), ("0", 0.0), ("-5", -5.0), ("+.5", 0.5), ("7.", 7.0)):
        assert gtp.ok(f"komi {text}") == ""
        assert gtp.game.komi == komi
    for text in ("", "six", "nan", "inf", "1e3", "1_0", "7,5", "9" * 400, "\u0667"):
        assert gtp.fail(f"komi {text}") == "syntax error: expected KOMI"


def test_handicap() -> None:
    gtp = Session(Scripted("C3"))
    assert gtp.ok("fixed_handicap 3") == "C3 G7 C7"
    assert gtp.game.to_play == WHITE
    assert gtp.fail("fixed_handicap 2") == "board not empty"
    assert gtp.fail("place_free_handicap 2") == gtp.fail("set_free_handicap A1 A2") == "board not empty"
    assert gtp.fail("undo") == "cannot undo"
    gtp.ok("clear_board")
    assert gtp.ok("set_free_handicap a1 J9 E5") == ""
    assert gtp.game.to_play == WHITE and int(gtp.game.board.n_stones[BLACK]) == 3
    gtp.ok("clear_board")
    for args in ("", "A1", "A1 A1", "A1 pass", "A1 K1", "A1 foo"):
        gtp.fail(f"set_free_handicap {args}")
    for args in ("", "x", "1", "10", "-2"):
        gtp.fail(f"fixed_handicap {args}")
    assert len(gtp.ok("place_free_handicap 20").split()) == 9


def test_time() -> None:
    gtp = Session()
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
    gtp = Session(size=5, komi=0.5)
    for color, column in (("b", "B"), ("w", "D")):
        for row in range(1, 6):
            gtp.ok(f"play {color} {column}{row}")
    gtp.ok("play b A1")
    assert gtp.ok("final_score") == "W+0.5"
    gtp.ok("komi 0")
    assert gtp.ok("final_score") == "0"
    chains = {frozenset(line.split()) for line in gtp.ok("final_status_list alive").split("\n")}
    assert chains == {frozenset("A1 B1 B2 B3 B4 B5".split()), frozenset("D1 D2 D3 D4 D5".split())}
    assert gtp.ok("final_status_list dead") == gtp.ok("final_status_list seki") == ""
    gtp.fail("final_status_list ghosts")


def test_showboard() -> None:
    gtp = Session(size=7)
    gtp.ok("play b C3")
    answer = gtp.engine.handle("5 showboard")
    assert answer == f"=5\n{board_text(gtp.game.board, gtp.game.last_move)}\nWhite (O) to play, komi 7.5\n\n"


def test_maps_for_gogui() -> None:
    player = Scripted()
    gtp = Session(player, size=5)
    always = "gfx/Principal variation/rlgo-variation\ndboard/Ownership/rlgo-ownership\nstring/Last search/rlgo-report"
    assert gtp.ok("gogui-analyze_commands") == always
    values = np.full((5, 5), np.nan)
    values[0, 1], values[4, 4] = 0.25, 1.0
    player.maps = {"win rate": values}
    assert gtp.ok("gogui-analyze_commands") == f"sboard/Win rate/rlgo-map win rate\n{always}"
    rows = [line.split(" ") for line in gtp.ok("rlgo-map win rate").strip("\n").split("\n")]
    assert rows == [['""'] * 4 + ["1.00"], *[['""'] * 5] * 3, ['""', "0.25", '""', '""', '""']]
    assert "expected one of win rate" in gtp.fail("rlgo-map nothing")


# ---------------------------------------------------------------------------------------------
# Game records
# ---------------------------------------------------------------------------------------------


def test_loadsgf(tmp_path: Path) -> None:
    player = Scripted()
    gtp = Session(player, size=9, komi=5.5)
    path = tmp_path / "a game.sgf"
    path.write_text("(;GM[1]FF[4]SZ[7]KM[6.5];B[cc];W[ee](;B[];W[ga])(;B[aa]))")
    assert gtp.ok(f"loadsgf {path}") == ""
    assert (gtp.game.size, gtp.game.komi, player.games) == (7, 6.5, 2)
    assert gtp.game.moves == [(i % 2 + 1, from_vertex(v, 7)) for i, v in enumerate("C5 E3 pass G7".split())]
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
    "sgf, message",
    [
        ("", "not an SGF"),
        ("hello", "not an SGF"),
        ("(;GM[1]SZ[9];B[cc", "not an SGF"),
        ("(;SZ[25];B[cc])", "board size 25"),
        ("(;SZ[9];B[cc];W[cc])", "move 2: illegal move White C7: occupied"),
        ("(;SZ[9];B[cc];AB[dd])", "setup properties after the root node"),
        ("(;SZ[9]KM[x];B[cc])", "not an SGF"),
        ("(;SZ[9]PL[z];B[cc])", "not an SGF"),
        ("(;SZ[5]AB[ab][ba]AW[aa])", "not legal"),
        ("(;SZ[9];B[zz])", "not an SGF"),
    ],
)
def test_records_that_cannot_be_loaded(sgf: str, message: str, tmp_path: Path) -> None:
    gtp = Session()
    gtp.ok("play b D4")
    path = tmp_path / "game.sgf"
    path.write_text(sgf)
    answer = gtp.fail(f"loadsgf {path}")
    assert answer.startswith("cannot load file: ") and message in answer


def test_files_that_cannot_be_loaded(tmp_path: Path) -> None:
    gtp = Session(Scripted(sizes=(9,)))
    small = tmp_path / "small.sgf"
    small.write_text("(;SZ[7])")
    assert "scripted plays on 9x9" in gtp.fail(f"loadsgf {small}")
    for name in (tmp_path, tmp_path / "none.sgf", "x" * 5000, "/dev/zero"):
        assert gtp.fail(f"loadsgf {name}").startswith("cannot load file: ")
    assert gtp.fail("loadsgf").startswith("syntax error")


@pytest.mark.parametrize(
    "sgf, to_play",
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


# ---------------------------------------------------------------------------------------------
# Streams
# ---------------------------------------------------------------------------------------------


def test_run_stops_at_quit(capsys: pytest.CaptureFixture[str]) -> None:
    source = io.BytesIO(b"1 name\n\n# x\n2 genmove b\n3 quit\n4 name\n")
    sink = io.BytesIO()
    run(GtpEngine(Scripted("print")), source, sink)
    assert sink.getvalue() == b"=1 rlgo scripted\n\n=2 pass\n\n=3\n\n"
    assert source.read() == b"4 name\n"
    assert capsys.readouterr() == ("", "chatter\n")


def test_run_stops_at_the_end() -> None:
    sink = io.BytesIO()
    run(GtpEngine(Scripted()), io.BytesIO(b"name"), sink)
    assert sink.getvalue() == b"= rlgo scripted\n\n"


WORDS = [
    *CORE.split(),
    *"b w black white D4 a1 J9 K10 i5 pass resign 0 1 2 3 5 7 9 19 -1 6.5 nan 1e9 99999999999 # é".split(),
    *"final_status_list gogui-analyze_commands rlgo-map value alive dead / . .. /dev/null ~".split(),
    *("\t", "\x00", "\x1b[2J"),
]
ANSWER = re.compile(rb"[=?][0-9]*( [^\n]+)?\n([^\n]+\n)*\n")


def random_line(draw: random.Random) -> bytes:
    kind = draw.random()
    if kind < 0.2:
        return draw.randbytes(draw.randrange(30)).replace(b"\n", b"")
    words = draw.choices(WORDS, k=draw.randrange(6))
    if kind < 0.5:
        words.insert(0, str(draw.randrange(10**6)))
    if kind < 0.7:
        words.insert(0, f"play {draw.choice('bw')} {draw.choice('ABCDEFGHJ')}{draw.randrange(1, 10)}")
    line = bytearray(" ".join(words).encode())
    if line and kind > 0.9:
        line[draw.randrange(len(line))] = draw.choice([c for c in range(256) if c != 10])
    return bytes(line)


def test_any_bytes_get_a_well_formed_answer(capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(1)
    engine = GtpEngine(RandomPlayer(1))
    answered = failed = 0
    for i in range(20_000):
        line = random_line(draw)
        sink = io.BytesIO()
        engine.done = False
        run(engine, io.BytesIO(line + b"\n"), sink)
        answer = sink.getvalue()
        where = f"line {i}: {line!r}: {answer!r}"
        visible = re.sub(rb"[\x00-\x20\x7f]|#.*", b"", line).decode("utf-8", "replace")
        visible = "".join(c for c in visible if not "\x7f" <= c < "\xa0" and not c.isspace())
        assert bool(answer) == bool(visible), where
        if answer:
            assert ANSWER.fullmatch(answer), where
            assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", answer), where
            id_ = re.match(r"[0-9]+(?![^ \t])", line.decode("utf-8", "replace").lstrip(" \t"))
            if id_ and line.isascii() and line.decode().isprintable():
                assert answer[1:].startswith(id_[0].encode()), where
            answered += 1
            failed += answer.startswith(b"?")
    printed = capsys.readouterr()
    assert printed.out == "" and not re.sub("compiling .*\n", "", printed.err)  # no traceback
    assert answered > 10_000 and 3000 < failed < answered - 3000


def test_the_command_speaks_gtp() -> None:
    """`rlgo gtp`, over real pipes: an answer comes before the next command is sent, and nothing else does."""
    with subprocess.Popen(
        [sys.executable, "-m", "rlgo", "gtp", "--player", "random,seed=1", "--size", "7"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        for line, expected in (
            (b"1 name\n", b"=1 rlgo random\n"),
            (b"2 genmove b\n", None),
            (b"3 quit\n", b"=3\n"),
        ):
            process.stdin.write(line)
            process.stdin.flush()
            answer = process.stdout.readline()
            assert answer == expected or (expected is None and re.fullmatch(rb"=2 [A-G][1-7]\n", answer))
            assert process.stdout.readline() == b"\n"
        assert process.stdout.read() == b""
        assert b"Traceback" not in process.stderr.read()
    assert process.returncode == 0


def test_a_player_is_told_of_the_end_of_a_game_once(capsys):
    class Learner(RandomPlayer):
        ends: ClassVar[list[int]] = []

        def end_game(self, game: Game) -> None:
            self.ends.append(len(game.moves))
            raise RlgoError("the disk is full")

    engine = GtpEngine(Learner(1), 9)
    for line in ("play b e5", "play w pass", "play b pass", "undo", "undo", "play w pass", "play b pass"):
        assert engine.handle(line) == "=\n\n", line
    assert Learner.ends == [3] and "the disk is full" in capsys.readouterr().err
    engine.handle("clear_board")
    engine.handle("play b pass")
    engine.handle("play w pass")
    assert Learner.ends == [3, 2]


def test_undo_after_a_record_that_white_begins(tmp_path):
    file = tmp_path / "game.sgf"
    file.write_text("(;SZ[9]PL[W])")
    engine = GtpEngine(RandomPlayer(1), 9)
    for line in (f"loadsgf {file}", "play w d4", "undo"):
        engine.handle(line)
    assert engine.game.to_play == WHITE
