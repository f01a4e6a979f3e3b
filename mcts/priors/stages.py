"""Stages of prior knowledge: which prior a node has by its visits. MC-RAVE paper, Section 5, equations 48 to 52.

Start reading at `give_prior`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mcts.policies import take_prior
from mcts.priors import add_x
from mcts.tree import BUSY
from rlgo.base.settings import Count
from rlgo.compiler.jit import by_type, compare_and_swap, njit


class Stage(NamedTuple):
    """A prior, and the visits of a node from which on it replaces that of the stage before.

    >>> import mcts
    >>> stages = mcts.Stage(mcts.Handcrafted()), mcts.Stage(mcts.Network(), after=4)
    >>> mcts.Search(mcts.Puct(c=0.5), stages).prior[1].after
    4
    """

    prior: Any
    after: Count = 1


def stages_due(stages, visits):
    """Return how many stages a node with so many visits has reached; `stages` is a tuple of `Stage`."""
    return sum(visits >= stage.after for stage in stages)


@by_type(stages_due)
def _overload_stages_due(stages, visits):  # noqa: ARG001  # numba matches names
    if len(stages) == 0:
        return lambda stages, visits: 0  # noqa: ARG005
    return lambda stages, visits: np.int64(visits >= stages[0].after) + stages_due(stages[1:], visits)


def weigh(stages, stage, node, before, b, tree, context, workspace):
    """Add x of each action by the prior of a stage, counted from 1; see `priors.add_x`."""
    add_x(stages[stage - 1].prior, node, before, b, tree, context, workspace)


@by_type(weigh)
def _overload_weigh(stages, stage, node, before, b, tree, context, workspace):  # noqa: ARG001
    def weigh_none(stages, stage, node, before, b, tree, context, workspace):
        pass

    def weigh_one(stages, stage, node, before, b, tree, context, workspace):
        if stage == 1:
            add_x(stages[0].prior, node, before, b, tree, context, workspace)
        else:
            weigh(stages[1:], stage - 1, node, before, b, tree, context, workspace)

    return weigh_one if len(stages) else weigh_none


@njit
def give_prior(node, stage, before, b, tree, context, workspace):
    """Give a node the prior of a stage, counted from 1, in place of any that it has.

    Initialises Q, Q~, N and N~ of its actions or, with PUCT, their policy: the tree policy takes what the prior says.

    before : the node of s_t-2 or NO_CHILD; the move that led to the node, and the one before, or PASS
    b : the position
    """
    had = np.int64(tree.stage[node])
    if had >= stage or not compare_and_swap(tree.stage, node, had, BUSY):
        return  # another thread gives it one, or has done so
    search, path = context.search, workspace.path
    for k in range(np.int64(tree.n_edges[node])):
        path.x[np.uint64(k)] = 0.0
    weigh(search.prior, stage, node, before, b, tree, context, workspace)
    take_prior(search.policy, node, had, b.to_play, tree, path, search.virtual_loss > 0)
    tree.stage[node] = np.uint8(stage)
