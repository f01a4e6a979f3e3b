"""Player specs: how they are written, and the errors for bad ones."""

from __future__ import annotations

import pytest

from rlgo.base.errors import RlgoError
from rlgo.go.coords import to_vertex
from rlgo.go.game import Game
from train.players import make_player
from train.players.spec import parse_spec


def test_a_spec_names_a_player_and_its_keys():
    assert parse_spec("random") == ("random", {})
    assert parse_spec("gtp:gnugo --level 0,x") == ("gtp", {"command": "gnugo --level 0,x"})
    spec = parse_spec("td_search, T=never ,sizes=1+3,reset=on,alpha=1e-1,seed=4,lambda=1")
    assert spec.values == {
        "policy_plies": "never", "sizes": (1, 3), "reset": True, "alpha": 0.1, "seed": 4, "lambda_": 1.0
    }  # fmt: skip


def test_specs() -> None:
    assert parse_spec("random") == ("random", {})
    assert parse_spec("random, seed=7") == ("random", {"seed": 7})
    assert parse_spec("greedy,weights=a/b=c+d.npz,epsilon=.1,seed=0") == (
        "greedy",
        {"weights": "a/b=c+d.npz", "epsilon": 0.1, "seed": 0},
    )
    assert parse_spec("gtp: gnugo  --x=1,2+3 'a b'") == ("gtp", {"command": " gnugo  --x=1,2+3 'a b'"})
    assert parse_spec("td_search,sizes=1+3,lambda=0.5,reset=on,T=never,sims=none").values == {
        "sizes": (1, 3),
        "lambda_": 0.5,
        "reset": True,
        "policy_plies": "never",
        "simulations": "none",
    }
    assert parse_spec("dyna2,sizes=none").values == {"sizes": ()}


@pytest.mark.parametrize("text", ["10000", "10_000", "1e4", "1E4", "1e+4", "1.0e4"])
def test_integers_may_be_written_with_underscores_and_exponents(text):
    assert parse_spec(f"td_search,sims={text}").values == {"simulations": 10_000}
    assert parse_spec(f"uct,sims={text},memory_mb={text}").values == {"simulations": 10_000, "memory_mb": 10_000}


@pytest.mark.parametrize("text", ["1.5e0", "1e-3", "1__0", "1_", "_1", "0x10", "1e999"])
def test_what_is_no_integer_is_refused_in_one_line(text):
    with pytest.raises(RlgoError) as error:
        parse_spec(f"td_search,sims={text}")
    assert str(error.value) == (
        f'player td_search: sims = "{text}": expected an integer from 1 to 1,000,000,000, or none'
    )


def test_a_file_may_write_counts_as_floats(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('player = "td_search"\nsims = 1e3\nmax_moves = 1_0\n')
    assert parse_spec(str(file)).values == {"simulations": 1_000, "max_moves": 10}
    file.write_text('player = "td_search"\nsims = 1.5\n')
    with pytest.raises(RlgoError, match=r"sims = 1.5: expected an integer from 1 to .*$"):
        parse_spec(str(file))


def test_a_spec_from_a_file(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('player = "td_search"\nsims = 12\nlambda = 0.5\nsizes = [1]\n')
    assert parse_spec(str(file)).values == {"simulations": 12, "lambda_": 0.5, "sizes": (1,)}
    assert parse_spec(f"{file},sims=13").values["simulations"] == 13
    assert "simulations" not in parse_spec(f"{file},seconds=2").values  # as `td_search,seconds=2`
    assert parse_spec(f"{file},seconds=0").values["simulations"] == 12  # no time, so the other limits apply
    player = make_player(f"{file},seed=1", 5)
    assert to_vertex(player.genmove(Game(5)), 5)
    assert player.simulations == 12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sims = 1", 'expected player = "NAME"'),
        ('player = "td_serch"', "unknown player td_serch; did you mean td_search?"),
        ('player = "td_search"\nsimz = 1', "unknown key simz; did you mean sims?"),
        (
            'player = "td_search"\nsims = 0',
            "player td_search: sims = 0: expected an integer from 1 to 1,000,000,000, or none",
        ),
        ('player = "td_search"\nepsilon = "x"', 'epsilon = "x": expected a number from 0 to 1'),
        ('player = "td_search"\nreset = 1', "reset = 1: expected on or off, in a file true or false"),
        ('player = "td_search"\nT = 1\npolicy_plies = 2', "policy_plies cannot be combined with T: same key"),
        ("player = ", "not valid TOML"),
    ],
)
def test_bad_files(tmp_path, text, message):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(RlgoError) as error:
        make_player(str(file), 5)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{file}: ")


