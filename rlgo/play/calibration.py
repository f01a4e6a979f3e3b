"""Calibration: turn the value of a search into the chance of winning, and its score into points that agree with it.

Start reading at `Calibration.chance`. The value of a tree search is a mean over simulations, whose default policy plays
far worse than the search. It orders positions well, but early in a game it is squeezed towards one half: a position
with a value of 0.6 may be won three times out of four. A calibration is learned from games of the player
(`rlgo games calibrate`) by logistic regression, a method known as Platt scaling (Platt 1999), here with coefficients
that depend on how far the game has got.

J. Platt: Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods, Advances
in Large Margin Classifiers, 1999.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rlgo.base.archive import read_archive, write_archive
from rlgo.base.errors import RlgoError

STAGES = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0)  # moves played, as a share of the points of the board
FORMAT, VERSION = "rlgo-calibration", 2
_EDGE = 1e-3  # values closer to 0 or 1 count as this close
# Penalties on the differences between neighbouring stages, and on a bias and slopes other than 1, in units of a game:
# the best of a grid in cross-validation on 9x9, 13x13 and 19x19, where there are least games and they matter most.
_SMOOTHNESS, _RIDGE = 1.0, 0.1


class Calibration(NamedTuple):
    """A map from values to chances of winning, and from scores to points, with numbers for each of `STAGES`.

    logit(chance) = bias + slope * logit(value), and points = scale * score + lean * tanh(2 logit(chance)): a sure win
    adds `lean` points, and a chance of 60 % two thirds of them, so that score and chance agree about who is ahead.

    Attributes
    ----------
    bias, black, white : the bias, and the slopes for values above and below one half; between stages, all numbers are
        interpolated
    scale, lean : of points; lean is in points

    >>> import rlgo
    >>> squeezed = rlgo.Calibration(bias=(0.0,) * 8, black=(2.0,) * 8, white=(3.0,) * 8)
    >>> round(squeezed.chance(0.6, moves=10, size=9), 3), round(squeezed.chance(0.4, moves=10, size=9), 3)
    (0.692, 0.229)
    """

    bias: tuple[float, ...]
    black: tuple[float, ...]
    white: tuple[float, ...]
    scale: tuple[float, ...] = (1.0,) * len(STAGES)
    lean: tuple[float, ...] = (0.0,) * len(STAGES)

    def chance(self, value: float, moves: int, size: int) -> float:
        """Return P(Black wins).

        Parameters
        ----------
        value : P(Black wins) according to a search
        moves : moves played so far, passes included
        size : of the board
        """
        (bias, black, white, *_), x = self._at(moves, size), float(_logit(value))
        return 1 / (1 + math.exp(-bias - (black if x > 0 else white) * x))

    def points(self, score: float, chance: float, moves: int, size: int) -> float:
        """Return Black's expected points, given the score according to a search, and the chance by its value."""
        *_, scale, lean = self._at(moves, size)
        return scale * score + lean * math.tanh(2 * float(_logit(chance)))

    def _at(self, moves: int, size: int) -> list[float]:
        return [float(np.interp(moves / (size * size), STAGES, numbers)) for numbers in self]


def _logit(values: Any) -> np.ndarray:
    """Return the logits of values; those near 0 or 1 are moved away from it."""
    p = np.clip(values, _EDGE, 1 - _EDGE)
    return np.log(p / (1 - p))


def fit_calibration(
    values: ArrayLike, stages: ArrayLike, outcomes: ArrayLike, weights: ArrayLike | None = None
) -> Calibration:
    """Fit a calibration to positions with known outcomes: penalised logistic regression by Newton's method.

    Parameters
    ----------
    values : P(Black wins) of n positions, according to a search
    stages : moves played in each, as a share of the points of the board
    outcomes : z of its game: 1 Black won, 0 White won, 0.5 a draw
    weights : of the positions, by default 1. Those of a game share its outcome, and should have a sum of 1

    Raises
    ------
    RlgoError : without positions
    """
    x, t, z = _logit(np.asarray(values, np.float64)), np.asarray(stages, np.float64), np.asarray(outcomes, np.float64)
    if not len(x):
        raise RlgoError("no positions with a search and a result: expected some to calibrate with")
    weight = np.ones(len(x)) if weights is None else np.asarray(weights, np.float64)
    knots = len(STAGES)
    hats = np.stack([np.interp(t, STAGES, row) for row in np.eye(knots)], axis=1)  # shares of the stages: n x knots
    design = np.concatenate([hats, hats * np.maximum(x, 0)[:, None], hats * np.minimum(x, 0)[:, None]], axis=1)
    differences = np.diff(np.eye(knots), axis=0)
    penalty = np.kron(np.eye(3), _SMOOTHNESS * differences.T @ differences + _RIDGE * np.eye(knots))
    centre = np.repeat([0.0, 1.0, 1.0], knots)
    w = centre.copy()
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ w))
        gradient = design.T @ (weight * (p - z)) + penalty @ (w - centre)
        step = np.linalg.solve((design * (weight * p * (1 - p))[:, None]).T @ design + penalty, gradient)
        w -= step
        if np.abs(step).max() < 1e-9:
            break
    bias, black, white = w.reshape(3, knots).tolist()
    return Calibration(tuple(bias), tuple(black), tuple(white))


def log_loss(chances: np.ndarray, outcomes: np.ndarray) -> float:
    """Return the mean log-loss of predictions of z, in nats."""
    p = np.clip(chances, _EDGE, 1 - _EDGE)
    return float(-np.mean(outcomes * np.log(p) + (1 - outcomes) * np.log(1 - p)))


def calibration_error(chances: np.ndarray, outcomes: np.ndarray) -> float:
    """Return the expected calibration error: by tenths, the mean distance of predictions of z from its frequency."""
    tenth = np.minimum((10 * chances).astype(np.int64), 9)
    return float(np.abs(np.bincount(tenth, chances - outcomes)).sum() / max(1, len(chances)))


# ---------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------


def write_calibration(path: Path, calibration: Calibration, about: dict[str, Any]) -> None:
    """Write a calibration into an archive. `about` says how it was made: size, games, origin ..."""
    meta = {"format": FORMAT, "version": VERSION, **about}
    write_archive(path, meta, {name: np.array(c) for name, c in calibration._asdict().items()})


def read_calibration(path: Path) -> Calibration:
    """Read a file that `write_calibration` wrote. RlgoError if it is anything else."""
    meta, arrays = read_archive(path, "calibration", FORMAT, VERSION)
    if meta["version"] == 1:
        arrays.pop("lean", None)  # of the logit itself
    names = [name for name in Calibration._fields if name in arrays or name not in Calibration._field_defaults]
    found = [np.asarray(arrays[name], np.float64) for name in names]
    if any(c.shape != (len(STAGES),) or not np.isfinite(c).all() for c in found):
        raise RlgoError(f"{path}: expected {len(STAGES)} finite numbers a coefficient")
    return Calibration(**{name: tuple(c.tolist()) for name, c in zip(names, found, strict=True)})
