"""Compiled matches between greedy and random players: thousands of games a second.

Start reading at `play_weights`. Games are played by `rlgo.fast_games.play_fast`, which takes two value functions on
the same features; `on_common_features` brings any weights into that form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rlgo.errors import RlgoError
from rlgo.fast_games import FastGames, play_fast
from rlgo.jit import compiling
from rlgo.player import Player
from rlgo.settings import SIZES
from rlgo.shapes import FeatureSet, make_features, unshare
from rlgo.weights import Weights
from train.players.keys import weights_for
from train.players.spec import parse_spec


def play_weights(
    a: Weights | None,
    b: Weights | None,
    size: int,
    games: int,
    *,
    seed: int | np.random.SeedSequence,
    komi: float,
    opening_plies: int = 4,
    max_moves: int = 0,
) -> FastGames:
    """Play the greedy players of two sets of weights against each other; None plays at random.

    Parameters
    ----------
    a, b : weights for this board size, with any feature sets
    size, games, seed, komi, opening_plies, max_moves : see `rlgo.fast_games.play_fast`
    """
    features, (theta_a, theta_b) = on_common_features([a, b], size)
    with compiling(f"matches, {size}x{size}"):
        return play_fast(features, theta_a, theta_b, games, seed, komi, opening_plies, max_moves)


def on_common_features(weights: Sequence[Weights | None], size: int) -> tuple[FeatureSet, list[np.ndarray]]:
    """Express value functions of one board size in one feature set, so that compiled code can play any two.

    Parameters
    ----------
    weights : the players' weights; None means the random player
    size : their common board size

    Returns
    -------
    the feature set, and theta of each player on it, float32[n_weights + 1]. It is their own set if they share one,
    otherwise all shapes without weight sharing.
    """
    sets = {w.features.name: w.features for w in weights if w is not None}
    if len(sets) > 1:
        features = make_features(size, SIZES, "none")
        thetas = [None if w is None else unshare(w.features, w.theta)[1] for w in weights]
    else:
        features = next(iter(sets.values()), None) or make_features(size)
        thetas = [None if w is None else w.theta for w in weights]
    return features, [np.zeros(features.n_weights + 1, np.float32) if theta is None else theta for theta in thetas]


def fast_weights(player: str | Player, size: int) -> Weights | None:
    """Return the weights of a greedy player's spec; None for the random player. RlgoError for any other player."""
    spec = parse_spec(player) if isinstance(player, str) else None
    if spec is not None and spec.name == "random":
        return None
    if spec is None or spec.name != "greedy" or spec.values.get("epsilon"):
        raise RlgoError(f"player {player}: a fast match takes greedy (without epsilon) and random players only")
    return weights_for(spec.values.get("weights", ""), size)
