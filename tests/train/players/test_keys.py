"""The keys of players: defaults are the algorithms' own, and every key sets what it names."""

from __future__ import annotations

import numpy as np
import pytest

from mcts.leaves import Mixture, Playout
from mcts.player import TreeSearch
from mcts.policies import Flat, Rave
from mcts.policies.rave import Schedule
from mcts.priors import Handcrafted, Patterns, Rlgo, sum_of
from mcts.priors.stages import Stage
from mcts.settings import ALGORITHMS, Search
from rlgo.base.errors import RlgoError
from rlgo.base.resources import config_path, list_configs
from rlgo.base.settings import CONSTANT, EXPONENTIAL, HARMONIC, LINEAR, LINEAR_DECAY
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, save_weights
from rlgo.go.game import Game
from rlgo.moves.rollout import MOGO, UNIFORM, DefaultPolicy
from rlgo.search.alphabeta import AlphaBetaOptions
from rlgo.search.alphabeta_player import AlphaBeta
from rlgo.search.deepening import AlphaBetaSearch
from rlgo.search.dyna2 import LONG_LEARNING, SHORT_LEARNING, Dyna2
from rlgo.search.table_search import TableSearch
from rlgo.search.td_search import LEARNING, POLICY, THROUGHOUT, TdSearch
from rlgo.search.two_phase import TwoPhase
from train.players import PLAYERS, make_player
from train.players.spec import parse_spec


@pytest.mark.parametrize("name", list_configs("players"))
def test_shipped_configs_hold_only_what_differs_from_the_defaults(name):
    text = config_path(name, "players").read_text("utf-8")
    assert text.startswith("# ")
    assert "# Speed on 9x9: " in text
    assert "# Strength: " in text
    spec = parse_spec(f"{name}.toml")
    assert spec == parse_spec(str(config_path(name, "players")))
    assert spec.name == name
    defaults = PLAYERS[name].all_keys()
    assert not [key for key, value in spec.values.items() if value == defaults[key].default]


def test_all_that_search_ship_a_config():
    assert set(list_configs("players")) == set(PLAYERS) - {"random", "greedy", "network"}


@pytest.mark.parametrize("name", PLAYERS)
def test_every_key_is_explained_and_its_default_is_allowed(name):
    kind = PLAYERS[name]
    assert kind.__doc__
    for key, setting in kind.all_keys().items():
        assert setting.key.meaning.endswith("."), key
        if setting.default is not None:
            assert setting.read(key, setting.default) == setting.default
    for alias, key in kind.aliases().items():
        assert key in kind.all_keys()
        assert alias not in kind.all_keys()


@pytest.mark.parametrize("name", PLAYERS)
def test_experiments_behind_keys_exist(name):
    for setting in PLAYERS[name].all_keys().values():
        assert set(setting.key.experiments.split()) <= set(list_configs("experiments"))


def test_defaults_are_those_of_the_classes():
    search, plain = make_player("td_search", 9, 1), TdSearch(9)
    for name in ("simulations", "seconds", "policy", "learning", "simulation", "default", "reset", "delay", "workers"):
        assert getattr(search, name) == getattr(plain, name), name
    assert search.features is plain.features
    alphabeta = make_player("alphabeta", 9, 1)
    assert (alphabeta.depth, alphabeta.seconds) == (4, None)
    assert alphabeta.searcher.options == AlphaBetaOptions()
    assert len(alphabeta.searcher._memory.entries) == len(AlphaBetaSearch(9)._memory.entries)
    both = make_player("two_phase", 9, 1)
    assert (both.depth, both.second.options, both.first.simulations) == (4, AlphaBetaOptions(), plain.simulations)
    keys = PLAYERS["dyna2"]()
    assert (keys.long_learning, keys.policy) == (LONG_LEARNING, POLICY)
    plain, short = Dyna2(9), make_player("dyna2,long=none", 9, 1)
    assert short.learning == plain.learning == make_player("two_phase,long=none", 9, 1).first.learning == SHORT_LEARNING
    assert PLAYERS["table_search"]().simulations == TableSearch(5).simulations


