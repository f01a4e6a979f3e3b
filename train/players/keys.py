"""The keys of players, and the player that they make.

Start reading at `Keys`, then `TdSearchKeys`. Keys that are settings of an algorithm are declared there (see
`train.settings.group`), the others here. The tree search family is in `tree_keys.py`, the syntax of specs in `spec.py`.
To add a player, derive a class from `Keys` and `register` it.
"""

from __future__ import annotations

import inspect
from collections import UserDict
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from rlgo.base.bounds import Choice, Needs, needs
from rlgo.base.errors import RlgoError
from rlgo.base.settings import AT_LEAST_0, COUNT, PROBABILITY, SEED, THREADS, Learning, Policy
from rlgo.compiler.jit import seed_sequence
from rlgo.features.formats import load_any
from rlgo.features.weights import Weights, find_weights
from rlgo.go.board import new_board
from rlgo.learning.value import ValueFunction
from rlgo.moves.rollout import DEFAULT_POLICIES, DefaultPolicy
from rlgo.moves.softmax_policy import Tables, find_softmax_policy, load_softmax_policy
from rlgo.network.network import ConvNetwork, find_network, load_network
from rlgo.play.player import GreedyPlayer, Player, RandomPlayer, Seed
from rlgo.search import alphabeta, dyna2, table_search, td_search
from rlgo.search.alphabeta_player import AlphaBeta
from rlgo.search.network_player import NetworkPlayer
from rlgo.search.td_search import Simulation, TdSearch
from rlgo.search.two_phase import TwoPhase
from train import settings
from train.players.loading import loaded
from train.settings import (
    Count,
    GroupedSection,
    Sizes,
    SizesOrNone,
    Windows,
    Within,
    group,
    key,
    section,
)


def default_of(function: Callable[..., Any], argument: str) -> Any:
    """Return the default of a function's or a class's argument."""
    return inspect.signature(function).parameters[argument].default


# ---------------------------------------------------------------------------------------------
# What all players have
# ---------------------------------------------------------------------------------------------


class _Players(UserDict[str, Any]):
    """Players by name: the keys of each, or a function that makes them when they are first asked for."""

    def __getitem__(self, name: str) -> type[Keys]:
        if not isinstance(self.data[name], type):
            self.data[name] = self.data[name]()
        found: type[Keys] = self.data[name]
        return found


PLAYERS: MutableMapping[str, type[Keys]] = _Players()
"""All players by name; in addition, ``gtp:COMMAND`` runs an external engine."""

_KeysType = TypeVar("_KeysType", bound="type[Keys]")


def register(name: str) -> Callable[[_KeysType], _KeysType]:
    """Register a player under this name."""

    def add(cls: _KeysType) -> _KeysType:
        cls.name = name
        PLAYERS[name] = made = section(cls)
        return made

    return add


def register_later(name: str, make: Callable[[], type[Keys]]) -> None:
    """Register a player under this name, whose keys are made when they are first asked for.

    A section takes 10 ms to make, and most commands need one player or two.
    """
    PLAYERS[name] = make  # type: ignore[assignment]


@section
class Keys(GroupedSection):
    """The keys of one kind of player.

    Attributes
    ----------
    name : the player's name
    limits : keys that end a search. If `seconds` is given, limits that are not given do not apply
    by_size : by board size, values that replace the defaults there
    own : keys that are not handed on to the player that stands in, see `stand_in`
    levels : by level of the key `strength`, the values that it stands for; not to be set beside it, nor `limits`
    """

    name: ClassVar[str] = ""
    limits: ClassVar[tuple[str, ...]] = ()
    by_size: ClassVar[dict[int, dict[str, Any]]] = {}
    levels: ClassVar[dict[int, dict[str, Any]]] = {}
    own: ClassVar[tuple[str, ...]] = ()

    seed: Annotated[int, Within(SEED)] | None = key(
        None, "Seed of the player's random numbers; by default, the game sets it."
    )

    def stand_in(self) -> str:
        """Return the name of the player that plays in place of this one, with the keys given; "" if none does."""
        return ""

    def make(self, size: int, seed: Seed) -> Player:
        """Make the player, for boards of one size."""
        raise NotImplementedError


