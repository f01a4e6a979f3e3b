"""Compare two training runs by games between their weights, at the end and at equal numbers of games.

Start reading at `compare`. A weight file can take the place of a run: it plays all checkpoints of the other run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.settings import FastGames, SeedNumber
from rlgo.features.diff import settings
from rlgo.features.weights import Weights, load_weights
from rlgo.learning.fast_games import joined
from train import console
from train.arena.fast import play_weights
from train.arena.openings import find_openings
from train.config import RunConfig
from train.console import Progress
from train.runs.folder import RunFolder
from train.runs.run import current_weights
from train.stats import clustered_interval, in_percent

_OWN_NAMES = ("run.name", "run.out")  # differ between any two runs, without effect


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a run or a weight file."""

    name: str
    weights: Weights  # the last ones
    checkpoints: dict[int, Path] = field(default_factory=dict)  # by number of games; a file has none
    config: dict[str, Any] = field(default_factory=dict)  # by section.key, as far as known
    metrics: list[dict[str, float]] = field(default_factory=list)  # the lines of metrics.jsonl


@dataclass(frozen=True)
class Point:
    """A's win rate against B for one pair of weights."""

    games_a: int  # games of self-play behind A's weights
    games_b: int
    win_rate: float
    ci95: tuple[float, float]  # see `stats.clustered_interval`


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`."""

    a: Side
    b: Side
    last: Point  # between their last weights
    curve: list[Point]  # at equal numbers of games, ascending; a file always has its own
    differences: dict[str, tuple[Any, Any]]  # settings by section.key; None if not known
    games: int  # per point
    seed: int
    komi: float
    openings: str  # their name
    interrupted: bool = False  # by Ctrl-C: the curve has fewer points

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain data for JSON."""
        return {
            "a": self.a.name,
            "b": self.b.name,
            "last": vars(self.last),
            "curve": [vars(point) for point in self.curve],
            "differences": self.differences,
            "games": self.games,
            "seed": self.seed,
            "komi": self.komi,
            "openings": self.openings,
            "interrupted": self.interrupted,
        }

    def __str__(self) -> str:
        a, b = self.a.weights, self.b.weights
        lines = [f"{letter}  {s.name}: {s.weights.features.name}" for letter, s in (("A", self.a), ("B", self.b))]
        lines += [
            "",
            f"{'games of A':>14s}{'of B':>14s}   A won (95 % interval), of {self.games:,} games each",
        ]
        for point in [*self.curve, self.last]:
            last = "   their last weights" if point is self.last else ""
            lines.append(f"{point.games_a:14,d}{point.games_b:14,d}   {in_percent(point.win_rate, point.ci95)}{last}")
        if self.interrupted:
            lines += ["", "interrupted: points are missing"]
        lines += ["", f"openings: {self.openings}"]
        if a.komi != b.komi:
            lines += ["", f"komi {a.komi:g}, as in A's training; B was trained with komi {b.komi:g}"]
        if not self.differences:
            return "\n".join([*lines, "", "no known differences between their settings"])
        rows = [(key, _text(x), _text(y)) for key, (x, y) in self.differences.items()]
        return "\n".join([*lines, "", console.table(("differs", "A", "B"), rows)])


def _text(value: Any) -> str:
    """Format the value of a setting; "-" if it is not known."""
    return "-" if value is None else json.dumps(value)


def compare(
    a: str | Path, b: str | Path, games: int = 1_000, seed: int = 1, progress: bool = True, openings: str = ""
) -> Comparison:
    """Play the greedy players of two runs against each other, in compiled code.

    Parameters
    ----------
    a, b : run folders (finished, interrupted or running) or weight files, with any feature sets
    games : games per point, an even number because each opening is played with both colours
    seed : seed of the openings, which are the same at every point and the same as in `rlgo match --fast`
    progress : show progress on standard error
    openings : see `train.arena.openings.find_openings`

    Returns
    -------
    the comparison. After Ctrl-C it has the points that were finished, and is marked `interrupted`.

    Raises
    ------
    RlgoError : if a side is neither a run nor a weight file, is damaged, or has another board size.
    KeyboardInterrupt : if Ctrl-C comes during the games between the last weights, which are played first.
    """
    games, seed = check("games", games, FastGames), check("seed", seed, SeedNumber)
    a, b = check("a", a, Path), check("b", b, Path)
    left, right = _side(a), _side(b)
    size, komi = left.weights.features.size, left.weights.komi
    if right.weights.features.size != size:
        n = right.weights.features.size
        raise RlgoError(f"{a} is for {size}x{size}, {b} for {n}x{n}: expected the same board size")
    found = find_openings(openings, size, komi)
    first = found.array(games // 2, seed)

    def point(x: Weights, y: Weights) -> Point:
        scores = joined(play_weights(x, y, size, games, seed=seed, komi=komi, openings=first)).scores
        return Point(x.games, y.games, float(scores.mean()), clustered_interval(scores.tolist()))

    curve, interrupted = [], False
    ages = _common_ages(left, right)
    with Progress(len(ages) + 1, "points", enabled=progress) as bar:
        last = point(left.weights, right.weights)
        bar.update()
        try:
            for age in ages:
                curve.append(point(_at(left, age), _at(right, age)))
                bar.update()
        except KeyboardInterrupt:
            interrupted = True
    differences = _differences(left.config, right.config)
    return Comparison(left, right, last, curve, differences, games, seed, komi, found.name, interrupted)


def weights_of_file(path: str | Path) -> Weights:
    """Read a weight file given in place of a run folder. RlgoError if it is neither."""
    path = Path(path)
    if path.is_dir():
        raise RlgoError(f"{path}: expected the folder of a training run, or a weight file")
    below = Path(RunConfig().out) / path
    if not path.exists() and RunFolder(below).exists():
        raise RlgoError(f"{path}: no such file or folder; did you mean {below}?")
    return load_weights(path)


def _side(path: str | Path) -> Side:
    """Read a run or a weight file."""
    folder = RunFolder(path)
    if folder.exists():
        weights = current_weights(path)
        # Read as plain TOML, because another version of rlgo may have written it.
        config = settings(folder.config.read_text("utf-8"))
        return Side(str(path), weights, folder.saved(), config, folder.read_metrics().lines)
    weights = weights_of_file(path)
    f = weights.features
    known = {
        "board.size": f.size,
        "board.komi": weights.komi,
        "features.sizes": list(f.sizes),
        "features.sharing": f.sharing,
        "features.windows": list(f.others),
        "features.liberty_sharing": f.liberty_sharing,
        "learning.value": weights.value,
    }
    return Side(str(path), weights, config={**known, **settings(weights.provenance.get("config", ""))})


def _common_ages(a: Side, b: Side) -> list[int]:
    """Return the numbers of games at which both have checkpoints, except that of the last weights of both."""
    runs = [side for side in (a, b) if side.checkpoints]
    ages = set.intersection(*(set(side.checkpoints) for side in runs)) if runs else set()
    return sorted(age for age in ages if any(side.weights.games != age for side in runs))


def _at(side: Side, games: int) -> Weights:
    """Return the weights after a number of games; those of a file are always the same."""
    return load_weights(side.checkpoints[games]) if side.checkpoints else side.weights


def _differences(a: dict[str, Any], b: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ, by section.key."""
    # A weight file without a config records only a few settings, so only those are compared.
    partial = any("run.games" not in config for config in (a, b))
    keys = [key for key in a if key in b] if partial else list(a | b)
    return {key: (a.get(key), b.get(key)) for key in keys if key not in _OWN_NAMES and a.get(key) != b.get(key)}
