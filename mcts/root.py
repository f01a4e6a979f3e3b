"""The root of the search trees: its position, and which part of an old tree to keep.

Start reading at `Root.move_to`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcts.tree import NO_CHILD, Tree, add_root, edges_of, find_edge, keep_moves, keep_subtree
from rlgo.compiler.jit import copy_record, interpreted
from rlgo.go.board import PASS, new_board
from rlgo.go.game import Game
from rlgo.play.player import position_of


class Root:
    """The position at the root of one or several trees.

    Parameters
    ----------
    size : board size
    trees : the trees; node 0 of each is the root
    reuse : whether to keep the part of a tree below the next position
    rng : shuffles the actions of a new root

    Attributes
    ----------
    board : the position as a board record
    last_moves : the move that led to it and the one before, or PASS
    """

    def __init__(self, size: int, trees: list[Tree], reuse: bool, rng: np.random.Generator):
        self.board = new_board(size)
        self.last_moves = (PASS, PASS)
        self._trees, self._rng = trees, rng
        self._reuse = reuse
        self._position: tuple[int, ...] = ()  # the root of the current search, or of the last one
        self._searched: tuple[Any, ...] | None = None  # moves, colour to play, setup and komi of the last whole search

    def leave(self) -> None:
        """Have no position until `move_to` is called."""
        self._position = ()

    def forget(self) -> None:
        """Forget the position, and keep nothing for the next search."""
        self._searched = None
        self._position = ()

    def is_at(self, game: Game) -> bool:
        """Return whether the root is the position of `game`."""
        return self._position == position_of(game)

    def move_to(self, game: Game, moves: np.ndarray) -> None:
        """Move the root to the position of `game`, keeping what the trees know about it.

        Parameters
        ----------
        game : any game; its position need not follow from that of the last search
        moves : int64[n], the actions of the root; shuffled if the root is new
        """
        copy_record(game.board, self.board)
        if self.board.n_passes >= 2:
            self.board.n_passes = 0  # a request for a move means that the game continues
        last_but_one, last = [PASS, PASS, *(p for _, p in game.moves[-2:])][-2:]
        self.last_moves = (last, last_but_one)
        nodes = [self.node_of(game, tree) if self._reuse else NO_CHILD for tree in self._trees]
        self._searched = None  # until `finish`, since no later search reuses an interrupted one
        for tree, node in zip(self._trees, nodes, strict=True):
            _keep(tree, node, moves, self._rng)
        self._position = position_of(game)

    def finish(self, game: Game) -> None:
        """Note that the search from the position of `game` is complete, so that the next one can reuse the tree."""
        self._searched = (game.moves.copy(), game.to_play, game.setup.copy(), game.komi)

    def node_of(self, game: Game, tree: Tree) -> int:
        """Return the node of the position of `game`, or NO_CHILD.

        There is one if the same game, with the same komi, continued from the last root by moves in the tree.
        """
        if self._searched is None or self._searched[2:] != (game.setup, game.komi):
            return NO_CHILD
        moves, color = self._searched[:2]
        if game.moves[: len(moves)] != moves:
            return NO_CHILD
        node = 0
        for player, p in game.moves[len(moves) :]:
            edge = int(interpreted(find_edge)(node, p, tree)) if player == color else -1
            node = int(tree.child[edge]) if edge >= 0 else NO_CHILD
            if node == NO_CHILD:
                return NO_CHILD
            color = 3 - color
        return node if color == game.to_play else NO_CHILD


def _keep(tree: Tree, node: int, moves: np.ndarray, rng: np.random.Generator) -> None:
    """Make `node` the root, or reset the tree to a new root if the node does not have all `moves`."""
    if node != NO_CHILD:
        keep_subtree(node, tree)
        actions = edges_of(tree, 0).move
        if np.isin(moves, actions).all():
            if len(actions) > len(moves):  # superko forbids moves that simulations may play
                keep_moves(tree, 0, np.isin(actions, moves))
            return
    rng.shuffle(moves)
    add_root(moves, tree)
