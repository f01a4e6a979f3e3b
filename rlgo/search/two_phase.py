"""Two-phase search: TD search or Dyna-2, then alpha-beta on the learned value function. TD paper, Section 6.1.

Start reading at `TwoPhase.genmove`. For Monte-Carlo tree search as the second phase, see mcts/.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlgo.base.budget import Budget, shorter
from rlgo.base.checks import check
from rlgo.features.weights import Weights
from rlgo.go.game import Game
from rlgo.play.player import Candidate, Player, SearchStatistics, Seed
from rlgo.search.alphabeta import DEFAULT_DEPTH, DEFAULT_TABLE_BITS, AlphaBetaOptions
from rlgo.search.deepening import AlphaBetaResult, AlphaBetaSearch, check_limits, sigmoid
from rlgo.search.td_search import TdSearch


class TwoPhase(Player):
    """A player that runs TD search or Dyna-2 first, and then alpha-beta on the values learned.

    Parameters
    ----------
    first : the first phase, a player with its own budget and seed
    depth : maximum depth of alpha-beta
    seconds : time per move, shared evenly: the first phase takes at most half, and alpha-beta gets the rest, up to
        `depth`. None: the first phase's own budget and `depth` are the limits
    options, table_bits, seed : see `AlphaBetaSearch`

    Attributes
    ----------
    first, second : the search of each phase

    Raises
    ------
    RlgoError : for limits out of range

    >>> import rlgo
    >>> first = rlgo.TdSearch(5, sizes=(1, 2, 3), simulations=5000, seed=1)
    >>> player = rlgo.TwoPhase(first, depth=2, seed=1)
    >>> rlgo.to_vertex(player.genmove(rlgo.Game(5)), 5)
    'C3'
    """

    def __init__(
        self,
        first: TdSearch,
        depth: int | None = DEFAULT_DEPTH,
        seconds: float | None = None,
        options: AlphaBetaOptions = AlphaBetaOptions(),
        table_bits: int = DEFAULT_TABLE_BITS,
        seed: Seed = None,
        name: str = "two_phase",
    ):
        self.depth, self.seconds = check_limits(depth, seconds)
        self.first = check("first", first, TdSearch)
        assert first.sizes is not None
        self.name, self.sizes = name, first.sizes
        if self.seconds is not None:
            first.seconds = shorter(first.seconds, self.seconds / 2)
        self._is_warm = False
        self.second = AlphaBetaSearch(first.sizes[0], options, table_bits, seed)

    @property
    def result(self) -> AlphaBetaResult | None:
        """The result of the last alpha-beta search, if any."""
        return self.second.result

    def genmove(self, game: Game) -> int:
        """Learn, then search; see `Player.genmove`."""
        if not self._is_warm:  # otherwise the first move would compile on the clock
            self.warm_up()
        both = Budget(seconds=shorter(self.seconds, self.limit))
        self.second.forget()
        self.first.stop, self.first.spare = self.stop, self.spare / 2
        self.first.limit = None if self.limit is None else self.limit / 2
        budget = self.first.budget_for(game)
        self.first.search(game, budget)
        if budget.review is not None and budget.seconds is not None:
            both.seconds = self.limit = 2 * budget.seconds
        memory = self.first.acting_memory(game)
        left = both.seconds_left()
        if left == 0.0:  # just making the table takes up to 80 ms on 19x19
            return self.first.act(game, memory)
        table = self.first.fused_table(memory)
        self.first.keep_values(game, memory)
        seconds = None if left is None else max(1e-3, left)
        found = self.second.search(game, table, Budget(seconds=seconds, depth=self.depth, stop=self.stop))
        return self.first.settle(game, found.move, sigmoid(found.x))

    def ponder(self, game: Game, stop: Callable[[], bool]) -> None:
        """Let the first phase learn ahead of time; the second one will search with it."""
        self.first.ponder(game, stop)

    def searched(self) -> int:
        """Return the simulations of the first phase."""
        return self.first.searched()

    def candidates(self, game: Game) -> list[Candidate]:
        """Rank the moves by the value that was learned; alpha-beta's move comes first, with what it found."""
        return self.second.candidates(game, self.first.candidates(game))

    def statistics(self, game: Game) -> SearchStatistics | None:
        """Return the numbers of the phase that runs, or of the second one after a search."""
        if not self.second.has_searched(game):
            return self.first.statistics(game)
        return self.second.statistics(game, self.first.candidates(game))

    def value_weights(self) -> Weights:
        """Return the weights that the first phase moves by."""
        return self.first.value_weights()

    def warm_up(self) -> None:
        """Compile what both phases need, so that compiling costs no clock time."""
        self.first.warm_up()
        self.second.warm_up(self.first.value_weights().table(is_fused=True))
        self._is_warm = True

    def new_game(self) -> None:
        """Forget the last game."""
        self.first.new_game()
        self.second.forget()

    def end_game(self, game: Game, outcome: float) -> None:
        """Let the first phase learn from the game; see `Player.end_game`."""
        self.first.end_game(game, outcome)

    def report(self) -> list[str]:
        """Describe each phase in one line."""
        return self.first.report() + self.second.report()

    def memory(self) -> Weights:
        """Return what the first phase has learned in this game."""
        return self.first.memory()

    def analyses(self) -> dict[str, np.ndarray]:
        """Return the maps of the first phase."""
        return self.first.analyses()
