"""Default policies, which play simulations to the end.

Start reading at `playout`, then `mogo_move`. MoGo's policy is from Gelly, Wang, Munos & Teytaud 2006, "Modification of
UCT with patterns in Monte-Carlo Go". It answers the opponent's last stone by the first of these rules that applies:
save own stones just put into atari; play a pattern on one of the eight points around that stone; capture anything; play
a uniformly random move.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, NamedTuple

import numpy as np

from rlgo.base.checks import Choice, Key, Needs
from rlgo.base.ram import on_own_cache_lines
from rlgo.compiler.jit import copy_record, inline, njit, random_below
from rlgo.go.board import (
    BORDER,
    EMPTY,
    PASS,
    is_legal,
    last_liberty,
    liberties_after,
    outcome,
    play,
    random_move,
)
from rlgo.go.rules import padded_points

UNIFORM, MOGO = 0, 1
DEFAULT_POLICIES = {"uniform": UNIFORM, "mogo": MOGO}

# MoGo's rules are also in use where a tree search has them as its heuristic.
_MOGO = Needs("default_policy = mogo", lambda keys: "mogo" in (keys.default_policy, getattr(keys, "heuristic", "")))


class DefaultPolicy(NamedTuple):
    """The default policy, which plays simulations to the end beyond what a search has learned.

    The rules of MoGo's policy can be switched off one by one.

    >>> import rlgo
    >>> policy = rlgo.DefaultPolicy("mogo", pattern=False)  # MoGo's without its 3x3 patterns
    >>> policy.capture, policy.pattern
    (True, False)
    """

    kind: Annotated[
        int,
        Choice(DEFAULT_POLICIES),
        Key(
            "The default policy, which plays simulations to the end: MoGo's or uniformly random moves.",
            name="default_policy",
            aliases="default",
        ),
    ] = MOGO
    save: Annotated[
        bool, Key("MoGo's rule: save stones just put into atari, by capture or to two liberties.", needs=_MOGO)
    ] = True
    pattern: Annotated[bool, Key("MoGo's rule: 3x3 patterns around the last move.", needs=_MOGO)] = True
    capture: Annotated[bool, Key("MoGo's rule: capture anything in atari.", needs=_MOGO)] = True
    self_atari: Annotated[bool, Key("MoGo's rule: no pattern move into self-atari.", needs=_MOGO)] = True
    mercy: Annotated[bool, Key("End simulations that are hopeless for one side.")] = True  # see `is_hopeless`


@cache
def rollout_dtype(size: int) -> np.dtype:
    """Return the record type of the default policies' scratch for one board (P padded points).

    Fields
    ------
    n_atari, atari[P] : one stone of each chain in atari when last checked; some may be gone
    is_listed[P] : the stones in `atari`
    moves[P] : candidates
    """
    points = padded_points(size)
    fields = [
        ("n_atari", np.int32),
        ("atari", np.uint16, (points,)),
        ("moves", np.uint16, (points,)),
        ("is_listed", np.uint8, (points,)),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


def new_rollout(size: int) -> np.record:
    """Make one record of `rollout_dtype(size)`."""
    return on_own_cache_lines(rollout_dtype(size))[0]


# ---------------------------------------------------------------------------------------------
# The playout protocol: `begin_rollout` once, then `step_rollout` until `is_decided`.
# ---------------------------------------------------------------------------------------------


@njit
def playout(b, policy, r, rules, max_moves, rng):
    """Play by the default policy on `b` until two passes, mercy, or `max_moves` further moves.

    policy : `DefaultPolicy`; r : `rollout_dtype` record; rules : `Rules`
    Returns z (see `board.outcome`) of the position reached.
    """
    begin_rollout(b, policy, r)
    for _ in range(max_moves):
        if is_decided(b, policy, rules):
            break
        step_rollout(b, policy, r, rules, rng)
    return outcome(b, rules.komi)


@inline
def begin_rollout(b, policy, r):
    """Prepare `r` for the default policy's moves from the position on `b`."""
    if policy.kind == MOGO:
        list_ataris(b, r)


