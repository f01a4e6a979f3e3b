"""Softmax policies for simulations: learn them from games or targets, and measure their outcomes against targets.

Start reading at `learn_targets` and `measure_all`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.settings import VALUES
from rlgo.compiler.jit import compiling, make_rng
from rlgo.features.weights import Weights
from rlgo.go.board import new_boards
from rlgo.go.game import Game
from rlgo.go.rules import make_rules
from rlgo.learning import balancing
from rlgo.learning.collection import Collection
from rlgo.learning.learner import averaging_rate
from rlgo.moves.rollout import MOGO, SOFTMAX_POLICY, UNIFORM, DefaultPolicy, new_rollout, playouts
from rlgo.moves.softmax_policy import (
    ADJACENT,
    LEAST_SELF_ATARI,
    OTHERS,
    SoftmaxPolicy,
    Tables,
    all_shapes,
    find_softmax_policy,
    load_softmax_policy,
    make_tables,
    n_weights,
)
from train import console
from train.knowledge.collect import origin, origin_of
from train.knowledge.learning import game_table
from train.knowledge.methods import BALANCE, TWO_STEP, PlayoutSettings
from train.playouts.targets import Targets


def learn_games(
    games: Collection, settings: PlayoutSettings, report: Callable[[float], None] = lambda _: None
) -> SoftmaxPolicy:
    """Learn a policy from the moves of games; `report` is called with the mean log-likelihood after each step."""
    table = game_table(games, held_out=False)
    theta, moves = balancing.fit_games(table, games.size, settings.l2, settings.iterations, report)
    made = {"method": "games", "l2": settings.l2, "iterations": settings.iterations}
    made |= {"games": len(table.first_move) - 1, "moves": moves}
    return SoftmaxPolicy(theta.astype(np.float32), made | origin_of(games))


def learn_targets(
    targets: Targets,
    settings: PlayoutSettings,
    start: SoftmaxPolicy | None = None,
    weights: Weights | None = None,
    progress: bool = True,
) -> SoftmaxPolicy:
    """Learn a policy from targets, by balancing or by reinforcement.

    The result is the mean of the weights after all steps, with weight t (t + 1) for step t, which removes most of the
    noise (Polyak & Juditsky 1992).

    Parameters
    ----------
    targets : the policy learns from those that are not held out
    settings : how to learn
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
    theta = np.zeros(n_weights()) if start is None else start.theta.astype(np.float64)
    score, add = _two_plies(targets, weights) if settings.method == TWO_STEP else _simulations(targets, settings)
    draw, mean, steps = np.random.default_rng(settings.seed), theta.copy(), 0
    with compiling(f"balancing, {targets.size}x{targets.size}, {settings.method_name}"):
        add(make_tables(theta), learned[0])
    with console.Progress(settings.epochs * len(learned), "positions", enabled=progress) as bar:
        for _ in range(settings.epochs):
            order = draw.permutation(learned)
            for first in range(0, len(order), settings.batch):
                batch, tables = order[first : first + settings.batch], make_tables(theta)
                score.gradient[:] = 0
                errors = [add(tables, i) for i in batch]
                theta += settings.alpha / len(batch) * shared(score.gradient)
                theta[[0, (len(theta) - len(OTHERS)) // 2]] = 0.0  # belong to no shape
                theta[-1] = np.clip(theta[-1], LEAST_SELF_ATARI, 0.0)
                steps += 1
                mean += averaging_rate(steps, 2) * (theta - mean)
                bar.update(len(batch))
                bar.set_postfix(f"error {np.sqrt(np.mean(np.square(errors))):.3f}")
    made = settings._asdict() | {"method": settings.method_name, "positions": len(learned), "targets": targets.recipe}
    made |= {} if start is None else {"start": start.provenance}
    made |= origin() | {"collection": targets.provenance["collection"], "targets_by": targets.provenance["command"]}
    return SoftmaxPolicy(mean.astype(np.float32), made)


def first_policy(name: str) -> SoftmaxPolicy | None:
    """Return the policy that a user wants to start from: a file, ``mogo``, or none."""
    if name == "mogo":
        return SoftmaxPolicy(balancing.mogo_weights().astype(np.float32), {"method": "mogo"})
    return load_softmax_policy(find_softmax_policy(name)) if name else None


@cache
def kinds_of_shapes() -> np.ndarray:
    """Return the kind of each shape, int64[n + 1]: shapes with the same adjacent points, in any order, share one."""
    codes = all_shapes().codes.astype(np.int64)
    states = [(codes >> 2 * i & 3) + 4 * (codes >> 16 + k & 1) for k, i in enumerate(ADJACENT)]
    kinds = np.unique(np.sort(states, axis=0), axis=1, return_inverse=True)[1] + 1
    kinds[0] = 0
    return kinds


def shared(gradient: np.ndarray) -> np.ndarray:
    """Add to each shape's gradient the sum over all shapes of its kind.

    This is the gradient for weights that are the sum of a shape's own and its kind's. The weights of kinds do most of
    the learning, because most shapes are too rare in the few positions.
    """
    kinds = kinds_of_shapes()
    n = len(kinds)
    of_kinds = [np.bincount(kinds, gradient[part])[kinds] for part in (slice(n), slice(n, 2 * n))]
    return gradient + np.concatenate([*of_kinds, np.zeros(len(OTHERS))])


# What one position adds to the gradient of a `Score`, and its error V* - V: a function of tables and of its number.
_Add = Callable[[Tables, int], float]


def _simulations(targets: Targets, settings: PlayoutSettings) -> tuple[balancing.Score, _Add]:
    """Return how positions are learned from by simulations."""
    size, n = targets.size, settings.simulations
    boards, r, rules = new_boards(2, size), new_rollout(size), make_rules(size, targets.komi)
    score, rng, games = balancing.new_score(size), make_rng(settings.seed), targets.games()

    def add(tables: Tables, i: int) -> float:
        policy = DefaultPolicy(SOFTMAX_POLICY, softmax=tables)
        boards[0] = games[i].board
        # Two sets of simulations, so that the error of the mean and the gradient are independent.
        mean = playouts(boards, policy, r, rules, n, rng)[0] / n
        error = float(targets.value[i]) - mean
        sides = (error, error) if settings.method == BALANCE else (1.0, -1.0)
        balancing.add_simulations(boards, policy, r, rules, n, balancing.Scales(mean, *sides), score, rng)
        return error

    return score, add


def _two_plies(targets: Targets, weights: Weights | None) -> tuple[balancing.Score, _Add]:
    """Return how positions are learned from by a value function, two plies at a time."""
    if weights is None:
        raise RlgoError(f"two_step: expected weights for {targets.size}x{targets.size}")
    weights = weights.for_board(targets.size, "two_step")
    value = VALUES[weights.value]
    two = balancing.new_two_plies(targets.size, weights.table(is_fused=True), value, weights.features.capacity)
    rules, games = make_rules(targets.size, targets.komi), targets.games()

    def add(tables: Tables, i: int) -> float:
        two.boards[0] = games[i].board
        target, mean = balancing.add_two_plies(two, tables, rules)
        return target - mean

    return two.scores[0], add


# ---------------------------------------------------------------------------------------------
# How far outcomes are from targets
# ---------------------------------------------------------------------------------------------


class Measured(NamedTuple):
    """How well the outcomes of simulations by one policy agree with targets."""

    name: str
    positions: int
    bias: float  # the mean of V - V*
    absolute: float  # the mean of |V - V*|
    squared: float  # the mean of (V - V*)^2, less the part due to chance
    outcome: float  # the mean of (z - V*)^2, of single outcomes
    correlation: float | None  # of V and V*; None if either is the same everywhere
    per_second: float  # simulations in a second of one core


def default_policies(learned: dict[str, SoftmaxPolicy]) -> dict[str, DefaultPolicy]:
    """Return the default policies to compare, by name: those that are not learned, and some that are."""
    softmax = {name: DefaultPolicy(SOFTMAX_POLICY, softmax=policy.tables()) for name, policy in learned.items()}
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
        return [_measure(name, policy, chosen, value, simulations, seed, bar) for name, policy in policies.items()]


def _measure(
    name: str, policy: DefaultPolicy, games: list[Game], value: np.ndarray, n: int, seed: int, bar: console.Progress
) -> Measured:
    """Measure one policy on some positions with their targets, by n simulations from each."""
    size = games[0].size
    boards, r, rng = new_boards(2, size), new_rollout(size), make_rng(seed)
    mean, seconds = np.zeros(len(games)), 0.0
    playouts(boards, policy, r, make_rules(size, games[0].komi), 1, rng)  # compiles it
    for i, game in enumerate(games):
        boards[0] = game.board
        began = time.process_time()
        mean[i] = playouts(boards, policy, r, make_rules(size, game.komi), n, rng)[0] / n
        seconds += time.process_time() - began
        bar.update()
    error, variance = mean - value, mean * (1 - mean)
    varies = len(games) > 1 and np.ptp(mean) > 0 and np.ptp(value) > 0
    return Measured(
        name, len(games),
        bias=float(error.mean()),
        absolute=float(np.abs(error).mean()),
        squared=float((error**2 - variance / max(1, n - 1)).mean()),
        outcome=float((variance + error**2).mean()),
        correlation=float(np.corrcoef(mean, value)[0, 1]) if varies else None,
        per_second=len(games) * n / seconds,
    )  # fmt: skip


def balance_table(found: list[Measured]) -> str:
    """Lay out measurements as a table."""
    header = ["policy", "positions", "bias", "|V - V*|", "(V - V*)^2", "(z - V*)^2", "correlation", "simulations/s"]
    rows = [
        [m.name, f"{m.positions:,}", f"{m.bias:+.3f}", f"{m.absolute:.3f}", f"{m.squared:.4f}", f"{m.outcome:.3f}",
         "-" if m.correlation is None else f"{m.correlation:.3f}", f"{m.per_second:,.0f}"]
        for m in found
    ]  # fmt: skip
    return console.table(header, rows, align="lrrrrrrr")
