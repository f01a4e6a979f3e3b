"""Rate checkpoints, weight files and whole runs by games against the reference players and each other.

Start reading at `evaluate`, then `pairs_of`, which chooses the pairs that do not include a reference player.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.resources import version
from rlgo.base.settings import EvenCount, FastGames, Komi, SeedNumber
from rlgo.features.weights import Weights, load_weights
from rlgo.learning.fast_games import compile_matches, play_fast
from train.arena.elo import PairResult, Ratings, rate, table
from train.arena.fast import on_common_features
from train.arena.openings import RANDOM_OPENINGS, Openings, find_openings
from train.arena.rating_scale import SCALE, RatingScale, load_rating_scale
from train.console import Progress, message
from train.runs.compare import weights_of_file
from train.runs.folder import RunFolder
from train.runs.run import current_weights
from train.runs.strength import GNUGO_NAME, need_gnugo, play_gnugo

NEIGHBOURS = 3  # earlier checkpoints of its run that each set of weights plays


@dataclass(frozen=True)
class Entrant:
    """Weights to be rated, which play greedily."""

    name: str  # the run and its number of games, or the file as given; never that of a reference player
    weights: Weights
    run: str = ""  # name of the run, if they belong to one
    is_last: bool = False  # whether they are the last weights of a run


@dataclass(frozen=True)
class Evaluation:
    """The result of `evaluate`."""

    entrants: tuple[Entrant, ...]
    # Of the entrants, by name, of the reference players (the anchors), and of `GNUGO_NAME` if it played.
    ratings: Ratings
    results: tuple[PairResult, ...]
    games: int  # per pair
    size: int
    komi: float
    seed: int
    openings: str  # their name
    interrupted: bool = False  # by Ctrl-C: some pairs have not played

    def curves(self) -> dict[str, list[tuple[int, str]]]:
        """Return, for each run, the number of games and the name of each of its weights, ascending."""
        out: dict[str, list[tuple[int, str]]] = {}
        for entrant in self.entrants:
            if entrant.run:
                out.setdefault(entrant.run, []).append((entrant.weights.games, entrant.name))
        return out

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
            "selfplay_games": {entrant.name: entrant.weights.games for entrant in self.entrants},
            "interrupted": self.interrupted,
            "pairs": pairs,
            **self.ratings.to_json(),
        }

    def __str__(self) -> str:
        los = len(self.ratings.players) <= 10
        lines = [
            f"{self.size}x{self.size}, komi {self.komi:g}, {self.games:,} games a pair, seed {self.seed}. {SCALE};",
            f"openings: {self.openings}; + and - give the 95 % interval. Ratings of reference players are fixed."
            + (" LOS is the likelihood that one is stronger." if los else ""),
        ]
        if self.interrupted:
            lines.append(f"Interrupted after {len(self.results)} pairs. The same command starts over.")
        return "\n".join([*lines, "", table(self.ratings, los)])


def evaluate(
    targets: str | Path | Sequence[str | Path],
    games: int = 1_000,
    seed: int = 1,
    komi: float | None = None,
    gnugo: int = 0,
    progress: bool = True,
    openings: str = RANDOM_OPENINGS,
) -> Evaluation:
    """Rate the greedy players of weights on the rating scale (`train.arena.rating_scale`).

    Parameters
    ----------
    targets : weight files and run folders, one or several, all of one board size. A run folder stands for its
        checkpoints and its last weights.
    games : games per pair, an even number because each opening is played with both colours
    seed : seed of the openings
    komi : None: the komi that the weights were trained with
    gnugo : games of each file, and of each run's last weights, against GNU Go level 0; an even number
    progress : show progress on standard error
    openings : see `train.arena.openings.find_openings`; the default is that of the rating scale

    Returns
    -------
    Evaluation
        After Ctrl-C, it covers the pairs that have played, and is marked `interrupted`.

    Raises
    ------
    RlgoError : if a target is missing, damaged, or neither a run nor a weight file; for different board sizes or komi;
        for odd numbers of games; if GNU Go is needed and not installed
    KeyboardInterrupt : after Ctrl-C, if too few pairs have played to rate all entrants
    """
    games, gnugo = check("games", games, FastGames), check("gnugo", gnugo, EvenCount)
    seed, komi = check("seed", seed, SeedNumber), check("komi", komi, Komi | None)
    targets = [targets] if isinstance(targets, str | Path) else check("targets", targets, Sequence)
    if gnugo:
        need_gnugo()
    entrants = _entrants(targets)
    size = entrants[0].weights.features.size
    komi = _komi(entrants) if komi is None else komi
    scale, found = load_rating_scale(size), find_openings(openings, size, komi)
    results: list[PairResult] = []
    try:
        results.extend(_play(entrants, scale, games, seed, komi, found, progress=progress))
        for entrant in entrants if gnugo else []:
            if entrant.is_last or not entrant.run:
                match = play_gnugo(entrant.weights, gnugo, komi, seed, progress, found.name)
                results.append(scale.result(entrant.name, GNUGO_NAME, match.scores))
                if match.interrupted:
                    raise KeyboardInterrupt
        interrupted = False
    except KeyboardInterrupt:
        rated = {r.a for r in results}
        if len(rated) < len(entrants):
            message(f"interrupted after rating {len(rated)} of {len(entrants)}: too few")
            raise
        interrupted = True
    ratings = rate(results, scale.elo)
    return Evaluation(tuple(entrants), ratings, tuple(results), games, size, komi, seed, found.name, interrupted)


def _play(
    entrants: Sequence[Entrant],
    scale: RatingScale,
    games: int,
    seed: int,
    komi: float,
    openings: Openings,
    *,
    progress: bool,
) -> Iterator[PairResult]:
    """Let all entrants play the reference players and each other, and yield the results as they come."""
    features, thetas = on_common_features([entrant.weights for entrant in entrants], scale.size)
    names = [entrant.name for entrant in entrants]
    pairs = pairs_of(entrants)
    compile_matches(features)
    with Progress(len(entrants) + len(pairs), "pairs", enabled=progress) as bar:
        for number, entrant in enumerate(entrants):
            seeds = np.random.SeedSequence([seed, 0, number])
            yield from scale.results(entrant.name, entrant.weights, games, seed=seeds, komi=komi, openings=openings)
            bar.update()
        for number, (i, j) in enumerate(pairs):
            seeds = np.random.SeedSequence([seed, 1, number])
            first = openings.array(games // 2, seeds)
            scores = play_fast(features, thetas[i], thetas[j], games, seeds, komi, first).scores
            yield scale.result(names[i], names[j], scores)
            bar.update()


def pairs_of(entrants: Sequence[Entrant]) -> list[tuple[int, int]]:
    """Return who plays whom besides the reference players, as pairs of numbers of entrants.

    Each set of weights of a run plays the `NEIGHBOURS` before it; the last weights of all runs play each other. A file
    plays all other entrants.
    """
    pairs: set[tuple[int, int]] = set()
    by_run: dict[str, list[int]] = {}
    last: list[int] = []
    for i, entrant in enumerate(entrants):
        if not entrant.run:
            pairs |= {(min(i, j), max(i, j)) for j in range(len(entrants)) if j != i}
            continue
        earlier = by_run.setdefault(entrant.run, [])
        pairs |= {(j, i) for j in earlier[-NEIGHBOURS:]}
        earlier.append(i)
        if entrant.is_last:
            pairs |= {(j, i) for j in last}
            last.append(i)
    return sorted(pairs)


def _entrants(targets: Sequence[str | Path]) -> list[Entrant]:
    """Load the weights of all targets; RlgoError as in `evaluate`."""
    paths: dict[Path, Path] = {}
    for target in targets:
        path = check("targets", target, Path)
        paths.setdefault(path.resolve(), path)
    folders = [path for path in paths.values() if RunFolder(path).exists()]
    entrants: list[Entrant] = []
    for path in paths.values():
        if path in folders:
            same_name = [folder for folder in folders if folder.resolve().name == path.resolve().name]
            entrants += _run_entrants(path, path.resolve().name if len(same_name) == 1 else str(path))
        else:
            entrants.append(Entrant(str(path), weights_of_file(path)))
    if not entrants:
        raise RlgoError("evaluate: expected at least one weight file or folder of a training run")
    first = entrants[0]
    for entrant in entrants:
        n, m = first.weights.features.size, entrant.weights.features.size
        if m != n:
            raise RlgoError(f"{first.name} is for {n}x{n}, {entrant.name} for {m}x{m}: expected the same board size")
    taken = {*load_rating_scale(first.weights.features.size).players, GNUGO_NAME}
    return [replace(e, name=f"{e.name} (given)") if e.name in taken else e for e in entrants]


def _run_entrants(path: Path, name: str) -> list[Entrant]:
    """Load the checkpoints of a run and its last weights, by number of games."""
    weights = {games: load_weights(file) for games, file in RunFolder(path).saved().items()}
    last = current_weights(path)
    if last.games:
        weights.setdefault(last.games, last)
    if not weights:
        raise RlgoError(f"{path}: no checkpoint yet")
    most = max(weights)
    return [Entrant(f"{name} {games:,}", weights[games], name, games == most) for games in sorted(weights)]


def _komi(entrants: Sequence[Entrant]) -> float:
    """Return the komi that all were trained with; RlgoError if they differ."""
    first = entrants[0]
    for entrant in entrants:
        if entrant.weights.komi != first.weights.komi:
            raise RlgoError(
                f"{first.name} was trained with komi {first.weights.komi:g}, {entrant.name} with "
                f"{entrant.weights.komi:g}: expected --komi"
            )
    return first.weights.komi
