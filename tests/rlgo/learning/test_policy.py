"""Policies: `draws` samples one many times in one position, and a chi-square test compares the moves."""

from __future__ import annotations

import numpy as np
import pytest
from board_data import from_diagram
from oracles.naive import row_major
from random_play import random_theta

from rlgo.base.settings import EPSILON_GREEDY, LINEAR, LOGISTIC, SOFTMAX, Policy
from rlgo.compiler.jit import make_rng
from rlgo.features.incremental import new_shapes, reset
from rlgo.features.shapes import FeatureSet, make_features
from rlgo.features.weights import Weights
from rlgo.go.board import BLACK, PASS, WHITE, is_sensible, play
from rlgo.go.rules import zobrist
from rlgo.learning.policy import choose_move, choose_softmax
from rlgo.learning.value import ValueFunction, best_afterstate

# Black may capture at B5 (three stones), B1 or E4 (one each); White at B1 (A1 then breathes) one.
TACTICS = """
    O . X X O
    O X . X .
    O X O . .
    X X O . .
    O . X O .
"""


# Every empty point is a black eye.
FILLED = """
    X X X X .
    X X X X X
    X X X X X
    X X X X X
    . X X X X
"""


def ready(b: np.record, features: FeatureSet, theta: np.ndarray) -> tuple:
    """What a policy is asked with, but for the policy itself and the random numbers."""
    table, sh = features.table(theta), new_shapes(1, features.size)[0]
    reset(b, sh, table)
    return b, sh, table


def draws(n: int, ask) -> dict[int, int]:
    points, counts = np.unique([ask()[0] for _ in range(n)], return_counts=True)
    return dict(zip(points.tolist(), counts.tolist(), strict=True))


def sensible(b: np.record) -> list[int]:
    return [int(p) for p in range(b.color.size) if b.color[p] == 0 and is_sensible(b, p)]


def assert_fits(counts: dict[int, int], probability: dict[int, float]) -> None:
    """That counts come from a distribution: chi-square within 4 standard deviations of its mean."""
    assert set(counts) <= set(probability)
    n = sum(counts.values())
    assert min(probability.values()) * n > 5
    chi2 = sum((counts.get(p, 0) - n * q) ** 2 / (n * q) for p, q in probability.items())
    degrees = len(probability) - 1
    assert chi2 <= degrees + 4 * (2 * degrees) ** 0.5


def uniform(points) -> dict[int, float]:
    return dict.fromkeys(points, 1 / len(points))


@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_zero_weights_choose_uniformly_captures_included(color):
    features = make_features(5)
    b = from_diagram(TACTICS, color).board
    state, rng = ready(b, features, np.zeros(features.n_weights + 1, np.float32)), make_rng(1)
    candidates, captures = sensible(b), state[1].n_captures[color - 1]
    assert captures >= (2 if color == BLACK else 1)
    assert best_afterstate(*state, rng)[1] == len(candidates) > captures + 5
    assert_fits(draws(20_000, lambda: best_afterstate(*state, rng)), uniform(candidates))


@pytest.mark.parametrize("color", [BLACK, WHITE])
@pytest.mark.parametrize("theta", [0.5, -0.5])
def test_a_stone_more_is_better_or_worse_by_theta(color, theta):
    # One weight, of 1x1 LI: what a stone adds. Captures add at least two.
    features = make_features(5, (1,), "LI")
    b = from_diagram(TACTICS, color).board
    state, rng = ready(b, features, np.array([0, theta], np.float32)), make_rng(2)
    taken = {}
    for p in sensible(b):
        after = b.copy()
        play(after, p, zobrist(5))
        taken[p] = int(after.n_changed) - 1
    best = max(taken.values()) if theta > 0 else 0
    expected = [p for p, n in taken.items() if n == best]
    assert (best > 0) == (theta > 0)
    assert_fits(draws(4_000, lambda: best_afterstate(*state, rng)), uniform(expected))


@pytest.mark.parametrize("color", [BLACK, WHITE])
@pytest.mark.parametrize(("kind", "value"), [(LOGISTIC, "logistic"), (LINEAR, "linear")])
def test_softmax_draws_by_value(color, kind, value):
    features = make_features(5)
    theta = random_theta(features, 8, 0.1)
    b = from_diagram(TACTICS, color).board
    state, rng = ready(b, features, theta), make_rng(9)
    values = ValueFunction(Weights(features, theta, value=value)).afterstates(b)
    mine = {p: values[row_major(5, p)] if color == BLACK else 1 - values[row_major(5, p)] for p in sensible(b)}
    odds = {p: np.exp(v / 0.2) for p, v in mine.items()}
    expected = {p: o / sum(odds.values()) for p, o in odds.items()}
    assert max(expected.values()) > 2 * min(expected.values())
    policy = Policy(SOFTMAX, 0.0, 0.2)
    assert choose_softmax(*state, policy, kind, rng)[1] == len(expected)
    assert_fits(draws(20_000, lambda: choose_move(*state, policy, kind, rng)), expected)


@pytest.mark.parametrize(("kind", "scale"), [(LOGISTIC, 0.1), (LINEAR, 0.1), (LINEAR, 1.0)])
@pytest.mark.parametrize("temperature", [1e-3, 1e-9])
def test_a_cold_softmax_is_greedy(kind, scale, temperature):
    # However cold: exp neither underflows for all moves, nor overflows where a linear V leaves [0, 1].
    features = make_features(5)
    state, rng = ready(from_diagram(TACTICS).board, features, random_theta(features, 8, scale)), make_rng(9)
    best = best_afterstate(*state, rng)[0]
    policy = Policy(SOFTMAX, 0.0, temperature)
    assert draws(50, lambda: choose_move(*state, policy, kind, rng)) == {best: 50}


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_epsilon_greedy_explores_with_probability_epsilon(epsilon):
    features = make_features(5)
    b = from_diagram(TACTICS).board
    state, rng = ready(b, features, random_theta(features, 8)), make_rng(10)
    best, candidates = best_afterstate(*state, rng)[0], sensible(b)
    expected = {p: epsilon / len(candidates) for p in candidates if epsilon}
    expected[best] = expected.get(best, 0) + 1 - epsilon
    policy = Policy(EPSILON_GREEDY, epsilon)
    assert_fits(draws(20_000, lambda: choose_move(*state, policy, LOGISTIC, rng)), expected)


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", [(EPSILON_GREEDY, 0.0), (EPSILON_GREEDY, 1.0), (SOFTMAX, 0.0)])
def test_without_candidates_everyone_passes(policy):
    kind, epsilon = policy
    features = make_features(5, (1, 2))
    state, rng = ready(from_diagram(FILLED).board, features, random_theta(features, 8)), make_rng(10)
    assert sensible(state[0]) == []
    assert [tuple(choose_move(*state, Policy(kind, epsilon), LOGISTIC, rng)) for _ in range(5)] == [(PASS, 0)] * 5
