"""GNU Go's own commands: their answers, compared with those of GNU Go."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from board_data import SETTLED, from_diagram
from gtp_controller import Controller, Scripted

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import to_vertex
from rlgo.go.game import Game
from rlgo.play.player import Candidate, RandomPlayer


def test_moves_among_a_few() -> None:
    gtp = Controller(RandomPlayer(1))
    gtp.ok("play b D4")
    for _ in range(5):
        assert gtp.ok("restricted_genmove w C3 D4 G7") in ("C3", "G7")
        assert gtp.ok("restricted_genmove b C3") == "C3"
    assert gtp.ok("restricted_genmove w D4") == "PASS"
    assert gtp.fail("restricted_genmove w") == "no allowed vertex"
    assert "expected a letter" in gtp.fail("restricted_genmove w C3 nowhere")
    assert [to_vertex(p, 9) for _, p in gtp.game.moves] == ["D4"]
    assert gtp.game.allowed is None


def test_a_player_that_wants_another_move_is_asked_for_its_second_choice() -> None:
    class Ranks(Scripted):
        def candidates(self, game: Game) -> list[Candidate]:
            return [Candidate(p, 0.5, 1, [p]) for p in game.legal_moves()[3:]]

    gtp = Controller(Ranks("E5 pass"))
    assert gtp.ok("restricted_genmove b A1 J9 D1") == "D1"  # A1 is not among its candidates
    assert gtp.ok("restricted_genmove b A1") == "A1"  # sensible all the same


def test_gtp_1() -> None:
    gtp = Controller(Scripted("C3 pass"))
    assert gtp.ok("genmove_black") == "C3"
    assert gtp.ok("genmove_white") == "PASS"
    assert gtp.ok("black D4") == gtp.ok("white pass") == ""
    assert gtp.fail("white") == "syntax error: expected COLOR VERTEX"
    assert gtp.ok("move_history").split("\n") == ["white PASS", "black D4", "white PASS", "black C3"]


def test_status_of_points() -> None:
    gtp = Controller(komi=0.5)
    gtp.engine.session.game = from_diagram(SETTLED, BLACK, 0.5)
    assert gtp.ok("final_status B2") == "dead"
    assert gtp.ok("final_status E9") == "alive"
    empty = [p for p in gtp.game.legal_moves() if gtp.game.board.color[p] == 0]
    listed = " ".join(
        gtp.ok(f"final_status_list {status}") for status in ("black_territory", "white_territory", "dame")
    )
    assert {to_vertex(p, 9) for p in empty} <= set(listed.split())
    for vertex in gtp.ok("final_status_list white_territory").split():
        assert gtp.ok(f"final_status {vertex}") == "white_territory"


def test_points_that_are_none() -> None:
    gtp = Controller()
    assert gtp.ok("color D4") == "empty"
    assert gtp.fail("countlib D4") == "vertex D4: must not be empty"
    assert gtp.fail("findlib pass") == "syntax error: expected VERTEX, found a pass"
    assert gtp.fail("last_move") == "no previous move known"
    assert gtp.fail("color") == "syntax error: expected VERTEX"


def test_the_record_of_the_game(tmp_path: Path) -> None:
    gtp = Controller(komi=6.5)
    gtp.ok("fixed_handicap 2")
    gtp.ok("play w E5")
    assert gtp.ok("get_handicap") == "2"
    assert gtp.ok("get_komi") == "6.5"
    assert gtp.ok("query_boardsize") == "9"
    assert gtp.ok("last_move") == "white E5"
    (tmp_path / "game.sgf").write_text(gtp.ok("printsgf"))
    other = Controller()
    other.ok(f"loadsgf {tmp_path / 'game.sgf'}")
    assert (other.game.setup, other.game.moves, other.game.komi) == (gtp.game.setup, gtp.game.moves, 6.5)
    assert "expected no file" in gtp.fail("printsgf game.sgf")
    assert gtp.ok("echo  a  b") == "a b"


def test_a_record_with_a_repetition_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "game.sgf"
    points = ["be", "ad", "cd", "bd", "de", "ea", "ae", "ce", "be"]
    path.write_text("(;SZ[5]" + "".join(f";{'BW'[i % 2]}[{point}]" for i, point in enumerate(points)) + ")")
    gtp = Controller()
    assert gtp.ok(f"loadsgf {path}") == ""
    assert len(gtp.game.moves) == 9
    assert "game.sgf: move 9 repeats an earlier position" in capsys.readouterr().err


@pytest.mark.process
def test_gnugo_answers_the_same(gnugo: str) -> None:
    draw = random.Random(1)
    gtp, game = Controller(size=7), Game(7)
    lines = ["boardsize 7", "clear_board", "komi 6.5"]
    for _ in range(60):
        p = draw.choice([*game.sensible_moves(), PASS])
        lines.append(f"play {'?bw'[game.to_play]} {to_vertex(p, 7)}")
        game.play(p)
    stone = to_vertex(game.stones(BLACK)[0], 7)
    asked = ["last_move", "move_history", "query_boardsize", "get_handicap", f"countlib {stone}", f"findlib {stone}"]
    asked += [f"{name} {color}" for name in ("captures", "all_legal", "list_stones") for color in ("black", "white")]
    asked += [f"color {stone}", "is_legal white A1", "is_legal black pass", f"is_legal black {stone}"]
    command, text = [gnugo, "--mode", "gtp", "--positional-superko"], "\n".join([*lines, *asked, ""])
    theirs = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.split("\n\n")
    for line in lines:
        gtp.ok(line)
    for line, answer in zip(asked, theirs[len(lines) : -1], strict=True):
        assert answer.startswith("=")
        ours = gtp.ok(line)
        if "lib" in line or "legal " in line or "stones" in line:  # lists, each in its own order
            assert sorted(ours.split()) == sorted(answer[1:].split()), line
        else:
            assert ours == answer[1:].strip(), line
    assert WHITE in {color for color, _ in game.moves}
    with pytest.raises(RlgoError):
        game.play(game.stones(BLACK)[0])


def test_the_record_has_the_result_without_dead_stones() -> None:
    gtp = Controller(size=5, komi=0.5)
    for move in ("b B1", "b B2", "b B3", "b B4", "b B5", "b D3", "w D2", "b pass", "w pass"):
        gtp.ok(f"play {move}")
    assert gtp.ok("final_status_list dead") == "D2"
    score = gtp.ok("final_score")
    assert f"RE[{score}]" in gtp.ok("printsgf")
    assert f"RE[{score}]".encode() in gtp.engine.session.to_sgf("me", BLACK)
    assert gtp.game.result != score