# Lists and words that several players share.
CountOrNone = Annotated[Count, Within(COUNT)] | Literal["none"]
Workers = Annotated[int, Within(THREADS)]
Probability = Annotated[float, Within(PROBABILITY)]
Seconds = Annotated[float, Within(AT_LEAST_0)]

SECONDS = "Seconds per move; 0: only the other limits apply."
SIMULATIONS = "Simulations per move; none: as many as the time allows, which is the default if `seconds` is given."
POLICY_FILE = key(
    "",
    "The file of a softmax policy, see `rlgo playouts`; empty: the shipped one.",
    implies={"default_policy": "softmax"},
)
WEIGHTS = key(
    "", "A weight file, or the name of shipped weights; empty: the shipped ones of the most games, 9x9-100M on 9x9."
)
RESIGN = "Resign if the best move's probability of winning is below this."


def default_policy_of(keys: Any) -> DefaultPolicy:
    """Return the default policy that a player's keys describe; RlgoError for a bad file."""
    if keys.default_policy == "softmax":
        tables = loaded(_load_tables, find_softmax_policy(keys.policy_file))
        return type(keys).rollout.read(keys, softmax=tables)
    if keys.policy_file:
        raise RlgoError(f"policy_file cannot be combined with default_policy = {keys.default_policy}")
    return keys.rollout


def _load_tables(file: Path) -> Tables:
    return load_softmax_policy(file).tables()


def seconds_or_none(seconds: float) -> float | None:
    """Convert 0 seconds to None, which means unlimited."""
    return seconds or None


def count_or_none(count: int | str) -> int | None:
    """Convert the word ``none`` to None, which means unlimited."""
    return None if isinstance(count, str) else count


def weights_for(text: str, size: int) -> Weights:
    """Load the weights that a spec names (see `weights.find_weights`); RlgoError if they are for another board."""
    return loaded(load_any, find_weights(text, size), size)


def own_network(name: str) -> ConvNetwork:
    """Load the network of rlgo's own that a spec names; RlgoError for a bad file."""
    return loaded(load_network, find_network(name))


# ---------------------------------------------------------------------------------------------
# One-ply players
# ---------------------------------------------------------------------------------------------


@register("random")
class RandomKeys(Keys):
    """Uniformly random sensible moves."""

    def make(self, size: int, seed: Seed) -> Player:  # noqa: ARG002  (it plays on any board)
        """Make the random player."""
        return RandomPlayer(seed)


@register("greedy")
class GreedyKeys(Keys):
    """One-ply search on learned weights (TD paper, Section 3.2)."""

    weights: settings.Shipped = WEIGHTS
    epsilon: Probability = key(default_of(GreedyPlayer, "epsilon"), "Probability of a uniformly random move.")

    def make(self, size: int, seed: Seed) -> Player:
        """Make the greedy player; its kernels are compiled now, not while a clock runs."""
        value_function = ValueFunction(weights_for(self.weights, size))
        value_function.afterstates(new_board(size))
        return GreedyPlayer(value_function, seed, self.epsilon)


@register("network")
class NetworkKeys(Keys):
    """The policy of a network, one evaluation a move, without any search."""

    network: settings.Shipped = key("", "A network file of `rlgo network`, or the name of a shipped one.")

    def make(self, size: int, seed: Seed) -> Player:  # noqa: ARG002  (it draws nothing)
        """Make the player; its kernels are compiled now, not while a clock runs."""
        if not self.network:
            raise RlgoError("network: expected a network file, as in network,network=FILE.npz")
        player = NetworkPlayer(size, own_network(self.network))
        player.warm_up()
        return player


# ---------------------------------------------------------------------------------------------
# TD search and Dyna-2
# ---------------------------------------------------------------------------------------------

