"""Evaluators as networks: logits of their policies, and what else they have."""

from __future__ import annotations

import numpy as np
import pytest
from tree_tools import SIZE, game_after

from mcts.outside.checked import CheckedNetwork
from rlgo.base.errors import RlgoError
from rlgo.go.board import PASS
from rlgo.go.positions import Positions
from rlgo.search.network_player import NetworkPlayer

N = SIZE * SIZE
P = np.arange(1.0, N + 2) / np.arange(1.0, N + 2).sum()


@pytest.mark.parametrize("entry", [{"policy": [P]}, {"logits": [np.log(P) + 3]}])
def test_the_policy_of_an_evaluator_is_played(entry):
    """Each move is likelier than the one before; E5, the last point, is taken."""
    network = CheckedNetwork(lambda _: {**entry, "ownership": [[0.0]], "value": [0.25]})
    game = game_after("E5")
    policy = network.policy(game)
    player = NetworkPlayer(SIZE, network)
    assert player.genmove(game_after("E5", "pass")) == max(policy, key=policy.get) == PASS  # the last one
    assert sum(policy.values()) == pytest.approx(1)
    values = sorted(policy.values())
    np.testing.assert_allclose(values, np.delete(P, N - 1) / (1 - P[N - 1]), rtol=1e-5)
    assert player.candidates(game)[0].value == 0.25
    assert "ownership" not in network(Positions.of(game))  # in which units, is not known


def test_what_it_lacks_and_what_is_wrong():
    network = CheckedNetwork(lambda _: {"q": [np.full(N + 1, 0.5)]})
    assert network(Positions.of(game_after("C3"))) == {}
    with pytest.raises(RlgoError, match="network: expected a policy, or its logits"):
        network.policy(game_after("C3"))
    with pytest.raises(RlgoError, match="evaluator: value of position 0 = 3"):
        CheckedNetwork(lambda _: {"value": [3]})(Positions.of(game_after("C3")))
