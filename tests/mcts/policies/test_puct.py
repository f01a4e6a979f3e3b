"""PUCT: its formulas by hand, the tree policy against a slow version, noise and temperature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import logit
from tree_tools import SIZE, PatientSearch, composed, game_after, set_root, value_index

from mcts import Even, Handcrafted, Mogo, Outside, OutsideValue, Value
from mcts.player import TreeSearch
from mcts.policies.puct import alphago_bonus, draw_by_visits, pruned_visits, reduced_value, with_noise
from mcts.settings import Resources
from mcts.tree import PRIOR_UNITS, edges_of
from rlgo.go.board import BLACK, PASS

N = SIZE * SIZE
BY_OUTSIDE = {"prior": Outside(), "leaf": Value(OutsideValue())}  # AlphaGo Zero's search


def answer_of(game):
    """A policy, float64[N + 1], and a value in 1/256 of a position, by its last eight moves."""
    rng = np.random.default_rng([p for _, p in game.moves[-8:]])
    return rng.dirichlet(np.full(N + 1, 0.5)), rng.integers(0, 257) / 256


def evaluator(positions):
    """The same for a batch."""
    answers = []
    for i in range(len(positions)):
        moves = positions.last_moves[i][::-1]
        rng = np.random.default_rng([int(p) for p in moves if p >= 0])
        answers.append((rng.dirichlet(np.full(N + 1, 0.5)), rng.integers(0, 257) / 256))
    policy, value = zip(*answers, strict=True)
    return {"policy": np.array(policy), "value": np.array(value)}


def test_formulas_by_hand():
    assert alphago_bonus(2.0, 0.25, 16.0, 3.0) == pytest.approx(2 * 0.25 * 4 / 4)
    assert reduced_value(0.6, 0.25, 0.2) == pytest.approx(0.5)


@pytest.mark.parametrize("reduction", [0.0, 0.3])
def test_without_playouts_it_is_the_slow_version(reduction):
    """AlphaGo Zero's search in plain Python: the same visits of every action of every node."""
    n_simulations = 300
    c, fpu = 1.3, 0.4
    settings = composed("puct", c=c, first_play_urgency=fpu, fpu_reduction=reduction, **BY_OUTSIDE)
    game = game_after("C3")
    search = PatientSearch(SIZE, settings, n_simulations, evaluator=evaluator, resources=Resources(batch=1), seed=1)
    search.search(game)
    tree = search.trees[0]
    order = {}  # the actions of each node, by its path: their order decides ties
    stack = [(0, ())]
    while stack:
        node, path = stack.pop()
        edges = edges_of(tree, node)
        order[path] = edges.move.tolist()
        stack += [(int(e.child), (*path, int(e.move))) for e in edges if e.child >= 0]
    visits, sums = slow_puct(game, n_simulations, order, c, fpu, reduction)
    stack = [(0, ())]
    while stack:
        node, path = stack.pop()
        edges = edges_of(tree, node)
        if path in visits:
            assert edges.n.tolist() == visits[path]
            np.testing.assert_allclose(edges.w, sums[path], atol=1e-9)
        else:
            assert edges.n.sum() == 0
        stack += [(int(e.child), (*path, int(e.move))) for e in edges if e.child >= 0]
    assert max(map(len, visits)) >= 2


