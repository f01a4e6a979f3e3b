"""Matches inside compiled code: any weights, on common features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rlgo.errors import RlgoError
from rlgo.player import RandomPlayer
from rlgo.shapes import make_features
from rlgo.weights import Weights, load_weights, save_weights
from train.arena.fast import fast_weights, on_common_features, play_weights
from train.arena.match import play_match


def random_weights(size: int, sizes: tuple[int, ...], sharing: str = "LI+LD") -> Weights:
    features = make_features(size, sizes, sharing)
    theta = np.random.default_rng(1).normal(0, 0.1, features.n_weights + 1).astype(np.float32)
    return Weights(features, theta)


def test_players_of_the_same_features_keep_them() -> None:
    a, b = random_weights(5, (1, 2)), random_weights(5, (1, 2))
    features, thetas = on_common_features([a, None, b], 5)
    assert features is a.features
    assert thetas[0] is a.theta
    assert thetas[2] is b.theta
    assert not thetas[1].any()


def test_players_of_different_features_meet_on_all_shapes() -> None:
    a, b = random_weights(5, (1, 2)), random_weights(5, (1,), "LD")
    features, (theta_a, theta_b) = on_common_features([a, b], 5)
    assert features is make_features(5, (1, 2, 3), "none")
    written_out = play_weights(Weights(features, theta_a), Weights(features, theta_b), 5, 40, seed=1, komi=0.5)
    assert (play_weights(a, b, 5, 40, seed=1, komi=0.5).scores == written_out.scores).all()


def test_nobodys_weights_play_at_random() -> None:
    a = random_weights(5, (1, 2))
    zero = Weights(a.features, np.zeros_like(a.theta))
    one, two = (play_weights(a, other, 5, 40, seed=1, komi=0.5) for other in (None, zero))
    assert (one.digests == two.digests).all()
    assert (play_weights(a, None, 5, 40, seed=2, komi=0.5).digests != one.digests).any()


def test_a_fast_match_is_between_greedy_and_random_players(tmp_path: Path) -> None:
    save_weights(tmp_path / "w.npz", random_weights(5, (1, 2)))
    spec = f"greedy,weights={tmp_path / 'w.npz'}"
    weights = fast_weights(spec, 5)
    assert weights is not None
    assert (weights.theta == load_weights(tmp_path / "w.npz").theta).all()
    assert fast_weights("random", 5) is None
    for player in (f"{spec},epsilon=0.1", "uct,sims=10", RandomPlayer(1)):
        with pytest.raises(RlgoError, match="greedy \\(without epsilon\\) and random players only"):
            fast_weights(player, 5)
    match = play_match(spec, "random", 40, size=5, komi=0.5, fast=True)
    assert match.scores == play_weights(weights, None, 5, 40, seed=1, komi=0.5).scores.tolist()
    assert (match.games, match.forfeits, match.interrupted) == (40, 0, False)
