"""Ratings of checkpoints, weight files and whole runs: games between them, and one Bradley-Terry fit.

Start reading at `evaluate`, then `_pairs`: who meets whom.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from rlgo.errors import RlgoError
from rlgo.exchange import load_any
from rlgo.fast_games import play_fast
from rlgo.jit import compiling
from rlgo.resources import version
from rlgo.weights import Weights, load_weights, shipped_weights
from train.arena.elo import PairResult, Ratings, rate, table
from train.arena.match import on_common_features
from train.runs.folder import RunFolder
from train.runs.run import current_weights
from train.runs.strength import GNUGO_NAME, RUNGS, has_gnugo, meet_gnugo
from train.stats import NORMAL_975

RANDOM = "random"


@dataclass(frozen=True)
class Entrant:
    """A set of weights to be rated, which plays greedily."""

    name: str  # the run and its games, or the file as it was named
    weights: Weights
    run: str = ""  # of a run: its name
    is_last: bool = False  # of a run: whether its last weights


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` finds."""

    entrants: tuple[Entrant, ...]
    # Of the entrants by name, `RANDOM`, which has 0 Elo, and `GNUGO_NAME` where it played. Intervals and covariance
    # are those of the differences to the mean of the entrants.
    ratings: Ratings
    results: tuple[PairResult, ...]
    games: int  # of each pair
    size: int
    komi: float
    seed: int

    def curves(self) -> dict[str, list[tuple[int, str]]]:
        """For each run, the games and the names of its weights, ascending."""
        out: dict[str, list[tuple[int, str]]] = {}
        for entrant in self.entrants:
            if entrant.run:
                out.setdefault(entrant.run, []).append((entrant.weights.games, entrant.name))
        return out

    def to_json(self) -> dict[str, Any]:
        """As what `json` can write."""
        pairs = [{"a": r.a, "b": r.b, "score": r.score, "games": r.games, "draws": r.draws} for r in self.results]
        return {
            "games": self.games,
            "size": self.size,
            "komi": self.komi,
            "seed": self.seed,
            "rlgo": version(),
            "selfplay_games": {entrant.name: entrant.weights.games for entrant in self.entrants},
            "pairs": pairs,
            **self.ratings.to_json(),
        }

    def __str__(self) -> str:
        los = len(self.ratings.players) <= 10
        lines = [
            f"{self.size}x{self.size}, komi {self.komi:g}, {self.games:,} games a pair, seed {self.seed}. "
            "Random play has 0 Elo; + and - lead to the ends of",
            "the 95 % interval of how well a player is placed among the weights"
            + ("; LOS tells how likely it is the stronger one." if los else "."),
        ]
        return "\n".join([*lines, "", table(self.ratings, los)])


def evaluate(
    targets: Sequence[str | Path],
    games: int = 1_000,
    seed: int = 1,
    komi: float | None = None,
    gnugo: int = 0,
    progress: bool | None = None,
) -> Evaluation:
    """Rate the greedy players of weights, with random play as 0 Elo.

    Parameters
    ----------
    targets : weight files, and run folders, which stand for all their checkpoints and their last weights; of one
        board size. The best shipped weights of that size join them where they have the features of one of them.
    games : of each pair, an even number, for every opening is played with both colours
    seed : of the openings
    komi : None: the one that the weights learned with
    gnugo : games of each file, and of each run's last weights, against GNU Go level 0; an even number
    progress : show a progress bar on stderr; None: where stderr is a terminal

    Raises
    ------
    RlgoError : for a target that is missing, damaged or neither, for different board sizes or komi, for odd numbers,
        and where GNU Go is asked for and is not installed.
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
    results, pairs = [], _pairs(entrants)
    progress = sys.stderr.isatty() if progress is None else progress
    with compiling(f"matches, {size}x{size}"), tqdm(total=len(pairs), unit=" pairs", disable=not progress) as bar:
        for number, (i, j) in enumerate(pairs):
            seeds = np.random.SeedSequence([seed, number])
            scores = play_fast(features, thetas[i], thetas[j], games, seeds, komi).scores
            results.append(PairResult.of_openings(names[i], names[j], scores))
            bar.update()
    for entrant in entrants if gnugo else []:
        if entrant.is_last or not entrant.run:
            match = meet_gnugo(entrant.weights, gnugo, komi, seed, progress)
            if match.interrupted:
                raise KeyboardInterrupt
            results.append(PairResult.of_openings(entrant.name, GNUGO_NAME, match.scores))
    # One set of weights alone has its place beside random play.
    ratings = _placed(rate(results), names if len(entrants) == 1 else names[1:])
    return Evaluation(tuple(entrants), ratings, tuple(results), games, size, komi, seed)


def _placed(ratings: Ratings, names: Collection[str]) -> Ratings:
    """The same with random play at 0 Elo, and with intervals that tell how well the players of `names` are placed.

    They are those of the differences to the mean of these. How many hundred Elo the very first games are worth is the
    least known of all: in differences to random play, or to a mean with it, that would hide all else.
    """
    players, zero = ratings.players, ratings[RANDOM].elo
    share = np.array([player.name in names for player in players]) / len(names)
    centre = np.eye(len(players)) - share  # of each row: the player, less the mean
    covariance = centre @ ratings.covariance @ centre.T
    half = NORMAL_975 * np.sqrt(covariance.diagonal().clip(0))
    moved = (
        replace(p, elo=elo, ci95=(elo - float(h), elo + float(h)), opponent=p.opponent - zero)
        for p, h in zip(players, half, strict=True)
        for elo in (p.elo - zero,)
    )
    return replace(ratings, players=tuple(moved), covariance=covariance)


def _pairs(entrants: Sequence[Entrant]) -> list[tuple[int, int]]:
    """Who meets whom, by number from 1; 0 is random play.

    A run's weights meet those before them, up to `RUNGS`, on a ladder that random play begins: they win too often
    against those further down. The last weights of all runs meet each other. A file, which may be anywhere, meets
    everybody.
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
    """The weights of all targets. Raises RlgoError, see `evaluate`."""
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
            raise RlgoError(f"{first.name} is for {n}x{n}, {entrant.name} for {m}x{m}: expected one board size")
    return entrants


def _run_entrants(path: Path, name: str) -> list[Entrant]:
    """The checkpoints of a run and its last weights, by games."""
    weights = {games: load_weights(file) for games, file in RunFolder(path).saved().items()}
    last = current_weights(path)
    if last.games:
        weights.setdefault(last.games, last)
    if not weights:
        raise RlgoError(f"{path}: has no checkpoint yet")
    most = max(weights)
    return [Entrant(f"{name} {games:,}", weights[games], name, games == most) for games in sorted(weights)]


def _with_shipped(entrants: list[Entrant]) -> list[Entrant]:
    """And the best shipped weights, unless they are there already, or have no one's features."""
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
    """The komi that all learned with. Raises RlgoError where there are several."""
    first = entrants[0]
    for entrant in entrants:
        if entrant.weights.komi != first.weights.komi:
            raise RlgoError(
                f"{first.name} learned with komi {first.weights.komi:g}, {entrant.name} with {entrant.weights.komi:g}: "
                "expected --komi"
            )
    return first.weights.komi
