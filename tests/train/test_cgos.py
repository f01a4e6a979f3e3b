"""The client of the Computer Go Server, against a small server of our own. Start reading at `Server`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import random
import signal
import socket
import sys
import threading
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rlgo.coords import from_vertex, to_vertex
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.gtp import GtpEngine
from rlgo.player import RandomPlayer
from rlgo.resources import config_path
from rlgo.sgf import load_sgf
from rlgo.weights import shipped_weights
from train.play.cgos import Cgos, CgosClient, Engine, load_cgos, main, run_cgos

PASSWORD = "s3cret-word"
USER = "rlgo-bot"

# ---------------------------------------------------------------------------------------------
# The server
# ---------------------------------------------------------------------------------------------


class Talk:
    """The server's side of one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._lines = connection.makefile("rb")

    def send(self, *lines: str | bytes) -> None:
        for line in lines:
            self._socket.sendall((line if isinstance(line, bytes) else line.encode()) + b"\n")

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
        self.told: list[str] = []  # the moves, with the times

    @property
    def setup(self) -> str:
        game = self.game
        names = f"foe(1500) {USER}(1800?)" if self.color == "b" else f"{USER}(1800?) foe(1500)"
        return " ".join([f"setup {self.id} {game.size} {game.komi} 60000 {names}", *self.told])

    @property
    def turn(self) -> str:
        return " bw"[self.game.to_play]

    def move(self, vertex: str) -> str:
        """Play for the colour to play; returns its ``play`` line."""
        color = self.turn
        self.game.play(from_vertex(vertex, self.game.size))
        self.left[color] -= 100
        self.told.append(f"{vertex} {self.left[color]}")
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


def make_config(port: int, **values: Any) -> Cgos:
    given = {"games": 1, "lag": 0.0, "timeout": 60.0, "player": "random,seed=1", **values}
    return Cgos("127.0.0.1", port, USER, **{"password": PASSWORD, **given})


def random_engine(size: int, komi: float) -> GtpEngine:
    return GtpEngine(RandomPlayer(1), size, komi)


class FakeEngine:
    """Notes the commands, passes as its move, and answers as told where it was told so."""

    def __init__(self, **answers: str | Callable[[], str]) -> None:
        self.answers = answers
        self.commands: list[str] = []
        self.pondering = threading.Event()
        self.known = "time_settings time_left kgs-rules cgos-opponent_name cgos-gameover"

    def handle(self, line: str) -> str | None:
        self.commands.append(line)
        name = line.split()[0]
        answer = self.answers.get(name, "= pass" if name == "genmove" else "=")
        if name == "list_commands":
            answer = "= " + self.known.replace(" ", "\n")
        return (answer if isinstance(answer, str) else answer()) + "\n\n"

    def ponder(self, stop: Callable[[], bool]) -> None:
        self.commands.append("ponder")
        self.pondering.set()
        while not stop():
            time.sleep(0.001)

    def make(self, size: int, komi: float) -> Engine:
        return self


def run_client(
    *scripts: Script,
    make_engine: Callable[[int, float], Engine] = random_engine,
    delays: Delays | None = None,
    **values: Any,
) -> None:
    with Server(*scripts) as server:
        CgosClient(make_config(server.port, **values), make_engine, delays or Delays(), lambda: 0.0).run()


# ---------------------------------------------------------------------------------------------
# Games
# ---------------------------------------------------------------------------------------------


def test_games_of_both_colours_and_other_sizes(tmp_path: Path) -> None:
    games = [Referee("7", 5, 6.5, "b"), Referee("8", 5, -0.5, "w", 2), Referee("9", 7, 7.5, "w", 3)]

    def script(talk: Talk) -> None:
        talk.login()
        talk.send("info welcome")
        assert [game.play(talk) for game in games] == ["ready", "ready", "quit"]
        assert talk.read() == ""

    with Server(script) as server:
        run_cgos(make_config(server.port, games=3, sgf=str(tmp_path / "a" / "sgf")))
    for game in games:
        file = tmp_path / "a" / "sgf" / f"{game.id}.sgf"
        record = load_sgf(file)
        assert (record.moves, record.size, record.komi) == (game.game.moves, game.game.size, game.game.komi)
        text = file.read_text("utf-8")
        ours, other = ("PB", "PW") if game.color == "b" else ("PW", "PB")
        for part in (f"RE[{game.game.result}]", f"{ours}[{USER}]", f"{other}[foe]", "DT[2026-11-21]"):
            assert part in text