def test_defaults_of_tree_search_are_those_of_its_algorithms():
    for name, settings in ALGORITHMS.items():
        if name == "rlgo":  # its limit is a time
            continue
        player = make_player(name, 9, 1)
        plain = TreeSearch(9, ALGORITHMS["mc"])
        assert player.settings == settings
        assert player.name == name
        for attribute in ("simulations", "seconds", "resign", "resources", "default_policy"):
            assert getattr(player, attribute) == getattr(plain, attribute), attribute


@pytest.mark.parametrize(
    ("keys", "alpha", "schedule"),
    [
        ("", 1.0, HARMONIC),
        (",alpha=0.3", 0.3, CONSTANT),
        (",alpha=0.3,schedule=exponential", 0.3, EXPONENTIAL),
        (",alpha_half=50", 1.0, HARMONIC),
        (",alpha=0.3,alpha_half=50", 0.3, HARMONIC),
        (",alpha=0.2,alpha_final=0.02,span=5000", 0.2, LINEAR_DECAY),
    ],
)
def test_who_gives_a_step_size_means_its_schedule(keys, alpha, schedule):
    learning = make_player(f"td_search{keys}", 5).learning
    assert (learning.alpha, learning.schedule) == (alpha, schedule)
    dyna2 = make_player(f"dyna2,long=none{keys}", 5).learning
    assert (dyna2.alpha, dyna2.schedule) == ((alpha if "alpha=" in keys else 0.1), schedule if keys else CONSTANT)


def test_who_gives_k_means_its_schedule():
    for spec, schedule in (
        ("mc_rave", Schedule.MINIMUM_MSE), ("mc_rave,k=500", Schedule.HAND_SELECTED),
        ("heuristic_mc_rave.toml", Schedule.MINIMUM_MSE), ("heuristic_mc_rave.toml,k=500", Schedule.HAND_SELECTED),
    ):  # fmt: skip
        assert make_player(spec, 9).settings.policy.schedule == schedule


def test_every_key_of_tree_search_reaches_what_it_names():
    player = make_player(
        "heuristic_mc_rave,sims=7,default=uniform,mercy=off,"
        "truncate=5,workers=2,virtual_loss=4,resign=0.1,c=0.2,fpu=0.7,schedule=minimum_mse_exact,bias=0.3,"
        "amaf_own=on,expand_after=3,heuristic=both,C=6,M=8,reuse=off,memory_mb=3",
        9,
    )
    assert isinstance(player, TreeSearch)
    assert (player.simulations, player.resign, player.resources.reuse) == (7, 0.1, False)
    assert player.default_policy == DefaultPolicy(UNIFORM, mercy=False)
    assert player.settings == Search(
        Rave(0.2, 0.7, Schedule.MINIMUM_MSE_EXACT, bias=0.3, amaf_own=True, prior_n=6, prior_n_amaf=8),
        (Stage(sum_of(Rlgo(), Handcrafted())),),
        Playout(truncate=5),
        expand_after=3,
        virtual_loss=4,
    )
    assert (player.composition.virtual_loss, player.composition.max_moves) == (4, 243)
    assert len(player.trees) == 1
    assert sum(array.nbytes for array in player.trees[0] if array is not None) == pytest.approx(3e6, rel=0.02)
    assert len(make_player("uct,workers=3,root_parallel=on", 5).trees) == 3
    by_action = make_player("mc_rave,schedule=hand_selected_action,k=70,save=off,pattern=off", 5)
    assert by_action.settings.policy[2:4] == (Schedule.HAND_SELECTED_ACTION, 70.0)
    assert by_action.default_policy == DefaultPolicy(save=False, pattern=False)
    assert make_player("mc,temperature=0.2,pruning=3", 5).settings.policy == Flat(0.2, 3.0)
    assert make_player("mc_rave,seconds=2", 5).simulations is None


