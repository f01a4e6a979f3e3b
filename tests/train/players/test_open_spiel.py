"""OpenSpiel's tree search as a player."""

from __future__ import annotations

import subprocess
import sys

import pytest
from stand_ins import TWO_STONES_SENT

from rlgo.base.errors import RlgoError
from rlgo.go.board import PASS
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from train.arena.match import play_match

if sys.platform == "win32":  # where the test extra leaves it out
    pytest.skip("OpenSpiel is not installed", allow_module_level=True)

import pyspiel

from train.players.open_spiel import OpenSpielSearch, _action, _point


@pytest.mark.parametrize("size", [5, 9])
def test_points_are_those_of_open_spiel(size: int):
    """By OpenSpiel's own names of its actions."""
    state = pyspiel.load_game("go", {"board_size": size}).new_initial_state()
    for action in state.legal_actions():
        name = state.action_to_string(0, action).split()[1]
        p = from_vertex(name, size)
        assert (_point(action, size), _action(p, size)) == (p, action)


def test_without_open_spiel_it_says_what_to_install():
    code = "import sys; sys.modules['pyspiel'] = None; import train.players.open_spiel"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("RlgoError: needs OpenSpiel, which is not installed: pip install 'rlgo[open-spiel]'")


def test_it_plays_matches_which_a_seed_fixes():
    results = [play_match("random", "open_spiel,sims=10", 4, size=5, seed=seed, progress=False) for seed in (3, 3, 4)]
    assert results[0] == results[1] != results[2]
    assert results[0].forfeits == 0
    assert results[0].distinct == 4


def test_the_search_takes_what_superko_allows():
    """Its favourite repeats a position, which ends the game as a draw for it: better than to lose."""
    game = Game(5, 24.5)
    for name in TWO_STONES_SENT.split():
        game.play(from_vertex(name, 5))
    chosen = OpenSpielSearch(5, 300, seed=1).genmove(game)
    assert game.is_legal(chosen)
    assert not game.is_legal(from_vertex("B1", 5))


def test_games_that_open_spiel_cannot_have():
    game = Game(9)
    game.fixed_handicap(2)
    game.play(from_vertex("E5", 9))
    with pytest.raises(RlgoError, match="without setup stones, and moves in turn"):
        OpenSpielSearch(9, 5).genmove(game)
    game = Game(9)
    game.play(from_vertex("E5", 9), 2)
    with pytest.raises(RlgoError, match="moves in turn"):
        OpenSpielSearch(9, 5).genmove(game)
    with pytest.raises(RlgoError, match="plays on 9x9"):
        OpenSpielSearch(9, 5).genmove(Game(5))
    with pytest.raises(RlgoError, match="simulations = 0"):
        OpenSpielSearch(9, 0)


def test_it_passes_where_the_game_is_over_for_it():
    game = Game(5)
    for _ in range(2):
        game.play(PASS)
    assert OpenSpielSearch(5, 5, seed=1).genmove(game) == PASS
