"""Monte-Carlo tree search: descend, roll out, back up. MC-RAVE paper, Algorithm 2.

Start reading at `simulate`. Its three steps are `descend` and `roll_out` below and `back_up` in `rave.py`; the tree
policy is `select`. Formulas are in `uct.py`, `puct.py`, `rave.py` and `flat.py`, prior knowledge is in `heuristic.py`,
what waits for an evaluator in `waiting.py`, and the tree in `tree.py`. Values in the tree are P(Black wins); the tree
policy flips them in `select`, or in `flat._value`.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from mcts.flat import choose_flat
from mcts.heuristic import Knowledge, give_prior
from mcts.network_prior import NetworkWorkspace, new_network_workspace, sum_of_weights, tempo_of
from mcts.patterns import PatternScratch, new_pattern_scratch
from mcts.puct import mixture, puct_bonus, reduced_value
from mcts.rave import action_value, back_up, hand_selected_beta, minimum_mse_value, virtual_loss
from mcts.settings import NO_TRUNCATION, ActionValue, Heuristic, RaveSchedule, Settings, Use
from mcts.tree import (
    BEING_ADDED,
    MOST_VISITS,
    NO_CHILD,
    PRIOR_UNITS,
    add_node,
    count,
    find_edge,
    mean_or_0,
    outcomes,
    statistic,
    visits_to_expand,
)
from mcts.uct import ucb1
from mcts.waiting import COLLIDED, Waiting, must_wait, wait_for_answer
from rlgo.base.ram import on_own_cache_lines
from rlgo.base.settings import LOGISTIC
from rlgo.compiler.jit import atomic_add, compare_and_swap, copy_record, inline, inline_once, make_rng, njit
from rlgo.features.incremental import reset, shapes_dtype, update
from rlgo.go.board import BLACK, PASS, board_dtype, outcome, play
from rlgo.go.rules import Rules, max_plies, padded_points
from rlgo.learning.policy import choose_move
from rlgo.learning.value import squash
from rlgo.moves.rollout import LEARNED, DefaultPolicy, begin_rollout, is_hopeless, rollout_dtype, step_rollout
from rlgo.network.inference import Layers

DONE, NEEDS_ANSWERS, FULL = 0, 1, 2  # why `simulate` returned


# ---------------------------------------------------------------------------------------------
# State of simulations
# ---------------------------------------------------------------------------------------------


class SearchContext(NamedTuple):
    """Everything that stays the same during a search.

    prior : the address of `heuristic.prior_apart`
    """

    settings: Settings
    default_policy: DefaultPolicy
    knowledge: Knowledge
    rules: Rules
    prior: int


@cache
def path_dtype(size: int) -> np.dtype:
    """Return the record type of one simulation, for boards with P padded points and games of up to T plies.

    Fields
    ------
    n_nodes, node[T], edge[T] : the states s_0 ... of the simulation in the tree, and the action taken in each
    n_moves, moves[T], first_color : all moves of the simulation, in the tree and beyond, and the colour of the first
    last : the move before the first
    values[P] : scratch of `select`
    gains[P] : scratch of `heuristic.list_gains`
    leaf, leaf_node : the moves before the position where the tree ends, and its node, NO_CHILD or COLLIDED
    row : the row of that position in the batch of an evaluator
    z, w : the outcome, and the share of V in what is backed up
    correction : of V, by a network; see `network_prior.py`
    amaf[2, P] : scratch of `rave.back_up`
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
        ("values", np.float64, (points,)),
        ("gains", np.float64, (points,)),
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


class Workspace(NamedTuple):
    """The private memory of one thread: scratch, its random state and its tally.

    Attributes
    ----------
    b, path, shapes, rollout : scratch: records of `board_dtype`, `path_dtype`, `shapes_dtype` and `rollout_dtype`
    rng : random state, uint64[1]
    waiting : `Waiting`: simulations that wait for an evaluator
    tally : record of `tally_dtype`: totals over the simulations. `wins` is the sum of outcomes z.
    patterns : scratch of learned patterns, or None
    network : that of a network, or None
    """

    b: np.record
    path: np.record
    shapes: np.record
    rollout: np.record
    rng: np.ndarray
    waiting: Waiting
    tally: np.record
    patterns: PatternScratch | None
    network: NetworkWorkspace | None


