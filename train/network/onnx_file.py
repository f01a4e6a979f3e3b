"""Networks as ONNX files: export for other programs, and import of such a file with other weights.

Start reading at `save_onnx`. The file describes itself, so that rlgo plays with it through onnxruntime as well
(`mcts.Network`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.files import read_file, write_atomically
from rlgo.network.architecture import KINDS, MEAN_SIZE, N_PLANES, SCORE_UNIT, SIZE_UNIT, Parameters, are_valid
from rlgo.network.conv_network import ConvNetwork

_METADATA = {
    "rlgo.planes": "+".join(KINDS),
    "rlgo.policy": "policy",
    "rlgo.value": "value",
    "rlgo.value_range": "logit",
    "rlgo.ownership": "ownership",
}
_OPSET, _IR_VERSION = 17, 9
_CONSTANTS = {
    "mean_size": np.float32(MEAN_SIZE),
    "size_unit": np.float32(SIZE_UNIT),
    "score_unit": np.float32(SCORE_UNIT),
    "two": np.float32(2),
    "rows_and_columns": np.array([2, 3]),
    "flat": np.array([0, -1]),
}
# How the arrays of `Parameters` are stored: as they are, in one array for each first index, or in another shape.
_UNCHANGED = ("stem_bias", "head_bias", "policy_pool", "pass_bias", "hidden", "hidden_bias", "result", "result_bias")
_STACKS = ("conv_bias", "pool")
_VECTORS = {"policy": (1, -1, 1, 1), "pass_move": (-1, 1), "ownership": (1, -1, 1, 1)}


def save_onnx(path: str | Path, network: ConvNetwork) -> None:
    """Write a network as an ONNX file, for any number of positions of any board size.

    Its outputs are ``policy``, logits [n, N + 1]; ``value``, the logit of P(the side to play wins) [n, 1]; ``score``,
    in points [n, 1]; and ``ownership``, logits of the same side's points [n, 1, size, size]. RlgoError if onnx is
    missing, or the file cannot be written.
    """
    onnx = _onnx()
    graph = onnx.parser.parse_graph(_graph_text(network.shape.blocks))
    arrays = _CONSTANTS | _arrays_of(network.parameters)
    graph.initializer.extend(onnx.numpy_helper.from_array(np.ascontiguousarray(a), name) for name, a in arrays.items())
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
    onnx.helper.set_model_props(model, _METADATA)
    write_atomically(path, model.SerializeToString())


def load_onnx(path: str | Path) -> ConvNetwork:
    """Read a network from an ONNX file as `save_onnx` writes it, whatever the values of its weights.

    RlgoError if onnx is missing, or the file is of another network.
    """
    onnx = _onnx()
    read_file(path)  # says why it cannot be read
    try:
        model = onnx.load_model(str(path))  # with weights in a file beside it
        parameters = _parameters_of({one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer})
        if not are_valid(parameters):
            raise ValueError("other shapes, or weights that are not finite numbers")
    except RlgoError:
        raise
    except Exception as error:  # protobuf has its own
        raise RlgoError(f"{path}: not a network that rlgo wrote: {' '.join(str(error).split())}") from None
    return ConvNetwork(parameters, {"onnx": Path(path).name})


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise RlgoError("ONNX files need onnx, which is not installed: pip install 'rlgo[network]'") from None
    return onnx


def _arrays_of(p: Parameters) -> dict[str, np.ndarray]:
    """Return the weights as they are stored, by name."""
    arrays = {name: getattr(p, name) for name in _UNCHANGED}
    arrays |= {f"{name}_{k}": a for name in _STACKS for k, a in enumerate(getattr(p, name))}
    arrays |= {"stem": _stored_kernel(p.stem)} | {f"conv_{k}": _stored_kernel(a) for k, a in enumerate(p.conv)}
    arrays |= {f"{name}_kernel": getattr(p, name).reshape(shape) for name, shape in _VECTORS.items()}
    return arrays | {"head_kernel": p.head.T[:, :, None, None]}


def _parameters_of(arrays: dict[str, np.ndarray]) -> Parameters:
    """Return the inverse of `_arrays_of`. KeyError or ValueError if there is none."""
    blocks = sum(name.startswith("pool_") for name in arrays)
    found = {name: arrays[name] for name in _UNCHANGED}
    found |= {"pool": np.stack([arrays[f"pool_{k}"] for k in range(blocks)])}
    found |= {"conv_bias": np.stack([arrays[f"conv_bias_{k}"] for k in range(2 * blocks)])}
    found |= {"conv": np.stack([_kernel(arrays[f"conv_{k}"]) for k in range(2 * blocks)])}
    found |= {name: arrays[f"{name}_kernel"].ravel() for name in _VECTORS}
    found |= {"stem": _kernel(arrays["stem"]), "head": arrays["head_kernel"][:, :, 0, 0].T}
    return Parameters(**{name: np.ascontiguousarray(a, np.float32) for name, a in found.items()})


def _stored_kernel(kernel: np.ndarray) -> np.ndarray:
    """Return a kernel [3, 3 C, C'] as ONNX has it, [C', C, 3, 3]."""
    return kernel.reshape(3, 3, -1, kernel.shape[-1]).transpose(3, 2, 0, 1)


def _kernel(stored: np.ndarray) -> np.ndarray:
    """Return the inverse of `_stored_kernel`."""
    return np.ascontiguousarray(stored.transpose(2, 3, 1, 0)).reshape(3, -1, stored.shape[0])


# ---------------------------------------------------------------------------------------------
# The equations of `rlgo/network/inference.py`, in ONNX's text format; channels come before rows and columns
# ---------------------------------------------------------------------------------------------


def _graph_text(blocks: int) -> str:
    lines = [
        "size = Shape <start = 3> (planes)", "real_size = Cast <to = 1> (size)",
        "beyond = Sub(real_size, mean_size)", "scale = Div(beyond, size_unit)",
        *_convolved("planes", "stem", "stem_bias", "y"), "x_0 = Relu(y)",
    ]  # fmt: skip
    for k in range(blocks):
        lines += [
            *_convolved(f"x_{k}", f"conv_{2 * k}", f"conv_bias_{2 * k}", f"a_{k}"), f"b_{k} = Relu(a_{k})",
            *_pooled(f"b_{k}", f"c_{k}"), f"d_{k} = MatMul(c_{k}, pool_{k})",
            *_added_everywhere(f"b_{k}", f"d_{k}", f"e_{k}"), f"h_{k} = Relu(e_{k})",
            *_convolved(f"h_{k}", f"conv_{2 * k + 1}", f"conv_bias_{2 * k + 1}", f"i_{k}"),
            f"j_{k} = Add(x_{k}, i_{k})", f"x_{k + 1} = Relu(j_{k})",
        ]  # fmt: skip
    lines += [f"heads = Conv(x_{blocks}, head_kernel, head_bias)", "P, G, V = Split <axis = 1> (heads)"]
    lines += [
        "g = Relu(G)", *_pooled("g", "g_pooled"), "p_bias = MatMul(g_pooled, policy_pool)",
        *_added_everywhere("P", "p_bias", "p_sum"), "p = Relu(p_sum)",
        "p_points = Conv(p, policy_kernel)", "points = Reshape(p_points, flat)",
        "p_pass = MatMul(g_pooled, pass_move_kernel)", "passing = Add(p_pass, pass_bias)",
        "policy = Concat <axis = 1> (points, passing)",
    ]  # fmt: skip
    lines += [
        "v = Relu(V)", *_pooled("v", "v_pooled"), "v_hidden = MatMul(v_pooled, hidden)",
        "v_sum = Add(v_hidden, hidden_bias)", "units = Relu(v_sum)", "v_result = MatMul(units, result)",
        "win_and_score = Add(v_result, result_bias)", "value, points_ahead = Split <axis = 1> (win_and_score)",
        "score = Mul(points_ahead, score_unit)",
        "owned = Conv(v, ownership_kernel)", "ownership = Mul(owned, two)",  # tanh x = 2 sigma(2 x) - 1
    ]  # fmt: skip
    outputs = "float[n, moves] policy, float[n, 1] value, float[n, 1] score, float[n, 1, size, size] ownership"
    return f"network (float[n, {N_PLANES}, size, size] planes) => ({outputs}) {{ {' '.join(lines)} }}"


def _convolved(x: str, kernel: str, bias: str, y: str) -> list[str]:
    return [f"{y} = Conv <pads = [1, 1, 1, 1]> ({x}, {kernel}, {bias})"]


def _pooled(x: str, y: str) -> list[str]:
    return [
        f"{y}_mean = ReduceMean <axes = [2, 3], keepdims = 0> ({x})", f"{y}_scaled = Mul({y}_mean, scale)",
        f"{y}_max = ReduceMax <axes = [2, 3], keepdims = 0> ({x})",
        f"{y} = Concat <axis = 1> ({y}_mean, {y}_scaled, {y}_max)",
    ]  # fmt: skip


def _added_everywhere(x: str, bias: str, y: str) -> list[str]:
    return [f"{bias}_points = Unsqueeze({bias}, rows_and_columns)", f"{y} = Add({x}, {bias}_points)"]
