"""Tree policies: how an action is valued and selected, and which statistics that takes.

A tree policy is a NamedTuple with its parameters and the kernels below that it needs, in one file, and a line in
`POLICIES`. A search is compiled with the policy that it has, which is chosen by its type.
"""

from __future__ import annotations

from typing import Any

from mcts.policies import flat, gumbel, puct, rave, ucb1
from mcts.policies.flat import Flat as Flat
from mcts.policies.gumbel import Gumbel as Gumbel
from mcts.policies.puct import Puct as Puct
from mcts.policies.rave import Rave as Rave
from mcts.policies.ucb1 import Ucb1 as Ucb1
from rlgo.compiler.dispatch import by_first

POLICIES: dict[type, Any] = {Flat: flat, Ucb1: ucb1, Rave: rave, Puct: puct, Gumbel: gumbel}
"""The module of each tree policy. One with ``HAS_AMAF`` has AMAF values in its tree; with ``HAS_POLICY``, its
prior is a policy P; with ``new_scratch(size)``, what it makes is `Workspace.policy`."""


@by_first(POLICIES)
def select(policy, node, color, tree, workspace):  # noqa: ARG001
    """Return the edge of a node to follow (SELECTMOVE).

    color : to play
    workspace : `workspace.Workspace`
    """
    return tree.first_edge[node]


@by_first(POLICIES)
def take_prior(policy, node, had, color, tree, path, shared):
    """Take x of each action of a node, in `path.x`, as its prior, in place of the one that it has.

    x is a log-odds: sigma(x) is the value of the action for the colour to play.

    had : `Tree.stage` of the prior that it has, or `tree.NO_PRIOR`
    color : to play
    path : record of `workspace.path_dtype`
    shared : whether other threads use the tree
    """


@by_first(POLICIES)
def back_up_amaf(policy, path, word, tree, shared):
    """Update the AMAF statistics along a simulation's path, if the policy has them; see `search.back_up`."""


def has_amaf(policy: Any) -> bool:
    """Return whether a tree policy uses AMAF values."""
    return bool(getattr(POLICIES[type(policy)], "HAS_AMAF", False))


def has_policy(policy: Any) -> bool:
    """Return whether the prior of a tree policy is a policy, and not values of actions."""
    return bool(getattr(POLICIES[type(policy)], "HAS_POLICY", False))


def new_scratch(policy: Any, size: int) -> Any:
    """Return what a tree policy works with at the root of a tree, if anything."""
    make = getattr(POLICIES[type(policy)], "new_scratch", None)
    return None if make is None else make(size)


def confidences(policy: Any) -> tuple[int, int]:
    """Return C and C~ of a tree policy, how many visits its prior counts for; 0 where it has none."""
    return getattr(policy, "prior_n", 0), getattr(policy, "prior_n_amaf", 0)
