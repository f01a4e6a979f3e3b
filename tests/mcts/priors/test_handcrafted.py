"""Handcrafted values, alone and added to learned ones."""

from __future__ import annotations

import math

import pytest
from oracles.naive import neighbourhood as naive_neighbourhood
from tree_tools import SIZE, at, composed, game_after, random_weights, set_root, value_index

from mcts import Handcrafted, Rlgo, Sum
from mcts.player import TreeSearch
from mcts.priors.handcrafted import judge
from mcts.tree import edges_of
from rlgo.go.board import BLACK
from rlgo.go.game import Game
from rlgo.go.mogo_patterns import mogo_patterns, neighbourhood
from rlgo.learning.value import ValueFunction, sigma


def judged(game: Game, vertex: str) -> float:
    return float(judge(game.board, at(vertex), mogo_patterns()))


def test_handcrafted_values_by_hand():
    # White's stone at C2 has put Black's D2 into atari; D3 saves it (two liberties), and is next to no other atari.
    game = game_after("D2", "D1", "A5", "E2", "B5", "C2")
    stones = {(p // 6 - 1, p % 6 - 1): int(game.board.color[p]) for p in range(6, 36) if game.board.color[p] in (1, 2)}
    for vertex in ("D3", "A1", "B3", "E5"):
        row, column = int(vertex[1]) - 1, "ABCDE".index(vertex[0])
        seen = naive_neighbourhood(SIZE, stones, (row, column))
        assert sum((neighbourhood(game.board, at(vertex)) >> 2 * i & 3) != 0 for i in range(8)) == sum(
            c != "." for c in seen
        )
    # D3: saves, at distance 1 of C2; a pattern of MoGo's or not.
    pattern = 0.7 if mogo_patterns()[neighbourhood(game.board, at("D3"))] & BLACK else 0.0
    assert judged(game, "D3") == pytest.approx(-0.4 + 1.2 + 0.5 + pattern)
    # A1: on the first line, far away from C2 (distance 2), nothing around.
    assert judged(game, "A1") == pytest.approx(-0.4 + 0.4 - 0.9)
    # White captures D2 from D3.
    game.play(at("B3"))
    assert judged(game, "D3") > 0.4 > 0 > judged(game, "A1")
    # Black at A2 would have one liberty: self-atari, next to the last move.
    game = game_after("E5", "B2", "E4", "A3")
    pattern = 0.7 if mogo_patterns()[neighbourhood(game.board, at("A2"))] & BLACK else 0.0
    assert judged(game, "A2") == pytest.approx(-0.4 - 1.6 + 0.5 + pattern)
    # With a Black stone at A4, B3 puts White's A3 into atari (A2 is left to it).
    game = game_after("A4", "A3", "E4", "E1")
    pattern = 0.7 if mogo_patterns()[neighbourhood(game.board, at("B3"))] & BLACK else 0.0
    assert judged(game, "B3") == pytest.approx(-0.4 + 0.4 + 0.2 + pattern)
    search = TreeSearch(SIZE, composed("mc_rave", prior=Handcrafted(), prior_n_amaf=100), 1, seed=1)
    for other in (game, game_after("D2", "D1", "A5")):  # Black to play; White
        set_root(search, other)
        sign = 1 if other.to_play == BLACK else -1
        for e in edges_of(search.trees[0], 0):
            x = sign * float(judge(other.board, int(e.move), mogo_patterns()))
            assert e.w_amaf / e.n_amaf == pytest.approx(sigma(x), abs=1e-3)
    # Both: added to phi . theta.
    w = random_weights()
    settings = composed("mc_rave", prior=Sum(Rlgo(), Handcrafted()), prior_n_amaf=100)
    search = TreeSearch(SIZE, settings, 1, weights=w, seed=1)
    set_root(search, game)
    values = ValueFunction(w).afterstates(game.board)
    for e in edges_of(search.trees[0], 0):
        v = values[value_index(e.move)]
        x = math.log(v / (1 - v)) + float(judge(game.board, int(e.move), mogo_patterns()))  # Black plays
        assert e.w_amaf / e.n_amaf == pytest.approx(sigma(x), abs=1e-3)
