"""The rating scale: small players of known Elo, against which greedy players of any weights are rated.

Start reading at `RatingScale.rate`. The reference players are in ``checkpoints/ladder.npz``, which
`train.runs.make_rating_scale` makes; the shipped weights of a board size are reference players, too. A rating therefore
means the same strength in every run and on every machine: on 9x9, GNU Go 3.8 level 10 has 1800 Elo, as in the TD paper
and in docs/lab/results.md. On other boards the scale is anchored to random play, which has the same Elo as on 9x9.

    rating = load_rating_scale(9).rate(load_weights("weights.npz"), games=1_000, seed=1)
    print(rating.elo, rating.ci95)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from rlgo.base.archive import read_archive
from rlgo.base.resources import checkpoints_dir
from rlgo.base.settings import DEFAULT_KOMI
from rlgo.compiler.jit import seed_sequence
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, load_weights
from rlgo.learning.fast_games import play_fast
from train.arena.elo import PairResult, Rating, rate_new, widened
from train.arena.fast import on_common_features
from train.arena.openings import RANDOM_OPENINGS, find_openings
from train.console import table

FORMAT, VERSION = "rlgo-ladder", 1
FILE = "ladder.npz"
RANDOM = "random"
SCALE = "GNU Go level 10 has 1800 on 9x9"  # for messages
NEAREST = 3  # reference players that a player plays all games against
_PROBE = 10  # every one gets one game in this many, at least two, to find the nearest

Seed = int | np.random.SeedSequence


@dataclass(frozen=True)
class RatingScale:
    """The reference players of one board size.

    Attributes
    ----------
    size : board size
    players : weights by name; None is the random player
    elo : the reference players' ratings by name, on the scale of this module
    scatter : standard deviation, in Elo, of the results of pairs of players around what ratings predict. A rating is
        a single number, but results also depend on style
    """

    size: int
    players: dict[str, Weights | None]
    elo: dict[str, float]
    scatter: float

    def rate(self, weights: Weights, games: int = 1_000, *, seed: Seed, komi: float = DEFAULT_KOMI) -> Rating:
        """Rate the greedy player of these weights.

        Parameters
        ----------
        weights : for boards of this size, with any features
        games : an even number, against each of the `NEAREST` ones, after a tenth of it against every reference player
        seed : of the games
        komi : points for White

        Returns
        -------
        the rating. Its 95 % interval covers the number of games and the `scatter`, so that it holds between players of
        different runs.
        """
        features, (theta, *players) = on_common_features([weights, *self.players.values()], self.size)
        seeds = seed_sequence(seed).spawn(2 * len(players))
        found = find_openings(RANDOM_OPENINGS, self.size, komi)

        def play(i: int, n: int, seed: np.random.SeedSequence) -> np.ndarray:
            return play_fast(features, theta, players[i], n, seed, komi, found.array(n // 2, seed)).scores

        def rated(scores: Sequence[np.ndarray]) -> Rating:
            return rate_new(self.elo, [self.result("new", name, s) for name, s in zip(names, scores, strict=True)])

        # A few games against all place the player roughly; those that one side nearly always wins tell little.
        names, probe = list(self.players), max(2, games // _PROBE // 2 * 2)
        scores = [play(i, probe, seeds[i]) for i in range(len(players))]
        about = rated(scores).elo
        for i in sorted(range(len(players)), key=lambda i: abs(self.elo[names[i]] - about))[:NEAREST]:
            scores[i] = np.concatenate([scores[i], play(i, games, seeds[len(players) + i])])
        return rated(scores)

    def result(self, a: str, b: str, scores: Sequence[Sequence[float]] | np.ndarray) -> PairResult:
        """Return the result of two players, a's `scores` by opening, with the variance that `scatter` adds."""
        return widened(PairResult.of_openings(a, b, scores), self.scatter)

    def __str__(self) -> str:
        rows = [[name, f"{elo:,.0f}"] for name, elo in sorted(self.elo.items(), key=lambda item: -item[1])]
        return "\n".join(
            [
                f"{self.size}x{self.size}; {SCALE}.",
                f"Results of two players scatter by {self.scatter:.0f} Elo around their ratings.",
                "",
                table(["player", "Elo"], rows, align="lr"),
            ]
        )


@cache
def load_rating_scale(size: int) -> RatingScale:
    """Load the shipped reference players of a board size, 5 to 19. RlgoError if their file is missing or damaged."""
    meta, arrays = read_archive(checkpoints_dir() / FILE, "rating scale", FORMAT, VERSION)
    return rating_scale_of(meta, arrays["theta"], size)


def rating_scale_of(meta: dict[str, Any], theta: np.ndarray, size: int) -> RatingScale:
    """Make the rating scale of a board size from the content of its file.

    Parameters
    ----------
    meta : header of the file; see `train.runs.make_rating_scale`
    theta : float32[players, n_weights + 1] of location independent shapes, which fit every board
    """
    rated = meta["ratings"][str(size)]
    small = small_players(meta["games"], theta, size)
    shipped = {
        name: load_weights(checkpoints_dir() / f"{name}.npz", size) for name in meta["shipped"].get(str(size), ())
    }
    return RatingScale(size, {RANDOM: None, **small, **shipped}, rated["elo"], rated["scatter"])


def small_players(games: Sequence[int], theta: np.ndarray, size: int) -> dict[str, Weights]:
    """Return the small players for a board size, called ``rung N``: trained by N games of self-play on 9x9."""
    features = make_features(size, sharing="LI")
    return {f"rung {n}": Weights(features, row, games=n) for n, row in zip(games, theta, strict=True)}
