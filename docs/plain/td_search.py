"""TD search: TD learning from simulations that all begin at the current position. TD paper, Section 4.

The weights theta_bar, the short-term memory, are about this position alone. A simulation follows them for T plies, with
an epsilon-greedy policy, and a random default policy to its end; all of its states learn.
Compiled: rlgo/search/td_search.py.
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


def value(theta, shapes):
    """V(s) = sigma(phi(s) . theta), the chance that Black wins."""
    return 1 / (1 + np.exp(-sum(theta.get(shape, 0.0) for shape in shapes)))


def afterstate_values(theta, game, moves):
    """V(s o a) for each move a."""
    values = np.empty(len(moves))
    for i, p in enumerate(moves):
        after = game.copy()
        after.play(p)
        values[i] = value(theta, phi(after))
    return values


def simulate(theta, root, rng):
    """Play one simulation (Algorithm 2). Return the shapes of its states but the last, and the outcome z."""
    game, states = root.copy(), []
    while not game.is_over():
        states.append(phi(game))
        moves = game.sensible_moves() or [PASS]
        if len(states) > T or rng.random() < EPSILON:
            game.play(int(rng.choice(moves)))
        else:
            values = afterstate_values(theta, game, moves)
            best = values.max() if game.to_play == BLACK else values.min()
            game.play(moves[rng.choice(np.flatnonzero(values == best))])
    return states, game.outcome


def learn(theta, states, z, alpha=ALPHA):
    """Add delta theta = alpha phi(s_t) / ||phi(s_t)||^2 (V(s_t+2) - V(s_t)), for all states (equation 10)."""
    v = [value(theta, shapes) for shapes in states] + [z, z]
    for t, shapes in enumerate(states):
        for shape in shapes:
            theta[shape] = theta.get(shape, 0.0) + alpha / len(shapes) * (v[t + 2] - v[t])


def main():
    """Search the empty board."""
    rng, theta_bar, game = np.random.default_rng(1), {}, Game(SIZE, KOMI)
    moves = game.sensible_moves()
    for n in range(1, 1001):
        learn(theta_bar, *simulate(theta_bar, game, rng))
        if n in (10, 100, 1000):
            values = afterstate_values(theta_bar, game, moves)
            best = ", ".join(f"{to_vertex(moves[i], SIZE)} {values[i]:.2f}" for i in np.argsort(-values)[:4])
            print(f"after {n:4} simulations: V after {best}")


if __name__ == "__main__":
    main()
