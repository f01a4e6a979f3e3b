"""Policies: choosing a move by a value function, epsilon-greedy, greedy or softmax.

Start reading at `choose_move`. TD paper, Section 3.2 ("With probability 1 - epsilon ...").
"""

from __future__ import annotations

import math

import numpy as np

from rlgo.base.settings import SOFTMAX
from rlgo.compiler.jit import inline, njit, random_unit
from rlgo.go.board import PASS, random_move
from rlgo.learning.value import best_afterstate, gain_of, squash


@inline
def explores(policy, rng):
    """Decide whether the next move is random, with probability epsilon."""
    return policy.epsilon > 0.0 and random_unit(rng) < policy.epsilon


@njit
def choose_move(b, sh, table, policy, value, rng):
    """Choose a move for the colour to play: (point or PASS, candidate afterstates considered).

    Candidates are the sensible moves (legal, and not in an eye of the player's own); PASS if there are none.
    `sh` must be up to date with `b`. A random move considers no afterstate.
    value : the kind of V for a softmax, LOGISTIC or LINEAR
    """
    if policy.kind == SOFTMAX:
        return choose_softmax(b, sh, table, policy, value, rng)
    if explores(policy, rng):
        return random_move(b, rng), 0
    return best_afterstate(b, sh, table, rng)


@njit
def choose_softmax(b, sh, table, policy, value, rng):
    """Draw a move with probability proportional to exp(V / temperature), with V for the colour to play.

    Returns (point or PASS, number of candidates).
    """
    c = b.to_play - 1
    sign = 1.0 if c == 0 else -1.0
    # Compute V of all candidates first: relative to the best, weights cannot overflow or all vanish.
    best = -np.inf
    n = 0
    for i in range(b.n_empty):
        p = np.int64(b.empties[i])
        if sh.mask[c, p] == 0 or sh.is_capture[c, p] == 1:
            v = squash(value, sign * sh.x[c] + gain_of(b, sh, table, p))
            sh.gain_capture[c, p] = v
            best = max(best, np.float64(sh.gain_capture[c, p]))  # as stored, so that no weight exceeds 1
            n += 1
    total = 0.0
    choice = PASS
    for i in range(b.n_empty):
        p = np.int64(b.empties[i])
        if sh.mask[c, p] == 0 or sh.is_capture[c, p] == 1:
            weight = math.exp((sh.gain_capture[c, p] - best) / policy.temperature)
            total += weight
            sh.is_fresh[c, p] = 0  # its gain_capture held V
            if random_unit(rng) * total < weight:  # reservoir sampling of one
                choice = p
    return choice, n
