"""Gradients of a softmax policy: against finite differences, and against means over all playouts of a tiny position.

Start reading at `test_simulations_estimate_the_gradient_of_the_mean_outcome`.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
from oracles.naive import NaiveBoard, Point, from_core, mogo_rules, to_core
from oracles.softmax import OTHER, policy, random_theta
from random_play import SIZE, random_game, random_weights

from rlgo.base.settings import LOGISTIC
from rlgo.compiler.jit import copy_record, make_rng
from rlgo.go.board import PASS, new_board, new_boards, play
from rlgo.go.rules import make_rules, zobrist
from rlgo.learning.balancing import (
    Scales,
    add_games,
    add_psi,
    add_simulations,
    add_two_plies,
    find_pi,
    fit_games,
    mogo_weights,
    new_score,
    new_two_plies,
)
from rlgo.learning.value import ValueFunction
from rlgo.moves.decisions import GameTable
from rlgo.moves.rollout import SOFTMAX_POLICY, DefaultPolicy, new_rollout
from rlgo.moves.softmax_policy import begin_softmax, forget_specials, make_tables, n_weights

KOMI = 0.5
PLIES = 3


def tiny() -> tuple[np.record, NaiveBoard, Point]:
    """A position with five sensible moves for Black, and White's last move."""
    b, naive, last = new_board(SIZE), NaiveBoard(SIZE), None
    for _, p in random_game(22, seed=9).moves:
        last = from_core(SIZE, p)
        play(b, p, zobrist(SIZE))
        naive.play(last)
    assert last is not None
    return b, naive, last


def exact(
    board: NaiveBoard, theta: list[float], last: Point | None = None, before: Point | None = None, plies: int = PLIES
) -> tuple[float, np.ndarray]:
    """The mean outcome after so many plies, and its gradient, over all ways to play on."""
    gradient = np.zeros(n_weights())
    moves = policy(board, last, before, theta) if plies else {}
    if not plies or board.n_passes == 2:
        return float(board.area_score() > KOMI), gradient
    if not moves:
        then = copy.copy(board)
        then.play(None)
        return exact(then, theta, None, last, plies - 1)
    mean, phi_mean = 0.0, sum(pi * vector(phi) for pi, phi in moves.values())
    for p, (pi, phi) in moves.items():
        then = copy.copy(board)
        then.captures = dict(board.captures)
        then.play(p)
        z, below = exact(then, theta, p, last, plies - 1)
        mean += pi * z
        gradient += pi * (below + z * (vector(phi) - phi_mean))
    return mean, gradient


@pytest.fixture(scope="module")
def theta() -> np.ndarray:
    return random_theta(3)


def test_the_exact_gradient_is_that_of_the_exact_mean(theta: np.ndarray):
    _, naive, last = tiny()
    gradient = exact(naive, theta.tolist(), last, plies=2)[1]
    largest = np.argsort(-np.abs(gradient))[:6]
    assert np.abs(gradient[largest]).min() > 1e-3
    for k in largest:
        up, down = theta.copy(), theta.copy()
        up[k] += 1e-4
        down[k] -= 1e-4
        slope = (exact(naive, up.tolist(), last, plies=2)[0] - exact(naive, down.tolist(), last, plies=2)[0]) / 2e-4
        assert gradient[k] == pytest.approx(slope, rel=1e-3)


def test_simulations_estimate_the_gradient_of_the_mean_outcome(theta: np.ndarray):
    """With a c that makes it worse than it need be; the moves of one side alone give the rest of the gradient."""
    b, naive, last = tiny()
    mean, gradient = exact(naive, theta.tolist(), last)
    assert 0.1 < mean < 0.9
    boards, r, score, n = new_boards(2, SIZE), new_rollout(SIZE), new_score(SIZE), 20_000
    score = score._replace(moves=np.zeros(PLIES, np.uint16))
    boards[0] = b
    softmax = DefaultPolicy(SOFTMAX_POLICY, mercy=False, softmax=make_tables(theta))
    found = []
    for scales in (Scales(0.7, 1.0, 1.0), Scales(0.7, 1.0, 0.0), Scales(0.7, 0.0, 1.0)):
        score.gradient[:] = 0
        z = add_simulations(boards, softmax, r, make_rules(SIZE, KOMI), n, scales, score, make_rng(1))
        found.append(score.gradient.copy())
    assert z == pytest.approx(mean, abs=4 * 0.5 / n**0.5)
    # Each simulation adds numbers of about 1/2 to each feature.
    assert np.abs(found[0] - gradient).max() < 5 * 0.7 / n**0.5
    assert np.abs(gradient).max() > 0.05
    np.testing.assert_allclose(found[0], found[1] + found[2], atol=1e-9)


