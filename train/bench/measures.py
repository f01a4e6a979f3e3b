"""What `rlgo bench` measures: games, searches, positions as numbers, networks, workers and threads, processes.

Each function measures one thing and yields its keys of the table. It imports the code that it measures, so that the
keys can be read without loading numba.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rlgo.base.settings import DEFAULT_KOMI
from train.bench.timing import Numbers, median, rates, speedup

_MOVES = 60  # of a random game: as long as games of players are on 9x9
_PLAYOUTS = 2_000  # per call of compiled code, so that Ctrl-C is noticed

# ---------------------------------------------------------------------------------------------
# What several parts measure on
# ---------------------------------------------------------------------------------------------


def trained_learner(workers: int = 1) -> Any:
    """Make a learner with the paper's settings and the weights of a long run."""
    from rlgo.features.weights import load_weights, shipped_weights
    from rlgo.learning.learner import Learner
    from train.config import load_config
    from train.runs.learners import make_learner

    plain = make_learner(load_config("paper"), 1)
    theta = load_weights(shipped_weights(9)).theta
    return Learner(plain.features, plain.learning, plain.policy, plain.komi, seed=1, theta=theta, workers=workers)


def middle_game() -> Any:
    """Return a 9x9 position after 24 moves of a greedy player that explores."""
    from rlgo.go.game import Game
    from train.players.spec import make_player

    game, player = Game(9), make_player("greedy,epsilon=0.3", 9, 2012)
    for _ in range(24):
        game.play(player.genmove(game))
    return game


def random_moves(size: int, games: int, seed: int) -> list[list[tuple[int, int]]]:
    """Play the first moves of random games; return the colour and the point of each move."""
    from rlgo.compiler.jit import make_rng
    from rlgo.go.board import new_board, play, random_move
    from rlgo.go.rules import zobrist

    rng, played = make_rng(seed), []
    for _ in range(games):
        board, moves = new_board(size), []
        for _ in range(_MOVES):
            moves.append((int(board.to_play), int(random_move(board, rng))))
            play(board, moves[-1][1], zobrist(size))
        played.append(moves)
    return played


# ---------------------------------------------------------------------------------------------
# Games
# ---------------------------------------------------------------------------------------------


def playouts(size: int, n: int, mogo: bool = False) -> Numbers:
    """Measure playouts per second from the empty board."""
    from rlgo.compiler.jit import make_rng
    from rlgo.go.board import new_boards
    from rlgo.go.rules import make_rules
    from rlgo.moves import rollout

    boards, rng, scratch = new_boards(2, size), make_rng(1), rollout.new_rollout(size)
    # Uniform playouts run to the end; MoGo's stop by the mercy rule, as in a search.
    policy = rollout.DefaultPolicy(rollout.MOGO) if mogo else rollout.DefaultPolicy(rollout.UNIFORM, mercy=False)

    def run() -> tuple[float, ...]:
        for first in range(0, n, _PLAYOUTS):
            count = min(_PLAYOUTS, n - first)
            rollout.playouts(boards, policy, scratch, make_rules(size, DEFAULT_KOMI), count, rng)
        return (n,)

    yield f"{'mogo_' if mogo else ''}playouts_{size}x{size}_per_s", rates(run)[0]


def selfplay(n: int) -> Numbers:
    """Measure games per second with fixed weights, and the afterstates that they consider."""
    learner = trained_learner()

    def run() -> tuple[float, ...]:
        tally = learner.play(n)
        return n, float(tally.evaluations)

    games, evaluations = rates(run)
    yield "selfplay_games_per_s", games
    yield "selfplay_evals_per_s", evaluations


def training(n: int) -> Numbers:
    """Measure games per second that are learned from."""
    learner = trained_learner()

    def run() -> tuple[float, ...]:
        learner.learn(n)
        return (n,)

    yield "train_games_per_s", rates(run)[0]


# ---------------------------------------------------------------------------------------------
# Searches
# ---------------------------------------------------------------------------------------------


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


# ---------------------------------------------------------------------------------------------
# Positions and moves as numbers
# ---------------------------------------------------------------------------------------------


def positions(n: int) -> Numbers:
    """Measure positions encoded per second, a random game with all its positions n times."""
    from rlgo.features.planes import planes
    from rlgo.go.game import Game
    from rlgo.go.positions import Positions

    game = Game(9)
    for color, p in random_moves(9, 1, 1)[0]:
        game.play(p, color, may_repeat=True)
    batch = Positions.along(game)
    out = planes(batch)

    def run() -> tuple[float, ...]:
        for _ in range(n):
            planes(batch, out=out)
        return (n * len(batch),)

    yield "planes_9x9_per_s", rates(run)[0]


def steps(n: int) -> Numbers:
    """Measure moves per second of 256 random games on 9x9, in n steps each; a game that is over begins anew."""
    import numpy as np

    from rlgo.go.positions import Positions

    games, rng = Positions.new(256, 9), np.random.default_rng(1)

    def run() -> tuple[float, ...]:
        for _ in range(n):
            legal = games.legal()
            games.play(np.where(legal, rng.random(legal.shape, np.float32), -1).argmax(axis=1))
            if (over := games.over()).any():
                games[over] = Positions.new(int(over.sum()), 9)
        return (n * len(games),)

    yield "random_steps_9x9_per_s", rates(run)[0]


