"""Preparations for games: trying out players, and making random openings.

Matches and tournaments share these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.resources import checkpoints_dir
from rlgo.go.game import Game
from rlgo.play.player import Player, random_move
from train import provenance
from train.players import make_player
from train.players.loading import files_loaded


class Tried(NamedTuple):
    """What is known about players that have been tried out."""

    engines: dict[str, str]  # versions of external engines, by name
    programs: dict[str, Any]  # digests of the code and of the files that games depend on; see `provenance.programs`


def try_players(players: Sequence[str | Player], size: int, komi: float) -> Tried:
    """Check that all players can play, and compile what they need.

    Parameters
    ----------
    players : player specs, or players
    size, komi : board size and komi of the games

    Raises
    ------
    RlgoError : for a bad spec, an engine that does not start, or a player of another board size.
    """
    Game(size, komi)  # checks the size, and compiles the board before any clock runs
    versions: dict[str, list[str]] = {}  # two players may be versions of one program
    with files_loaded() as files:
        for given in players:
            player = make_player(given, size, 0) if isinstance(given, str) else given
            try:
                if player.sizes is not None and size not in player.sizes:
                    raise RlgoError(f"player {player.name}: does not play on {size}x{size}")
                player.warm_up()
                if player.version is not None:
                    versions.setdefault(player.name, []).append(player.version)
            finally:
                if player is not given:
                    player.close()
    joined = {name: ", ".join(dict.fromkeys(found)) for name, found in versions.items()}
    return Tried(joined, provenance.programs({_name_of(file): file for file in sorted(files)}))


def _name_of(file: Path) -> str:
    """Return a file's name as users know it: as given, or relative to the shipped files."""
    shipped = checkpoints_dir()
    return file.relative_to(shipped.parent).as_posix() if file.is_relative_to(shipped) else str(file)


def check_opening(plies: int, size: int, max_moves: int | None) -> None:
    """Raise RlgoError unless random openings leave most of the game to the players.

    plies, size : of the openings and the board
    max_moves : plies, including the opening, after which a game is scored as it stands; None: no such limit
    """
    most = size * size // 2
    if not 0 <= plies <= most:
        raise RlgoError(f"opening_plies = {plies}: expected 0 to {most} on {size}x{size}, half its points")
    if max_moves is not None and max_moves <= plies:
        raise RlgoError(f"max_moves = {max_moves}: expected more than the {plies} moves of the opening")


def make_openings(size: int, plies: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Yield an endless sequence of random openings, the same for the same seed."""
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    while True:
        yield tuple(random_opening(size, plies, rng))


def random_opening(size: int, plies: int, rng: np.random.Generator) -> list[int]:
    """Return uniformly random sensible moves from the empty board; a pass if there is none."""
    game = Game(size)
    for _ in range(plies):
        game.play(random_move(game, rng))
    return [p for _, p in game.moves]
