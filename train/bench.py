"""The speed table: `rlgo bench`.

Start reading at `main`. The process is pinned to one core. Each rate is the median of several runs, after a warm-up run
that also compiles. The cold start and memory are measured once. Rates are per second of CPU time, which other processes
disturb less than wall-clock time. Start-up and the speed-up by a second worker or thread, which needs two free cores,
are measured in wall-clock time. Each measurement imports the code that it measures, so that `KEYS` can be read without
loading numba.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_KOMI
from train.console import markdown
from train.provenance import cpu_name, versions

RUNS = 5
Numbers = Iterator[tuple[str, float]]
_MOVES = 60  # of a random game: as long as games of players are on 9x9
_MISSING = {
    "scaling": "expected two cores or more",
    "web": "expected rlgo[web] to be installed",
    "evaluator": "expected rlgo[onnx] and onnx",
}
_PLAYOUTS = 2_000  # per call of compiled code, so that Ctrl-C is noticed

# What each key measures, and the fastest C++ program that does the same, on one core of a comparable machine.
KEYS: dict[str, tuple[str, str]] = {
    "playouts_9x9_per_s": ("uniform random playouts from the empty board", "libego 52,600"),
    "playouts_19x19_per_s": ("the same on 19x19", "libego 9,800"),
    "mogo_playouts_9x9_per_s": ("playouts of MoGo's policy", "Pachi 17,200"),
    "selfplay_games_per_s": ("ε-greedy self-play with fixed weights", ""),
    "selfplay_evals_per_s": ("the same: afterstates considered", "original RLGO 1,080,000"),
    "train_games_per_s": ("the same, learning", "original RLGO 335"),
    "tdsearch_T6_uniform_3x3_sims_per_s": (
        "TD search, 1x1 to 3x3, uniformly random after T = 6, learning from 6 states",
        "original RLGO 10,600",
    ),
    "tdsearch_T6_uniform_2x2_sims_per_s": ("the same, 1x1 to 2x2", ""),
    "tdsearch_T6_mogo_2x2_sims_per_s": (
        "the same with MoGo's policy, learning from all states",
        "original RLGO 7,900",
    ),
    "tdsearch_T6_mogo_2x2_first6_sims_per_s": ("the same, learning from 6 states", ""),
    "tdsearch_throughout_3x3_sims_per_s": (
        "TD search, 1x1 to 3x3, the learned policy throughout",
        "original RLGO 1,660",
    ),
    "dyna2_T6_mogo_3x3_sims_per_s": (
        "Dyna-2, 1x1 to 3x3, MoGo's policy after T = 6, learning from all states",
        "original RLGO 4,100",
    ),
    "dyna2_T6_mogo_3x3_first6_sims_per_s": ("the same, learning from 6 states", ""),
    "alphabeta_nodes_per_s": ("alpha-beta from a middle game: positions evaluated", "original RLGO 4,100,000"),
    "planes_9x9_per_s": ("positions encoded as the 17 planes of AlphaGo Zero", ""),
    "read_games_9x9_per_s": ("positions of games in shuffled minibatches of 256: planes, symmetries, targets", ""),
    "network_16_9x9_per_s": ("positions that a network of three blocks of 16 channels evaluates", ""),
    "network_32_9x9_per_s": ("the same with 32 channels", ""),
    "network_48_9x9_per_s": ("the same with 48 channels", ""),
    "network_32_19x19_per_s": ("the same with 32 channels on 19x19", ""),
    "network_products_share": ("32 channels, 9x9: its multiplications alone by `np.dot`, relative to all of it", ""),
    "pattern_moves_per_s": ("candidate moves described: tactics, ladders, shapes", ""),
    "uct_uniform_sims_per_s": ("UCT, uniformly random playouts", "Pachi 37,300"),
    "uct_mogo_sims_per_s": ("UCT, MoGo's policy", "Fuego 10,200"),
    "mcrave_mogo_sims_per_s": ("MC-RAVE, MoGo's policy", "Pachi 14,300"),
    "heuristic_mcrave_mogo_sims_per_s": ("the same with the prior `Q_rlgo`", "Fuego 8,300"),
    "rlgo_sims_per_s": ("the default player, with learned patterns in its prior", ""),
    "mcts_bytes_per_stored_move": ("memory of the tree", ""),
    "uct_uniform_19x19_sims_per_s": ("UCT on 19x19, uniformly random playouts", ""),
    "uct_mogo_19x19_sims_per_s": ("UCT on 19x19, MoGo's policy", ""),
    "mcrave_mogo_19x19_sims_per_s": ("MC-RAVE on 19x19, MoGo's policy", ""),
    "heuristic_mcrave_mogo_19x19_sims_per_s": ("the same with the prior `Q_rlgo`", ""),
    "mcrave_network_sims_per_s": ("MC-RAVE with a network of two layers of 32 channels, in batches of 16", ""),
    "evaluator_outside_ms": ("the same with a Python function in its place: a simulation, without the function", ""),
    "evaluator_busy_share": ("PUCT, four threads: how long an evaluator of 1 ms for 64 positions is busy", ""),
    "warm_start_s": ("from process start to the first episode, cache filled", ""),
    "cold_first_move_s": ("from process start to the default player's first move, cache empty", ""),
    "train_memory_mb": ("peak memory of a process that trains", ""),
    "train_scaling_2_workers": ("learning: two workers against one", ""),
    "tdsearch_scaling_2_threads": ("TD search, 1x1 to 2x2: two threads against one", ""),
    "dyna2_scaling_2_threads": ("Dyna-2, 1x1 to 3x3: two threads against one", ""),
    "alphabeta_scaling_2_threads": ("alpha-beta to the same depth: two threads against one", ""),
    "mcts_scaling_2_threads": ("MC-RAVE on one tree: two threads against one", ""),
    "web_search_share": ("heuristic MC-RAVE shown in a browser: simulations, relative to an unwatched search", ""),
}

# Play one compiled episode, in a new interpreter.
_FIRST_EPISODE = """
from train.config import load_config
from train.runs.learners import make_learner
make_learner(load_config("paper"), 1).play(1)
"""

# Make a player's first move, in a new interpreter.
_FIRST_MOVE = """
import sys
from rlgo.go.game import Game
from train.players.spec import make_player
player = make_player(sys.argv[1], 9, 1)
player.warm_up()
player.genmove(Game(9))
"""

# Act as a page of `rlgo web`: start searches, watched and unwatched in turn, and print the simulations of each.
_PAGE = """
import json, sys
from websockets.sync.client import connect
url, spec, searches = sys.argv[1], sys.argv[2], int(sys.argv[3])
with connect(url, max_size=None) as page:
    for number in range(searches):
        page.send(json.dumps({"type": "watch", "on": number % 2 == 0}))
        page.send(json.dumps({"type": "search", "player": spec}))
        while True:
            message = json.loads(page.recv())
            if message["type"] == "search" and message["final"]:
                break
        print(message["count"], flush=True)
