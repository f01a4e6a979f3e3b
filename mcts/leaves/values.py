"""Values of positions: of learned weights, of a network, of both, or of an evaluator.

Start reading at `value_of`. V of leaves is computed in each simulation, too often for a network. But what is known of a
position is mostly true of the positions a few moves later. So where a network evaluates a node, it notes a *correction*
there, and the value of a leaf uses the correction of the nearest node s above it that has one:

    V(leaf) = sigma(phi(leaf) . theta + c(s)),  c(s) = share (logit V_network(s) - phi(s) . theta).

Without weights, theta is 0, and V(leaf) is the network's V(s). Both are ours.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, NamedTuple

from rlgo.base.settings import LOGISTIC, NonNegative, Probability
from rlgo.compiler.dispatch import by_first
from rlgo.compiler.jit import inline, njit
from rlgo.features.incremental import reset_value
from rlgo.go.board import BLACK, outcome
from rlgo.learning.value import sigma, squash

_LINEAR_SLOPE = 0.25  # of sigma at 0


class LearnedValue(NamedTuple):
    """V of the weights: sigma(phi . theta + tempo).

    phi does not depend on whose turn it is, so learning gives a position the same value for both. The tempo is added
    for Black to play and subtracted for White. A linear V gets a quarter of it, the slope of sigma at 0.

    >>> import mcts
    >>> mcts.ALGORITHMS["mc_rave_patterns"].leaf.value.tempo
    0.9
    """

    tempo: NonNegative = 0.0


class NetworkValue(NamedTuple):
    """V of a network in the nearest node above that it has evaluated.

    >>> import mcts
    >>> mcts.ALGORITHMS["rlgo"].leaf.value
    NetworkValue()
    """


class CorrectedValue(NamedTuple):
    """V of the weights, corrected by that of a network in the nearest node above that it has evaluated.

    >>> import mcts
    >>> mcts.CorrectedValue(share=1.0).tempo
    0.0
    """

    tempo: NonNegative = 0.0
    share: Probability = 0.5


class OutsideValue(NamedTuple):
    """V of an evaluator, which answers later; see `mcts/outside`.

    >>> import mcts
    >>> mcts.Value(mcts.OutsideValue()).value
    OutsideValue()
    """


class Value(NamedTuple):
    """A value of the position where the tree ends, without a playout.

    >>> import mcts
    >>> mcts.Search(leaf=mcts.Value(mcts.LearnedValue())).leaf.value.tempo
    0.0
    """

    value: Any = LearnedValue()


# ---------------------------------------------------------------------------------------------
# V
# ---------------------------------------------------------------------------------------------


@njit
def _learned(value, context, workspace):
    return learned_value(_tempo_of(value.tempo, workspace.b, context), context, workspace)


@njit
def _corrected(value, context, workspace):
    bonus = _tempo_of(value.tempo, workspace.b, context) + workspace.path.correction
    return learned_value(bonus, context, workspace)


@njit
def _of_network(value, context, workspace):  # noqa: ARG001
    return sigma(workspace.path.correction)


@njit
def _of_outside(value, context, workspace):  # noqa: ARG001
    return math.nan


@njit
def _correction_of_network(value, logit, b, context, workspace):  # noqa: ARG001
    return logit


@njit
def _correction_of_corrected(value, logit, b, context, workspace):
    models = context.models
    x = sum_of_weights(models.table, b, workspace.shapes) + _tempo_of(value.tempo, b, context)
    return value.share * (logit - x if models.value == LOGISTIC else sigma(logit) - 0.5 - x)


VALUES: dict[type, Any] = {
    LearnedValue: SimpleNamespace(value_of=_learned),
    NetworkValue: SimpleNamespace(value_of=_of_network, correction=_correction_of_network),
    CorrectedValue: SimpleNamespace(value_of=_corrected, correction=_correction_of_corrected),
    OutsideValue: SimpleNamespace(value_of=_of_outside),
}
"""The kernels of each value."""


@by_first(VALUES)
def value_of(value, context, workspace):  # noqa: ARG001
    """Return V of the position on the board, P(Black wins); NaN if an evaluator will tell later."""
    return 0.5


@by_first(VALUES)
def correction(value, logit, b, context, workspace):  # noqa: ARG001
    """Return what a network's evaluation of a node means for leaves below it, kept in `Tree.correction`.

    logit : that of the network's P(Black wins) in the position on `b`
    """
    return 0.0


@njit
def outcome_of(leaf, new_node, tree, context, workspace):  # noqa: ARG001
    """Return V where the tree ends or, where the game is over, its outcome; see `leaves.outcome_of`."""
    b, path = workspace.b, workspace.path
    z = outcome(b, context.rules.komi) if b.n_passes >= 2 else value_of(leaf.value, context, workspace)
    is_late = math.isnan(z)
    path.w, path.z = (1.0, 0.0) if is_late else (0.0, z)
    return z


@njit
def learned_value(bonus, context, workspace):
    """Return V of the position on the board, from phi . theta + a bonus, clipped to [0, 1] for a linear V."""
    models = context.models
    x = sum_of_weights(models.table, workspace.b, workspace.shapes)
    return min(1.0, max(0.0, squash(models.value, x + bonus)))


@njit
def sum_of_weights(table, b, shapes):
    """Return phi . theta of a position; 0 without weights."""
    if table is None:
        return 0.0
    reset_value(b, shapes, table)
    return shapes.x[0]


@inline
def _tempo_of(tempo, b, context):
    """Return the tempo as it is added to phi . theta."""
    own = tempo * (1.0 if context.models.value == LOGISTIC else _LINEAR_SLOPE)
    return own if b.to_play == BLACK else -own
