"""The settings of a tree search: algorithms, parameters, and resources.

Start reading at `ALGORITHMS`, then `Settings`. Nothing here is compiled, so this file is quick to import.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

from rlgo.errors import expect

LEARNED = 2  # a third kind of `rollout.DefaultPolicy`: epsilon-greedy by the value function of Q_rlgo
NO_TRUNCATION = -1  # `Settings.truncate` for simulations that are played to the end
MOST_MEMORY_MB = 50_000.0  # of a tree: beyond it, the indices of edges would not fit into 32 bits
MOST_PRIOR = 100_000  # visits of either kind that a prior may count for: the counts of a node must stay in range


class ActionValue(IntEnum):
    """How the tree policy values an action (MC-RAVE paper, Sections 2 to 4)."""

    FLAT = 0  # there is no tree: only the actions of the root, see `flat.py`
    MC = 1  # Q(s, a), the mean outcome
    RAVE = 2  # Q~(s, a), the AMAF value alone
    MC_RAVE = 3  # both combined (equation 12)


class RaveSchedule(IntEnum):
    """How beta, the weight of the AMAF value, shrinks as visits add up (MC-RAVE paper, Sections 4.3 and 4.6)."""

    HAND_SELECTED = 0  # equation 19, with `Settings.rave_k`
    MINIMUM_MSE = 1  # equation 47, with `Settings.rave_bias`
    MINIMUM_MSE_EXACT = 2  # equation 46, with `Settings.rave_bias`


class Heuristic(IntEnum):
    """The heuristic H(s, a) that initialises new nodes (MC-RAVE paper, Section 5.1)."""

    NONE = 0
    EVEN = 1  # Q_even: 1/2 everywhere
    GRANDFATHER = 2  # Q_grand: Q(s_t-2, a), the value of the same action two plies earlier
    MOGO = 3  # Q_mogo: 1 (to the player) for the moves that MoGo's default policy chooses among, 1/2 for all others
    HANDCRAFTED = 4  # captures, atari, patterns and more, see `handcrafted.py`
    RLGO = 5  # Q_rlgo: the learned value after the move
    BOTH = 6  # RLGO and HANDCRAFTED, added before the logistic function
    USER = 7  # a user's own function, see `prior.py`


# Keyed by the names that configs and specs use.
RAVE_SCHEDULES: dict[str, int] = {schedule.name.lower(): schedule for schedule in RaveSchedule}
HEURISTICS: dict[str, int] = {
    heuristic.name.lower(): heuristic for heuristic in Heuristic if heuristic != Heuristic.USER
}


class Settings(NamedTuple):
    """The parameters of the tree policy, of prior knowledge, and of how simulations end."""

    action_value: int = ActionValue.MC_RAVE
    c: float = 0.0  # exploration constant of UCB1; with MC it makes UCT, with MC_RAVE UCT-RAVE
    first_play_urgency: float = 0.5  # the value, to its player, of an action without any statistics
    schedule: int = RaveSchedule.MINIMUM_MSE
    rave_k: float = 10_000.0  # equivalence parameter of the hand-selected schedule
    rave_bias: float = 0.02  # RAVE bias of the minimum-MSE schedules
    learn_bias: bool = False  # learn a RAVE bias for each kind of move from the trees of the game, see `bias.py`
    expand_after: int = 1  # visits of an action before its position becomes a node
    heuristic: int = Heuristic.NONE
    prior_n: int = 0  # C, the confidence in H as an MC value, in visits
    prior_n_amaf: int = 50  # C~ = M, the confidence in H as an AMAF value, in visits
    adapt_m: bool = False  # more confidence where H is near 0 or 1, see `heuristic.confidence`
    progressive_bias: float = 0.0  # adds this * H / (N(s, a) + 1) to an action's value
    widening: float = 0.0  # growth of N(s), priors included, that admits one more action; 0: admit all at once
    temperature: float = 0.0  # of flat Monte-Carlo, see `flat.choose_flat`
    pruning: float = 0.0  # of flat Monte-Carlo, see `flat.choose_flat`
    truncate: int = NO_TRUNCATION  # plies of the default policy after which V is the outcome
    virtual_loss: int = 0  # lost visits that a thread adds on its way down; 0 if no tree is shared
    max_moves: int = 0  # plies after which a simulation is scored as it stands; 0: 3 * size * size


class Resources(NamedTuple):
    """The threads and the memory of a search."""

    workers: int = 1  # threads
    root_parallel: bool = False  # give each thread its own tree and add up the roots, instead of sharing one tree
    memory_mb: float = 256.0  # memory of all trees together; a search whose tree is full continues without growing it
    reuse: bool = True  # keep the part of the tree below the next position
    batch: int = 8  # new nodes that may wait for a user's prior; meanwhile simulations pass them without it


# The algorithms of the MC-RAVE paper. "uct" is the vanilla UCT of its Section 2.5: c = 1 and first-play urgency 1.
ALGORITHMS = {
    "mc": Settings(ActionValue.FLAT),
    "mcts_greedy": Settings(ActionValue.MC),
    "uct": Settings(ActionValue.MC, c=1.0, first_play_urgency=1.0),
    "rave": Settings(ActionValue.RAVE),
    "mc_rave": Settings(ActionValue.MC_RAVE),
    "uct_rave": Settings(ActionValue.MC_RAVE, c=0.1, schedule=RaveSchedule.HAND_SELECTED),
    "heuristic_mc_rave": Settings(ActionValue.MC_RAVE, heuristic=Heuristic.RLGO),
}


def plain_settings(settings: Settings) -> Settings:
    """Return the same settings as plain numbers, floats where defaults are: numba recompiles for any other type."""
    defaults = Settings()
    values: list[Any] = [
        float(value) if isinstance(default, float) else int(value) if isinstance(value, IntEnum) else value
        for default, value in zip(defaults, settings, strict=True)
    ]
    return Settings(*values)


def check_settings(settings: Settings) -> None:
    """Raise `RlgoError` if a setting is out of range."""
    s = settings
    visits = f"an integer from 0 to {MOST_PRIOR:,}"
    expect(s.c >= 0, "c", s.c, "a number of at least 0")
    expect(s.rave_k > 0, "rave_k", s.rave_k, "a positive number")
    expect(s.rave_bias >= 0, "rave_bias", s.rave_bias, "a number of at least 0")
    expect(s.expand_after >= 1, "expand_after", s.expand_after, "an integer of at least 1")
    expect(0 <= s.prior_n <= MOST_PRIOR, "prior_n", s.prior_n, visits)
    expect(0 <= s.prior_n_amaf <= MOST_PRIOR, "prior_n_amaf", s.prior_n_amaf, visits)
    expect(s.progressive_bias >= 0, "progressive_bias", s.progressive_bias, "a number of at least 0")
    expect(s.widening == 0 or s.widening > 1, "widening", s.widening, "0, or a number above 1")
    expect(s.temperature >= 0, "temperature", s.temperature, "a number of at least 0")
    expect(s.pruning >= 0, "pruning", s.pruning, "a number of at least 0")
    expect(s.truncate >= NO_TRUNCATION, "truncate", s.truncate, "a number of plies, or -1 for never")
    expect(s.virtual_loss >= 0, "virtual_loss", s.virtual_loss, "an integer of at least 0")


def check_resources(resources: Resources) -> None:
    """Raise `RlgoError` if a resource is out of range."""
    r = resources
    expect(
        0 < r.memory_mb <= MOST_MEMORY_MB, "memory_mb", r.memory_mb, f"a positive number up to {MOST_MEMORY_MB:,.0f}"
    )
    expect(r.batch >= 1, "batch", r.batch, "an integer of at least 1")
    expect(r.workers >= 1, "workers", r.workers, "an integer of at least 1")
