"""External engines as players: what they are sent, and how they fail."""

from __future__ import annotations

import queue
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stand_ins import is_running, write_engine

from rlgo.base.errors import RlgoError
from rlgo.go.board import PASS
from rlgo.go.clock import TimeSettings
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.play.player import RESIGN
from train.arena.match import play_match
from train.players import engines
from train.players.engines import EngineError, GtpClient


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def engine(tmp_path: Path) -> str:
    """A spec without its vertices."""
    return write_engine(tmp_path)


@pytest.fixture
def clients() -> Iterator[list[GtpClient]]:
    made: list[GtpClient] = []
    yield made
    for client in made:
        client.close()


def pid_of(client: GtpClient) -> int:
    assert client._process is not None
    return client._process.pid


def test_an_engine_is_sent_what_it_lacks(engine: str, log: Path) -> None:
    with GtpClient((engine + "C3 D4 E5 resign").removeprefix("gtp:"), 9) as client:
        pid = pid_of(client)
        assert (client.name, client.version) == ("Fake", "0.1")
        game = Game(9, 6.5)
        game.place_free_handicap(2)
        log.write_text("")

        def sent(answer: int) -> list[str]:
            assert client.genmove(game) == answer
            lines = log.read_text().splitlines()
            log.write_text("")
            return lines

        start = ["boardsize 9", "clear_board", "komi 6.5", "play black C3", "play black G7"]
        assert sent(from_vertex("C3", 9)) == [*start, "genmove white"]
        # The game does not take the move: everything is sent again.
        game.play(from_vertex("D3", 9))
        assert sent(from_vertex("D4", 9)) == [*start, "play white D3", "genmove black"]
        game.play(from_vertex("D4", 9))
        game.play(PASS)
        assert sent(from_vertex("E5", 9)) == ["play white pass", "genmove black"]
        game.undo()
        assert sent(RESIGN)[: len(start)] == start
        client.new_game()
        assert sent(PASS)[: len(start)] == start
        assert pid_of(client) == pid
        assert is_running(pid)
    assert log.read_text() == "quit\n"
    assert not is_running(pid)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("DIE", "genmove black: it ended with status 1; last output: killed by a test"),
        ("HANG", "genmove black: no answer within 0.3 s"),
        ("FAIL", "genmove black: failed: do not want"),
        ("RUBBISH", "genmove black: no answer within 0.3 s; it said 'hello'"),
        ("NOVERTEX", "genmove: expected a vertex, found 'z99'"),
    ],
)
def test_engines_that_fail(answer: str, message: str, engine: str, log: Path, clients: list[GtpClient]) -> None:
    clients.append(client := GtpClient((engine + answer).removeprefix("gtp:"), 9))
    if answer in ("HANG", "RUBBISH"):
        client.timeout = 0.3  # not before it has started
    pid = pid_of(client)
    with pytest.raises(EngineError) as error:
        client.genmove(Game(9))
    assert message in str(error.value)
    assert "engine '" in str(error.value)
    assert "\n" not in str(error.value)
    # Alive only if it still understands us; a new game brings up another process.
    alive = answer in ("FAIL", "NOVERTEX")
    assert "quit" not in log.read_text()  # otherwise it is killed, not asked to quit and waited for
    assert is_running(pid) == alive
    client.timeout = 60
    client.new_game()
    assert (pid_of(client) == pid) == alive
    if alive:
        assert client.genmove(Game(9)) == PASS


def rude_engine(folder: Path, manners: str) -> str:
    """The command of an engine that does something else instead of its first move."""
    path = folder / "rude.py"
    path.write_text(RUDE_ENGINE.replace("MANNERS", manners))
    return f"'{sys.executable}' -S -E '{path}'"


# While it is asked for a move, `out` and `err` are its streams.
RUDE_ENGINE = """
import os, subprocess, sys, time
out, err = sys.stdout, sys.stderr
for line in sys.stdin:
    if line.startswith("genmove"):
        MANNERS
    print("= \\n", flush=True)
"""


