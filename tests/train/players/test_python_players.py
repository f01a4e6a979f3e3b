"""Players in Python, by `module:Class`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import train.players.python_players as python_players
from rlgo.base.errors import RlgoError
from rlgo.go.game import Game
from train.arena.match import play_match
from train.players import make_player
from train.players.listing import players_text
from train.players.loading import files_loaded
from train.players.spec import parse_spec

SOURCE = '''
import rlgo

class First(rlgo.Player):
    """Plays the first sensible point, or a later one."""

    name = "first"

    def __init__(self, skip: int = 0, share: float = 1, loud=False, word: str = "x", size=9, seed=None, other=()):
        self.given = skip, share, loud, word, size, seed

    def genmove(self, game):
        moves = list(game.sensible_moves())
        return moves[min(self.given[0], len(moves) - 1)] if moves else rlgo.PASS

class Nameless(rlgo.Player):
    def genmove(self, game):
        return rlgo.PASS

class Needy(First):
    def __init__(self, weights):
        pass

class Broken(First):
    def __init__(self):
        raise ValueError("no\\nluck")

class NoPlayer:
    pass

class Outer:
    Inner = First
'''


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    """A module in the current folder."""
    (tmp_path / "some_players.py").write_text(SOURCE)
    (tmp_path / "broken_players.py").write_text("1 / 0\n")
    (tmp_path / "needing_players.py").write_text("import not_installed_at_all\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    python_players._keys_of.cache_clear()
    yield
    python_players._keys_of.cache_clear()
    for name in ("some_players", "broken_players", "needing_players"):
        sys.modules.pop(name, None)


def test_its_arguments_are_keys():
    player = make_player("some_players:First,skip=2,share=0.5,loud=on,word=a b", 5, seed=3)
    assert player.given == (2, 0.5, True, "a b", 5, 3)
    assert make_player("some_players:First", 7).given[:5] == (0, 1.0, False, "x", 7)
    assert player.genmove(Game(5)) == list(Game(5).sensible_moves())[2]
    assert make_player("some_players:Outer.Inner", 5).given[0] == 0
    assert make_player("some_players:Nameless", 5).name == "some_players:Nameless"
    assert parse_spec("some_players:First,skip=1e1").values == {"skip": 10}
    assert make_player("some_players.py:First,skip=3", 5).given[0] == 3


def test_it_plays_matches_and_its_source_is_on_record():
    result = play_match("some_players:First,skip=3", "random", games=2, size=5, seed=1)
    assert "some_players:First,skip=3" in str(result)
    with files_loaded() as files:
        make_player("some_players:First", 5)
    assert files == {Path("some_players.py")}  # relative to the current folder


def test_it_is_listed():
    text = players_text("some_players:First")
    assert text.startswith("some_players:First: Plays the first sensible point, or a later one.")
    assert "skip = 0" in text
    assert "MODULE:CLASS" in players_text()


def test_a_file_may_name_it(tmp_path):
    (tmp_path / "mine.toml").write_text('player = "some_players:First"\nskip = 4\n')
    assert make_player(str(tmp_path / "mine.toml"), 5).given[0] == 4


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no_such_players:First", "player no_such_players:First: no module no_such_players, here or where"),
        ("some_players:Frist", "player some_players:Frist: some_players has no Frist; did you mean First?"),
        ("some_players:", "player some_players:: expected MODULE:NAME or FILE.py:NAME, found some_players:"),
        ("some_players:Needy", "player some_players:Needy: argument weights: expected a default, so that it can be a"),
        ("some_players:Broken", "player some_players:Broken: ValueError: no luck (some_players.py, line 26)"),
        ("some_players:NoPlayer", "player some_players:NoPlayer: it = "),
        ("broken_players:First", "player broken_players:First: ZeroDivisionError: division by zero (broken_players.py"),
        ("needing_players:First", "player needing_players:First: ModuleNotFoundError: No module named 'not_"),
        ("some_players:First,skp=1", "player some_players:First: unknown key skp; did you mean skip?"),
        ("some_players:First,skip=a", 'player some_players:First: skip = "a": expected an integer'),
        ("some_players:First,other=1", "player some_players:First: other: its default is (): expected a number, a sw"),
    ],
)
def test_what_is_wrong_is_one_line(spec, message):
    with pytest.raises(RlgoError) as error:
        make_player(spec, 5)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
