"""Lines, answers, the table of commands, interrupts."""

from __future__ import annotations

import re

import pytest
from gtp_controller import CORE, Controller, Scripted

from rlgo.base.errors import RlgoError
from rlgo.play.gtp import GtpEngine, Stream, command
from rlgo.play.gtp.protocol import COMMANDS
from rlgo.play.player import RandomPlayer
from rlgo.play.session import GameSession


def test_commands_are_listed() -> None:
    gtp = Controller()
    listed = gtp.ok("list_commands").split("\n")
    assert set(CORE.split()) <= set(listed)
    assert all(gtp.ok(f"known_command {name}") == "true" for name in listed)
    assert gtp.ok("known_command owl_attack") == "false"
    assert gtp.fail("known_command") == "syntax error: expected NAME"
    assert gtp.fail("owl_attack") == "unknown command"
    assert gtp.ok("protocol_version") == "2"
    assert gtp.ok("name") == "rlgo scripted"
    assert gtp.ok("version")


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("protocol_version", "= 2\n\n"),
        ("7 protocol_version", "=7 2\n\n"),
        ("007 protocol_version\n", "=007 2\n\n"),
        ("12 komi 6.5\r\n", "=12\n\n"),
        ("\t3\tprotocol_version\t# and a comment", "=3 2\n\n"),
        ("\x01proto\x02col_version\x7f\x85", "= 2\n\n"),
        ("5 # a comment alone", "?5 syntax error: expected a command\n\n"),
        ("5", "?5 syntax error: expected a command\n\n"),
        ("5nonsense", "? unknown command\n\n"),
        ("-5 name", "? unknown command\n\n"),
        ("٣ name", "? unknown command\n\n"),
        ("1 2 name", "?1 unknown command\n\n"),
        ("PLAY b D4", "? unknown command\n\n"),
        ("protocol_version 1 2 3", "= 2\n\n"),
        ("", None),
        (" \t\r\n", None),
        ("# boardsize 19", None),
        ("\x00\x1b", None),
    ],
)
def test_form(line: str, answer: str | None) -> None:
    assert Controller().engine.handle(line) == answer


def test_players_that_fail(capsys: pytest.CaptureFixture[str]) -> None:
    gtp = Controller(Scripted("D4 D4 crash E5"))
    gtp.ok("genmove b")
    assert gtp.fail("genmove w") == "scripted chose an illegal move: occupied"
    assert gtp.fail("genmove w") == "internal error: ZeroDivisionError: two lines"
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" in err
    assert gtp.ok("genmove w") == "E5"


def test_a_log_that_cannot_be_written_ends_nothing() -> None:
    def log(_line: str) -> None:
        raise OSError("no space left on device")

    assert GtpEngine(RandomPlayer(1), log=log).handle("genmove b") is not None


def test_the_log_has_all_that_is_said() -> None:
    lines: list[str] = []
    engine = GtpEngine(RandomPlayer(1), log=lines.append)
    engine.handle("5 genmove b # now")
    engine.handle("nonsense")
    assert lines[0] == "> 5 genmove b"
    assert lines[-2:] == ["> nonsense", "< ? unknown command"]
    assert re.fullmatch(r"Black 0\.\d{3} s", lines[1])
    assert lines[2].startswith("< =5 ")


# ---------------------------------------------------------------------------------------------
# Commands of one's own
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def no_new_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that a test registers are gone after it."""
    monkeypatch.setattr("rlgo.play.gtp.protocol.COMMANDS", COMMANDS.copy())


@pytest.mark.usefixtures("no_new_commands")
def test_a_command_of_ones_own_takes_three_lines() -> None:
    gtp = Controller()  # made before: engines look commands up when they are asked

    @command("my-stones", "my-alias")
    def count_stones(session: GameSession, args: list[str]) -> str:
        return f"{session.game.board.n_stones.sum()} {' '.join(args)}"

    gtp.ok("play b D4")
    assert gtp.ok("my-stones a b") == gtp.ok("my-alias a b") == "1 a b"
    assert gtp.ok("known_command my-stones") == "true"
    assert gtp.ok("list_commands").split("\n")[-2:] == ["my-stones", "my-alias"]


@pytest.mark.usefixtures("no_new_commands")
def test_a_command_may_replace_another_and_fail_like_any() -> None:
    @command("komi")
    def refuse(_session: GameSession, args: list[str]) -> None:
        if not args:
            raise RlgoError("expected a number")
        raise ZeroDivisionError("two\nlines")

    gtp = Controller()
    before = gtp.ok("list_commands")
    assert gtp.fail("komi") == "expected a number"
    assert gtp.fail("komi 1") == "internal error: ZeroDivisionError: two lines"
    assert before.split().count("komi") == 1


def test_a_command_of_one_engine_alone() -> None:
    gtp, other = Controller(), Controller()
    gtp.engine.register("my-size", lambda session, _args: str(session.game.size))
    gtp.engine.register("my-nothing", lambda _session, _args: None)
    assert gtp.ok("my-size") == "9"
    assert gtp.ok("my-nothing") == ""
    assert other.fail("my-size") == "unknown command"


def test_a_command_that_answers_in_parts() -> None:
    def count(_session: GameSession, args: list[str], stream: Stream) -> None:
        for n in args:
            if n == "?":
                raise RlgoError("not a number")
            stream.write(n)

    gtp = Controller()
    gtp.engine.register("my-count", count, streams=True)
    parts: list[str] = []
    assert gtp.engine.handle("7 my-count 1 2", parts.append) == "\n"
    assert parts == ["=7\n1\n", "2\n"]
    assert gtp.engine.handle("my-count 1 2") == "=\n1\n2\n\n"
    assert gtp.fail("my-count ?") == "not a number"
    assert gtp.engine.handle("my-count 1 ?") == "=\n1\n\n"  # success was announced already


def test_the_example_of_the_documentation() -> None:
    """The docstring of `command` runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rlgo.play.gtp.protocol.COMMANDS", COMMANDS.copy())
        source = "\n".join(
            line.strip()[4:] for line in (command.__doc__ or "").split("\n") if line.strip().startswith((">>>", "..."))
        )
        exec(source, {"command": command})
        gtp = Controller()
        gtp.ok("play b D4")
        assert gtp.ok("my-move-number") == "1"
