"""Episodes of self-play, and games between two sets of weights inside compiled code."""

from __future__ import annotations

import numpy as np
import pytest
from random_play import random_theta

from rlgo.base.errors import RlgoError
from rlgo.base.settings import Learning, Policy
from rlgo.features.rewriting import unshare
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights
from rlgo.go.board import PASS, is_sensible, new_board, outcome, play
from rlgo.go.rules import zobrist
from rlgo.learning.learner import Learner
from rlgo.learning.value import ValueFunction

SIZE = 5


def test_greedy_episode_plays_the_best_afterstate():
    features = make_features(SIZE)
    theta = random_theta(features, 3)
    learner = Learner(features, Learning(alpha=1e-12), Policy(epsilon=0.0), seed=1, theta=theta)
    V = ValueFunction(Weights(features, theta))
    checked = 0
    for _ in range(5):
        learner.learn(1)
        board = new_board(SIZE)
        for p in learner.pool.workers[0].episode.moves[: learner.pool.workers[0].episode.n].tolist():
            sensible = [int(q) for q in board.empties[: board.n_empty] if is_sensible(board, int(q))]
            if not sensible:
                assert p == PASS
            else:
                values = V.afterstates(board)
                at = {q: values[(q // (SIZE + 1) - 1) * SIZE + q % (SIZE + 1) - 1] for q in sensible}
                best = max(at.values()) if board.to_play == 1 else min(at.values())
                assert at[p] == pytest.approx(best, abs=1e-6)
                checked += 1
            play(board, p, zobrist(SIZE))
        assert board.n_passes == 2
    assert checked > 50


def test_tally_counts_what_was_played():
    learner = Learner(make_features(SIZE, (1, 2)), Learning(), Policy(), seed=4)
    total = learner.learn(1)
    for _ in range(20):
        before = learner.pool.workers[0].episode.n
        tally = learner.learn(1)
        assert tally.games + tally.discarded == 1
        if tally.games:
            assert tally.moves == tally.errors == learner.pool.workers[0].episode.n
            board = new_board(SIZE)
            for p in learner.pool.workers[0].episode.moves[: learner.pool.workers[0].episode.n].tolist():
                play(board, p, zobrist(SIZE))
            assert tally.black_wins == outcome(board, 7.5)
        assert before
    assert total.games + total.discarded == 1
    assert learner.games == 21


def test_cap_that_no_record_holds_is_refused():
    with pytest.raises(RlgoError, match="max_moves = 101: expected an integer from 0 to 100"):
        Learner(make_features(SIZE), Learning(), Policy(), max_moves=101)


@pytest.mark.parametrize("sharing", ["LI+LD", "LI", "LD", "inversion"])
def test_unshared_weights_play_the_same_games(sharing):
    features = make_features(SIZE, (1, 3), sharing)
    theta = random_theta(features, 8)
    whole, unshared = unshare(features, theta)
    v, w = ValueFunction(Weights(features, theta)), ValueFunction(Weights(whole, unshared))
    board, rng = new_board(SIZE), np.random.default_rng(1)
    for _ in range(40):
        assert v.value(board) == pytest.approx(w.value(board), abs=1e-5)
        np.testing.assert_allclose(v.afterstates(board), w.afterstates(board), atol=1e-5)
        sensible = [int(q) for q in board.empties[: board.n_empty] if is_sensible(board, int(q))]
        play(board, int(rng.choice(sensible)) if sensible else PASS, zobrist(SIZE))
