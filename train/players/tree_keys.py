"""The keys of the tree search family: flat Monte-Carlo, UCT, RAVE, MC-RAVE and their variants (MC-RAVE paper).

Start reading at `TreeKeys`, then `_register_algorithm`. The keys are declared in `mcts.settings`; the algorithms of
`ALGORITHMS` differ in the keys that they have, and in their defaults.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le

from mcts.network import Network, Symmetries
from mcts.player import TreeSearch
from mcts.settings import (
    ALGORITHMS,
    HEURISTICS,
    LEARNED_PATTERNS,
    LEARNED_VALUES,
    NO_NETWORK,
    NO_TRUNCATION,
    ONNX,
    Resources,
    Settings,
    Use,
    is_onnx_network,
    is_own_network,
)
from rlgo.base.checks import Key, keys_of, name_of, needs
from rlgo.base.errors import RlgoError
from rlgo.base.resources import list_shipped_networks, nearest_size, shipped_calibration
from rlgo.base.settings import DEFAULT_SIZE, MAX_SIZE, MIN_SIZE, NonNegative, Probability, Threads
from rlgo.compiler.jit import seed_sequence
from rlgo.features.weights import Weights, shipped_weight_sizes
from rlgo.moves.patterns import Patterns, find_patterns, load_patterns
from rlgo.moves.rollout import LEARNED, DefaultPolicy
from rlgo.network.network import ConvNetwork
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
    PolicyFile,
    count_or_none,
    default_of,
    default_policy_of,
    own_network,
    register,
    seconds_or_none,
    weights_for,
)
from train.players.levels import LEVELS
from train.players.loading import loaded, note_file
from train.players.spec import make_player
from train.settings import Group, nested_spec

_SETTINGS = Settings(virtual_loss=1)  # of threads that share a tree
_ALPHAGO_SHARE = 0.5  # of V in what simulations back up (Silver et al. 2016)
_ON_19X19 = {"simulations": 10_000}  # 361 moves need more than 81
_NETWORKS = list_shipped_networks()


def _keys_of(kind: type[Settings | Resources], action_value: int | None = None) -> Any:
    """Return a NamedTuple with the keys that all algorithms have, and those of algorithms with this action value."""
    declared = keys_of(kind).items()
    return Annotated[kind, Group(*(field for field, key in declared if key.of is None or action_value in key.of))]


@dataclass(frozen=True)
class SimulationKeys(Keys):
    """The keys shared by the whole family."""

    limits: ClassVar[tuple[str, ...]] = ("simulations", "seconds")
    best_weights: ClassVar[dict[int, str]] = {}  # by board size, if not those of the best greedy player

    simulations: Annotated[CountOrNone, Key(SIMULATIONS, aliases="sims")] = default_of(TreeSearch, "simulations")
    seconds: Annotated[NonNegative, Key(SECONDS)] = 0.0
    rollout: Annotated[DefaultPolicy, Group()] = DefaultPolicy()
    policy_file: PolicyFile = ""
    epsilon: Annotated[
        Probability,
        Key("Probability of a uniformly random move of the default policy.", needs=needs("default_policy", "rlgo")),
    ] = default_of(TreeSearch, "epsilon")
    weights: Annotated[
        settings.Shipped,
        Key(
            "The weights, where needed: a file, or the name of shipped weights; empty: the shipped ones of the most "
            "games, 9x9-100M on 9x9, but 9x9-liberties-5M for `mc_rave_patterns`."
        ),
    ] = ""
    parameters: _keys_of(Settings) = _SETTINGS  # type: ignore[valid-type]
    resources: _keys_of(Resources) = Resources()  # type: ignore[valid-type]
    resign: Annotated[Probability, Key(RESIGN)] = default_of(TreeSearch, "resign")

    def make(self, size: int, seed: Seed) -> Player:
        """Make the tree search."""
        sequence = seed_sequence(seed)
        return TreeSearch(
            size,
            self._settings(),
            count_or_none(self.simulations),
            seconds_or_none(self.seconds),
            resources=self.resources,
            default_policy=default_policy_of(self),
            epsilon=self.epsilon,
            weights=self._load_weights(size),
            patterns=self._load_patterns(size),
            evaluator=self._load_network(),
            prior_search=self._make_prior_search(size, sequence),
            resign=self.resign,
            seed=sequence,
            name=self.name,
        )

    def _make_prior_search(self, size: int, seed: np.random.SeedSequence) -> TdSearch | None:  # noqa: ARG002  (of trees)
        """Make the search that learns before each search; only algorithms with a tree may have one."""
        return None

    def _settings(self) -> Settings:
        """Return the settings of the search."""
        return self.parameters

    def _load_network(self) -> Network | ConvNetwork | None:
        """Load the network that the search asks, if any; only algorithms with a tree may have one."""
        return None

    def _load_patterns(self, size: int) -> Patterns | None:  # noqa: ARG002  (of trees)
        """Load the patterns that the search needs, if any; only algorithms with a tree may need them."""
        return None

    def _load_weights(self, size: int) -> Weights | None:
        """Load the weights that the search needs, if any. RlgoError for a file that has no use."""
        if self._needs_weights():
            return weights_for(self.weights or self.best_weights.get(size, ""), size)
        if self.weights:
            raise RlgoError(
                f"weights = {self.weights}: not used with these settings; see heuristic, leaf_value, network and "
                "default_policy"
            )
        return None

    def _needs_weights(self) -> bool:
        return self.rollout.kind == LEARNED or self.parameters.truncate != NO_TRUNCATION


@dataclass(frozen=True)
class TreeKeys(SimulationKeys):
    """The keys shared by the algorithms with a tree."""

    patterns: Annotated[
        settings.Shipped,
        Key(
            "Learned patterns, where needed: a file, or the name of shipped ones; empty: the ones shipped for this "
            "size or the nearest."
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
            "A network file of `rlgo network`, or the name of a shipped one, compiled into the search; or an ONNX file "
            "whose network gives policies, values or both (needs rlgo[onnx]): `evaluator` tells which of them are "
            "used, and a leaf_value of 0 becomes 0.5 if values are."
        ),
    ] = NO_NETWORK
    symmetries: Annotated[
        Symmetries, Key("Average the network over so many of the board's eight symmetries.", needs=ONNX)
    ] = 1
    network_threads: Annotated[Threads, Key("Threads of the network.", needs=ONNX)] = 1

    def _load_network(self) -> Network | ConvNetwork | None:
        if self.network == NO_NETWORK:
            return None
        if self._is_own():
            return own_network(self.network)
        file = Path(self.network)
        if file.with_suffix(".toml").is_file():
            note_file(file.with_suffix(".toml"))
        if not file.is_file():
            raise RlgoError(f"network = {self.network}: no such file")
        return loaded(Network, file, self.symmetries, self.network_threads)

    def _settings(self) -> Settings:
        """Return the settings; where values of a network are used, with a share for them: AlphaGo's."""
        settings: Settings = self.parameters
        has_no_share = self._uses(Use.VALUE) and not settings.leaf_value
        return settings._replace(leaf_value=_ALPHAGO_SHARE) if has_no_share else settings

    def _uses(self, use: Use) -> bool:
        """Return whether a network in ONNX gives policies, or values."""
        return is_onnx_network(self.network) and bool(self.parameters.evaluator & use)

    def _is_own(self) -> bool:
        return is_own_network(self.network)

    def _make_prior_search(self, size: int, seed: np.random.SeedSequence) -> TdSearch | None:
        if not self.prior_search:
            return None
        # It needs its own seed: two searches with one seed would draw the same numbers.
        search = make_player(nested_spec(self.prior_search), size, seed.spawn(1)[0])
        if not isinstance(search, TdSearch):
            raise RlgoError(f"prior_search = {self.prior_search}: expected a td_search or dyna2 player")
        return search

    def _load_patterns(self, size: int) -> Patterns | None:
        heuristic = self.parameters.heuristic
        if heuristic not in LEARNED_PATTERNS or self._uses(Use.POLICY):
            if self.patterns:
                name = name_of(heuristic, HEURISTICS)
                raise RlgoError(f"patterns = {self.patterns}: not used with heuristic = {name}")
            return None
        return loaded(load_patterns, find_patterns(self.patterns, size))

    def _needs_weights(self) -> bool:
        settings = self.parameters
        is_replaced = self._uses(Use.VALUE) or (self._is_own() and settings.network_value == 1)
        needs_value = (settings.leaf_value > 0 or not settings.playouts) and not is_replaced
        needs_value |= settings.heuristic in LEARNED_VALUES and not self._uses(Use.POLICY)
        return super()._needs_weights() or (needs_value and not self.prior_search)


