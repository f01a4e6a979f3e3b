"""What types allow, and settings that are checked where they enter."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
import pytest
from annotated_types import Ge, Gt, Le, MultipleOf

from rlgo.base.checks import Choice, Word, check, fields_of, validated
from rlgo.base.errors import RlgoError
from rlgo.base.settings import HARMONIC, STEP, Learning, Policy
from rlgo.moves.rollout import DefaultPolicy
from rlgo.search.alphabeta import AlphaBetaOptions
from rlgo.search.table_search import TableLearning
from rlgo.search.td_search import Simulation

NAN = math.nan
Number, Unit = Annotated[float, Gt(0)], Annotated[float, Ge(0), Le(1)]
Count, Even = Annotated[int, Ge(1), Le(64)], Annotated[int, Ge(0), MultipleOf(2)]
Codes = Annotated[int, Choice({"game": 0, "step": 1})]
CountOrAll = Annotated[Count, Word("all", 100)]


@pytest.mark.parametrize(
    ("kind", "value", "plain"),
    [
        (Number, 3, 3.0),
        (Number, np.float32(0.5), 0.5),
        (Unit, True + 0.0, 1.0),
        (Count, 1e1, 10),
        (Count, np.int64(64), 64),
        (Even, 2, 2),
        (Codes, "step", 1),
        (Codes, np.uint8(1), 1),
        (bool, np.bool_(True), True),
        (Count | None, None, None),
        (CountOrAll, "all", 100),
        (CountOrAll, 100, 100),
        (CountOrAll, 64.0, 64),
        (str, "x", "x"),
    ],
)
def test_allowed_values_become_plain_ones(kind, value, plain):
    found = check("x", value, kind)
    assert found == plain
    assert type(found) is type(plain)


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        (Number, (0, -1, NAN, math.inf, "1", None, True, 1j, [1], 10**400), "a positive number"),
        (Unit, (-0.1, 1.1, NAN), "a number from 0 to 1"),
        (Count, (0, 65, 1.5, NAN, math.inf, True, "2", None, 1e300), "an integer from 1 to 64"),
        (int, (1 << 63, 1e30), "an integer"),
        (Even, (1, -2, 3.0), "an even number of at least 0"),
        (Codes, ("foo", 2, -1, 0.5, True, None, NAN), 'one of "game", "step"'),
        (bool, (0, 1, "on", None), "True or False"),
        (Count | None, (0, "x"), "an integer from 1 to 64, or None"),
        (CountOrAll, (0, 65, 99, "x", "", None, True), "an integer from 1 to 64, or all"),
        (Learning, (3, (0.3,), {"alpha": 1}), "a Learning"),
    ],
)
def test_other_values_are_refused_in_a_sentence(kind, values, words):
    for value in values:
        with pytest.raises(RlgoError) as error:
            check("x", value, kind)
        assert str(error.value).startswith("x = ")
        assert str(error.value).endswith(f": expected {words}")
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 200


class Pair(NamedTuple):
    """Two settings that must not be equal."""

    low: Number = 1.0
    high: Count = 2

    def combine(self) -> None:
        if self.low == self.high:
            raise RlgoError("low cannot be combined with high")


class Inside(NamedTuple):
    """Settings with others inside."""

    pair: Pair = Pair()
    other: Pair | None = None


def test_a_tuple_is_checked_where_it_enters():
    with pytest.raises(RlgoError, match=r"^low = -1: expected a positive number$"):
        validated(Pair(-1))
    with pytest.raises(RlgoError, match=r"^low cannot"):
        validated(Pair(high=1))
    pair = validated(Pair(3, 4.0))
    assert (pair, [type(value) for value in pair]) == ((3.0, 4), [float, int])


def test_tuples_inside_others_are_checked_too():
    assert validated(Inside(Pair(np.float32(3)), None)) == (Pair(3.0, 2), None)
    for wrong in (Inside(Pair(-1)), Inside(other=Pair(-1))):
        with pytest.raises(RlgoError, match=r"^low = -1: expected a positive number$"):
            validated(wrong)
    with pytest.raises(RlgoError, match=r"^other = 3: expected a Pair, or None$"):
        validated(Inside(other=3))


@pytest.mark.parametrize("settings", [Learning, Policy, Simulation, DefaultPolicy, AlphaBetaOptions, TableLearning])
def test_no_setting_takes_nonsense(settings):
    for name in fields_of(settings):
        for value in (NAN, math.inf, -7, "foo", None, [1], settings):
            with pytest.raises(RlgoError, match=f"^{name} = .*: expected"):
                validated(settings(**{name: value}))
    assert validated(settings()) == settings()


def test_names_of_values():
    learning = validated(Learning(schedule="harmonic", update="step", alpha=1))
    assert (learning.schedule, learning.update) == (HARMONIC, STEP)
    assert validated(Policy("softmax")) == Policy(1)
    with pytest.raises(RlgoError, match=r"^alpha_final = 0 cannot be combined with schedule"):
        validated(Learning(schedule="exponential", alpha_final=0))
