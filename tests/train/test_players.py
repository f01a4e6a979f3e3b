"""The keys of players: the shipped configs hold the defaults, and every key reaches what it names."""

from __future__ import annotations

import dataclasses

import pytest

from mcts.heuristic import BOTH
from mcts.player import ALGORITHMS, TreeSearch
from mcts.rave import FLAT, HAND_SELECTED, MINIMUM_MSE, MINIMUM_MSE_EXACT
from mcts.search import LEARNED, Settings
from rlgo.alphabeta import AlphaBeta, AlphaBetaSearch, Options
from rlgo.coords import to_vertex
from rlgo.dyna2 import LONG_LEARNING, SHORT_LEARNING, Dyna2
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.resources import config_path, list_configs
from rlgo.settings import CONSTANT, EXPONENTIAL, HARMONIC, LINEAR, LINEAR_DECAY
from rlgo.table_search import TableSearch
from rlgo.td_search import LEARNING, POLICY, THROUGHOUT, TdSearch
from rlgo.two_phase import TwoPhase
from train.players.spec import PLAYERS, make_player, parse_spec


@pytest.mark.parametrize("name", list_configs("players"))
def test_shipped_configs_hold_the_defaults(name):
    path = config_path(name, "players")
    assert parse_spec(f"{name}.toml") == (name, parse_spec(str(path)).values)
    values = parse_spec(str(path)).values
    fields = dataclasses.fields(PLAYERS[name])
    assert {f.name: f.default for f in fields if f.name in values} == values
    # `seconds` is there, but as a comment: with it there would be no limit on the rest.
    text = path.read_text("utf-8")
    assert {f.name for f in fields} - set(values) <= {"seconds"}
    assert "seconds" not in {f.name for f in fields} or "\n# seconds = " in text
    assert text.splitlines()[0].startswith("# ") and "# Budget on 9x9" in text and "# Expected:" in text


def test_all_that_search_ship_a_config():
    assert set(list_configs("players")) == set(PLAYERS) - {"random", "greedy"}


def test_defaults_are_those_of_the_classes():
    search, plain = make_player("td_search", 9, 1), TdSearch(9)
    for name in ("simulations", "seconds", "policy", "learning", "simulation", "default", "reset", "delay", "workers",
                 "merge_every"):  # fmt: skip
        assert getattr(search, name) == getattr(plain, name), name
    assert search.features is plain.features
    alphabeta = make_player("alphabeta", 9, 1)
    assert (alphabeta.depth, alphabeta.seconds) == (4, None) and alphabeta._search.options == Options()
    assert len(alphabeta._search._table) == len(AlphaBetaSearch(9)._table)
    both = make_player("two_phase", 9, 1)
    assert (both.depth, both._second.options, both.first.simulations) == (4, Options(), plain.simulations)
    keys = PLAYERS["dyna2"]()
    assert (keys.long_alpha, keys.long_lambda) == (LONG_LEARNING.alpha, LONG_LEARNING.lambda_)
    assert keys.epsilon == POLICY.epsilon
    plain, short = Dyna2(9), make_player("dyna2,long=none", 9, 1)
    assert short.learning == plain.learning == make_player("two_phase,long=none", 9, 1).first.learning == SHORT_LEARNING
    assert dataclasses.asdict(PLAYERS["table_search"]())["sims"] == TableSearch(5).simulations


def test_defaults_of_tree_search_are_those_of_its_algorithms():
    for name, settings in ALGORITHMS.items():
        player, plain = make_player(name, 9, 1), TreeSearch(9, ALGORITHMS["mc"])
        assert player.settings == settings._replace(max_moves=243) and player.name == name
        for attribute in ("simulations", "seconds", "resign", "reuse", "default"):
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
    assert make_player("mc_rave", 9).settings.schedule == MINIMUM_MSE
    assert make_player("mc_rave,k=500", 9).settings.schedule == HAND_SELECTED
    assert make_player("heuristic_mc_rave,k=500,schedule=minimum_mse", 9).settings.schedule == MINIMUM_MSE
    assert make_player("heuristic_mc_rave.toml", 9).settings.schedule == MINIMUM_MSE  # it has all keys


