"""GTP: what is answered to what. Start reading at `Session`."""

from __future__ import annotations

import io
import os
import random
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from board_data import from_diagram

from rlgo.board import BLACK, PASS, WHITE
from rlgo.coords import from_vertex
from rlgo.draw import board_text
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.gtp import GtpEngine, run
from rlgo.gtp_analysis import info_line
from rlgo.player import RESIGN, Candidate, GreedyPlayer, Player, RandomPlayer
from rlgo.sgf import read_sgf
from rlgo.shapes import make_features
from rlgo.value import ValueFunction
from rlgo.weights import Weights

ROOT = Path(__file__).resolve().parent.parent


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


# ---------------------------------------------------------------------------------------------
# Time
# ---------------------------------------------------------------------------------------------


class Timed(Scripted):
    """Notes what time it is given."""

    def __init__(self, answers: str = "", takes: float = 0.0) -> None:
        super().__init__(answers)
        self.given: list[float | None] = []

    def genmove(self, game: Game) -> int:
        self.given.append(self.limit)
        return super().genmove(game)


@pytest.mark.parametrize(
    "settings, left, expected",
    [
        ("time_settings 0 1 0", "", None),  # no limit, by the standard
        ("time_settings 0 0 0", "", None),
        ("kgs-time_settings none", "time_left b 1 0", None),
        ("time_settings 60 0 0", "", (60 - 0.05 * 81) * 4 / 81),
        ("kgs-time_settings absolute 60", "", (60 - 0.05 * 81) * 4 / 81),
        ("time_settings 60 0 0", "time_left b 30.5 0", (30.5 - 0.05 * 81) * 4 / 81),
        ("time_settings 60 0 0", "time_left w 1 0", (60 - 0.05 * 81) * 4 / 81),
        ("time_settings 60 30 10", "time_left b 20 5", 20 / 5 - 0.05),
        ("kgs-time_settings canadian 60 30 10", "time_left b 20 5", 20 / 5 - 0.05),
        ("kgs-time_settings byoyomi 60 10 3", "time_left b 10 3", 10 - 0.05 - 1),
        ("time_settings 60 0 0", "time_left b 0 0", 0.0),
    ],
)
def test_players_get_their_share_of_the_time(settings: str, left: str, expected: float | None) -> None:
    player = Timed()
    gtp = Session(player)
    gtp.ok(settings)
    if left:
        gtp.ok(left)
    gtp.ok("genmove b")
    assert player.given == ([None] if expected is None else [pytest.approx(expected)])


@pytest.mark.parametrize(
    "line",
    [
        "kgs-time_settings",
        "kgs-time_settings forever",
        "kgs-time_settings absolute",
        "kgs-time_settings byoyomi 60 10",
        "kgs-time_settings canadian 60 x 10",
        "time_settings -1 0 0",
        "time_settings 60 30 -1",
        "time_left b -1 0",
        "time_left b nan 0",
        "time_left b 1e3 0",
    ],
)
def test_times_that_are_none(line: str) -> None:
    assert Session().fail(line).startswith("syntax error: expected")