def test_an_engine_is_made_for_each_size() -> None:
    made: list[tuple[int, float]] = []

    def make_engine(size: int, komi: float) -> Engine:
        made.append((size, komi))
        return random_engine(size, komi)

    def script(talk: Talk) -> None:
        talk.login()
        games = [Referee(str(i), size, komi) for i, (size, komi) in enumerate([(5, 6.5), (5, 7.5), (6, 7.5), (5, 0.5)])]
        assert [game.play(talk) for game in games] == ["ready", "ready", "ready", "quit"]

    run_client(script, make_engine=make_engine, games=4)
    assert made == [(5, 6.5), (6, 7.5), (5, 0.5)]


def test_what_the_engine_is_told() -> None:
    engine = FakeEngine(genmove="= c3")

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 12 9 7.5 300000 {USER}(1700?) foe(1500?)", "play b d4 290500")
        assert talk.ask("genmove w 300000") == "C3"
        talk.send("play b PASS 290000")
        assert talk.ask("genmove w 400") == "C3"
        talk.send("gameover 2026-11-21 B+Illegal move to occupied point")
        assert talk.read() == "quit"

    run_client(script, make_engine=engine.make, lag=0.75)
    assert engine.commands == [
        "list_commands",
        "boardsize 9",
        "clear_board",
        "kgs-rules chinese",
        "komi 7.5",
        "time_settings 300 0 0",
        "cgos-opponent_name foe",
        "play b D4",
        "time_left b 290.5 0",
        "time_left w 299.25 0",
        "genmove w",
        "play b PASS",
        "time_left b 290 0",
        "time_left w 0 0",  # never below
        "genmove w",
        "cgos-gameover B+Illegal",
    ]


def test_an_engine_need_not_know_more_than_the_game() -> None:
    engine = FakeEngine()
    engine.known = "time_left"
    engine.answers["time_left"] = "? no clock"

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 12 9 7.5 300000 foe(1) {USER}(2)")
        assert talk.ask("genmove b 300000") == "PASS"
        assert talk.ask("gameover 2026-11-21 B+1.5") == "quit"

    run_client(script, make_engine=engine.make)
    assert {line.split()[0] for line in engine.commands} == {
        "list_commands", "boardsize", "clear_board", "komi", "time_left", "genmove",
    }  # fmt: skip


def test_an_engine_that_resigns() -> None:
    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 12 9 7.5 300000 foe(1) {USER}(2)")
        assert talk.ask("genmove b 300000") == "resign"
        assert talk.ask("gameover 2026-11-21 W+Resign") == "quit"

    run_client(script, make_engine=FakeEngine(genmove="= resign").make)


@pytest.mark.parametrize("on", [True, False])
def test_pondering_in_the_opponents_time(on: bool) -> None:
    engine = FakeEngine()
    engine.known = ""

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 foe(1) {USER}(2)")
        assert talk.ask("genmove b 60000") == "PASS"
        assert not on or engine.pondering.wait(30)
        talk.send("play w C3 50000")  # our turn: no pondering
        assert talk.ask("genmove b 50000") == "PASS"
        assert talk.ask("gameover 2026-11-21 W+7.5") == "ready"
        talk.send("setup 2 5 7.5 60000 foe(1) foe2(2)")  # whose turn it is, who knows

    run_client(script, one_game, make_engine=engine.make, ponder=on, games=3)
    before = engine.commands[: engine.commands.index("play w C3")]
    assert ("ponder" in before) == on == ("ponder" in engine.commands)
    if on:
        assert before[-1] == "ponder" and before[-2] == "genmove b"


