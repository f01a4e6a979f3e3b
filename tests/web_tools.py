"""Helpers for the tests of the web server: a server in this process, tabs, and scripted players."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient, WebSocketTestSession

from rlgo.go.game import Game
from rlgo.play.player import Candidate, Player
from train.play.web.access.specs import Specs
from train.play.web.options import Options
from train.play.web.server import guard
from train.play.web.server.app import create_app
from train.play.web.server.guard import cookie_name
from train.players.spec import strongest

TOKEN = "a-token"
HOME = "http://127.0.0.1:8000"
SESSION = "ws://127.0.0.1:8000/api/session"
SMALL = Options(player="random", size=5, komi=0.5)


# ---------------------------------------------------------------------------------------------
# What the page expects
# ---------------------------------------------------------------------------------------------


def _fields_by_type() -> dict[str, set[str]]:
    """The fields of each interface of the page's types.ts."""
    file = Path(guard.__file__).parents[1] / "page" / "src" / "types.ts"
    text = re.sub(r"//.*", "", file.read_text("utf-8"))
    interfaces = re.findall(r"export interface (\w+) \{(.*?)\n\}", text, re.DOTALL)
    return {name: set(re.findall(r"^  (\w+):", body, re.MULTILINE)) for name, body in interfaces}


FIELDS = _fields_by_type() | {"Ok": {"type"}, "Record": {"type", "sgf"}, "Sgf": {"type", "sgf", "file"}}


def check_fields(name: str, data: dict[str, Any]) -> None:
    """An object from the server has the fields that the page's type of this name has."""
    assert set(data) == FIELDS[name], name


def check_message(text: str) -> dict[str, Any]:
    """A message of the WebSocket is one of those that the page knows; returns it."""
    message: dict[str, Any] = json.loads(text, parse_constant=pytest.fail)  # browsers know no NaN
    kind, fields = message["type"], {name: value for name, value in message.items() if name != "id"}
    if kind == "error":
        assert set(fields) - {"role"} == {"type", "message"}
    else:
        check_fields(kind.capitalize(), fields)
    return message


# ---------------------------------------------------------------------------------------------
# Servers and tabs
# ---------------------------------------------------------------------------------------------


def make_client(options: Options = SMALL, runs: Any = None, *, knows_token: bool = True, **settings: Any) -> TestClient:
    """A browser of a new server."""
    cookies = {cookie_name(HOME): TOKEN} if knows_token else {}
    return TestClient(create_app(options, TOKEN, runs), HOME, cookies=cookies, **settings)


class Page:
    """A tab, as the page sees it: every message is checked against its type."""

    def __init__(self, socket: WebSocketTestSession) -> None:
        self.socket = socket
        self.news: list[dict[str, Any]] = []
        self.read = 0  # of the news, by `until`
        self.ids = 0

    def receive(self) -> dict[str, Any]:
        """The next message."""
        message = check_message(self.socket.receive_text())
        self.news.append(message)
        return message

    def until(self, kind: str, holds: Callable[[dict[str, Any]], Any] = lambda _: True) -> dict[str, Any]:
        """The first message of a type that fulfils a condition, after the last request and those seen already."""
        while True:
            message = self.news[self.read] if self.read < len(self.news) else self.receive()
            self.read += 1
            if message["type"] == kind and holds(message):
                return message
            assert message["type"] != "error" or message["id"] is not None, message

    def ask(self, type: str, **fields: Any) -> dict[str, Any]:
        """Send a request, and return its answer."""
        self.ids += 1
        self.read = len(self.news)
        self.socket.send_text(json.dumps({"type": type, "id": self.ids, **fields}))
        while True:
            message = self.receive()
            if message.get("id") == self.ids:
                return message

    def do(self, type: str, **fields: Any) -> dict[str, Any]:
        """Send a request that succeeds, and return the last game that was told until its answer."""
        answer = self.ask(type, **fields)
        assert answer["type"] != "error", answer
        return next(m for m in reversed(self.news) if m["type"] == "game")

    def refused(self, type: str, **fields: Any) -> str:
        """Send a request that fails, and return why."""
        answer = self.ask(type, **fields)
        assert answer["type"] == "error"
        return str(answer["message"])


@contextlib.contextmanager
def open_page(client: TestClient) -> Iterator[Page]:
    """Open a tab, and read its greeting."""
    with client.websocket_connect(SESSION, headers={"origin": HOME}) as socket:
        page = Page(socket)
        assert page.receive()["type"] == "hello"
        page.until("game")
        yield page


class Endless(Player):
    """Thinks until it is stopped, and then plays the first legal move."""

    sizes = None
    name = "endless"

    def __init__(self) -> None:
        self.steps = 0
        self.ended = threading.Event()

    def genmove(self, game: Game) -> int:
        self.ended.clear()
        while not self.stop():
            self.steps += 1
        self.ended.set()
        return game.legal_moves()[0]

    def candidates(self, game: Game) -> list[Candidate]:
        return [Candidate(p, 0.5, self.steps, [p]) for p in game.legal_moves()[:3]]


def stand_in(monkeypatch: pytest.MonkeyPatch, **players: Callable[[], Player]) -> list[Player]:
    """Let specs of these names make these players; they pass every check. Returns the list of those that are made."""
    make, check, made = Specs.make, Specs.check, list[Player]()

    def check_or_pass(self: Specs, text: str, size: int) -> Any:
        return None if text in players else check(self, text, size)

    def make_or_stand_in(self: Specs, text: str, size: int) -> Player:
        if text not in players:
            return make(self, text, size)
        player = players[text]()
        made.append(player)
        return player

    def analyst(text: str, *limit: float | None) -> str:
        return text if text in players else strongest(text, *limit)

    monkeypatch.setattr("train.play.web.tab.tab.strongest", analyst)
    monkeypatch.setattr(Specs, "check", check_or_pass)
    monkeypatch.setattr(Specs, "make", make_or_stand_in)
    return made