@inline
def step_rollout(b, policy, r, rules, rng):
    """Choose a move by the default policy, play it on `b`, and return it."""
    p = default_move(b, policy, r, rules, rng)
    play(b, p, rules.zobrist)
    if policy.kind == MOGO:
        watch_atari(b, r)
    return p


@inline
def is_decided(b, policy, rules):
    """Return whether a simulation ends here: after two passes, or by mercy."""
    return b.n_passes >= 2 or (policy.mercy and is_hopeless(b, rules.komi))


@inline
def default_move(b, policy, r, rules, rng):
    """Choose a move by the default policy; PASS if there is no sensible one."""
    if policy.kind == MOGO:
        p = mogo_move(b, policy, r, rules, rng)
        if p != PASS:
            return p
    return random_move(b, rng)


@inline
def is_hopeless(b, komi):
    """Apply the mercy rule: stones fill over half the board, and one side has under half the other's and loses.

    With an ordinary komi such a side always loses; with a large one it may not.
    """
    black, white = np.int64(b.n_stones[1]), np.int64(b.n_stones[2])
    if 2 * (black + white) <= b.board_size * b.board_size or not (2 * black < white or 2 * white < black):
        return False
    return outcome(b, komi) == (1.0 if black > white else 0.0)


# ---------------------------------------------------------------------------------------------
# MoGo
# ---------------------------------------------------------------------------------------------


@inline
def mogo_move(b, policy, r, rules, rng):
    """Choose uniformly among the moves that the first successful rule of MoGo's finds; PASS if none does.

    `r` must be up to date with the board (`begin_rollout`, `step_rollout`).
    """
    n = mogo_candidates(b, policy, r, rules.patterns)
    return np.int64(r.moves[np.uint64(random_below(rng, n))]) if n > 0 else PASS


@inline
def mogo_candidates(b, policy, r, patterns):
    """List in `r.moves` the moves that the first successful rule finds, and return their number."""
    n = 0
    if b.n_changed > 0:
        last = np.int64(b.changed[0])
        if policy.save:
            n = _saving_moves(b, r, last)
        if n == 0 and policy.pattern:
            n = _pattern_moves(b, policy, r, patterns, last)
    if n == 0 and policy.capture and r.n_atari > 0:
        n = _capturing_moves(b, r)
    return n


@inline
def _saving_moves(b, r, last):
    """List moves that save own chains put into atari by the stone at `last`: extensions and captures."""
    n = 0
    stride = b.stride
    for q in (last - stride, last - 1, last + 1, last + stride):
        if b.color[np.uint64(q)] == b.to_play:
            p = last_liberty(b, np.int64(b.chain[np.uint64(q)]))
            if p != 0:
                n = _saves(b, r, p, np.int64(b.chain[np.uint64(q)]), n)
    return n


@njit
def _saves(b, r, p, chain, n):
    """Add the moves that save this chain, whose last liberty is p, to the n candidates."""
    color = np.int64(b.to_play)
    if p != b.ko and not _is_candidate(r, p, n) and liberties_after(b, p, color) >= 2:
        r.moves[np.uint64(n)] = p
        n += 1
    stride = b.stride
    stone = chain
    while True:
        for q in (stone - stride, stone - 1, stone + 1, stone + stride):
            if b.color[np.uint64(q)] == 3 - color:
                taken = last_liberty(b, np.int64(b.chain[np.uint64(q)]))
                # The same capture may be found from several stones; list it once.
                if taken != 0 and taken != b.ko and not _is_candidate(r, taken, n):
                    r.moves[np.uint64(n)] = taken
                    n += 1
        stone = np.int64(b.next[np.uint64(stone)])
        if stone == chain:
            break
    return n


@inline
def _is_candidate(r, p, n):
    for i in range(n):  # noqa: SIM110  # numba does not support `any` over a generator
        if r.moves[np.uint64(i)] == p:
            return True
    return False