def test_a_crash_while_pondering_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    class Crashing(FakeEngine):
        def ponder(self, stop: Callable[[], bool]) -> None:
            self.pondering.set()
            raise ZeroDivisionError("by nought")

    engine = Crashing()

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 {USER}(1) foe(2)")
        assert engine.pondering.wait(30)
        talk.send("play b C3 50000")
        assert talk.ask("genmove w 60000") == "PASS"
        assert talk.ask("gameover 2026-11-21 W+7.5") == "quit"

    run_client(script, make_engine=engine.make, ponder=True)
    assert "pondering failed: ZeroDivisionError: by nought" in capsys.readouterr().err


def test_our_own_engine_ponders() -> None:
    pondered: list[int] = []
    begun = threading.Event()

    class Ponderer(RandomPlayer):
        def ponder(self, game: Game, stop: Callable[[], bool]) -> None:
            pondered.append(len(game.moves))
            begun.set()
            while not stop():
                time.sleep(0.001)

    def script(talk: Talk) -> None:
        talk.login()
        game = Referee()
        talk.send(game.setup)
        game.ask(talk)
        assert begun.wait(30)
        game.go_on(talk)
        assert talk.ask(game.gameover) == "quit"

    run_client(script, make_engine=lambda size, komi: GtpEngine(Ponderer(1), size, komi, ponders=True), ponder=True)
    assert pondered[0] == 1 and all(n % 2 for n in pondered)  # after moves of Black's, ours


# ---------------------------------------------------------------------------------------------
# Engines that fail
# ---------------------------------------------------------------------------------------------


def test_an_engine_that_lost_track_is_told_the_whole_game(capsys: pytest.CaptureFixture[str]) -> None:
    plays = iter(["=", "=", "? illegal move"])
    moves = iter(["? internal error", "= B2", "= what?", "= A1"])
    engine = FakeEngine(play=lambda: next(plays, "="), genmove=lambda: next(moves))
    engine.known = ""

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 {USER}(1) foe(2)", "play b C3 50000")
        assert talk.ask("genmove w 60000") == "B2"
        talk.send("play b D3 40000")
        assert talk.ask("genmove w 60000") == "A1"
        assert talk.ask("gameover 2026-11-21 W+7.5") == "quit"

    run_client(script, make_engine=engine.make)
    told = ["boardsize 5", "clear_board", "komi 7.5"]
    two, four = ["play b C3"], ["play b C3", "play w B2", "play b D3"]
    assert engine.commands == [
        *["list_commands", *told, *two, "genmove w"], *[*told, *two, "genmove w"],
        *["play b D3"], *[*told, *four, "genmove w"], *[*told, *four, "genmove w"],
    ]  # fmt: skip
    errors = capsys.readouterr().err
    for words in ("genmove w: failed: internal error", "play b D3: failed: illegal move", "genmove w: vertex 'what?'"):
        assert words in errors


def test_a_game_that_the_engine_cannot_follow_is_resigned_and_the_next_one_played() -> None:
    answer, third = "? illegal move", Referee("3")
    engine = FakeEngine(play=lambda: answer)

    def script(talk: Talk) -> None:
        nonlocal answer
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 {USER}(1) foe(2)", "play b C3 50000")
        assert talk.ask("genmove w 60000") == "resign"
        assert talk.ask("gameover 2026-11-21 B+Resign") == "ready"
        talk.send(f"setup 2 5 7.5 60000 {USER}(1) foe(2) C3 50000")  # in the setup
        assert talk.ask("genmove w 60000") == "resign"
        assert talk.ask("gameover 2026-11-21 B+Resign") == "ready"
        answer = "="
        assert third.play(talk) == "ready"
        engine.answers["genmove"] = "? no"
        talk.send(f"setup 4 5 7.5 60000 {USER}(1) foe(2)", "play b C3 50000")
        assert talk.ask("genmove w 60000") == "resign"
        assert talk.ask("gameover 2026-11-21 B+Resign") == "quit"

    run_client(script, make_engine=engine.make, games=4)
    assert [line for line in engine.commands if "gameover" in line] == [f"cgos-gameover {third.game.result}"]


