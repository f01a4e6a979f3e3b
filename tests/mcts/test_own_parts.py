"""A tree policy, a prior and a leaf of one's own: one file and a line of registration each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from tree_tools import SIZE, PatientSearch, at, game_after

from mcts import Search, Stage
from mcts.leaves import LEAVES
from mcts.policies import POLICIES
from mcts.policies.values import take_values
from mcts.priors import PRIORS
from mcts.tree import count, edges_of
from rlgo.compiler.jit import njit
from rlgo.learning.value import sigma

ROOT = Path(__file__).resolve().parents[2]


class Even(NamedTuple):
    """A tree policy: the least visited action; H counts for two visits."""

    prior_n: int = 2


@njit
def select(policy, node, color, tree, workspace):  # noqa: ARG001
    first, choice = np.int64(tree.first_edge[node]), np.int64(0)
    for k in range(np.int64(tree.n_edges[node])):
        if count(tree.mc_statistic[first + k]) < count(tree.mc_statistic[first + choice]):
            choice = np.int64(k)
    return first + choice


@njit
def take_prior(policy, node, had, color, tree, path, shared):
    take_values(node, had, (policy.prior_n, 0), color, tree, path, shared)


class Likes(NamedTuple):
    """A prior: one point is better than the others."""

    point: int
    x: float


@njit
def add_x(prior, node, before, b, tree, context, workspace):  # noqa: ARG001
    first = np.int64(tree.first_edge[node])
    for k in range(np.int64(tree.n_edges[node])):
        if tree.move[first + k] == prior.point:
            workspace.path.x[k] += prior.x


class Always(NamedTuple):
    """A leaf: the same outcome for all simulations."""

    z: float


@njit
def outcome_of(leaf, new_node, tree, context, workspace):  # noqa: ARG001
    workspace.path.w, workspace.path.z = 0.0, leaf.z
    return leaf.z


@pytest.mark.interpreted
def test_parts_of_ones_own_are_compiled_into_the_search(monkeypatch):
    monkeypatch.setitem(POLICIES, Even, SimpleNamespace(select=select, take_prior=take_prior))
    monkeypatch.setitem(PRIORS, Likes, SimpleNamespace(add_x=add_x))
    monkeypatch.setitem(LEAVES, Always, SimpleNamespace(outcome_of=outcome_of))
    search = PatientSearch(SIZE, Search(Even(), (Stage(Likes(at("B2"), 1.5)),), Always(0.75)), 100, seed=1)
    result = search.search(game_after("C3"))
    assert result.visits.sum() == 100
    assert np.ptp(result.visits) <= 1
    for e in edges_of(search.trees[0], 0):
        h = sigma(-1.5) if e.move == at("B2") else 0.5  # White is to play
        assert e.w == pytest.approx(2 * h + 0.75 * (e.n - 2), abs=0.01)


SCRIPT = """
from types import SimpleNamespace
import mcts, mine, rlgo
from mcts.leaves import LEAVES

LEAVES[mine.Always] = SimpleNamespace(outcome_of=mine.outcome_of)
result = mcts.TreeSearch(5, mcts.Search(mcts.Ucb1(), leaf=mine.Always()), 50, seed=1).search(rlgo.Game(5))
print(result.q[0])
"""
MINE = """
from typing import NamedTuple
from rlgo.compiler.jit import njit

class Always(NamedTuple):
    n: int = 0

@njit
def outcome_of(leaf, new_node, tree, context, workspace):
    workspace.path.w, workspace.path.z = 0.0, {z}
    return {z}
"""


@pytest.mark.slow
@pytest.mark.process
def test_a_change_of_ones_own_part_is_seen(tmp_path):
    """Machine code of kernels that take it is not kept: no digest covers it, and its types stay the same."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    (tmp_path / "script.py").write_text(SCRIPT)
    for z in (0.25, 0.75):
        (tmp_path / "mine.py").write_text(MINE.format(z=z))
        shown = subprocess.check_output([sys.executable, "script.py"], env=env, cwd=tmp_path, text=True)
        assert float(shown) == z
