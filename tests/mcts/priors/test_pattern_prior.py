"""Learned patterns as a prior: from the probability of a move to its value."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from oracles.moves import features
from oracles.naive import NaiveBoard
from tree_tools import SIZE, composed, game_after, random_weights, replayed, set_root, value_index

from mcts import Rlgo, Search, Stage, Sum
from mcts.player import TreeSearch
from mcts.priors import Patterns as PatternPrior
from mcts.settings import Resources
from mcts.tree import edges_of
from rlgo.go.board import BLACK, PASS
from rlgo.go.game import Game
from rlgo.learning.value import ValueFunction
from rlgo.moves.move_features import FEATURES
from rlgo.moves.patterns import Patterns

SCALE, SHIFT = 0.4, 0.4
GAMES = [("C3", "B2", "C2", "B3", "B4"), ("C3", "B2", "C2", "B3", "B4", "A2", "B1"), ("C3", "PASS")]


@cache
def shapeless() -> Patterns:
    """Patterns of features alone, which the slow oracle can score, too."""
    weights = np.random.default_rng(1).normal(0, 1.5, len(FEATURES) + 1).astype(np.float32)
    weights[0] = 0
    none = np.zeros(0, np.int64)
    return Patterns(none.astype(np.int32), none.astype(np.uint32), none, np.zeros(1, np.float32), weights, SIZE)


def point(p: int) -> tuple[int, int]:
    return p // (SIZE + 1) - 1, p % (SIZE + 1) - 1


def naive_x(game: Game, moves: list[int]) -> dict[int, float]:
    """x of each move, from its features by the oracle and from the definition of the probability."""
    board = NaiveBoard(SIZE)
    for color, p in game.moves:
        board.to_play = color
        board.play(None if p == PASS else point(p))
    last, last_but_one = (None if p == PASS else point(p) for p in ([PASS, PASS] + [p for _, p in game.moves])[:-3:-1])
    names = {p: features(board, point(p), last, last_but_one) for p in moves if p != PASS}
    names[PASS] = {"pass after a pass" if game.moves[-1][1] == PASS else "pass"}
    weight = dict(zip(FEATURES, shapeless().feature_weights[1:].astype(float), strict=True))
    e = np.array([np.exp(sum(weight[name] for name in names[p])) for p in moves])
    return dict(zip(moves, SCALE * np.log(len(moves) * e / e.sum()) - SHIFT, strict=True))


def sigma(x: float) -> float:
    return 1 / (1 + np.exp(-x))


ALONE = composed("mc_rave", prior=PatternPrior(SCALE, SHIFT), prior_n=3, prior_n_amaf=40)
ADDED = ALONE._replace(prior=(Stage(Sum(Rlgo(), PatternPrior(SCALE, SHIFT))),))


def search_of(settings: Search = ALONE, **resources) -> TreeSearch:
    return TreeSearch(SIZE, settings, 30, weights=random_weights(), patterns=shapeless(), seed=1, **resources)


@pytest.mark.parametrize("moves", GAMES)
def test_the_value_of_a_move_follows_from_its_probability(moves):
    game = game_after(*(v for v in moves if v != "PASS"))
    if "PASS" in moves:
        game.play(PASS)
    sign = 1 if game.to_play == BLACK else -1
    values = ValueFunction(random_weights()).afterstates(game.board)
    alone, added = search_of(), search_of(ADDED)
    set_root(alone, game)
    set_root(added, game)
    xs = naive_x(game, edges_of(alone.trees[0], 0).move.tolist())
    for e in edges_of(alone.trees[0], 0):
        assert (e.n, e.n_amaf) == (3, 40)
        assert e.w_amaf / 40 == pytest.approx(sigma(sign * xs[e.move]), abs=1e-3)
    for e in edges_of(added.trees[0], 0):
        v = values[value_index(e.move)]
        assert e.w_amaf / 40 == pytest.approx(sigma(np.log(v / (1 - v)) + sign * xs[e.move]), abs=1e-3)


def test_new_nodes_know_the_last_two_moves():
    game, search = game_after("C3", "B2"), search_of()
    set_root(search, game)
    search.simulate(game, 30)
    tree, checked = search.trees[0], 0
    for e in edges_of(tree, 0):
        if e.child >= 0 and e.move != PASS:
            then = replayed(game, [int(e.move)])
            below = edges_of(tree, int(e.child))
            xs = naive_x(then, below.move.tolist())
            for edge in below:
                assert edge.prior == pytest.approx(sigma(-xs[edge.move]), abs=0.003)  # White is to play
                checked += 1
    assert checked > 20


def test_threads_have_scratch_of_their_own():
    search = search_of(ADDED, resources=Resources(workers=2))
    one, two = (workspace.patterns for workspace in search.threads.workspaces)
    assert not np.shares_memory(one.log_p, two.log_p)
