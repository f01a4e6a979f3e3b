"""Gradients of a softmax policy: likelihood of games, simulation balancing, and reinforcement.

For the sources and the outcome see `softmax_policy.py`; the steps are taken in `train.playouts`. Start reading at
`find_pi`, then `add_simulations`. All methods need the score function of the policy,

    psi(s, a) = grad log pi(s, a) = phi(s, a) - sum over b of pi(s, b) phi(s, b),

where phi are the features of a move (`softmax_policy.py`).

* `fit_games` finds the weights that make the moves of games most probable.
* *Simulation balancing* (Silver & Tesauro 2009, "Monte-Carlo simulation balancing", Algorithm 2) aims for simulations
  that are right on average, rather than for good single moves: it descends the gradient of (V* - V)^2, where V is the
  mean outcome of the simulations from a position and V* its target. As E[psi] = 0, the gradient of V is
  E[(z - c) sum of psi] for any constant c.
* *Two-step balancing* (the same, Algorithm 3) balances two plies at a time: V is the mean of V* after two plies, which
  `add_two_plies` computes exactly.
* *Reinforcement* (REINFORCE, Williams 1992) makes the moves of the winner more probable: it ascends the gradient of
  each side's mean outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rlgo.compiler.jit import compiling, copy_record, inline, njit
from rlgo.features.incremental import new_shapes, reset_gains
from rlgo.features.shapes import Table
from rlgo.go.board import BLACK, EMPTY, PASS, WHITE, new_board, new_boards, outcome, play
from rlgo.go.mogo_patterns import mogo_patterns
from rlgo.go.rules import max_plies, padded_points, zobrist
from rlgo.learning.value import gain_of, squash
from rlgo.moves.decisions import GameTable, begin_game, turn
from rlgo.moves.rollout import begin_rollout, is_decided, new_rollout, rollout_dtype, step_rollout
from rlgo.moves.softmax import climb
from rlgo.moves.softmax_policy import (
    ADJACENT,
    OTHERS,
    all_shapes,
    begin_softmax,
    follow_softmax,
    forget_specials,
    is_self_atari,
    make_tables,
    n_weights,
    seen_by,
    weigh_specials,
)


class Score(NamedTuple):
    """Scratch of the score function (P padded points).

    Attributes
    ----------
    shape_of : `softmax_policy.all_shapes`
    n_shapes : the number of shapes, including 0, "none"
    pi : float64[P], probabilities of the empty points
    self_atari : uint8[P]
    c : float64[P], the factor of the features of each move
    moves : uint16[T], the moves of a simulation
    gradient : float64[K], in the order of `SoftmaxPolicy.theta`
    """

    shape_of: np.ndarray
    n_shapes: int
    pi: np.ndarray
    self_atari: np.ndarray
    c: np.ndarray
    moves: np.ndarray
    gradient: np.ndarray


def new_score(size: int) -> Score:
    """Make the scratch for one board size, with a gradient of 0."""
    points, shapes = padded_points(size), all_shapes()
    scratch = np.zeros(points), np.zeros(points, np.uint8), np.zeros(points), np.zeros(max_plies(size), np.uint16)
    return Score(shapes.shape_of, len(shapes.codes), *scratch, np.zeros(n_weights()))


@inline
def find_pi(b, tables, r, score):
    """Compute pi of all empty points, and return whether any is above 0. Call `forget_specials` afterwards."""
    color = np.uint64(b.to_play - 1)
    weigh_specials(b, tables, r)
    total = 0.0
    for i in range(b.n_empty):
        p = np.int64(b.empties[np.uint64(i)])
        weight = np.float64(r.weight[color, np.uint64(p)])
        score.self_atari[np.uint64(p)] = 0
        if weight > 0.0 and is_self_atari(b, p):
            score.self_atari[np.uint64(p)] = 1
            weight *= tables.self_atari[0]
        score.pi[np.uint64(p)] = weight
        total += weight
    if total > 0.0:
        for i in range(b.n_empty):
            score.pi[np.uint64(b.empties[np.uint64(i)])] /= total
    return total > 0.0


@inline
def add_features(b, r, score):
    """Add the features of all empty points, each times its c, to the gradient."""
    color, n = np.int64(b.to_play), np.int64(score.n_shapes)
    for i in range(b.n_empty):
        p = np.int64(b.empties[np.uint64(i)])
        c = score.c[np.uint64(p)]
        if c == 0.0:
            continue
        shape = np.int64(score.shape_of[seen_by(color, r.code[np.uint64(p)])])
        score.gradient[shape] += c
        flags = np.int64(r.flags[np.uint64(p)])
        if flags & 1:
            score.gradient[n + shape] += c
        for k in range(1, 5):
            if flags >> k & 1:
                score.gradient[2 * n + k - 1] += c
        if score.self_atari[np.uint64(p)]:
            score.gradient[2 * n + 4] += c


@njit
def add_psi(b, tables, r, p, scale, score):
    """Add scale * psi(s, p) to the gradient.

    Returns log pi(s, p); or 1 if the policy never plays p, which adds nothing.
    """
    if find_pi(b, tables, r, score) and p != PASS and score.pi[p] > 0.0 and b.color[p] == EMPTY:
        log_pi = np.log(score.pi[p])
        for i in range(b.n_empty):
            q = np.int64(b.empties[np.uint64(i)])
            score.c[q] = scale * (np.float64(q == p) - score.pi[q])
        add_features(b, r, score)
    else:
        log_pi = 1.0
    forget_specials(b, r)
    return log_pi


# ---------------------------------------------------------------------------------------------
# Games
# ---------------------------------------------------------------------------------------------


@njit
def add_games(b, games, tables, r, score, zobrist):
    """Add grad log pi of all moves to learn from.

    b : a board record; games : `GameTable`

    Returns (the sum of log pi, the number of moves); not counting passes and other moves that the policy never plays.
    """
    total, n = 0.0, 0
    for g in range(len(games.first_move) - 1):
        begin_game(b, games, g, zobrist)
        begin_softmax(b, tables, r)
        for t in range(games.first_move[g], games.first_move[g + 1]):
            turn(b, games.color[t])
            if games.is_learned[t]:
                log_pi = add_psi(b, tables, r, games.move[t], 1.0, score)
                if log_pi <= 0.0:
                    total += log_pi
                    n += 1
            play(b, games.move[t], zobrist)
            follow_softmax(b, tables, r)
    return total, n


def fit_games(
    games: GameTable, size: int, l2: float = 1.0, iterations: int = 100,
    report: Callable[[float], None] = lambda _: None,
) -> tuple[np.ndarray, int]:  # fmt: skip
    """Find the weights that make the moves of games most probable, with penalty l2 / 2 * |theta|^2.

    report : called after each step of L-BFGS with the mean log-likelihood

    Returns
    -------
    the weights, float64[K] as in `SoftmaxPolicy.theta`, and the number of moves learned from.
    """
    b, r, score, moves = new_board(size), new_rollout(size), new_score(size), 1

    def likelihood(theta: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal moves
        score.gradient[:] = 0
        total, moves = add_games(b, games, make_tables(theta), r, score, zobrist(size))
        score.gradient[[0, score.n_shapes]] = 0
        return total, score.gradient

    with compiling(f"softmax policy from games, {size}x{size}"):
        likelihood(np.zeros(n_weights()))
    bounds = [(None, None)] * (n_weights() - 1) + [(None, 0.0)]  # self-atari
    theta = climb(likelihood, n_weights(), l2, iterations, lambda total: report(total / max(1, moves)), bounds)
    return theta, moves


# ---------------------------------------------------------------------------------------------
# MoGo's policy
# ---------------------------------------------------------------------------------------------


def mogo_weights() -> np.ndarray:
    """Return weights for a softmax that plays much like MoGo's policy (`rollout.mogo_move`), float64[K].

    Each rule makes its moves about e^2 times as probable as the next rule does.
    """
    codes = all_shapes().codes
    is_caught = [(codes >> 2 * place & 3 == WHITE) & (codes >> 16 + k & 1) for k, place in enumerate(ADJACENT)]
    fits = mogo_patterns()[codes & 0xFFFF] & BLACK != 0
    others = dict.fromkeys(OTHERS, 0.0) | {"saves": 8.0, "self-atari": -3.0}
    theta = np.concatenate([4.0 * np.any(is_caught, 0), 6.0 * fits, [*others.values()]])
    theta[[0, len(codes)]] = 0.0
    return theta


# ---------------------------------------------------------------------------------------------
# Simulations
# ---------------------------------------------------------------------------------------------


class Scales(NamedTuple):
    """Weights in simulations: with outcome z, each move counts by its side's scale times z - c."""

    c: float
    black: float
    white: float


