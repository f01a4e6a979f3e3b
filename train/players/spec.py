"""Player specs, and the players they name: the one place that knows everybody who can play.

Start reading at `make_player`, and `PLAYERS` for who there is. A spec is written

    NAME[,key=value...]     for instance  random   greedy,weights=runs/quick/weights.npz,epsilon=0.05
    FILE.toml[,key=value...]  the same from a file: `player = "NAME"` and keys, as in configs/players
    gtp:COMMAND             an outside engine, for instance  gtp:gnugo --mode gtp --level 0

A player within a spec (`first`) has semicolons in place of commas.

The keys of each player, their defaults and what they may be are the fields of its class below. A value that is a
list is written with plus signs, 1+2+3, since commas separate the keys; switches are on or off. What follows
``gtp:`` is taken verbatim and split as a shell would, but no shell runs it.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rlgo.board import new_board
from rlgo.errors import RlgoError
from rlgo.player import GreedyPlayer, Player, RandomPlayer, Seed
from rlgo.resources import checkpoints_dir, config_path
from train.config import read_toml
from train.players.engines import GtpClient
from train.settings import (
    NOT_NEGATIVE,
    POSITIVE,
    SIZES,
    SWITCH,
    UNIT,
    Check,
    Section,
    choice,
    integer,
    number,
    setting,
    text,
)

# ---------------------------------------------------------------------------------------------
# What the keys may be
# ---------------------------------------------------------------------------------------------

_FILE = text("the path of a file, or nothing", r".*")


_LARGE = 10**9


def _or_word(low: int, word: str) -> Check:
    """An integer, or a word that stands for no limit."""
    return Check(
        (int, str),
        f"an integer from {low} to {_LARGE:,}, or {word}",
        lambda value: value if value == word or (type(value) is int and low <= value <= _LARGE) else None,
    )


_COUNT = _or_word(1, "none")
_STEP_SCHEDULE = choice("constant", "linear", "harmonic", "exponential")
_SCHEDULE = choice("hand_selected", "minimum_mse", "minimum_mse_exact")
_HEURISTIC = choice("none", "even", "grandfather", "mogo", "handcrafted", "rlgo", "both")
_SHORT_SIZES = Check(
    (list, tuple), "an ascending subset of [1, 2, 3], or []", lambda value: () if not value else SIZES.accept(value)
)


# ---------------------------------------------------------------------------------------------
# The players. Their defaults are the shipped configs' too (configs/players), which a test compares.
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Keys(Section):
    """The keys of one kind of player."""

    prefix: ClassVar[str | None] = ""

    # Where one of these is given, and another is not, the other is no limit.
    limits: ClassVar[tuple[str, ...]] = ()

    # Where the first is given, and the second is not, the second is not its default but this.
    implied: ClassVar[dict[str, tuple[str, str]]] = {}

    def make(self, size: int, seed: Seed) -> Player:
        """The player, for boards of one size."""
        raise NotImplementedError


@dataclass(frozen=True)
class RandomKeys(Keys):
    """Uniformly random sensible moves."""

    def make(self, size: int, seed: Seed) -> Player:
        return RandomPlayer(seed)


@dataclass(frozen=True)
class GreedyKeys(Keys):
    """One-ply search on learned weights (TD paper, Section 3.2)."""

    # A weight file; empty: the best that ship with rlgo.
    weights: str = setting("", _FILE)
    # Probability of a uniformly random move.
    epsilon: float = setting(0.0, UNIT)

    def make(self, size: int, seed: Seed) -> Player:
        from rlgo.value import ValueFunction

        value_function = ValueFunction(_load(self.weights, size))
        value_function.afterstates(new_board(size))  # compiles now, not when a clock runs
        return GreedyPlayer(value_function, seed, self.epsilon)


@dataclass(frozen=True)
class TdSearchKeys(Keys):
    """TD search (TD paper, Section 4)."""

    limits: ClassVar[tuple[str, ...]] = ("sims", "seconds")
    implied: ClassVar[dict[str, tuple[str, str]]] = {
        "alpha": ("schedule", "constant"),
        "alpha_half": ("schedule", "harmonic"),
        "alpha_final": ("schedule", "linear"),
    }

    # Simulations of each move; none: as many as the time allows. With `seconds` given, none unless given too.
    sims: int | str = setting(1_000, _COUNT)
    # Seconds for each move; 0: as long as the simulations take. In a file, set the other limits to none, too.
    seconds: float = setting(0.0, NOT_NEGATIVE)
    # Window sizes of the local shape features (experiment tdsearch_shapes).
    sizes: tuple[int, ...] = setting((1, 2), SIZES)
    # T: plies of both colours, from the root, before the default policy takes over (experiment tdsearch_policy); never:
    # it does not.
    T: int | str = setting(6, _or_word(0, "never"))
    # Learn from the states of so many plies; all: from those that the default policy reaches too.
    learn: int | str = setting("all", _or_word(1, "all"))
    # Step size, and how it falls with the simulations of a move: harmonic, to one half by simulation alpha_half; or,
    # linear and exponential, over `span` of them to alpha_final. A schedule is implied where none is given: by alpha,
    # constant; by alpha_half, harmonic; by alpha_final, linear (experiments tdsearch_alpha, step_lambda).
    alpha: float = setting(1.0, POSITIVE)
    schedule: str = setting("harmonic", _STEP_SCHEDULE)
    alpha_final: float = setting(0.01, POSITIVE)
    alpha_half: float = setting(1_000.0, POSITIVE)
    span: int = setting(10_000, integer(1))
    # Probability of a uniformly random move in the first T plies of a simulation (experiment tdsearch_policy).
    epsilon: float = setting(0.3, UNIT)
    # Of TD(lambda): 0 is TD(0), 1 is Monte-Carlo (experiments tdsearch_lambda, step_lambda).
    lambda_: float = setting(0.0, UNIT)
    # V is logistic or linear in the features; with a long-term memory, as that one learned.
    value: str = setting("logistic", choice("logistic", "linear"))
    # The default policy, and each rule of MoGo's: save stones put into atari, 3x3 patterns, capture anything; no
    # pattern move into self-atari; end simulations that are hopeless for one side.
    default: str = setting("mogo", choice("mogo", "uniform"))
    save: bool = setting(True, SWITCH)
    pattern: bool = setting(True, SWITCH)
    capture: bool = setting(True, SWITCH)
    self_atari: bool = setting(True, SWITCH)
    mercy: bool = setting(True, SWITCH)
    # A simulation longer than this is abandoned; 0: 3 * size * size.
    max_moves: int = setting(0, integer(0))
    # Forget everything before each move.
    reset: bool = setting(False, SWITCH)
    # Play by the value function of so many own moves ago.
    delay: int = setting(0, integer(0))
    # Threads, and simulations of each between two merges; many more overshoot, and play worse.
    workers: int = setting(1, integer(1, 64))
    merge_every: int = setting(20, integer(1))
    # Give up where the best move wins with less than this.
    resign: float = setting(0.0, UNIT)

    def _settings(self) -> dict[str, Any]:
        """What `TdSearch` and `Dyna2` have in common, as they want it."""
        from rlgo.settings import EPSILON_GREEDY, STEP_SCHEDULES, VALUES, Learning, Policy
        from rlgo.td_search import ALL_PLIES, THROUGHOUT, Simulation

        return {
            "simulations": None if self.sims == "none" else self.sims,
            "seconds": self.seconds or None,
            "policy": Policy(EPSILON_GREEDY, self.epsilon),
            "learning": Learning(
                alpha=self.alpha,
                schedule=STEP_SCHEDULES[self.schedule],
                alpha_final=self.alpha_final,
                alpha_half=self.alpha_half,
                games=self.span,
                lambda_=self.lambda_,
                value=VALUES[self.value],
            ),
            "simulation": Simulation(
                THROUGHOUT if self.T == "never" else int(self.T),
                ALL_PLIES if self.learn == "all" else int(self.learn),
                self.max_moves,
            ),
            "default": _default_policy(self),
            "reset": self.reset,
            "delay": self.delay,
            "workers": self.workers,
            "merge_every": self.merge_every,
            "resign": self.resign,
        }

    def make(self, size: int, seed: Seed) -> Player:
        from rlgo.td_search import TdSearch

        return TdSearch(size, self.sizes, seed=seed, **self._settings())


def _default_policy(keys: TdSearchKeys | SimulationKeys) -> Any:
    """The default policy that the keys name."""
    from mcts.search import LEARNED
    from rlgo.rollout import DEFAULT_POLICIES, DefaultPolicy

    kind = LEARNED if keys.default == "rlgo" else DEFAULT_POLICIES[keys.default]
    return DefaultPolicy(kind, keys.save, keys.pattern, keys.capture, keys.self_atari, keys.mercy)


@dataclass(frozen=True)
class Dyna2Keys(TdSearchKeys):
    """Dyna-2: the keys of TD search are its short-term memory's (TD paper, Section 5)."""

    # Window sizes of the short-term memory; []: none, which leaves the greedy player.
    sizes: tuple[int, ...] = setting((1, 2, 3), _SHORT_SIZES)
    # Step size of the short-term memory (experiment step_lambda: with a long-term memory small steps are best).
    alpha: float = setting(0.1, POSITIVE)
    schedule: str = setting("constant", _STEP_SCHEDULE)
    # Weight sharing of the short-term memory; anything but none keeps the memories apart, which is slower.
    sharing: str = setting("none", choice("none", "inversion", "LD", "LI", "LI+LD"))
    # Keep them apart in any case.
    apart: bool = setting(False, SWITCH)
    # The long-term memory: a weight file; empty: the best that ship with rlgo; none: no long-term memory.
    long: str = setting("", _FILE)
    # Let it learn from each game that is played, by this step size and lambda; and act at random that often.
    long_learn: bool = setting(False, SWITCH)
    long_alpha: float = setting(0.1, POSITIVE)
    long_lambda: float = setting(0.0, UNIT)
    long_epsilon: float = setting(0.0, UNIT)
    # A weight file to write the long-term memory to after each game that it learned from; empty: nowhere.
    long_save: str = setting("", _FILE)

    def _dyna2(self, size: int, seed: Seed, name: str) -> Any:
        from rlgo.dyna2 import LONG_LEARNING, Dyna2

        return Dyna2(
            size,
            None if self.long == "none" else _load(self.long, size),
            self.sizes,
            self.sharing,
            apart=self.apart,
            long_learning=LONG_LEARNING._replace(alpha=self.long_alpha, lambda_=self.long_lambda)
            if self.long_learn
            else None,
            long_epsilon=self.long_epsilon,
            long_save=self.long_save or None,
            seed=seed,
            name=name,
            **self._settings(),
        )

    def make(self, size: int, seed: Seed) -> Player:
        player: Player = self._dyna2(size, seed, "dyna2")
        return player


