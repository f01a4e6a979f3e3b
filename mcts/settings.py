"""The settings of a tree search: algorithms, parameters, and resources.

Start reading at `ALGORITHMS`, then `Settings`, which `TreeSearch` checks. Nothing here is compiled, so the file is
quick to import.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple

from annotated_types import Ge, Gt, Le

from rlgo.base.checks import Choice, Key, Needs, Word, needs
from rlgo.base.resources import list_shipped_networks
from rlgo.base.settings import Count, CountOr0, MaxMoves, NonNegative, Positive, Probability, Threads

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
    >>> settings = mcts.Settings(schedule="hand_selected")
    >>> mcts.TreeSearch(5, settings, simulations=9).settings.schedule == mcts.RaveSchedule.HAND_SELECTED
    True
    """

    HAND_SELECTED = 0  # equation 19, with `Settings.rave_k`
    MINIMUM_MSE = 1  # equation 47, with `Settings.rave_bias`
    MINIMUM_MSE_EXACT = 2  # equation 46, with `Settings.rave_bias`
    HAND_SELECTED_ACTION = 3  # equation 19 with N(s, a) for N(s), the other reading of k (Section 4.5)


class PuctRule(IntEnum):
    """What PUCT adds to the value of an action; the formulas are in `puct.py`.

    >>> import mcts
    >>> mcts.ALGORITHMS["puct"].puct_rule == mcts.PuctRule.ALPHAGO
    True
    """

    ALPHAGO = 0  # c_puct P(s, a) sqrt(N(s)) / (1 + N(s, a)) (Silver et al. 2016)
    ROSIN = 1  # PUCB, times c_puct (Rosin 2011)


class Use(IntEnum):
    """Which answers of an evaluator the search uses; see `evaluator.py`.

    >>> import mcts
    >>> mcts.Settings().evaluator == mcts.Use.BOTH
    True
    """

    NOTHING = 0
    POLICY = 1  # as prior knowledge, in place of a heuristic
    VALUE = 2  # in what simulations back up, in place of V of the weights
    BOTH = 3


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
    EVALUATOR = 9  # the policy of an evaluator, see `evaluator.py`
    WAITING = 10  # of a node whose evaluator has not answered yet
    NETWORK = 11  # the policy of a network of ours, see `network_prior.py`
    RLGO_NETWORK = 12  # RLGO and NETWORK, added before the logistic function


OWN_NETWORK = ".npz"  # ends the name of a file with a network of ours; others are in ONNX
NO_NETWORK = "none"


def is_own_network(file: str) -> bool:
    """Return whether a file has a network of ours, by its name, which may be that of a shipped one."""
    return file.endswith(OWN_NETWORK) or file in list_shipped_networks()


def is_onnx_network(file: str) -> bool:
    """Return whether a player's network is in ONNX, by the name of its file, which may be `NO_NETWORK`."""
    return file != NO_NETWORK and not is_own_network(file)


# Keyed by the names that configs and specs use.
ACTION_VALUES: dict[str, int] = {value.name.lower(): value for value in ActionValue}
RAVE_SCHEDULES: dict[str, int] = {schedule.name.lower(): schedule for schedule in RaveSchedule}
HEURISTICS: dict[str, int] = {
    heuristic.name.lower(): heuristic for heuristic in Heuristic if heuristic < Heuristic.EVALUATOR
}
PUCT_RULES: dict[str, int] = {rule.name.lower(): rule for rule in PuctRule}
USES: dict[str, int] = {use.name.lower(): use for use in Use if use != Use.NOTHING}


# The heuristics that need weights, and those that need patterns.
LEARNED_VALUES = (Heuristic.RLGO, Heuristic.BOTH, Heuristic.RLGO_PATTERNS, Heuristic.RLGO_NETWORK)
LEARNED_PATTERNS = (Heuristic.PATTERNS, Heuristic.RLGO_PATTERNS)

NETWORKS = {"network": Heuristic.NETWORK, "rlgo_network": Heuristic.RLGO_NETWORK}  # that a search turns to

_PriorCount = Annotated[int, Ge(0), Le(MOST_PRIOR)]

