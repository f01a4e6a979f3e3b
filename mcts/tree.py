"""The search tree: preallocated arrays of nodes and their actions. MC-RAVE paper, Section 4.3.

Start reading at `Tree`, which holds every statistic of the papers as an array. The arrays store counts and sums of
outcomes, not running means (the paper's footnote 3). A count and its sum share one 64-bit word, so a single addition,
atomic if threads share the tree, updates both, and a reader always sees a count that matches its sum.

A node's actions, its *edges*, are the sensible moves of its position, stored side by side in random order, and a pass
once few moves are left, or everywhere if an evaluator gives policies (`may_pass`). The tree is not a graph: a position
reached in two ways has two nodes. Children come after their parents in all arrays, so `keep_subtree` can compact the
arrays in place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rlgo.compiler.jit import atomic_add, compare_and_swap, inline, njit, random_below
from rlgo.go.board import PASS, is_sensible

NO_CHILD, BEING_ADDED = -1, -2
# `Tree.stage` of a node without a prior, of one that a thread is giving one, and of one that waits for its evaluator.
NO_PRIOR, BUSY, WAITING = 0, 254, 255

# A statistic is one int64: a count in the low bits and, above them, a sum of outcomes in units of 1 / OUTCOME_UNITS.
# Wins and draws are exact; H, V at the end of a truncated simulation, and outcomes with values of leaves are rounded.
_COUNT_BITS = 28
_COUNT_MASK = (1 << _COUNT_BITS) - 1
OUTCOME_UNITS = 256
PRIOR_UNITS = 65_535
_EDGES = np.dtype([  # of `edges_of`
    ("move", int), ("child", int), ("n", int), ("w", float), ("n_amaf", int), ("w_amaf", float), ("prior", float),
])  # fmt: skip
# The sum has 35 bits. Searches end at this many visits, which leaves room for running threads and for priors.
MOST_VISITS = (1 << 27) - (1 << 20)
_BLOCK = np.dtype(np.uint16)  # by which edges are moved, whatever their type: it divides all of them
MOST_EDGES = (1 << 31) - 1_000  # indices have 32 bits
NODE_BITS = 36  # in `Tree.used`, the number of nodes starts at this bit


class Tree(NamedTuple):
    """Nodes and their edges, with room for N nodes and E edges; node 0 is the root.

    A node takes 13 bytes, 21 with a network's values and scores; an edge takes 16, 24 with AMAF values.

    Attributes
    ----------
    first_edge, n_edges : int32[N], index of the node's first edge, and how many edges it has
    node_visits : int32[N], N(s): the sum of N(s, a) over the node's edges, priors included
    stage : uint8[N], the stage of the node's prior, counted from 1; NO_PRIOR until a simulation first chooses an action
        here; BUSY; WAITING
    correction : float32[N], what a network says of leaves below the node, NaN if it has not evaluated the node; see
        `leaves/values.py`. None in a search that does not use it
    score : float32[N], Black's points according to a network, NaN if it has not evaluated the node; None without one
    move : uint16[E], the edge's point, or PASS
    child : int32[E], the node that the edge leads to, NO_CHILD, or BEING_ADDED while a thread adds it
    mc_statistic : int64[E], N(s, a) and the sum of outcomes z. Its `mean` is Q(s, a) = P(Black wins) for either
        side to play.
    amaf_statistic : int64[E], the same for the AMAF value: N~(s, a) and Q~(s, a). None if the tree policy has none
    prior : uint16[E], H(s, a), or with PUCT the policy P(s, a), in units of 1 / PRIOR_UNITS
    used : int64[1], the number of edges in use, plus 2^36 times the number of nodes in use
    """

    first_edge: np.ndarray
    n_edges: np.ndarray
    node_visits: np.ndarray
    stage: np.ndarray
    correction: np.ndarray | None
    score: np.ndarray | None
    move: np.ndarray
    child: np.ndarray
    mc_statistic: np.ndarray
    amaf_statistic: np.ndarray | None
    prior: np.ndarray
    used: np.ndarray


def new_tree(
    nodes: int, edges: int, has_amaf: bool = False, has_correction: bool = False, has_score: bool = False
) -> Tree:
    """Return an empty tree with room for this many nodes and edges, and the statistics that its search uses."""
    return Tree(
        first_edge=np.zeros(nodes, np.int32),
        n_edges=np.zeros(nodes, np.int32),
        node_visits=np.zeros(nodes, np.int32),
        stage=np.zeros(nodes, np.uint8),
        correction=np.zeros(nodes, np.float32) if has_correction else None,
        score=np.zeros(nodes, np.float32) if has_score else None,
        move=np.zeros(edges, np.uint16),
        child=np.zeros(edges, np.int32),
        mc_statistic=np.zeros(edges, np.int64),
        amaf_statistic=np.zeros(edges, np.int64) if has_amaf else None,
        prior=np.zeros(edges, np.uint16),
        used=np.zeros(1, np.int64),
    )


def nodes_in(tree: Tree) -> int:
    """Return the number of nodes in use."""
    return int(tree.used[0]) >> NODE_BITS


def edges_in(tree: Tree) -> int:
    """Return the number of edges in use."""
    return int(tree.used[0]) & (1 << NODE_BITS) - 1


def node_arrays(tree: Tree) -> tuple[np.ndarray, ...]:
    """Return the arrays that have an element for each node."""
    return tuple(array for array in tree[: tree._fields.index("move")] if array is not None)


def edge_arrays(tree: Tree) -> tuple[np.ndarray, ...]:
    """Return the arrays that have an element for each edge."""
    return tuple(array for array in tree[tree._fields.index("move") : -1] if array is not None)


def memory_of(tree: Tree) -> int:
    """Return the memory of the nodes and edges in use, in bytes."""
    n, e = nodes_in(tree), edges_in(tree)
    return n * sum(a.itemsize for a in node_arrays(tree)) + e * sum(a.itemsize for a in edge_arrays(tree))


def edges_of(tree: Tree, node: int) -> Any:
    """Return a copy of a node's edges as a readable table.

    Returns
    -------
    numpy.recarray[n_edges] with the fields move, child, n and w (visits and sum of outcomes), n_amaf and w_amaf (the
    same of the AMAF value, 0 without one), and prior.
    """
    start = int(tree.first_edge[node])
    here = slice(start, start + int(tree.n_edges[node]))
    mc = tree.mc_statistic[here]
    amaf = np.zeros_like(mc) if tree.amaf_statistic is None else tree.amaf_statistic[here]
    table = np.empty(len(mc), _EDGES)
    table["move"], table["child"], table["prior"] = tree.move[here], tree.child[here], tree.prior[here] / PRIOR_UNITS
    table["n"], table["w"] = mc & _COUNT_MASK, (mc >> _COUNT_BITS) / OUTCOME_UNITS
    table["n_amaf"], table["w_amaf"] = amaf & _COUNT_MASK, (amaf >> _COUNT_BITS) / OUTCOME_UNITS
    return table.view(np.recarray)


# ---------------------------------------------------------------------------------------------
# Statistics
# ---------------------------------------------------------------------------------------------


@inline
def in_units(w):
    """Return a sum of outcomes w as it stands in a statistic, in units of 1 / OUTCOME_UNITS."""
    return np.int64(w * OUTCOME_UNITS + 0.5)


@inline
def statistic(n, w):
    """Pack n visits with outcomes that add up to w into one word, to be stored or added."""
    return (in_units(w) << _COUNT_BITS) + np.int64(n)


@inline
def count(word):
    """Return the number of visits in a statistic."""
    return np.float64(word & _COUNT_MASK)


@inline
def outcomes(word):
    """Return the sum of outcomes in a statistic."""
    return np.float64(word >> _COUNT_BITS) * (1.0 / OUTCOME_UNITS)


@inline
def mean(word):
    """Return the mean outcome of a statistic, NaN if it has no visits."""
    return outcomes(word) / count(word)


@inline
def mean_or_0(word):
    """Return the mean outcome of a statistic, or 0 if it has no visits."""
    return outcomes(word) / max(count(word), 1.0)


@inline
def has_visit(word):
    """Return whether a word has a visit, or only changes an outcome."""
    return word & _COUNT_MASK != 0


@inline
def change_of_outcome(old, new):
    """Return the word that turns an outcome of a statistic into another one; the count stays."""
    return (in_units(new) - in_units(old)) << _COUNT_BITS


@inline
def add(array, i, word, shared):
    """Add a word to element i, atomically if the array is shared with other threads."""
    if shared:
        atomic_add(array, i, word)
    else:
        array[i] += word


def tree_kernels(tree: Tree) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Return what the first search calls besides simulations, and the next one, for `jit.compile_together`."""
    numbers = np.zeros(1, np.int64)
    first = [(add_root, numbers, tree), (most_visited_line, 0, 0, tree, np.zeros(1, np.uint16), numbers)]
    later = [
        (_renumber, 0, tree, np.zeros(1, np.int32)),
        (_move_blocks, np.zeros(1, _BLOCK), numbers, numbers, numbers),
    ]
    return first, later


