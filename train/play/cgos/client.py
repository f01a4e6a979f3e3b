"""The client: it connects, logs in, answers the server's lines, and reconnects whenever that fails.

Start reading at `CgosClient._obey`: a line comes in from the server, and an answer goes out. `CgosClient.run` keeps
the connection.
"""

from __future__ import annotations

import contextlib
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from rlgo.base.errors import RlgoError
from rlgo.base.files import user_path, write_atomically
from rlgo.base.resources import version
from rlgo.base.settings import DEFAULT_KOMI
from rlgo.play.session import GameSession
from train.play.cgos.config import CgosConfig, load_cgos
from train.play.cgos.connection import Connection, Log
from train.play.cgos.messages import COLORS, Lost, ServerGame, parse_genmove, parse_play, parse_setup
from train.play.cgos.record import to_sgf
from train.play.cgos.seat import Seat
from train.players.spec import make_player
from train.process import signals_to

LONGEST_DELAY = 60.0  # seconds between two attempts to connect, before jitter


def main(path: str | Path) -> None:
    """Play with the settings of a config file; see `run_cgos`."""
    run_cgos(load_cgos(path))


def run_cgos(config: CgosConfig) -> None:
    """Play on a server until the config's number of games is reached, or until Ctrl-C or SIGTERM.

    Raises
    ------
    RlgoError : for a refused login, a player that cannot be made, or files that cannot be written.
    KeyboardInterrupt : after a signal, once the game is over; after a second one at once, even in the middle of a game.
    """
    with contextlib.ExitStack() as players:

        def make_session(size: int, komi: float) -> GameSession:
            players.close()  # the player of the last size
            player = players.enter_context(contextlib.closing(make_player(config.player, size)))
            return GameSession(player, size, komi, ponders=config.ponder, all_alive=True)

        client = CgosClient(config, make_session)
        client.prepare(config.size)
        client.run()
        if client.signal:
            raise KeyboardInterrupt(client.signal)


