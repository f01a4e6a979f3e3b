"""Simulations that wait for an evaluator.

Start reading at `wait_for_answer`. A simulation reaches a new node, whose policy and value only the evaluator knows. It
does not stop there:

* With playouts, it backs up its outcome z at once. When V arrives, z becomes the mixture of both, in every statistic
  that z went into. So the statistics end as if V had been known.
* Without playouts, its virtual losses stay in the tree until V arrives and is backed up. A simulation that reaches a
  node that still waits is given up: it does not count, and its virtual losses stay as long, to keep others off.

`batches.py` decides when to evaluate; `answers.py` takes the answers. A search without an evaluator has no `Waiting`,
and compiles none of this.
"""

from __future__ import annotations

import numpy as np

from mcts.tree import WAITING
from rlgo.compiler.jit import atomic_add, copy_record, njit

COLLIDED = -3  # in place of a node: the simulation met one that waits

# Elements of `Waiting.counts`.
ALL, UNSENT, ROOM, BATCH = 0, 1, 2, 3


@njit
def must_wait(waiting):
    """Return whether so many simulations wait that there is no room for another."""
    if waiting is None:
        return False
    return waiting.counts[ALL] >= waiting.counts[ROOM]


@njit
def has_to_wait(waiting, node, tree, search):
    """Return whether a simulation may not go on below a node: its value, which is all that counts, is still to come."""
    if waiting is None:
        return False
    return tree.stage[node] == WAITING and search.waits


@njit
def wait_for_answer(asks, path, waiting):
    """Add a simulation to those that wait, if it asks for an answer; return whether it completes a batch."""
    if waiting is None:
        return False
    if not asks:
        return False
    slots = waiting.slots
    copy_record(path, slots[np.uint64(waiting.filled[0] % len(slots))])
    atomic_add(waiting.filled, 0, 1)  # only now is the slot visible to the thread that takes it
    atomic_add(waiting.counts, ALL, 1)
    return atomic_add(waiting.counts, UNSENT, 1) + 1 == waiting.counts[BATCH]
