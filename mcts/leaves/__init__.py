"""What a simulation is worth: the outcome of a playout, a value of the position where the tree ends, or a mixture.

A leaf is a NamedTuple with its parameters and a kernel `outcome_of`, in one file, and a line in `LEAVES`.
"""

from __future__ import annotations

from typing import Any

from mcts.leaves import mixture, playout, score, values
from mcts.leaves.mixture import Mixture as Mixture
from mcts.leaves.playout import Playout as Playout
from mcts.leaves.score import Score as Score
from mcts.leaves.values import CorrectedValue as CorrectedValue
from mcts.leaves.values import LearnedValue as LearnedValue
from mcts.leaves.values import NetworkValue as NetworkValue
from mcts.leaves.values import OutsideValue as OutsideValue
from mcts.leaves.values import Value as Value
from rlgo.compiler.dispatch import by_first

LEAVES: dict[type, Any] = {Playout: playout, Value: values, Mixture: mixture, Score: score}
"""The module of each leaf."""


@by_first(LEAVES)
def outcome_of(leaf, new_node, tree, context, workspace):  # noqa: ARG001
    """Return what a simulation is worth, P(Black wins); NaN if an evaluator will tell later (`outside/answers.py`).

    It also sets `path.z`, the outcome that counts in `tally.wins`, and `path.w`, the share of a value that comes later.

    new_node : the node of the position on the board, in which no action has been chosen yet, or NO_CHILD
    """
    return 0.5
