"""Log-odds x of actions: what every prior yields, from a policy or from values.

sigma(x) is the value of an action for the colour to play, H of the MC-RAVE paper's Section 5. A tree policy by value
reads H; PUCT reads the policy softmax(x / scale).
"""

from __future__ import annotations

import math

import numpy as np

from rlgo.compiler.jit import inline, njit

_LEAST = 1e-9  # a probability or value, in place of 0, whose logarithm is finite


@inline
def log_of(p):
    """Return log p, of at least 1e-9."""
    return math.log(max(p, _LEAST))


@inline
def logit(h):
    """Return the log-odds of a value h, within +-21."""
    return log_of(h) - log_of(1.0 - h)


@inline
def action_x(log_p, n_actions, scale, shift):
    """Return x = scale log(n P(s, a)) - shift for the probability of one of n actions.

    A uniform policy has n P = 1. This map is ours. The default scale and shift, 0.4, are those that predict the moves
    of games best together with handcrafted values, in which any move costs as much as the shift.
    """
    return scale * (log_p + math.log(n_actions)) - shift


@njit
def to_log_policy(x, n):
    """Turn logits x[:n], float64, into log P in place: a softmax."""
    highest = -np.inf
    for i in range(n):
        highest = max(highest, x[i])
    total = 0.0
    for i in range(n):
        total += math.exp(x[i] - highest)
    log_total = highest + math.log(total)
    for i in range(n):
        x[i] -= log_total
