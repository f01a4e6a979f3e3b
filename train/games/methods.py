"""Ways to learn from searches, and their settings: patterns, and softmax policies for playouts.

Each default and each bound is defined here and nowhere else. Nothing heavy is imported, so that the command line can
show the defaults without loading numba.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from annotated_types import Ge, Le

from rlgo.base.checks import Choice, name_of
from rlgo.base.settings import MOST_RINGS, Count, Positive, SeedNumber

BALANCE, REINFORCE = 0, 1
PLAYOUT_METHODS = {"balance": BALANCE, "reinforce": REINFORCE}


class PatternSettings(NamedTuple):
    """How patterns are learned."""

    seen: Count = 100  # only shapes seen at least this often are learned
    rings: Annotated[int, Ge(1), Le(MOST_RINGS)] = MOST_RINGS  # of the largest shapes
    l2: Positive = 2.0  # penalty
    iterations: Count = 100  # of L-BFGS, at most


class PlayoutSettings(NamedTuple):
    """How a softmax policy is learned."""

    method: Annotated[int, Choice(PLAYOUT_METHODS)] = BALANCE
    alpha: Positive = 2.0  # step size of the gradient
    positions: Count = 2_000  # of the games, at most
    epochs: Count = 5  # passes over the positions
    simulations: Count = 50  # for the mean outcome of a position, and again for its gradient
    batch: Count = 10  # positions for each change of the weights
    seed: SeedNumber = 1

    @property
    def method_name(self) -> str:
        """The name of the method."""
        return name_of(self.method, PLAYOUT_METHODS)
