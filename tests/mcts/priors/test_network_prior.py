"""A network of ours in a search: its policy as a prior, its value in leaves, and when it is asked."""

from __future__ import annotations

import itertools
from operator import attrgetter

import numpy as np
import pytest
from network_files import random_network
from tree_tools import SIZE, PatientSearch, composed, game_after, random_weights, replayed, set_root, value_index

from mcts import CorrectedValue, Flat, Handcrafted, LearnedValue, Mixture, Network, NetworkValue, Rave, Rlgo, Stage, Sum
from mcts.player import TreeSearch
from mcts.priors import Outside
from mcts.settings import Resources, Search
from mcts.tree import NO_PRIOR, Tree, edges_of, nodes_in
from rlgo.base.errors import RlgoError
from rlgo.features.planes import planes
from rlgo.go.board import BLACK, PASS
from rlgo.go.game import Game
from rlgo.learning.value import ValueFunction, sigma
from rlgo.network.architecture import KINDS
from rlgo.network.conv_network import ConvNetwork

WEIGHTS = random_weights()
LOUD = {name: 8 * a for name, a in random_network().parameters._asdict().items() if name in ("policy", "pass_move")}
NETWORK = ConvNetwork(random_network().parameters._replace(**LOUD))
SETTINGS = composed("mc_rave", prior=Network(), leaf=Mixture(0.5, NetworkValue()), prior_n=3, prior_n_amaf=40)
ADDED = SETTINGS._replace(prior=(Stage(Sum(Rlgo(), Network())),), leaf=Mixture(0.5, CorrectedValue(0.7, 0.4)))
WIDE = Rave(c=5.0, prior_n_amaf=0)  # tries many actions, and has no H in their values
GAMES = [("C3", "B2"), ("C3", "B2", "D4"), ()]


def search_of(settings: Search = SETTINGS, simulations: int = 30, **others) -> TreeSearch:
    return PatientSearch(SIZE, settings, simulations, weights=WEIGHTS, evaluator=NETWORK, seed=1, **others)


def logit(p: float) -> float:
    return float(np.log(p / (1 - p)))


def naive_x(game: Game, moves: list[int]) -> dict[int, float]:
    """x of moves, by Python: scale log(n P) - shift over the actions of the node."""
    logits = NETWORK.outputs(planes(game, KINDS)).logits[0].astype(np.float64)[[value_index(p) for p in moves]]
    log_p = logits - np.log(np.exp(logits).sum())
    return {p: 0.4 * (log_p[i] + np.log(len(moves))) - 0.4 for i, p in enumerate(moves)}


def value_of(game: Game) -> float:
    """P(Black wins), by the network."""
    value = float(NETWORK.outputs(planes(game, KINDS)).value[0])
    return value if game.to_play == BLACK else 1 - value


def scores_of_leaves(tree: Tree, node: int, game: Game, above: float, c: int) -> list[float]:
    """The score of each simulation that went through a node: that of the last position that the network has seen."""
    edges = edges_of(tree, node)
    visited = tree.stage[node] != NO_PRIOR
    if visited:
        score = float(NETWORK.outputs(planes(game, KINDS)).score[0])
        above = score if game.to_play == BLACK else -score
    found = []
    for e in edges:
        n, below = e.n - c * visited, []
        if e.child >= 0:
            after = replayed(game, [e.move])
            below = scores_of_leaves(tree, e.child, after, above, c)
            seen = tree.stage[e.child] != NO_PRIOR
            score = float(NETWORK.outputs(planes(after, KINDS)).score[0]) if seen else 0.0
            here = (score if after.to_play == BLACK else -score) if seen else above
            below += [here] * int(n - len(below))
        found.append(below or [above] * int(n))
    return list(itertools.chain(*found)) if node else found


