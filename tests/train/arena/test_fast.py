"""Matches inside compiled code: any weights, on common features."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from random_play import random_theta

from rlgo.base.errors import RlgoError
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, load_weights, save_weights
from rlgo.learning.fast_games import FastGames, joined
from rlgo.play.player import RandomPlayer
from train.arena import match as matches
from train.arena.fast import fast_weights, on_common_features, play_weights, side_by_side
from train.arena.match import play_match
from train.cli.main import main


def random_weights(size: int, sizes: tuple[int, ...], sharing: str = "LI+LD") -> Weights:
    features = make_features(size, sizes, sharing)
    return Weights(features, random_theta(features, 1, 0.1))


def test_players_of_the_same_features_keep_them() -> None:
    a, b = random_weights(5, (1, 2)), random_weights(5, (1, 2))
    features, thetas = on_common_features([a, None, b], 5)
    assert features is a.features
    assert (thetas[0][1:] == a.theta[1:]).all()
    assert (thetas[2][1:] == b.theta[1:]).all()
    assert not thetas[1].any()


def games_of(a: Weights | None, b: Weights | None, seed: int) -> FastGames:
    return joined(play_weights(a, b, 5, 40, seed=seed, komi=0.5))


@pytest.mark.parametrize(("sharing", "common"), [("LD", ((1, 2), "LI+LD")), ("none", ((1, 2, 3), "none"))])
def test_players_of_different_features_meet_on_common_ones(sharing, common) -> None:
    a, b = random_weights(5, (1, 2)), random_weights(5, (1,), sharing)
    features, (theta_a, theta_b) = on_common_features([a, b], 5)
    assert features is make_features(5, *common)
    written_out = games_of(Weights(features, theta_a), Weights(features, theta_b), seed=1)
    assert (games_of(a, b, seed=1).scores == written_out.scores).all()


def test_nobodys_weights_play_at_random() -> None:
    a = random_weights(5, (1, 2))
    zero = Weights(a.features, np.zeros_like(a.theta))
    one, two = (games_of(a, other, seed=1) for other in (None, zero))
    assert (one.digests == two.digests).all()
    assert (games_of(a, None, seed=2).digests != one.digests).any()


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
    assert match.scores == games_of(weights, None, seed=1).scores.tolist()
    assert (match.games, match.forfeits, match.interrupted) == (40, 0, False)


def interrupted(slices: Iterator[FastGames], after: int) -> Iterator[FastGames]:
    """Ctrl-C comes while the slice after this many is played."""
    yield from itertools.islice(slices, after)
    raise KeyboardInterrupt


def test_ctrl_c_keeps_the_games_of_a_fast_match(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    whole = play_match("random", "random", 100, size=5, fast=True, progress=False)
    monkeypatch.setattr(matches, "play_weights", lambda *a, **k: interrupted(play_weights(*a, **k), 2))
    part = play_match("random", "random", 100, size=5, fast=True, progress=False)
    assert part.interrupted
    assert 2 <= part.games < 100
    assert part.scores == whole.scores[: part.games // 2]
    assert main(["match", "random", "random", "--games", "100", "--size", "5", "--fast"]) == 0  # there was no signal
    assert capsys.readouterr().err.splitlines()[-1] == "interrupted; the same command starts over"
    monkeypatch.setattr(matches, "play_weights", lambda *a, **k: interrupted(play_weights(*a, **k), 0))
    with pytest.raises(KeyboardInterrupt):
        play_match("random", "random", 100, size=5, fast=True, progress=False)


def test_matches_side_by_side_come_in_order_and_end_together() -> None:
    a = random_weights(5, (1, 2))

    def play(seed: int) -> Iterator[FastGames]:
        return play_weights(a, None, 5, 40, seed=seed, komi=0.5)

    found = [games.scores.tolist() for games in side_by_side(play, range(5), 2)]
    assert found == [games_of(a, None, seed=seed).scores.tolist() for seed in range(5)]

    def endless(seed: int) -> Iterator[FastGames]:
        while True:
            yield from play(seed)

    before = threading.active_count()
    endless_matches = side_by_side(lambda seed: endless(seed) if seed else play(seed), range(3), 2)
    assert next(endless_matches).scores.tolist() == found[0]
    endless_matches.close()  # as Ctrl-C does
    assert threading.active_count() == before
