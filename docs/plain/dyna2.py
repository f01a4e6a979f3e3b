"""Dyna-2: a long-term memory of general knowledge and a short-term memory of this position. TD paper, Section 5.

V(s) = sigma(phi(s) . theta + phi(s) . theta_bar). TD learning from games has made theta, the long-term memory, and it
stays; TD search corrects it here and now by theta_bar, the short-term memory. Compiled: rlgo/search/dyna2.py.
"""

import numpy as np

from rlgo import BLACK, PASS, Game, from_row_col, to_vertex

SIZE, KOMI, ALPHA, EPSILON, T = 5, 0.5, 1.0, 0.1, 6
WINDOWS = [
    [from_row_col(row + i, col + j, SIZE) for i in range(k) for j in range(k)]
    for k in (1, 2)
    for row in range(SIZE - k + 1)
    for col in range(SIZE - k + 1)
]


def phi(game):
    """Return the shapes on the board, as in td_learning.py."""
    color = game.board.color.tolist()
    shapes = ((w, *(color[p] for p in points)) for w, points in enumerate(WINDOWS))
    return [shape for shape in shapes if any(shape[1:])]


def value(memories, shapes):
    """V(s) = sigma(the sum of phi(s) . theta over the memories): (theta,), or (theta, theta_bar)."""
    return 1 / (1 + np.exp(-sum(theta.get(shape, 0.0) for theta in memories for shape in shapes)))


def choose(memories, game, epsilon, rng):
    """Return an epsilon-greedy move over the values of afterstates."""
    moves = game.sensible_moves() or [PASS]
    if rng.random() < epsilon:
        return int(rng.choice(moves))
    values = np.empty(len(moves))
    for i, p in enumerate(moves):
        after = game.copy()
        after.play(p)
        values[i] = value(memories, phi(after))
    return moves[rng.choice(np.flatnonzero(values == (values.max() if game.to_play == BLACK else values.min())))]


def play(memories, start, plies, rng):
    """Play from a position, at random after some plies. Return the shapes of the states but the last, and z."""
    game, states = start.copy(), []
    while not game.is_over():
        states.append(phi(game))
        game.play(choose(memories, game, EPSILON if len(states) <= plies else 1.0, rng))
    return states, game.outcome


def learn(memories, states, z, alpha=ALPHA):
    """Move the last of the memories: delta theta = alpha phi(s_t) / ||phi(s_t)||^2 (V(s_t+2) - V(s_t))."""
    theta, v = memories[-1], [value(memories, shapes) for shapes in states] + [z, z]
    for t, shapes in enumerate(states):
        for shape in shapes:
            theta[shape] = theta.get(shape, 0.0) + alpha / len(shapes) * (v[t + 2] - v[t])


def main():
    """Learn the long-term memory from games, then search the empty board."""
    rng, theta, theta_bar = np.random.default_rng(1), {}, {}
    for _ in range(100):
        learn((theta,), *play((theta,), Game(SIZE, KOMI), np.inf, rng), alpha=0.1)  # TD learning
    game = Game(SIZE, KOMI)
    for n in range(301):
        if n in (0, 10, 100, 300):
            move, after = choose((theta, theta_bar), game, 0.0, rng), game.copy()
            after.play(move)
            v = value((theta, theta_bar), phi(after))
            print(f"after {n:3} simulations: best move {to_vertex(move, SIZE)}, V after it {v:.2f}")
        learn((theta, theta_bar), *play((theta, theta_bar), game, T, rng))  # TD search


if __name__ == "__main__":
    main()
