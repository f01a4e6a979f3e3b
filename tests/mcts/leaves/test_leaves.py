"""What a simulation is worth: truncated playouts, V of learned weights, and mixtures."""

from __future__ import annotations

import numpy as np
import pytest
from board_data import from_diagram
from scipy.special import expit, logit
from tree_tools import (
    SIZE,
    TO_THE_END,
    composed,
    game_after,
    path_of,
    random_weights,
    replayed,
    set_root,
)

from mcts import LearnedValue, Mixture, Playout, Value
from mcts.leaves.mixture import mixture
from mcts.player import TreeSearch
from mcts.tree import edges_of
from rlgo.features.weights import Weights
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.learning.value import ValueFunction

NEARLY_OVER = """
    . X . X X
    X X X X X
    X X X X X
    X X X X .
    X X X X .
"""


def test_a_mixture_by_hand():
    assert mixture(1.0, 0.25, 0.4) == pytest.approx(0.6 + 0.1)


@pytest.mark.parametrize("truncate", [0, 3])
def test_truncated_simulations_end_in_v(truncate):
    w, game = random_weights(), game_after("C3")
    settings = composed("uct", leaf=Playout(truncate))
    search = TreeSearch(SIZE, settings, 1, default_policy=TO_THE_END, weights=w, seed=1)
    set_root(search, game)
    value = ValueFunction(w)
    for _ in range(60):
        before = search.wins
        search.simulate(game, 1)
        path = path_of(search)
        # In the tree, in its new node by the default policy, and `truncate` plies beyond.
        assert path.n_moves == path.n_nodes + truncate
        end = replayed(game, path.moves[: path.n_moves].tolist())
        assert search.wins - before == pytest.approx(value.value(end.board), abs=1e-5)
    edges = edges_of(search.trees[0], 0)
    assert edges.n.sum() == 60
    assert edges.w.sum() == pytest.approx(search.wins, abs=60 / 512)


@pytest.mark.parametrize(("name", "liberties"), [("uct", ()), ("mc_rave", ("atari 2x2",))])
@pytest.mark.parametrize(("fade", "tempo"), [(0.0, 0.0), (0.8, 0.0), (0.0, 0.7), (0.5, 1.5)])
def test_a_share_of_what_is_backed_up_is_v_where_the_tree_ends(name, liberties, fade, tempo):
    w, game = random_weights(liberties=liberties), game_after("C3", "B2", "D4", "C4", "D2", "B4")
    settings = composed(name, leaf=Mixture(0.6, LearnedValue(tempo), fade))
    search = TreeSearch(SIZE, settings, 1, weights=w, seed=1)
    set_root(search, game)
    value, values = ValueFunction(w), set()
    for _ in range(60):
        before, z = edges_of(search.trees[0], 0), -search.wins
        search.simulate(game, 1)
        after, path = edges_of(search.trees[0], 0), path_of(search)
        z += search.wins  # wins are of games, whatever is backed up
        leaf = replayed(game, path.moves[: path.n_nodes - 1].tolist())  # the last move is the default policy's
        x = logit(value.value(leaf)) + (tempo if leaf.to_play == BLACK else -tempo)
        stones = len(leaf.stones(BLACK)) + len(leaf.stones(WHITE))
        share = 0.6 * (1 - fade * stones / SIZE**2)
        expected = (1 - share) * z + share * expit(x)
        assert z in (0, 1)
        assert (after.w - before.w).sum() == pytest.approx(expected, abs=1 / 256)
        assert (after.w_amaf - before.w_amaf)[after.n_amaf > before.n_amaf] == pytest.approx(expected, abs=1 / 256)
        values.add(round(expected, 3))
    assert len(values) > 20


def test_a_linear_v_of_a_leaf_gets_a_quarter_of_the_tempo():
    w, game = random_weights(), game_after("C3")
    w = Weights(w.features, (w.theta / 20).astype(np.float32), value="linear")
    search = TreeSearch(SIZE, composed("uct", leaf=Mixture(1.0, LearnedValue(0.4))), 1, weights=w, seed=1)
    set_root(search, game)
    before = edges_of(search.trees[0], 0).w.sum()
    for _ in range(20):
        search.simulate(game, 1)
        after, path = edges_of(search.trees[0], 0).w.sum(), path_of(search)
        leaf = replayed(game, path.moves[: path.n_nodes - 1].tolist())
        v = ValueFunction(w).value(leaf) + (0.1 if leaf.to_play == BLACK else -0.1)
        assert 0.02 < v < 0.98  # or it would be cut off
        assert after - before == pytest.approx(v, abs=1 / 256)
        before = after


def test_v_of_a_finished_game_does_not_count():
    game, w = from_diagram(NEARLY_OVER), random_weights()
    game.play(PASS)
    assert 0.01 < ValueFunction(w).value(game) < 0.99
    search = TreeSearch(SIZE, composed("uct", leaf=Mixture(1.0)), 400, weights=w, seed=1)
    result = search.search(game)
    (passed,) = result.q[result.moves == PASS]  # this second pass ends the game
    assert passed == game.outcome == 1
    assert not np.isin(result.q[(result.visits > 0) & (result.moves != PASS)], (0, 1)).any()


def test_without_playouts_a_simulation_is_worth_v():
    w, game = random_weights(), game_after("C3")
    search = TreeSearch(SIZE, composed("uct", leaf=Value(LearnedValue(0.4))), 1, weights=w, seed=1)
    set_root(search, game)
    before = 0.0
    for _ in range(30):
        search.simulate(game, 1)
        path, after = path_of(search), edges_of(search.trees[0], 0).w.sum()
        leaf = replayed(game, path.moves[: path.n_moves].tolist())
        v = leaf.outcome if leaf.is_over() else expit(logit(ValueFunction(w).value(leaf)) + 0.4 * own_sign(leaf))
        assert path.n_moves == path.n_nodes  # nothing beyond the tree
        assert after - before == pytest.approx(v, abs=1 / 256)
        before = after


def own_sign(game) -> int:
    return 1 if game.to_play == BLACK else -1
