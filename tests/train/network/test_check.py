"""What `rlgo network check` finds, of evaluators that are wrong in one way each."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

from mcts.outside.checked import CheckedNetwork
from rlgo.base.errors import RlgoError
from rlgo.features.planes import apply_symmetry, planes
from rlgo.go.board import BLACK
from rlgo.go.positions import Positions
from rlgo.learning.batches import read_games
from train.cli.main import main
from train.games.collect import GamesPlan, play_games
from train.network.check import _is_clear, check_network
from train.network.measure import measure

SIZE = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("games")
    play_games(GamesPlan("mc_rave,sims=20,memory_mb=1", 60, size=SIZE, komi=3.5, seed=2), out, progress=False)
    return out


@pytest.fixture(scope="module")
def data(folder):
    return read_games(folder, "komi", held_out=None)


@pytest.fixture(scope="module")
def won(data):
    """Whether Black won, by the hash of each position; the first game decides for positions of several."""
    batch, found = data.take(slice(None)), {}
    z = np.where(batch.to_play == BLACK, batch.z, 1 - batch.z)
    for key, outcome in zip(keys(data.positions(slice(None))), z, strict=True):
        found.setdefault(key, outcome)
    return found


def keys(positions: Positions) -> list[tuple[int, int]]:
    return list(zip(positions.arrays.boards["hash"].tolist(), positions.to_play.tolist(), strict=True))


def knowing(won, change=lambda v, _: v, legal=Positions.legal):
    """An evaluator that knows who wins, with 80 per cent, and what is legal."""

    def evaluate(positions):
        v = np.array([0.2 + 0.6 * won.get(key, 0.5) for key in keys(positions)])
        p = legal(positions).astype(float)
        return {"policy": p / p.sum(axis=1, keepdims=True), "value": change(v, positions)}

    return CheckedNetwork(evaluate)


def test_nothing_is_wrong_with_one_that_knows(won, data):
    found = check_network(knowing(won), data)
    assert not found.problems
    assert (found.positions, found.games, found.illegal) == (len(data), 60, 0)
    (low, high) = found.bins[0], found.bins[-1]
    assert (low.value, high.value) == pytest.approx((0.2, 0.8))
    assert low.won < 0.1
    assert high.won > 0.9
    error = sum(b.positions * abs(b.value - b.won) for b in found.bins) / len(data)
    assert found.calibration_error == pytest.approx(error)
    assert found.losses["Black"][0] < 0.3 < 1 < found.losses["Black"][1]


def of_player(v, positions):
    return np.where(positions.to_play == BLACK, v, 1 - v)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (of_player, "value: with White to play, 1 - v predicts the outcome better than v: it looks like the chance of "
         r"the side to play: expected P\(Black wins\), whoever is to play"),
        (lambda v, p: 1 - of_player(v, p), "with Black to play, .* the chance of the other side"),
        (lambda v, _: 1 - v, "with Black and White to play, .* the chance of White"),
        (lambda v, _: 2 * v - 1, r"from -0.60 to 0.60, in \[-1, 1\] in place of \[0, 1\]: expected \(1 \+ v\) / 2"),
        (lambda v, _: 0.02 + 0.96 * (np.arange(len(v)) % 7 < 3), "value: its log-loss is .*: 1/2 everywhere"),
    ],
)  # fmt: skip
def test_wrong_values(won, data, change, message):
    (found,) = check_network(knowing(won, change), data).problems
    assert re.search(message, found)


def test_both_are_told_of_values_from_minus_1_of_the_side_to_play(won, data):
    found = check_network(knowing(won, lambda v, p: 2 * of_player(v, p) - 1), data)
    assert [text.split(",")[0] for text in found.problems] == ["value: from -0.60 to 0.60", "value: with White to play"]


def test_illegal_moves_and_moves_in_another_order(won, data):
    found = check_network(knowing(won, legal=lambda p: np.ones((len(p), SIZE**2 + 1))), data)
    illegal = 1 - data.positions(slice(None)).legal().mean()
    assert found.illegal == pytest.approx(illegal)
    assert f"policy: {illegal:.1%} of it is on illegal moves; it has learned little, or" in found.problems[0]
    for g in (1, 2, 4):
        (text,) = check_network(knowing(won, legal=lambda p, g=g: apply_symmetry(p.legal(), g)), data).problems
        assert "it is 0.0% if the board is turned by symmetry" in text


def test_answers_that_cannot_be_read(won, data):
    with pytest.raises(RlgoError, match=r"value from -?[0-9.]+ to 2.4: expected P\(Black wins\), 0 to 1"):
        check_network(knowing(won, lambda v, _: 3 * v), data)
    with pytest.raises(RlgoError, match=r"value has shape \(1,\): expected"):
        check_network(knowing(won, lambda v, _: v[:1]), data)


def test_the_evidence_is_in_games():
    """A thousand positions of one game are no more than one; ten games that agree are clear."""
    assert not _is_clear(np.ones(1000), np.zeros(1000, int))
    assert _is_clear(np.linspace(0.9, 1.1, 100), np.repeat(np.arange(10), 10))
    assert not _is_clear(np.repeat([1.0, -1.0, 1.0], 100), np.repeat(np.arange(3), 100))


def test_measures_of_an_evaluator(won, data):
    """The value's log-loss by hand; what it does not tell is not known."""
    found = measure(knowing(won), data)
    assert found.value_loss == pytest.approx(-math.log(0.8), abs=0.05)
    assert found.value_right > 0.97
    assert math.isnan(found.score_error)
    assert math.isnan(found.owner_right)
    assert found.policy_loss > found.policy_entropy
    silent = measure(CheckedNetwork(lambda p: {"value": np.full(len(p), 0.5)}), data)
    assert silent.value_loss == pytest.approx(math.log(2), rel=1e-5)
    assert math.isnan(silent.policy_loss)
    assert math.isnan(silent.top[0])


