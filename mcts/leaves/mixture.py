"""Outcomes of playouts, mixed with a value of the position where the tree ends, as in AlphaGo.

Start reading at `mixture`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from mcts.leaves.playout import Playout, roll_out
from mcts.leaves.values import LearnedValue, value_of
from rlgo.base.settings import Probability
from rlgo.compiler.jit import inline, njit


class Mixture(NamedTuple):
    """The outcome z of a playout and V(s_T) of the position where the tree ends: (1 - w) z + w V(s_T).

    The share of V is smaller on a fuller board, w = share * (1 - fade * stones / points): the shorter a simulation, the
    more informative its outcome.

    >>> import mcts
    >>> mcts.Search(leaf=mcts.Mixture(0.5, mcts.LearnedValue())).leaf.share
    0.5
    """

    share: Probability = 0.5
    value: Any = LearnedValue()
    fade: Probability = 0.0
    playout: Playout = Playout()


@inline
def mixture(z, v, w):
    """(1 - w) z + w v: outcome and value of the leaf (Silver et al. 2016, Methods, with lambda for 1 - w)."""
    return (1.0 - w) * z + w * v


@njit
def outcome_of(leaf, new_node, tree, context, workspace):
    """Return the mixture, or the outcome alone where V comes later; see `leaves.outcome_of`."""
    b, path = workspace.b, workspace.path
    points = b.board_size * b.board_size
    w = leaf.share * (1.0 - leaf.fade * (points - b.n_empty) / points) if b.n_passes < 2 else 0.0
    v = value_of(leaf.value, context, workspace) if w > 0.0 else 0.0
    z = roll_out(leaf.playout.truncate, new_node, tree, context, workspace)
    is_late = math.isnan(v)
    path.w, path.z = w if is_late else 0.0, z
    return z if is_late else mixture(z, v, w)
