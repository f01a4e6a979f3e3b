"""Configs: frozen dataclasses <- TOML, with ``--set section.key=value`` on top.

Start reading at `Run` to `Policy`, the sections: they name every key, its default and what it may be. A
value is checked wherever it comes from (`settings.Section`); an unknown key is an error that names the
nearest valid one. TD stands for Silver, Sutton & Mueller 2012: settings, sections and equations are theirs.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, ClassVar

from rlgo.errors import RlgoError
from rlgo.resources import config_path
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
    shown,
    text,
    to_toml_value,
)

# ---------------------------------------------------------------------------------------------
# What values may be, beyond the common kinds
# ---------------------------------------------------------------------------------------------

_NAME = text("a folder name of letters, digits, '.', '_' and '-'", r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EVEN = Check((int,), "an even number of at least 0", lambda n: n if n >= 0 and n % 2 == 0 else None)
_CLUSTER = text('"local", "auto", "[ray://]HOST:PORT" or nothing', r"(local|auto|(ray://)?[^\s/]+:\d{1,5})?")
_KOMI = number("a number from -361 to 361", lambda x: abs(x) <= 361)
_PROSE = Check((str,), "text", lambda text: text.strip())
_NAMES = Check(
    (list, tuple),
    "a list of players' names",
    lambda names: tuple(names) if all(type(n) is str for n in names) else None,
)


def _seeds(value: int | list[Any] | tuple[Any, ...]) -> tuple[int, ...] | None:
    seeds = tuple(range(1, value + 1)) if type(value) is int else tuple(value)  # type: ignore[arg-type]
    good = all(type(seed) is int and 0 <= seed < 2**63 for seed in seeds)
    return seeds if good and seeds and len(set(seeds)) == len(seeds) else None


def _numbers(value: list[Any] | tuple[Any, ...]) -> tuple[float, ...] | None:
    good = all(type(x) in (int, float) and math.isfinite(x) for x in value) and len(set(value)) == len(value)
    return tuple(value) if value and good else None


_NUMBERS = Check((list, tuple), "a list of different numbers", _numbers)
_SEEDS = Check((int, list, tuple), "a number of seeds, or a list of different integers of at least 0", _seeds)


# ---------------------------------------------------------------------------------------------
# The sections
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run(Section):
    """How long to train, and what to write where."""

    # Name of the run folder, below `out`.
    name: str = setting("run", _NAME)
    # Every random number of the run comes from it: the same seed gives the same weights.
    seed: int = setting(1, integer(0, 2**63 - 1))
    # A weight file of the same features to start from; empty: weights of 0, as in the paper.
    start: str = setting("", text("the path of a weight file, or nothing", r".*"))
    # Games of self-play (TD: a million).
    games: int = setting(1_000_000, integer(1))
    # Folder of run folders.
    out: str = setting("runs", text("the path of a folder", r".+"))
    # Games between two points of the logs.
    log_every: int = setting(10_000, integer(1))
    # Games between two measurements of strength; 0 measures at the end alone.
    eval_every: int = setting(100_000, integer(0))
    # Games of each measurement, against each opponent; at checkpoints too, see train/runs/strength.py.
    eval_games: int = setting(1_000, integer(2))
    # Games of a match against GNU Go level 0, where it is installed, at a second each or so; 0 plays none.
    gnugo_games: int = setting(0, _EVEN)
    # Games of self-play between two such matches; 0 plays one at the end alone.
    gnugo_every: int = setting(0, integer(0))
    # Threads that play and learn, each with weights of its own; see rlgo/learner.py. On a cluster: processes.
    workers: int = setting(1, integer(1, 1_000))
    # Games of each worker between two merges; with one worker, between two updates of the mean weights.
    merge_every: int = setting(1_000, integer(1))
    # Where the workers are: empty for threads of this process, or a Ray cluster; see `train.runs.workers.connect`.
    cluster: str = setting("", _CLUSTER)
    # Seconds to wait for workers of a cluster, when they start and in each round; who is slower is replaced.
    cluster_timeout: float = setting(300.0, POSITIVE)


@dataclass(frozen=True)
class Board(Section):
    """The board and the score."""

    # Points along a side (the same limits as in rlgo/board.py).
    size: int = setting(9, integer(5, 19))
    # Points added to White's score (TD: 7.5); a drawn score is worth 1/2.
    komi: float = setting(7.5, _KOMI)


@dataclass(frozen=True)
class Features(Section):
    """Local shape features; see rlgo/shapes.py."""

    # Sides of the windows, ascending (TD, Section 3.1: 1x1 to 3x3).
    sizes: tuple[int, ...] = setting((1, 2, 3), SIZES)
    # Which shapes share a weight (TD, Section 3.1.3): LI independent of, LD dependent on the location.
    sharing: str = setting("LI+LD", choice("LI+LD", "LI", "LD", "inversion", "none"))


@dataclass(frozen=True)
class Learning(Section):
    """The update; see rlgo/td.py."""

    # Step size before normalisation (TD: 0.1; where the mean of the weights plays, a larger one is better).
    alpha: float = setting(0.3, POSITIVE)
    # How alpha falls from game to game.
    alpha_schedule: str = setting("constant", choice("constant", "linear", "harmonic", "exponential"))
    # Schedules linear and exponential: alpha at the last game.
    alpha_final: float = setting(0.01, NOT_NEGATIVE)
    # Schedule harmonic, alpha * half / (half + game): games until alpha has halved.
    alpha_half: float = setting(100_000.0, POSITIVE)
    # Trace decay of TD(lambda); 0 is TD(0) (TD's), 1 is Monte-Carlo. In TOML `lambda` will do.
    lambda_: float = setting(0.0, UNIT)
    # Plies between the two ends of a backup (TD, equation 10: 2, so that the same colour is to play at both).
    plies: int = setting(2, choice(1, 2))
    # Value function: sigma(phi . theta) (TD, equation 9), or 1/2 + phi . theta.
    value: str = setting("logistic", choice("logistic", "linear"))
    # When the weights change: at the game's end, or after every move (as TD prints it).
    update: str = setting("game", choice("game", "step"))
    # What alpha is divided by: non-neutral windows (TD's words), their weights (the original RLGO; the best of
    # the three at a million games, see checkpoints/README.md), ||phi||^2, or nothing.
    normalise: str = setting("slots", choice("active", "slots", "norm2", "none"))
    # Which weights are measured and saved: their mean over time, or the last ones.
    output: str = setting("mean", choice("mean", "last"))
    # The j-th weights count in the mean in proportion to j^averaging; see rlgo/learner.py.
    averaging: float = setting(3.0, NOT_NEGATIVE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha_schedule == "exponential" and self.alpha_final == 0:
            raise RlgoError('learning.alpha_final = 0: expected a number above 0 for alpha_schedule = "exponential"')


@dataclass(frozen=True)
class Policy(Section):
    """How self-play chooses its moves; see rlgo/policy.py."""

    # epsilon_greedy (TD), greedy (no exploration at all), or softmax over the values of all moves.
    kind: str = setting("epsilon_greedy", choice("epsilon_greedy", "greedy", "softmax"))
    # Probability of a uniformly random move, for epsilon_greedy (TD: 0.1).
    epsilon: float = setting(0.2, UNIT)
    # For softmax, in units of V: a move's probability goes with exp(V / temperature).
    temperature: float = setting(0.1, POSITIVE)
    # Plies; a longer game is discarded and counted. 0 stands for 3 * size * size.
    max_moves: int = setting(0, integer(0, 10_000))


@dataclass(frozen=True)
class Config:
    """A training run, whole. `Config()` is configs/default.toml; the TD paper's settings are configs/paper.toml."""

    run: Run = Run()
    board: Board = Board()
    features: Features = Features()
    learning: Learning = Learning()
    policy: Policy = Policy()