@dataclass(frozen=True)
class CalibratedKeys(TreeKeys):
    """The keys of players whose values are shown as chances of winning."""

    calibration: Annotated[
        settings.Path,
        Key(
            "What turns its values into chances of winning: a file of `rlgo games calibrate`, none, or empty for the "
            "shipped one of this size or the nearest."
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
    # Weights that are named are used.
    implied: ClassVar[dict[str, dict[str, Any]]] = {
        "weights": {"heuristic": "rlgo_patterns", "leaf_value": ALGORITHMS["mc_rave_patterns"].leaf_value},
    }
    by_size: ClassVar[dict[int, dict[str, Any]]] = {
        size: {"heuristic": "patterns", "leaf_value": 0.0}
        for size in sorted(set(range(MIN_SIZE, MAX_SIZE + 1)) - set(shipped_weight_sizes()))
    }


@dataclass(frozen=True)
class EngineKeys(CalibratedKeys):
    """The keys of the default engine, `rlgo`."""

    levels: ClassVar[dict[int, dict[str, Any]]] = LEVELS
    own: ClassVar[tuple[str, ...]] = ("c_puct", "puct_rule", "fpu_reduction", "noise", "noise_alpha")
    # A number of simulations replaces the time limit.
    implied: ClassVar[dict[str, dict[str, Any]]] = {"simulations": {"seconds": 0.0}}
    by_size: ClassVar[dict[int, dict[str, Any]]] = {
        size: {"network": nearest_size(size, _NETWORKS) if _NETWORKS else NO_NETWORK}
        for size in range(MIN_SIZE, MAX_SIZE + 1)
    }

    simulations: Annotated[CountOrNone, Key(SIMULATIONS, aliases="sims")] = "none"
    seconds: Annotated[NonNegative, Key(SECONDS)] = 1.0
    network: Annotated[
        settings.ShippedOrNone,
        Key(
            "A network file of `rlgo network`, the name of a shipped one, or an ONNX file (needs rlgo[onnx]); none: "
            "`mc_rave_patterns` plays in its place, with the keys given, but those of PUCT."
        ),
    ] = f"{DEFAULT_SIZE}x{DEFAULT_SIZE}"
    strength: Annotated[
        Annotated[int, Ge(min(LEVELS)), Le(max(LEVELS))] | None,
        Key("A level of strength, in place of simulations and seconds: 1 is a beginner, 10 the strongest."),
    ] = None

    def stand_in(self) -> str:
        """Return `mc_rave_patterns`, the strongest player without a network, if there is none."""
        return "mc_rave_patterns" if self.network == NO_NETWORK else ""


def _register_algorithm(name: str, summary: str, kind: type[SimulationKeys] = TreeKeys, **others: Any) -> None:
    """Register an algorithm with the keys of `kind` and its own, which are declared in `mcts.settings`.

    others : further attributes of the class, such as `Keys.by_size`
    """
    start = ALGORITHMS[name]._replace(virtual_loss=_SETTINGS.virtual_loss)
    body: dict[str, Any] = {
        "__doc__": summary,
        "__module__": __name__,
        "__annotations__": {
            "parameters": _keys_of(Settings, start.action_value),
            "resources": _keys_of(Resources, start.action_value),
        },
        "parameters": start,
        "resources": Resources(),
    }
    register(name)(dataclass(frozen=True)(type(f"{name}_keys", (kind,), body | others)))


_register_algorithm(
    "mc",
    "Flat Monte-Carlo: no tree, the same number of simulations for every move (MC-RAVE paper, Section 2.3).",
    SimulationKeys,
)
_register_algorithm("mcts_greedy", "Greedy Monte-Carlo tree search (MC-RAVE paper, Section 2.4).")
_register_algorithm("uct", "UCT (MC-RAVE paper, Section 2.5; c and first-play urgency of the TD paper, Section 4.5).")
_register_algorithm("rave", "Tree search by the all-moves-as-first value alone (MC-RAVE paper, Section 4.2).")
_register_algorithm("mc_rave", "MC-RAVE: MC and all-moves-as-first values combined (MC-RAVE paper, Section 4).")
_register_algorithm("uct_rave", "MC-RAVE with a bonus for exploration (MC-RAVE paper, Section 4.4).")
_register_algorithm(
    "puct",
    "PUCT: exploration guided by a policy, of learned patterns or of a network, as in AlphaGo (Silver et al. 2016).",
)
_register_algorithm("puct_rave", "PUCT with MC and all-moves-as-first values combined, as in MC-RAVE.")
_register_algorithm(
    "heuristic_mc_rave",
    "MC-RAVE with the learned value function as prior knowledge (MC-RAVE paper, Section 5). "
    "On 19x19, simulations are 10,000.",
    by_size={19: _ON_19X19},
)
_register_algorithm(
    "mc_rave_patterns",
    "The strongest MC-RAVE here: learned values and learned patterns as prior knowledge, and learned values of leaves. "
    "On 9x9, these values see liberties; on boards without shipped weights, there are patterns alone.",
    PatternKeys,
)
_register_algorithm(
    "rlgo",
    "The strongest player here and the default engine: PUCT with a network of rlgo's own, as in AlphaGo (Silver et al. "
    "2016). Handcrafted values are the policy at first. The network is asked about nodes with a few visits; from then "
    "on, the policy is the network's, and its value is mixed with the outcomes of playouts. At levels of strength "
    "below 10, `mc_rave_patterns` plays in its place.",
    EngineKeys,
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
