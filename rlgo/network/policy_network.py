"""What a network is to players and measurements: logits of moves, and more, for batches of positions."""

from __future__ import annotations

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.softmax import softmax
from rlgo.go.board import PASS
from rlgo.go.game import Game
from rlgo.go.positions import HISTORY, Positions, places_of


class PolicyNetwork:
    """A network: `ConvNetwork`, or an evaluator of one's own (`mcts.outside.checked.CheckedNetwork`).

    Attributes
    ----------
    history : positions that it sees, the current one included
    """

    history: int = HISTORY

    def __call__(self, positions: Positions) -> dict[str, np.ndarray]:
        """Evaluate positions: ``logits``; ``value``, ``ownership``, from -1 to 1, and ``score`` as Black's."""
        raise NotImplementedError

    def warm_up(self, size: int) -> None:
        """Compile what a board size needs."""
        self(Positions.of(Game(size), self.history))

    def policy(self, game: Game) -> dict[int, float]:
        """Return the probabilities of all sensible moves and of a pass, by point, in the position of a game.

        RlgoError for a network without a policy.

        >>> import rlgo
        >>> policy = rlgo.ConvNetwork.new(seed=1).policy(rlgo.Game(5))
        >>> len(policy), round(sum(policy.values()), 6)
        (26, 1.0)
        """
        moves = np.array([*game.sensible_moves(), PASS])
        answer = self(Positions.of(game, self.history))
        if "logits" not in answer:
            raise RlgoError("network: expected a policy, or its logits")
        x = answer["logits"][0, places_of(moves, game.size)].astype(np.float64)
        return dict(zip(moves.tolist(), softmax(x).tolist(), strict=True))
