"""Dyna-2: a long-term memory from training and a short-term memory from simulation. TD paper, Section 5, Algorithm 3.

Start reading at `Dyna2`; docs/plain/dyna2.py is the same in plain Python. The value of a position is V-bar(s) =
sigma(phi . theta + phi-bar . theta-bar). Theta, the long-term memory, comes from a weight file. Theta-bar, the
short-term memory, is cleared at the start of each game and learns only from simulations. Without a long-term memory
this is TD search; without a short-term memory it is the greedy player.

The short-term memory shares no weights between shapes, so both memories fit into one table by shape,

    table[shape] = sign_LI * theta_LI + sign_LD * theta_LD + theta-bar[shape],

and the search is TD search from a table initialised with the long-term memory (theta-bar <- theta in Section 5.4 of the
paper). Window sizes may differ: windows that the short-term memory lacks do not learn.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.files import check_writable
from rlgo.base.settings import CONSTANT, DEFAULT_SIZE, GAME, VALUES, Learning, Probability, board_size
from rlgo.features.incremental import new_shapes, reset, update_value
from rlgo.features.shapes import FeatureSet, Table, check_sizes
from rlgo.features.weights import Weights, load_weights, save_weights
from rlgo.go.game import Game
from rlgo.go.positions import places_of
from rlgo.go.rules import max_plies
from rlgo.learning.td import begin_episode, episode_dtype, learn_game, make_memory, record_move
from rlgo.learning.value import ValueFunction, squash
from rlgo.play.player import SearchStatistics, Seed, random_move
from rlgo.search.td_search import TdSearch

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
    long_learning : how the long-term memory learns from each real game that ends (`end_game`), with a constant alpha
        of its own; None: it stays as it is
    long_epsilon : the probability of a random real move (Algorithm 3 acts epsilon-greedily)
    long_save : a weight file to write the long-term memory to after each game that it learned from
    learning, others : see `TdSearch`; they concern the short-term memory. V is that of the long-term memory, if there
        is one, whatever `learning.value`

    Attributes
    ----------
    long_term : the `Weights` as they are now
    long_table : float32[K], the long-term memory written out by shape
    long_learning, long_epsilon, long_save : as given
    table : the `Table` of both memories together
    theta_bar : float32[K], the short-term memory alone

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
        *,
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
        if sizes is not None:
            sizes = check_sizes(sizes, may_be_none=True)
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
        self.long_learning, self.long_save = long_learning, long_save
        self.long_epsilon = check("long_epsilon", long_epsilon, Probability)
        if long_term is not None:
            learning = check("learning", learning, Learning)._replace(value=VALUES[long_term.value])
        super().__init__(size, sizes, learning=learning, seed=seed, name=name, **others)

    def _features(self, size: int, windows: tuple[str, ...]) -> FeatureSet:
        own = () if self.long_term is None else self.long_term.features.names
        return super()._features(size, (*windows, *own))

    def _fresh_weights(self) -> np.ndarray:
        if self.long_term is None:
            self.long_table = super()._fresh_weights()
        elif self._written_out is not self.long_term:  # it takes a tenth of a second
            self.long_table = self.long_term.table(self.features.names).black
            self._written_out = self.long_term
        return self.long_table.copy()

    @property
    def theta_bar(self) -> np.ndarray:
        """The short-term memory alone, float32[K]."""
        return self.table.black - self.long_table

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

    def keep_values(self, game: Game, table: Table) -> None:
        """Keep V after each move by both memories, and what that by the long-term one alone is computed from."""
        super().keep_values(game, table)
        if self.long_term is not None:
            self._long = self.long_term, game.board.copy()

    def _forget_values(self) -> None:
        super()._forget_values()
        self._long = None

    def statistics(self, game: Game) -> SearchStatistics:
        """Return V of the moves by both memories, and by each alone; see `TdSearch.statistics`."""
        both = super().statistics(game)
        if self.long_term is None:
            return both
        values = ValueFunction(self.long_term).afterstates(game.board)
        return both._replace(columns=both.columns | {"long_term": values[places_of(np.array(both.moves), game.size)]})


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
    size, capacity = features.size, features.capacity
    sh, episode = new_shapes(1, size, capacity)[0], np.zeros(1, episode_dtype(size, capacity))[0]
    replay = Game(game.size, game.komi)
    if game.setup:
        replay.set_up(game.setup)
    reset(replay.board, sh, memory.table)
    begin_episode(episode, sh, features.geometry, squash(value, sh.x[0]))
    for color, p in game.moves[: max_plies(size)]:
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
