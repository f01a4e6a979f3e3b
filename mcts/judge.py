"""A player that plays on at the end of a game, to find out what is alive. See `rlgo.play.ending`.

Start reading at `Judge.genmove`. Chances of winning say nothing about chains that do not matter for them. So the judge
searches by score, in a window around the score that it expects; a pass is an action everywhere; and a network's policy,
which has hardly seen positions that are over, guides it only while many moves are left.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from mcts.leaves import Score
from mcts.player import TreeSearch
from mcts.policies import Puct
from mcts.priors import Handcrafted, Network, sum_of
from mcts.priors.stages import Stage
from mcts.settings import Resources, Search
from rlgo.base.budget import Budget
from rlgo.go.board import BLACK, PASS, WHITE, area_score
from rlgo.go.game import Game
from rlgo.moves.rollout import DefaultPolicy
from rlgo.network.conv_network import ConvNetwork
from rlgo.play.ending import Arbiter
from rlgo.play.ownership import Ownership
from rlgo.play.player import Seed

_SPAN = 20.0  # points from the middle of the window to its ends
_INSIDE = 0.3  # values farther from 0.5 move the window
_TRIES = 6  # windows for a move, and moves that turn out to repeat a position
_GUIDED, _FREE = 0.3, 0.001  # scale of the network's policy with many moves left, and with few
_HOPE = 0.9  # part of the window that a sacrifice may gain
_IDLE = 1.5 / (2 * _SPAN)  # with many moves left, one that gains no more than 1.5 points is not worth playing
_NOTHING = 0.5 / (2 * _SPAN)  # less than any gain is worth
_LOOKS = 1, 4  # times as many simulations: with more of them, a true hope grows and a false one shrinks
_SHRINKS = 0.9  # part of the gain that is left
_SWING = 4.5  # points that the first move gains, far from the end
_ASKED = 3  # times that all must find so: one alone errs now and then in a finished position
_UNSETTLED = 0.6  # share of the board that playouts leave open there
_ENOUGH = 16  # visits of a pass, to believe its value


class Judge(Arbiter):
    """Plays on by score, and passes once no move gains anything.

    Parameters
    ----------
    size : board size
    network : guides the search while many moves are left
    simulations : of a search while many moves are left, and a quarter of those of others, on boards up to 9x9
    seed : of all random numbers

    >>> import mcts, rlgo
    >>> judge = mcts.Judge(5, rlgo.load_network("9x9"))
    >>> rlgo.decide(rlgo.Game(5), judge).result
    '?'
    """

    name = "judge"

    def __init__(self, size: int, network: ConvNetwork, simulations: int = 800, seed: Seed = 1) -> None:
        self.sizes = (size,)
        self._lead = 0.0  # Black's points minus White's at the end, by the last search
        self._make = partial(_searches, size, network, simulations, seed)
        self.new_game()

    def warm_up(self) -> None:
        """Compile what a search needs."""
        self._guided.warm_up()

    def new_game(self) -> None:
        """Expect nothing of the next position, and draw the same random numbers as for every other one."""
        self._expected: int | None = None  # Black's points minus White's at the end
        self._guided, self._free = self._make(self.effort)

    def is_far_from_over(self, game: Game) -> bool:
        """Return whether many moves are left, and playouts leave most points open or the first move gains much."""
        if len(game.sensible_moves()) <= game.size:
            return False
        if np.mean(np.abs(Ownership.of(game).map) < 0.8) > _UNSETTLED:
            return True
        self.new_game()
        return all(self._swing(game) > _SWING for _ in range(_ASKED))

    def _swing(self, game: Game) -> float:
        """Return how many points the move of a position is worth."""
        scores = []
        for first in (BLACK, WHITE):
            position = game.copy()
            position.to_play = first
            self._expected = int(area_score(game.board))
            self._search(self._guided, position)
            scores.append(self._lead)
        return scores[0] - scores[1]

    def genmove(self, game: Game) -> int:
        """Choose a move by score; with many moves left, pass only if the search without the network passes, too."""
        n = len(game.sensible_moves())
        if self._expected is None:
            self._expected = int(area_score(game.board))
        searches = (self._guided, self._free) if n > game.size else (self._free,)
        for search in searches if n else ():
            if (p := self._search(search, game)) != PASS:
                return p
        return self._hope(game) if n else PASS

    def _search(self, search: TreeSearch, game: Game) -> int:
        """Search until the value is inside the window."""
        expected, ends_by_pass, game = self._expected or 0, game.last_move == PASS, _without_passes(game)
        many = len(game.sensible_moves()) > game.size
        for _ in range(_TRIES):
            game.komi = float(expected)
            move = search.genmove(game)
            found = search.candidates(game)
            if _repeats(game, found[0].line[:3]):
                game.allowed = frozenset(game.sensible_moves()) - {move}
                continue
            self._lead = expected + (2 * found[0].value - 1) * _SPAN
            shift = round(self._lead - expected)
            if abs(found[0].value - 0.5) < _INSIDE or not shift:
                break
            expected += shift
        self._expected = expected
        best, sign = found[0].value, 1 if game.to_play == BLACK else -1
        as_it_stands = sign * (0.5 + (int(area_score(game.board)) - expected) / (2 * _SPAN))
        passes = [min(sign * c.value, as_it_stands) for c in found if c.move == PASS and c.visits >= _ENOUGH]
        if ends_by_pass:
            passes = [as_it_stands]
        elif not many:
            passes = []  # the opponent may pass, too, or not
        return PASS if passes and sign * best - passes[0] <= (_IDLE if many else _NOTHING) else move

    def _hope(self, game: Game) -> int:
        """Return a sacrifice that gains, or PASS: at the end of the window, it costs little to try."""
        sign, game = 1 if game.to_play == BLACK else -1, _without_passes(game)
        game.komi = round(self._lead) + sign * _HOPE * _SPAN
        before = _IDLE
        for times in _LOOKS:
            self._free.search(game, Budget(times * (self._free.simulations or 0)))
            best = self._free.candidates(game)[0]
            gain = 0.5 + sign * (best.value - 0.5) - (1 - _HOPE) / 2
            if gain < _SHRINKS * before or _repeats(game, best.line[:3]):
                return PASS
            before = gain
        return best.move if gain > 2 * _IDLE else PASS


def _searches(
    size: int, network: ConvNetwork, simulations: int, seed: Seed, effort: int
) -> tuple[TreeSearch, TreeSearch]:
    """Make the search for positions with many moves left, and that for others."""

    def search(scale: float, n: int) -> TreeSearch:
        composed = Search(
            Puct(c=1.0, fpu_reduction=0.1, scale=0.8),
            (Stage(Handcrafted()), Stage(sum_of(Handcrafted(), Network(scale=scale, shift=0.0)), after=4)),
            Score(_SPAN),
            passes=True,
        )
        n *= effort
        resources, policy = Resources(reuse=False, memory_mb=32.0), DefaultPolicy(mercy=False)
        return TreeSearch(size, composed, n, resources=resources, default_policy=policy, evaluator=network, seed=seed)

    return search(_GUIDED, simulations), search(_FREE, 4 * simulations * min(9, size) // size)


def _without_passes(game: Game) -> Game:
    """Return a copy without the last pass, which a search might answer with a pass because it leads."""
    game = game.copy()
    while game.moves and game.moves[-1][1] == PASS:
        game.moves.pop()
    return game


def _repeats(game: Game, line: list[int]) -> bool:
    """Return whether superko, which the tree does not know, forbids one of these moves."""
    game = game.copy()
    for p in line:
        if not game.is_legal(p):
            return True
        game.play(p)
    return False
