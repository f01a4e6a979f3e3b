"""The positions that an evaluator sees, and its answers in the tree.

Start reading at `answer`. Everything here is compiled; `batches.py` decides when to evaluate, and `waiting.py` tells
how simulations wait.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from mcts.leaves import Mixture, Value
from mcts.leaves.mixture import mixture
from mcts.log_odds import action_x, log_of, logit, to_log_policy
from mcts.outside.waiting import COLLIDED
from mcts.policies import take_prior
from mcts.search import back_up
from mcts.tree import NO_PRIOR, WAITING, add, change_of_outcome, statistic
from mcts.workspace import virtual_losses
from rlgo.compiler.dispatch import by_first
from rlgo.compiler.jit import atomic_add, njit
from rlgo.go.board import BLACK
from rlgo.go.positions import copy_position, follow, place_of

ANSWERED = 1  # `Tree.stage` of a node with the policy of an evaluator
NO_ROW = -1  # of a simulation without a position to evaluate

# Kinds of policies in `Answers`.
NO_POLICY, PROBABILITIES, LOGITS, ACTION_VALUES = 0, 1, 2, 3
_LEAST_LOGIT = -1e4  # in place of minus infinity


class Answers(NamedTuple):
    """The answers of an evaluator for n positions of a board of N points.

    Attributes
    ----------
    kind : what `policy` is: NO_POLICY, PROBABILITIES, LOGITS or ACTION_VALUES
    policy : float32[n, N + 1]: probabilities or logits of moves, or P(Black wins) after them
    has_value : whether there is a value
    value : float64[n], V = P(Black wins)
    """

    kind: int
    policy: np.ndarray
    has_value: bool
    value: np.ndarray


NO_ANSWERS = Answers(NO_POLICY, np.zeros((0, 1), np.float32), False, np.zeros(0))


@njit
def take(counts, which, n):
    """Subtract n from one of the counts, while other threads add to it."""
    atomic_add(counts, which, -n)


@njit
def gather(slots, first, n, row, root, positions, zobrist):
    """Write the positions of n slots from `first` on to `positions`, from `row` on; return the row after the last.

    root : `PositionArrays` of the root alone
    positions : `PositionArrays`, with the hashes of `root`
    """
    for k in range(first, first + n):
        path = slots[k % len(slots)]
        path.row = NO_ROW
        if path.leaf_node != COLLIDED:
            copy_position(root, 0, positions, row)
            follow(positions, row, path.moves, np.int64(path.leaf), zobrist)
            path.row = row
            row += 1
    return row


@njit
def answer(slots, first, n, answers, search, tree):
    """Give the nodes of n slots from `first` on their policies, and back up their values; return the sum of these.

    answers : `Answers`; `NO_ANSWERS` gives the simulations up
    """
    total = 0.0
    for k in range(first, first + n):
        path = slots[k % len(slots)]
        row, node = np.int64(path.row), np.int64(path.leaf_node)
        answered = row >= 0 and row < max(len(answers.policy), len(answers.value))
        if node >= 0 and search.is_outside and tree.stage[node] == WAITING:
            has_policy = answered and answers.kind != NO_POLICY
            if has_policy:
                give_policy(path, answers, search, tree)
            tree.stage[node] = np.uint8(ANSWERED if has_policy else NO_PRIOR)
        v = answers.value[row] if answered and answers.has_value else np.nan
        note_value(tree.correction, node, v)
        total += take_value(search.leaf, path, v, search, tree)
    return total


@njit
def note_value(corrections, node, v):
    """Store the logit of a node's value, if the tree policy reads it."""
    if corrections is not None and node >= 0 and not np.isnan(v):
        corrections[node] = logit(v)


@njit
def _take_all(leaf, path, v, search, tree):  # noqa: ARG001
    if path.w == 0.0:
        return 0.0  # the root, or a simulation that has been backed up
    if np.isnan(v):
        give_up(path, search, tree)
        return 0.0
    back_up(path, statistic(1, v), search, tree)
    return v


@njit
def _take_part(leaf, path, v, search, tree):  # noqa: ARG001
    if path.w > 0.0 and not np.isnan(v):
        back_up(path, change_of_outcome(path.z, mixture(path.z, v, path.w)), search, tree)
    return 0.0


@by_first({Value: SimpleNamespace(take_value=_take_all), Mixture: SimpleNamespace(take_value=_take_part)})
def take_value(leaf, path, v, search, tree):  # noqa: ARG001
    """Back up the value of a simulation that waits, NaN if there is none; return what it adds to the sum of values."""
    return 0.0


@njit
def give_policy(path, answers, search, tree):
    """Give the node where a simulation ended its prior."""
    node, row, x = np.int64(path.leaf_node), np.int64(path.row), path.x
    color = BLACK + (path.first_color - BLACK + path.leaf) % 2
    first, n = np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node])
    size = np.int64(np.sqrt(answers.policy.shape[1] - 1.0) + 0.5)
    for i in range(n):
        given = np.float64(answers.policy[row, place_of(np.int64(tree.move[first + i]), size)])
        if answers.kind == ACTION_VALUES:
            x[i] = logit(given) if color == BLACK else -logit(given)
        else:
            x[i] = log_of(given) if answers.kind == PROBABILITIES else max(given, _LEAST_LOGIT)
    if answers.kind != ACTION_VALUES:
        to_log_policy(x, n)  # over the actions of the node
        for i in range(n):
            x[i] = action_x(x[i], n, search.scale, search.shift)
    take_prior(search.policy, node, np.int64(NO_PRIOR), color, tree, path, search.virtual_loss > 0)


@njit
def give_up(path, search, tree):
    """Take back the virtual losses of a simulation that is not backed up after all."""
    for t in range(path.n_nodes):
        color = BLACK + (path.first_color - BLACK + t) % 2
        add(tree.mc_statistic, np.int64(path.edge[t]), -virtual_losses(color, search.virtual_loss), True)
        add(tree.node_visits, np.int64(path.node[t]), -search.virtual_loss, True)
