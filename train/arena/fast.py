"""Compiled matches between greedy and random players: thousands of games a second.

Start reading at `play_weights`. Games are played by `rlgo.learning.fast_games`, which takes two value functions on the
same features; `on_common_features` brings any weights into that form.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_OPENING_PLIES, SHARINGS, SIZES
from rlgo.features.rewriting import extend, unshare
from rlgo.features.shapes import FeatureSet, make_features
from rlgo.features.weights import Weights
from rlgo.learning.fast_games import FastGames, joined, play_slices
from rlgo.play.player import Player

_T = TypeVar("_T")


def play_weights(
    a: Weights | None,
    b: Weights | None,
    size: int,
    games: int,
    *,
    seed: int | np.random.SeedSequence,
    komi: float,
    openings: int | np.ndarray = DEFAULT_OPENING_PLIES,
    max_moves: int = 0,
) -> Iterator[FastGames]:
    """Play the greedy players of two sets of weights against each other, slice by slice; None plays at random.

    Parameters
    ----------
    a, b : weights for this board size, with any feature sets
    size, games, seed, komi, openings, max_moves : see `rlgo.learning.fast_games.play_fast`

    Returns
    -------
    an iterator over the games in order, see `rlgo.learning.fast_games.play_slices`
    """
    features, (theta_a, theta_b) = on_common_features([a, b], size)
    return play_slices(features, theta_a, theta_b, games, seed, komi, openings, max_moves)


def side_by_side(
    play: Callable[[_T], Iterator[FastGames]], matches: Iterable[_T], jobs: int
) -> Generator[FastGames, None, None]:
    """Play several matches at a time on threads, and yield the games of each, in order.

    If the iteration ends early, such as by Ctrl-C, the matches in progress end within a tenth of a second.

    Parameters
    ----------
    play : plays a match in slices, see `play_weights`
    matches : the arguments of `play`
    jobs : matches at a time
    """
    stopped = threading.Event()

    def whole(match: _T) -> FastGames:
        parts = []
        for part in play(match):
            parts.append(part)
            if stopped.is_set():
                break
        return joined(parts)

    threads = ThreadPoolExecutor(jobs)
    try:
        yield from threads.map(whole, matches)
    finally:
        stopped.set()
        threads.shutdown(cancel_futures=True)


def on_common_features(weights: Sequence[Weights | None], size: int) -> tuple[FeatureSet, list[np.ndarray]]:
    """Express value functions of one board size in one feature set, so that compiled code can play any two.

    Parameters
    ----------
    weights : the players' weights; None means the random player
    size : their common board size

    Returns
    -------
    the feature set, and theta of each player on it, float32[n_weights + 1]. It is the smallest one with all their
    windows and kinds of weights; if there is none, it is all shapes without weight sharing.
    """
    sets = {w.features.name: w.features for w in weights if w is not None} or {"": make_features(size)}
    windows = tuple(name for f in sets.values() for name in f.names)
    sharing = _common_sharing([f.sharing for f in sets.values()])
    liberty_sharing = _common_sharing([f.liberty_sharing for f in sets.values() if f.sees_liberties])
    if sharing is not None and liberty_sharing is not None:
        features = make_features(size, (), sharing, windows, liberty_sharing)
        thetas = [None if w is None else extend(w.features, w.theta, features) for w in weights]
    else:
        features = make_features(size, SIZES, "none", windows, "none")
        thetas = [None if w is None else unshare(w.features, w.theta, features.names)[1] for w in weights]
    return features, [np.zeros(features.n_weights + 1, np.float32) if theta is None else theta for theta in thetas]


def _common_sharing(sharings: list[str]) -> str | None:
    """Return the smallest kind of weight sharing with all blocks of these; None if there is none."""
    kinds = {kind for sharing in sharings for kind in SHARINGS[sharing]}
    fitting = [sharing for sharing in SHARINGS if kinds <= set(SHARINGS[sharing])]
    return min(fitting, key=lambda sharing: len(SHARINGS[sharing]), default=None)


def fast_weights(player: str | Player, size: int) -> Weights | None:
    """Return the weights of a greedy player's spec; None for the random player. RlgoError for any other player."""
    from train.players.keys import weights_for  # loads all players, which few users of this module need: 0.2 s
    from train.players.spec import parse_spec

    spec = parse_spec(player) if isinstance(player, str) else None
    if spec is not None and spec.name == "random":
        return None
    if spec is None or spec.name != "greedy" or spec.values.get("epsilon"):
        raise RlgoError(f"player {player}: a fast match takes greedy (without epsilon) and random players only")
    return weights_for(spec.values.get("weights", ""), size)