@pytest.mark.parametrize("moves", GAMES)
def test_scores_are_means_over_leaves(moves):
    game, search = game_after(*moves), search_of(SETTINGS._replace(policy=WIDE._replace(prior_n=3)), 200)
    search.search(game)
    expected = scores_of_leaves(search.trees[0], 0, game, 0.0, 3)
    edges = edges_of(search.trees[0], 0)
    assert [len(one) for one in expected] == [e.n - 3 for e in edges]
    score, scores = search.scores(game)
    assert scores == pytest.approx(
        {int(e.move): np.mean(one) for e, one in zip(edges, expected, strict=True) if one}, abs=1e-3
    )
    assert score == pytest.approx(np.mean([*itertools.chain(*expected)]), abs=1e-3)
    assert np.ptp(list(scores.values())) > 0.1
    assert search.scores(game_after(*moves, "A1")) == (None, {})


@pytest.mark.parametrize("moves", GAMES)
def test_the_value_of_a_move_follows_from_its_probability(moves):
    game = game_after(*moves)
    sign = 1 if game.to_play == BLACK else -1
    values = ValueFunction(WEIGHTS).afterstates(game.board)
    alone, added = search_of(), search_of(ADDED)
    for search in (alone, added):
        set_root(search, game)
    edges = edges_of(alone.trees[0], 0)
    xs = naive_x(game, edges.move.tolist())
    assert np.ptp(list(xs.values())) > 0.1
    for e in edges:
        assert (e.n, e.n_amaf) == (3, 40)
        assert e.w_amaf / 40 == pytest.approx(sigma(sign * xs[e.move]), abs=1e-3)
    for e in edges_of(added.trees[0], 0):
        expected = logit(values[value_index(e.move)]) + sign * xs[e.move]
        assert e.w_amaf / 40 == pytest.approx(sigma(expected), abs=1e-3)


def test_new_nodes_are_asked_about_at_once_with_their_last_moves():
    game, search = game_after("C3", "B2"), search_of()
    set_root(search, game)
    search.simulate(game, 30)
    tree, checked = search.trees[0], 0
    for e in edges_of(tree, 0):
        if e.child >= 0 and e.move != PASS:
            assert tree.stage[e.child] == 1
            then, below = replayed(game, [int(e.move)]), edges_of(tree, int(e.child))
            xs = naive_x(then, below.move.tolist())
            for edge in below:
                assert edge.prior == pytest.approx(sigma(-xs[edge.move]), abs=0.003)  # White is to play
                checked += 1
    assert checked > 20


def test_it_is_asked_once_a_node_has_the_visits():
    """Until then the prior is that of an earlier stage, of which nothing is left afterwards."""
    game, stages = game_after("C3", "B2"), (Stage(Handcrafted()), Stage(Network(), 6))
    search = search_of(SETTINGS._replace(prior=stages, policy=SETTINGS.policy._replace(c=0.5)))
    set_root(search, game)
    tree, kinds = search.trees[0], set()
    assert tree.stage[0] == 2  # the root is asked about first
    for simulations in (60, 400):
        search.simulate(game, simulations)
        for e in edges_of(tree, 0):
            if e.child < 0 or e.move == PASS or tree.stage[e.child] == NO_PRIOR:
                continue
            below = edges_of(tree, int(e.child))
            kind, visits = int(tree.stage[e.child]), int((below.n - 3).sum())
            kinds.add((kind, visits >= 6))
            assert e.n - 5 <= visits <= e.n - 3  # of its first simulations, one or two may have ended before it
            assert np.isnan(tree.correction[e.child]) == (kind == 1)
            if kind == 1:
                continue
            xs = naive_x(replayed(game, [int(e.move)]), below.move.tolist())
            for edge in below:
                h = sigma(-xs[edge.move])
                assert edge.prior == pytest.approx(h, abs=0.003)
                if edge.n_amaf == 40:
                    assert edge.w_amaf / 40 == pytest.approx(h, abs=1e-3)
    assert kinds == {(1, False), (2, True)}


