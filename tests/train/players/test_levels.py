"""Levels of strength: what a level stands for, and which keys it cannot be combined with."""

from __future__ import annotations

import pytest

from rlgo.base.errors import RlgoError
from rlgo.go.game import Game
from train.players import make_player
from train.players.levels import LEVELS
from train.players.spec import parse_spec


def test_levels_grow():
    assert list(LEVELS) == list(range(1, 11))
    plain = [level for level in LEVELS if "heuristic" in LEVELS[level]]
    learned = [level for level in LEVELS if "network" in LEVELS[level] and level not in plain]
    assert [*plain, *learned, 10] == list(LEVELS)  # those with more knowledge are the stronger ones
    for group in (plain, learned):
        simulations = [LEVELS[level]["simulations"] for level in group]
        assert simulations == sorted({*simulations})


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_plays(level):
    player = make_player(f"rlgo,strength={level}", 9, 1)
    assert (player.simulations, player.seconds) == (LEVELS[level]["simulations"], None)
    game = Game(9)
    game.play(player.genmove(game))  # refuses an illegal move


@pytest.mark.parametrize("level", [1, 10])
def test_levels_need_no_weights(level):
    make_player(f"rlgo,strength={level}", 5, 1)


def test_a_level_stands_for_its_settings(tmp_path):
    weak = {"heuristic": "none", "simulations": 20, "leaf_value": 0.0, "network": "none"}
    assert parse_spec("rlgo,strength=1,workers=2") == ("rlgo", {"workers": 2, **weak})
    file = tmp_path / "mine.toml"
    file.write_text('player = "rlgo"\nseconds = 5\nresign = 0.1\n')
    assert parse_spec(f"{file},strength=1").values == {"resign": 0.1, **weak}
    file.write_text('player = "rlgo"\nstrength = 1\n')
    assert parse_spec(str(file)).values == weak
    with pytest.raises(RlgoError, match="player rlgo: strength cannot be combined with seconds"):
        parse_spec(f"{file},seconds=5")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("strength=0", "strength = 0: expected an integer from 1 to 10"),
        ("strength=11", "strength = 11: expected an integer from 1 to 10"),
        ("strength=high", 'strength = "high": expected an integer from 1 to 10'),
        ("strength=1,sims=10", "strength cannot be combined with simulations"),
        ("seconds=1,strength=9", "strength cannot be combined with seconds"),
        ("strength=9,heuristic=even", "strength cannot be combined with heuristic"),
    ],
)
def test_what_a_level_is_not(keys, message):
    with pytest.raises(RlgoError) as refused:
        parse_spec(f"rlgo,{keys}")
    assert str(refused.value) == f"player rlgo: {message}"


def test_only_rlgo_has_levels():
    with pytest.raises(RlgoError, match="player mc_rave: unknown key strength"):
        parse_spec("mc_rave,strength=3")
