"""UCT: Monte-Carlo tree search with the upper confidence bound UCB1. MC-RAVE paper, Sections 2.4 and 2.5.

Each simulation follows the best bound from the root to a new node, plays at random to the end of the game, and adds its
outcome to all actions it took in the tree. Compiled: mcts/search.py, mcts/policies/ucb1.py.
"""

import math

import numpy as np

from rlgo import BLACK, PASS, Game, to_vertex

SIZE, KOMI, C = 5, 0.5, 1.0


class Node:
    """A position: N(s), and for each action N(s, a), the sum of its outcomes, and the node after it."""

    def __init__(self, game, rng):
        self.moves = rng.permutation(game.sensible_moves() or [PASS]).tolist()
        self.n, self.w, self.n_s = np.zeros(len(self.moves)), np.zeros(len(self.moves)), 0
        self.children = {}


def bounds(node, color):
    """Q(s, a) + c sqrt(log N(s) / N(s, a)) of each action, for a colour (equation 7); each is taken once first."""
    bound = np.full(len(node.moves), np.inf)
    seen = node.n > 0
    q = node.w[seen] / node.n[seen]
    bonus = C * np.sqrt(math.log(max(node.n_s, 1)) / node.n[seen])
    bound[seen] = (q if color == BLACK else 1 - q) + bonus
    return bound


def simulate(tree, root, rng):
    """Run one simulation (Algorithm 1)."""
    game, node, path = root.copy(), tree, []
    while node is not None and not game.is_over():  # SIMTREE; in a new node, the first of its shuffled actions is taken
        is_new = node is not tree and node.n_s == 0
        i = int(np.argmax(bounds(node, game.to_play)))
        path.append((node, i))
        game.play(node.moves[i])
        if i not in node.children and not is_new:
            node.children[i] = Node(game, rng)  # NEWNODE
        node = node.children.get(i)
    back_up(path, play_out(game, rng))


def play_out(game, rng):
    """Play at random to the end of the game, and return z: 1 if Black wins, 0 if White does (SIMDEFAULT)."""
    while not game.is_over():
        game.play(int(rng.choice(game.sensible_moves() or [PASS])))
    return game.outcome


def back_up(path, z):
    """N(s, a) <- N(s, a) + 1, Q(s, a) <- Q(s, a) + (z - Q(s, a)) / N(s, a) (BACKUP)."""
    for node, i in path:
        node.n_s += 1
        node.n[i] += 1
        node.w[i] += z


def main():
    """Search the empty board."""
    rng, game = np.random.default_rng(1), Game(SIZE, KOMI)
    tree = Node(game, rng)
    for n in range(1, 2001):
        simulate(tree, game, rng)
        if n in (100, 500, 2000):
            best = [int(i) for i in np.argsort(-tree.n)[:4]]
            shown = (f"{to_vertex(tree.moves[i], SIZE)} {tree.w[i] / tree.n[i]:.2f} in {tree.n[i]:.0f}" for i in best)
            print(f"after {n:4} simulations: {', '.join(shown)}")


if __name__ == "__main__":
    main()
