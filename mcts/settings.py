"""What a tree search is composed of, the algorithms, and the resources of a search.

Start reading at `Search`, then `ALGORITHMS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

from annotated_types import Ge, Gt, Le

from mcts.leaves import LEAVES, CorrectedValue, LearnedValue, Mixture, NetworkValue, OutsideValue, Playout, Value
from mcts.leaves.playout import NO_TRUNCATION
from mcts.leaves.values import VALUES
from mcts.policies import POLICIES, Flat, Gumbel, Puct, Rave, Ucb1, confidences
from mcts.policies.rave import Schedule
from mcts.priors import PRIORS, Handcrafted, Network, Outside, Patterns, Rlgo, parts_of, sum_of
from mcts.priors.stages import Stage
from rlgo.base.checks import Key, Needs, validated
from rlgo.base.errors import RlgoError, shown
from rlgo.base.settings import Count, CountOr0, MaxMoves, NonNegative, Probability, Threads
from rlgo.go.rules import check_max_moves

MOST_MEMORY_MB = 50_000  # limit of a tree: beyond it, indices of edges would not fit into 32 bits

_SHARED = Needs("several workers that share a tree", lambda keys: keys.workers > 1 and not keys.root_parallel)
_WORKERS = Needs("several workers", lambda keys: keys.workers > 1)
_TEMPERATURE = Needs("a move_temperature above 0", lambda keys: keys.move_temperature > 0)
_QUICK = Needs("quick_simulations above 0", lambda keys: keys.quick_simulations > 0)


class Search(NamedTuple):
    """What a tree search is composed of: a tree policy, prior knowledge, and what a simulation is worth.

    `TreeSearch` checks it.

    >>> import mcts
    >>> search = mcts.ALGORITHMS["mc_rave"]._replace(policy=mcts.Rave(bias=0.001))
    >>> mcts.TreeSearch(9, search, simulations=500).settings.policy.bias
    0.001
    """

    policy: Any = Rave()  # of `policies.POLICIES`
    prior: Any = ()  # a tuple of `Stage`, by the visits from which on they count
    leaf: Any = Playout()  # of `leaves.LEAVES`
    expand_after: Annotated[Count, Key("Visits of an action before its position becomes a node.")] = 1
    move_temperature: Annotated[
        float,
        Ge(0),
        Le(100),
        Key("Draw the move to play in proportion to visits^(1 / move_temperature); 0: the most visited."),
    ] = 0.0
    temperature_plies: Annotated[CountOr0, Key("Moves of a game that are drawn; 0: all.", needs=_TEMPERATURE)] = 0
    virtual_loss: Annotated[  # where threads share a tree, or simulations wait for their values
        int,
        Ge(1),
        Le(1_000),
        Key("Losses that a thread adds on its way down a shared tree, to keep others off its path.", needs=_SHARED),
    ] = 1
    passes: bool = False  # whether a pass is an action everywhere, and not only near the end; an evaluator implies it
    max_moves: MaxMoves = 0  # plies before a simulation is scored as it is; 0: 3 * size * size

    def combine(self) -> None:
        """Refuse parts that are none, and stages of prior knowledge in a wrong order."""
        if type(self.prior) is not tuple or not all(isinstance(stage, Stage) for stage in self.prior):
            raise RlgoError(f"prior = {shown(self.prior)}: expected a tuple of mcts.Stage")
        priors = [part for stage in self.prior for part in parts_of(stage.prior)]
        values = [self.leaf.value] if hasattr(self.leaf, "value") else []
        for name, given, kinds, words in (
            ("policy", [self.policy], POLICIES, "a tree policy, such as mcts.Puct()"),
            ("prior", priors, PRIORS, "prior knowledge, such as mcts.Rlgo()"),
            ("leaf", [self.leaf], LEAVES, "what a simulation is worth, such as mcts.Playout()"),
            ("leaf", values, VALUES, "one with a value, such as mcts.LearnedValue()"),
        ):
            for part in given:
                if type(part) not in kinds:
                    raise RlgoError(f"{name} = {shown(part)}: expected {words}")
        if isinstance(self.policy, Gumbel) and any(isinstance(value, CorrectedValue) for value in values):
            raise RlgoError("policy = Gumbel cannot be combined with CorrectedValue; use NetworkValue")
        if isinstance(self.policy, Gumbel) and self.move_temperature:
            raise RlgoError("move_temperature cannot be combined with Gumbel, whose noise explores")
        after = [validated(stage).after for stage in self.prior]
        is_outside = any(isinstance(part, Outside) for part in priors)
        if after != sorted(set(after)) or (is_outside and (len(priors) > 1 or after != [1])):
            raise RlgoError("prior: expected stages after more and more visits, or that of an evaluator alone")


class Composition(NamedTuple):
    """A search as its kernels take it.

    Attributes
    ----------
    policy, prior, leaf, expand_after : as in `Search`
    virtual_loss : 0 if no tree is shared and no simulation waits for its value
    max_moves : plies before a simulation is scored as it is
    prior_n : C, the visits that the prior of a node counts for
    at_once : whether a new node has its prior at once, and not only when an action is chosen there
    is_outside : whether an evaluator gives priors
    passes : whether a pass is an action everywhere: an evaluator's policy knows how likely it is
    scale, shift : of its policies, see `log_odds.action_x`
    waits : whether the value of an evaluator is all that counts
    """

    policy: Any
    prior: tuple[Stage, ...]
    leaf: Any
    expand_after: int
    virtual_loss: int
    max_moves: int
    prior_n: int
    at_once: bool
    is_outside: bool
    passes: bool
    scale: float
    shift: float
    waits: bool


def compose(search: Search, size: int, shares_tree: bool) -> Composition:
    """Return the search as kernels take it, for a board size, and for threads that share a tree or not."""
    at_once = any(
        getattr(PRIORS[type(part)], "AT_ONCE", False) or (isinstance(part, Network) and stage.after == 1)
        for stage in search.prior
        for part in parts_of(stage.prior)
    )
    outside = next((part for part in parts(search) if isinstance(part, Outside)), None)
    scale, shift = outside or Outside()
    value = getattr(search.leaf, "value", None)
    if isinstance(value, NetworkValue | CorrectedValue) and not needs(search, "network"):
        raise RlgoError(f"leaf = {shown(search.leaf)}: expected mcts.Network among the priors, which gives the value")
    waits = isinstance(search.leaf, Value) and isinstance(search.leaf.value, OutsideValue)
    return Composition(
        search.policy,
        tuple(validated(stage) for stage in search.prior),
        search.leaf,
        search.expand_after,
        search.virtual_loss if shares_tree or waits else 0,
        check_max_moves(search.max_moves, size),
        confidences(search.policy)[0] if search.prior else 0,
        at_once,
        outside is not None,
        outside is not None or search.passes,
        float(scale),
        float(shift),
        waits,
    )


def parts(search: Search) -> Iterator[Any]:
    """Yield the priors, the leaf and the value of a search."""
    for stage in search.prior:
        yield from parts_of(stage.prior)
    yield search.leaf
    if hasattr(search.leaf, "value"):
        yield search.leaf.value


def needs(search: Search, what: str) -> bool:
    """Return whether the priors of a search need ``weights``, ``patterns`` or a ``network``."""
    return any(getattr(PRIORS.get(type(part)), "NEEDS", None) == what for part in parts(search))


def needs_weights(search: Search) -> bool:
    """Return whether a search needs a learned value function."""
    playout = getattr(search.leaf, "playout", search.leaf)
    is_truncated = isinstance(playout, Playout) and playout.truncate != NO_TRUNCATION
    uses_value = any(isinstance(part, LearnedValue | CorrectedValue) for part in parts(search))
    return is_truncated or uses_value or needs(search, "weights")


NETWORK_AFTER = 16  # visits of a node before a network evaluates it, where nothing else is said


def with_network(search: Search) -> Search:
    """Return a search that a network takes part in: its policy in a last stage, and its value in that of leaves."""
    if any(isinstance(part, Network) for part in parts(search)):
        return search
    last = parts_of(search.prior[-1].prior) if search.prior else []
    network = sum_of(*(part for part in last if isinstance(part, Rlgo)), Network())
    stages = (*(stage for stage in search.prior if stage.after < NETWORK_AFTER), Stage(network, NETWORK_AFTER))
    leaf = search.leaf
    if isinstance(getattr(leaf, "value", None), LearnedValue):
        leaf = leaf._replace(value=CorrectedValue(leaf.value.tempo))
    return search._replace(prior=stages, leaf=leaf)


def with_evaluator(search: Search) -> Search:
    """Return a search whose prior, and values of leaves if it has any, come from an evaluator."""
    leaf = search.leaf._replace(value=OutsideValue()) if hasattr(search.leaf, "value") else search.leaf
    return search._replace(prior=(Stage(Outside()),), leaf=leaf)


class Resources(NamedTuple):
    """The threads and the memory of a tree search, and how it saves time in training games.

    `TreeSearch` checks them.

    >>> import mcts
    >>> mcts.TreeSearch(9, resources=mcts.Resources(memory_mb=64)).resources.memory_mb
    64.0
    """

    workers: Annotated[Threads, Key("Threads.")] = 1
    root_parallel: Annotated[
        bool, Key("Give each thread its own tree and add up the roots, instead of sharing one tree.", needs=_WORKERS)
    ] = False
    memory_mb: Annotated[
        float,
        Gt(0),
        Le(MOST_MEMORY_MB),
        Key("Memory of all trees; once half of it is used, a new node takes more visits."),
    ] = 256.0
    reuse: Annotated[bool, Key("Keep the part of the tree below the next position.")] = True
    quick_simulations: Annotated[  # playout cap randomization (Wu 2019, Section 3.1)
        CountOr0,
        Key(
            "For training games: choose some moves, drawn at random, with only this many simulations, to finish games "
            "sooner. Of these searches, only the value is kept. 0: none.",
            aliases="quick",
        ),
    ] = 0
    quick_share: Annotated[Probability, Key("The share of these quick moves.", needs=_QUICK)] = 0.75
    quick_beyond: Annotated[
        float,
        Ge(0.5),
        Le(1),
        Key("All moves are quick while the last search valued either side above this; 1: never.", needs=_QUICK),
    ] = 1.0
    batch: Annotated[int, Ge(1), Le(10_000), Key("New nodes that the network evaluates together.")] = 8
    batch_ms: Annotated[
        NonNegative,
        Key(
            "Milliseconds that new nodes wait for their batch to fill. 0: until the end of a slice, about 10 ms; a "
            "search of one thread limited by simulations can then be repeated.",
        ),
    ] = 0.0


# The algorithms of the MC-RAVE paper. "uct" is that of its Section 2.5, with the settings of the TD paper's vanilla UCT
# (Section 4.5): c = 1, and a first-play urgency of 1 in place of the infinite bonus of an action without visits. With a
# few hundred simulations, many moves then have none. The others are in neither paper. "puct" is AlphaGo's tree policy,
# here with learned patterns as its policy. "rlgo", which has won most games, is PUCT with a network of its own for
# nodes with a few visits.
ALGORITHMS = {
    "mc": Search(Flat()),
    "mcts_greedy": Search(Ucb1()),
    "uct": Search(Ucb1(c=1.0, first_play_urgency=1.0)),
    "rave": Search(Rave(schedule=int(Schedule.AMAF))),
    "mc_rave": Search(Rave()),
    "uct_rave": Search(Rave(c=0.1, schedule=int(Schedule.HAND_SELECTED))),
    "heuristic_mc_rave": Search(Rave(), (Stage(Rlgo()),)),
    "mc_rave_patterns": Search(
        Rave(),
        (Stage(sum_of(Rlgo(), Handcrafted())), Stage(sum_of(Rlgo(), Patterns()), after=8)),
        Mixture(0.75, LearnedValue(tempo=0.9), fade=0.8),
    ),
    "puct": Search(Puct(), (Stage(Patterns()),)),
    "rlgo": Search(
        Puct(c=0.5, fpu_reduction=0.1), (Stage(Handcrafted()), Stage(Network(), after=4)), Mixture(0.6, NetworkValue())
    ),
}
