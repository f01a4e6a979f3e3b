"""Bounds of values, and settings that check themselves."""

from __future__ import annotations

import math
import pickle
from typing import Annotated, NamedTuple

import numpy as np
import pytest

from rlgo.base.bounds import Choice, Number, One, OrNone, OrWord, Switch, Whole, bounds_of, checked
from rlgo.base.errors import RlgoError
from rlgo.base.settings import HARMONIC, STEP, Learning, Policy
from rlgo.moves.rollout import DefaultPolicy
from rlgo.search.alphabeta import AlphaBetaOptions
from rlgo.search.table_search import TableLearning
from rlgo.search.td_search import Simulation

NAN = math.nan
NUMBER, UNIT = Number(gt=0), Number(ge=0, le=1)
COUNT, EVEN = Whole(ge=1, le=64), Whole(ge=0, even=True)
CODES = Choice({"game": 0, "step": 1})
WORD = OrWord(COUNT, "all", 100)


@pytest.mark.parametrize(
    ("kind", "value", "plain"),
    [
        (NUMBER, 3, 3.0),
        (NUMBER, np.float32(0.5), 0.5),
        (UNIT, True + 0.0, 1.0),
        (COUNT, 1e1, 10),
        (COUNT, np.int64(64), 64),
        (EVEN, 2, 2),
        (CODES, "step", 1),
        (CODES, np.uint8(1), 1),
        (Switch(), np.bool_(True), True),
        (OrNone(COUNT), None, None),
        (WORD, "all", 100),
        (WORD, 100, 100),
        (WORD, 64.0, 64),
        (One(str), "x", "x"),
    ],
)
def test_allowed_values_become_plain_ones(kind, value, plain):
    found = kind.check("x", value)
    assert found == plain
    assert type(found) is type(plain)


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        (NUMBER, (0, -1, NAN, math.inf, "1", None, True, 1j, [1], 10**400), "a positive number"),
        (UNIT, (-0.1, 1.1, NAN), "a number from 0 to 1"),
        (COUNT, (0, 65, 1.5, NAN, math.inf, True, "2", None, 1e300), "an integer from 1 to 64"),
        (Whole(), (1 << 63, 1e30), "an integer"),
        (EVEN, (1, -2, 3.0), "an even number of at least 0"),
        (CODES, ("foo", 2, -1, 0.5, True, None, NAN), 'one of "game", "step"'),
        (Switch(), (0, 1, "on", None), "True or False"),
        (OrNone(COUNT), (0, "x"), "an integer from 1 to 64, or None"),
        (WORD, (0, 65, 99, "x", "", None, True), "an integer from 1 to 64, or all"),
        (One(Number), (3,), "a Number"),
    ],
)
def test_other_values_are_refused_in_a_sentence(kind, values, words):
    for value in values:
        with pytest.raises(RlgoError) as error:
            kind.check("x", value)
        assert str(error.value).startswith("x = ")
        assert str(error.value).endswith(f": expected {words}")
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 200


@checked
class Pair(NamedTuple):
    """Two settings that must not be equal."""

    low: Annotated[float, NUMBER] = 1.0
    high: Annotated[int, COUNT] = 2

    def combine(self) -> None:
        if self.low == self.high:
            raise RlgoError("low cannot be combined with high")


def test_a_tuple_checks_itself_however_it_is_made():
    for make in (lambda: Pair(-1), lambda: Pair()._replace(low=-1), lambda: Pair._make([-1, 2])):
        with pytest.raises(RlgoError, match=r"^low = -1: expected a positive number$"):
            make()
    with pytest.raises(RlgoError, match=r"^low cannot"):
        Pair(high=1)
    with pytest.raises(TypeError, match="unexpected keyword"):
        Pair(middle=1)
    pair = Pair(3, 4.0)
    assert (pair, [type(value) for value in pair]) == ((3.0, 4), [float, int])
    assert pickle.loads(pickle.dumps(Learning(alpha=1))) == Learning(alpha=1)
    assert dict(bounds_of(Pair))["high"] == COUNT


@pytest.mark.parametrize("settings", [Learning, Policy, Simulation, DefaultPolicy, AlphaBetaOptions, TableLearning])
def test_no_setting_takes_nonsense(settings):
    for name, kind in bounds_of(settings):
        if name == "softmax":
            continue  # tables or None, see test_softmax_policy.py
        for value in (NAN, math.inf, -7, "foo", None, [1], settings):
            with pytest.raises(RlgoError, match=f"^{name} = .*: expected"):
                settings(**{name: value})
        assert isinstance(kind, Number | Choice | Switch | OrWord)
        assert getattr(settings(**{name: getattr(settings(), name)}), name) == getattr(settings(), name)


def test_names_of_values():
    learning = Learning(schedule="harmonic", update="step", alpha=1)
    assert (learning.schedule, learning.update) == (HARMONIC, STEP)
    assert Policy("softmax") == Policy(1)
    with pytest.raises(RlgoError, match=r"^alpha_final = 0 cannot be combined with schedule"):
        Learning(schedule="exponential", alpha_final=0)
