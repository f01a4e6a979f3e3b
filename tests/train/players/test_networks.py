"""Networks by name: files of rlgo's own and in ONNX, programs, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mcts.outside.checked import CheckedNetwork
from rlgo.base.errors import RlgoError
from rlgo.go.game import Game
from rlgo.network.architecture import Shape
from rlgo.network.conv_network import ConvNetwork
from train.players import make_player
from train.players.loading import files_loaded
from train.players.networks import is_own_network, is_program, load_any_network, load_evaluator

EVALUATOR = """
import numpy as np

count = [0]

def evaluate(positions):
    count[0] += 1
    policy = np.full((len(positions), 26), 0.01)
    policy[:, 7] = 0.75
    return {"policy": policy, "value": np.full(len(positions), 0.5)}

number = 5
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("given.py", "given_network.py"):
        Path(name).write_text(EVALUATOR)
    return "given.py:evaluate"


def test_kinds_are_told_by_names():
    assert is_own_network("9x9")
    assert is_own_network("checkpoints/networks/9x9")
    assert is_own_network("a/b.npz")
    assert not is_own_network("9x9.onnx")
    assert [is_program(name) for name in ("a:b", "a.py:b", "C:/a.npz", "C:/a.onnx")] == [True, True, False, False]


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize("name", ["given.py:evaluate", "given_network:evaluate"])
def test_an_evaluator_in_python_is_loaded_once(name):
    """Games whose players have one evaluator share its batches."""
    with files_loaded() as files:
        assert load_evaluator(name) is load_evaluator(name)
    assert {str(file) for file in files} == {name.partition(":")[0].removesuffix(".py") + ".py"}


@pytest.mark.parametrize(
    "spec", ["puct,playouts=off,sims=30,batch=4", "network", "mc_rave,sims=30,prior_n=99,evaluator=policy"]
)
def test_players_ask_it(program, spec):
    """It likes C2, the eighth point, with any player."""
    player = make_player(f"{spec},network={program}", 5, 1)
    assert player.genmove(Game(5)) == 2 * 6 + 3
    assert load_evaluator(program).__globals__["count"][0] > 0


def test_players_take_networks_in_onnx(tmp_path):
    pytest.importorskip("onnxruntime")
    from onnx_files import save_network

    player = make_player(f"network,network={save_network(tmp_path / 'n.onnx')}", 5, 1)
    player.genmove(Game(5))
    answer = player.evaluation
    assert -1 <= answer["ownership"].min() < 0 if "ownership" in answer else True
    assert answer["logits"].shape == (26,)


def test_any_network_is_one_for_measurements(program, tmp_path):
    own = tmp_path / "own.npz"
    ConvNetwork.new(Shape(1, 8, 8, 8), 1).save(own)
    assert isinstance(load_any_network(own), ConvNetwork)
    found = load_any_network(program)
    assert isinstance(found, CheckedNetwork)
    np.testing.assert_allclose(max(found.policy(Game(5)).values()), 0.75, rtol=1e-5)


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.onnx", "network = missing.onnx: no such file"),
        ("9x8", "9x8: no such network file; shipped networks: 13x13, 19x19, 9x9"),
        ("missing.py:f", "network missing.py:f: missing.py: expected a Python file"),
        ("no_such_module:f", "network no_such_module:f: no module no_such_module"),
        ("given.py:evaluat", "network given.py:evaluat: given.py has no evaluat; did you mean evaluate?"),
        ("given.py:number", "network given.py:number: number = 5: expected a function of rlgo.Positions"),
        ("given.npz", "given.npz: not a network file of rlgo, or a damaged or truncated one"),
        ("given.txt", "given.txt: onnxruntime cannot read it"),
    ],
)
def test_wrong_names(name, message):
    Path("given.npz").write_text("no archive")
    Path("given.txt").write_text("no network")
    with pytest.raises(RlgoError) as error:
        load_evaluator(name)
    assert message in str(error.value)


def test_keys_that_a_program_does_not_have(program):
    with pytest.raises(RlgoError, match="symmetries has no effect here: it needs a network in ONNX"):
        make_player(f"puct,network={program},symmetries=8", 5)
    with pytest.raises(RlgoError, match="batch has no effect here: it needs a network in ONNX or in Python"):
        make_player("puct,batch=8", 5)
