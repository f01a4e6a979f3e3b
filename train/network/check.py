"""What is wrong with a network: illegal moves in its policy, values of the wrong side, or of another range.

Start reading at `check_network`, which lets a network evaluate positions of games whose outcomes are
known. Its outputs are looked at before anything is masked or refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mcts.outside.checked import CheckedNetwork
from mcts.outside.evaluator import ROUNDING, illegal_mass, numbers_of, read_answers
from rlgo.base.errors import RlgoError
from rlgo.base.user_code import guarded
from rlgo.features.planes import N_SYMMETRIES, apply_symmetry
from rlgo.go.board import BLACK, WHITE
from rlgo.learning.batches import GameData
from rlgo.network.policy_network import PolicyNetwork
from rlgo.play.calibration import calibration_error
from train.console import table

_BATCH = 512
_BINS = 10
_LEAST = 1e-6  # a probability, in place of 0
_MOST_ILLEGAL = 0.1  # of a policy, that is no problem
_CLEAR = 3.0  # standard errors, over games, from which on a difference of losses is one


class Bin(NamedTuple):
    """The positions whose values are in one tenth of 0 to 1: their number, mean value, and how often Black won."""

    positions: int
    value: float
    won: float


class Checked(NamedTuple):
    """What was found.

    Attributes
    ----------
    positions, games : how many there are
    illegal : mean probability of illegal moves together, before they are left out; NaN without a policy
    losses : by colour to play, the log-losses of v and of 1 - v; empty without values
    bins : by tenths of v, those with positions
    calibration_error : the mean distance of v from the frequency of its bin; NaN without values
    problems : a sentence for each
    """

    positions: int
    games: int
    illegal: float
    losses: Mapping[str, tuple[float, float]]
    bins: list[Bin]
    calibration_error: float
    problems: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain data; None, as JSON has no NaN, where nothing is known."""
        found = {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in self._asdict().items()}
        return found | {"bins": [b._asdict() for b in self.bins]}


def check_network(network: PolicyNetwork, data: GameData) -> Checked:
    """Check a network on positions of games. RlgoError if its answers cannot be read at all."""
    evaluator = network.evaluator if isinstance(network, CheckedNetwork) else network
    problems: list[str] = []
    policies, legal, values, z, to_play, game = ([] for _ in range(6))
    if hasattr(evaluator, "warm_up"):
        evaluator.warm_up(data.size)
    for first in range(0, len(data), _BATCH):
        which = np.arange(first, min(first + _BATCH, len(data)))
        positions, batch = data.positions(which, network.history), data.take(which)
        answer = guarded("evaluator", evaluator, positions)
        v = answer.get("value") if isinstance(answer, Mapping) else None
        if v is not None:
            answer = {name: entry for name, entry in answer.items() if name != "value"}
            values.append(numbers_of("value", v, np.shape(v), np.float64).reshape(-1))
            if len(values[-1]) != len(which):
                raise RlgoError(f"evaluator: value has shape {np.shape(v)}: expected {(len(which),)}")
        answers = read_answers(answer, len(which), data.size**2).answers
        legal.append(positions.legal())
        policies.append(answers)
        z.append(np.where(batch.to_play == BLACK, batch.z, 1 - batch.z))
        to_play.append(batch.to_play)
        game.append(batch.game)
    colors, games = np.concatenate(to_play), np.concatenate(game)
    illegal = _look_at_policy(policies, legal, problems)
    losses: dict[str, tuple[float, float]] = {}
    bins, error = list[Bin](), math.nan
    if values:
        black, known = _in_range(np.concatenate(values), problems), ~np.isnan(np.concatenate(z))
        p, won = np.clip(black[known], _LEAST, 1 - _LEAST), np.concatenate(z)[known]
        losses = _look_at_sides(p, won, colors[known], games[known], problems)
        bins = _bins_of(p, won)
        error = calibration_error(p, won)
    return Checked(len(data), len(np.unique(games)), illegal, losses, bins, error, problems)


def _look_at_policy(answers: list[Any], legal: list[np.ndarray], problems: list[str]) -> float:
    """Return the mean probability of illegal moves, NaN without a policy."""
    mass = _mean_illegal(answers, legal)
    if mass > _MOST_ILLEGAL:
        turned = [_mean_illegal(answers, [apply_symmetry(x, g) for x in legal]) for g in range(N_SYMMETRIES)]
        g = int(np.argmin(turned))
        order = (
            f"it is {turned[g]:.1%} if the board is turned by symmetry {g} of rlgo.apply_symmetry: "
            if turned[g] < mass / 2
            else "it has learned little, or "
        )
        problems.append(
            f"policy: {mass:.1%} of it is on illegal moves; {order}its moves are in another order than "
            "row * size + column from A1, the pass last"
        )
    return mass


