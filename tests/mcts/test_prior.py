"""A user's own prior."""

from __future__ import annotations

import numpy as np
import pytest
from tree_tools import (
    SIZE,
    PatientSearch,
    game_after,
    random_weights,
    value_index,
)

from mcts.handcrafted import judge
from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS, Heuristic, Resources
from mcts.tree import edges_of, nodes_in
from rlgo.base.budget import Budget
from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK
from rlgo.go.mogo_patterns import mogo_patterns
from rlgo.learning.value import ValueFunction, sigma


def test_a_users_prior():
    """It is called for every new node, the root first, and its answers are in the tree."""
    w = random_weights()
    value = ValueFunction(w)
    asked = []

    def prior(board, moves):
        asked.append((int(board.hash), len(moves)))
        v = value.afterstates(board)
        at = [value_index(p) for p in moves]
        return v[at], 2, np.full(len(moves), 30)

    game = game_after("C3")
    mine = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 50, prior=prior, resources=Resources(batch=4), seed=2)
    result = mine.search(game)
    n = result.simulations
    tree = mine.trees[0]
    assert len(asked) == nodes_in(tree) == n + 1 > 20
    assert asked[0] == (int(game.board.hash), len(game.sensible_moves()))
    for node in range(n + 1):
        edges = edges_of(tree, node)
        assert (edges.n >= 2).all()
        assert (edges.n_amaf >= 30).all()
        assert tree.node_visits[node] == edges.n.sum()
    # Called for one node at a time, a copy of a built-in prior gives the same search, to the last visit.
    settings = ALGORITHMS["mc_rave"]._replace(heuristic=Heuristic.HANDCRAFTED, prior_n=2, prior_n_amaf=30)

    def handcrafted(board, moves):
        sign = 1 if board.to_play == BLACK else -1
        return [sigma(sign * judge(board, int(p), mogo_patterns())) for p in moves], 2, 30

    built_in = PatientSearch(SIZE, settings, 60, seed=7)
    plugged = PatientSearch(SIZE, ALGORITHMS["mc_rave"], 60, prior=handcrafted, resources=Resources(batch=1), seed=7)
    built_in.search(game)
    plugged.search(game)
    late, prompt = built_in.trees[0], plugged.trees[0]
    assert nodes_in(late) == nodes_in(prompt) == 61
    for node in range(61):
        ours, users = edges_of(late, node), edges_of(prompt, node)
        if late.prior_kind[node] == Heuristic.NONE:  # only the user's is called as soon as there is a node
            assert ours.n.sum() <= 1
            users.n -= 2
            users.n_amaf -= 30
            for column in ("w", "w_amaf", "prior_q"):
                users[column] = ours[column]
        assert (ours == users).all()


def test_priors_of_a_batch():
    """All nodes that wait are evaluated in one call."""
    asked = []

    def priors(boards, moves):
        asked.append([int(board.hash) for board in boards])
        return [(np.full(len(here), 0.6), 3, 20) for here in moves]

    search = PatientSearch(SIZE, ALGORITHMS["mc_rave"], 50, priors=priors, resources=Resources(batch=6), seed=2)
    result = search.search(game_after("C3"))
    assert [len(hashes) for hashes in asked] == [1, *[6] * 8, 2]
    assert result.nodes == 51
    tree = search.trees[0]
    assert all((edges_of(tree, node).n >= 3).all() for node in range(51))
    assert (result.prior_q == 0.6).all()
    for bad in (lambda _boards, _moves: [], lambda _boards, _moves: 5):
        with pytest.raises(RlgoError, match="expected a list of 1 triples"):
            TreeSearch(SIZE, ALGORITHMS["mc_rave"], 50, priors=bad, seed=2).search(game_after("C3"))
    with pytest.raises(RlgoError, match="prior, priors: expected one of the two, not both"):
        TreeSearch(SIZE, ALGORITHMS["mc_rave"], 50, prior=lambda *_: (0.5, 0, 1), priors=priors)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_search_after_an_error_is_whole(workers):
    """Neither a prior that fails nor an exception that stops the search leaves anything behind."""
    calls = []

    def prior(_board, _moves):
        calls.append(1)
        if len(calls) == 30:
            raise ZeroDivisionError
        return 0.5, 1, 10

    resources = Resources(workers, batch=4)
    search = PatientSearch(SIZE, ALGORITHMS["mc_rave"], 300, prior=prior, resources=resources, seed=1)
    game = game_after("C3")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            search.search(game)
        assert search.root.node_of(game, search.trees[0]) == -1
        calls[:] = [1] * 40
        for _ in range(2):
            game.play(int(search.search(game).moves[0]))
            tree = search.trees[0]
            for node in range(nodes_in(tree)):
                assert (edges_of(tree, node).n >= 1).all()
                assert tree.node_visits[node] == edges_of(tree, node).n.sum()
        calls.clear()

    def interrupt():
        raise KeyboardInterrupt

    timed = TreeSearch(SIZE, ALGORITHMS["uct"], None, seconds=100.0, resources=resources, seed=1)
    with pytest.raises(KeyboardInterrupt):
        timed.search(game, Budget(seconds=100.0, stop=interrupt))
    n = int(timed.trees[0].node_visits[0])
    timed.simulations, timed.seconds = 50, None
    assert timed.search(game).visits.sum() == 50 != n == int(timed.trees[0].node_visits[0]) + n - 50


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: (np.full(n, np.nan), 0, 1), "prior: H of "),
        (lambda n: (np.full(n, 1.5), 0, 1), "= 1.5: expected 0 to 1"),
        (lambda n: (np.zeros(n), -1, 1), "prior: C of "),
        (lambda n: (np.zeros(n), 0, np.inf), "prior: C~ of "),
        (lambda n: (np.zeros(n + 1), 0, 1), "prior: H has shape (25,): expected (24,)"),
        (lambda n: np.zeros(n), "prior: expected a triple"),
        (lambda _: ("a", 0, 0), "prior: H = 'a': expected a number, or one for each move"),
        (lambda _: ([[1], [1, 2]], 0, 0), "prior: H = [[1], [1, 2]]: expected a number, or one for each move"),
        (lambda _: (0.5, {}, 0), "prior: C = {}: expected a number, or one for each move"),
        (lambda _: (0.5, 0, 1 + 2j), "prior: C~ = (1+2j): expected a number, or one for each move"),
    ],
)
def test_bad_priors(answer, message):
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 10, prior=lambda _board, moves: answer(len(moves)), seed=1)
    with pytest.raises(RlgoError) as error:
        search.search(game_after("C3"))
    assert message in str(error.value)


def test_a_users_prior_with_threads():
    resources = Resources(2, batch=4)
    search = PatientSearch(
        SIZE, ALGORITHMS["mc_rave"], 400, prior=lambda _board, _moves: (0.5, 1, 10), resources=resources, seed=1
    )
    result = search.search(game_after("C3"))
    tree = search.trees[0]
    assert result.simulations == 400
    for node in range(nodes_in(tree)):
        edges = edges_of(tree, node)
        assert (edges.n >= 1).all()
        assert (edges.n_amaf >= 10).all()
        assert tree.node_visits[node] == edges.n.sum()