def test_a_player_that_cannot_be_made_loses_one_game_and_no_more() -> None:
    def script(talk: Talk) -> None:
        talk.login()
        talk.send("setup 5 6 7.5 60000 foe(1) rlgo-bot(2)")
        assert talk.ask("genmove b 60000") == "resign"
        assert talk.ask("gameover 2026-11-21 W+Resign") == "quit"

    with Server(script) as server, pytest.raises(RlgoError, match=r"game 5, 6x6: player greedy: .*expected weights"):
        run_cgos(make_config(server.port, games=0, player=f"greedy,weights={shipped_weights(9)}"))


# ---------------------------------------------------------------------------------------------
# Connections that break
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("color", ["b", "w"])
@pytest.mark.parametrize("answered", [True, False])
def test_a_game_is_resumed(color: str, answered: bool) -> None:
    """The server ends in the midst; it has read our last move, or not, so that it asks again."""
    referee, delays = Referee(color=color), Delays()

    def first(talk: Talk) -> None:
        talk.login()
        talk.send(referee.setup)
        referee.go_on(talk, 6 if color == "b" else 7)
        assert referee.turn == color
        if answered:
            referee.ask(talk)
        else:
            talk.ask(f"genmove {referee.turn} 50000")

    def second(talk: Talk) -> None:
        talk.login()
        assert len(referee.told) in (6, 7, 8)
        assert referee.play(talk) == "quit"

    run_client(first, second, delays=delays)
    assert delays.asked == [1.0]


def test_a_resumed_game_is_told_to_the_engine() -> None:
    engine = FakeEngine()
    engine.known = "time_left"

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 foe(1) {USER}(2) C3 51000 d4 52000 pass 49500")
        talk.send("gameover 2026-11-21 W+Time")
        assert talk.read() == "quit"

    run_client(script, make_engine=engine.make)
    assert engine.commands[-5:] == ["play b C3", "play w D4", "play b PASS", "time_left b 49.5 0", "time_left w 52 0"]


