"""The keys of the tree search family: flat Monte-Carlo, UCT, RAVE, MC-RAVE and their variants (MC-RAVE paper).

Start reading at `TreeKeys`, then `_register_algorithm`. A player has the keys of its tree policy, which are declared
with it (`mcts/policies`). Those of prior knowledge and of leaves are flat, and declared here: `TreeKeys._search`
composes the search from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from mcts.leaves import CorrectedValue, LearnedValue, Mixture, NetworkValue, OutsideValue, Playout, Value
from mcts.outside.onnx import Symmetries
from mcts.player import TreeSearch
from mcts.policies import Gumbel, Puct, confidences, has_policy
from mcts.priors import Even, Grandfather, Handcrafted, Mogo, Network, Outside, Patterns, Rlgo, sum_of
from mcts.priors.stages import Stage
from mcts.settings import ALGORITHMS, NETWORK_AFTER, Resources, Search, needs_weights
from rlgo.base.checks import Choice, Key, Needs, name_of, needs
from rlgo.base.errors import RlgoError
from rlgo.base.resources import NO_NETWORK, SHIPPED_PATTERNS, nearest_size, shipped_calibration
from rlgo.base.settings import DEFAULT_SIZE, MAX_SIZE, MIN_SIZE, Count, NonNegative, Positive, Probability, Threads
from rlgo.compiler.jit import seed_sequence
from rlgo.features.weights import Weights, shipped_weight_sizes
from rlgo.moves.patterns import Patterns as LearnedPatterns
from rlgo.moves.patterns import load_patterns
from rlgo.moves.rollout import DefaultPolicy
from rlgo.play.calibration import read_calibration
from rlgo.play.player import Player, Seed
from rlgo.search.td_search import TdSearch
from train import settings
from train.players.keys import (
    RESIGN,
    SECONDS,
    SIMULATIONS,
    CountOrNone,
    Keys,
    count_or_none,
    default_of,
    register,
    seconds_or_none,
    weights_for,
)
from train.players.levels import STRENGTHS
from train.players.loading import loaded
from train.players.networks import NAMES, is_outside, is_own_network, is_program, load_evaluator
from train.players.spec import make_player
from train.settings import Group, nested_spec

_WEIGHTS = (
    "The weights, where needed: a file, or the name of shipped weights; empty: the shipped ones of the most games, "
    "9x9-100M on 9x9, but 9x9-liberties-5M for `mc_rave_patterns`."
)
_ALPHAGO_SHARE = 0.5  # of V in what simulations back up (Silver et al. 2016)
_ON_19X19 = {"simulations": 10_000}  # 361 moves need more than 81
_USES_WEIGHTS = {"heuristic": "rlgo_patterns", "leaf_value": ALGORITHMS["mc_rave_patterns"].leaf.share}


# ---------------------------------------------------------------------------------------------
# Prior knowledge and leaves, by flat keys
# ---------------------------------------------------------------------------------------------

_PRIORS: dict[str, tuple[Any, ...]] = {
    "none": (),
    "even": (Even(),),
    "grandfather": (Grandfather(),),
    "mogo": (Mogo(),),
    "handcrafted": (Handcrafted(),),
    "rlgo": (Rlgo(),),
    "both": (Rlgo(), Handcrafted()),
    "patterns": (Patterns(),),
    "rlgo_patterns": (Rlgo(), Patterns()),
}
HEURISTICS: dict[str, int] = {name: code for code, name in enumerate(_PRIORS)}
_WITH_WEIGHTS = ("rlgo", "both", "rlgo_patterns")
_ONNX = Needs("a network in ONNX", lambda keys: is_outside(keys.network) and not is_program(keys.network))
_OUTSIDE = Needs("a network in ONNX or in Python", lambda keys: is_outside(keys.network))
_OWN = Needs("a network of rlgo's own", lambda keys: is_own_network(keys.network))
_LEAF_VALUE = Needs("a leaf_value above 0", lambda keys: keys.leaf_value > 0)
_WEIGHTS_IN_V = Needs(
    "a leaf_value above 0, and weights in V",
    lambda keys: (
        keys.leaf_value > 0
        and not (is_own_network(keys.network) and keys.network_value == 1 and keys.heuristic not in _WITH_WEIGHTS)
    ),
)
_KNOWS = Needs("a heuristic or a network", lambda keys: keys.heuristic != "none" or keys.network != NO_NETWORK)
_CONFIDENCE = Needs(
    "a confidence in H (prior_n) of at least 1",
    lambda keys: (
        keys.heuristic == "none" or hasattr(keys, "c_puct") or max(keys.prior_n, getattr(keys, "prior_n_amaf", 0)) > 0
    ),
)
_BY_PUCT, _BY_GUMBEL = needs("root", "puct"), needs("root", "gumbel")
_PATTERNS = Needs(
    "a heuristic with learned patterns and no prior_search",
    lambda keys: keys.heuristic in ("patterns", "rlgo_patterns") and not keys.prior_search,
)


class PriorKeys(NamedTuple):
    """Prior knowledge by flat keys."""

    heuristic: Annotated[
        int,
        Choice(HEURISTICS),
        Key(
            "H, the prior knowledge of new nodes; both: rlgo and handcrafted; rlgo_patterns: rlgo and patterns.",
            "heuristics",
            needs=_CONFIDENCE,
        ),
    ] = 0
    patterns_after: Annotated[
        Count,
        Key("Visits of a node before learned patterns replace handcrafted values in H.", needs=_PATTERNS),
    ] = 1
    network_after: Annotated[
        Count,
        Key(
            "Visits of a node before an rlgo network replaces patterns and handcrafted values in H; 1: as soon as it "
            "is added.",
            needs=_OWN,
        ),
    ] = NETWORK_AFTER
    policy_scale: Annotated[
        Positive,
        Key(
            "Scale s of H = sigma(s log(n P(a)) - t), from the probability of a move to its value; for PUCT, P(a) is "
            "softmax(x / s), where H = sigma(x)."
        ),
    ] = 0.4
    policy_shift: Annotated[NonNegative, Key("Shift t of H = sigma(s log(n P(a)) - t), what any move costs.")] = 0.4


class LeafKeys(NamedTuple):
    """What a simulation is worth, by flat keys."""

    leaf_value: Annotated[
        Probability,
        Key(
            "Share of V in the outcome of each simulation. V is the value of the position where the tree ends, by the "
            "network or, without one, by the weights.",
            needs=Needs("playouts = on", lambda keys: keys.playouts),
        ),
    ] = 0.0
    leaf_fade: Annotated[
        Probability, Key("The part of `leaf_value` that is lost as the board fills up.", needs=_LEAF_VALUE)
    ] = 0.0
    leaf_tempo: Annotated[
        NonNegative,
        Key("Tempo bonus in V of that position, before the logistic function.", needs=_WEIGHTS_IN_V),
    ] = 0.0
    network_value: Annotated[
        Probability,
        Key(
            "How far an rlgo network corrects this V, from 0, not at all, to 1, where V is the network's.",
            needs=_OWN,
        ),
    ] = 0.5
    playouts: Annotated[bool, Key("Play each simulation to the end by the default policy; off: use V alone.")] = True


# ---------------------------------------------------------------------------------------------
# The players
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SimulationKeys(Keys):
    """The keys shared by the whole family."""

    limits: ClassVar[tuple[str, ...]] = ("simulations", "seconds")
    best_weights: ClassVar[dict[int, str]] = {}  # by board size, if not those of the best greedy player
    if TYPE_CHECKING:
        policy: Any = None  # the tree policy, whose keys each algorithm adds

    simulations: Annotated[CountOrNone, Key(SIMULATIONS, aliases="sims")] = default_of(TreeSearch, "simulations")
    seconds: Annotated[NonNegative, Key(SECONDS)] = 0.0
    rollout: Annotated[DefaultPolicy, Group()] = DefaultPolicy()
    weights: Annotated[settings.Shipped, Key(_WEIGHTS)] = ""
    playout: Annotated[Playout, Group()] = Playout()
    growth: Annotated[Search, Group("virtual_loss")] = Search()
    resources: Annotated[Resources, Group(without=("memory_mb", "reuse", "batch", "batch_ms"))] = Resources()
    resign: Annotated[Probability, Key(RESIGN)] = default_of(TreeSearch, "resign")

    def make(self, size: int, seed: Seed) -> Player:
        """Make the tree search."""
        sequence = seed_sequence(seed)
        search = self._search()
        return TreeSearch(
            size,
            search,
            count_or_none(self.simulations),
            seconds_or_none(self.seconds),
            resources=self.resources,
            default_policy=self.rollout,
            weights=self._load_weights(size, search),
            patterns=self._load_patterns(size),
            evaluator=self._load_network(),
            prior_search=self._make_prior_search(size, sequence),
            resign=self.resign,
            seed=sequence,
            name=self.name,
        )

    def _search(self) -> Search:
        """Return what the search is composed of."""
        growth: Search = self.growth
        return growth._replace(policy=self.policy, leaf=self.playout)

    def _make_prior_search(self, size: int, seed: np.random.SeedSequence) -> TdSearch | None:  # noqa: ARG002  (of trees)
        """Make the search that learns before each search; only algorithms with a tree may have one."""
        return None

    def _load_network(self) -> Any:
        """Load the network that evaluates nodes, if any; only algorithms with a tree may have one."""
        return None

    def _load_patterns(self, size: int) -> LearnedPatterns | None:  # noqa: ARG002  (of trees)
        """Load the patterns that the search needs, if any; only algorithms with a tree may need them."""
        return None

    def _load_weights(self, size: int, search: Search) -> Weights | None:
        """Load the weights that the search needs, if any. RlgoError for a file that has no use."""
        if needs_weights(search) and not getattr(self, "prior_search", ""):
            return weights_for(self.weights or self.best_weights.get(size, ""), size)
        if self.weights:
            raise RlgoError(
                f"weights = {self.weights}: not used with these settings; see heuristic, leaf_value and network"
            )
        return None


@dataclass(frozen=True)
class TreeKeys(SimulationKeys):
    """The keys shared by the algorithms with a tree."""

    growth: Annotated[Search, Group()] = Search()
    prior: Annotated[PriorKeys, Group()] = PriorKeys()
    leaf: Annotated[LeafKeys, Group()] = LeafKeys()
    resources: Annotated[Resources, Group(batch={"needs": _OUTSIDE}, batch_ms={"needs": _OUTSIDE})] = Resources()
    patterns: Annotated[
        settings.Shipped,
        Key(
            "Learned patterns, where needed: a file, or the name of shipped ones; empty: those shipped for this size "
            "or the nearest."
        ),
    ] = ""
    prior_search: Annotated[
        settings.FirstPhase,
        Key(
            "Two phases: a td_search or dyna2 player that learns before each search, whose value is the heuristic "
            "rlgo. Its file, or its spec with semicolons in place of commas.",
            "two_phase_mcts",
            aliases="first",
        ),
    ] = ""
    network: Annotated[
        settings.ShippedOrNone,
        Key(
            "A file of `rlgo network`, or the name of a shipped one, which is compiled into the search; or an ONNX "
            "file (needs rlgo[onnx]); or MODULE:NAME, an evaluator in Python. Of the last two, the search uses what "
            "`evaluator` says; if that includes values, a leaf_value of 0 becomes 0.5."
        ),
    ] = NO_NETWORK
    evaluator: Annotated[
        Literal["policy", "value", "both"],
        Key(
            "Which outputs of the network the search uses. With value, the heuristic stays; with policy, V stays that "
            "of the weights.",
            needs=_OUTSIDE,
        ),
    ] = "both"
    symmetries: Annotated[
        Symmetries, Key("Average the network over this many of the board's eight symmetries.", needs=_ONNX)
    ] = 1
    network_threads: Annotated[Threads, Key("Threads of the network.", needs=_ONNX)] = 1

    @property
    def _heuristic(self) -> str:
        return name_of(self.prior.heuristic, HEURISTICS)

    def _uses(self, what: str) -> bool:
        """Return whether a network in ONNX or in Python gives the ``policy``, or the ``value``."""
        return is_outside(self.network) and self.evaluator in (what, "both")

    def _search(self) -> Search:
        growth: Search = self.growth
        policy = self.policy
        if isinstance(policy, Puct) and self.root == "gumbel":  # type: ignore[attr-defined]  # with its policy
            policy = self.gumbel  # type: ignore[attr-defined]
        if has_policy(policy):
            policy = policy._replace(scale=self.prior.policy_scale)
        search = growth._replace(policy=policy, prior=self._stages(), leaf=self._leaf())
        if self.network != NO_NETWORK and not self._has_effect(search):
            raise RlgoError(
                f"network = {self.network}: no effect here: it needs a confidence in H (prior_n) of at least 1, or a "
                "leaf_value above 0"
            )
        return search

    def _has_effect(self, search: Search) -> bool:
        """Return whether the policy or the value of a network is used."""
        uses_policy = has_policy(search.policy) or max(confidences(search.policy)) > 0
        uses_value = isinstance(getattr(search.leaf, "value", None), NetworkValue | CorrectedValue | OutsideValue)
        return uses_value or (uses_policy and (is_own_network(self.network) or self._uses("policy")))

    def _stages(self) -> tuple[Stage, ...]:
        """Return the stages of prior knowledge."""
        scale, shift = self.prior.policy_scale, self.prior.policy_shift
        if self._uses("policy"):
            return (Stage(Outside(scale, shift)),)
        named = [Patterns(scale, shift) if isinstance(part, Patterns) else part for part in _PRIORS[self._heuristic]]
        stages = [Stage(sum_of(*named))] if named else []
        after = 1 if self.prior_search else self.prior.patterns_after
        if "patterns" in self._heuristic and after > 1:
            early = (*(part for part in named if isinstance(part, Rlgo)), Handcrafted())
            stages = [Stage(sum_of(*early)), Stage(sum_of(*named), after)]
        if is_own_network(self.network):
            learned = (part for part in named if isinstance(part, Rlgo))
            after = 1 if self.prior_search else self.prior.network_after
            stages = [stage for stage in stages if stage.after < after]
            stages.append(Stage(sum_of(*learned, Network(scale, shift)), after))
        return tuple(stages)

    def _leaf(self) -> Any:
        """Return what a simulation is worth."""
        share: float = self.leaf.leaf_value
        value: Any = LearnedValue(self.leaf.leaf_tempo)
        if self._uses("value"):
            share, value = share or _ALPHAGO_SHARE, OutsideValue()
        elif is_own_network(self.network) and self.leaf.network_value > 0:
            needs_no_weights = self.leaf.network_value == 1 and self._heuristic not in _WITH_WEIGHTS
            corrected = CorrectedValue(self.leaf.leaf_tempo, self.leaf.network_value)
            value = NetworkValue() if needs_no_weights else corrected
        if not self.leaf.playouts:
            return Value(value)
        return Mixture(share, value, self.leaf.leaf_fade, self.playout) if share else self.playout

    def _load_network(self) -> Any:
        if self.network == NO_NETWORK:
            return None
        return load_evaluator(self.network, self.symmetries, self.network_threads)

    def _make_prior_search(self, size: int, seed: np.random.SeedSequence) -> TdSearch | None:
        if not self.prior_search:
            return None
        # It needs its own seed: two searches with one seed would draw the same numbers.
        search = make_player(nested_spec(self.prior_search), size, seed.spawn(1)[0])
        if not isinstance(search, TdSearch):
            raise RlgoError(f"prior_search = {self.prior_search}: expected a td_search or dyna2 player")
        return search

    def _load_patterns(self, size: int) -> LearnedPatterns | None:
        if "patterns" not in self._heuristic or self._uses("policy"):
            if self.patterns:
                raise RlgoError(f"patterns = {self.patterns}: not used with heuristic = {self._heuristic}")
            return None
        return loaded(load_patterns, SHIPPED_PATTERNS.find(self.patterns, size))


@dataclass(frozen=True)
class CalibratedKeys(TreeKeys):
    """The keys of players whose values are shown as chances of winning."""

    calibration: Annotated[
        settings.Path,
        Key(
            "A file of `rlgo games calibrate`, which turns values into chances of winning; none; or empty for the one "
            "shipped for this size or the nearest."
        ),
    ] = ""

    def make(self, size: int, seed: Seed) -> Player:
        """Make the tree search, with its calibration."""
        player = super().make(size, seed)
        if self.calibration != "none":
            file = Path(self.calibration) if self.calibration else shipped_calibration(self.name, size)
            player.calibration = loaded(read_calibration, file)
        return player


@dataclass(frozen=True)
class PatternKeys(CalibratedKeys):
    """The keys of `mc_rave_patterns`."""

    best_weights: ClassVar[dict[int, str]] = {9: "9x9-liberties-5M"}
    by_size: ClassVar[dict[int, dict[str, Any]]] = {
        size: {"heuristic": "patterns", "leaf_value": 0.0}
        for size in sorted(set(range(MIN_SIZE, MAX_SIZE + 1)) - set(shipped_weight_sizes()))
    }

    weights: Annotated[settings.Shipped, Key(_WEIGHTS, implies=_USES_WEIGHTS)] = ""  # weights that are named are used


@dataclass(frozen=True)
class EngineKeys(CalibratedKeys):
    """The keys of the default engine, `rlgo`."""

    own: ClassVar[tuple[str, ...]] = ("c_puct", "fpu_reduction", "noise", "noise_alpha", "root", *Gumbel._fields[:-1])
    by_size: ClassVar[dict[int, dict[str, Any]]] = {
        size: {"network": nearest_size(size, NAMES) if NAMES else NO_NETWORK} for size in range(MIN_SIZE, MAX_SIZE + 1)
    }

    simulations: Annotated[CountOrNone, Key(SIMULATIONS, aliases="sims", implies={"seconds": 0.0})] = "none"
    seconds: Annotated[NonNegative, Key(SECONDS)] = 1.0
    network: Annotated[
        settings.ShippedOrNone,
        Key(
            "A network file of `rlgo network`, the name of a shipped one, an ONNX file (needs rlgo[onnx]), or "
            "MODULE:NAME, an evaluator in Python; none: `mc_rave_patterns` plays in its place, with the keys given, "
            "but those of PUCT."
        ),
    ] = f"{DEFAULT_SIZE}x{DEFAULT_SIZE}"
    strength: Annotated[
        Annotated[int, Ge(min(STRENGTHS)), Le(max(STRENGTHS))] | None,
        Key("A level of strength, in place of all other keys: 1 is a beginner, 10 the strongest."),
    ] = None

    def stand_in(self) -> str:
        """Return `mc_rave_patterns`, the strongest player without a network, if there is none."""
        return "mc_rave_patterns" if self.network == NO_NETWORK else ""


ROOT = Key(
    "The tree policy: puct, or gumbel, which plans its simulations by sequential halving at the root, and improves on "
    "the policy with few of them (Danihelka et al. 2022)."
)
_NO_PRIOR, _PLAYOUTS = PriorKeys(), LeafKeys()


def _register_algorithm(
    name: str,
    summary: str,
    kind: type[SimulationKeys] = TreeKeys,
    prior: PriorKeys = _NO_PRIOR,
    leaf: LeafKeys = _PLAYOUTS,
    **others: Any,
) -> None:
    """Register an algorithm with the keys of `kind` and those of its tree policy.

    prior, leaf : defaults of the flat keys, from which the search of `ALGORITHMS` is composed
    others : further attributes of the class, such as `Keys.by_size`
    """
    policy = ALGORITHMS[name].policy
    without = ("schedule", "k", "bias") if name == "rave" else ()  # RAVE is MC-RAVE with one of its schedules
    confident = {field: {"needs": _KNOWS} for field in ("prior_n", "prior_n_amaf") if hasattr(policy, field)}
    if isinstance(policy, Puct):
        confident = {field: {"needs": _BY_PUCT} for field in ("c", "first_play_urgency", "fpu_reduction", "noise")}
    hints: dict[str, Any] = {"policy": Annotated[type(policy), Group(without=without, **confident)]}
    body: dict[str, Any] = {"__doc__": summary, "__module__": __name__, "policy": policy}
    if isinstance(policy, Puct):
        by_gumbel = {field: {"needs": _BY_GUMBEL} for field in Gumbel._fields}
        hints |= {"root": Annotated[Literal["puct", "gumbel"], ROOT], "gumbel": Annotated[Gumbel, Group(**by_gumbel)]}
        body |= {"root": "puct", "gumbel": Gumbel()}
    if kind is not SimulationKeys:
        unused = ("policy_shift",) if isinstance(policy, Puct) else ()  # the shift of all actions is no policy
        hints |= {"prior": Annotated[PriorKeys, Group(without=unused)], "leaf": Annotated[LeafKeys, Group()]}
        body |= {"prior": prior, "leaf": leaf}
    body["__annotations__"] = hints
    register(name)(dataclass(frozen=True)(type(f"{name}_keys", (kind,), body | others)))


def _heuristic(name: str, **others: Any) -> PriorKeys:
    return PriorKeys(HEURISTICS[name], **others)


_register_algorithm(
    "mc",
    "Flat Monte-Carlo: no tree, the same number of simulations for every move (MC-RAVE paper, Section 2.3).",
    SimulationKeys,
)
_register_algorithm("mcts_greedy", "Greedy Monte-Carlo tree search (MC-RAVE paper, Section 2.4).")
_register_algorithm(
    "uct", "UCT (MC-RAVE paper, Section 2.5), with c and first-play urgency of the TD paper (Section 4.5)."
)
_register_algorithm("rave", "Tree search by the all-moves-as-first value alone (MC-RAVE paper, Section 4.2).")
_register_algorithm("mc_rave", "MC-RAVE: MC and all-moves-as-first values combined (MC-RAVE paper, Section 4).")
_register_algorithm("uct_rave", "MC-RAVE with a bonus for exploration (MC-RAVE paper, Section 4.4).")
_register_algorithm(
    "puct",
    "PUCT: exploration guided by a policy, of learned patterns or of a network, as in AlphaGo (Silver et al. 2016).",
    prior=_heuristic("patterns"),
)
_register_algorithm(
    "heuristic_mc_rave",
    "MC-RAVE with the learned value function as prior knowledge (MC-RAVE paper, Section 5). "
    "On 19x19, it makes 10,000 simulations.",
    prior=_heuristic("rlgo"),
    by_size={19: _ON_19X19},
)
_register_algorithm(
    "mc_rave_patterns",
    "The strongest player without a network: MC-RAVE with learned values and patterns as prior knowledge, and learned "
    "values of leaves. On 9x9, these values see liberties. Boards without shipped weights have patterns alone.",
    PatternKeys,
    _heuristic("rlgo_patterns", patterns_after=8),
    LeafKeys(leaf_value=0.75, leaf_fade=0.8, leaf_tempo=0.9),
)
_register_algorithm(
    "rlgo",
    "The strongest player and the default: PUCT with an rlgo network. The policy of a node is handcrafted at first. "
    "After a few visits, the network evaluates the node: its policy takes over, and its value is mixed with the "
    "outcomes of playouts, as in AlphaGo (Silver et al. 2016). At the lowest levels of strength, `network` plays "
    "instead.",
    EngineKeys,
    _heuristic("handcrafted", network_after=4),
    LeafKeys(leaf_value=0.6, network_value=1.0),
)


@register("open_spiel")
@dataclass(frozen=True)
class OpenSpielKeys(Keys):
    """OpenSpiel's own tree search (needs rlgo[open-spiel])."""

    simulations: Annotated[int, Ge(1), Le(10_000_000), Key("Simulations per move.", aliases="sims")] = 1_000

    def make(self, size: int, seed: Seed) -> Player:
        """Make OpenSpiel's player."""
        from train.players.open_spiel import OpenSpielSearch  # an optional package

        return OpenSpielSearch(size, self.simulations, seed)
