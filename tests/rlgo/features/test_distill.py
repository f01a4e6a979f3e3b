"""Fitting shape weights to a network's values, against a step of logistic regression in numpy."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from random_play import SIZE, random_game, random_weights
from scipy.special import expit

from rlgo.features.incremental import new_shapes

SOURCE = Path(__file__).parents[3] / "studies" / "distill.py"
SPEC = importlib.util.spec_from_file_location("distill", SOURCE)
assert SPEC is not None and SPEC.loader is not None
DISTILL = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(DISTILL)


def test_a_step_is_one_of_logistic_regression():
    weights, boards = random_weights(), [random_game(12, seed).board for seed in range(4)]
    features, g = weights.features, weights.table().g
    classes, targets = features.classes.classes, np.array([0.2, 0.9, 0.5, 0.7])
    configurations = np.zeros((4, len(features.windows)), np.uint16)
    records = np.array(boards, dtype=boards[0].dtype)
    DISTILL.read(records, new_shapes(1, SIZE)[0], weights.table(), configurations)
    theta, expected, loss = weights.theta.astype(float), weights.theta.astype(float), 0.0
    for row, target in zip(configurations, targets, strict=True):
        phi, active = np.zeros(len(theta)), 0  # by shape: one window after the other, as the table names their classes
        for w, configuration in enumerate(row):
            for base in (g.ld_base[w], g.li_base[w]):
                c = int(classes[base + configuration])
                phi[abs(c)] += np.sign(c)
                active += c != 0
        p = expit(expected @ phi)
        loss -= target * np.log(p) + (1 - target) * np.log(1 - p)
        expected += 0.3 * (target - p) * phi / active
    found = DISTILL.learn(np.arange(4), configurations, targets, 0.3, theta, g, classes)
    assert found == pytest.approx(loss / 4)
    np.testing.assert_allclose(theta, expected, atol=1e-9)
    assert np.abs(theta - weights.theta).max() > 1e-3
