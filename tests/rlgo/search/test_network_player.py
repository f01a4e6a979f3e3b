"""The player that asks a network once a move."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from network_files import random_network
from random_play import random_game

import rlgo
from rlgo.base.errors import RlgoError
from rlgo.base.resources import SHIPPED_NETWORKS
from rlgo.features.planes import planes
from rlgo.go.board import BLACK, PASS
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.positions import places_of
from rlgo.network.architecture import KINDS
from rlgo.network.policy_network import PolicyNetwork
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
    assert np.isnan(player.analyses()["ownership"]).all()
    player.genmove(game)
    own = NETWORK.outputs(planes(game, KINDS)).ownership[0] * (1 if game.to_play == BLACK else -1)
    np.testing.assert_allclose(player.analyses()["ownership"], (1 + own) / 2, atol=1e-6)


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


class Flat(PolicyNetwork):
    """A network to which all moves are alike, but for a few."""

    def __init__(self, **logits: float) -> None:
        self._logits = logits

    def __call__(self, positions):
        logits = np.zeros((1, positions.size**2 + 1))
        logits[0, -1] = -9
        for vertex, x in self._logits.items():
            logits[0, places_of(np.array([from_vertex(vertex, positions.size)]), positions.size)] = x
        return {"logits": logits}


def drawn(game, network, n=300, **keys):
    player = NetworkPlayer(game.size, network, seed=1, **keys)
    return Counter(to_vertex(player.genmove(game), game.size) for _ in range(n))


def test_it_draws_by_probability():
    network = Flat(C3=math.log(40), D3=math.log(10))
    game = rlgo.Game(5)
    for temperature, ratio in ((1.0, 4), (0.5, 16), (2.0, 2)):
        counts = drawn(game, network, 2_000, temperature=temperature)
        assert counts["C3"] / counts["D3"] == pytest.approx(ratio, rel=0.35)
    assert drawn(game, network, 5) == {"C3": 5}


def test_it_draws_nothing_on_the_first_line_in_the_opening():
    game = rlgo.Game(9)
    assert not any(vertex[0] in "AJ" or vertex[1] in "19" for vertex in drawn(game, Flat(A1=5.0), temperature=3.0))
    for vertex in [
        "C3",
        "C4",
        "C5",
        "C6",
        "D3",
        "D4",
        "D5",
        "D6",
        "E3",
        "E4",
        "E5",
        "E6",
        "F3",
        "F4",
        "F5",
        "F6",
        "F7",
    ]:
        game.play(vertex)
    assert any(vertex[0] in "AJ" or vertex[1] in "19" for vertex in drawn(game, Flat(), temperature=3.0))


def test_a_capture_is_not_overlooked():
    """Black captures three stones at F5, and one at J9."""
    game = rlgo.Game(9)
    game.set_up([("black", p) for p in ("B5", "C4", "D4", "C6", "D6", "E4", "E6", "G9", "H8")]
                + [("white", p) for p in ("C5", "D5", "E5", "H9")], "black")  # fmt: skip
    network = Flat(F5=1.0, J9=0.5, G3=2.0)
    assert drawn(game, network, temperature=1.0, sees=3).keys() == {"F5", "G3"}
    assert drawn(game, network, temperature=1.0, sees=1).keys() == {"F5", "G3"}
    assert drawn(game, Flat(J9=0.5), temperature=1.0, sees=1).keys() == {"J9"}
    assert len(drawn(game, Flat(J9=0.5), temperature=1.0, sees=4)) > 20


def test_it_needs_a_temperature_to_see():
    with pytest.raises(RlgoError, match="sees has no effect here: it needs a temperature above 0"):
        make_player("network,network=9x9,sees=3", 9)
