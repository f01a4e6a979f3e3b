"""How a network is learned: each default and each bound is defined here. Nothing heavy is imported."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from annotated_types import Ge, Le

from rlgo.base.checks import Key
from rlgo.base.settings import Count, NonNegative, Positive, Probability, SeedNumber


class NetworkSettings(NamedTuple):
    """How a network is learned."""

    steps: Annotated[Count, Key("Number of steps.")] = 4_000
    batch: Annotated[int, Ge(1), Le(100_000), Key("Positions of a step.")] = 128
    alpha: Annotated[Positive, Key("The largest step size.")] = 3e-3
    weight_decay: Annotated[NonNegative, Key("Decay of the weights, times the step size.")] = 1e-4
    clip: Annotated[Positive, Key("The longest gradient; longer ones are shortened.")] = 1.0
    averaging: Annotated[
        float,
        Ge(0),
        Le(0.9999),
        Key(
            "The part of the averaged weights that a step keeps; much of the first ones is left unless `steps` is "
            "several times 1 / (1 - averaging)."
        ),
    ] = 0.998
    lam: Annotated[  # see `returns.py`
        Probability, Key("Lambda of the value's target, the lambda-return; 1: the outcome.", name="lambda_")
    ] = 0.9
    value_weight: Annotated[NonNegative, Key("Weight of the value in the loss; that of the policy is 1.")] = 1.0
    score_weight: Annotated[NonNegative, Key("Weight of the score in the loss.")] = 0.1
    ownership_weight: Annotated[NonNegative, Key("Weight of the owners of points in the loss.")] = 0.5
    seed: Annotated[SeedNumber, Key("Seed of the first weights, and of the order of positions.")] = 1
