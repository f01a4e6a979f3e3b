"""Monte-Carlo tree search: select, expand, roll out, back up. MC-RAVE paper, Algorithm 2.

Start reading at `simulate`, then `select`; the formulas stand in `uct.py`, `rave.py` and `flat.py`, the prior knowledge
in `heuristic.py`, the tree in `tree.py`. Q is P(Black wins) everywhere; the colour is flipped once, in `select`.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from mcts.flat import choose_flat
from mcts.heuristic import NO_HEURISTIC, USER, add_prior
from mcts.rave import (
    FLAT,
    MC,
    MC_RAVE,
    MINIMUM_MSE,
    RAVE,
    back_up,
    beta_of,
    combine,
    hand_selected_beta,
    kind_of,
    virtual_loss,
)
from mcts.tree import BEING_ADDED, MOST_VISITS, NO_CHILD, add_node, count, find_edge, mean_or_0
from mcts.uct import ucb1
from rlgo.board import BLACK, board_dtype, new_boards, outcome, play
from rlgo.jit import atomic_add, compare_and_swap, copy_record, inline, make_rng, njit
from rlgo.policy import choose_move
from rlgo.rollout import MOGO, begin_rollout, default_move, is_hopeless, rollout_dtype, watch_atari
from rlgo.shapes import padded_points
from rlgo.td import max_plies
from rlgo.value import reset, reset_gains, shapes_dtype, squash, update

# Beside the default policies of `rollout.py`: epsilon-greedy by the value function of Q_rlgo.
LEARNED = 2
NEVER = -1
_LINES = 128  # bytes that a processor may move at once: two lines
DONE, NEEDS_PRIOR, FULL = 0, 1, 2


class Settings(NamedTuple):
    """What the tree policy goes by, and how simulations end."""

    value: int = MC_RAVE  # of an action: FLAT (flat Monte-Carlo), MC, RAVE (AMAF alone) or MC_RAVE
    c: float = 0.0  # exploration constant of UCB1; with MC it makes UCT, with MC_RAVE UCT-RAVE
    first_play_urgency: float = 0.5  # the value, for its player, of an action without any statistics
    schedule: int = MINIMUM_MSE  # of beta; or HAND_SELECTED, MINIMUM_MSE_EXACT
    rave_k: float = 10_000.0  # equivalence parameter of the hand-selected schedule
    rave_bias: float = 0.02  # of the minimum-MSE schedules
    learn_bias: bool = False  # a bias for each kind of move (`rave.kind_of`), learned from the trees of the game
    expand_after: int = 1  # visits of an action before its position becomes a node
    heuristic: int = NO_HEURISTIC  # of new nodes, see `heuristic.py`
    prior_n: int = 0  # C, its confidence as MC value
    prior_n_amaf: int = 50  # C~ = M, its confidence as AMAF value
    adapt_m: bool = False  # M as the value of one half; more where H is surer, see `heuristic.confidence`
    progressive_bias: float = 0.0  # adds this / (N(s, a) + 1) times H to an action's value
    widening: float = 0.0  # 0: none; else the factor by which N(s), with its priors, grows for one more action
    temperature: float = 0.0  # of flat Monte-Carlo, see `flat.choose_flat`
    pruning: float = 0.0  # of flat Monte-Carlo
    truncate: int = NEVER  # plies of the default policy, beyond its first, after which V is the outcome
    virtual_loss: int = 0  # lost visits that a thread expects on its way down; 0: one thread alone
    max_moves: int = 0  # longer simulations are scored as they stand; 0: 3 * size * size


@cache
def path_dtype(size: int) -> np.dtype:
    """One simulation (P padded points, T plies).

    n_nodes, node[T], edge[T] : the states s_0 ... of the tree, and the action taken in each
    n_moves, moves[T], first_color : all its moves, default policy included, and who played the first
    last : the move before the first
    first_played[P] : scratch of `rave.back_up`; candidates[P] : of `tree.add_node`
    """
    plies, points = max_plies(size), padded_points(size)
    fields = [
        ("n_nodes", np.int32),
        ("n_moves", np.int32),
        ("first_color", np.int32),
        ("last", np.int32),
        ("node", np.int32, (plies,)),
        ("edge", np.int32, (plies,)),
        ("moves", np.uint16, (plies,)),
        ("candidates", np.uint16, (points,)),
        ("first_played", np.uint8, (points,)),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


@cache
def tally_dtype() -> np.dtype:
    """What simulations add up to: how many, the sum of z, the moves played; and how many nodes wait for a prior."""
    fields = [("simulations", "i8"), ("moves", "i8"), ("waiting", "i8"), ("wins", "f8")]
    return np.dtype((np.record, np.dtype(fields)))


class Worker(NamedTuple):
    """What one thread needs for itself: all scratch, but for the random state and the tally.

    leaves, leaf_nodes : new nodes that wait for a user's prior, and their boards
    """

    b: np.record
    path: np.record
    sh: np.record
    r: np.record
    rng: np.ndarray
    leaves: np.ndarray
    leaf_nodes: np.ndarray
    tally: np.record


def new_worker(size: int, batch: int, seed: np.random.SeedSequence) -> Worker:
    """A worker for one board size; batch : new nodes that it may collect before a user's prior is asked."""
    rng = _apart(np.dtype(np.uint64))
    rng[:] = make_rng(seed)
    return Worker(
        _apart(board_dtype(size))[0],
        _apart(path_dtype(size))[0],
        _apart(shapes_dtype(size))[0],
        _apart(rollout_dtype(size))[0],
        rng,
        new_boards(batch, size),
        np.zeros(batch, np.int64),
        _apart(tally_dtype())[0],
    )


