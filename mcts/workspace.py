"""What a search works with: what stays the same, and the private memory of each thread.

Start reading at `Context`, then `path_dtype`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mcts.tree import statistic
from rlgo.base.ram import on_own_cache_lines
from rlgo.compiler.jit import atomic_add, inline, make_rng
from rlgo.features.incremental import shapes_dtype
from rlgo.features.shapes import Table
from rlgo.go.board import BLACK, board_dtype
from rlgo.go.rules import Rules, max_plies, padded_points
from rlgo.moves.patterns import Strengths
from rlgo.moves.rollout import DefaultPolicy, rollout_dtype
from rlgo.network.inference import Layers


class Models(NamedTuple):
    """What has been learned, as compiled code takes it; None for what a search lacks.

    Attributes
    ----------
    table, value : the weights, fused into 3x3 windows (`rewriting.fuse`), and the kind of value function
    patterns : the weights of learned patterns
    network : the `Layers` of a network
    """

    table: Table | None
    value: int
    patterns: Strengths | None
    network: Layers | None


class Context(NamedTuple):
    """Everything that stays the same during a search.

    Attributes
    ----------
    search : `settings.Composition`, what it is composed of
    """

    search: Any
    default_policy: DefaultPolicy
    models: Models
    rules: Rules


@cache
def path_dtype(size: int) -> np.dtype:
    """Return the record type of one simulation, for boards with P padded points and games of up to T plies.

    Fields
    ------
    n_nodes, node[T], edge[T] : the states s_0 ... of the simulation in the tree, and the action taken in each
    n_moves, moves[T], first_color : all moves of the simulation, in the tree and beyond, and the colour of the first
    last : the move before the first
    x[P] : scratch: x of the actions of a node for its prior, or their values for the tree policy
    leaf, leaf_node : the moves before the position where the tree ends, and its node, NO_CHILD or COLLIDED
    row : the row of that position in the batch of an evaluator
    z, w : the outcome, and the share of a value that comes later, 0 if none does
    correction : of V, in the deepest node that a network has evaluated; see `leaves/values.py`
    amaf[2, P] : scratch of `rave.back_up_amaf`
    candidates[P] : scratch of `tree.add_node`
    """
    plies, points = max_plies(size), padded_points(size)
    fields = [
        ("n_nodes", np.int32),
        ("n_moves", np.int32),
        ("first_color", np.int32),
        ("last", np.int32),
        ("leaf", np.int32),
        ("leaf_node", np.int32),
        ("row", np.int32),
        ("z", np.float64),
        ("w", np.float64),
        ("correction", np.float64),
        ("node", np.int32, (plies,)),
        ("edge", np.int32, (plies,)),
        ("moves", np.uint16, (plies,)),
        ("candidates", np.uint16, (points,)),
        ("x", np.float64, (points,)),
        ("amaf", np.int64, (2, points)),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


@cache
def tally_dtype() -> np.dtype:
    """Return the record type of a thread's totals.

    Fields
    ------
    simulations, moves, wins : simulations, the moves in them, and the sum of their outcomes z
    deepest : the largest number of tree states in a simulation
    """
    fields = [("simulations", "i8"), ("moves", "i8"), ("deepest", "i8"), ("wins", "f8")]
    return np.dtype((np.record, np.dtype(fields)))


class Waiting(NamedTuple):
    """The simulations of one thread that wait for an evaluator, in a ring; only this thread adds to it.

    Attributes
    ----------
    slots : their paths, records of `path_dtype`
    filled : int64[1], simulations added so far; the next goes to slot `filled` modulo the number of slots
    counts : int64[4], shared by all threads of a tree: how many wait in all rings, answers under way included; how many
        of them no batch has taken yet; from how many on the threads stop; and the size of a batch
    """

    slots: np.ndarray
    filled: np.ndarray
    counts: np.ndarray


class Workspace(NamedTuple):
    """The private memory of one thread: scratch, its random state and its tally; None for what a search lacks.

    Attributes
    ----------
    b, path, shapes, rollout : scratch: records of `board_dtype`, `path_dtype`, `shapes_dtype` and `rollout_dtype`
    rng : random state, uint64[1]
    waiting : simulations that wait for an evaluator
    tally : record of `tally_dtype`: totals over the simulations
    patterns, network : scratch of learned patterns (`PatternScratch`), of a network (`NetworkWorkspace`)
    policy : what the tree policy works with at the root, see `policies.new_scratch`
    """

    b: np.record
    path: np.record
    shapes: np.record | None
    rollout: np.record
    rng: np.ndarray
    waiting: Waiting | None
    tally: np.record
    patterns: Any
    network: Any
    policy: Any


def new_workspace(
    size: int,
    seed: np.random.SeedSequence,
    capacity: int | None = None,
    ring: tuple[np.ndarray, int] | None = None,
    patterns: Any = None,
    network: Any = None,
    policy: Any = None,
) -> Workspace:
    """Return a workspace for one board size.

    Parameters
    ----------
    size : board size
    seed : of the random state
    capacity : of the feature set of the weights; None without weights
    ring : `Waiting.counts`, and how many simulations may wait for an evaluator; None without one
    patterns, network, policy : see `Workspace`
    """
    return Workspace(
        on_own_cache_lines(board_dtype(size))[0],
        on_own_cache_lines(path_dtype(size))[0],
        None if capacity is None else on_own_cache_lines(shapes_dtype(size, capacity))[0],
        on_own_cache_lines(rollout_dtype(size))[0],
        make_rng(seed),
        None if ring is None else Waiting(np.zeros(ring[1], path_dtype(size)), on_own_cache_lines(np.int64), ring[0]),
        on_own_cache_lines(tally_dtype())[0],
        patterns,
        network,
        policy,
    )


@inline
def record_move(p, path):
    """Append a move to the path's list of all moves."""
    path.moves[np.uint64(path.n_moves)] = p
    path.n_moves += 1


@inline
def take_action(node, edge, color, n_losses, path, tree):
    """Append a state and its action to the path, with virtual losses to steer other threads elsewhere."""
    t = np.int64(path.n_nodes)
    path.node[t] = node
    path.edge[t] = edge
    path.n_nodes = t + 1
    if n_losses > 0:
        atomic_add(tree.mc_statistic, edge, virtual_losses(color, n_losses))
        atomic_add(tree.node_visits, node, n_losses)


@inline
def virtual_losses(color, n):
    """Return n virtual losses of an action of `color`, which keep other threads off it until its outcome is known."""
    return statistic(n, np.float64(n) if color != BLACK else 0.0)