# Which algorithms have a setting, by action value, and the conditions for it to have an effect.
_FLAT = (ActionValue.FLAT,)
_TREE = (ActionValue.MC, ActionValue.RAVE, ActionValue.MC_RAVE)
_AMAF = (ActionValue.RAVE, ActionValue.MC_RAVE)
_COMBINED = (ActionValue.MC_RAVE,)
_BY_K = needs("schedule", "hand_selected", "hand_selected_action")
_BY_BIAS = needs("schedule", "minimum_mse", "minimum_mse_exact")
_HAND_SELECTED = {"schedule": "hand_selected"}
_HEURISTIC = Needs("a heuristic or a network", lambda keys: keys.heuristic != "none" or keys.network != NO_NETWORK)
_OWN_NETWORK = Needs("a network of rlgo's own", lambda keys: is_own_network(keys.network))
ONNX = Needs("a network in ONNX", lambda keys: is_onnx_network(keys.network))
_PUCT = Needs("a c_puct above 0", lambda keys: keys.c_puct > 0)
_NOISE = Needs("a c_puct and a noise above 0", lambda keys: keys.c_puct > 0 and keys.noise > 0)
_TEMPERATURE = Needs("a move_temperature above 0", lambda keys: keys.move_temperature > 0)
_PATTERNS = Needs(
    "a heuristic with learned patterns and no prior_search",
    lambda keys: HEURISTICS[keys.heuristic] in LEARNED_PATTERNS and not keys.prior_search,
)
_CONFIDENCE = Needs(
    # As an MC value or, where there are any, as an AMAF value. PUCT uses H as a policy.
    "a confidence in H (prior_n) of at least 1, or a c_puct above 0",
    lambda keys: keys.heuristic == "none" or keys.c_puct > 0 or max(keys.prior_n, getattr(keys, "prior_n_amaf", 0)) > 0,
)
_LEAF_VALUE = Needs("a leaf_value above 0", lambda keys: keys.leaf_value > 0)
_PLAYOUTS = Needs("playouts = on", lambda keys: keys.playouts)
_QUICK = Needs("quick_simulations above 0", lambda keys: keys.quick_simulations > 0)
_WORKERS = Needs("several workers", lambda keys: keys.workers > 1)
_SHARED = Needs("several workers that share a tree", lambda keys: keys.workers > 1 and not keys.root_parallel)


