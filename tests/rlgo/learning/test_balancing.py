"""Gradients of a softmax policy: against finite differences, and against means over all playouts of a tiny position.

Start reading at `test_simulations_estimate_the_gradient_of_the_mean_outcome`.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
from oracles.naive import NaiveBoard, Point, from_core, to_core
from oracles.softmax import N_WEIGHTS, POLICY, SHAPE_OF, policy, random_theta
from random_play import SIZE, random_game

from rlgo.compiler.jit import copy_record, make_rng
from rlgo.go.board import PASS, new_board, new_boards, play
from rlgo.go.rules import make_rules, zobrist
from rlgo.learning.balancing import add_psi, add_simulations, find_pi, new_score
from rlgo.moves.rollout import SOFTMAX_POLICY, DefaultPolicy, new_rollout
from rlgo.moves.softmax_policy import begin_softmax, forget_specials, make_tables, weigh_specials

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
    gradient = np.zeros(N_WEIGHTS)
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
    boards, r, score, n = new_boards(2, SIZE), new_rollout(SIZE), new_score(SIZE, POLICY), 20_000
    score = score._replace(moves=np.zeros(PLIES, np.uint16))
    boards[0] = b
    softmax = DefaultPolicy(SOFTMAX_POLICY, mercy=False, softmax=make_tables(theta, SHAPE_OF))
    found = []
    for scales in ((0.7, 1.0, 1.0), (0.7, 1.0, 0.0), (0.7, 0.0, 1.0)):
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
    r, score, tables = new_rollout(SIZE), new_score(SIZE, POLICY), make_tables(theta, SHAPE_OF)
    begin_softmax(b, tables, r)
    moves = policy(naive, last, None, theta.tolist())
    mean = sum(pi * vector(phi) for pi, phi in moves.values())
    for p, (_, phi) in moves.items():
        score.gradient[:] = 0
        add_psi(b, tables, r, to_core(SIZE, p), 2.0, score)
        np.testing.assert_allclose(score.gradient, 2 * (vector(phi) - mean), atol=1e-3)
    score.gradient[:] = 0
    add_psi(b, tables, r, PASS, 1.0, score)  # it never passes here
    assert not score.gradient.any()


def test_pi_is_a_distribution_however_small_its_weights_are():
    """Of self-ataris alone, whose weights are far below those of other moves."""
    theta = np.full(N_WEIGHTS, -20.0)
    r, score, tables = new_rollout(SIZE), new_score(SIZE, POLICY), make_tables(theta, SHAPE_OF)
    found = 0
    for seed in range(200):
        board = new_boards(1, SIZE)[0]
        copy_record(random_game(20, seed).board, board)
        begin_softmax(board, tables, r)
        weigh_specials(board, tables, r)
        if find_pi(board, tables, r, score):
            found += 1
            assert sum(score.pi[board.empties[: board.n_empty]]) == pytest.approx(1.0)
        forget_specials(board, r)
    assert found > 50


def vector(phi: dict[int, float]) -> np.ndarray:
    dense = np.zeros(N_WEIGHTS)
    for k, v in phi.items():
        dense[k] = v
    return dense
