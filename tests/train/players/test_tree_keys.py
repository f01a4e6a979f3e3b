"""The keys of the tree searches: what is refused, and the prior search."""

from __future__ import annotations

import pytest
from network_files import random_network

from mcts import ALGORITHMS, CorrectedValue, Mixture, Network, NetworkValue, Patterns, Playout, Puct, Rlgo, Stage, Sum
from rlgo.base.errors import RlgoError
from rlgo.base.resources import checkpoints_dir
from rlgo.go.game import Game
from train.players import make_player
from train.players.keys import PLAYERS
from train.players.loading import files_loaded

SIZE = 5


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_keys_of_an_algorithm_compose_it(name):
    """Its defaults stand in two places: what it is composed of, and flat keys."""
    assert PLAYERS[name]()._search() == ALGORITHMS[name]


def test_flat_keys_compose_a_search(tmp_path):
    random_network().save(file := tmp_path / "n.npz")
    found = make_player(f"puct,network={file},network_after=3,network_value=1,playouts=off,c_puct=2", SIZE, 1).settings
    assert found.policy == Puct(c=2.0)
    assert found.prior == (Stage(Patterns()), Stage(Network(), 3))
    assert found.leaf.value == NetworkValue()
    found = make_player(f"mc_rave_patterns,network={file},weights=9x9-1M,policy_scale=0.3,truncate=4", 9, 1).settings
    assert found.prior[-1] == Stage(Sum(Rlgo(), Network(0.3, 0.4)), 16)
    assert found.leaf == Mixture(0.75, CorrectedValue(0.9, 0.5), 0.8, Playout(4))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("truncate=-2", "truncate = -2"),
        ("truncate=soon", "truncate = "),
        ("default=rlgo", 'default = "rlgo": expected one of "uniform", "mogo"'),
        ("truncate=5,weights=none.npz", "none.npz"),
        ("workers=0", "workers = 0"),
        ("first=uct.toml,heuristic=rlgo", "prior_search = uct.toml: expected a td_search or dyna2 player"),
        ("first=td_search.toml", "prior_search: expected one stage of prior knowledge, with Rlgo"),
        ("heuristic=patterns,patterns=8x8", "8x8: no such pattern file; "),
        ("prior_n_amaf=0,network=9x9", "network = 9x9: no effect here"),
    ],
)
def test_bad_keys(keys, message):
    with pytest.raises(RlgoError) as error:
        make_player(f"mc_rave,{keys}", SIZE, 1)
    assert message in str(error.value)


@pytest.mark.parametrize(("first", "simulations"), [("td_search.toml", 1000), ("td_search;sims=30;sizes=1+2", 30)])
def test_td_search_before_tree_search_by_file_or_spec(first, simulations):
    search = make_player(f"heuristic_mc_rave,first={first},sims=20", SIZE, 3)
    result = search.search(Game(SIZE))
    assert result.visits.sum() == result.simulations <= 20
    assert search.prior_search.tally.simulations == simulations
    assert (result.prior != result.prior[0]).any()


def test_the_weights_of_the_first_search_are_among_the_files_of_a_match():
    with files_loaded() as files:
        make_player("heuristic_mc_rave,first=dyna2;long=9x9-1M,memory_mb=1", 9)
    assert files == {checkpoints_dir() / "9x9-1M.npz"}


def test_a_network_of_ours_is_compiled_into_the_search(tmp_path):
    random_network().save(file := tmp_path / "n.npz")
    with files_loaded() as files:
        search = make_player(f"mc_rave,network={file},network_after=3,network_value=0.25", SIZE, 1)
    assert files == {file}
    assert search.models.network is not None
    assert search.threads.batches is None
    assert search.settings.prior == (Stage(Network(), 3),)
    alone = make_player(f"puct,heuristic=none,network={file},network_after=1,network_value=1,playouts=off", SIZE, 1)
    assert alone.value_weights() is None
    for keys, message in [
        (f"network={file},evaluator=value", "evaluator"),
        (f"network={file},symmetries=8", "symmetries"),
        ("network_after=3", "network_after"),
        (f"network={tmp_path / 'missing.npz'}", "missing.npz"),
    ]:
        with pytest.raises(RlgoError) as error:
            make_player(f"mc_rave,{keys}", SIZE, 1)
        assert message in str(error.value)
        assert "\n" not in str(error.value)


def test_a_network_without_effect_is_refused():
    """UCT has no confidence in H, and no leaf_value."""
    with pytest.raises(RlgoError, match="network = 9x9: no effect here: it needs a confidence in H"):
        make_player("uct,network=9x9", 9)


def test_the_engine_plays_with_its_network():
    player = make_player("rlgo,sims=20", 9, 1)
    assert player.genmove(Game(9)) >= 0
    assert len(player.evaluation["policy"]) == 82