@inline
def _pattern_moves(b, policy, r, patterns, last):
    """List the points around `last` where a pattern matches."""
    n = 0
    color = np.int64(b.to_play)
    stride = np.int64(b.stride)
    # Read five rows of five colours, two bits each, once for all eight points. Points two steps beyond the border may
    # read unrelated data, but no point on the board uses it.
    top = b.color.shape[0] - 1
    far = max(last - 2 * stride - 2, 0)
    row_0 = _row(b, far if far + 4 < top else 0)
    row_1 = _row(b, max(last - stride - 2, 0))
    row_2 = _row(b, last - 2)
    row_3 = _row(b, min(last + stride - 2, top - 4))
    row_4 = _row(b, min(last + 2 * stride - 2, top - 4))
    for dx in range(3):
        s = np.uint64(2 * dx)
        for dy in range(3):
            if dy == 1 and dx == 1:
                continue
            p = last + (dy - 1) * stride + dx - 1
            if b.color[np.uint64(p)] == EMPTY:
                below = row_0 if dy == 0 else (row_1 if dy == 1 else row_2)
                level = row_1 if dy == 0 else (row_2 if dy == 1 else row_3)
                above = row_2 if dy == 0 else (row_3 if dy == 1 else row_4)
                sides = level >> s
                code = (below >> s & np.uint64(63)) | (sides & np.uint64(3)) << np.uint64(6)
                code |= (sides >> np.uint64(4) & np.uint64(3)) << np.uint64(8) | (
                    above >> s & np.uint64(63)
                ) << np.uint64(10)
                if patterns[code] & color != 0 and _is_playable(b, policy, p, color):
                    r.moves[np.uint64(n)] = p
                    n += 1
    return n


@inline
def _row(b, start):
    """Return five colours from point `start` on, two bits each."""
    bits = np.uint64(0)
    for i in range(5):
        bits |= np.uint64(b.color[np.uint64(start + i)]) << np.uint64(2 * i)
    return bits


@inline
def _is_playable(b, policy, p, color):
    # No pattern matches in an own eye.
    if not is_legal(b, p):
        return False
    return not policy.self_atari or liberties_after(b, p, color) != 1


@inline
def _capturing_moves(b, r):
    """List the moves that capture a chain in atari, and drop chains no longer in atari."""
    n = 0
    i = 0
    while i < r.n_atari:
        stone = np.int64(r.atari[np.uint64(i)])
        c = b.color[np.uint64(stone)]
        p = 0 if c == EMPTY else last_liberty(b, np.int64(b.chain[np.uint64(stone)]))
        if p == 0:
            r.is_listed[np.uint64(stone)] = 0
            r.n_atari -= 1
            r.atari[np.uint64(i)] = r.atari[np.uint64(r.n_atari)]
            continue
        if c == 3 - b.to_play and p != b.ko and not _is_candidate(r, p, n):
            r.moves[np.uint64(n)] = p
            n += 1
        i += 1
    return n


@njit
def list_ataris(b, r):
    """List all chains in atari in `r`."""
    r.n_atari = 0
    r.is_listed[:] = 0
    for p in range(b.color.shape[0]):
        c = b.color[np.uint64(p)]
        if (c != EMPTY) & (c != BORDER) and b.chain[np.uint64(p)] == p:
            _watch(b, r, p)


@inline
def watch_atari(b, r):
    """List the chains that the last move put into atari: enemies next to the stone, or its own."""
    if b.n_changed > 0:
        p = np.int64(b.changed[0])
        stride = b.stride
        for q in (p, p - stride, p - 1, p + 1, p + stride):
            c = b.color[np.uint64(q)]
            if (c != EMPTY) & (c != BORDER):
                _watch(b, r, q)


@inline
def _watch(b, r, q):
    if last_liberty(b, np.int64(b.chain[np.uint64(q)])) != 0 and r.is_listed[np.uint64(q)] == 0:
        r.is_listed[np.uint64(q)] = 1
        r.atari[np.uint64(r.n_atari)] = q
        r.n_atari += 1


@njit
def playouts(boards, policy, r, rules, n, rng):
    """Run n playouts from the position boards[0]; boards[1] is scratch.

    Returns (sum of z, moves played).
    """
    b = boards[1]
    max_moves = 3 * boards[0].board_size * boards[0].board_size
    wins = 0.0
    moves = 0
    for _ in range(n):
        copy_record(boards[0], b)
        wins += playout(b, policy, r, rules, max_moves, rng)
        moves += b.n_moves - boards[0].n_moves
    return wins, moves
