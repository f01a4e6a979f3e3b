"""How a network is learned: each default and each bound is defined here. Nothing heavy is imported."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from annotated_types import Ge, Le

from rlgo.base.settings import Count, NonNegative, Positive, Probability, SeedNumber


class NetworkSettings(NamedTuple):
    """How a network is learned. Raises `RlgoError` for a value out of range."""

    steps: Count = 4_000
    batch: Annotated[int, Ge(1), Le(100_000)] = 128  # positions of a step
    alpha: Positive = 3e-3  # the largest step size
    weight_decay: NonNegative = 1e-4
    clip: Positive = 1.0  # longest gradient
    averaging: Annotated[float, Ge(0), Le(0.9999)] = 0.998  # the part of the averaged weights that a step keeps
    lam: Probability = 0.9  # lambda of the value's target, the lambda-return of `returns.py`
    value_weight: NonNegative = 1.0  # of the parts of the loss; that of the policy is 1
    score_weight: NonNegative = 0.1
    ownership_weight: NonNegative = 0.5
    seed: SeedNumber = 1
