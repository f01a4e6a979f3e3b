"""PUCT: exploration that a policy guides, as in AlphaGo.

Start reading at `alphago_bonus`, then `select`; docs/plain/puct.py is a whole search with it in plain Python. Each
formula stands alone, with its source:

* Silver et al. 2016, "Mastering the game of Go with deep neural networks and tree search": the bonus of AlphaGo.
* Silver et al. 2017, "Mastering the game of Go without human knowledge": noise at the root, and the temperature.
* Wu 2019, "Accelerating self-play learning in Go": the value of an action without visits.

Here n = N(s, a), n_s = N(s), and p = P(s, a) is the policy, which adds up to 1 over the actions of s.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from mcts.log_odds import to_log_policy
from mcts.policies.values import FIRST_PLAY_URGENCY
from mcts.tree import BUSY, NO_PRIOR, PRIOR_UNITS, WAITING, count, mean, outcomes
from rlgo.base.checks import Key, Needs
from rlgo.base.settings import NonNegative, Positive, Probability
from rlgo.base.softmax import softmax
from rlgo.compiler.jit import inline, interpreted, njit
from rlgo.go.board import BLACK

HAS_POLICY = True
_NOISE = Needs("a noise above 0", lambda keys: keys.noise > 0)


class Puct(NamedTuple):
    """The mean outcome of an action plus a bonus in proportion to its probability in a policy.

    >>> import mcts
    >>> mcts.ALGORITHMS["puct"].policy.c
    1.0
    """

    c: Annotated[NonNegative, Key("Constant of PUCT, exploration guided by the policy.", name="c_puct")] = 1.0
    first_play_urgency: FIRST_PLAY_URGENCY = 0.5
    fpu_reduction: Annotated[  # see `reduced_value`
        NonNegative,
        Key(
            "Give an action without statistics the mean of the others minus this times sqrt(the sum of their P); 0: "
            "`first_play_urgency`.",
        ),
    ] = 0.0
    scale: Positive = 0.4  # of the policy softmax(x / scale), where sigma(x) is H; see `log_odds.action_x`
    noise: Annotated[Probability, Key("Share of Dirichlet noise in the policy at the root.")] = 0.0
    noise_alpha: Annotated[Positive, Key("Concentration of that noise; about 10 / moves.", needs=_NOISE)] = 0.12


@inline
def alphago_bonus(c_puct, p, n_s, n):
    """U(s, a) = c_puct P(s, a) sqrt(N(s)) / (1 + N(s, a)) (Silver et al. 2016, Methods; 2017, Methods).

    n_s : the visits of the node, the one that added it included, so that the policy already decides the first action
    """
    return c_puct * p * math.sqrt(n_s) / (1.0 + n)


@inline
def reduced_value(mean, p_seen, reduction):
    """Return mean - reduction sqrt(p_seen), the value of an action without visits (Wu 2019, Section 2).

    mean : the mean outcome of the actions of its node with visits, for the colour to play
    p_seen : the sum of their P
    """
    return mean - reduction * math.sqrt(p_seen)


# ---------------------------------------------------------------------------------------------
# The tree policy
# ---------------------------------------------------------------------------------------------


@njit
def select(policy, node, color, tree, workspace):  # noqa: ARG001  # it needs no scratch
    """Return the edge with the highest value plus bonus for the colour to play, the first of equal ones."""
    first, n_edges = np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node])
    n_s = np.float64(tree.node_visits[node]) + 1.0  # with the visit that added the node
    stage = tree.stage[node]
    even = 1.0 / n_edges if stage in (NO_PRIOR, BUSY, WAITING) else -1.0
    urgency = first_play_urgency(policy, first, n_edges, color, even, tree)
    best, choice = -np.inf, np.int64(0)
    for k in range(n_edges):
        edge = np.uint64(first + k)
        word = tree.mc_statistic[edge]
        n, value = count(word), urgency
        if n > 0.0:
            q = mean(word)
            value = q if color == BLACK else 1.0 - q
        value += alphago_bonus(policy.c, policy_of(edge, even, tree), n_s, n)
        if value > best:
            best, choice = value, np.int64(k)
    return first + choice


@inline
def policy_of(edge, even, tree):
    """Return P of an action: that of its node's policy, or `even` if that is not known, and `even` not negative."""
    return tree.prior[edge] * (1.0 / PRIOR_UNITS) if even < 0.0 else even


@inline
def first_play_urgency(policy, first, n_edges, color, even, tree):
    """Return the value, to the colour to play, of an action without statistics; for `even` see `policy_of`."""
    if policy.fpu_reduction == 0.0:
        return policy.first_play_urgency
    visits, wins, seen = 0.0, 0.0, 0.0
    for k in range(n_edges):
        edge = np.uint64(first + k)
        n = count(tree.mc_statistic[edge])
        if n > 0.0:
            visits += n
            wins += outcomes(tree.mc_statistic[edge])
            seen += policy_of(edge, even, tree)
    if visits == 0.0:
        return policy.first_play_urgency
    q = wins / visits
    return reduced_value(q if color == BLACK else 1.0 - q, seen, policy.fpu_reduction)


@njit
def take_prior(policy, node, had, color, tree, path, shared):  # noqa: ARG001  # the new policy replaces any other
    """Take P = softmax(x / scale) as the policy of the node."""
    first, n, x = np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node]), path.x
    for k in range(n):
        x[k] /= policy.scale
    to_log_policy(x, n)
    for k in range(n):
        tree.prior[first + k] = np.uint16(PRIOR_UNITS * math.exp(x[k]) + 0.5)


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