@pytest.mark.parametrize(
    ("manners", "message"),
    [
        ("while out.write('x' * 65536): pass", "more than 1,048,576 bytes without the end of an answer"),
        ("while out.write('= ' + 'a line\\n' * 1000): pass", "more than 1,048,576 bytes without the end of an answer"),
        ("while out.write('\\n' * 1000): pass", "more than 1,048,576 bytes without the end of an answer"),
        ("out.write('? ' + 'no ' * 1000 + '\\x1b[2J')", "failed: " + ("no " * 67)[:200]),
        (
            "err.write('x' * 10_000_000 + '\\nlast \\x1b[2Jwords'); sys.exit(3)",
            "3; last output: last ?[2Jwords",
        ),
        ("os.close(1); time.sleep(60)", "ended with status -9"),
    ],
)
def test_engines_without_manners(manners: str, message: str, tmp_path: Path, clients: list[GtpClient]) -> None:
    clients.append(client := GtpClient(rude_engine(tmp_path, manners), 9))
    pid = pid_of(client)
    with pytest.raises(EngineError) as error:
        client.genmove(Game(9))
    assert str(error.value).endswith(message) or message in str(error.value)
    assert len(str(error.value)) < 500
    assert str(error.value).isprintable()
    assert "failed" in message or not is_running(pid)


def test_lines_that_nobody_waits_for_are_bounded(tmp_path: Path, clients: list[GtpClient]) -> None:
    """An engine that goes on talking after its answer: less than two megabytes are ever held."""
    flood = "out.write('= D4\\n\\n'); [out.write('x' * 999 + '\\n') for _ in iter(int, 1)]"
    clients.append(client := GtpClient(rude_engine(tmp_path, flood), 9))
    game = Game(9)
    assert client.genmove(game) == from_vertex("D4", 9)
    assert client._output is not None
    client._output.join(60)  # it has closed the pipe
    assert client._output._held < 2 * 1024 * 1024
    with pytest.raises(EngineError):
        client.send("final_score")


