"""The score of a playout that leaves seki alone, for searches that ask how much and not who wins.

Start reading at `outcome_of`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rlgo.base.settings import Positive
from rlgo.compiler.jit import inline, njit
from rlgo.go.board import PASS, area_score, liberties_after, play, random_move
from rlgo.moves.rollout import begin_rollout, mogo_move, watch_atari

_DRAWS = 12  # random moves until the policy passes
_SMALL = 3  # stones that may be in atari after a random move, as in a throw-in or in killing an eye


class Score(NamedTuple):
    """The score s at the end of a playout, komi included, as an outcome: 1/2 + s / (2 span), from 0 to 1.

    MoGo's policy plays; where it has no rule, a random move that puts no large chain of its own into atari.

    >>> import mcts
    >>> mcts.Search(leaf=mcts.Score(span=10.0)).leaf.span
    10.0
    """

    span: Positive = 20.0


@njit
def outcome_of(leaf, new_node, tree, context, workspace):  # noqa: ARG001
    """Return what the score of a playout is worth; see `leaves.outcome_of`."""
    b, path, rules = workspace.b, workspace.path, context.rules
    begin_rollout(b, context.default_policy, workspace.rollout)
    most = context.search.max_moves - path.n_moves
    for _ in range(most):
        if b.n_passes >= 2:
            break
        p = mogo_move(b, context.default_policy, workspace.rollout, rules, workspace.rng)
        play(b, p if p != PASS else _quiet_move(b, workspace.rng), rules.zobrist)
        watch_atari(b, workspace.rollout)
    path.w, path.z = 0.0, min(1.0, max(0.0, 0.5 + 0.5 * (area_score(b) - rules.komi) / leaf.span))
    return path.z


@inline
def _quiet_move(b, rng):
    """Draw a sensible move that leaves no chain of more than a few stones in atari; PASS if some draws find none."""
    stride, color = b.stride, np.int64(b.to_play)
    for _ in range(_DRAWS):
        p = random_move(b, rng)
        if p == PASS or liberties_after(b, p, color) > 1:
            return p
        stones = 1
        for q in (p - stride, p - 1, p + 1, p + stride):
            if b.color[np.uint64(q)] == color:
                stones += np.int64(b.n_chain[np.uint64(b.chain[np.uint64(q)])])
        if stones <= _SMALL:
            return p
    return PASS
