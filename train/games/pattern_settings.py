"""The settings of learning patterns.

Each default and each bound is defined here and nowhere else. Nothing heavy is imported, so that the command line can
show the defaults without loading numba.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from annotated_types import Ge, Le

from rlgo.base.settings import MOST_RINGS, Count, Positive


class PatternSettings(NamedTuple):
    """How patterns are learned."""

    seen: Count = 100  # only shapes seen at least this often are learned
    rings: Annotated[int, Ge(1), Le(MOST_RINGS)] = MOST_RINGS  # of the largest shapes
    l2: Positive = 2.0  # penalty
    iterations: Count = 100  # of L-BFGS, at most