@pytest.mark.parametrize(("settings", "share"), [(SETTINGS, 1.0), (ADDED, 0.4)])
def test_it_tells_how_far_off_v_is(settings, share):
    game, search = game_after("C3"), search_of(settings)
    set_root(search, game)
    # White is to play, so the tempo is subtracted. Without weights, V is the network's.
    x = 0.0 if search.value_weights() is None else logit(float(ValueFunction(WEIGHTS).value(game.board))) - 0.7
    assert (x == 0) == (settings is SETTINGS)
    assert search.trees[0].correction[0] == pytest.approx(share * (logit(value_of(game)) - x), abs=1e-3)


def test_its_value_is_backed_up():
    """With a share of 1, and without weights: after 1 visit, Q is V of the position after the move."""
    search = search_of(SETTINGS._replace(policy=WIDE, leaf=Mixture(1.0, NetworkValue())))
    game = game_after("C3", "B2")
    search.search(game)
    once = [e for e in edges_of(search.trees[0], 0) if e.n == 1 and e.move != PASS]
    assert len(once) > 3
    for e in once:
        assert e.w == pytest.approx(value_of(replayed(game, [int(e.move)])), abs=1 / 200)


def test_a_leaf_is_corrected_like_the_nearest_node_that_was_asked_about():
    """With the network at the root alone, V of each leaf is that of the weights plus what is off at the root."""
    at_the_root = (Stage(Sum(Rlgo(), Network()), 1000),)
    search = search_of(ADDED._replace(policy=WIDE, prior=at_the_root, leaf=Mixture(1.0, CorrectedValue())))
    game = game_after("C3", "B2")
    search.search(game)
    off, weighed = float(search.trees[0].correction[0]), ValueFunction(WEIGHTS)
    once = [e for e in edges_of(search.trees[0], 0) if e.n == 1 and e.move != PASS]
    for e in once:
        v = float(weighed.value(replayed(game, [int(e.move)]).board))
        assert e.w == pytest.approx(sigma(logit(v) + off), abs=1 / 200)
    assert len(once) > 3
    assert abs(off) > 0.05


def test_threads_have_scratch_of_their_own():
    search = search_of(simulations=200, resources=Resources(workers=2))
    one, two = (workspace.network for workspace in search.threads.workspaces)
    for path in ("layers.x", "position.boards", "tools.marks", "tools.ladders.boards"):
        a, b = (attrgetter(path)(network.scratch) for network in (one, two))
        assert not np.shares_memory(a, b), path
    result = search.search(game_after("C3", "B2"))
    assert result.visits.sum() == result.simulations
    assert nodes_in(search.trees[0]) > 10


def test_what_cannot_be_combined_with_a_network():
    with pytest.raises(
        RlgoError, match="evaluator: cannot be combined with a network of rlgo's own; see network_value"
    ):
        search_of(SETTINGS._replace(prior=(Stage(Outside()),)))
    with pytest.raises(RlgoError, match="evaluator: cannot be combined with flat Monte-Carlo"):
        search_of(Search(Flat()))
    with pytest.raises(RlgoError, match="expected weights for 5x5"):
        TreeSearch(SIZE, SETTINGS._replace(leaf=Mixture(0.5, LearnedValue())), 1, evaluator=NETWORK)


def test_what_it_says_about_the_root_is_shown():
    game = game_after("C3", "B2", "D4")
    search = search_of()
    assert not search.evaluation
    search.search(game)
    found, columns = search.evaluation, search.statistics(game).columns
    assert found["value"] == pytest.approx(value_of(game))
    moves = search.statistics(game).moves
    logits = NETWORK.outputs(planes(game, KINDS)).logits[0].astype(np.float64)
    of_legal = logits[[value_index(p) for p in [*game.legal_moves(), PASS]]]
    expected = np.exp(logits[[value_index(p) for p in moves]]) / np.exp(of_legal).sum()
    np.testing.assert_allclose(columns["policy"], expected, rtol=1e-5)
    maps = search.analyses()
    np.testing.assert_allclose(maps["policy"].flat[value_index(moves[0])], expected[0], rtol=1e-5)
    np.testing.assert_allclose(maps["ownership"], (1 + found["ownership"]) / 2)
    search.new_game()
    assert not search.evaluation
