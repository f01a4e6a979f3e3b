"""Root statistics of a tree search, against its own selection and the trees' counts."""

from __future__ import annotations

import numpy as np
import pytest
from tree_tools import SIZE, PatientSearch, composed, game_after

from mcts import Handcrafted, Mogo
from mcts.policies.rave import Schedule
from mcts.settings import ALGORITHMS
from mcts.tree import edges_of, find_edge, memory_of, nodes_in
from rlgo.go.board import BLACK
from rlgo.go.game import Game

SETTINGS = {
    "mc_rave": ALGORITHMS["mc_rave"],
    "exact": composed("mc_rave", schedule=Schedule.MINIMUM_MSE_EXACT),
    "hand_selected": composed("mc_rave", schedule=Schedule.HAND_SELECTED, k=100.0),
    "by action": composed("mc_rave", schedule=Schedule.HAND_SELECTED_ACTION, k=100.0),
    "prior": composed("mc_rave", prior=Mogo(), prior_n=5),
    "rave": ALGORITHMS["rave"],
    "uct": ALGORITHMS["uct"],
}
PUCT = composed("puct", prior=Handcrafted())


def searched(name: str, n: int = 300) -> tuple[PatientSearch, Game]:
    player, game = PatientSearch(SIZE, SETTINGS[name], n, seed=1), game_after("C3", "D3")
    player.search(game)
    return player, game


def beta(name: str, n: float, n_amaf: float, n_s: float, q_amaf: float) -> float:
    """Equations 19, 46 and 47, written out."""
    s = SETTINGS[name].policy
    if n_amaf == 0:
        return 0.0
    if n == 0 or name == "rave":
        return 1.0
    if s.schedule == Schedule.HAND_SELECTED:
        return (s.k / (3 * n_s + s.k)) ** 0.5
    if s.schedule == Schedule.HAND_SELECTED_ACTION:
        return (s.k / (3 * n + s.k)) ** 0.5
    mu = (q_amaf * n_amaf + 1) / (n_amaf + 2)
    variance = mu * (1 - mu) if s.schedule == Schedule.MINIMUM_MSE_EXACT else 1 / 4
    return n_amaf / (n + n_amaf + n * n_amaf * s.bias**2 / variance)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_numbers_are_those_of_the_tree(name):
    player, game = searched(name)
    told = player.statistics(game)
    root = edges_of(player.trees[0], 0)
    assert told.kind == "tree"
    assert (told.done, told.size, told.n_bytes) == (300, nodes_in(player.trees[0]), memory_of(player.trees[0]))
    assert told.moves == player.result.moves.tolist()
    columns = told.columns
    assert columns["share"].sum() == pytest.approx(1.0)
    for i, p in enumerate(told.moves):
        e = root[root.move == p][0]
        assert columns["visits"][i] == e.n - SETTINGS[name].policy.prior_n
        q = e.w / e.n if e.n else np.nan
        np.testing.assert_allclose(columns["q"][i], q)
        if name == "uct":
            np.testing.assert_allclose(columns["value"][i], q)
            continue
        q_amaf = e.w_amaf / e.n_amaf if e.n_amaf else np.nan
        np.testing.assert_allclose([columns["q_amaf"][i], columns["n_amaf"][i]], [q_amaf, e.n_amaf])
        b = beta(name, e.n, e.n_amaf, root.n.sum(), q_amaf)
        assert columns["beta"][i] == pytest.approx(b)
        expected = q if b == 0 else q_amaf if b == 1 else (1 - b) * q + b * q_amaf
        np.testing.assert_allclose(columns["value"][i], expected)


def test_columns_that_an_algorithm_lacks_are_left_out():
    assert set(searched("uct")[0].statistics(game_after("C3", "D3")).columns) == {"value", "visits", "share", "q"}
    assert "prior" not in searched("mc_rave")[0].statistics(game_after("C3", "D3")).columns
    assert "prior" in searched("prior")[0].statistics(game_after("C3", "D3")).columns
    player, game = PatientSearch(SIZE, PUCT, 50, seed=1), game_after("C3")
    player.search(game)
    columns = player.statistics(game).columns
    assert "prior" not in columns
    assert columns["policy"].sum() == pytest.approx(1, abs=0.01)
    assert set(player.analyses()) == {"value", "amaf", "visits", "policy"}


@pytest.mark.parametrize("moves", [("C3",), ("C3", "D3")])
def test_the_prior_of_a_candidate_is_that_of_the_player(moves):
    game = game_after(*moves)
    for settings in (PUCT, SETTINGS["prior"]):
        player = PatientSearch(SIZE, settings, 300, seed=1)
        player.search(game)
        by_move = dict(zip(player.result.moves.tolist(), player.result.prior.tolist(), strict=True))
        for candidate in player.candidates(game):
            h = by_move[candidate.move]
            is_own = settings is PUCT or game.to_play == BLACK
            assert candidate.prior == pytest.approx(h if is_own else 1 - h)


def test_lines_and_depth():
    player, game = searched("mc_rave")
    told = player.statistics(game)
    assert told.lines[0] == player.result.line.tolist()
    assert [line[0] for line in told.lines] == told.moves[: len(told.lines)]
    longest, stack = 0, [(0, 1)]
    while stack:
        node, depth = stack.pop()
        longest = max(longest, depth)
        stack += [(int(e.child), depth + 1) for e in edges_of(player.trees[0], node) if e.child >= 0]
    assert told.depth in (longest, longest - 1)  # the last new node may not have had a move in it
    tree, p = player.trees[0], told.moves[1]
    assert tree.move[find_edge(0, p, tree)] == told.lines[1][0]


def test_it_may_be_asked_for_during_a_search():
    player, game = PatientSearch(SIZE, SETTINGS["mc_rave"], 1_000, seed=1), game_after("C3", "D3")
    counts = []

    def stop() -> bool:
        counts.append(player.statistics(game).done)
        return False

    player.stop = stop
    player.search(game)
    assert counts == sorted(counts)
    assert 0 < counts[0] < 1_000
    assert player.statistics(game_after("C3")) is None  # another position
