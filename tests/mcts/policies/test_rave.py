"""RAVE: the formulas, and every statistic of a tree against recorded simulations."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.naive import NaiveBoard, from_core, to_core
from tree_tools import SIZE, TO_THE_END, composed, game_after, path_of, set_root

from mcts.player import TreeSearch
from mcts.policies.rave import (
    Rave,
    Schedule,
    beta_of,
    combine,
    exact_minimum_mse_beta,
    hand_selected_beta,
    minimum_mse_beta,
    minimum_mse_value,
)
from mcts.tree import edges_of, nodes_in
from rlgo.go.board import PASS
from rlgo.go.game import Game


def test_the_hand_selected_schedule():
    for k in (10.0, 1000.0):
        assert hand_selected_beta(k, k) == pytest.approx(0.5)
        assert hand_selected_beta(0.0, k) == 1.0
        assert hand_selected_beta(1e9, k) < 0.001


@pytest.mark.parametrize("q_amaf", [0.5, 0.42, 0.85])
def test_the_minimum_mse_schedule_minimises_the_error(q_amaf):
    """(1 - beta)^2 sigma^2 + beta^2 sigma~^2 + beta^2 b^2 (equation 41), minimised by trying every beta."""
    betas = np.linspace(0, 1, 200_001)
    for n, n_amaf, bias in [(1, 5, 0.05), (30, 100, 0.05), (1000, 3000, 0.1), (7, 2, 0.0)]:
        for mu, beta in (
            (0.5, minimum_mse_beta(float(n), float(n_amaf), bias)),
            # mu stands for both means; the function keeps it off 0 and 1 by one win and one loss more.
            ((q_amaf * n_amaf + 1) / (n_amaf + 2), exact_minimum_mse_beta(float(n), float(n_amaf), bias, q_amaf)),
        ):
            v = mu * (1 - mu)
            error = (1 - betas) ** 2 * v / n + betas**2 * v / n_amaf + betas**2 * bias**2
            assert betas[error.argmin()] == pytest.approx(beta, abs=1e-5)


def test_what_is_not_there_has_no_weight():
    for schedule in Schedule:
        settings = Rave(schedule=schedule, k=1000.0, bias=0.05)
        beta_s = hand_selected_beta(50.0, 1000.0)
        assert beta_of(settings, beta_s, 3.0, 0.0, 0.0) == 0.0
        assert beta_of(settings, beta_s, 0.0, 7.0, 0.4) == 1.0
        beta = beta_of(settings, beta_s, 3.0, 7.0, 0.4)
        assert beta == 1 if schedule == Schedule.AMAF else 0 < beta < 1
    assert combine(0.2, 0.6, 0.25) == pytest.approx(0.3)


@pytest.mark.parametrize("bias", [0.0, 0.02, 0.5])
def test_the_minimum_mse_value_multiplied_out(bias):
    settings = Rave(schedule=Schedule.MINIMUM_MSE, bias=bias)
    statistics = [(3.0, 1.0, 7.0, 4.5), (0.0, 0.0, 5.0, 2.0), (9.0, 9.0, 0.0, 0.0), (800.0, 90.0, 999.0, 400.0)]
    for n, w, n_amaf, w_amaf in statistics:
        q, q_amaf = w / max(n, 1.0), w_amaf / max(n_amaf, 1.0)
        value = combine(q, q_amaf, beta_of(settings, 0.0, n, n_amaf, q_amaf))
        assert minimum_mse_value(n, w, n_amaf, w_amaf, bias) == pytest.approx(value, abs=1e-12)


def test_the_two_readings_of_k():
    """The AMAF value and the MC value weigh the same after k visits of the position, or after k of the move."""
    by_state, by_action = Schedule.HAND_SELECTED, Schedule.HAND_SELECTED_ACTION
    beta_s = hand_selected_beta(100.0, 100.0)
    state, action = (Rave(schedule=schedule, k=100.0) for schedule in (by_state, by_action))
    assert beta_of(state, beta_s, 10.0, 7.0, 0.4) == pytest.approx(0.5)
    assert beta_of(action, beta_s, 10.0, 7.0, 0.4) == pytest.approx((100 / (3 * 10 + 100)) ** 0.5)
    assert beta_of(action, beta_s, 100.0, 7.0, 0.4) == pytest.approx(0.5)


class Recorder:
    """Every simulation of a search, and the statistics that they should have left in the tree."""

    def __init__(self, search: TreeSearch, game: Game, n: int):
        self.search, self.game = search, game
        self.games: list[tuple[list[int], float]] = []
        set_root(search, game)
        for _ in range(n):
            wins = search.wins
            search.simulate(game, 1)
            path = path_of(search)
            self.games.append((path.moves[: path.n_moves].tolist(), search.wins - wins))

    def statistics(self, expand_after: int = 1, amaf_own: bool = False) -> dict[tuple, dict[int, list[float]]]:
        """By the moves that lead to a node: of each action w, n, w_amaf, n_amaf; simulations added in their order.

        The tree is grown again by the rule alone: a simulation adds the first position beyond the tree. With `amaf_own`
        a move counts if its player plays there at all, as in Algorithm 2; else if nobody was there before.
        """
        known: dict[tuple, dict[int, list[float]]] = {(): self._actions(())}
        for moves, z in self.games:
            path: list[tuple] = []
            for t in range(len(moves)):
                prefix = tuple(moves[:t])
                if prefix not in known:
                    over = len(prefix) >= 2 and prefix[-1] == prefix[-2] == PASS
                    if over or known[prefix[:-1]][prefix[-1]][1] + 1 < expand_after:
                        break
                    known[prefix] = self._actions(prefix)
                    if moves[t] in known[prefix]:
                        path.append(prefix)
                    break
                path.append(prefix)
            for t, prefix in enumerate(path):
                known[prefix][moves[t]][0] += z
                known[prefix][moves[t]][1] += 1
                for p, action in known[prefix].items():
                    plays = [u for u in range(t, len(moves)) if moves[u] == p]
                    own = [(u - t) % 2 == 0 for u in plays]
                    if p != PASS and (any(own) if amaf_own else own[:1] == [True]):
                        action[2] += z
                        action[3] += 1
        return known

    def _actions(self, prefix: tuple) -> dict[int, list[float]]:
        board = NaiveBoard(SIZE)
        for _, p in self.game.moves:
            board.play(from_core(SIZE, p))
        for p in prefix:
            board.play(from_core(SIZE, p))
        sensible = [p for p in board.legal_points() if not board.is_eye(p, board.to_play)]
        moves = [to_core(SIZE, p) for p in sensible]
        return {p: [0.0, 0, 0.0, 0] for p in (moves if len(moves) > SIZE else [*moves, PASS])}

    def compare(self, node: int, prefix: tuple, expected: dict, seen: set) -> None:
        edges = edges_of(self.search.trees[0], node)
        assert {int(e.move) for e in edges} == set(expected[prefix])
        assert self.search.trees[0].node_visits[node] == sum(int(e.n) for e in edges)
        seen.add(prefix)
        for e in edges:
            w, visits, w_amaf, n_amaf = expected[prefix][int(e.move)]
            assert (e.n, e.n_amaf) == (visits, n_amaf), (prefix, int(e.move))
            assert (float(e.w), float(e.w_amaf)) == pytest.approx((w, w_amaf))
            if e.child >= 0:
                self.compare(int(e.child), (*prefix, int(e.move)), expected, seen)


@pytest.mark.interpreted
@pytest.mark.filterwarnings("ignore:invalid value encountered")  # beta of no visits at all is 0 / 0, and not used
@pytest.mark.parametrize(
    ("name", "expand_after", "amaf_own"),
    [("mc_rave", 1, False), ("mc_rave", 1, True), ("uct_rave", 3, False), ("rave", 1, False), ("rave", 1, True)],
)
def test_every_statistic_equals_what_the_simulations_say(name, expand_after, amaf_own):
    settings = composed(name, expand_after=expand_after, amaf_own=amaf_own)
    search = TreeSearch(SIZE, settings, 1, default_policy=TO_THE_END, seed=3)
    recorder = Recorder(search, game_after("C3", "B2", "D2"), 120)
    expected, seen = recorder.statistics(expand_after, amaf_own), set()
    assert expected != recorder.statistics(expand_after, not amaf_own)
    recorder.compare(0, (), expected, seen)
    assert seen == set(expected)
    assert len(seen) == nodes_in(search.trees[0]) > 15
    assert any(stats[3] > stats[1] for stats in expected[()].values())
