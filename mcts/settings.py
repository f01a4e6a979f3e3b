"""The settings of a tree search: algorithms, parameters, and resources.

Start reading at `ALGORITHMS`, then `Settings`, which checks its fields. Nothing here is compiled, so the file is quick
to import.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple

from rlgo.base.bounds import Choice, Key, Needs, Number, OrWord, Whole, checked, needs
from rlgo.base.settings import AT_LEAST_0, COUNT, COUNT_OR_0, MOST_PLIES, POSITIVE, PROBABILITY, THREADS

NO_TRUNCATION = -1  # `Settings.truncate` for simulations that are played to the end
MOST_MEMORY_MB = 50_000  # limit of a tree: beyond it, indices of edges would not fit into 32 bits
MOST_PRIOR = 100_000  # limit of C and C~: the counts of a node must stay in range


class ActionValue(IntEnum):
    """How the tree policy values an action (MC-RAVE paper, Sections 2 to 4).

    >>> import mcts
    >>> mcts.ALGORITHMS["uct"].action_value == mcts.ActionValue.MC
    True
    """

    FLAT = 0  # no tree, only the actions of the root; see `flat.py`
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
    MOGO = 3  # Q_mogo: 1 (for the player) for the candidates of MoGo's default policy, else 1/2; the paper also has 0
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

# Which algorithms have a setting, by action value, and the conditions for it to have an effect.
_FLAT = (ActionValue.FLAT,)
_TREE = (ActionValue.MC, ActionValue.RAVE, ActionValue.MC_RAVE)
_AMAF = (ActionValue.RAVE, ActionValue.MC_RAVE)
_COMBINED = (ActionValue.MC_RAVE,)
_BY_K = needs("schedule", "hand_selected", "hand_selected_action")
_BY_BIAS = needs("schedule", "minimum_mse", "minimum_mse_exact")
_HAND_SELECTED = {"schedule": "hand_selected"}
_HEURISTIC = Needs("a heuristic", lambda keys: keys.heuristic != "none")
_PATTERNS = Needs(
    "a heuristic with learned patterns and no prior_search",
    lambda keys: HEURISTICS[keys.heuristic] in LEARNED_PATTERNS and not keys.prior_search,
)
_CONFIDENCE = Needs(
    "a confidence in H (prior_n) of at least 1",  # as an MC value or, where there are any, as an AMAF value
    lambda keys: keys.heuristic == "none" or max(keys.prior_n, getattr(keys, "prior_n_amaf", 0)) > 0,
)
_LEAF_VALUE = Needs("a leaf_value above 0", lambda keys: keys.leaf_value > 0)
_WORKERS = Needs("several workers", lambda keys: keys.workers > 1)
_SHARED = Needs("several workers that share a tree", lambda keys: keys.workers > 1 and not keys.root_parallel)


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
    c: Annotated[  # turns MC into UCT, and MC_RAVE into UCT-RAVE
        float, AT_LEAST_0, Key("Exploration constant of UCB1.", "exploration", of=_TREE)
    ] = 0.0
    first_play_urgency: Annotated[
        float, AT_LEAST_0, Key("The value, to its player, of an action without statistics.", aliases="fpu", of=_TREE)
    ] = 0.5
    schedule: Annotated[
        int,
        Choice(RAVE_SCHEDULES),
        Key(
            "How MC and AMAF values are combined: with the least squared error, by `rave_bias`, or hand-selected, by "
            "`rave_k` and the visits of the position or, with hand_selected_action, of the move.",
            "rave_schedule",
            of=_COMBINED,
        ),
    ] = RaveSchedule.MINIMUM_MSE
    rave_k: Annotated[
        float,
        POSITIVE,
        Key("k, the equivalence parameter.", "rave_k", aliases="k", needs=_BY_K, implies=_HAND_SELECTED, of=_COMBINED),
    ] = 10_000.0
    rave_bias: Annotated[
        float, AT_LEAST_0, Key("b, the bias of AMAF values.", "rave_bias", aliases="bias", needs=_BY_BIAS, of=_COMBINED)
    ] = 0.02
    amaf_own: Annotated[
        bool,
        Key(
            "AMAF as in Algorithm 2: only a player's own earlier play at a point excludes it.",
            "rave_readings",
            of=_AMAF,
        ),
    ] = False
    expand_after: Annotated[int, COUNT, Key("Visits of an action before its position becomes a node.", of=_TREE)] = 1
    heuristic: Annotated[
        int,
        Choice({**HEURISTICS, "user": Heuristic.USER}),
        Key(
            "H, the prior knowledge of new nodes; both: rlgo and handcrafted; rlgo_patterns: rlgo and patterns.",
            "heuristics",
            needs=_CONFIDENCE,
            bound=Choice(HEURISTICS),
            of=_TREE,
        ),
    ] = Heuristic.NONE
    patterns_after: Annotated[  # see `search.without_patterns`
        int,
        COUNT,
        Key("Visits of a node before learned patterns replace handcrafted values in H.", needs=_PATTERNS, of=_TREE),
    ] = 1
    prior_n: Annotated[
        int,
        _PRIOR_COUNT,
        Key("C, the confidence in H as an MC value, in visits.", "heuristics", aliases="C", needs=_HEURISTIC, of=_TREE),
    ] = 0
    prior_n_amaf: Annotated[
        int,
        _PRIOR_COUNT,
        Key("M (C~), the same for H as an AMAF value.", "heuristics", aliases="M", needs=_HEURISTIC, of=_AMAF),
    ] = 50
    temperature: Annotated[  # see `flat.choose_flat`
        float, AT_LEAST_0, Key("Simulate moves in proportion to exp(Q / temperature); 0: all equally often.", of=_FLAT)
    ] = 0.0
    pruning: Annotated[  # see `flat.choose_flat`
        float,
        AT_LEAST_0,
        Key("Progressive pruning: drop moves this many standard errors of both below the best; 0: none.", of=_FLAT),
    ] = 0.0
    truncate: Annotated[
        int,
        OrWord(COUNT_OR_0, "never", NO_TRUNCATION),
        Key("After this many plies of the default policy, V of the weights is the outcome."),
    ] = NO_TRUNCATION
    leaf_value: Annotated[  # see `search.leaf_share`
        float,
        PROBABILITY,
        Key("The share of V of the position where the tree ends in the outcome of each simulation.", of=_TREE),
    ] = 0.0
    leaf_fade: Annotated[
        float,
        PROBABILITY,
        Key("The part of `leaf_value` that is lost as the board fills up.", needs=_LEAF_VALUE, of=_TREE),
    ] = 0.0
    leaf_tempo: Annotated[  # see `search.value_of_leaf`
        float,
        AT_LEAST_0,
        Key("What a turn is worth in V of that position, before the logistic function.", needs=_LEAF_VALUE, of=_TREE),
    ] = 0.0
    virtual_loss: Annotated[  # 0 if no tree is shared
        int,
        Whole(ge=0, le=1_000),
        Key(
            "Losses that a thread adds on its way down a shared tree, to keep others off its path.",
            needs=_SHARED,
            bound=Whole(ge=1, le=1_000),
        ),
    ] = 0
    max_moves: Annotated[int, MOST_PLIES] = 0  # plies before a simulation is scored as it is; 0: 3 * size * size


@checked
class Resources(NamedTuple):
    """The threads and the memory of a tree search.

    Raises `RlgoError` for a value out of range.

    >>> import mcts
    >>> mcts.TreeSearch(9, resources=mcts.Resources(memory_mb=64)).resources.memory_mb
    64.0
    """

    workers: Annotated[int, THREADS, Key("Threads.")] = 1
    root_parallel: Annotated[
        bool, Key("Give each thread its own tree, and add up the roots, in place of one shared tree.", needs=_WORKERS)
    ] = False
    memory_mb: Annotated[
        float,
        Number(gt=0, le=MOST_MEMORY_MB),
        Key("Memory of all trees; from half of it on, a node takes more visits.", of=_TREE),
    ] = 256.0
    reuse: Annotated[bool, Key("Keep the part of the tree below the next position.", of=_TREE)] = True
    batch: Annotated[int, Whole(ge=1, le=10_000)] = 8  # new nodes that may wait for a user's prior, passed without it


# The algorithms of the MC-RAVE paper. "uct" is that of its Section 2.5, with the settings of the TD paper's vanilla UCT
# (Section 4.5): c = 1, and a first-play urgency of 1 in place of the infinite bonus of an action without visits. With
# a few hundred simulations, many moves then have none. "rlgo" is in neither paper; it has won most games.
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
