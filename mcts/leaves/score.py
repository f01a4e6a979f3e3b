"""The score of a playout, for searches that ask how much and not who wins.

Start reading at `worth`.
"""

from __future__ import annotations

from typing import NamedTuple

from mcts.leaves.playout import NO_TRUNCATION, roll_out
from rlgo.base.settings import Positive
from rlgo.compiler.jit import inline, njit
from rlgo.go.board import area_score


class Score(NamedTuple):
    """The score with which the default policy ends the game, as an outcome from 0 to 1; see `worth`.

    The default policy needs ``mercy`` off, which would end simulations before the board is full.

    >>> import mcts
    >>> mcts.Search(leaf=mcts.Score(span=10.0)).leaf.span
    10.0
    """

    span: Positive = 20.0


@inline
def worth(score, span):
    """Return 0.5 for a draw, more for a score (komi included) above 0, and 0 or 1 from -span or span on."""
    return min(1.0, max(0.0, 0.5 + 0.5 * score / span))


@njit
def outcome_of(leaf, new_node, tree, context, workspace):
    """Return what the score of a playout is worth; see `leaves.outcome_of`."""
    path = workspace.path
    roll_out(NO_TRUNCATION, new_node, tree, context, workspace)
    path.w, path.z = 0.0, worth(area_score(workspace.b) - context.rules.komi, leaf.span)
    return path.z
