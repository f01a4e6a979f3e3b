"""The search tree: preallocated records of nodes and of their actions. MC-RAVE paper, Section 4.3.

Start reading at `node_dtype` and `edge_dtype`: every statistic of the papers is a field there. Sums and counts are
stored, not running means (the paper's footnote 3), so that one addition updates each. A node's actions are the
sensible moves of its position alone, in random order, side by side; the tree is no graph: a position that is reached
twice has two nodes.

Children stand behind their parents in both arrays, which lets `keep_subtree` move what is kept to the front in place.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from rlgo.board import PASS, is_sensible
from rlgo.jit import inline, njit, random_below

NO_CHILD = -1


@cache
def node_dtype() -> np.dtype:
    """A node n(s) (16 bytes).

    first, n_edges : where its actions stand among the edges, and how many they are
    n : N(s), the sum of N(s, a), priors included
    new_index : scratch of `keep_subtree`
    """
    fields = [("first", np.int32), ("n_edges", np.int32), ("n", np.int32), ("new_index", np.int32)]
    return np.dtype((np.record, np.dtype(fields, align=True)))


@cache
def edge_dtype() -> np.dtype:
    """An action a of a node s (24 bytes).

    move : the point, or PASS; child : the node that it leads to, or NO_CHILD
    w, n : sum of outcomes z, and N(s, a): Q(s, a) = w / n is P(Black wins), whoever plays
    w_amaf, n_amaf : the same of the AMAF value, N~(s, a) and Q~(s, a)
    """
    fields = [
        ("w", np.float32),
        ("w_amaf", np.float32),
        ("n", np.int32),
        ("n_amaf", np.int32),
        ("child", np.int32),
        ("move", np.uint16),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


@cache
def sizes_dtype() -> np.dtype:
    """How much of the tree is in use: nodes, and edges; node 0 is the root."""
    return np.dtype((np.record, np.dtype([("nodes", np.int64), ("edges", np.int64)])))


@njit
def add_node(b, sizes, nodes, edges, rng):
    """A node for the position on `b`, with all sensible moves, or a pass where there is none, in random order.

    Returns its index, or NO_CHILD where the tree is full.
    """
    if sizes.nodes == len(nodes) or sizes.edges + b.n_empty + 1 > len(edges):
        return NO_CHILD
    first = sizes.edges
    n = 0
    for i in range(b.n_empty):
        p = np.int64(b.empties[np.uint64(i)])
        if is_sensible(b, p):
            j = random_below(rng, n + 1)  # inside-out shuffle
            edges[first + n].move = edges[first + j].move
            edges[first + j].move = p
            n += 1
    if n == 0:
        edges[first].move = PASS
        n = 1
    return _begin_node(first, n, sizes, nodes, edges)


@njit
def add_root(moves, sizes, nodes, edges):
    """Make an empty tree of the root alone, with these moves."""
    sizes.nodes = 0
    sizes.edges = 0
    for i in range(len(moves)):
        edges[i].move = moves[i]
    return _begin_node(0, len(moves), sizes, nodes, edges)


@njit
def _begin_node(first, n, sizes, nodes, edges):
    for i in range(first, first + n):
        edge = edges[i]
        edge.w = 0.0
        edge.w_amaf = 0.0
        edge.n = 0
        edge.n_amaf = 0
        edge.child = NO_CHILD
    node = sizes.nodes
    nodes[node].first = first
    nodes[node].n_edges = n
    nodes[node].n = 0
    sizes.nodes = node + 1
    sizes.edges = first + n
    return node


@inline
def find_edge(node, move, nodes, edges):
    """The edge of a move, or -1."""
    first = np.int64(nodes[node].first)
    for i in range(first, first + nodes[node].n_edges):
        if edges[i].move == move:
            return i
    return -1


@njit
def keep_subtree(root, sizes, nodes, edges):
    """Make `root` node 0, with all that stands below it, and forget the rest."""
    for i in range(sizes.nodes):
        nodes[i].new_index = -1
    nodes[root].new_index = 0
    n_nodes = 0
    for i in range(root, sizes.nodes):
        if nodes[i].new_index < 0:
            continue
        nodes[i].new_index = n_nodes
        n_nodes += 1
        for e in range(nodes[i].first, nodes[i].first + nodes[i].n_edges):
            if edges[e].child != NO_CHILD:
                nodes[edges[e].child].new_index = 0  # to be kept; numbered when its turn comes
    n_edges = 0
    for i in range(root, sizes.nodes):
        new = np.int64(nodes[i].new_index)
        if new < 0:
            continue
        first, n = np.int64(nodes[i].first), np.int64(nodes[i].n_edges)
        for e in range(n):
            child = np.int64(edges[first + e].child)
            edges[n_edges + e] = edges[first + e]
            edges[n_edges + e].child = NO_CHILD if child == NO_CHILD else nodes[child].new_index
        nodes[new].first = n_edges
        nodes[new].n_edges = n
        nodes[new].n = nodes[i].n
        n_edges += n
    sizes.nodes = n_nodes
    sizes.edges = n_edges