# ---------------------------------------------------------------------------------------------
# Growing and pruning
# ---------------------------------------------------------------------------------------------


@inline
def visits_to_expand(expand_after, tree):
    """Return the visits after which an action gets a node: `expand_after`, and more once half of the tree is full.

    Without this, a full tree could not follow moves that turn out to be best. With the square, the room left shrinks as
    1 / simulations, and never runs out.
    """
    nodes, edges, used = len(tree.first_edge), len(tree.move), tree.used[0]
    left_nodes = max(1, nodes - (used >> NODE_BITS))
    left_edges = max(1, edges - (used & ((np.int64(1) << NODE_BITS) - 1)))
    fullness = max(nodes / (2 * left_nodes), edges / (2 * left_edges))  # 1 if half full
    return np.int64(expand_after * max(1.0, fullness) ** 2)


@njit
def add_node(b, tree, moves, rng, shared, passes):
    """Add a node for the position on `b`: its sensible moves, and a pass if `may_pass`, in random order.

    moves : uint16[P], scratch
    shared : whether other threads use the tree
    passes : see `may_pass`
    Returns the node's index, or NO_CHILD if the tree is full.
    """
    before = tree.used[0]
    most = (before & ((np.int64(1) << NODE_BITS) - 1)) + b.n_empty + 1  # edges after this node
    if before >> NODE_BITS >= len(tree.first_edge) or most > len(tree.move):
        return NO_CHILD
    n = 0
    for i in range(b.n_empty):
        p = np.int64(b.empties[np.uint64(i)])
        if is_sensible(b, p):
            n = _insert(p, moves, n, rng)
    if may_pass(n, b.board_size, passes):
        n = _insert(PASS, moves, n, rng)
    # Reserve the node and its edges in one step, so that they stay in the same order despite other threads.
    node, first = np.int64(0), np.int64(0)
    while True:
        before = tree.used[0]
        node, first = before >> NODE_BITS, before & ((np.int64(1) << NODE_BITS) - 1)
        if node >= len(tree.first_edge) or first + n > len(tree.move):
            return NO_CHILD
        after = before + (np.int64(1) << NODE_BITS) + n
        if not shared:
            tree.used[0] = after
            break
        if compare_and_swap(tree.used, 0, before, after):
            break
    for i in range(n):
        tree.move[first + i] = moves[np.uint64(i)]
    _reset_node(node, first, n, tree)
    return node


