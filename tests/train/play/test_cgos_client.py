"""The client of the Computer Go Server, against a small server of our own."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from cgos_server import (
    USER,
    Delays,
    Referee,
    Script,
    Scripted,
    Seats,
    Server,
    Talk,
    make_config,
    one_game,
    random_session,
    run_client,
)

from rlgo.base.errors import RlgoError
from rlgo.features.weights import shipped_weights
from rlgo.go.game import Game
from rlgo.go.sgf import load_sgf
from rlgo.play.session import GameSession
from train.play.cgos import CgosClient, run_cgos
from train.play.cgos.connection import Connection, Log

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


def test_a_session_is_made_for_each_size() -> None:
    made: list[tuple[int, float]] = []

    def make_session(size: int, komi: float) -> GameSession:
        made.append((size, komi))
        return random_session(size, komi)

    def script(talk: Talk) -> None:
        talk.login()
        games = [Referee(str(i), size, komi) for i, (size, komi) in enumerate([(5, 6.5), (5, 7.5), (6, 7.5), (5, 0.5)])]
        assert [game.play(talk) for game in games] == ["ready", "ready", "ready", "quit"]

    run_client(script, make_session=make_session, games=4)
    assert made == [(5, 6.5), (6, 7.5), (5, 0.5)]


def test_what_the_session_is_asked() -> None:
    seats = Seats(Scripted("c3 d5"))

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 12 9 7.5 300000 {USER}(1700?) foe(1500?)", "play b d4 290500")
        assert talk.ask("genmove w 300000") == "C3"
        talk.send("play b PASS 290000")
        assert talk.ask("genmove w 400") == "D5"
        talk.send("gameover 2026-11-21 B+Illegal move to occupied point")
        assert talk.read() == "quit"

    run_client(script, make_session=seats, lag=0.75)
    assert seats.asked == [
        "new_game 9 7.5",
        "set_time 300",
        "play b D4",
        "set_left b 290.5",
        "set_left w 299.25",
        "genmove w",
        "play b pass",
        "set_left b 290",
        "set_left w 0",  # never below
        "genmove w",
    ]


def test_a_game_without_main_time_has_no_clock() -> None:
    seats = Seats()

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 12 9 7.5 0 foe(1) {USER}(2)")
        assert talk.ask("genmove b 0") == "PASS"
        assert talk.ask("gameover 2026-11-21 B+1.5") == "quit"

    run_client(script, make_session=seats)
    assert "set_time None" in seats.asked


def test_an_engine_that_resigns() -> None:
    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 12 9 7.5 300000 foe(1) {USER}(2)")
        assert talk.ask("genmove b 300000") == "resign"
        assert talk.ask("gameover 2026-11-21 W+Resign") == "quit"

    run_client(script, make_session=Seats(Scripted("resign")))


@pytest.mark.parametrize("on", [True, False])
def test_pondering_in_the_opponents_time(on: bool) -> None:
    player = Scripted()

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 foe(1) {USER}(2)")
        assert talk.ask("genmove b 60000") == "PASS"
        assert not on or player.pondering.wait(30)
        talk.send("play w C3 50000")  # our turn: no pondering
        assert talk.ask("genmove b 50000") == "PASS"
        assert talk.ask("gameover 2026-11-21 W+7.5") == "ready"
        talk.send("setup 2 5 7.5 60000 foe(1) foe2(2)")  # whose turn it is, who knows

    run_client(script, one_game, make_session=Seats(player, ponders=True), ponder=on, games=3)
    assert bool(player.pondered) == on
    assert all(n % 2 for n in player.pondered)  # after moves of Black's, ours
    assert player.pondered[:1] == [1] * on


def test_a_crash_while_pondering_does_not_end_the_game(capsys: pytest.CaptureFixture[str]) -> None:
    class Crashing(Scripted):
        def ponder(self, _game: Game, _stop: Callable[[], bool]) -> None:
            self.pondering.set()
            raise ZeroDivisionError("by nought")

    player = Crashing()

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 foe(1) {USER}(2)")
        assert talk.ask("genmove b 60000") == "PASS"
        assert player.pondering.wait(30)
        talk.send("play w C3 50000")
        assert talk.ask("genmove b 60000") == "PASS"
        assert talk.ask("gameover 2026-11-21 W+7.5") == "quit"

    run_client(script, make_session=Seats(player, ponders=True), ponder=True)
    assert "ZeroDivisionError: by nought" in capsys.readouterr().err


def test_the_player_of_a_config_ponders(monkeypatch: pytest.MonkeyPatch) -> None:
    """`run_cgos` makes a session that ponders where the config says so, and closes its players."""
    player, closed = Scripted(), list[int]()
    player.close = lambda: closed.append(1)  # type: ignore[method-assign]
    monkeypatch.setattr("train.play.cgos.client.make_player", lambda *_: player)

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 foe(1) {USER}(2)")
        assert talk.ask("genmove b 60000") == "PASS"
        assert player.pondering.wait(30)
        assert talk.ask("gameover 2026-11-21 W+7.5") == "quit"

    with Server(script) as server:
        run_cgos(make_config(server.port, ponder=True, size=5))
    assert player.pondered == [1]
    assert closed == [1]


# ---------------------------------------------------------------------------------------------
# Sessions that fail
# ---------------------------------------------------------------------------------------------


def test_a_session_that_lost_track_gets_the_whole_game(capsys: pytest.CaptureFixture[str]) -> None:
    seats = Seats(Scripted("? B2 ? A1"))
    failures = iter([False, False, True])  # of moves that are played
    seats.fails = lambda request: request.startswith("play") and next(failures, False)

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 {USER}(1) foe(2)", "play b C3 50000")
        assert talk.ask("genmove w 60000") == "B2"
        talk.send("play b D3 40000")
        assert talk.ask("genmove w 60000") == "A1"
        assert talk.ask("gameover 2026-11-21 W+7.5") == "quit"

    run_client(script, make_session=seats)
    asked = [request for request in seats.asked if not request.startswith("set_")]
    begin = "new_game 5 7.5"
    two, four = ["play b C3"], ["play b C3", "play w B2", "play b D3"]
    assert asked == [
        *[begin, *two, "genmove w"], *[begin, *two, "genmove w"],
        *["play b D3"], *[begin, *four, "genmove w"], *[begin, *four, "genmove w"],
    ]  # fmt: skip
    errors = capsys.readouterr().err
    for words in ("genmove w: does not want to; starting over", "play b D3: lost track; starting over"):
        assert words in errors


def test_a_game_that_the_session_cannot_follow_is_resigned_and_the_next_one_played() -> None:
    fails, third = True, Referee("3")
    player = Scripted()
    seats = Seats(player)
    seats.fails = lambda request: fails and request.startswith("play")

    def script(talk: Talk) -> None:
        nonlocal fails
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 {USER}(1) foe(2)", "play b C3 50000")
        assert talk.ask("genmove w 60000") == "resign"
        assert talk.ask("gameover 2026-11-21 B+Resign") == "ready"
        talk.send(f"setup 2 5 7.5 60000 {USER}(1) foe(2) C3 50000")  # in the setup
        assert talk.ask("genmove w 60000") == "resign"
        assert talk.ask("gameover 2026-11-21 B+Resign") == "ready"
        fails = False
        assert third.play(talk) == "ready"
        player.moves = ["?"] * 9
        talk.send(f"setup 4 5 7.5 60000 {USER}(1) foe(2)", "play b C3 50000")
        assert talk.ask("genmove w 60000") == "resign"
        assert talk.ask("gameover 2026-11-21 B+Resign") == "quit"

    run_client(script, make_session=seats, games=4)
    assert third.game.is_over()


def test_a_move_off_the_board_is_no_reason_to_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 {USER}(1) foe(2)", "play b T19 50000")
        assert talk.ask("genmove w 60000") == "resign"
        assert talk.ask("gameover 2026-11-21 B+Resign") == "quit"

    run_client(script, sgf=str(tmp_path))
    assert "no record of this game: vertex 'T19': not on the 5x5 board" in capsys.readouterr().err


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
    """The server ends in the middle; it has read our last move, or not, so that it asks again."""
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
        assert len(referee.sent) in (6, 7, 8)
        assert referee.play(talk) == "quit"

    run_client(first, second, delays=delays)
    assert delays.asked == [1.0]


def test_a_resumed_game_is_played_into_the_session() -> None:
    seats = Seats()

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 foe(1) {USER}(2) C3 51000 d4 52000 pass 49500")
        talk.send("gameover 2026-11-21 W+Time")
        assert talk.read() == "quit"

    run_client(script, make_session=seats)
    assert seats.asked[-5:] == ["play b C3", "play w D4", "play b pass", "set_left b 49.5", "set_left w 52"]


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

    run_client(first, second, make_session=Seats(), sgf=str(tmp_path))
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
        CgosClient(make_config(free_port()), random_session, delays, lambda: jitter).run()
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
            CgosClient(config, random_session, delays).run()
    assert capsys.readouterr().err.count("cannot connect: ") == 3


def test_silence_is_taken_for_a_lost_connection(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(talk: Talk) -> None:
        talk.login()
        assert talk.read() == ""

    def silent_in_a_game(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 {USER}(2) foe(1)")
        assert talk.read() == ""

    timeouts = iter((1.0, 1.0, 600.0))  # the last one is not silent

    def connect(host: str, port: int, _timeout: float, log: Log) -> Connection:
        return Connection(host, port, next(timeouts), log)

    monkeypatch.setattr("train.play.cgos.client.Connection", connect)
    run_client(silent, silent_in_a_game, one_game, make_session=Seats(ponders=True), ponder=True)
    assert capsys.readouterr().err.count("no word from the server for 1 s") == 2


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
        talk.send_bytes(answer.encode() + end)

    with Server(script) as server, pytest.raises(RlgoError) as error:
        CgosClient(make_config(server.port), random_session, Delays(0)).run()
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
    """Each one on a connection of its own, after which a game continues, or can be played."""
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
    assert "a line without an end" in errors
    assert "Traceback" not in errors
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
        CgosClient(make_config(server.port), random_session).run()


# ---------------------------------------------------------------------------------------------
# Ctrl-C
# ---------------------------------------------------------------------------------------------


def interrupting(times: int, number: int = signal.SIGINT) -> Seats:
    """A session whose player sends itself Ctrl-C, or another signal, before each of some moves."""
    player = Scripted()

    def interrupt() -> None:
        nonlocal times
        if times:
            times -= 1
            signal.raise_signal(number)

    player.before_move = interrupt
    return Seats(player)


@pytest.mark.parametrize(("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")])
def test_a_signal_lets_the_game_be_finished(number: int, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(number)

    def script(talk: Talk) -> None:
        talk.login()
        assert Referee().play(talk) == "quit"

    run_client(script, make_session=interrupting(1, number), games=0)
    assert f"{name}: this game is the last one" in capsys.readouterr().err
    assert signal.getsignal(number) is before


def test_ctrl_c_lets_the_game_be_finished_over_a_lost_connection() -> None:
    referee = Referee()

    def first(talk: Talk) -> None:
        talk.login()
        talk.send(referee.setup)
        referee.ask(talk)

    def second(talk: Talk) -> None:
        talk.login()
        assert referee.play(talk) == "quit"

    run_client(first, second, make_session=interrupting(1), games=0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_leaves_at_once(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(number)

    def script(talk: Talk) -> None:
        talk.login()
        talk.send(f"setup 1 5 7.5 60000 foe(1) {USER}(2)")
        assert talk.ask("genmove b 60000") == "PASS"
        talk.send("play w C3 59000")
        assert talk.ask("genmove b 60000") == "quit"

    with pytest.raises(KeyboardInterrupt) as stopped:
        run_client(script, make_session=interrupting(2, number), games=0)
    assert stopped.value.args == (number,)
    assert "leaving game 1" in capsys.readouterr().err
    assert signal.getsignal(number) is before


def test_the_command_ends_as_a_signal_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    def script(talk: Talk) -> None:
        talk.login()
        assert Referee().play(talk) == "quit"

    with Server(script) as server, monkeypatch.context() as patch:
        player = interrupting(1, signal.SIGTERM).player
        patch.setattr("train.play.cgos.client.make_player", lambda *_: player)
        with pytest.raises(KeyboardInterrupt) as stopped:
            run_cgos(make_config(server.port, games=0))
    assert stopped.value.args == (signal.SIGTERM,)


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
    delays: list[float] = []

    def sleep(seconds: float) -> None:
        delays.append(seconds)
        signal.raise_signal(signal.SIGINT)

    CgosClient(make_config(free_port()), random_session, sleep).run()
    assert len(delays) == 1


def test_ctrl_c_of_others_is_theirs() -> None:
    """In its own thread, the client leaves signals alone."""
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
    assert not failures
    assert not thread.is_alive()
    assert signal.getsignal(signal.SIGINT) is before
