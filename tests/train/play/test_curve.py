"""`rlgo analyze --game`: the curve of a game, and what its moves lost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sgfmill import sgf

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, WHITE
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.play.player import Candidate, Player, RandomPlayer
from train.cli.main import main
from train.play.curve import Curve, annotate, curve_in, curve_of
from train.play.record import Record

VALUES = [0.5, 0.6, 0.55, 0.2, 0.25, 0.9, 0.85]  # by the best moves; they say nothing about losses
LOSSES = [-0.02, 0.01, 0.25, 0.15, 0.004, 0.05]  # the first gained


class Judge(Player):
    """Has an opinion of each position of one game: `VALUES` by A1, or B1 later, and `LOSSES` less by any other move."""

    name = "judge"
    asked: list[tuple[int, int]]

    def __init__(self) -> None:
        self.asked = []

    def genmove(self, game: Game) -> int:
        self.asked.append((len(game.moves), game.to_play))
        return game.legal_moves()[0]

    def candidates(self, game: Game) -> list[Candidate]:
        n, sign = len(game.moves), 1 if game.to_play == BLACK else -1
        best, *others = game.legal_moves()
        loss = sign * LOSSES[n] if n < len(LOSSES) else 0.0
        rest = [Candidate(p, VALUES[n] - loss, 60, [p]) for p in others]
        return [Candidate(best, VALUES[n], 100, [best]), *rest]

    def scores(self, game: Game) -> tuple[float | None, dict[int, float]]:
        return 0.0, {c.move: 20 * c.value - 10 for c in self.candidates(game)}


class Unsure(Judge):
    """Has hardly searched the moves that were played, and knows no scores."""

    def candidates(self, game: Game) -> list[Candidate]:
        return [c._replace(visits=1 if c.visits == 60 else 100) for c in super().candidates(game)]

    def scores(self, _: Game) -> tuple[float | None, dict[int, float]]:
        return None, {}


def played(names: str, size: int = 9) -> Game:
    game = Game(size)
    for name in names.split():
        game.play(from_vertex(name, size))
    return game


def test_a_loss_is_the_difference_of_two_moves_in_one_search() -> None:
    judge = Judge()
    game = played("D4 E5 C3 F6 G7 A1")
    curve = curve_of(game, judge)
    assert curve.values == VALUES
    assert judge.asked == [(i, BLACK if i % 2 == 0 else WHITE) for i in range(7)]
    assert [step.before.loss for step in curve.steps] == pytest.approx([*LOSSES[:5], 0.0])  # A1 is the best move
    assert [step.before.points for step in curve.steps] == pytest.approx([20 * loss for loss in (*LOSSES[:5], 0.0)])
    assert [step.after.score for step in curve.steps] == pytest.approx([20 * value - 10 for value in VALUES[1:]])
    assert curve.worst() == [2, 3, 4, 5]  # all that lost anything
    assert curve.worst(1) == [3, 4]  # one of each side
    assert curve.worst(0) == []
    text = curve.text(unicode=False)
    assert "opening     3  Black C3  25.0%        5.0  A1" in text
    assert text.count("*") == 2
    assert "worst" not in curve.text(0)
    assert len(game.moves) == 6


def test_what_is_not_searched_enough_is_not_compared() -> None:
    curve = curve_of(played("D4 E5 C3 F6 G7 A1"), Unsure())
    assert [step.before.loss for step in curve.steps[:5]] == pytest.approx([float("nan")] * 5, nan_ok=True)
    assert [(row.moves, row.mean) for row in curve.by_phase()] == [(1, 0.0)]  # A1, the best move
    found = curve.to_json()
    assert [move["loss"] for move in found["moves"]] == [None] * 5 + [0.0]
    assert (found["worst"], found["moves"][0]["points"], found["moves"][0]["score"]) == ([], None, None)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_review_is_read_back_from_the_record() -> None:
    curve = curve_of(played("D4 E5 C3 F6 G7 A1"), Judge())
    record = Record.of(curve.game)
    annotate(record, curve)
    assert record.comment(3) == "rlgo: Black 20.0%, W+6.0; lost 25.0%, 5.0 points; better A1"
    again = [opinion for opinion in curve_in(record) if opinion]
    for name in ("value", "score", "loss", "points"):
        expected = [getattr(opinion, name) for opinion in curve.opinions]
        assert [getattr(opinion, name) for opinion in again] == pytest.approx(expected, abs=0.06, nan_ok=True)
    assert Curve(curve.game, "", again).worst(1) == [3, 4]


def test_values_belong_to_the_side_that_moves() -> None:
    game = Game(9)
    for color in (BLACK, BLACK, WHITE, WHITE):
        game.play(game.legal_moves()[-1], color)
    judge = Judge()
    curve = curve_of(game, judge)
    assert [color for _, color in judge.asked] == [BLACK, BLACK, WHITE, WHITE, BLACK]
    assert [step.before.loss for step in curve.steps] == pytest.approx(LOSSES[:4])


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
    assert all(0 < move["value"] < 1 and move["loss"] >= 0 for move in found["moves"])
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
    corner = node[0][0]  # A9 is a worse move, and has a better one beside it
    assert "; lost " in corner.get("C")
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
    assert black.mean == pytest.approx(0.234 / 3)
    assert (white.mean, white.points) == pytest.approx((0.16 / 3, 3.2 / 3))
    assert [row.phase for row in replace(curve, game=played("A1 B1 C1 D1 E1 A2", 5)).by_phase()] == [
        "opening",
        "middle game",
    ] * 2
