"""The keys of players: what each means, its default, its bounds, and the player that it makes.

Start reading at `Keys`, then `TdSearchKeys`. Defaults come from the algorithms' own settings; they are stated here
only where the algorithm has no such setting. The tree search family is in `tree_keys.py`, and how a spec is written in
`spec.py`. To add a player, derive a class from `Keys` and `register` it.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import Field

from rlgo.base.bounds import Choice, Number, bound, name_of
from rlgo.base.errors import RlgoError
from rlgo.base.jit import seed_sequence
from rlgo.base.settings import (
    AT_LEAST_0,
    COUNT,
    COUNT_OR_0,
    EPSILON_GREEDY,
    PROBABILITY,
    SHARINGS,
    STEP_SCHEDULES,
    THREADS,
    VALUES,
    Learning,
    Policy,
)
from rlgo.features.formats import load_any
from rlgo.features.weights import Weights, find_weights
from rlgo.go.board import new_board
from rlgo.learning.value import ValueFunction
from rlgo.moves.rollout import DEFAULT_POLICIES, SOFTMAX, TREE_DEFAULT_POLICIES, DefaultPolicy
from rlgo.moves.softmax_policy import Tables, find_softmax_policy, load_softmax_policy
from rlgo.play.player import GreedyPlayer, Player, RandomPlayer, Seed
from rlgo.search import alphabeta, dyna2, table_search, td_search
from rlgo.search.alphabeta_player import AlphaBeta
from rlgo.search.td_search import ALL_PLIES, THROUGHOUT, Simulation, TdSearch
from rlgo.search.two_phase import TwoPhase
from train import settings
from train.players.loading import loaded
from train.settings import Count, OneOf, Section, Sizes, SizesOrNone, Windows, Within, section

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_Settings = TypeVar("_Settings", bound=NamedTuple)


class Needs(NamedTuple):
    """What a key needs to have an effect."""

    words: str  # after "it needs"
    is_met: Callable[[Any], bool]  # of all the player's keys


def needs(field: str, *values: str) -> Needs:
    """Say that a key needs another one to have one of a few values."""
    return Needs(f"{field} = {' or '.join(values)}", lambda keys: getattr(keys, field) in values)


def key(default: Any, meaning: str, *experiments: str, needs: Needs | None = None, **bounds: Any) -> Any:
    """Declare a key of a player.

    Parameters
    ----------
    default : its value unless a spec sets it
    meaning : a sentence or two, for people who choose a value
    experiments : names of the experiments in configs/experiments that measured it
    needs : what else has to be chosen; a spec that sets the key without it is refused
    bounds : keywords of pydantic's `Field`, such as ``ge=0``
    """
    extra: Any = {"experiments": list(experiments), "needs": needs}
    return Field(default=default, description=meaning, json_schema_extra=extra, **bounds)


def setting(start: NamedTuple, name: str, meaning: str, *experiments: str, needs: Needs | None = None) -> Any:
    """Declare a key that is one of an algorithm's own settings: its default and its bounds are read from there.

    start : the settings with the player's defaults, such as `td_search.LEARNING`
    """
    kind, default = bound(type(start), name), getattr(start, name)
    if isinstance(kind, Choice):
        default = name_of(default, kind.codes)
    return key(default, meaning, *experiments, needs=needs, **(limits_of(kind) if isinstance(kind, Number) else {}))


def limits_of(kind: Number) -> dict[str, Any]:
    """Return the limits of a number as keywords of `key`."""
    return dict(kind.limits)


def default_of(function: Callable[..., Any], argument: str) -> Any:
    """Return the default of a function's or a class's argument."""
    return inspect.signature(function).parameters[argument].default


def with_default(field: FieldInfo, default: Any) -> Any:
    """Copy a key of a parent class, with another default."""
    changed = copy.copy(field)
    changed.default = default
    return changed


def filled(start: _Settings, keys: Section, **codes: Any) -> _Settings:
    """Replace the fields of an algorithm's settings by the keys of the same names, or by `codes`."""
    named = {name: getattr(keys, name) for name in start._fields if name in keys.fields()}
    return start._replace(**(named | codes))


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
        PLAYERS[name] = made = section(cls)
        return made

    return add