class Settings(NamedTuple):
    """The parameters of a tree search: tree policy, prior knowledge, and how simulations end.

    `TreeSearch` checks them.

    >>> import mcts
    >>> settings = mcts.ALGORITHMS["mc_rave"]._replace(rave_bias=0.001)
    >>> mcts.TreeSearch(9, settings, simulations=500).settings.rave_bias
    0.001
    """

    action_value: Annotated[int, Choice(ACTION_VALUES)] = int(ActionValue.MC_RAVE)
    c: Annotated[  # turns MC into UCT, and MC_RAVE into UCT-RAVE
        NonNegative, Key("Exploration constant of UCB1.", "exploration", of=_TREE)
    ] = 0.0
    c_puct: Annotated[
        NonNegative,
        Key("Constant of PUCT, exploration guided by the policy of the heuristic or network; 0: none.", of=_TREE),
    ] = 0.0
    puct_rule: Annotated[
        int,
        Choice(PUCT_RULES),
        Key("What PUCT adds: AlphaGo's bonus, or Rosin's bonus and penalty.", needs=_PUCT, of=_TREE),
    ] = int(PuctRule.ALPHAGO)
    first_play_urgency: Annotated[
        NonNegative, Key("The value, to its player, of an action without statistics.", aliases="fpu", of=_TREE)
    ] = 0.5
    fpu_reduction: Annotated[  # see `puct.reduced_value`
        NonNegative,
        Key(
            "With PUCT, an action without statistics has the mean of the others less this times sqrt(the sum of their "
            "P); 0: it has `first_play_urgency`.",
            needs=_PUCT,
            of=_TREE,
        ),
    ] = 0.0
    schedule: Annotated[
        int,
        Choice(RAVE_SCHEDULES),
        Key(
            "How MC and AMAF values are combined: with the least squared error, by `rave_bias`, or hand-selected, by "
            "`rave_k` and the visits of the position or, with hand_selected_action, of the move.",
            "rave_schedule",
            of=_COMBINED,
        ),
    ] = int(RaveSchedule.MINIMUM_MSE)
    rave_k: Annotated[
        Positive,
        Key("k, the equivalence parameter.", "rave_k", aliases="k", needs=_BY_K, implies=_HAND_SELECTED, of=_COMBINED),
    ] = 10_000.0
    rave_bias: Annotated[
        NonNegative, Key("b, the bias of AMAF values.", "rave_bias", aliases="bias", needs=_BY_BIAS, of=_COMBINED)
    ] = 0.02
    amaf_own: Annotated[
        bool,
        Key(
            "AMAF as in Algorithm 2: only a player's own earlier play at a point excludes it.",
            "rave_readings",
            of=_AMAF,
        ),
    ] = False
    expand_after: Annotated[Count, Key("Visits of an action before its position becomes a node.", of=_TREE)] = 1
    heuristic: Annotated[
        int,
        Choice({**HEURISTICS, "evaluator": Heuristic.EVALUATOR, **NETWORKS}),
        Key(
            "H, the prior knowledge of new nodes; both: rlgo and handcrafted; rlgo_patterns: rlgo and patterns.",
            "heuristics",
            needs=_CONFIDENCE,
            kind=Annotated[int, Choice(HEURISTICS)],
            of=_TREE,
        ),
    ] = int(Heuristic.NONE)
    patterns_after: Annotated[  # see `search.without_patterns`
        Count,
        Key("Visits of a node before learned patterns replace handcrafted values in H.", needs=_PATTERNS, of=_TREE),
    ] = 1
    earlier_heuristic: Annotated[int, Choice(HEURISTICS)] = int(Heuristic.NONE)  # of nodes before the network's
    network_after: Annotated[  # see `search.improve_prior`
        Count,
        Key(
            "Visits of a node before a network of rlgo's own replaces patterns and handcrafted values in H; 1: as soon "
            "as it is added.",
            needs=_OWN_NETWORK,
            of=_TREE,
        ),
    ] = 16
    network_policy: Annotated[  # m of `network_prior.py`
        Probability,
        Key(
            "The part of such a network in the policy, beside that of learned patterns, if there are any; 1: alone.",
            needs=_OWN_NETWORK,
            of=_TREE,
        ),
    ] = 0.5
    network_value: Annotated[  # see `network_prior.correct_value`
        Probability,
        Key(
            "How far such a network corrects V in `leaf_value`, from 0, not at all, to 1: there, V is the network's.",
            needs=_OWN_NETWORK,
            of=_TREE,
        ),
    ] = 0.5
    prior_n: Annotated[
        _PriorCount,
        Key("C, the confidence in H as an MC value, in visits.", "heuristics", aliases="C", needs=_HEURISTIC, of=_TREE),
    ] = 0
    prior_n_amaf: Annotated[
        _PriorCount,
        Key("M (C~), the same for H as an AMAF value.", "heuristics", aliases="M", needs=_HEURISTIC, of=_AMAF),
    ] = 50
    policy_scale: Annotated[  # see `puct.action_x`
        Positive,
        Key("Scale s of H = sigma(s log(n P(a)) - t), from the probability of a move to its value.", of=_TREE),
    ] = 0.4
    policy_shift: Annotated[
        NonNegative, Key("Shift t of H = sigma(s log(n P(a)) - t), what any move costs.", of=_TREE)
    ] = 0.4
    evaluator: Annotated[
        int,
        Choice({"nothing": Use.NOTHING, **USES}),
        Key(
            "What of the network's answers the search uses; with value, the heuristic stays, with policy, V stays that "
            "of the weights.",
            needs=ONNX,
            kind=Annotated[int, Choice(USES)],
            of=_TREE,
        ),
    ] = int(Use.BOTH)
    temperature: Annotated[  # see `flat.choose_flat`
        NonNegative, Key("Simulate moves in proportion to exp(Q / temperature); 0: all equally often.", of=_FLAT)
    ] = 0.0
    pruning: Annotated[  # see `flat.choose_flat`
        NonNegative,
        Key("Progressive pruning: drop moves this many standard errors of both below the best; 0: none.", of=_FLAT),
    ] = 0.0
    truncate: Annotated[
        CountOr0,
        Word("never", NO_TRUNCATION),
        Key("After this many plies of the default policy, V of the weights is the outcome."),
    ] = NO_TRUNCATION
    leaf_value: Annotated[  # see `search.leaf_share`
        Probability,
        Key(
            "The share of V of the position where the tree ends in the outcome of each simulation: V of the network "
            "or, without one, of the weights.",
            needs=_PLAYOUTS,
            of=_TREE,
        ),
    ] = 0.0
    leaf_fade: Annotated[
        Probability,
        Key("The part of `leaf_value` that is lost as the board fills up.", needs=_LEAF_VALUE, of=_TREE),
    ] = 0.0
    leaf_tempo: Annotated[  # see `search.value_of_leaf`
        NonNegative,
        Key("What a turn is worth in V of that position, before the logistic function.", needs=_LEAF_VALUE, of=_TREE),
    ] = 0.0
    playouts: Annotated[
        bool,
        Key("Play each simulation to the end by the default policy; off: V where the tree ends is all.", of=_TREE),
    ] = True
    noise: Annotated[Probability, Key("Share of Dirichlet noise in the policy at the root.", needs=_PUCT, of=_TREE)] = (
        0.0
    )
    noise_alpha: Annotated[Positive, Key("Concentration of that noise; about 10 / moves.", needs=_NOISE, of=_TREE)] = (
        0.12
    )
    move_temperature: Annotated[
        float,
        Ge(0),
        Le(100),
        Key("Draw the move to play in proportion to visits^(1 / move_temperature); 0: the most visited.", of=_TREE),
    ] = 0.0
    temperature_plies: Annotated[
        CountOr0, Key("Moves of a game that are drawn so; 0: all.", needs=_TEMPERATURE, of=_TREE)
    ] = 0
    virtual_loss: Annotated[  # 0 if no tree is shared and no simulation waits for its value
        int,
        Ge(0),
        Le(1_000),
        Key(
            "Losses that a thread adds on its way down a shared tree, to keep others off its path.",
            needs=_SHARED,
            kind=Annotated[int, Ge(1), Le(1_000)],
        ),
    ] = 0
    max_moves: MaxMoves = 0  # plies before a simulation is scored as it is; 0: 3 * size * size


