"""Gumbel AlphaZero: a root that improves on its policy with few simulations, and a deterministic rule below it.

Start reading at `improved_logits`, then `select`. Each formula stands alone, with its source: Danihelka, Guez,
Schrittwieser & Silver 2022, "Policy improvement by planning with Gumbel".

At the root, m actions are drawn without replacement: those with the highest g(a) + log P(s, a), where the g(a) are
Gumbel noise. Sequential halving shares the simulations among them (`phases`). What is played is the action with the
highest g(a) + log P(s, a) + sigma(q(a)) among the most visited. Here q is Q(s, a) for the colour to play, from 0 to 1.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from mcts.log_odds import log_of, to_log_policy
from mcts.policies.puct import policy_of
from mcts.policies.puct import take_prior as take_prior  # the same
from mcts.tree import BUSY, MOST_VISITS, NO_PRIOR, WAITING, Tree, count, mean
from rlgo.base.checks import Key
from rlgo.base.settings import Count, NonNegative, Positive
from rlgo.base.softmax import softmax
from rlgo.compiler.jit import inline, njit
from rlgo.go.board import BLACK
from rlgo.go.rules import n_points
from rlgo.learning.value import sigma

HAS_POLICY = True
TARGET_UNITS = 1_000  # of the policy target
_MOST_PHASES = 64


class Gumbel(NamedTuple):
    """Sequential halving at the root, and below it visits in proportion to the improved policy.

    The search begins anew at each move, and needs a number of simulations.

    >>> import mcts
    >>> search = mcts.ALGORITHMS["rlgo"]._replace(policy=mcts.Gumbel(considered=4))
    >>> search.policy.c_visit
    50.0
    """

    considered: Annotated[Count, Key("m, the most actions that the root considers.", aliases="m")] = 16
    c_visit: Annotated[NonNegative, Key("Visits added to the most visited action's in the weight of values.")] = 50.0
    c_scale: Annotated[NonNegative, Key("Weight of values against the policy in the choice of moves.")] = 1.0
    target_scale: Annotated[NonNegative, Key("The same in the policy target of training games.")] = 0.1
    gumbel_scale: Annotated[NonNegative, Key("Scale of the noise at the root; 0: none, as in matches.")] = 1.0
    scale: Positive = 0.4  # as in `Puct`


class Halving(NamedTuple):
    """The plan of a search for its root, shared by the threads of a tree.

    Attributes
    ----------
    noise : float64[P], g(a) of each action of the root, in the order of its edges
    phases : int64[_MOST_PHASES, 3], of each phase its first simulation, the visits that its actions have then, and how
        many actions it considers; the number of simulations of all phases comes behind the last
    """

    noise: np.ndarray
    phases: np.ndarray


def new_scratch(size: int) -> Halving:
    """Return a plan without simulations."""
    return Halving(np.zeros(n_points(size)), np.zeros((_MOST_PHASES, 3), np.int64))


def plan_root(policy: Gumbel, halving: Halving, n_actions: int, simulations: int, rng: np.random.Generator) -> None:
    """Draw the noise of a search, and plan its simulations (Section 3.3)."""
    halving.noise[:n_actions] = policy.gumbel_scale * rng.gumbel(size=n_actions)
    halving.phases[:] = 0
    for i, phase in enumerate(phases(min(policy.considered, n_actions), simulations)):
        halving.phases[i] = phase


def phases(m: int, n: int) -> list[tuple[int, int, int]]:
    """Return the phases of sequential halving of n simulations among m actions, as rows of `Halving.phases`.

    Each of about log2(m) phases gets an equal share, of at least a visit for each action. From phase to phase, half of
    the actions are left, and at least two.
    """
    rows, begins, visits, n_phases = list[tuple[int, int, int]](), 0, 0, max(1, math.ceil(math.log2(m)))
    while begins < n:
        extra = max(1, n // (n_phases * m))
        rows.append((begins, visits, m))
        begins, visits, m = begins + extra * m, visits + extra, min(m, max(2, m // 2))
    return [*rows, (n, 0, 0)]


@inline
def weight_of_values(most_visits, c_visit, c_scale):
    """sigma(q) = (c_visit + max_b N(b)) c_scale q (Section 3.4, equation 8): the factor of q."""
    return (c_visit + most_visits) * c_scale


@inline
def mixed_value(v, visits, p_seen, pq_seen):
    """v_mix = (v + sum_b N(b) / sum_b pi(b) * sum_a pi(a) q(a)) / (1 + sum_b N(b)) (Appendix D).

    v : the network's value of the node for the colour to play; NaN if it is not known, and then left out
    visits : sum_b N(b)
    p_seen, pq_seen : the sums of pi and pi q over the actions with visits
    """
    if visits == 0.0:
        return 0.5 if math.isnan(v) else v
    q = pq_seen / max(p_seen, 1e-9)
    return q if math.isnan(v) else (v + visits * q) / (1.0 + visits)


@njit
def improved_logits(policy, c_scale, node, color, tree, x):
    """Write log P(s, a) + sigma(completed q(a)) of each action of a node to x (Section 4).

    softmax of it is the improved policy pi'. An action without visits has the mixed value as its q.

    c_scale : of `policy`, or its `target_scale`
    x : float64[P]
    Returns the sum of visits.
    """
    first, n_edges = np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node])
    even = 1.0 / n_edges if tree.stage[node] in (NO_PRIOR, BUSY, WAITING) else -1.0
    visits, most, p_seen, pq_seen = 0.0, 0.0, 0.0, 0.0
    for k in range(n_edges):
        edge = np.uint64(first + k)
        n = count(tree.mc_statistic[edge])
        if n > 0.0:
            p = max(policy_of(edge, even, tree), 1e-9)
            visits += n
            most = max(most, n)
            p_seen += p
            pq_seen += p * _value_for(color, mean(tree.mc_statistic[edge]))
    unseen = mixed_value(_own_value(tree.correction, node, color), visits, p_seen, pq_seen)
    weight = weight_of_values(most, policy.c_visit, c_scale)
    for k in range(n_edges):
        edge = np.uint64(first + k)
        word = tree.mc_statistic[edge]
        q = _value_for(color, mean(word)) if count(word) > 0.0 else unseen
        x[k] = log_of(policy_of(edge, even, tree)) + weight * q
    return visits


@inline
def _value_for(color, q):
    return q if color == BLACK else 1.0 - q


@njit
def _own_value(corrections, node, color):
    """Return the network's value of a node for the colour to play, NaN if it is not known."""
    if corrections is None:
        return math.nan
    return _value_for(color, sigma(np.float64(corrections[node])))


