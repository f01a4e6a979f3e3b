"""Settings: counts, and the errors for wrong values."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Le
from hypothesis import given
from hypothesis import strategies as st

from rlgo.base.errors import RlgoError
from rlgo.base.settings import EvenCount, Learning, Positive, Probability, TrainingGames
from train.settings import (
    Line,
    Name,
    Section,
    Sizes,
    nested_spec,
    parse_count,
    read_spec_value,
    shorten,
    spec_value,
    split_spec,
    unknown_key,
    with_values,
)


@dataclass(frozen=True)
class Sample(Section):
    """One key of each kind."""

    games: TrainingGames = 1
    pairs: EvenCount = 2
    bits: Annotated[int, Ge(4), Le(2_800)] = 4
    depth: Annotated[int, Ge(1), Le(9)] | Literal["none"] = "none"
    alpha: Positive = 1.0
    most: Annotated[Positive, Le(5)] = 1.0
    share: Probability = 1.0
    sizes: Sizes = (1,)
    on: bool = False
    name: Line = ""


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("1000", 1000), ("1_000", 1000), ("1e3", 1000), ("1E6", 10**6), ("20_000", 20_000), ("1.5e3", 1500),
     ("-1", -1), ("+7", 7), ("2.0", 2), ("1_0e1", 100), ("9" * 30, 10**30 - 1)],
)  # fmt: skip
def test_counts_are_read(text: str, number: int) -> None:
    assert parse_count(text) == number


@pytest.mark.parametrize(
    "text", ["", "x", "1.5e0", "1e-3", "1e", "e3", "1__0", "_1", "1_", "0x1", "1e1000", "nan", "inf", "1 0"]
)
def test_what_is_no_count_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(RlgoError) as error:
        parse_count(text)
    assert str(error.value) == f"{shorten(text)}: expected a whole number (1000, 1_000 and 1e3 are the same)"


@given(st.integers())
def test_every_integer_is_a_count_as_python_writes_it(n: int) -> None:
    assert parse_count(str(n)) == parse_count(f"{n:_}") == n


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("games", "an integer of at least 1"),
        ("pairs", "an even number from 0 to 10,000,000"),
        ("bits", "an integer from 4 to 2,800"),
        ("depth", "an integer from 1 to 9, or none"),
        ("alpha", "a positive number"),
        ("most", "a positive number up to 5"),
        ("share", "a number from 0 to 1"),
        ("sizes", "an ascending subset of [1, 2, 3], not empty"),
        ("on", "on or off, in a file true or false"),
    ],
)
def test_what_a_key_may_be_in_words(key: str, text: str) -> None:
    assert Sample.all_keys()[key].expected == text


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("games", 0),
        ("games", True),
        ("games", "3"),
        ("games", 1.5),
        ("pairs", 3),
        ("bits", 3.0),
        ("depth", "all"),
        ("depth", 10),
        ("depth", None),
        ("alpha", 0),
        ("alpha", float("inf")),
        ("alpha", "1"),
        ("share", True),
        ("sizes", [2, 1]),
        ("sizes", []),
        ("sizes", [4]),
        ("sizes", 3),
        ("on", 1),
    ],
)
def test_a_wrong_value_is_refused_in_one_line(key: str, value: Any) -> None:
    with pytest.raises(RlgoError) as error:
        Sample(**{key: value})
    assert str(error.value) == f"{key} = {shorten(value)}: expected {Sample.all_keys()[key].expected}"


def test_a_key_without_a_good_default_must_be_given() -> None:
    @dataclass(frozen=True)
    class Named(Section):
        name: Name = ""

    assert Named(name="x").name == "x"
    with pytest.raises(RlgoError, match=r'^name = "": expected a name$'):
        Named()


def test_values_are_kept_as_their_fields_say() -> None:
    sample = Sample(games=1e3, sizes=[1, 3], alpha=2)  # type: ignore[arg-type]
    assert (sample.games, sample.sizes, sample.alpha) == (1_000, (1, 3), 2.0)
    assert type(sample.games) is int
    assert type(sample.alpha) is float


def test_sections_are_frozen_and_checked_when_they_are_copied() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Sample().games = 5  # type: ignore[misc]
    assert dataclasses.replace(Sample(), games=5).games == 5
    with pytest.raises(RlgoError, match=r"^games = 0: expected an integer of at least 1$"):
        dataclasses.replace(Sample(), games=0)


def test_an_unknown_key_names_the_nearest_only_if_one_is_near() -> None:
    known = ["games", "alpha", "lambda_"]
    assert unknown_key("gmaes", known, "run.") == "unknown key run.gmaes; did you mean run.games?"
    assert unknown_key("lamda", known) == "unknown key lamda; did you mean lambda?"
    assert unknown_key("sims", ["simulations"], aliases=["sims"]) == "unknown key sims; did you mean sims?"
    assert unknown_key("xyz", known) == "unknown key xyz; expected one of games, alpha, lambda"
    with pytest.raises(RlgoError, match=r"^unknown key gmaes; did you mean games\?$"):
        Sample.from_table({"gmaes": 3})


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain.npz", "plain.npz"),
        ("a,b.npz", '"a,b.npz"'),
        ("a;b", '"a;b"'),
        ('say "a, b"', '"say ""a, b"""'),
        (" x ", '" x "'),
        ('"', '""""'),
        ("", ""),
    ],
)
def test_a_value_in_a_spec(value: str, written: str) -> None:
    assert spec_value(value) == written
    assert read_spec_value(written) == value
    name, key, last = split_spec(f"greedy, weights={written},epsilon=0")
    assert (name, read_spec_value(key.partition("=")[2]), last) == ("greedy", value, "epsilon=0")
    assert nested_spec(f"dyna2;long={written};sims=5") == f"dyna2,long={written},sims=5"


def test_counts_end_somewhere() -> None:
    assert Sample(games=10**12).games == 10**12
    for value in (10**12 + 1, 10**400, 1e15):
        with pytest.raises(RlgoError, match=r"expected at most 1,000,000,000,000$"):
            Sample(games=value)  # type: ignore[arg-type]


def test_settings_are_changed_by_their_keys() -> None:
    values = {"alpha": 1, "lambda": 0.5, "schedule_games": 1e6, "schedule": "linear"}
    assert with_values(Learning(), values, "") == Learning(1.0, 1, games=10**6, lambda_=0.5)
    for values, message in [
        ({"alhpa": 1}, "--set unknown key alhpa; did you mean alpha?"),
        ({"alpha": 0}, "--set alpha = 0: expected a positive number"),
        ({"alpha": "x"}, '--set alpha = "x": expected a positive number'),
        ({"schedule": 1}, "--set schedule = 1: expected one of "),
        ({"alpha_final": 0, "schedule": "exponential"}, "--set alpha_final = 0 cannot be combined with schedule"),
    ]:
        with pytest.raises(RlgoError) as error:
            with_values(Learning(), values, "--set ")
        assert str(error.value).startswith(message)