@inline
def _insert(p, moves, n, rng):
    """Insert p at a random place among n moves; returns the new number of moves."""
    j = random_below(rng, n + 1)
    moves[np.uint64(n)] = moves[np.uint64(j)]
    moves[np.uint64(j)] = p
    return n + 1


@inline
def may_pass(n, size, passes):
    """Return whether a pass is an action besides n sensible moves.

    It can only be best near the end, as in seki.

    passes : whether it is one everywhere
    """
    return n <= size or passes


@njit
def add_root(moves, tree):
    """Reset the tree to a lone root with the given moves (int64[n])."""
    tree.used[0] = (np.int64(1) << NODE_BITS) + len(moves)
    for i in range(len(moves)):
        tree.move[i] = moves[i]
    _reset_node(0, 0, len(moves), tree)


@inline
def _reset_node(node, first, n, tree):
    """Give a node n edges, from index `first` on, without children or statistics."""
    for i in range(first, first + n):
        tree.child[i] = NO_CHILD
        tree.mc_statistic[i] = 0
        tree.prior[i] = (PRIOR_UNITS + 1) // 2
    _reset_amaf(tree.amaf_statistic, first, n)
    tree.first_edge[node] = first
    tree.n_edges[node] = n
    tree.node_visits[node] = 0
    tree.stage[node] = NO_PRIOR
    _reset_number(tree.correction, node)
    _reset_number(tree.score, node)


@njit
def _reset_amaf(amaf_statistic, first, n):
    if amaf_statistic is not None:
        for i in range(first, first + n):
            amaf_statistic[i] = 0


@njit
def _reset_number(numbers, node):
    if numbers is not None:
        numbers[node] = np.nan


@njit
def find_edge(node, move, tree):
    """Return the node's edge for a move, or -1 if it has none."""
    first = np.int64(tree.first_edge[node])
    for i in range(first, first + tree.n_edges[node]):
        if tree.move[i] == move:
            return i
    return -1


