"""`rlgo players` and `rlgo configs`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from train.cli.main import main
from train.players import PLAYERS
from train.settings import spelled


def output(argv: list[str], capsys: Any) -> str:
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_all_players_are_listed(capsys: Any) -> None:
    text = output(["players"], capsys)
    assert all(f"  {name} " in text for name in PLAYERS)


def test_the_keys_of_a_player(capsys: Any) -> None:
    text = output(["players", "dyna2"], capsys)
    assert all(spelled(key) in text for key in PLAYERS["dyna2"].all_keys())


def test_all_configs_are_listed(capsys: Any) -> None:
    text = output(["configs"], capsys)
    assert all(f"  {name} " in text for name in ("quick", "step_size", "ladder", "dyna2"))


def test_a_config_is_printed(capsys: Any) -> None:
    text = output(["configs", "quick"], capsys)
    assert "\n[learning]\n" in text


def test_a_file_that_is_there_comes_before_a_shipped_one(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = output(["configs", "players/rlgo"], capsys)
    assert output(["configs", "configs/players/rlgo.toml"], capsys) == shipped
    Path("quick.toml").write_text("[run]\ngames = 123\n")
    assert "games = 123 " in output(["configs", "quick.toml"], capsys)
    assert "games = 123 " not in output(["configs", "quick"], capsys)
    Path("a,b.toml").write_text('player = "uct"\nc = 0.4\n')
    assert "c = 0.4" in output(["configs", "a,b.toml"], capsys)


@pytest.mark.parametrize("argv", [["players", "dyna3"], ["configs", "quik"]], ids=" ".join)
def test_unknown_names_are_one_line(argv: list[str], capsys: Any) -> None:
    assert main(argv) == 2
    assert capsys.readouterr().err.count("\n") == 1
