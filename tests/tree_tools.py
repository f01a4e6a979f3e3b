"""Helpers for the tests of tree search: small boards, weights, and searches that run step by step."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcts.player import TreeSearch
from mcts.priors.stages import Stage
from mcts.settings import ALGORITHMS, Search
from mcts.tree import Tree, add_root, edges_of, new_tree, nodes_in, statistic
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights
from rlgo.go.board import PASS
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.go.positions import Positions
from rlgo.moves.rollout import UNIFORM, DefaultPolicy

SIZE = 5
TO_THE_END = DefaultPolicy(UNIFORM, mercy=False)


class PatientSearch(TreeSearch):
    """A search that runs all its simulations, even if they can no longer change the move."""

    def is_decided(self, left: int) -> bool:  # noqa: ARG002, the base class decides by it
        return False


def composed(name: str, **changed: Any) -> Search:
    """An algorithm, changed: in what it is composed of, or in a parameter of its tree policy.

    prior : stages, or one prior for all visits
    """
    search = ALGORITHMS[name]
    if type(changed.get("prior", ())) is not tuple:
        changed["prior"] = (Stage(changed["prior"]),)
    own = {key: changed.pop(key) for key in search.policy._fields if key in changed}
    return search._replace(policy=search.policy._replace(**own), **changed)


def at(vertex: str) -> int:
    return from_vertex(vertex, SIZE)


def game_after(*vertices: str, komi: float = 0.5) -> Game:
    game = Game(SIZE, komi)
    for vertex in vertices:
        game.play(at(vertex))
    return game


def replayed(game: Game, moves: list[int]) -> Game:
    again = game.copy()
    for p in moves:
        again.play(p)
    return again


def set_root(search: TreeSearch, game: Game) -> None:
    search.set_root(game, game.sensible_moves())


def path_of(search: TreeSearch) -> np.record:
    """The last simulation."""
    return search.threads.workspaces[0].path


def value_index(p: int) -> int:
    """The place of a move in what `ValueFunction.afterstates` returns."""
    return -1 if p == PASS else (p // (SIZE + 1) - 1) * SIZE + p % (SIZE + 1) - 1


def random_weights(seed: int = 1, liberties: tuple[str, ...] = ()) -> Weights:
    features = make_features(SIZE, (1, 2, 3), "LI+LD", liberties)
    theta = np.random.default_rng(seed).normal(0, 0.2, features.n_weights + 1).astype(np.float32)
    theta[0] = 0
    return Weights(features, theta)


def by_hash(positions: Positions) -> dict[str, np.ndarray]:
    """An evaluator: a policy and a value that differ by position; values are exact in the units of the tree."""
    hashes = positions.arrays.boards["hash"].astype(np.uint64)
    rows = [np.random.default_rng(int(h)) for h in hashes]
    policy = np.array([rng.dirichlet(np.ones(SIZE * SIZE + 1)) for rng in rows])
    return {"policy": policy, "value": np.array([rng.integers(0, 257) / 256 for rng in rows])}


def flat_tree(*visited: tuple[int, float]) -> Tree:
    """A root with these visits and sums."""
    tree = new_tree(1, len(visited))
    add_root(np.arange(10, 10 + len(visited)), tree)
    for i, (n, w) in enumerate(visited):
        tree.mc_statistic[i] = statistic(n, w)
    tree.node_visits[0] = sum(n for n, _ in visited)
    return tree


def nested_statistics(search: TreeSearch, node: int) -> tuple:
    """A node with everything below it, as nested tuples."""
    tree = search.trees[0]
    return int(tree.node_visits[node]), tuple(
        (int(e.move), int(e.n), float(e.w), int(e.n_amaf), float(e.w_amaf),
         nested_statistics(search, int(e.child)) if e.child >= 0 else None)
        for e in edges_of(tree, node)
    )  # fmt: skip


def assert_consistent(tree: Tree) -> None:
    """N(s) = sum N(s, a); nodes and edges stand in one order; every node but the root is one action's child."""
    end, children = 0, set()
    for node in range(nodes_in(tree)):
        edges = edges_of(tree, node)
        assert tree.node_visits[node] == edges.n.sum()
        assert (edges.w <= edges.n).all()
        assert (edges.child >= -1).all()
        assert tree.first_edge[node] == end
        end += len(edges)
        below = edges.child[edges.child >= 0]
        assert (below > node).all()
        assert not children & set(below.tolist())
        children |= set(below.tolist())
        for e in edges[edges.child >= 0]:
            assert 0 < tree.node_visits[e.child] <= e.n
    assert children == set(range(1, nodes_in(tree)))
