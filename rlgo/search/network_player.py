"""A player that evaluates a network once a move, without any search."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rlgo.base.checks import check
from rlgo.base.settings import CountOr0, NonNegative
from rlgo.base.softmax import softmax
from rlgo.compiler.jit import seed_sequence
from rlgo.go.board import PASS
from rlgo.go.game import Game
from rlgo.go.positions import Positions, places_of
from rlgo.network.policy_network import PolicyNetwork
from rlgo.play.player import Candidate, Player, Seed, check_size, moves_to_try

_OPENING = 1 / 5  # of the points filled: until then, no move is drawn on the first line


class NetworkPlayer(Player):
    """A player that chooses the most probable move of a network's policy, or draws one by it.

    It passes if that is the most probable move, if there is no sensible one, and to end a won game.

    Parameters
    ----------
    size : board size
    network : whose policy it plays, a `rlgo.ConvNetwork` or another `PolicyNetwork`
    temperature : moves are drawn with probabilities in proportion to P(a)^(1 / temperature), in the opening above the
        first line; 0: the most probable move
    sees : a capture of so many stones or more is not overlooked: no move is drawn that is less probable; 0: it may be
    seed : of the draws; None draws a fresh one

    >>> import rlgo
    >>> player = rlgo.NetworkPlayer(9, rlgo.ConvNetwork.new(seed=1))
    >>> len(player.candidates(rlgo.Game(9)))
    82
    """

    def __init__(
        self, size: int, network: PolicyNetwork, temperature: float = 0.0, sees: int = 0, *, seed: Seed = None
    ) -> None:
        self._network = check("network", network, PolicyNetwork)
        self._temperature, self._sees = check("temperature", temperature, NonNegative), check("sees", sees, CountOr0)
        self._rng = np.random.default_rng(seed_sequence(seed))
        self.name, self.sizes, self._size = "network", (size,), size
        self._policy = np.full((size, size), np.nan)
        self._seen: Positions | None = None  # the last position

    def warm_up(self) -> None:
        """Compile what a move needs, so that compiling costs no clock time."""
        self._network.warm_up(self._size)

    def genmove(self, game: Game) -> int:
        """Choose a move. RlgoError for another board size."""
        check_size(self, game)
        if not moves_to_try(game):
            return PASS
        self._seen = Positions.of(game, self._network.history)
        policy = self._network.policy(game)
        self._policy[:] = np.nan
        points = np.array([p for p in policy if p != PASS])
        self._policy.flat[places_of(points, self._size)] = [policy[p] for p in points.tolist()]
        best = max(policy, key=lambda p: policy[p])
        return best if best == PASS or not self._temperature else self._draw(game, policy)

    def _draw(self, game: Game, policy: Mapping[int, float]) -> int:
        """Draw a point by its probability."""
        points = np.array([p for p in policy if p != PASS])
        p = np.array([policy[point] for point in points.tolist()])
        drawn = p >= max((policy[point] for point in self._captures(game) if point in policy), default=0.0)
        row, column = np.divmod(places_of(points, game.size), game.size)
        inside = drawn & (np.minimum(row, column) > 0) & (np.maximum(row, column) < game.size - 1)
        if game.board.n_empty > (1 - _OPENING) * game.size**2 and inside.any():
            drawn = inside
        weights = softmax(np.log(p[drawn] + np.finfo(float).tiny) / self._temperature)
        return int(self._rng.choice(points[drawn], p=weights))

    def _captures(self, game: Game) -> list[int]:
        """List the points that capture a chain of `sees` stones or more."""
        board = game.board
        chains = {int(board.chain[p]): p for p in game.stones(3 - game.to_play)} if self._sees else {}
        seen = (game.liberties(p) for chain, p in chains.items() if board.n_chain[chain] >= self._sees)
        return [free[0] for free in seen if len(free) == 1]

    def candidates(self, game: Game) -> list[Candidate]:
        """Rank all moves by probability, with the value of the position, 1/2 without one, for each."""
        check_size(self, game)
        policy = self._network.policy(game)
        value = float(self._network(Positions.of(game, self._network.history)).get("value", [0.5])[0])
        best_first = sorted(policy, key=lambda p: -policy[p])
        return [Candidate(p, value, 1, [p], policy[p]) for p in best_first]

    def scores(self, game: Game) -> tuple[float | None, dict[int, float]]:
        """Return the network's score of the position, also for every move, if it has one."""
        score = self._network(Positions.of(game, self._network.history)).get("score")
        if score is None:
            return None, {}
        return float(score[0]), dict.fromkeys([c.move for c in self.candidates(game)], float(score[0]))

    def analyses(self) -> dict[str, np.ndarray]:
        """Return the maps ``policy``, the probability of each move, and ``ownership``, P(Black owns each point)."""
        ownership = (1 + self.evaluation.get("ownership", np.full_like(self._policy, np.nan))) / 2
        return {"policy": self._policy, "ownership": ownership}

    @property
    def evaluation(self) -> Mapping[str, np.ndarray]:
        """What the network said about the last position, by name; see `PolicyNetwork`."""
        return {} if self._seen is None else {name: array[0] for name, array in self._network(self._seen).items()}
