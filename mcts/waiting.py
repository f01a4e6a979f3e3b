"""Simulations that wait for an evaluator: where they stand, the positions that it sees, and its answers in the tree.

Start reading at `wait_for_answer` and `answer`. Everything here is compiled; `batches.py` decides when to ask.

A simulation reaches a new node, whose policy and value only the evaluator knows. It does not stop there:

* With playouts, it backs up its outcome z at once. When V arrives, z becomes the mixture of both, in every statistic
  that z went into. So the statistics end as if V had been known.
* Without playouts, its virtual losses stay in the tree until V arrives and is backed up. A simulation that reaches a
  node that still waits is given up: it does not count, and its virtual losses stay as long, to keep others off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcts.puct import action_x, log_of, mixture, policy_units, to_log_policy, values_to_policy
from mcts.rave import back_up, give_up
from mcts.settings import Heuristic, Use
from mcts.tree import PRIOR_UNITS, add, change_of_outcome, statistic
from rlgo.compiler.jit import atomic_add, copy_record, inline, inline_once, njit
from rlgo.go.board import BLACK
from rlgo.go.positions import copy_position, follow, place_of
from rlgo.learning.value import sigma

COLLIDED = -3  # in place of a node: the simulation met one that waits
NO_ROW = -1  # of a simulation without a position to evaluate

# Elements of `Waiting.counts`.
ALL, UNSENT, ROOM, BATCH = 0, 1, 2, 3

# Kinds of policies in `Answers`.
NO_POLICY, PROBABILITIES, LOGITS, ACTION_VALUES = 0, 1, 2, 3
_LEAST_LOGIT = -1e4  # in place of minus infinity


class Waiting(NamedTuple):
    """The simulations of one thread that wait, in a ring; only this thread adds to it.

    Attributes
    ----------
    slots : their paths, records of `search.path_dtype`
    filled : int64[1], simulations added so far; the next goes to slot `filled` modulo the number of slots
    counts : int64[4], shared by all threads of a tree: how many wait in all rings, answers under way included; how many
        of them no batch has taken yet; from how many on the threads stop; and the size of a batch
    """

    slots: np.ndarray
    filled: np.ndarray
    counts: np.ndarray


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


@inline
def must_wait(settings, waiting):
    """Return whether so many simulations wait that there is no room for another."""
    return settings.evaluator != Use.NOTHING and waiting.counts[ALL] >= waiting.counts[ROOM]


@inline_once
def wait_for_answer(path, waiting):
    """Add a simulation to those that wait; return whether it completes a batch."""
    slots = waiting.slots
    copy_record(path, slots[np.uint64(waiting.filled[0] % len(slots))])
    atomic_add(waiting.filled, 0, 1)  # only now is the slot visible to the thread that takes it
    atomic_add(waiting.counts, ALL, 1)
    return atomic_add(waiting.counts, UNSENT, 1) + 1 == waiting.counts[BATCH]


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
def answer(slots, first, n, answers, settings, tree):
    """Give the nodes of n slots from `first` on their policies, and back up their values; return the sum of these.

    answers : `Answers`; `NO_ANSWERS` gives the simulations up
    """
    total = 0.0
    for k in range(first, first + n):
        path = slots[k % len(slots)]
        row, node = np.int64(path.row), np.int64(path.leaf_node)
        answered = row >= 0 and row < max(len(answers.policy), len(answers.value))
        if node >= 0 and settings.evaluator & Use.POLICY and tree.prior_kind[node] == Heuristic.WAITING:
            has_policy = answered and answers.kind != NO_POLICY
            if has_policy:
                give_policy(path, answers, settings, tree)
            tree.prior_kind[node] = np.uint8(Heuristic.EVALUATOR if has_policy else Heuristic.NONE)
        if answered and answers.has_value and settings.evaluator & Use.VALUE:
            v = answers.value[row]
            if not settings.playouts:
                back_up(path, statistic(1, v), settings, tree)
                total += v if path.n_nodes > 0 else 0.0  # not the root
            elif path.w > 0.0:
                back_up(path, change_of_outcome(path.z, mixture(path.z, v, path.w)), settings, tree)
        elif not settings.playouts:
            give_up(path, settings, tree)
    return total


@inline_once
def give_policy(path, answers, settings, tree):
    """Give the node where a simulation ended its prior (MC-RAVE paper, equations 48 to 52), like further outcomes."""
    node, row, x = np.int64(path.leaf_node), np.int64(path.row), path.values
    shared = settings.virtual_loss > 0
    sign = 1.0 if (path.first_color - BLACK + path.leaf) % 2 == 0 else -1.0
    first, n = np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node])
    is_value, size = answers.kind == ACTION_VALUES, np.int64(np.sqrt(answers.policy.shape[1] - 1.0) + 0.5)
    for i in range(n):
        given = np.float64(answers.policy[row, place_of(np.int64(tree.move[first + i]), size)])
        if is_value:
            x[i] = given
        else:
            x[i] = log_of(given) if answers.kind == PROBABILITIES else max(given, _LEAST_LOGIT)
    if not is_value:
        to_log_policy(x, n)  # over the actions of the node
    c, m = settings.prior_n, settings.prior_n_amaf
    for i in range(n):
        h = x[i] if is_value else sigma(sign * action_x(x[i], n, settings.policy_scale, settings.policy_shift))
        if c > 0:
            add(tree.mc_statistic, first + i, statistic(c, c * h), shared)  # (48, 49)
        if m > 0:
            add(tree.amaf_statistic, first + i, statistic(m, m * h), shared)  # (50, 51)
        tree.prior_q[first + i] = np.uint16(PRIOR_UNITS * h + 0.5)
    add(tree.node_visits, node, n * c, shared)  # (52)
    if settings.c_puct > 0.0:
        if is_value:
            values_to_policy(x, n, sign, settings.policy_scale)
        for i in range(n):
            tree.prior_q[first + i] = policy_units(x[i])
