"""The default policy LEARNED: simulations that go on by a learned value function.

A search by another default policy compiles none of this: its `Knowledge` holds None in place of the policy, and numba
chooses by the type.
"""

from __future__ import annotations

from rlgo.base.jit import by_type, inline, is_none
from rlgo.base.settings import LOGISTIC
from rlgo.features.incremental import reset, update
from rlgo.go.board import PASS, play
from rlgo.learning.policy import choose_move


@inline
def _step_learned(policy, b, shapes, table, zobrist, rng):
    p = choose_move(b, shapes, table, policy, LOGISTIC, rng)[0]
    play(b, p, zobrist)
    update(b, shapes, table)
    return p


def begin_learned(policy, b, shapes, table):
    """Prepare `shapes` for moves from the position on `b`; nothing if `policy`, a `Policy`, is None."""
    if policy is not None:
        reset(b, shapes, table)


def step_learned(policy, b, shapes, table, zobrist, rng):
    """Choose a move by the value function, play it, and return it; PASS, unplayed, if `policy` is None."""
    return PASS if policy is None else _step_learned(policy, b, shapes, table, zobrist, rng)


@by_type(begin_learned)
def _overload_begin_learned(policy, b, shapes, table):  # noqa: ARG001  # numba matches names
    if is_none(policy):
        return lambda policy, b, shapes, table: None  # noqa: ARG005
    return lambda policy, b, shapes, table: reset(b, shapes, table)  # noqa: ARG005


@by_type(step_learned)
def _overload_step_learned(policy, b, shapes, table, zobrist, rng):  # noqa: ARG001  # numba matches names
    if is_none(policy):
        return lambda policy, b, shapes, table, zobrist, rng: PASS  # noqa: ARG005
    return lambda policy, b, shapes, table, zobrist, rng: _step_learned(policy, b, shapes, table, zobrist, rng)