def test_the_engine_counts_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody tells what time is left, it is what the moves took; a new game begins with all of it."""
    now = [0.0]
    monkeypatch.setattr("rlgo.gtp.time.monotonic", lambda: now[0])
    player = Timed()
    play = player.genmove

    def slow(game: Game) -> int:
        now[0] += 20
        return play(game)

    player.genmove = slow  # type: ignore[method-assign]
    gtp = Session(player)
    gtp.ok("time_settings 60 0 0")
    for command in ("genmove b", "reg_genmove b", "genmove b"):  # reg_genmove is not played: no clock runs
        gtp.ok(command)
    first, second, third = (given or 0.0 for given in player.given)
    assert second == third < first
    assert gtp.engine.clock.left(BLACK) == (20, 0) and gtp.engine.clock.left(WHITE) == (60, 0)
    gtp.ok("clear_board")
    assert gtp.engine.clock.left(BLACK) == (60, 0)


# ---------------------------------------------------------------------------------------------
# Thinking: analysis, pondering, interrupts
# ---------------------------------------------------------------------------------------------


class Thinker(Player):
    """Has one candidate more after every step of its thinking; moves to the best, the first empty point."""

    sizes = None
    name = "thinker"

    def __init__(self) -> None:
        self.steps = 0
        self.pondered: list[tuple[int, int]] = []

    def new_game(self) -> None:
        self.steps = 0

    def genmove(self, game: Game) -> int:
        self.think(self.stop)
        return game.legal_moves()[0]

    def ponder(self, game: Game, stop: Any) -> None:
        self.pondered.append((len(game.moves), game.to_play))
        self.think(stop)

    def think(self, stop: Any) -> None:
        for _ in range(10_000):
            self.steps += 1
            if stop():
                break

    def candidates(self, game: Game) -> list[Candidate]:
        first, second = game.legal_moves()[:2]
        return [
            Candidate(first, 0.625, 40, [first, second], 0.25),
            Candidate(second, 0.5, 4, [second]),
            Candidate(PASS, 0.0, 1, [PASS]),
        ]


BLACKS_INFO = (
    "info move A1 visits 40 winrate 6250 prior 2500 lcb 4750 order 0 pv A1 B1 "
    "info move B1 visits 4 winrate 5000 lcb 100 order 1 pv B1 info move pass visits 1 winrate 0 lcb 0 order 2 pv pass"
)


@pytest.mark.parametrize("command", ["analyze", "lz-analyze"])
@pytest.mark.parametrize("args", ["", " b", " B 50", " 50", " black interval 50", " b 10 minmoves 3 maxmoves 9"])
def test_analysis_tells_what_was_found(command: str, args: str) -> None:
    player = Thinker()
    gtp = Session(player)
    # Without anybody to wait for, it ends at once.
    assert gtp.engine.handle(f"7 {command}{args}") == f"=7\n{BLACKS_INFO}\n\n"
    assert gtp.game.moves == [] and player.pondered == [(0, BLACK)] and player.steps == 1


def test_analysis_is_for_the_colour_to_play() -> None:
    gtp = Session(Thinker())
    answer = gtp.ok("lz-analyze w 10")
    assert "info move A1 visits 40 winrate 3750 prior 7500" in answer and gtp.game.to_play == BLACK
    gtp.ok("play b A1")
    assert "info move B1 visits 40 winrate 3750 prior 7500 lcb 2250 order 0 pv B1 C1" in gtp.ok("lz-analyze")


@pytest.mark.parametrize("args", ["x", "b x", "b -5", "interval", "b 1.5", "b 99999999", "avoid b A1 3"])
def test_analysis_refused(args: str) -> None:
    assert Session(Thinker()).fail(f"lz-analyze {args}") == "syntax error: expected [COLOR] [CENTISECONDS]"


def test_analysis_goes_on_until_there_is_input() -> None:
    player = Thinker()
    gtp = Session(player)
    said: list[str] = []
    gtp.engine.is_waited_for = lambda: player.steps >= 50
    rest = gtp.engine.handle("3 lz-analyze b 1", said.append)
    assert player.steps == 50 and said[0] == "=3\n" and said[-1] == BLACKS_INFO + "\n" and rest == "\n"


@pytest.mark.parametrize("command", ["genmove_analyze", "lz-genmove_analyze"])
def test_genmove_that_tells_what_it_finds(command: str) -> None:
    gtp = Session(Thinker())
    answer = gtp.engine.handle(f"{command} b 10")
    assert answer is not None and answer.startswith("=\n") and answer.endswith(f"{BLACKS_INFO}\nplay A1\n\n")
    assert len(gtp.game.moves) == 1
    # White's words are of the position that it moved in, too.
    assert "info move B1 visits 40 winrate 3750" in str(gtp.engine.handle(f"{command} w"))


def test_an_analysis_that_fails_in_its_midst_ends(capsys: pytest.CaptureFixture[str]) -> None:
    gtp = Session(Scripted("crash"))
    assert gtp.engine.handle("4 genmove_analyze b") == "=4\n\n"
    assert "two\nlines" in capsys.readouterr().err and gtp.game.moves == []


def test_players_without_an_opinion_are_analysed_in_silence() -> None:
    assert Session(RandomPlayer(1)).engine.handle("lz-analyze b") == "=\n\n"


def test_values_without_bounds_are_told_within_them() -> None:
    info = info_line([Candidate(PASS, 1.2, 1, [PASS]), Candidate(PASS, -0.1, 1, [PASS])], Game(9))
    assert "winrate 10000 lcb 10000 order 0" in info and "winrate 0 lcb 0 order 1" in info


def test_interrupts_belong_to_the_command_before_them() -> None:
    """Whether it is under way, or still waits."""
    player = Thinker()
    sink = io.BytesIO()
    run(GtpEngine(player), io.BytesIO(b"genmove b\n# interrupt\ngenmove w\nquit\n"), sink)
    assert sink.getvalue() == b"= A1\n\n= B1\n\n=\n\n" and player.steps < 20_000
    player = Thinker()
    run(GtpEngine(player), io.BytesIO(b"# interrupt\ngenmove b\nquit\n"), io.BytesIO())
    assert player.steps == 10_000


def test_an_interrupt_ends_a_search() -> None:
    player = Thinker()
    engine = GtpEngine(player)
    play = player.think

    def think(stop: Any) -> None:
        play(lambda: (player.steps == 20 and engine.interrupt()) or stop())

    player.think = think  # type: ignore[method-assign]
    assert engine.handle("genmove b") == "= A1\n\n" and player.steps == 20
    player.think = play  # type: ignore[method-assign]
    engine.handle("genmove w")
    assert player.steps == 10_020  # the next command is not interrupted


class Pipe(io.RawIOBase):
    """Standard input to which more is written when the engine asks for it in vain."""

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines

    def readline(self, size: int | None = -1) -> bytes:
        return self.lines.pop(0) if self.lines else b""


def test_interrupts_come_while_a_command_is_carried_out() -> None:
    """`# interrupt` gets no answer of its own; it ends the search that runs."""
    player = Thinker()
    waiting = threading.Event()

    class Late(Pipe):
        def readline(self, size: int | None = -1) -> bytes:
            if self.lines and self.lines[0].startswith(b"# interrupt"):
                waiting.wait(60)
            return super().readline(size)

    def think(stop: Any) -> None:
        waiting.set()
        while not stop():
            pass

    player.think = think  # type: ignore[method-assign]
    sink = io.BytesIO()
    run(GtpEngine(player), Late([b"1 genmove b\n", b"# interrupt\n", b"2 quit\n"]), sink)  # type: ignore[arg-type]
    assert sink.getvalue() == b"=1 A1\n\n=2\n\n"


def ponderings(lines: str, ponders: bool = True) -> list[tuple[int, int]]:
    player = Thinker()
    engine = GtpEngine(player, ponders=ponders)
    for line in lines.split(", "):
        engine.handle(line)
        engine.ponder(lambda: True)
    return player.pondered


def test_pondering_is_for_the_opponents_turn() -> None:
    assert ponderings("genmove b") == [(1, WHITE)]
    assert ponderings("genmove b, time_left w 10 0, play w J9, genmove b") == [(1, WHITE), (1, WHITE), (3, WHITE)]
    assert ponderings("play b J9, reg_genmove w, undo, clear_board") == []
    assert ponderings("genmove b, clear_board, genmove b, undo") == [(1, WHITE)] * 2
    assert ponderings("genmove b, gogui-play_sequence w J9") == [(1, WHITE)]
    assert ponderings("genmove b", ponders=False) == []


def test_nobody_ponders_after_the_end() -> None:
    engine = GtpEngine(Scripted("pass"), ponders=True)
    engine.player.ponder = lambda game, stop: pytest.fail("pondered")  # type: ignore[method-assign]
    engine.handle("play w pass")
    engine.handle("genmove b")
    engine.ponder(lambda: True)


def test_pondering_that_fails_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    player = Thinker()
    engine = GtpEngine(player, ponders=True)
    engine.handle("genmove b")
    player.think = lambda stop: 1 / 0  # type: ignore[assignment, return-value]
    for _ in range(3):
        engine.ponder(lambda: True)
    assert capsys.readouterr().err.count("ZeroDivisionError") == 1
    assert engine.handle("play w J9") == "=\n\n"


def test_lines_that_are_too_long() -> None:
    sink = io.BytesIO()
    source = io.BytesIO(b"play b D4 " + b"x" * 5_000_000 + b"\n1 list_stones b\n" + b"y" * 3_000_000)
    run(GtpEngine(RandomPlayer(1)), source, sink)
    assert sink.getvalue().decode().split("\n\n") == [
        "? line too long: expected at most 1,048,576 bytes",
        "=1",
        "? line too long: expected at most 1,048,576 bytes",
        "",
    ]


# ---------------------------------------------------------------------------------------------
# GoGui, KGS, CGOS
# ---------------------------------------------------------------------------------------------


def test_sequences_are_played_whole_or_not_at_all() -> None:
    gtp = Session()
    assert gtp.ok("gogui-play_sequence B D4 w e5 b pass") == ""
    assert len(gtp.game.moves) == 3 and gtp.game.moves[2] == (BLACK, PASS)
    assert gtp.fail("gogui-play_sequence W C3 B D4") == "illegal move: occupied"
    assert gtp.fail("gogui-play_sequence W C3 B") == "syntax error: expected COLOR VERTEX ..."
    assert gtp.ok("gogui-play_sequence") == "" and len(gtp.game.moves) == 3
    assert gtp.ok("gg-undo 2") == "" and len(gtp.game.moves) == 1
    assert gtp.fail("gg-undo 2") == gtp.fail("gg-undo -1") == "cannot undo"
    assert gtp.ok("gg-undo") == "" and gtp.game.moves == []


def test_small_talk() -> None:
    gtp = Session()
    gtp.ok("play b D4")
    gtp.ok("play w C3")
    assert gtp.ok("list_stones black") == "D4" and gtp.ok("list_stones w") == "C3"
    assert gtp.ok("gogui-title") == "rlgo scripted"
    assert gtp.ok("gogui-interrupt") == gtp.ok("kgs-game_over") == gtp.ok("cgos-gameover B+R") == ""
    assert gtp.ok("cgos-opponent_name somebody") == ""
    assert float(gtp.ok("cputime")) > 0
    assert gtp.ok("kgs-rules chinese") == gtp.ok("kgs-rules AGA") == ""
    assert "games are scored by area" in gtp.fail("kgs-rules japanese")


def test_the_variation_is_drawn() -> None:
    gtp = Session(Thinker())
    assert gtp.ok("rlgo-variation") == "TEXT nothing has been searched"
    gtp.ok("reg_genmove b")
    assert gtp.ok("rlgo-variation") == "VAR b A1 w B1\nTEXT P(Black wins) 0.625, 40 simulations"
    gtp.ok("genmove b")
    assert gtp.ok("rlgo-variation").startswith("VAR w B1\n")  # its first move is on the board by now
    gtp.ok("play w B1")
    assert gtp.ok("rlgo-variation") == "TEXT P(Black wins) 0.625, 40 simulations"
    gtp.ok("undo")
    gtp.ok("play w J9")  # not as expected
    assert gtp.ok("rlgo-variation") == "TEXT nothing has been searched here"
    assert Session().ok("rlgo-report") == "nothing has been searched"


def test_the_strongest_shapes_of_a_position() -> None:
    """One stone of known weight: alone, and as part of each 2x2 window."""
    features = make_features(5, (1, 2), "none")
    theta = np.zeros(features.n_weights + 1, np.float32)
    gtp = Session(GreedyPlayer(ValueFunction(Weights(features, theta)), 1), size=5)
    gtp.ok("play b C3")
    assert gtp.ok("rlgo-shapes") == "no shape of this position has a weight"
    found = ((w, *features.shape_of(w)[1:]) for w in range(1, features.n_weights))
    shapes = {(row, col, cells.tobytes()): w for w, row, col, cells in found}
    theta[shapes[2, 2, bytes([1])]] = 0.5
    theta[shapes[1, 2, bytes([0, 0, 1, 0])]] = -0.75
    theta[shapes[0, 0, bytes([1])]] = 9  # elsewhere
    gtp = Session(GreedyPlayer(ValueFunction(Weights(features, theta)), 1), size=5)
    gtp.ok("play b C3")
    found = gtp.ok("rlgo-shapes")
    assert re.sub(" +", " ", found) == "\nX .\n. . X\n-0.750 C2 +0.500 C3"
    assert "string/Strongest shapes/rlgo-shapes" in gtp.ok("gogui-analyze_commands")
    assert Session().fail("rlgo-shapes") == "scripted has no weights"


def test_ownership_is_a_board_of_numbers() -> None:
    gtp = Session(size=5)
    for name in "A3 B3 C3 D3 E3 A2 C2 E2".split():
        gtp.ok(f"play b {name}")
    rows = [[float(x) for x in line.split(" ")] for line in gtp.ok("rlgo-ownership").strip("\n").split("\n")]
    assert np.shape(rows) == (5, 5) and min(rows[3]) == 1.0 and -1 <= min(map(min, rows))


# White lives on the right, Black on the left; one White stone is lost.
SETTLED = """
. X . X O O . O .
X . X X O . O O O
. X X . X O O . O
X . X X X O . O .
. X . X O O O O O
X X X X X O . O .
. . . . X O O O O
. O . . X O . O .
. . . . X O O . O
"""


def settled(komi: float = 0.5, **options: Any) -> Session:
    gtp = Session(Scripted("C1 C1 B3"), komi=komi, **options)
    gtp.engine.game = from_diagram(SETTLED, BLACK, komi)
    return gtp


def test_dead_stones_do_not_count() -> None:
    gtp = settled()
    alive = {vertex for line in gtp.ok("final_status_list alive").split("\n") for vertex in line.split()}
    assert gtp.ok("final_status_list dead") == "B2" and "B2" not in alive and {"A8", "E9", "J1"} <= alive
    assert gtp.ok("final_status_list seki") == ""
    board = gtp.game.board
    stones = int(board.n_stones[BLACK]) + int(board.n_stones[WHITE])
    assert stones == len(alive) + 1
    # Without the lost stone the lower left corner is Black's: 12 points, and White has a stone less.
    as_it_stands = gtp.game.score()
    assert as_it_stands < 0 < as_it_stands + 13
    assert gtp.ok("final_score") == f"B+{as_it_stands + 13:g}"


def test_all_stones_are_alive_where_that_is_agreed() -> None:
    gtp = settled(all_alive=True)
    assert gtp.ok("final_status_list dead") == "" and "B2" in gtp.ok("final_status_list alive")
    assert gtp.ok("final_score") == gtp.game.result


def test_a_won_game_may_be_ended_early() -> None:
    """After a pass, where the dead stone does not matter; but not where all stones are alive, or the game is lost."""

    def answer(**options: Any) -> str:
        gtp = settled(**options)
        gtp.engine.game.to_play = WHITE
        gtp.ok("play w pass")
        return gtp.ok("genmove b")

    assert answer(early_pass=True) == "pass"
    assert answer() == "C1"
    assert answer(komi=40.0, early_pass=True) == "C1"


def test_cleaning_up_takes_dead_stones_off() -> None:
    """It does not pass while there is one, whatever its player wants."""
    gtp = settled()
    gtp.engine.player = Scripted("pass resign A1")
    gtp.ok("play w pass")
    gtp.game.to_play = BLACK
    for _ in range(2):
        assert gtp.ok("kgs-genmove_cleanup b") != "pass"
        gtp.game.undo()
    gtp.engine.game = from_diagram(SETTLED.replace(". O . . X O . O .", ". . . . X O . O ."), BLACK)
    gtp.engine.player = Scripted("pass")
    assert gtp.ok("kgs-genmove_cleanup b") == "pass"


def test_a_log_that_cannot_be_written_ends_nothing() -> None:
    def log(line: str) -> None:
        raise OSError("no space left on device")

    assert GtpEngine(RandomPlayer(1), log=log).handle("genmove b") is not None


def test_a_bug_at_the_end_of_a_game_leaves_the_move(capsys: pytest.CaptureFixture[str]) -> None:
    gtp = Session()
    gtp.engine.player.end_game = lambda game: 1 / 0  # type: ignore[assignment, method-assign, return-value]
    gtp.ok("play b pass")
    assert gtp.ok("play w pass") == "" and len(gtp.game.moves) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_the_log_has_all_that_is_said() -> None:
    lines: list[str] = []
    engine = GtpEngine(RandomPlayer(1), log=lines.append)
    engine.handle("5 genmove b # now")
    engine.handle("nonsense")
    assert lines[0] == "> 5 genmove b" and lines[-2:] == ["> nonsense", "< ? unknown command"]
    assert re.fullmatch(r"Black 0\.\d{3} s", lines[1]) and lines[2].startswith("< =5 ")
