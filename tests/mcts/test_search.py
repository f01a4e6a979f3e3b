"""Simulations: the tree policy of every algorithm, truncation, and the learned default policy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from board_data import from_diagram
from scipy.special import expit, logit
from tree_tools import (
    SIZE,
    TO_THE_END,
    at,
    game_after,
    path_of,
    random_weights,
    replayed,
    set_root,
)

from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS, ActionValue, RaveSchedule
from mcts.tree import edges_of
from rlgo.features.weights import Weights
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.learning.value import ValueFunction


def test_each_algorithm_takes_the_best_action_by_its_own_value():
    """At the root, after some simulations: EVAL by hand, for both colours."""
    for game in (game_after("C3"), game_after("C3", "B2")):
        for name, settings in ALGORITHMS.items():
            if name in ("mc", "heuristic_mc_rave", "mc_rave_patterns", "rlgo") or name.startswith("puct"):
                continue
            search = TreeSearch(SIZE, settings, 1, seed=4)
            set_root(search, game)
            for _ in range(80):
                search.simulate(game, 1)
            root = edges_of(search.trees[0], 0)
            n_s = float(search.trees[0].node_visits[0])
            values = []
            for e in root:
                n, n_amaf = int(e.n), int(e.n_amaf)
                q = e.w / n if n else math.nan
                q_amaf = e.w_amaf / n_amaf if n_amaf else math.nan
                if settings.action_value == ActionValue.MC:
                    v = q
                elif name == "rave":
                    v = q_amaf if n_amaf else q
                else:
                    if settings.schedule == RaveSchedule.HAND_SELECTED:
                        beta = math.sqrt(settings.rave_k / (3 * n_s + settings.rave_k))
                    else:
                        beta = n_amaf / max(1, n + n_amaf + 4 * n * n_amaf * settings.rave_bias**2)
                    beta = 1.0 if not n else beta if n_amaf else 0.0
                    v = q_amaf if beta == 1 else q if beta == 0 else (1 - beta) * q + beta * q_amaf
                v = v if game.to_play == BLACK else 1 - v
                if math.isnan(v):
                    v = settings.first_play_urgency
                elif settings.c:
                    v += settings.c * math.sqrt(math.log(n_s) / max(1, n))
                values.append(v)
            search.simulate(game, 1)
            assert values[int(path_of(search).edge[0])] == pytest.approx(max(values)), name


NEARLY_OVER = """
    . X . X X
    X X X X X
    X X X X X
    X X X X .
    X X X X .
"""
TWO_EYES_OR_ONE = """
    . O X . .
    O O X X .
    O O . X X
    . O O O O
    . . O O .
"""


@pytest.mark.parametrize("truncate", [0, 3])
def test_truncated_simulations_end_in_v(truncate):
    w, game = random_weights(), game_after("C3")
    settings = ALGORITHMS["uct"]._replace(truncate=truncate)
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
    settings = ALGORITHMS[name]._replace(leaf_value=0.6, leaf_fade=fade, leaf_tempo=tempo)
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
    search = TreeSearch(SIZE, ALGORITHMS["uct"]._replace(leaf_value=1.0, leaf_tempo=0.4), 1, weights=w, seed=1)
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
    search = TreeSearch(SIZE, ALGORITHMS["uct"]._replace(leaf_value=1.0), 400, weights=w, seed=1)
    result = search.search(game)
    (passed,) = result.q[result.moves == PASS]  # this second pass ends the game
    assert passed == game.outcome == 1
    assert not np.isin(result.q[(result.visits > 0) & (result.moves != PASS)], (0, 1)).any()


def test_it_finds_what_decides_the_game():
    """Two points: one makes two eyes; and White, to play, takes it away."""
    for color in (BLACK, WHITE):
        game = from_diagram(TWO_EYES_OR_ONE, color, -12.5)
        for name in ("uct", "mcts_greedy", "uct_rave"):  # greedy MC-RAVE believes its AMAF values, and errs
            search = TreeSearch(SIZE, ALGORITHMS[name], 20_000, seed=2, name=name)
            assert search.genmove(game) == at("E5"), (name, color)
