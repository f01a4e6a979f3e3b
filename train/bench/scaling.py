"""How much faster two workers learn, and two threads search, than one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from train.bench.material import middle_game, trained_learner
from train.bench.timing import Numbers, speedup


def learning(n: int, cpus: set[int]) -> Numbers:
    """Measure how much faster two workers learn than one."""
    if len(cpus) < 2:
        return

    def counter(workers: int) -> Callable[[], float]:
        learner = trained_learner(workers)

        def learn() -> float:
            learner.learn(n * workers)
            return n * workers

        return learn

    yield "train_scaling_2_workers", speedup(cpus, [counter(1), counter(2)])


def searches(n: int, depth: int, cpus: set[int]) -> Numbers:
    """Measure the speed-up by a second thread: simulations of TD search, Dyna-2 and MC-RAVE, plies of alpha-beta."""
    from rlgo.features.weights import load_weights, shipped_weights
    from rlgo.go.game import Game
    from rlgo.search.alphabeta_player import AlphaBeta
    from train.players.spec import make_player

    if len(cpus) < 2:
        return

    def counter(spec: str, workers: int) -> Callable[[], float]:
        player: Any = make_player(f"{spec},sims={n},workers={workers}", 9, 1)

        def search() -> float:
            player.new_game()
            result = player.search(Game(9))
            return n if result is None else result.simulations  # TD search plays all n

        return search

    game = middle_game()

    def deepener(workers: int) -> Callable[[], float]:
        player = AlphaBeta(load_weights(shipped_weights(9)), depth, workers=workers, seed=1)

        def search() -> float:
            player.genmove(game)
            return 1.0

        return search

    for key, spec in (("tdsearch", "td_search"), ("dyna2", "dyna2")):
        yield f"{key}_scaling_2_threads", speedup(cpus, [counter(spec, 1), counter(spec, 2)])
    yield "alphabeta_scaling_2_threads", speedup(cpus, [deepener(1), deepener(2)])
    tree = "mc_rave,memory_mb=512"
    yield "mcts_scaling_2_threads", speedup(cpus, [counter(tree, 1), counter(tree, 2)])
