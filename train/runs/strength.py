"""Strength of a run's greedy player: win rates, Elo on the rating scale, games against GNU Go.

Start reading at `win_rates`, `elo` and `against_gnugo`. Games are played in compiled code, thousands per second, except
those against GNU Go.

Results depend only on the config, the weights and their number of games, not on the history of the process: a run that
was interrupted measures the same as an uninterrupted one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.features.rewriting import extend
from rlgo.features.shapes import FeatureSet
from rlgo.features.weights import Weights, load_weights, shipped_weight_sizes, shipped_weights
from rlgo.learning.fast_games import play_fast
from rlgo.learning.value import ValueFunction
from rlgo.play.player import GreedyPlayer
from train.arena.elo import Rating
from train.arena.openings import RANDOM_OPENINGS
from train.arena.rating_scale import load_rating_scale
from train.config import Config
from train.runs.folder import RunFolder
from train.runs.learners import seeds
from train.stats import clustered_interval, in_percent

if TYPE_CHECKING:
    from train.arena.match import MatchResult

GNUGO = "gnugo --mode gtp --level 0 --chinese-rules --capture-all-dead --positional-superko"
GNUGO_NAME = "GNU Go level 0"
_WIN_RATES, _ELO, _GNUGO = range(3)


@dataclass(frozen=True)
class Strength:
    """The measured strength of the greedy player: its win rate against one opponent."""

    opponent: str  # its name, for messages
    games: int
    win_rate: float
    ci95: tuple[float, float]  # see `stats.clustered_interval`

    def __str__(self) -> str:
        return f"{in_percent(self.win_rate, self.ci95)} against {self.opponent}"


def win_rates(config: Config, folder: RunFolder, weights: Weights) -> dict[str, Strength]:
    """Measure win rates against random play, the checkpoint at half the games, and the shipped weights.

    Returns the strengths by opponent: "random", "earlier_self" and "shipped", as far as they exist.
    """
    opponents = {"random": ("random play", np.zeros_like(weights.theta))}
    earlier = [path for games_then, path in folder.saved().items() if games_then <= weights.games // 2]
    if earlier:
        half = load_weights(earlier[-1])
        opponents["earlier_self"] = (f"itself after {half.games:,} games", half.theta)
    shipped = _shipped(weights.features)
    if shipped is not None:
        opponents["shipped"] = shipped
    out = {}
    for i, (key, (name, theta)) in enumerate(opponents.items()):
        scores = _scores(config, weights, theta, i, _WIN_RATES)
        out[key] = Strength(name, scores.size, float(scores.mean()), clustered_interval(scores.tolist()))
    return out


def elo(config: Config, weights: Weights) -> Rating:
    """Rate `weights` on the rating scale, the common scale of all runs (`train.arena.rating_scale`)."""
    seed = _seed(config, weights.games, 0, _ELO)
    return load_rating_scale(config.board.size).rate(weights, config.run.eval_games, seed=seed, komi=config.board.komi)


def against_gnugo(config: Config, weights: Weights, progress: bool) -> Strength | None:
    """Measure the win rate against GNU Go level 0; None after Ctrl-C. Raises what `play_gnugo` raises."""
    seed = int(_seed(config, weights.games, 0, _GNUGO).generate_state(1)[0])
    match = play_gnugo(weights, config.run.gnugo_games, config.board.komi, seed, progress)
    return None if match.interrupted else Strength(GNUGO_NAME, match.games, match.win_rate, match.ci95)


def play_gnugo(
    weights: Weights, games: int, komi: float, seed: int, progress: bool, openings: str = RANDOM_OPENINGS
) -> MatchResult:
    """Play a match of the greedy player of `weights` against GNU Go level 0, at about a game per second.

    openings : by default those of the rating scale, which GNU Go's rating belongs to

    Raises
    ------
    RlgoError : if GNU Go is not installed or does not start.
    KeyboardInterrupt : after Ctrl-C before the end of the first game.
    """
    from train.arena.match import play_match  # loads all players, which few runs need: 0.1 s

    player = GreedyPlayer(ValueFunction(weights), seed)
    engine = f"gtp:{GNUGO} --seed {seed % 2**31}"  # otherwise GNU Go plays differently each time
    size = weights.features.size
    return play_match(player, engine, games, size=size, komi=komi, seed=seed, openings=openings, progress=progress)


def has_gnugo() -> bool:
    """Return whether GNU Go is installed."""
    from train.players.engines import find_program  # loads all players

    return find_program("gnugo") is not None


def need_gnugo() -> None:
    """Raise RlgoError if GNU Go is not installed; call it before starting long work."""
    if not has_gnugo():
        raise RlgoError("GNU Go is not installed: no games against it")


def _shipped(features: FeatureSet) -> tuple[str, np.ndarray] | None:
    """Return name and theta of the best shipped weights for the board size, if these features include theirs."""
    if features.size not in shipped_weight_sizes():
        return None
    path = shipped_weights(features.size)
    weights = load_weights(path)
    if not {block.name for block in weights.features.blocks} <= {block.name for block in features.blocks}:
        return None
    return f"the shipped {path.stem}", extend(weights.features, weights.theta, features)


def _scores(config: Config, weights: Weights, theta: np.ndarray, opponent: int, what: int) -> np.ndarray:
    """Play `weights` against the opponent with this number, which plays with `theta`; return the scores by opening."""
    seed = _seed(config, weights.games, opponent, what)
    games, komi = config.run.eval_games, config.board.komi
    return play_fast(weights.features, weights.theta, theta, games, seed, komi).scores


def _seed(config: Config, games: int, opponent: int, what: int) -> np.random.SeedSequence:
    """Return the seed of the games against one opponent, measured after this many games of self-play."""
    return np.random.SeedSequence([seeds(config)[1].generate_state(1)[0], games, opponent, what])
