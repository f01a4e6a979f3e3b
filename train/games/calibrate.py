"""Learn a calibration (`rlgo.play.calibration`) from a player's games against itself.

Start reading at `calibrate`.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.learning.collection import Collection
from rlgo.play.calibration import STAGES, Calibration, calibration_error, fit_calibration, log_loss, write_calibration
from train.console import table
from train.games.collect import origin_of

PARTS = 10  # of the games, for cross-validation


class Positions(NamedTuple):
    """Positions with a search and a result; n of them."""

    values: np.ndarray  # float64[n]: P(Black wins) according to the search
    moves: np.ndarray  # int64[n]: moves played before
    outcomes: np.ndarray  # float64[n]: z
    weights: np.ndarray  # float64[n]: 1 / positions of the same game among them
    part: np.ndarray  # int64[n]: the part of the games that it belongs to, 0 to PARTS - 1


class Calibrated(NamedTuple):
    """The result of `calibrate`: `str` for people.

    Attributes
    ----------
    calibration : learned from all games
    games : number of games
    rows : of the table: for each stage of a game, how values and chances compare with results
    log_loss, calibration_error : of the values and of the chances

    The chances in the table and in both come from calibrations that have not seen the game.
    """

    calibration: Calibration
    games: int
    rows: list[list[str]]
    log_loss: tuple[float, float]
    calibration_error: tuple[float, float]

    def __str__(self) -> str:
        header = ["moves", "positions", "value", "chance", "Black won", "log-loss of values", "of chances"]
        loss, error = self.log_loss, self.calibration_error
        return "\n".join(
            [
                f"{self.games:,} games; in games not learned from:",
                f"log-loss: values {loss[0]:.3f}, chances {loss[1]:.3f}",
                f"expected calibration error: values {error[0]:.3f}, chances {error[1]:.3f}",
                "",
                table(header, self.rows, align="lrrrrrr"),
            ]
        )


def positions_of(games: Collection) -> Positions:
    """Return the positions of a collection that have a search and a result."""
    a = games.arrays
    lengths = a["n_moves"].astype(np.int64)
    moves = np.concatenate([np.arange(n) for n in lengths]) if len(lengths) else np.zeros(0, np.int64)
    outcomes = np.repeat(a["z"].astype(np.float64), lengths)
    part = np.repeat((a["id"] % PARTS).astype(np.int64), lengths)
    known = ~np.isnan(a["value"]) & ~np.isnan(outcomes)
    game = np.repeat(np.arange(len(lengths)), lengths)[known]
    return Positions(
        a["value"].astype(np.float64)[known],
        moves[known],
        outcomes[known],
        1 / np.bincount(game)[game],
        part[known],
    )


def calibrate(games: Collection, path: Path, scale: float = 1.0, lean: float = 0.0) -> Calibrated:
    """Learn a calibration from all games, and write its file, with the two numbers for points.

    What is shown comes from cross-validation: each tenth of the games is judged by a calibration from the others.

    Raises RlgoError for games of several sizes or players, and for too few of them.
    """
    recipe = _recipe_of(games)
    size, found = int(recipe["size"]), positions_of(games)
    if len(np.unique(found.part)) < 2:
        raise RlgoError("too few games with searches and results to calibrate with")
    chances = np.zeros(len(found.values))
    for part in np.unique(found.part):
        others = Positions(*(column[found.part != part] for column in found))
        own = found.part == part
        tried = _fit(others, size)
        chances[own] = _chances(tried, found.values[own], found.moves[own], size)
    losses = log_loss(found.values, found.outcomes), log_loss(chances, found.outcomes)
    errors = calibration_error(found.values, found.outcomes), calibration_error(chances, found.outcomes)
    points = {"scale": (scale,) * len(STAGES), "lean": (lean,) * len(STAGES)}
    result = Calibrated(_fit(found, size)._replace(**points), len(games), _rows(found, chances, size), losses, errors)
    about = {
        "size": size,
        "player": recipe.get("player"),
        "games": len(games),
        "positions": len(found.values),
        "log_loss": losses,
        "calibration_error": errors,
        "origin": origin_of(games),
    }
    write_calibration(path, result.calibration, about)
    return result


def _recipe_of(games: Collection) -> dict[str, Any]:
    """Return the recipe of a collection. RlgoError unless it is of one player on one size."""
    recipes = games.recipes
    if len({(recipe["size"], recipe.get("player")) for recipe in recipes}) != 1:
        raise RlgoError("expected games of one player and one board size: values of different players differ")
    return recipes[0]


def _fit(p: Positions, size: int) -> Calibration:
    """Fit a calibration in which each game counts as one observation."""
    return fit_calibration(p.values, p.moves / size**2, p.outcomes, p.weights)


def _chances(calibration: Calibration, values: np.ndarray, moves: np.ndarray, size: int) -> np.ndarray:
    """Return the chance of each position."""
    pairs = zip(values, moves, strict=True)
    return np.array([calibration.chance(float(value), int(moves), size) for value, moves in pairs])


def _rows(p: Positions, chances: np.ndarray, size: int) -> list[list[str]]:
    """Return the table: for each stage, the means where the values are above and below their median."""
    edges = [round(stage * size * size) for stage in STAGES]
    edges[-1] = int(p.moves.max()) + 1
    rows = []
    for low, high in itertools.pairwise(edges):
        stage = (p.moves >= low) & (p.moves < high)
        if not stage.any():
            continue
        middle = np.median(p.values[stage])
        for half, words in ((stage & (p.values >= middle), "upper half"), (stage & (p.values < middle), "lower half")):
            if half.any():
                z = p.outcomes[half]
                losses = log_loss(p.values[half], z), log_loss(chances[half], z)
                means = p.values[half].mean(), chances[half].mean(), z.mean()
                rows.append([f"{low}-{high - 1}, {words}", f"{half.sum():,}", *(f"{x:.3f}" for x in (*means, *losses))])
    return rows
