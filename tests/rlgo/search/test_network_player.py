"""The player that asks a network once a move."""

from __future__ import annotations

import numpy as np
import pytest
from network_files import random_network
from random_play import random_game

import rlgo
from rlgo.base.errors import RlgoError
from rlgo.base.resources import SHIPPED_NETWORKS
from rlgo.features.planes import planes
from rlgo.go.board import BLACK, PASS
from rlgo.network.architecture import KINDS
from rlgo.search.network_player import NetworkPlayer
from train import make_player

NETWORK = random_network()


def test_it_plays_the_most_probable_move():
    game = random_game(9, 3)
    player = NetworkPlayer(5, NETWORK)
    logits = NETWORK.outputs(planes(game, KINDS)).logits[0]
    moves = [*game.sensible_moves(), PASS]
    places = [25 if p == PASS else (p // 6 - 1) * 5 + p % 6 - 1 for p in moves]
    assert player.genmove(game) == moves[int(np.argmax(logits[places]))]
    best, *others = player.candidates(game)
    assert best.move == player.genmove(game)
    assert len(others) == len(moves) - 1
    assert np.nanmax(player.analyses()["policy"]) <= 1


def test_a_shipped_network_has_a_name():
    game, names = rlgo.Game(9), ("9x9", SHIPPED_NETWORKS.find("9x9"))
    moves = [make_player(f"network,network={name}", 9).genmove(game) for name in names]
    assert moves[0] == moves[1] == NetworkPlayer(9, rlgo.load_network("9x9")).genmove(game)
    assert make_player("mc_rave,sims=1,network=9x9", 9)._network is not None
    with pytest.raises(RlgoError, match="no such network file; shipped networks: 13x13, 19x19, 9x9"):
        make_player("network,network=8x8", 9)


def test_it_says_who_owns_the_points():
    game, player = random_game(9, 3), NetworkPlayer(5, NETWORK)
    assert np.isnan(player.analyses()["owner"]).all()
    player.genmove(game)
    own = NETWORK.outputs(planes(game, KINDS)).ownership[0] * (1 if game.to_play == BLACK else -1)
    np.testing.assert_allclose(player.analyses()["owner"], (1 + own) / 2, atol=1e-6)


def test_it_passes_to_end_a_won_game():
    game = rlgo.Game(5, komi=0.5)
    for vertex in ("C3", "pass"):
        game.play(vertex)
    assert NetworkPlayer(5, NETWORK).genmove(game) == PASS


def test_it_is_a_player_by_name(tmp_path):
    NETWORK.save(tmp_path / "n.npz")
    player = make_player(f"network,network={tmp_path / 'n.npz'}", 5)
    assert player.genmove(rlgo.Game(5)) == NetworkPlayer(5, NETWORK).genmove(rlgo.Game(5))
    with pytest.raises(RlgoError, match="expected a network file"):
        make_player("network", 5)
    with pytest.raises(RlgoError, match="plays on 5x5, found 9x9"):
        player.genmove(rlgo.Game(9))
