"""TD search: TD learning in the game that starts from the current position. TD paper, Section 4, Algorithm 2.

Start reading at `play_simulation` and `simulate`, then `TdSearch`. Each simulation starts at the root, plays T plies
of the learned policy and goes on by the default policy; then the value function learns from it. Features share no
weights (simulations from one position break the symmetries of the board), so theta is theta_bar; weights are kept
from move to move.

The paper's spectrum (Section 4.3), with table look-up instead of shapes, is in `table_search.py`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rlgo.board import PASS, new_boards, outcome, play, zobrist
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.jit import compiling, copy_record, inline, make_rng, njit
from rlgo.learner import add_up, share_out
from rlgo.player import RESIGN, Candidate, Player, Seed, check_size, greedy_move, ranked, shorter, won_by
from rlgo.policy import choose_move, choose_move_by_both
from rlgo.rollout import (
    MOGO,
    DefaultPolicy,
    begin_rollout,
    default_move,
    is_hopeless,
    mogo_patterns,
    new_rollout,
    playout,
    watch_atari,
)
from rlgo.settings import EPSILON_GREEDY, HARMONIC, LINEAR, Learning, Policy
from rlgo.shapes import FeatureSet, make_features
from rlgo.td import (
    begin_episode,
    check_max_moves,
    episode_dtype,
    learn_game_unshared,
    record_move,
    step_size,
)
from rlgo.value import all_afterstates, follow, new_shapes, observe, rebuild, revalue, squash
from rlgo.weights import Weights

_SLICE_SECONDS = 0.01
_SMALL = 100_000  # places: a table of this size is merged before a thread could be asked to help
NEVER = ALL = 1 << 30  # T: the learned policy throughout; learn_plies: learn from all states


class Simulation(NamedTuple):
    """How to simulate."""

    plies: int = 6  # T, of both colours, from the root, before the default policy takes over
    learn_plies: int = ALL  # states to learn from; the last two of them target z
    max_moves: int = 0  # a longer simulation is abandoned; 0: 3 * size * size


# What `TdSearch` does unless told otherwise, with MoGo's policy for Fuego's. The paper has epsilon = 0.1 (Section 4.4)
# and a constant alpha = 0.1; docs/results.md: tdsearch_policy, tdsearch_alpha, step_lambda.
POLICY = Policy(EPSILON_GREEDY, epsilon=0.3)
LEARNING = Learning(alpha=1.0, schedule=HARMONIC, alpha_half=1_000.0, games=10_000)


@cache
def tally_dtype() -> np.dtype:
    """What simulations add up to: those that ended and taught, those abandoned, and the sum of z."""
    return np.dtype((np.record, np.dtype([("simulations", "i8"), ("abandoned", "i8"), ("wins", "f8")])))


@njit
def play_simulation(
    b, sh, g, theta_bar, policy, value, default, simulation, komi, episode, r, patterns, zobrist, rng,
    long_sh, long_g, long_bar,
):  # fmt: skip
    """One simulation from the position on `b`, which `sh` must follow; `episode` records what it teaches.

    long_sh, long_g, long_bar : the long-term memory, where it is kept apart (see `dyna2.py`); None without one, or
        where theta_bar holds both.
    Returns (finished, z).
    """
    begin_episode(episode, sh, g, _value(value, sh, long_sh))
    t = 0
    finished = False
    # T plies of the learned policy ...
    while t < simulation.plies and t < simulation.max_moves and not finished:
        if long_sh is None:
            p, _ = choose_move(b, sh, g, theta_bar, theta_bar, policy, rng)
        else:
            p = choose_move_by_both(b, sh, g, theta_bar, long_sh, long_g, long_bar, policy, rng)
        play(b, p, zobrist)
        if t < simulation.learn_plies or t + 1 < simulation.plies:
            observe(b, sh, g, theta_bar, theta_bar)
            if long_sh is not None:
                observe(b, long_sh, long_g, long_bar, long_bar)
        if t < simulation.learn_plies:
            record_move(episode, sh, p, _value(value, sh, long_sh))
        finished = b.n_passes >= 2 or (default.mercy and is_hopeless(b, komi))
        t += 1
    # ... then the default policy, while there is something to learn from it ...
    if default.kind == MOGO and t < simulation.learn_plies and not finished:
        begin_rollout(b, r)
    while t < simulation.learn_plies and t < simulation.max_moves and not finished:
        p = default_move(b, default, r, patterns, rng)
        play(b, p, zobrist)
        if default.kind == MOGO:
            watch_atari(b, r)
        follow(b, sh, g, theta_bar)
        if long_sh is not None:
            follow(b, long_sh, long_g, long_bar)
        record_move(episode, sh, p, _value(value, sh, long_sh))
        finished = b.n_passes >= 2 or (default.mercy and is_hopeless(b, komi))
        t += 1
    # ... and to the end.
    if not finished:
        z = playout(b, default, r, patterns, komi, simulation.max_moves - t, zobrist, rng)
        return b.n_passes >= 2 or (default.mercy and is_hopeless(b, komi)), z
    return True, outcome(b, komi)


@inline
def _value(value, sh, long_sh):
    """V, or with a long-term memory apart V-bar = sigma(phi . theta + phi-bar . theta-bar) (Section 5.2)."""
    if long_sh is None:
        return squash(value, sh.x[0])
    return squash(value, sh.x[0] + long_sh.x[0])


@njit
def simulate(
    n, first, boards, shapes, g, learns, theta_bar, policy, learning, default, simulation, komi, episode, r, patterns,
    zobrist, rng, tally,
):  # fmt: skip
    """n simulations from boards[0], which shapes[0] must follow, the first of which has the number `first`.

    boards[1], shapes[1] and r (`rollout.rollout_dtype`) are scratch. theta_bar learns, where `learns` says so (see
    `td.learn_game_unshared`); `tally` is added to.
    """
    b, sh = boards[1], shapes[1]
    for number in range(first, first + n):
        copy_record(boards[0], b)
        copy_record(shapes[0], sh)
        revalue(sh, g, theta_bar, theta_bar)
        finished, z = play_simulation(
            b, sh, g, theta_bar, policy, learning.value, default, simulation, komi, episode, r, patterns, zobrist, rng,
            None, None, None,
        )  # fmt: skip
        if finished:
            learn_game_unshared(episode, z, step_size(learning, number), learning, g, learns, theta_bar)
        count(tally, finished, z)


@inline
def count(tally, finished, z):
    """Add one simulation to a tally."""
    if finished:
        tally.simulations += 1
        tally.wins += z
    else:
        tally.abandoned += 1


@njit
def merge(start, stop, theta_bar, bars):
    """Add what each worker learned (its row of `bars`, minus theta_bar) to theta_bar, and hand it to all of them.

    Places start to stop alone. Between merges each worker must change little: then the sum of the changes is what one
    worker would have learned. (After 100 simulations each the sum overshoots, as in training: two workers won 31.5 % of
    200 games against one with the same 1,000 simulations. After 20 they are as strong.)
    """
    for i in range(start, stop):
        before = theta_bar[i]
        total = before
        for worker in range(bars.shape[0]):
            total += bars[worker, i] - before
        theta_bar[i] = total
        for worker in range(bars.shape[0]):
            bars[worker, i] = total


class _Simulator:
    """What one thread simulates with: boards, shapes, records and random numbers of its own."""

    def __init__(self, size: int, sequence: np.random.SeedSequence):
        self.boards, self.shapes = new_boards(2, size), new_shapes(2, size)
        self.episode = np.zeros(1, episode_dtype(size))[0]
        self.rollout = new_rollout(size)
        self.rng = make_rng(sequence)
        self.tally = np.zeros(1, tally_dtype())[0]

    def stand_on(self, board: np.record, g: np.record, theta_bar: np.ndarray) -> None:
        self.boards[0] = board
        self.boards[0].n_passes = 0  # at the root the game goes on, whatever was passed
        rebuild(self.boards[0], self.shapes[0], g, theta_bar, theta_bar)
        self.tally = np.zeros(1, tally_dtype())[0]


class TdSearch(Player):
    """TD search as a player.

    Parameters
    ----------
    size : of the board
    sizes : window sizes of the short-term memory
    simulations, seconds : of each move; whichever is given ends the search, or the first of both, or `Player.limit`
    policy, learning, simulation, default : see there; `learning.games` are the simulations of one move that its
        schedule spans
    reset : forget what was learned before each move (Figure 9b)
    delay : move by the value function of so many own moves ago (Figure 9a)
    workers, merge_every : threads that share the memory, each with a copy of its own; so many simulations of each
        between two merges. The result does not depend on which thread is faster. A merge of 3x3 shapes takes as long as
        some fifty simulations: two threads pay for smaller ones
    resign : give up where P(win) of the best move is below
    seed : of all random numbers; None: different every time

    Attributes
    ----------
    features : the `FeatureSet`, without sharing
    theta_bar : float32, the memory (see `shapes.py`); place by place the weights of the features
    tally : of the last search, see `tally_dtype`

    Raises
    ------
    RlgoError : for what is out of range.
    """

    def __init__(
        self,
        size: int = 9,
        sizes: tuple[int, ...] = (1, 2),
        simulations: int | None = 1_000,
        seconds: float | None = None,
        policy: Policy = POLICY,
        learning: Learning = LEARNING,
        simulation: Simulation = Simulation(),
        default: DefaultPolicy = DefaultPolicy(),
        reset: bool = False,
        delay: int = 0,
        workers: int = 1,
        merge_every: int = 20,
        resign: float = 0.0,
        seed: Seed = None,
        name: str = "td_search",
    ):
        _check(simulations, seconds, policy, learning, simulation, delay, workers, merge_every, resign)
        self.name, self.sizes, self.resign = name, (size,), resign
        self.simulations, self.seconds, self.reset, self.delay = simulations, seconds, reset, delay
        self.policy, self.learning, self.default = policy, learning, default
        self.simulation = simulation._replace(max_moves=check_max_moves(simulation.max_moves, size))
        self.features = self._features(size, sizes)
        self.theta_bar = self._fresh_memory()
        # Windows of other sizes may belong to a long-term memory, which simulations leave alone.
        self._learns = np.array([k in sizes for k, _, _ in self.features.windows], np.uint8)
        self._older: deque[np.ndarray] = deque(maxlen=delay + 1)

        self.workers, self.merge_every = workers, merge_every
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        choice, *own = sequence.spawn(1 + workers)
        self._choice = np.random.default_rng(choice)
        self._simulators = [_Simulator(size, child) for child in own]
        # A worker alone learns in theta_bar itself.
        self._bars = np.tile(self.theta_bar, (workers, 1)) if workers > 1 else self.theta_bar[None]
        self._threads = ThreadPoolExecutor(workers - 1, "td-search") if workers > 1 else None
        self.tally = self._simulators[0].tally
        self._values = np.full(size * size + 1, np.nan)

    def _features(self, size: int, sizes: tuple[int, ...]) -> FeatureSet:
        return make_features(size, sizes, "none")

    def _fresh_memory(self) -> np.ndarray:
        """The memory at the start of a game."""
        return np.zeros(len(self.features.class_of), np.float32)

    # --- the player ---

    def new_game(self) -> None:
        self._forget()
        self._older.clear()
        self._values[:] = np.nan

    def genmove(self, game: Game) -> int:
        self.search(game)
        move = greedy_move(game, self.evaluate(game, self.acting_bar()), self._choice)
        return RESIGN if self.gives_up(game, move) else self.explore(game, move)

    def gives_up(self, game: Game, move: int) -> bool:
        """Whether to resign in place of the best move, which is `move`; a pass that wins has no value of its own."""
        return move != PASS and won_by(game.to_play, ranked(game, self._values)[0].value) < self.resign

    def ponder(self, game: Game, stop: Callable[[], bool]) -> None:
        if self._learns.any() and not self.reset:
            self.search(game, stop, endless=True)

    def candidates(self, game: Game) -> list[Candidate]:
        simulations = sum(int(simulator.tally.simulations) for simulator in self._simulators)
        return ranked(game, self.evaluate(game), max(1, simulations))

    def acting_bar(self) -> np.ndarray:
        """The memory to move by, once a move: that of `delay` own moves ago, or of the first until then."""
        if not self.delay:
            return self.theta_bar
        self._older.append(self.theta_bar.copy())
        return self._older[0]

    def explore(self, game: Game, move: int) -> int:
        """The move to play where `move` is the best one: the same, but in Dyna-2 with an epsilon for real moves."""
        return move

    def _forget(self) -> None:
        self.theta_bar[:] = self._fresh_memory()

    def analyses(self) -> dict[str, np.ndarray]:
        """``value``: V after each legal move, P(Black wins)."""
        size = self.features.size
        return {"value": self._values[:-1].reshape(size, size)}

    def report(self) -> list[str]:
        n, abandoned = int(self.tally.simulations), int(self.tally.abandoned)
        if not n:
            return [f"all of {abandoned:,} simulations were too long (max_moves)"] if abandoned else []
        won = f"Black won {self.tally.wins / n:.1%} of {n:,} simulations"
        return [won + (f"; {abandoned:,} more were too long" if abandoned else "")]

    def memory(self) -> Weights:
        """The short-term memory: what this game's simulations have taught."""
        return self._as_weights()

    def value_weights(self) -> Weights:
        """All memories together: what moves are chosen by."""
        return self._as_weights()

    def _as_weights(self) -> Weights:
        """theta_bar as weights."""
        theta = np.zeros(self.features.n_weights + 1, np.float32)
        theta[self.features.class_of] = self.theta_bar
        theta[0] = 0
        return Weights(self.features, theta, value="linear" if self.learning.value == LINEAR else "logistic")

    # --- the search ---

    def search(self, game: Game, stop: Callable[[], bool] | None = None, endless: bool = False) -> None:
        """Simulate from the position of `game` until the budget is spent, or `stop` (or `Player.stop`) says so.

        It is asked every 10 ms or so; whatever was learned by then stays. Where the game is over, the search is of
        how it might go on.

        endless : there is no budget
        """
        check_size(self, game)
        stop = stop or self.stop
        if self.reset:
            self._forget()
        self._warm_up(game)
        start, done, n = time.perf_counter(), 0, self.workers
        simulations = None if endless else self.simulations
        seconds = None if endless else shorter(self.seconds, self.limit)
        while self._learns.any():
            if self.workers > 1 and seconds is None:
                # Rounds of constant length: what is learned depends on where the merges are.
                n = self.workers * self.merge_every
            n = n if simulations is None else min(n, simulations - done)
            began = time.perf_counter()
            self._run(game.komi, done, n)
            done += n
            now = time.perf_counter()
            n = max(self.workers, min(4 * n, int(n * _SLICE_SECONDS / max(now - began, 1e-9))))
            if self.workers > 1:
                n = min(n, self.workers * self.merge_every)
            if simulations is not None and done >= simulations:
                break
            if (seconds is not None and now - start >= seconds) or stop():
                break
        self.tally = add_up([simulator.tally for simulator in self._simulators])

    def warm_up(self) -> None:
        """Compile what a search needs, so that no clock runs meanwhile."""
        game = Game(self.features.size)
        self._warm_up(game)
        self.evaluate(game)
        self._values[:] = np.nan

    def _warm_up(self, game: Game) -> None:
        with compiling(f"{self.name}, {game.size}x{game.size}, {self.features.name}"):
            self._begin(game)
            self._run(game.komi, 0, 0)

    def _begin(self, game: Game) -> None:
        """Prepare for simulations from the position of `game`."""
        if self.workers > 1:
            self._bars[:] = self.theta_bar
        # Where one side is hopeless already, mercy would end every simulation at once.
        mercy = self.default.mercy and not is_hopeless(game.board, game.komi)
        self._default = self.default._replace(mercy=mercy)
        for simulator in self._simulators:
            simulator.stand_on(game.board, self.features.geometry, self.theta_bar)

    def _run(self, komi: float, first: int, n: int) -> None:
        """Simulations number `first` to `first + n`."""
        if self._threads is None:
            self._simulate(0, komi, first, n)
            return
        # This thread is a worker too: handing work over takes as long as a simulation or two.
        (mine, start), *others = share_out(n, first, self.workers)
        jobs = [self._threads.submit(self._simulate, i, komi, at, k) for i, (k, at) in enumerate(others, 1)]
        self._simulate(0, komi, start, mine)
        for job in jobs:
            job.result()
        cuts = [0, len(self.theta_bar)]
        if len(self.theta_bar) > _SMALL:
            cuts = np.linspace(0, len(self.theta_bar), self.workers + 1, dtype=np.int64).tolist()
        parts = list(pairwise(cuts))
        jobs = [self._threads.submit(merge, a, b, self.theta_bar, self._bars) for a, b in parts[1:]]
        merge(*parts[0], self.theta_bar, self._bars)
        for job in jobs:
            job.result()

    def _simulate(self, worker: int, komi: float, first: int, n: int) -> None:
        s = self._simulators[worker]
        simulate(
            n, first, s.boards, s.shapes, self.features.geometry, self._learns, self._bars[worker], self.policy,
            self.learning, self._default, self.simulation, komi, s.episode, s.rollout, mogo_patterns(),
            zobrist(self.features.size), s.rng, s.tally,
        )  # fmt: skip

    def value_table(self) -> tuple[FeatureSet, np.ndarray]:
        """The value function to move by, for other searches: a feature set without sharing, and its theta_bar."""
        return self.features, self.acting_bar()

    def evaluate(self, game: Game, theta_bar: np.ndarray | None = None) -> np.ndarray:
        """V after each move in the position of `game`, as `ValueFunction.afterstates` tells it."""
        bar = self.theta_bar if theta_bar is None else theta_bar
        sh, g = self._simulators[0].shapes[1], self.features.geometry
        rebuild(game.board, sh, g, bar, bar)
        all_afterstates(game.board, sh, g, bar, self.learning.value, self._values)
        return self._values


