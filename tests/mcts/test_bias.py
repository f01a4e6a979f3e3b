"""RAVE biases by kind of move."""

from __future__ import annotations

import numpy as np
import pytest
from tree_tools import (
    SIZE,
    at,
    game_after,
)

from mcts.bias import MOVE_KINDS, add_bias_evidence, kind_of, learned_bias
from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS
from mcts.tree import add_root, new_tree, statistic
from rlgo.board import PASS


def test_kinds_of_moves():
    stride = SIZE + 1
    for move, last, kind in (("C3", "C4", 1), ("C3", "B2", 1), ("C3", "E3", 2), ("C3", "A1", 2), ("E5", "B5", 3)):
        assert kind_of(at(move), at(last), stride) == kind == kind_of(at(last), at(move), stride)
    assert kind_of(at("C3"), PASS, stride) == kind_of(PASS, at("C3"), stride) == 0


def test_the_rave_bias_is_learned_from_the_tree():
    """Many actions with a known bias: what is observed comes near it."""
    rng, bias = np.random.default_rng(1), 0.15
    squares, counts = np.zeros(MOVE_KINDS), np.zeros(MOVE_KINDS)
    for _ in range(400):
        tree = new_tree(1, 2)
        add_root(np.array([at("C3"), at("E5")]), tree)
        for i in range(2):
            q = rng.uniform(0.3, 0.7)
            b = bias * rng.choice([-1, 1]) if i == 0 else 0.0
            tree.mc_statistic[i] = statistic(200, rng.binomial(200, q))
            tree.amaf_statistic[i] = statistic(300, rng.binomial(300, min(1, max(0, q + b))))
        add_bias_evidence(tree, at("C2"), SIZE + 1, ALGORITHMS["mc_rave"]._replace(prior_n_amaf=0), squares, counts)
    assert counts.tolist() == [0, 400, 0, 400]
    b = learned_bias(squares, counts, 0.15)
    assert b[1] == pytest.approx(0.15, abs=0.01)
    assert b[3] < 0.09
    assert b[0] == b[2] == pytest.approx(0.15)
    settings = ALGORITHMS["mc_rave"]._replace(learn_bias=True, rave_bias=0.05, prior_n_amaf=0)
    search = TreeSearch(SIZE, settings, 3000, seed=1)
    search.search(game_after("C3"))
    learned = search.knowledge.rave_biases.copy()
    assert learned[0] == pytest.approx(0.05)
    assert (learned[1:] != 0.05).any()
    search.new_game()
    assert (search.knowledge.rave_biases == 0.05).all()
