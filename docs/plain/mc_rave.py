"""MC-RAVE: tree search with all-moves-as-first values and Q_rlgo as prior. MC-RAVE paper, Sections 4 and 5.

An AMAF value is learned from each simulation in which the action is taken at any time: fast, but biased. A prior counts
as M AMAF outcomes. Compiled: mcts/search.py, mcts/policies/rave.py, mcts/priors/handcrafted.py.
"""

import numpy as np

from rlgo import BLACK, PASS, Game, from_row_col, to_vertex

SIZE, KOMI, BIAS, M = 5, 0.5, 0.02, 50
POINTS = np.array([from_row_col(row, col, SIZE) for row in range(SIZE) for col in range(SIZE)])


class Node:
    """A position: of each action, the number and the sum of MC outcomes and of AMAF outcomes; and the next nodes."""

    def __init__(self, game, rng, theta, m):
        self.moves, self.children = rng.permutation(game.sensible_moves() or [PASS]).tolist(), {}
        self.mc, self.amaf = np.zeros((2, 2, len(self.moves)))
        self.amaf += [[m] * len(self.moves), [m * q_rlgo(theta, game, p) for p in self.moves]]  # N~ = M, Q~ = Q_rlgo


def q_rlgo(theta, game, p):
    """Q_rlgo(s, a) = V(s o a), the value of the position after the move."""
    after = game.copy()
    after.play(p)
    return value(theta, after.board.color[POINTS])


def value(theta, stones):
    """V(s) = sigma(phi(s) . theta), the sum of the weights of the stones on the board."""
    return 1 / (1 + np.exp(-theta[stones, POINTS].sum()))


def values(node, color):
    """Q* = (1 - beta) Q + beta Q~, beta = N~ / (N + N~ + 4 N N~ b^2) (equations 12 and 47); 1/2 without statistics."""
    (n, w), (n_amaf, w_amaf) = node.mc, node.amaf
    beta = n_amaf / np.maximum(n + n_amaf + 4 * n * n_amaf * BIAS**2, 1)
    q = (1 - beta) * w / np.maximum(n, 1) + beta * w_amaf / np.maximum(n_amaf, 1)
    return np.where(n + n_amaf > 0, q if color == BLACK else 1 - q, 0.5)


def simulate(tree, root, rng, theta, m):
    """Run one simulation, and return its game (Algorithm 2)."""
    game, node, path = root.copy(), tree, []
    while node is not None and not game.is_over():  # SIMTREE; in a new node, the default policy chooses
        is_new = node is not tree and not node.mc[0].any()
        i = node.moves.index(rng.choice(node.moves)) if is_new else int(np.argmax(values(node, game.to_play)))
        path.append((node, i))
        game.play(node.moves[i])
        if i not in node.children and not is_new:
            node.children[i] = Node(game, rng, theta, m)  # NEWNODE
        node = node.children.get(i)
    while not game.is_over():  # SIMDEFAULT
        game.play(int(rng.choice(game.sensible_moves() or [PASS])))
    for t, (node, i) in enumerate(path):  # BACKUP
        node.mc[:, i] += 1, game.outcome
        first = {p: u for u, (_, p) in reversed(list(enumerate(game.moves[len(root.moves) + t :]))) if p != PASS}
        node.amaf += np.array([[1], [game.outcome]]) * [first.get(p, 1) % 2 == 0 for p in node.moves]  # its player's
    return game


def main():
    """Learn Q_rlgo from random games, by alpha phi(s) / ||phi(s)||^2 (z - V(s)); search without and with it."""
    rng, game, theta = np.random.default_rng(1), Game(SIZE, KOMI), np.zeros((4, POINTS.max() + 1))
    for end in (simulate(None, game, rng, theta, 0) for _ in range(300)):
        for stones in (end.after(n).board.color[POINTS] for n in range(1, len(end.moves) + 1)):
            change = 0.03 / np.count_nonzero(stones) * (end.outcome - value(theta, stones))
            theta[stones, POINTS] += (stones > 0) * change
    for m in (0, M):
        tree = Node(game, rng, theta, m)
        for n in range(1, 1001):
            simulate(tree, game, rng, theta, m)
            if n in (10, 100, 1000):
                print(f"M = {m:2}: {n:4} simulations, most of {to_vertex(tree.moves[tree.mc[0].argmax()], SIZE)}")


if __name__ == "__main__":
    main()
