"""The TD update: logistic or linear, one- or two-ply, TD(0) or TD(lambda), normalised.

Start reading at `learn_game`; docs/plain/td_learning.py is the same in plain Python. TD paper, Sections 2.3, 2.4, 3.2
and 3.3.4. Learning rules other than the papers' are in `optimisers.py`.

The standard update is normalised, two-ply, logistic TD(0), called NTD2(0) (TD paper, equation 10):

    delta theta = alpha * phi(s_t) / ||phi(s_t)||^2 * (V(s_t+2) - V(s_t))

for theta_LI and theta_LD alike. The states s_0 ... s_T-1 of an episode learn; the final state s_T does not, and the
outcome z is the target at or past it.

Two ways to apply it
--------------------
`update = "game"` (`learn_game`): the weights stay constant during a game, and all updates are applied at its end. A
shape that stays on the board from s_t0 to s_t1-1 then gets alpha * sum over t in [t0, t1) of e_t / ||phi(s_t)||^2,
which is a difference of prefix sums: ONE update for its whole life instead of one per move, about 1,300 per game
instead of 194 x 100. The errors e_t follow the backward recursion of the lambda-return, so TD(lambda) equals its
forward view exactly, at the same cost.

`update = "step"` (`learn_step`): after every move, as printed in the paper, with eligibility traces.

Two-ply traces run over states of the same parity. With lambda = 1 each state's error is z - V(s_t), which is
Monte-Carlo.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from rlgo.base.ram import on_own_cache_lines
from rlgo.base.settings import ACTIVE, EXPONENTIAL, HARMONIC, LINEAR_DECAY, NONE, NORM2, SLOTS, STEP, Learning
from rlgo.compiler.jit import inline, njit
from rlgo.features.incremental import configuration_type, x_of
from rlgo.features.other_windows import has_two_weights
from rlgo.features.shapes import GROUP, WINDOWS_OVER_POINT, Classes, FeatureSet, Table, max_windows
from rlgo.go.rules import max_plies
from rlgo.learning.change_log import ChangeLog, end_changes, log_change, n_written
from rlgo.learning.optimisers import LearningRule, Optimiser, change_of, gradient_scale, take_step
from rlgo.learning.value import squash

# ---------------------------------------------------------------------------------------------
# The formulas
# ---------------------------------------------------------------------------------------------


@inline
def td_error(v_t, v_next):
    """Compute delta V_t = V(s_t+1) - V(s_t), or V(s_t+2) - V(s_t) (TD paper, Section 2.3 and equation 10).

    There are no intermediate rewards; v_next is z at or past the end. The gradient of the logistic function is
    omitted, so the update descends the cross-entropy (Section 2.4).
    """
    return v_next - v_t


@inline
def lambda_error(delta_t, lambda_, e_next):
    """Compute e_t = delta_t + lambda * e_next, with e_next = e_t+1 or e_t+2: the error of the lambda-return.

    Unrolled: e_t = sum over k of lambda^k delta_t+k*plies = G_t(lambda) - V(s_t).
    """
    return delta_t + lambda_ * e_next


@inline
def step_size(learning, game):
    """Return alpha before game number `game` (from 0) of `learning.games`."""
    if learning.schedule == LINEAR_DECAY:
        return learning.alpha + (learning.alpha_final - learning.alpha) * min(1.0, game / learning.games)
    if learning.schedule == HARMONIC:
        return learning.alpha * learning.alpha_half / (learning.alpha_half + game)
    if learning.schedule == EXPONENTIAL:
        return learning.alpha * (learning.alpha_final / learning.alpha) ** min(1.0, game / learning.games)
    return learning.alpha


@inline
def norm_change(ld, li, n, normalise, counts):
    """Return how much ||phi||^2 grows when a shape with the classes ld and li (0: none) appears (n = 1) or goes (-1).

    ACTIVE counts the non-neutral windows, as in the paper; SLOTS counts their weights, LI and LD
    separately, as the original RLGO did. NORM2 sums the squares of the signed class counts, which it keeps in `counts`.
    """
    if normalise == ACTIVE:
        return n * np.int64((ld != 0) | (li != 0))
    if normalise == SLOTS:
        return n * (np.int64(ld != 0) + np.int64(li != 0))
    if normalise == NORM2:
        return _square_change(ld, n, counts) + _square_change(li, n, counts)
    return 0


@inline
def _square_change(c, n, counts):
    if c == 0:
        return 0
    signed = n if c > 0 else -n
    before = np.int64(counts[np.uint64(abs(c))])
    counts[np.uint64(abs(c))] = before + signed
    return 2 * before * signed + 1


@inline
def step_over_norm(alpha, norm, normalise):
    """Return alpha / ||phi(s)||^2; 0 if nothing is active (the empty board), alpha itself without normalisation."""
    if normalise == NONE:
        return alpha
    return alpha / norm if norm > 0 else 0.0


# ---------------------------------------------------------------------------------------------
# Records
# ---------------------------------------------------------------------------------------------


@cache
def episode_dtype(size: int, capacity: int = 0) -> np.dtype:
    """Return the record type of one game, as learning needs it (W windows, T <= `max_plies`).

    Fields
    ------
    n, moves[T] : the number of moves T, and the moves
    v[T + 1] : V(s_t) during play
    first[W] : configurations in s_0
    n_events, event_window, event_configuration : changes of windows, in order, with the new configuration
    event_end[T + 1] : events up to and including move t - 1, those that led to s_t
    e[T] : the errors e_t; rate[T + 1] : prefix sums, over t, of alpha * e_t / ||phi(s_t)||^2
    mass[T + 1] : prefix sums of 1 / ||phi(s_t)||^2, for optimisers
    since[W], ld[W], li[W] : scratch of `learn_game`: the first state of each window's shape, and its classes
    """
    windows = max_windows(size, capacity)
    plies = max_plies(size)
    events = 2 * WINDOWS_OVER_POINT * plies  # a move places one stone, which is captured at most once
    events += (windows - max_windows(size)) * plies  # chains may gain and lose liberties at every move
    fields = [
        ("n", np.int32),
        ("n_events", np.int32),
        ("v", np.float64, (plies + 1,)),
        ("rate", np.float64, (plies + 1,)),
        ("mass", np.float64, (plies + 1,)),
        ("e", np.float64, (plies + 1,)),
        ("event_end", np.int32, (plies + 1,)),
        ("since", np.int32, (windows,)),
        ("ld", np.int32, (windows,)),
        ("li", np.int32, (windows,)),
        ("first", configuration_type(capacity), (windows,)),
        ("moves", np.uint16, (plies,)),
        ("event_window", np.uint16, (events,)),
        ("event_configuration", configuration_type(capacity), (events,)),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


class UpdateScratch(NamedTuple):
    """Scratch of the update, one per worker; n weights, W windows.

    Arrays that the settings do not need are empty: those for NORM2, and those for STEP. Without `recent`, updates after
    every step are not even compiled.
    """

    touched: np.ndarray  # int32[n + 2]: weights changed by this update ...
    is_touched: np.ndarray  # uint8[n + 1]: ... and whether a weight is among them
    counts: np.ndarray  # int32[n + 1]: signed class counts, for NORM2
    trace: np.ndarray  # float32[2, n + 1]: eligibility traces by parity, for STEP
    traced: np.ndarray  # int32[2, n + 1]: weights with a trace ...
    is_traced: np.ndarray  # uint8[2, n + 1]: ... whether a weight is among them (a trace may cancel to 0) ...
    n_traced: np.ndarray  # int64[2]: ... and how many
    recent: np.ndarray | None  # uint32[3, W]: configurations of the last states, for STEP
    occurrences: np.ndarray  # int64[n + 1]: how often each weight's shapes occurred in the states learned from


class Memory(NamedTuple):
    """Weights that learn, and what their update needs; n weights, W windows.

    Without sharing each shape has a weight of its own, at its place in the table: theta is the table itself.
    """

    theta: np.ndarray  # float32[n + 1]
    table: Table  # theta written out by shape, the same array for both colours
    learns: np.ndarray  # uint8[W]: 1 for the windows that learn; others, only without sharing, belong to another memory
    classes: Classes | None  # None: without sharing
    scratch: UpdateScratch | None  # None: without sharing
    optimiser: Optimiser | None  # None: the papers' rule
    change_log: ChangeLog | None  # records every change for other threads; None: a single thread


def make_memory(
    features: FeatureSet, learning: Learning, theta: np.ndarray | None = None, rule: LearningRule | None = None
) -> Memory:
    """Make a memory that starts with these weights, float32[n + 1], copied; None: zeros.

    rule : the learning rule; None: the papers' rule
    """
    own = np.zeros(features.n_weights + 1, np.float32)
    if theta is not None:
        features.check(theta)
        own[:] = theta
    scratch = _make_scratch(features.n_weights + 1, len(features.windows), learning)
    optimiser = None if rule is None else rule.make(features.n_weights)
    learns = np.ones(len(features.windows), np.uint8)
    return Memory(own, features.table(own), learns, features.classes, scratch, optimiser, None)


def memory_by_shape(table: Table, learns: np.ndarray, change_log: ChangeLog | None) -> Memory:
    """Return the memory of features that share no weights (sharing "none"); the table itself learns. See `Memory`."""
    return Memory(table.black, table, learns, None, None, None, change_log)


def _make_scratch(n: int, n_windows: int, learning: Learning) -> UpdateScratch:
    n_counts, n_traces = n if learning.normalise == NORM2 else 0, n if learning.update == STEP else 0
    return UpdateScratch(
        np.zeros(n + 1, np.int32),
        np.zeros(n, np.uint8),
        np.zeros(n_counts, np.int32),
        np.zeros((2, n_traces), np.float32),
        np.zeros((2, n_traces), np.int32),
        np.zeros((2, n_traces), np.uint8),
        on_own_cache_lines(np.int64, 2),
        np.zeros((3, n_windows), np.uint32) if n_traces else None,
        np.zeros(n, np.int64),
    )


@inline
def begin_episode(episode, sh, g, v):
    """Start recording at the state that `sh` holds, with value v."""
    episode.n = 0
    episode.n_events = 0
    episode.v[0] = v
    episode.event_end[0] = 0
    for w in range(g.n_windows):
        episode.first[np.uint64(w)] = sh.configuration[np.uint64(w)]


@inline
def record_move(episode, sh, p, v):
    """Record move p and the state after it: its value v, and the windows that the move changed."""
    episode.moves[np.uint64(episode.n)] = p
    n = np.int64(episode.n_events)
    for i in range(sh.n_changed):
        w = sh.changed[np.uint64(i)]
        episode.event_window[np.uint64(n)] = w
        episode.event_configuration[np.uint64(n)] = sh.configuration[np.uint64(w)]
        n += 1
    episode.n_events = n
    t = np.int64(episode.n) + 1
    episode.n = t
    episode.v[np.uint64(t)] = v
    episode.event_end[np.uint64(t)] = n


# ---------------------------------------------------------------------------------------------
# update = "game"
# ---------------------------------------------------------------------------------------------


@njit
def learn_game(episode, z, alpha, learning, memory):
    """Apply NTD(lambda) for a whole game with outcome z, using the values in `episode.v`.

    `memory` (`Memory`) is updated in place. Returns the sum of |delta V_t|.
    """
    total = errors(episode, z, learning)
    scale = gradient_scale(alpha, memory.optimiser)
    n_touched = sweep(episode, scale, learning.normalise, memory, 0)
    take_step(n_touched, memory.scratch.touched, alpha, memory.theta, memory.optimiser)
    write_through(n_touched, memory.scratch.touched, memory)
    return total


@njit
def learn_game_by_shape(episode, z, alpha, learning, memory):
    """Do the same for a memory without weight sharing (`memory_by_shape`), as TD search needs it."""
    total = errors(episode, z, learning)
    n_logged = sweep(episode, alpha, learning.normalise, memory, n_written(memory.change_log))
    end_changes(memory.change_log, n_logged)
    memory.theta[0] = 0.0
    return total


@njit
def errors(episode, z, learning):
    """Compute the errors e_t of all states, backwards. Returns the sum of |delta V_t|."""
    n = np.int64(episode.n)
    plies = learning.plies
    total = 0.0
    e_next, e_later = 0.0, 0.0  # e_t+1, e_t+2
    for t in range(n - 1, -1, -1):
        v_next = episode.v[np.uint64(t + plies)] if t + plies < n else z
        delta = td_error(episode.v[np.uint64(t)], v_next)
        total += abs(delta)
        e_t = lambda_error(delta, learning.lambda_, e_later if plies == 2 else e_next)
        episode.e[np.uint64(t)] = e_t
        e_later, e_next = e_next, e_t
    return total


@njit
def sweep(episode, scale, normalise, memory, n):
    """Add scale * sum over t of e_t phi(s_t) / ||phi(s_t)||^2 to the weights, one life of a shape after the other.

    scale : alpha if the weights themselves change, 1 if an optimiser will change them
    n : weights touched, or changes logged, so far; the new number is returned
    """
    norm = np.int64(0)
    for w in range(memory.table.g.n_windows):  # the shapes of s_0
        configuration = np.int64(episode.first[np.uint64(w)])
        norm += _begin_life(episode, w, 0, configuration, normalise, memory, memory.classes)
    n_states = np.int64(episode.n)
    i = np.int64(0)
    rate, mass = 0.0, 0.0
    episode.rate[0] = episode.mass[0] = 0.0
    for t in range(n_states):
        step = step_over_norm(scale, norm, normalise)
        rate += step * episode.e[np.uint64(t)]
        mass += step
        episode.rate[np.uint64(t + 1)] = rate
        episode.mass[np.uint64(t + 1)] = mass
        end = np.int64(episode.event_end[np.uint64(t + 1)]) if t + 1 < n_states else i
        while i < end:  # shapes that the move from s_t to s_t+1 removes and adds
            w = np.int64(episode.event_window[np.uint64(i)])
            configuration = np.int64(episode.event_configuration[np.uint64(i)])
            change, n = _end_life(episode, w, t + 1, normalise, memory, memory.classes, n)
            norm += change
            norm += _begin_life(episode, w, t + 1, configuration, normalise, memory, memory.classes)
            i += 1
    for w in range(memory.table.g.n_windows):
        _, n = _end_life(episode, w, n_states, normalise, memory, memory.classes, n)
    return n


@inline
def _begin_life(episode, w, t, configuration, normalise, memory, classes):
    """Note the weights of the shape that appears in window w in s_t; return how much ||phi||^2 grows."""
    g = memory.table.g
    episode.since[np.uint64(w)] = t
    place = np.int64(g.ld_base[np.uint64(w)]) + configuration
    if classes is None:  # without sharing, only all-empty shapes are neutral, and all modes count windows
        c = place * np.int64((configuration != 0) & (memory.learns[np.uint64(w)] != 0))
        episode.ld[np.uint64(w)] = c
        return np.int64(c != 0)
    ld, li = np.int64(classes.classes[np.uint64(place)]), np.int64(0)
    if has_two_weights(g, w):
        li = np.int64(classes.classes[np.uint64(g.li_base[np.uint64(w)] + configuration)])
    episode.ld[np.uint64(w)] = ld
    episode.li[np.uint64(w)] = li
    return norm_change(ld, li, 1, normalise, memory.scratch.counts)


@inline
def _end_life(episode, w, t, normalise, memory, classes, n):
    """Let the weights of the shape in window w learn from its life, s_since to s_t-1.

    Returns how much ||phi||^2 grows, and the new n.
    """
    since = np.int64(episode.since[np.uint64(w)])
    gained = episode.rate[np.uint64(t)] - episode.rate[np.uint64(since)]
    ld = np.int64(episode.ld[np.uint64(w)])
    if classes is None:
        return -np.int64(ld != 0), _change_place(ld, gained, memory.theta, memory.change_log, n)
    li = np.int64(episode.li[np.uint64(w)])
    mass = episode.mass[np.uint64(t)] - episode.mass[np.uint64(since)]
    n = _change_class(ld, gained, mass, t - since, memory, memory.optimiser, n)
    if has_two_weights(memory.table.g, w):
        n = _change_class(li, gained, mass, t - since, memory, memory.optimiser, n)
    return norm_change(ld, li, -1, normalise, memory.scratch.counts), n


@inline
def _change_place(place, gained, theta, change_log, n):
    """Add a gain to the weight at a place of the table. Neutral shapes add to theta[0], which is not a weight."""
    theta[np.uint64(place)] += np.float32(gained)
    return log_change(change_log, n, place, np.float32(gained))


@inline
def _change_class(c, gained, mass, length, memory, optimiser, n):
    """Add sign * gained to the weight of class c, or to its gradient if there is an optimiser, and list the weight.

    There are no branches: neutral shapes add to theta[0], which is not a weight, and a weight already listed is written
    past the end of the list. (Counting occurrences costs 5 % of the games per second.)
    """
    i, scratch = np.uint64(abs(c)), memory.scratch
    amount = np.float32(gained if c > 0 else -gained)
    if optimiser is None:
        memory.theta[i] += amount
    else:
        optimiser.gradient[i] += amount
        optimiser.curvature[i] += np.float32(mass)
    scratch.occurrences[i] += length
    scratch.touched[np.uint64(n)] = i
    n += 1 - np.int64(scratch.is_touched[i])
    scratch.is_touched[i] = 1
    return n


@njit
def write_through(n_touched, touched, memory):
    """Write the touched weights to all their places in the table, and clear the marks."""
    start, members = memory.classes.start, memory.classes.members
    theta, table, is_touched = memory.theta, memory.table.black, memory.scratch.is_touched
    theta[0] = 0.0
    for k in range(n_touched):
        i = np.uint64(touched[np.uint64(k)])
        is_touched[i] = 0
        value = theta[i]
        for group in range(start[i], start[i + np.uint64(1)], GROUP):
            for m in range(GROUP):
                place = np.int64(members[np.uint64(group + m)])
                table[np.uint64(place if place >= 0 else ~place)] = value if place >= 0 else -value


# ---------------------------------------------------------------------------------------------
# update = "step"
# ---------------------------------------------------------------------------------------------


@njit
def begin_steps(sh, scratch):
    """Forget all traces and recent states; `sh` holds s_0."""
    for parity in range(2):
        for k in range(scratch.n_traced[parity]):
            i = scratch.traced[parity, k]
            scratch.trace[parity, i] = 0.0
            scratch.is_traced[parity, i] = 0
        scratch.n_traced[parity] = 0
    for w in range(scratch.recent.shape[1]):
        scratch.recent[0, w] = sh.configuration[w]


@njit
def learn_step(t, v_next, alpha, learning, memory):
    """Update V(s_t) towards v_next: V(s_t+1) or V(s_t+2) with the current weights, or z.

    e <- lambda e + phi(s_t) / ||phi(s_t)||^2; theta <- theta + alpha delta V_t e (TD paper, Section 3.3.4). For
    two-ply updates, e is the trace of the states of the same parity. s_t is in `scratch.recent[t % 3]`.
    Returns |delta V_t|.
    """
    g, theta, scratch = memory.table.g, memory.theta, memory.scratch
    parity = t % 2 if learning.plies == 2 else 0
    configuration = scratch.recent[t % 3]
    trace, traced, is_traced = scratch.trace[parity], scratch.traced[parity], scratch.is_traced[parity]
    n = scratch.n_traced[parity]

    delta = td_error(squash(learning.value, x_of(configuration, memory.table)), v_next)

    kept = 0  # e <- lambda e
    for k in range(n):
        i = traced[k]
        trace[i] *= np.float32(learning.lambda_)
        if trace[i] != 0.0:
            traced[kept] = i
            kept += 1
        else:
            is_traced[i] = 0
    n = kept
    step = step_over_norm(1.0, _norm(configuration, learning.normalise, memory), learning.normalise)
    for w in range(g.n_windows):  # e <- e + phi(s_t) / ||phi(s_t)||^2
        for base in (g.ld_base[w], g.li_base[w]):
            c = np.int64(memory.classes.classes[base + np.int64(configuration[w])])
            if c != 0 and step > 0.0:
                i = abs(c)
                scratch.occurrences[i] += 1
                if is_traced[i] == 0:
                    is_traced[i] = 1
                    traced[n] = i
                    n += 1
                trace[i] += np.float32(step if c > 0 else -step)
    scratch.n_traced[parity] = n

    for k in range(n):  # theta <- theta + alpha delta V_t e
        i = traced[k]
        theta[i] += _step_along(i, alpha, delta, trace[i], memory.optimiser)
    write_through(n, traced, memory)
    return abs(delta)


@inline
def _step_along(i, alpha, delta, trace, optimiser):
    """Return the change of weight i with this trace."""
    if optimiser is None:
        return np.float32(alpha * delta) * trace
    return change_of(i, delta * trace, abs(trace), optimiser, alpha)


@njit
def _norm(configuration, normalise, memory):
    """Compute ||phi||^2 of one state, from its configurations."""
    g, classes = memory.table.g, memory.classes.classes
    norm = np.int64(0)
    for n in (1, -1):  # a second pass leaves the counts at 0
        for w in range(g.n_windows):
            ld = np.int64(classes[g.ld_base[w] + np.int64(configuration[w])])
            li = np.int64(classes[g.li_base[w] + np.int64(configuration[w])])
            change = norm_change(ld, li, n, normalise, memory.scratch.counts)
            norm += change if n == 1 else 0
    return norm
