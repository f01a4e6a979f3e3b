"""How a network is learned: each default and each bound is defined here. Nothing heavy is imported.

Start reading at `NetworkSettings`; `read_settings` makes one of a TOML file and of ``--set KEY=VALUE``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Le

from rlgo.base.checks import Expected, Key, keys_of, needs
from rlgo.base.errors import RlgoError, printable
from rlgo.base.settings import Count, CountOr0, NonNegative, Positive, Probability, SeedNumber

_COSINE, _FALLS = needs("schedule", "cosine"), needs("schedule", "steps")


class NetworkSettings(NamedTuple):
    """How a network is learned."""

    steps: Annotated[Count, Key("Number of steps; in rounds, of each round, unless `reuse` determines it.")] = 4_000
    batch: Annotated[int, Ge(1), Le(100_000), Key("Positions of a step.")] = 128
    alpha: Annotated[Positive, Key("Step size after the warm-up, its largest value.")] = 3e-3
    schedule: Annotated[
        Literal["constant", "cosine", "steps"],
        Key("Schedule of alpha: constant, as in rounds; cosine, down to `alpha_final`; steps, down at `falls`."),
    ] = "cosine"
    warm_up: Annotated[CountOr0, Key("Steps in which alpha rises linearly.")] = 100
    schedule_steps: Annotated[
        CountOr0, Key("The step at which the cosine ends; 0: at `steps`. Rounds with a cosine need it.", needs=_COSINE)
    ] = 0
    alpha_final: Annotated[NonNegative, Key("alpha at the end of the cosine.", needs=_COSINE)] = 0.0
    falls: Annotated[
        tuple[Count, ...],
        Expected("a list of numbers of steps, such as [2000, 3000]"),
        Key("Steps after which alpha falls.", needs=_FALLS),
    ] = ()
    fall: Annotated[Probability, Key("Factor of alpha at each of `falls`.", needs=_FALLS)] = 0.1
    weight_decay: Annotated[NonNegative, Key("Decay of the weights, times the step size.")] = 1e-4
    clip: Annotated[Positive, Key("The longest gradient; longer ones are scaled down.")] = 1.0
    averaging: Annotated[
        float,
        Ge(0),
        Le(0.9999),
        Key("The part of the averaged weights that a step keeps; after t steps, at most (1 + t) / (10 + t)."),
    ] = 0.998
    lam: Annotated[  # see `returns.py`
        Probability, Key("Lambda of the value's target, the lambda-return; 1: the outcome.", name="lambda_")
    ] = 0.9
    value_weight: Annotated[NonNegative, Key("Weight of the value in the loss; that of the policy is 1.")] = 1.0
    score_weight: Annotated[NonNegative, Key("Weight of the score in the loss.")] = 0.1
    ownership_weight: Annotated[NonNegative, Key("Weight of the ownership in the loss.")] = 0.5
    reuse: Annotated[
        NonNegative,
        Key("Rounds: how often each position is learned on average, which determines the steps; 0: `steps` of them."),
    ] = 0.0
    window: Annotated[
        Count, Key("Rounds: learn from all positions up to this number; beyond, from a window of the latest ones.")
    ] = 250_000
    window_alpha: Annotated[Positive, Key("Rounds: the exponent with which the window grows (Wu 2019).")] = 0.75
    window_beta: Annotated[Probability, Key("Rounds: how much each new position adds to the window at first.")] = 0.4
    seed: Annotated[SeedNumber, Key("Seed of the first weights, and of the order of positions.")] = 1

    def combine(self) -> None:
        """Refuse a schedule of steps without falls, or with some during the warm-up."""
        if self.schedule == "steps" and not self.falls:
            raise RlgoError('schedule = "steps": expected falls, such as falls = [2000, 3000]')
        if list(self.falls) != sorted({n for n in self.falls if n > self.warm_up}):
            raise RlgoError(f"falls = {list(self.falls)}: expected ascending steps after warm_up = {self.warm_up}")

    def window_of(self, seen: int) -> int:
        """Return how many of the latest positions are learned, out of all that have been seen (Wu 2019, Appendix C)."""
        c, a = self.window, self.window_alpha
        return seen if seen <= c else min(seen, round(c * (1 + self.window_beta * ((seen / c) ** a - 1) / a)))

    def by_key(self) -> dict[str, Any]:
        """Return the values by their keys, as files have them."""
        names = {field: (key.name or field).rstrip("_") for field, key in keys_of(type(self)).items()}
        return {names[field]: value for field, value in self._asdict().items()}


OF_ROUNDS = NetworkSettings(schedule="constant")  # no step is known to be the last
ONLY_ROUNDS = ("reuse", "window", "window_alpha", "window_beta")

ELSEWHERE = {  # names that other programs use, and those here
    **dict.fromkeys(("lr", "learning_rate", "step_size", "eta"), "alpha"),
    **dict.fromkeys(("lr_schedule", "lr_scheduler", "scheduler", "decay"), "schedule"),
    **dict.fromkeys(("warmup", "warmup_steps", "lr_warmup"), "warm_up"),
    **dict.fromkeys(("milestones", "boundaries"), "falls"),
    **dict.fromkeys(("wd", "l2", "l2_regularization"), "weight_decay"),
    **dict.fromkeys(("grad_clip", "clip_norm", "max_grad_norm"), "clip"),
    **dict.fromkeys(("batch_size", "minibatch", "minibatch_size"), "batch"),
    **dict.fromkeys(("ema", "ema_decay", "swa"), "averaging"),
    **dict.fromkeys(("td_lambda", "gae_lambda"), "lambda"),
    **dict.fromkeys(("value_loss_weight", "value_coef", "vf_coef"), "value_weight"),
    **dict.fromkeys(("max_steps", "n_steps", "iterations", "epochs"), "steps"),
    **dict.fromkeys(("buffer_size", "replay_size", "replay_buffer", "window_size"), "window"),
    **dict.fromkeys(("replay_ratio", "samples_per_position"), "reuse"),
}


def read_settings(start: NetworkSettings, config: str = "", overrides: Iterable[str] = ()) -> NetworkSettings:
    """Change settings by a config, a TOML file or the name of a shipped one, and then by ``KEY=VALUE``.

    RlgoError names the file or ``--set``, the key, the value and what was expected.
    """
    from rlgo.base.resources import config_path
    from train.config import read_toml
    from train.settings import read_toml_value, with_values

    given: dict[str, str] = {}
    if config:
        file = config_path(config, "network")
        tables = read_toml(file)
        if [*tables] != ["network"] or not isinstance(tables["network"], dict):
            raise RlgoError(f"{file}: expected one table [network], with settings of learning")
        _known(f"{file}: ", tables["network"])
        start = with_values(start, tables["network"], f"{file}: ")
    values: dict[str, Any] = {}
    for text in overrides:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise RlgoError(f"--set {printable(text)}: expected KEY=VALUE")
        given[key], values[key] = text, read_toml_value(value)
    _known("--set ", values)
    made = with_values(start, values, "--set ")
    for field, key_ in keys_of(NetworkSettings).items():
        if (name := (key_.name or field).rstrip("_")) in given and key_.needs and not key_.needs.is_met(made):
            raise RlgoError(f"--set {printable(given[name])} has no effect here: it needs {key_.needs.words}")
    return made


def _known(source: str, names: Iterable[str]) -> None:
    """Answer names that other programs use with those here."""
    for name in names:
        if here := ELSEWHERE.get(name.replace("-", "_").lower()):
            raise RlgoError(f"{source}{printable(name)}: unknown; its name here is {here}")
