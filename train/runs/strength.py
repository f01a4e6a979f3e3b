"""How strong a run's greedy player is: win rates, Elo against its own checkpoints, games against GNU Go.

Start reading at `win_rates`, `elo` and `against_gnugo`. Games are played inside compiled code, thousands a second,
but for those against GNU Go.

What comes out depends on the config, the weights and their number of games alone, not on what happened before: a
run that was interrupted measures the same as one that was not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlgo.errors import RlgoError
from rlgo.fast_games import play_fast
from rlgo.jit import compiling
from rlgo.player import GreedyPlayer
from rlgo.shapes import FeatureSet
from rlgo.value import ValueFunction
from rlgo.weights import Weights, load_weights, shipped_weights
from train.arena.elo import PairResult, Rating, rate_new
from train.arena.match import MatchResult, play_match
from train.config import Config
from train.players.engines import find_program
from train.runs.folder import RunFolder
from train.stats import clustered_interval, in_percent

RUNGS = 3  # how many checkpoints before it each set of weights meets
GNUGO = "gnugo --mode gtp --level 0 --chinese-rules --capture-all-dead --positional-superko"
GNUGO_NAME = "GNU Go level 0"
_WIN_RATES, _ELO, _GNUGO = range(3)


@dataclass(frozen=True)
class Strength:
    """The measured strength of the greedy player: its win rate against one opponent."""

    opponent: str  # for people
    games: int
    win_rate: float
    ci95: tuple[float, float]  # see `stats.clustered_interval`

    def __str__(self) -> str:
        return f"{in_percent(self.win_rate, self.ci95)} against {self.opponent}"


def seeds(config: Config) -> list[np.random.SeedSequence]:
    """Of self-play, and of the measurements."""
    return np.random.SeedSequence(config.run.seed).spawn(2)


def win_rates(config: Config, folder: RunFolder, weights: Weights) -> dict[str, Strength]:
    """Against a random player, the checkpoint of half the games ago, and the shipped weights."""
    opponents = {"random": ("random play", np.zeros_like(weights.theta))}
    earlier = [path for games_then, path in folder.saved().items() if games_then <= weights.games // 2]
    if earlier:
        half = load_weights(earlier[-1])
        opponents["earlier_self"] = (f"itself of {half.games:,} games", half.theta)
    shipped = _shipped(weights.features)
    if shipped is not None:
        opponents["shipped"] = shipped
    out = {}
    for i, (key, (name, theta)) in enumerate(opponents.items()):
        scores = _scores(config, weights, theta, i, _WIN_RATES)
        out[key] = Strength(name, scores.size, float(scores.mean()), clustered_interval(scores.tolist()))
    return out


def elo(config: Config, folder: RunFolder, weights: Weights, ratings: dict[str, float]) -> Rating:
    """The rating of `weights` on the ladder of the run's checkpoints, whose foot is random play with 0 Elo.

    They meet the last `RUNGS` checkpoints before them, or random play where there are not so many. Neighbours on the
    ladder win some games from each other, while random play wins none from anyone of more than a few hundred games:
    so it counts where it tells something, and further up the ladder carries the scale. The ratings of the rungs stay
    as they were found. (Of a score of 100 %, the prior of `elo.rate` makes a finite rating.)

    So Elo tells how far a run has come, not which of two runs is stronger: what the first few hundred games are worth
    differs by some hundred Elo from run to run, and stays in all that follows. `evaluate` brings runs on one scale.

    Parameters
    ----------
    ratings : Elo by the checkpoint's number of games, those found so far; whatever is missing is found and added.

    Returns
    -------
    the rating; its interval is that of these games, and leaves out what is unknown about the rungs.
    """
    # Only those before: a run that was killed may have left later ones than it knows of.
    rungs = {games: path for games, path in folder.saved().items() if games < weights.games}
    for games, path in rungs.items():
        if str(games) not in ratings:
            ratings[str(games)] = elo(config, folder, load_weights(path), ratings).elo
    results = []
    for i, games in enumerate([0, *rungs][-RUNGS:]):
        theta = load_weights(rungs[games]).theta if games else np.zeros_like(weights.theta)
        results.append(PairResult.of_openings("new", str(games), _scores(config, weights, theta, i, _ELO)))
    return rate_new({"0": 0.0, **ratings}, results)


def against_gnugo(config: Config, weights: Weights, progress: bool) -> Strength | None:
    """The win rate against GNU Go level 0; None after Ctrl-C. Raises as `meet_gnugo`."""
    seed = int(_seed(config, weights.games, 0, _GNUGO).generate_state(1)[0])
    match = meet_gnugo(weights, config.run.gnugo_games, config.board.komi, seed, progress)
    return None if match.interrupted else Strength(GNUGO_NAME, match.games, match.win_rate, match.ci95)


def meet_gnugo(weights: Weights, games: int, komi: float, seed: int, progress: bool) -> MatchResult:
    """A match of the greedy player of `weights` against GNU Go level 0, a game a second or so.

    Raises
    ------
    RlgoError : if GNU Go is not there or does not start.
    KeyboardInterrupt : for a Ctrl-C before the first game's end.
    """
    player = GreedyPlayer(ValueFunction(weights), seed)
    engine = f"gtp:{GNUGO} --seed {seed % 2**31}"  # without it, GNU Go plays differently every time
    return play_match(player, engine, games, weights.features.size, komi, seed, progress=progress)


def has_gnugo() -> bool:
    """Whether GNU Go is installed."""
    return find_program("gnugo") is not None


def _shipped(features: FeatureSet) -> tuple[str, np.ndarray] | None:
    """The best shipped weights of the board size, as a yardstick, where they have the same features."""
    try:
        path = shipped_weights(features.size)
    except RlgoError:
        return None
    weights = load_weights(path)
    return (f"the shipped {path.stem}", weights.theta) if weights.features is features else None


def _scores(config: Config, weights: Weights, theta: np.ndarray, opponent: int, what: int) -> np.ndarray:
    """Of `weights` against the opponent of this number, who plays with `theta`; see `fast_games.play_fast`."""
    seed, size = _seed(config, weights.games, opponent, what), config.board.size
    with compiling(f"matches, {size}x{size}"):
        games, komi = config.run.eval_games, config.board.komi
        return play_fast(weights.features, weights.theta, theta, games, seed, komi).scores


def _seed(config: Config, games: int, opponent: int, what: int) -> np.random.SeedSequence:
    """Of the games against one opponent, measured after so many games of self-play."""
    return np.random.SeedSequence([seeds(config)[1].generate_state(1)[0], games, opponent, what])
