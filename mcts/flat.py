"""Flat Monte-Carlo simulation: no tree, the actions of the root alone. MC-RAVE paper, Section 2.3.

Start reading at `choose_flat`. "The basic algorithm can be extended by progressively favouring the most successful
actions, or by progressively pruning away the least successful actions": the temperature does the one, pruning (Bouzy
& Helmstetter 2003, "Monte-Carlo Go developments") the other. Truncated simulation stands in `search.simulate`.
"""

from __future__ import annotations

import math

import numpy as np

from mcts.tree import count, mean
from rlgo.board import BLACK
from rlgo.jit import inline, njit, random_unit

_ENOUGH = 50.0  # visits before an action may be pruned


@njit
def choose_flat(color, temperature, pruning, tree, rng):
    """The root's action to simulate next.

    temperature : 0: the least visited one; otherwise each in proportion to exp(Q(s, a) / temperature), Q seen by the
        colour to play, after one visit each
    pruning : 0: none; otherwise an action is out while its value and so many standard errors lie below the best
        action's value less as many
    """
    n_edges = np.int64(tree.n_edges[0])
    bar = -np.inf  # what the best action is surely worth
    for i in range(n_edges):
        n = count(tree.mc[i])
        if n == 0.0:
            return i
        if n >= _ENOUGH:
            bar = max(bar, _value(tree.mc[i], color) - pruning * _standard_error(n))
    least, total, choice = np.inf, 0.0, 0
    for i in range(n_edges):
        n, value = count(tree.mc[i]), _value(tree.mc[i], color)
        if pruning > 0.0 and n >= _ENOUGH and value + pruning * _standard_error(n) < bar:
            continue
        if temperature > 0.0:
            weight = math.exp((value - 1.0) / temperature)
            total += weight
            if random_unit(rng) * total < weight:  # a reservoir of one
                choice = i
        elif n < least:
            least, choice = n, i
    return choice


@inline
def _value(word, color):
    return mean(word) if color == BLACK else 1.0 - mean(word)


@inline
def _standard_error(n):
    """Of a mean of n outcomes; no outcome scatters by more than 1/2."""
    return 0.5 / math.sqrt(n)
