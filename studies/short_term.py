"""What a short-term memory does for V of leaves, and for positions that were misplayed.

`python studies/short_term.py leaves ALPHA,LAMBDA,PLIES,LARGEST...` prints squared errors of V of the leaves of 200
simulations, the first 50 left out, in 12 positions: against the network's own V of the leaf, and against the outcome of
its playout; without and with the memory.

`python studies/short_term.py misplayed FILE PLAYER...` plays each position of FILE with three seeds. Its lines are:
moves | to play | the move played | better moves | others.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
from scipy.special import expit

from mcts import ALGORITHMS, ShortTermValue
from mcts.player import TreeSearch
from rlgo.go.board import PASS
from rlgo.go.coords import to_vertex
from rlgo.go.game import Game
from rlgo.go.positions import Positions
from rlgo.network.conv_network import ConvNetwork, load_network
from train.players import make_player

POSITIONS, SIMULATIONS, FIRST, SEED = 12, 200, 50, 5


def positions(network: ConvNetwork) -> list[Game]:
    """Return positions of games drawn from a network's policy."""
    rng, found = np.random.default_rng(SEED), []
    for _ in range(POSITIONS):
        game = Game(9, 7.5)
        for _ in range(int(rng.integers(6, 45))):
            policy = network.policy(game)
            p = np.array(list(policy.values())) ** 0.9
            move = int(rng.choice(list(policy), p=p / p.sum()))
            if move == PASS:
                break
            game.play(move)
        found.append(game)
    return found


def errors(games: list[Game], network: ConvNetwork, value: ShortTermValue) -> np.ndarray:
    """Return V without and with the memory, the network's V and the outcome, of each leaf."""
    rows, settings = [], ALGORITHMS["rlgo"]
    settings = settings._replace(leaf=settings.leaf._replace(value=value))
    for seed, game in enumerate(games):
        search = TreeSearch(9, settings, SIMULATIONS, evaluator=network, seed=seed)
        search.warm_up()
        search.set_root(game, game.sensible_moves())
        workspace = search.threads.workspaces[0]
        for k in range(SIMULATIONS):
            before = search.wins
            search.simulate(game, 1)
            path, x, leaf = workspace.path, workspace.short_term.episode.v, game.copy()
            for p in path.moves[: path.leaf].tolist():
                leaf.play(p, may_repeat=True)
            if k < FIRST or leaf.is_over():
                continue
            own = float(network(Positions.of(leaf, network.history))["value"][0])
            plain, change = float(path.correction), float(x[path.leaf] - x[path.anchor])
            rows.append((expit(plain), expit(plain + change), own, search.wins - before))
    return np.array(rows)


def main(what: str, *arguments: str) -> None:
    """Measure, and print."""
    if what == "leaves":
        network = load_network("9x9")
        games = positions(network)
        for text in arguments:
            alpha, lambda_, plies, largest = text.split(",")
            a, b, v, z = errors(
                games, network, ShortTermValue(float(alpha), float(lambda_), int(plies), int(largest))
            ).T
            found = [f"{np.mean((x - y) ** 2):.4f}" for x, y in ((a, v), (b, v), (a, z), (b, z), (v, z))]
            print(
                f"{text}: V {found[0]} -> {found[1]}, z {found[2]} -> {found[3]}, network's own {found[4]}, n {len(a)}"
            )
        return
    lines = [line.split("|") for line in Path(arguments[0]).read_text().splitlines() if line[:1] not in ("", "#")]
    for spec in arguments[1:]:
        print(spec)
        for moves, _, played, better, *_ in lines:
            game = Game(9, 7.5)
            for vertex in moves.split():
                game.play(vertex, may_repeat=True)
            chosen = [to_vertex(make_player(spec, 9, seed).genmove(game), 9) for seed in range(3)]
            print(f"  it played {played.strip()}, better {re.findall('[A-HJ][1-9]', better)[0]}: {' '.join(chosen)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
