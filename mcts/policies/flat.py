"""Flat Monte-Carlo simulation: no tree, just the actions of the root. MC-RAVE paper, Section 2.3.

Start reading at `select`. The paper's two extensions are here: "progressively favouring the most successful
actions" by a temperature, and "progressively pruning away the least successful actions" (Bouzy & Helmstetter 2003,
"Monte-Carlo Go developments"). Truncated simulations are in `mcts/leaves/playout.py`.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from mcts.tree import count, mean
from rlgo.base.checks import Key
from rlgo.base.settings import NonNegative
from rlgo.compiler.jit import inline, njit, random_unit
from rlgo.go.board import BLACK

_VISITS_BEFORE_PRUNING = 50.0


class Flat(NamedTuple):
    """Flat Monte-Carlo: no node but the root (MC-RAVE paper, Section 2.3).

    >>> import mcts
    >>> mcts.Search(mcts.Flat(temperature=0.1)).policy.pruning
    0.0
    """

    temperature: Annotated[
        NonNegative, Key("Simulate moves in proportion to exp(Q / temperature); 0: all equally often.")
    ] = 0.0
    pruning: Annotated[
        NonNegative,
        Key("Progressive pruning: drop moves this many standard errors of both below the best; 0: none."),
    ] = 0.0


@njit
def select(policy, node, color, tree, workspace):  # noqa: ARG001  # the node is the root
    """Choose the root's action to simulate next; returns its edge. Every action is tried once first.

    With a temperature of 0, it is the least visited action; otherwise each action is drawn with probability
    proportional to exp(Q(s, a) / temperature), where Q is the value for the colour to play. With pruning, an action is
    skipped while its value plus so many standard errors is below some action's value minus the same number; either has
    `_VISITS_BEFORE_PRUNING` visits or more.
    """
    temperature, pruning, rng = policy.temperature, policy.pruning, workspace.rng
    n_edges = np.int64(tree.n_edges[0])
    lower_bound = -np.inf  # the highest lower bound of any action
    best = 0.0  # the highest value; its action is not pruned
    for i in range(n_edges):
        n = count(tree.mc_statistic[i])
        if n == 0.0:
            return i
        value = _value(tree.mc_statistic[i], color)
        best = max(best, value)
        if n >= _VISITS_BEFORE_PRUNING:
            lower_bound = max(lower_bound, value - pruning * _standard_error(n))
    least, total, choice = np.inf, 0.0, 0
    for i in range(n_edges):
        n, value = count(tree.mc_statistic[i]), _value(tree.mc_statistic[i], color)
        if pruning > 0.0 and n >= _VISITS_BEFORE_PRUNING and value + pruning * _standard_error(n) < lower_bound:
            continue
        if temperature > 0.0:
            weight = math.exp((value - best) / temperature)
            total += weight
            if random_unit(rng) * total < weight:  # reservoir sampling of one
                choice = i
        elif n < least:
            least, choice = n, i
    return choice


@inline
def _value(word, color):
    """Return the mean outcome of a statistic, as P(`color` wins)."""
    return mean(word) if color == BLACK else 1.0 - mean(word)


@inline
def _standard_error(n):
    """Return an upper bound on the standard error of a mean of n outcomes, with deviations of at most 1/2."""
    return 0.5 / math.sqrt(n)
