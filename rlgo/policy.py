"""How a move is chosen from a value function: epsilon-greedy, greedy, softmax.

Start reading at `choose_move`. TD paper, Section 3.2 ("With probability 1 - epsilon ...").
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rlgo.board import EMPTY, PASS, random_move
from rlgo.jit import njit, random_unit
from rlgo.value import LOGISTIC, best_afterstate, gain_of, squash

EPSILON_GREEDY, SOFTMAX = 0, 1
POLICIES = {"epsilon_greedy": EPSILON_GREEDY, "greedy": EPSILON_GREEDY, "softmax": SOFTMAX}


class Policy(NamedTuple):
    """A policy over afterstate values; greedy is epsilon-greedy with epsilon = 0."""

    kind: int = EPSILON_GREEDY  # or SOFTMAX
    epsilon: float = 0.1  # probability of a uniformly random move
    temperature: float = 0.1  # of the softmax, in units of V
    value: int = LOGISTIC  # or LINEAR: what V the softmax weighs


@njit
def choose_move(b, sh, g, black, white, policy, rng):
    """A move for the colour to play: (point or PASS, number of candidate afterstates considered).

    Candidates are the sensible moves (legal, not in an own single-point eye); PASS where there are none.
    `sh` must follow `b`. Random moves consider no afterstate.
    """
    if policy.kind == SOFTMAX:
        return softmax_move(b, sh, g, black, white, policy, rng)
    if policy.epsilon > 0.0 and random_unit(rng) < policy.epsilon:
        return random_move(b, rng), 0
    return best_afterstate(b, sh, g, black, white, rng)


@njit
def softmax_move(b, sh, g, black, white, policy, rng):
    """A move drawn with probability proportional to exp(V / temperature), V seen by the colour to play.

    Returns (point or PASS, number of candidates).
    """
    c = b.to_play - 1
    sign = 1.0 if c == 0 else -1.0
    # exp((V - 1) / temperature) never overflows; one pass draws by reservoir.
    total = 0.0
    choice = PASS
    n = 0
    for p in range(sh.gain.shape[1]):
        if b.color[p] == EMPTY and (sh.mask[c, p] == 0 or sh.is_capture[c, p] == 1):
            v = squash(policy.value, sign * sh.x[c] + gain_of(b, sh, g, black if c == 0 else white, p))
            weight = max(math.exp((v - 1.0) / policy.temperature), 1e-300)
            total += weight
            n += 1
            if random_unit(rng) * total < weight:
                choice = p
    return choice, n
