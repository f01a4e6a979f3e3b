"""Two training runs against each other: games between their weights, now and at equal numbers of games.

Start reading at `compare`. A weight file may stand in for a run: it has one age, and meets all ages of the other.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from rlgo.diff import settings
from rlgo.errors import RlgoError
from rlgo.exchange import load_any
from rlgo.weights import Weights, load_weights
from train.arena.fast import play_weights
from train.runs.folder import RunFolder
from train.runs.run import current_weights
from train.stats import clustered_interval, in_percent

_OWN_NAMES = ("run.name", "run.out")  # differ between any two runs, and say nothing


@dataclass(frozen=True)
class Side:
    """One of the two: a run, or a weight file."""

    name: str
    weights: Weights  # the last ones
    checkpoints: dict[int, Path] = field(default_factory=dict)  # by games; none of a file
    config: dict[str, Any] = field(default_factory=dict)  # by section.key, as far as it is known
    metrics: list[dict[str, float]] = field(default_factory=list)  # the lines of metrics.jsonl


@dataclass(frozen=True)
class Point:
    """What A won against B."""

    games_a: int  # games of self-play behind A's weights
    games_b: int
    win_rate: float
    ci95: tuple[float, float]  # see `stats.clustered_interval`


@dataclass(frozen=True)
class Comparison:
    """What `compare` finds."""

    a: Side
    b: Side
    last: Point  # between the last weights
    curve: list[Point]  # at equal numbers of games, ascending; a file is always of its own age
    differences: dict[str, tuple[Any, Any]]  # settings by section.key; None where one side does not tell
    games: int  # of every point
    seed: int
    komi: float

    def to_json(self) -> dict[str, Any]:
        """As what `json` can write."""
        return {
            "a": self.a.name,
            "b": self.b.name,
            "last": vars(self.last),
            "curve": [vars(point) for point in self.curve],
            "differences": self.differences,
            "games": self.games,
            "seed": self.seed,
            "komi": self.komi,
        }

    def __str__(self) -> str:
        a, b = self.a.weights, self.b.weights
        lines = [f"{letter}  {s.name}: {s.weights.features.name}" for letter, s in (("A", self.a), ("B", self.b))]
        lines += ["", f"{'games of A':>14s}{'of B':>14s}   A won (95 % interval), of {self.games:,} games each"]
        for point in [*self.curve, self.last]:
            last = "   their last weights" if point is self.last else ""
            lines.append(f"{point.games_a:14,d}{point.games_b:14,d}   {in_percent(point.win_rate, point.ci95)}{last}")
        if a.komi != b.komi:
            lines += ["", f"komi {self.komi:g}, as A learned; B learned with {b.komi:g}"]
        if not self.differences:
            return "\n".join([*lines, "", "no setting is known to differ"])
        rows = [(key, _told(x), _told(y)) for key, (x, y) in self.differences.items()]
        width = [max(len(row[i]) for row in [("", "A", "B"), *rows]) for i in range(3)]
        lines += ["", f"{'differs':{width[0]}s}  {'A':{width[1]}s}  B"]
        lines += [f"{key:{width[0]}s}  {x:{width[1]}s}  {y}" for key, x, y in rows]
        return "\n".join(lines)


def _told(value: Any) -> str:
    return "-" if value is None else json.dumps(value)


def compare(
    a: str | Path, b: str | Path, games: int = 1_000, seed: int = 1, progress: bool | None = None
) -> Comparison:
    """Play the greedy players of two runs against each other, inside compiled code.

    Parameters
    ----------
    a, b : run folders, finished, interrupted or at work, or weight files; of any feature sets
    games : of every point, an even number, for every opening is played with both colours
    seed : of the openings, the same ones at every point; and the same as those of `rlgo match --fast`
    progress : show a progress bar on stderr; None: where stderr is a terminal

    Raises
    ------
    RlgoError : for what is neither, is damaged, or is for boards of different sizes.
    """
    if games < 2 or games % 2:
        raise RlgoError(f"games = {games}: expected an even number, for every opening is played twice")
    left, right = _side(a), _side(b)
    size, komi = left.weights.features.size, left.weights.komi
    if right.weights.features.size != size:
        n = right.weights.features.size
        raise RlgoError(f"{a} is for {size}x{size}, {b} for {n}x{n}: expected two of one board size")

    def point(x: Weights, y: Weights) -> Point:
        scores = play_weights(x, y, size, games, seed=seed, komi=komi).scores
        return Point(x.games, y.games, float(scores.mean()), clustered_interval(scores.tolist()))

    curve = []
    ages = _common_ages(left, right)
    with tqdm(total=len(ages) + 1, unit=" points", disable=None if progress is None else not progress) as bar:
        for age in ages:
            curve.append(point(_at(left, age), _at(right, age)))
            bar.update()
        last = point(left.weights, right.weights)
        bar.update()
    return Comparison(left, right, last, curve, _differences(left.config, right.config), games, seed, komi)


def _side(path: str | Path) -> Side:
    folder = RunFolder(path)
    if folder.exists():
        weights = current_weights(path)
        # The config as it stands: it may be of another version of rlgo.
        config = settings(folder.config.read_text("utf-8"))
        return Side(str(path), weights, folder.saved(), config, _metrics(folder.metrics))
    if not folder.path.is_file():
        raise RlgoError(f"{path}: expected the folder of a training run, or a weight file")
    weights = load_any(path)
    f = weights.features
    known = {
        "board.size": f.size,
        "board.komi": weights.komi,
        "features.sizes": list(f.sizes),
        "features.sharing": f.sharing,
        "learning.value": weights.value,
    }
    return Side(str(path), weights, config={**known, **settings(weights.provenance.get("config", ""))})


def _metrics(path: Path) -> list[dict[str, float]]:
    points = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        try:
            points.append(json.loads(line))
        except ValueError:  # the last line of a run at work
            continue
    return points


def _common_ages(a: Side, b: Side) -> list[int]:
    """The numbers of games of which both have checkpoints, but for that of the last weights of both."""
    runs = [side for side in (a, b) if side.checkpoints]
    ages = set.intersection(*(set(side.checkpoints) for side in runs)) if runs else set()
    return sorted(age for age in ages if any(side.weights.games != age for side in runs))


def _at(side: Side, games: int) -> Weights:
    return load_weights(side.checkpoints[games]) if side.checkpoints else side.weights


def _differences(a: dict[str, Any], b: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    # A file without a config tells a few settings: then these are compared.
    partial = any("run.games" not in config for config in (a, b))
    keys = [key for key in a if key in b] if partial else list(a | b)
    return {key: (a.get(key), b.get(key)) for key in keys if key not in _OWN_NAMES and a.get(key) != b.get(key)}
