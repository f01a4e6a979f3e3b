"""An evaluator of one's own as a network, for what needs a `PolicyNetwork`: players without a search, measurements."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcts.outside.answers import LOGITS, PROBABILITIES
from mcts.outside.evaluator import evaluate
from mcts.outside.onnx import OnnxNetwork
from rlgo.go.positions import HISTORY, Positions
from rlgo.network.policy_network import PolicyNetwork


class CheckedNetwork(PolicyNetwork):
    """An evaluator (`mcts.Evaluator`) as a network.

    It has ``logits`` if the evaluator has a policy, ``value`` if that has one, and the ownership of an ONNX network.

    Attributes
    ----------
    evaluator : the evaluator

    >>> import rlgo
    >>> from mcts.outside.checked import CheckedNetwork
    >>> network = CheckedNetwork(lambda positions: {"policy": [[0.5] + 24 * [0] + [0.5]] * len(positions)})
    >>> {move: p for move, p in network.policy(rlgo.Game(5)).items() if p > 0}  # A1, and a pass
    {7: 0.5, 0: 0.5}
    """

    def __init__(self, evaluator: Any) -> None:
        self.evaluator = evaluator
        self.history = int(getattr(evaluator, "history", HISTORY))

    def warm_up(self, size: int) -> None:
        """Let the evaluator prepare itself."""
        getattr(self.evaluator, "warm_up", super().warm_up)(size)

    def __call__(self, positions: Positions) -> dict[str, np.ndarray]:
        """Evaluate positions. RlgoError if the evaluator fails, or its answer is wrong."""
        answers, others = evaluate(self.evaluator, positions)
        found: dict[str, np.ndarray] = {}
        if answers.kind == LOGITS:
            found["logits"] = answers.policy
        elif answers.kind == PROBABILITIES:
            with np.errstate(divide="ignore"):
                found["logits"] = np.log(answers.policy)
        if answers.has_value:
            found["value"] = answers.value
        if isinstance(self.evaluator, OnnxNetwork) and "ownership" in others:
            found["ownership"] = 2 * others["ownership"] - 1
        return found
