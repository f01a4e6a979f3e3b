"""Evaluators: what they are asked, what their answers do to the tree, and what they may do wrong."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from board_data import from_diagram
from tree_tools import SIZE, PatientSearch, at, game_after, random_weights, replayed, set_root, value_index

from mcts.evaluator import LearnedEvaluator, evaluate, read_answers
from mcts.handcrafted import judge
from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS, Heuristic, Resources, Use
from mcts.tree import edges_of, nodes_in
from rlgo.base.budget import Budget
from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.mogo_patterns import mogo_patterns
from rlgo.go.positions import Positions
from rlgo.learning.value import ValueFunction, sigma
from rlgo.moves.patterns import load_patterns

N = SIZE * SIZE
PLAIN = ALGORITHMS["mc_rave"]


def uniform(positions):
    return {"policy": np.full((len(positions), N + 1), 1 / (N + 1)), "value": np.full(len(positions), 0.5)}


def by_hash(positions):
    """A policy and a value that differ by position; values are exact in the units of the tree."""
    hashes = positions.arrays.boards["hash"].astype(np.uint64)
    rows = [np.random.default_rng(int(h)) for h in hashes]
    policy = np.array([rng.dirichlet(np.ones(N + 1)) for rng in rows])
    return {"policy": policy, "value": np.array([rng.integers(0, 257) / 256 for rng in rows])}


def assert_no_loss_is_left(search):
    for tree in search.trees:
        for node in range(nodes_in(tree)):
            edges = edges_of(tree, node)
            assert tree.node_visits[node] == edges.n.sum()
            assert (edges.w <= edges.n).all()
            assert tree.prior_kind[node] != Heuristic.WAITING


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
    assert result.prior_q[0] == pytest.approx(policy[N] / policy.sum(), abs=0.05)  # C3 is taken
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
    settings = PLAIN._replace(policy_scale=0.7, policy_shift=0.1, prior_n=3, prior_n_amaf=20)
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
            np.testing.assert_allclose(root.prior_q, h, atol=2e-5)
            np.testing.assert_allclose(root.w, 3 * h, atol=1 / 256)
            np.testing.assert_allclose(root.w_amaf, 20 * h, atol=1 / 256)
            assert (root.n == 3).all()
            assert (root.n_amaf == 20).all()
            assert search.trees[0].node_visits[0] == 3 * len(root)


def sigma_of(x):
    return 1 / (1 + np.exp(-x))


def test_values_of_actions_are_h_as_they_are():
    """A copy of a built-in heuristic gives a node the same statistics. Values of actions take the place of a policy."""
    built_in = PLAIN._replace(heuristic=Heuristic.HANDCRAFTED, prior_n=2, prior_n_amaf=30)

    def handcrafted(positions):
        q = np.full((len(positions), N + 1), np.nan)
        for i, board in enumerate(positions.arrays.boards):
            sign = 1 if board.to_play == BLACK else -1
            for p in [*range(1, (SIZE + 1) ** 2), PASS]:
                if p == PASS or board.color[p] == 0:
                    q[i, value_index(p)] = sigma(sign * judge(board, p, mogo_patterns()))
        return {"q": q}

    game = game_after("C3")
    plain = PLAIN._replace(prior_n=2, prior_n_amaf=30)
    ours = PatientSearch(SIZE, built_in, 60, seed=7)
    users = PatientSearch(SIZE, plain, 60, evaluator=handcrafted, resources=Resources(batch=1), seed=7)
    roots = []
    for search in (ours, users):
        set_root(search, game)
        edges = edges_of(search.trees[0], 0)
        roots.append(edges[np.argsort(edges.move)])
    for column in ("move", "n", "w", "n_amaf", "w_amaf", "prior_q"):
        np.testing.assert_allclose(roots[0][column], roots[1][column][1:], atol=1e-4)  # there, a pass comes first


def test_the_value_of_a_leaf_is_mixed_with_its_outcome():
    """Asked about one node at a time, a copy of the learned value gives the search that has it built in."""
    w, game = random_weights(), game_after("C3", "B2")
    settings = PLAIN._replace(leaf_value=0.6, leaf_fade=0.5, evaluator=Use.VALUE)
    value = ValueFunction(w)

    def evaluator(positions):
        return {"value": [value.value(board) for board in positions.arrays.boards]}

    ours = PatientSearch(SIZE, settings, 200, weights=w, seed=3)
    users = PatientSearch(SIZE, settings, 200, evaluator=evaluator, resources=Resources(batch=1), seed=3)
    results = ours.search(game), users.search(game)
    assert nodes_in(ours.trees[0]) == nodes_in(users.trees[0]) == 201
    np.testing.assert_array_equal(results[0].visits, results[1].visits)
    np.testing.assert_array_equal(results[0].q, results[1].q)
    np.testing.assert_array_equal(results[0].q_amaf, results[1].q_amaf)
    assert users.wins == ours.wins


def test_late_values_end_in_the_same_sums():
    """Whatever the batch, a visit of the root's action weighs (1 - w) z + w v: here z is told from w."""
    for batch in (1, 7, 64):
        settings = ALGORITHMS["uct"]._replace(leaf_value=0.5)
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
        assert root.n.sum() == result.simulations == 300
        assert root.w.sum() == pytest.approx(0.5 * search.wins + 300 * 0.125)
        assert_no_loss_is_left(search)


