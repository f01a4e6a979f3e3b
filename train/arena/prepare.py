"""Preparations for games, which matches and tournaments share: trying out the players."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rlgo.base.errors import RlgoError
from rlgo.base.resources import checkpoints_dir
from rlgo.go.game import Game
from rlgo.play.player import Player
from train import provenance
from train.players import make_player
from train.players.loading import files_loaded


class Tried(NamedTuple):
    """What is known about players that have been tried out."""

    engines: dict[str, str]  # versions of external engines, by name
    programs: dict[str, Any]  # digests of the code and of the files that games depend on; see `provenance.programs`
    seconds: tuple[float | None, ...] = ()  # limit of each player for a move


def try_players(players: Sequence[str | Player], size: int, komi: float, files_too: Iterable[Path] = ()) -> Tried:
    """Check that all players can play, and compile what they need.

    Parameters
    ----------
    players : player specs, or players
    size, komi : board size and komi of the games
    files_too : other files that the games depend on, such as their openings

    Raises
    ------
    RlgoError : for a bad spec, an engine that does not start, or a player of another board size.
    """
    Game(size, komi)  # checks the size, and compiles the board before any clock runs
    seconds: list[float | None] = []
    versions: dict[str, list[str]] = {}  # two players may be versions of one program
    with files_loaded() as files:
        for given in players:
            player = make_player(given, size, 0) if isinstance(given, str) else given
            try:
                if player.sizes is not None and size not in player.sizes:
                    raise RlgoError(f"player {player.name}: does not play on {size}x{size}")
                player.warm_up()
                seconds.append(player.seconds)
                if player.version is not None:
                    versions.setdefault(player.name, []).append(player.version)
            finally:
                if player is not given:
                    player.close()
    joined = {name: ", ".join(dict.fromkeys(found)) for name, found in versions.items()}
    used = {_name_of(file): file for file in sorted({*files, *files_too})}
    return Tried(joined, provenance.programs(used), tuple(seconds))


def _name_of(file: Path) -> str:
    """Return a file's name as users know it: as given, or relative to the shipped files."""
    shipped = checkpoints_dir()
    return file.relative_to(shipped.parent).as_posix() if file.is_relative_to(shipped) else str(file)
