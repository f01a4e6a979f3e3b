"""Networks from ONNX files: what they are given, what their outputs mean, and files that do not fit."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tree_tools import SIZE, composed, game_after

from mcts import Outside, OutsideValue, Value
from mcts.outside.onnx import OnnxNetwork, read_description
from mcts.player import TreeSearch
from rlgo.base.errors import RlgoError
from rlgo.features.planes import apply_symmetry, planes
from rlgo.go.positions import Positions

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
import onnx
from onnx_files import METADATA, by_hand, save_network

GAMES = [game_after("C3"), game_after("C3", "B2"), game_after("D4", "C3", "A1")]


def positions():
    return Positions.of(GAMES)


def test_a_network_is_what_numpy_computes(tmp_path):
    network = OnnxNetwork(save_network(tmp_path / "net.onnx", metadata={**METADATA, "rlgo.ownership": "ownership"}))
    answer = network(positions())
    logits, value, ownership = by_hand(planes(positions(), ("stones", "color")), SIZE, 3)
    np.testing.assert_allclose(answer["logits"], logits, atol=1e-5)
    black = [False, True, False]  # the colours to play
    np.testing.assert_allclose(answer["value"], np.where(black, (1 + value) / 2, (1 - value) / 2), atol=1e-6)
    owned = (1 + ownership.reshape(-1, SIZE, SIZE)) / 2
    np.testing.assert_allclose(answer["ownership"][1], owned[1], atol=1e-6)
    np.testing.assert_allclose(answer["ownership"][0], 1 - owned[0], atol=1e-6)
    assert network.history == 1


@pytest.mark.parametrize(
    ("view", "kind", "expected"),
    [
        ("black", "tanh", lambda v, _: (v + 1) / 2),
        ("black", "logit", lambda v, _: 1 / (1 + np.exp(-v))),
        ("to_play", "logit", lambda v, black: np.where(black, 1 / (1 + np.exp(-v)), 1 / (1 + np.exp(v)))),
    ],
)
def test_a_toml_file_beside_it_comes_first(tmp_path, view, kind, expected):
    file = save_network(tmp_path / "net.onnx", metadata=None)
    beside = f'planes = "stones+color"\nvalue = "value"\nvalue_view = "{view}"\nvalue_range = "{kind}"\n'
    (tmp_path / "net.toml").write_text(beside)
    answer = OnnxNetwork(file)(positions())
    assert set(answer) == {"value"}
    _, value, _ = by_hand(planes(positions(), ("stones", "color")), SIZE, 3)
    black = np.array([False, True, False])
    np.testing.assert_allclose(answer["value"], expected(value, black), atol=1e-6)


def test_symmetries_are_averaged(tmp_path):
    """With all eight, a turned position has the turned policy, ownership and the same value."""
    file = save_network(tmp_path / "net.onnx", metadata={**METADATA, "rlgo.ownership": "ownership"})
    network = OnnxNetwork(file, symmetries=8)
    one, turned = network(Positions.of(game_after("B1", "D5"))), network(Positions.of(game_after("A2", "E4")))
    transposed = 4
    np.testing.assert_allclose(apply_symmetry(one["policy"], transposed), turned["policy"], atol=1e-6)
    np.testing.assert_allclose(apply_symmetry(one["ownership"], transposed), turned["ownership"], atol=1e-6)
    np.testing.assert_allclose(one["value"], turned["value"], atol=1e-6)
    plain = OnnxNetwork(file)
    assert abs(plain(Positions.of(game_after("B1", "D5")))["value"] - turned["value"]) > 1e-3
    values = []
    for g in range(8):
        _, value, _ = by_hand(apply_symmetry(planes(positions(), ("stones", "color")), g), SIZE, 3)
        values.append(value[1])
    np.testing.assert_allclose(network(positions())["value"][1], (1 + np.mean(values)) / 2, atol=1e-6)


def test_a_network_with_a_fixed_batch(tmp_path):
    fixed, free = save_network(tmp_path / "two.onnx", batch=2), save_network(tmp_path / "any.onnx")
    for name, array in OnnxNetwork(free)(positions()).items():
        np.testing.assert_allclose(OnnxNetwork(fixed)(positions())[name], array, atol=1e-6)


def test_in_a_search(tmp_path):
    network = OnnxNetwork(save_network(tmp_path / "net.onnx"))
    settings = composed("puct", prior=Outside(), leaf=Value(OutsideValue()))
    result = TreeSearch(SIZE, settings, 200, evaluator=network, seed=1).search(game_after("C3"))
    assert result.simulations == 200
    big = OnnxNetwork(save_network(tmp_path / "big.onnx", size=7))
    with pytest.raises(RlgoError, match=r"big.onnx: its input has shape .*7, 7\]: expected 3 planes .* of 5x5"):
        TreeSearch(SIZE, settings, 200, evaluator=big, seed=1).search(game_after("C3"))
    seven = OnnxNetwork(save_network(tmp_path / "planes.onnx", n_planes=7))
    with pytest.raises(RlgoError, match="expected 3 planes"):
        TreeSearch(SIZE, settings, 200, evaluator=seven, seed=1).search(game_after("C3"))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"plane": "stones", "policy": "p"}, "net: unknown key plane; did you mean planes?"),
        ({"policy": 3}, "net: policy = 3: expected text"),
        ({"planes": "stones"}, "net: expected the name of an output for policy or value, or both"),
        ({"policy": "p", "planes": "stone"}, "net: "),
        ({"policy": "p", "layout": "chw"}, "net: layout = 'chw': expected one of"),
        ({"value": "v", "value_view": "white"}, "net: value_view = 'white': expected one of"),
    ],
)
def test_bad_descriptions(entries, message):
    with pytest.raises(RlgoError) as error:
        read_description(entries, "net")
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_range_that_is_another_one(tmp_path):
    network = OnnxNetwork(save_network(tmp_path / "n.onnx", metadata={**METADATA, "rlgo.value_range": "probability"}))
    with pytest.raises(RlgoError, match=r'n.onnx: an output of -0.\d+: expected value_range = "tanh"'):
        network(positions())


def changed(file, change):
    """The same network with its graph changed."""
    model = onnx.load(str(file))
    change(model.graph)
    onnx.save(model, str(file))
    return OnnxNetwork(file)


def test_networks_that_cannot_be_run(tmp_path):
    def any_size(graph):
        for i, dimension in enumerate(graph.input[0].type.tensor_type.shape.dim):
            dimension.dim_param = f"d{i}"

    network = changed(save_network(tmp_path / "n.onnx", size=7), any_size)
    with pytest.raises(RlgoError, match=r"n.onnx: onnxruntime cannot run it: .*MatMul") as error:
        network.warm_up(SIZE)  # its weights are for another size
    assert "\n" not in str(error.value)
    assert str(tmp_path) not in str(error.value).removeprefix(f"{tmp_path}")

    def whole_numbers(graph):
        graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.INT32
        graph.node.insert(0, onnx.helper.make_node("Cast", ["planes"], ["real"], to=onnx.TensorProto.FLOAT))
        graph.node[1].input[0] = "real"

    with pytest.raises(RlgoError, match=r"i.onnx: its input is tensor\(int32\): expected one of tensor\(float\)"):
        changed(save_network(tmp_path / "i.onnx"), whole_numbers)


def test_values_without_a_dimension_and_inputs_of_doubles(tmp_path):
    def scalar(graph):
        graph.node.append(onnx.helper.make_node("Squeeze", ["value"], ["v"]))
        graph.output.append(onnx.helper.make_tensor_value_info("v", onnx.TensorProto.FLOAT, []))

    def doubles(graph):
        graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
        graph.node.insert(0, onnx.helper.make_node("Cast", ["planes"], ["real"], to=onnx.TensorProto.FLOAT))
        graph.node[1].input[0] = "real"

    plain = OnnxNetwork(save_network(tmp_path / "plain.onnx"))(positions())
    one = save_network(tmp_path / "one.onnx", batch=1, metadata={**METADATA, "rlgo.value": "v"})
    for network in (changed(one, scalar), changed(save_network(tmp_path / "double.onnx"), doubles)):
        for name, answer in network(positions()).items():
            np.testing.assert_allclose(answer, plain[name], atol=1e-5)


def test_a_description_with_a_mark_at_its_start(tmp_path):
    file = save_network(tmp_path / "net.onnx", metadata=None)
    (tmp_path / "net.toml").write_bytes(b'\xef\xbb\xbfplanes = "stones+color"\r\nvalue = "value"\r\n')
    assert set(OnnxNetwork(file)(positions())) == {"value"}


def test_bad_files(tmp_path, monkeypatch):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"no network")
    silent = save_network(tmp_path / "silent.onnx", metadata=None)
    other = save_network(tmp_path / "other.onnx", metadata={**METADATA, "rlgo.policy": "p"})
    for file, message in (
        (tmp_path / "missing.onnx", "no such file"),
        (bad, "onnxruntime cannot read it"),
        (silent, "does not say what its inputs and outputs are: expected metadata or"),
        (other, "no output p; its outputs are policy, value, ownership"),
    ):
        with pytest.raises(RlgoError) as error:
            OnnxNetwork(file)
        assert message in str(error.value)
        assert "\n" not in str(error.value)
    (tmp_path / "silent.toml").write_text("planes = ")
    with pytest.raises(RlgoError, match=r"silent.toml: not valid TOML"):
        OnnxNetwork(silent)
    with pytest.raises(RlgoError, match="symmetries = 9"):
        OnnxNetwork(silent, symmetries=9)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(RlgoError, match=r"needs onnxruntime, which is not installed: pip install 'rlgo\[onnx\]'"):
        OnnxNetwork(silent)