@dataclass(frozen=True)
class TableSearchKeys(Keys):
    """TD search with table look-up: greedy Monte-Carlo tree search (TD paper, Section 4.3)."""

    # Simulations of each move.
    sims: int = setting(1_000, integer(1))
    # Step size; 0: 1 / N(s, a), which makes means.
    alpha: float = setting(0.0, NOT_NEGATIVE)
    # Probability of a uniformly random move where the state is in the table.
    epsilon: float = setting(0.0, UNIT)
    # Of TD(lambda): 1 is Monte-Carlo.
    lambda_: float = setting(1.0, UNIT)
    # The default policy beyond the table.
    default: str = setting("mogo", choice("mogo", "uniform"))

    def make(self, size: int, seed: Seed) -> Player:
        from rlgo.rollout import DEFAULT_POLICIES, DefaultPolicy
        from rlgo.table_search import GREEDY, MONTE_CARLO, TableSearch

        return TableSearch(
            size,
            self.sims,
            GREEDY._replace(epsilon=self.epsilon),
            MONTE_CARLO._replace(alpha=self.alpha, lambda_=self.lambda_),
            DefaultPolicy(DEFAULT_POLICIES[self.default]),
            seed=seed,
        )


@dataclass(frozen=True)
class SimulationKeys(Keys):
    """What all of the tree search family share (MC-RAVE paper)."""

    limits: ClassVar[tuple[str, ...]] = ("sims", "seconds")
    name: ClassVar[str]

    # Simulations of each move; none: as many as the time allows. With `seconds` given, none unless given too.
    sims: int | str = setting(3_000, _COUNT)
    # Seconds for each move; 0: as long as the simulations take. In a file, set the other limits to none, too.
    seconds: float = setting(0.0, NOT_NEGATIVE)
    # The default policy: MoGo's, uniform, or (rlgo) by the weights, at random with probability epsilon; and each rule
    # of MoGo's, as for td_search.
    default: str = setting("mogo", choice("mogo", "uniform", "rlgo"))
    epsilon: float = setting(0.1, UNIT)
    save: bool = setting(True, SWITCH)
    pattern: bool = setting(True, SWITCH)
    capture: bool = setting(True, SWITCH)
    self_atari: bool = setting(True, SWITCH)
    mercy: bool = setting(True, SWITCH)
    # Truncated simulation: after so many plies of the default policy, V of the weights is the outcome.
    truncate: int | str = setting("never", _or_word(0, "never"))
    # The weight file, for all that asks for weights, or the name of one that ships; empty: the best of those.
    weights: str = setting("", _FILE)
    # Threads; on one tree, with virtual losses, or each on its own, their roots added up.
    workers: int = setting(1, integer(1, 64))
    root_parallel: bool = setting(False, SWITCH)
    virtual_loss: int = setting(1, integer(1, 1_000))
    # Give up where the best move wins with less than this.
    resign: float = setting(0.0, UNIT)

    def make(self, size: int, seed: Seed) -> Player:
        from mcts.player import ALGORITHMS, TreeSearch
        from mcts.search import NEVER
        from rlgo.jit import seed_sequence

        sequence = seed_sequence(seed)
        settings = ALGORITHMS[self.name]._replace(
            truncate=NEVER if self.truncate == "never" else int(self.truncate),
            virtual_loss=self.virtual_loss,
            **self._settings(),
        )
        return TreeSearch(
            size,
            settings,
            None if self.sims == "none" else int(self.sims),
            self.seconds or None,
            _default_policy(self),
            _load(self.weights, size) if self._asks_for_weights() else None,
            self.epsilon,
            resign=self.resign,
            workers=self.workers,
            root_parallel=self.root_parallel,
            seed=sequence,
            name=self.name,
            **self._tree(size, sequence),
        )

    def _settings(self) -> dict[str, Any]:
        """What `mcts.search.Settings` has beside."""
        return {}

    def _tree(self, size: int, seed: np.random.SeedSequence) -> dict[str, Any]:
        """What `TreeSearch` is told beside."""
        return {}

    def _asks_for_weights(self) -> bool:
        return self.default == "rlgo" or self.truncate != "never"


