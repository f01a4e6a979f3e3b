"""A short-term memory for a network: what simulations say of shapes that have come or gone since it was asked.

Start reading at `value_of`, then `learn`. Between a node s that the network has evaluated and a leaf below it, some
shapes have changed. The short-term memory theta-bar says what they are worth:

    V(leaf) = sigma(logit V_network(s) + (phi(leaf) - phi(s)) . theta_bar).

It learns from each simulation by TD(lambda), and is kept from move to move. Where the network has evaluated further
nodes of a simulation, their values are targets, too. With theta_bar = 0, V is the network's. All of it is ours; the TD
search that it comes from is in `rlgo/search/td_search.py`.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from mcts.log_odds import to_log_policy
from mcts.tree import PRIOR_UNITS
from rlgo.base.ram import on_own_cache_lines
from rlgo.base.settings import NONE, CountOr0, NonNegative, Probability
from rlgo.compiler.jit import njit
from rlgo.features.incremental import new_shapes, reset_gains, reset_value, update_value
from rlgo.features.kinds import square
from rlgo.features.shapes import FeatureSet, make_features
from rlgo.go.board import PASS
from rlgo.go.rules import max_plies
from rlgo.learning.td import Memory, begin_episode, episode_dtype, memory_by_shape, record_move, sweep
from rlgo.learning.value import gain_of, sigma

_FIRST_RENEWAL = 8  # visits of a node at which its policy is renewed; then at each doubling


class ShortTermValue(NamedTuple):
    """V of a network in the nearest node above, corrected by a short-term memory.

    alpha : step size, not normalised; one move changes about ten shapes
    lambda_ : of TD(lambda): 1 has the outcomes of playouts as targets, 0 the next values
    plies : learn from so many states beyond the tree
    largest : the size of the largest windows
    policy : what a gain of 1 in theta_bar adds to log P of a move; 0: the policy stays the network's
    depth : of the alpha-beta over V that chooses the move after the search; 0: the most visited move

    >>> import mcts
    >>> mcts.ShortTermValue(alpha=0.02).lambda_
    1.0
    """

    alpha: NonNegative = 0.01
    lambda_: Probability = 1.0
    plies: CountOr0 = 0
    largest: Annotated[int, Ge(1), Le(3)] = 2
    policy: NonNegative = 0.0
    depth: CountOr0 = 0


class ShortTerm(NamedTuple):
    """The short-term memory of one thread, and its scratch.

    Attributes
    ----------
    value : the settings
    memory : `td.Memory`; its theta is theta_bar
    shapes : of the position on the board, `incremental.shapes_dtype`
    root : uint16[W], the configurations of the root
    episode : `td.episode_dtype`: the simulation; its v are phi . theta_bar
    predicted, anchor : float64[T] and int64[T], V of each state by the nearest evaluated one above it, and which one
    """

    value: ShortTermValue
    memory: Memory
    shapes: np.record
    root: np.ndarray
    episode: np.record
    predicted: np.ndarray
    anchor: np.ndarray


def features_of(size: int, value: ShortTermValue) -> FeatureSet:
    """Return the features of the memory, which share no weights."""
    return make_features(size, (), "none", tuple(square(k) for k in range(1, value.largest + 1)), "none")


def new_short_term(size: int, leaf: Any) -> ShortTerm | None:
    """Return an empty memory for the value of a leaf, or None if it has none."""
    value = getattr(leaf, "value", None)
    if not isinstance(value, ShortTermValue):
        return None
    features = features_of(size, value)
    table = features.table_of(np.zeros(len(features.class_of), np.float32))
    shapes = new_shapes(1, size)[0]
    return ShortTerm(
        value,
        memory_by_shape(table, np.ones(len(features.windows), np.uint8), None),
        shapes,
        shapes["configuration"].copy(),
        on_own_cache_lines(episode_dtype(size))[0],
        np.zeros(max_plies(size) + 1),
        np.zeros(max_plies(size) + 1, np.int64),
    )


# ---------------------------------------------------------------------------------------------
# A simulation
# ---------------------------------------------------------------------------------------------


@njit
def read_root(short_term, root):
    """Note the shapes of the root."""
    if short_term is not None:
        reset_value(root, short_term.shapes, short_term.memory.table)
        short_term.shapes.dirty[:] = 0
        for w in range(len(short_term.root)):
            short_term.root[w] = short_term.shapes.configuration[w]


@njit
def begin(short_term):
    """Begin a simulation at the root, by the theta_bar of now."""
    if short_term is not None:
        sh, table = short_term.shapes, short_term.memory.table
        x = 0.0
        for w in range(table.g.n_windows):
            configuration = short_term.root[np.uint64(w)]
            weight = table.black[np.uint64(table.g.ld_base[np.uint64(w)] + np.int64(configuration))]
            sh.configuration[np.uint64(w)] = configuration
            sh.now[0, np.uint64(w)] = weight
            x += np.float64(weight)
        sh.x[0] = x
        begin_episode(short_term.episode, sh, table.g, x)


@njit
def follow(short_term, b, p):
    """Record move p of a simulation, after which the board is `b`."""
    if short_term is not None:
        update_value(b, short_term.shapes, short_term.memory.table)
        record_move(short_term.episode, short_term.shapes, p, short_term.shapes.x[0])


@njit
def follow_playout(short_term, b, p, leaf):
    """Record move p of a playout, if there is still something to learn.

    leaf : moves before the playout
    """
    if short_term is not None:
        if short_term.episode.n <= leaf + short_term.value.plies:
            follow(short_term, b, p)


@njit
def value_of(value, context, workspace):  # noqa: ARG001
    """Return V of the position on the board."""
    path, short_term = workspace.path, workspace.short_term
    change = short_term.shapes.x[0] - short_term.episode.v[np.uint64(path.anchor)]
    return sigma(path.correction + change)


@njit
def correction(value, logit, b, context, workspace):  # noqa: ARG001
    """Return what a node notes of the network's value: its logit."""
    return logit


