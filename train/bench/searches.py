"""Speeds of searches: TD search and Dyna-2, alpha-beta, tree searches."""

from __future__ import annotations

from typing import Any

from train.bench.material import middle_game
from train.bench.timing import Numbers, rates


def td_searches(n: int) -> Numbers:
    """Measure simulations per second from the empty 9x9 board, with memories in their initial state."""
    from rlgo.go.game import Game
    from train.players.spec import make_player

    first6 = "learn=6"
    searches = {
        "tdsearch_T6_uniform_3x3": f"td_search,sizes=1+2+3,default=uniform,{first6}",
        "tdsearch_T6_uniform_2x2": f"td_search,sizes=1+2,default=uniform,{first6}",
        "tdsearch_T6_mogo_2x2": "td_search,sizes=1+2",
        "tdsearch_T6_mogo_2x2_first6": f"td_search,sizes=1+2,{first6}",
        "tdsearch_throughout_3x3": "td_search,sizes=1+2+3,T=never",
        "dyna2_T6_mogo_3x3": "dyna2",
        "dyna2_T6_mogo_3x3_first6": f"dyna2,{first6}",
    }
    for key, spec in searches.items():
        player: Any = make_player(f"{spec},epsilon=0.1,sims={n}", 9, 1)  # the paper's epsilon

        def run(player: Any = player) -> tuple[float, ...]:
            player.new_game()
            player.search(Game(9))
            return (n,)

        yield f"{key}_sims_per_s", rates(run)[0]


def alphabeta(n: int) -> Numbers:
    """Measure positions valued per second, inside the tree and at its leaves, from a middle game."""
    from rlgo.base.budget import Budget
    from rlgo.features.weights import load_weights, shipped_weights
    from rlgo.search.deepening import AlphaBetaSearch

    weights = load_weights(shipped_weights(9))
    table = weights.table(is_fused=True)
    game = middle_game()

    def run() -> tuple[float, ...]:
        search = AlphaBetaSearch(9, seed=1)
        search.search(game, table, Budget(depth=20, stop=lambda: search.nodes >= n))
        return (search.nodes,)  # including those of the unfinished depth

    yield "alphabeta_nodes_per_s", rates(run)[0]


def tree_searches(size: int, n: int) -> Numbers:
    """Measure simulations per second from the empty board, and the bytes of each action that the tree stores."""
    from mcts.tree import edges_in, memory_of
    from rlgo.go.game import Game
    from train.players.spec import make_player

    searches = {
        "uct_uniform": "uct,default=uniform",
        "uct_mogo": "uct",
        "mcrave_mogo": "mc_rave",
        "heuristic_mcrave_mogo": "heuristic_mc_rave",
        # On 19x19, the figures are not worth a minute of compiling.
        **({"mc_rave_patterns": "mc_rave_patterns", "rlgo": "rlgo"} if size == 9 else {}),
    }
    stored = 0.0
    for key, spec in searches.items():
        player: Any = make_player(f"{spec},sims={n},reuse=off", size, 1)

        def run(player: Any = player) -> tuple[float, ...]:
            return (player.search(Game(size)).simulations,)

        yield f"{key}_{'' if size == 9 else '19x19_'}sims_per_s", rates(run)[0]
        stored = memory_of(player.trees[0]) / edges_in(player.trees[0])
    if size == 9:
        yield "mcts_bytes_per_stored_move", float(stored)
