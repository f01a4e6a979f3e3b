"""The search tree: preallocated arrays of nodes and of their actions. MC-RAVE paper, Section 4.3.

Start reading at `Tree`: every statistic of the papers is an array there. Sums and counts are stored, not running means
(the paper's footnote 3), both in one word of 64 bits: one addition, atomic where several threads share the tree,
updates a count and its sum at once, and whoever reads a mean reads both of the same moment.

A node's actions, its *edges*, are the sensible moves of its position alone, side by side, in random order; and a pass
where few are left (`may_pass`). The tree is no graph: a position that is reached twice has two nodes. Children stand
behind their parents in all arrays, which lets `keep_subtree` move what is kept to the front in place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rlgo.board import PASS, is_sensible
from rlgo.jit import atomic_add, compare_and_swap, inline, njit, random_below

NO_CHILD, BEING_ADDED = -1, -2

# A statistic is one int64: a count below, a sum of outcomes in units of 1 / UNIT above. Wins and draws are exact; what
# a heuristic says, and V where simulations are truncated, is rounded.
_COUNT_BITS = 28
_COUNT = (1 << _COUNT_BITS) - 1
UNIT = 256
MOST_VISITS = (1 << 27) - (1 << 20)  # the sum must fit into 35 bits: searches end, with room for threads and priors
NODE_BITS = 36  # of `Tree.used`, where the nodes begin


class Tree(NamedTuple):
    """Nodes and their edges (room for N nodes and E edges; node 0 is the root; 23 bytes an edge, 12 a node).

    first, n_edges : int32[N]: where the edges of a node stand, and how many they are
    n : int32[N]: N(s), the sum of N(s, a), priors included
    move : uint16[E]: the point, or PASS
    child : int32[E]: the node that it leads to; NO_CHILD; or BEING_ADDED, while a thread does
    mc : int64[E]: N(s, a) and the sum of outcomes z: Q(s, a) = `mean` is P(Black wins), whoever plays
    amaf : int64[E]: the same of the AMAF value, N~(s, a) and Q~(s, a)
    prior : uint8[E]: H(s, a) of the heuristic, in units of 1/255
    used : int64[1]: how many edges are in use, and 2^36 times how many nodes
    """

    first: np.ndarray
    n_edges: np.ndarray
    n: np.ndarray
    move: np.ndarray
    child: np.ndarray
    mc: np.ndarray
    amaf: np.ndarray
    prior: np.ndarray
    used: np.ndarray


def new_tree(nodes: int, edges: int) -> Tree:
    """An empty tree with room for so many nodes and edges."""
    first, n_edges, n = (np.zeros(nodes, np.int32) for _ in range(3))
    move, child, prior = np.zeros(edges, np.uint16), np.zeros(edges, np.int32), np.zeros(edges, np.uint8)
    mc, amaf = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    return Tree(first, n_edges, n, move, child, mc, amaf, prior, np.zeros(1, np.int64))


def nodes_in(tree: Tree) -> int:
    """How many nodes are in use."""
    return int(tree.used[0]) >> NODE_BITS


def edges_in(tree: Tree) -> int:
    """How many edges are in use."""
    return int(tree.used[0]) & (1 << NODE_BITS) - 1


def memory_of(tree: Tree) -> int:
    """Bytes of what is in use."""
    n, e = nodes_in(tree), edges_in(tree)
    return sum(array.itemsize * n for array in tree[:3]) + sum(array.itemsize * e for array in tree[3:8])


def edges_of(tree: Tree, node: int) -> Any:
    """The edges of a node, as a table for people: a numpy.recarray of move, child, n, w, n_amaf, w_amaf, prior."""
    here = slice(int(tree.first[node]), int(tree.first[node]) + int(tree.n_edges[node]))
    mc, amaf = tree.mc[here], tree.amaf[here]
    names: Any = "move,child,n,w,n_amaf,w_amaf,prior"
    columns: list[Any] = [
        tree.move[here].astype(np.int64),
        tree.child[here].astype(np.int64),
        mc & _COUNT,
        (mc >> _COUNT_BITS) / UNIT,
        amaf & _COUNT,
        (amaf >> _COUNT_BITS) / UNIT,
        tree.prior[here] / 255,
    ]
    return np.rec.fromarrays(columns, names=names)


# ---------------------------------------------------------------------------------------------
# Statistics
# ---------------------------------------------------------------------------------------------


@inline
def statistic(n, w):
    """n visits with outcomes that add up to w, as one word to store or to add."""
    return (np.int64(w * UNIT + 0.5) << _COUNT_BITS) + np.int64(n)


@inline
def count(word):
    """The count of a statistic."""
    return np.float64(word & _COUNT)


@inline
def mean(word):
    """Its mean outcome; the count must not be 0."""
    return np.float64(word >> _COUNT_BITS) * (1.0 / UNIT) / np.float64(word & _COUNT)


@inline
def mean_or_0(word):
    """Its mean outcome, or 0 without any."""
    return np.float64(word >> _COUNT_BITS) * (1.0 / UNIT) / max(np.float64(word & _COUNT), 1.0)


@inline
def add(array, i, word, shared):
    """Add to a count or a statistic; shared : whether other threads may do so at the same time."""
    if shared:
        atomic_add(array, i, word)
    else:
        array[i] += word


# ---------------------------------------------------------------------------------------------
# Growing, and keeping a part
# ---------------------------------------------------------------------------------------------


@njit
def add_node(b, tree, moves, rng, shared):
    """A node for the position on `b`, with all sensible moves, and a pass where it may be best, in random order.

    moves : scratch, uint16[P]
    Returns its index, or NO_CHILD where the tree is full.
    """
    before = tree.used[0]
    if before >> NODE_BITS >= len(tree.first):
        return NO_CHILD
    n = 0
    for i in range(b.n_empty):
        p = np.int64(b.empties[np.uint64(i)])
        if is_sensible(b, p):
            n = _insert(p, moves, n, rng)
    if may_pass(n, b.board_size):
        n = _insert(PASS, moves, n, rng)
    # Node and edges are taken in one step, so that both stand in the same order, whatever other threads do.
    node, first = np.int64(0), np.int64(0)
    while True:
        before = tree.used[0]
        node, first = before >> NODE_BITS, before & ((np.int64(1) << NODE_BITS) - 1)
        if node >= len(tree.first) or first + n > len(tree.move):
            return NO_CHILD
        after = before + (np.int64(1) << NODE_BITS) + n
        if not shared:
            tree.used[0] = after
            break
        if compare_and_swap(tree.used, 0, before, after):
            break
    for i in range(n):
        tree.move[first + i] = moves[np.uint64(i)]
    _begin_node(node, first, n, tree)
    return node


@inline
def _insert(p, moves, n, rng):
    """Put p at a random place among n moves; returns how many there are now."""
    j = random_below(rng, n + 1)
    moves[np.uint64(n)] = moves[np.uint64(j)]
    moves[np.uint64(j)] = p
    return n + 1


@inline
def may_pass(n, size):
    """Whether a pass is an action beside n sensible moves: only towards the end may it be best, in a seki for one."""
    return n <= size


@njit
def add_root(moves, tree):
    """Make a tree of the root alone, with these moves (int64[n])."""
    tree.used[0] = (np.int64(1) << NODE_BITS) + len(moves)
    for i in range(len(moves)):
        tree.move[i] = moves[i]
    _begin_node(0, 0, len(moves), tree)


@inline
def _begin_node(node, first, n, tree):
    for i in range(first, first + n):
        tree.child[i] = NO_CHILD
        tree.mc[i] = 0
        tree.amaf[i] = 0
        tree.prior[i] = 128
    tree.first[node] = first
    tree.n_edges[node] = n
    tree.n[node] = 0


@njit
def find_edge(node, move, tree):
    """The edge of a move, or -1."""
    first = np.int64(tree.first[node])
    for i in range(first, first + tree.n_edges[node]):
        if tree.move[i] == move:
            return i
    return -1


@njit(allocates=True)
def keep_subtree(root, tree):
    """Make `root` node 0, with all that stands below it, and forget the rest."""
    n_all = tree.used[0] >> NODE_BITS
    new_index = np.full(n_all, -1, np.int32)
    new_index[root] = 0
    n_nodes, n_edges = 0, 0
    # Parents come first: each numbers its children's turn, and is moved when its own has come.
    for i in range(root, n_all):
        if new_index[i] < 0:
            continue
        new_index[i] = n_nodes
        n_nodes += 1
        for e in range(tree.first[i], tree.first[i] + tree.n_edges[i]):
            if tree.child[e] >= 0:
                new_index[tree.child[e]] = 0
    for i in range(root, n_all):
        new = np.int64(new_index[i])
        if new < 0:
            continue
        first, n = np.int64(tree.first[i]), np.int64(tree.n_edges[i])
        for e in range(n):
            child = np.int64(tree.child[first + e])
            tree.child[n_edges + e] = new_index[child] if child >= 0 else NO_CHILD
            tree.move[n_edges + e] = tree.move[first + e]
            tree.mc[n_edges + e] = tree.mc[first + e]
            tree.amaf[n_edges + e] = tree.amaf[first + e]
            tree.prior[n_edges + e] = tree.prior[first + e]
        tree.first[new] = n_edges
        tree.n_edges[new] = n
        tree.n[new] = tree.n[i]
        n_edges += n
    tree.used[0] = (np.int64(n_nodes) << NODE_BITS) + n_edges


def keep_moves(tree: Tree, node: int, allowed: np.ndarray) -> None:
    """Take from a node the edges that are not allowed (bool[n]); what stood below them stays in memory."""
    first, n, k = int(tree.first[node]), int(tree.n_edges[node]), int(allowed.sum())
    for array in (tree.move, tree.child, tree.mc, tree.amaf, tree.prior):
        array[first : first + k] = array[first : first + n][allowed]
    tree.n_edges[node] = k
    tree.n[node] = int((tree.mc[first : first + k] & _COUNT).sum())
