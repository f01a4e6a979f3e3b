"""`rlgo players` and `rlgo configs`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rlgo.resources import list_configs
from train.cli.main import main
from train.players import PLAYERS


def output(argv: list[str], capsys: Any) -> str:
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_all_players_are_listed(capsys: Any) -> None:
    text = output(["players"], capsys)
    assert all(f"  {name} " in text for name in PLAYERS)
    assert set(json.loads(output(["players", "--json"], capsys))) == set(PLAYERS)


def test_the_keys_of_a_player(capsys: Any) -> None:
    keys = json.loads(output(["players", "dyna2", "--json"], capsys))
    assert {"name", "default", "meaning", "experiments"} <= set(keys["seed"])
    text = output(["players", "dyna2"], capsys)
    assert all(key in text for key in keys)
    assert max(map(len, text.splitlines())) <= 80


def test_all_configs_are_listed(capsys: Any) -> None:
    text = output(["configs"], capsys)
    assert all(f"  {name} " in text for name in ("quick", "step_size", "ladder", "dyna2"))
    found = json.loads(output(["configs", "--json"], capsys))
    assert found["runs"] == list_configs()
    assert found["sweeps"] == ["step_size"]


def test_a_config_is_printed(capsys: Any) -> None:
    text = output(["configs", "quick"], capsys)
    assert "\n[learning]\n" in text
    config = json.loads(output(["configs", "quick", "--json"], capsys))
    assert config["board"]["size"] == 9


@pytest.mark.parametrize("argv", [["players", "dyna3"], ["configs", "quik"]], ids=" ".join)
def test_unknown_names_are_one_line(argv: list[str], capsys: Any) -> None:
    assert main(argv) == 2
    assert capsys.readouterr().err.count("\n") == 1