def minibatches(n: int) -> Numbers:
    """Measure positions per second in minibatches of n random games, with nine moves visited in each position."""
    from rlgo.learning.batches import read_games
    from train.arena.referee import Opinion
    from train.games.shards import TrainingGame, open_folder

    visited = Opinion(0.5, tuple(range(11, 20)), tuple(range(9, 0, -1)))
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        with open_folder(path, {"kind": "bench", "size": 9, "komi": DEFAULT_KOMI}, {}) as folder:
            for number, moves in enumerate(random_moves(9, n, 2), 1):
                opinions = dict.fromkeys(range(len(moves)), visited)
                folder.add(TrainingGame(number, 1.0, moves, opinions=opinions, komi=DEFAULT_KOMI))
        data = read_games(path, held_out=None)

    def run() -> tuple[float, ...]:
        for _ in data.batches(256):
            pass
        return (len(data),)

    yield "read_games_9x9_per_s", rates(run)[0]


def moves_of_patterns(n: int) -> Numbers:
    """Measure candidate moves described per second, over a game repeated n times."""
    import numpy as np

    from rlgo.go.board import new_board
    from rlgo.go.replay import move_lists
    from rlgo.moves.decisions import TrainingGames, describe_games, new_decisions
    from rlgo.moves.move_features import new_study
    from rlgo.moves.nested_shapes import make_tree
    from rlgo.moves.patterns import load_patterns

    patterns = load_patterns("9x9")
    lists = move_lists([middle_game()])
    games = TrainingGames(lists, np.ones(len(lists.move), np.uint8))
    tree, s, board = make_tree(patterns.parents, patterns.codes), new_study(9), new_board(9)
    out = new_decisions(len(lists.move), 82 * len(lists.move))

    def run() -> tuple[float, ...]:
        for _ in range(n):
            describe_games(games, 0, 1, tree, s, board, out)
        return (float(n * out.starts[len(lists.move)]),)

    yield "pattern_moves_per_s", rates(run)[0]


# ---------------------------------------------------------------------------------------------
# Networks
# ---------------------------------------------------------------------------------------------


def networks(n: int) -> Numbers:
    """Measure positions per second that networks of several sizes evaluate, without encoding them."""
    import numpy as np

    from rlgo.features.planes import planes
    from rlgo.go.game import Game
    from rlgo.network.architecture import KINDS, Shape
    from rlgo.network.conv_network import ConvNetwork

    for size, channels in ((9, 16), (9, 32), (9, 48), (19, 32)):
        count = max(1, n if size == 9 else n // 5)
        network, game = ConvNetwork.new(Shape(channels=channels), 1), Game(size)
        for color, p in random_moves(size, 1, 1)[0]:
            game.play(p, color, may_repeat=True)
        x = np.repeat(planes(game, KINDS), count, axis=0)

        def run(network: Any = network, x: Any = x) -> tuple[float, ...]:
            network.outputs(x)
            return (len(x),)

        yield f"network_{channels}_{size}x{size}_per_s", rates(run)[0]


# ---------------------------------------------------------------------------------------------
# Workers and threads
# ---------------------------------------------------------------------------------------------


def learning_by_workers(n: int, cpus: set[int]) -> Numbers:
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


def searches_by_threads(n: int, cpus: set[int]) -> Numbers:
    """Measure the speed-up by a second thread: simulations of TD search, Dyna-2 and MC-RAVE."""
    from rlgo.go.game import Game
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

    for key, spec in (("tdsearch", "td_search"), ("dyna2", "dyna2")):
        yield f"{key}_scaling_2_threads", speedup(cpus, [counter(spec, 1), counter(spec, 2)])
    tree = "mc_rave,memory_mb=512"
    yield "mcts_scaling_2_threads", speedup(cpus, [counter(tree, 1), counter(tree, 2)])


# ---------------------------------------------------------------------------------------------
# Processes: each is a new interpreter that runs the program above the function that measures it
# ---------------------------------------------------------------------------------------------


def _python(program: str, *arguments: str) -> list[str]:
    """Return the command that runs a program in a new interpreter, with the modules of this one."""
    return [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{program}", *arguments]


# Play one compiled episode.
_FIRST_EPISODE = """
from train.config import load_config
from train.runs.learners import make_learner
make_learner(load_config("paper"), 1).play(1)
"""


def warm_start() -> Numbers:
    """Measure the seconds from a new interpreter to the end of the first episode, with warm caches."""

    def seconds() -> float:
        start = time.perf_counter()
        subprocess.run(_python(_FIRST_EPISODE), check=True, stderr=subprocess.DEVNULL)
        return time.perf_counter() - start

    yield "warm_start_s", median(seconds)


# Make a player's first move.
_FIRST_MOVE = """
import sys
from rlgo.go.game import Game
from train.players.spec import make_player
player = make_player(sys.argv[1], 9, 1)
player.warm_up()
player.genmove(Game(9))
"""


def cold_start(spec: str) -> Numbers:
    """Measure once, as it is slow, the seconds from a new interpreter to a player's first move, with an empty cache."""
    command = _python(_FIRST_MOVE, spec)
    with tempfile.TemporaryDirectory() as cache:
        start = time.perf_counter()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env={**os.environ, "RLGO_CACHE_DIR": cache})
        yield "cold_first_move_s", time.perf_counter() - start


# Print the peak memory of a process that trains, in MB. On Linux, a child inherits `ru_maxrss` but not VmHWM.
_PEAK_MEMORY = """
import resource, sys
from train.config import load_config
from train.runs.learners import make_learner
make_learner(load_config("paper"), 1).learn(1000)
try:
    with open("/proc/self/status") as status:
        print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024)
except (OSError, StopIteration):
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024))
"""


def memory() -> Numbers:
    """Measure the peak memory of training."""
    run = _python(_PEAK_MEMORY)
    for _ in range(2):  # the first process may have to compile
        peak = float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    yield "train_memory_mb", peak
