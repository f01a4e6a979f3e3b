"""Evaluators: what they are asked, what their answers do to the tree, and what they may do wrong."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from board_data import from_diagram
from tree_tools import (
    SIZE,
    PatientSearch,
    by_hash,
    composed,
    game_after,
    random_weights,
    replayed,
    set_root,
    value_index,
)

from mcts import Handcrafted, LearnedValue, Mixture, Outside, OutsideValue, Value
from mcts.outside.evaluator import evaluate, read_answers
from mcts.player import TreeSearch
from mcts.priors.handcrafted import judge
from mcts.settings import ALGORITHMS, Resources
from mcts.tree import WAITING, edges_of, nodes_in
from rlgo.base.budget import Budget
from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.mogo_patterns import mogo_patterns
from rlgo.go.positions import Positions
from rlgo.learning.value import ValueFunction, sigma

N = SIZE * SIZE
PLAIN = ALGORITHMS["mc_rave"]
# PUCT by an evaluator: its value alone, or mixed with outcomes.
BY_VALUE = composed("puct", prior=Outside(), leaf=Value(OutsideValue()))
MIXED = composed("puct", prior=Outside(), leaf=Mixture(0.5, OutsideValue()))


def uniform(positions):
    return {"policy": np.full((len(positions), N + 1), 1 / (N + 1)), "value": np.full(len(positions), 0.5)}


def assert_no_loss_is_left(search):
    for tree in search.trees:
        for node in range(nodes_in(tree)):
            edges = edges_of(tree, node)
            assert tree.node_visits[node] == edges.n.sum()
            assert (edges.w <= edges.n).all()
            assert tree.stage[node] != WAITING


# ---------------------------------------------------------------------------------------------
# What it is asked
# ---------------------------------------------------------------------------------------------


def test_it_is_asked_once_about_each_node_in_batches():
    asked = []

    def evaluator(positions):
        asked.append(positions.arrays.boards["hash"].tolist())
        return uniform(positions)

    game = game_after("C3")
    search = PatientSearch(SIZE, PLAIN, 50, evaluator=evaluator, resources=Resources(batch=6), seed=2)
    result = search.search(game)
    assert [len(hashes) for hashes in asked] == [1, *[6] * 8, 2]
    assert asked[0] == [int(game.board.hash)]
    assert result.nodes == 51 == sum(map(len, asked))
    assert_no_loss_is_left(search)


def test_what_a_position_knows():
    seen = []

    def evaluator(positions):
        seen.append(positions)
        return uniform(positions)

    game = game_after("C3", "B2", "D4", komi=3.5)
    search = PatientSearch(SIZE, ALGORITHMS["puct"], 30, evaluator=evaluator, resources=Resources(batch=4), seed=2)
    search.search(game)
    tree, paths = search.trees[0], {0: []}
    for node in range(nodes_in(tree)):
        for edge in edges_of(tree, node):
            if edge.child >= 0:
                paths[int(edge.child)] = [*paths[node], int(edge.move)]
    positions = {tuple(p.last_moves[i].tolist()): (p, i) for p in seen for i in range(len(p))}
    for path in paths.values():
        now = replayed(game, path)
        expected = Positions.of(now)
        p, i = positions[tuple(expected.last_moves[0].tolist())]
        assert p.komi[i] == 3.5
        assert p.to_play[i] == now.to_play
        assert p.ko[i] == now.board.ko
        np.testing.assert_array_equal(p.arrays.stones[i], expected.arrays.stones[0])
        np.testing.assert_array_equal(p[i].legal(), expected.legal())
    assert max(map(len, paths.values())) >= 3
    # One that needs no history gets none.
    evaluator.history = 1
    seen.clear()
    TreeSearch(SIZE, PLAIN, 5, evaluator=evaluator, seed=1).search(game)
    assert {p.history for p in seen} == {1}


def test_a_pass_is_among_the_moves_of_every_node():
    policy = np.full(N + 1, 0.01)
    policy[N] = 1 - 0.01 * N
    search = PatientSearch(
        SIZE, ALGORITHMS["puct"], 40, evaluator=lambda p: {"policy": np.tile(policy, (len(p), 1))}, seed=1
    )
    result = search.search(game_after("C3"))
    assert result.moves[0] == PASS
    assert result.prior[0] == pytest.approx(policy[N] / policy.sum(), abs=0.05)  # C3 is taken
    assert all(PASS in edges_of(search.trees[0], node).move for node in range(nodes_in(search.trees[0])))


def test_what_else_it_says_about_the_root_is_kept():
    def evaluator(positions):
        return {**uniform(positions), "ownership": positions.stones().astype(float)}

    search = TreeSearch(SIZE, PLAIN, 20, evaluator=evaluator, seed=1)
    search.search(game_after("C3"))
    assert search.evaluation["ownership"][2, 2] == BLACK
    search.search(game_after("B2", "C3"))
    assert search.evaluation["ownership"][2, 2] == WHITE


# ---------------------------------------------------------------------------------------------
# What its answers do
# ---------------------------------------------------------------------------------------------


def test_a_policy_becomes_h_by_the_settings():
    """H = sigma(s log(n P) - t) for the player to move, over the actions of the node, with C and C~."""
    settings = composed("mc_rave", prior=Outside(0.7, 0.1), prior_n=3, prior_n_amaf=20)
    for game in (game_after("C3"), game_after("C3", "B2")):
        for name in ("policy", "logits"):

            def evaluator(positions, name=name):
                policy = by_hash(positions)["policy"]
                return {name: policy if name == "policy" else np.log(policy) + 3}

            search = TreeSearch(SIZE, settings, 1, evaluator=evaluator, seed=1)
            search.set_root(game, game.sensible_moves())
            root = edges_of(search.trees[0], 0)
            p = by_hash(Positions.of(game))["policy"][0][[value_index(int(m)) for m in root.move]]
            h = sigma_of(0.7 * np.log(len(p) * p / p.sum()) - 0.1)
            h = h if game.to_play == BLACK else 1 - h
            np.testing.assert_allclose(root.prior, h, atol=2e-5)
            np.testing.assert_allclose(root.w, 3 * h, atol=1 / 256)
            np.testing.assert_allclose(root.w_amaf, 20 * h, atol=1 / 256)
            assert (root.n == 3).all()
            assert (root.n_amaf == 20).all()
            assert search.trees[0].node_visits[0] == 3 * len(root)


def sigma_of(x):
    return 1 / (1 + np.exp(-x))


def test_values_of_actions_are_h_as_they_are():
    """A copy of a built-in prior gives a node the same statistics. Values of actions take the place of a policy."""
    built_in = composed("mc_rave", prior=Handcrafted(), prior_n=2, prior_n_amaf=30)

    def handcrafted(positions):
        q = np.full((len(positions), N + 1), np.nan)
        for i, board in enumerate(positions.arrays.boards):
            sign = 1 if board.to_play == BLACK else -1
            for p in [*range(1, (SIZE + 1) ** 2), PASS]:
                if p == PASS or board.color[p] == 0:
                    q[i, value_index(p)] = sigma(sign * judge(board, p, mogo_patterns()))
        return {"q": q}

    game = game_after("C3")
    plain = composed("mc_rave", prior_n=2, prior_n_amaf=30)
    ours = PatientSearch(SIZE, built_in, 60, seed=7)
    users = PatientSearch(SIZE, plain, 60, evaluator=handcrafted, resources=Resources(batch=1), seed=7)
    roots = []
    for search in (ours, users):
        set_root(search, game)
        edges = edges_of(search.trees[0], 0)
        roots.append(edges[np.argsort(edges.move)])
    for column in ("move", "n", "w", "n_amaf", "w_amaf", "prior"):
        np.testing.assert_allclose(roots[0][column], roots[1][column][1:], atol=1e-4)  # there, a pass comes first


def test_the_value_of_a_leaf_is_mixed_with_its_outcome():
    """Asked about one node at a time, a copy of the learned value gives the search that has it built in."""
    w, game = random_weights(), game_after("C3", "B2")
    ours_by, users_by = (composed("mc_rave", leaf=Mixture(0.6, v, 0.5)) for v in (LearnedValue(), OutsideValue()))
    value = ValueFunction(w)

    def evaluator(positions):
        return {"value": [value.value(board) for board in positions.arrays.boards]}

    ours = PatientSearch(SIZE, ours_by, 200, weights=w, seed=3)
    users = PatientSearch(SIZE, users_by, 200, evaluator=evaluator, resources=Resources(batch=1), seed=3)
    results = ours.search(game), users.search(game)
    assert nodes_in(ours.trees[0]) == nodes_in(users.trees[0]) == 201
    np.testing.assert_array_equal(results[0].visits, results[1].visits)
    np.testing.assert_array_equal(results[0].q, results[1].q)
    np.testing.assert_array_equal(results[0].q_amaf, results[1].q_amaf)
    assert users.wins == ours.wins


def test_late_values_end_in_the_same_sums():
    """Whatever the batch, a visit of the root's action weighs (1 - w) z + w v: here z is told from w.

    A prior that is not the evaluator's stays.
    """
    for batch in (1, 7, 64):
        settings = composed("uct", prior=Handcrafted(), leaf=Mixture(0.5, OutsideValue()))
        search = PatientSearch(
            SIZE,
            settings,
            300,
            evaluator=lambda p: {"value": np.full(len(p), 0.25)},
            resources=Resources(batch=batch),
            seed=1,
        )
        result = search.search(game_after("C3"))
        root = edges_of(search.trees[0], 0)
        assert np.ptp(root.prior) > 0.1
        assert root.n.sum() == result.simulations == 300
        assert root.w.sum() == pytest.approx(0.5 * search.wins + 300 * 0.125)
        assert_no_loss_is_left(search)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("settings", [BY_VALUE, MIXED, composed("mc_rave", prior=Outside(), prior_n=1)])
def test_all_simulations_are_complete_in_the_end(settings, workers):
    sizes = []

    def evaluator(positions):
        sizes.append(len(positions))
        return by_hash(positions)

    search = PatientSearch(SIZE, settings, 400, evaluator=evaluator, resources=Resources(workers, batch=5), seed=1)
    game = game_after("C3")
    for _ in range(2):
        result = search.search(game)
        assert result.simulations == 400
        assert max(sizes) <= 5
        assert_no_loss_is_left(search)
        assert result.visits.sum() >= 400
        game.play(int(result.moves[0]))


def test_a_finished_game_needs_no_evaluator():
    game = from_diagram(
        """
        . X . X X
        X X X X X
        X X X X X
        X X X X .
        X X X X .
        """
    )
    game.play(PASS)
    search = TreeSearch(SIZE, BY_VALUE, 200, evaluator=lambda p: {"value": np.zeros(len(p))}, seed=1)
    result = search.search(game)
    (passed,) = result.q[result.moves == PASS]  # this second pass ends the game, which Black has won
    assert passed == 1


def test_searches_of_one_thread_or_of_several_trees_can_be_repeated():
    for resources in (Resources(batch=7), Resources(2, root_parallel=True, batch=7)):
        results = []
        for _ in range(2):
            search = PatientSearch(SIZE, BY_VALUE, 300, evaluator=by_hash, resources=resources, seed=3)
            results.append(search.search(game_after("C3")))
        for one, two in zip(*results, strict=True):
            np.testing.assert_array_equal(one, two)


# ---------------------------------------------------------------------------------------------
# What it may do wrong, and how it is stopped
# ---------------------------------------------------------------------------------------------


def with_policy(**changed):
    return {**uniform(range(2)), **changed}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (5, "evaluator: returned 5: expected a dict with policy, value or both"),
        (with_policy(logits=np.zeros((2, N + 1))), "evaluator: policy and logits: expected one of them"),
        (with_policy(policy=np.ones((2, N)) / N), "evaluator: policy has shape (2, 25): expected (2, 26)"),
        (with_policy(policy=np.ones((2, N + 1))), "evaluator: policy of position 0 adds up to 26: expected 1"),
        (with_policy(policy="a"), "evaluator: policy = 'a': expected numbers"),
        (with_policy(value=[0.5]), "evaluator: value has shape (1,): expected (2,)"),
        (with_policy(value=[0.5, np.nan]), "evaluator: value of position 1 = nan: expected P(Black wins), 0 to 1"),
        (with_policy(value=[-2, 0]), "evaluator: value of position 0 = -2: expected P(Black wins), 0 to 1"),
        (
            with_policy(value=[-1, 0]),
            "evaluator: value of position 0 = -1: expected P(Black wins), 0 to 1; a value v from -1 to 1 is "
            "(1 + v) / 2",
        ),
        ({"logits": np.full((2, N + 1), np.nan)}, "evaluator: logits of position 0, move 0 = nan: expected a number"),
        ({"q": np.full((2, N + 1), 1.5)}, "evaluator: q of position 0, move 0 = 1.5: expected 0 to 1"),
        (with_policy(ownership=[1]), "evaluator: ownership has shape (1,): expected 2 rows, one for each position"),
    ],
)
def test_wrong_answers(answer, message):
    with pytest.raises(RlgoError) as error:
        read_answers(answer, 2, N)
    assert str(error.value) == message


def test_a_negative_probability_and_one_that_is_nan():
    for wrong in (-0.5, np.nan):
        policy = np.full((2, N + 1), 1 / (N + 1))
        policy[1, 3] = wrong
        with pytest.raises(RlgoError, match=r"policy of position 1, move 3 = .*: expected 0 to 1"):
            read_answers({"policy": policy}, 2, N)


def test_an_exception_is_one_line():
    def broken(_positions):
        raise ZeroDivisionError("by\nzero")

    with pytest.raises(RlgoError, match=r"^evaluator: ZeroDivisionError: by zero \(test_evaluator.py, line \d+\)$"):
        evaluate(broken, Positions.of(game_after("C3")))


def test_a_search_without_playouts_needs_values():
    search = TreeSearch(SIZE, BY_VALUE, 10, evaluator=lambda p: {"policy": uniform(p)["policy"]})
    with pytest.raises(RlgoError, match="evaluator: no value: expected one, since playouts = off"):
        search.search(game_after("C3"))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("settings", [BY_VALUE, MIXED])
def test_a_search_after_an_error_is_whole(workers, settings):
    calls = []

    def evaluator(positions):
        calls.append(1)
        if len(calls) == 10:
            raise ZeroDivisionError
        return by_hash(positions)

    search = PatientSearch(SIZE, settings, 300, evaluator=evaluator, resources=Resources(workers, batch=4), seed=1)
    game = game_after("C3")
    with pytest.raises(RlgoError, match="ZeroDivisionError"):
        search.search(game)
    assert search.root.node_of(game, search.trees[0]) == -1
    assert search.search(game).simulations == 300
    assert_no_loss_is_left(search)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("settings", [BY_VALUE, MIXED])
def test_a_search_ends_while_its_evaluator_computes(workers, settings):
    """The evaluator hangs in its fifth batch, until the search has ended."""
    hangs, goes_on, calls = threading.Event(), threading.Event(), []

    def evaluator(positions):
        calls.append(1)
        if len(calls) == 5:
            hangs.set()
            goes_on.wait(60)
        return by_hash(positions)

    search = PatientSearch(SIZE, settings, evaluator=evaluator, resources=Resources(workers, batch=4), seed=1)
    game = game_after("C3")
    result = search.search(game, Budget(seconds=1000.0, stop=hangs.is_set))
    assert not goes_on.is_set()
    assert result.simulations == result.visits.sum() >= 4
    assert_no_loss_is_left(search)
    goes_on.set()
    search.new_game()
    assert search.search(game, Budget(100)).simulations == 100
    # Ctrl-C arrives in the thread that waits.
    hangs.clear()
    goes_on.clear()
    calls.clear()
    search.new_game()

    def interrupt():
        if hangs.is_set():
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        search.search(game, Budget(seconds=1000.0, stop=interrupt))
    goes_on.set()
    assert search.search(game, Budget(100)).simulations == 100


def test_a_slow_evaluator_is_not_asked_when_the_search_is_over():
    asked = []
    search = TreeSearch(
        SIZE, PLAIN, evaluator=lambda p: asked.append(1) or uniform(p), resources=Resources(batch=1), seed=1
    )
    search.search(game_after("C3"), Budget(seconds=1000.0, stop=lambda: len(asked) >= 5))
    assert 5 <= len(asked) <= 6


def test_a_batch_that_is_not_full_does_not_wait_for_ever():
    """Two threads fill no batch of 1,000 here; they wait for a few milliseconds, and the search ends."""
    sizes = []

    def evaluator(positions):
        sizes.append(len(positions))
        return uniform(positions)

    settings = PLAIN._replace(expand_after=50)
    resources = Resources(2, batch=1000, batch_ms=1)
    PatientSearch(SIZE, settings, 3_000, evaluator=evaluator, resources=resources, seed=1).search(game_after("C3"))
    assert max(sizes) < 1000


def test_a_policy_on_illegal_moves_is_warned_of_once(capsys):
    """Two thirds of it are on C3, which is taken in the second position; on average of the batch, it is one third."""

    def on_c3(positions):
        policy = np.full((len(positions), N + 1), 1 / 3 / N)
        policy[:, 12] = 2 / 3
        return {"policy": policy}

    evaluate(on_c3, Positions.of([game_after("D4"), game_after("C3")]))
    assert not capsys.readouterr().err
    for _ in range(2):
        evaluate(on_c3, Positions.of(game_after("C3")))
    assert capsys.readouterr().err == (
        "rlgo: evaluator: 67% of its policy is on illegal moves; rlgo network check tells more\n"
    )
