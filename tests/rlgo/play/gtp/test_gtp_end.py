"""The end of a game over GTP: dead stones, scores, agreeing and cleaning up."""

from __future__ import annotations

from typing import Any

from board_data import SETTLED, from_diagram
from gtp_controller import Controller, Scripted, Taker

from rlgo.go.board import BLACK, WHITE


def settled(komi: float = 0.5, **options: Any) -> Controller:
    gtp = Controller(Scripted("C1 C1 B3"), komi=komi, judge=lambda _size: Taker("B2"), **options)
    gtp.engine.session.game = from_diagram(SETTLED, BLACK, komi)
    return gtp


def test_dead_stones_do_not_count() -> None:
    gtp = settled()
    alive = {vertex for line in gtp.ok("final_status_list alive").split("\n") for vertex in line.split()}
    assert gtp.ok("final_status_list dead") == "B2"
    assert "B2" not in alive
    assert {"A8", "E9", "J1"} <= alive
    assert gtp.ok("final_status_list seki") == ""
    board = gtp.game.board
    stones = int(board.n_stones[BLACK]) + int(board.n_stones[WHITE])
    assert stones == len(alive) + 1
    # Without the lost stone the lower left corner is Black's: 12 points, and White has a stone less.
    as_it_stands = gtp.game.score()
    assert as_it_stands < 0 < as_it_stands + 13
    assert gtp.ok("final_score") == f"B+{as_it_stands + 13:g}"


def test_cleaning_up_takes_dead_stones_off() -> None:
    """It does not pass while there is one, whatever its player wants."""
    gtp = settled()
    gtp.engine.session.player = Scripted("pass resign A1")
    gtp.ok("play w pass")
    gtp.game.to_play = BLACK
    for _ in range(2):
        assert gtp.ok("kgs-genmove_cleanup b") != "PASS"
        gtp.game.undo()
    gtp.engine.session.game = from_diagram(SETTLED.replace(". O . . X O . O .", ". . . . X O . O ."), BLACK)
    gtp.engine.session.player = Scripted("pass")
    assert gtp.ok("kgs-genmove_cleanup b") == "PASS"
