"""Reuse of the last tree."""

from __future__ import annotations

import pytest
from tree_tools import SIZE, game_after, nested_statistics, set_root

from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS, Resources
from mcts.tree import NO_CHILD, nodes_in
from rlgo.go.board import BLACK, WHITE
from rlgo.go.game import Game


def test_the_subtree_is_kept_from_move_to_move():
    game = game_after("C3")
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 400, seed=6)
    result = search.search(game)
    game.play(int(result.line[0]))
    game.play(int(result.line[1]))
    node = search.root.node_of(game, search.trees[0])
    assert node > 0
    before = nested_statistics(search, node)
    set_root(search, game)
    assert nested_statistics(search, 0) == before
    assert nodes_in(search.trees[0]) < 400
    assert before[0] > 10
    # Not kept: after undo, in another game, where a side moved twice, by another komi.
    result = search.search(game_after("C3"))
    one, two = int(result.line[0]), int(result.line[1])

    def after(*moves: tuple[int, int]) -> Game:
        other = game_after("C3")
        for color, p in moves:
            other.play(p, color)
        return other

    usual = after((WHITE, one), (BLACK, two))
    assert search.root.node_of(usual, search.trees[0]) > 0
    other_komi = usual.copy()
    other_komi.komi = 3.5
    twice, swapped = after((WHITE, one), (WHITE, two)), after((BLACK, one), (BLACK, two))
    assert search.root.node_of(game_after("C3"), search.trees[0]) == 0  # thought about again
    for other in (game_after("D3", "C3"), game_after(), twice, swapped, other_komi):
        assert search.root.node_of(other, search.trees[0]) == -1
    search.new_game()
    assert search.root.node_of(usual, search.trees[0]) == -1


@pytest.mark.parametrize("reuse", [True, False])
def test_nothing_is_kept_without_reuse(reuse):
    game = game_after("C3")
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 400, resources=Resources(reuse=reuse), seed=6)
    result = search.search(game)
    for p in result.line[:2].tolist():
        game.play(p)
    assert not search.root.is_at(game)
    set_root(search, game)
    assert search.root.is_at(game)
    assert search.root.last_moves[0] == result.line[1]
    assert (nodes_in(search.trees[0]) > 1) == reuse


def test_an_unfinished_search_is_not_kept():
    game = game_after("C3")
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 100, seed=1)
    search.search(game)
    assert search.root.node_of(game, search.trees[0]) != NO_CHILD
    set_root(search, game)  # as at the start of a search that never finishes
    assert search.root.node_of(game, search.trees[0]) == NO_CHILD
