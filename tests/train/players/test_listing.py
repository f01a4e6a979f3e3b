"""Lists of players and configs, and the page generated from them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from players_page import players_page

from rlgo.base.errors import RlgoError
from rlgo.base.resources import list_configs
from train.arena.tournament import read_tournament
from train.config import SECTIONS, TournamentConfig, config_from_dict, load_config
from train.players import PLAYERS
from train.players.listing import configs_text, player_keys, players_table, players_text
from train.settings import spelled

ROOT = Path(__file__).resolve().parents[3]


def test_the_document_of_players_is_up_to_date() -> None:
    assert (ROOT / "docs" / "players.md").read_text("utf-8") == players_page(), "python tools/generate.py"


def test_the_document_has_every_key_of_every_player_with_its_default() -> None:
    """Its own table has it, or one that it names; ``without`` leaves keys out, ``of`` takes those before it alone."""
    sections = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", players_page(), re.MULTILINE | re.DOTALL))

    def table(section: str) -> dict[str, str]:
        return dict(re.findall(r"^\| `(\w+)`[^|]* \| `?([^|`]*)`? \|", section, re.MULTILINE))

    for row in players_table():
        [line] = re.findall(r"^Shared keys: (.*)\.$", sections[row.name], re.MULTILINE)
        links, _, defaults = line.partition(". Defaults here: ")
        found = {}
        for link in links.split("; "):
            before, title, after = re.fullmatch(r"(.*)\[(.*)\]\(#[\w-]+\)(.*)", link).groups()  # type: ignore[union-attr]
            only, without = (re.findall(r"`(\w+)`", part) for part in (before, after))
            keys = table(sections[f"Keys of {title}"])
            found |= {key: keys[key] for key in only or keys if key not in without}
        found |= dict(re.findall(r"`(\w+)=([^`]*)`", defaults)) | table(sections[row.name])
        assert found == {key.name: key.default for key in row.keys}, row.name


def test_every_key_of_every_player_is_listed() -> None:
    table = players_table()
    assert [row.name for row in table] == list(PLAYERS)
    for row in table:
        assert {key.name for key in row.keys} == {spelled(field) for field in PLAYERS[row.name].all_keys()}
        assert row.keys == player_keys(row.name)
        assert bool(row.notes) == (row.name in list_configs("players"))


def test_a_key_is_listed_with_all_that_is_known_of_it() -> None:
    (key,) = [key for key in player_keys("td_search") if key.name == "policy_plies"]
    assert key.aliases == ("T",)
    assert (key.default, key.expected) == ("6", "an integer from 0 to 1,000,000,000, or never")
    assert key.meaning.startswith("T: plies of both colours")
    assert key.experiments == ("tdsearch_policy",)
    written = {key.name: key.default for key in player_keys("dyna2")}
    assert (written["sizes"], written["save"], written["reset"], written["long_term"]) == ("1+2+3", "on", "off", "")


@pytest.mark.parametrize("name", PLAYERS)
def test_text_of_a_player(name: str) -> None:
    lines = players_text(name).splitlines()
    assert lines[0].startswith(f"{name}: ")
    assert max(map(len, lines)) <= 80
    for key in player_keys(name):
        assert any(line.startswith((f"{key.name} = ", f"{key.name} / ")) for line in lines), key.name


def test_text_of_all_players() -> None:
    lines = players_text().splitlines()
    assert max(map(len, lines)) <= 80
    for name in (*PLAYERS, "gtp:COMMAND"):
        assert sum(line.startswith(f"  {name} ") for line in lines) == 1
    with pytest.raises(RlgoError, match=r"^unknown player td_serch; did you mean td_search\?$"):
        players_text("td_serch")


def test_text_of_all_configs() -> None:
    lines = configs_text().splitlines()
    assert max(map(len, lines)) <= 80
    for kind in ("", "players", "sweeps", "tournaments", "experiments"):
        for name in list_configs(kind):
            assert any(line.startswith(f"  {name} ") for line in lines), name


@pytest.mark.parametrize("name", list_configs())
def test_text_of_a_run_config_is_that_config_with_every_key(name: str) -> None:
    text = configs_text(name)
    assert config_from_dict(tomllib.loads(text)) == load_config(name)
    keys = {section: set(table) for section, table in tomllib.loads(text).items()}
    assert keys == {section: {spelled(key) for key in cls.all_keys()} for section, cls in SECTIONS.items()}
    for cls in SECTIONS.values():
        for setting in cls.all_keys().values():
            assert setting.key.meaning in " ".join(line.removeprefix("# ") for line in text.splitlines())


def test_text_of_a_tournament_is_that_tournament_with_every_key(tmp_path: Path) -> None:
    text = configs_text("tournaments/example")
    file = tmp_path / "example.toml"
    file.write_text(text, "utf-8")
    explained, shipped = read_tournament(file), read_tournament("example")
    for field in ("settings", "players", "anchors"):
        assert getattr(explained, field) == getattr(shipped, field)
    assert set(tomllib.loads(text)["tournament"]) == {spelled(key) for key in TournamentConfig.all_keys()}
    assert max(map(len, text.splitlines()[8:])) <= 120


@pytest.mark.parametrize("head", ["[tournament]  # mine", "[ tournament ]"])
@pytest.mark.parametrize("is_last", [False, True])
def test_tables_of_a_tournament_in_any_order(head: str, is_last: bool, tmp_path: Path) -> None:
    tables = [f"{head}\ngames = 4\n", '[players]\na = "random"\nb = "random"\n']
    file = tmp_path / "mine.toml"
    file.write_text("\n".join(tables[::-1] if is_last else tables), "utf-8")
    expected = read_tournament(file)
    text = configs_text(str(file))
    file.write_text(text, "utf-8")
    assert read_tournament(file) == expected
    assert text.splitlines().count("[players]") == 1


def test_text_of_other_configs() -> None:
    assert configs_text("paper").startswith("# The ")
    assert configs_text("experiments/step_size") == (ROOT / "configs/experiments/step_size.toml").read_text().rstrip()
    assert 'player = "uct"' in configs_text("uct.toml")
    with pytest.raises(RlgoError, match=r"^step_size: expected one of sweeps/step_size, experiments/step_size$"):
        configs_text("step_size")
    with pytest.raises(RlgoError, match=r"no such config file"):
        configs_text("nowhere")
    with pytest.raises(RlgoError, match=r"^exmaple: no such config file; did you mean example\?$"):
        configs_text("exmaple")