@section
class Keys(Section):
    """The keys of one kind of player.

    Attributes
    ----------
    name : the player's name
    limits : keys that end a search. If `seconds` is given, limits that are not given do not apply
    implied : if the first key is given, the others take these values instead of their defaults
    by_size : by board size, values that take the place of defaults there
    levels : by level of the key `strength`, the values that it stands for; neither they nor `limits` go beside it
    """

    name: ClassVar[str] = ""
    limits: ClassVar[tuple[str, ...]] = ()
    implied: ClassVar[dict[str, dict[str, Any]]] = {}
    by_size: ClassVar[dict[int, dict[str, Any]]] = {}
    levels: ClassVar[dict[int, dict[str, Any]]] = {}

    seed: Annotated[int, Field(ge=0, le=10**18 - 1)] | None = key(
        None, "Seed of the player's random numbers; by default, the game sets it."
    )

    def make(self, size: int, seed: Seed) -> Player:
        """Make the player, for boards of one size."""
        raise NotImplementedError


# Lists and words that several players share.
CountOrNone = Annotated[Count, Within(COUNT)] | Literal["none"]
PliesOrNever = Annotated[Count, Within(COUNT_OR_0)] | Literal["never"]
PliesOrAll = Annotated[Count, Within(COUNT)] | Literal["all"]
Workers = Annotated[int, Within(THREADS)]
Probability = Annotated[float, Within(PROBABILITY)]
Seconds = Annotated[float, Within(AT_LEAST_0)]

SECONDS = "Seconds per move; 0: only the other limits apply."
SIMULATIONS = "Simulations per move; none: as many as the time allows, which is the default if `seconds` is given."
DEFAULT_POLICY = "The default policy, which plays simulations to the end: MoGo's, uniformly random moves, or a softmax."
POLICY_FILE = (
    "The file of a softmax policy, see `rlgo playouts`; empty: the shipped one. Implies the default policy softmax."
)
BY_POLICY_FILE = {"policy_file": {"default_policy": "softmax"}}  # what it implies
WEIGHTS = "A weight file, or the name of shipped weights; empty: the shipped ones of the most games, 9x9-100M on 9x9."
RESIGN = "Resign if the best move's probability of winning is below this."
RULES = {
    "save": "MoGo's rule: save stones that were just put into atari.",
    "pattern": "MoGo's rule: 3x3 patterns around the last move.",
    "capture": "MoGo's rule: capture anything in atari.",
    "self_atari": "MoGo's rule: no pattern move into self-atari.",
    "mercy": "End simulations that are hopeless for one side.",
}
_DEFAULT = DefaultPolicy()
DEFAULT_KIND = name_of(_DEFAULT.kind, DEFAULT_POLICIES)


def rule(name: str) -> Any:
    """Declare the switch of one rule of the default policy."""
    return key(getattr(_DEFAULT, name), RULES[name], needs=None if name == "mercy" else _MOGO)


def _plays_mogo(keys: Any) -> bool:
    """Tell whether MoGo's rules are in use: by simulations, or by a tree search's heuristic."""
    return "mogo" in (keys.default_policy, getattr(keys, "heuristic", ""))


_MOGO = Needs("default_policy = mogo", _plays_mogo)


def default_policy_of(keys: Any) -> DefaultPolicy:
    """Return the default policy that a player's keys describe; RlgoError for a bad file."""
    kind, softmax = TREE_DEFAULT_POLICIES[keys.default_policy], None
    if kind == SOFTMAX:
        file = find_softmax_policy(keys.policy_file)
        softmax = loaded(_load_tables, file)
    elif keys.policy_file:
        raise RlgoError(f"policy_file cannot be combined with default_policy = {keys.default_policy}")
    return filled(_DEFAULT, keys, kind=kind, softmax=softmax)


def _load_tables(file: Path) -> Tables:
    return load_softmax_policy(file).tables()


def seconds_or_none(seconds: float) -> float | None:
    """Convert 0 seconds to None, which means unlimited."""
    return seconds or None