def new_workspace(
    size: int,
    slots: int,
    counts: np.ndarray,
    seed: np.random.SeedSequence,
    room: int = 0,
    knows_patterns: bool = False,
    network: Layers | None = None,
) -> Workspace:
    """Return a workspace for one board size.

    slots : how many simulations may wait for an evaluator
    counts : `Waiting.counts`
    room : of the feature set of the prior knowledge
    knows_patterns : whether the prior knowledge has learned patterns
    network : that of the prior knowledge
    """
    return Workspace(
        on_own_cache_lines(board_dtype(size))[0],
        on_own_cache_lines(path_dtype(size))[0],
        on_own_cache_lines(shapes_dtype(size, room))[0],
        on_own_cache_lines(rollout_dtype(size))[0],
        make_rng(seed),
        Waiting(np.zeros(slots, path_dtype(size)), on_own_cache_lines(np.int64), counts),
        on_own_cache_lines(tally_dtype())[0],
        new_pattern_scratch(size) if knows_patterns else None,
        None if network is None else new_network_workspace(size, network),
    )


# ---------------------------------------------------------------------------------------------
# The simulation. Comments name the procedures of Algorithm 2.
# ---------------------------------------------------------------------------------------------


@njit
def simulate(budget, root, last_moves, tree, context, workspace):
    """Run simulations from the position `root` until the budget is spent (Algorithm 2).

    A new root gets its prior first, even if no simulation is left. With `Settings.leaf_value`, the simulation backs up
    `puct.mixture` of its outcome and V(s_T), with the share w of `leaf_share`. An evaluator gives V later; see
    `waiting.py`.

    budget : int64[1], simulations left for all threads that share it
    root : board record of node 0 of the tree
    last_moves : the move that led to the root and the one before it, or PASS
    tree, context, workspace : `Tree`, `SearchContext`, `Workspace`
    Returns DONE; NEEDS_ANSWERS if a batch for the evaluator is full, or no other simulation may wait for it; or FULL if
    N(s) of the root has reached its limit.
    """
    path, settings, waiting = workspace.path, context.settings, workspace.waiting
    give_prior_to_root(root, last_moves, tree, context, workspace)
    while not must_wait(settings, waiting):
        if atomic_add(budget, 0, -1) <= 0:
            return DONE
        if tree.node_visits[0] >= MOST_VISITS:
            return FULL
        begin_simulation(root, last_moves[0], workspace)  # board.SetPosition(s_0)
        new_node = descend(tree, context, workspace)  # [s_0, a_0, ..., s_T] = SIMTREE(board); a_T is chosen below
        ask_at_once(new_node, tree, context, workspace)
        is_late = note_leaf(new_node, context, workspace)
        if new_node == COLLIDED:
            atomic_add(budget, 0, 1)
        elif is_late and not settings.playouts:  # all that it backs up is still to come
            count_simulation(0.0, workspace)
        else:
            w = 0.0 if is_late else path.w
            v = value_of_leaf(context, workspace) if w > 0.0 else 0.0
            z = v  # a_T, then [a_T+1, ..., a_D], z = SIMDEFAULT(board, T)
            if settings.playouts or w == 0.0:
                z = roll_out(new_node, tree, context, workspace)
            back_up(path, statistic(1, mixture(z, v, w)), settings, tree)  # BACKUP([s_0, ...], [a_0, ..., a_D], z)
            count_simulation(z, workspace)
        if asks(new_node, is_late, settings) and wait_for_answer(path, waiting):
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
def note_leaf(new_node, context, workspace):
    """Note where the tree ends, and the share of V there; return whether V is an evaluator's, which comes later."""
    path, settings = workspace.path, context.settings
    path.leaf = path.n_moves
    path.leaf_node = new_node
    path.w = leaf_share(workspace.b, settings)
    return settings.evaluator & Use.VALUE != 0 and path.w > 0.0


