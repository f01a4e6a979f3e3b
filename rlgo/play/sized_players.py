"""The player of a session: one object for each board size, made and warmed up when it is needed.

Start reading at `SizedPlayers.for_size`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import Future

from rlgo.base.errors import RlgoError
from rlgo.base.threads import in_background
from rlgo.go.clock import TimeSettings
from rlgo.go.game import Game
from rlgo.play.notes import bugs_as_errors
from rlgo.play.player import Player, check_player, known_sizes

MakePlayer = Callable[[int], Player]
Ready = Callable[[BaseException | None], None]


class SizedPlayers:
    """A player, and the same player for other board sizes. Learned weights survive changes of size.

    Parameters
    ----------
    player : the first one
    size : its board size
    make : makes the same player for another board size, or raises an RlgoError; None: `player` is the only one
    prepare : called with a player and its board size before its first game; may take long

    Raises
    ------
    RlgoError : if the player does not support the board size.
    """

    def __init__(
        self, player: Player, size: int, make: MakePlayer | None, prepare: Callable[[Player, int], None]
    ) -> None:
        self._current = check_player("player", player)
        self._make, self._prepare = make, prepare
        self._made: dict[int, Player] = {}
        self._made[size] = self.for_size(size)
        self._start: Future[None] | None = None  # until the first use of a player that is prepared in a thread

    def __repr__(self) -> str:
        return repr(self._current)

    @property
    def current(self) -> Player:
        """The player that plays now, once it is ready."""
        self.wait()
        return self._current

    @current.setter
    def current(self, player: Player) -> None:
        self._current = player

    @property
    def name(self) -> str:
        """The player's name, even before it is ready."""
        return self._current.name

    @property
    def is_ready(self) -> bool:
        """Whether the player can move at once."""
        return self._start is None or self._start.done()

    def start(self, size: int, settings: TimeSettings | None, ready: Ready | None) -> None:
        """Make the player ready for its first game.

        ready : if given, this happens in another thread, and `ready` is called from there at the end, with the error
            if it has failed
        """

        def start() -> None:
            self._prepare(self._current, size)
            self._current.start_clock(settings)
            self._current.new_game()

        def start_in_thread() -> None:
            assert ready is not None
            try:
                start()
            except BaseException as error:
                ready(error)
                raise
            ready(None)

        if ready is None:
            start()
        else:
            self._start = in_background(start_in_thread)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the player is ready, or for some seconds. Raises what its `warm_up` raised in its thread."""
        if self._start is not None:
            with contextlib.suppress(TimeoutError):
                self._start.result(seconds)
                self._start = None

    def for_size(self, size: int) -> Player:
        """Return the player for a board size, made now if need be. RlgoError if there is none."""
        try:
            Game(size)
            if self._current.sizes is None or size in self._current.sizes:
                return self._current
            if size not in self._made:
                if self._make is None or not self._made:
                    raise RlgoError(f"{self.name} plays on {known_sizes(self._current.sizes)}")
                player = self._make(size)
                self._prepare(player, size)
                self._made[size] = player
            return self._made[size]
        except RlgoError as error:
            raise RlgoError(f"unacceptable size: {error}") from None

    def begin_game(self, player: Player, settings: TimeSettings | None) -> None:
        """Let a player, from `for_size`, play a new game."""
        if self._start is None or player is not self._current:  # otherwise it is new, and used by another thread
            with bugs_as_errors():
                player.start_clock(settings)
                player.new_game()
        self._current = player

    def close(self) -> None:
        """Close all players."""
        for player in self._made.values():
            player.close()