"""

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


def main(scale: float = 1.0, player: str = "greedy", parts: Sequence[str] = ()) -> dict[str, Any]:
    """Measure everything, print a table, and return it.

    Parameters
    ----------
    scale : factor for the amount of work; below 1, the numbers are rough
    player : the player for the cold start, its first move with all compiling; `rlgo bench` takes the default player
    parts : what to measure, by the names of `parts_of`; empty: everything

    Returns
    -------
    each key with its number, and "machine" with a description of the machine

    Raises
    ------
    RlgoError : for an unknown part
    """
    result: dict[str, Any] = {}
    with _pinned() as cpus:
        numbers = parts_of(scale, player, cpus)
        for part in parts:
            if part not in numbers:
                raise RlgoError(f"{part}: expected one of {', '.join(numbers)}")
        for part in parts or numbers:
            measured = dict[str, float]()
            for key, value in numbers[part]:
                measured[key] = value
                print(f"{key:38s} {number_text(value):>16s}", flush=True)
            if part in parts and not measured:
                raise RlgoError(f"{part}: cannot be measured here: {_MISSING[part]}")
            result |= measured
    result["machine"] = _machine()
    print("  ".join(f"{key} {value}" for key, value in result["machine"].items()))
    return result


def parts_of(scale: float, player: str, cpus: set[int]) -> dict[str, Numbers]:
    """Return all measurements by name, in the order of `KEYS`; cpus are the cores of the process."""

    def scaled(n: int) -> int:
        return max(1, round(n * scale))

    return {
        "playouts": chain(
            _playouts(9, scaled(100_000)), _playouts(19, scaled(20_000)), _playouts(9, scaled(20_000), mogo=True)
        ),
        "selfplay": _selfplay(scaled(5_000)),
        "training": _training(scaled(20_000)),
        "td_search": _td_searches(scaled(20_000)),
        "alphabeta": _alphabeta(scaled(20_000_000)),
        "planes": chain(_planes(scaled(100)), _read_games(scaled(1_000))),
        "network": _networks(scaled(5_000)),
        "patterns": _patterns(scaled(2_000)),
        "tree_search": chain(_tree_searches(9, scaled(20_000)), _tree_searches(19, scaled(5_000))),
        "evaluator": _evaluators(scaled(20_000), cpus),
        "warm_start": _start(),
        "cold_start": _cold_start(player),
        "memory": _memory(),
        "scaling": chain(
            _scaling(scaled(10_000), cpus),
            _search_scaling(scaled(20_000), 7 if scale >= 1 else 3, cpus),
        ),
        "web": _web(scaled(30_000), cpus),
    }


def number_text(value: float) -> str:
    """Format a number with its significant digits."""
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def markdown_table(result: dict[str, Any]) -> str:
    """Return a result of `main`, or of an earlier version with fewer keys, as a table in Markdown."""
    rows = [("key", "what", "measured", "peer")]
    rows += [(f"`{k}`", what, number_text(result[k]), peer) for k, (what, peer) in KEYS.items() if k in result]
    machine = ", ".join(f"{key} {value}" for key, value in result["machine"].items())
    return f"{markdown(rows)}\nMachine: {machine}."


def _rates(run: Callable[[], tuple[float, ...]]) -> list[float]:
    """Return the median rates, per second of CPU time, of what `run` counts.

    A run before the RUNS that are measured compiles and warms up.
    """
    run()
    rates = []
    for _ in range(RUNS):
        start = time.process_time()
        counts = run()
        seconds = time.process_time() - start
        rates.append([n / seconds for n in counts])
    return [statistics.median(column) for column in zip(*rates, strict=True)]


def _median(measure: Callable[[], float]) -> float:
    """Return the median of RUNS measurements, after one that compiles and warms up."""
    measure()
    return statistics.median(measure() for _ in range(RUNS))


def _speedup(cpus: set[int], counts: Sequence[Callable[[], float]]) -> float:
    """Return the median ratio of the second count's rate to the first's, in wall-clock time on all of `cpus`.

    The two take turns, so that changes in the load of the machine affect both alike.
    """

    def ratio() -> float:
        rates = []
        for count in counts:
            start = time.perf_counter()
            n = count()
            rates.append(n / (time.perf_counter() - start))
        return rates[1] / rates[0]

    with _on_all(cpus):
        return _median(ratio)


@contextmanager
def _pinned() -> Iterator[set[int]]:
    """Pin the process to one of its cores where the system allows it; yield the cores that it had, and has again."""
    cpus = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()
    if cpus:
        os.sched_setaffinity(0, {min(cpus)})
    try:
        yield cpus
    finally:
        if cpus:
            os.sched_setaffinity(0, cpus)


@contextmanager
def _on_all(cpus: set[int]) -> Iterator[None]:
    """Let the process run on all of `cpus`, and pin it to one again; without any, it is not pinned at all."""
    if cpus:
        os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        if cpus:
            os.sched_setaffinity(0, {min(cpus)})


# ---------------------------------------------------------------------------------------------
# Playouts and learning
# ---------------------------------------------------------------------------------------------


def _playouts(size: int, n: int, mogo: bool = False) -> Numbers:
    from rlgo.compiler.jit import make_rng
    from rlgo.go.board import new_boards
    from rlgo.go.rules import make_rules
    from rlgo.moves.rollout import MOGO, UNIFORM, DefaultPolicy, new_rollout, playouts

    boards, rng, scratch = new_boards(2, size), make_rng(1), new_rollout(size)
    # Uniform playouts run to the end; MoGo's stop by the mercy rule, as in a search.
    policy = DefaultPolicy(MOGO) if mogo else DefaultPolicy(UNIFORM, mercy=False)

    def run() -> tuple[float, ...]:
        for first in range(0, n, _PLAYOUTS):
            playouts(boards, policy, scratch, make_rules(size, DEFAULT_KOMI), min(_PLAYOUTS, n - first), rng)
        return (n,)

    yield f"{'mogo_' if mogo else ''}playouts_{size}x{size}_per_s", _rates(run)[0]


def _learner(workers: int = 1) -> Any:
    """Make a learner with the paper's settings and the weights of a long run."""
    from rlgo.features.weights import load_weights, shipped_weights
    from rlgo.learning.learner import Learner
    from train.config import load_config
    from train.runs.learners import make_learner

    plain = make_learner(load_config("paper"), 1)
    theta = load_weights(shipped_weights(9)).theta
    return Learner(plain.features, plain.learning, plain.policy, plain.komi, seed=1, theta=theta, workers=workers)


