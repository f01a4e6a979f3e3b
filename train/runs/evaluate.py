"""Ratings of weights and whole training runs, on one scale: learning curves in Elo.

Start reading at `evaluate` for run folders and weight files, at `rate_runs` for weights. All weights play the reference
players (`train.arena.rating_scale`), and the last ones of each run also play those of others. All are rated together.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.machine import processors
from rlgo.base.resources import version
from rlgo.base.settings import FastGames, SeedNumber
from rlgo.features.weights import Weights, load_weights
from rlgo.learning.fast_games import FastGames as PlayedGames
from rlgo.learning.fast_games import compile_matches, play_slices
from train.arena.elo import PairResult, Ratings, rate, table
from train.arena.fast import on_common_features, side_by_side
from train.arena.openings import RANDOM_OPENINGS, find_openings
from train.arena.rating_scale import NEAREST, SCALE, RatingScale, load_rating_scale
from train.config import RunConfig
from train.console import Progress
from train.runs.folder import RunFolder
from train.runs.run import current_weights

RIVALS = 10  # other runs whose last weights the last weights of each run play
_CURVE = 5  # an earlier checkpoint plays one game for each of so many that the last weights play
_PROBE = 10  # and so many games of each kind for one against a reference player that may be far away

# The weights of one run, or of one file, by number of games of self-play.
Curve = Mapping[int, Weights]


class CurvePoint(NamedTuple):
    """The rating of a run after some games.

    Attributes
    ----------
    games : of self-play
    elo, low, high : its Elo, and the 95 % interval of the games played to rate it
    """

    games: int
    elo: float
    low: float
    high: float


@dataclass(frozen=True)
class Evaluation:
    """What `rate_runs` found: `str` for people, `to_json` for files."""

    curves: dict[str, list[CurvePoint]]  # of each run or file, ascending in games
    ratings: Ratings  # of all weights, by `_Entry.name`, and of the reference players (the anchors)
    results: tuple[PairResult, ...]
    size: int
    komi: float
    games: int
    seed: int
    openings: str  # their name

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain data for JSON."""
        pairs = [{"a": r.a, "b": r.b, "score": r.score, "games": r.games, "draws": r.draws} for r in self.results]
        return {
            "games": self.games,
            "size": self.size,
            "komi": self.komi,
            "seed": self.seed,
            "openings": self.openings,
            "rlgo": version(),
            "curves": {name: [list(point) for point in curve] for name, curve in self.curves.items()},
            "pairs": pairs,
            **self.ratings.to_json(),
        }

    def __str__(self) -> str:
        anchors = {player.name for player in self.ratings.players if player.anchor}
        direct = [
            f"{r.a} won {r.score / r.games:.1%} of {r.games:,.0f} games against {r.b}"
            for r in self.results
            if r.b not in anchors
        ]
        lines = [
            f"{self.size}x{self.size}, komi {self.komi:g}, {self.games:,} games a pair, seed {self.seed}. {SCALE};",
            f"openings: {self.openings}; + and - give the 95 % interval. Ratings of reference players are fixed;",
            "weights of earlier checkpoints play fewer games.",
        ]
        return "\n".join([*lines, "", table(self.ratings), *([""] if direct else []), *direct])


# ---------------------------------------------------------------------------------------------
# Folders and files
# ---------------------------------------------------------------------------------------------


def evaluate(
    targets: str | Path | Sequence[str | Path],
    games: int = 1_000,
    seed: int = 1,
    openings: str = RANDOM_OPENINGS,
    progress: bool = True,
) -> Evaluation:
    """Rate the greedy players of weights on the rating scale.

    Parameters
    ----------
    targets : weight files and run folders, one or several, all of one board size and komi. A run folder stands for its
        checkpoints and its last weights; the run may be at work.
    games, seed, openings : see `rate_runs`; the default openings are those of the rating scale
    progress : show progress on standard error

    Raises
    ------
    RlgoError : if a target is missing, damaged, or neither a run nor a weight file; and as `rate_runs` does.
    """
    games, seed = check("games", games, FastGames), check("seed", seed, SeedNumber)
    targets = [targets] if isinstance(targets, str | Path) else check("targets", targets, Sequence)
    paths: dict[Path, Path] = {}
    for target in targets:
        path = check("targets", target, Path)
        paths.setdefault(path.resolve(), path)
    names = [path.name for path in paths]
    runs: dict[str, Curve] = {}
    for whole, path in paths.items():
        if RunFolder(path).exists():
            runs[whole.name if names.count(whole.name) == 1 else str(path)] = weights_of_run(RunFolder(path))
        else:
            weights = _weights_of_file(path)
            runs[str(path)] = {weights.games: weights}
    return rate_runs(runs, games, seed, openings, processors(), progress)


def weights_of_run(folder: RunFolder) -> dict[int, Weights]:
    """Return the checkpoints of a run and its last weights, by number of games. RlgoError if it has none."""
    found = {games: load_weights(path) for games, path in folder.saved().items()}
    last = current_weights(folder.path)
    if last.games:
        found.setdefault(last.games, last)
    found = {games: weights for games, weights in sorted(found.items()) if np.isfinite(weights.theta).all()}
    if not found:
        raise RlgoError(f"{folder.path}: no checkpoint yet")
    return found


def _weights_of_file(path: Path) -> Weights:
    """Read a weight file given in place of a run folder. RlgoError if it is neither."""
    if path.is_dir():
        raise RlgoError(f"{path}: expected the folder of a training run, or a weight file")
    below = Path(RunConfig().out) / path
    if not path.exists() and RunFolder(below).exists():
        raise RlgoError(f"{path}: no such file or folder; did you mean {below}?")
    return load_weights(path)


