"""Learning curves of several runs in Elo, by games of their checkpoints: of a sweep, or of runs laid over one another.

Start reading at `rate_runs`. Every checkpoint plays the reference players (`train.arena.rating_scale`), and the last
weights of each run also play those of others. All are rated together, so that there is one number for each: Elo.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.features.weights import Weights, load_weights
from rlgo.learning.fast_games import FastGames, compile_matches, play_slices
from train.arena.elo import PairResult, Rating, rate
from train.arena.fast import on_common_features, side_by_side
from train.arena.openings import find_openings
from train.arena.rating_scale import NEAREST, RatingScale, load_rating_scale
from train.console import Progress
from train.runs.folder import RunFolder

RIVALS = 10  # other runs whose last weights the last weights of each run play
_CURVE = 5  # an earlier checkpoint plays one game for each of so many that the last weights play
_PROBE = 10  # and so many games of each kind for one against a reference player that may be far away


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
        """Its name among the players."""
        return f"run {self.run} @{self.weights.games}"


def weights_of_run(folder: RunFolder) -> dict[int, Weights]:
    """Return the checkpoints of a run and its last weights, by number of games. RlgoError if it has none."""
    found = {games: load_weights(path) for games, path in folder.saved().items()}
    if folder.weights.is_file():
        last = load_weights(folder.weights)
        found.setdefault(last.games, last)
    found = {games: weights for games, weights in sorted(found.items()) if np.isfinite(weights.theta).all()}
    if not found:
        raise RlgoError(f"{folder.path}: no checkpoint yet")
    return found


def rate_runs(
    runs: Mapping[str, Mapping[int, Weights]], games: int, seed: int, openings: str = "", jobs: int = 1,
    progress: bool = True,
) -> dict[str, list[CurvePoint]]:  # fmt: skip
    """Rate the weights of runs in Elo.

    Parameters
    ----------
    runs : for each name of a run, its weights by number of games of self-play; all for one board size and komi
    games : games of each run's last weights against each opponent, an even number; earlier ones play a fifth
    seed : of the games
    openings : see `train.arena.openings.find_openings`
    jobs : matches at a time

    Returns
    -------
    the learning curve of each run, ascending in games.

    Raises
    ------
    RlgoError : without runs, and for weights of different board sizes or komi.
    """
    entries = [_Entry(run, by[n], n == max(by)) for run, by in runs.items() for n in sorted(by)]
    sizes = {entry.weights.features.size for entry in entries}
    if len(sizes) != 1:
        raise RlgoError(f"runs: expected one board size, not {', '.join(f'{n}x{n}' for n in sorted(sizes)) or 'none'}")
    if len(komi := {entry.weights.komi for entry in entries}) != 1:
        raise RlgoError(f"runs: expected one komi, not {', '.join(f'{k:g}' for k in sorted(komi))}")
    tables = _Table(entries, load_rating_scale(*sizes), openings, jobs, progress)
    seeds = np.random.SeedSequence(seed)
    of_entry = [games if entry.is_last else _even(games / _CURVE) for entry in entries]
    references = range(len(entries), len(tables.names))
    tables.play(
        [_Pairing(a, b, _even(n / _PROBE), seeds.spawn(1)[0]) for a, n in enumerate(of_entry) for b in references],
        "games against all reference players",
    )
    about = [tables.ratings[name].elo for name in tables.names]
    pairings = [
        _Pairing(a, b, of_entry[a], seeds.spawn(1)[0])
        for a in range(len(entries))
        for b in sorted(references, key=lambda b, a=a: abs(about[b] - about[a]))[:NEAREST]  # type: ignore[misc]
    ]
    last = [i for i, entry in enumerate(entries) if entry.is_last]
    pairings += [_Pairing(a, b, games, seeds.spawn(1)[0]) for a, b in _ring(last)]
    tables.play(pairings, "games against the nearest ones, and between runs")
    ratings = tables.ratings
    curves: dict[str, list[CurvePoint]] = {run: [] for run in runs}
    for entry in entries:
        rating = ratings[entry.name]
        curves[entry.run].append(CurvePoint(entry.weights.games, rating.elo, *rating.ci95))
    return curves


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
        self._openings = find_openings(openings, scale.size, self._komi)
        weights = [*(entry.weights for entry in entries), *scale.players.values()]
        self._features, self._thetas = on_common_features(weights, scale.size)
        self._results: list[PairResult] = []
        compile_matches(self._features)

    @property
    def ratings(self) -> dict[str, Rating]:
        """The ratings by all games so far."""
        return {player.name: player for player in rate(self._results, self._scale.elo).players}

    def play(self, pairings: Sequence[_Pairing], what: str) -> None:
        """Play some matches, several at a time; `what` is shown as progress."""
        with (
            Progress(len(pairings), "pairs", what, enabled=self._progress) as bar,
            contextlib.closing(side_by_side(self._slices, pairings, self._jobs)) as met,
        ):
            for p, played in zip(pairings, bar.track(met), strict=True):
                self._results.append(self._scale.result(self.names[p.a], self.names[p.b], played.scores))

    def _slices(self, p: _Pairing) -> Iterator[FastGames]:
        first, thetas = self._openings.array(p.games // 2, p.seed), self._thetas
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