@inline
def asks(new_node, is_late, settings):
    """Return whether an evaluator has to answer before the simulation is complete."""
    if settings.evaluator == Use.NOTHING:
        return False
    return new_node != NO_CHILD or (is_late and not settings.playouts)


@inline_once
def count_simulation(z, workspace):
    """Add a simulation with outcome z to the totals."""
    path, tally = workspace.path, workspace.tally
    path.z = z
    tally.simulations += 1
    tally.wins += z
    tally.moves += path.n_moves
    tally.deepest = max(tally.deepest, path.n_nodes)


@inline_once
def descend(tree, context, workspace):
    """Follow the tree policy from the root to a new node, to the end of the game, or until the tree cannot grow.

    Returns the new node, with no action chosen in it yet; NO_CHILD if none was added; or COLLIDED at a node whose value
    is still to come.
    """
    b, path, settings = workspace.b, workspace.path, context.settings
    node, new_node = np.int64(0), np.int64(NO_CHILD)
    while node >= 0 and b.n_passes < 2 and path.n_moves < settings.max_moves:
        if tree.prior_kind[node] != settings.heuristic:
            if settings.heuristic != Heuristic.EVALUATOR:
                improve_prior(node, tree, context, workspace)
            elif has_to_wait(node, settings, tree):
                return np.int64(COLLIDED)
        note_correction(node, tree, path)
        edge = select(node, b.to_play, tree, context, workspace)  # a_t = SELECTMOVE(board, s_t)
        take_action(node, edge, np.int64(b.to_play), settings, path, tree)
        p = np.int64(tree.move[edge])
        play(b, p, context.rules.zobrist)
        record_move(p, path)
        node = np.int64(tree.child[edge])
        if node == NO_CHILD and b.n_passes < 2:
            new_node = expand(edge, tree, context, workspace)  # NEWNODE(s_t)
    return new_node


@inline
def has_to_wait(node, settings, tree):
    """Return whether a simulation may not go on below a node: its value, which is all that counts, is still to come."""
    return tree.prior_kind[node] == Heuristic.WAITING and not settings.playouts and settings.evaluator == Use.BOTH


@inline_once
def roll_out(new_node, tree, context, workspace):
    """Play on by the default policy; returns the outcome z, or V if the simulation is truncated.

    new_node : node of the position on the board, or NO_CHILD. The default policy already chooses its action a_T, which
        becomes part of the path as in Algorithm 2.
    """
    b, path, settings, default_policy = workspace.b, workspace.path, context.settings, context.default_policy
    komi = context.rules.komi
    stop = settings.max_moves
    if settings.truncate != NO_TRUNCATION:
        stop = min(stop, path.n_moves + settings.truncate + (1 if new_node >= 0 else 0))
    begin_default_policy(context, workspace)
    while b.n_passes < 2 and path.n_moves < stop:
        if default_policy.mercy and new_node < 0 and is_hopeless(b, komi):
            return outcome(b, komi)
        color = np.int64(b.to_play)
        p = step_default_policy(context, workspace)  # a_t = DEFAULTPOLICY(board); board.Play(a_t)
        record_move(p, path)
        if new_node >= 0:
            edge = find_edge(new_node, p, tree)
            if edge >= 0:
                take_action(new_node, edge, color, settings, path, tree)
            new_node = np.int64(NO_CHILD)
    if b.n_passes < 2 and path.n_moves < settings.max_moves:
        return learned_value(0.0, context, workspace)
    return outcome(b, komi)


@inline
def take_action(node, edge, color, settings, path, tree):
    """Append a state and its action to the path, with a virtual loss to steer other threads elsewhere."""
    t = np.int64(path.n_nodes)
    path.node[t] = node
    path.edge[t] = edge
    path.n_nodes = t + 1
    if settings.virtual_loss > 0:
        atomic_add(tree.mc_statistic, edge, virtual_loss(color, settings))
        atomic_add(tree.node_visits, node, settings.virtual_loss)


@inline
def record_move(p, path):
    """Append a move to the path's list of all moves."""
    path.moves[np.uint64(path.n_moves)] = p
    path.n_moves += 1


