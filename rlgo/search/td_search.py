"""TD search: TD learning in the game that starts from the current position. TD paper, Section 4, Algorithm 2.

Start reading at `play_simulation` and `simulate`, then `TdSearch`; docs/plain/td_search.py is the same in plain Python.
Each simulation starts at the root, plays T plies by the learned policy and continues by the default policy; then the
value function learns from it. Features share no weights (simulations from one position break the symmetries of the
board), so theta-bar, the short-term memory, is its own look-up table. It is kept from move to move.

The other end of the paper's spectrum (Section 4.3), table look-up instead of shapes, is in `table_search.py`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from rlgo.base.budget import SLICE_SECONDS, Budget, check_budget, shorter
from rlgo.base.checks import Key, Word, check, validated
from rlgo.base.errors import RlgoError
from rlgo.base.ram import announce
from rlgo.base.settings import (
    DEFAULT_SIZE,
    EPSILON_GREEDY,
    GAME,
    HARMONIC,
    LINEAR,
    MOST,
    Count,
    CountOr0,
    Learning,
    MaxMoves,
    Policy,
    Probability,
    Threads,
    board_size,
)
from rlgo.base.threads import started
from rlgo.compiler.jit import (
    atomic_add,
    compile_together,
    compiling,
    copy_record,
    inline,
    inline_once,
    njit,
    seed_sequence,
)
from rlgo.features.incremental import new_shapes, reset, reweigh, update, update_value
from rlgo.features.kinds import check_windows, square
from rlgo.features.rewriting import fuse
from rlgo.features.shapes import FeatureSet, Table, check_sizes, make_features
from rlgo.features.weights import Weights
from rlgo.go.board import BLACK, PASS, outcome, play
from rlgo.go.clock import seconds_for
from rlgo.go.game import Game
from rlgo.go.positions import places_of
from rlgo.go.rules import check_max_moves, make_rules
from rlgo.learning.change_log import catch_up, clear, exchange, keeps_up, make_change_logs
from rlgo.learning.learner import add_up
from rlgo.learning.policy import choose_move
from rlgo.learning.scratch import clear_tally, make_scratch
from rlgo.learning.td import begin_episode, learn_game_by_shape, memory_by_shape, record_move, step_size
from rlgo.learning.value import all_afterstates, squash
from rlgo.moves.rollout import DefaultPolicy, begin_rollout, is_decided, is_hopeless, playout, step_rollout
from rlgo.play.player import (
    RESIGN,
    Candidate,
    Player,
    SearchStatistics,
    Seed,
    check_size,
    greedy_move,
    moves_to_try,
    ranked,
    won_by,
)

_CERTAIN = 1e-6  # values are kept this far from 0 and 1 before conversion to logits
_WAIT_SECONDS = 1e-4  # pause of a thread that is too far ahead of another
THROUGHOUT = ALL_PLIES = MOST  # T: the learned policy to the end; learn_plies: learn from all states


class Simulation(NamedTuple):
    """How far a simulation follows the learned policy, how much of it is learned from, and how long it may be.

    `TdSearch` checks them.

    >>> import rlgo
    >>> rlgo.TdSearch(9, simulation=rlgo.Simulation(plies=10)).simulation.plies
    10
    """

    plies: Annotated[
        CountOr0,
        Word("never", THROUGHOUT),
        Key(
            "T: plies of both colours, from the root, before the default policy takes over; never: it does not.",
            "tdsearch_policy",
            name="policy_plies",
            aliases="T",
        ),
    ] = 6
    learn_plies: Annotated[  # the last `learning.plies` of these states target z
        Count,
        Word("all", ALL_PLIES),
        Key(
            "Learn from the states of this many plies; all: also from those that the default policy reaches.",
            aliases="learn",
        ),
    ] = ALL_PLIES
    max_moves: Annotated[MaxMoves, Key("Abandon simulations of more plies; 0: of more than 3 * size * size.")] = 0


Delay = Annotated[int, Ge(0), Le(1_000)]  # own moves; each needs memory for a value function

# The defaults of `TdSearch`, with MoGo's policy in place of Fuego's. The paper has epsilon = 0.1 (Section 4.4) and a
# constant alpha = 0.1; docs/lab/results.md: tdsearch_policy, tdsearch_alpha, step_lambda.
POLICY = Policy(EPSILON_GREEDY, epsilon=0.3)
LEARNING = Learning(alpha=1.0, schedule=HARMONIC, alpha_half=1_000.0, games=10_000)


class SearchSettings(NamedTuple):
    """The settings of simulations; see `Policy`, `Learning`, `Simulation` and `DefaultPolicy`."""

    policy: Policy = POLICY
    learning: Learning = LEARNING
    simulation: Simulation = Simulation()
    default: DefaultPolicy = DefaultPolicy()


@cache
def tally_dtype() -> np.dtype:
    """Return the record type of the totals of simulations: learned from, abandoned, and the sum of z."""
    return np.dtype((np.record, np.dtype([("simulations", "i8"), ("abandoned", "i8"), ("wins", "f8")])))


@inline_once
def play_simulation(scratch, table, settings, rules):
    """Simulate once on scratch.boards[1], which scratch.shapes[1] must match; scratch.episode records it.

    Returns (finished, z).
    """
    b, sh, episode, rng = scratch.boards[1], scratch.shapes[1], scratch.episode, scratch.rng
    simulation, default, value = settings.simulation, settings.default, settings.learning.value
    begin_episode(episode, sh, table.g, squash(value, sh.x[0]))
    t = 0
    finished = False
    # T plies of the learned policy ...
    while t < simulation.plies and t < simulation.max_moves and not finished:
        p, _ = choose_move(b, sh, table, settings.policy, value, rng)
        play(b, p, rules.zobrist)
        if t < simulation.learn_plies or t + 1 < simulation.plies:
            update(b, sh, table)
        if t < simulation.learn_plies:
            record_move(episode, sh, p, squash(value, sh.x[0]))
        finished = is_decided(b, default, rules)
        t += 1
    # ... then the default policy, while there is something to learn from it ...
    if t < simulation.learn_plies and not finished:
        begin_rollout(b, default, scratch.rollout)
    while t < simulation.learn_plies and t < simulation.max_moves and not finished:
        p = step_rollout(b, default, scratch.rollout, rules, rng)
        update_value(b, sh, table)
        record_move(episode, sh, p, squash(value, sh.x[0]))
        finished = is_decided(b, default, rules)
        t += 1
    # ... and to the end.
    if not finished:
        z = playout(b, default, scratch.rollout, rules, simulation.max_moves - t, rng)
        return is_decided(b, default, rules), z
    return True, outcome(b, rules.komi)


@njit
def simulate(work, scratch, memory, settings, rules):
    """Run simulations from boards[0], which shapes[0] must match.

    work : int64[2], shared by all threads: the number of the next simulation, and the number to stop at. Setting the
        second to 0 ends the search
    memory : this thread's own, see `td.memory_by_shape`
    Adds to scratch.tally. Returns whether simulations are left, because the thread is too far ahead of another.
    """
    table = memory.table
    done = 0
    while keeps_up(memory.change_log, done, table.black):
        done += 1
        number = atomic_add(work, 0, 1)
        if number >= work[1]:
            exchange(memory.change_log, table.black)
            return False
        copy_record(scratch.boards[0], scratch.boards[1])
        copy_record(scratch.shapes[0], scratch.shapes[1])
        reweigh(scratch.shapes[1], table)
        finished, z = play_simulation(scratch, table, settings, rules)
        if finished:
            alpha = step_size(settings.learning, number)
            learn_game_by_shape(scratch.episode, z, alpha, settings.learning, memory)
        count(scratch.tally, finished, z)
    return atomic_add(work, 0, 0) < work[1]


@inline
def count(tally, finished, z):
    """Add one simulation to a tally."""
    if finished:
        tally.simulations += 1
        tally.wins += z
    else:
        tally.abandoned += 1


class TdSearch(Player):
    """A player that learns a value function from simulations of the current position: TD search.

    Parameters
    ----------
    size : board size
    sizes : window sizes of the short-term memory
    windows : names of its irregular windows, see `kinds.py`
    simulations, seconds : limits for each move; the first one reached ends the search, as does `Player.limit`
    policy, learning, simulation, default : see `SearchSettings`. `learning.games` are the simulations of one move that
        its schedule spans; `learning.averaging` has no effect. The policy's V is that of `learning`
    reset : forget what was learned before each move (Figure 9b)
    delay : move by the value function of this many own moves ago (Figure 9a)
    workers : number of threads. Each learns in its own copy of the memory, and they exchange their changes every few
        simulations (`change_log.py`). With several, the result depends on their timing
    resign : resign if P(win) of the best move is below this
    seed : seed of all random numbers; None draws a fresh one each time

    Attributes
    ----------
    features : the `FeatureSet`, without sharing
    table : the `Table` that simulations learn in and moves are chosen by (see `shapes.py`), the same for both colours
    theta_bar : float32[K], the short-term memory, written out by shape: here the weights of the table themselves
    values : float64[points + 1], V after each move in the position where the player last moved, the pass last; NaN for
        illegal moves
    tally : totals of the last search, see `tally_dtype`
    scratch : a `Scratch` for each worker; scratch.episode is the last simulation
    memories : the `td.Memory` of each worker; that of the first has `table`, which knows all when a search is over

    Raises
    ------
    RlgoError : for a setting out of range

    >>> import rlgo
    >>> player = rlgo.TdSearch(5, sizes=(1, 2, 3), simulations=5000, seed=1)
    >>> rlgo.to_vertex(player.genmove(rlgo.Game(5)), 5)
    'C3'
    """

    def __init__(
        self,
        size: int = DEFAULT_SIZE,
        sizes: tuple[int, ...] = (1, 2),
        simulations: int | None = 1_000,
        seconds: float | None = None,
        *,
        policy: Policy = POLICY,
        learning: Learning = LEARNING,
        simulation: Simulation = Simulation(),
        default: DefaultPolicy = DefaultPolicy(),
        windows: tuple[str, ...] = (),
        reset: bool = False,
        delay: int = 0,
        workers: int = 1,
        resign: float = 0.0,
        seed: Seed = None,
        name: str = "td_search",
    ):
        size = board_size(size)
        self.simulations, self.seconds = check_budget(simulations, seconds)
        policy, learning, simulation, default = validated(SearchSettings(policy, learning, simulation, default))
        if learning.update != GAME:
            raise RlgoError('learning.update = "step": expected "game"; a search learns from whole simulations')
        self.name, self.sizes, self.resign = name, (size,), check("resign", resign, Probability)
        self.reset, self.delay = check("reset", reset, bool), check("delay", delay, Delay)
        self.policy, self.learning, self.default = policy, learning, default
        self.simulation = simulation._replace(max_moves=check_max_moves(simulation.max_moves, size))
        self.workers = check("workers", workers, Threads)
        short_term = (*map(square, check_sizes(sizes, may_be_none=True)), *check_windows(windows))
        self.features = self._features(size, short_term)
        self.table = self.features.table_of(self._fresh_weights())
        # Windows of other sizes may belong to a long-term memory, which simulations do not change.
        self._learns = np.array([name in short_term for name, _, _ in self.features.windows], np.uint8)
        # Memories, each with the number of moves played before: the oldest one acts, see `acting_memory`.
        self._older: deque[tuple[int, Table]] = deque(maxlen=self.delay + 1)

        choice, *own = seed_sequence(seed).spawn(1 + self.workers)
        self._choice = np.random.default_rng(choice)
        self.scratch = [make_scratch(size, tally_dtype(), child, capacity=self.features.capacity) for child in own]
        self._shapes = new_shapes(1, size, self.features.capacity)[0]  # of `evaluate`, while others simulate
        self._allocate()
        self.tally = self.scratch[0].tally
        self._forget_values()
        self._is_warm = False

    def _allocate(self) -> None:
        """Allocate the tables of all threads, and the change logs to synchronise them."""
        n, size, features = self.workers, self.features.size, self.features
        older = min(self.delay + 1, 2 * size * size) if self.delay else 0  # hardly any game is longer
        events = len(self.scratch[0].episode.event_window)
        g = features.geometry
        usual = size * size * int(g.n_slots.max()) + int(g.n_cells[g.n_squares :].sum())
        most = events + len(features.windows)
        self._change_logs = make_change_logs(n, self.learning.alpha, usual, most)
        needed = sum(change_log.changes[0].nbytes for change_log in self._change_logs if change_log is not None)
        announce(f"workers = {n}, delay = {self.delay}", needed + (n + older) * self.table.black.nbytes)
        tables = [self.table, *(features.table_of(self.table.black.copy()) for _ in range(1, n))]
        self.memories = [
            memory_by_shape(table, self._learns, change_log)
            for table, change_log in zip(tables, self._change_logs, strict=True)
        ]
        self._threads = ThreadPoolExecutor(n, "td-search") if n > 1 else None

    def _features(self, size: int, windows: tuple[str, ...]) -> FeatureSet:
        return make_features(size, (), "none", windows, "none")

    def _fresh_weights(self) -> np.ndarray:
        """Return the weights of the table at the start of a game, float32[K]."""
        return np.zeros(len(self.features.class_of), np.float32)

    @property
    def theta_bar(self) -> np.ndarray:
        """The short-term memory, float32[K]."""
        return self.table.black

    # --- the player ---

    def new_game(self) -> None:
        """Forget what was learned in the last game."""
        self._forget()
        self._older.clear()
        self._forget_values()
        for scratch in self.scratch:
            clear_tally(scratch.tally)
        self.tally = self.scratch[0].tally

    def genmove(self, game: Game) -> int:
        """Search, and choose the best move by the value function; see `Player.genmove`."""
        self.search(game)
        return self.act(game, self.acting_memory(game))

    def act(self, game: Game, table: Table) -> int:
        """Return the best move by a table, or what the player does instead: RESIGN, or exploration."""
        self.keep_values(game, table)
        move = greedy_move(game, self.values, self._choice)
        return self.settle(game, move, ranked(game, self.values)[0].value)

    def keep_values(self, game: Game, table: Table) -> None:
        """Keep V after each move by a table, for `analyses`."""
        self.values = self.evaluate(game, table)

    def _forget_values(self) -> None:
        self.values = np.full(self.features.size * self.features.size + 1, np.nan)

    def settle(self, game: Game, move: int, value: float) -> int:
        """Return what to do if `move` is the best: play it, explore instead (Dyna-2), or RESIGN.

        value : P(Black wins) after the move. A pass that wins has no value of its own
        """
        if move != PASS and won_by(game.to_play, value) < self.resign:
            return RESIGN
        return self.explore(game, move)

    def ponder(self, game: Game, stop: Callable[[], bool]) -> None:
        """Simulate from this position until `stop` returns True; see `Player.ponder`."""
        if self._learns.any() and not self.reset:
            self.search(game, Budget(stop=stop))

    def candidates(self, game: Game) -> list[Candidate]:
        """Rank the moves by V; see `Player.candidates`."""
        check_size(self, game)
        simulations = sum(int(scratch.tally.simulations) for scratch in self.scratch)
        return ranked(game, self.evaluate(game), max(1, simulations))

    def statistics(self, game: Game) -> SearchStatistics:
        """Return V of the moves by all memories together, and by the short-term memory alone."""
        candidates, theta_bar = self.candidates(game), self.theta_bar
        moves = [c.move for c in candidates]
        short_term = self.evaluate(game, self.features.table_of(theta_bar))[places_of(np.array(moves), game.size)]
        return SearchStatistics(
            "memory",
            moves,
            {"value": np.array([c.value for c in candidates]), "short_term": short_term},
            [],
            done=sum(int(scratch.tally.simulations) for scratch in self.scratch),
            depth=min(self.simulation.plies, self.simulation.max_moves),
            size=int(np.count_nonzero(theta_bar)),
            n_bytes=theta_bar.nbytes,
        )

    def acting_memory(self, game: Game) -> Table:
        """Return the table to move by: that of `delay` own moves ago, or the oldest so far."""
        if not self.delay:
            return self.table
        while self._older and self._older[-1][0] >= len(game.moves):  # moves that were taken back, or not played
            self._older.pop()
        self._older.append((len(game.moves), self.features.table_of(self.table.black.copy())))
        return self._older[0][1]

    def explore(self, game: Game, move: int) -> int:  # noqa: ARG002  # Dyna-2 needs it
        """Return the move to play if `move` is the best: `move` itself, unless Dyna-2 explores in real games."""
        return move

    def _forget(self) -> None:
        self.table.black[:] = self._fresh_weights()

    def analyses(self) -> dict[str, np.ndarray]:
        """Return one map, ``value``: V after each legal move, P(Black wins)."""
        size = self.features.size
        return {"value": self.values[:-1].reshape(size, size)}

    def searched(self) -> int:
        """Return the simulations of the last search."""
        return int(self.tally.simulations + self.tally.abandoned)

    def report(self) -> list[str]:
        """Describe the last search in one line: how many simulations, and how often Black won."""
        n, abandoned = int(self.tally.simulations), int(self.tally.abandoned)
        if not n:
            return [f"all {abandoned:,} simulations exceeded max_moves"] if abandoned else []
        won = f"Black won {self.tally.wins / n:.1%} of {n:,} simulations"
        return [won + (f"; {abandoned:,} more exceeded max_moves" if abandoned else "")]

    def memory(self) -> Weights:
        """Return the short-term memory: what was learned from this game's simulations."""
        return self._as_weights(self.theta_bar)

    def value_weights(self) -> Weights:
        """Return all memories together, the weights that moves are chosen by."""
        return self._as_weights(self.table.black)

    def _as_weights(self, by_shape: np.ndarray) -> Weights:
        """Return weights that are written out by shape, float32[K], as `Weights`."""
        theta = np.zeros(self.features.n_weights + 1, np.float32)
        theta[self.features.class_of] = by_shape
        theta[0] = 0
        return Weights(self.features, theta, value="linear" if self.learning.value == LINEAR else "logistic")

    # --- the search ---

    def budget_for(self, game: Game) -> Budget:
        """Return the budget of a move in the position of `game`: `own_budget`, fitted to how hard the move is.

        Time is saved where there is nothing to decide, and from half of the clock's time on where one move is clearly
        best. Any further simulation can change the values of moves and their order, so that nothing else is certain.
        """
        budget = self.own_budget()
        moves = moves_to_try(game)
        if budget.seconds is not None and len(moves) < 2:
            budget.seconds = min(budget.seconds, SLICE_SECONDS)
        elif self.limit is not None and self.spare > 0:
            places, limit = places_of(np.array(moves), game.size), self.limit

            def review() -> float:
                v = np.clip(self.evaluate(game)[places], _CERTAIN, 1 - _CERTAIN)
                x = np.sort(np.log(v / (1 - v)))
                gap = x[-1] - x[-2] if game.to_play == BLACK else x[1] - x[0]
                return min(seconds_for(limit, self.spare, float(gap)), self.seconds or np.inf)

            budget.review = review
        return budget

    def search(self, game: Game, budget: Budget | None = None) -> None:
        """Simulate from the position of `game` until the budget ends; what was learned is kept.

        If the game is over, the search looks at how it might continue.

        budget : by default `budget_for`
        """
        check_size(self, game)
        budget = check("budget", budget, Budget | None)
        if self.reset:
            self._forget()
        self._warm_up(game)
        budget = budget or self.budget_for(game)
        if self._learns.any() and self._threads is not None:
            self._run_threads(game.komi, budget, self._threads)
        elif self._learns.any():
            for n in budget.slices():
                self.run(game.komi, budget.done, n)
        self.tally = add_up([scratch.tally for scratch in self.scratch])
        if budget.review is not None:
            self.limit = budget.seconds

    def warm_up(self) -> None:
        """Compile what a search needs, so that compiling costs no clock time."""
        game = Game(self.features.size)
        self._warm_up(game)
        self.keep_values(game, self.table)
        self._forget_values()

    def _warm_up(self, game: Game) -> None:
        with compiling(f"{self.name}, {game.size}x{game.size}, {self.features.name}"):
            if not self._is_warm:
                self._compile()
                self._is_warm = True
            self.begin(game)
            self.run(game.komi, 0, 0)

    def _compile(self) -> None:
        """Compile the kernels of a search, and large parts of them, at the same time."""
        scratch, table, memory = self.scratch[0], self.table, self.memories[0]
        settings = SearchSettings(self.policy, self.learning, self.simulation, self.default)
        work, rules, board = np.zeros(2, np.int64), make_rules(self.features.size, 0.0), scratch.boards[0]
        compile_together(
            (simulate, work, scratch, memory, settings, rules),
            (is_hopeless, board, 0.0),
            (all_afterstates, board, self._shapes, table, self.learning.value, np.zeros(len(self.values))),
            (reset, board, scratch.shapes[0], table),
            inlined=[
                (learn_game_by_shape, scratch.episode, 0.0, 0.0, self.learning, memory),
                (update, board, scratch.shapes[0], table),
                (step_rollout, board, self.default, scratch.rollout, rules, scratch.rng),
            ],
        )

    def begin(self, game: Game) -> None:
        """Prepare for simulations from the position of `game`."""
        for memory in self.memories[1:]:
            memory.table.black[:] = self.table.black
        clear(self._change_logs)
        # If one side is already hopeless, the mercy rule would end every simulation at once.
        default = self.default._replace(mercy=self.default.mercy and not is_hopeless(game.board, game.komi))
        self._settings = SearchSettings(self.policy, self.learning, self.simulation, default)
        for scratch in self.scratch:
            scratch.boards[0] = game.board
            scratch.boards[0].n_passes = 0  # the search assumes that the game continues, even after two passes
            reset(scratch.boards[0], scratch.shapes[0], self.table)
            clear_tally(scratch.tally)

    def run(self, komi: float, first: int, n: int) -> None:
        """Run simulations number `first` to `first + n` in this thread."""
        self._simulate(0, komi, np.array([first, first + n], np.int64))

    def _run_threads(self, komi: float, budget: Budget, threads: ThreadPoolExecutor) -> None:
        """Run all threads until the budget ends, without slices: waking them every 10 ms would cost simulations."""
        work = np.array([budget.done, MOST if budget.simulations is None else budget.simulations], np.int64)

        def stop() -> None:
            work[1] = 0

        calls = [(self._take_part, worker, komi, work) for worker in range(self.workers)]
        with started(threads, calls, stop) as jobs:
            while wait(jobs, shorter(SLICE_SECONDS, budget.seconds_left())).not_done:
                if budget.ends():
                    stop()
        catch_up(self._change_logs[0], self.table.black)
        budget.done += sum(int(scratch.tally.simulations + scratch.tally.abandoned) for scratch in self.scratch)

    def _take_part(self, worker: int, komi: float, work: np.ndarray) -> None:
        """Simulate as this worker until none are left."""
        while self._simulate(worker, komi, work):
            time.sleep(_WAIT_SECONDS)  # leaves the core to a thread that is behind

    def _simulate(self, worker: int, komi: float, work: np.ndarray) -> bool:
        """Run simulations as this worker; see the function `simulate`."""
        rules = make_rules(self.features.size, komi)
        return bool(simulate(work, self.scratch[worker], self.memories[worker], self._settings, rules))

    def fused_table(self, table: Table | None = None) -> Table:
        """Return the value function as the table that other searches read (`rewriting.fuse`).

        table : another one to write it from, such as that of `acting_memory`
        """
        return fuse(self.features, (table or self.table).black)

    def evaluate(self, game: Game, table: Table | None = None) -> np.ndarray:
        """Return V after each move in the position of `game`, as `ValueFunction.afterstates` does.

        table : another one to evaluate with, such as that of `acting_memory`
        """
        table = table or self.table
        reset(game.board, self._shapes, table)
        values = np.empty(game.size * game.size + 1)
        all_afterstates(game.board, self._shapes, table, self.learning.value, values)
        return values
