"""Alpha-beta on fixed, learned weights, as a player. TD paper, Section 3.3.5, Table 2.

Start reading at `AlphaBeta.genmove`. The search is in `deepening.py` and `alphabeta.py`.
"""

from __future__ import annotations

import numpy as np

from rlgo.base.budget import Budget, shorter
from rlgo.base.checks import check
from rlgo.features.weights import Weights
from rlgo.go.board import new_board
from rlgo.go.game import Game
from rlgo.learning.value import ValueFunction
from rlgo.play.player import Candidate, Player, SearchStatistics, Seed, check_size, ranked
from rlgo.search.alphabeta import DEFAULT_DEPTH, DEFAULT_TABLE_BITS, AlphaBetaOptions
from rlgo.search.deepening import AlphaBetaResult, AlphaBetaSearch, check_limits


class AlphaBeta(Player):
    """A player that runs alpha-beta on fixed, learned weights (TD paper, Section 3.3.5, Table 2).

    Parameters
    ----------
    weights : of any sharing
    depth, seconds : limits for each move; the first one reached ends the search
    options, table_bits, seed : see `AlphaBetaSearch`

    Attributes
    ----------
    searcher : the `AlphaBetaSearch`

    Raises
    ------
    RlgoError : for limits out of range

    >>> import rlgo
    >>> weights = rlgo.load_weights(rlgo.shipped_weights(9))
    >>> player = rlgo.AlphaBeta(weights, depth=3, seed=1)
    >>> rlgo.to_vertex(player.genmove(rlgo.Game(9)), 9)
    'E5'
    """

    def __init__(
        self,
        weights: Weights,
        depth: int | None = DEFAULT_DEPTH,
        seconds: float | None = None,
        options: AlphaBetaOptions = AlphaBetaOptions(),
        table_bits: int = DEFAULT_TABLE_BITS,
        seed: Seed = None,
        name: str = "alphabeta",
    ):
        self.depth, self.seconds = check_limits(depth, seconds)
        check("weights", weights, Weights)
        self.name, self.sizes = name, (weights.features.size,)
        self._table = weights.table(is_fused=True)
        self._values = ValueFunction(weights)
        self._map = np.full((weights.features.size, weights.features.size), np.nan)
        self.searcher = AlphaBetaSearch(weights.features.size, options, table_bits, seed)

    @property
    def result(self) -> AlphaBetaResult | None:
        """The result of the last search, if any."""
        return self.searcher.result

    def genmove(self, game: Game) -> int:
        """Search, and return the best move; see `Player.genmove`."""
        check_size(self, game)
        self.searcher.warm_up(self._table)
        seconds = shorter(self.seconds, self.limit if self.limit is None else max(1e-3, self.limit))
        budget = Budget(seconds=seconds, depth=self.depth, stop=self.stop)
        move = self.searcher.search(game, self._table, budget).move
        self._map[:] = self._values.afterstates(game.board)[:-1].reshape(self._map.shape)
        return move

    def warm_up(self) -> None:
        """Compile what a search needs, so that compiling costs no clock time."""
        self.searcher.warm_up(self._table)
        self._values.afterstates(new_board(len(self._map)))

    def new_game(self) -> None:
        """Forget the last search."""
        self.searcher.forget()
        self._map[:] = np.nan

    def report(self) -> list[str]:
        """Describe the last search in one line."""
        return self.searcher.report()

    def candidates(self, game: Game) -> list[Candidate]:
        """Rank the moves by V without search; the move of the last search comes first, with what it found."""
        check_size(self, game)
        return self.searcher.candidates(game, ranked(game, self._values.afterstates(game.board)))

    def statistics(self, game: Game) -> SearchStatistics | None:
        """Return V without search, and the values that the search has found, depth by depth."""
        if not self.searcher.has_searched(game):
            return super().statistics(game)
        return self.searcher.statistics(game, ranked(game, self._values.afterstates(game.board)))

    def value_weights(self) -> Weights:
        """Return the weights used by the search."""
        return self._values.weights

    def analyses(self) -> dict[str, np.ndarray]:
        """Return one map, ``value``: V after each legal move, P(Black wins), without search."""
        return {"value": self._map}
