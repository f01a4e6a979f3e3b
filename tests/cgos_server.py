"""A Computer Go Server for tests of its client. Start reading at `Server` and `Referee`."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.go.clock import TimeSettings
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.play.player import RESIGN, Player, RandomPlayer
from rlgo.play.session import GameSession
from train.play.cgos import CgosClient, CgosConfig

PASSWORD = "s3cret-word"
USER = "rlgo-bot"


class Talk:
    """The server's side of one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._lines = connection.makefile("rb")

    def send(self, *lines: str | bytes) -> None:
        for line in lines:
            self.send_bytes((line if isinstance(line, bytes) else line.encode()) + b"\n")

    def send_bytes(self, data: bytes) -> None:
        """Send what need not be a line."""
        self._socket.sendall(data)

    def read(self) -> str:
        """The client's next line; empty when it has left."""
        try:
            return self._lines.readline().decode().rstrip("\n")
        except ConnectionError:
            return ""

    def ask(self, line: str) -> str:
        self.send(line)
        return self.read()

    def login(self) -> None:
        assert self.ask("protocol genmove_analyze").startswith("e1 rlgo ")
        assert self.ask("username") == USER
        assert self.ask("password") == PASSWORD

    def close(self) -> None:
        self._lines.close()
        # As a server's that ends: the client sees the end, not an error for what was not read.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


Script = Callable[[Talk], None]


class Server:
    """Listens on a port of its own; the scripts speak with one connection after another. Their errors fail the test."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = scripts
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(60)
        self.port = self._socket.getsockname()[1]
        self.served = 0
        self._errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self) -> None:
        try:
            for script in self._scripts:
                connection, _ = self._socket.accept()
                connection.settimeout(60)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # no waiting for acknowledgements
                talk = Talk(connection)
                try:
                    script(talk)
                finally:
                    talk.close()
                self.served += 1
        except BaseException as error:
            self._errors.append(error)
        finally:
            self._socket.close()

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(90)
        if self._errors:
            raise self._errors[0]
        assert self.served == len(self._scripts)


class Referee:
    """One game as the server knows it: the client plays `color`, and anything illegal fails the test."""

    def __init__(self, id_: str = "1", size: int = 5, komi: float = 6.5, color: str = "b", seed: int = 1) -> None:
        self.id, self.color = id_, color
        self.game = Game(size, komi)
        self.opponent = RandomPlayer(seed)
        self.left = {"b": 60_000, "w": 60_000}
        self.sent: list[str] = []  # the moves, with the times

    @property
    def setup(self) -> str:
        game = self.game
        names = f"foe(1500) {USER}(1800?)" if self.color == "b" else f"{USER}(1800?) foe(1500)"
        return " ".join([f"setup {self.id} {game.size} {game.komi} 60000 {names}", *self.sent])

    @property
    def turn(self) -> str:
        return " bw"[self.game.to_play]

    def move(self, vertex: str) -> str:
        """Play for the colour to play; returns its ``play`` line."""
        color = self.turn
        self.game.play(from_vertex(vertex, self.game.size))
        self.left[color] -= 100
        self.sent.append(f"{vertex} {self.left[color]}")
        return f"play {color} {vertex} {self.left[color]}"

    def ask(self, talk: Talk) -> str:
        """The client's move, played."""
        vertex = talk.ask(f"genmove {self.turn} {self.left[self.turn]}")
        self.move(vertex)
        return vertex

    def answer(self) -> str:
        """The opponent's move, played; its ``play`` line."""
        return self.move(to_vertex(self.opponent.genmove(self.game), self.game.size))

    def go_on(self, talk: Talk, moves: int = 1000) -> None:
        for _ in range(moves):
            if self.game.is_over():
                break
            if self.turn == self.color:
                self.ask(talk)
            else:
                talk.send(self.answer())

    @property
    def gameover(self) -> str:
        return f"gameover 2026-11-21 {self.game.result}"

    def play(self, talk: Talk) -> str:
        """The whole game, from the setup; returns what the client answers to its end."""
        talk.send(self.setup)
        self.go_on(talk)
        return talk.ask(self.gameover)