@dataclass(frozen=True)
class McKeys(SimulationKeys):
    """Flat Monte-Carlo."""

    name: ClassVar[str] = "mc"

    # Simulate the moves in proportion to exp(Q / temperature); 0: all as often.
    temperature: float = setting(0.0, NOT_NEGATIVE)
    # Progressive pruning: drop a move whose value lies so many standard errors of both below the best; 0: none.
    pruning: float = setting(0.0, NOT_NEGATIVE)

    def _settings(self) -> dict[str, Any]:
        return {"temperature": self.temperature, "pruning": self.pruning}


@dataclass(frozen=True)
class TreeKeys(SimulationKeys):
    """Monte-Carlo tree search; the algorithms differ in their defaults alone."""

    name: ClassVar[str] = "mc_rave"
    implied: ClassVar[dict[str, tuple[str, str]]] = {"k": ("schedule", "hand_selected")}

    # Exploration constant of UCB1 (experiment exploration).
    c: float = setting(0.0, NOT_NEGATIVE)
    # First-play urgency: the value of an action without any statistics.
    fpu: float = setting(0.5, NOT_NEGATIVE)
    # How MC and AMAF values are combined, where both are: to the least squared error, by the bias b; or hand-selected,
    # by the equivalence parameter k, which is implied where k is given, and no schedule (experiments rave_k, rave_bias,
    # rave_schedule).
    schedule: str = setting("minimum_mse", _SCHEDULE)
    k: float = setting(10_000.0, POSITIVE)
    bias: float = setting(0.02, NOT_NEGATIVE)
    # With the latter: learn the bias of near and of far moves from the trees of the game.
    learn_bias: bool = setting(False, SWITCH)
    # Visits of an action before its position becomes a node.
    expand_after: int = setting(1, integer(1))
    # Prior knowledge of new nodes, H (both: rlgo and handcrafted); its confidence C as MC value, and M (C~) as AMAF
    # value (experiment heuristics).
    heuristic: str = setting("none", _HEURISTIC)
    C: int = setting(0, integer(0, 100_000))
    M: int = setting(50, integer(0, 100_000))
    # M is the confidence where H is one half; the surer H is, the more.
    adapt_M: bool = setting(False, SWITCH)
    # Two phases: a td_search or dyna2 player, its file, or its spec with semicolons for commas. It learns before each
    # search; its value is the heuristic rlgo.
    first: str = setting("", _FILE)
    # Progressive bias: adds H * progressive_bias / (N + 1) to a move's value.
    progressive_bias: float = setting(0.0, NOT_NEGATIVE)
    # Progressive widening: try the best moves by H, one more whenever N(s) has grown by this factor; 0: all.
    widening: float = setting(0.0, number("0, or a number above 1", lambda x: x == 0 or x > 1))
    # Keep what the tree knows below the position that is reached next.
    reuse: bool = setting(True, SWITCH)
    # Memory of the tree; where it is full, the search goes on without growing it.
    memory_mb: float = setting(256.0, POSITIVE)

    def _settings(self) -> dict[str, Any]:
        from mcts.heuristic import HEURISTICS
        from mcts.rave import SCHEDULES

        return {
            "c": self.c,
            "first_play_urgency": self.fpu,
            "schedule": SCHEDULES[self.schedule],
            "rave_k": self.k,
            "rave_bias": self.bias,
            "learn_bias": self.learn_bias,
            "expand_after": self.expand_after,
            "heuristic": HEURISTICS[self.heuristic],
            "prior_n": self.C,
            "prior_n_amaf": self.M,
            "adapt_m": self.adapt_M,
            "progressive_bias": self.progressive_bias,
            "widening": self.widening,
        }

    def _tree(self, size: int, seed: np.random.SeedSequence) -> dict[str, Any]:
        from rlgo.td_search import TdSearch

        first = None
        if self.first:
            # With a seed of its own: two searches of one seed would draw the same.
            first = make_player(nested_spec(self.first), size, seed.spawn(1)[0])
            if not isinstance(first, TdSearch):
                raise RlgoError(f"first = {self.first}: expected a td_search or dyna2 player")
        return {"first": first, "reuse": self.reuse, "memory_mb": self.memory_mb}

    def _asks_for_weights(self) -> bool:
        return super()._asks_for_weights() or (self.heuristic in ("rlgo", "both") and not self.first)