@njit
def add_simulations(boards, policy, r, rules, n, scales, score, rng):
    """Run n simulations from boards[0], and add the mean of scale * (z - c) * psi(s, a), summed over moves.

    It is added to the gradient; see `Scales`. boards[1] is scratch. Returns the mean outcome.
    """
    b = boards[1]
    wins = 0.0
    for _ in range(n):
        copy_record(boards[0], b)
        begin_rollout(b, policy, r)
        moves = 0
        while moves < len(score.moves) and not is_decided(b, policy, rules):
            score.moves[moves] = step_rollout(b, policy, r, rules, rng)
            moves += 1
        z = outcome(b, rules.komi)
        wins += z
        copy_record(boards[0], b)
        begin_rollout(b, policy, r)
        for t in range(moves):
            p = np.int64(score.moves[t])
            scale = (z - scales.c) * (scales.black if b.to_play == BLACK else scales.white) / n
            if p != PASS and scale != 0.0:
                add_psi(b, policy.softmax, r, p, scale, score)
            play(b, p, rules.zobrist)
            follow_softmax(b, policy.softmax, r)
    return wins / n


# ---------------------------------------------------------------------------------------------
# Two plies
# ---------------------------------------------------------------------------------------------


class TwoPlies(NamedTuple):
    """Scratch of two-step balancing.

    Attributes
    ----------
    boards : `board_dtype`[2], the position and the one after a move
    rollouts : `rollout_dtype`[2], for each
    scores : `Score` for each; they share a gradient
    shapes : `shapes_dtype` record for the second
    table, value : the value function V* (`value.squash`)
    """

    boards: np.ndarray
    rollouts: np.ndarray
    scores: tuple[Score, Score]
    shapes: np.record
    table: Table
    value: int