# ---------------------------------------------------------------------------------------------
# Games and ratings
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pairing:
    """Two players of the matches: their numbers, and how many games they play from which seed."""

    a: int
    b: int
    games: int
    seed: np.random.SeedSequence


@dataclass(frozen=True)
class _Entry:
    """Weights to rate."""

    run: str
    weights: Weights
    is_last: bool

    @property
    def name(self) -> str:
        """Its name among the players; no reference player has one with an @."""
        return f"{self.run} @{self.weights.games:,}"


def rate_runs(
    runs: Mapping[str, Curve], games: int, seed: int, openings: str = "", jobs: int = 1, progress: bool = True
) -> Evaluation:
    """Rate the weights of runs in Elo.

    Parameters
    ----------
    runs : for each name of a run, its weights by number of games of self-play; all for one board size and komi
    games : games of each run's last weights against each opponent, an even number; earlier ones play a fifth
    seed : of the games
    openings : see `train.arena.openings.find_openings`
    jobs : matches at a time

    Raises
    ------
    RlgoError : without runs, and for weights of different board sizes or komi.
    """
    entries = [_Entry(run, by[n], n == max(by)) for run, by in runs.items() for n in sorted(by)]
    if not entries:
        raise RlgoError("ratings: expected at least one weight file or folder of a training run")
    first = entries[0].weights
    for entry in entries:
        one, other = (f"{w.features.size}x{w.features.size}, komi {w.komi:g}" for w in (first, entry.weights))
        if one != other:
            raise RlgoError(f"{entries[0].run} is for {one}, {entry.run} for {other}: expected the same board and komi")
    size = first.features.size
    games_table = _Table(entries, load_rating_scale(size), openings, jobs, progress)
    seeds = np.random.SeedSequence(seed)
    of_entry = [games if entry.is_last else _even(games / _CURVE) for entry in entries]
    references = range(len(entries), len(games_table.names))
    games_table.play(
        [_Pairing(a, b, _even(n / _PROBE), seeds.spawn(1)[0]) for a, n in enumerate(of_entry) for b in references],
        "games against all reference players",
    )
    about = games_table.ratings.elo
    elo = [about[name] for name in games_table.names]
    pairings = [
        _Pairing(a, b, of_entry[a], seeds.spawn(1)[0])
        for a in range(len(entries))
        for b in sorted(references, key=lambda b, a=a: abs(elo[b] - elo[a]))[:NEAREST]  # type: ignore[misc]
    ]
    last = [i for i, entry in enumerate(entries) if entry.is_last]
    pairings += [_Pairing(a, b, games, seeds.spawn(1)[0]) for a, b in _ring(last)]
    games_table.play(pairings, "games against the nearest ones, and between runs")
    ratings = games_table.ratings
    curves: dict[str, list[CurvePoint]] = {run: [] for run in runs}
    for entry in entries:
        rating = ratings[entry.name]
        curves[entry.run].append(CurvePoint(entry.weights.games, rating.elo, *rating.ci95))
    results, name = tuple(games_table.results), games_table.openings.name
    return Evaluation(curves, ratings, results, size, first.komi, games, seed, name)


class _Table:
    """Where the weights play each other and the reference players, and what they scored.

    entries : the weights; their numbers come first, then those of the reference players
    scale : the reference players
    openings, jobs, progress : see `rate_runs`
    """

    def __init__(self, entries: Sequence[_Entry], scale: RatingScale, openings: str, jobs: int, progress: bool):
        self.names = [*(entry.name for entry in entries), *scale.players]
        self._scale, self._jobs, self._progress = scale, jobs, progress
        self._komi = entries[0].weights.komi
        self.openings = find_openings(openings, scale.size, self._komi)
        weights = [*(entry.weights for entry in entries), *scale.players.values()]
        self._features, self._thetas = on_common_features(weights, scale.size)
        self.results: list[PairResult] = []
        compile_matches(self._features)

    @property
    def ratings(self) -> Ratings:
        """The ratings by all games so far."""
        return rate(self.results, self._scale.elo)

    def play(self, pairings: Sequence[_Pairing], what: str) -> None:
        """Play some matches, several at a time; `what` is shown as progress."""
        with (
            Progress(len(pairings), "pairs", what, enabled=self._progress) as bar,
            contextlib.closing(side_by_side(self._slices, pairings, self._jobs)) as met,
        ):
            for p, played in zip(pairings, bar.track(met), strict=True):
                self.results.append(self._scale.result(self.names[p.a], self.names[p.b], played.scores))

    def _slices(self, p: _Pairing) -> Iterator[PlayedGames]:
        first, thetas = self.openings.array(p.games // 2, p.seed), self._thetas
        return play_slices(self._features, thetas[p.a], thetas[p.b], p.games, p.seed, self._komi, first)


def _even(games: float) -> int:
    """Return an even number of games, at least 2."""
    return max(2, round(games / 2) * 2)


def _ring(last: list[int]) -> list[tuple[int, int]]:
    """Return who plays whom among the last weights: each plays the next ones, all others if there are few."""
    n = len(last)
    steps = range(1, min(RIVALS // 2, n // 2) + 1)
    pairs = {tuple(sorted((last[i], last[(i + k) % n]))) for i in range(n) for k in steps}
    return sorted((a, b) for a, b in pairs if a != b)