@inline
def considered_visits(phases, simulation):
    """Return the visits of the actions that a simulation of the root's plan considers.

    Beyond the plan, any number of visits; -1 without one.
    """
    i = 0
    while phases[i, 2] > 0:
        if simulation < phases[i + 1, 0]:
            return phases[i, 1] + (simulation - phases[i, 0]) // phases[i, 2]
        i += 1
    return np.int64(-1) if i == 0 else MOST_VISITS


@njit
def select(policy, node, color, tree, workspace):
    """Return the edge to follow.

    At the root, of the actions that sequential halving considers, the one with the highest g + log P + sigma(q). Below
    it, and at a root without a plan, the one with the highest pi'(a) - N(a) / (1 + sum_b N(b)) (Section 5).

    Simulations that run or wait are visits, too, so that an action may be ahead of the plan. Then those are considered
    that have the most visits of all that are not.
    """
    first, n_edges, x = np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node]), workspace.path.x
    visits = improved_logits(policy, policy.c_scale, node, color, tree, x)
    if node == 0:
        halving = workspace.policy
        considered = considered_visits(halving.phases, np.int64(visits))
        best, most, choice = -np.inf, -1.0, np.int64(-1)
        for k in range(n_edges):
            value, n = halving.noise[k] + x[k], count(tree.mc_statistic[np.uint64(first + k)])
            if n <= considered and (n > most or (n == most and value > best)):
                best, most, choice = value, n, np.int64(k)
        if choice >= 0:
            return first + choice
    to_log_policy(x, n_edges)
    best, choice = -np.inf, np.int64(0)
    for k in range(n_edges):
        value = math.exp(x[k]) - count(tree.mc_statistic[np.uint64(first + k)]) / (1.0 + visits)
        if value > best:
            best, choice = value, np.int64(k)
    return first + choice


@njit
def write_scores(policy, color, tree, halving, x):
    """Write g + log P + sigma(q) of the root's actions to x, float64[P]: the highest of the most visited is played."""
    improved_logits(policy, policy.c_scale, 0, color, tree, x)
    for k in range(np.int64(tree.n_edges[0])):
        x[k] += halving.noise[k]


def target_of(policy: Gumbel, color: int, tree: Tree) -> dict[int, int]:
    """Return pi' of the root's actions, the policy target (Section 4), in units of 1 / TARGET_UNITS."""
    x = np.zeros(tree.n_edges[0])
    improved_logits(policy, policy.target_scale, 0, color, tree, x)
    units = np.rint(TARGET_UNITS * softmax(x)).astype(int)
    return {int(tree.move[k]): int(units[k]) for k in np.argsort(-units, kind="stable") if units[k]}