# ---------------------------------------------------------------------------------------------
# Learning
# ---------------------------------------------------------------------------------------------


@njit
def learn(short_term, path, tree):
    """Learn from a simulation with outcome `path.z`, TD(lambda).

    The states after the root learn, the last one excepted. State t predicts V from the nearest state a(t) < t that the
    network has evaluated, and learns from its error e_t: theta_bar += alpha e_t (phi(s_t) - phi(s_a(t))).
    """
    if short_term is not None:
        _predict(short_term, path, tree)
        _find_errors(short_term, path, tree)
        sweep(short_term.episode, short_term.value.alpha, NONE, short_term.memory, 0)
        short_term.memory.theta[0] = 0.0


@njit
def _logit_at(t, path, tree):
    """Return the network's logit in state t of the simulation, NaN if it has not evaluated it."""
    return np.float64(tree.correction[path.node[np.uint64(t)]]) if t < path.n_nodes else math.nan


@njit
def _predict(short_term, path, tree):
    """Write V of each state, as the nearest evaluated state above it predicts it."""
    x, anchor = short_term.episode.v, 0
    logit = _logit_at(0, path, tree)
    for t in range(1, short_term.episode.n):
        short_term.anchor[t] = anchor
        short_term.predicted[t] = sigma(logit + x[t] - x[anchor])
        own = _logit_at(t, path, tree)
        if not math.isnan(own):
            anchor, logit = t, own


@njit
def _find_errors(short_term, path, tree):
    """Write the error of each state, less those of the states that it is the nearest evaluated one of."""
    e, lambda_, n = short_term.episode.e, short_term.value.lambda_, np.int64(short_term.episode.n)
    for t in range(n):
        e[t] = 0.0
    target = path.z
    for t in range(n - 1, 0, -1):
        predicted, own = short_term.predicted[t], _logit_at(t, path, tree)
        v = predicted if math.isnan(own) else sigma(own)
        if not math.isnan(own):
            target = (1.0 - lambda_) * v + lambda_ * target
        error = target - predicted
        e[t] += error
        e[short_term.anchor[t]] -= error
        if math.isnan(own):
            target = (1.0 - lambda_) * v + lambda_ * target


# ---------------------------------------------------------------------------------------------
# The policy
# ---------------------------------------------------------------------------------------------


@njit
def add_gains(short_term, node, b, tree, log_p):
    """Add the weighted gain of each action in theta_bar to its log P."""
    sh, table, weight = short_term.shapes, short_term.memory.table, short_term.value.policy
    reset_gains(b, sh, table)
    first = np.int64(tree.first_edge[node])
    for k in range(np.int64(tree.n_edges[node])):
        p = np.int64(tree.move[first + k])
        log_p[k] += 0.0 if p == PASS else weight * gain_of(b, sh, table, p)


@njit
def renew_policy(log_policy, node, b, tree, workspace):
    """Give a node that the network has evaluated the policy of the theta_bar of now, at doublings of its visits."""
    if log_policy is not None:
        visits = np.int64(tree.node_visits[node])
        if visits >= _FIRST_RENEWAL and visits & (visits - 1) == 0 and not math.isnan(tree.correction[node]):
            x, first, n = workspace.path.x, np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node])
            for k in range(n):
                x[k] = log_policy[first + k]
            add_gains(workspace.short_term, node, b, tree, x)
            to_log_policy(x, n)
            for k in range(n):
                tree.prior[first + k] = np.uint16(PRIOR_UNITS * math.exp(x[k]) + 0.5)
