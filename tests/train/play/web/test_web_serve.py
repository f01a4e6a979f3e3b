"""The server as a process: its address, its shutdown, and its errors at startup."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from rlgo.base.errors import RlgoError
from train.cli.main import main
from train.play.web.options import Limits, Options
from train.play.web.server.guard import kept_token
from train.play.web.server.serve import in_background, serve

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def session():
    with in_background(Options(player="random", size=5, limits=Limits(message_bytes=10_000))) as address:
        yield address


def test_a_real_connection(session):
    with connect(session, max_size=None) as tab:
        assert json.loads(tab.recv())["type"] == "hello"
        tab.send('{"type": "play", "move": "C3", "id": 1}')
        while True:
            message = json.loads(tab.recv())
            if message["type"] == "game" and len(message["moves"]) == 2:
                break
        assert message["moves"][0] == ["black", "C3"]


def test_a_message_that_is_too_long_is_refused_and_a_longer_one_ends_the_connection(session):
    with connect(session) as tab:
        tab.send(" " * 15_000)
        error = next(message for message in map(json.loads, tab) if message["type"] == "error")
        assert error["message"] == "expected at most 10,000 bytes"
        tab.send(" " * 25_000)
        with pytest.raises(ConnectionClosed) as closed:
            list(iter(tab.recv, None))
    assert closed.value.rcvd.code == 1009


def test_an_address_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RlgoError, match=rf"--host 127.0.0.1 --port {port}: cannot be used: \w+"):
            serve(Options(player="random"), port, opens_browser=False)
    with pytest.raises(RlgoError, match="cannot be used"):
        serve(Options(player="random", host="192.0.2.1"), 0, opens_browser=False)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--player", "nobody"], "unknown player nobody"),
        (["--size", "4"], "--size 4: expected an integer from 5 to 19"),
        (["--weights", "nowhere"], "nowhere: expected a folder"),
        (["--sgf", "nowhere"], "nowhere: expected a folder"),
        (["--runs", "nowhere"], "nowhere: expected a folder of training runs"),
        (["--port", "99999"], "--port 99999: expected an integer from 0 to 65,535"),
        (["--tensorboard", "foo"], "web --tensorboard is gone: "),
        (["--host", ""], "--host '': there is no such host"),
        (["--host", "a" * 64], "there is no such host"),
        (["--host", "ü" * 64], "there is no such host"),
    ],
)
def test_mistakes_are_one_line(arguments, error, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["web", "--no-browser", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("rlgo: error: ")
    assert error in err
    assert len(err.splitlines()) == 1


def test_without_the_extra_one_line_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "train.play.web.server.serve")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["web"]) == 2
    assert "pip install 'rlgo[web]'" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything(number):
    command = [sys.executable, "-m", "rlgo", "web", "--no-browser", "--port", "0", "--player", "random", "--size", "5"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd="/") as process:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "token=" in line)
        found = re.search(r"http://(\S+)/\?token=(\S+)", line)
        assert found is not None
        with connect(f"ws://{found[1]}/api/session?token={found[2]}", max_size=None) as tab:
            tab.send(json.dumps({"type": "search", "player": "mc_rave,seconds=100"}))
            process.send_signal(number)
            assert process.wait(60) == 128 + number
        rest = process.stderr.read()
        assert "Traceback" not in rest, rest


def test_a_token_is_kept_in_a_file_that_others_cannot_read(tmp_path):
    file = tmp_path / "token"
    token = kept_token(file)
    assert len(token) >= 32
    assert file.stat().st_mode & 0o77 == 0
    assert kept_token(file) == token
    file.write_text("abc\n")
    with pytest.raises(RlgoError, match="expected a token"):
        kept_token(file)
    with pytest.raises(RlgoError, match="cannot be written"):
        kept_token(tmp_path / "missing" / "token")
