"""What `rlgo bench` measures: games, searches, positions as numbers, networks, workers and threads, processes.

Each function measures one thing and yields its keys of the table. It imports the code that it measures, so that the
keys can be read without loading numba.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_KOMI
from train.bench import timing
from train.bench.timing import Numbers, median, on_all, rates, speedup

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
    from rlgo.go.positions import move_lists
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
    from rlgo.network.architecture import KINDS, Shape
    from rlgo.network.conv_network import ConvNetwork

    shape = Shape(channels=channels)
    network, game = ConvNetwork.new(shape, 1), Game(size)
    for color, p in random_moves(size, 1, 1)[0]:
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

    per_second = rates(run)[0]
    return per_second, per_second / rates(multiply)[0]


def evaluators(n: int, cpus: set[int]) -> Numbers:
    """Measure searches that ask an evaluator: a network, a function that costs nothing, and one of a millisecond."""
    from mcts import Mixture, OnnxNetwork, Puct, Rave, Resources, Search, TreeSearch, Value
    from rlgo.go.game import Game

    mc_rave, puct = Search(Rave(), leaf=Mixture(0.5)), Search(Puct(), leaf=Value())

    def player_of(evaluator: Any, search: Search, **resources: int) -> TreeSearch:
        threads = Resources(reuse=False, **resources)
        return TreeSearch(9, search, n, evaluator=evaluator, resources=threads, seed=1)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "network.onnx"
        if _write_network(file):
            player = player_of(OnnxNetwork(file), mc_rave, batch=16)
            yield "mcrave_network_sims_per_s", rates(lambda: (player.search(Game(9)).simulations,))[0]
    constant = _ConstantEvaluator()
    around = player_of(constant, mc_rave, batch=16)

    def outside() -> float:
        constant.seconds, start = 0.0, time.process_time()
        count = around.search(Game(9)).simulations
        return 1000 * (time.process_time() - start - constant.seconds) / count

    yield "evaluator_outside_ms", median(outside)
    slow = _ConstantEvaluator(0.001)
    waiting = player_of(slow, puct, workers=4, batch=64)

    def busy() -> float:
        slow.seconds, start = 0.0, time.perf_counter()
        waiting.search(Game(9))
        return slow.seconds / (time.perf_counter() - start)

    with on_all(cpus):
        share = median(busy)
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


def _write_network(file: Path) -> bool:
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


def web(n: int, cpus: set[int]) -> Numbers:
    """Measure what share of its simulations a search keeps while a page watches it.

    The page is another process, on any core. Only the CPU time of this process, which searches and serves, counts.
    """
    try:
        from train.play.web.server.serve import in_background
    except RlgoError:  # rlgo[web] is not installed
        return
    from train.play.web.options import Options

    spec = f"heuristic_mc_rave,sims={n},reuse=off"
    with in_background(Options(player="random")) as url:
        page = _python(_PAGE, url, spec, str(2 * (timing.RUNS + 1)))
        with subprocess.Popen(page, stdout=subprocess.PIPE, text=True) as process:
            if cpus:
                os.sched_setaffinity(process.pid, cpus)
            assert process.stdout is not None
            found = []
            before = time.process_time()
            for line in process.stdout:
                now = time.process_time()
                found.append(int(line) / (now - before))
                before = now
    watched, unwatched = found[2::2], found[3::2]
    yield "web_search_share", statistics.median(watched) / statistics.median(unwatched)
