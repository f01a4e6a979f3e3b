"""Dyna-2: a long-term memory from training and a short-term memory from simulation. TD paper, Section 5, Algorithm 3.

Start reading at `Dyna2`. The value of a position is V-bar(s) = sigma(phi . theta + phi-bar . theta-bar). Theta, the
long-term memory, comes from a weight file. Theta-bar, the short-term memory, is cleared at the start of each game and
learns only from simulations. Without a long-term memory this is TD search; without a short-term memory it is the
greedy player.

Two ways to hold the memories
-----------------------------
*Together*: the short-term memory shares no weights between shapes, so both memories fit into one table by shape,
sign_LI * theta_LI + sign_LD * theta_LD + theta-bar[shape]. The search is then TD search from a table initialised with
the long-term memory (theta-bar <- theta in Section 5.4 of the paper). Window sizes may differ: windows that the
short-term memory lacks do not learn.

*Apart*: for a short-term memory that shares weights. Each memory is updated separately during the simulation, at about
a quarter of the speed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.files import check_writable
from rlgo.base.settings import (
    CONSTANT,
    DEFAULT_SIZE,
    GAME,
    LINEAR,
    LOGISTIC,
    SOFTMAX,
    VALUES,
    Learning,
    Probability,
    board_size,
)
from rlgo.compiler.jit import copy_record, njit
from rlgo.features.incremental import new_shapes, reset, reweigh, update_value
from rlgo.features.rewriting import fuse, unshare
from rlgo.features.shapes import FeatureSet, Table, check_sharing, check_sizes, make_features
from rlgo.features.weights import Weights, load_weights, save_weights
from rlgo.go.game import Game
from rlgo.go.rules import make_rules, max_plies
from rlgo.learning.td import begin_episode, episode_dtype, learn_game, make_memory, record_move, step_size
from rlgo.learning.value import ValueFunction, all_afterstates, squash
from rlgo.play.player import SearchStatistics, Seed, random_move
from rlgo.search.td_search import LongTerm, TdSearch, count, play_simulation

# How the long-term memory learns from the games played.
LONG_LEARNING = Learning(alpha=0.1)
# How the short-term memory learns: small steps correct a long-term memory best (docs/results.md, step_lambda).
SHORT_LEARNING = Learning(alpha=0.1, alpha_half=1_000.0, games=10_000)


class Dyna2(TdSearch):
    """A player that adds a short-term memory, learned by TD search, to a long-term memory: Dyna-2.

    Parameters
    ----------
    size : board size
    long_term : weights of any sharing; None for no long-term memory, which leaves TD search
    sizes : window sizes of the short-term memory; None for those of the long-term memory; () for no short-term
        memory, which leaves the greedy player
    sharing : of the short-term memory; anything but "none" keeps the memories apart
    apart : keep the memories apart in any case
    long_learning : how the long-term memory learns from each real game that ends (`end_game`), with a constant alpha
        of its own; None: it stays as it is
    long_epsilon : the probability of a random real move (Algorithm 3 acts epsilon-greedily)
    long_save : a weight file to write the long-term memory to after each game that it learned from
    learning, others : see `TdSearch`; they concern the short-term memory. V is that of the long-term memory, if there
        is one, whatever `learning.value`

    Attributes
    ----------
    long_term : the `Weights` as they are now
    long_table : float32[K], the long-term memory laid out like `theta_bar`; zeros where it is kept apart
    long_learning, long_epsilon, long_save : as given
    theta_bar : float32[K], both memories combined if they are held together, else the short-term memory alone

    Raises
    ------
    RlgoError : for a setting out of range, and for settings that cannot be combined

    >>> import rlgo
    >>> player = rlgo.Dyna2(9, rlgo.load_weights(rlgo.shipped_weights(9)), simulations=200, seed=1)
    >>> game = rlgo.Game(9)
    >>> game.play("E3")
    >>> rlgo.to_vertex(player.genmove(game), 9)
    'E5'
    """

    _long: tuple[Weights, np.record] | None = None  # the long-term memory and the position of `analyses`

    def __init__(
        self,
        size: int = DEFAULT_SIZE,
        long_term: Weights | None = None,
        sizes: tuple[int, ...] | None = None,
        sharing: str = "none",
        *,
        apart: bool = False,
        long_learning: Learning | None = None,
        long_epsilon: float = 0.0,
        long_save: str | Path | None = None,
        learning: Learning = SHORT_LEARNING,
        seed: Seed = None,
        name: str = "dyna2",
        **others: Any,
    ):
        size = board_size(size)
        if long_term is not None:
            check("long_term", long_term, Weights).for_board(size, "long-term memory")
        if long_learning is not None:
            long_learning = check_long_learning(long_learning)
        apart, sharing = check("apart", apart, bool), check_sharing(sharing)
        if sizes is not None:
            sizes = check_sizes(sizes, may_be_none=True)
        if long_term is None and (apart or sharing != "none"):
            raise RlgoError("sharing and apart cannot be used without a long-term memory (long=FILE)")
        if long_term is None and sizes == () and not others.get("windows"):
            raise RlgoError("sizes, long: expected a short-term memory, or a long-term memory, or both")
        if long_term is None and long_learning is not None:
            raise RlgoError("long_learning: expected a long-term memory that learns (long=FILE)")
        if long_save is not None:
            _check_save(long_save, size)
        if long_save is not None and long_learning is None:
            raise RlgoError("long_save: expected a long-term memory that learns (long_learn=on)")
        if sizes is None:
            sizes = (long_term.features.sizes if long_term is not None else ()) or (1, 2)
        self.long_term = long_term
        self._written_out: Weights | None = None  # the weights in `long_table`
        self._sharing = sharing
        self._apart = apart or sharing != "none"
        self.long_learning, self.long_save = long_learning, long_save
        self.long_epsilon = check("long_epsilon", long_epsilon, Probability)
        if long_term is not None:
            learning = check("learning", learning, Learning)._replace(value=VALUES[long_term.value])
        super().__init__(size, sizes, learning=learning, seed=seed, name=name, **others)
        if self._apart:
            if self.workers > 1 or self.policy.kind == SOFTMAX or self.delay or not sizes:
                raise RlgoError(
                    "memories kept apart cannot be combined with several workers, softmax, delay, or no sizes"
                )
            self._memory = make_memory(self.features, self.learning)
            self._theta, self.theta_bar = self._memory.theta, self._memory.table.black
            assert long_term is not None
            self._long_shapes = new_shapes(2, size, long_term.features.room)

    def _features(self, size: int, windows: tuple[str, ...]) -> FeatureSet:
        if self._apart:
            return make_features(size, (), self._sharing, windows, self._sharing)
        own = () if self.long_term is None else self.long_term.features.names
        return make_features(size, (), "none", (*windows, *own), "none")

    def _fresh_memory(self) -> np.ndarray:
        if self._apart or self.long_term is None:
            self.long_table = super()._fresh_memory()
        elif self._written_out is not self.long_term:  # it takes a tenth of a second
            table = self.long_term.table(self.features.names)
            self.long_table, self._written_out = table.black, self.long_term
        return self.long_table.copy()

    def _forget(self) -> None:
        super()._forget()
        if self._apart:
            self._theta[:] = 0

    def explore(self, game: Game, move: int) -> int:
        """Return a random sensible move with probability long_epsilon, else `move`, the best one."""
        if self.long_epsilon > 0 and self._choice.random() < self.long_epsilon:
            return random_move(game, self._choice)
        return move

    def end_game(self, game: Game, outcome: float) -> None:
        """Let the long-term memory learn from a finished real game; its own values are the targets (Algorithm 3)."""
        if self.long_term is not None and self.long_learning is not None and game.is_over():
            self.long_term = learn_from_game(self.long_term, game, outcome, self.long_learning)
            if self.long_save is not None:
                _check_save(self.long_save, game.size)
                save_weights(self.long_save, self.long_term)

    def analyses(self) -> dict[str, np.ndarray]:
        """Return maps of V after each legal move: ``value`` by both memories, ``long-term`` by that memory alone."""
        values = np.full_like(self.values, np.nan)
        if self._long is not None:
            weights, board = self._long
            values = ValueFunction(weights).afterstates(board)
        return {**super().analyses(), "long-term": values[:-1].reshape(self.features.size, -1)}

    def keep_values(self, game: Game, memory: np.ndarray) -> None:
        """Keep V after each move by both memories, and what that by the long-term one alone is computed from."""
        super().keep_values(game, memory)
        if self.long_term is not None:
            self._long = self.long_term, game.board.copy()

    def _forget_values(self) -> None:
        super()._forget_values()
        self._long = None

    def evaluate(self, game: Game, theta_bar: np.ndarray | None = None) -> np.ndarray:
        """Return V-bar after each move in the position of `game`; see `TdSearch.evaluate`."""
        if not self._apart:
            return super().evaluate(game, theta_bar)
        assert self.long_term is not None
        short_term = self.features.table_of(self.theta_bar if theta_bar is None else theta_bar)
        x = np.zeros(game.size * game.size + 1)
        values = np.empty_like(x)
        memories = (self._shapes, short_term), (self._long_shapes[1], self.long_term.table())
        for sh, table in memories:
            reset(game.board, sh, table)
            all_afterstates(game.board, sh, table, LINEAR, values)
            x += values - 0.5  # a linear V is 1/2 + x
        return 1 / (1 + np.exp(-x)) if self.learning.value == LOGISTIC else 0.5 + x

    def statistics(self, game: Game) -> SearchStatistics:
        """Return V of the moves by both memories, and by each alone; see `TdSearch.statistics`."""
        short_term = self.theta_bar if self._apart else self.theta_bar - self.long_table
        parts = {"short_term": super().evaluate(game, short_term)}
        if self.long_term is not None:
            parts["long_term"] = ValueFunction(self.long_term).afterstates(game.board)
        return self._statistics(game, short_term, parts)

    def fused_table(self, theta_bar: np.ndarray | None = None) -> Table:
        """Return both memories in one table; see `TdSearch.fused_table`. Apart, they are always those of now."""
        if not self._apart:
            return super().fused_table(theta_bar)
        both = self.value_weights()
        return fuse(both.features, both.table().black)

    @property
    def room(self) -> int:
        """The `FeatureSet.room` of both memories together."""
        return super()._features(self.features.size, self._all_windows).room

    @property
    def _all_windows(self) -> tuple[str, ...]:
        return (*self.features.names, *(self.long_term.features.names if self.long_term is not None else ()))

    def value_weights(self) -> Weights:
        """Return both memories together, the weights that moves are chosen by."""
        if not self._apart:
            return super().value_weights()
        assert self.long_term is not None
        whole, theta = unshare(self.features, self._theta, self._all_windows)
        theta += unshare(self.long_term.features, self.long_term.theta, self._all_windows)[1]
        return Weights(whole, theta, value=self.long_term.value)

    def memory(self) -> Weights:
        """Return the short-term memory alone: what was learned from this game's simulations."""
        whole = super().memory()
        if self._apart:
            return replace(whole, theta=self._theta.copy())
        long_term = np.zeros_like(whole.theta)
        long_term[self.features.class_of] = self.long_table
        return replace(whole, theta=whole.theta - long_term)

    # --- the memories apart ---

    def begin(self, game: Game) -> None:
        """Prepare for simulations from the position of `game`."""
        super().begin(game)
        if self._apart:
            assert self.long_term is not None
            reset(self.scratch[0].boards[0], self._long_shapes[0], self.long_term.table())

    def _kernels(self) -> tuple[list[Any], list[Any]]:
        return ([], []) if self._apart else super()._kernels()

    def simulate(self, worker: int, komi: float, work: np.ndarray) -> bool:
        """Run simulations with the memories together or apart; see `TdSearch.simulate`."""
        if not self._apart:
            return super().simulate(worker, komi, work)
        assert self.long_term is not None
        long_term, rules = LongTerm(self._long_shapes, self.long_term.table()), make_rules(self.features.size, komi)
        simulate_apart(work, self.scratch[worker], self._memory, long_term, self._settings, rules)
        return False