def _mean_illegal(answers: list[Any], legal: list[np.ndarray]) -> float:
    if not len(answers[0].policy):
        return math.nan
    return float(np.concatenate([illegal_mass(a, x) for a, x in zip(answers, legal, strict=True)]).mean())


def _in_range(v: np.ndarray, problems: list[str]) -> np.ndarray:
    """Return values as P(Black wins); RlgoError for those that can be no such thing."""
    low, high = float(np.min(v)), float(np.max(v))
    if not (low >= -1 - ROUNDING and high <= 1 + ROUNDING):  # NaN, too
        raise RlgoError(f"evaluator: value from {low:.4g} to {high:.4g}: expected P(Black wins), 0 to 1")
    if low < -ROUNDING:
        problems.append(f"value: from {low:.2f} to {high:.2f}, in [-1, 1] in place of [0, 1]: expected (1 + v) / 2")
        return (1 + v) / 2
    return v


def _look_at_sides(
    p: np.ndarray, won: np.ndarray, colors: np.ndarray, games: np.ndarray, problems: list[str]
) -> dict[str, tuple[float, float]]:
    """Return the losses of v and of 1 - v by colour to play, and tell whose values they seem to be."""
    as_told, flipped = (-(won * np.log(x) + (1 - won) * np.log(1 - x)) for x in (p, 1 - p))
    losses, is_flipped = {}, {}
    for name, color in (("Black", BLACK), ("White", WHITE)):
        own = colors == color
        if own.any():
            losses[name] = float(as_told[own].mean()), float(flipped[own].mean())
            is_flipped[name] = _is_clear(as_told[own] - flipped[own], games[own])
    whose = {(False, True): "the side to play", (True, False): "the other side", (True, True): "White"}
    if (found := (is_flipped.get("Black", False), is_flipped.get("White", False))) in whose:
        worse = " and ".join(name for name, is_worse in is_flipped.items() if is_worse)
        problems.append(
            f"value: with {worse} to play, 1 - v predicts the outcome better than v: it looks like the chance of "
            f"{whose[found]}: expected P(Black wins), whoever is to play"
        )
    elif _is_clear(as_told - math.log(2), games):
        problems.append(f"value: its log-loss is {as_told.mean():.3f}: 1/2 everywhere, 0.693, would predict better")
    return losses


def _is_clear(x: np.ndarray, games: np.ndarray) -> bool:
    """Return whether the mean of x is above 0, by its standard error over games: positions of one are no evidence."""
    _, which = np.unique(games, return_inverse=True)
    sums, n = np.bincount(which, x), np.bincount(which)
    if len(n) < 2:
        return False
    mean = sums.sum() / n.sum()
    error = np.sqrt(((sums - mean * n) ** 2).sum() * len(n) / (len(n) - 1)) / n.sum()
    return bool(mean > _CLEAR * error)


def _bins_of(p: np.ndarray, won: np.ndarray) -> list[Bin]:
    which = np.minimum((p * _BINS).astype(np.int64), _BINS - 1)
    chosen = (which == k for k in np.unique(which))
    return [Bin(int(own.sum()), float(p[own].mean()), float(won[own].mean())) for own in chosen]


def checked_text(c: Checked) -> str:
    """Lay out what was found."""
    lines = [f"{c.positions:,} positions of {c.games:,} games"]
    lines.append("no policy" if math.isnan(c.illegal) else f"policy on illegal moves: {c.illegal:.1%}")
    if c.bins:
        rows = [[f"{b.value:.2f}", f"{b.won:.2f}", f"{b.positions:,}"] for b in c.bins]
        lines.append(table(["value", "Black won", "positions"], rows, align="rrr"))
        lines.append(f"expected calibration error: {c.calibration_error:.3f}")
        lines += [f"log-loss with {name} to play: {v:.3f}; of 1 - v: {w:.3f}" for name, (v, w) in c.losses.items()]
    else:
        lines.append("no values")
    return "\n".join([*lines, *c.problems] if c.problems else [*lines, "nothing wrong found"])