def test_every_key_reaches_what_it_names():
    search = make_player(
        "td_search,sims=7,sizes=2,T=never,learn=3,alpha=0.2,schedule=exponential,alpha_final=0.05,span=9,"
        "epsilon=0.25,lambda=0.5,value=linear,default=mogo,save=off,pattern=off,capture=off,self_atari=off,mercy=off,"
        "max_moves=50,reset=on,delay=2,workers=2,seed=3",
        5,
    )
    assert isinstance(search, TdSearch)
    assert search.features.sizes == (2,)
    assert (search.simulations, search.seconds, search.policy.epsilon) == (7, None, 0.25)
    assert search.simulation == (THROUGHOUT, 3, 50)
    assert search.default == (MOGO, False, False, False, False, False)
    assert search.learning == LEARNING._replace(
        alpha=0.2, schedule=EXPONENTIAL, alpha_final=0.05, games=9, lambda_=0.5, value=LINEAR
    )
    assert (search.reset, search.delay, search.workers) == (True, 2, 2)

    dyna2 = make_player(
        "dyna2,sizes=1,long_learn=on,long_alpha=0.02,long_lambda=0.3,long_epsilon=0.5,long_save=x.npz", 9
    )
    assert isinstance(dyna2, Dyna2)
    assert dyna2.memories[0].learns.sum() == 81  # one window a point
    assert dyna2.long_term is not None
    assert dyna2.long_learning == LONG_LEARNING._replace(alpha=0.02, lambda_=0.3)
    assert (dyna2.long_epsilon, dyna2.long_save, dyna2.policy) == (0.5, "x.npz", POLICY)
    assert make_player("dyna2,long=none", 5).long_term is None

    table = make_player("table_search,sims=5,alpha=0.1,epsilon=0.2,lambda=0.3,default=uniform", 5)
    assert (table.simulations, table.settings.policy.epsilon, table.settings.default.kind) == (5, 0.2, 0)
    assert (table.settings.learning.alpha, table.settings.learning.lambda_) == (0.1, 0.3)

    both = make_player("two_phase,sims=9,depth=2,table=off,reductions=on", 9)
    assert isinstance(both, TwoPhase)
    assert (both.first.simulations, both.depth) == (9, 2)
    assert both.second.options == (False, True)


def test_a_time_takes_the_place_of_other_limits():
    assert make_player("td_search,seconds=2", 5).simulations is None
    assert make_player("td_search,seconds=2,sims=8", 5).simulations == 8
    timed = make_player("two_phase,seconds=2", 9)
    assert (timed.first.simulations, timed.first.seconds, timed.depth, timed.seconds) == (None, 1.0, None, 2.0)
    alphabeta = make_player("alphabeta,seconds=2", 9)
    assert isinstance(alphabeta, AlphaBeta)
    assert (alphabeta.depth, alphabeta.seconds) == (None, 2.0)


def test_the_default_has_values_of_its_own_on_19x19():
    """It has more moves to look at there. Values that are given stand."""

    def values(spec, size):
        player = make_player(spec, size)
        return player.simulations, player.settings.policy.prior_n_amaf

    assert values("heuristic_mc_rave", 9) == (3_000, 50)
    assert values("heuristic_mc_rave", 19) == (10_000, 50)
    assert values("heuristic_mc_rave,M=70,sims=20", 19) == (20, 70)
    assert values("heuristic_mc_rave,seconds=1", 19) == (None, 50)


def test_the_strongest_player_plays_on_every_board():
    for size in (5, 9, 13, 19):
        player = make_player("rlgo,memory_mb=8", size)
        assert (player.simulations, player.seconds) == (None, 1.0)
        assert player.settings == ALGORITHMS["rlgo"]
        assert player.models.network is not None
        assert player.models.patterns is None
        assert player.value_weights() is None
        assert make_player("rlgo,memory_mb=8,c_puct=0.7", size).settings.policy.c == 0.7
    assert [PLAYERS["rlgo"].by_size[size]["network"] for size in (11, 12, 16, 17)] == ["9x9", "13x13", "13x13", "19x19"]
    assert make_player("rlgo,sims=20", 7).seconds is None
    assert make_player("rlgo,sims=20,seconds=3", 7).seconds == 3.0


@pytest.mark.parametrize("size", [7, 9, 18, 19])
def test_without_a_network_the_strongest_player_is_mc_rave_with_patterns(size):
    """Values that are given stand, even where they are the defaults of the other player."""
    player = make_player("rlgo,network=none,memory_mb=8,leaf_fade=0.0", size)
    other = make_player("mc_rave_patterns,memory_mb=8,leaf_fade=0.0", size)
    assert player.settings == other.settings
    assert getattr(player.settings.leaf, "fade", 0.0) == 0.0
    assert player.models.network is None
    assert (player.value_weights() is None) == (other.value_weights() is None)
    assert player.calibration == other.calibration
    assert (player.name, player.simulations, player.seconds) == ("rlgo", None, 1.0)
    assert make_player("rlgo,network=none,memory_mb=8,sims=30", size).seconds is None