@dataclass(frozen=True)
class MctsGreedyKeys(TreeKeys):
    """Greedy Monte-Carlo tree search."""

    name: ClassVar[str] = "mcts_greedy"


@dataclass(frozen=True)
class UctKeys(TreeKeys):
    """UCT."""

    name: ClassVar[str] = "uct"
    c: float = setting(1.0, NOT_NEGATIVE)
    fpu: float = setting(1.0, NOT_NEGATIVE)


@dataclass(frozen=True)
class RaveKeys(TreeKeys):
    """By the AMAF value alone."""

    name: ClassVar[str] = "rave"


@dataclass(frozen=True)
class UctRaveKeys(TreeKeys):
    """MC-RAVE with a bonus for exploration."""

    name: ClassVar[str] = "uct_rave"
    schedule: str = setting("hand_selected", _SCHEDULE)
    c: float = setting(0.1, NOT_NEGATIVE)


@dataclass(frozen=True)
class HeuristicMcRaveKeys(TreeKeys):
    """MC-RAVE with the learned value function as prior knowledge."""

    name: ClassVar[str] = "heuristic_mc_rave"
    heuristic: str = setting("rlgo", _HEURISTIC)


@dataclass(frozen=True)
class _Second(Keys):
    """What alpha-beta alone, and as a second phase, have in common."""

    # Plies; none: as deep as the time allows. With `seconds` given, none unless given too.
    depth: int | str = setting(4, _or_word(1, "none"))
    # Transposition table of 2^table_bits entries, killer moves, history heuristic, principal variation search, and
    # null moves, which alone may change the result.
    table: bool = setting(True, SWITCH)
    table_bits: int = setting(18, integer(4, 28))
    killers: bool = setting(True, SWITCH)
    history: bool = setting(True, SWITCH)
    pvs: bool = setting(True, SWITCH)
    null_move: bool = setting(False, SWITCH)

    def _second(self) -> dict[str, Any]:
        from rlgo.alphabeta import Options

        return {
            "depth": None if self.depth == "none" else self.depth,
            "options": Options(self.table, self.killers, self.history, self.pvs, self.null_move),
            "table_bits": self.table_bits,
        }


