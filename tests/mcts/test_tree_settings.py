"""The settings of a tree search: their ranges, and their types."""

from __future__ import annotations

import pytest
from tree_tools import SIZE

from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS, ActionValue, Heuristic, Resources, Settings, plain_settings
from rlgo.errors import RlgoError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"simulations": 0}, "simulations = 0"),
        ({"simulations": None}, "expected a number of simulations"),
        ({"seconds": 0.0}, "seconds = 0.0"),
        ({"settings": ALGORITHMS["uct"]._replace(c=-1.0)}, "c = -1.0"),
        ({"settings": ALGORITHMS["mc_rave"]._replace(rave_k=0.0)}, "rave_k = 0.0"),
        ({"settings": ALGORITHMS["heuristic_mc_rave"]}, "expected weights for 5x5"),
        ({"settings": ALGORITHMS["heuristic_mc_rave"]._replace(heuristic=Heuristic.RLGO, prior_n=-1)}, "prior_n = -1"),
        ({"resources": Resources(memory_mb=0)}, "memory_mb = 0"),
        ({"resign": 1.0}, "resign = 1.0"),
        ({"resources": Resources(batch=0)}, "batch = 0"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(RlgoError) as error:
        TreeSearch(SIZE, **settings)
    assert message in str(error.value)


def test_settings_reach_compiled_code_as_plain_numbers():
    """Another type, an integer for a number or an enum, would have everything compiled once more."""
    given = Settings(ActionValue.MC, c=1, heuristic=Heuristic.EVEN, learn_bias=True)
    types = [type(value) for value in plain_settings(given)]
    assert types == [type(value) for value in plain_settings(Settings())]
    assert set(types) == {int, float, bool}
    assert plain_settings(given) == given