class CgosClient:
    """One account on one server, and the session that plays for it.

    Attributes
    ----------
    signal : number of the last signal that asked for the end; 0 if there was none
    """

    def __init__(
        self,
        config: CgosConfig,
        make_session: Callable[[int, float], GameSession],
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Prepare the files; nothing is connected yet.

        Parameters
        ----------
        config : from `load_cgos`, with the password in it
        make_session : makes a session for a board size and a komi, whenever the size changes; RlgoError if it cannot
        sleep : waits for some seconds before the next attempt to connect
        jitter : random numbers in [0, 1), which keep many clients from reconnecting at the same moment

        Raises
        ------
        RlgoError : if the log or the folder of game records cannot be written.
        """
        self._config = config
        self._sleep = sleep
        self._jitter = jitter
        self._sgf = _make_folder(config.sgf) if config.sgf else None
        assert config.password
        self._log = Log(config.log, config.password)
        self._seat = Seat(make_session, config.lag, self._log.note)
        self._game: ServerGame | None = None
        self._games = 0  # finished
        self._failures = 0  # to connect and log in, since the last success
        self._was_logged_in = False  # at any time
        self._interrupts = self.signal = 0
        self._done = False
        self._fatal = ""  # why no further game can be played

    def prepare(self, size: int, komi: float = DEFAULT_KOMI) -> None:
        """Make the session for games of this size now, before a clock runs. RlgoError if it cannot be made."""
        self._seat.prepare(size, komi)

    def run(self) -> None:
        """Connect, log in and play, and connect again after every lost connection; see `run_cgos` for how it ends.

        The first Ctrl-C or SIGTERM lets a running game finish. Outside the main thread, they are not handled.
        """
        with self._log, signals_to(self.interrupt, signal.SIGINT, signal.SIGTERM):
            try:
                while not self._done:
                    try:
                        self._talk()
                    except Lost as lost:
                        self._wait(str(lost))
            except KeyboardInterrupt:
                if self._interrupts != 1:
                    raise
            self._log.note(f"done, {self._games} games played")

    def interrupt(self, number: int) -> None:
        """Handle a signal: end after the current game. Without a game, or the second time, end at once."""
        self._interrupts, self.signal = self._interrupts + 1, number
        name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        if self._game is None or self._interrupts > 1:
            self._log.note(f"{name}: leaving" + (f" game {self._game.id}" if self._game is not None else ""))
            raise KeyboardInterrupt(number)
        self._log.note(f"{name}: this game is the last one; again to leave at once")

    # --- the connection ---

    def _wait(self, why: str) -> None:
        """Wait before the next attempt to connect, longer after each failure."""
        delay = min(LONGEST_DELAY, 2.0 ** min(self._failures, 10))
        delay *= 1 + self._jitter() / 4
        self._failures += 1
        self._log.note(f"{why}; next attempt in {delay:.1f} s")
        self._sleep(delay)

    def _talk(self) -> None:
        """Serve one connection, from the login to its end. Lost if it breaks."""
        config = self._config
        self._log.note(f"connecting to {config.host}:{config.port}")
        connection = Connection(config.host, config.port, config.timeout, self._log)
        try:
            while not self._done:
                self._ponder(connection)
                self._obey(connection.read(), connection)
        except KeyboardInterrupt:
            with contextlib.suppress(Lost):
                connection.send("quit")
            raise
        finally:
            connection.close()
        if self._fatal:
            raise RlgoError(self._log.censor(self._fatal))

    def _ponder(self, connection: Connection) -> None:
        if self._config.ponder and self._game is not None and connection.logged_in and not connection.has_news():
            self._seat.ponder(self._game, connection.has_news)

    # --- the server's lines ---

    def _obey(self, line: str, connection: Connection) -> None:
        """Answer a line from the server. Lost if it makes no sense, RlgoError for a refused login."""
        command, *args = line.split() or [""]
        if command == "protocol":
            connection.send(f"e1 rlgo {version()}")
        elif command == "username":
            connection.send(self._config.user)
        elif command == "password":
            connection.send(self._config.password)
            connection.asked_password = True
        elif command == "info":
            self._welcome(connection)
            if self._game is not None and connection.logged_in and not connection.game_sent:
                # The server sends a running game first; the last one is over.
                self._finish("?", "ended while there was no connection")
                self._go_on(connection, "")
        elif command == "setup":
            self._welcome(connection)
            connection.game_sent = True
            self._setup(line, args)
        elif command == "play":
            self._play(line, args)
        elif command == "genmove":
            connection.send(self._genmove(line, args))
        elif command == "gameover":
            self._gameover(line, args)
            self._go_on(connection, "ready")
        elif command.lower().startswith(("error", "sorry")) and not connection.logged_in:
            self._refused(line)
        else:
            self._log.note("that was not understood")

    def _welcome(self, connection: Connection) -> None:
        """Note that the login succeeded: the server sends other lines only after a correct password."""
        if connection.asked_password and not connection.logged_in:
            connection.logged_in = self._was_logged_in = True
            self._failures = 0

    def _refused(self, line: str) -> NoReturn:
        if self._was_logged_in and "already logged on" in line.lower():
            # The server has not noticed yet that the last connection was lost.
            raise Lost("the server has not closed the last connection yet")
        where = f"{self._config.host}:{self._config.port}"
        raise RlgoError(self._log.censor(f"{where} refused the login of {self._config.user}: {line}"))

    def _setup(self, line: str, args: list[str]) -> None:
        game = parse_setup(line, args, self._config.user)
        if self._game is not None and self._game.id != game.id:
            self._finish("?", "the server moved on to another game")
        self._game = game
        self._log.note(f"game {game.id}: {game.white} (White) against {game.black} (Black)")
        if not game.color:
            self._log.note(f"game {game.id}: neither is {self._config.user}")
        try:
            self._seat.prepare(game.size, game.komi)
        except RlgoError as error:
            # Without a player for this size, do not go on to lose more games.
            self._fatal = f"game {game.id}, {game.size}x{game.size}: {error}"
            self._seat.give_up(game, str(error))
            return
        self._fatal = ""
        self._seat.begin(game)

    def _play(self, line: str, args: list[str]) -> None:
        game = self._running(line)
        color, vertex, ms = parse_play(line, args)
        if color != game.to_play:
            raise Lost(f"{line}: expected a move of {game.to_play}")
        game.moves.append((color, vertex))
        game.left_ms[color] = ms
        self._seat.play(game, color, vertex)

    def _genmove(self, line: str, args: list[str]) -> str:
        """Choose our move: a vertex, or ``resign``."""
        game = self._running(line)
        color, ms = parse_genmove(line, args)
        if color != game.to_play:
            raise Lost(f"{line}: expected a move of {game.to_play}")
        game.color = color
        game.left_ms[color] = ms
        answer = self._seat.genmove(game)
        if answer != "resign":
            game.moves.append((color, answer))
        return answer

    def _gameover(self, line: str, args: list[str]) -> None:
        if self._game is None:
            self._log.note("that was not our game")
            return
        if len(args) < 2:
            raise Lost(f"{line}: expected gameover DATE RESULT [REASON]")
        date, result, *reason = args
        self._finish(result, " ".join(reason), date)

    def _finish(self, result: str, reason: str = "", date: str = "") -> None:
        game, self._game = self._game, None
        assert game is not None
        self._games += 1
        winner = result[:1].lower()
        ended = "no winner" if winner not in COLORS else "won" if winner == game.color else "lost"
        self._log.note(f"game {game.id}: {ended}, {result}" + (f" ({reason})" if reason else ""))
        if self._sgf is not None:
            file = self._sgf / f"{game.id}.sgf"
            try:
                record = to_sgf(game, result, reason, date, self._config.host, self._log.censor)
                write_atomically(file, record)
            except (ValueError, RlgoError) as error:
                self._log.note(f"no record of this game: {error}")

    def _go_on(self, connection: Connection, answer: str) -> None:
        """Continue after a game: ask for the next one, or quit."""
        enough = 0 < self._config.games <= self._games
        self._done = bool(self._interrupts or enough or self._fatal)
        if self._done or answer:
            connection.send("quit" if self._done else answer)

    def _running(self, line: str) -> ServerGame:
        # On a new connection, the server sends the game first.
        if self._game is None:
            raise Lost(f"{line}: there is no game")
        return self._game


def _make_folder(name: str) -> Path:
    path = user_path(name)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RlgoError(f"sgf = {name}: expected a folder to write to: {error.strerror}") from None
    return path