@pytest.mark.parametrize(
    ("spec", "size", "message"),
    [
        (None, 9, "spec = None: expected a player spec"),
        (["random"], 9, "spec = ['random']: expected a player spec"),
        ("random", "9", "board size '9': expected 5 to 19"),
        ("random", None, "board size None: expected 5 to 19"),
        ("uct", 9.5, "board size 9.5: expected 5 to 19"),
    ],
)
def test_what_is_no_spec_and_no_size(spec, size, message):
    with pytest.raises(RlgoError) as error:
        make_player(spec, size)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("td_search,T=-1", "player td_search: T = -1: expected an integer from 0 to 1,000,000,000, or never"),
        ("td_search,sizes=3+1", "sizes = [3, 1]: expected an ascending subset of [1, 2, 3]"),
        ("td_search,sizes=none", "sizes = []: expected an ascending subset"),
        ("td_search,sizes=1,2", "'2': expected KEY=VALUE; lists are written 1+2"),
        ("td_search,sims=10000000000000000000000", "expected an integer from 1 to 1,000,000,000, or none"),
        ("td_search,max_moves=999", "player td_search: max_moves = 999: expected an integer from 0 to 324"),
        ("dyna2,long=none,sizes=none", "expected a short-term memory, or a long-term memory, or both"),
        ("dyna2,long_save=nowhere/x.npz", "long_save = nowhere/x.npz: expected a file that can be written"),
        ("dyna2,long_save=x.npz", "expected a long-term memory that learns"),
        ("td_search,lamda=1", "unknown key lamda; did you mean lambda?"),
        ("td_search,xyz=1", "player td_search: unknown key xyz; expected one of seed, simulations, seconds, sizes"),
        ("stockfish", "unknown player stockfish; expected random, greedy, network, td_search"),
        (
            "td_search,T=2,policy_plies=3",
            "policy_plies cannot be combined with T: same key",
        ),
        ("td_search,alpha", "player td_search: alpha: expected alpha=VALUE"),
        ("uct,c=-1", "player uct: c = -1: expected a number of at least 0"),
        ("uct,c=nan", "player uct: c = nan: expected a number of at least 0"),
        ("mc_rave,M=1e6", "player mc_rave: M = 1000000: expected an integer from 0 to 100,000"),
        ("td_search,seed=-1", "player td_search: seed = -1: expected an integer from 0 to 9,223,372,036,854,775,807"),
        ("dyna2,long=nowhere.npz", "player dyna2: nowhere.npz: no such weight file"),
        ("mc_rave,weights=none.npz", "weights = none.npz: not used with these settings"),
        ("mc_rave,patterns=none.npz", "patterns = none.npz: not used with heuristic = none"),
        ("alphabeta,depth=40", "player alphabeta: depth = 40: expected an integer from 1 to 39"),
        ("two_phase,depth=none", "expected a depth, or seconds, or both"),
        ("dyna2 sims=10", "player dyna2 sims=10: expected no spaces: did you mean dyna2,sims=10?"),
        ("dyna2, sims=10 lambda=0", 'player dyna2: sims = "10 lambda=0": expected an integer'),
        ("nowhere.toml", "nowhere.toml: no such config file; shipped configs: alphabeta, dyna2"),
    ],
)
def test_bad_values(spec, message):
    with pytest.raises(RlgoError) as error:
        make_player(spec, 9)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gredy", "unknown player gredy; did you mean greedy?"),
        ("Random", "unknown player Random; did you mean random?"),
        ("gtp", "unknown player gtp; expected random, greedy, network, td_search"),
        ("", "unknown player ''; expected random, greedy"),
        ("greedy,weigths=x", "player greedy: unknown key weigths; did you mean weights?"),
        ("random,epsilon=0.1", "unknown key epsilon; expected one of seed"),
        ("random,", "player random: '': expected KEY=VALUE"),
        ("random,seed", "expected seed=VALUE"),
        ("random,seed=-1", "seed = -1: expected an integer from 0 to"),
        ("random,seed=1,seed=2", "seed is given twice"),
        ("greedy,epsilon=2", "epsilon = 2: expected a number from 0 to 1"),
        ("greedy,epsilon=nan", "expected a number from 0 to 1"),
        ("greedy,weights=", "weights=: expected weights=VALUE"),
        ("gtp:", "expected a command after gtp:"),
        ("gtp:'x", "No closing quotation"),
        ("gtp:no-such-engine --x", "engine 'no-such-engine' not found on PATH or in /usr/games"),
    ],
)
def test_bad_specs(spec: str, message: str) -> None:
    with pytest.raises(RlgoError) as error:
        make_player(spec, 9)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("uct,k=1000", "unknown key k; "),
        ("mcts_greedy,M=50", "unknown key M; "),
        ("rave,bias=0.1", "unknown key bias; "),
        ("dyna2,value=linear", "value has no effect here: it needs long_term = none"),
        (
            "heuristic_mc_rave,schedule=minimum_mse,k=500",
            "k has no effect here: it needs schedule = hand_selected or hand_selected_action",
        ),
        (
            "uct_rave,rave_bias=0.1",
            "rave_bias has no effect here: it needs schedule = minimum_mse or minimum_mse_exact",
        ),
        ("mc_rave,M=20", "M has no effect here: it needs a heuristic"),
        ("rlgo,strength=1,noise=0.2", "strength cannot be combined with noise"),
        ("rlgo,network=none,c_puct=1", "c_puct has no effect here: mc_rave_patterns plays in its place"),
        ("uct,heuristic=even", "heuristic has no effect here: it needs a confidence in H (prior_n) of at least 1"),
        ("rave,heuristic=even,M=0", "heuristic has no effect here: it needs a confidence in H (prior_n) of at least 1"),
        ("mc_rave,heuristic=both,patterns_after=8", "patterns_after has no effect here: it needs a heuristic with "),
        (
            "mc_rave_patterns,first=td_search,patterns_after=2",
            "patterns_after has no effect here: it needs a heuristic with learned ",
        ),
        ("uct,root_parallel=on", "root_parallel has no effect here: it needs several workers"),
        (
            "uct,workers=2,root_parallel=on,virtual_loss=2",
            "virtual_loss has no effect here: it needs several workers that share a tree",
        ),
        ("uct,default=uniform,save=off", "save has no effect here: it needs default_policy = mogo"),
        (
            "td_search,alpha_half=9,alpha_final=0.1,schedule=linear",
            "alpha_half has no effect here: it needs schedule =",
        ),
        ("td_search,span=9", "span has no effect here: it needs schedule = linear or exponential"),
        ("dyna2,long_alpha=0.1", "long_alpha has no effect here: it needs long_learn = on"),
        ("alphabeta,table=off,table_bits=9", "table_bits has no effect here: it needs table = on"),
    ],
)
def test_a_key_without_effect_is_refused(spec, message):
    with pytest.raises(RlgoError) as error:
        parse_spec(spec)
    assert str(error.value).startswith(f"player {spec.partition(',')[0]}: {message}")


@pytest.mark.parametrize(
    "spec",
    [
        "uct,heuristic=none",
        "uct,heuristic=even,C=1",
        "uct,default=uniform,heuristic=mogo,C=1,save=off",
        "mc_rave_patterns,M=9",
    ],
)
def test_a_key_with_an_effect_is_not_refused(spec):
    parse_spec(spec)


def test_a_key_without_effect_in_a_file_is_refused_unless_a_key_beside_the_file_took_its_effect(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('player = "mc_rave"\nk = 70\n')
    assert parse_spec(f"{file},schedule=minimum_mse").values == {"rave_k": 70, "schedule": "minimum_mse"}
    file.write_text('player = "mc_rave"\nk = 70\nschedule = "minimum_mse"\n')
    with pytest.raises(RlgoError) as error:
        parse_spec(str(file))
    assert str(error.value).startswith(f"{file}: player mc_rave: k has no effect here")


def test_seeds_of_specs() -> None:
    def moves(spec: str, seed: int) -> list[int]:
        player = make_player(spec, 9, seed)
        return [player.genmove(Game(9)) for _ in range(10)]

    assert moves("random", 1) == moves("random,seed=1", 2) != moves("random", 2)
