"""Tree search as a player."""

from __future__ import annotations

import numpy as np
from tree_tools import SIZE, at, game_after

from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS
from rlgo.base.budget import Budget
from rlgo.go.board import BLACK, PASS
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.play.player import RESIGN


def test_reproducible_from_the_seed():
    game = game_after("C3", "D4")
    a, b, c = (TreeSearch(SIZE, ALGORITHMS["uct_rave"], 300, seed=seed).search(game) for seed in (1, 1, 2))
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)
    assert a.line.tolist() != c.line.tolist() or (a.visits != c.visits).any()


def test_answers_at_the_end():
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 50, seed=1, resign=0.3)
    assert search.genmove(game_after("C3", "pass")) == PASS
    assert search.report() == []
    lost = Game(SIZE, 30.5)
    assert search.genmove(lost) == RESIGN
    over = game_after("C3", "pass", "pass")
    assert search.genmove(over) in [PASS, *over.legal_moves()]
    white = Game(SIZE, -30.5)
    white.play(at("C3"))
    assert search.genmove(white) == RESIGN
    full = Game(SIZE, 0.5)
    full.set_up([(BLACK, from_vertex(f"{c}{r}", SIZE)) for c in "ABCDE" for r in range(1, 6)
                 if f"{c}{r}" not in ("A1", "E5", "E4")])  # fmt: skip
    assert search.genmove(full) in [PASS, *full.sensible_moves()]


def test_a_move_at_once_takes_few_simulations():
    for simulations, made in ((None, 16), (5, 5), (2000, 16)):
        search = TreeSearch(SIZE, simulations=simulations, seconds=1.0, seed=1)
        search.limit = 0.0  # the clock has run down
        assert search.genmove(game_after("C3")) in game_after("C3").legal_moves()
        assert search.result.simulations == made
        assert search.analyses()["visits"].shape == (SIZE, SIZE)


def test_a_search_ends_when_it_is_told_to_or_decided():
    polls = []
    search = TreeSearch(SIZE, simulations=None, seconds=1000.0, seed=1)
    search.search(game_after("C3"), Budget(seconds=1000.0, stop=lambda: polls.append(1) or len(polls) == 3))
    assert len(polls) == 3
    assert search.result.simulations > 3
    game = Game(SIZE, -30.0)  # Black cannot lose: the first move that is result stays ahead
    decided = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 2000, seed=1)
    assert decided.search(game).simulations < 2000
    assert decided.report()[0].startswith("Black won 100.0% of ")
    assert set(decided.analyses()) == {"value", "amaf", "visits", "prior"}


def test_without_a_simulation_nobody_resigns(monkeypatch):
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 50, resign=0.9, seed=1)
    found = search.search(Game(SIZE))
    empty = found._replace(visits=np.zeros_like(found.visits), q=np.full_like(found.q, np.nan))
    monkeypatch.setattr(search, "search", lambda _: empty)
    assert search.genmove(Game(SIZE)) == found.moves[0]


def test_no_simulations_are_none():
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 50, seed=1)
    assert search.search(game_after("C3"), Budget(0)).simulations == 0
    budget = Budget(50)
    budget.done = 30
    assert search.search(game_after("D4"), budget).simulations == 20
    assert budget.done == 50