def test_every_key_of_tree_search_reaches_what_it_names():
    player = make_player(
        "heuristic_mc_rave,sims=7,default=rlgo,epsilon=0.3,save=off,pattern=off,capture=off,self_atari=off,mercy=off,"
        "truncate=5,workers=2,virtual_loss=4,resign=0.1,c=0.2,fpu=0.7,schedule=minimum_mse_exact,k=70,bias=0.3,"
        "learn_bias=on,expand_after=3,heuristic=both,C=6,M=8,adapt_M=on,progressive_bias=0.9,widening=1.5,reuse=off,"
        "memory_mb=3",
        9,
    )
    assert isinstance(player, TreeSearch)
    assert (player.simulations, player.resign, player.reuse) == (7, 0.1, False)
    assert player.default == (LEARNED, False, False, False, False, False) and player._knowledge.policy.epsilon == 0.3
    assert player.settings == Settings(
        c=0.2, first_play_urgency=0.7, schedule=MINIMUM_MSE_EXACT, rave_k=70.0, rave_bias=0.3, learn_bias=True,
        expand_after=3, heuristic=BOTH, prior_n=6, prior_n_amaf=8, adapt_m=True, progressive_bias=0.9, widening=1.5,
        truncate=5, virtual_loss=4, max_moves=243,
    )  # fmt: skip
    assert len(player.trees) == 1 and sum(array.nbytes for array in player.trees[0]) == pytest.approx(3e6, rel=0.02)
    assert len(make_player("uct,workers=3,root_parallel=on", 5).trees) == 3
    flat = make_player("mc,temperature=0.2,pruning=3", 5).settings
    assert (flat.value, flat.temperature, flat.pruning) == (FLAT, 0.2, 3.0)
    assert make_player("mc_rave,seconds=2", 5).simulations is None


def test_every_key_reaches_what_it_names():
    search = make_player(
        "td_search,sims=7,sizes=2,T=never,learn=3,alpha=0.2,schedule=harmonic,alpha_final=0.05,alpha_half=50,span=9,"
        "epsilon=0.25,lambda=0.5,value=linear,default=uniform,save=off,pattern=off,capture=off,self_atari=off,mercy=off,"
        "max_moves=50,reset=on,delay=2,workers=2,merge_every=5,seed=3",
        5,
    )
    assert isinstance(search, TdSearch) and search.features.sizes == (2,)
    assert (search.simulations, search.seconds, search.policy.epsilon) == (7, None, 0.25)
    assert search.simulation == (THROUGHOUT, 3, 50) and search.default == (0, False, False, False, False, False)
    assert search.learning == LEARNING._replace(
        alpha=0.2, schedule=2, alpha_final=0.05, alpha_half=50.0, games=9, lambda_=0.5, value=LINEAR
    )
    assert (search.reset, search.delay, search.workers, search.merge_every) == (True, 2, 2, 5)

    dyna2 = make_player(
        "dyna2,sizes=1,sharing=LI,long_learn=on,long_alpha=0.02,long_lambda=0.3,long_epsilon=0.5,long_save=x.npz", 9
    )
    assert isinstance(dyna2, Dyna2) and dyna2.features.name == "9x9 1x1 LI" and dyna2.long_term is not None
    assert dyna2._long_learning == LONG_LEARNING._replace(alpha=0.02, lambda_=0.3)
    assert (dyna2._long_epsilon, dyna2._long_save, dyna2.policy) == (0.5, "x.npz", POLICY)
    assert make_player("dyna2,long=none", 5).long_term is None

    table = make_player("table_search,sims=5,alpha=0.1,epsilon=0.2,lambda=0.3,default=uniform", 5)
    assert (table.simulations, table.policy.epsilon, table.default.kind) == (5, 0.2, 0)
    assert (table.learning.alpha, table.learning.lambda_) == (0.1, 0.3)

    both = make_player("two_phase,sims=9,depth=2,table=off,killers=off,history=off,pvs=off,null_move=on", 9)
    assert isinstance(both, TwoPhase) and (both.first.simulations, both.depth) == (9, 2)
    assert both._second.options == (False, False, False, False, True)


