"""GTP beyond the rules: clocks, analysis, pondering, interrupts, and the commands of GoGui, KGS and CGOS.

`Session` and `Scripted` are those of test_gtp.py.
"""

from __future__ import annotations

import io
import re
import threading
from typing import Any

import numpy as np
import pytest
from board_data import from_diagram
from test_gtp import Scripted, Session

from rlgo.board import BLACK, PASS, WHITE
from rlgo.game import Game
from rlgo.gtp import GtpEngine, run
from rlgo.gtp.analyze import info_line
from rlgo.player import Candidate, GreedyPlayer, Player, RandomPlayer
from rlgo.shapes import make_features
from rlgo.value import ValueFunction
from rlgo.weights import Weights

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
    monkeypatch.setattr("rlgo.session.time.monotonic", lambda: now[0])
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
    assert gtp.engine.session.clock.left(BLACK) == (20, 0) and gtp.engine.session.clock.left(WHITE) == (60, 0)
    gtp.ok("clear_board")
    assert gtp.engine.session.clock.left(BLACK) == (60, 0)


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
    gtp.engine.has_input = lambda: player.steps >= 50
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
    gtp.engine.session.game = from_diagram(SETTLED, BLACK, komi)
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
        gtp.engine.session.game.to_play = WHITE
        gtp.ok("play w pass")
        return gtp.ok("genmove b")

    assert answer(early_pass=True) == "pass"
    assert answer() == "C1"
    assert answer(komi=40.0, early_pass=True) == "C1"


def test_cleaning_up_takes_dead_stones_off() -> None:
    """It does not pass while there is one, whatever its player wants."""
    gtp = settled()
    gtp.engine.session.player = Scripted("pass resign A1")
    gtp.ok("play w pass")
    gtp.game.to_play = BLACK
    for _ in range(2):
        assert gtp.ok("kgs-genmove_cleanup b") != "pass"
        gtp.game.undo()
    gtp.engine.session.game = from_diagram(SETTLED.replace(". O . . X O . O .", ". . . . X O . O ."), BLACK)
    gtp.engine.session.player = Scripted("pass")
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
