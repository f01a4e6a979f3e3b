"""Softmax policies for simulations: learned from games and targets, and how far their outcomes are from the targets.

Start reading at `train_policy` and `measure`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.jit import compiling, make_rng
from rlgo.base.settings import VALUES
from rlgo.features.weights import Weights, find_weights, load_weights
from rlgo.go.board import new_boards
from rlgo.go.game import Game
from rlgo.go.rules import make_rules
from rlgo.learning.balancing import add_simulations, add_two_plies, fit_games, mogo_weights, new_score, new_two_plies
from rlgo.learning.learner import averaging_rate
from rlgo.moves.rollout import MOGO, SOFTMAX, UNIFORM, DefaultPolicy, new_rollout, playouts
from rlgo.moves.softmax_policy import (
    LEAST_SELF_ATARI,
    OTHERS,
    SoftmaxPolicy,
    find_softmax_policy,
    kinds_of_shapes,
    load_softmax_policy,
    make_tables,
    n_weights,
    policy_of,
)
from train import console
from train.knowledge.collect import origin
from train.knowledge.learning import game_table
from train.knowledge.settings import BALANCE, TWO_STEP, PlayoutSettings
from train.knowledge.shards import Collection
from train.knowledge.targets import Targets


def learn_games(
    games: Collection, settings: PlayoutSettings, report: Callable[[float], None] = lambda _: None
) -> SoftmaxPolicy:
    """Learn a policy from the moves of games; `report` gets the mean log-likelihood after each step."""
    table = game_table(games, held_out=False)
    theta, moves = fit_games(table, games.size, settings.l2, settings.iterations, report)
    made = {"method": "games", "l2": settings.l2, "iterations": settings.iterations}
    return policy_of(theta, {**made, "games": len(table.first_move) - 1, "moves": moves})


def learn_targets(
    targets: Targets,
    settings: PlayoutSettings,
    start: SoftmaxPolicy | None = None,
    weights: Weights | None = None,
    progress: bool = True,
) -> SoftmaxPolicy:
    """Learn a policy from targets, by balancing or by reinforcement.

    It is the mean of the weights after all steps, of which step t counts t (t + 1) times: that takes away most of the
    noise (Polyak & Juditsky 1992).

    Parameters
    ----------
    targets : those that are not held out are learned from
    settings : how
    start : the policy to start from; None: all weights 0, which is uniformly random play
    weights : the value function of two-step balancing
    progress : show progress on standard error

    Raises
    ------
    RlgoError : for two-step balancing without weights, or with weights of another board size.
    """
    learned = np.flatnonzero(~targets.held_out)
    if not len(learned):
        raise RlgoError(f"{len(targets):,} targets: expected more, so that some are not held out")
    theta = np.zeros(n_weights()) if start is None else start.theta.copy()
    step = _two_plies(targets, weights) if settings.method == TWO_STEP else _simulations(targets, settings)
    draw, mean, steps = np.random.default_rng(settings.seed), theta.copy(), 0
    total = settings.epochs * len(learned)
    with compiling(f"balancing, {targets.size}x{targets.size}, {settings.method_name}"):
        step(theta, learned[:1])
    with console.Progress(total, "positions", enabled=progress) as bar:
        for _ in range(settings.epochs):
            order = draw.permutation(learned)
            for first in range(0, len(order), settings.batch):
                batch = order[first : first + settings.batch]
                gradient, error = step(theta, batch)
                theta += settings.alpha / len(batch) * shared(gradient)
                theta[[0, (len(theta) - len(OTHERS)) // 2]] = 0.0  # stand for no shape
                theta[-1] = np.clip(theta[-1], LEAST_SELF_ATARI, 0.0)
                steps += 1
                mean += averaging_rate(steps, 2) * (theta - mean)
                bar.update(len(batch))
                bar.set_postfix(f"error {error:.3f}")
    made = settings._asdict() | {"method": settings.method_name, "positions": len(learned), "targets": targets.recipe}
    return policy_of(mean, made | ({} if start is None else {"start": start.provenance}))


def first_policy(name: str) -> SoftmaxPolicy | None:
    """Return the policy that a user wants to start from: a file, ``mogo``, or none."""
    if name == "mogo":
        return policy_of(mogo_weights(), {"method": "mogo"})
    return load_softmax_policy(find_softmax_policy(name)) if name else None


def value_weights(name: str, size: int) -> Weights:
    """Load the weights that a user names for two-step balancing; empty: the best shipped ones."""
    return load_weights(find_weights(name, size))


def origin_of_targets(targets: Targets) -> dict[str, Any]:
    """Return what a policy that is learned from targets says about its making."""
    made = origin()
    return {**made, "collection": targets.provenance["collection"], "targets_by": targets.provenance["command"]}


def shared(gradient: np.ndarray) -> np.ndarray:
    """Return a gradient in which each shape has also learned what all shapes of its kind have.

    That is the gradient for weights that are the sum of a shape's own and one of its kind. The second do most of the
    learning: most shapes are too rare for the few positions.
    """
    kinds = kinds_of_shapes()
    n = len(kinds)
    of_kinds = [np.bincount(kinds, gradient[part])[kinds] for part in (slice(n), slice(n, 2 * n))]
    return gradient + np.concatenate([*of_kinds, np.zeros(len(OTHERS))])


_Step = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, float]]


def _simulations(targets: Targets, settings: PlayoutSettings) -> _Step:
    """Return a function of weights and of positions: the gradient, and the root of the mean squared error."""
    size, n = targets.size, settings.simulations
    boards, r, rules = new_boards(2, size), new_rollout(size), make_rules(size, targets.komi)
    score, rng, games = new_score(size), make_rng(settings.seed), targets.games()

    def step(theta: np.ndarray, batch: np.ndarray) -> tuple[np.ndarray, float]:
        policy = DefaultPolicy(SOFTMAX, softmax=make_tables(theta))
        score.gradient[:] = 0
        squares = 0.0
        for i in batch:
            boards[0] = games[i].board
            # Two sets of simulations, so that the error of the mean and the gradient are independent.
            mean = playouts(boards, policy, r, rules, n, rng)[0] / n
            error = float(targets.value[i]) - mean
            scales = (mean, error, error) if settings.method == BALANCE else (mean, 1.0, -1.0)
            add_simulations(boards, policy, r, rules, n, np.array(scales), score, rng)
            squares += error * error
        return score.gradient, float(np.sqrt(squares / len(batch)))

    return step


def _two_plies(targets: Targets, weights: Weights | None) -> _Step:
    """Return a function of weights and of positions: the gradient, and the root of the mean squared error."""
    if weights is None:
        raise RlgoError(f"two_step: expected weights for {targets.size}x{targets.size}")
    weights = weights.for_board(targets.size, "two_step")
    value = VALUES[weights.value]
    two = new_two_plies(targets.size, weights.table(is_fused=True), value, weights.features.room)
    rules, games = make_rules(targets.size, targets.komi), targets.games()

    def step(theta: np.ndarray, batch: np.ndarray) -> tuple[np.ndarray, float]:
        tables = make_tables(theta)
        two.scores[0].gradient[:] = 0
        squares = 0.0
        for i in batch:
            two.boards[0] = games[i].board
            target, mean = add_two_plies(two, tables, rules)
            squares += (target - mean) ** 2
        return two.scores[0].gradient, float(np.sqrt(squares / len(batch)))

    return step


# ---------------------------------------------------------------------------------------------
# How far outcomes are from targets
# ---------------------------------------------------------------------------------------------


class Measured(NamedTuple):
    """How well the outcomes of simulations by one policy agree with targets."""

    name: str
    positions: int
    bias: float  # the mean of V - V*
    absolute: float  # the mean of |V - V*|
    squared: float  # the mean of (V - V*)^2, without what is due to chance
    outcome: float  # the mean of (z - V*)^2, of single outcomes
    correlation: float | None  # of V and V*; None if either is the same everywhere
    per_second: float  # simulations in a second of one core


def default_policies(learned: dict[str, SoftmaxPolicy]) -> dict[str, DefaultPolicy]:
    """Return the default policies to compare, by name: those that are not learned, and some that are."""
    softmax = {name: DefaultPolicy(SOFTMAX, softmax=policy.tables()) for name, policy in learned.items()}
    return {"uniform": DefaultPolicy(UNIFORM), "mogo": DefaultPolicy(MOGO), **softmax}


def measure_all(
    targets: Targets, policies: dict[str, DefaultPolicy], simulations: int = 1_000, seed: int = 1, progress: bool = True
) -> list[Measured]:
    """Measure default policies, by their names, on the targets held out."""
    held_out = np.flatnonzero(targets.held_out)
    if not len(held_out):
        raise RlgoError(f"{len(targets):,} targets: expected more, so that some are held out")
    games = targets.games()
    chosen, value = [games[i] for i in held_out], targets.value[held_out]
    with console.Progress(len(policies) * len(chosen), "positions", enabled=progress) as bar:
        return [
            Measured(name, len(chosen), *_measure(policy, chosen, value, simulations, seed, bar))
            for name, policy in policies.items()
        ]


def _measure(
    policy: DefaultPolicy, games: list[Game], value: np.ndarray, n: int, seed: int, bar: console.Progress
) -> list[Any]:
    """Return the numbers of a `Measured`."""
    size = games[0].size
    boards, r, rng = new_boards(2, size), new_rollout(size), make_rng(seed)
    mean, seconds = np.zeros(len(games)), 0.0
    playouts(boards, policy, r, make_rules(size, games[0].komi), 1, rng)  # which compiles it
    for i, game in enumerate(games):
        boards[0] = game.board
        began = time.process_time()
        mean[i] = playouts(boards, policy, r, make_rules(size, game.komi), n, rng)[0] / n
        seconds += time.process_time() - began
        bar.update()
    error = mean - value
    chance = mean * (1 - mean) / max(1, n - 1)
    outcome = mean * (1 - mean) + error**2
    varies = len(games) > 1 and np.ptp(mean) > 0 and np.ptp(value) > 0
    correlation = np.corrcoef(mean, value)[0, 1] if varies else None
    per_second = len(games) * n / seconds
    columns = (error.mean(), np.abs(error).mean(), (error**2 - chance).mean(), outcome.mean(), correlation, per_second)
    return [None if x is None else float(x) for x in columns]


def balance_table(found: list[Measured]) -> str:
    """Lay out measurements as a table."""
    header = ["policy", "positions", "bias", "|V - V*|", "(V - V*)^2", "(z - V*)^2", "correlation", "simulations/s"]
    rows = [
        [m.name, f"{m.positions:,}", f"{m.bias:+.3f}", f"{m.absolute:.3f}", f"{m.squared:.4f}", f"{m.outcome:.3f}",
         "-" if m.correlation is None else f"{m.correlation:.3f}", f"{m.per_second:,.0f}"]
        for m in found
    ]  # fmt: skip
    return console.table(header, rows, align="lrrrrrrr")
