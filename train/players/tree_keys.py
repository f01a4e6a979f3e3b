"""The keys of the tree search family: flat Monte-Carlo, UCT, RAVE, MC-RAVE and their variants (MC-RAVE paper).

Start reading at `TreeKeys`. The algorithms of `mcts.settings.ALGORITHMS` share their keys and differ in the defaults,
which are read from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from mcts.player import TreeSearch
from mcts.settings import (
    ALGORITHMS,
    HEURISTICS,
    LEARNED_PATTERNS,
    LEARNED_VALUES,
    NO_TRUNCATION,
    RAVE_SCHEDULES,
    Resources,
    Settings,
)
from rlgo.base.bounds import bound, name_of
from rlgo.base.errors import RlgoError
from rlgo.base.jit import seed_sequence
from rlgo.base.settings import MAX_SIZE, MIN_SIZE
from rlgo.features.weights import Weights, shipped_weight_sizes
from rlgo.moves.patterns import Patterns, find_patterns, load_patterns
from rlgo.moves.rollout import TREE_DEFAULT_POLICIES
from rlgo.play.player import Player, Seed
from rlgo.search.td_search import TdSearch
from train import settings
from train.players.keys import (
    BY_POLICY_FILE,
    DEFAULT_KIND,
    POLICY_FILE,
    RESIGN,
    SECONDS,
    SIMULATIONS,
    CountOrNone,
    Keys,
    Needs,
    PliesOrNever,
    Probability,
    Seconds,
    Workers,
    count_or_none,
    default_of,
    default_policy_of,
    filled,
    key,
    needs,
    plies_or,
    register,
    rule,
    seconds_or_none,
    setting,
    weights_for,
    with_default,
)
from train.players.levels import LEVELS
from train.players.loading import loaded
from train.players.spec import make_player
from train.settings import Count, OneOf, nested_spec, section

_SETTINGS, _RESOURCES = Settings(), Resources()
_CODES: dict[str, Mapping[str, int]] = {"schedule": RAVE_SCHEDULES, "heuristic": HEURISTICS}  # by name
_ON_19X19 = {"simulations": 10_000}  # 361 moves need more than 81


@section
class SimulationKeys(Keys):
    """The keys shared by the whole family."""

    limits: ClassVar[tuple[str, ...]] = ("simulations", "seconds")
    implied: ClassVar[dict[str, dict[str, Any]]] = BY_POLICY_FILE
    aliases: ClassVar[dict[str, str]] = {"sims": "simulations", "default": "default_policy"}
    best_weights: ClassVar[dict[int, str]] = {}  # by board size, where they are not those of the best greedy player

    simulations: CountOrNone = key(default_of(TreeSearch, "simulations"), SIMULATIONS)
    seconds: Seconds = key(0.0, SECONDS)
    default_policy: Annotated[str, OneOf(*TREE_DEFAULT_POLICIES)] = key(
        DEFAULT_KIND,
        "The default policy, which plays simulations to the end: MoGo's, uniformly random moves, a softmax, or by the "
        "weights.",
    )
    policy_file: settings.Path = key("", POLICY_FILE)
    epsilon: Probability = key(
        default_of(TreeSearch, "epsilon"),
        "Probability of a uniformly random move of the default policy.",
        needs=needs("default_policy", "rlgo"),
    )
    save: bool = rule("save")
    pattern: bool = rule("pattern")
    capture: bool = rule("capture")
    self_atari: bool = rule("self_atari")
    mercy: bool = rule("mercy")
    truncate: PliesOrNever = key(
        "never" if _SETTINGS.truncate == NO_TRUNCATION else _SETTINGS.truncate,
        "After this many plies of the default policy, V of the weights is the outcome.",
    )
    weights: settings.Shipped = key(
        "",
        "The weights, where needed: a file, or the name of shipped weights; empty: the shipped ones of the most games, "
        "9x9-100M on 9x9, but 9x9-liberties-5M for `rlgo`.",
    )
    workers: Workers = key(_RESOURCES.workers, "Threads.")
    root_parallel: bool = setting(
        _RESOURCES,
        "root_parallel",
        "Give each thread its own tree, and add up the roots.",
        needs=Needs("several workers", lambda keys: keys.workers > 1),
    )
    virtual_loss: int = key(
        1,
        "Losses that a thread adds on its way down a shared tree, to keep others off its path.",
        needs=Needs("several workers that share a tree", lambda keys: keys.workers > 1 and not keys.root_parallel),
        ge=1,
        le=bound(Settings, "virtual_loss").le,
    )
    resign: Probability = key(default_of(TreeSearch, "resign"), RESIGN)

    def make(self, size: int, seed: Seed) -> Player:
        """Make the tree search."""
        sequence = seed_sequence(seed)
        codes = {name: codes[getattr(self, name)] for name, codes in _CODES.items() if name in self.fields()}
        return TreeSearch(
            size,
            filled(ALGORITHMS[self.name], self, truncate=plies_or(self.truncate, NO_TRUNCATION), **codes),
            count_or_none(self.simulations),
            seconds_or_none(self.seconds),
            resources=filled(_RESOURCES, self),
            default_policy=default_policy_of(self),
            epsilon=self.epsilon,
            weights=self._load_weights(size),
            patterns=self._load_patterns(size),
            prior_search=self._make_prior_search(size, sequence),
            resign=self.resign,
            seed=sequence,
            name=self.name,
        )

    def _make_prior_search(self, size: int, seed: np.random.SeedSequence) -> TdSearch | None:  # noqa: ARG002  (of trees)
        """Make the search that learns before each search; only algorithms with a tree may have one."""
        return None

    def _load_patterns(self, size: int) -> Patterns | None:  # noqa: ARG002  (of trees)
        """Load the patterns that the search needs, if any; only algorithms with a tree may need them."""
        return None

    def _load_weights(self, size: int) -> Weights | None:
        """Load the weights that the search needs, if any. RlgoError for a file that is named in vain."""
        if self._needs_weights():
            return weights_for(self.weights or self.best_weights.get(size, ""), size)
        if self.weights:
            raise RlgoError(f"weights = {self.weights}: not used with these settings; see heuristic and default_policy")
        return None

    def _needs_weights(self) -> bool:
        return self.default_policy == "rlgo" or self.truncate != "never"


@register("mc")
class McKeys(SimulationKeys):
    """Flat Monte-Carlo: no tree, the same number of simulations for every move (MC-RAVE paper, Section 2.3)."""

    temperature: float = setting(
        _SETTINGS, "temperature", "Simulate moves in proportion to exp(Q / temperature); 0: all equally often."
    )
    pruning: float = setting(
        _SETTINGS,
        "pruning",
        "Progressive pruning: drop a move if its value is this many standard errors of both below the best; 0: none.",
    )


_HEURISTIC = Needs("a heuristic", lambda keys: keys.heuristic != "none")
_PATTERNS = Needs(
    "a heuristic with learned patterns and no prior_search",
    lambda keys: HEURISTICS[keys.heuristic] in LEARNED_PATTERNS and not keys.prior_search,
)
_LEAF_VALUE = Needs("a leaf_value above 0", lambda keys: keys.leaf_value > 0)


def _believes(keys: Any) -> bool:
    """Tell whether H counts at all, as an MC value or, where there are any, as an AMAF value."""
    return keys.heuristic == "none" or max(keys.prior_n, getattr(keys, "prior_n_amaf", 0)) > 0


@section
class TreeKeys(SimulationKeys):
    """The keys shared by the algorithms with a tree."""

    aliases: ClassVar[dict[str, str]] = {
        **SimulationKeys.aliases,
        "fpu": "first_play_urgency",
        "C": "prior_n",
        "first": "prior_search",
    }

    c: float = setting(_SETTINGS, "c", "Exploration constant of UCB1.", "exploration")
    first_play_urgency: float = setting(
        _SETTINGS, "first_play_urgency", "The value of an action without any statistics."
    )
    expand_after: Count = setting(_SETTINGS, "expand_after", "Visits of an action before its position becomes a node.")
    patterns_after: Count = setting(
        _SETTINGS,
        "patterns_after",
        "Visits of a node before its prior has learned patterns; until then they are replaced by handcrafted values.",
        needs=_PATTERNS,
    )
    heuristic: Annotated[str, OneOf(*HEURISTICS)] = setting(
        _SETTINGS,
        "heuristic",
        "H, the prior knowledge of new nodes; both: rlgo and handcrafted; rlgo_patterns: rlgo and patterns.",
        "heuristics",
        needs=Needs("a confidence in H (prior_n) of at least 1", _believes),
    )
    patterns: settings.Shipped = key(
        "",
        "Learned patterns, where needed: a file, or the name of shipped ones; empty: the ones shipped for this size or "
        "the nearest.",
    )
    prior_n: Count = setting(
        _SETTINGS, "prior_n", "C, the confidence in H as an MC value, in visits.", "heuristics", needs=_HEURISTIC
    )
    prior_search: settings.FirstPhase = key(
        "",
        "Two phases: a td_search or dyna2 player that learns before each search, whose value is the heuristic rlgo. "
        "Its file, or its spec with semicolons in place of commas.",
        "two_phase_mcts",
    )
    leaf_value: float = setting(
        _SETTINGS,
        "leaf_value",
        "The share of V, by the weights, of the position where the tree ends, in the outcome of each simulation.",
    )
    leaf_fade: float = setting(
        _SETTINGS, "leaf_fade", "The part of `leaf_value` that is lost as the board fills up.", needs=_LEAF_VALUE
    )
    leaf_tempo: float = setting(
        _SETTINGS,
        "leaf_tempo",
        "What a turn is worth in V of that position, before the logistic function.",
        needs=_LEAF_VALUE,
    )
    reuse: bool = setting(_RESOURCES, "reuse", "Keep the part of the tree below the next position.")
    memory_mb: float = setting(
        _RESOURCES, "memory_mb", "Memory of the tree; from half of it on, a node takes more visits."
    )

    def _make_prior_search(self, size: int, seed: np.random.SeedSequence) -> TdSearch | None:
        if not self.prior_search:
            return None
        # It needs its own seed: two searches with one seed would draw the same numbers.
        search = make_player(nested_spec(self.prior_search), size, seed.spawn(1)[0])
        if not isinstance(search, TdSearch):
            raise RlgoError(f"prior_search = {self.prior_search}: expected a td_search or dyna2 player")
        return search

    def _load_patterns(self, size: int) -> Patterns | None:
        if HEURISTICS[self.heuristic] not in LEARNED_PATTERNS:
            if self.patterns:
                raise RlgoError(f"patterns = {self.patterns}: not used with heuristic = {self.heuristic}")
            return None
        return loaded(load_patterns, find_patterns(self.patterns, size))

    def _needs_weights(self) -> bool:
        needs_value = self.leaf_value > 0 or HEURISTICS[self.heuristic] in LEARNED_VALUES
        return super()._needs_weights() or (needs_value and not self.prior_search)


@section
class RaveKeys(TreeKeys):
    """The keys shared by the algorithms with all-moves-as-first values."""

    aliases: ClassVar[dict[str, str]] = {**TreeKeys.aliases, "M": "prior_n_amaf"}

    amaf_own: bool = setting(
        _SETTINGS,
        "amaf_own",
        "All moves as first as in Algorithm 2: earlier plays by the other player do not exclude a point.",
        "rave_readings",
    )
    prior_n_amaf: Count = setting(
        _SETTINGS,
        "prior_n_amaf",
        "M (C~), the confidence in H as an AMAF value, in visits.",
        "heuristics",
        needs=_HEURISTIC,
    )


@section
class McRaveKeys(RaveKeys):
    """The keys shared by the algorithms that combine MC values with all-moves-as-first values."""

    implied: ClassVar[dict[str, dict[str, Any]]] = {**BY_POLICY_FILE, "rave_k": {"schedule": "hand_selected"}}
    aliases: ClassVar[dict[str, str]] = {**RaveKeys.aliases, "k": "rave_k", "bias": "rave_bias"}

    schedule: Annotated[str, OneOf(*RAVE_SCHEDULES)] = setting(
        _SETTINGS,
        "schedule",
        "How MC and AMAF values are combined: with the least squared error, by `rave_bias`, or hand-selected, by "
        "`rave_k` and the visits of the position or, with hand_selected_action, of the move.",
        "rave_schedule",
    )
    rave_k: float = setting(
        _SETTINGS,
        "rave_k",
        "k, the equivalence parameter; implies the hand-selected schedule.",
        "rave_k",
        needs=needs("schedule", "hand_selected", "hand_selected_action"),
    )
    rave_bias: float = setting(
        _SETTINGS,
        "rave_bias",
        "b, the bias of AMAF values.",
        "rave_bias",
        needs=needs("schedule", "minimum_mse", "minimum_mse_exact"),
    )


@section
class EngineKeys(McRaveKeys):
    """The keys of the player that Go players meet."""

    levels: ClassVar[dict[int, dict[str, Any]]] = LEVELS
    best_weights: ClassVar[dict[int, str]] = {9: "9x9-liberties-5M"}

    strength: Annotated[int, Field(ge=min(LEVELS), le=max(LEVELS))] | None = key(
        None, "A level of strength, in place of simulations and seconds: 1 is a beginner, 10 the strongest."
    )


def _register_algorithm(name: str, summary: str, kind: type[TreeKeys], **known: Any) -> None:
    """Register an algorithm whose keys are those of `kind`, with its own defaults.

    known : `Keys.by_size` and `Keys.implied`, and further defaults by key
    """
    fixed: dict[str, Any] = {
        attribute: known.pop(attribute) for attribute in ("by_size", "implied") if attribute in known
    }
    for field, value in ALGORITHMS[name]._asdict().items():
        if field in kind.fields() and value != getattr(_SETTINGS, field):
            known[field] = name_of(value, _CODES[field]) if field in _CODES else value
    # Their limits are in the fields. pydantic 2.8 would take the old default together with those of the type.
    annotations = {field: kind.fields()[field].annotation for field in known}
    defaults = {field: with_default(kind.fields()[field], default) for field, default in known.items()}
    body: dict[str, Any] = {
        "__doc__": summary,
        "__module__": __name__,
        **fixed,
        "__annotations__": annotations,
        **defaults,
    }
    register(name)(type(f"{name}_keys", (kind,), body))


_register_algorithm("mcts_greedy", "Greedy Monte-Carlo tree search (MC-RAVE paper, Section 2.4).", TreeKeys)
_register_algorithm(
    "uct", "UCT (MC-RAVE paper, Section 2.5; c and first-play urgency of the TD paper, Section 4.5).", TreeKeys
)
_register_algorithm("rave", "Tree search by the all-moves-as-first value alone (MC-RAVE paper, Section 4.2).", RaveKeys)
_register_algorithm(
    "mc_rave", "MC-RAVE: MC and all-moves-as-first values combined (MC-RAVE paper, Section 4).", McRaveKeys
)
_register_algorithm("uct_rave", "MC-RAVE with a bonus for exploration (MC-RAVE paper, Section 4.4).", McRaveKeys)
_register_algorithm(
    "heuristic_mc_rave",
    "MC-RAVE with the learned value function as prior knowledge (MC-RAVE paper, Section 5). "
    "On 19x19, simulations are 10,000.",
    McRaveKeys,
    by_size={19: _ON_19X19},
)
_register_algorithm(
    "rlgo",
    "The strongest player here and the default engine: MC-RAVE with learned values and learned patterns as prior "
    "knowledge, and learned values of leaves. On 9x9, these values see liberties; on boards without shipped weights, "
    "there are patterns alone.",
    EngineKeys,
    # Who sets simulations wants no time limit beside them, and who names weights wants them used.
    implied={
        **McRaveKeys.implied,
        "simulations": {"seconds": 0.0},
        "weights": {"heuristic": "rlgo_patterns", "leaf_value": ALGORITHMS["rlgo"].leaf_value},
    },
    by_size={
        size: {"heuristic": "patterns", "leaf_value": 0.0}
        for size in sorted(set(range(MIN_SIZE, MAX_SIZE + 1)) - set(shipped_weight_sizes()))
    },
    simulations="none",
    seconds=1.0,
)


@register("open_spiel")
class OpenSpielKeys(Keys):
    """OpenSpiel's own tree search (needs rlgo[open-spiel])."""

    aliases: ClassVar[dict[str, str]] = {"sims": "simulations"}

    simulations: Annotated[Count, Field(ge=1, le=10_000_000)] = key(1_000, "Simulations per move.")

    def make(self, size: int, seed: Seed) -> Player:
        """Make OpenSpiel's player."""
        from train.players.open_spiel import OpenSpielSearch  # an optional package

        return OpenSpielSearch(size, self.simulations, seed)
