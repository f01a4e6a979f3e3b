"""What the CGOS client logs and records, and what it hides."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from cgos_server import PASSWORD, USER, Delays, Server, Talk, make_config, one_game, random_session, run_client

from rlgo.base.errors import RlgoError
from train.play.cgos import CgosClient


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
    with Server(script, refuses) as server:
        config = make_config(server.port, password=password, games=0, **files)
        client = CgosClient(config, random_session, Delays())
        with pytest.raises(RlgoError) as error:
            client.run()
    assert str(error.value).endswith(": Error: *** is wrong")
    assert password not in str(error.value)
    assert "password=" not in repr(config)
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
    assert said[-1] == "- done, 1 games played"
    assert said[-2] == "> quit"
    assert any(line.startswith(("- game 1: won, B+", "- game 1: lost, W+")) for line in said)


def test_a_log_that_cannot_be_written_any_more_does_not_end_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, _text: str) -> int:
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
        CgosClient(make_config(1, log=str(tmp_path)), random_session)
    with pytest.raises(RlgoError, match=r"sgf = .*: expected a folder to write to"):
        CgosClient(make_config(1, sgf=str(file)), random_session)
