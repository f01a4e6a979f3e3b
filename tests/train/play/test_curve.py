"""`rlgo analyze --game`: the curve of a game, and its turning points."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sgfmill import sgf

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.play.player import Candidate, Player, RandomPlayer
from train.cli.main import main
from train.play.curve import curve_of

VALUES = [0.5, 0.6, 0.55, 0.2, 0.25, 0.9, 0.85]


class Judge(Player):
    """Has an opinion of each position of one game: `VALUES`."""

    name = "judge"
    asked: list[tuple[int, int]]

    def __init__(self) -> None:
        self.asked = []

    def genmove(self, game: Game) -> int:
        self.asked.append((len(game.moves), game.to_play))
        return game.legal_moves()[0]

    def candidates(self, game: Game) -> list[Candidate]:
        return [Candidate(PASS, VALUES[len(game.moves)], 1, [PASS])]


def played(names: str, size: int = 9) -> Game:
    game = Game(size)
    for name in names.split():
        game.play(from_vertex(name, size))
    return game


def test_turning_points() -> None:
    judge = Judge()
    game = played("D4 E5 C3 F6 G7 A1")
    curve = curve_of(game, judge)
    assert curve.values == VALUES
    assert judge.asked == [(i, BLACK if i % 2 == 0 else WHITE) for i in range(7)]
    # Black's C3 lost 35 % of its chances. F6 and G7 were good for their sides, and A1 a little.
    assert [(turn.number, turn.loss) for turn in curve.turns(10)] == [(3, pytest.approx(0.35))]
    assert curve.turns(0) == []
    assert curve.text(0).endswith("\nTurning points\n\n1 more, which lost less: --top 1")
    text = curve.text(unicode=False)
    assert "more" not in text.partition("Turning points")[2]
    assert "3  Black C3     55%    20%  A1" in text
    assert text.count("*") == 1
    assert len(game.moves) == 6


def test_what_is_left_out_stands_on_its_own_line() -> None:
    judge = Judge()
    curve = curve_of(played("D4 E5 C3 F6 G7 A1"), judge)
    curve = replace(curve, steps=[step._replace(value=float(i % 2)) for i, step in enumerate(curve.steps)])
    left_out = len(curve.turns(99)) - 1
    *_, last = curve.text(1).splitlines()
    assert last == f"{left_out} more, which lost less: --top {left_out + 1}"


def test_values_belong_to_the_side_that_moves() -> None:
    game = Game(9)
    for color in (BLACK, BLACK, WHITE, WHITE):
        game.play(game.legal_moves()[0], color)
    judge = Judge()
    curve = curve_of(game, judge)
    assert [color for _, color in judge.asked] == [BLACK, BLACK, WHITE, WHITE, BLACK]
    # From 0.55 to 0.2 is good for White.
    assert curve.turns(9) == []


def test_the_end_of_the_game_is_left_out() -> None:
    assert len(curve_of(played("D4 E5 pass pass"), Judge()).steps) == 3
    assert curve_of(Game(9), Judge()).text().startswith("0 moves, as judge sees them")


def test_a_player_without_an_opinion() -> None:
    with pytest.raises(RlgoError, match="random does not evaluate positions"):
        curve_of(played("D4"), RandomPlayer(1))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "game.sgf"
    record.write_text("(;SZ[9];B[ee];W[aa];B[ba];W[ii];B[ab])")
    data = tmp_path / "curve.json"
    command = ["analyze", str(record), "--game", "--player", "greedy", "--json", str(data)]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert out.startswith("5 moves, as greedy sees them")
    found = json.loads(data.read_text("utf-8"))
    assert [move["vertex"] for move in found["moves"]] == ["E5", "A9", "B9", "J1", "A8"]
    assert all(0 < move["value"] < 1 for move in found["moves"])
    assert main([*command, "--png", "curve.png"]) == 2
    assert "--png has no effect with --game" in capsys.readouterr().err


def test_the_record_gets_the_analysis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, out = tmp_path / "game.sgf", tmp_path / "review.sgf"
    record.write_text("(;SZ[9]PB[Ann]C[hello];B[ee];W[aa](;B[ba];W[ii])(;B[dd]N[mine]))")
    assert main(["analyze", str(record), "--game", "--player", "greedy", "--sgf", str(out)]) == 0
    assert "What the moves lost" in capsys.readouterr().out
    tree = sgf.Sgf_game.from_bytes(out.read_bytes())
    node = tree.get_root()
    assert node.get("C").splitlines()[0] == "hello"
    assert (node.get("PB"), node[0][0][1].get("N")) == ("Ann", "mine")
    corner = node[0][0]  # A9 is a bad move, and has a better one beside it
    assert corner.has_property("BM") or corner.has_property("DO")
    assert node[0][1].get("N") == "better"
    assert all(n.has_property("SBKV") for n in tree.main_sequence_iter())
    assert main(["analyze", str(record), "--player", "greedy", "--sgf", str(out)]) == 2
    assert "--sgf: expected --game" in capsys.readouterr().err
    record.write_text("(;SZ[9]PB[Ann]X1[y];B[ee])")  # only the moves of this one can be kept
    before = record.read_bytes()
    assert main(["analyze", str(record), "--game", "--player", "greedy", "--sgf", str(record)]) == 2
    assert "expected another file: this one has what cannot be read strictly: 1[y];B[ee])" in capsys.readouterr().err
    assert record.read_bytes() == before
    assert main(["analyze", str(record), "--game", "--player", "greedy", "--sgf", str(out)]) == 2  # another game
    assert "would lose" in capsys.readouterr().err
    out.unlink()
    assert main(["analyze", str(record), "--game", "--player", "greedy", "--sgf", str(out)]) == 0
    assert "--sgf keeps nothing but its moves, since it has what cannot be" in capsys.readouterr().err


def test_losses_by_phase_and_colour() -> None:
    curve = curve_of(played("D4 E5 C3 F6 G7 A1"), Judge())
    (black, white) = curve.by_phase()
    assert (black.color, black.phase, black.moves, black.turns) == (BLACK, "opening", 3, 1)
    assert black.mean == pytest.approx(0.35 / 3)
    assert white.mean == pytest.approx(0.05 / 3)
    assert [row.phase for row in replace(curve, game=Game(5)).by_phase()] == ["opening", "middle game"] * 2