def slow_puct(game, n_simulations, order, c, fpu, reduction):
    """Return N(s, a) and the sums of values by the path to each node."""
    visits, sums, policies = {}, {}, {}

    def expand(path, now):
        policy, value = answer_of(now)
        chosen = np.array([np.float32(policy[value_index(p)]) for p in order[path]], np.float64)
        policies[path] = np.rint(PRIOR_UNITS * chosen / chosen.sum()) / PRIOR_UNITS
        visits[path], sums[path] = [0] * len(chosen), [0.0] * len(chosen)
        return value

    expand((), game)
    for _ in range(n_simulations):
        path, taken, now = (), [], game.copy()
        while True:
            n, w = visits[path], sums[path]
            q = [(w[i] / n[i]) if n[i] else None for i in range(len(n))]
            mean = sum(w) / sum(n) if sum(n) else 0.0
            seen = sum(p for p, times in zip(policies[path], n, strict=True) if times)
            unseen = (mean if now.to_play == BLACK else 1 - mean) - reduction * math.sqrt(seen)
            unseen = unseen if reduction and sum(n) else fpu
            own = [unseen if x is None else x if now.to_play == BLACK else 1 - x for x in q]
            score = [own[i] + c * policies[path][i] * math.sqrt(sum(n) + 1) / (1 + n[i]) for i in range(len(n))]
            best = int(np.argmax(score))
            taken.append((path, best))
            move = order[path][best]
            now.play(move)
            path = (*path, move)
            if now.is_over():
                value = now.outcome
                break
            if path not in visits:
                value = expand(path, now)
                break
        for at, i in taken:
            visits[at][i] += 1
            sums[at][i] += value
    return visits, sums


def test_actions_without_visits_begin_below_the_mean_of_the_others():
    """By hand, for a search without a policy, where all P are equal."""
    settings = composed("puct", prior=(), c=1.0, fpu_reduction=0.2)
    search, game = PatientSearch(SIZE, settings, 200, seed=1), game_after("C3")
    set_root(search, game)
    for _ in range(200):
        root = edges_of(search.trees[0], 0)
        n, w = root.n, root.w
        seen = (n > 0).sum() / len(n)
        mean = 1 - w.sum() / n.sum() if n.any() else 0.5
        unseen = mean - 0.2 * math.sqrt(seen) if n.any() else 0.5
        own = [1 - w[i] / n[i] if n[i] else unseen for i in range(len(n))]
        score = [own[i] + 1.0 / len(n) * math.sqrt(n.sum() + 1) / (1 + n[i]) for i in range(len(n))]
        search.simulate(game, 1)
        chosen = int(np.flatnonzero(edges_of(search.trees[0], 0).n - n)[0])
        assert score[chosen] == pytest.approx(max(score), abs=1e-6)


def test_a_prior_is_a_policy_for_it():
    """P ~ exp(logit(H) / s)."""
    for prior in (Handcrafted(), Mogo(), Even()):
        for game in (game_after("C3"), game_after("C3", "B2")):
            plain = TreeSearch(SIZE, composed("mc_rave", prior=prior), 1, seed=4)
            guided = TreeSearch(SIZE, composed("puct", prior=prior, scale=0.6), 1, seed=4)
            set_root(plain, game)
            set_root(guided, game)
            h, p = edges_of(plain.trees[0], 0).prior, edges_of(guided.trees[0], 0).prior
            x = logit(np.clip(h, 1e-9, 1 - 1e-9)) * (1 if game.to_play == BLACK else -1) / 0.6
            expected = np.exp(x - x.max())
            np.testing.assert_allclose(p, expected / expected.sum(), atol=2e-3)
    assert p == pytest.approx(np.full(len(p), 1 / len(p)), abs=1e-4)


def test_noise_at_the_root_is_gone_after_the_search():
    p = np.array([0.7, 0.2, 0.1])
    noisy = with_noise(p, 0.25, 0.3, np.random.default_rng(1))
    assert noisy.sum() == pytest.approx(1)
    np.testing.assert_allclose((noisy - 0.75 * p) / 0.25, np.random.default_rng(1).dirichlet([0.3] * 3))
    game, results = game_after("C3"), []
    for noise in (0.0, 0.5, 0.5):
        settings = composed("puct", noise=noise, noise_alpha=0.1, **BY_OUTSIDE)
        search = PatientSearch(SIZE, settings, 200, evaluator=evaluator, seed=1)
        results.append(search.search(game))
    by_move = [dict(zip(r.moves.tolist(), r.prior.tolist(), strict=True)) for r in results]
    assert by_move[0] == by_move[1]
    assert results[0].visits.tolist() != results[1].visits.tolist() == results[2].visits.tolist()


