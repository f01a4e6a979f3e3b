"""Playouts: simulations continued by a default policy. MC-RAVE paper, Algorithm 2, SIMDEFAULT.

Start reading at `roll_out`.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mcts.leaves.values import learned_value
from mcts.tree import NO_CHILD, find_edge
from mcts.workspace import record_move, take_action
from rlgo.base.checks import Key, Word
from rlgo.base.settings import CountOr0
from rlgo.compiler.jit import njit
from rlgo.go.board import outcome
from rlgo.moves.rollout import begin_rollout, is_hopeless, step_rollout

NO_TRUNCATION = -1  # `Playout.truncate` for simulations that are played to the end


class Playout(NamedTuple):
    """The outcome of the game as the default policy ends it, or V of the weights after a number of plies.

    >>> import mcts
    >>> mcts.Search(leaf=mcts.Playout(truncate=20)).leaf.truncate
    20
    """

    truncate: Annotated[
        CountOr0,
        Word("never", NO_TRUNCATION),
        Key("After this many plies of the default policy, V of the weights is the outcome."),
    ] = NO_TRUNCATION


@njit
def outcome_of(leaf, new_node, tree, context, workspace):
    """Return the outcome of a playout; see `leaves.outcome_of`."""
    path = workspace.path
    path.w, path.z = 0.0, roll_out(leaf.truncate, new_node, tree, context, workspace)
    return path.z


@njit
def roll_out(truncate, new_node, tree, context, workspace):
    """Play on by the default policy; returns the outcome z, or V if the simulation is truncated.

    truncate : `Playout.truncate`
    new_node : node of the position on the board, or NO_CHILD. The default policy already chooses its action a_T, which
        becomes part of the path as in Algorithm 2.
    """
    b, path, search, default_policy = workspace.b, workspace.path, context.search, context.default_policy
    komi = context.rules.komi
    stop = search.max_moves
    if truncate != NO_TRUNCATION:
        stop = min(stop, path.n_moves + truncate + (1 if new_node >= 0 else 0))
    begin_rollout(b, default_policy, workspace.rollout)
    while b.n_passes < 2 and path.n_moves < stop:
        if default_policy.mercy and new_node < 0 and is_hopeless(b, komi):
            return outcome(b, komi)
        color = np.int64(b.to_play)
        # a_t = DEFAULTPOLICY(board); board.Play(a_t)
        p = step_rollout(b, default_policy, workspace.rollout, context.rules, workspace.rng)
        record_move(p, path)
        if new_node >= 0:
            edge = find_edge(new_node, p, tree)
            if edge >= 0:
                take_action(new_node, edge, color, search.virtual_loss, path, tree)
            new_node = np.int64(NO_CHILD)
    if b.n_passes < 2 and path.n_moves < search.max_moves:
        return learned_value(0.0, context, workspace)
    return outcome(b, komi)
