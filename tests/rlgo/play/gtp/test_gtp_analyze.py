"""``lz-analyze`` and its relatives."""

from __future__ import annotations

import re

import pytest
from gtp_controller import Controller, Scripted, Thinker

from rlgo.go.board import BLACK, PASS
from rlgo.go.game import Game
from rlgo.play.gtp.analyze import AnalysisOptions, info_line
from rlgo.play.player import Candidate, RandomPlayer

BLACKS_INFO = (
    "info move A1 visits 40 winrate 6250 prior 2500 lcb 4750 order 0 pv A1 B1 "
    "info move B1 visits 4 winrate 5000 lcb 100 order 1 pv B1 info move pass visits 1 winrate 0 lcb 0 order 2 pv pass"
)


@pytest.mark.parametrize("command", ["analyze", "lz-analyze"])
@pytest.mark.parametrize("args", ["", " b", " B 50", " 50", " black interval 50", " b 10 minmoves 3 maxmoves 9"])
def test_analysis_tells_what_was_found(command: str, args: str) -> None:
    player = Thinker()
    gtp = Controller(player)
    # Without anybody to wait for, it ends at once.
    assert gtp.engine.handle(f"7 {command}{args}") == f"=7\n{BLACKS_INFO}\n\n"
    assert gtp.game.moves == []
    assert player.pondered == [(0, BLACK)]
    assert player.steps == 1


def test_analysis_is_for_the_colour_to_play() -> None:
    gtp = Controller(Thinker())
    answer = gtp.ok("lz-analyze w 10")
    assert "info move A1 visits 40 winrate 3750 prior 2500" in answer  # a prior is the player's own
    assert gtp.game.to_play == BLACK
    gtp.ok("play b A1")
    assert "info move B1 visits 40 winrate 3750 prior 2500 lcb 2250 order 0 pv B1 C1" in gtp.ok("lz-analyze")


@pytest.mark.parametrize(
    "args",
    [
        "x",
        "b x",
        "b -5",
        "interval",
        "b 1.5",
        "b 99999999",
        "maxmoves x",
        "minmoves",
        "rootinfo true",
        "pvvisits false",
    ],
)
def test_analysis_refused(args: str) -> None:
    assert (
        Controller(Thinker()).fail(f"lz-analyze {args}")
        == "syntax error: expected [COLOR] [CENTISECONDS] [KEY VALUE]..."
    )


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ("avoid", "syntax error: expected avoid COLOR VERTEX,... DEPTH"),
        ("allow b A1", "syntax error: expected allow COLOR VERTEX,... DEPTH"),
        ("allow b A1 x", "syntax error: expected allow COLOR VERTEX,... DEPTH"),
        ("avoid x A1 1", "syntax error: expected avoid COLOR VERTEX,... DEPTH"),
        ("avoid b K10 1", "vertex 'k10': not on the 9x9 board (A1 to J9)"),
        ("allow b A1, 1", "vertex '': expected a letter (no I) and a number, such as D4, or pass"),
        ("allow b pass 1", "no sensible move is left"),
        ("allow b A1 1 avoid b A1 1", "no sensible move is left"),
    ],
)
def test_restrictions_refused(args: str, why: str) -> None:
    gtp = Controller(Thinker())
    assert gtp.fail(f"lz-analyze {args}") == why
    assert gtp.fail(f"kata-genmove_analyze {args}") == why


@pytest.mark.parametrize("command", ["lz-analyze", "kata-analyze", "kata-search_analyze"])
@pytest.mark.parametrize(
    ("args", "moves"),
    [
        ("b 10", ["A1", "B1", "pass"]),
        ("b 10 maxmoves 2", ["A1", "B1"]),
        ("b 10 avoid b A1 1", ["B1", "pass"]),
        ("b 10 avoid b A1,pass 1 avoid b B1 5 avoid w C1 1", []),
        ("b 10 allow b B1,C1 1", ["B1"]),
        ("b 10 allow b B1 1 allow b A1,C1 1 avoid b C1 1", ["A1", "B1"]),
        ("b 10 allow w C1 1 maxmoves 1", ["A1"]),  # White is not to play
        ("w allow w B1 1 allow b A1 1", ["B1"]),
    ],
)
def test_restrictions_are_obeyed(command: str, args: str, moves: list[str]) -> None:
    gtp = Controller(Thinker())
    answer = gtp.engine.handle(f"{command} {args}")
    assert answer is not None
    reports = [line for line in answer.splitlines() if line.startswith("info")] or [""]
    assert re.findall(r"info move (\w+)", reports[-1]) == moves
    assert gtp.game.allowed is None


def test_analysis_goes_on_until_there_is_input() -> None:
    player = Thinker()
    gtp = Controller(player)
    said: list[str] = []
    gtp.engine.has_input = lambda: player.steps >= 50
    rest = gtp.engine.handle("3 lz-analyze b 1", said.append)
    assert player.steps == 50
    assert said[0] == "=3\n"
    assert said[-1] == BLACKS_INFO + "\n"
    assert rest == "\n"


def test_a_reader_who_is_gone_is_no_bug(capsys: pytest.CaptureFixture[str]) -> None:
    for n in (0, 1):  # answers that are still read
        left = [""] * n

        def write(_text: str, left: list[str] = left) -> None:
            if not left:
                raise BrokenPipeError
            left.pop()

        with pytest.raises(BrokenPipeError):
            Controller(Thinker()).engine.handle("lz-analyze b 1", write)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", ["genmove_analyze", "lz-genmove_analyze"])
def test_genmove_that_tells_what_it_finds(command: str) -> None:
    gtp = Controller(Thinker())
    answer = gtp.engine.handle(f"{command} b 10")
    assert answer is not None
    assert answer.startswith("=\n")
    assert answer.endswith(f"{BLACKS_INFO}\nplay A1\n\n")
    assert len(gtp.game.moves) == 1
    # White's words are of the position that it moved in, too.
    assert "info move B1 visits 40 winrate 3750" in str(gtp.engine.handle(f"{command} w"))


def test_an_analysis_that_fails_in_its_midst_ends(capsys: pytest.CaptureFixture[str]) -> None:
    gtp = Controller(Scripted("crash"))
    assert gtp.engine.handle("4 genmove_analyze b") == "=4\n\n"
    assert "two\nlines" in capsys.readouterr().err
    assert gtp.game.moves == []


def test_players_without_an_opinion_are_analysed_in_silence() -> None:
    assert Controller(RandomPlayer(1)).engine.handle("lz-analyze b") == "=\n\n"


def test_values_without_bounds_are_reported_within_them() -> None:
    info = info_line(
        [Candidate(PASS, 1.2, 1, [PASS]), Candidate(PASS, -0.1, 1, [PASS])],
        Game(9),
        RandomPlayer(),
        AnalysisOptions(BLACK),
    )
    assert "winrate 10000 lcb 10000 order 0" in info
    assert "winrate 0 lcb 0 order 1" in info