def test_psi_is_the_gradient_of_log_pi(theta: np.ndarray):
    b, naive, last = tiny()
    r, score, tables = new_rollout(SIZE), new_score(SIZE), make_tables(theta)
    begin_softmax(b, tables, r)
    moves = policy(naive, last, None, theta.tolist())
    mean = sum(pi * vector(phi) for pi, phi in moves.values())
    for p, (pi, phi) in moves.items():
        score.gradient[:] = 0
        assert add_psi(b, tables, r, to_core(SIZE, p), 2.0, score) == pytest.approx(np.log(pi), abs=1e-3)
        np.testing.assert_allclose(score.gradient, 2 * (vector(phi) - mean), atol=1e-3)
    score.gradient[:] = 0
    assert add_psi(b, tables, r, PASS, 1.0, score) == 1.0  # it never passes here
    assert not score.gradient.any()


def test_pi_is_a_distribution_however_small_its_weights_are():
    """Of self-ataris alone, whose weights are far below those of other moves."""
    theta = np.full(n_weights(), -20.0)
    r, score, tables = new_rollout(SIZE), new_score(SIZE), make_tables(theta)
    found = 0
    for seed in range(200):
        board = new_boards(1, SIZE)[0]
        copy_record(random_game(20, seed).board, board)
        begin_softmax(board, tables, r)
        if find_pi(board, tables, r, score):
            found += 1
            assert sum(score.pi[board.empties[: board.n_empty]]) == pytest.approx(1.0)
        forget_specials(board, r)
    assert found > 50


def vector(phi: dict[int, float]) -> np.ndarray:
    dense = np.zeros(n_weights())
    for k, v in phi.items():
        dense[k] = v
    return dense


def games_of(*seeds: int) -> GameTable:
    games = [random_game(20, seed).moves for seed in seeds]
    none = np.zeros(0, np.int64)
    color, move = (np.array([m[i] for game in games for m in game], np.int64) for i in (0, 1))
    first_move = np.cumsum([0, *map(len, games)])
    return GameTable(
        np.zeros(len(games) + 1, np.int64), first_move, none, none, color, move, np.ones(len(move), np.uint8)
    )


def test_games_become_more_probable(theta: np.ndarray):
    """The gradient of log pi by finite differences, then what L-BFGS makes of it."""
    games, b, r, score = games_of(1, 2, 3), new_board(SIZE), new_rollout(SIZE), new_score(SIZE)

    def log_pi(weights: np.ndarray) -> float:
        score.gradient[:] = 0
        return add_games(b, games, make_tables(weights), r, score, zobrist(SIZE))[0]

    log_pi(theta)
    gradient = score.gradient.copy()
    for k in [*np.argsort(-np.abs(gradient))[:4], OTHER, OTHER + 4]:
        up, down = theta.copy(), theta.copy()
        up[k] += 0.05
        down[k] -= 0.05
        assert gradient[k] == pytest.approx((log_pi(up) - log_pi(down)) / 0.1, rel=0.02, abs=0.05)
    fitted, moves = fit_games(games, SIZE, l2=0.5, iterations=5)
    assert moves == len(games.move)
    assert log_pi(fitted) > log_pi(np.zeros(n_weights())) + 10


def test_two_plies_against_all_pairs_of_moves(theta: np.ndarray):
    b, naive, last = tiny()
    weights = random_weights()
    value = ValueFunction(weights)

    def mean_of(theta: np.ndarray) -> float:
        total = 0.0
        for p, (pi, _) in policy(naive, last, None, theta.tolist()).items():
            then, core = copy.copy(naive), b.copy()
            then.captures = dict(naive.captures)
            then.play(p)
            play(core, to_core(SIZE, p), zobrist(SIZE))
            after = value.afterstates(core)
            replies = policy(then, p, last, theta.tolist())
            total += pi * sum(pi_2 * after[q[0] * SIZE + q[1]] for q, (pi_2, _) in replies.items())
        return total

    two = new_two_plies(SIZE, weights.table(is_fused=True), LOGISTIC)
    two.boards[0] = b
    target, v = add_two_plies(two, make_tables(theta), make_rules(SIZE, KOMI))
    assert target == pytest.approx(value.value(b), abs=1e-5)
    assert v == pytest.approx(mean_of(theta), abs=1e-4)
    gradient = two.scores[0].gradient
    for k in np.argsort(-np.abs(gradient))[:5]:
        up, down = theta.copy(), theta.copy()
        up[k] += 1e-3
        down[k] -= 1e-3
        slope = (target - v) * (mean_of(up) - mean_of(down)) / 2e-3
        assert gradient[k] == pytest.approx(slope, rel=0.01, abs=1e-6)


def test_mogo_weights_prefer_what_mogo_s_first_rule_finds():
    theta, shares = mogo_weights().tolist(), []
    for seed in range(12):
        naive, last = NaiveBoard(SIZE), None
        for _, p in random_game(10, seed).moves:
            last = from_core(SIZE, p)
            naive.play(last)
        rules = mogo_rules(naive, last)
        found = next((rules[name] for name in ("save", "pattern", "capture") if rules[name]), set())
        if found:
            pi = policy(naive, last, None, theta)
            shares.append(sum(pi[p][0] for p in found if p in pi))
    assert len(shares) > 5
    assert np.mean(shares) > 0.8