def test_positions_are_those_of_the_planes(data):
    positions = data.positions([3, 5])
    np.testing.assert_array_equal(planes(positions, "komi"), data.take([3, 5]).planes)
    assert data.positions([3, 5], history=2).history == 2


def test_the_commands(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "minus.py").write_text(
        "import numpy as np\n\ndef evaluate(positions):\n    '''Says minus one.'''\n"
        "    legal = positions.legal()\n    v = -np.ones(len(positions))\n"
        "    return {'policy': legal / legal.sum(axis=1, keepdims=True), 'value': v}\n\n"
        "def half(positions):\n    return evaluate(positions) | {'value': np.full(len(positions), 0.5)}\n"
    )
    assert main(["network", "check", "minus.py:evaluate", str(folder), "--json", "c.json"]) == 1
    assert "value: from -1.00 to -1.00, in [-1, 1] in place of [0, 1]" in capsys.readouterr().out
    told = json.loads((tmp_path / "c.json").read_text())["5x5"]
    assert told["problems"]
    assert [b["value"] for b in told["bins"]] == [pytest.approx(0, abs=1e-5)]
    assert main(["network", "check", "minus.py:half", str(folder)]) == 0
    assert "nothing wrong found" in capsys.readouterr().out
    assert main(["network", "test", "minus.py:half", "9x9", str(folder)]) == 0
    assert "minus.py:half, 5x5" in (out := capsys.readouterr().out)
    assert "0.693" in out
    assert main(["network", "info", "minus.py:evaluate"]) == 0
    assert capsys.readouterr().out == "Says minus one.\nsees 8 positions of a game\n"
    assert main(["network", "show", "minus.py:half", "--size", "5", "--moves", "C3"]) == 0
    assert "Policy of White" in (out := capsys.readouterr().out)
    assert "Black wins with probability 0.50\n" in out
    assert main(["network", "show", "minus.py:evaluate", "--size", "5"]) == 2
    assert "a value v from -1 to 1 is (1 + v) / 2" in capsys.readouterr().err