@njit
def simulate_apart(work, scratch, memory, long_term, settings, rules):
    """Run simulations with the memories apart: the short-term one learns as in training, with shared weights.

    Like `td_search.simulate`; memory : `td.Memory`; long_term : `LongTerm`, whose shapes[0] must match boards[0].
    """
    for number in range(work[0], work[1]):
        copy_record(scratch.boards[0], scratch.boards[1])
        copy_record(scratch.shapes[0], scratch.shapes[1])
        copy_record(long_term.shapes[0], long_term.shapes[1])
        reweigh(scratch.shapes[1], memory.table)
        finished, z = play_simulation(scratch, memory.table, settings, rules, long_term)
        if finished:
            learn_game(scratch.episode, z, step_size(settings.learning, number), settings.learning, memory)
        count(scratch.tally, finished, z)


def check_long_learning(learning: Learning) -> Learning:
    """Return plain settings; RlgoError for those that `learn_from_game` lacks: a falling alpha, other updates."""
    learning = check("long_learning", learning, Learning)
    if learning.schedule != CONSTANT or learning.update != GAME:
        raise RlgoError('long_learning: expected schedule = "constant" and update = "game"')
    return learning


def learn_from_game(weights: Weights, game: Game, outcome: float, learning: Learning) -> Weights:
    """Return the weights after NTD(lambda) on the positions of a real game that is over (TD paper, Algorithm 3).

    The algorithm changes theta after every real move. Here it is constant during a game and learns from the whole game
    at the end, as in training.

    outcome : z, the outcome of the game
    """
    learning = check_long_learning(learning)
    features, value = weights.features, VALUES[weights.value]
    memory = make_memory(features, learning, weights.theta)
    room = features.room
    sh, episode = new_shapes(1, features.size, room)[0], np.zeros(1, episode_dtype(features.size, room))[0]
    replay = Game(game.size, game.komi)
    if game.setup:
        replay.set_up(game.setup)
    reset(replay.board, sh, memory.table)
    begin_episode(episode, sh, features.geometry, squash(value, sh.x[0]))
    for color, p in game.moves[: max_plies(features.size)]:
        replay.play(p, color, may_repeat=True)
        update_value(replay.board, sh, memory.table)
        record_move(episode, sh, p, squash(value, sh.x[0]))
    learn_game(episode, outcome, learning.alpha, learning._replace(value=value), memory)
    return replace(weights, theta=memory.theta, games=weights.games + 1)


def _check_save(path: str | Path, size: int) -> None:
    """Raise an RlgoError if the long-term memory cannot be written, or would replace one of another board size."""
    check("long_save", path, Path | None)
    check_writable(path, "long_save = ")
    if Path(path).exists():
        load_weights(path).for_board(size, f"long_save = {str(path)!r}")
