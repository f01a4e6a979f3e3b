"""Monte-Carlo tree search: select, expand, roll out, back up. MC-RAVE paper, Algorithm 2.

Start reading at `simulate`, then `select`; the formulas stand in `uct.py` and `rave.py`, the prior knowledge in
`heuristic.py`, the tree in `tree.py`. Q is P(Black wins) everywhere; the colour is flipped once, in `select`.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from mcts.heuristic import NO_HEURISTIC, USER, add_prior
from mcts.rave import HAND_SELECTED, back_up, beta_of, combine
from mcts.tree import NO_CHILD, add_node, find_edge
from mcts.uct import ucb1
from rlgo.board import BLACK, outcome, play
from rlgo.jit import copy_record, inline, njit
from rlgo.rollout import MOGO, begin_rollout, default_move, is_hopeless, watch_atari
from rlgo.shapes import padded_points
from rlgo.td import max_plies

FLAT, MC, RAVE, MC_RAVE = 0, 1, 2, 3
VALUES_OF = {"flat": FLAT, "mc": MC, "rave": RAVE, "mc_rave": MC_RAVE}
DONE, SLICE, NEEDS_PRIOR = 0, 1, 2


class Settings(NamedTuple):
    """What the tree policy goes by."""

    value: int = MC_RAVE  # of an action: FLAT (its number of visits, evenly), MC, RAVE (AMAF alone) or MC_RAVE
    c: float = 0.0  # exploration constant of UCB1; with MC it makes UCT, with MC_RAVE UCT-RAVE
    first_play_urgency: float = 0.5  # the value, for its player, of an action without any statistics
    schedule: int = HAND_SELECTED  # of beta; or MINIMUM_MSE, MINIMUM_MSE_EXACT
    rave_k: float = 1_000.0  # equivalence parameter of the hand-selected schedule
    rave_bias: float = 0.05  # of the minimum-MSE schedules
    expand_after: int = 1  # visits of an action before its position becomes a node
    heuristic: int = NO_HEURISTIC  # of new nodes, see `heuristic.py`
    prior_n: int = 0  # C, its confidence as MC value
    prior_n_amaf: int = 50  # C~ = M, its confidence as AMAF value
    max_moves: int = 243  # longer simulations are scored as they stand


@cache
def path_dtype(size: int) -> np.dtype:
    """One simulation (P padded points, T plies).

    n_nodes, node[T], edge[T] : the states s_0 ... of the tree, and the action taken in each
    n_moves, moves[T], first_color : all its moves, default policy included, and who played the first
    first_played[P] : scratch of `rave.back_up`
    """
    plies, points = max_plies(size), padded_points(size)
    fields = [
        ("n_nodes", np.int32),
        ("n_moves", np.int32),
        ("first_color", np.int32),
        ("node", np.int32, (plies,)),
        ("edge", np.int32, (plies,)),
        ("moves", np.uint16, (plies,)),
        ("first_played", np.uint8, (points,)),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


@njit
def simulate(
    n, boards, sizes, nodes, edges, settings, default, komi, path, sh, g, theta_bar, value, r, patterns, zobrist, rng,
    leaves, leaf_nodes, tally,
):  # fmt: skip
    """n simulations from boards[0], whose node is the root (node 0); boards[1], path, sh and r are scratch.

    sh, g, theta_bar, value : for Q_rlgo, see `heuristic.add_prior`
    leaves, leaf_nodes : new nodes that wait for a user's prior, and their boards; as many as fit are collected
    Returns DONE, or NEEDS_PRIOR where `leaves` are full; `tally` is added to.
    """
    b = boards[1]
    for _ in range(n):
        copy_record(boards[0], b)
        path.n_nodes = 0
        path.n_moves = 0
        path.first_color = b.to_play
        node = np.int64(0)
        finished = False
        # In the tree ...
        while node != NO_CHILD and not finished and path.n_moves < settings.max_moves:
            t = np.int64(path.n_nodes)
            e = select(node, b.to_play, settings, nodes, edges)
            path.node[t] = node
            path.edge[t] = e
            path.n_nodes = t + 1
            _move(b, np.int64(edges[e].move), path, zobrist)
            finished = b.n_passes >= 2
            child = np.int64(edges[e].child)
            if child == NO_CHILD and not finished and edges[e].n + 1 - settings.prior_n >= settings.expand_after:
                child = add_node(b, sizes, nodes, edges, rng)
                if child != NO_CHILD:
                    edges[e].child = child
                    grandfather = np.int64(path.node[t - 1]) if t > 0 else NO_CHILD
                    if settings.heuristic != NO_HEURISTIC and settings.heuristic != USER:
                        add_prior(
                            child, grandfather, b, settings.heuristic, settings.prior_n, settings.prior_n_amaf, nodes,
                            edges, sh, g, theta_bar, value, default, r, patterns,
                        )  # fmt: skip
                    elif settings.heuristic == USER:
                        copy_record(b, leaves[tally.waiting])
                        leaf_nodes[tally.waiting] = child
                        tally.waiting += 1
                    # The default policy moves in it already; the action counts (Algorithm 2).
                    _begin_default(b, default, r)
                    p = default_move(b, default, r, patterns, rng)
                    e = find_edge(child, p, nodes, edges)
                    if e >= 0:
                        path.node[t + 1] = child
                        path.edge[t + 1] = e
                        path.n_nodes = t + 2
                    _move(b, p, path, zobrist)
                    finished = b.n_passes >= 2
                child = NO_CHILD
            node = child
        # ... beyond it ...
        if not finished:
            _begin_default(b, default, r)
        while not finished and path.n_moves < settings.max_moves:
            if default.mercy and is_hopeless(b, komi):
                break
            _move(b, default_move(b, default, r, patterns, rng), path, zobrist)
            if default.kind == MOGO:
                watch_atari(b, r)
            finished = b.n_passes >= 2
        # ... and back.
        z = outcome(b, komi)
        back_up(path, z, settings.value >= RAVE, nodes, edges)
        tally.simulations += 1
        tally.wins += z
        tally.moves += path.n_moves
        if tally.waiting == len(leaves) and settings.heuristic == USER:
            return NEEDS_PRIOR
    return DONE


@inline
def _move(b, p, path, zobrist):
    play(b, p, zobrist)
    path.moves[np.uint64(path.n_moves)] = p
    path.n_moves += 1


@inline
def _begin_default(b, default, r):
    if default.kind == MOGO:
        begin_rollout(b, r)


@njit
def select(node, color, settings, nodes, edges):
    """The action that maximises the value for the colour to play (SELECTMOVE); the first of equal ones.

    Actions stand in random order, so the first is any.
    """
    first, n_edges = np.int64(nodes[node].first), np.int64(nodes[node].n_edges)
    n_s = np.float64(nodes[node].n)
    log_n_s = math.log(n_s) if n_s > 1 else 0.0
    best, choice = -np.inf, first
    for i in range(first, first + n_edges):
        value = action_value(edges[i], n_s, log_n_s, color, settings)
        if value > best:
            best, choice = value, i
    return choice


@inline
def action_value(edge, n_s, log_n_s, color, settings):
    """EVAL(s, a) for the colour to play: the value by the algorithm, and a bonus for exploration."""
    n, n_amaf = np.float64(edge.n), np.float64(edge.n_amaf)
    if settings.value == FLAT:
        return -n
    if settings.value == MC:
        n_amaf = 0.0
    if n == 0.0 and n_amaf == 0.0:
        return settings.first_play_urgency
    q = edge.w / n if n > 0.0 else 0.0
    q_amaf = edge.w_amaf / n_amaf if n_amaf > 0.0 else 0.0
    if settings.value == MC:
        value = q
    elif settings.value == RAVE:
        value = q_amaf if n_amaf > 0.0 else q
    else:
        beta = beta_of(settings.schedule, n_s, n, n_amaf, q_amaf, settings.rave_k, settings.rave_bias)
        value = combine(q, q_amaf, beta)
    if color != BLACK:
        value = 1.0 - value
    if settings.c > 0.0:
        # An action that was never taken has no bound: it is taken first, unless its AMAF value says otherwise.
        value = ucb1(value, n, log_n_s, settings.c) if n > 0.0 else value + settings.c * math.sqrt(log_n_s)
    return value
