"""The picture of a tournament."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlgo.base.errors import RlgoError
from train.arena.tournament import read_tournament, run_tournament
from train.arena.tournament_picture import tournament_picture
from train.cli.main import main

TOURNAMENT = """
[tournament]
name = "small"
kind = "{kind}"
size = 5
games = 2

[players]
one = "random"
two = "random"
three = "random"
four = "random"
"""


@pytest.mark.parametrize(("kind", "has_picture"), [("round_robin", True), ("swiss", False)])
def test_the_command_draws_the_ratings_if_there_are_any(tmp_path: Path, kind: str, has_picture: bool) -> None:
    """After one Swiss round, nothing connects the pairs."""
    path = tmp_path / "small.toml"
    path.write_text(TOURNAMENT.format(kind=kind))
    assert main(["tournament", str(path), "--out", str(tmp_path)]) == 0
    picture = tmp_path / "small" / "ratings.png"
    assert picture.exists() == has_picture
    assert not has_picture or picture.read_bytes().startswith(b"\x89PNG")


def test_without_ratings_there_is_no_picture(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(TOURNAMENT.format(kind="swiss"))
    standing = run_tournament(read_tournament(path, str(tmp_path)), progress=False)
    with pytest.raises(RlgoError, match="no ratings yet: "):
        tournament_picture(tmp_path / "x.png", standing)
    assert not (tmp_path / "x.png").exists()
