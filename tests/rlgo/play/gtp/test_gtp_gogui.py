"""GoGui's commands, and the data it draws."""

from __future__ import annotations

import numpy as np
from gtp_controller import Controller, Scripted, Thinker

from rlgo.go.board import BLACK, PASS, WHITE


def test_maps_for_gogui() -> None:
    player = Scripted()
    gtp = Controller(player, size=5)
    always = "gfx/Principal variation/rlgo-variation\ndboard/Ownership/rlgo-ownership\nstring/Last search/rlgo-report"
    assert gtp.ok("gogui-analyze_commands") == always
    values = np.full((5, 5), np.nan)
    values[0, 1], values[4, 4] = 0.25, 1.0
    player.maps = {"win rate": values}
    assert gtp.ok("gogui-analyze_commands") == f"sboard/Win rate/rlgo-map win rate\n{always}"
    rows = [line.split(" ") for line in gtp.ok("rlgo-map win rate").strip("\n").split("\n")]
    assert rows == [['""'] * 4 + ["1.00"], *[['""'] * 5] * 3, ['""', "0.25", '""', '""', '""']]
    assert "expected one of win rate" in gtp.fail("rlgo-map nothing")


def test_sequences_are_played_whole_or_not_at_all() -> None:
    gtp = Controller()
    assert gtp.ok("gogui-play_sequence B D4 w e5 b pass") == ""
    assert len(gtp.game.moves) == 3
    assert gtp.game.moves[2] == (BLACK, PASS)
    assert gtp.fail("gogui-play_sequence W C3 B D4") == "illegal move: occupied"
    assert gtp.fail("gogui-play_sequence W C3 B") == "syntax error: expected COLOR VERTEX ..."
    assert gtp.ok("gogui-play_sequence") == ""
    assert len(gtp.game.moves) == 3
    assert gtp.ok("gg-undo 2") == ""
    assert len(gtp.game.moves) == 1
    assert gtp.fail("gg-undo 2") == gtp.fail("gg-undo -1") == "cannot undo"
    assert gtp.ok("gg-undo") == ""
    assert gtp.game.moves == []


def test_the_variation_is_drawn() -> None:
    gtp = Controller(Thinker())
    assert gtp.ok("rlgo-variation") == "TEXT nothing has been searched"
    gtp.ok("reg_genmove b")
    assert gtp.ok("rlgo-variation") == "VAR b A1 w B1\nTEXT P(Black wins) 0.625, 40 visits"
    gtp.ok("genmove b")
    assert gtp.ok("rlgo-variation").startswith("VAR w B1\n")  # its first move is on the board by now
    gtp.ok("play w B1")
    assert gtp.ok("rlgo-variation") == "TEXT P(Black wins) 0.625, 40 visits"
    gtp.ok("undo")
    gtp.ok("play w J9")  # not as expected
    assert gtp.ok("rlgo-variation") == "TEXT nothing has been searched here"
    assert Controller().ok("rlgo-report") == "nothing has been searched"


def test_the_variation_is_that_of_the_side_and_the_stones_that_were_searched() -> None:
    gtp = Controller(Thinker())
    gtp.ok("reg_genmove w")
    assert gtp.ok("rlgo-variation").startswith("VAR w A1 b B1\n")
    gtp.ok("gogui-setup b D4")
    assert gtp.ok("rlgo-variation") == "TEXT nothing has been searched here"


def test_ownership_is_a_board_of_numbers() -> None:
    gtp = Controller(size=5)
    for name in ["A3", "B3", "C3", "D3", "E3", "A2", "C2", "E2"]:
        gtp.ok(f"play b {name}")
    rows = [[float(x) for x in line.split(" ")] for line in gtp.ok("rlgo-ownership").strip("\n").split("\n")]
    assert np.shape(rows) == (5, 5)
    assert min(rows[3]) == 1.0
    assert min(map(min, rows)) >= -1


def test_setup() -> None:
    gtp = Controller()
    assert gtp.ok("gogui-setup b D4 w E5 b C3") == ""
    assert gtp.ok("gogui-setup w G7") == ""
    assert gtp.ok("gogui-setup_player w") == ""
    assert gtp.game.to_play == WHITE
    assert gtp.ok("list_stones b") == "C3 D4"
    assert gtp.fail("gogui-setup b D4").startswith("setup Black D4")
    assert gtp.fail("gogui-setup b").startswith("syntax error")
    gtp.ok("play w A1")
    assert gtp.fail("gogui-setup b A9") == "stones are set up before the first move"
    gtp.ok("undo")
    assert gtp.game.to_play == WHITE
