"""PUCT: exploration that a policy guides; and how policies, values of actions and heuristics become each other.

Start reading at `alphago_bonus`. Each formula stands alone, with its source:

* Rosin 2011, "Multi-armed bandits with episode context": PUCB, a bound that subtracts a penalty for unlikely actions.
* Silver et al. 2016, "Mastering the game of Go with deep neural networks and tree search": the bonus of AlphaGo, and
  its mixture of the value of a leaf and the outcome of a simulation.
* Silver et al. 2017, "Mastering the game of Go without human knowledge": noise at the root, and the temperature.
* Wu 2019, "Accelerating self-play learning in Go": the value of an action without visits.

Here n = N(s, a), n_s = N(s), and p = P(s, a) is the policy, which adds up to 1 over the actions of s.
"""

from __future__ import annotations

import math

import numpy as np

from mcts.settings import PuctRule
from mcts.tree import PRIOR_UNITS
from rlgo.base.softmax import softmax
from rlgo.compiler.jit import inline, interpreted, njit

_LEAST = 1e-9  # a probability, in place of 0, whose logarithm is finite
_LEAST_P = 1e-4  # in `rosin_penalty`, where a probability of 0 would mean never


@inline
def alphago_bonus(c_puct, p, n_s, n):
    """U(s, a) = c_puct P(s, a) sqrt(N(s)) / (1 + N(s, a)) (Silver et al. 2016, Methods; 2017, Methods).

    n_s : the visits of the node, the one that added it included, so that the policy already decides the first action
    """
    return c_puct * p * math.sqrt(n_s) / (1.0 + n)


@inline
def rosin_bonus(n_s, n):
    """c(n, s) = sqrt(3 log n / (2 s)), 0 for an action without visits (Rosin 2011, Section 2.1)."""
    return math.sqrt(1.5 * math.log(max(n_s, 1.0)) / n) if n > 0.0 else 0.0


@inline
def rosin_penalty(p, n_s):
    """m(n, i) = 2 / M_i sqrt(log n / n), 2 / M_i for n = 1 (Rosin 2011, Section 2.1); the weight M_i is P(s, a)."""
    return 2.0 / max(p, _LEAST_P) * (math.sqrt(math.log(n_s) / n_s) if n_s > 1.0 else 1.0)


@inline
def puct_bonus(settings, p, n_s, n):
    """Return what the tree policy adds to the value of an action, by `Settings.puct_rule`.

    `Settings.c_puct` multiplies all of it; Rosin's own is 1.
    """
    if settings.puct_rule == PuctRule.ROSIN:
        return settings.c_puct * (rosin_bonus(n_s, n) - rosin_penalty(p, n_s))
    return alphago_bonus(settings.c_puct, p, n_s, n)


@inline
def reduced_value(mean, p_seen, reduction):
    """Return mean - reduction sqrt(p_seen), the value of an action without visits (Wu 2019, Section 2).

    mean : the mean outcome of the actions of its node with visits, for the colour to play
    p_seen : the sum of their P
    """
    return mean - reduction * math.sqrt(p_seen)


@inline
def mixture(z, v, w):
    """(1 - w) z + w v: outcome and value of the leaf (Silver et al. 2016, Methods, with lambda for 1 - w)."""
    return (1.0 - w) * z + w * v


# ---------------------------------------------------------------------------------------------
# From a policy to H, and back. The scale and the shift are those that predict the moves of games best together with
# handcrafted values, see `patterns.py`.
# ---------------------------------------------------------------------------------------------


@inline
def action_x(log_p, n_actions, scale, shift):
    """Return x = scale log(n P(s, a)) - shift, where sigma(x) is H for the colour to play, for n actions.

    A uniform policy has n P = 1. This map is ours.
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


@inline
def log_of(p):
    """Return log p, of at least 1e-9."""
    return math.log(max(p, _LEAST))


@njit
def values_to_policy(h, n, sign, scale):
    """Turn values h[:n] of actions, float64, into log P in place: the inverse of `action_x`, P ~ exp(logit(H) / scale).

    h : H(s, a) = P(Black wins); sign : 1 if Black is to play, else -1
    """
    for i in range(n):
        value = min(1.0 - _LEAST, max(_LEAST, h[i]))
        h[i] = sign * (math.log(value) - math.log(1.0 - value)) / scale
    to_log_policy(h, n)


@inline
def policy_units(log_p):
    """Return exp(log_p) in units of 1 / PRIOR_UNITS, as the tree stores it."""
    return np.uint16(PRIOR_UNITS * math.exp(log_p) + 0.5)


# ---------------------------------------------------------------------------------------------
# Self-play
# ---------------------------------------------------------------------------------------------


def with_noise(p: np.ndarray, share: float, alpha: float, rng: np.random.Generator) -> np.ndarray:
    """Return (1 - e) p + e Dirichlet(alpha), the policy at the root in self-play (Silver et al. 2017, Methods).

    Parameters
    ----------
    p : float64[n]
    share, alpha : e, from 0 to 1; the concentration
    rng : generator of the noise
    """
    return (1.0 - share) * p + share * rng.dirichlet(np.full(len(p), alpha))


def pruned_visits(visits: np.ndarray, q: np.ndarray, p: np.ndarray, c_puct: float) -> np.ndarray:
    """Return visits as PUCT would have spread them without noise: policy target pruning (Wu 2019, Section 3.2).

    Each move but the most visited one is left no more visits than its value and the policy justify, those with which
    Q + U stays below that of the most visited; a move of which one is left has none.

    Parameters
    ----------
    visits, q : int64[n] and float64[n], NaN without visits, at a root whose search had noise; for the colour to play
    p : float64[n], the policy without noise
    c_puct : of the search
    """
    n_s, best = float(visits.sum()) + 1.0, int(np.argmax(visits))
    bound = q[best] + interpreted(alphago_bonus)(c_puct, p[best], n_s, visits[best])
    with np.errstate(invalid="ignore", divide="ignore"):
        justified = np.floor(c_puct * p * math.sqrt(n_s) / (bound - q))  # Q + U is the bound at 1 + N, unrounded
    keeps = np.isnan(justified) | (justified < 0) | (justified >= visits)
    pruned = np.where(keeps, visits, np.where(justified > 1, justified, 0)).astype(np.int64)
    pruned[best] = visits[best]
    return pruned


def draw_by_visits(visits: np.ndarray, temperature: float, rng: np.random.Generator) -> int:
    """Draw an action with probability proportional to N(s, a)^(1 / temperature) (Silver et al. 2017, Methods).

    Parameters
    ----------
    visits : int64[n], not all 0
    temperature : above 0
    rng : generator of the draw
    """
    with np.errstate(divide="ignore"):
        x = np.log(visits) / temperature
    return int(rng.choice(len(x), p=softmax(x)))
