"""Dyna-2 with a network in its long-term memory: V of the states of simulations, from Python's sums of logits."""

from __future__ import annotations

import numpy as np
import pytest
from network_files import random_network
from random_play import SIZE, random_game, random_weights
from scipy.special import expit, logit

from rlgo.features.planes import planes
from rlgo.go.board import BLACK
from rlgo.learning.value import ValueFunction
from rlgo.network.architecture import KINDS
from rlgo.search.dyna2 import Dyna2
from rlgo.search.td_search import Simulation

NETWORK = random_network()


def x_of(weights, game) -> float:
    return float(logit(ValueFunction(weights).value(game)))


def logit_of(game) -> float:
    x = float(logit(NETWORK.outputs(planes(game, KINDS)).value[0]))
    return x if game.to_play == BLACK else -x


@pytest.mark.parametrize("plies", [0, 1, 2, 5])
@pytest.mark.parametrize("knows", [True, False])
def test_v_is_the_sum_of_the_logits_of_both_memories(plies, knows):
    long_term = random_weights() if knows else None
    player = Dyna2(SIZE, long_term, (1, 2), network=NETWORK, simulation=Simulation(plies=plies), simulations=1, seed=3)
    game, left = random_game(7, 5), 0
    for _ in range(12):
        both = player.value_weights()
        player.search(game)
        episode, after, off = player.scratch[0].episode, game.copy(), 0.0
        for t in range(int(episode.n)):
            if t > 0:
                after.play(int(episode.moves[t - 1]), may_repeat=True)
            if t in (0, plies):
                off = logit_of(after) - (0.0 if long_term is None else x_of(long_term, after))
                left += t == plies
            assert episode.v[t] == pytest.approx(expit(x_of(both, after) + off), abs=1e-4)
    assert left > 5
    assert np.abs(player.theta_bar).max() > 0.01
