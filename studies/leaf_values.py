"""Measure how well V and playouts predict leaves: `python studies/leaf_values.py GAMES` prints a table by stones.

GAMES is a folder of games of `rlgo games` on 9x9. Leaves are nodes drawn from the trees of short searches of these
games' positions. A long search without leaf values gives the target of each. Least squares fit to it the shares of the
playouts' mean outcome and of V = sigma(phi . theta + tempo), - tempo if White is to play.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit
from tqdm import tqdm

from mcts.player import TreeSearch
from mcts.tree import Tree, edges_of, nodes_in
from rlgo.go.board import BLACK
from rlgo.go.game import Game
from rlgo.learning.collection import Collection, read_collection
from rlgo.learning.value import ValueFunction
from rlgo.play.ownership import Ownership
from rlgo.play.player import moves_to_try
from train.players import make_player

SHORT, LONG, PLAYOUTS = 300, 2_000, 40  # simulations for the leaves, and for the targets; playouts
LEAVES, SEED = 3_000, 3
STONES = (0, 12, 24, 36, 48, 60, 81)
TEMPOS = np.arange(0.0, 2.1, 0.1)


def position(games: Collection, rng: np.random.Generator) -> Game:
    """Return a random position of a random game."""
    a = games.arrays
    g = rng.integers(len(games))
    first = int(a["n_moves"][:g].sum())
    game = Game(games.size)
    for i in range(first, first + rng.integers(4, a["n_moves"][g])):
        game.play(int(a["move"][i]), int(a["color"][i]), may_repeat=True)
    return game


def search(player: TreeSearch, game: Game, n: int) -> Tree:
    """Search with n simulations in a new tree, and return it."""
    player.new_game()
    player.set_root(game, moves_to_try(game))
    player.simulate(game, n)
    return player.trees[0]


def leaf(tree: Tree, game: Game, rng: np.random.Generator) -> Game:
    """Return the position of a random node of the tree of `game`, each a leaf when it was added."""
    n = nodes_in(tree)
    edge_to = np.full(n, -1)
    edges = np.flatnonzero(tree.child[: int(tree.first_edge[n - 1] + tree.n_edges[n - 1])] > 0)
    edge_to[tree.child[edges]] = edges
    path: list[int] = []
    node = int(rng.integers(1, n))
    while node > 0:
        path.append(int(tree.move[edge_to[node]]))
        node = int(np.searchsorted(tree.first_edge[:n], edge_to[node], side="right")) - 1
    after = game.copy()
    for p in reversed(path):
        after.play(p, may_repeat=True)
    return after


def measure(games: Collection) -> np.ndarray:
    """Return a row for each leaf: stones, 1 or -1 for who is to play, the target, the playouts' mean, phi . theta."""
    rng = np.random.default_rng(SEED)
    player: Any = make_player("mc_rave_patterns,simulations=1,leaf_value=0", games.size, SEED)
    value = ValueFunction(player.value_weights())
    rows: list[tuple[float, ...]] = []
    with tqdm(total=LEAVES, unit="leaf") as progress:
        while len(rows) < LEAVES:
            game = position(games, rng)
            if not moves_to_try(game):
                continue
            end = leaf(search(player, game, SHORT), game, rng)
            if not moves_to_try(end):
                continue
            root = edges_of(search(player, end, LONG), 0)
            best = int(np.argmax(root.n))
            mean = Ownership.of(end, PLAYOUTS, seed=len(rows)).wins
            stones, sign = len(end.stones("black")) + len(end.stones("white")), 1 if end.to_play == BLACK else -1
            rows.append((stones, sign, root.w[best] / root.n[best], mean, float(logit(value.value(end)))))
            progress.update()
    return np.array(rows)


def shares(rows: np.ndarray) -> tuple[float, float, float, float]:
    """Return the best fit: the shares of playouts and of V, the tempo, and the explained part of the variance."""
    _, sign, target, mean, x = rows.T
    found = []
    for tempo in TEMPOS:
        a = np.stack([mean, expit(x + sign * tempo), np.ones(len(x))], axis=1)
        c = np.linalg.lstsq(a, target, rcond=None)[0]
        found.append((1 - float(((a @ c - target) ** 2).mean() / target.var()), float(tempo), *map(float, c[:2])))
    explained, tempo, of_playouts, of_v = max(found)
    return of_playouts, of_v, tempo, explained


def main(folder: Path) -> None:
    """Measure, and print the table."""
    rows = measure(read_collection([folder]))
    print("stones  leaves  playouts     V  share of V  tempo  explained")
    for low, high in [*pairwise(STONES), (0, 81)]:
        here = rows[(rows[:, 0] >= low) & (rows[:, 0] < high)]
        of_playouts, of_v, tempo, explained = shares(here)
        share = of_v / (of_playouts + of_v)
        print(
            f"{low:2}-{high - 1:2}  {len(here):7,}  {of_playouts:8.2f}  {of_v:4.2f}  {share:10.2f}  {tempo:5.1f}"
            f"  {explained:9.2f}"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
