"""The settings of a tree search: their ranges, and their types."""

from __future__ import annotations

import pytest
from tree_tools import SIZE

from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS, ActionValue, Heuristic, RaveSchedule, Resources, Settings
from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"simulations": 0}, "simulations = 0"),
        ({"simulations": None}, "expected a number of simulations"),
        ({"seconds": 0.0}, "seconds = 0.0"),
        ({"settings": "uct"}, "settings = 'uct': expected a Settings"),
        ({"settings": Settings(heuristic="evaluator")}, "heuristic = evaluator: expected an evaluator"),
        ({"settings": ALGORITHMS["heuristic_mc_rave"]}, "expected weights for 5x5"),
        ({"settings": ALGORITHMS["heuristic_mc_rave"], "weights": 3}, "weights = 3: expected a Weights"),
        ({"resign": 1.5}, "resign = 1.5: expected a number from 0 to 1"),
        ({"resources": 4}, "resources = 4: expected a Resources"),
        ({"prior_search": "td_search"}, "prior_search = 'td_search': expected a TdSearch, or None"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(RlgoError) as error:
        TreeSearch(SIZE, **settings)
    assert message in str(error.value)


def test_settings_reach_compiled_code_as_plain_numbers():
    """Another type, an integer for a number or an enum, would have everything compiled once more."""
    given = TreeSearch(SIZE, Settings(ActionValue.MC, c=1, heuristic=Heuristic.EVEN, rave_bias=1), 1).settings
    assert {type(value) for value in given} == {int, float, bool}
    for settings in (Settings(), *ALGORITHMS.values()):
        assert [type(value) for value in settings] == [type(value) for value in given]
    assert given[0] == ActionValue.MC


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (Settings, {"c": -1}, "c = -1: expected a number of at least 0"),
        (Settings, {"rave_k": 0.0}, "rave_k = 0.0: expected a positive number"),
        (Settings, {"prior_n": 1e6}, "prior_n = 1000000.0: expected an integer from 0 to 100,000"),
        (
            Settings,
            {"truncate": 2**40},
            "truncate = 1099511627776: expected an integer from 0 to 1,000,000,000, or never",
        ),
        (Settings, {"schedule": "best"}, "schedule = 'best': expected one of"),
        (Resources, {"reuse": 1}, "reuse = 1: expected True or False"),
        (Resources, {"memory_mb": 0}, "memory_mb = 0: expected a positive number"),
        (Resources, {"batch": 0}, "batch = 0: expected an integer from 1 to 10,000"),
        (Resources, {"workers": 1.5}, "workers = 1.5: expected an integer from 1 to 64"),
    ],
)
def test_every_setting_is_checked(kind, values, message):
    with pytest.raises(RlgoError, match=f"^{message}"):
        validated(kind(**values))


def test_settings_by_name():
    named = validated(Settings("mc", schedule="minimum_mse_exact"))
    assert named == Settings()._replace(action_value=ActionValue.MC, schedule=2)
    assert Settings(schedule=RaveSchedule.HAND_SELECTED).schedule == 0
