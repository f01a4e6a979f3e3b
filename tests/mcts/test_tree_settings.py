"""What a tree search is composed of: ranges, types, and what is refused."""

from __future__ import annotations

import pytest
from tree_tools import SIZE, by_hash, composed, random_weights

from mcts import Even, Handcrafted, Mixture, Network, Patterns, Puct, Rave, Rlgo, Stage, Ucb1
from mcts.leaves import CorrectedValue, LearnedValue, OutsideValue, Playout, Value
from mcts.player import TreeSearch
from mcts.policies.rave import Schedule
from mcts.priors import Outside, sum_of
from mcts.settings import ALGORITHMS, Resources, Search, with_network
from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError
from rlgo.search.td_search import TdSearch

LEARNED = ALGORITHMS["heuristic_mc_rave"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"simulations": 0}, "simulations = 0"),
        ({"simulations": None}, "expected a number of simulations"),
        ({"seconds": 0.0}, "seconds = 0.0"),
        ({"settings": "uct"}, "settings = 'uct': expected a Search"),
        ({"settings": composed("mc_rave", prior=Outside())}, "settings: expected an evaluator"),
        ({"settings": LEARNED}, "expected weights for 5x5"),
        ({"settings": LEARNED, "weights": 3}, "weights = 3: expected a Weights"),
        ({"settings": composed("uct", leaf=Playout(3))}, "expected weights for 5x5"),
        ({"settings": composed("mc_rave", prior=Patterns())}, "expected patterns"),
        ({"settings": composed("mc_rave", prior=Patterns()), "patterns": 3}, "patterns = 3: expected a Patterns"),
        ({"settings": composed("mc_rave", prior=Network())}, "expected a network"),
        ({"settings": LEARNED, "prior_search": TdSearch(7)}, "prior_search: expected one for 5x5"),
        ({"prior_search": TdSearch(SIZE)}, "prior_search: expected one stage of prior knowledge, with Rlgo"),
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
    given = validated(Rave(c=1, schedule=Schedule.AMAF, bias=1))
    types = [type(value) for value in given]
    assert types == [type(value) for value in Rave()]
    assert set(types) == {int, float, bool}


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (Ucb1, {"c": -1}, "c = -1: expected a number of at least 0"),
        (Rave, {"k": 0.0}, "k = 0.0: expected a positive number"),
        (Rave, {"prior_n": 1e6}, "prior_n = 1000000.0: expected an integer from 0 to 100,000"),
        (
            Playout,
            {"truncate": 2**40},
            "truncate = 1099511627776: expected an integer from 0 to 1,000,000,000, or never",
        ),
        (Rave, {"schedule": "best"}, "schedule = 'best': expected one of"),
        (Search, {"policy": Playout()}, "policy = .*: expected a tree policy, such as mcts.Puct"),
        (Search, {"leaf": Puct()}, "leaf = .*: expected what a simulation is worth"),
        (Search, {"leaf": Value(Puct())}, "leaf = .*: expected one with a value"),
        (Search, {"prior": (Rlgo(),)}, "prior = .*: expected a tuple of mcts.Stage"),
        (Search, {"prior": (Stage(Puct()),)}, "prior = .*: expected prior knowledge"),
        (Search, {"prior": (Stage(Rlgo(), 4), Stage(Even(), 4))}, "prior: expected stages after more and more visits"),
        (Search, {"prior": (Stage(Even()), Stage(Outside(), 4))}, "prior: expected .* or that of an evaluator alone"),
        (Resources, {"reuse": 1}, "reuse = 1: expected True or False"),
        (Resources, {"memory_mb": 0}, "memory_mb = 0: expected a positive number"),
        (Resources, {"batch": 0}, "batch = 0: expected an integer from 1 to 10,000"),
        (Resources, {"workers": 1.5}, "workers = 1.5: expected an integer from 1 to 64"),
    ],
)
def test_every_setting_is_checked(kind, values, message):
    with pytest.raises(RlgoError, match=f"^{message}"):
        validated(kind(**values))


def test_a_schedule_by_name():
    assert validated(Rave(schedule="minimum_mse_exact")) == Rave(schedule=2)
    assert type(validated(Rave(schedule=Schedule.HAND_SELECTED)).schedule) is int


def test_a_network_joins_the_last_stage_of_a_search():
    """Learned values stay in the policy, and become what the network corrects in leaves."""
    stages, leaf = (Stage(Handcrafted()), Stage(sum_of(Rlgo(), Patterns()), 20)), Mixture(0.5, LearnedValue(0.9))
    search = with_network(composed("mc_rave", prior=stages, leaf=leaf))
    assert search.prior == (Stage(Handcrafted()), Stage(sum_of(Rlgo(), Network()), 16))
    assert search.leaf == Mixture(0.5, CorrectedValue(0.9, 0.5))
    assert with_network(search) is search


def test_an_evaluator_gives_what_a_search_does_not_have_from_others():
    w = Mixture(0.4)
    for given, prior, leaf in (
        (Search(), Outside(), Playout()),
        (Search(leaf=w), Outside(), Mixture(0.4, OutsideValue())),
        (Search(prior=(Stage(Outside(0.7)),), leaf=Value(LearnedValue())), Outside(0.7), Value(LearnedValue())),
        (Search(prior=(Stage(Even()),), leaf=Value(OutsideValue())), Even(), Value(OutsideValue())),
    ):
        weights = random_weights() if isinstance(leaf, Value) else None
        found = TreeSearch(SIZE, given, 1, evaluator=by_hash, weights=weights).settings
        assert (found.prior, found.leaf) == ((Stage(prior),), leaf)
    with pytest.raises(RlgoError, match="flat Monte-Carlo"):
        TreeSearch(SIZE, ALGORITHMS["mc"], evaluator=by_hash)
    with pytest.raises(RlgoError, match="evaluator = 3: expected a function"):
        TreeSearch(SIZE, evaluator=3)
