"""A short-term memory for a network, against the same in plain Python: dictionaries of shapes."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from network_files import random_network
from tree_tools import SIZE, TO_THE_END, PatientSearch, composed, game_after, path_of, replayed, set_root

from mcts import Handcrafted, Mixture, Network, NetworkValue, ShortTermValue, Stage
from mcts.tree import edges_in, edges_of, nodes_in
from rlgo.features.planes import planes
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.game import Game
from rlgo.learning.value import sigma
from rlgo.network.architecture import KINDS

NETWORK = random_network()
STAGES = (Stage(Handcrafted()), Stage(Network(), 3))
START = ("C3", "B2", "D4", "C4")


def search_of(value, share: float = 0.6):
    settings = composed("rlgo", prior=STAGES, leaf=Mixture(share, value))
    return PatientSearch(SIZE, settings, 1, default_policy=TO_THE_END, evaluator=NETWORK, seed=1)


def shapes_of(game: Game, largest: int) -> Counter:
    """phi: each window with its stones, if it has any."""
    stones = {p: color for color in (BLACK, WHITE) for p in game.stones(color)}
    found = Counter()
    for k in range(1, largest + 1):
        for row in range(1, SIZE - k + 2):
            for col in range(1, SIZE - k + 2):
                cells = [(row + i) * (SIZE + 1) + col + j for i in range(k) for j in range(k)]
                seen = tuple((p, stones[p]) for p in cells if p in stones)
                if seen:
                    found[k, row, col, seen] = 1
    return found


def logit_of(game: Game) -> float:
    value = float(NETWORK.outputs(planes(game, KINDS)).value[0])
    x = np.log(value / (1 - value))
    return float(x if game.to_play == BLACK else -x)


def states_of(game: Game, moves: list[int]) -> list[Game]:
    """The positions of a simulation, which knows no superko."""
    states = [game]
    for p in moves:
        after = states[-1].copy()
        after.play(p, may_repeat=True)
        states.append(after)
    return states


def dot(theta, a: Counter, b: Counter) -> float:
    return sum(theta[f] * n for f, n in a.items()) - sum(theta[f] * n for f, n in b.items())


def evaluated(search) -> list[bool]:
    """Of each node on the last path, whether the network had evaluated it; its root is at 0."""
    path, tree = path_of(search), search.trees[0]
    return [not np.isnan(tree.correction[path.node[t]]) for t in range(path.n_nodes)]


@pytest.mark.parametrize(
    "value",
    [
        ShortTermValue(alpha=0.05),
        ShortTermValue(alpha=0.05, lambda_=0.0),
        ShortTermValue(alpha=0.03, lambda_=0.7, plies=5, largest=3),
        ShortTermValue(alpha=0.02, lambda_=0.9, plies=1000, largest=1),
    ],
)
def test_each_simulation_is_valued_and_learned_from_as_in_plain_python(value):
    search, game, theta = search_of(value), game_after(*START), defaultdict(float)
    set_root(search, game)
    within = through = 0
    for _ in range(120):
        before, won = edges_of(search.trees[0], 0).w.sum(), -search.wins
        search.simulate(game, 1)
        z, path = won + search.wins, path_of(search)
        moves = [int(p) for p in path.moves[: path.n_moves]]
        known = evaluated(search)
        last = min(len(moves), path.leaf + value.plies + 1)
        states = states_of(game, moves[:last])
        phi = [shapes_of(s, value.largest) for s in states]
        logits = [logit_of(s) if t < len(known) and known[t] else None for t, s in enumerate(states)]

        def anchor_of(t, logits=logits):
            return max(u for u in range(t) if logits[u] is not None)

        # The value of the leaf.
        s = anchor_of(path.leaf)
        within += path.leaf - s > 1
        over = states[path.leaf].is_over()
        v = sigma(logits[s] + dot(theta, phi[path.leaf], phi[s]))
        backed_up = z if over else 0.4 * z + 0.6 * v
        assert edges_of(search.trees[0], 0).w.sum() - before == pytest.approx(backed_up, abs=1 / 250)

        # The lambda-returns of states 1 to last - 1, backwards, and the changes of theta_bar.
        changes, g = Counter(), z
        for t in range(last - 1, 0, -1):
            a = anchor_of(t)
            predicted = sigma(logits[a] + dot(theta, phi[t], phi[a]))
            if logits[t] is not None:  # the network's value is the first thing that the state itself hears
                g = (1 - value.lambda_) * sigma(logits[t]) + value.lambda_ * g
                through += 1
                target = g
            else:
                target, g = g, (1 - value.lambda_) * predicted + value.lambda_ * g
            for f, n in (phi[t] - phi[a]).items():
                changes[f] += value.alpha * (target - predicted) * n
            for f, n in (phi[a] - phi[t]).items():
                changes[f] -= value.alpha * (target - predicted) * n
        for f, change in changes.items():
            theta[f] += change
    assert within > 5
    assert through > 20
    memory = search.threads.workspaces[0].short_term.memory
    learned = np.array(sorted(w for w in memory.theta if abs(w) > 1e-6))
    assert learned == pytest.approx(np.array(sorted(w for w in theta.values() if abs(w) > 1e-6)), abs=1e-4)
    assert np.abs(learned).max() > 0.05


def test_an_empty_memory_is_the_network_bit_for_bit():
    game, trees = game_after(*START), []
    for value in (NetworkValue(), ShortTermValue(alpha=0.0)):
        search = search_of(value)
        set_root(search, game)
        search.simulate(game, 500)
        tree = search.trees[0]
        assert nodes_in(tree) > 100
        trees.append([array[: edges_in(tree)] for array in (tree.move, tree.child, tree.mc_statistic, tree.prior)])
    for a, b in zip(*trees, strict=True):
        assert np.array_equal(a, b)


def test_it_is_kept_from_move_to_move_and_forgotten_with_the_game():
    search, game = search_of(ShortTermValue(alpha=0.05)), game_after(*START)
    search.simulations = 50
    memory = search.threads.workspaces[0].short_term.memory
    search.search(game)
    first = memory.theta.copy()
    search.search(replayed(game, [game.sensible_moves()[0]]))
    assert first.any()
    assert np.mean((memory.theta != 0)[first != 0]) > 0.9
    search.new_game()
    assert not memory.theta.any()


def test_the_policy_of_a_node_follows_its_visits():
    """log P = log P_network + policy * gain, with theta_bar as it was when the visits last doubled."""
    value = ShortTermValue(alpha=0.05, policy=2.0)
    search, game = search_of(value), game_after(*START)
    set_root(search, game)
    memory, renewed = search.threads.workspaces[0].short_term.memory, 0
    for _ in range(70):
        tree = search.trees[0]
        visits, theta = int(tree.node_visits[0]), memory.theta.copy()
        search.simulate(game, 1)
        if visits < 8 or visits & (visits - 1):
            continue
        by_gain, log_p = [], []
        table = dict(zip(*shape_weights(search, theta), strict=True))
        here, edges = shapes_of(game, 2), edges_of(tree, 0)
        output = NETWORK.outputs(planes(game, KINDS)).logits[0].astype(float)
        for e in edges:
            after = replayed(game, [int(e.move)])
            gain = dot(table, shapes_of(after, 2), here) if e.move != PASS else 0.0
            by_gain.append(2.0 * gain * (1 if game.to_play == BLACK else -1))
            log_p.append(output[-1 if e.move == PASS else place(int(e.move))])
        x = np.array(log_p) + by_gain
        p = np.exp(x - x.max()) / np.exp(x - x.max()).sum()
        assert edges.prior == pytest.approx(p, abs=1e-4)
        renewed += np.abs(by_gain).max() > 0.01
    assert renewed >= 3


def test_the_second_phase_is_minimax_over_v():
    """Depth 2: the move after which the best reply leaves the most."""
    search, game = search_of(ShortTermValue(alpha=0.1, depth=2)), game_after(*START)
    search.simulations = 100
    move = search.genmove(game)
    theta = dict(zip(*shape_weights(search, search.threads.workspaces[0].short_term.memory.theta), strict=True))
    sign, worth = 1 if game.to_play == BLACK else -1, {}
    for p in game.sensible_moves():
        after = replayed(game, [p])
        worth[p] = min(sign * dot(theta, shapes_of(replayed(after, [q]), 2), Counter()) for q in after.sensible_moves())
    assert worth[move] == pytest.approx(max(worth.values()), abs=1e-4)
    assert max(worth.values()) - min(worth.values()) > 0.1


def place(p: int) -> int:
    return (p // (SIZE + 1) - 1) * SIZE + p % (SIZE + 1) - 1


def shape_weights(search, theta):
    """All shapes of 1x1 and 2x2 windows, as `shapes_of` names them, and their weights."""
    g = search.threads.workspaces[0].short_term.memory.table.g
    names, weights = [], []
    for w in range(int(g.n_windows)):
        cells = [int(p) for p in g.cell_point[w][: g.n_cells[w]]]
        k = {1: 1, 4: 2}[len(cells)]
        row, col = min(p // (SIZE + 1) for p in cells), min(p % (SIZE + 1) for p in cells)
        for c in range(3 ** len(cells)):
            digits = [(p, c // 3**i % 3) for i, p in enumerate(cells)]
            seen = tuple(sorted((p, d) for p, d in digits if d))
            names.append((k, row, col, seen))
            weights.append(float(theta[int(g.ld_base[w]) + c]))
    return names, weights
