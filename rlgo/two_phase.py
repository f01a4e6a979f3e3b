"""Two-phase search: TD search or Dyna-2, then alpha-beta on the value function that it learned. TD paper, Section 6.1.

Start reading at `TwoPhase.genmove`. (The other second phase, Monte-Carlo tree search, lives in mcts/.)
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from rlgo.alphabeta import AlphaBetaSearch, Found, Options, check_limits, describe, led_by
from rlgo.game import Game
from rlgo.player import RESIGN, Candidate, Player, Seed, position_of, shorter
from rlgo.td_search import TdSearch
from rlgo.weights import Weights


class TwoPhase(Player):
    """A simulation-based search followed by alpha-beta, as a player.

    Parameters
    ----------
    first : the first phase, with its own budget; its seed is its own
    depth : of alpha-beta at most
    seconds : of each move, shared evenly: the first phase ends after half of them, if not by itself, and alpha-beta
        has what is left; None: the first phase's budget, and `depth`
    others : of `AlphaBetaSearch`

    Attributes
    ----------
    found : what the last alpha-beta search found, or None

    Raises
    ------
    RlgoError : for limits out of range.
    """

    def __init__(
        self,
        first: TdSearch,
        depth: int | None = 4,
        seconds: float | None = None,
        options: Options = Options(),
        table_bits: int = 18,
        seed: Seed = None,
        name: str = "two_phase",
    ):
        check_limits(depth, seconds)
        assert first.sizes is not None
        self.name, self.sizes = name, first.sizes
        self.first, self.depth, self.seconds = first, depth, seconds
        if seconds is not None:
            first.seconds = seconds / 2
        self.found: Found | None = None
        self._position: tuple[int, ...] = ()  # where it was found
        self._second = AlphaBetaSearch(first.sizes[0], options, table_bits, seed)

    def genmove(self, game: Game) -> int:
        start = time.perf_counter()
        seconds = shorter(self.seconds, self.limit)
        self.first.limit = None if self.limit is None else self.limit / 2
        self.first.search(game, self.stop)
        features, theta_bar = self.first.value_table()
        self.first.evaluate(game)
        left = None if seconds is None else max(1e-3, start + seconds - time.perf_counter())
        self.found = self._second.search(game, features, theta_bar, self.depth, left, self.stop)
        self._position = position_of(game)
        return RESIGN if self.first.gives_up(game, self.found.move) else self.first.explore(game, self.found.move)

    def ponder(self, game: Game, stop: Callable[[], bool]) -> None:
        """What the first phase learns ahead of time, the second one searches with."""
        self.first.ponder(game, stop)

    def candidates(self, game: Game) -> list[Candidate]:
        """By the value that was learned; the move that alpha-beta found first, with its principal variation."""
        return led_by(self.first.candidates(game), self.found if self._position == position_of(game) else None)

    def value_weights(self) -> Weights:
        return self.first.value_weights()

    def warm_up(self) -> None:
        """Compile what both phases need, so that no clock runs meanwhile."""
        self.first.warm_up()
        self._second.warm_up()

    def new_game(self) -> None:
        self.first.new_game()
        self.found = None

    def end_game(self, game: Game) -> None:
        self.first.end_game(game)

    def report(self) -> list[str]:
        return self.first.report() + ([] if self.found is None else [describe(self.found, self.first.features.size)])

    def memory(self) -> Weights:
        return self.first.memory()

    def analyses(self) -> dict[str, np.ndarray]:
        """The maps of the first phase."""
        return self.first.analyses()