@inline_once
def expand(edge, tree, context, workspace):
    """Add a node for the position on the board, reached by `edge`, if the edge has enough visits.

    Returns the node, or NO_CHILD if the action has too few visits for the room left, another thread is adding the node,
    or the tree is full.
    The C of a prior does not count as visits.
    """
    b, path, settings = workspace.b, workspace.path, context.settings
    shared = settings.virtual_loss > 0
    parent = np.int64(path.node[path.n_nodes - 1])
    kind = tree.prior_kind[parent]
    c = 0 if kind == Heuristic.WAITING or kind == Heuristic.NONE else settings.prior_n
    # This visit counts once regardless of its virtual loss; those of other threads count as much as theirs.
    visits = count(tree.mc_statistic[edge]) - c - settings.virtual_loss + 1
    if settings.action_value == ActionValue.FLAT or visits < visits_to_expand(settings.expand_after, tree):
        return NO_CHILD
    if shared and not compare_and_swap(tree.child, edge, NO_CHILD, BEING_ADDED):
        return NO_CHILD
    node = add_node(b, tree, path.candidates, workspace.rng, shared, settings.heuristic)
    if node != NO_CHILD and settings.heuristic == Heuristic.EVALUATOR:
        tree.prior_kind[node] = np.uint8(Heuristic.WAITING)
    elif node != NO_CHILD and settings.heuristic == Heuristic.GRANDFATHER:
        improve_prior(node, tree, context, workspace)  # now, because the grandparent's values will change
    if shared:
        atomic_add(tree.child, edge, node - BEING_ADDED)  # only now is the node visible to other threads
    else:
        tree.child[edge] = node
    return node


@inline_once
def give_prior_to_root(root, last_moves, tree, context, workspace):
    """Give a root its whole prior at once, unless it already has one or an evaluator gives it."""
    kind = np.int64(context.settings.heuristic)
    if kind != Heuristic.EVALUATOR and tree.prior_kind[0] != kind:
        before = np.int64(NO_CHILD), np.int64(last_moves[0]), np.int64(last_moves[1])
        give_prior(0, kind, before, root, tree, context, workspace)


@inline_once
def improve_prior(node, tree, context, workspace):
    """Give the node of the position on the board the prior that its visits call for; the root already has its own.

    The simulation that adds a node does not choose an action in it, so the prior is left to the next visit; a quarter
    to a half of all nodes never get one. Since counts and sums are added to, nothing else changes.
    """
    path, settings = workspace.path, context.settings
    kind = np.int64(settings.heuristic)
    visits = np.int64(tree.node_visits[node]) + 1  # this one included
    if tree.prior_kind[node] != Heuristic.NONE:
        visits -= tree.n_edges[node] * settings.prior_n
    if visits < settings.network_after and (kind == Heuristic.NETWORK or kind == Heuristic.RLGO_NETWORK):
        kind = np.int64(settings.earlier_heuristic)
    if visits < settings.patterns_after:
        kind = without_patterns(kind)
    t = np.int64(path.n_nodes)
    grandparent = np.int64(path.node[t - 2]) if t > 1 else NO_CHILD
    last = np.int64(path.moves[path.n_moves - 1]) if path.n_moves > 0 else np.int64(path.last)
    last_but_one = np.int64(path.moves[path.n_moves - 2]) if path.n_moves > 1 else np.int64(path.last)
    give_prior(node, kind, (grandparent, last, last_but_one), workspace.b, tree, context, workspace)


@njit
def ask_at_once(new_node, tree, context, workspace):
    """Ask a network about a node that has just been added, if it is asked about all; compiles to nothing without."""
    if workspace.network is None:
        return
    if new_node >= 0 and context.settings.network_after == 1:
        improve_prior(new_node, tree, context, workspace)
        note_correction(new_node, tree, workspace.path)


@inline
def note_correction(node, tree, path):
    """Note how far V is off in a node, if a network has been asked about it."""
    if tree.prior_kind[node] >= Heuristic.NETWORK:
        path.correction = tree.correction[node]


