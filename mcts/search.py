"""Monte-Carlo tree search: descend, evaluate the leaf, back up. MC-RAVE paper, Algorithm 2.

Start reading at `simulate`; docs/plain/uct.py is the same in plain Python. What a search is composed of is chosen by
type when it is compiled: the tree policy (`policies/`), prior knowledge (`priors/`), and what a simulation is worth
(`leaves/`). Values in the tree are P(Black wins); the tree policy flips them where it selects an action.
"""

from __future__ import annotations

import math

import numpy as np

from mcts.leaves import outcome_of
from mcts.outside.waiting import COLLIDED, has_to_wait, must_wait, wait_for_answer
from mcts.policies import back_up_amaf, select
from mcts.priors.stages import give_prior, stages_due
from mcts.tree import (
    BEING_ADDED,
    BUSY,
    MOST_VISITS,
    NO_CHILD,
    NO_PRIOR,
    WAITING,
    add,
    add_node,
    count,
    has_visit,
    statistic,
    visits_to_expand,
)
from mcts.workspace import record_move, take_action, virtual_losses
from rlgo.compiler.jit import atomic_add, compare_and_swap, copy_record, inline, inline_once, njit
from rlgo.go.board import BLACK, PASS, play

DONE, NEEDS_ANSWERS, FULL = 0, 1, 2  # why `simulate` returned


@njit
def simulate(budget, root, last_moves, tree, context, workspace):
    """Run simulations from the position `root` until the budget is spent (Algorithm 2).

    A new root gets its prior first, even if no simulation is left.

    budget : int64[1], simulations left for all threads that share it
    root : board record of node 0 of the tree
    last_moves : the move that led to the root and the one before it, or PASS
    tree, context, workspace : `Tree`, `Context`, `Workspace`
    Returns DONE; NEEDS_ANSWERS if a batch for the evaluator is full, or no other simulation may wait for it; or FULL if
    N(s) of the root has reached its limit.
    """
    path, search, waiting = workspace.path, context.search, workspace.waiting
    if tree.stage[0] < len(search.prior) and not search.is_outside:
        before = np.int64(NO_CHILD), np.int64(last_moves[0]), np.int64(last_moves[1])
        give_prior(np.int64(0), np.int64(len(search.prior)), before, root, tree, context, workspace)
    while not must_wait(waiting):
        if atomic_add(budget, 0, -1) <= 0:
            return DONE
        if tree.node_visits[0] >= MOST_VISITS:
            return FULL
        begin_simulation(root, last_moves[0], workspace)  # board.SetPosition(s_0)
        new_node = descend(tree, context, workspace)  # [s_0, a_0, ..., s_T] = SIMTREE(board); a_T is chosen below
        path.leaf, path.leaf_node, z = path.n_moves, new_node, math.nan
        if new_node == COLLIDED:
            path.w = 1.0
            atomic_add(budget, 0, 1)
        else:
            z = outcome_of(search.leaf, new_node, tree, context, workspace)  # [a_T, ..., a_D], z = SIMDEFAULT(board, T)
            if not math.isnan(z):
                back_up(path, statistic(1, z), search, tree)  # BACKUP([s_0, ..., s_T], [a_0, ..., a_D], z)
            count_simulation(workspace)
        if wait_for_answer(new_node != NO_CHILD or math.isnan(z), path, waiting):
            return NEEDS_ANSWERS  # even if the budget is spent; the next call then does nothing
    return NEEDS_ANSWERS


@inline_once
def begin_simulation(root, last_move, workspace):
    """Set the board to the root's position and clear the path."""
    copy_record(root, workspace.b)
    path = workspace.path
    path.n_nodes = 0
    path.n_moves = 0
    path.first_color = workspace.b.to_play
    path.last = last_move
    path.correction = 0.0


@inline_once
def count_simulation(workspace):
    """Add a simulation to the totals."""
    path, tally = workspace.path, workspace.tally
    tally.simulations += 1
    tally.wins += path.z
    tally.moves += path.n_moves
    tally.deepest = max(tally.deepest, path.n_nodes)


@inline_once
def descend(tree, context, workspace):
    """Follow the tree policy from the root to a new node, to the end of the game, or until the tree cannot grow.

    Returns the new node, with no action chosen in it yet; NO_CHILD if none was added; or COLLIDED at a node whose value
    is still to come.
    """
    b, path, search = workspace.b, workspace.path, context.search
    node, new_node = np.int64(0), np.int64(NO_CHILD)
    while node >= 0 and b.n_passes < 2 and path.n_moves < search.max_moves:
        if has_to_wait(workspace.waiting, node, tree, search):
            return np.int64(COLLIDED)
        renew_prior(node, tree, context, workspace)
        note_correction(tree.correction, node, path)
        edge = select(search.policy, node, b.to_play, tree, workspace)  # a_t = SELECTMOVE(board, s_t)
        take_action(node, edge, np.int64(b.to_play), search.virtual_loss, path, tree)
        p = np.int64(tree.move[edge])
        play(b, p, context.rules.zobrist)
        record_move(p, path)
        node = np.int64(tree.child[edge])
        if node == NO_CHILD and b.n_passes < 2:
            new_node = expand(edge, tree, context, workspace)  # NEWNODE(s_t)
    return new_node