def count_or_none(count: int | str) -> int | None:
    """Convert the word ``none`` to None, which means unlimited."""
    return None if isinstance(count, str) else count


def plies_or(plies: int | str, code: int) -> int:
    """Convert a word, ``never`` or ``all``, to the algorithm's code for it."""
    return code if isinstance(plies, str) else plies


def weights_for(text: str, size: int) -> Weights:
    """Load the weights that a spec names (see `weights.find_weights`); RlgoError if they are for another board."""
    return loaded(load_any, find_weights(text, size), size)


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

    weights: settings.Shipped = key("", WEIGHTS)
    epsilon: Probability = key(default_of(GreedyPlayer, "epsilon"), "Probability of a uniformly random move.")

    def make(self, size: int, seed: Seed) -> Player:
        """Make the greedy player; its kernels are compiled now, not while a clock runs."""
        value_function = ValueFunction(weights_for(self.weights, size))
        value_function.afterstates(new_board(size))
        return GreedyPlayer(value_function, seed, self.epsilon)


# ---------------------------------------------------------------------------------------------
# TD search and Dyna-2
# ---------------------------------------------------------------------------------------------

_LEARNING, _SIMULATION = td_search.LEARNING, Simulation()
_HAS_AN_END = needs("schedule", "linear", "exponential")