def _check(
    simulations: int | None,
    seconds: float | None,
    policy: Policy,
    learning: Learning,
    simulation: Simulation,
    delay: int,
    workers: int,
    merge_every: int,
    resign: float,
) -> None:
    """RlgoError for a setting out of range."""
    checks: list[tuple[bool, str, Any, str]] = [
        (simulations is None or simulations >= 1, "simulations", simulations, "an integer of at least 1"),
        (seconds is None or seconds > 0, "seconds", seconds, "a positive number"),
        (0 <= policy.epsilon <= 1, "epsilon", policy.epsilon, "a number from 0 to 1"),
        (learning.alpha > 0, "alpha", learning.alpha, "a positive number"),
        (learning.alpha_final > 0, "alpha_final", learning.alpha_final, "a positive number"),
        (0 <= learning.lambda_ <= 1, "lambda", learning.lambda_, "a number from 0 to 1"),
        (simulation.plies >= 0, "T", simulation.plies, "an integer of at least 0"),
        (simulation.learn_plies >= 1, "learn_plies", simulation.learn_plies, "an integer of at least 1"),
        (simulation.max_moves >= 0, "max_moves", simulation.max_moves, "an integer of at least 0"),
        (delay >= 0, "delay", delay, "an integer of at least 0"),
        (workers >= 1, "workers", workers, "an integer of at least 1"),
        (merge_every >= 1, "merge_every", merge_every, "an integer of at least 1"),
        (0 <= resign < 1, "resign", resign, "a number from 0 to 1"),
    ]
    if simulations is None and seconds is None:
        raise RlgoError("expected a number of simulations (sims), or seconds, or both")
    for holds, name, value, expected in checks:
        if not holds:
            raise RlgoError(f"{name} = {value}: expected {expected}")
