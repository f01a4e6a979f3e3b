"""Learned patterns as a prior: from the probability of a move to its value.

Start reading at `add_x`. The patterns themselves are in `rlgo/moves/patterns.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mcts.log_odds import action_x, to_log_policy
from rlgo.base.settings import NonNegative, Positive
from rlgo.compiler.jit import njit
from rlgo.go.rules import n_points
from rlgo.moves.move_features import Study, new_study, study
from rlgo.moves.patterns import score_studied

NEEDS = "patterns"


class Patterns(NamedTuple):
    """The policy P of learned patterns, as x = scale log(n P(s, a)) - shift; see `log_odds.action_x`.

    >>> import mcts
    >>> mcts.Patterns(scale=0.3).shift
    0.4
    """

    scale: Positive = 0.4
    shift: NonNegative = 0.4


class PatternScratch(NamedTuple):
    """Scratch of one thread.

    Attributes
    ----------
    study : the analysis of a position
    log_p : float64[P], log P of the actions of a node
    """

    study: Study
    log_p: np.ndarray


def new_pattern_scratch(size: int) -> PatternScratch:
    """Make the scratch for one board size."""
    return PatternScratch(new_study(size), np.zeros(n_points(size)))


@njit
def add_x(prior, node, before, b, tree, context, workspace):
    """Add x of each action; see `priors.add_x`."""
    scratch, x = workspace.patterns, workspace.path.x
    study(b, scratch.study)
    first, n = np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node])
    score_studied(b, tree.move, (first, n), before[2], context.models.patterns, scratch.study, scratch.log_p)
    to_log_policy(scratch.log_p, n)
    for k in range(n):
        x[k] += action_x(scratch.log_p[k], n, prior.scale, prior.shift)