def test_a_game_that_ended_while_there_was_no_connection(tmp_path: Path) -> None:
    def first(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 foe(1) {USER}(2)")
        assert talk.ask("genmove b 60000") == "PASS"

    def second(talk: Talk) -> None:
        talk.send("info you are not logged in yet")
        talk.login()
        talk.send("info Maximum time until next round: 00:10")
        assert talk.read() == "quit"

    run_client(first, second, make_engine=FakeEngine().make, sgf=str(tmp_path))
    assert "RE[?]" in (tmp_path / "1.sgf").read_text("utf-8")


def test_a_game_that_gave_way_to_another_one() -> None:
    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 foe(1) {USER}(2)")
        assert Referee("2").play(talk) == "quit"

    run_client(script, games=2)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.mark.parametrize("jitter", [0.0, 0.5])
def test_delays_grow(jitter: float) -> None:
    delays = Delays(8)
    with pytest.raises(TimeoutError):
        CgosClient(make_config(free_port()), random_engine, delays, lambda: jitter).run()
    assert delays.asked == [x * (1 + jitter / 4) for x in (1, 2, 4, 8, 16, 32, 60, 60, 60)]


def test_a_login_resets_the_delays() -> None:
    def closes(talk: Talk) -> None:
        talk.send("protocol")

    def unsure(talk: Talk) -> None:
        talk.login()

    def logs_in(talk: Talk) -> None:
        talk.login()
        talk.send("info welcome")

    delays = Delays()
    run_client(closes, unsure, logs_in, closes, one_game, delays=delays)
    assert delays.asked == [1, 2, 1, 2]


def test_a_name_that_no_name_server_knows(capsys: pytest.CaptureFixture[str]) -> None:
    for host in ("nowhere.invalid", "a..b", "x" * 70 + ".invalid"):
        delays = Delays(0)
        config = dataclasses.replace(make_config(1), host=host)
        with pytest.raises(TimeoutError, match="does not give up"):
            CgosClient(config, random_engine, delays).run()
    assert capsys.readouterr().err.count("cannot connect: ") == 3


def test_silence_is_taken_for_a_lost_connection(capsys: pytest.CaptureFixture[str]) -> None:
    def silent(talk: Talk) -> None:
        talk.login()
        assert talk.read() == ""

    def silent_in_a_game(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 {USER}(2) foe(1)")
        assert talk.read() == ""

    run_client(silent, silent_in_a_game, one_game, make_engine=FakeEngine().make, ponder=True, timeout=0.3)
    assert capsys.readouterr().err.count("no word from the server for 0.3 s") == 2


# ---------------------------------------------------------------------------------------------
# Logins
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer", ["Sorry, password doesn't match", "Error: no such user", "Error: You are already logged on!"]
)
@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_refused_login_is_the_end(answer: str, end: bytes) -> None:
    def script(talk: Talk) -> None:
        talk.login()
        talk._socket.sendall(answer.encode() + end)

    with Server(script) as server, pytest.raises(RlgoError) as error:
        CgosClient(make_config(server.port), random_engine, Delays(0)).run()
    assert str(error.value) == f"127.0.0.1:{server.port} refused the login of {USER}: {answer}"


def test_a_server_that_has_not_noticed_the_end_of_the_last_connection() -> None:
    def first(talk: Talk) -> None:
        talk.login()
        talk.send("info welcome")

    def second(talk: Talk) -> None:
        assert talk.ask("username") == USER
        talk.send("Error: You are already logged on!  Closing connection.")

    run_client(first, second, one_game)


def test_errors_after_the_login_are_only_words() -> None:
    def script(talk: Talk) -> None:
        talk.login()
        talk.send("info welcome", "Error: something", "sorry")
        assert Referee().play(talk) == "quit"

    run_client(script)


# ---------------------------------------------------------------------------------------------
# Nonsense
# ---------------------------------------------------------------------------------------------

ABSURD = [
    "setup", "setup 1", "setup 1 5 7.5 60000 foe(1)", "setup 1 5 7.5 60000 foe(1) rlgo-bot(2) C3",
    "setup ../../x 5 7.5 60000 foe(1) rlgo-bot(2)", "setup 1 -5 7.5 60000 foe(1) rlgo-bot(2)",
    "setup 1 five 7.5 60000 foe(1) rlgo-bot(2)", "setup 1 5 nan 60000 foe(1) rlgo-bot(2)",
    "setup 1 5 1e999 60000 foe(1) rlgo-bot(2)", "setup 1 5 7.5 soon foe(1) rlgo-bot(2)",
    "setup 1 5 7.5 60000 foe(1) rlgo-bot(2) I3 100", "setup 1 5 7.5 60000 foe(1) rlgo-bot(2) C3 soon",
    "setup 1 \u0665 7.5 60000 foe(1) rlgo-bot(2)", "play", "play b", "play b C3 100", "play x C3 100", "play b C3 soon",
    "play b C99 100", "genmove", "genmove b", "genmove b 100", "genmove x 100", "genmove b soon", "gameover",
    "gameover 2026-11-21", "gameover 2026-11-21 B+1", "PROTOCOL", "= D4", "?", "\x1b[31mred", "\u202eleft", "a" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("running", [False, True])
def test_absurd_lines(running: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Each one on a connection of its own, after which a game goes on, or can be played."""
    referee = Referee(size=7)

    def absurd(line: str) -> Script:
        def script(talk: Talk) -> None:
            talk.login()
            if running:
                talk.send(referee.setup)
                referee.go_on(talk, 1)
            talk.send(line)

        return script

    def last(talk: Talk) -> None:
        talk.login()
        assert not referee.game.is_over()
        assert referee.play(talk) == "quit"

    # One of the lines ends a game.
    run_client(*map(absurd, ABSURD), last, delays=Delays(len(ABSURD)), games=1 + running)
    assert "Traceback" not in capsys.readouterr().err


def test_random_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(1)

    def noise(talk: Talk) -> None:
        talk.login()
        talk.send(*[rng.randbytes(rng.randrange(200)) for _ in range(50)])

    def endless(talk: Talk) -> None:
        with contextlib.suppress(ConnectionError):
            talk.send(b"x" * 3_000_000)

    run_client(noise, endless, noise, one_game)
    errors = capsys.readouterr().err
    assert "a line without an end" in errors and "Traceback" not in errors
    assert all(line.isprintable() for line in errors.split("\n"))


@pytest.mark.parametrize("line", ["play w C3 50000", "genmove w 50000"])
def test_a_turn_that_is_not_a_colours_is_asked_about_in_a_new_connection(line: str) -> None:
    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 foe(1) {USER}(2)", line)
        assert talk.read() == ""

    delays = Delays()
    run_client(script, one_game, delays=delays)
    assert delays.asked == [1.0]


def test_a_board_of_no_size_is_resigned() -> None:
    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 99 7.5 60000 foe(1) {USER}(2)")
        assert talk.ask("genmove b 60000") == "resign"
        assert talk.ask("gameover 2026-11-21 W+Resign") == "quit"

    with Server(script) as server, pytest.raises(RlgoError, match=r"game 1, 99x99: .*: expected 5 to 19"):
        CgosClient(make_config(server.port), random_engine).run()


# ---------------------------------------------------------------------------------------------
# Secrets and logs
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("password", [PASSWORD, "D4D4", "pass", "a+b(c)*?\\"])
def test_the_password_is_shown_nowhere(tmp_path: Path, password: str, capfd: pytest.CaptureFixture[str]) -> None:
    def script(talk: Talk) -> None:
        assert talk.ask("protocol").startswith("e1")
        assert talk.ask("username") == USER
        assert talk.ask("password") == password
        talk.send(f"info your password is {password}", password, f"{password}{password}")
        talk.send("x" * (500 - len(password) // 2) + password, password[:2] + "\0" + password[2:])
        talk.send(f"setup 1 5 7.5 60000 {password}(1) {USER}(2)")
        assert talk.ask("genmove b 60000").islower() is False
        assert talk.ask(f"gameover {password} W+{password} because of {password}") == "ready"
        talk.send(f"setup {password} {password} {password}")

    def refuses(talk: Talk) -> None:
        assert talk.ask("password") == password
        talk.send(f"Error: {password} is wrong")

    files = {"log": str(tmp_path / "log.txt"), "sgf": str(tmp_path)}
    with Server(script, refuses) as server, pytest.raises(RlgoError) as error:
        config = make_config(server.port, password=password, games=0, **files)
        CgosClient(config, random_engine, Delays()).run()
    assert str(error.value).endswith(": Error: *** is wrong")
    assert password not in str(error.value) and "password=" not in repr(config)
    written = [file.read_text("utf-8") for file in tmp_path.iterdir()]
    assert len(written) == 2
    for text in [*written, *capfd.readouterr()]:
        assert password not in text


def test_every_line_is_logged_with_time_and_direction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "log.txt"
    file.write_text("before\n", "utf-8")
    run_client(one_game, log=str(file))
    first, *lines = file.read_text("utf-8").splitlines()
    assert first == "before"
    assert capsys.readouterr().err.splitlines() == lines
    for line in lines:
        time.strptime(line[:19], "%Y-%m-%d %H:%M:%S")
    said = [line[20:] for line in lines]
    assert said[1:7] == ["< protocol genmove_analyze", said[2], "< username", f"> {USER}", "< password", "> ***"]
    assert said[2].startswith("> e1 rlgo ")
    assert said[-1] == "- done, 1 games played" and said[-2] == "> quit"
    assert any(line.startswith(("- game 1: won, B+", "- game 1: lost, W+")) for line in said)


def test_a_log_that_cannot_be_written_any_more_does_not_end_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

        def flush(self) -> None:
            pass

    monkeypatch.setattr(sys, "stderr", Full())
    run_client(one_game)


def test_a_record_that_cannot_be_written_does_not_end_the_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "1.sgf").mkdir()
    run_client(one_game, sgf=str(tmp_path))
    assert "1.sgf: cannot be written" in capsys.readouterr().err


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(RlgoError, match=r"log = .*: expected a file that can be written"):
        CgosClient(make_config(1, log=str(tmp_path)), random_engine)
    with pytest.raises(RlgoError, match=r"sgf = .*: expected a folder to write to"):
        CgosClient(make_config(1, sgf=str(file)), random_engine)


# ---------------------------------------------------------------------------------------------
# Ctrl-C
# ---------------------------------------------------------------------------------------------


class Interrupting(FakeEngine):
    """Sends itself Ctrl-C before each of some moves."""

    def __init__(self, times: int) -> None:
        super().__init__(genmove=self._answer)
        self.times = times

    def _answer(self) -> str:
        if self.times:
            self.times -= 1
            signal.raise_signal(signal.SIGINT)
        return "= pass"


def test_ctrl_c_lets_the_game_be_finished(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)

    def script(talk: Talk) -> None:
        talk.login()
        assert Referee().play(talk) == "quit"

    run_client(script, make_engine=Interrupting(1).make, games=0)
    assert "Ctrl-C: this game is the last one" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_lets_the_game_be_finished_over_a_lost_connection() -> None:
    referee = Referee()

    def first(talk: Talk) -> None:
        talk.login()
        talk.send(referee.setup)
        referee.ask(talk)

    def second(talk: Talk) -> None:
        talk.login()
        assert referee.play(talk) == "quit"

    run_client(first, second, make_engine=Interrupting(1).make, games=0)


def test_a_second_ctrl_c_leaves_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 foe(1) {USER}(2)")
        assert talk.ask("genmove b 60000") == "PASS"
        talk.send("play w C3 59000")
        assert talk.ask("genmove b 60000") == ""

    with pytest.raises(KeyboardInterrupt):
        run_client(script, make_engine=Interrupting(2).make, games=0)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(sys.platform == "win32", reason="no signals between threads")
def test_ctrl_c_between_games_leaves_at_once() -> None:
    main_thread = threading.main_thread().ident
    assert main_thread is not None

    def script(talk: Talk) -> None:
        talk.login()
        assert Referee().play(talk) == "ready"
        signal.pthread_kill(main_thread, signal.SIGINT)
        assert talk.read() == "quit"

    run_client(script, games=0)


def test_ctrl_c_between_two_attempts_to_connect_leaves_at_once() -> None:
    def sleep(seconds: float) -> None:
        signal.raise_signal(signal.SIGINT)

    CgosClient(make_config(free_port()), random_engine, sleep).run()


def test_ctrl_c_of_others_is_theirs() -> None:
    """In a thread of its own, the client leaves signals alone."""
    before = signal.getsignal(signal.SIGINT)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            run_client(one_game)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(90)
    assert not failures and not thread.is_alive()
    assert signal.getsignal(signal.SIGINT) is before


# ---------------------------------------------------------------------------------------------
# Configs
# ---------------------------------------------------------------------------------------------

GOOD: dict[str, Any] = {"host": "cgos.invalid", "port": 6819, "user": USER, "password": PASSWORD, "player": "random"}


def write_config(folder: Path, **values: Any) -> Path:
    """A config file, without the keys whose value is None."""
    file = folder / "cgos.toml"
    kept = {key: value for key, value in (GOOD | values).items() if value is not None}
    file.write_text("\n".join(f"{key} = {json.dumps(value)}" for key, value in kept.items()), "utf-8")
    file.chmod(0o600)
    return file


def test_a_config_and_its_defaults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_cgos(write_config(tmp_path, ponder=True, lag=2)) == Cgos(**GOOD, ponder=True, lag=2.0)
    assert capsys.readouterr().err == ""


def test_a_password_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{PASSWORD} \nmore\n", "utf-8")
    secret.chmod(0o600)
    file = write_config(tmp_path, password=None, password_file=str(secret))
    assert load_cgos(str(file)) == Cgos(**GOOD)
    file.chmod(0o644)  # it holds no password
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.name != "posix", reason="other systems have other rights")
def test_a_password_that_others_may_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_config(tmp_path)
    file.chmod(0o644)
    load_cgos(file)
    secret = tmp_path / "secret"
    secret.write_text(PASSWORD, "utf-8")
    secret.chmod(0o640)
    load_cgos(write_config(tmp_path, password=None, password_file=str(secret)))
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"rlgo: warning: {file} holds a password, and others may read it: chmod 600 {file}"
    assert second == f"rlgo: warning: {secret} holds a password, and others may read it: chmod 600 {secret}"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"host": None}, "host: missing; expected the address of a CGOS server"),
        ({"host": ""}, 'host = "": expected the address of a CGOS server'),
        ({"port": None}, "port: missing; expected an integer from 1 to 65535"),
        ({"port": 70000}, "port = 70000: expected an integer from 1 to 65535"),
        ({"port": "6819"}, 'port = "6819": expected an integer from 1 to 65535, found a string'),
        ({"user": None}, "user: missing; expected a name of 3 to 18 letters"),
        ({"user": "two words"}, 'user = "two words": expected a name of 3 to 18 letters'),
        ({"player": None}, "player: missing; expected a player spec"),
        ({"player": "randm"}, "unknown player randm; did you mean random?"),
        ({"player": "random,sed=1"}, "player random: unknown key sed; did you mean seed?"),
        ({"password": None}, "password_file: expected either it or password, found neither"),
        ({"password_file": "x"}, "password_file: expected either it or password, found both"),
        ({"password": "s3 cret-word"}, "password: expected a string of at least 3 ASCII characters, no spaces"),
        ({"password": 533278}, "password: expected a string of at least 3 ASCII characters, no spaces"),
        ({"password": None, "password_file": "/nowhere/x"}, "password_file = /nowhere/x: cannot be read: No such file"),
        ({"passwrd": "s3cret"}, "unknown key passwrd; did you mean password"),
        ({"games": -1}, "games = -1: expected an integer of at least 0"),
        ({"ponder": 1}, "ponder = 1: expected on or off, in a file true or false, found an integer"),
        ({"lag": -0.5}, "lag = -0.5: expected a number of at least 0"),
        ({"timeout": 1e9}, "timeout = 1000000000.0: expected a number of seconds up to a day"),
        ({"log": 3}, "log = 3: expected a path, or nothing, found an integer"),
    ],
)
def test_bad_configs(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    file = write_config(tmp_path, **values)
    with pytest.raises(RlgoError) as error:
        main(file)
    assert str(error.value).startswith(f"{file}: {message}") and "\n" not in str(error.value)
    assert "cret" not in str(error.value) and "533278" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n", "expected the password in its first line"),
        (b"", "expected the password in its first line"),
        (b"\xff\xfe\xfd", "expected a text file"),
        (b"s3 cret", "expected a string of at least 3 ASCII characters, no spaces"),
    ],
)
def test_bad_password_files(tmp_path: Path, content: bytes, message: str) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(content)
    file = write_config(tmp_path, password=None, password_file=str(secret))
    with pytest.raises(RlgoError) as error:
        load_cgos(file)
    assert str(error.value).startswith(f"{file}: password_file = {secret}: {message}")
    assert "cret" not in str(error.value).replace(str(secret), "")


def test_files_that_are_no_configs(tmp_path: Path) -> None:
    with pytest.raises(RlgoError, match=r"nowhere.toml: no such config file; shipped configs: example"):
        main(tmp_path / "nowhere.toml")
    file = tmp_path / "x.toml"
    file.write_text(f"password = {PASSWORD}", "utf-8")
    with pytest.raises(RlgoError, match=r"x.toml: not valid TOML") as error:
        main(file)
    assert PASSWORD not in str(error.value)


def test_the_shipped_example_names_every_key_and_no_server() -> None:
    file = config_path("example", "cgos")
    with pytest.raises(RlgoError, match=r'example.toml: host = "": expected the address of a CGOS server'):
        main("example")
    values = tomllib.loads(file.read_text("utf-8"))
    fields = {name: field.default for name, field in Cgos.fields().items()}
    assert "\n# password = " in file.read_text("utf-8")
    assert [*values] == [name for name in fields if name != "password"]
    own = {"host", "port", "user", "password_file", "player"}
    assert all(values[key] == fields[key] for key in values if key not in own)
    assert Cgos(**values | {"host": "x", "user": USER}).player == values["player"]
