"""How a network is learned: each default and each bound is defined here. Nothing heavy is imported."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from rlgo.base.bounds import Number, Whole, checked
from rlgo.base.settings import AT_LEAST_0, COUNT, POSITIVE, PROBABILITY, SEED


@checked
class NetworkSettings(NamedTuple):
    """How a network is learned. Raises `RlgoError` for a value out of range."""

    steps: Annotated[int, COUNT] = 4_000
    batch: Annotated[int, Whole(ge=1, le=100_000)] = 128  # positions of a step
    alpha: Annotated[float, POSITIVE] = 3e-3  # the largest step size
    weight_decay: Annotated[float, AT_LEAST_0] = 1e-4
    clip: Annotated[float, POSITIVE] = 1.0  # longest gradient
    averaging: Annotated[float, Number(ge=0, le=0.9999)] = 0.998  # the part of the averaged weights that a step keeps
    lam: Annotated[float, PROBABILITY] = 0.9  # lambda of the value's target, the lambda-return of `returns.py`
    value_weight: Annotated[float, AT_LEAST_0] = 1.0  # of the parts of the loss; that of the policy is 1
    score_weight: Annotated[float, AT_LEAST_0] = 0.1
    ownership_weight: Annotated[float, AT_LEAST_0] = 0.5
    seed: Annotated[int, SEED] = 1
