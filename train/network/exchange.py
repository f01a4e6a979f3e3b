"""Networks as ONNX files: written for other programs, and read back.

Start reading at `save_onnx`. The file describes itself, so that rlgo plays with it through onnxruntime as well
(`mcts.Network`). What another program has changed in its weights can be read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError, cut
from rlgo.base.files import read_file, write_atomically
from rlgo.network.layers import SCORE_UNIT
from rlgo.network.network import ConvNetwork
from rlgo.network.parameters import KINDS, N_PLANES, Parameters, are_whole

_METADATA = {
    "rlgo.planes": "+".join(KINDS),
    "rlgo.policy": "policy",
    "rlgo.value": "value",
    "rlgo.value_range": "logit",
    "rlgo.ownership": "ownership",
}
_AS_THEY_ARE = ("stem_bias", "head_bias", "policy_pool", "pass_bias", "hidden", "hidden_bias", "result", "result_bias")


def save_onnx(path: str | Path, network: ConvNetwork) -> None:
    """Write a network as an ONNX file, for any number of positions of any board size.

    Its outputs are ``policy``, logits [n, N + 1]; ``value``, the logit of P(the side to play wins) [n, 1]; ``score``,
    in points [n, 1]; and ``ownership``, logits of the same side's points [n, 1, size, size]. RlgoError if onnx is
    missing, or the file cannot be written.
    """
    onnx = _onnx()
    make, w = onnx.helper, network.parameters
    graph = _Graph(onnx)
    _write_network(graph, w)
    real, shape = onnx.TensorProto.FLOAT, ["n", N_PLANES, "size", "size"]
    ins = [make.make_tensor_value_info("planes", real, shape)]
    outs = [
        make.make_tensor_value_info(name, real, dims)
        for name, dims in {
            "policy": ["n", None], "value": ["n", 1], "score": ["n", 1], "ownership": ["n", 1, "size", "size"],
        }.items()
    ]  # fmt: skip
    whole = make.make_graph(graph.nodes, "network", ins, outs, graph.weights)
    model = make.make_model(whole, opset_imports=[make.make_opsetid("", 17)], ir_version=9)
    make.set_model_props(model, _METADATA)
    write_atomically(path, model.SerializeToString())


def load_onnx(path: str | Path) -> ConvNetwork:
    """Read a network from an ONNX file as `save_onnx` writes it, whatever the values of its weights.

    RlgoError if onnx is missing, or the file is of another network.
    """
    onnx = _onnx()
    try:
        model = onnx.load_model_from_string(read_file(path))
        held = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
        blocks = sum(name.startswith("pool_") for name in held)
        arrays = {name: held[name] for name in _AS_THEY_ARE}
        arrays |= {name: np.stack([held[f"{name}_{k}"] for k in range(n)]) for name, n in _stacks(blocks).items()}
        arrays |= {"stem": _rows(held["stem"]), "conv": np.stack([_rows(held[f"conv_{k}"]) for k in range(2 * blocks)])}
        arrays |= {name: held[f"{name}_kernel"].ravel() for name in ("policy", "pass_move", "ownership")}
        arrays["head"] = held["head_kernel"][:, :, 0, 0].T
        arrays = {name: np.ascontiguousarray(arrays[name], np.float32) for name in Parameters._fields}
        parameters = Parameters(**arrays)
        if not are_whole(parameters):
            raise ValueError("other shapes, or weights that are not finite numbers")
    except RlgoError:
        raise
    except Exception as error:  # protobuf has its own
        raise RlgoError(f"{path}: not a network that rlgo wrote: {cut(' '.join(str(error).split()))}") from None
    return ConvNetwork(parameters, {"onnx": Path(path).name})


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise RlgoError("ONNX files need onnx, which is not installed: pip install 'rlgo[network]'") from None
    return onnx


def _stacks(blocks: int) -> dict[str, int]:
    """Return which arrays of `Parameters` are stacks of weights in the file, and of how many."""
    return {"conv_bias": 2 * blocks, "pool": blocks}


def _columns(kernel: np.ndarray) -> np.ndarray:
    """Return a kernel [3, 3 C, C'] as ONNX has it, [C', C, 3, 3]."""
    return kernel.reshape(3, 3, -1, kernel.shape[-1]).transpose(3, 2, 0, 1)


def _rows(kernel: np.ndarray) -> np.ndarray:
    """Return the inverse of `_columns`."""
    return np.ascontiguousarray(kernel.transpose(2, 3, 1, 0), np.float32).reshape(3, -1, kernel.shape[0])


class _Graph:
    """Nodes and weights of an ONNX graph that grows."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, name: str, array: Any) -> str:
        """Add an array; return its name."""
        self.weights.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, operator: str, *inputs: str, out: str = "", **attributes: Any) -> str:
        """Add a node; return the name of its result."""
        name = out or f"t{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name


