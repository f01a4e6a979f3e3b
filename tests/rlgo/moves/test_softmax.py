"""Softmax regression against its definition, finite differences, and minorization-maximization."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles import minorization_maximization
from pattern_games import learned_patterns, x_of

from rlgo.moves import softmax
from rlgo.moves.decisions import Decisions
from rlgo.moves.move_features import FEATURES


def log_likelihood(decisions: Decisions, x: np.ndarray) -> float:
    """From the definition, without any of the kernels' ways."""
    total = 0.0
    for d in range(len(decisions)):
        here = x[decisions.starts[d] : decisions.starts[d + 1]].astype(np.float64)
        total += here[decisions.chosen[d]] - np.log(np.exp(here).sum())
    return total


def test_the_likelihood_and_its_gradient() -> None:
    _, decisions, patterns = learned_patterns()
    rng = np.random.default_rng(1)
    features, shapes = rng.normal(size=len(FEATURES) + 1), rng.normal(size=len(patterns.parents) + 1)
    features[0] = shapes[0] = 0
    gradients = np.zeros_like(features), np.zeros_like(shapes)
    found = softmax.likelihood(decisions, features, shapes, *gradients)
    x = features[decisions.features].sum(1) + shapes[decisions.shape]
    assert found == pytest.approx(log_likelihood(decisions, x))
    none = np.zeros_like(features), np.zeros_like(shapes)
    used_features = np.unique(decisions.features)[1:]
    used_shapes = np.unique(decisions.shape)[1:]
    for weights, gradient, used in ((features, gradients[0], used_features), (shapes, gradients[1], used_shapes)):
        for i in rng.choice(used, 8, replace=False):
            values = []
            for step in (1e-4, -1e-4):
                weights[i] += step
                values.append(softmax.likelihood(decisions, features, shapes, *none))
                weights[i] -= step
            assert gradient[i] == pytest.approx((values[0] - values[1]) / 2e-4, rel=1e-4, abs=1e-5)


def test_parts_of_shapes_add_up() -> None:
    parents, parts = np.array([0, 1, 1, 3], np.int32), np.array([0.0, 1.0, 2.0, 4.0, 8.0])
    softmax.add_parents(parts, parents)
    assert parts.tolist() == [0, 1, 3, 5, 13]
    gradient = np.array([0.0, 1.0, 2.0, 4.0, 8.0])
    softmax.add_children(gradient, parents)
    assert gradient.tolist() == [15, 15, 2, 12, 8]


def test_another_method_finds_the_same_maximum() -> None:
    """Next to no penalty on the one side, and no prior on the other."""
    _, decisions, patterns = learned_patterns()
    found = []
    for features, shapes in (
        softmax.fit(decisions, patterns.parents, 0.01, 200),
        minorization_maximization.fit(decisions, len(patterns.parents), 0.01, 30),
    ):
        x = x_of(replace(patterns, feature_weights=features, shape_weights=shapes), decisions)
        found.append(log_likelihood(decisions, x) + np.log(np.diff(decisions.starts)).sum())
    assert found[0] == pytest.approx(found[1], rel=0.01)
    assert found[0] > 100  # better than uniform choice


def test_the_strengths_of_a_game_with_an_answer() -> None:
    """Two kinds of moves, one of each kind in every decision: a win rate of 3 in 4 is a strength of 3."""
    n = 400
    features = np.zeros((2 * n, 12), np.uint8)
    features[::2, 0] = 1
    chosen = (np.arange(n) % 4 == 0).astype(np.int64)
    zeros = np.zeros(n, np.int64)
    decisions = Decisions(
        np.arange(0, 2 * n + 1, 2),
        chosen,
        zeros,
        zeros,
        np.zeros(2 * n, np.uint16),
        features,
        np.zeros(2 * n, np.int32),
    )
    weights, _ = minorization_maximization.fit(decisions, 0, 1e-9, 60)
    assert np.exp(weights[1]) == pytest.approx(3.0, rel=1e-3)
    weights, _ = softmax.fit(decisions, np.zeros(0, np.int32), 1e-6, 60)
    assert np.exp(weights[1]) == pytest.approx(3.0, rel=1e-3)