@inline
def renew_prior(node, tree, context, workspace):
    """Give the node of the position on the board the prior that its visits call for.

    The simulation that adds a node does not choose an action in it, so the prior is left to the next visit; a quarter
    to a half of all nodes never get one. Since counts and sums are added to, nothing else changes.
    """
    search, path = context.search, workspace.path
    stage = np.int64(tree.stage[node])
    if stage >= len(search.prior) or search.is_outside:
        return
    visits = np.int64(tree.node_visits[node]) + 1  # this one included
    if stage != NO_PRIOR:
        visits -= tree.n_edges[node] * search.prior_n
    due = stages_due(search.prior, visits)
    if due > stage:
        t = np.int64(path.n_nodes)
        grandparent = np.int64(path.node[t - 2]) if t > 1 else np.int64(NO_CHILD)
        last = np.int64(path.moves[path.n_moves - 1]) if path.n_moves > 0 else np.int64(path.last)
        last_but_one = np.int64(path.moves[path.n_moves - 2]) if path.n_moves > 1 else np.int64(path.last)
        give_prior(node, due, (grandparent, last, last_but_one), workspace.b, tree, context, workspace)


@njit
def note_correction(corrections, node, path):
    """Note what a network's evaluation of a node means for the value of leaves below it, if there is one."""
    if corrections is not None and not math.isnan(corrections[node]):
        path.correction = corrections[node]


@inline_once
def expand(edge, tree, context, workspace):
    """Add a node for the position on the board, reached by `edge`, if the edge has enough visits.

    Returns the node, or NO_CHILD if the action has too few visits for the room left, another thread is adding the node,
    or the tree is full.
    The C of a prior does not count as visits.
    """
    b, path, search = workspace.b, workspace.path, context.search
    shared = search.virtual_loss > 0
    stage = tree.stage[path.node[path.n_nodes - 1]]
    c = 0 if stage in (NO_PRIOR, BUSY, WAITING) else search.prior_n
    # This visit counts once regardless of its virtual loss; those of other threads count as much as theirs.
    visits = count(tree.mc_statistic[edge]) - c - search.virtual_loss + 1
    if visits < visits_to_expand(search.expand_after, tree):
        return np.int64(NO_CHILD)
    if shared and not compare_and_swap(tree.child, edge, NO_CHILD, BEING_ADDED):
        return np.int64(NO_CHILD)
    node = add_node(b, tree, path.candidates, workspace.rng, shared, search.passes)
    if node != NO_CHILD:
        if search.is_outside:
            tree.stage[node] = np.uint8(WAITING)
        elif search.at_once:
            renew_prior(node, tree, context, workspace)
            note_correction(tree.correction, node, path)
    if shared:
        atomic_add(tree.child, edge, node - BEING_ADDED)  # only now is the node visible to other threads
    else:
        tree.child[edge] = node
    return node


@inline_once
def back_up(path, word, search, tree):
    """Update the statistics along a simulation's path with its outcome z (Algorithm 2, BACKUP).

    path : record of `workspace.path_dtype`
    word : `statistic(1, z)`: one visit with this outcome, in place of the virtual losses of the descent. A word without
        a visit changes the outcome of a simulation that has been backed up: `change_of_outcome`.
    """
    n_losses = search.virtual_loss
    shared, is_new = n_losses > 0, has_visit(word)
    # N(s_t), N(s_t, a_t) and Q(s_t, a_t) (equations 13 to 15); the virtual losses of the descent are taken back.
    for t in range(path.n_nodes):
        color = BLACK + (path.first_color - BLACK + t) % 2
        change = word - virtual_losses(color, n_losses) if is_new else word
        add(tree.mc_statistic, np.int64(path.edge[t]), change, shared)
        if is_new:
            add(tree.node_visits, np.int64(path.node[t]), 1 - n_losses, shared)
    back_up_amaf(search.policy, path, word, tree, shared)


@njit
def begin_at_root(root, tree, search, workspace):
    """Have the evaluator asked about the root, like about a new node."""
    begin_simulation(root, PASS, workspace)
    path = workspace.path
    path.leaf, path.leaf_node, path.w, path.z = 0, 0, 0.0, 0.0
    if search.is_outside and tree.stage[0] == NO_PRIOR:
        tree.stage[0] = np.uint8(WAITING)
    wait_for_answer(True, path, workspace.waiting)