def _selfplay(n: int) -> Numbers:
    learner = _learner()

    def run() -> tuple[float, ...]:
        tally = learner.play(n)
        return n, float(tally.evaluations)

    games, evaluations = _rates(run)
    yield "selfplay_games_per_s", games
    yield "selfplay_evals_per_s", evaluations


def _training(n: int) -> Numbers:
    learner = _learner()

    def run() -> tuple[float, ...]:
        learner.learn(n)
        return (n,)

    yield "train_games_per_s", _rates(run)[0]


# ---------------------------------------------------------------------------------------------
# Searches
# ---------------------------------------------------------------------------------------------


def _td_searches(n: int) -> Numbers:
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

        yield f"{key}_sims_per_s", _rates(run)[0]


def _alphabeta(n: int) -> Numbers:
    """Measure positions valued per second, inside the tree and at its leaves, from a middle game."""
    from rlgo.base.budget import Budget
    from rlgo.features.weights import load_weights, shipped_weights
    from rlgo.search.deepening import AlphaBetaSearch

    weights = load_weights(shipped_weights(9))
    table = weights.table(is_fused=True)
    game = _middle_game()

    def run() -> tuple[float, ...]:
        search = AlphaBetaSearch(9, seed=1)
        search.search(game, table, Budget(depth=20, stop=lambda: search.nodes >= n))
        return (search.nodes,)  # including those of the unfinished depth

    yield "alphabeta_nodes_per_s", _rates(run)[0]


