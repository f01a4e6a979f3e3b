"""Simulations: the tree policy of every algorithm, and what a search finds."""

from __future__ import annotations

import math

import pytest
from board_data import from_diagram
from tree_tools import SIZE, at, game_after, path_of, set_root

from mcts import Ucb1
from mcts.player import TreeSearch
from mcts.policies.rave import Schedule
from mcts.settings import ALGORITHMS
from mcts.tree import edges_of
from rlgo.go.board import BLACK, WHITE


def test_each_algorithm_takes_the_best_action_by_its_own_value():
    """At the root, after some simulations: EVAL by hand, for both colours."""
    for game in (game_after("C3"), game_after("C3", "B2")):
        for name in ("mcts_greedy", "uct", "rave", "mc_rave", "uct_rave"):
            settings = ALGORITHMS[name]
            policy = settings.policy
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
                if isinstance(policy, Ucb1):
                    v = q
                elif name == "rave":
                    v = q_amaf if n_amaf else q
                else:
                    if policy.schedule == Schedule.HAND_SELECTED:
                        beta = math.sqrt(policy.k / (3 * n_s + policy.k))
                    else:
                        beta = n_amaf / max(1, n + n_amaf + 4 * n * n_amaf * policy.bias**2)
                    beta = 1.0 if not n else beta if n_amaf else 0.0
                    v = q_amaf if beta == 1 else q if beta == 0 else (1 - beta) * q + beta * q_amaf
                v = v if game.to_play == BLACK else 1 - v
                if math.isnan(v):
                    v = policy.first_play_urgency
                elif policy.c:
                    v += policy.c * math.sqrt(math.log(n_s) / max(1, n))
                values.append(v)
            search.simulate(game, 1)
            assert values[int(path_of(search).edge[0])] == pytest.approx(max(values)), name


TWO_EYES_OR_ONE = """
    . O X . .
    O O X X .
    O O . X X
    . O O O O
    . . O O .
"""


def test_it_finds_what_decides_the_game():
    """Two points: one makes two eyes; and White, to play, takes it away."""
    for color in (BLACK, WHITE):
        game = from_diagram(TWO_EYES_OR_ONE, color, -12.5)
        for name in ("uct", "mcts_greedy", "uct_rave"):  # greedy MC-RAVE believes its AMAF values, and errs
            search = TreeSearch(SIZE, ALGORITHMS[name], 20_000, seed=2, name=name)
            assert search.genmove(game) == at("E5"), (name, color)
