"""Learned patterns as prior knowledge: from the probability of a move to its value."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from oracles.moves import features
from oracles.naive import NaiveBoard
from tree_tools import SIZE, at, composed, game_after, random_weights, replayed, set_root, value_index

from mcts import Handcrafted, Rlgo, Search, Stage, Sum
from mcts.player import TreeSearch
from mcts.priors import Patterns as PatternPrior
from mcts.priors.handcrafted import judge
from mcts.settings import ALGORITHMS, Resources
from mcts.tree import NO_PRIOR, edges_of, nodes_in
from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS
from rlgo.go.game import Game
from rlgo.go.mogo_patterns import mogo_patterns
from rlgo.learning.value import ValueFunction
from rlgo.moves.move_features import FEATURES
from rlgo.moves.patterns import Patterns, find_patterns, load_patterns

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


def test_patterns_come_once_a_node_has_the_visits():
    """Until then its prior is that of an earlier stage, of which nothing is left afterwards."""
    game = game_after("C3", "B2")
    search = search_of(
        composed("mc_rave", prior=(Stage(Handcrafted()), Stage(PatternPrior(), 6)), prior_n=3, prior_n_amaf=40, c=0.5)
    )
    set_root(search, game)
    tree, kinds = search.trees[0], set()
    assert tree.stage[0] == 2  # the root has them from the first
    for simulations in (60, 400):
        search.simulate(game, simulations)
        for e in edges_of(tree, 0):
            if e.child < 0 or e.move == PASS or tree.stage[e.child] == NO_PRIOR:
                continue
            then, below = replayed(game, [int(e.move)]), edges_of(tree, int(e.child))
            kind, visits = int(tree.stage[e.child]), int((below.n - 3).sum())
            assert e.n - 5 <= visits <= e.n - 3  # of its first simulations, one or two may have ended before it
            kinds.add((kind, visits >= 6))
            xs = naive_x(then, below.move.tolist())
            if kind == 1:
                xs = {p: judge(then.board, int(p), mogo_patterns()) for p in below.move}
            for edge in below:
                h = sigma(-xs[edge.move])  # White is to play
                assert edge.prior == pytest.approx(h, abs=0.003)
                assert edge.n_amaf >= 40
                if edge.n_amaf == 40:
                    assert edge.w_amaf / 40 == pytest.approx(h, abs=1e-3)
    assert kinds == {(1, False), (2, True)}


def test_threads_have_scratch_of_their_own():
    search = search_of(ADDED, resources=Resources(workers=2))
    result = search.search(game_after("C3", "B2"))
    assert result.visits.sum() == result.simulations
    assert nodes_in(search.trees[0]) > 10
    one, two = (workspace.patterns for workspace in search.threads.workspaces)
    assert not np.shares_memory(one.log_p, two.log_p)


def test_a_search_without_patterns_has_none_of_their_types():
    """Or it would compile what it does not use."""
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 1, patterns=shapeless(), seed=1)
    assert search.models.patterns is None
    assert search.threads.workspaces[0].patterns is None


def test_something_else_than_patterns_is_refused():
    with pytest.raises(RlgoError, match="patterns = 3: expected a Patterns"):
        TreeSearch(SIZE, ALONE, 1, patterns=3)


def test_patterns_are_found_by_size_or_by_name(tmp_path):
    shipped = find_patterns("")
    assert shipped.name == "9x9.npz"
    for name in ("9x9", "9x9.npz", "checkpoints/patterns/9x9.npz", str(shipped)):
        assert find_patterns(name).samefile(shipped)
    assert find_patterns("", 19) == find_patterns("", 5) == shipped
    with pytest.raises(RlgoError, match=r"9x8: no such pattern file; "):
        find_patterns("9x8")
    with pytest.raises(RlgoError, match="expected a pattern file, found a folder"):
        find_patterns(str(tmp_path))
    assert load_patterns(shipped).size == 9


def test_moves_with_a_higher_probability_begin_with_a_higher_value():
    game, search = game_after("C3", "B2", "C2", "B3", "B4", "A2"), search_of()
    set_root(search, game)
    (p,) = shapeless().probabilities([game.board], at("B4"))
    order = sorted(edges_of(search.trees[0], 0), key=lambda e: p[int(e.move)])
    assert [e.prior for e in order] == sorted(e.prior for e in order)