def test_mc_rave_with_patterns_plays_on_every_board():
    assert set(PLAYERS["mc_rave_patterns"].by_size) == set(range(5, 20)) - {9, 13, 19}
    for size in (5, 9, 10, 13, 19):
        player = make_player("mc_rave_patterns,memory_mb=8", size)
        has_weights = size in (9, 13, 19)
        assert player.settings.prior[-1].prior == (sum_of(Rlgo(), Patterns()) if has_weights else Patterns())
        assert (player.value_weights() is not None) == has_weights
        assert player.models.patterns is not None
        assert isinstance(player.settings.leaf, Mixture) == has_weights
        if has_weights:
            assert player.value_weights().features.sees_liberties == (size == 9)
    assert not make_player("mc_rave_patterns,weights=9x9-1M", 9).value_weights().features.sees_liberties
    assert make_player("mc_rave_patterns,heuristic=patterns,leaf_value=0", 9).value_weights() is None
    with pytest.raises(RlgoError, match=r"x\.npz"):
        make_player("mc_rave_patterns,weights=x.npz", 7)


FULL_NAMES = [
    ("td_search,sims=7,T=3,learn=4,span=9,default=uniform,lambda=0.5,schedule=linear",
     "td_search,simulations=7,policy_plies=3,learn_plies=4,schedule_games=9,default_policy=uniform,lambda_=0.5,schedule=linear"),
    ("dyna2,long=none,sims=5", "dyna2,long_term=none,simulations=5"),
    ("uct,fpu=0.7,C=6,heuristic=mogo,default=uniform",
     "uct,first_play_urgency=0.7,prior_n=6,heuristic=mogo,default_policy=uniform"),
    ("mc_rave,k=70,M=8,heuristic=even", "mc_rave,rave_k=70,prior_n_amaf=8,heuristic=even"),
    ("mc_rave,bias=0.3", "mc_rave,rave_bias=0.3"),
    ("heuristic_mc_rave,first=td_search;sims=9", "heuristic_mc_rave,prior_search=td_search;simulations=9"),
]  # fmt: skip


@pytest.mark.parametrize(("short", "full"), FULL_NAMES)
def test_short_keys_mean_the_same_as_full_names(short, full):
    assert parse_spec(short).values == parse_spec(full).values | (
        {"prior_search": "td_search;sims=9"} if "first" in short else {}
    )
    a, b = make_player(short, 9, 1), make_player(full, 9, 1)
    if "first" in short:
        assert a.prior_search.simulations == b.prior_search.simulations == 9
    for name in ("simulations", "simulation", "learning", "settings", "default", "default_policy", "policy"):
        assert getattr(a, name, None) == getattr(b, name, None), name


def test_the_whole_seed_counts():
    """Of two children of a seed, too, whatever the number of the game."""
    a, b = (make_player("random", 9, seed, (3,)) for seed in np.random.SeedSequence(1).spawn(2))
    assert [a.genmove(Game(9)) for _ in range(9)] != [b.genmove(Game(9)) for _ in range(9)]
    seed = np.random.SeedSequence(1)
    a, b = (make_player("mc_rave,sims=20,workers=2", 5, seed) for _ in "ab")  # spawning changes nothing
    assert [t.rng[0] for t in a.threads.workspaces] == [t.rng[0] for t in b.threads.workspaces]


def test_named_weights_are_used_on_boards_without_shipped_ones(tmp_path):
    features = make_features(5, (1,))
    save_weights(tmp_path / "w.npz", Weights(features, np.zeros(features.n_weights + 1, np.float32)))
    settings = make_player(f"mc_rave_patterns,weights={tmp_path / 'w.npz'},leaf_fade=0.5", 5).settings
    assert settings.prior == ALGORITHMS["mc_rave_patterns"].prior
    assert (settings.leaf.share, settings.leaf.fade) == (0.75, 0.5)
    assert make_player("mc_rave_patterns", 5).settings.leaf == Playout()


def test_a_prior_search_learns_with_a_seed_of_its_own():
    with pytest.raises(RlgoError, match="prior_search = uct: expected a td_search or dyna2 player"):
        make_player("heuristic_mc_rave,first=uct", 9)