def _write_network(g: _Graph, w: Parameters) -> None:
    """Write the equations of `rlgo/network/layers.py`; channels come before rows and columns."""

    def convolve(x: str, name: str, kernel: np.ndarray, bias: np.ndarray, bias_name: str) -> str:
        return g.add("Conv", x, g.weight(name, _columns(kernel)), g.weight(bias_name, bias), pads=[1] * 4)

    def pooled(y: str) -> str:
        mean = g.add("ReduceMean", y, axes=[2, 3], keepdims=0)
        highest = g.add("ReduceMax", y, axes=[2, 3], keepdims=0)
        return g.add("Concat", mean, g.add("Mul", mean, "scale"), highest, axis=1)

    def everywhere(y: str, x: str) -> str:
        return g.add("Add", y, g.add("Unsqueeze", x, "rows_and_columns"))

    for name in _AS_THEY_ARE[1:]:
        g.weight(name, getattr(w, name))
    g.weight("rows_and_columns", np.array([2, 3], np.int64))
    g.weight("flat", np.array([0, -1], np.int64))
    size = g.add("Gather", g.add("Shape", "planes"), g.weight("last", np.array(3, np.int64)))
    beyond = g.add("Sub", g.add("Cast", size, to=1), g.weight("mean_size", np.float32(14)))
    g.add("Div", beyond, g.weight("size_unit", np.float32(10)), out="scale")
    x = g.add("Relu", convolve("planes", "stem", w.stem, w.stem_bias, "stem_bias"))
    for k in range(len(w.pool)):
        h = g.add("Relu", convolve(x, f"conv_{2 * k}", w.conv[2 * k], w.conv_bias[2 * k], f"conv_bias_{2 * k}"))
        bias = g.add("MatMul", pooled(h), g.weight(f"pool_{k}", w.pool[k]))
        h = g.add("Relu", everywhere(h, bias))
        y = convolve(h, f"conv_{2 * k + 1}", w.conv[2 * k + 1], w.conv_bias[2 * k + 1], f"conv_bias_{2 * k + 1}")
        x = g.add("Relu", g.add("Add", x, y))
    _write_heads(g, w, x, pooled, everywhere)


def _write_heads(g: _Graph, w: Parameters, x: str, pooled: Any, everywhere: Any) -> None:
    n = len(w.policy)
    heads = g.add("Conv", x, g.weight("head_kernel", w.head.T[:, :, None, None]), "head_bias")
    p, gg, v = (
        g.add("Slice", heads, g.weight(f"from_{i}", np.array([i * n], np.int64)),
              g.weight(f"to_{i}", np.array([(i + 1) * n], np.int64)), g.weight(f"axis_{i}", np.array([1], np.int64)))
        for i in range(3)
    )  # fmt: skip
    whole, v = pooled(g.add("Relu", gg)), g.add("Relu", v)
    p = g.add("Relu", everywhere(p, g.add("MatMul", whole, "policy_pool")))
    points = g.add("Conv", p, g.weight("policy_kernel", w.policy[None, :, None, None]))
    passing = g.add("MatMul", whole, g.weight("pass_move_kernel", w.pass_move[:, None]))
    g.add("Concat", g.add("Reshape", points, "flat"), g.add("Add", passing, "pass_bias"), axis=1, out="policy")
    hidden = g.add("Relu", g.add("Add", g.add("MatMul", pooled(v), "hidden"), "hidden_bias"))
    result = g.add("Add", g.add("MatMul", hidden, "result"), "result_bias")
    win, score = (g.add("Gather", result, g.weight(f"column_{i}", np.array([i], np.int64)), axis=1) for i in range(2))
    g.add("Identity", win, out="value")
    g.add("Mul", score, g.weight("score_unit", np.float32(SCORE_UNIT)), out="score")
    owners = g.add("Conv", v, g.weight("ownership_kernel", w.ownership[None, :, None, None]))
    g.add("Mul", owners, g.weight("two", np.float32(2)), out="ownership")  # tanh x = 2 sigma(2 x) - 1
