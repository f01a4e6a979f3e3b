"""Small networks in ONNX files for tests: two convolutions, and fully connected outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

METADATA = {"rlgo.planes": "stones+color", "rlgo.policy": "policy", "rlgo.value": "value"}


def weights_of(size: int, n_planes: int, channels: int, seed: int) -> dict[str, np.ndarray]:
    """Random weights by name."""
    rng, n = np.random.default_rng(seed), size * size
    shapes = {
        "w0": (channels, n_planes, 3, 3),
        "w1": (channels, channels, 3, 3),
        "wp": (channels * n, n + 1),
        "wv": (channels * n, 1),
        "wo": (channels * n, n),
    }
    return {name: rng.normal(0, 0.2, shape).astype(np.float32) for name, shape in shapes.items()}


def save_network(
    path: Path,
    size: int = 5,
    n_planes: int = 3,
    channels: int = 4,
    seed: int = 0,
    batch: int | str = "n",
    metadata: dict[str, str] | None = METADATA,
) -> Path:
    """Write a network with the outputs policy (logits), value (tanh) and ownership (tanh)."""
    weights = weights_of(size, n_planes, channels, seed)
    nodes = []
    x = "planes"
    for layer in ("w0", "w1"):
        nodes.append(helper.make_node("Conv", [x, layer], [f"{layer}c"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"{layer}c"], [f"{layer}r"]))
        x = f"{layer}r"
    nodes.append(helper.make_node("Flatten", [x], ["flat"]))
    nodes.append(helper.make_node("MatMul", ["flat", "wp"], ["policy"]))
    for name, w in (("value", "wv"), ("ownership", "wo")):
        nodes.append(helper.make_node("MatMul", ["flat", w], [f"{name}x"]))
        nodes.append(helper.make_node("Tanh", [f"{name}x"], [name]))
    n = size * size
    outputs = {"policy": [batch, n + 1], "value": [batch, 1], "ownership": [batch, n]}
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("planes", TensorProto.FLOAT, [batch, n_planes, size, size])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    if metadata is not None:
        helper.set_model_props(model, metadata)
    onnx.save(model, str(path))
    return path


def by_hand(x: np.ndarray, size: int, n_planes: int, channels: int = 4, seed: int = 0) -> tuple[np.ndarray, ...]:
    """The same network in numpy: policy logits, value and ownership from -1 to 1 of planes [n, planes, size, size]."""
    weights = weights_of(size, n_planes, channels, seed)
    for layer in ("w0", "w1"):
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        x = np.maximum(np.einsum("nchwij,kcij->nkhw", windows, weights[layer]), 0)
    flat = x.reshape(len(x), -1)
    return flat @ weights["wp"], np.tanh(flat @ weights["wv"])[:, 0], np.tanh(flat @ weights["wo"])