@register("td_search")
class TdSearchKeys(Keys):
    """TD search (TD paper, Section 4)."""

    limits: ClassVar[tuple[str, ...]] = ("simulations", "seconds")
    implied: ClassVar[dict[str, dict[str, Any]]] = {
        "alpha": {"schedule": "constant"},
        "alpha_half": {"schedule": "harmonic"},
        "alpha_final": {"schedule": "linear"},
        **BY_POLICY_FILE,
    }
    aliases: ClassVar[dict[str, str]] = {
        "sims": "simulations",
        "T": "policy_plies",
        "learn": "learn_plies",
        "span": "schedule_games",
        "lambda": "lambda_",
        "default": "default_policy",
        "liberties": "windows",
    }

    simulations: CountOrNone = key(default_of(TdSearch, "simulations"), SIMULATIONS)
    seconds: Seconds = key(0.0, SECONDS)
    sizes: Sizes = key(
        default_of(TdSearch, "sizes"), "Window sizes of the local shape features, such as 1+2.", "tdsearch_shapes"
    )
    windows: Windows = key(default_of(TdSearch, "windows"), "Its other windows, such as 2x3+atari plus.")
    policy_plies: PliesOrNever = key(
        _SIMULATION.plies,
        "T: plies of both colours, from the root, before the default policy takes over; never: it does not.",
        "tdsearch_policy",
    )
    learn_plies: PliesOrAll = key(
        "all" if _SIMULATION.learn_plies == ALL_PLIES else _SIMULATION.learn_plies,
        "Learn from the states of this many plies; all: also from those that the default policy reaches.",
    )
    alpha: float = setting(
        _LEARNING,
        "alpha",
        "Step size. If it is given and `schedule` is not, it is constant.",
        "tdsearch_alpha",
        "step_lambda",
    )
    schedule: Annotated[str, OneOf(*STEP_SCHEDULES)] = setting(
        _LEARNING,
        "schedule",
        "How alpha falls with the simulations of a move: harmonic, to one half by simulation `alpha_half`; linear and "
        "exponential, to `alpha_final` within `schedule_games` simulations.",
        "tdsearch_alpha",
        "step_lambda",
    )
    alpha_final: float = setting(
        _LEARNING, "alpha_final", "The last alpha of the schedule; implies linear.", needs=_HAS_AN_END
    )
    alpha_half: float = setting(
        _LEARNING,
        "alpha_half",
        "The simulation by which alpha has halved; implies harmonic.",
        needs=needs("schedule", "harmonic"),
    )
    schedule_games: Count = setting(_LEARNING, "games", "Simulations that the schedule spans.", needs=_HAS_AN_END)
    epsilon: float = setting(
        td_search.POLICY,
        "epsilon",
        "Probability of a uniformly random move in the first T plies of a simulation.",
        "tdsearch_policy",
    )
    lambda_: float = setting(
        _LEARNING, "lambda_", "Trace decay: 0 is TD(0), 1 is Monte-Carlo.", "tdsearch_lambda", "step_lambda"
    )
    default_policy: Annotated[str, OneOf(*DEFAULT_POLICIES)] = key(DEFAULT_KIND, DEFAULT_POLICY)
    policy_file: settings.Path = key("", POLICY_FILE)
    save: bool = rule("save")
    pattern: bool = rule("pattern")
    capture: bool = rule("capture")
    self_atari: bool = rule("self_atari")
    mercy: bool = rule("mercy")
    max_moves: Count = setting(_SIMULATION, "max_moves", "Abandon a longer simulation; 0: 3 * size * size plies.")
    value: Annotated[str, OneOf(*VALUES)] = setting(
        _LEARNING, "value", "Whether V is logistic or linear in the features."
    )
    reset: bool = key(default_of(TdSearch, "reset"), "Forget everything before each move.", "temporality")
    delay: int = key(
        default_of(TdSearch, "delay"),
        "Play by the value function of this many own moves ago.",
        "temporality",
        **limits_of(td_search.DELAY),
    )
    workers: Workers = key(default_of(TdSearch, "workers"), "Threads.")
    resign: Probability = key(default_of(TdSearch, "resign"), RESIGN)

    def _search(self) -> dict[str, Any]:
        """Return the arguments that `TdSearch` and `Dyna2` share."""
        return {
            "simulations": count_or_none(self.simulations),
            "seconds": seconds_or_none(self.seconds),
            "policy": Policy(EPSILON_GREEDY, self.epsilon),
            "learning": filled(
                Learning(),
                self,
                schedule=STEP_SCHEDULES[self.schedule],
                games=self.schedule_games,
                value=VALUES[self.value],
            ),
            "simulation": Simulation(
                plies_or(self.policy_plies, THROUGHOUT), plies_or(self.learn_plies, ALL_PLIES), self.max_moves
            ),
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

    implied: ClassVar[dict[str, dict[str, Any]]] = BY_POLICY_FILE
    aliases: ClassVar[dict[str, str]] = {"sims": "simulations", "lambda": "lambda_", "default": "default_policy"}

    simulations: Count = key(
        default_of(table_search.TableSearch, "simulations"),
        "Simulations per move.",
        **limits_of(table_search.SIMULATIONS),
    )
    alpha: float = setting(table_search.MONTE_CARLO, "alpha", "Step size; 0: 1 / N(s, a), so that values are means.")
    epsilon: float = setting(
        table_search.GREEDY, "epsilon", "Probability of a uniformly random move in states of the table."
    )
    lambda_: float = setting(table_search.MONTE_CARLO, "lambda_", "Trace decay: 1 is Monte-Carlo.")
    default_policy: Annotated[str, OneOf(*DEFAULT_POLICIES)] = key(
        DEFAULT_KIND,
        "The default policy, which plays beyond the table: MoGo's, uniformly random moves, or a softmax.",
    )
    policy_file: settings.Path = key("", POLICY_FILE)

    def make(self, size: int, seed: Seed) -> Player:
        """Make the table search."""
        return table_search.TableSearch(
            size,
            self.simulations,
            filled(table_search.GREEDY, self),
            filled(table_search.MONTE_CARLO, self),
            default_policy_of(self),
            seed=seed,
        )


_SHORT, _LONG = dyna2.SHORT_LEARNING, dyna2.LONG_LEARNING
_LEARNS = Needs("long_learn = on", lambda keys: keys.long_learn)


@register("dyna2")
class Dyna2Keys(TdSearchKeys):
    """Dyna-2: a long-term memory, and TD search as its short-term memory (TD paper, Section 5)."""

    aliases: ClassVar[dict[str, str]] = {**TdSearchKeys.aliases, "long": "long_term"}

    sizes: SizesOrNone = key(
        (1, 2, 3), "Window sizes of the short-term memory, such as 1+2; none: no short-term memory (the greedy player)."
    )
    alpha: float = with_default(TdSearchKeys.fields()["alpha"], _SHORT.alpha)
    schedule: Annotated[str, OneOf(*STEP_SCHEDULES)] = with_default(
        TdSearchKeys.fields()["schedule"], name_of(_SHORT.schedule, STEP_SCHEDULES)
    )
    sharing: Annotated[str, OneOf(*SHARINGS)] = key(
        default_of(dyna2.Dyna2, "sharing"),
        "Weight sharing of the short-term memory. Anything but none keeps the memories apart, which is slower.",
    )
    apart: bool = key(default_of(dyna2.Dyna2, "apart"), "Keep the memories apart in any case.")
    long_term: settings.Memory = key(
        "",
        "The long-term memory: a weight file; empty: the shipped ones of the most games; none: no long-term memory.",
        "dyna2",
    )
    value: Annotated[str, OneOf(*VALUES)] = setting(
        _LEARNING,
        "value",
        "Whether V is logistic or linear in the features; with a long-term memory, its file decides.",
        needs=needs("long_term", "none"),
    )
    long_learn: bool = key(False, "Let the long-term memory learn from each game that is played.")
    long_alpha: float = setting(_LONG, "alpha", "Step size of the long-term memory.", needs=_LEARNS)
    long_lambda: float = setting(_LONG, "lambda_", "Trace decay of the long-term memory.", needs=_LEARNS)
    long_epsilon: Probability = key(
        default_of(dyna2.Dyna2, "long_epsilon"), "Probability of a random move in the real game."
    )
    long_save: settings.Path = key(
        "", "A weight file to write the long-term memory to after each game it learned from; empty: none."
    )

    def make_dyna2(self, size: int, seed: Seed) -> dyna2.Dyna2:
        """Make the Dyna-2 search, on its own or as a first phase."""
        long_learning = _LONG._replace(alpha=self.long_alpha, lambda_=self.long_lambda)
        return dyna2.Dyna2(
            size,
            None if self.long_term == "none" else weights_for(self.long_term, size),
            self.sizes,
            self.sharing,
            apart=self.apart,
            long_learning=long_learning if self.long_learn else None,
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

_OPTIONS = alphabeta.Options()


@section
class AlphaBetaPhase(Keys):
    """The keys shared by alpha-beta and two-phase search."""

    depth: Annotated[int, Within(alphabeta.DEPTH)] | Literal["none"] = key(
        default_of(AlphaBeta, "depth"),
        "Plies; none: as deep as the time allows, which is the default if `seconds` is given.",
        "alphabeta_depth",
    )
    table: bool = key(_OPTIONS.table, "Transposition table.")
    table_bits: int = key(
        default_of(AlphaBeta, "table_bits"),
        "The transposition table has 2^table_bits entries.",
        needs=Needs("table = on", lambda keys: keys.table),
        **limits_of(alphabeta.TABLE_BITS),
    )
    killers: bool = key(_OPTIONS.killers, "Killer moves.")
    history: bool = key(_OPTIONS.history, "History heuristic.")
    pvs: bool = key(_OPTIONS.pvs, "Principal variation search.")
    null_move: bool = key(_OPTIONS.null_move, "Null moves. They may change the result.")
    reductions: bool = key(
        _OPTIONS.reductions, "Late move reductions: three plies more in the same time. They may change the result."
    )
    workers: Workers = key(default_of(AlphaBeta, "workers"), "Threads.")

    def _alphabeta(self) -> dict[str, Any]:
        """Return the arguments that `AlphaBeta` and `TwoPhase` share."""
        return {
            "depth": count_or_none(self.depth),
            "options": filled(_OPTIONS, self),
            "table_bits": self.table_bits,
            "workers": self.workers,
        }


@register("alphabeta")
class AlphaBetaKeys(AlphaBetaPhase):
    """Alpha-beta on learned weights (TD paper, Section 3.3.5)."""

    limits: ClassVar[tuple[str, ...]] = ("depth", "seconds")

    weights: settings.Shipped = key("", WEIGHTS)
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