def one_game(talk: Talk) -> None:
    talk.login()
    assert Referee().play(talk) == "quit"


class Delays:
    """In place of sleeping: what was asked for; the end of patience is an error."""

    def __init__(self, most: int = 5) -> None:
        self.asked: list[float] = []
        self._most = most

    def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        if len(self.asked) > self._most:
            raise TimeoutError("the client does not give up")


def make_config(port: int, **values: Any) -> CgosConfig:
    given = {"games": 1, "lag": 0.0, "timeout": 60.0, "player": "random,seed=1", **values}
    return CgosConfig("127.0.0.1", port, USER, **{"password": PASSWORD, **given})


class Scripted(Player):
    """Plays what it was given, then passes; thinks ahead for as long as it may.

    A move "?" is an error.
    """

    name = "scripted"

    def __init__(self, moves: str = "") -> None:
        self.moves = moves.split()
        self.pondering = threading.Event()
        self.pondered: list[int] = []  # the numbers of moves before
        self.before_move: Callable[[], None] = lambda: None

    def genmove(self, game: Game) -> int:
        self.before_move()
        move = self.moves.pop(0) if self.moves else "pass"
        if move == "?":
            raise RlgoError("does not want to")
        return RESIGN if move == "resign" else from_vertex(move, game.size)

    def ponder(self, game: Game, stop: Callable[[], bool]) -> None:
        self.pondered.append(len(game.moves))
        self.pondering.set()
        while not stop():
            time.sleep(0.001)


class Recorded(GameSession):
    """A session that notes what it is asked for, and fails where it is told to."""

    def __init__(self, player: Player, size: int, komi: float, asked: list[str], **options: Any) -> None:
        super().__init__(player, size, komi, **options)
        self.asked = asked
        self.fails: Callable[[str], bool] = lambda _request: False

    def _note(self, request: str) -> None:
        self.asked.append(request)
        if self.fails(request):
            raise RlgoError("lost track")

    def new_game(self, size: int | None = None, komi: float | None = None) -> None:
        self._note(f"new_game {size} {komi}")
        super().new_game(size, komi)

    def set_time(self, settings: TimeSettings | None) -> None:
        self._note(f"set_time {settings}")
        super().set_time(settings)

    def set_left(self, color: int, seconds: float, stones: int = 0) -> None:
        self._note(f"set_left {'?bw'[color]} {seconds:g}")
        super().set_left(color, seconds, stones)

    def play(self, point: int, color: int | None = None) -> None:
        self._note(f"play {'?bw'[color or 0]} {to_vertex(point, self.game.size)}")
        super().play(point, color)

    def genmove(self, color: int | None = None, *args: Any, **kwargs: Any) -> int:
        self._note(f"genmove {'?bw'[color or 0]}")
        return super().genmove(color, *args, **kwargs)


class Seats:
    """Makes recorded sessions for a client, all with one player."""

    def __init__(self, player: Player | None = None, **options: Any) -> None:
        self.player = player or Scripted()
        self.asked: list[str] = []
        self.fails: Callable[[str], bool] = lambda _request: False
        self._options = options

    def __call__(self, size: int, komi: float) -> GameSession:
        session = Recorded(self.player, size, komi, self.asked, all_alive=True, **self._options)
        session.fails = lambda request: self.fails(request)
        return session


def random_session(size: int, komi: float) -> GameSession:
    return GameSession(RandomPlayer(1), size, komi, all_alive=True)


def run_client(
    *scripts: Script,
    make_session: Callable[[int, float], GameSession] = random_session,
    delays: Delays | None = None,
    **values: Any,
) -> None:
    with Server(*scripts) as server:
        CgosClient(make_config(server.port, **values), make_session, delays or Delays(), lambda: 0.0).run()
