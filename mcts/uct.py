"""UCB1, the upper confidence bound that makes Monte-Carlo tree search UCT. MC-RAVE paper, Section 2.5.

Start reading at `ucb1`.
"""

from __future__ import annotations

import math

from rlgo.jit import inline


@inline
def ucb1(value, n, log_n_s, c):
    """Q+(s, a) = Q(s, a) + c sqrt(log N(s) / N(s, a)) (equation 7); value : Q(s, a), for the colour to play; n > 0."""
    return value + c * math.sqrt(log_n_s / n)
