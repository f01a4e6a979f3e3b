"""Fit shape weights to a network's values: `python studies/distill.py NETWORK FROM OUT GAMES` writes a weight file.

NETWORK is a network file or the name of a shipped one. FROM is a weight file, whose features are taken, and whose
weights the fit begins with, or zero:FILE, which takes the features alone. Positions are those of games, and one random
move on from each. GAMES is policy, whose moves are drawn from the network's policy, or a weight file, whose greedy moves
are played, and a random one in five. The fit descends the cross-entropy between the network's P(Black
wins) and sigma(phi . theta), with a step size that falls to 0. The first games are held out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from tqdm import tqdm

from rlgo.compiler.jit import njit
from rlgo.features.incremental import new_shapes, reset_value
from rlgo.features.weights import load_weights, save_weights
from rlgo.go.board import BLACK
from rlgo.go.positions import Positions
from rlgo.learning.value import ValueFunction, sigma
from rlgo.network.conv_network import ConvNetwork, load_network

GAMES, AT_ONCE, MOST_PLIES, SEED = 1_280, 256, 100, 7711  # the first games at once are held out
EPOCHS, ALPHA, EPSILON = 3, 1.0, 0.2


def drawn(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw an index from each row of weights."""
    sums = p.cumsum(axis=1)
    return (sums > rng.random((len(p), 1)) * sums[:, -1:]).argmax(axis=1)


def positions(
    network: ConvNetwork, size: int, player: ValueFunction | None, rng: np.random.Generator
) -> Iterator[tuple[bool, Positions, np.ndarray]]:
    """Yield whether they are held out, positions of games, and P(Black wins) in each."""
    for group in range(GAMES // AT_ONCE):
        games = Positions.new(AT_ONCE, size)
        for _ in range(MOST_PLIES):
            games = games[~games.over()]
            if not len(games):
                break
            legal, answer = games.legal(), network(games)
            yield group == 0, games.copy(), answer["value"]
            may_play = legal[:, :-1].any(axis=1)
            aside = games[may_play]
            aside.play(drawn(legal[may_play, :-1].astype(float), rng))
            if len(aside):
                yield group == 0, aside, network(aside)["value"]
            policy = np.exp(answer["logits"] - answer["logits"].max(axis=1, keepdims=True)) * legal
            moves = drawn(policy if player is None else legal + 0.0, rng)
            if player is not None:
                for i in np.flatnonzero(may_play & (rng.random(len(games)) >= EPSILON)):
                    sign = 1 if games.to_play[i] == BLACK else -1
                    values = player.afterstates(games.arrays.boards[i])[:-1]
                    moves[i] = np.argmax(np.where(legal[i, :-1] & ~np.isnan(values), sign * values, -np.inf))
            games.play(moves)


@njit
def read(boards, sh, table, configurations):
    """Write the configurations of all windows of boards, uint32[n, W]."""
    for i in range(len(boards)):
        reset_value(boards[i], sh, table)
        for w in range(table.g.n_windows):
            configurations[i, w] = sh.configuration[w]


@njit
def learn(order, configurations, targets, alpha, theta, g, classes):
    """Take a step for each position: alpha error / windows along phi; return the mean cross-entropy before it.

    alpha : 0 measures only
    """
    loss = 0.0
    for i in order:
        x, active = 0.0, 0
        for w in range(g.n_windows):
            for base in (g.ld_base[w], g.li_base[w]):
                c = classes[base + np.int64(configurations[i, w])]
                x += theta[c] if c >= 0 else -theta[-c]
                active += np.int64(c != 0)
        p = min(max(sigma(x), 1e-6), 1 - 1e-6)
        loss -= targets[i] * np.log(p) + (1 - targets[i]) * np.log(1 - p)
        step = alpha * (targets[i] - p) / max(active, 1)
        for w in range(g.n_windows):
            for base in (g.ld_base[w], g.li_base[w]):
                c = classes[base + np.int64(configurations[i, w])]
                theta[abs(c)] += step if c >= 0 else -step
        theta[0] = 0.0
    return loss / len(order)


def main(network_name: str, source: str, out: str, games: str) -> None:
    """Draw positions, fit, and write the weights."""
    rng, network = np.random.default_rng(SEED), load_network(network_name)
    weights = load_weights(source.removeprefix("zero:"))
    features, theta = weights.features, weights.theta.astype(np.float64) * (not source.startswith("zero:"))
    table, g = weights.table(), weights.table().g
    sh = new_shapes(1, features.size, features.capacity)[0]
    player = None if games == "policy" else ValueFunction(load_weights(games))
    kept, targets, first = [], [], 0
    for is_held_out, some, value in tqdm(positions(network, features.size, player, rng), unit="batch", mininterval=20):
        kept.append(np.zeros((len(some), len(features.windows)), np.uint32 if features.capacity else np.uint16))
        read(some.arrays.boards, sh, table, kept[-1])
        targets.append(value)
        first += len(some) * is_held_out
    x, y = np.concatenate(kept), np.concatenate(targets)
    for epoch in range(EPOCHS + 1):
        before = learn(np.arange(first), x, y, 0.0, theta, g, features.classes.classes)
        entropy = -np.mean(y[:first] * np.log(y[:first] + 1e-9) + (1 - y[:first]) * np.log(1 - y[:first] + 1e-9))
        print(f"epoch {epoch}: {len(y):,} positions, held out: {before:.4f}, of which the network's own {entropy:.4f}")
        if epoch < EPOCHS:
            order = first + rng.permutation(len(y) - first)
            learn(order, x, y, ALPHA * (1 - epoch / EPOCHS), theta, g, features.classes.classes)
    provenance = {
        "network": network_name,
        "from": source,
        "games": games,
        "seed": SEED,
        "positions": len(y),
        "loss": float(before),
    }
    save_weights(Path(out), replace(weights, theta=theta.astype(np.float32), games=0, provenance=provenance))


if __name__ == "__main__":
    main(*sys.argv[1:])