@dataclass(frozen=True)
class Sweep(Section):
    """Many runs side by side; see train/runs/sweep.py, also for what [sweep.parameters] may hold."""

    # Name of the folder of their run folders, below `run.out`.
    name: str = setting("sweep", _NAME)
    # The config that every run starts from: a TOML file, or the name of a shipped config.
    base: str = setting("default", text("the name of a config", r".+"))
    # grid: every combination of the values; random: `samples` combinations drawn at random.
    kind: str = setting("grid", choice("grid", "random"))
    # Combinations of a random sweep.
    samples: int = setting(20, integer(1, 10_000))
    # Every combination is run with each of these seeds; a number n stands for 1 to n.
    seeds: tuple[int, ...] = setting((1,), _SEEDS)
    # Of the random combinations, and of the games between the runs.
    seed: int = setting(1, integer(0, 2**63 - 1))
    # What counts: the win rate against all other runs of the sweep, or against the shipped weights.
    metric: str = setting("members", choice("members", "shipped"))
    # Games of every run against each opponent, at the end.
    games: int = setting(1_000, integer(2))


@dataclass(frozen=True)
class Experiment(Section):
    """A table or a figure of a paper; see train/experiments/reading.py, also for the other tables of its file."""

    # What it is about, and where it stands.
    title: str = setting("", _PROSE)
    source: str = setting("", _PROSE)
    # curves: learning curves of training runs; games: players against each other; counts: the features' numbers;
    # frequency: how often shapes occur in a run.
    kind: str = setting("curves", choice("curves", "games", "counts", "frequency"))
    # What the paper found, and what there is to say to what we found (Markdown).
    paper: str = setting("", _PROSE)
    remarks: str = setting("", _PROSE)
    # Training runs start from this config, with each of these seeds; a number n stands for 1 to n.
    base: str = setting("paper", text("the name of a config", r".+"))
    seeds: tuple[int, ...] = setting((1,), _SEEDS)
    # Curves: games of each pair of checkpoints that meet, and of each run's last weights against GNU Go level 0.
    # Games: of each pair of players; in a Swiss tournament, of each player.
    games: int = setting(200, _EVEN)
    gnugo_games: int = setting(0, _EVEN)
    # Games: all those in [[series]] meet all those in [players]; everybody meets everybody; or a Swiss tournament, in
    # which everybody plays so many games against opponents of similar strength (TD paper, Section 4.5).
    pairing: str = setting("gauntlet", choice("gauntlet", "round_robin", "swiss"))
    # Games: the name of what is drawn along the x axis, the board and the openings.
    x: str = setting("", text("a name", r".*"))
    size: int = setting(9, integer(5, 19))
    komi: float = setting(7.5, _KOMI)
    opening_plies: int = setting(4, integer(0))
    # Of openings, and of players whose specs name none.
    seed: int = setting(1, integer(0, 2**63 - 1))


