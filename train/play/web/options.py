"""Settings of the server from the command line, and the limits of a tab.

Start reading at `Options`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE


class Limits(NamedTuple):
    """Limits that keep one tab from starving the others."""

    tabs: int = 32  # connections at a time
    players: int = 48  # players at a time, of all tabs together
    analyses: int = 4  # HTTP requests that compute, at a time
    seconds: float = 120.0  # of a search
    memory_mb: float = 64.0  # of a player's tree
    message_bytes: int = 1_000_000  # of a request
    frames: int = 200  # kept of a search
    moves_factor: int = 4  # engines stop moving after this many moves for each point of the board


class Options(NamedTuple):
    """The settings of a server.

    Attributes
    ----------
    player : the default spec of seats and searches. It is trusted: only specs from the page are checked
    size, komi : board size and komi of the first game
    host : the address that the server is bound to, or the name that it is known by
    weights, sgf : folders whose weight files and game records the page may use; saved records go to the first of `sgf`
    limits : see `Limits`
    """

    player: str = "rlgo"
    size: int = DEFAULT_SIZE
    komi: float = DEFAULT_KOMI
    host: str = "127.0.0.1"
    weights: tuple[Path, ...] = ()
    sgf: tuple[Path, ...] = ()
    limits: Limits = Limits()
