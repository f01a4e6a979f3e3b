"""The settings of a tree search: algorithms, parameters, and resources.

Start reading at `ALGORITHMS`, then `Settings`, whose fields check themselves. Nothing here is compiled, so this file is
quick to import.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple

from rlgo.base.bounds import Choice, Number, Whole, checked
from rlgo.base.settings import AT_LEAST_0, COUNT, MOST, MOST_PLIES, POSITIVE, PROBABILITY, THREADS

NO_TRUNCATION = -1  # `Settings.truncate` for simulations that are played to the end
MOST_MEMORY_MB = 50_000  # of a tree: beyond it, the indices of edges would not fit into 32 bits
MOST_PRIOR = 100_000  # visits of either kind that a prior may count for: the counts of a node must stay in range


class ActionValue(IntEnum):
    """How the tree policy values an action (MC-RAVE paper, Sections 2 to 4).

    >>> import mcts
    >>> mcts.ALGORITHMS["uct"].action_value == mcts.ActionValue.MC
    True
    """

    FLAT = 0  # there is no tree: only the actions of the root, see `flat.py`
    MC = 1  # Q(s, a), the mean outcome
    RAVE = 2  # Q~(s, a), the AMAF value alone
    MC_RAVE = 3  # both combined (equation 12)


class RaveSchedule(IntEnum):
    """How beta, the weight of the AMAF value, shrinks as visits add up (MC-RAVE paper, Sections 4.5 and 4.6).

    >>> import mcts
    >>> mcts.Settings(schedule="hand_selected").schedule == mcts.RaveSchedule.HAND_SELECTED
    True
    """

    HAND_SELECTED = 0  # equation 19, with `Settings.rave_k`
    MINIMUM_MSE = 1  # equation 47, with `Settings.rave_bias`
    MINIMUM_MSE_EXACT = 2  # equation 46, with `Settings.rave_bias`
    HAND_SELECTED_ACTION = 3  # equation 19 with N(s, a) for N(s), the other reading of k (Section 4.5)


class Heuristic(IntEnum):
    """The heuristic H(s, a) that initialises new nodes (MC-RAVE paper, Section 5.1).

    >>> import mcts
    >>> mcts.ALGORITHMS["heuristic_mc_rave"].heuristic == mcts.Heuristic.RLGO
    True
    """

    NONE = 0
    EVEN = 1  # Q_even: 1/2 everywhere
    GRANDFATHER = 2  # Q_grand: Q(s_t-2, a), the value of the same action two plies earlier
    MOGO = 3  # Q_mogo: 1 (to the player) for what MoGo's default policy chooses among, else 1/2; the paper has 0, too
    HANDCRAFTED = 4  # captures, atari, patterns and more, see `handcrafted.py`
    RLGO = 5  # Q_rlgo: the learned value after the move
    BOTH = 6  # RLGO and HANDCRAFTED, added before the logistic function
    PATTERNS = 7  # learned patterns, see `patterns.py`
    RLGO_PATTERNS = 8  # RLGO and PATTERNS, added before the logistic function
    USER = 9  # a user's own function, see `prior.py`


# Keyed by the names that configs and specs use.
ACTION_VALUES: dict[str, int] = {value.name.lower(): value for value in ActionValue}
RAVE_SCHEDULES: dict[str, int] = {schedule.name.lower(): schedule for schedule in RaveSchedule}
HEURISTICS: dict[str, int] = {
    heuristic.name.lower(): heuristic for heuristic in Heuristic if heuristic != Heuristic.USER
}


LEARNED_VALUES = (Heuristic.RLGO, Heuristic.BOTH, Heuristic.RLGO_PATTERNS)  # those that need weights
LEARNED_PATTERNS = (Heuristic.PATTERNS, Heuristic.RLGO_PATTERNS)  # those that need patterns

_PRIOR_COUNT = Whole(ge=0, le=MOST_PRIOR)


@checked
class Settings(NamedTuple):
    """The parameters of a tree search: tree policy, prior knowledge, and how simulations end.

    Raises `RlgoError` for a value out of range.

    >>> import mcts
    >>> settings = mcts.ALGORITHMS["mc_rave"]._replace(rave_bias=0.001)
    >>> mcts.TreeSearch(9, settings, simulations=500).settings.rave_bias
    0.001
    """

    action_value: Annotated[int, Choice(ACTION_VALUES)] = ActionValue.MC_RAVE
    c: Annotated[float, AT_LEAST_0] = 0.0  # exploration constant of UCB1; makes UCT of MC, UCT-RAVE of MC_RAVE
    first_play_urgency: Annotated[float, AT_LEAST_0] = 0.5  # the value, to its player, of an action without statistics
    schedule: Annotated[int, Choice(RAVE_SCHEDULES)] = RaveSchedule.MINIMUM_MSE
    rave_k: Annotated[float, POSITIVE] = 10_000.0  # equivalence parameter of the hand-selected schedules
    rave_bias: Annotated[float, AT_LEAST_0] = 0.02  # RAVE bias of the minimum-MSE schedules
    amaf_own: bool = False  # only a player's own earlier play at a point excludes it, as printed in Algorithm 2
    expand_after: Annotated[int, COUNT] = 1  # visits of an action before its position becomes a node
    heuristic: Annotated[int, Choice({**HEURISTICS, "user": Heuristic.USER})] = Heuristic.NONE
    patterns_after: Annotated[int, COUNT] = 1  # visits before a prior has patterns, see `search.without_patterns`
    prior_n: Annotated[int, _PRIOR_COUNT] = 0  # C, the confidence in H as an MC value, in visits
    prior_n_amaf: Annotated[int, _PRIOR_COUNT] = 50  # C~ = M, the confidence in H as an AMAF value, in visits
    temperature: Annotated[float, AT_LEAST_0] = 0.0  # of flat Monte-Carlo, see `flat.choose_flat`
    pruning: Annotated[float, AT_LEAST_0] = 0.0  # of flat Monte-Carlo, see `flat.choose_flat`
    truncate: Annotated[int, Whole(ge=NO_TRUNCATION, le=MOST)] = NO_TRUNCATION  # plies of the default policy, then V
    leaf_value: Annotated[float, PROBABILITY] = 0.0  # share of V(s_T) in what is backed up, see `search.leaf_share`
    leaf_fade: Annotated[float, PROBABILITY] = 0.0  # part of `leaf_value` that is lost by the time the board is full
    leaf_tempo: Annotated[float, AT_LEAST_0] = 0.0  # worth of a turn in V(s_T), in phi . theta, see `search.leaf_value`
    virtual_loss: Annotated[int, Whole(ge=0, le=1_000)] = 0  # lost visits that a thread adds; 0 if no tree is shared
    max_moves: Annotated[int, MOST_PLIES] = 0  # plies before a simulation is scored as it is; 0: 3 * size * size


@checked
class Resources(NamedTuple):
    """The threads and the memory of a tree search.

    Raises `RlgoError` for a value out of range.

    >>> import mcts
    >>> mcts.TreeSearch(9, resources=mcts.Resources(memory_mb=64)).resources.memory_mb
    64.0
    """

    workers: Annotated[int, THREADS] = 1
    root_parallel: bool = False  # give each thread its own tree and add up the roots, instead of sharing one tree
    memory_mb: Annotated[float, Number(gt=0, le=MOST_MEMORY_MB)] = 256.0  # of all trees; full ones stop growing
    reuse: bool = True  # keep the part of the tree below the next position
    batch: Annotated[int, Whole(ge=1, le=10_000)] = 8  # new nodes that may wait for a user's prior, passed without it


# The algorithms of the MC-RAVE paper. "uct" is that of its Section 2.5, with the settings of the TD paper's vanilla UCT
# (Section 4.5): c = 1, and a first-play urgency of 1 in place of the infinite bonus of an action without visits. With
# a few hundred simulations, many moves then have none. "rlgo" is in neither paper: it is what has won most games.
ALGORITHMS = {
    "mc": Settings(ActionValue.FLAT),
    "mcts_greedy": Settings(ActionValue.MC),
    "uct": Settings(ActionValue.MC, c=1.0, first_play_urgency=1.0),
    "rave": Settings(ActionValue.RAVE),
    "mc_rave": Settings(ActionValue.MC_RAVE),
    "uct_rave": Settings(ActionValue.MC_RAVE, c=0.1, schedule=RaveSchedule.HAND_SELECTED),
    "heuristic_mc_rave": Settings(ActionValue.MC_RAVE, heuristic=Heuristic.RLGO),
    "rlgo": Settings(
        ActionValue.MC_RAVE,
        heuristic=Heuristic.RLGO_PATTERNS,
        patterns_after=8,
        leaf_value=0.75,
        leaf_fade=0.8,
        leaf_tempo=0.9,
    ),
}
