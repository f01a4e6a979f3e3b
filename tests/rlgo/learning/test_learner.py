"""Learning from many games: the mean of the weights, several workers, counts, and continuing from a saved state."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import naive

from rlgo.base.settings import EPSILON_GREEDY, HARMONIC, UPDATES, Learning, Policy
from rlgo.features.shapes import make_features
from rlgo.learning.learner import Learner, LearnWorker, WorkerArguments, add_up, averaging_rate, merged, share_out
from rlgo.learning.selfplay import tally_dtype

FEATURES = make_features(5, (1, 2))
POLICY = Policy(EPSILON_GREEDY, 0.2)


def learner_of(workers=1, merge_every=10, *, seed=1, max_moves=0, features=FEATURES, update="game", **learning):
    # A schedule, so that a game that forgets its number is found out; a trace, so that one left over is.
    learning = {"schedule": HARMONIC, "alpha_half": 100.0, "lambda_": 0.3, **learning}
    rule = Learning(update=UPDATES[update], **learning)
    return Learner(features, rule, POLICY, 0.5, max_moves, seed, workers=workers, merge_every=merge_every)


def known(learner: Learner) -> dict[str, bytes]:
    """All that a learner has learned, to the bit."""
    return {name: array.tobytes() for name, array in learner.state().items() if name != "rng"}


def test_a_softmax_weighs_the_value_function_that_learns():
    """With weights far from 0, a linear V leaves [0, 1], and other moves are drawn than by a logistic one."""
    start = np.linspace(-9, 9, FEATURES.n_weights + 1, dtype=np.float32)
    games = {}
    for value in ("linear", "logistic"):
        learner = Learner(FEATURES, Learning(1e-12, value=value), Policy("softmax"), 0.5, seed=1, theta=start)
        learner.learn(1)
        episode = learner.pool.workers[0].episode
        games[value] = episode.moves[: episode.n].tolist()
    assert games["linear"] != games["logistic"]


# ---------------------------------------------------------------------------------------------
# The mean of the weights over time
# ---------------------------------------------------------------------------------------------


@pytest.mark.interpreted
def test_averaging_rate_by_hand():
    assert [averaging_rate(k, 0) for k in (1, 2, 3, 4)] == [1, 1 / 2, 1 / 3, 1 / 4]
    assert [averaging_rate(k, 3) for k in (1, 2, 3, 5, 13)] == [1, 4 / 5, 4 / 6, 1 / 2, 1 / 4]
    assert [averaging_rate(1, averaging) for averaging in (0, 0.5, 3.0, 100.0)] == [1, 1, 1, 1]


@pytest.mark.interpreted
@pytest.mark.parametrize("averaging", [0, 0.5, 1, 3, 10])
def test_the_jth_weights_count_as_the_power_of_j(averaging):
    n = 2_000
    counts = np.zeros(n)
    for k in range(1, n + 1):
        rate = averaging_rate(k, averaging)
        counts *= 1 - rate
        counts[k - 1] += rate
    assert counts.sum() == pytest.approx(1)
    if averaging == 0:
        assert counts == pytest.approx(np.full(n, 1 / n))
    if averaging == 3:
        j = np.arange(1.0, n + 1)
        assert counts == pytest.approx(j * (j + 1) * (j + 2) / (j * (j + 1) * (j + 2)).sum())
    # Four times as late counts 4^averaging as much.
    assert counts[n - 1] / counts[n // 4 - 1] == pytest.approx(4**averaging, rel=0.1)


@pytest.mark.parametrize("averaging", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("workers", [1, 2])
def test_mean_weights(workers, averaging):
    learner = learner_of(workers, 5, averaging=averaging)
    thetas = []
    for _ in range(12):
        learner.learn(learner.round - 1)
        before = learner.mean()
        assert before.tobytes() == (learner.theta_mean.astype(np.float32) if thetas else learner.theta).tobytes()
        learner.learn(1)
        thetas.append(learner.theta.tolist())
        np.testing.assert_allclose(learner.theta_mean, naive.weighted_mean(thetas, averaging), rtol=1e-9, atol=1e-12)
        assert learner.mean().dtype == np.float32
        assert (learner.mean() == learner.theta_mean.astype(np.float32)).all()
    assert np.abs(learner.mean() - learner.theta).max() > 0.001


# ---------------------------------------------------------------------------------------------
# Division into calls
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("update", ["game", "step"])
def test_one_worker_learns_the_same_however_its_games_are_divided(update):
    whole, divided = learner_of(update=update), learner_of(update=update)
    tally = whole.learn(100)
    tallies = [divided.learn(n) for n in (1, 8, 1, 13, 30, 7, 0, 40)]
    assert known(divided) == known(whole)
    assert divided.pool.workers[0].rng == whole.pool.workers[0].rng
    alone = LearnWorker(WorkerArguments(FEATURES, whole.learning, POLICY, 0.5, 0, 1))
    assert (alone.learn(100, 0), alone.theta.tobytes()) == (tally, whole.theta.tobytes())
    # To the last bit, for the logs of a run that was interrupted are to be the same, too.
    assert add_up(tallies) == tally
    assert learner_of(update=update, seed=2).learn(100) != tally


def test_several_workers_learn_the_same_when_divided_at_merges():
    whole, divided = learner_of(3, 8), learner_of(3, 8)
    tally = whole.learn(120)
    tallies = [divided.learn(n) for n in (24, 48, 48)]
    assert known(divided) == known(whole)
    assert add_up(tallies) == tally
    elsewhere = learner_of(3, 8)
    elsewhere.learn(60)
    elsewhere.learn(60)
    assert known(elsewhere) != known(whole)
    assert known(learner_of(1, 24)) != known(whole)


# ---------------------------------------------------------------------------------------------
# Several workers
# ---------------------------------------------------------------------------------------------


@pytest.mark.interpreted
def test_merged_by_hand():
    theta = np.array([0, 1, 2, 3, 4], np.float32)
    a = np.array([0, 1.5, 2, 3, 5], np.float32)
    b = np.array([0, 2.5, 2, 1, 3], np.float32)
    # Both changed the first weight, by 1/2 and 3/2; nobody the second; one of them the third; the fourth cancels.
    assert merged(theta, [a, b]).tolist() == [0, 2, 2, 1, 4]
    assert merged(theta, [a]).tolist() == a.tolist()
    assert merged(theta, [theta, a, theta]).tolist() == a.tolist()
    assert merged(theta, [a, b]).dtype == np.float32
    assert theta.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.interpreted
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_merged_is_the_mean_change_of_those_that_changed(workers):
    rng = np.random.default_rng(workers)
    theta = rng.normal(size=300).astype(np.float32)
    changes = rng.normal(size=(workers, 300)) * (rng.random((workers, 300)) < 0.4)
    thetas = [(theta + change).astype(np.float32) for change in changes]
    expected = naive.merged(theta.tolist(), [own.tolist() for own in thetas])
    np.testing.assert_allclose(merged(theta, thetas), expected, atol=1e-6, rtol=0)


@pytest.mark.interpreted
def test_games_are_shared_out_once_and_evenly():
    rng = np.random.default_rng(1)
    for _ in range(300):
        games, first, workers = (int(rng.integers(low, 60)) for low in (0, 0, 1))
        shares = share_out(games, first, workers)
        assert len(shares) == workers
        assert [game for n, start in shares for game in range(start, start + n)] == list(range(first, first + games))
        assert max(n for n, _ in shares) - min(n for n, _ in shares) <= 1
    assert share_out(10, 100, 3) == [(3, 100), (3, 103), (4, 106)]


@pytest.mark.interpreted
def test_tallies_add_up():
    tallies = np.zeros(3, tally_dtype())
    for i, name in enumerate(tally_dtype().names):
        tallies[name] = [10 * i + 1, 0, 2]
    total = add_up(list(tallies))
    assert [total[name] for name in total.dtype.names] == [10 * i + 3 for i in range(len(total.dtype))]
    assert add_up([]) == np.zeros(1, tally_dtype())[0]


def test_workers_are_single_learners_that_merge():
    learner = learner_of(3, 7)
    learner.learn(50)  # two rounds of 21, and the start of the third
    seeds = np.random.SeedSequence(1).spawn(3)
    singles = [LearnWorker(WorkerArguments(FEATURES, learner.learning, POLICY, 0.5, 0, seed)) for seed in seeds]
    theta, games = np.zeros(FEATURES.n_weights + 1, np.float32), 0
    for shares in ([7, 7, 7], [7, 7, 7], [2, 3, 3]):
        before = theta
        for single, share in zip(singles, shares, strict=True):
            single.theta[:], single.memory.table.black[:] = before, FEATURES.expand(before)
            single.learn(share, games)
            games += share
        theta = merged(before, [single.theta for single in singles])
    assert learner.games == games
    assert learner.theta.tobytes() == theta.tobytes()
    for worker in learner.pool.workers:
        assert worker.theta.tobytes() == theta.tobytes()
        assert worker.memory.table.black.tobytes() == FEATURES.expand(theta).tobytes()
    assert (learner.pool.occurrences() == sum(single.occurrences for single in singles)).all()


@pytest.mark.interpreted
@pytest.mark.boundscheck
def test_adopted_weights_are_written_to_all_places():
    worker = learner_of().pool.workers[0]
    rng = np.random.default_rng(1)
    theta = np.zeros(FEATURES.n_weights + 1, np.float32)
    for share in (1.0, 0.1, 0.0, 1.0):
        changed = rng.random(len(theta)) < share
        changed[0] = False
        theta[changed] = rng.normal(size=changed.sum())
        worker.adopt(theta, worker.state)
        assert worker.theta.tobytes() == theta.tobytes()
        assert worker.memory.table.black.tobytes() == FEATURES.expand(theta).tobytes()
        assert not worker.memory.scratch.is_touched.any()
    theta[1] += 1
    assert worker.theta[1] != theta[1]  # a copy


# ---------------------------------------------------------------------------------------------
# Going on
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("update", ["game", "step"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_restored_learner_goes_on_to_the_bit(workers, update):
    first = learner_of(workers, update=update)
    first.learn(70)
    state = first.state()
    tally = first.learn(50)

    def goes_on(other: Learner) -> bool:
        other.restore(state)
        return other.learn(50) == tally and known(other) == known(first)

    assert goes_on(learner_of(workers, update=update, seed=9))
    # One that knows something else already, in the middle of a round; and itself.
    used = learner_of(workers, update=update, seed=9)
    used.learn(33)
    assert goes_on(used)
    assert goes_on(first)


# ---------------------------------------------------------------------------------------------
# How often each weight's shapes stood on the board
# ---------------------------------------------------------------------------------------------


def recount(worker: LearnWorker) -> np.ndarray:
    """The occurrences in the last game, replayed on the naive board."""
    f, episode = worker.features, worker.episode
    states, _ = naive.states_after(f.size, episode.moves[: episode.n], 0, f.sizes, f.sharing)
    return naive.by_index(naive.occurrences(states), f).astype(np.int64)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("update", ["game", "step"])
@pytest.mark.parametrize("sharing", ["LI+LD", "LD", "none"])
def test_occurrences(sharing, update, workers):
    learner = learner_of(workers, 1, features=make_features(5, (1, 2), sharing), update=update, max_moves=100)
    expected = np.zeros(learner.features.n_weights + 1, np.int64)
    for _ in range(10):
        learner.learn(workers)  # a game each
        expected += sum(recount(worker) for worker in learner.pool.workers)
        np.testing.assert_array_equal(learner.pool.occurrences()[1:], expected[1:])
    assert expected.max() > 100


@pytest.mark.interpreted
@pytest.mark.boundscheck
@pytest.mark.parametrize("update", ["game", "step"])
def test_occurrences_of_a_game(update):
    learner = learner_of(update=update, max_moves=100)
    learner.learn(1)
    np.testing.assert_array_equal(learner.pool.occurrences()[1:], recount(learner.pool.workers[0])[1:])


def test_discarded_games_do_not_count():
    learner = learner_of(max_moves=20)
    assert learner.learn(20).discarded == 20
    assert not learner.pool.occurrences().any()


def test_a_restored_state_learns_on_after_workers_were_stopped():
    learner = Learner(make_features(5, (1,), "LI+LD"), Learning(), Policy(), 0.5, workers=2, merge_every=200)
    learner.learn(10)
    state = learner.state()
    for worker in learner.pool.workers:
        worker.stopped = True
    learner.restore(state)
    learner.learn(400)
    learner.close()