def _planes(n: int) -> Numbers:
    """Measure positions encoded per second, a random game with all its positions n times."""
    from rlgo.features.planes import planes
    from rlgo.go.game import Game
    from rlgo.go.positions import Positions

    game = Game(9)
    for color, p in _random_moves(9, 1, 1)[0]:
        game.play(p, color, may_repeat=True)
    positions = Positions.along(game)
    out = planes(positions)

    def run() -> tuple[float, ...]:
        for _ in range(n):
            planes(positions, out=out)
        return (n * len(positions),)

    yield "planes_9x9_per_s", _rates(run)[0]


def _read_games(n: int) -> Numbers:
    """Measure positions per second in minibatches of n random games, with nine moves visited in each position."""
    from rlgo.learning.batches import read_games
    from train.arena.referee import Opinion
    from train.knowledge.shards import StudyGame, open_folder

    visited = Opinion(0.5, tuple(range(11, 20)), tuple(range(9, 0, -1)))
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        with open_folder(path, {"kind": "bench", "size": 9, "komi": DEFAULT_KOMI}, {}) as folder:
            for number, moves in enumerate(_random_moves(9, n, 2), 1):
                opinions = dict.fromkeys(range(len(moves)), visited)
                folder.add(StudyGame(number, 1.0, moves, opinions=opinions, komi=DEFAULT_KOMI))
        data = read_games(path, held_out=None)

    def run() -> tuple[float, ...]:
        for _ in data.batches(256):
            pass
        return (len(data),)

    yield "read_games_9x9_per_s", _rates(run)[0]


