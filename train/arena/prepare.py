"""Preparations for games: checks of players, random openings, and digests of the files that players use.

Matches and tournaments share these.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.board import PASS
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.patterns import find_patterns
from rlgo.player import Player
from rlgo.softmax_policy import find_softmax_policy
from rlgo.weights import find_weights
from train import provenance
from train.players import make_player
from train.players.spec import parse_spec
from train.settings import nested_spec


def try_players(players: Sequence[str | Player], size: int, komi: float) -> dict[str, str]:
    """Check that all players can play, and compile what they need.

    Parameters
    ----------
    players : player specs, or players
    size, komi : board size and komi of the games

    Returns
    -------
    the versions of external engines, by name.

    Raises
    ------
    RlgoError : for a bad spec, an engine that does not start, or a player of another board size.
    """
    Game(size, komi)  # checks the size, and compiles the board before any clock runs
    versions = {}
    for given in players:
        player = make_player(given, size, 0) if isinstance(given, str) else given
        try:
            if player.sizes is not None and size not in player.sizes:
                raise RlgoError(f"player {player.name}: does not play on {size}x{size}")
            player.warm_up()
            if player.version is not None:
                versions[player.name] = player.version
        finally:
            if player is not given:
                player.close()
    return versions


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
    """Yield random openings without end, always the same ones for a seed."""
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    while True:
        yield tuple(random_opening(size, plies, rng))


def random_opening(size: int, plies: int, rng: np.random.Generator) -> list[int]:
    """Return uniformly random sensible moves from the empty board; a pass if there is none."""
    game = Game(size)
    for _ in range(plies):
        moves = game.sensible_moves()
        game.play(moves[rng.integers(len(moves))] if moves else PASS)
    return [p for _, p in game.moves]


def programs_of(specs: Sequence[str]) -> dict[str, Any]:
    """Return digests of what games depend on: rlgo's sources, and the files of weights and patterns that specs name.

    See `provenance.programs`.
    """
    files: dict[str, Path] = {}
    for name, find in itertools.chain.from_iterable(map(_named_files, specs)):
        with contextlib.suppress(RlgoError):  # it may also be a player, or the word none
            files[name] = find(name)
    return provenance.programs(files)


def _named_files(spec: str) -> list[tuple[str, Callable[[str], Path]]]:
    """Return the possible file names in a player's spec, its `prior_search` player's included, and what finds them."""
    try:
        values = parse_spec(spec).values
    except RlgoError:  # the name of a player object
        return []
    kinds: dict[str, Callable[[str], Path]] = dict.fromkeys(("weights", "long_term", "prior_search"), find_weights)
    kinds |= {"patterns": find_patterns, "policy_file": find_softmax_policy}
    names = [(text, find) for key, find in kinds.items() if (text := str(values.get(key, "")))]
    return names + (_named_files(nested_spec(values["prior_search"])) if values.get("prior_search") else [])
