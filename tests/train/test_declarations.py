"""A setting is declared once: in the algorithm's own NamedTuple, from which configs, specs and tables are made."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest

from mcts.leaves import Playout
from mcts.policies import Flat, Gumbel, Puct, Rave, Ucb1
from mcts.settings import Resources, Search
from rlgo.base.checks import Choice, Key, Word, keys_of, needs, validated
from rlgo.base.errors import RlgoError
from rlgo.base.settings import Count, CountOr0, Learning, Policy, Positive
from rlgo.moves.rollout import DefaultPolicy
from rlgo.play.player import Player, RandomPlayer
from rlgo.search.alphabeta import AlphaBetaOptions
from rlgo.search.table_search import TableLearning
from rlgo.search.td_search import Simulation
from train.config import SECTIONS
from train.players import PLAYERS, make_player
from train.players.keys import Keys, register
from train.players.listing import player_keys
from train.players.spec import parse_spec
from train.players.tree_keys import LeafKeys, PriorKeys
from train.settings import Group, Section, section_from

ROOT = Path(__file__).resolve().parents[2]
TUPLES = (
    Learning, Policy, Simulation, TableLearning, AlphaBetaOptions, DefaultPolicy,
    Search, Flat, Ucb1, Rave, Puct, Gumbel, Playout, PriorKeys, LeafKeys, Resources,
)  # fmt: skip
PATHS = [path for package in ("rlgo", "mcts", "train") for path in (ROOT / package).rglob("*.py")]
NODES = [(path, node) for path in PATHS for node in ast.walk(ast.parse(path.read_text("utf-8")))]
CLASSES = {(str(path), node.name): node for path, node in NODES if isinstance(node, ast.ClassDef)}
STRINGS = [node.value for _, node in NODES if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def annotated(kind: type) -> list[str]:
    """The names that a class declares in its body; none for one that is not in our sources."""
    node = CLASSES.get((str(sys.modules[kind.__module__].__file__), kind.__name__))
    body = [] if node is None else node.body
    return [n.target.id for n in body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]


def used(kind: type[Section]) -> set[tuple[type, str]]:
    """The fields of NamedTuples that are keys of a section."""
    return {(type(getattr(kind, s.attribute)), s.field) for s in kind.all_keys().values() if s.field}


SECTIONS_WITH_GROUPS = [kind for kind in (*SECTIONS.values(), *PLAYERS.values()) if used(kind)]


@pytest.mark.parametrize("kind", TUPLES)
def test_a_setting_is_declared_once(kind: Any) -> None:
    """No section declares a key that a NamedTuple of its own has; and the sentence of a key stands once."""
    for holder in SECTIONS_WITH_GROUPS:
        names = {s.name for s in holder.all_keys().values() if type(getattr(holder, s.attribute)) is kind}
        assert not names & {name for owner in holder.__mro__[:-1] for name in annotated(owner)}
    for field, key in keys_of(kind).items():
        assert STRINGS.count(key.meaning) == 1 or key.meaning == "Threads.", field


def test_every_key_of_every_tuple_is_a_key_somewhere() -> None:
    found = set().union(*map(used, SECTIONS_WITH_GROUPS))
    assert found == {(kind, field) for kind in TUPLES for field in keys_of(kind)}


# ---------------------------------------------------------------------------------------------
# One line makes a setting
# ---------------------------------------------------------------------------------------------

RULES = {"plain": 0, "fancy": 1}


class Few(NamedTuple):
    """Settings of an algorithm."""

    rate: Annotated[Positive, Key("The rate.", "step_size", aliases="r")] = 0.5

    def combine(self) -> None:
        if self.rate == 7:
            raise RlgoError("rate = 7 cannot be combined with anything")


class More(NamedTuple):
    """The same settings, and some more."""

    rate: Annotated[Positive, Key("The rate.", "step_size", aliases="r")] = 0.5
    rule: Annotated[int, Choice(RULES), Key("Which rule.", aliases="which")] = 0
    most: Annotated[Count, Word("all", 10**9), Key("How many.", needs=needs("rule", "fancy"))] = 10**9
    on: Annotated[bool, Key("Whether.", implies={"rule": "fancy"})] = False
    inner: CountOr0 = 3  # no key

    combine = Few.combine


def made_of(kind: Any, monkeypatch: Any) -> tuple[Any, Any]:
    """A section and a player, both with all settings of a NamedTuple."""
    monkeypatch.setitem(PLAYERS, "local", Keys)  # removed after the test
    group = Annotated[kind, Group()]
    config = type("Config", (Section,), {"__annotations__": {"settings": group}, "settings": kind()})

    def make(self: Any, size: int, seed: Any) -> Player:  # noqa: ARG001
        player = RandomPlayer(seed)
        player.settings = self.settings  # type: ignore[attr-defined]
        return player

    body = {"__doc__": "A player.", "__annotations__": {"settings": group}, "settings": kind(), "make": make}
    keys = register("local")(dataclass(frozen=True)(type("LocalKeys", (Keys,), body)))
    return dataclass(frozen=True)(config), keys


@pytest.mark.parametrize("kind", [Few, More])
def test_a_field_is_a_key_of_configs_and_specs_and_a_row_and_a_value(kind: Any, monkeypatch: Any) -> None:
    config, keys = made_of(kind, monkeypatch)
    names = list(keys_of(kind))
    assert [*config.all_keys()] == names
    assert [*keys.all_keys()] == ["seed", *names]
    assert [row.name for row in player_keys("local")] == [*names, "seed"]
    assert config().settings == keys().settings == kind()
    written = {"rate": 2.0, "rule": "fancy", "most": 9, "on": True}
    given = {name: written[name] for name in names}
    expected_tuple = validated(kind(**given))
    made = section_from(config, given, "file")
    assert made.values() == given
    assert made.settings == expected_tuple
    assert replace(made, settings=expected_tuple._replace(rate=3)).settings == expected_tuple._replace(rate=3)
    spec = ",".join(["local", *(f"{name}={'on' if value is True else value}" for name, value in given.items())])
    assert parse_spec(spec).values == given
    assert make_player(spec, 5).settings == expected_tuple
    with pytest.raises(RlgoError, match=r"^file: unknown key inner; "):
        section_from(config, {"inner": 3}, "file")


def test_all_of_a_declaration_is_used(monkeypatch: Any) -> None:
    config, keys = made_of(More, monkeypatch)
    assert parse_spec("local,r=1,which=fancy").values == {"rate": 1.0, "rule": "fancy"}
    assert make_player("local,on=on", 5).settings == More(on=True, rule=1)
    assert make_player("local,rule=fancy,most=all", 5).settings.most == 10**9
    rows = {row.name: row for row in player_keys("local")}
    assert rows["rate"] == ("rate", ("r",), "0.5", "a positive number", "The rate.", ("step_size",))
    assert rows["rule"].expected == 'one of "plain", "fancy"'
    assert (rows["most"].default, rows["most"].expected) == ("all", "an integer from 1 to 1,000,000,000, or all")
    assert rows["most"].meaning == "How many. Needs rule = fancy."
    assert rows["on"].meaning == "Whether. Implies rule = fancy."
    for values, message in [
        ({"rate": 0}, "rate = 0: expected a positive number"),
        ({"rule": 1}, 'rule = 1: expected one of "plain", "fancy"'),
        ({"most": 0}, "most = 0: expected an integer from 1 to 1,000,000,000, or all"),
        ({"on": 1}, "on = 1: expected on or off, in a file true or false"),
    ]:
        with pytest.raises(RlgoError) as error:
            config.from_table(values)
        assert str(error.value) == message
    with pytest.raises(RlgoError, match=r"^player local: most has no effect here: it needs rule = fancy$"):
        parse_spec("local,most=3")
    with pytest.raises(RlgoError, match=r"^player local: rate = 7 cannot be combined with anything$"):
        make_player("local,rate=7", 5)
    assert keys.all_keys()["rate"].key.experiments == "step_size"


MORE, FASTER = More(), More(rate=4)


@dataclass(frozen=True)
class Other(Section):
    """A section that names a key and narrows another."""

    prefix = "other."
    settings: Annotated[
        More,
        Group("rate", "rule", rate={"name": "speed"}, rule={"kind": Annotated[int, Choice({"plain": 0})]}),
    ] = MORE


@dataclass(frozen=True)
class Less(Other):
    """A section that leaves out other keys, with another default."""

    settings: Annotated[More, Group(without=("on", "most", "rule"))] = FASTER


def test_a_section_may_name_a_key_and_narrow_it() -> None:
    assert [*Other.all_keys()] == ["speed", "rule"]
    assert Other.aliases() == {"r": "speed", "which": "rule"}
    assert Other.all_keys()["rule"].expected == 'one of "plain"'
    assert Other.from_table({"speed": 3.0}).settings == More(rate=3)
    with pytest.raises(RlgoError, match=r"^other.speed = 7 cannot be combined with anything$"):
        Other.from_table({"speed": 7.0})
    assert [*Less.all_keys()] == ["rate"]
    assert Less().settings == More(rate=4)
