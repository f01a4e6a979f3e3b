"""Flat Monte-Carlo simulation: no tree, just the actions of the root. MC-RAVE paper, Section 2.3.

Start reading at `choose_flat`. The paper's two extensions are here: "progressively favouring the most successful
actions" by a temperature, and "progressively pruning away the least successful actions" (Bouzy & Helmstetter 2003,
"Monte-Carlo Go developments"). Truncated simulations are in `search.roll_out`.
"""

from __future__ import annotations

import math

import numpy as np

from mcts.tree import count, mean
from rlgo.compiler.jit import inline, njit, random_unit
from rlgo.go.board import BLACK

_VISITS_BEFORE_PRUNING = 50.0


@njit
def choose_flat(color, temperature, pruning, tree, rng):
    """Choose the root's action to simulate next; returns its edge. Every action is tried once first.

    temperature : 0 chooses the least visited action; otherwise each action is drawn with probability proportional to
        exp(Q(s, a) / temperature), where Q is the value for the colour to play
    pruning : 0 prunes nothing; otherwise an action is skipped while its value plus this many standard errors is below
        some action's value minus the same number; either has `_VISITS_BEFORE_PRUNING` visits or more
    """
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