def _apart(dtype: np.dtype) -> np.ndarray:
    """One element of zeros, alone on its cache lines: threads that write side by side wait for each other."""
    room = np.zeros(dtype.itemsize + 2 * _LINES, np.uint8)
    return room[_LINES : _LINES + dtype.itemsize].view(dtype)


@njit
def simulate(budget, root, last, tree, settings, default, rules, knowledge, worker):
    """Simulations from the board `root`, whose node is 0; `last` is the move that led there.

    budget : int64[1]: how many are left to do, for all threads that share it
    tree, settings, default, knowledge, worker : `Tree`, `Settings`, `DefaultPolicy`, `heuristic.Knowledge`, `Worker`
    rules : `rollout.Rules`
    Returns DONE; NEEDS_PRIOR where the worker's leaves are full; FULL where N(s) has come to its limit.
    """
    b, path, tally = worker.b, worker.path, worker.tally
    truncates = settings.truncate != NEVER
    while atomic_add(budget, 0, -1) > 0:
        if tree.n[0] >= MOST_VISITS:
            return FULL
        copy_record(root, b)
        path.n_nodes = 0
        path.n_moves = 0
        path.first_color = b.to_play
        path.last = last
        # In the tree ...
        node = np.int64(0)
        new = np.int64(NO_CHILD)
        while node >= 0 and b.n_passes < 2 and path.n_moves < settings.max_moves:
            e = select(node, b.to_play, settings, knowledge, path, tree, worker.rng)
            _take(node, e, b.to_play, settings, path, tree)
            _move(b, np.int64(tree.move[e]), path, rules.zobrist)
            node = np.int64(tree.child[e])
            if node == NO_CHILD and b.n_passes < 2:
                new = _expand(e, b, settings, default, knowledge, rules.patterns, tree, worker)
        # ... beyond it, where in the new node the default policy moves already, and its action counts (Algorithm 2) ...
        stop = settings.max_moves
        if truncates:
            stop = min(stop, path.n_moves + settings.truncate + (1 if new >= 0 else 0))
        if default.kind == LEARNED:
            reset(b, worker.sh, knowledge.table)
        else:
            begin_rollout(b, default, worker.r)
        is_decided = False
        while b.n_passes < 2 and path.n_moves < stop:
            if default.mercy and new < 0 and is_hopeless(b, rules.komi):
                is_decided = True
                break
            if default.kind == LEARNED:
                p = choose_move(b, worker.sh, knowledge.table, knowledge.policy, worker.rng)[0]
            else:
                p = default_move(b, default, worker.r, rules, worker.rng)
            if new >= 0:
                e = find_edge(new, p, tree)
                if e >= 0:
                    _take(new, e, b.to_play, settings, path, tree)
                new = np.int64(NO_CHILD)
            _move(b, p, path, rules.zobrist)
            if default.kind == LEARNED:
                update(b, worker.sh, knowledge.table)
            elif default.kind == MOGO:
                watch_atari(b, worker.r)
        # ... and back, with the outcome, or V where the simulation was truncated.
        if truncates and not is_decided and b.n_passes < 2 and path.n_moves < settings.max_moves:
            reset_gains(b, worker.sh, knowledge.table)
            z = min(1.0, max(0.0, squash(knowledge.value, worker.sh.x[0])))
        else:
            z = outcome(b, rules.komi)
        back_up(path, z, settings, tree)
        tally.simulations += 1
        tally.wins += z
        tally.moves += path.n_moves
        if settings.heuristic == USER and tally.waiting >= len(worker.leaves):
            return NEEDS_PRIOR  # the last of the budget may be spent: then the next call does nothing
    return DONE


@inline
def _take(node, e, color, settings, path, tree):
    """Put an action on the path; where other threads are under way, keep them off it for now."""
    t = np.int64(path.n_nodes)
    path.node[t] = node
    path.edge[t] = e
    path.n_nodes = t + 1
    if settings.virtual_loss > 0:
        atomic_add(tree.mc, e, virtual_loss(color, settings))
        atomic_add(tree.n, node, settings.virtual_loss)