@inline
def without_patterns(kind):
    """Return the faster heuristic used in place of one with learned patterns."""
    if kind == Heuristic.PATTERNS:
        return np.int64(Heuristic.HANDCRAFTED)
    return np.int64(Heuristic.BOTH) if kind == Heuristic.RLGO_PATTERNS else kind


@njit
def ask_about_root(root, tree, settings, workspace):
    """Have the evaluator asked about the root, like about a new node."""
    begin_simulation(root, PASS, workspace)
    path = workspace.path
    path.leaf, path.leaf_node, path.w, path.z = 0, 0, 0.0, 0.0
    if settings.heuristic == Heuristic.EVALUATOR and tree.prior_kind[0] != Heuristic.EVALUATOR:
        tree.prior_kind[0] = np.uint8(Heuristic.WAITING)
    wait_for_answer(path, workspace.waiting)


# ---------------------------------------------------------------------------------------------
# The default policy
# ---------------------------------------------------------------------------------------------


@inline_once
def begin_default_policy(context, workspace):
    """Prepare the scratch of the default policy for the position on the board."""
    if context.default_policy.kind == LEARNED:
        begin_learned(context.knowledge.policy, workspace.b, workspace.shapes, context.knowledge.table)
    else:
        begin_rollout(workspace.b, context.default_policy, workspace.rollout)


@inline_once
def step_default_policy(context, workspace):
    """Choose a move by the default policy, play it, and return it."""
    b, shapes, knowledge, rules = workspace.b, workspace.shapes, context.knowledge, context.rules
    if context.default_policy.kind == LEARNED:
        return step_learned(knowledge.policy, b, shapes, knowledge.table, rules.zobrist, workspace.rng)
    return step_rollout(b, context.default_policy, workspace.rollout, rules, workspace.rng)


@njit
def begin_learned(policy, b, shapes, table):
    """Prepare `shapes` for moves by the value function; compiles to nothing if `policy` is None."""
    if policy is not None:
        reset(b, shapes, table)


@njit
def step_learned(policy, b, shapes, table, zobrist, rng):
    """Choose a move by the value function, play it, and return it; PASS, unplayed, if `policy`, a `Policy`, is None."""
    if policy is None:
        return PASS
    p = choose_move(b, shapes, table, policy, LOGISTIC, rng)[0]
    play(b, p, zobrist)
    update(b, shapes, table)
    return p


@inline
def leaf_share(b, settings):
    """Return w, the share of V(s_T) in the backed-up value: 0 if the game is over, 1 without playouts.

    It is smaller on a fuller board, w = `leaf_value` * (1 - `leaf_fade` * stones / points): the shorter a simulation,
    the more informative its outcome.
    """
    if b.n_passes >= 2:
        return 0.0
    if not settings.playouts:
        return 1.0
    points = b.board_size * b.board_size
    return settings.leaf_value * (1.0 - settings.leaf_fade * (points - b.n_empty) / points)


@inline_once
def value_of_leaf(context, workspace):
    """Return V(s_T) = sigma(phi . theta + tempo + correction), see `network_prior.py`."""
    return learned_value(tempo_of(workspace.b, context) + workspace.path.correction, context, workspace)


@inline_once
def learned_value(bonus, context, workspace):
    """Return V of the position on the board, from phi . theta + a bonus, clipped to [0, 1] for a linear V."""
    knowledge = context.knowledge
    x = sum_of_weights(workspace.b, workspace.shapes, knowledge)
    return min(1.0, max(0.0, squash(knowledge.value, x + bonus)))


# ---------------------------------------------------------------------------------------------
# The tree policy
# ---------------------------------------------------------------------------------------------