def _networks(n: int) -> Numbers:
    """Measure networks of several sizes, without encoding positions, and `np.dot` on the products of one of them."""
    share = 0.0
    for size, channels in ((9, 16), (9, 32), (9, 48), (19, 32)):
        per_second, of_products = _network(size, channels, max(1, n if size == 9 else n // 5))
        share = of_products if (size, channels) == (9, 32) else share
        yield f"network_{channels}_{size}x{size}_per_s", per_second
    yield "network_products_share", share


def _network(size: int, channels: int, n: int) -> tuple[float, float]:
    """Return positions evaluated per second, and the share of `np.dot` on the network's products in that time."""
    import numpy as np

    from rlgo.features.planes import planes
    from rlgo.go.game import Game
    from rlgo.network.network import ConvNetwork
    from rlgo.network.parameters import KINDS, Shape

    shape = Shape(channels=channels)
    network, game = ConvNetwork.new(shape, 1), Game(size)
    for color, p in _random_moves(size, 1, 1)[0]:
        game.play(p, color, may_repeat=True)
    x = np.repeat(planes(game, KINDS), n, axis=0)

    def run() -> tuple[float, ...]:
        network.outputs(x)
        return (n,)

    inputs = [network.parameters.stem, *network.parameters.conv, network.parameters.head]
    kernels = [kernel.reshape(-1, kernel.shape[-1]) for kernel in inputs]
    rows = [np.ones((size**2, len(kernel)), np.float32) for kernel in kernels]
    results = [np.empty((size**2, kernel.shape[1]), np.float32) for kernel in kernels]

    def multiply() -> tuple[float, ...]:
        for _ in range(n):
            for a, b, c in zip(rows, kernels, results, strict=True):
                np.dot(a, b, out=c)
        return (n,)

    per_second = _rates(run)[0]
    return per_second, per_second / _rates(multiply)[0]


def _random_moves(size: int, games: int, seed: int) -> list[list[tuple[int, int]]]:
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


def _patterns(n: int) -> Numbers:
    """Measure candidate moves described per second, over a game repeated n times."""
    import numpy as np

    from rlgo.base.resources import shipped_patterns
    from rlgo.go.board import new_board
    from rlgo.moves.decisions import GameTable, describe_games, new_decisions
    from rlgo.moves.move_features import new_study
    from rlgo.moves.nested_shapes import make_tree
    from rlgo.moves.patterns import load_patterns

    patterns = load_patterns(shipped_patterns(9))
    color, move = np.array(_middle_game().moves, np.int64).T
    starts, none = np.array([0, len(move)]), np.zeros(0, np.int64)
    learned = np.ones(len(move), np.uint8)
    games = GameTable(np.zeros(2, np.int64), starts, none, none, color.copy(), move.copy(), learned)
    tree, s, board = make_tree(patterns.parents, patterns.codes), new_study(9), new_board(9)
    out = new_decisions(len(move), 82 * len(move))

    def run() -> tuple[float, ...]:
        for _ in range(n):
            describe_games(games, 0, 1, tree, s, board, out)
        return (float(n * out.starts[len(move)]),)

    yield "pattern_moves_per_s", _rates(run)[0]


def _tree_searches(size: int, n: int) -> Numbers:
    """Measure simulations per second from the empty board, and the bytes of each action that the tree stores."""
    from mcts.tree import edges_in, memory_of
    from rlgo.go.game import Game
    from train.players.spec import make_player

    searches = {
        "uct_uniform": "uct,default=uniform",
        "uct_mogo": "uct",
        "mcrave_mogo": "mc_rave",
        "heuristic_mcrave_mogo": "heuristic_mc_rave",
        **({"rlgo": "rlgo"} if size == 9 else {}),  # on 19x19, the figure is not worth a minute of compiling
    }
    stored = 0.0
    for key, spec in searches.items():
        player: Any = make_player(f"{spec},sims={n},reuse=off", size, 1)

        def run(player: Any = player) -> tuple[float, ...]:
            return (player.search(Game(size)).simulations,)

        yield f"{key}_{'' if size == 9 else '19x19_'}sims_per_s", _rates(run)[0]
        stored = memory_of(player.trees[0]) / edges_in(player.trees[0])
    if size == 9:
        yield "mcts_bytes_per_stored_move", float(stored)


def _evaluators(n: int, cpus: set[int]) -> Numbers:
    """Measure searches that ask an evaluator: a network, a function that costs nothing, and one of a millisecond."""
    from pathlib import Path

    from mcts.network import Network
    from mcts.player import TreeSearch
    from mcts.settings import ALGORITHMS, Resources
    from rlgo.go.game import Game

    def search(evaluator: Any, resources: Any, **settings: Any) -> TreeSearch:
        start = ALGORITHMS["mc_rave" if settings.get("playouts", True) else "puct"]
        resources = resources._replace(reuse=False)
        return TreeSearch(9, start._replace(**settings), n, evaluator=evaluator, resources=resources, seed=1)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "network.onnx"
        if not _write_network(file):
            return
        player = search(Network(file), Resources(batch=16), leaf_value=0.5)
        yield "mcrave_network_sims_per_s", _rates(lambda: (player.search(Game(9)).simulations,))[0]
    constant = _ConstantEvaluator()
    around = search(constant, Resources(batch=16), leaf_value=0.5)

    def outside() -> float:
        constant.seconds, start = 0.0, time.process_time()
        count = around.search(Game(9)).simulations
        return 1000 * (time.process_time() - start - constant.seconds) / count

    yield "evaluator_outside_ms", _median(outside)
    slow = _ConstantEvaluator(0.001)
    waiting = search(slow, Resources(4, batch=64), playouts=False)

    def busy() -> float:
        slow.seconds, start = 0.0, time.perf_counter()
        waiting.search(Game(9))
        return slow.seconds / (time.perf_counter() - start)

    with _on_all(cpus):
        share = _median(busy)
    yield "evaluator_busy_share", share


class _ConstantEvaluator:
    """An evaluator that says the same of all positions; it can take its time, and knows how long it took.

    delay : seconds a call. Without one, CPU time is counted, with one, wall-clock time.
    """

    def __init__(self, delay: float = 0.0):
        self._delay, self.seconds = delay, 0.0
        self._clock = time.perf_counter if delay else time.thread_time

    def __call__(self, positions: Any) -> dict[str, Any]:
        import numpy as np

        began = self._clock()
        n, points = len(positions), positions.size**2
        answer = {"policy": np.full((n, points + 1), 1 / (points + 1), np.float32), "value": np.full(n, 0.5)}
        time.sleep(self._delay)
        self.seconds += self._clock() - began
        return answer


def _write_network(file: Any) -> bool:
    """Write a network of two convolutions of 32 channels, with a policy and a value; False if there is no onnx."""
    import numpy as np

    try:
        import onnx
        import onnxruntime  # noqa: F401  (that runs it)
    except ImportError:
        return False
    make, rng, channels, points = onnx.helper, np.random.default_rng(1), 32, 81
    shapes = {"a": (channels, 17, 3, 3), "b": (channels, channels, 3, 3), "c": (channels * points, points + 1)}
    shapes["d"] = (channels * points, 1)
    weights = [
        onnx.numpy_helper.from_array(rng.normal(0, 0.05, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    nodes = [
        make.make_node("Conv", ["planes", "a"], ["x"], pads=[1] * 4),
        make.make_node("Relu", ["x"], ["y"]),
        make.make_node("Conv", ["y", "b"], ["z"], pads=[1] * 4),
        make.make_node("Relu", ["z"], ["u"]),
        make.make_node("Flatten", ["u"], ["flat"]),
        make.make_node("MatMul", ["flat", "c"], ["policy"]),
        make.make_node("MatMul", ["flat", "d"], ["v"]),
        make.make_node("Tanh", ["v"], ["value"]),
    ]
    values: dict[str, list[Any]] = {"planes": ["n", 17, 9, 9], "policy": ["n", points + 1], "value": ["n", 1]}
    ins, *outs = [make.make_tensor_value_info(k, onnx.TensorProto.FLOAT, shape) for k, shape in values.items()]
    graph = make.make_graph(nodes, "network", [ins], outs, weights)
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)
    make.set_model_props(model, {"rlgo.planes": "alphago_zero", "rlgo.policy": "policy", "rlgo.value": "value"})
    onnx.save(model, str(file))
    return True


def _middle_game() -> Any:
    """Return a 9x9 position after 24 moves of a greedy player that explores."""
    from rlgo.go.game import Game
    from train.players.spec import make_player

    game, player = Game(9), make_player("greedy,epsilon=0.3", 9, 2012)
    for _ in range(24):
        game.play(player.genmove(game))
    return game


# ---------------------------------------------------------------------------------------------
# Scaling, start-up and memory
# ---------------------------------------------------------------------------------------------


def _scaling(n: int, cpus: set[int]) -> Numbers:
    """Measure how much faster two workers learn than one."""
    if len(cpus) < 2:
        return

    def counter(workers: int) -> Callable[[], float]:
        learner = _learner(workers)

        def learn() -> float:
            learner.learn(n * workers)
            return n * workers

        return learn

    yield "train_scaling_2_workers", _speedup(cpus, [counter(1), counter(2)])


def _search_scaling(n: int, depth: int, cpus: set[int]) -> Numbers:
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

    middle_game = _middle_game()

    def deepener(workers: int) -> Callable[[], float]:
        player = AlphaBeta(load_weights(shipped_weights(9)), depth, workers=workers, seed=1)

        def search() -> float:
            player.genmove(middle_game)
            return 1.0

        return search

    for key, spec in (("tdsearch", "td_search"), ("dyna2", "dyna2")):
        yield f"{key}_scaling_2_threads", _speedup(cpus, [counter(spec, 1), counter(spec, 2)])
    yield "alphabeta_scaling_2_threads", _speedup(cpus, [deepener(1), deepener(2)])
    tree = "mc_rave,memory_mb=512"
    yield "mcts_scaling_2_threads", _speedup(cpus, [counter(tree, 1), counter(tree, 2)])


def _python(program: str, *arguments: str) -> list[str]:
    """Return the command that runs a program in a new interpreter, with the modules of this one."""
    return [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{program}", *arguments]


def _start() -> Numbers:
    """Measure the seconds from a new interpreter to the end of the first episode, with warm caches."""

    def seconds() -> float:
        start = time.perf_counter()
        subprocess.run(_python(_FIRST_EPISODE), check=True, stderr=subprocess.DEVNULL)
        return time.perf_counter() - start

    yield "warm_start_s", _median(seconds)


def _cold_start(spec: str) -> Numbers:
    """Measure once, as it is slow, the seconds from a new interpreter to a player's first move, with an empty cache."""
    command = _python(_FIRST_MOVE, spec)
    with tempfile.TemporaryDirectory() as cache:
        start = time.perf_counter()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env={**os.environ, "RLGO_CACHE_DIR": cache})
        yield "cold_first_move_s", time.perf_counter() - start


def _memory() -> Numbers:
    """Measure the peak memory of training."""
    run = _python(_PEAK_MEMORY)
    for _ in range(2):  # the first process may have to compile
        peak = float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    yield "train_memory_mb", peak


def _web(n: int, cpus: set[int]) -> Numbers:
    """Measure what share of its simulations a search keeps while a page watches it.

    The page is another process, on any core. Only the CPU time of this process, which searches and serves, counts.
    """
    try:
        from train.play.web.serve import in_background
    except RlgoError:  # rlgo[web] is not installed
        return
    from train.play.web.options import Options

    spec = f"heuristic_mc_rave,sims={n},reuse=off"
    with in_background(Options(player="random")) as url:
        page = _python(_PAGE, url, spec, str(2 * (RUNS + 1)))
        with subprocess.Popen(page, stdout=subprocess.PIPE, text=True) as process:
            if cpus:
                os.sched_setaffinity(process.pid, cpus)
            assert process.stdout is not None
            rates = []
            before = time.process_time()
            for line in process.stdout:
                now = time.process_time()
                rates.append(int(line) / (now - before))
                before = now
    watched, unwatched = rates[2::2], rates[3::2]
    yield "web_search_share", statistics.median(watched) / statistics.median(unwatched)


# ---------------------------------------------------------------------------------------------
# The machine
# ---------------------------------------------------------------------------------------------


def _machine() -> dict[str, str]:
    return {"cpu": cpu_name(), "cores": str(os.cpu_count()), "system": platform.system(), **versions()}
