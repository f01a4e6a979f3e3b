"""Simulations: the tree policy of every algorithm, and what a search is compiled with."""

from __future__ import annotations

import math

import pytest
from network_files import random_network
from tree_tools import SIZE, game_after, path_of, random_weights, set_root

from mcts import Ucb1
from mcts.player import TreeSearch
from mcts.policies.rave import Schedule
from mcts.settings import ALGORITHMS
from mcts.tree import edge_arrays, edges_of
from rlgo.go.board import BLACK
from rlgo.moves.patterns import load_patterns


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


@pytest.mark.parametrize(
    ("name", "has_amaf", "used"),
    [
        ("uct", False, set()),
        ("mc_rave", True, set()),
        ("heuristic_mc_rave", True, {"shapes", "table"}),
        ("puct", False, {"patterns"}),
        ("rlgo", False, {"network", "correction"}),
    ],
)
def test_a_search_is_compiled_without_what_it_lacks(name, has_amaf, used):
    """None of its types is part of its context, its workspace or its tree; an edge without an AMAF value is smaller."""
    search = TreeSearch(
        SIZE,
        ALGORITHMS[name],
        1,
        weights=random_weights(),
        patterns=load_patterns("9x9"),
        evaluator=random_network() if name == "rlgo" else None,
        seed=1,
    )
    tree, models, workspace = search.trees[0], search.models, search.threads.workspaces[0]
    optional = {**models._asdict(), **workspace._asdict(), "correction": tree.correction}
    names = ("shapes", "table", "patterns", "network", "waiting", "correction")
    assert {part for part in names if optional[part] is not None} == used
    assert (tree.amaf_statistic is not None) == has_amaf
    assert sum(array.itemsize for array in edge_arrays(tree)) == (24 if has_amaf else 16)
