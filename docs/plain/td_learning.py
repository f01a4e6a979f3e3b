"""TD learning from self-play: two-ply logistic TD(0) over local shapes. TD paper, Sections 3.1 to 3.3.

V(s) = sigma(phi(s) . theta); phi(s) has a 1 for each shape on the board, which is what a window of 1x1 or 2x2 points
shows. After each game, theta moves each V(s_t) towards V(s_t+2), and the last two towards the outcome z. Weights are
not shared between places of the board here. Compiled: rlgo/learning/td.py, rlgo/learning/selfplay.py.
"""

import numpy as np

from rlgo import BLACK, PASS, Game, from_row_col

SIZE, KOMI, ALPHA, EPSILON, GAMES = 5, 7.5, 0.1, 0.1, 200
WINDOWS = [
    [from_row_col(row + i, col + j, SIZE) for i in range(k) for j in range(k)]
    for k in (1, 2)
    for row in range(SIZE - k + 1)
    for col in range(SIZE - k + 1)
]


def phi(game):
    """Return the shapes on the board, (window, stones); a window without stones is none."""
    color = game.board.color.tolist()
    shapes = ((w, *(color[p] for p in points)) for w, points in enumerate(WINDOWS))
    return [shape for shape in shapes if any(shape[1:])]


def value(theta, shapes):
    """V(s) = sigma(phi(s) . theta), the chance that Black wins (equation 9)."""
    return 1 / (1 + np.exp(-sum(theta.get(shape, 0.0) for shape in shapes)))


def choose(theta, game, epsilon, rng):
    """Return an epsilon-greedy move: mostly the one to the afterstate of the best value."""
    moves = game.sensible_moves() or [PASS]  # a sensible move is legal and fills no eye of its own
    if rng.random() < epsilon:
        return int(rng.choice(moves))
    values = np.empty(len(moves))
    for i, p in enumerate(moves):
        after = game.copy()
        after.play(p)
        values[i] = value(theta, phi(after))
    best = values.max() if game.to_play == BLACK else values.min()
    return moves[rng.choice(np.flatnonzero(values == best))]


def learn(theta, states, z, alpha=ALPHA):
    """Add delta theta = alpha phi(s_t) / ||phi(s_t)||^2 (V(s_t+2) - V(s_t)), for all states of a game (equation 10)."""
    v = [value(theta, shapes) for shapes in states] + [z, z]
    for t, shapes in enumerate(states):
        for shape in shapes:  # none on the empty board, where nothing is to be learned
            theta[shape] = theta.get(shape, 0.0) + alpha / len(shapes) * (v[t + 2] - v[t])


def play(choose_black, choose_white):
    """Play a game. Return the shapes of its states but the last, and z: 1 if Black wins, 0 if White does."""
    game, states = Game(SIZE, KOMI), []
    while not game.is_over() and len(states) < 3 * SIZE * SIZE:
        states.append(phi(game))
        game.play((choose_black if game.to_play == BLACK else choose_white)(game))
    return states, game.outcome


def main():
    """Learn from self-play, and show it."""
    rng, theta = np.random.default_rng(1), {}
    learner, greedy = (lambda game, e=e: choose(theta, game, e, rng) for e in (EPSILON, 0.0))
    for n in range(GAMES + 1):
        if n % 50 == 0:
            wins = sum(1 - play(lambda game: choose({}, game, 1.0, rng), greedy)[1] for _ in range(20))
            print(f"after {n:3} games: {len(theta):4} weights, White beats a random player in {wins:2.0f} of 20")
        learn(theta, *play(learner, learner))
    for first in ("A1", "B2", "C3"):
        game = Game(SIZE, KOMI)
        game.play(first)
        print(f"V after {first}: {value(theta, phi(game)):.2f}")


if __name__ == "__main__":
    main()
