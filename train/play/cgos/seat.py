"""A session kept in sync with the server's game.

Start reading at `Seat.genmove`.
"""

from __future__ import annotations

from collections.abc import Callable

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, WHITE
from rlgo.go.clock import TimeSettings
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.play.player import RESIGN
from rlgo.play.session import GameSession
from train.play.cgos.messages import ServerGame

_COLORS = {"b": BLACK, "w": WHITE}


class Seat:
    """A session that plays the server's games. If it loses track of one, it replays the whole game.

    Attributes
    ----------
    broken : whether the session cannot follow the current game at all; it will be resigned
    """

    def __init__(
        self, make_session: Callable[[int, float], GameSession], lag: float, note: Callable[[str], None]
    ) -> None:
        """Prepare a seat; the session is made later.

        Parameters
        ----------
        make_session : makes a session for a board size and a komi, whenever the size changes; RlgoError if it cannot
        lag : seconds to subtract from our time for the round trip to the server
        note : called with a line of text for each problem
        """
        self.broken = False
        self._make_session = make_session
        self._lag = lag
        self._note = note
        self._session: GameSession | None = None

    def prepare(self, size: int, komi: float) -> None:
        """Make sure there is a session for boards of this size. RlgoError if none can be made."""
        if self._session is None or self._session.game.size != size:
            self._session = None
            self._session = self._make_session(size, komi)

    def begin(self, game: ServerGame) -> None:
        """Take up a game, at its beginning or in the middle."""
        self.broken = False
        try:
            self._send(game)
        except RlgoError as error:
            self.give_up(game, str(error))

    def play(self, game: ServerGame, color: str, vertex: str) -> None:
        """Play the move just added to the game in the session, too."""
        if self.broken:
            return
        try:
            self._play(color, vertex, game.size)
        except RlgoError as error:
            self._note(f"play {color} {vertex}: {error}; starting over with the whole game")
            self.begin(game)
        else:
            self._set_left(game, color)

    def genmove(self, game: ServerGame) -> str:
        """Choose our move, a vertex or ``resign``. The session has then played it."""
        if self.broken:
            return "resign"
        try:
            return self._choose(game)
        except RlgoError as error:
            self._note(f"genmove {game.to_play}: {error}; starting over with the whole game")
        try:
            self._send(game)
            return self._choose(game)
        except RlgoError as error:
            self.give_up(game, str(error))
            return "resign"

    def ponder(self, game: ServerGame, stop: Callable[[], bool]) -> None:
        """Think in the opponent's time until `stop` returns True."""
        if self._session is not None and not self.broken and game.color not in ("", game.to_play):
            self._session.ponder(stop)

    def give_up(self, game: ServerGame, why: str) -> None:
        """Resign the game at the next move, rather than play nonsense to its end."""
        self.broken = True
        self._note(f"{why}; game {game.id} will be resigned")

    def _send(self, game: ServerGame) -> None:
        """Play the whole game into the session, from the empty board. RlgoError if it cannot follow."""
        assert self._session is not None
        self._session.new_game(game.size, game.komi)
        main = max(0.0, game.main_ms / 1000)
        self._session.set_time(TimeSettings(main) if main else None)
        for color, vertex in game.moves:
            self._play(color, vertex, game.size)
        for color in game.left_ms:
            self._set_left(game, color)

    def _play(self, color: str, vertex: str, size: int) -> None:
        assert self._session is not None
        self._session.play(from_vertex(vertex, size), _COLORS[color])

    def _choose(self, game: ServerGame) -> str:
        assert self._session is not None
        color = game.to_play
        self._set_left(game, color, self._lag)
        p = self._session.genmove(_COLORS[color])
        return "resign" if p == RESIGN else to_vertex(p, game.size).upper()

    def _set_left(self, game: ServerGame, color: str, less: float = 0.0) -> None:
        assert self._session is not None
        self._session.set_left(_COLORS[color], max(0.0, game.left_ms[color] / 1000 - less))
