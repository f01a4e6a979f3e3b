"""The keys of players, and the player that they make.

Start reading at `Keys`, then `TdSearchKeys`. Keys that are settings of an algorithm are declared there (see
`train.settings.Group`), the others here. The tree search family is in `tree_keys.py`, the syntax of specs in `spec.py`.
To add a player, derive a class from `Keys` and `register` it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from rlgo.base.checks import Key, Needs, needs
from rlgo.base.errors import RlgoError
from rlgo.base.settings import Count, CountOr0, Learning, NonNegative, Policy, Probability, SeedNumber, Threads
from rlgo.compiler.jit import seed_sequence
from rlgo.features.weights import Weights, find_weights, load_weights
from rlgo.go.board import new_board
from rlgo.learning.value import ValueFunction
from rlgo.moves.rollout import DefaultPolicy
from rlgo.play.player import GreedyPlayer, Player, RandomPlayer, Seed
from rlgo.search import alphabeta, dyna2, table_search, td_search
from rlgo.search.alphabeta_player import AlphaBeta
from rlgo.search.network_player import NetworkPlayer
from rlgo.search.td_search import Simulation, TdSearch
from rlgo.search.two_phase import TwoPhase
from train import settings
from train.players.loading import loaded
from train.players.networks import load_any_network
from train.settings import Group, Section, Sizes, SizesOrNone, Windows


def default_of(function: Callable[..., Any], argument: str) -> Any:
    """Return the default of a function's or a class's argument."""
    return inspect.signature(function).parameters[argument].default


# ---------------------------------------------------------------------------------------------
# What all players have
# ---------------------------------------------------------------------------------------------


PLAYERS: dict[str, type[Keys]] = {}
"""All players by name; in addition, ``gtp:COMMAND`` runs an external engine."""

_KeysType = TypeVar("_KeysType", bound="type[Keys]")


def register(name: str) -> Callable[[_KeysType], _KeysType]:
    """Register a player under this name."""

    def add(cls: _KeysType) -> _KeysType:
        cls.name = name
        PLAYERS[name] = cls
        return cls

    return add


@dataclass(frozen=True)
class Keys(Section):
    """The keys of one kind of player.

    Attributes
    ----------
    name : the player's name
    limits : keys that end a search. If `seconds` is given, limits that are not given do not apply
    by_size : by board size, values that replace the defaults there
    own : keys that are not handed on to the player that stands in, see `stand_in`
    no_keys : arguments of a player in Python that are no keys, with the reason
    """

    name: ClassVar[str] = ""
    limits: ClassVar[tuple[str, ...]] = ()
    by_size: ClassVar[dict[int, dict[str, Any]]] = {}
    no_keys: ClassVar[dict[str, str]] = {}
    own: ClassVar[tuple[str, ...]] = ()

    seed: Annotated[SeedNumber | None, Key("Seed of the player's random numbers; by default, the game sets it.")] = None

    def stand_in(self) -> str:
        """Return the name of the player that plays in place of this one, with the keys given; "" if none does."""
        return ""

    def make(self, size: int, seed: Seed) -> Player:
        """Make the player, for boards of one size."""
        raise NotImplementedError


# Types and words that several players share.
CountOrNone = Count | Literal["none"]

SECONDS = "Seconds per move; 0: no limit of time."
SIMULATIONS = "Simulations per move; none: as many as the time allows, which is the default if `seconds` is given."
WeightsName = Annotated[
    settings.Shipped,
    Key("A weight file, or the name of shipped weights; empty: the shipped ones of the most games, 9x9-100M on 9x9."),
]
RESIGN = "Resign when the best move's probability of winning is below this."


def seconds_or_none(seconds: float) -> float | None:
    """Convert 0 seconds to None, which means unlimited."""
    return seconds or None


def count_or_none(count: int | str) -> int | None:
    """Convert the word ``none`` to None, which means unlimited."""
    return None if isinstance(count, str) else count


def weights_for(text: str, size: int) -> Weights:
    """Load the weights that a spec names (see `load_weights`); RlgoError if they are for another board."""
    return loaded(load_weights, find_weights(text, size), size)


# ---------------------------------------------------------------------------------------------
# One-ply players
# ---------------------------------------------------------------------------------------------


@register("random")
@dataclass(frozen=True)
class RandomKeys(Keys):
    """Uniformly random sensible moves."""

    def make(self, size: int, seed: Seed) -> Player:  # noqa: ARG002  (it plays on any board)
        """Make the random player."""
        return RandomPlayer(seed)


@register("greedy")
@dataclass(frozen=True)
class GreedyKeys(Keys):
    """One-ply search on learned weights (TD paper, Section 3.2)."""

    weights: WeightsName = ""
    epsilon: Annotated[Probability, Key("Probability of a uniformly random move.")] = default_of(
        GreedyPlayer, "epsilon"
    )

    def make(self, size: int, seed: Seed) -> Player:
        """Make the greedy player; its kernels are compiled now, not while a clock runs."""
        value_function = ValueFunction(weights_for(self.weights, size))
        value_function.afterstates(new_board(size))
        return GreedyPlayer(value_function, seed, self.epsilon)


@register("network")
@dataclass(frozen=True)
class NetworkKeys(Keys):
    """The policy of a network without search, one evaluation a move. The lowest levels of `rlgo` use it."""

    network: Annotated[
        settings.Shipped,
        Key(
            "A network file of `rlgo network`, the name of a shipped one, an ONNX file, or MODULE:NAME, an evaluator "
            "in Python."
        ),
    ] = ""
    temperature: Annotated[
        NonNegative,
        Key("Draw moves in proportion to P(a)^(1 / temperature), none on the first line in the opening; 0: the best."),
    ] = default_of(NetworkPlayer, "temperature")
    sees: Annotated[
        CountOr0,
        Key(
            "Never draw a move that is less probable than a capture of this many stones or more; 0: any.",
            needs=Needs("a temperature above 0", lambda keys: keys.temperature > 0),
        ),
    ] = default_of(NetworkPlayer, "sees")

    def make(self, size: int, seed: Seed) -> Player:
        """Make the player; its kernels are compiled now, not while a clock runs."""
        if not self.network:
            raise RlgoError("network: expected a network file, as in network,network=FILE.npz")
        player = NetworkPlayer(size, load_any_network(self.network), self.temperature, self.sees, seed=seed)
        player.warm_up()
        return player


# ---------------------------------------------------------------------------------------------
# TD search and Dyna-2
# ---------------------------------------------------------------------------------------------

NOT_OF_SEARCH = ("plies", "update", "normalise", "averaging")  # settings of `Learning` that are not keys of searches


@register("td_search")
@dataclass(frozen=True)
class TdSearchKeys(Keys):
    """TD search: learns a value function from simulations of the current position (TD paper, Section 4)."""

    limits: ClassVar[tuple[str, ...]] = ("simulations", "seconds")

    simulations: Annotated[CountOrNone, Key(SIMULATIONS, aliases="sims")] = default_of(TdSearch, "simulations")
    seconds: Annotated[NonNegative, Key(SECONDS)] = 0.0
    sizes: Annotated[Sizes, Key("Window sizes of the local shape features, such as 1+2.", "tdsearch_shapes")] = (
        default_of(TdSearch, "sizes")
    )
    windows: Annotated[Windows, Key("Irregular windows, such as 2x3+atari plus.", aliases="liberties")] = default_of(
        TdSearch, "windows"
    )
    simulation: Annotated[Simulation, Group()] = Simulation()
    learning: Annotated[Learning, Group(without=NOT_OF_SEARCH)] = td_search.LEARNING
    policy: Annotated[Policy, Group("epsilon")] = td_search.POLICY
    rollout: Annotated[DefaultPolicy, Group()] = DefaultPolicy()
    reset: Annotated[bool, Key("Forget everything before each move.", "temporality")] = default_of(TdSearch, "reset")
    delay: Annotated[td_search.Delay, Key("Play by the value function of this many own moves ago.", "temporality")] = (
        default_of(TdSearch, "delay")
    )
    workers: Annotated[Threads, Key("Threads.")] = default_of(TdSearch, "workers")
    resign: Annotated[Probability, Key(RESIGN)] = default_of(TdSearch, "resign")

    def _search(self) -> dict[str, Any]:
        """Return the arguments that `TdSearch` and `Dyna2` share."""
        return {
            "simulations": count_or_none(self.simulations),
            "seconds": seconds_or_none(self.seconds),
            "policy": self.policy,
            "learning": self.learning,
            "simulation": self.simulation,
            "default": self.rollout,
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
@dataclass(frozen=True)
class TableSearchKeys(Keys):
    """TD search with table look-up: greedy Monte-Carlo tree search (TD paper, Section 4.3)."""

    simulations: Annotated[table_search.TableSimulations, Key("Simulations per move.", aliases="sims")] = default_of(
        table_search.TableSearch, "simulations"
    )
    learning: Annotated[table_search.TableLearning, Group()] = table_search.MONTE_CARLO
    policy: Annotated[Policy, Group("epsilon", epsilon={"experiments": ""})] = table_search.GREEDY
    rollout: Annotated[DefaultPolicy, Group("kind")] = DefaultPolicy()

    def make(self, size: int, seed: Seed) -> Player:
        """Make the table search."""
        return table_search.TableSearch(size, self.simulations, self.policy, self.learning, self.rollout, seed=seed)


_LEARNS = Needs("long_learn = on", lambda keys: keys.long_learn)
_OF_LONG_TERM: Any = {"experiments": "", "needs": _LEARNS, "implies": {}}


@register("dyna2")
@dataclass(frozen=True)
class Dyna2Keys(TdSearchKeys):
    """Dyna-2: a long-term memory, and TD search as its short-term memory (TD paper, Section 5)."""

    sizes: Annotated[
        SizesOrNone,
        Key("Window sizes of the short-term memory, such as 1+2; none: no short-term memory (the greedy player)."),
    ] = (1, 2, 3)
    learning: Annotated[Learning, Group(without=NOT_OF_SEARCH, value={"needs": needs("long_term", "none")})] = (
        dyna2.SHORT_LEARNING
    )
    long_term: Annotated[
        settings.Memory,
        Key(
            "The long-term memory: a weight file; empty: the shipped ones of the most games; none: no long-term "
            "memory.",
            "dyna2",
            aliases="long",
        ),
    ] = ""
    long_learn: Annotated[bool, Key("Let the long-term memory learn from each game that is played.")] = False
    long_learning: Annotated[
        Learning,
        Group(
            "alpha",
            "lambda_",
            alpha={"name": "long_alpha", "meaning": "Step size of the long-term memory.", **_OF_LONG_TERM},
            lambda_={"name": "long_lambda", "meaning": "Trace decay of the long-term memory.", **_OF_LONG_TERM},
        ),
    ] = dyna2.LONG_LEARNING
    long_epsilon: Annotated[Probability, Key("Probability of a random move in the real game.")] = default_of(
        dyna2.Dyna2, "long_epsilon"
    )
    long_save: Annotated[
        settings.Path,
        Key("A weight file for the long-term memory, written after each game that it learned from; empty: none."),
    ] = ""

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


@dataclass(frozen=True)
class AlphaBetaPhase(Keys):
    """The keys shared by alpha-beta and two-phase search."""

    depth: Annotated[
        alphabeta.Depth | Literal["none"],
        Key("Plies; none: as deep as the time allows, which is the default if `seconds` is given.", "alphabeta_depth"),
    ] = default_of(AlphaBeta, "depth")
    options: Annotated[alphabeta.AlphaBetaOptions, Group()] = alphabeta.AlphaBetaOptions()
    table_bits: Annotated[
        alphabeta.TableBits,
        Key("The transposition table has 2^table_bits entries.", needs=Needs("table = on", lambda keys: keys.table)),
    ] = default_of(AlphaBeta, "table_bits")

    def _alphabeta(self) -> dict[str, Any]:
        """Return the arguments that `AlphaBeta` and `TwoPhase` share."""
        return {
            "depth": count_or_none(self.depth),
            "options": self.options,
            "table_bits": self.table_bits,
        }


@register("alphabeta")
@dataclass(frozen=True)
class AlphaBetaKeys(AlphaBetaPhase):
    """Alpha-beta on learned weights (TD paper, Section 3.3.5)."""

    limits: ClassVar[tuple[str, ...]] = ("depth", "seconds")

    weights: WeightsName = ""
    seconds: Annotated[NonNegative, Key(SECONDS)] = 0.0

    def make(self, size: int, seed: Seed) -> Player:
        """Make the alpha-beta player."""
        return AlphaBeta(
            weights_for(self.weights, size), seconds=seconds_or_none(self.seconds), seed=seed, **self._alphabeta()
        )


@register("two_phase")
@dataclass(frozen=True)
class TwoPhaseKeys(AlphaBetaPhase, Dyna2Keys):
    """Dyna-2, then alpha-beta on what it learned (TD paper, Section 6.1); they share the time evenly."""

    limits: ClassVar[tuple[str, ...]] = ("simulations", "depth", "seconds")

    def make(self, size: int, seed: Seed) -> Player:
        """Make the two-phase player."""
        first, second = seed_sequence(seed).spawn(2)
        return TwoPhase(
            self.make_dyna2(size, first), seconds=seconds_or_none(self.seconds), seed=second, **self._alphabeta()
        )
