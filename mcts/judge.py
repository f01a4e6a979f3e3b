"""A player that plays on at the end of a game, to find out what is alive. See `rlgo.play.ending`.

Start reading at `Judge.genmove`. Chances of winning say nothing about chains that do not matter for them. So the judge
searches by score, in a window around the score that it expects; a pass is an action everywhere; and a network's policy,
which has hardly seen positions that are over, guides it only while many moves are left.
"""

from __future__ import annotations

from mcts.leaves import Score
from mcts.player import TreeSearch
from mcts.policies import Puct
from mcts.priors import Handcrafted, Network, sum_of
from mcts.priors.stages import Stage
from mcts.settings import Resources, Search
from rlgo.go.board import PASS, area_score
from rlgo.go.game import Game
from rlgo.moves.rollout import DefaultPolicy
from rlgo.network.conv_network import ConvNetwork
from rlgo.play.player import Player, Seed

_SPAN = 20.0  # points from the middle of the window to its ends
_INSIDE = 0.3  # values farther from 0.5 move the window
_TRIES = 4  # windows for a move
_GUIDED, _FREE = 0.3, 0.001  # scale of the network's policy with many moves left, and with few
_IDLE = 1.5 / (2 * _SPAN)  # with many moves left, one that gains no more than 1.5 points is not worth playing
_ENOUGH = 16  # visits of a pass, to believe its value


class Judge(Player):
    """Plays on by score, and passes once no move gains anything.

    Parameters
    ----------
    size : board size
    network : guides the search while many moves are left
    simulations : of each search
    seed : of all random numbers

    >>> import mcts, rlgo
    >>> judge = mcts.Judge(5, rlgo.load_network("shipped"))  # doctest: +SKIP
    >>> rlgo.decide(rlgo.Game(5), judge).result  # doctest: +SKIP
    '?'
    """

    name = "judge"

    def __init__(self, size: int, network: ConvNetwork, simulations: int = 800, seed: Seed = 1) -> None:
        self.sizes = (size,)
        self._expected: int | None = None  # Black's points minus White's at the end
        self._guided, self._free = (
            TreeSearch(
                size,
                Search(
                    Puct(c=1.0, fpu_reduction=0.1, scale=0.8),
                    (Stage(Handcrafted()), Stage(sum_of(Handcrafted(), Network(scale=scale, shift=0.0)), after=4)),
                    Score(_SPAN),
                    passes=True,
                ),
                simulations,
                resources=Resources(reuse=False, memory_mb=32.0),
                default_policy=DefaultPolicy(mercy=False),
                evaluator=network,
                seed=seed,
            )
            for scale in (_GUIDED, _FREE)
        )

    def warm_up(self) -> None:
        """Compile what a search needs."""
        self._guided.warm_up()

    def new_game(self) -> None:
        """Expect nothing of the next position."""
        self._expected = None

    def genmove(self, game: Game) -> int:
        """Choose a move by score; with many moves left, pass only if the search without the network passes, too."""
        n = len(game.sensible_moves())
        if self._expected is None:
            self._expected = int(area_score(game.board))
        searches = (self._guided, self._free) if n > game.size else (self._free,)
        return next((p for p in (self._search(search, game) for search in searches) if p != PASS), PASS) if n else PASS

    def _search(self, search: TreeSearch, game: Game) -> int:
        """Search until the value is inside the window."""
        expected = self._expected or 0
        many = len(game.sensible_moves()) > game.size
        game = game.copy()
        while game.moves and game.moves[-1][1] == PASS:
            game.moves.pop()  # the pass, which a search might answer with a pass because it leads
        for _ in range(_TRIES):
            game.komi = float(expected)
            move = search.genmove(game)
            found = search.candidates(game)
            shift = round((2 * found[0].value - 1) * _SPAN)
            if abs(found[0].value - 0.5) < _INSIDE or not shift:
                break
            expected += shift
        self._expected = expected
        idle = [c for c in found if c.move == PASS and c.visits >= _ENOUGH and abs(c.value - found[0].value) <= _IDLE]
        return PASS if many and idle else move
