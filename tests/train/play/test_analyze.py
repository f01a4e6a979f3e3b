"""`rlgo analyze`: what it prints, draws and refuses."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
from random_play import random_weights

from rlgo.base.errors import RlgoError
from rlgo.features.weights import Weights, save_weights
from rlgo.go.board import BLACK
from rlgo.go.coords import from_vertex
from rlgo.go.draw import values_text
from rlgo.go.game import Game
from rlgo.learning.value import ValueFunction
from rlgo.play.calibration import Calibration
from rlgo.play.player import RandomPlayer
from rlgo.search.dyna2 import Dyna2
from train.cli.main import main
from train.play.analysis_pictures import analysis_picture
from train.play.analyze import Analysis, analyze
from train.players import make_player

SGF = "(;GM[1]SZ[5]KM[0.5];B[cc];W[bd];B[dd];W[cd])"


@pytest.fixture
def weights() -> Weights:
    return random_weights((1, 2))


def game() -> Game:
    g = Game(5, 0.5)
    for vertex in ("C3", "B2", "D2", "C2"):
        g.play(from_vertex(vertex, 5))
    return g


def test_the_values_of_every_move_under_both_memories(weights):
    player = Dyna2(5, weights, simulations=80, seed=1)
    found = analyze(game(), player)
    long_term = ValueFunction(weights).afterstates(game().board)[:-1].reshape(5, 5)
    np.testing.assert_array_equal(found.maps["long-term"], long_term)
    both = ValueFunction(
        Weights(found.memory.features, found.memory.theta + _unshared(weights, found.memory.features.sizes))
    ).afterstates(game().board)[:-1].reshape(5, 5)  # fmt: skip
    np.testing.assert_allclose(found.maps["value"], both, atol=1e-6)
    assert found.move == from_vertex(found.ranked("value")[0][0], 5)
    ranked = found.ranked("long-term")
    assert [v for _, v in ranked] == sorted((v for _, v in ranked), reverse=True)
    assert len(ranked) == 21
    text = found.text(top=2, unicode=False)
    assert text.startswith("   A B C D E\n")
    assert "black to play; dyna2 plays " in text.lower()
    assert "Black won " in text
    assert "1x1-none" in text
    assert "2x2-none" in text
    for name in ("value", "long-term"):
        assert f"{name}: P(Black wins) after each move, in per cent; best: {found.ranked(name)[0][0]} " in text


@pytest.mark.parametrize(("name", "best"), [("value", "B1"), ("policy", "A1"), ("visits", "A1")])
def test_moves_are_ranked_for_the_side_to_play(name, best):
    """White, who wants low values, but many visits."""
    white = Game(5)
    white.play(from_vertex("C3", 5))
    values = np.full((5, 5), np.nan)
    values[0, :2] = 0.9, 0.1
    found = Analysis(white, "a", from_vertex(best, 5), [], {name: values}, None)
    assert [vertex for vertex, _ in found.ranked(name)] == sorted(("A1", "B1"), reverse=best == "B1")
    meaning = {"value": "P(Black wins) after each move", "policy": "probability of each move by the network"}
    assert f"{name}: {meaning.get(name, 'share of the simulations')}" in found.text()


def _unshared(weights: Weights, sizes: tuple[int, ...]) -> np.ndarray:
    from rlgo.features.rewriting import unshare

    return unshare(weights.features, weights.theta, tuple(f"{k}x{k}" for k in sizes))[1]


def test_players_that_do_not_learn_have_no_memory():
    found = analyze(game(), RandomPlayer(1))
    assert found.memory is None
    assert found.maps == {}
    assert found.report == []
    assert "plays " in found.text()
    assert "learned" not in found.text()


def test_a_map_as_text():
    g = Game(5)
    g.play(from_vertex("B2", 5))
    values = np.full((5, 5), np.nan)
    values[0, 0], values[4, 4], values[2, 2] = 0.054, 0.999, 0.5
    lines = values_text(g.board, values, from_vertex("C3", 5)).splitlines()
    assert lines[0] == lines[-1] == "     A   B   C   D   E"
    assert lines[1].split() == ["5", ".", ".", ".", ".", "99", "5"]
    assert lines[3].split() == ["3", ".", ".", "(50)", ".", ".", "3"]
    assert lines[4].split() == ["2", ".", "X", ".", ".", ".", "2"]
    assert lines[5].split() == ["1", "5", ".", ".", ".", ".", "1"]


def test_the_picture_has_coordinates_and_one_scale_of_colours(monkeypatch):
    pytest.importorskip("matplotlib")
    figures = []
    monkeypatch.setattr("train.play.analysis_pictures.save_figure", lambda figure, _: figures.append(figure))
    g = Game(5)
    g.play(from_vertex("B2", 5))
    low, high = np.full((5, 5), np.nan), np.full((5, 5), np.nan)
    low[0, 0], low[4, 4] = 0.03, 0.09
    high[0, 0], high[4, 4] = 0.03, 0.99
    analysis_picture("x.png", Analysis(g, "someone", from_vertex("E5", 5), [], {"value": low, "long-term": high}, None))
    figures[0].draw_without_rendering()
    left, right = figures[0].axes
    for ax in (left, right):
        assert [label.get_text() for label in ax.get_xticklabels()] == list("ABCDE")
        assert [label.get_text() for label in ax.get_yticklabels()] == list("12345")
        (ring,) = ax.patches
        assert ring.center == (4, 4)
    assert [text.get_text() for text in left.texts] == ["3", "9"]
    assert [text.get_text() for text in right.texts] == ["3", "99"]
    low_paint, high_paint = (ax.images[0].get_array() for ax in (left, right))
    assert (low_paint[0, 0] == high_paint[0, 0]).all()  # A1 is as blue, whatever the other values
    assert low_paint[4, 4, 2] > low_paint[4, 4, 0]  # E5
    assert high_paint[4, 4, 0] > high_paint[4, 4, 2]


def test_from_the_command_line(tmp_path, weights, capsys):
    sgf, file = tmp_path / "game.sgf", tmp_path / "w.npz"
    sgf.write_text(SGF)
    save_weights(file, weights)
    png, out = tmp_path / "a.png", tmp_path / "a.json"
    spec = f"two_phase,long={file},sizes=1+2,sims=50,depth=2"
    assert main(["analyze", str(sgf), "--player", spec, "--png", str(png), "--json", str(out), "--top", "3"]) == 0
    text = capsys.readouterr().out
    assert "Black to play; two_phase plays" in text.replace("black", "Black")
    assert "alpha-beta: depth 2" in text
    assert png.read_bytes().startswith(b"\x89PNG")
    assert png.stat().st_size > 10_000
    data = json.loads(out.read_text())
    assert data["player"] == "two_phase"
    assert len(data["maps"]["value"]) == len(data["maps"]["long-term"]) == 21
    # The same seed tells the same; --move goes back.
    again = tmp_path / "b.json"
    main(["analyze", str(sgf), "--player", spec, "--json", str(again)])
    assert json.loads(again.read_text()) == data
    main(["analyze", str(sgf), "--player", f"greedy,weights={file}", "--move", "1", "--json", str(again)])
    assert json.loads(again.read_text())["to_play"].lower() == "white"
    assert len(json.loads(again.read_text())["maps"]["value"]) == 24


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("no game", [], "not an SGF game record"),
        ("(;SZ[5];B[cc];W[cc])", [], "move 2: illegal move"),
        ("(;SZ[5];B[];W[])", ["--player", "random"], "the game is over"),
        ("(;SZ[9];B[cc])", ["--player", "dyna2,sims=0"], "sims = 0"),
        ("(;SZ[7];B[cc])", [], "no shipped weights for board size 7"),
        (None, [], "no such file"),
        ("(;GM[2]SZ[8])", [], "GM[2]: expected 1, the game of Go"),
        ("(;SZ[5];B[cc])", ["--komi", "nan"], "--komi nan: expected a number"),
        ("(;SZ[5];B[cc])", ["--move", "3"], "--move 3: the record has 1 moves"),
    ],
)
def test_bad_input(tmp_path, capsys, text, arguments, message):
    sgf = tmp_path / "game.sgf"
    if text is not None:
        sgf.write_text(text)
    assert main(["analyze", str(sgf), *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("rlgo: error:") == 1


def test_nobody_to_ask_in_a_finished_game():
    over = Game(5)
    over.play(0)
    over.play(0)
    with pytest.raises(RlgoError, match="the game is over"):
        analyze(over, RandomPlayer(1))
    assert over.to_play == BLACK


def test_ctrl_c_ends_the_search_with_what_it_has_found(tmp_path, weights, monkeypatch, capsys):
    """The first one; an hour's search answers at once. (Sent from inside, when the search is sure to run.)"""
    sgf, file = tmp_path / "game.sgf", tmp_path / "w.npz"
    sgf.write_text(SGF)
    save_weights(file, weights)
    run = Dyna2.run
    calls = []

    def run_and_interrupt(self, komi, first, n):
        run(self, komi, first, n)
        calls.append(n)
        if len(calls) == 5:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Dyna2, "run", run_and_interrupt)
    before = signal.getsignal(signal.SIGINT)
    spec = f"two_phase,long={file},sizes=1+2,seconds=3600"
    assert main(["analyze", str(sgf), "--player", spec]) == 130
    assert "two_phase plays" in capsys.readouterr().out
    assert len(calls) == 5
    assert signal.getsignal(signal.SIGINT) is before


def test_a_calibrated_player_tells_the_chance_of_winning() -> None:
    """One minus the chance for White, and no line from a player without a calibration."""
    player = make_player("mc_rave,sims=60", 5, 1)
    assert "chance" not in analyze(Game(5), player).text()
    player.calibration = Calibration((-1.0,) * 8, (1.0,) * 8, (1.0,) * 8)
    found = analyze(Game(5), player)
    value = player.candidates(Game(5))[0].value
    assert found.chance == pytest.approx(1 / (1 + np.exp(1 - np.log(value / (1 - value)))), rel=1e-3)
    assert f"Black's chance of winning: {found.chance:.0%}" in found.text()
    assert found.to_json()["chance"] == found.chance
