"""Speeds of networks: alone, and as evaluators that tree searches ask."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from train.bench.material import random_moves
from train.bench.timing import Numbers, median, on_all, rates


def evaluations(n: int) -> Numbers:
    """Measure networks of several sizes, without encoding positions, and `np.dot` on the products of one of them."""
    share = 0.0
    for size, channels in ((9, 16), (9, 32), (9, 48), (19, 32)):
        per_second, of_products = _network(size, channels, max(1, n if size == 9 else n // 5))
        share = of_products if (size, channels) == (9, 32) else share
        yield f"network_{channels}_{size}x{size}_per_s", per_second
    yield "network_products_share", share


def _network(size: int, channels: int, n: int) -> tuple[float, float]:
    """Return positions evaluated per second, and the share of `np.dot` on the network's products in that time."""
    import numpy as np

    from rlgo.features.planes import planes
    from rlgo.go.game import Game
    from rlgo.network.architecture import KINDS, Shape
    from rlgo.network.conv_network import ConvNetwork

    shape = Shape(channels=channels)
    network, game = ConvNetwork.new(shape, 1), Game(size)
    for color, p in random_moves(size, 1, 1)[0]:
        game.play(p, color, may_repeat=True)
    x = np.repeat(planes(game, KINDS), n, axis=0)

    def run() -> tuple[float, ...]:
        network.outputs(x)
        return (n,)

    inputs = [network.parameters.stem, *network.parameters.conv, network.parameters.head]
    kernels = [kernel.reshape(-1, kernel.shape[-1]) for kernel in inputs]
    rows = [np.ones((size**2, len(kernel)), np.float32) for kernel in kernels]
    results = [np.empty((size**2, kernel.shape[1]), np.float32) for kernel in kernels]

    def multiply() -> tuple[float, ...]:
        for _ in range(n):
            for a, b, c in zip(rows, kernels, results, strict=True):
                np.dot(a, b, out=c)
        return (n,)

    per_second = rates(run)[0]
    return per_second, per_second / rates(multiply)[0]


def evaluators(n: int, cpus: set[int]) -> Numbers:
    """Measure searches that ask an evaluator: a network, a function that costs nothing, and one of a millisecond."""
    from mcts.network import Network
    from mcts.player import TreeSearch
    from mcts.settings import ALGORITHMS, Resources
    from rlgo.go.game import Game

    def search(evaluator: Any, resources: Any, **settings: Any) -> TreeSearch:
        start = ALGORITHMS["mc_rave" if settings.get("playouts", True) else "puct"]
        resources = resources._replace(reuse=False)
        return TreeSearch(9, start._replace(**settings), n, evaluator=evaluator, resources=resources, seed=1)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "network.onnx"
        if _write_network(file):
            player = search(Network(file), Resources(batch=16), leaf_value=0.5)
            yield "mcrave_network_sims_per_s", rates(lambda: (player.search(Game(9)).simulations,))[0]
    constant = _ConstantEvaluator()
    around = search(constant, Resources(batch=16), leaf_value=0.5)

    def outside() -> float:
        constant.seconds, start = 0.0, time.process_time()
        count = around.search(Game(9)).simulations
        return 1000 * (time.process_time() - start - constant.seconds) / count

    yield "evaluator_outside_ms", median(outside)
    slow = _ConstantEvaluator(0.001)
    waiting = search(slow, Resources(4, batch=64), playouts=False)

    def busy() -> float:
        slow.seconds, start = 0.0, time.perf_counter()
        waiting.search(Game(9))
        return slow.seconds / (time.perf_counter() - start)

    with on_all(cpus):
        share = median(busy)
    yield "evaluator_busy_share", share


class _ConstantEvaluator:
    """An evaluator that says the same of all positions; it can take its time, and knows how long it took.

    delay : seconds a call. Without one, CPU time is counted, with one, wall-clock time.
    """

    def __init__(self, delay: float = 0.0):
        self._delay, self.seconds = delay, 0.0
        self._clock = time.perf_counter if delay else time.thread_time

    def __call__(self, positions: Any) -> dict[str, Any]:
        import numpy as np

        began = self._clock()
        n, points = len(positions), positions.size**2
        answer = {"policy": np.full((n, points + 1), 1 / (points + 1), np.float32), "value": np.full(n, 0.5)}
        time.sleep(self._delay)
        self.seconds += self._clock() - began
        return answer


def _write_network(file: Path) -> bool:
    """Write a network of two convolutions of 32 channels, with a policy and a value; False if there is no onnx."""
    import numpy as np

    try:
        import onnx
        import onnxruntime  # noqa: F401  (that runs it)
    except ImportError:
        return False
    make, rng, channels, points = onnx.helper, np.random.default_rng(1), 32, 81
    shapes = {"a": (channels, 17, 3, 3), "b": (channels, channels, 3, 3), "c": (channels * points, points + 1)}
    shapes["d"] = (channels * points, 1)
    weights = [
        onnx.numpy_helper.from_array(rng.normal(0, 0.05, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    nodes = [
        make.make_node("Conv", ["planes", "a"], ["x"], pads=[1] * 4),
        make.make_node("Relu", ["x"], ["y"]),
        make.make_node("Conv", ["y", "b"], ["z"], pads=[1] * 4),
        make.make_node("Relu", ["z"], ["u"]),
        make.make_node("Flatten", ["u"], ["flat"]),
        make.make_node("MatMul", ["flat", "c"], ["policy"]),
        make.make_node("MatMul", ["flat", "d"], ["v"]),
        make.make_node("Tanh", ["v"], ["value"]),
    ]
    values: dict[str, list[Any]] = {"planes": ["n", 17, 9, 9], "policy": ["n", points + 1], "value": ["n", 1]}
    ins, *outs = [make.make_tensor_value_info(k, onnx.TensorProto.FLOAT, shape) for k, shape in values.items()]
    graph = make.make_graph(nodes, "network", [ins], outs, weights)
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)
    make.set_model_props(model, {"rlgo.planes": "alphago_zero", "rlgo.policy": "policy", "rlgo.value": "value"})
    onnx.save(model, str(file))
    return True
