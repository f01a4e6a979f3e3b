"""Minorization-maximization of the patterns: Coulom 2007, "Computing Elo ratings of move patterns in the game of Go".

Start reading at `update_group`. A move is a team of features, and its strength is the product of theirs; a decision is
a competition that the move played has won. With all other strengths fixed, the update

    gamma_i = W_i / sum over competitions j of (C_ij / E_j)

raises the likelihood: W_i is how often a team with feature i has won, E_j the total strength of all teams in
competition j, and C_ij the strength of i's team mates there. Features of one group exclude each other, so a group is
updated at once. As a prior, each feature has won and lost `prior` competitions against a team of strength 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlgo.base.jit import njit
from rlgo.moves.decisions import Decisions
from rlgo.moves.move_features import FEATURES, N_GROUPS


@njit
def update_group(decisions, member, gamma, wins, teams, prior, room):
    """Update the strengths of one group of features by one step.

    decisions : `Decisions`
    member : int[N], the feature of each candidate in this group; 0: none
    gamma : float64[n], strengths; gamma[0] stays 1
    wins : float64[n], W
    teams : float64[N], the strength of each candidate, brought up to date
    prior : virtual wins and losses
    room : float64[n], scratch
    """
    room[:] = 0.0
    for d in range(len(decisions.chosen)):
        start, stop = decisions.starts[d], decisions.starts[d + 1]
        total = 0.0
        for i in range(start, stop):
            total += teams[i]
        for i in range(start, stop):
            room[member[i]] += teams[i] / total
    for f in range(1, len(gamma)):
        # teams / gamma are the mates, so room is gamma times the sum of C / E.
        competitions = room[f] / gamma[f] + 2.0 * prior / (gamma[f] + 1.0)
        room[f] = (wins[f] + prior) / competitions / gamma[f] if competitions > 0.0 else 1.0
        gamma[f] *= room[f]
    room[0] = 1.0
    for i in range(len(teams)):
        teams[i] *= room[member[i]]


def fit(
    decisions: Decisions, n_shapes: int, prior: float = 1.0, iterations: int = 30,
    report: Callable[[float], None] = lambda _: None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Learn the strengths.

    Parameters
    ----------
    decisions : what to learn from
    n_shapes : the number of known shapes
    prior : virtual wins, and as many losses, of each feature
    iterations : sweeps over all groups
    report : called after each one with the mean log-likelihood

    Returns
    -------
    feature_weights and shape_weights, float32, the logarithms of the strengths, as in `patterns.Patterns`
    """
    groups = [(np.ascontiguousarray(decisions.features[:, g]), len(FEATURES) + 1) for g in range(N_GROUPS)]
    members = [*groups, (decisions.shape, n_shapes + 1)]
    gammas = [np.ones(n) for _, n in members]
    winners = decisions.starts[:-1] + decisions.chosen
    wins = [np.bincount(member[winners], minlength=n).astype(np.float64) for member, n in members]
    teams = np.ones(len(decisions.shape))
    for _ in range(iterations):
        for (member, n), gamma, w in zip(members, gammas, wins, strict=True):
            update_group(decisions, member, gamma, w, teams, prior, np.zeros(n))
        sums = np.add.reduceat(teams, decisions.starts[:-1])
        report(float(np.log(teams[winners] / sums).mean()))
    # Each feature has its strength in the array of its own group, and 1 in all others... but for the prior.
    feature_weights = np.zeros(len(FEATURES) + 1)
    for (member, _), gamma in zip(groups, gammas, strict=False):
        used = np.unique(member)
        feature_weights[used] = np.log(gamma[used])
    feature_weights[0] = 0.0
    shape_weights = np.log(gammas[-1])
    shape_weights[0] = 0.0
    return feature_weights.astype(np.float32), shape_weights.astype(np.float32)
