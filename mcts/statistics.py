"""Root statistics: every number of the tree policy for the root's moves, for display.

Start reading at `tree_statistics`.
"""

from __future__ import annotations

import numpy as np

from mcts.policies import Rave, has_policy
from mcts.policies.rave import write_values
from mcts.result import TreeResult, principal_variations, prior_visits
from mcts.settings import Composition
from mcts.threads import SearchThreads
from mcts.tree import memory_of
from rlgo.play.player import SearchStatistics

_LINES = 10  # principal variations


def tree_statistics(result: TreeResult, threads: SearchThreads, search: Composition) -> SearchStatistics:
    """Return the statistics of the root's moves, most visited first.

    The columns are ``value`` Q* (Q combined with Q~ by beta), ``visits`` N, their ``share``, ``q`` Q, ``q_amaf`` Q~,
    ``n_amaf`` N~, ``beta`` and ``prior`` H, or ``policy`` P of PUCT; see MC-RAVE paper, equation 12 and Section 5.
    Columns that the algorithm lacks are left out. The value contains no exploration bonus.

    result : the result of the trees as they are now
    """
    visits = result.visits.astype(np.float64)
    columns = {"value": result.q, "visits": visits, "share": visits / max(1.0, visits.sum()), "q": result.q}
    if isinstance(search.policy, Rave):
        columns["value"], betas = _combined(result, search.policy, prior_visits(threads.trees, search.prior_n))
        columns |= {"q_amaf": result.q_amaf, "n_amaf": result.n_amaf.astype(np.float64), "beta": betas}
    if search.prior:
        columns["policy" if has_policy(search.policy) else "prior"] = result.prior
    lines = principal_variations(threads.trees[0], result.moves[:_LINES].tolist(), search.prior_n)
    return SearchStatistics(
        "tree",
        result.moves.tolist(),
        columns,
        [line for line, _ in lines],
        done=result.simulations,
        depth=max(int(workspace.tally.deepest) for workspace in threads.workspaces),
        size=result.nodes,
        n_bytes=sum(memory_of(tree) for tree in threads.trees),
    )


def _combined(result: TreeResult, policy: Rave, prior_n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Q* and beta of each move, float64[m]."""
    n = (result.visits + prior_n).astype(np.float64)
    q, q_amaf = np.nan_to_num(result.q), np.nan_to_num(result.q_amaf)
    values, betas = np.zeros(len(n)), np.zeros(len(n))
    write_values(policy, (n, q, result.n_amaf.astype(np.float64), q_amaf), values, betas)
    return values, betas
