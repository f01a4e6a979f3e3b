"""UCB1, the upper confidence bound that turns Monte-Carlo tree search into UCT. MC-RAVE paper, Section 2.5.

Start reading at `ucb1`.
"""

from __future__ import annotations

import math

from rlgo.compiler.jit import inline


@inline
def ucb1(q, n, log_n_s, c):
    """Q+(s, a) = Q(s, a) + c sqrt(log N(s) / N(s, a)) (equation 7).

    q : Q(s, a) for the colour to play, float in [0, 1]
    n : N(s, a) > 0
    log_n_s : log N(s)
    c : exploration constant
    """
    return q + c * math.sqrt(log_n_s / n)