NOT_OF_SEARCH = ("plies", "update", "normalise", "averaging")  # settings of `Learning` that are not keys of searches


@register("td_search")
class TdSearchKeys(Keys):
    """TD search (TD paper, Section 4)."""

    limits: ClassVar[tuple[str, ...]] = ("simulations", "seconds")

    simulations: CountOrNone = key(default_of(TdSearch, "simulations"), SIMULATIONS, aliases="sims")
    seconds: Seconds = key(0.0, SECONDS)
    sizes: Sizes = key(
        default_of(TdSearch, "sizes"), "Window sizes of the local shape features, such as 1+2.", "tdsearch_shapes"
    )
    windows: Windows = key(
        default_of(TdSearch, "windows"), "Its other windows, such as 2x3+atari plus.", aliases="liberties"
    )
    simulation: Simulation = group(Simulation())
    learning: Learning = group(td_search.LEARNING, without=NOT_OF_SEARCH)
    policy: Policy = group(td_search.POLICY, "epsilon")
    rollout: DefaultPolicy = group(DefaultPolicy(), kind={"bound": Choice(DEFAULT_POLICIES)})
    policy_file: settings.Path = POLICY_FILE
    reset: bool = key(default_of(TdSearch, "reset"), "Forget everything before each move.", "temporality")
    delay: Annotated[int, Within(td_search.DELAY)] = key(
        default_of(TdSearch, "delay"), "Play by the value function of this many own moves ago.", "temporality"
    )
    workers: Workers = key(default_of(TdSearch, "workers"), "Threads.")
    resign: Probability = key(default_of(TdSearch, "resign"), RESIGN)

    def _search(self) -> dict[str, Any]:
        """Return the arguments that `TdSearch` and `Dyna2` share."""
        return {
            "simulations": count_or_none(self.simulations),
            "seconds": seconds_or_none(self.seconds),
            "policy": self.policy,
            "learning": self.learning,
            "simulation": self.simulation,
            "default": default_policy_of(self),
            "windows": self.windows,
            "reset": self.reset,
            "delay": self.delay,
            "workers": self.workers,
            "resign": self.resign,
        }

    def make(self, size: int, seed: Seed) -> Player:
        """Make the TD search."""
        return TdSearch(size, self.sizes, seed=seed, **self._search())


@register("table_search")
class TableSearchKeys(Keys):
    """TD search with table look-up: greedy Monte-Carlo tree search (TD paper, Section 4.3)."""

    simulations: Annotated[Count, Within(table_search.TABLE_SIMULATIONS)] = key(
        default_of(table_search.TableSearch, "simulations"), "Simulations per move.", aliases="sims"
    )
    learning: table_search.TableLearning = group(table_search.MONTE_CARLO)
    policy: Policy = group(table_search.GREEDY, "epsilon", epsilon={"experiments": ""})
    rollout: DefaultPolicy = group(DefaultPolicy(), "kind", kind={"bound": Choice(DEFAULT_POLICIES)})
    policy_file: settings.Path = POLICY_FILE

    def make(self, size: int, seed: Seed) -> Player:
        """Make the table search."""
        return table_search.TableSearch(
            size, self.simulations, self.policy, self.learning, default_policy_of(self), seed=seed
        )


_LEARNS = Needs("long_learn = on", lambda keys: keys.long_learn)
_OF_LONG_TERM: Any = {"experiments": "", "needs": _LEARNS, "implies": {}}


