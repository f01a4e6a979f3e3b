"""Configs of the CGOS client."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cgos_server import PASSWORD, USER

from rlgo.base.errors import RlgoError
from rlgo.base.resources import config_path
from train.play.cgos import CgosConfig, load_cgos, main

GOOD: dict[str, Any] = {"host": "cgos.invalid", "port": 6819, "user": USER, "password": PASSWORD, "player": "random"}


def write_config(folder: Path, **values: Any) -> Path:
    """A config file, without the keys whose value is None."""
    file = folder / "cgos.toml"
    kept = {key: value for key, value in (GOOD | values).items() if value is not None}
    file.write_text("\n".join(f"{key} = {json.dumps(value)}" for key, value in kept.items()), "utf-8")
    file.chmod(0o600)
    return file


def test_a_config_and_its_defaults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_cgos(write_config(tmp_path, ponder=True, lag=2)) == CgosConfig(**GOOD, ponder=True, lag=2.0)
    assert capsys.readouterr().err == ""


def test_a_password_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{PASSWORD} \nmore\n", "utf-8")
    secret.chmod(0o600)
    file = write_config(tmp_path, password=None, password_file=str(secret))
    assert load_cgos(str(file)) == CgosConfig(**GOOD)
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
    assert first == f"rlgo: warning: {file} contains a password and is readable by others: chmod 600 {file}"
    assert second == f"rlgo: warning: {secret} contains a password and is readable by others: chmod 600 {secret}"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"host": None}, "host: missing; expected the address of a CGOS server"),
        ({"host": ""}, 'host = "": expected the address of a CGOS server'),
        ({"port": None}, "port: missing; expected an integer from 1 to 65,535"),
        ({"port": 70000}, "port = 70000: expected an integer from 1 to 65,535"),
        ({"port": "6819"}, 'port = "6819": expected an integer from 1 to 65,535, found a string'),
        ({"user": None}, "user: missing; expected a name of 3 to 18 letters"),
        ({"user": "two words"}, 'user = "two words": expected a name of 3 to 18 letters'),
        ({"player": None}, "player: missing; expected a player spec"),
        ({"player": "randm"}, "unknown player randm; did you mean random?"),
        ({"player": "random,sed=1"}, "player random: unknown key sed; did you mean seed?"),
        ({"password": None}, "password_file: expected either this or password, found neither"),
        ({"password_file": "x"}, "password_file: expected either this or password, found both"),
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
    assert str(error.value).startswith(f"{file}: {message}")
    assert "\n" not in str(error.value)
    assert "cret" not in str(error.value)
    assert "533278" not in str(error.value)


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
    fields = {name: field.default for name, field in CgosConfig.all_keys().items()}
    assert "\n# password = " in file.read_text("utf-8")
    assert [*values] == [name for name in fields if name != "password"]
    own = {"host", "port", "user", "password_file", "player"}
    assert all(values[key] == fields[key] for key in values if key not in own)
    assert CgosConfig(**values | {"host": "x", "user": USER}).player == values["player"]
