"""Softmax regression of the patterns: find the weights that make the moves played most probable.

Start reading at `fit`. The penalised log-likelihood,

    sum over decisions of log P(the move played) - l2 / 2 * |w|^2,

is concave and is maximised by L-BFGS. A shape's weight is the sum of its own part and its parents' parts; the penalty
is on the parts. So the weight of a rare shape stays near that of the smaller shape inside it, and large shapes only
deviate where there is evidence.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlgo.base.settings import MAX_SIZE
from rlgo.compiler.jit import njit
from rlgo.moves.decisions import Decisions
from rlgo.moves.move_features import FEATURES, N_GROUPS


@njit(allocates=True)
def likelihood(decisions, feature_weights, shape_weights, feature_gradient, shape_gradient):
    """Return the log-likelihood of the moves played, and add its gradient to the two arrays, float64."""
    total = 0.0
    p = np.zeros(MAX_SIZE * MAX_SIZE + 1)
    for d in range(len(decisions.chosen)):
        start, n = decisions.starts[d], decisions.starts[d + 1] - decisions.starts[d]
        highest = -np.inf
        for i in range(n):
            x = shape_weights[decisions.shape[start + i]]
            for group in range(N_GROUPS):
                x += feature_weights[decisions.features[start + i, group]]
            p[i] = x
            highest = max(highest, x)
        chosen = decisions.chosen[d]
        x_chosen, scale = p[chosen] - highest, 0.0
        for i in range(n):
            p[i] = np.exp(p[i] - highest)
            scale += p[i]
        total += x_chosen - np.log(scale)
        for i in range(n):
            surprise = (1.0 if i == chosen else 0.0) - p[i] / scale
            shape_gradient[decisions.shape[start + i]] += surprise
            for group in range(N_GROUPS):
                feature_gradient[decisions.features[start + i, group]] += surprise
    return total


@njit
def add_parents(parts, parents):
    """Turn the parts of shapes 1 to n into weights: each adds its parent's weight, in place."""
    for i in range(len(parents)):
        parts[i + 1] += parts[parents[i]]


@njit
def add_children(gradient, parents):
    """Turn the gradient with respect to weights into that of parts, in place: each adds its children's."""
    for i in range(len(parents) - 1, -1, -1):
        gradient[parents[i]] += gradient[i + 1]


def fit(
    decisions: Decisions, parents: np.ndarray, l2: float = 1.0, iterations: int = 100,
    report: Callable[[float], None] = lambda _: None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Learn the weights.

    Parameters
    ----------
    decisions : the decisions to learn from
    parents : int32[n], the parents of the shapes
    l2 : the penalty
    iterations : maximum number of L-BFGS iterations
    report : called after each one with the mean log-likelihood

    Returns
    -------
    feature_weights and shape_weights, float32, as in `patterns.Patterns`
    """
    from scipy.optimize import minimize  # slow to load

    n_features, last = len(FEATURES) + 1, 0.0

    def weights_of(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        features, shapes = w[:n_features].copy(), w[n_features:].copy()
        features[0] = shapes[0] = 0.0
        add_parents(shapes, parents)
        return features, shapes

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal last
        gradient = np.zeros(len(w))
        by_feature, by_shape = gradient[:n_features], gradient[n_features:]
        last = likelihood(decisions, *weights_of(w), by_feature, by_shape)
        add_children(by_shape, parents)
        by_feature[0] = by_shape[0] = 0.0
        return l2 / 2 * float(w @ w) - last, l2 * w - gradient

    found = minimize(
        loss, np.zeros(n_features + len(parents) + 1), jac=True, method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": 20}, callback=lambda _: report(last / max(1, len(decisions))),
    )  # fmt: skip
    features, shapes = weights_of(found.x)
    return features.astype(np.float32), shapes.astype(np.float32)