def test_visits_that_only_noise_explains_are_pruned():
    # U* = 0.6 + 1 * 0.5 * 10 / (1 + 50) = 0.698; what each other move is left is 10 P / (0.698 - Q), rounded down.
    visits = np.array([50, 30, 10, 6, 3, 0])
    q = np.array([0.6, 0.59, 0.5, 0.4, 0.8, np.nan])
    p = np.array([0.5, 0.2, 0.22, 0.05, 0.01, 0.02])
    # 10 * 0.2 / 0.108 = 18.5; 10 * 0.22 / 0.198 = 11.1 is more than 10; 10 * 0.05 / 0.298 = 1.7 leaves one: none; the
    # fifth move is valued above U*, so its visits are justified.
    assert pruned_visits(visits, q, p, 1.0).tolist() == [50, 18, 10, 0, 3, 0]


def test_a_policy_learns_from_pruned_visits():
    game = game_after("C3")  # White to play
    settings = composed("puct", noise=0.9, noise_alpha=0.05, **BY_OUTSIDE)
    search = PatientSearch(SIZE, settings, 200, evaluator=evaluator, seed=1)
    search.search(game)
    result, found = search.result, search.policy_target(game)
    visits = dict(zip(result.moves.tolist(), result.visits.tolist(), strict=True))
    assert list(found) == [move for move, n in visits.items() if n]
    assert found[result.moves[0]] == result.visits[0]
    assert all(n <= visits[move] for move, n in found.items())
    assert sum(found.values()) < sum(visits.values()) - 10
    q = dict(zip(result.moves.tolist(), (1 - result.q).tolist(), strict=True))
    p = dict(zip(result.moves.tolist(), result.prior.tolist(), strict=True))
    u = {move: q[move] + p[move] * math.sqrt(1 + sum(visits.values())) / (1 + n) for move, n in found.items()}
    best = int(result.moves[0])
    assert all(u[move] <= u[best] + 0.05 or n == visits[move] for move, n in found.items() if n > 5)
    without = TreeSearch(SIZE, composed("puct", **BY_OUTSIDE), 200, seed=1, evaluator=evaluator)
    without.search(game)
    assert without.policy_target(game) == {c.move: c.visits for c in without.candidates(game)}
    without.was_quick = True
    assert without.policy_target(game) == {}


def test_a_pass_without_a_search_teaches_the_pass():
    """Not the pruned visits of the position before, whose tree is still there."""
    search = TreeSearch(SIZE, composed("puct", noise=0.5, **BY_OUTSIDE), 50, seed=1, evaluator=evaluator)
    game = game_after("C3", "A1", "B3", "A5", "D3")
    search.search(game)
    game.play(PASS)
    assert search.genmove(game) == PASS
    assert search.policy_target(game) == {PASS: 1}


def test_moves_are_drawn_by_visits():
    rng, n = np.random.default_rng(1), np.array([40, 10, 0])
    for temperature, expected in ((1.0, [0.8, 0.2, 0]), (0.5, [16 / 17, 1 / 17, 0])):
        drawn = np.bincount([draw_by_visits(n, temperature, rng) for _ in range(4000)], minlength=3) / 4000
        np.testing.assert_allclose(drawn, expected, atol=0.03)
    settings = composed("mc_rave", move_temperature=1.0, temperature_plies=3)
    player = TreeSearch(SIZE, settings, 60, seed=1)
    early, late = game_after("C3", "B2"), game_after("C3", "B2", "D4", "C4")
    moves = {player.genmove(early) for _ in range(12)}
    assert len(moves) > 1
    assert all(player.genmove(late) == player.result.moves[0] for _ in range(5))
