"""The update against dense TD, and against cases worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import naive
from oracles.naive import NaiveBoard, from_core, to_core

from rlgo.base.errors import RlgoError
from rlgo.base.settings import EPSILON_GREEDY, NORMALISATIONS, STEP_SCHEDULES, UPDATES, VALUES, Learning, Policy
from rlgo.compiler.jit import make_rng
from rlgo.features.incremental import new_shapes, reset, update
from rlgo.features.shapes import make_features
from rlgo.go.board import new_boards, play
from rlgo.go.rules import max_plies, zobrist
from rlgo.learning.learner import Learner
from rlgo.learning.td import (
    begin_episode,
    begin_steps,
    episode_dtype,
    learn_game,
    learn_step,
    make_memory,
    record_move,
    step_size,
)
from rlgo.learning.value import squash

SETTINGS = {
    "alpha": 0.2, "schedule": "constant", "alpha_final": 0.0, "alpha_half": 1.0, "games": 1000, "lambda_": 0.0,
    "plies": 2, "value": "logistic", "update": "game", "normalise": "active",
}  # fmt: skip
NAMES = {"schedule": STEP_SCHEDULES, "value": VALUES, "update": UPDATES, "normalise": NORMALISATIONS}


def learning_of(**settings) -> Learning:
    settings = {**SETTINGS, **settings}
    return Learning(**{key: NAMES[key][x] if key in NAMES else x for key, x in settings.items()})


def learner_of(size=5, sizes=(1, 2), sharing="LI+LD", *, seed=1, komi=7.5, max_moves=0, **settings) -> Learner:
    learning = learning_of(**settings)
    policy = Policy(EPSILON_GREEDY, 0.2)
    return Learner(make_features(size, sizes, sharing), learning, policy, komi, max_moves, seed)


# ---------------------------------------------------------------------------------------------
# Dense TD. An error of one ply in time still beats a random player: only this shows it.
# ---------------------------------------------------------------------------------------------


def last_game(learner: Learner) -> tuple[list, float]:
    """The active shapes of s_0 ... s_T of the last game, replayed on the naive board; and z."""
    f, episode = learner.features, learner.pool.workers[0].episode
    states, board = naive.states_after(f.size, episode.moves[: episode.n], 0, f.sizes, f.sharing)
    assert board.n_passes == 2
    return states, (1 + np.sign(board.area_score() - learner.komi)) / 2


def compare_with_dense(games: int, size=5, sizes=(1, 2), sharing="LI+LD", alpha_of=None, **settings) -> None:
    """Learn from some games, one at a time, and let dense TD learn from the same ones."""
    learner = learner_of(size, sizes, sharing, max_moves=max_plies(size), **settings)
    settings = {**SETTINGS, **settings}
    theta: dict[naive.Weight, float] = {}
    for game in range(games):
        tally = learner.learn(1)
        assert tally.discarded == 0
        states, z = last_game(learner)
        error = naive.learn(
            theta,
            states,
            z,
            alpha=alpha_of(game) if alpha_of else settings["alpha"],
            lambda_=settings["lambda_"],
            plies=settings["plies"],
            value_kind=settings["value"],
            update=settings["update"],
            normalise=settings["normalise"],
        )
        assert (tally.games, tally.moves, tally.errors) == (1, len(states) - 1, len(states) - 1)
        assert tally.black_wins == z
        assert tally.error == pytest.approx(error, abs=1e-4)
    expected = naive.by_index(theta, learner.features)
    assert np.abs(expected).max() > 0.001
    np.testing.assert_allclose(learner.theta, expected, atol=1e-6, rtol=0)
    np.testing.assert_array_equal(learner.pool.workers[0].memory.table.black, learner.features.expand(learner.theta))
    assert learner.theta[0] == 0


@pytest.mark.parametrize("normalise", ["active", "slots", "norm2", "none"])
@pytest.mark.parametrize("update", ["game", "step"])
@pytest.mark.parametrize(("plies", "lambda_"), [(2, 0.0), (1, 0.0), (2, 0.7), (1, 0.7), (2, 1.0)])
def test_update_equals_dense_td(normalise, update, plies, lambda_):
    # Without normalisation a step is as long as many.
    alpha = 0.005 if normalise == "none" else 0.2
    compare_with_dense(8, alpha=alpha, normalise=normalise, update=update, plies=plies, lambda_=lambda_)


@pytest.mark.parametrize("update", ["game", "step"])
@pytest.mark.parametrize(("plies", "lambda_"), [(2, 0.0), (1, 0.7)])
def test_linear_update_equals_dense_td(update, plies, lambda_):
    compare_with_dense(12, alpha=0.02, value="linear", update=update, plies=plies, lambda_=lambda_)


@pytest.mark.parametrize("update", ["game", "step"])
@pytest.mark.parametrize("sharing", ["LI+LD", "LI", "LD", "inversion", "none"])
def test_every_sharing_equals_dense_td(sharing, update):
    compare_with_dense(6, 5, (1, 2, 3), sharing, update=update, lambda_=0.3, normalise="norm2")


def test_one_size_alone_equals_dense_td():
    compare_with_dense(6, 5, (3,), "LI+LD")


def test_schedule_equals_dense_td():
    settings = {"schedule": "harmonic", "alpha": 0.4, "alpha_half": 3.0}
    compare_with_dense(12, alpha_of=lambda game: 0.4 * 3 / (3 + game), **settings)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "games"), [(5, 100), (9, 3)])
def test_long_runs_equal_dense_td(size, games):
    compare_with_dense(games, size, (1, 2, 3), alpha=0.1, seed=3)


@pytest.mark.interpreted
@pytest.mark.boundscheck
@pytest.mark.parametrize("update", ["game", "step"])
def test_some_games_equal_dense_td(update):
    compare_with_dense(2, 5, (1, 2, 3), update=update, lambda_=0.5, normalise="norm2")


# ---------------------------------------------------------------------------------------------
# By hand. With 1x1 LI shapes alone there is one weight, and phi(s) = d, Black's stones less White's.
# ---------------------------------------------------------------------------------------------

ONE_WEIGHT = make_features(5, (1,), "LI")

# 1 Black C3  2 White D3  3 Black B2  4 pass  5 pass. Black's area is 2, White's 1.
#
# t                     0     1     2     3     4
# d                     0     1     0     1     1
# stones                0     1     2     3     3     ||phi||^2 of "active" and "slots"
# d^2                   0     1     0     1     1     ||phi||^2 of "norm2"
# V, theta = 0.1       .5     v    .5     v     v     v = sigma(0.1) = 0.5249792
# V, linear            .5    .6    .5    .6    .6
SHORT_GAME = [(2, 2), (2, 3), (1, 1), None, None]
V = 0.52497918747894


def record_game(moves, theta, learning, features=ONE_WEIGHT):
    """An episode of given moves, with constant weights; and the memory of these."""
    size, g = features.size, features.geometry
    weights = np.zeros(features.n_weights + 1, np.float32)
    weights[1:] = theta
    memory = make_memory(features, learning, weights)
    b, sh, episode = new_boards(1, size)[0], new_shapes(1, size)[0], np.zeros(1, episode_dtype(size))[0]
    reset(b, sh, memory.table)
    begin_episode(episode, sh, g, squash(learning.value, sh.x[0]))
    for p in moves:
        play(b, to_core(size, p), zobrist(size))
        update(b, sh, memory.table)
        record_move(episode, sh, to_core(size, p), squash(learning.value, sh.x[0]))
    return episode, memory


@pytest.mark.boundscheck
@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("z", "settings", "change", "error"),
    [
        # Two plies: s_1 and s_2 look at s_3 and s_4, s_3 and s_4 at z. s_1: v - v = 0; s_2: phi = 0.
        (1.0, {}, 2 * (1 - V) / 3, (V - 0.5) + 2 * (1 - V)),
        (0.0, {}, -2 * V / 3, (V - 0.5) + 2 * V),
        (0.5, {}, 2 * (0.5 - V) / 3, 3 * (V - 0.5)),
        (1.0, {"normalise": "slots"}, 2 * (1 - V) / 3, (V - 0.5) + 2 * (1 - V)),
        # 1 in place of 3 for ||phi||^2 of s_3 and s_4; and 0 for that of s_2.
        (1.0, {"normalise": "norm2"}, 2 * (1 - V), (V - 0.5) + 2 * (1 - V)),
        (1.0, {"normalise": "none"}, 2 * (1 - V), (V - 0.5) + 2 * (1 - V)),
        # One ply: s_1 looks at s_2, s_3 at s_4 (0), s_4 at z.
        (1.0, {"plies": 1}, (0.5 - V) + (1 - V) / 3, 3 * (V - 0.5) + (1 - V)),
        # Monte-Carlo: z - V(s_t) for s_1, s_3 and s_4.
        (1.0, {"lambda_": 1.0}, (1 - V) * (1 + 1 / 3 + 1 / 3), (V - 0.5) + 2 * (1 - V)),
        (0.0, {"lambda_": 1.0, "plies": 1}, -V * (1 + 1 / 3 + 1 / 3), 3 * (V - 0.5) + V),
        # Two plies: e_4 = e_3 = 1 - v, e_1 = 0 + lambda e_3.
        (1.0, {"lambda_": 0.5}, (1 - V) * (0.5 + 1 / 3 + 1 / 3), (V - 0.5) + 2 * (1 - V)),
        # One ply: e_4 = 1 - v, e_3 = 0 + e_4 / 2, e_2 = (v - .5) + e_3 / 2, e_1 = (.5 - v) + e_2 / 2.
        (
            1.0,
            {"lambda_": 0.5, "plies": 1},
            (0.5 - V) / 2 + (1 - V) / 8 + (1 - V) / 6 + (1 - V) / 3,
            3 * (V - 0.5) + (1 - V),
        ),
        (1.0, {"value": "linear"}, 2 * 0.4 / 3, 0.1 + 2 * 0.4),
    ],
)
def test_a_game_by_hand(z, settings, change, error):
    learning = learning_of(alpha=0.1, **settings)
    episode, memory = record_game(SHORT_GAME, 0.1, learning)
    v = 0.6 if settings.get("value") == "linear" else V
    assert episode.v[:6].tolist() == pytest.approx([0.5, v, 0.5, v, v, v], abs=1e-7)
    total = learn_game(episode, z, 0.1, learning, memory)
    assert memory.theta.tolist() == pytest.approx([0, 0.1 + 0.1 * change], abs=1e-7)
    assert total == pytest.approx(error, abs=1e-6)
    # A black stone is worth theta, a white one -theta, and an empty point nothing, wherever it is.
    start = ONE_WEIGHT.geometry.li_base[0]
    assert memory.table.black[start : start + 3].tolist() == [0, memory.theta[1], -memory.theta[1]]


@pytest.mark.boundscheck
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # s_1: 0; s_2: phi = 0; s_3: 0.1 (1 - 0.5249792) / 3 = 0.0158340, theta = 0.1158340;
        # s_4: V has become 0.5289262: 0.1 (1 - 0.5289262) / 3 = 0.0157025.
        ({}, 0.1315365),
        # Traces: s_1 leaves 1, of which s_3 finds 1/2, and s_4 nothing, being of the other parity.
        # s_3: 0.1 * 0.4750208 (1/2 + 1/3) = 0.0395851, theta = 0.1395851;
        # s_4: V = 0.5348397; 0.1 * 0.4651603 / 3 = 0.0155053 (s_2 left a trace of 0).
        ({"lambda_": 0.5}, 0.1550904),
        # One ply: s_1: 0.1 (0.5 - 0.5249792) = -0.0024979, theta = 0.0975021; s_2: phi = 0; s_3: 0;
        # s_4: V = 0.5243562: 0.1 * 0.4756438 / 3 = 0.0158548.
        ({"plies": 1}, 0.1133569),
    ],
)
def test_steps_by_hand(settings, expected):
    learning = learning_of(alpha=0.1, update="step", **settings)
    features, plies = ONE_WEIGHT, learning.plies
    size = features.size
    _, memory = record_game([], 0.1, learning)
    b, sh = new_boards(1, size)[0], new_shapes(1, size)[0]
    reset(b, sh, memory.table)
    begin_steps(sh, memory.scratch)
    for t, p in enumerate(SHORT_GAME, 1):
        play(b, to_core(size, p), zobrist(size))
        reset(b, sh, memory.table)
        for u in range(max(0, t - plies), t) if t == 5 else [t - plies] if t >= plies else []:
            v_next = 1.0 if t == 5 else squash(learning.value, sh.x[0])
            learn_step(u, v_next, 0.1, learning, memory)
        memory.scratch.recent[t % 3] = sh.configuration[:25]
    assert memory.theta.tolist() == pytest.approx([0, expected], abs=2e-7)


def test_errors_of_monte_carlo_and_of_td0():
    # Without normalisation the rates are the prefix sums of alpha e_t.
    for lambda_ in (1.0, 0.0):
        learner = learner_of(5, (1, 2, 3), alpha=0.01, lambda_=lambda_, normalise="none")
        for _ in range(30):
            z = learner.learn(1).black_wins
            n, v = learner.pool.workers[0].episode.n, learner.pool.workers[0].episode.v
            errors = np.diff(learner.pool.workers[0].episode.rate[: n + 1]) / 0.01
            targets = np.full(n, z) if lambda_ else np.append(v[2:n], [z, z])
            np.testing.assert_allclose(errors, targets - v[:n], atol=1e-12)
        assert np.ptp(v[:n]) > 0.01


def test_a_drawn_game_is_half_a_win():
    # On 5x5 a score is mostly +-25 or near it: whole komi in between makes draws rare, so take them all.
    wins = set()
    for komi in (-1.0, 0.0, 1.0):
        learner = learner_of(komi=komi)
        for _ in range(100):
            z = learner.learn(1).black_wins
            board = NaiveBoard(5)
            for p in learner.pool.workers[0].episode.moves[: learner.pool.workers[0].episode.n]:
                board.play(from_core(5, int(p)))
            assert z == (1 + np.sign(board.area_score() - komi)) / 2
            wins.add(float(z))
    assert wins == {0.0, 0.5, 1.0}


@pytest.mark.parametrize("normalise", ["active", "slots", "norm2", "none"])
def test_an_empty_board_teaches_nothing(normalise):
    learning = learning_of(normalise=normalise)
    features = make_features(5, (1, 2), "LI+LD")
    episode, memory = record_game([None, None], 0.25, learning, features)
    learn_game(episode, 0.0, 0.2, learning, memory)
    assert (memory.theta[1:] == 0.25).all()

    for when in ("game", "step"):
        learner = learner_of(normalise=normalise, update=when, alpha=0.01)
        learner.learn(20)
        assert np.isfinite(learner.theta).all()
        assert learner.theta.any()


@pytest.mark.parametrize(
    ("schedule", "settings", "points"),
    [
        ("constant", {}, {0: 0.4, 5: 0.4, 1000: 0.4}),
        ("linear", {"games": 10, "alpha_final": 0.1}, {0: 0.4, 1: 0.37, 5: 0.25, 10: 0.1, 11: 0.1, 1000: 0.1}),
        ("harmonic", {"games": 10, "alpha_half": 100.0}, {0: 0.4, 100: 0.2, 300: 0.1, 900: 0.04}),
        (
            "exponential",
            {"games": 10, "alpha_final": 0.1},
            {0: 0.4, 5: 0.2, 10: 0.1, 15: 0.1},
        ),
    ],
)
def test_step_size(schedule, settings, points):
    learning = learning_of(alpha=0.4, schedule=schedule, **settings)
    assert {game: step_size(learning, game) for game in points} == pytest.approx(points)


# ---------------------------------------------------------------------------------------------
# Many games
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("update", ["game", "step"])
def test_the_same_seed_gives_the_same_weights(update):
    def weights(seed, *chunks):
        # A schedule, so that a game that forgets its number is found out; a trace, so that one left over is.
        learner = learner_of(5, (1, 2, 3), seed=seed, update=update, schedule="harmonic", lambda_=0.5)
        for games in chunks:
            learner.learn(games)
        assert learner.games == sum(chunks)
        return learner.theta.tobytes()

    first = weights(7, 60)
    assert first == weights(7, 60)
    assert first == weights(7, 1, 20, 2, 37)
    assert first == weights(np.random.SeedSequence(7), 60)
    assert first != weights(8, 60)


def test_games_over_the_cap_teach_nothing():
    learner, discarded = learner_of(max_moves=40), 0
    for _ in range(60):
        before = learner.theta.tobytes(), learner.pool.workers[0].memory.table.black.tobytes()
        tally = learner.learn(1)
        assert tally.games + tally.discarded == 1
        if tally.discarded:
            discarded += 1
            assert (learner.theta.tobytes(), learner.pool.workers[0].memory.table.black.tobytes()) == before
            assert (tally.moves, tally.black_wins, tally.error, tally.errors) == (0, 0, 0, 0)
        else:
            assert learner.theta.tobytes() != before[0]
            assert tally.moves <= 40
    assert 5 < discarded < 55
    assert learner.games == 60


@pytest.mark.parametrize("update", ["game", "step"])
def test_the_cap_counts_plies(update):
    learner = learner_of(update=update)
    learner.learn(1)
    length = int(learner.pool.workers[0].episode.n)
    assert learner_of(update=update, max_moves=length).learn(1).games == 1
    assert learner_of(update=update, max_moves=length - 1).learn(1).discarded == 1


def test_the_longest_cap():
    assert learner_of().pool.workers[0].max_moves == 75
    assert learner_of(max_moves=max_plies(5)).pool.workers[0].max_moves == 100
    with pytest.raises(RlgoError, match=r"policy\.max_moves = 101: expected an integer from 0 to 100"):
        learner_of(max_moves=101)


def test_play_does_not_learn():
    learner = learner_of()
    learner.learn(20)
    before = learner.theta.tobytes(), learner.pool.workers[0].memory.table.black.tobytes(), learner.games
    tally = learner.play(50)
    assert tally.games + tally.discarded == 50
    assert (learner.theta.tobytes(), learner.pool.workers[0].memory.table.black.tobytes(), learner.games) == before
    other = learner_of()
    other.learn(20)
    other.pool.workers[0].rng[:] = learner.pool.workers[0].rng
    for each in (learner, other):
        each.learn(20)
    assert learner.theta.tobytes() == other.theta.tobytes() != before[0]


def test_learning_goes_on_from_given_weights():
    first = learner_of(seed=1)
    first.learn(30)
    given = first.theta.copy()
    second = Learner(first.features, first.learning, first.policy, theta=given, seed=5)
    second.learn(10)
    assert (given == first.theta).all()  # copied, not learned into
    assert np.abs(second.theta - given).max() > 0
    assert np.abs(second.theta - given).sum() < np.abs(given).sum()
    rng = make_rng(5)
    assert rng.dtype == np.uint64