@njit
def most_visited_line(edge, c, tree, line, visits):
    """Write the moves that follow the most visited edges, from an edge of the root on, and return how many.

    c : visits that an action has from its prior alone. They do not count; the line ends where there are no others
    line, visits : uint16[n], int64[n], the moves, and N(s, a) of each
    """
    n, node = 0, np.int64(0)
    while True:
        prior = np.float64(0 if tree.stage[node] in (NO_PRIOR, BUSY, WAITING) else c)
        line[n] = tree.move[edge]
        visits[n] = count(tree.mc_statistic[edge]) - prior
        n += 1
        node = np.int64(tree.child[edge])
        if node < 0 or n == len(line):
            return n
        first, most = np.int64(tree.first_edge[node]), np.float64(c)
        edge = np.int64(-1)
        for i in range(first, first + tree.n_edges[node]):
            if count(tree.mc_statistic[i]) > most:
                edge, most = np.int64(i), count(tree.mc_statistic[i])
        if edge < 0:
            return n


@njit
def add_scores(tree, prior_n, score, branch, leaves, totals):
    """Add up the scores of the leaves below each action of the root, those of the nearest nodes above with one.

    prior_n : C, the visits that an action has from its prior alone
    score, branch : float32[n] and int32[n] for n nodes: scratch, with branch = -1
    leaves, totals : float64[m]: the leaves below each action, and the sum of their scores
    """
    score[0] = tree.score[0]
    for node in range(len(branch)):
        if node > 0 and branch[node] < 0:
            continue  # it hangs on an action that has been removed
        first, c = np.int64(tree.first_edge[node]), prior_n if _has_prior(node, tree) else 0
        for edge in range(first, first + tree.n_edges[node]):
            action = edge - first if node == 0 else np.int64(branch[node])
            n, s, child = count(tree.mc_statistic[edge]) - c, score[node], np.int64(tree.child[edge])
            if 0 <= child < len(branch):  # a search that goes on may have added others
                s = s if np.isnan(tree.score[child]) else tree.score[child]
                score[child], branch[child] = s, action
                of_prior = prior_n * tree.n_edges[child] if _has_prior(child, tree) else 0
                n -= tree.node_visits[child] - of_prior  # those go on from there
            leaves[action] += n
            totals[action] += n * s


@inline
def _has_prior(node, tree):
    return tree.stage[node] not in (NO_PRIOR, BUSY, WAITING)


def keep_subtree(root: int, tree: Tree) -> None:
    """Make `root` node 0, keep everything below it, and drop the rest."""
    new_index = np.full(nodes_in(tree), -1, np.int32)
    _renumber(root, tree, new_index)
    kept = np.flatnonzero(new_index >= 0)
    first, n = tree.first_edge[kept].astype(np.int64), tree.n_edges[kept].astype(np.int64)
    new_first = np.cumsum(n) - n
    for array in edge_arrays(tree):
        k = array.itemsize // _BLOCK.itemsize
        _move_blocks(array.view(_BLOCK), first * k, new_first * k, n * k)
    for array in node_arrays(tree):
        array[: len(kept)] = array[kept]
    tree.first_edge[: len(kept)] = new_first
    tree.used[0] = (len(kept) << NODE_BITS) + int(n.sum())


@njit
def _renumber(root, tree, new_index):
    """Renumber the nodes below `root` in new_index, int32[N], -1 before; edges get the numbers of their children."""
    n_all = len(new_index)
    new_index[root] = 0
    n_nodes = 0
    # Parents come before their children, so each node marks its children as kept before they are numbered.
    for i in range(root, n_all):
        if new_index[i] >= 0:
            new_index[i] = n_nodes
            n_nodes += 1
            for e in range(tree.first_edge[i], tree.first_edge[i] + tree.n_edges[i]):
                if tree.child[e] >= 0:
                    new_index[tree.child[e]] = 0
    for i in range(root, n_all):
        if new_index[i] >= 0:
            for e in range(tree.first_edge[i], tree.first_edge[i] + tree.n_edges[i]):
                child = np.int64(tree.child[e])
                tree.child[e] = new_index[child] if child >= 0 else NO_CHILD


@njit
def _move_blocks(array, start, new_start, n):
    """Move blocks of n[i] elements from start[i] to new_start[i], which is never larger."""
    for i in range(len(n)):
        for k in range(n[i]):
            array[new_start[i] + k] = array[start[i] + k]


def keep_moves(tree: Tree, node: int, allowed: np.ndarray) -> None:
    """Remove a node's edges that are not allowed (bool[n_edges]); their subtrees stay in memory."""
    first, n, k = int(tree.first_edge[node]), int(tree.n_edges[node]), int(allowed.sum())
    for array in edge_arrays(tree):
        array[first : first + k] = array[first : first + n][allowed]
    tree.n_edges[node] = k
    tree.node_visits[node] = int((tree.mc_statistic[first : first + k] & _COUNT_MASK).sum())