@inline_once
def select(node, color, tree, context, workspace):
    """Return the edge with the highest value for the colour to play, the first of equal ones (SELECTMOVE).

    Edges are in random order, so the first is a random one.
    """
    settings, values = context.settings, workspace.path.values
    if settings.action_value == ActionValue.FLAT:
        return choose_flat(color, settings.temperature, settings.pruning, tree, workspace.rng)
    evaluate_actions(node, tree, settings, values)
    if settings.c_puct > 0.0:
        return select_by_policy(node, color, tree, settings, values)
    first = np.int64(tree.first_edge[node])
    n_s = np.float64(tree.node_visits[node])
    log_n_s = math.log(n_s) if settings.c > 0.0 and n_s > 1.0 else 0.0
    best, choice = -np.inf, np.int64(0)
    for k in range(np.int64(tree.n_edges[node])):
        value = values[np.uint64(k)]
        value = value if color == BLACK else 1.0 - value
        if settings.c > 0.0:
            # An action never taken has no bound; its AMAF value gets the bonus of one visit.
            n = max(count(tree.mc_statistic[np.uint64(first + k)]), 1.0)
            value = ucb1(value, n, log_n_s, settings.c)  # (7 and 18)
        value = settings.first_play_urgency if math.isnan(value) else value
        if value > best:
            best, choice = value, k
    return first + choice


@njit
def select_by_policy(node, color, tree, settings, values):
    """Return the edge with the highest value plus bonus of PUCT for the colour to play.

    values : those of `evaluate_actions`
    """
    first, n_edges = np.int64(tree.first_edge[node]), np.int64(tree.n_edges[node])
    n_s = np.float64(tree.node_visits[node]) + 1.0  # with the visit that added the node
    kind = tree.prior_kind[node]
    is_known = kind != Heuristic.NONE and kind != Heuristic.WAITING
    even = -1.0 if is_known else 1.0 / n_edges
    urgency = first_play_urgency(first, n_edges, color, even, tree, settings)
    best, choice = -np.inf, np.int64(0)
    for k in range(n_edges):
        value = values[np.uint64(k)]
        value = value if color == BLACK else 1.0 - value
        value = urgency if math.isnan(value) else value
        edge = np.uint64(first + k)
        value += puct_bonus(settings, policy_of(edge, even, tree), n_s, count(tree.mc_statistic[edge]))
        if value > best:
            best, choice = value, np.int64(k)
    return first + choice


@inline
def policy_of(edge, even, tree):
    """Return P of an action: that of its node's policy, or `even` if that is not known, and `even` not negative."""
    return tree.prior_q[edge] * (1.0 / PRIOR_UNITS) if even < 0.0 else even


@inline
def first_play_urgency(first, n_edges, color, even, tree, settings):
    """Return the value, to the colour to play, of an action without statistics; for `even` see `policy_of`."""
    if settings.fpu_reduction == 0.0:
        return settings.first_play_urgency
    visits, wins, seen = 0.0, 0.0, 0.0
    for k in range(n_edges):
        edge = np.uint64(first + k)
        n = count(tree.mc_statistic[edge])
        if n > 0.0:
            visits += n
            wins += outcomes(tree.mc_statistic[edge])
            seen += policy_of(edge, even, tree)
    if visits == 0.0:
        return settings.first_play_urgency
    mean = wins / visits
    return reduced_value(mean if color == BLACK else 1.0 - mean, seen, settings.fpu_reduction)


@inline_once
def evaluate_actions(node, tree, settings, values):
    """Write to `values` the value of each action of a node for Black, NaN if unknown."""
    first, n_edges = np.uint64(tree.first_edge[node]), np.int64(tree.n_edges[node])
    if settings.action_value == ActionValue.MC_RAVE and settings.schedule == RaveSchedule.MINIMUM_MSE:
        for k in range(n_edges):  # the usual case has its own loop, so that it is vectorised
            mc, amaf = tree.mc_statistic[first + np.uint64(k)], tree.amaf_statistic[first + np.uint64(k)]
            values[np.uint64(k)] = minimum_mse_value(
                count(mc), outcomes(mc), count(amaf), outcomes(amaf), settings.rave_bias
            )
        return
    beta_s = hand_selected_beta(np.float64(tree.node_visits[node]), settings.rave_k)  # the same for all actions
    for k in range(n_edges):
        mc, amaf = tree.mc_statistic[first + np.uint64(k)], tree.amaf_statistic[first + np.uint64(k)]
        value, _ = action_value(settings, beta_s, count(mc), mean_or_0(mc), count(amaf), mean_or_0(amaf))
        values[np.uint64(k)] = value
