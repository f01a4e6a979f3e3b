"""External engines as players: what they are sent, and how they fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stand_ins import is_running, write_engine

from rlgo.board import PASS
from rlgo.coords import from_vertex
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.player import RESIGN
from train.arena.match import play_match
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
    assert client.pid is not None
    return client.pid


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
        ("DIE", "genmove black: it ended with status 1; its last words: killed by a test"),
        ("HANG", "genmove black: no answer within 0.3 s"),
        ("FAIL", "genmove black: failed: do not want"),
        ("RUBBISH", "genmove black: expected a GTP answer, found 'hello'"),
        ("NOVERTEX", "genmove: expected a vertex, found 'z99'"),
    ],
)
def test_engines_that_fail(answer: str, message: str, engine: str, log: Path, clients: list[GtpClient]) -> None:
    clients.append(client := GtpClient((engine + answer).removeprefix("gtp:"), 9))
    if answer == "HANG":
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


@pytest.mark.parametrize(
    ("spec", "size", "message"),
    [
        ("gtp:true", 9, "ended with status 0"),
        ("gtp:sh -c 'echo no; cat'", 9, "expected a GTP answer, found 'no'"),
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
