"""Compiled games between two value functions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from random_play import random_theta

from rlgo.base.budget import Budget
from rlgo.base.errors import RlgoError
from rlgo.base.settings import Learning, Policy
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, save_weights
from rlgo.learning.fast_games import joined, play_fast, play_slices
from rlgo.learning.learner import Learner
from train.arena.match import play_match

SIZE = 5


@pytest.fixture
def compiled(monkeypatch) -> list[str]:
    """What has been compiled, up to now."""
    told: list[str] = []

    @contextmanager
    def compiling(what: str) -> Iterator[None]:
        yield
        told.append(what)

    monkeypatch.setattr("rlgo.learning.fast_games.compiling", compiling)
    monkeypatch.setattr("rlgo.learning.learner.compiling", compiling)
    return told


def test_the_time_of_games_is_not_that_of_compiling(compiled):
    features = make_features(SIZE)
    slices = play_slices(features, random_theta(features, 1), random_theta(features, 2), 100_000, seed=5)
    assert compiled == ["matches, 5x5"]
    assert 0 < next(slices).scores.size < 100_000
    sees = make_features(SIZE, (1, 2), others=("atari 2x2",))
    learner = Learner(sees, Learning(), Policy(), seed=1)
    learner.learn(1)
    assert compiled == ["matches, 5x5", "self-play and learning, 5x5 with irregular windows"]


def test_games_are_reproducible_and_fair():
    features = make_features(SIZE)
    a, b = random_theta(features, 1), random_theta(features, 2)
    first, again = (play_fast(features, a, b, 200, seed=5) for _ in range(2))
    for x, y in zip(first, again, strict=True):
        np.testing.assert_array_equal(x, y)
    assert set(np.unique(first.scores)) <= {0.0, 1.0}
    assert len(np.unique(first.digests)) > 100
    # Seen from the other side, the same games: B's score as White where A was Black, and the other way round.
    other = play_fast(features, b, a, 200, seed=5)
    np.testing.assert_array_equal(other.scores, 1 - first.scores[:, ::-1])
    np.testing.assert_array_equal(other.digests, first.digests[:, ::-1])
    # A player against itself plays the same game with either colour.
    alone = play_fast(features, a, a, 100, seed=6)
    np.testing.assert_array_equal(alone.digests[:, 0], alone.digests[:, 1])
    assert alone.scores.mean() == 0.5


def test_slices_do_not_change_the_games(monkeypatch):
    features = make_features(SIZE)
    a, b = random_theta(features, 1), random_theta(features, 2)
    sizes = []

    def slices(budget: Budget, n: int) -> Iterator[int]:
        while (left := budget.left()) > 0:
            yield min(n, left)
            budget.done += min(n, left)

    for pairs in (1, 7, 1_000):
        with monkeypatch.context() as patch:
            patch.setattr(Budget, "slices", lambda self, n=pairs, **_: slices(self, n))
            parts = list(play_slices(features, a, b, 60, seed=5))
        sizes.append([len(part.scores) for part in parts])
        for x, y in zip(joined(parts), play_fast(features, a, b, 60, seed=5), strict=True):
            np.testing.assert_array_equal(x, y)
    assert sizes == [[1] * 30, [7, 7, 7, 7, 2], [30]]


def test_cap_scores_as_it_stands():
    features = make_features(SIZE)
    games = play_fast(features, random_theta(features, 1), random_theta(features, 2), 20, 1, openings=4, max_moves=9)
    assert (games.lengths == -9).all()


def test_openings_leave_most_of_the_game():
    features = make_features(SIZE)
    theta = random_theta(features, 1)
    most = SIZE * SIZE // 2
    assert (play_fast(features, theta, theta, 20, 1, openings=most).lengths >= most).all()
    with pytest.raises(RlgoError, match=f"openings = {most + 1}: expected an integer from 0 to {most}"):
        play_fast(features, theta, theta, 20, 1, openings=most + 1)


def test_fast_match(tmp_path):
    specs = []
    for i, sizes in enumerate([(1, 2), (1, 2, 3)]):
        features = make_features(SIZE, sizes)
        learner = Learner(features, Learning(), Policy(), seed=i)
        learner.learn(2000)
        save_weights(tmp_path / f"{i}.npz", Weights(features, learner.theta))
        specs.append(f"greedy,weights={tmp_path / f'{i}.npz'}")
    result = play_match(specs[0], "random", games=200, size=SIZE, seed=1, fast=True)
    assert (result.games, result.a, result.b) == (200, specs[0], "random")
    assert result.win_rate > 0.8
    mixed = play_match(specs[0], specs[1], games=200, size=SIZE, seed=1, fast=True)  # of different features
    back = play_match(specs[1], specs[0], games=200, size=SIZE, seed=1, fast=True)
    assert mixed.wins == 200 - back.wins
    assert mixed.distinct > 100
    slow = play_match(specs[0], "random", games=60, size=SIZE, seed=1)
    assert abs(slow.win_rate - result.win_rate) < 0.2
    for spec in ("greedy,epsilon=0.1,weights=x", "gtp:gnugo"):
        with pytest.raises(RlgoError, match="a fast match takes greedy"):
            play_match(spec, "random", games=2, size=SIZE, fast=True)
