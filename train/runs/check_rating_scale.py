"""Check the intervals of the rating scale against games that the rated players play with each other.

Start reading at `check_rating_scale`. `rlgo ladder --check N` is its command.
"""

from __future__ import annotations

import itertools
import math
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from rlgo.base.checks import check
from rlgo.base.settings import DEFAULT_SIZE, MOST, BoardSize, FastGames, Learning, Policy, SeedNumber
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights
from rlgo.learning.fast_games import play_fast
from rlgo.learning.learner import Learner
from train.arena.elo import PairResult, Rating, rate
from train.arena.fast import on_common_features
from train.arena.rating_scale import load_rating_scale
from train.console import Progress, table
from train.stats import NORMAL_975

AGES = (1_000, 5_000, 20_000)  # games of self-play after which runs are compared


class Agreement(NamedTuple):
    """How well two ways to rate the same players agree; all in Elo."""

    games: int  # games of self-play
    spread: float  # best minus worst player, on the scale
    direct_spread: float  # the same, from games between the players
    difference: float  # root mean square of the ratings' differences, without a common shift
    claimed: float  # mean standard deviation behind the scale's intervals


def check_rating_scale(
    runs: int, games: int, seed: int, size: int = DEFAULT_SIZE, *, progress: bool = True
) -> list[Agreement]:
    """Train runs of the default settings that differ only in their seed, and rate them both ways.

    Parameters
    ----------
    runs : at least 2
    games : games against each of the nearest reference players and between each pair of runs, an even number
    seed : seed of the first run; the others follow
    size : board size

    Raises
    ------
    RlgoError : for a number out of range, or a rating scale that is missing or damaged.
    """
    runs, size = check("runs", runs, Annotated[int, Ge(2), Le(MOST)]), check("size", size, BoardSize)
    games, seed = check("games", games, FastGames), check("seed", seed, SeedNumber)
    load_rating_scale(size)
    learners = [Learner(make_features(size), Learning(), Policy(), seed=seed + i) for i in range(runs)]
    found = []
    learners[0].compile()
    with Progress(len(AGES) * runs, "runs", enabled=progress) as bar:
        for age in AGES:
            players = []
            for learner in learners:
                learner.learn(age - learner.games)
                players.append(Weights(learner.features, learner.theta_mean.astype(np.float32), games=age))
                bar.update()
            found.append(_compare(players, games, seed))
    return found


def _compare(players: list[Weights], games: int, seed: int) -> Agreement:
    """Rate players of one age on the scale and by games between them."""
    size = players[0].features.size
    scale = load_rating_scale(size)
    # Seeds of their own, as real runs have: with the same openings, the players' errors would be alike.
    entropy = [seed, players[0].games]
    of_players = np.random.SeedSequence(entropy).spawn(len(players))
    on_scale: list[Rating] = [scale.rate(w, games, seed=s) for w, s in zip(players, of_players, strict=True)]
    features, thetas = on_common_features(players, size)
    results = []
    for number, (i, j) in enumerate(itertools.combinations(range(len(players)), 2)):
        seeds = np.random.SeedSequence([*entropy, number])
        scores = play_fast(features, thetas[i], thetas[j], games, seeds).scores
        results.append(PairResult.of_openings(f"{i:03d}", f"{j:03d}", scores))
    direct = rate(results).elo
    a, b = np.array([r.elo for r in on_scale]), np.array([direct[f"{i:03d}"] for i in range(len(players))])
    apart = (a - a.mean()) - (b - b.mean())
    claimed = np.mean([(r.ci95[1] - r.ci95[0]) / 2 / NORMAL_975 for r in on_scale])
    difference = math.sqrt(float((apart**2).sum()) / (len(players) - 1))
    return Agreement(players[0].games, float(np.ptp(a)), float(np.ptp(b)), difference, float(claimed))


def text(found: list[Agreement]) -> str:
    """Lay out the result as a table."""
    rows = [[f"{a.games:,}", *(f"{x:.0f}" for x in a[1:])] for a in found]
    return table(["games", "spread", "direct", "difference", "claimed"], rows, align="rrrrr")