@dataclass(frozen=True)
class Series(Section):
    """Players of an experiment that differ by a number x, which stands for ``{x}`` in their spec."""

    prefix: ClassVar[str | None] = ""

    # Its players are called LABEL X.
    label: str = setting("", text("a name", r".+"))
    player: str = setting("", text("a player spec", r".+"))
    x: tuple[float, ...] = setting((), _NUMBERS)
    # Gauntlet: the label of another series; each meets that one's player of the same x besides.
    against: str = setting("", text("the label of a series", r".*"))
    # The board: {x}; empty: that of the experiment.
    size: str = setting("", choice("", "{x}"))
    # What x is called where this series is drawn; empty: as for the experiment.
    along: str = setting("", text("a name", r".*"))


_SECTIONS: dict[str, type[Section]] = {f.name: type(f.default) for f in dataclasses.fields(Config)}  # type: ignore[misc]
_KEYS = [f"{name}.{f.name}" for name, section in _SECTIONS.items() for f in dataclasses.fields(section)]  # type: ignore[arg-type]
_ALIASES = {"learning.lambda": "learning.lambda_"}


@dataclass(frozen=True)
class Tournament(Section):
    """Many players and their ratings; see train/arena/tournament.py, also for [players] and [anchors]."""

    # Name of its folder, below `out`, and that.
    name: str = setting("tournament", _NAME)
    out: str = setting("tournaments", text("the path of a folder", r".+"))
    # round_robin: everybody meets everybody. gauntlet: the challengers meet all others. swiss: everybody plays in every
    # round, somebody drawn at random with a bias towards a similar number of wins (TD, Section 4.5).
    kind: str = setting("round_robin", choice("round_robin", "gauntlet", "swiss"))
    # Games of each pair; swiss: of each player, two a round. An even number: openings are played with both colours.
    games: int = setting(100, _EVEN)
    # Gauntlet: the names of those who meet all others.
    challengers: tuple[str, ...] = setting((), _NAMES)
    # Swiss: how many wins of difference make a pairing e times less likely.
    bias: float = setting(4.0, POSITIVE)
    # The board, and the rules of each game.
    size: int = setting(9, integer(5, 19))
    komi: float = setting(7.5, _KOMI)
    opening_plies: int = setting(4, integer(0))
    # Plies after which a game is scored as it stands; 0: 3 * size * size.
    max_moves: int = setting(0, integer(0))
    # Of each side: "60", "60+30/5" or "60+3x10" (see clock.parse_time); empty: no limit.
    time: str = setting("", text("a time", r".*"))
    # Of openings, pairings, and players whose specs name none.
    seed: int = setting(1, integer(0, 2**63 - 1))
    # Games at a time; on a Ray cluster, where one is named: as many at most, 1 for all its CPUs.
    jobs: int = setting(1, integer(1, 1_000))
    cluster: str = setting("", _CLUSTER)
    # Write an SGF record of every game.
    sgf: bool = setting(False, SWITCH)
    # Virtual draws of the ratings; see elo.rate.
    prior: float = setting(2.0, NOT_NEGATIVE)


