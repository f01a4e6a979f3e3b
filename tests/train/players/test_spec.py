"""Player specs: how they are read, and what is wrong with them."""

from __future__ import annotations

import pytest

from rlgo.errors import RlgoError
from rlgo.game import Game
from train.players.spec import make_player, parse_spec


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
        "T": "never",
        "sims": "none",
    }
    assert parse_spec("dyna2,sizes=none").values == {"sizes": ()}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gredy", "player 'gredy': unknown; the nearest is greedy"),
        ("Random", "the nearest is random"),
        ("gtp", "the nearest is gtp:COMMAND"),
        ("", "player '': unknown"),
        ("greedy,weigths=x", "player greedy: unknown key 'weigths'; the nearest is weights"),
        ("random,epsilon=0.1", "unknown key 'epsilon'; the nearest is seed"),
        ("random,", "unknown key ''"),
        ("random,seed", "expected seed=VALUE"),
        ("random,seed=-1", "seed = -1: expected an integer from 0 to"),
        ("random,seed=1,seed=2", "seed is given twice"),
        ("greedy,epsilon=2", "epsilon = 2: expected a number from 0 to 1"),
        ("greedy,epsilon=nan", "expected a number from 0 to 1"),
        ("greedy,weights=", "weights=: expected weights=VALUE"),
        ("gtp:", "expected a command after gtp:"),
        ("gtp:'x", "No closing quotation"),
        ("gtp:no-such-engine --x", "engine 'no-such-engine' is not found on PATH or in /usr/games"),
    ],
)
def test_bad_specs(spec: str, message: str) -> None:
    with pytest.raises(RlgoError) as error:
        make_player(spec, 9)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_seeds_of_specs() -> None:
    def moves(spec: str, seed: int) -> list[int]:
        player = make_player(spec, 9, seed)
        return [player.genmove(Game(9)) for _ in range(10)]

    assert moves("random", 1) == moves("random,seed=1", 2) != moves("random", 2)