def test_learned_values_and_patterns_are_compiled():
    w, game = random_weights(), game_after("C3")
    given = TreeSearch(SIZE, PLAIN, 200, evaluator=LearnedEvaluator(w), seed=3)
    by_heuristic = TreeSearch(SIZE, PLAIN._replace(heuristic=Heuristic.RLGO), 200, weights=w, seed=3)
    assert given.threads.batches is None
    np.testing.assert_array_equal(given.search(game).visits, by_heuristic.search(game).visits)
    # As a function, it answers what the heuristics compute.
    value, patterns = ValueFunction(w), load_patterns("9x9")
    both = LearnedEvaluator(w, patterns)(Positions.of([game, game_after("C3", "B2")]))
    assert both["value"][0] == value.value(game)
    assert both["policy"][0][value_index(at("B2"))] == pytest.approx(patterns.probabilities([game.board])[0][at("B2")])
    q = LearnedEvaluator(w)(Positions.of(game))["q"][0]
    assert q[value_index(at("B2"))] == value.afterstates(game)[value_index(at("B2"))]
    with pytest.raises(RlgoError, match="expected at least one of them"):
        LearnedEvaluator()


def test_only_what_the_setting_names_is_used():
    w, game = random_weights(), game_after("C3")
    policy_only = TreeSearch(SIZE, PLAIN._replace(evaluator=Use.POLICY), 50, evaluator=by_hash, seed=1)
    assert policy_only.settings.evaluator == Use.POLICY == TreeSearch(SIZE, PLAIN, evaluator=by_hash).settings.evaluator
    value_only = TreeSearch(
        SIZE,
        PLAIN._replace(evaluator=Use.VALUE, heuristic=Heuristic.RLGO, leaf_value=0.3),
        50,
        evaluator=by_hash,
        weights=w,
        seed=1,
    )
    assert value_only.settings.heuristic == Heuristic.RLGO
    value_only.search(game)
    assert value_only.trees[0].prior_kind[0] == Heuristic.RLGO
    with pytest.raises(RlgoError, match="leaf_value = 0"):
        TreeSearch(SIZE, PLAIN._replace(evaluator=Use.VALUE), evaluator=by_hash)
    with pytest.raises(RlgoError, match="flat Monte-Carlo"):
        TreeSearch(SIZE, ALGORITHMS["mc"], evaluator=by_hash)
    with pytest.raises(RlgoError, match="flat Monte-Carlo"):
        TreeSearch(SIZE, ALGORITHMS["mc"], evaluator=LearnedEvaluator(w))
    with pytest.raises(RlgoError, match="leaf_value = 0"):
        TreeSearch(SIZE, PLAIN._replace(evaluator=Use.VALUE), evaluator=LearnedEvaluator(w))
    with pytest.raises(RlgoError, match="heuristic = evaluator: expected an evaluator"):
        TreeSearch(SIZE, PLAIN._replace(heuristic="evaluator"))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("playouts", [False, True])
@pytest.mark.parametrize("name", ["puct", "puct_rave"])
def test_all_simulations_are_complete_in_the_end(name, playouts, workers):
    sizes = []

    def evaluator(positions):
        sizes.append(len(positions))
        return by_hash(positions)

    settings = ALGORITHMS[name]._replace(playouts=playouts, leaf_value=0.5, prior_n=int(name == "puct_rave"))
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
    settings = ALGORITHMS["puct"]._replace(playouts=False)
    search = TreeSearch(SIZE, settings, 200, evaluator=lambda p: {"value": np.zeros(len(p))}, seed=1)
    result = search.search(game)
    (passed,) = result.q[result.moves == PASS]  # this second pass ends the game, which Black has won
    assert passed == 1


def test_searches_of_one_thread_or_of_several_trees_can_be_repeated():
    for resources in (Resources(batch=7), Resources(2, root_parallel=True, batch=7)):
        results = []
        for _ in range(2):
            settings = ALGORITHMS["puct"]._replace(playouts=False)
            search = PatientSearch(SIZE, settings, 300, evaluator=by_hash, resources=resources, seed=3)
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
        (with_policy(value=[-1, 0]), "evaluator: value of position 0 = -1: expected P(Black wins), 0 to 1"),
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
    with pytest.raises(RlgoError, match="evaluator = 3: expected a function"):
        TreeSearch(SIZE, evaluator=3)


def test_a_search_without_playouts_needs_values():
    search = TreeSearch(
        SIZE, ALGORITHMS["puct"]._replace(playouts=False), 10, evaluator=lambda p: {"policy": uniform(p)["policy"]}
    )
    with pytest.raises(RlgoError, match="evaluator: no value: expected one, since playouts = off"):
        search.search(game_after("C3"))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("playouts", [True, False])
def test_a_search_after_an_error_is_whole(workers, playouts):
    calls = []

    def evaluator(positions):
        calls.append(1)
        if len(calls) == 10:
            raise ZeroDivisionError
        return by_hash(positions)

    settings = ALGORITHMS["puct"]._replace(playouts=playouts, leaf_value=0.5)
    search = PatientSearch(SIZE, settings, 300, evaluator=evaluator, resources=Resources(workers, batch=4), seed=1)
    game = game_after("C3")
    with pytest.raises(RlgoError, match="ZeroDivisionError"):
        search.search(game)
    assert search.root.node_of(game, search.trees[0]) == -1
    assert search.search(game).simulations == 300
    assert_no_loss_is_left(search)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("playouts", [True, False])
def test_a_search_ends_while_its_evaluator_computes(workers, playouts):
    """The evaluator hangs in its fifth batch, until the search has ended."""
    hangs, goes_on, calls = threading.Event(), threading.Event(), []

    def evaluator(positions):
        calls.append(1)
        if len(calls) == 5:
            hangs.set()
            goes_on.wait(60)
        return by_hash(positions)

    settings = ALGORITHMS["puct"]._replace(playouts=playouts, leaf_value=0.5)
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
