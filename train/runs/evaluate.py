"""Ratings of checkpoints, weight files and whole runs, from games between them and one Bradley-Terry fit.

Start reading at `evaluate`, then `pairs_of`, which decides who plays whom.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.errors import RlgoError
from rlgo.exchange import load_any
from rlgo.fast_games import play_fast
from rlgo.jit import compiling
from rlgo.resources import version
from rlgo.weights import Weights, load_weights, shipped_weights
from train.arena.elo import PairResult, Ratings, rate, table
from train.arena.fast import on_common_features
from train.console import Progress, message
from train.runs.folder import RunFolder
from train.runs.run import current_weights
from train.runs.strength import GNUGO_NAME, RUNGS, has_gnugo, play_gnugo
from train.stats import NORMAL_975

RANDOM = "random"


@dataclass(frozen=True)
class Entrant:
    """Weights to be rated, which play greedily."""

    name: str  # the run and its number of games, or the file as given
    weights: Weights
    run: str = ""  # name of the run, if they belong to one
    is_last: bool = False  # whether they are the last weights of a run


@dataclass(frozen=True)
class Evaluation:
    """The result of `evaluate`."""

    entrants: tuple[Entrant, ...]
    # Of the entrants by name, of `RANDOM`, which has 0 Elo, and of `GNUGO_NAME` if it played. Intervals and covariance
    # are those of differences from the mean of the entrants.
    ratings: Ratings
    results: tuple[PairResult, ...]
    games: int  # per pair
    size: int
    komi: float
    seed: int
    interrupted: bool = False  # by Ctrl-C: not everyone has met

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
            "rlgo": version(),
            "selfplay_games": {entrant.name: entrant.weights.games for entrant in self.entrants},
            "interrupted": self.interrupted,
            "pairs": pairs,
            **self.ratings.to_json(),
        }

    def __str__(self) -> str:
        los = len(self.ratings.players) <= 10
        lines = [
            f"{self.size}x{self.size}, komi {self.komi:g}, {self.games:,} games a pair, seed {self.seed}. "
            "Random play has 0 Elo; + and - give the",
            "95 % interval of a player's place among the weights"
            + ("; LOS is the likelihood that it is the stronger one." if los else "."),
        ]
        if self.interrupted:
            lines.append(f"Interrupted: {len(self.results)} pairs have met. The same command starts over.")
        return "\n".join([*lines, "", table(self.ratings, los)])


def evaluate(
    targets: Sequence[str | Path],
    games: int = 1_000,
    seed: int = 1,
    komi: float | None = None,
    gnugo: int = 0,
    progress: bool = True,
) -> Evaluation:
    """Rate the greedy players of weights, with random play as 0 Elo.

    Parameters
    ----------
    targets : weight files and run folders, all of one board size. A run folder stands for its checkpoints and its last
        weights. The best shipped weights of that size take part if they share the features of one of them.
    games : games per pair, an even number because each opening is played with both colours
    seed : seed of the openings
    komi : None: the komi that the weights were trained with
    gnugo : games of each file, and of each run's last weights, against GNU Go level 0; an even number
    progress : show progress on standard error

    Returns
    -------
    Evaluation
        After Ctrl-C, it is that of the pairs that have met, marked `interrupted`.

    Raises
    ------
    RlgoError
        If a target is missing, damaged, or neither a run nor a weight file; for different board sizes or komi; for odd
        numbers of games; if GNU Go is needed and not installed.
    KeyboardInterrupt
        After Ctrl-C, if too few pairs have met to rate everyone.
    """
    for what, n, least in (("games", games, 2), ("gnugo", gnugo, 0)):
        if n < least or n % 2:
            raise RlgoError(f"{what} = {n}: expected an even number of at least {least}")
    if gnugo and not has_gnugo():
        raise RlgoError("GNU Go is not installed: no games against it")
    entrants = _entrants(targets)
    size = entrants[0].weights.features.size
    komi = _komi(entrants) if komi is None else komi
    entrants = _with_shipped(entrants)
    features, thetas = on_common_features([None, *(entrant.weights for entrant in entrants)], size)
    names = [RANDOM, *(entrant.name for entrant in entrants)]
    results: list[PairResult] = []
    pairs, interrupted = pairs_of(entrants), False
    try:
        with compiling(f"matches, {size}x{size}"), Progress(len(pairs), "pairs", enabled=progress) as bar:
            for number, (i, j) in enumerate(pairs):
                seeds = np.random.SeedSequence([seed, number])
                scores = play_fast(features, thetas[i], thetas[j], games, seeds, komi).scores
                results.append(PairResult.of_openings(names[i], names[j], scores))
                bar.update()
        for entrant in entrants if gnugo else []:
            if entrant.is_last or not entrant.run:
                match = play_gnugo(entrant.weights, gnugo, komi, seed, progress)
                results.append(PairResult.of_openings(entrant.name, GNUGO_NAME, match.scores))
                if match.interrupted:
                    raise KeyboardInterrupt
    except KeyboardInterrupt:
        if not _connects(results, names):
            message(f"interrupted after {len(results)} of {len(pairs)} pairs: too few to rate everyone")
            raise
        interrupted = True
    # A single set of weights can only be placed relative to random play.
    ratings = _placed(rate(results), names if len(entrants) == 1 else names[1:])
    return Evaluation(tuple(entrants), ratings, tuple(results), games, size, komi, seed, interrupted)


def _connects(results: Sequence[PairResult], names: Sequence[str]) -> bool:
    """Return whether games connect everyone in `names`, directly or through others."""
    groups: list[set[str]] = [{name} for name in names]
    for r in results:
        met = [group for group in groups if r.a in group or r.b in group]
        groups = [group for group in groups if group not in met] + [set().union({r.a, r.b}, *met)]
    return len(groups) == 1


def _placed(ratings: Ratings, names: Collection[str]) -> Ratings:
    """Shift ratings so that random play has 0 Elo, and give intervals relative to the mean of the players in `names`.

    The gap of several hundred Elo between random play and the first checkpoint is the least certain number of all. In
    intervals relative to random play, or to a mean that includes it, this uncertainty would hide everything else.
    """
    players, zero = ratings.players, ratings[RANDOM].elo
    share = np.array([player.name in names for player in players]) / len(names)
    centre = np.eye(len(players)) - share  # each row: a player minus the mean
    covariance = centre @ ratings.covariance @ centre.T
    half = NORMAL_975 * np.sqrt(covariance.diagonal().clip(0))
    moved = (
        replace(p, elo=elo, ci95=(elo - float(h), elo + float(h)), opponent=p.opponent - zero)
        for p, h in zip(players, half, strict=True)
        for elo in (p.elo - zero,)
    )
    return replace(ratings, players=tuple(moved), covariance=covariance)


def pairs_of(entrants: Sequence[Entrant]) -> list[tuple[int, int]]:
    """Return who plays whom, as pairs of numbers; entrants are numbered from 1, and 0 is random play.

    Each set of weights of a run plays the `RUNGS` before it, on a ladder that starts with random play: against weights
    further down it wins too often to learn anything. The last weights of all runs play each other. A file, whose
    strength is unknown, plays everyone.
    """
    pairs: set[tuple[int, int]] = set()
    ladders: dict[str, list[int]] = {}
    last: list[int] = []
    for i, entrant in enumerate(entrants, 1):
        if not entrant.run:
            pairs |= {(min(i, j), max(i, j)) for j in range(len(entrants) + 1) if j != i}
            continue
        ladder = ladders.setdefault(entrant.run, [0])
        pairs |= {(j, i) for j in ladder[-RUNGS:]}
        ladder.append(i)
        if entrant.is_last:
            pairs |= {(j, i) for j in last}
            last.append(i)
    return sorted(pairs)


def _entrants(targets: Sequence[str | Path]) -> list[Entrant]:
    """Load the weights of all targets; RlgoError as in `evaluate`."""
    paths: dict[Path, Path] = {}
    for target in targets:
        paths.setdefault(Path(target).resolve(), Path(target))
    folders = [path for path in paths.values() if RunFolder(path).exists()]
    entrants: list[Entrant] = []
    for path in paths.values():
        if path in folders:
            same_name = [folder for folder in folders if folder.resolve().name == path.resolve().name]
            entrants += _run_entrants(path, path.resolve().name if len(same_name) == 1 else str(path))
        elif path.is_dir():
            raise RlgoError(f"{path}: expected the folder of a training run, or a weight file")
        else:
            entrants.append(Entrant(str(path), load_any(path)))
    if not entrants:
        raise RlgoError("evaluate: expected at least one weight file or folder of a training run")
    first = entrants[0]
    for entrant in entrants:
        n, m = first.weights.features.size, entrant.weights.features.size
        if m != n:
            raise RlgoError(f"{first.name} is for {n}x{n}, {entrant.name} for {m}x{m}: expected the same board size")
    return entrants


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


def _with_shipped(entrants: list[Entrant]) -> list[Entrant]:
    """Add the best shipped weights, unless they are present already or share no entrant's features."""
    features = entrants[0].weights.features
    try:
        path = shipped_weights(features.size)
    except RlgoError:
        return entrants
    shipped = load_weights(path)
    sets = {entrant.weights.features.name for entrant in entrants}
    there = any(np.array_equal(shipped.theta, entrant.weights.theta) for entrant in entrants)
    return (
        entrants
        if there or shipped.features.name not in sets
        else [*entrants, Entrant(f"shipped {path.stem}", shipped)]
    )


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
