"""GNU Go's own commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from board_data import SETTLED, from_diagram
from gtp_controller import Controller, Taker

from rlgo.go.board import BLACK
from rlgo.go.coords import to_vertex


def test_status_of_points() -> None:
    gtp = Controller(komi=0.5, judge=lambda _size: Taker("B2"))
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
    assert gtp.fail("final_status pass") == "syntax error: expected VERTEX, found a pass"


def test_the_record_of_the_game(tmp_path: Path) -> None:
    gtp = Controller(komi=6.5)
    gtp.ok("fixed_handicap 2")
    gtp.ok("play w E5")
    (tmp_path / "game.sgf").write_text(gtp.ok("printsgf"))
    other = Controller()
    other.ok(f"loadsgf {tmp_path / 'game.sgf'}")
    assert (other.game.setup, other.game.moves, other.game.komi) == (gtp.game.setup, gtp.game.moves, 6.5)
    assert "expected no file" in gtp.fail("printsgf game.sgf")


def test_a_record_with_a_repetition_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "game.sgf"
    points = ["be", "ad", "cd", "bd", "de", "ea", "ae", "ce", "be"]
    path.write_text("(;SZ[5]" + "".join(f";{'BW'[i % 2]}[{point}]" for i, point in enumerate(points)) + ")")
    gtp = Controller()
    assert gtp.ok(f"loadsgf {path}") == ""
    assert len(gtp.game.moves) == 9
    assert "game.sgf: move 9 repeats an earlier position" in capsys.readouterr().err


def test_the_record_has_the_result_without_dead_stones() -> None:
    gtp = Controller(size=5, komi=0.5, judge=lambda _size: Taker("D2"))
    for move in ("b B1", "b B2", "b B3", "b B4", "b B5", "b D3", "w D2", "b pass", "w pass"):
        gtp.ok(f"play {move}")
    assert gtp.ok("final_status_list dead") == "D2"
    score = gtp.ok("final_score")
    assert f"RE[{score}]" in gtp.ok("printsgf")
    assert f"RE[{score}]".encode() in gtp.engine.session.to_sgf("me", BLACK)
    assert gtp.game.result != score
