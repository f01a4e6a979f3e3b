"""Levels of strength: what a level stands for, and which keys it cannot be combined with."""

from __future__ import annotations

import re

import pytest

from rlgo.base.errors import RlgoError
from rlgo.go.game import Game
from train.players import make_player
from train.players.levels import LEVELS, STRENGTHS, spec_of_level
from train.players.spec import parse_spec, strongest


@pytest.mark.parametrize("size", LEVELS)
def test_levels_grow(size):
    temperatures, simulations = LEVELS[size]
    assert len(temperatures) + len(simulations) == len(STRENGTHS) == 10
    assert list(temperatures) == sorted({*temperatures}, reverse=True)
    assert list(simulations) == sorted({*simulations})


@pytest.mark.parametrize("size", [9, 13, 19])
def test_captures_are_seen(size):
    seen = [int(re.search(r"sees=(\d+)", spec_of_level(level, size))[1]) for level in (2, 3, 4)]
    assert seen == [3, 3, 1]


@pytest.mark.parametrize("level", STRENGTHS)
def test_every_level_plays(level):
    player = make_player(f"rlgo,strength={level}", 9, 1)
    assert (player.name, player.seconds) == ("rlgo", None)
    assert player.simulations == parse_spec(spec_of_level(level, 9)).values.get("simulations")
    game = Game(9)
    game.play(player.genmove(game))  # refuses an illegal move


@pytest.mark.parametrize("level", [1, 10])
def test_levels_play_on_every_board(level):
    assert make_player(f"rlgo,strength={level}", 5, 1).sizes == (5,)


def test_the_strongest_player_analyses():
    assert strongest("rlgo,strength=1,seed=3") == "rlgo"
    assert strongest("rlgo,sims=10") == "rlgo,sims=10"


def test_a_level_decides_all_keys(tmp_path):
    assert parse_spec("rlgo,strength=1,seed=2") == ("rlgo", {"strength": 1, "seed": 2})
    file = tmp_path / "mine.toml"
    file.write_text('player = "rlgo"\nseconds = 5\n')
    assert parse_spec(f"{file},strength=1").values == {"strength": 1}
    file.write_text('player = "rlgo"\nstrength = 1\n')
    assert parse_spec(str(file)).values == {"strength": 1}
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
        ("strength=9,resign=0.1", "strength cannot be combined with resign"),
    ],
)
def test_what_a_level_is_not(keys, message):
    with pytest.raises(RlgoError) as refused:
        parse_spec(f"rlgo,{keys}")
    assert str(refused.value) == f"player rlgo: {message}"


def test_only_rlgo_has_levels():
    with pytest.raises(RlgoError, match="player mc_rave: unknown key strength"):
        parse_spec("mc_rave,strength=3")
