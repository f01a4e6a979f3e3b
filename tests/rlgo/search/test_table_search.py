"""The other end of the spectrum: table look-up with lambda = 1 and step 1 / N is greedy Monte-Carlo tree search."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.naive import NaiveBoard, from_core

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.moves.rollout import UNIFORM, DefaultPolicy
from rlgo.search import table_search
from rlgo.search.table_search import GREEDY, MONTE_CARLO, TableSearch

SIZE = 5


class NaiveGreedyMcts:
    """Greedy Monte-Carlo tree search from recorded simulations: sums and counts by state and action, nothing else.

    Each simulation adds the first state that is not in the tree. Q is the mean outcome, 0.5 without a visit.
    """

    def __init__(self):
        self.sums, self.counts = {}, {}

    def q(self, state, action) -> float:
        n = self.counts[state].get(action, 0)
        return self.sums[state][action] / n if n else 0.5

    def add(self, states: list, actions: list, z: float) -> int:
        """Take in one simulation; returns how many of its actions were taken in the tree, the new state included."""
        n = 0
        for state, action in zip(states, actions, strict=False):
            is_new = state not in self.counts
            if is_new:
                self.sums[state], self.counts[state] = {}, {}
            self.sums[state][action] = self.sums[state].get(action, 0.0) + z
            self.counts[state][action] = self.counts[state].get(action, 0) + 1
            n += 1
            if is_new:
                break
        return n


def replay(game: Game, moves: list[int]) -> tuple[list, list, NaiveBoard, list]:
    """The states and sensible actions along a simulation, by the naive board."""
    board = NaiveBoard(SIZE)
    for _, p in game.moves:
        board.play(from_core(SIZE, p))
    board.n_passes = 0
    states, sensible = [], []
    for p in moves:
        states.append((frozenset(board.stones.items()), board.to_play, board.ko, board.n_passes > 0))
        sensible.append({q for q in board.legal_points() if not board.is_eye(q, board.to_play)})
        board.play(from_core(SIZE, int(p)))
    return states, sensible, board, moves


@pytest.mark.parametrize(("default", "vertices"), [(UNIFORM, ("C3",)), (1, ("C3", "B2", "D2", "C2"))])
def test_it_is_greedy_monte_carlo_tree_search(default, vertices):
    """Every N and Q, and every choice in the tree, against the recorded simulations, one after the other."""
    game = Game(SIZE, 0.5)
    for vertex in vertices:
        game.play(from_vertex(vertex, SIZE))
    search = TableSearch(SIZE, 150, default=DefaultPolicy(default), seed=2)
    search.begin(game)
    oracle, won, names = NaiveGreedyMcts(), 0.0, {}
    for number in range(150):
        search.simulate(game, 1)
        moves = search.episode.moves[: search.episode.n].tolist()
        states, sensible, board, _ = replay(game, moves)
        assert board.n_passes == 2
        z = (1 + np.sign(board.area_score() - game.komi)) / 2
        won += z
        # Greedy, for the colour to play, wherever the state is in the tree.
        for t, state in enumerate(states):
            if state not in oracle.counts:
                break
            sign = 1 if state[1] == BLACK else -1
            taken = from_core(SIZE, moves[t])
            if sensible[t]:
                best = max(sign * oracle.q(state, action) for action in sensible[t])
                assert sign * oracle.q(state, taken) == pytest.approx(best)
            else:
                assert moves[t] == PASS
        n = oracle.add(states, [from_core(SIZE, p) for p in moves], z)
        for t in range(n):
            names[states[t]] = int(search.visited[t])
        assert search.tally.simulations == number + 1
        assert search.tally.wins == won
        assert search.tally.states == len(oracle.counts)
    assert len(set(names.values())) == len(names) == len(oracle.counts) > 20
    for state, index in names.items():
        record = search.states[index]
        for action, count in oracle.counts[state].items():
            p = PASS if action is None else (action[0] + 1) * (SIZE + 1) + action[1] + 1
            assert record.N[p] == count
            assert record.Q[p] == pytest.approx(oracle.sums[state][action] / count, abs=1e-12)
        assert record.N.sum() == sum(oracle.counts[state].values())


def test_bootstrapping_and_constant_steps():
    """lambda = 0, alpha = 0.5, one ply: each Q moves half the way to the next one, the last one to z."""
    game = Game(SIZE, 0.5)
    search = TableSearch(SIZE, 40, learning=MONTE_CARLO._replace(alpha=0.5, lambda_=0.0), seed=4)
    search.begin(game)
    for _ in range(40):
        before = search.states.copy()
        wins = float(search.tally.wins)
        search.simulate(game, 1)
        z = float(search.tally.wins) - wins
        path = [(int(s), int(p)) for s, p in zip(search.visited, search.episode.moves, strict=False)]
        known = [(s, p) for s, p in path if s < search.tally.states][: path_length(search, before)]
        values = [before[s].Q[p] if before[s].N.any() else 0.5 for s, p in known]
        for i, (s, p) in enumerate(known):
            target = values[i + 1] if i + 1 < len(values) else z
            assert search.states[s].Q[p] == pytest.approx(values[i] + 0.5 * (target - values[i]))


def path_length(search: TableSearch, before: np.ndarray) -> int:
    """How many actions the last simulation counted."""
    return int(search.states["N"].sum() - before["N"].sum())


def test_as_a_player():
    game = Game(SIZE, 0.5)
    a, b = (TableSearch(SIZE, 200, seed=1) for _ in range(2))
    move = a.genmove(game)
    assert move == b.genmove(game) in game.legal_moves()
    values = a.analyses()["value"]
    assert values[move // 6 - 1, move % 6 - 1] == np.nanmax(values)
    assert 0 <= np.nanmin(values) <= np.nanmax(values) <= 1
    assert a.report()[0].endswith(f"{int(a.tally.states)} states")
    a.new_game()
    assert np.isnan(a.analyses()["value"]).all()
    assert a.report() == []
    # A capture that wins: White is left without stones.
    game.set_up([(1, from_vertex(v, SIZE)) for v in ("B2", "A3", "B4", "C4", "D3", "C2")]
                + [(2, from_vertex(v, SIZE)) for v in ("B3",)])  # fmt: skip
    assert a.genmove(game) == from_vertex("C3", SIZE)
    with pytest.raises(RlgoError, match="simulations = 0"):
        TableSearch(SIZE, 0)
    with pytest.raises(RlgoError, match="plays on 5x5, found 9x9"):
        a.genmove(Game(9))


def test_exploration():
    """With epsilon = 1 the root's actions are uniform; greedily they are not."""
    game = Game(SIZE, 0.5)
    counts = []
    for epsilon in (0.0, 1.0):
        search = TableSearch(SIZE, 1000, GREEDY._replace(epsilon=epsilon), seed=3)
        search.genmove(game)
        counts.append(search.states[0].N[search.states[0].N > 0])
    assert counts[0].max() > 300
    assert len(counts[1]) == 25
    assert counts[1].max() < 70


def test_warming_up_runs_the_kernel_and_learns_nothing(monkeypatch):
    kernel, runs = table_search.simulate_by_table, []
    monkeypatch.setattr(table_search, "simulate_by_table", lambda n, *rest: (runs.append(n), kernel(n, *rest)))
    search = TableSearch(SIZE, 50, seed=1)
    search.warm_up()
    assert runs == [0]
    assert search.report() == []
