"""Another way to the strengths of patterns: Coulom 2007, "Computing Elo ratings of move patterns in the game of Go".

A move is a team of features, and its strength is the product of theirs; a decision is a competition that the move
played has won. With all other strengths fixed, the update

    gamma_i = W_i / sum over competitions j of (C_ij / E_j)

raises the likelihood: W_i is how often a team with feature i has won, E_j the total strength of all teams in
competition j, and C_ij the strength of i's team mates there. Features of one group exclude each other, so a group is
updated at once. As a prior, each feature has won and lost `prior` competitions against a team of strength 1.
"""

from __future__ import annotations

import numpy as np

from rlgo.moves.decisions import Decisions
from rlgo.moves.move_features import FEATURES, N_GROUPS


def fit(decisions: Decisions, n_shapes: int, prior: float, iterations: int) -> tuple[np.ndarray, np.ndarray]:
    """The logarithms of the strengths: feature_weights and shape_weights, as in `patterns.Patterns`."""
    groups = [(decisions.features[:, g], np.ones(len(FEATURES) + 1)) for g in range(N_GROUPS)]
    groups.append((decisions.shape, np.ones(n_shapes + 1)))
    starts, sizes = decisions.starts[:-1], np.diff(decisions.starts)
    winners = starts + decisions.chosen
    teams = np.ones(len(decisions.shape))
    for _ in range(iterations):
        for member, gamma in groups:
            wins = np.bincount(member[winners], minlength=len(gamma))
            shares = teams / np.repeat(np.add.reduceat(teams, starts), sizes)
            # A team's strength is gamma times its mates': the sum of C / E is that of the shares over gamma.
            competitions = np.bincount(member, shares, len(gamma)) / gamma + 2 * prior / (gamma + 1)
            new = (wins + prior) / competitions
            new[0] = 1.0
            teams *= (new / gamma)[member]
            gamma[:] = new
    feature_weights = np.zeros(len(FEATURES) + 1)
    for member, gamma in groups[:-1]:
        used = np.unique(member)
        feature_weights[used] = np.log(gamma[used])
    return feature_weights, np.log(groups[-1][1])
