"""PUCT: tree search guided by the policy and the value of a network (Silver et al. 2017, Methods: AlphaGo Zero).

No simulation is played out: the network evaluates each new node, and its value is the outcome.
Compiled: mcts/policies/puct.py, mcts/leaves/, rlgo/network/. The player `rlgo` is this search with more parts.
"""

import numpy as np

from rlgo import BLACK, PASS, Game, Positions, load_network, to_row_col, to_vertex

SIZE, KOMI, C, URGENCY = 5, 0.5, 1.0, 0.5
NETWORK = load_network("9x9")  # the one part that is not here; its convolutions fit any board


class Node:
    """A position: P, N and the sum of values of each action, and the nodes that follow."""

    def __init__(self, moves, policy):
        self.moves, self.p = moves, policy
        self.n, self.w = np.zeros(len(moves)), np.zeros(len(moves))
        self.children = {}


def evaluate(game):
    """Return a new node with its policy, and the chance that Black wins."""
    moves = [*game.sensible_moves(), PASS]
    answer = NETWORK(Positions.along(game)[-1:])
    places = [-1 if p == PASS else np.dot(to_row_col(p, SIZE), (SIZE, 1)) for p in moves]
    policy = np.exp(answer["logits"][0, places])
    return Node(moves, policy / policy.sum()), float(answer["value"][0])


def bounds(node, color):
    """Q(s, a) + c P(s, a) sqrt(N(s)) / (1 + N(s, a)) for a colour; Q is URGENCY before the first visit."""
    q = node.w / np.maximum(node.n, 1)
    q = np.where(node.n > 0, q if color == BLACK else 1 - q, URGENCY)
    return q + C * node.p * np.sqrt(node.n.sum() + 1) / (1 + node.n)  # N(s) counts the visit that added s


def simulate(tree, root):
    """Run one simulation: select, expand and evaluate, back up."""
    game, node, path = root.copy(), tree, []
    while node is not None:
        i = int(np.argmax(bounds(node, game.to_play)))
        path.append((node, i))
        game.play(node.moves[i])
        if game.is_over():
            node, value = None, game.outcome
        elif i in node.children:
            node = node.children[i]
        else:
            node.children[i], value = evaluate(game)
            node = None
    for node, i in path:
        node.n[i] += 1
        node.w[i] += value


def main():
    """Search the empty board."""
    game = Game(SIZE, KOMI)
    tree, value = evaluate(game)
    print(f"the network alone: Black wins with chance {value:.2f}")
    for n in range(1, 1001):
        simulate(tree, game)
        if n in (10, 100, 1000):
            best = [int(i) for i in np.argsort(-tree.n)[:3]]
            shown = (
                f"{to_vertex(tree.moves[i], SIZE)} {tree.w[i] / max(tree.n[i], 1):.2f} in {tree.n[i]:.0f}" for i in best
            )
            print(f"after {n:4} simulations: {', '.join(shown)}")


if __name__ == "__main__":
    main()