@inline
def _move(b, p, path, zobrist):
    play(b, p, zobrist)
    path.moves[np.uint64(path.n_moves)] = p
    path.n_moves += 1


@njit
def _expand(e, b, settings, default, knowledge, patterns, tree, worker):
    """Make the position that edge e has led to a node, if it is time; NO_CHILD if not, or where the tree is full."""
    path = worker.path
    shared = settings.virtual_loss > 0
    # This one counts once, however many visits are expected of it; those of other threads that are under way, too.
    visits = count(tree.mc[e]) - settings.prior_n - settings.virtual_loss + 1
    if settings.value == FLAT or visits < settings.expand_after:
        return NO_CHILD
    if shared and not compare_and_swap(tree.child, e, NO_CHILD, BEING_ADDED):
        return NO_CHILD
    node = add_node(b, tree, path.candidates, worker.rng, shared)
    if node != NO_CHILD and settings.heuristic == USER:
        tally = worker.tally
        copy_record(b, worker.leaves[tally.waiting])
        worker.leaf_nodes[tally.waiting] = node
        tally.waiting += 1
    elif node != NO_CHILD and settings.heuristic != NO_HEURISTIC:
        t = np.int64(path.n_nodes)
        grandfather = np.int64(path.node[t - 2]) if t > 1 else NO_CHILD
        add_prior(node, grandfather, b, settings, knowledge, default, patterns, tree, worker.sh, worker.r)
    if shared:
        atomic_add(tree.child, e, node - BEING_ADDED)  # only now do other threads see it
    else:
        tree.child[e] = node
    return node


# ---------------------------------------------------------------------------------------------
# The tree policy
# ---------------------------------------------------------------------------------------------


@njit
def select(node, color, settings, knowledge, path, tree, rng):
    """The action that maximises the value for the colour to play (SELECTMOVE); the first of equal ones.

    Actions stand in random order, so the first is any; with widening, in the order of H.
    """
    if settings.value == FLAT:
        return choose_flat(color, settings.temperature, settings.pruning, tree, rng)
    first, n_edges = np.int64(tree.first[node]), np.int64(tree.n_edges[node])
    n_s = np.float64(tree.n[node])
    log_n_s = math.log(n_s) if settings.c > 0.0 and n_s > 1.0 else 0.0
    beta_s = hand_selected_beta(n_s, settings.rave_k)  # of all actions of the node: once
    if settings.widening > 0.0:
        n_edges = min(n_edges, widened(n_s, settings.widening))
    last = np.int64(path.moves[path.n_moves - 1]) if path.n_moves > 0 else np.int64(path.last)
    best, choice = -np.inf, first
    for i in range(first, first + n_edges):
        bias = settings.rave_bias
        if settings.learn_bias:
            bias = knowledge.bias[kind_of(np.int64(tree.move[i]), last, knowledge.stride)]
        value = action_value(tree.mc[i], tree.amaf[i], log_n_s, beta_s, bias, color, settings)
        if settings.progressive_bias > 0.0:
            h = np.float64(tree.prior[i]) / 255.0
            h = h if color == BLACK else 1.0 - h
            value += settings.progressive_bias * h / (count(tree.mc[i]) + 1.0)
        if value > best:
            best, choice = value, i
    return choice


@inline
def action_value(mc, amaf, log_n_s, beta_s, bias, color, settings):
    """EVAL(s, a) for the colour to play: the value by the algorithm, and a bonus for exploration.

    Without branches that no processor can predict: what is not there counts as one visit, and is not used.
    """
    n, n_amaf = count(mc), count(amaf)
    q, q_amaf = mean_or_0(mc), mean_or_0(amaf)
    if settings.value == MC:
        value, is_unknown = q, n == 0.0
    elif settings.value == RAVE:
        value, is_unknown = (q_amaf if n_amaf > 0.0 else q), n + n_amaf == 0.0
    else:
        value = combine(q, q_amaf, beta_of(settings.schedule, beta_s, n, n_amaf, q_amaf, bias))
        is_unknown = n + n_amaf == 0.0
    value = value if color == BLACK else 1.0 - value
    if settings.c > 0.0:
        # An action that was never taken has no bound: its AMAF value gets the bonus of one visit.
        value = ucb1(value, max(n, 1.0), log_n_s, settings.c)
    return settings.first_play_urgency if is_unknown else value


@inline
def widened(n_s, factor):
    """How many actions are tried: 1, and one more whenever N(s) has grown by the factor, from 40 on.

    Progressive widening: Coulom 2007, "Computing Elo ratings of move patterns in the game of Go", with factor 1.4.
    """
    return 1 if n_s < 40.0 else 2 + np.int64(math.log(n_s / 40.0) / math.log(factor))