def test_a_time_takes_the_place_of_other_limits():
    assert make_player("td_search,seconds=2", 5).simulations is None
    assert make_player("td_search,seconds=2,sims=8", 5).simulations == 8
    timed = make_player("two_phase,seconds=2", 9)
    assert (timed.first.simulations, timed.first.seconds, timed.depth, timed.seconds) == (None, 1.0, None, 2.0)
    alphabeta = make_player("alphabeta,seconds=2", 9)
    assert isinstance(alphabeta, AlphaBeta) and (alphabeta.depth, alphabeta.seconds) == (None, 2.0)


def test_a_spec_from_a_file(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('player = "td_search"\nsims = 12\nlambda = 0.5\nsizes = [1]\n')
    assert parse_spec(str(file)).values == {"sims": 12, "lambda_": 0.5, "sizes": (1,)}
    assert parse_spec(f"{file},sims=13").values["sims"] == 13
    assert "sims" not in parse_spec(f"{file},seconds=2").values  # as `td_search,seconds=2`
    player = make_player(f"{file},seed=1", 5)
    assert to_vertex(player.genmove(Game(5)), 5) and player.simulations == 12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sims = 1", 'expected player = "NAME"'),
        ('player = "td_serch"', "player 'td_serch': unknown; the nearest is td_search"),
        ('player = "td_search"\nsimz = 1', "unknown key 'simz'; the nearest is sims"),
        (
            'player = "td_search"\nsims = 0',
            "player td_search: sims = 0: expected an integer from 1 to 1,000,000,000, or none",
        ),
        ('player = "td_search"\nepsilon = "x"', 'epsilon = "x": expected a number from 0 to 1, found a string'),
        ('player = "td_search"\nreset = 1', "reset = 1: expected on or off, in a file true or false, found an integer"),
        ("player = ", "not valid TOML"),
    ],
)
def test_bad_files(tmp_path, text, message):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(RlgoError) as error:
        make_player(str(file), 5)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("td_search,T=-1", "player td_search: T = -1: expected an integer from 0 to 1,000,000,000, or never"),
        ("td_search,sizes=3+1", "sizes = [3, 1]: expected an ascending subset of [1, 2, 3]"),
        ("td_search,sizes=none", "sizes = []: expected an ascending subset"),
        ("td_search,sizes=1,2", "'2' stands alone: lists are written 1+2"),
        ("td_search,sims=10000000000000000000000", "expected an integer from 1 to 1,000,000,000, or none"),
        ("td_search,max_moves=99999", "player td_search: max_moves = 99999: expected at most 324"),
        ("dyna2,long=none,sizes=none", "expected a short-term memory, or a long-term memory, or both"),
        ("dyna2,long=none,apart=on", "sharing, apart: expected a long-term memory"),
        ("dyna2,long_save=nowhere/x.npz", "long_save = 'nowhere/x.npz': expected a file that can be written"),
        ("dyna2,long_save=x.npz", "expected a long-term memory that learns"),
        ("td_search,lamda=1", "unknown key 'lamda'; the nearest is lambda"),
        ("dyna2,long=nowhere.npz", "player dyna2: nowhere.npz: cannot be read"),
        ("dyna2,sharing=LI,workers=2", "expected one worker"),
        ("alphabeta,depth=40", "player alphabeta: depth = 40: expected an integer from 1 to 39"),
        ("two_phase,depth=none", "expected a depth, or seconds, or both"),
        ("nowhere.toml", "nowhere.toml: no such config file; shipped configs: alphabeta, dyna2"),
    ],
)
def test_bad_values(spec, message):
    with pytest.raises(RlgoError) as error:
        make_player(spec, 9)
    assert message in str(error.value)