class Resources(NamedTuple):
    """The threads and the memory of a tree search, and how it saves time in games to learn from.

    `TreeSearch` checks them.

    >>> import mcts
    >>> mcts.TreeSearch(9, resources=mcts.Resources(memory_mb=64)).resources.memory_mb
    64.0
    """

    workers: Annotated[Threads, Key("Threads.")] = 1
    root_parallel: Annotated[
        bool, Key("Give each thread its own tree, and add up the roots, in place of one shared tree.", needs=_WORKERS)
    ] = False
    memory_mb: Annotated[
        float,
        Gt(0),
        Le(MOST_MEMORY_MB),
        Key("Memory of all trees; from half of it on, a node takes more visits.", of=_TREE),
    ] = 256.0
    reuse: Annotated[bool, Key("Keep the part of the tree below the next position.", of=_TREE)] = True
    quick_simulations: Annotated[  # playout cap randomization (Wu 2019, Section 3.1)
        CountOr0,
        Key(
            "For games to learn from: some moves, drawn at random, are chosen by so few simulations. They decide games "
            "sooner; of their searches, only the value is kept. 0: none.",
            aliases="quick",
        ),
    ] = 0
    quick_share: Annotated[Probability, Key("The share of such moves.", needs=_QUICK)] = 0.75
    quick_beyond: Annotated[
        float,
        Ge(0.5),
        Le(1),
        Key("All moves are quick while the last search valued either side above this; 1: not.", needs=_QUICK),
    ] = 1.0
    batch: Annotated[
        int, Ge(1), Le(10_000), Key("New nodes that the network evaluates together.", needs=ONNX, of=_TREE)
    ] = 8
    batch_ms: Annotated[
        NonNegative,
        Key(
            "Milliseconds that new nodes wait until their batch is full; 0: until the end of a slice, about 10 ms, and "
            "a search of one thread limited by simulations can be repeated.",
            needs=ONNX,
            of=_TREE,
        ),
    ] = 0.0


# The algorithms of the MC-RAVE paper. "uct" is that of its Section 2.5, with the settings of the TD paper's vanilla UCT
# (Section 4.5): c = 1, and a first-play urgency of 1 in place of the infinite bonus of an action without visits. With a
# few hundred simulations, many moves then have none. The others are in neither paper. "puct" is AlphaGo's tree policy,
# here with learned patterns as its policy, and "puct_rave" adds AMAF values. "rlgo", which has won most games, is PUCT
# with a network of its own for nodes with a few visits.
_BY_NAME = {
    "mc": Settings(ActionValue.FLAT),
    "mcts_greedy": Settings(ActionValue.MC),
    "uct": Settings(ActionValue.MC, c=1.0, first_play_urgency=1.0),
    "rave": Settings(ActionValue.RAVE),
    "mc_rave": Settings(ActionValue.MC_RAVE),
    "uct_rave": Settings(ActionValue.MC_RAVE, c=0.1, schedule=RaveSchedule.HAND_SELECTED),
    "heuristic_mc_rave": Settings(ActionValue.MC_RAVE, heuristic=Heuristic.RLGO),
    "mc_rave_patterns": Settings(
        ActionValue.MC_RAVE,
        heuristic=Heuristic.RLGO_PATTERNS,
        patterns_after=8,
        leaf_value=0.75,
        leaf_fade=0.8,
        leaf_tempo=0.9,
    ),
    "puct": Settings(ActionValue.MC, c_puct=1.0, heuristic=Heuristic.PATTERNS),
    "puct_rave": Settings(ActionValue.MC_RAVE, c_puct=0.2, heuristic=Heuristic.PATTERNS),
    "rlgo": Settings(
        ActionValue.MC,
        c_puct=0.5,
        fpu_reduction=0.1,
        heuristic=Heuristic.HANDCRAFTED,
        network_after=4,
        network_policy=1.0,
        network_value=1.0,
        leaf_value=0.6,
    ),
}
# With plain numbers: numba would compile again for the members of an enum.
ALGORITHMS = {
    name: Settings._make(int(value) if isinstance(value, IntEnum) else value for value in settings)
    for name, settings in _BY_NAME.items()
}