@dataclass(frozen=True)
class AlphaBetaKeys(_Second):
    """Alpha-beta on learned weights (TD paper, Section 3.4)."""

    limits: ClassVar[tuple[str, ...]] = ("depth", "seconds")

    # A weight file; empty: the best that ship with rlgo.
    weights: str = setting("", _FILE)
    # Seconds for each move; 0: as long as the depth takes. In a file, set the other limits to none, too.
    seconds: float = setting(0.0, NOT_NEGATIVE)

    def make(self, size: int, seed: Seed) -> Player:
        from rlgo.alphabeta import AlphaBeta

        return AlphaBeta(_load(self.weights, size), seconds=self.seconds or None, seed=seed, **self._second())


@dataclass(frozen=True)
class TwoPhaseKeys(_Second, Dyna2Keys):
    """Dyna-2, then alpha-beta on what it learned (TD paper, Section 6.1). Seconds are shared evenly."""

    limits: ClassVar[tuple[str, ...]] = ("sims", "depth", "seconds")

    def make(self, size: int, seed: Seed) -> Player:
        from rlgo.jit import seed_sequence
        from rlgo.two_phase import TwoPhase

        sequence = seed_sequence(seed)
        first, second = sequence.spawn(2)
        return TwoPhase(
            self._dyna2(size, first, "two_phase"), seconds=self.seconds or None, seed=second, **self._second()
        )