def new_two_plies(size: int, table: Table, value: int, room: int = 0) -> TwoPlies:
    """Make the scratch for one board size and a value function."""
    first = new_score(size)
    second = new_score(size)._replace(gradient=first.gradient)
    return TwoPlies(
        new_boards(2, size), np.zeros(2, rollout_dtype(size)), (first, second),
        new_shapes(1, size, room)[0], table, value,
    )  # fmt: skip


@njit
def add_two_plies(two, tables, rules):
    """Add the gradient of (V* - V)^2 / -2 at boards[0], where V is the mean of V* over all pairs of moves by pi.

    Returns (V*, V); both are the value of the position if it has no moves.
    """
    b, r, first = two.boards[0], two.rollouts[0], two.scores[0]
    reset_gains(b, two.shapes, two.table)
    target = squash(two.value, two.shapes.x[0])
    begin_softmax(b, tables, r)
    # Once for V, then once for its gradient, which depends on V.
    v = 0.0
    if not find_pi(b, tables, r, first):
        forget_specials(b, r)
        return target, target
    for i in range(b.n_empty):
        p = np.int64(b.empties[np.uint64(i)])
        first.c[p] = _value_of_replies(two, p, 0.0, tables, rules) if first.pi[p] > 0.0 else 0.0
        v += first.pi[p] * first.c[p]
    for i in range(b.n_empty):
        p = np.int64(b.empties[np.uint64(i)])
        if first.pi[p] > 0.0:
            _value_of_replies(two, p, (target - v) * first.pi[p], tables, rules)
            first.c[p] = (target - v) * first.pi[p] * (first.c[p] - v)
    add_features(b, r, first)
    forget_specials(b, r)
    return target, v


@njit
def _value_of_replies(two, p, scale, tables, rules):
    """Return the mean of V* over the replies to p; unless scale is 0, add scale times its gradient."""
    then, r, score = two.boards[1], two.rollouts[1], two.scores[1]
    copy_record(two.boards[0], then)
    play(then, p, rules.zobrist)
    reset_gains(then, two.shapes, two.table)
    x = two.shapes.x[0]
    sign = 1.0 if then.to_play == BLACK else -1.0
    begin_softmax(then, tables, r)
    r.before = two.rollouts[0].last
    v = 0.0
    if not find_pi(then, tables, r, score):
        forget_specials(then, r)
        return squash(two.value, x)
    for i in range(then.n_empty):
        q = np.int64(then.empties[np.uint64(i)])
        score.c[q] = 0.0
        if score.pi[q] > 0.0:
            score.c[q] = squash(two.value, x + sign * gain_of(then, two.shapes, two.table, q))
            v += score.pi[q] * score.c[q]
    if scale != 0.0:
        for i in range(then.n_empty):
            q = np.int64(then.empties[np.uint64(i)])
            score.c[q] = scale * score.pi[q] * (score.c[q] - v)
        add_features(then, r, score)
    forget_specials(then, r)
    return v
