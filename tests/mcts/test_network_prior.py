"""A network of ours in a search: its policy in H, its value in V, and when it is asked."""

from __future__ import annotations

from operator import attrgetter

import numpy as np
import pytest
from network_files import random_network
from tree_tools import SIZE, PatientSearch, game_after, random_weights, replayed, set_root, value_index

from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS, ActionValue, Heuristic, Resources, Settings, Use
from mcts.tree import edges_of, nodes_in
from rlgo.base.errors import RlgoError
from rlgo.features.planes import planes
from rlgo.go.board import BLACK, PASS
from rlgo.go.game import Game
from rlgo.learning.value import ValueFunction, sigma
from rlgo.moves.patterns import load_patterns
from rlgo.network.architecture import KINDS
from rlgo.network.conv_network import ConvNetwork

WEIGHTS = random_weights()
LOUD = {name: 8 * a for name, a in random_network().parameters._asdict().items() if name in ("policy", "pass_move")}
NETWORK = ConvNetwork(random_network().parameters._replace(**LOUD))
SETTINGS = ALGORITHMS["mc_rave"]._replace(prior_n=3, prior_n_amaf=40, network_after=1)
GAMES = [("C3", "B2"), ("C3", "B2", "D4"), ()]


def search_of(settings: Settings = SETTINGS, simulations: int = 30, **others) -> TreeSearch:
    return PatientSearch(SIZE, settings, simulations, weights=WEIGHTS, evaluator=NETWORK, seed=1, **others)


def logit(p: float) -> float:
    return float(np.log(p / (1 - p)))


def naive_x(game: Game, moves: list[int]) -> dict[int, float]:
    """x of moves, by Python: scale log(n P) - shift over the actions of the node."""
    logits = NETWORK.outputs(planes(game, KINDS)).logits[0].astype(np.float64)[[value_index(p) for p in moves]]
    log_p = logits - np.log(np.exp(logits).sum())
    s = SETTINGS
    return {p: s.policy_scale * (log_p[i] + np.log(len(moves))) - s.policy_shift for i, p in enumerate(moves)}


def value_of(game: Game) -> float:
    """P(Black wins), by the network."""
    value = float(NETWORK.outputs(planes(game, KINDS)).value[0])
    return value if game.to_play == BLACK else 1 - value


@pytest.mark.parametrize("moves", GAMES)
def test_the_value_of_a_move_follows_from_its_probability(moves):
    game = game_after(*moves)
    sign = 1 if game.to_play == BLACK else -1
    values = ValueFunction(WEIGHTS).afterstates(game.board)
    alone, added = search_of(), search_of(SETTINGS._replace(heuristic=Heuristic.RLGO))
    assert (alone.settings.heuristic, added.settings.heuristic) == (Heuristic.NETWORK, Heuristic.RLGO_NETWORK)
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


def test_patterns_have_their_part_in_the_policy():
    """P ~ P_network^m P_patterns^(1 - m)."""
    game, m, patterns = game_after("C3", "B2"), 0.25, load_patterns("9x9")
    settings = SETTINGS._replace(heuristic=Heuristic.PATTERNS, network_policy=m)
    search = search_of(settings, patterns=patterns)
    set_root(search, game)
    edges = edges_of(search.trees[0], 0)
    moves = edges.move.tolist()
    (by_patterns,) = patterns.probabilities([game.board], game.moves[-2][1])
    s, x = SETTINGS, naive_x(game, moves)
    log_p = np.array([
        m * (x[p] + s.policy_shift) / s.policy_scale + (1 - m) * np.log(by_patterns[p]) for p in moves
    ])  # fmt: skip
    log_p -= np.log(np.exp(log_p).sum())
    expected = 1 / (1 + np.exp(-s.policy_scale * (log_p + np.log(len(moves))) + s.policy_shift))
    np.testing.assert_allclose(edges.w_amaf / 40, expected, atol=1e-3)
    alone = search_of(settings._replace(network_policy=1.0), patterns=patterns)
    set_root(alone, game)
    assert np.abs(edges_of(alone.trees[0], 0).w_amaf / 40 - expected).max() > 0.02


def test_new_nodes_are_asked_about_at_once_with_their_last_moves():
    game, search = game_after("C3", "B2"), search_of()
    set_root(search, game)
    search.simulate(game, 30)
    tree, checked = search.trees[0], 0
    for e in edges_of(tree, 0):
        if e.child >= 0 and e.move != PASS:
            assert tree.prior_kind[e.child] == Heuristic.NETWORK
            then, below = replayed(game, [int(e.move)]), edges_of(tree, int(e.child))
            xs = naive_x(then, below.move.tolist())
            for edge in below:
                assert edge.prior_q == pytest.approx(sigma(-xs[edge.move]), abs=0.003)  # White is to play
                checked += 1
    assert checked > 20