@dataclass(frozen=True)
class OpenSpielKeys(Keys):
    """OpenSpiel's tree search (needs rlgo[open_spiel])."""

    # Simulations of each move.
    sims: int = setting(1_000, integer(1))

    def make(self, size: int, seed: Seed) -> Player:
        from train.players.open_spiel import OpenSpielSearch

        return OpenSpielSearch(size, self.sims, seed)


PLAYERS: dict[str, type[Keys]] = {
    "random": RandomKeys,
    "greedy": GreedyKeys,
    "td_search": TdSearchKeys,
    "table_search": TableSearchKeys,
    "dyna2": Dyna2Keys,
    "alphabeta": AlphaBetaKeys,
    "two_phase": TwoPhaseKeys,
    "mc": McKeys,
    "mcts_greedy": MctsGreedyKeys,
    "uct": UctKeys,
    "rave": RaveKeys,
    "mc_rave": TreeKeys,
    "uct_rave": UctRaveKeys,
    "heuristic_mc_rave": HeuristicMcRaveKeys,
    "open_spiel": OpenSpielKeys,
}


def weights_file(text: str, size: int) -> Path:
    """The weight file that a spec means: a path, or the name of one that ships, ``9x9-1M``; nothing is the best."""
    from rlgo.weights import shipped_weights

    if not text:
        return shipped_weights(size)
    shipped = checkpoints_dir() / f"{text}.npz"
    return shipped if shipped.is_file() and not Path(text).is_file() else Path(text)


def _load(text: str, size: int) -> Any:
    """The weights of `weights_file`, which are for this board size."""
    from rlgo.weights import load_weights

    file = weights_file(text, size)
    weights = load_weights(file)
    if weights.features.size != size:
        n = weights.features.size
        raise RlgoError(f"{file}: expected weights for {size}x{size}, these are for {n}x{n}")
    return weights


# ---------------------------------------------------------------------------------------------
# Specs
# ---------------------------------------------------------------------------------------------

_SEED = integer(0, 10**18 - 1)  # every player has this key
_WORDS = {"on": True, "true": True, "off": False, "false": False}


class Spec(NamedTuple):
    """A parsed player spec; for ``gtp:COMMAND``, `name` is ``gtp`` and `values` holds ``command``."""

    name: str
    values: dict[str, Any]