@register("dyna2")
class Dyna2Keys(TdSearchKeys):
    """Dyna-2: a long-term memory, and TD search as its short-term memory (TD paper, Section 5)."""

    sizes: SizesOrNone = key(
        (1, 2, 3), "Window sizes of the short-term memory, such as 1+2; none: no short-term memory (the greedy player)."
    )
    learning: Learning = group(dyna2.SHORT_LEARNING, without=NOT_OF_SEARCH, value={"needs": needs("long_term", "none")})
    long_term: settings.Memory = key(
        "",
        "The long-term memory: a weight file; empty: the shipped ones of the most games; none: no long-term memory.",
        "dyna2",
        aliases="long",
    )
    long_learn: bool = key(False, "Let the long-term memory learn from each game that is played.")
    long_learning: Learning = group(
        dyna2.LONG_LEARNING,
        "alpha",
        "lambda_",
        alpha={"name": "long_alpha", "meaning": "Step size of the long-term memory.", **_OF_LONG_TERM},
        lambda_={"name": "long_lambda", "meaning": "Trace decay of the long-term memory.", **_OF_LONG_TERM},
    )
    long_epsilon: Probability = key(
        default_of(dyna2.Dyna2, "long_epsilon"), "Probability of a random move in the real game."
    )
    long_save: settings.Path = key(
        "", "A weight file to write the long-term memory to after each game it learned from; empty: none."
    )

    def make_dyna2(self, size: int, seed: Seed) -> dyna2.Dyna2:
        """Make the Dyna-2 search, on its own or as a first phase."""
        return dyna2.Dyna2(
            size,
            None if self.long_term == "none" else weights_for(self.long_term, size),
            self.sizes,
            long_learning=self.long_learning if self.long_learn else None,
            long_epsilon=self.long_epsilon,
            long_save=self.long_save or None,
            seed=seed,
            name=self.name,
            **self._search(),
        )

    def make(self, size: int, seed: Seed) -> Player:
        """Make the Dyna-2 player."""
        return self.make_dyna2(size, seed)


# ---------------------------------------------------------------------------------------------
# Alpha-beta, and Dyna-2 before it
# ---------------------------------------------------------------------------------------------


@section
class AlphaBetaPhase(Keys):
    """The keys shared by alpha-beta and two-phase search."""

    depth: Annotated[int, Within(alphabeta.DEPTH)] | Literal["none"] = key(
        default_of(AlphaBeta, "depth"),
        "Plies; none: as deep as the time allows, which is the default if `seconds` is given.",
        "alphabeta_depth",
    )
    options: alphabeta.AlphaBetaOptions = group(alphabeta.AlphaBetaOptions())
    table_bits: Annotated[int, Within(alphabeta.TABLE_BITS)] = key(
        default_of(AlphaBeta, "table_bits"),
        "The transposition table has 2^table_bits entries.",
        needs=Needs("table = on", lambda keys: keys.table),
    )
    workers: Workers = key(default_of(AlphaBeta, "workers"), "Threads.")

    def _alphabeta(self) -> dict[str, Any]:
        """Return the arguments that `AlphaBeta` and `TwoPhase` share."""
        return {
            "depth": count_or_none(self.depth),
            "options": self.options,
            "table_bits": self.table_bits,
            "workers": self.workers,
        }


@register("alphabeta")
class AlphaBetaKeys(AlphaBetaPhase):
    """Alpha-beta on learned weights (TD paper, Section 3.3.5)."""

    limits: ClassVar[tuple[str, ...]] = ("depth", "seconds")

    weights: settings.Shipped = WEIGHTS
    seconds: Seconds = key(0.0, SECONDS)

    def make(self, size: int, seed: Seed) -> Player:
        """Make the alpha-beta player."""
        return AlphaBeta(
            weights_for(self.weights, size), seconds=seconds_or_none(self.seconds), seed=seed, **self._alphabeta()
        )


@register("two_phase")
class TwoPhaseKeys(AlphaBetaPhase, Dyna2Keys):
    """Dyna-2, then alpha-beta on what it learned (TD paper, Section 6.1); they share the time evenly."""

    limits: ClassVar[tuple[str, ...]] = ("simulations", "depth", "seconds")

    def make(self, size: int, seed: Seed) -> Player:
        """Make the two-phase player."""
        first, second = seed_sequence(seed).spawn(2)
        return TwoPhase(
            self.make_dyna2(size, first), seconds=seconds_or_none(self.seconds), seed=second, **self._alphabeta()
        )