# ---------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------


def load_config(path: str | Path, overrides: Iterable[str] = ()) -> Config:
    """Read a config.

    Parameters
    ----------
    path : a TOML file, or the name of a shipped config (see `resources.config_path`)
    overrides : ``section.key=value`` each; the value is read as TOML, and as a plain string where it is none

    Raises
    ------
    RlgoError : naming the file (or ``--set``), the key and what was expected.
    """
    file = config_path(str(path))
    # The file first by itself, so that an error names where the mistake stands.
    tables = _tables(read_toml(file), str(file))
    config = _build(tables, str(file))
    overrides = list(overrides)
    if not overrides:
        return config
    for override in overrides:
        for section, values in _tables(parse_override(override), f"--set {override}").items():
            tables.setdefault(section, {}).update(values)
    return _build(tables, "--set")


def read_toml(file: Path) -> dict[str, Any]:
    """The content of a TOML file. RlgoError names the file and what is wrong with it."""
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise RlgoError(f"{file}: expected a TOML file in UTF-8: {error.reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise RlgoError(f"{file}: not valid TOML: {error}") from None
    except OSError as error:
        raise RlgoError(f"{file}: cannot be read: {error.strerror}") from None


def config_from_dict(data: Mapping[str, Any], source: str = "config") -> Config:
    """The config of a nested mapping, section -> key -> value; `source` stands in front of error messages."""
    return _build(_tables(data, source), source)


def change(config: Config, data: Mapping[str, Any], source: str) -> Config:
    """`config` with the values of a nested mapping in place of its own; see `config_from_dict`."""
    tables: dict[str, dict[str, Any]] = dataclasses.asdict(config)
    for section, values in _tables(data, source).items():
        tables[section].update(values)
    return _build(tables, source)


def check_keys(kind: type[Section], table: Mapping[str, Any], source: str) -> None:
    """RlgoError for a key that a section does not have; it names the nearest one."""
    prefix = f"{kind.__name__.lower()}." if kind.prefix is None else kind.prefix
    keys = [f.name for f in dataclasses.fields(kind)]  # type: ignore[arg-type]
    for key in table:
        if key not in keys:
            raise _unknown(f"{prefix}{key}", source, [f"{prefix}{known}" for known in keys])


def section_from(kind: type[Section], table: Mapping[str, Any], source: str) -> Any:
    """The table [NAME] of some other file as its class NAME; `source` stands in front of error messages."""
    check_keys(kind, table, source)
    try:
        return kind(**table)
    except RlgoError as error:
        raise RlgoError(f"{source}: {error}") from None


def _tables(data: Mapping[str, Any], source: str) -> dict[str, dict[str, Any]]:
    """Check the names of sections and keys and resolve aliases; values are not looked at."""
    tables: dict[str, dict[str, Any]] = {}
    for section, values in data.items():
        if section not in _SECTIONS:
            first = f".{next(iter(values))}" if isinstance(values, Mapping) and values else ""
            raise _unknown(section + first, source)
        if not isinstance(values, Mapping):
            raise RlgoError(f"{source}: {section} = {shown(values)}: expected a table [{section}]")
        table = tables[section] = {}
        for key, value in values.items():
            leaf = canonical_key(f"{section}.{key}", source).partition(".")[2]
            if leaf in table:
                raise RlgoError(f"{source}: {section}.{key}: given twice, as {leaf} too")
            table[leaf] = value
    return tables


def canonical_key(key: str, source: str) -> str:
    """The name of a key as its section has it, ``section.key``; RlgoError where there is none."""
    name = _ALIASES.get(key, key)
    if name not in _KEYS:
        raise _unknown(name, source)
    return name


def _build(tables: dict[str, dict[str, Any]], source: str) -> Config:
    try:
        return Config(**{name: _SECTIONS[name](**values) for name, values in tables.items()})  # type: ignore[arg-type]
    except RlgoError as error:
        raise RlgoError(f"{source}: {error}") from None


def parse_override(text: str) -> dict[str, Any]:
    """``section.key=value`` as the nested mapping that TOML would make of it."""
    name, equals, raw = text.partition("=")
    section, dot, key = name.strip().partition(".")
    if not equals or not section:
        raise RlgoError(f"--set {text}: expected section.key=value")
    raw = raw.strip()
    try:
        parsed = tomllib.loads(f"value = {raw}")
    except tomllib.TOMLDecodeError:
        parsed = {}
    # More than one key means that the value brought a line of its own: then it is no TOML value.
    value = parsed["value"] if list(parsed) == ["value"] else raw
    return {section: {key: value}} if dot else {section: value}


def _unknown(name: str, source: str, keys: Iterable[str] | None = None) -> RlgoError:
    def likeness(key: str) -> float:
        # The last part counts again by itself, so that a key in a wrong section, or in none, is found.
        pairs = (name, key), (name.rpartition(".")[2], key.rpartition(".")[2])
        return sum(SequenceMatcher(None, a, b).ratio() for a, b in pairs)

    return RlgoError(f"{source}: unknown key {name}; the nearest valid key is {max(keys or _KEYS, key=likeness)}")


# ---------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------


def to_toml(config: Config) -> str:
    """The whole config as TOML: what `load_config` reads back as the same config."""
    lines = []
    for section in _SECTIONS:
        lines.append(f"[{section}]")
        for key, value in dataclasses.asdict(getattr(config, section)).items():
            lines.append(f"{key} = {to_toml_value(value)}")
        lines.append("")
    return "\n".join(lines)


def flat(config: Config) -> dict[str, Any]:
    """Every value by its whole key, ``section.key``."""
    sections = dataclasses.asdict(config)
    return {f"{section}.{key}": value for section, values in sections.items() for key, value in values.items()}


def overrides(base: Config, config: Config) -> list[str]:
    """What makes `config` of `base` on the command line: ``section.key=value`` each, for --set."""
    before = flat(base)
    return [f"{key}={to_toml_value(value)}" for key, value in flat(config).items() if value != before[key]]
