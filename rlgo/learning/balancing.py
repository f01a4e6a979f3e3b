"""The gradient of a softmax policy from its own simulations: simulation balancing, and REINFORCE.

For the policy and what came of it see `rlgo/moves/softmax_policy.py`; the steps are taken in `train/games/playouts.py`.
Start reading at `add_simulations`. It needs the score function of the policy,

    psi(s, a) = grad log pi(s, a) = phi(s, a) - sum over b of pi(s, b) phi(s, b),

where phi are the features of a move.

* *Simulation balancing* (Silver & Tesauro 2009, "Monte-Carlo simulation balancing", Algorithm 2) aims for simulations
  that are right on average, rather than for good single moves: it descends the gradient of (V* - V)^2, where V is the
  mean outcome of the simulations from a position and V* its target. As E[psi] = 0, the gradient of V is
  E[(z - c) sum of psi] for any constant c.
* *REINFORCE* (Williams 1992) makes the moves of the winner more probable: it ascends the gradient of each side's mean
  outcome.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rlgo.compiler.jit import copy_record, inline, njit
from rlgo.go.board import BLACK, EMPTY, PASS, outcome, play
from rlgo.go.rules import max_plies, padded_points
from rlgo.moves.rollout import begin_rollout, is_decided, step_rollout
from rlgo.moves.softmax_policy import (
    FLAGS,
    OTHERS,
    SoftmaxPolicy,
    follow_softmax,
    forget_specials,
    is_self_atari,
    seen_by,
    shapes_by_code,
    weigh_specials,
)


class Score(NamedTuple):
    """Scratch of the score function (P padded points, T plies).

    Attributes
    ----------
    shape_of : `softmax_policy.shapes_by_code`
    pi : float64[P], probabilities of the empty points
    self_atari : uint8[P]
    moves : uint16[T], the moves of a simulation
    gradient : float64[K], in the order of `SoftmaxPolicy.theta`
    """

    shape_of: np.ndarray
    pi: np.ndarray
    self_atari: np.ndarray
    moves: np.ndarray
    gradient: np.ndarray


def new_score(size: int, policy: SoftmaxPolicy) -> Score:
    """Make the scratch for one board size and the shapes of a policy, with a gradient of 0."""
    points = padded_points(size)
    scratch = np.zeros(points), np.zeros(points, np.uint8), np.zeros(max_plies(size), np.uint16)
    return Score(shapes_by_code(policy.codes), *scratch, np.zeros(len(policy.theta)))


@njit
def add_psi(b, tables, r, p, scale, score):
    """Add scale * psi(s, p) to the gradient; nothing if the policy never plays p."""
    weigh_specials(b, tables, r)
    if p != PASS and b.color[p] == EMPTY and find_pi(b, tables, r, score) and score.pi[p] > 0.0:
        for i in range(b.n_empty):
            q = np.int64(b.empties[np.uint64(i)])
            add_phi(b, r, q, scale * (np.float64(q == p) - score.pi[q]), score)
    forget_specials(b, r)


@inline
def find_pi(b, tables, r, score):
    """Compute pi of all empty points, after `weigh_specials`, and return whether any is above 0."""
    color = np.uint64(b.to_play - 1)
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
def add_phi(b, r, p, c, score):
    """Add c * phi(s, p), the features of an empty point, to the gradient."""
    n = (len(score.gradient) - len(OTHERS)) // 2
    shape = np.int64(score.shape_of[seen_by(np.int64(b.to_play), r.code[np.uint64(p)])])
    flags = np.int64(r.flags[np.uint64(p)])
    score.gradient[shape] += c
    if flags & 1:
        score.gradient[n + shape] += c
    for k in range(1, len(FLAGS)):
        if flags >> k & 1:
            score.gradient[2 * n + k - 1] += c
    if score.self_atari[np.uint64(p)]:
        score.gradient[2 * n + len(FLAGS) - 1] += c


@njit
def add_simulations(boards, policy, r, rules, n, scales, score, rng):
    """Run n simulations from boards[0], and add the mean of scale * (z - c) * psi(s, a), summed over moves.

    It is added to the gradient.

    scales : (c, scale of Black's moves, scale of White's moves)

    boards[1] is scratch. Returns the mean outcome.
    """
    c, black, white = scales
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
            scale = (z - c) * (black if b.to_play == BLACK else white) / n
            if p != PASS and scale != 0.0:
                add_psi(b, policy.softmax, r, p, scale, score)
            play(b, p, rules.zobrist)
            follow_softmax(b, policy.softmax, r)
    return wins / n