def parse_spec(text: str) -> Spec:
    """Read a player spec. RlgoError names an unknown name or key, and the nearest one that exists."""
    if text.startswith("gtp:"):
        return Spec("gtp", {"command": text.removeprefix("gtp:")})
    name, *parts = (part.strip() for part in text.split(","))
    values: dict[str, Any] = {}
    if name.endswith(".toml"):
        name, values = _read_file(name)
        if any(part.startswith("seconds=") for part in parts):  # as behind a name: no other limit, unless given too
            values = {key: value for key, value in values.items() if key not in PLAYERS[name].limits}
    keys = _checks(name)
    given: set[str] = set()
    for part in parts:
        written, equals, value = part.partition("=")
        if written.isdecimal():
            raise RlgoError(f"player {name}: {part!r} stands alone: lists are written 1+2")
        key = _known(written, name, keys)
        if not equals or not value:
            raise RlgoError(f"player {name}: {part}: expected {key.rstrip('_')}=VALUE")
        if key in given:
            raise RlgoError(f"player {name}: {key} is given twice")
        given.add(key)
        values[key] = _parse(value, keys[key].types)
    for key, value in values.items():
        try:
            values[key] = keys[key](key.rstrip("_"), value)
        except RlgoError as error:
            raise RlgoError(f"player {name}: {error}") from None
    return Spec(name, values)


def nested_spec(text: str) -> str:
    """A spec that stands within another, with semicolons for commas."""
    return text.replace(";", ",")


def _checks(name: str) -> dict[str, Check]:
    """The keys of a player, and what they may be."""
    if name not in PLAYERS:
        names = [*PLAYERS, "gtp:COMMAND"]
        near = _nearest(name, names)
        raise RlgoError(f"player {name!r}: unknown; the nearest is {near} ({', '.join(names)}, or a file NAME.toml)")
    return {f.name: f.metadata["check"] for f in dataclasses.fields(PLAYERS[name])} | {"seed": _SEED}


def _known(key: str, name: str, keys: dict[str, Check]) -> str:
    """The name of the field that a key means: ``lambda`` is a word of Python's."""
    known = "lambda_" if key == "lambda" else key
    if known not in keys:
        near = _nearest(key, list(keys))
        shown = ", ".join(key.rstrip("_") for key in keys)
        raise RlgoError(f"player {name}: unknown key {key!r}; the nearest is {near.rstrip('_')} ({shown})")
    return known


def _read_file(file: str) -> tuple[str, dict[str, Any]]:
    """The name and the values of a player's TOML file, or of a shipped one."""
    path = config_path(file, "players")
    data = read_toml(path)
    name = data.pop("player", None)
    try:
        if not isinstance(name, str):
            raise RlgoError('expected player = "NAME"')
        keys = _checks(name)
        return name, {_known(key, name, keys): value for key, value in data.items()}
    except RlgoError as error:
        raise RlgoError(f"{path}: {error}") from None


def _parse(value: str, types: tuple[type, ...]) -> Any:
    """A value as it is written on the command line, as one of these types; as text where it is none of them."""
    if bool in types and value in _WORDS:
        return _WORDS[value]
    if int in types and re.fullmatch("-?[0-9]{1,100}", value):
        return int(value)
    if float in types:
        try:
            return float(value)
        except ValueError:
            return value
    if list in types:
        elements = [] if value in ("none", "[]") else value.split("+")
        return [int(k) if re.fullmatch("[0-9]{1,18}", k) else k for k in elements]
    return value


def make_player(spec: str, size: int, seed: Seed = None, key: tuple[int, ...] = ()) -> Player:
    """The player of a spec, for boards of one size.

    Parameters
    ----------
    seed : for players that draw random numbers and whose spec names no seed; None: different every time.
    key : of one of many games: whatever the seed, each has random numbers of its own.

    Raises
    ------
    RlgoError : for a bad spec, for want of weights, for an engine that does not start or refuses the size.
    """
    name, values = parse_spec(spec)
    if name == "gtp":
        return GtpClient(values["command"], size)
    kind = PLAYERS[name]
    seed = values.pop("seed", seed)
    if key and seed is not None:
        entropy = seed.entropy if isinstance(seed, np.random.SeedSequence) else seed
        seed = np.random.SeedSequence(entropy, spawn_key=key)
    if values.get("seconds"):
        values = {**{key: "none" for key in kind.limits if key != "seconds"}, **values}
    values = {**{other: value for key, (other, value) in kind.implied.items() if key in values}, **values}
    try:
        return kind(**values).make(size, seed)
    except RlgoError as error:
        raise RlgoError(f"player {name}: {error}") from None


def _nearest(name: str, names: list[str]) -> str:
    return max(names, key=lambda known: SequenceMatcher(None, name, known).ratio())