def test_a_signal_while_an_engine_starts_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def note(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        started.append(start(*args, **kwargs))
        return started[0]

    def press(_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", note)
    monkeypatch.setattr(engines, "_Lines", press)
    with pytest.raises(KeyboardInterrupt):
        GtpClient(rude_engine(tmp_path, "pass"), 9)
    assert started[0].returncode is not None


def test_an_engine_may_use_all_of_its_time(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float | None] = []
    with GtpClient((engine + "C3 D4").removeprefix("gtp:"), 9, timeout=60) as client:
        send = client.send

        def noting(command: str, timeout: float | None = None) -> str:
            waited.append(timeout)
            return send(command, timeout)

        monkeypatch.setattr(client, "send", noting)
        client.limit = 170.0
        client.genmove(Game(9))
        assert waited[-1] == 170.0 + engines.GRACE_SECONDS
        client.limit = 2.0
        client.genmove(Game(9))
        assert waited[-1] == 60.0


def test_an_engine_dies_with_its_children(
    tmp_path: Path, clients: list[GtpClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "child"
    manners = f"child = subprocess.Popen(['sleep', '60']); open({str(note)!r}, 'w').write(str(child.pid)); child.wait()"
    clients.append(client := GtpClient(rude_engine(tmp_path, manners), 9))

    read = client._output.take

    def take(_: float) -> bytes | None:
        while True:
            try:
                return read(0.01)
            except queue.Empty:
                if note.exists() and note.read_text():
                    raise  # time is up once the child has started

    monkeypatch.setattr(client._output, "take", take)
    with pytest.raises(EngineError, match="no answer"):
        client.genmove(Game(9))
    pid = int(note.read_text())
    for _ in range(1000):  # whoever adopts it buries it
        if not is_running(pid) or Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            break
        time.sleep(0.01)
    else:
        pytest.fail("its child is still there")


@pytest.mark.parametrize(
    ("spec", "size", "message"),
    [
        ("gtp:true", 9, "ended with status 0"),
        ("gtp:sh -c 'echo no; cat'", 9, "name: expected a GTP answer, found the command"),
        ("gtp:/", 9, "not found"),
        (None, 19, "boardsize 19: failed: unacceptable size"),
    ],
)
def test_engines_that_do_not_start(spec: str | None, size: int, message: str, engine: str) -> None:
    with pytest.raises(RlgoError, match=message):
        play_match("random", spec or engine, 2, size=size)


def test_gnugo_is_found_beside_path(gnugo: str, monkeypatch: pytest.MonkeyPatch, clients: list[GtpClient]) -> None:
    if not gnugo.startswith("/usr/games/"):
        pytest.skip("GNU Go is installed elsewhere")
    monkeypatch.setenv("PATH", "/nowhere")
    clients.append(client := GtpClient("gnugo --mode gtp", 9))
    assert client.name == "GNU Go"


@pytest.mark.process
@pytest.mark.slow
def test_the_engine_behind_rlgo_gtp_is_asked_to_quit(tmp_path: Path) -> None:
    """Whether the controller says so or its input ends."""
    for commands in ("name\nquit\n", "name\n"):
        log = tmp_path / f"{len(commands)}.txt"
        inner = f"gtp:'{sys.executable}' -m rlgo gtp --size 5 --player random --log '{log}'"
        argv = [sys.executable, "-m", "rlgo", "gtp", "--size", "5", "--player", inner]
        done = subprocess.run(argv, input=commands, text=True, check=False, capture_output=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "> quit\n" in log.read_text("utf-8")


# What fifty engines do that others do not: what it writes at its start, what comes before and after the text of an
# answer, how it writes a pass, and the commands that it refuses. None loses a game by it.
MANNERS = [
    *({"banner": text} for text in ("MyEngine 1.0", "\n\n\n", "# a comment", "Loading network ...\nReady.", "\ufeff")),
    *({"banner": text} for text in ("(c) 2001\n\nSize 19x19", "\t", "info string gpu 0", "\x1b[1mBold\x1b[0m", "[0]")),
    *({"mark": text} for text in ("=", "=\t", "=  ", "= \n", "log line\n= ", "# thinking\n= ", "\n= ", "\r\n= ")),
    *({"mark": text} for text in ("visits 100\nbest pass\n= ", "0.52 0.48\n\n= ", "MC 1000: 0.5\n\n\n= ", "\x07= ")),
    *({"end": text} for text in ("\r\n\r\n", "\n\n\n", " \n\n", "\n\r\n", "\n \n", "\r\n\n", "\n\n# comment\n")),
    *({"move": text} for text in ("pass", "PASS", "Pass", "PASS 0.55", "pass\n0.5 100", " pass ", "\tpass", "pAsS")),
    *({"move": text} for text in ("e5", "E5", "e5 0.7", "E5\n= E5 visits 3", " E5 # good", "E5 E5")),
    *({"refused": names} for names in ("known_command", "list_commands", "known_command list_commands", "komi")),
    *({"refused": names} for names in ("name", "version", "name version", "time_settings time_left known_command")),
    *({"refused": "known_command", "mark": text} for text in ("=", "log\n= ")),
    {"refused": "name version komi known_command list_commands final_score quit showboard", "end": "\r\n\r\n"},
]

ENGINE_OF_MANNERS = """
import ast, sys
manners = ast.literal_eval(sys.argv[1])
def write(text):
    sys.stdout.buffer.write(text.encode()); sys.stdout.flush()
write(manners["banner"] + "\\n" if "banner" in manners else "")
n = 0
for line in sys.stdin:
    command, *args = line.split()
    n += command == "genmove"
    answer = {"name": "Odd", "version": "1", "list_commands": "name\\nplay", "known_command": "false",
              "genmove": manners.get("move", "pass") if n == 1 else "pass"}.get(command, "")
    is_refused = command in manners.get("refused", "").split()
    mark, answer = ("? ", "unknown command") if is_refused else (manners.get("mark", "= "), answer)
    write(mark + answer + manners.get("end", "\\n\\n"))
    if command == "quit":
        break
"""


@pytest.mark.parametrize("first", range(0, 50, 10))
def test_manners_of_engines(first: int, tmp_path: Path) -> None:
    path = tmp_path / "odd.py"
    path.write_text(ENGINE_OF_MANNERS)
    assert len(MANNERS) >= 50
    for manners in MANNERS[first : first + 10]:
        with GtpClient(shlex.join([sys.executable, "-S", "-E", str(path), repr(manners)]), 9) as client:
            client.start_clock(TimeSettings(60, 1, 1))
            game = Game(9)
            for _ in range(3):
                p = client.genmove(game)
                assert p in (PASS, from_vertex("E5", 9)), manners
                game.play(p)
            assert (client.name == "Odd") == ("name" not in manners.get("refused", "").split()), manners
            assert not client.knows("final_score"), manners