def test_it_is_asked_once_a_node_has_the_visits():
    """Until then the prior is that of the heuristic, of which nothing is left afterwards."""
    game = game_after("C3", "B2")
    search = search_of(SETTINGS._replace(heuristic=Heuristic.HANDCRAFTED, network_after=6, c=0.5))
    assert search.settings.earlier_heuristic == Heuristic.HANDCRAFTED
    set_root(search, game)
    tree, kinds = search.trees[0], set()
    assert tree.prior_kind[0] == Heuristic.NETWORK  # the root is asked about first
    for simulations in (60, 400):
        search.simulate(game, simulations)
        for e in edges_of(tree, 0):
            if e.child < 0 or e.move == PASS or tree.prior_kind[e.child] == Heuristic.NONE:
                continue
            below = edges_of(tree, int(e.child))
            kind, visits = int(tree.prior_kind[e.child]), int((below.n - 3).sum())
            kinds.add((kind, visits >= 6))
            if kind != Heuristic.NETWORK:
                assert tree.correction[e.child] == 0
                continue
            xs = naive_x(replayed(game, [int(e.move)]), below.move.tolist())
            for edge in below:
                h = sigma(-xs[edge.move])
                assert edge.prior_q == pytest.approx(h, abs=0.003)
                if edge.n_amaf == 40:
                    assert edge.w_amaf / 40 == pytest.approx(h, abs=1e-3)
    assert kinds == {(Heuristic.HANDCRAFTED, False), (Heuristic.NETWORK, True)}


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("heuristic", [Heuristic.NONE, Heuristic.RLGO])
def test_it_tells_how_far_off_v_is(share, heuristic):
    game, tempo = game_after("C3"), 0.7
    settings = SETTINGS._replace(network_value=share, leaf_value=0.5, leaf_tempo=tempo, heuristic=heuristic)
    search = search_of(settings)
    set_root(search, game)
    x = logit(float(ValueFunction(WEIGHTS).value(game.board)))
    x = 0.0 if share == 1 and heuristic == Heuristic.NONE else x  # it needs no weights, and has none
    expected = share * (logit(value_of(game)) - (x - tempo))  # White is to play
    assert search.trees[0].correction[0] == pytest.approx(expected, abs=1e-3)
    assert (abs(expected) > 0.1) == (share > 0)


def test_without_playouts_its_value_is_backed_up():
    """PUCT by a network alone, which needs no weights: after 1 visit, Q is V of the position after the move."""
    settings = ALGORITHMS["puct"]._replace(
        heuristic=Heuristic.NONE, playouts=False, network_value=1.0, network_after=1, c_puct=5.0
    )
    search = PatientSearch(SIZE, settings, 12, evaluator=NETWORK, seed=1)
    assert search._weights is None
    game = game_after("C3", "B2")
    search.search(game)
    once = [e for e in edges_of(search.trees[0], 0) if e.n == 1 and e.move != PASS]
    assert len(once) > 3
    for e in once:
        assert e.w == pytest.approx(value_of(replayed(game, [int(e.move)])), abs=1 / 200)


def test_a_leaf_is_corrected_like_the_nearest_node_that_was_asked_about():
    """With the network at the root alone, V of each leaf is that of the weights plus what is off at the root."""
    settings = ALGORITHMS["puct"]._replace(
        heuristic=Heuristic.NONE, playouts=False, network_value=0.5, network_after=1000, c_puct=5.0
    )
    search, game = search_of(settings, 12), game_after("C3", "B2")
    search.search(game)
    off, weighed = float(search.trees[0].correction[0]), ValueFunction(WEIGHTS)
    once = [e for e in edges_of(search.trees[0], 0) if e.n == 1 and e.move != PASS]
    for e in once:
        v = float(weighed.value(replayed(game, [int(e.move)]).board))
        assert e.w == pytest.approx(sigma(logit(v) + off), abs=1 / 200)
    assert len(once) > 3
    assert abs(off) > 0.05


def test_threads_have_scratch_of_their_own():
    search = search_of(SETTINGS._replace(leaf_value=0.5), 200, resources=Resources(workers=2))
    one, two = (workspace.network for workspace in search.threads.workspaces)
    for path in ("layers.x", "position.boards", "tools.marks", "tools.ladders.boards"):
        a, b = (attrgetter(path)(network.scratch) for network in (one, two))
        assert not np.shares_memory(a, b), path
    result = search.search(game_after("C3", "B2"))
    assert result.visits.sum() == result.simulations
    assert nodes_in(search.trees[0]) > 10


def test_a_search_without_a_network_has_none_of_its_types():
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 1, seed=1)
    assert search.knowledge.network is None
    assert search.threads.workspaces[0].network is None


def test_what_cannot_be_combined_with_a_network():
    with pytest.raises(
        RlgoError, match="evaluator: cannot be combined with a network of rlgo's own; see network_value"
    ):
        search_of(SETTINGS._replace(evaluator=Use.VALUE))
    with pytest.raises(RlgoError, match="evaluator: cannot be combined with flat Monte-Carlo"):
        search_of(Settings(ActionValue.FLAT))
    with pytest.raises(RlgoError, match="expected weights for 5x5"):
        TreeSearch(SIZE, SETTINGS._replace(leaf_value=0.5), 1, evaluator=NETWORK)


def test_a_prior_that_could_not_be_removed_again_is_not_given_first():
    by_grandparent = SETTINGS._replace(heuristic=Heuristic.GRANDFATHER, network_after=8)
    assert search_of(by_grandparent).settings.network_after == 1


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
    np.testing.assert_allclose(maps["owner"], (1 + found["ownership"]) / 2)
    search.new_game()
    assert not search.evaluation
