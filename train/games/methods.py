"""Ways to learn from searches, and their settings: patterns, and softmax policies for playouts.

Each default and each bound is defined here and nowhere else. Nothing heavy is imported, so that the command line can
show the defaults without loading numba.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from rlgo.base.bounds import Choice, Whole, checked, name_of
from rlgo.base.settings import COUNT, MOST_RINGS, POSITIVE, SEED

BALANCE, REINFORCE = 0, 1
PLAYOUT_METHODS = {"balance": BALANCE, "reinforce": REINFORCE}


@checked
class PatternSettings(NamedTuple):
    """How patterns are learned. Raises `RlgoError` for a value out of range."""

    seen: Annotated[int, COUNT] = 100  # only shapes seen at least this often are learned
    rings: Annotated[int, Whole(ge=1, le=MOST_RINGS)] = MOST_RINGS  # of the largest shapes
    l2: Annotated[float, POSITIVE] = 2.0  # penalty
    iterations: Annotated[int, COUNT] = 100  # of L-BFGS, at most


@checked
class PlayoutSettings(NamedTuple):
    """How a softmax policy is learned. Raises `RlgoError` for a value out of range."""

    method: Annotated[int, Choice(PLAYOUT_METHODS)] = BALANCE
    alpha: Annotated[float, POSITIVE] = 2.0  # step size of the gradient
    positions: Annotated[int, COUNT] = 2_000  # of the games, at most
    epochs: Annotated[int, COUNT] = 5  # passes over the positions
    simulations: Annotated[int, COUNT] = 50  # for the mean outcome of a position, and again for its gradient
    batch: Annotated[int, COUNT] = 10  # positions for each change of the weights
    seed: Annotated[int, SEED] = 1

    @property
    def method_name(self) -> str:
        """The name of the method."""
        return name_of(self.method, PLAYOUT_METHODS)
