"""Make the rating scale: train small players, let them play each other on every board size, and rate them.

Start reading at `make_rating_scale`. `rlgo ladder --make FILE` is its command; `train.arena.rating_scale` uses
the file.

GNU Go fixes the scale on 9x9: the three best players play its level 0, which has `GNUGO_0_ELO` where level 10 has 1800.
On other boards, random play has the same rating as on 9x9.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.archive import write_archive
from rlgo.base.files import check_writable
from rlgo.base.resources import checkpoints_dir
from rlgo.base.settings import DEFAULT_KOMI, MAX_SIZE, MIN_SIZE, Learning, Policy
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, load_weights
from rlgo.learning.fast_games import compile_matches, play_fast
from rlgo.learning.learner import Learner
from train.arena.elo import PairResult, Ratings, pair_scatter, rate
from train.arena.fast import on_common_features
from train.arena.rating_scale import FILE, FORMAT, RANDOM, VERSION, small_players
from train.console import Progress
from train.provenance import command_line, versions
from train.runs.strength import GNUGO_NAME, need_gnugo, play_gnugo

# On the scale of the experiments (learning_runs in docs/lab/results.md), where level 10 has 1800; the interval is 1688
# to 1764.
GNUGO_0_ELO = 1726.0
# Games of self-play on 9x9 after which players are taken. With this step size most win 55 % to 85 % against the one
# before.
GAMES_LEARNED = (50, 200, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 6_500, 8_000, 20_000, 100_000)
LEARNING = Learning(alpha=0.01)
SEED, GAMES, GNUGO_GAMES = 1, 1_000, 200  # games of each pair; of each of the three best players against GNU Go
_REACH = 4  # they play those up to this many places away


def make_rating_scale(path: Path, *, progress: bool = True) -> None:
    """Train and rate the reference players, and write their file.

    Its header says how it was made, and has the rating of every reference player on every board size. RlgoError without
    GNU Go, or if the file cannot be written.
    """
    need_gnugo()
    check_writable(path, "--make ")
    train_seed, game_seed = np.random.SeedSequence(SEED).spawn(2)
    theta = _train(train_seed, progress)
    shipped = {size: names for size in range(MIN_SIZE, MAX_SIZE + 1) if (names := _shipped(size))}
    order = sorted(range(MIN_SIZE, MAX_SIZE + 1), key=lambda size: size != 9)  # 9x9 first: it fixes the scale
    ratings: dict[str, Any] = {}
    for size, seeds in zip(order, game_seed.spawn(len(order)), strict=True):
        players = {RANDOM: None, **small_players(GAMES_LEARNED, theta, size)}
        players |= {name: load_weights(checkpoints_dir() / f"{name}.npz", size) for name in shipped.get(size, ())}
        results = _meet(players, size, seeds, progress)
        if size == 9:
            best = list(players.items())[-3:]
            results += [_against_gnugo(name, w, progress) for name, w in best if w is not None]
            rated = rate(results, {GNUGO_NAME: GNUGO_0_ELO})
        else:
            rated = rate(results, {RANDOM: ratings["9"]["elo"][RANDOM]})
        ratings[str(size)] = _entry(rated, results)
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "games": GAMES_LEARNED,
        "shipped": {str(size): names for size, names in shipped.items()},
        "ratings": ratings,
        "provenance": {"command": command_line(), "seed": SEED, "versions": versions()},
    }
    write_archive(path, meta, {"theta": theta})


def _train(seed: np.random.SeedSequence, progress: bool) -> np.ndarray:
    """Train the small players: the mean weights after each of `GAMES_LEARNED` games, float32[players, weights]."""
    learner = Learner(make_features(9, sharing="LI"), LEARNING, Policy(), seed=seed, merge_every=1)
    learned = []
    learner.compile()
    with Progress(GAMES_LEARNED[-1], "games", enabled=progress) as bar:
        for games in GAMES_LEARNED:
            learner.learn(games - learner.games)
            learned.append(learner.theta_mean.astype(np.float32))
            bar.update(games - bar.n)
    return np.array(learned)


def _shipped(size: int) -> list[str]:
    """List the weights that ship for a board size, by the number of games they learned from."""
    files = [path for path in checkpoints_dir().glob(f"{size}x{size}-*.npz") if path.name != FILE]
    return [path.stem for path in sorted(files, key=lambda path: load_weights(path).games)]


def _meet(
    players: dict[str, Weights | None], size: int, seed: np.random.SeedSequence, progress: bool
) -> list[PairResult]:
    """Let each player play those up to `_REACH` places away."""
    features, thetas = on_common_features(list(players.values()), size)
    names = list(players)
    pairs = [(i, j) for i, j in itertools.combinations(range(len(names)), 2) if j - i <= _REACH]
    results = []
    compile_matches(features)
    with Progress(len(pairs), f"pairs {size}x{size}", enabled=progress) as bar:
        for (i, j), s in zip(pairs, seed.spawn(len(pairs)), strict=True):
            scores = play_fast(features, thetas[i], thetas[j], GAMES, s).scores
            results.append(PairResult.of_openings(names[i], names[j], scores))
            bar.update()
    return results


def _against_gnugo(name: str, weights: Weights, progress: bool) -> PairResult:
    """Play one reference player against GNU Go level 0. KeyboardInterrupt after Ctrl-C."""
    match = play_gnugo(weights, GNUGO_GAMES, DEFAULT_KOMI, SEED, progress)
    if match.interrupted:
        raise KeyboardInterrupt
    return PairResult.of_openings(name, GNUGO_NAME, match.scores)


def _entry(rated: Ratings, results: Sequence[PairResult]) -> dict[str, Any]:
    """Return the entry of one board size in the file."""
    pairs = [{"a": r.a, "b": r.b, "score": r.score, "games": r.games} for r in results]
    elo = {name: round(value, 1) for name, value in rated.elo.items() if name != GNUGO_NAME}
    return {"elo": elo, "scatter": round(pair_scatter(rated, _fast(results)), 1), "pairs": pairs}


def _fast(results: Iterable[PairResult]) -> list[PairResult]:
    return [r for r in results if GNUGO_NAME not in (r.a, r.b)]
