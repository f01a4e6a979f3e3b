"""Configs: frozen dataclasses, read from TOML, with ``--set section.key=value`` on top.

Start reading at the sections, `RunConfig` to `PolicyConfig`: each key with its meaning, default and allowed values.
Keys of an algorithm are declared in its own settings (`rlgo.base.settings`); see `train.settings.Group`. TD stands for
Silver, Sutton & Mueller 2012; settings, sections and equations refer to it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le, MinLen, Predicate
from pydantic import BeforeValidator, StringConstraints

from rlgo.base.checks import Expected, Key, Needs, needs
from rlgo.base.errors import CLOSE, RlgoError, printable
from rlgo.base.resources import config_path
from rlgo.base.settings import (
    DEFAULT_KOMI,
    DEFAULT_SIZE,
    GAMES,
    SIZES,
    BoardSize,
    EvenCount,
    FastGames,
    Komi,
    Learning,
    MaxMoves,
    NonNegative,
    PairedGames,
    Policy,
    Positive,
    SeedNumber,
    Sharing,
    TrainingGames,
    TrainingGamesOr0,
    Workers,
)
from rlgo.features.kinds import kind_of
from train.settings import (
    AnyPath,
    Folder,
    Group,
    Line,
    Name,
    Section,
    SizesOrNone,
    Windows,
    different,
    read_toml_value,
    shorten,
    spelled,
    to_toml_value,
)

# ---------------------------------------------------------------------------------------------
# Kinds of values that only configs have
# ---------------------------------------------------------------------------------------------


def _up_to(value: Any) -> Any:
    """Expand a number n of seeds to the seeds 1 to n; a number that is too large is left for pydantic to reject."""
    return tuple(range(1, value + 1)) if type(value) is int and value <= _MOST_SEEDS else value


FolderName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$"),
    Expected("a folder name of letters, digits, '.', '_' and '-'"),
]
ConfigName = Annotated[AnyPath, MinLen(1), Expected("the name of a config")]
WeightFile = Annotated[AnyPath, Expected("the path of a weight file, or nothing")]
Cluster = Annotated[
    Line,
    StringConstraints(pattern=r"^((local|auto|(ray://)?[^\s/]+:[0-9]{1,5}))?$"),
    Expected('"local", "auto", "[ray://]HOST:PORT" or nothing'),
]
_MOST_SEEDS = 10_000
Seeds = Annotated[
    tuple[SeedNumber, ...],
    BeforeValidator(_up_to),
    Predicate(different),
    MinLen(1),
    Expected(f"a number of seeds up to {_MOST_SEEDS:,}, or a list of different integers of at least 0"),
]
_SHOW_LIBERTIES = Needs(
    "windows that show atari or liberties",
    lambda features: any(kind_of(window).n_classes > 1 for window in features.windows),
)
Names = Annotated[tuple[str, ...], Expected("a list of players' names")]
Tags = Annotated[tuple[Name, ...], Predicate(different), Expected("a list of different words")]
Openings = Annotated[
    Line,
    Key(
        "How games begin: balanced, balanced-tuning, random:N (N random plies), empty, or a file of openings. "
        "Empty text: balanced on 9x9, 13x13 and 19x19 with komi 7.5, else random:4."
    ),
]

# ---------------------------------------------------------------------------------------------
# The sections of a training run
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunConfig(Section):
    """How long to train, and where results go."""

    prefix: ClassVar[str] = "run."

    name: Annotated[FolderName, Key("Name of the run's folder inside `out`.")] = "run"
    seed: Annotated[SeedNumber, Key("Seed of all random numbers of the run; the same seed gives the same weights.")] = 1
    start: Annotated[
        WeightFile,
        Key("A weight file with the same features to start from. Empty: all weights are 0, as in the paper."),
    ] = ""
    tags: Annotated[Tags, Key("Words to find the run by: `rlgo runs --tag WORD`.")] = ()
    note: Annotated[Line, Key("What the run is for, in one line; `rlgo runs` shows it.")] = ""
    games: Annotated[TrainingGames, GAMES] = Learning().games
    out: Annotated[Folder, Key("The folder that contains the run folders.")] = "runs"
    log_every: Annotated[TrainingGames, Key("Games between two points in the logs.")] = 10_000
    eval_every: Annotated[
        TrainingGamesOr0, Key("Games between two measurements of strength. 0 measures at the end only.")
    ] = 100_000
    eval_games: Annotated[FastGames, Key("Games per opponent in each measurement, earlier checkpoints included.")] = (
        1_000
    )
    gnugo_games: Annotated[
        EvenCount,
        Key("Games of a match against GNU Go level 0, if it is installed; each takes about a second. 0: none."),
    ] = 0
    gnugo_every: Annotated[
        TrainingGamesOr0,
        Key(
            "Games of self-play between two such matches; 0: one at the end. Needs gnugo_games.",
            needs=Needs("gnugo_games of at least 2", lambda run: run.gnugo_games > 0),
        ),
    ] = 0
    workers: Annotated[
        Workers, Key("Threads that play and learn, each with its own weights; on a cluster, processes.")
    ] = 1
    merge_every: Annotated[
        TrainingGames,
        Key("Games of each worker between two merges; for a single worker, between two updates of the mean."),
    ] = 1_000
    cluster: Annotated[
        Cluster, Key("Where the workers run. Empty: on threads of this process; otherwise on this Ray cluster.")
    ] = ""
    cluster_timeout: Annotated[
        Positive,
        Key(
            "Seconds to wait for the workers of a round on the cluster, before the run gives up and can be resumed.",
            needs=Needs("cluster", lambda run: bool(run.cluster)),
        ),
    ] = 300.0


@dataclass(frozen=True)
class BoardConfig(Section):
    """The board and the score."""

    prefix: ClassVar[str] = "board."

    size: Annotated[BoardSize, Key("Points along a side.")] = DEFAULT_SIZE
    komi: Annotated[Komi, Key("Points added to White's score (TD: 7.5). A drawn game counts 1/2 for each side.")] = (
        DEFAULT_KOMI
    )


@dataclass(frozen=True)
class FeaturesConfig(Section):
    """Local shape features; see rlgo/features/shapes.py."""

    prefix: ClassVar[str] = "features."

    sizes: Annotated[
        SizesOrNone, Key("Sides of square windows, short for 1x1, 2x2 and 3x3 (TD, Section 3.1); [] for no squares.")
    ] = SIZES
    sharing: Annotated[
        Sharing, Key("Which shapes share a weight (TD, Section 3.1.3). LI: anywhere on the board; LD: at one location.")
    ] = "LI+LD"
    windows: Annotated[
        Windows,
        Key(
            "Irregular windows by name: what a cell shows (stones, which may be left out; atari, chains in atari "
            "apart; or liberties, chains with one, two and more of them apart), and a form: HxW, plus (a point and its "
            "neighbours), or a picture, such as .x/xx (rlgo/features/kinds.py).",
            aliases="liberties",
        ),
    ] = ()
    liberty_sharing: Annotated[
        Sharing,
        Key(
            "Which shapes that show atari or liberties share a weight.",
            needs=_SHOW_LIBERTIES,
        ),
    ] = "LI"

    def combine(self) -> None:
        """Refuse a feature set without windows."""
        if not self.sizes and not self.windows:
            raise RlgoError("features.sizes = [] cannot be combined with features.windows = []")


@dataclass(frozen=True)
class LearningConfig(Section):
    """How weights change; see rlgo/learning/td.py."""

    prefix: ClassVar[str] = "learning."

    rule: Annotated[
        Learning,
        Group(
            without=("games",),
            schedule={"name": "alpha_schedule"},
            averaging={"needs": needs("output", "mean")},
        ),
    ] = Learning()
    optimiser: Annotated[
        Line,
        MinLen(1),
        Expected("a learning rule"),
        Key(
            "The learning rule: normalised, that of TD; idbd, with a step size for each weight; or one of your "
            "own, FILE.py:NAME (docs/learning_rules.md)."
        ),
    ] = "normalised"
    output: Annotated[
        Literal["mean", "last"], Key("Which weights are measured and saved: their mean over time, or the last ones.")
    ] = "mean"


@dataclass(frozen=True)
class PolicyConfig(Section):
    """How self-play chooses its moves; see rlgo/learning/policy.py."""

    prefix: ClassVar[str] = "policy."

    rule: Annotated[
        Policy,
        Group(epsilon={"needs": needs("kind", "epsilon_greedy")}, temperature={"needs": needs("kind", "softmax")}),
    ] = Policy()
    max_moves: Annotated[
        MaxMoves, Key("Plies, at most 4 * size * size; a longer game is discarded and counted. 0: 3 * size * size.")
    ] = 0


@dataclass(frozen=True)
class Config:
    """A training run. `Config()` is configs/default.toml; configs/paper.toml has the settings of the TD paper."""

    run: RunConfig = RunConfig()
    board: BoardConfig = BoardConfig()
    features: FeaturesConfig = FeaturesConfig()
    learning: LearningConfig = LearningConfig()
    policy: PolicyConfig = PolicyConfig()


SECTIONS: dict[str, type[Section]] = {name: type(section) for name, section in vars(Config()).items()}
_KEYS = [f"{name}.{key}" for name, cls in SECTIONS.items() for key in cls.all_keys()]


# ---------------------------------------------------------------------------------------------
# Sections of other files
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SweepConfig(Section):
    """A sweep: many training runs; see train/runs/sweep.py, also for [sweep.parameters]."""

    prefix: ClassVar[str] = "sweep."

    name: Annotated[FolderName, Key("Name of the folder inside `run.out` that contains the runs.")] = "sweep"
    base: Annotated[
        ConfigName, Key("The config that every run starts from: a TOML file, or the name of a shipped one.")
    ] = "default"
    kind: Annotated[
        Literal["grid", "random"],
        Key("grid: every combination of the values; random: `samples` combinations at random."),
    ] = "grid"
    samples: Annotated[int, Ge(1), Le(10_000), Key("Combinations of a random sweep.")] = 20
    seeds: Annotated[Seeds, Key("Each combination is run with each of these seeds. A number n means 1 to n.")] = (1,)
    seed: Annotated[SeedNumber, Key("Seed of the random combinations, and of the games between the runs.")] = 1
    games: Annotated[
        PairedGames, Key("Games of each run's last weights against each opponent; earlier ones play a fifth.")
    ] = 1_000
    openings: Openings = ""


@dataclass(frozen=True)
class TournamentConfig(Section):
    """Many players and their ratings. [players] has a spec for each name, [anchors] the ratings of some, if any."""

    prefix: ClassVar[str] = "tournament."

    name: Annotated[FolderName, Key("Name of the tournament's folder inside `out`.")] = "tournament"
    out: Annotated[Folder, Key("The folder that contains the tournament folders.")] = "tournaments"
    kind: Annotated[
        Literal["round_robin", "gauntlet", "swiss"],
        Key(
            "round_robin: everyone plays everyone. gauntlet: the challengers play everyone else. swiss: "
            "everyone plays in every round, usually against someone with a similar number of wins (TD, Section 4.5)."
        ),
    ] = "round_robin"
    games: Annotated[
        EvenCount,
        Key("Games of each pair; in a Swiss tournament, of each player, two a round. Both colours play each opening."),
    ] = 100
    challengers: Annotated[Names, Key("Gauntlet: the names of the players that play everyone else.")] = ()
    bias: Annotated[Positive, Key("Swiss: the difference in wins that makes a pairing e times less likely.")] = 4.0
    size: Annotated[BoardSize, Key("Points along a side of the board.")] = DEFAULT_SIZE
    komi: Annotated[Komi, Key("Points added to White's score.")] = DEFAULT_KOMI
    openings: Openings = ""
    max_moves: Annotated[
        int, Ge(0), Le(10_000), Key("Plies after which a game is scored as it stands. 0: 3 * size * size.")
    ] = 0
    time: Annotated[
        Line,
        Expected("a time"),
        Key('Time of each side: "60", "60+30/5" or "60+3x10" (rlgo/go/clock.py). Empty: no clock.'),
    ] = ""
    seed: Annotated[SeedNumber, Key("Seed of openings and pairings, and of players whose specs set none.")] = 1
    jobs: Annotated[
        int, Ge(1), Le(1_000), Key("Games at a time. On a Ray cluster, this is the maximum; 1 uses all of its CPUs.")
    ] = 1
    cluster: Annotated[Cluster, Key("The Ray cluster that plays the games. Empty: this computer.")] = ""
    sgf: Annotated[bool, Key("Write an SGF record of every game.")] = False
    prior: Annotated[NonNegative, Key("Virtual draws of the ratings (train/arena/elo.py).")] = 2.0


# ---------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------


def base_of(file: Path, base: str) -> str:
    """Return the base config that a file names: one next to it, found from any working directory, or a shipped one."""
    beside = file.parent / base
    return str(beside) if beside.is_file() else base


def load_config(path: str | Path, overrides: str | Iterable[str] = ()) -> Config:
    """Read a config.

    Parameters
    ----------
    path : a TOML file, or the name of a shipped config (see `resources.config_path`)
    overrides : ``section.key=value``, one or several; a value is read as TOML, or as a plain string if it is not TOML

    Raises
    ------
    RlgoError : naming the file (or ``--set``), the key, the value and what was expected.

    >>> from train import load_config
    >>> load_config("quick", "run.games=5_000").run.games
    5000
    """
    file = config_path(path)
    data = read_toml(file)
    for kind in ("sweep", "tournament", "experiment"):
        if kind in data:
            raise RlgoError(f"{file}: expected a training run, found a table [{kind}] (see rlgo {kind} --help)")
    # Check the file alone first, so that an error names where the mistake is.
    tables = _tables(data, str(file))
    config = _build(tables, str(file))
    overrides = [overrides] if isinstance(overrides, str) else list(overrides)
    if not overrides:
        return config
    for override in overrides:
        for name, values in _tables(parse_override(override), f"--set {printable(override)}").items():
            tables.setdefault(name, {}).update(values)
    return _build(tables, "--set")


def read_toml(file: Path, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """Read a TOML file, changed by ``table.key=value`` overrides; an RlgoError names the file and the problem."""
    try:
        data = tomllib.loads(file.read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise RlgoError(f"{file}: expected a TOML file in UTF-8: {error.reason}") from None
    except (ValueError, RecursionError) as error:  # besides TOMLDecodeError: numbers too long, brackets too deep
        is_path = "\\" in str(error) or "hex value" in str(error)  # such as "C:\Users"
        hint = r"; write \ in double quotes as / or \\" if is_path else ""
        raise RlgoError(f"{file}: not valid TOML: {error}{hint}") from None
    except OSError as error:
        raise RlgoError(f"{file}: cannot be read: {error.strerror}") from None
    for override in overrides:
        for name, values in parse_override(override).items():
            if not isinstance(values, dict) or not isinstance(data.setdefault(name, {}), dict):
                raise RlgoError(f"--set {printable(override)}: expected table.key=value")
            data[name].update(values)
    return data


def config_from_dict(data: Mapping[str, Any], source: str = "config") -> Config:
    """Make a config from a nested mapping, section -> key -> value; error messages begin with `source`."""
    return _build(_tables(data, source), source)


def change(config: Config, data: Mapping[str, Any], source: str) -> Config:
    """Replace values of `config` by those of a nested mapping; see `config_from_dict`."""
    tables = {name: getattr(config, name).values() for name in SECTIONS}
    for name, values in _tables(data, source).items():
        tables[name].update(values)
    return _build(tables, source)


def _tables(data: Mapping[str, Any], source: str) -> dict[str, dict[str, Any]]:
    """Check the names of sections and keys, and resolve aliases; values are left alone."""
    tables: dict[str, dict[str, Any]] = {}
    for name, values in data.items():
        if name not in SECTIONS:
            first = f".{next(iter(values))}" if isinstance(values, Mapping) and values else ""
            raise _unknown(name + first, source)
        if not isinstance(values, Mapping):
            raise RlgoError(f"{source}: {name} = {shorten(values)}: expected a table [{name}]")
        table = tables[name] = {}
        for written, value in values.items():
            leaf = canonical_key(f"{name}.{written}", source).partition(".")[2]
            if leaf in table:
                raise RlgoError(
                    f"{source}: {name}.{written} cannot be combined with {name}.{spelled(leaf)}, its other name"
                )
            table[leaf] = value
    return tables


def canonical_key(key: str, source: str) -> str:
    """Return the full name of a key, ``section.key``; RlgoError if the section has no such key."""
    name, _, leaf = key.partition(".")
    known = f"{name}.{SECTIONS[name].aliases().get(leaf, leaf)}" if name in SECTIONS else key
    if known not in _KEYS:
        raise _unknown(key, source)
    return known


def _build(tables: dict[str, dict[str, Any]], source: str) -> Config:
    try:
        sections: Any = {name: SECTIONS[name].from_table(values) for name, values in tables.items()}
    except RlgoError as error:
        raise RlgoError(f"{source}: {error}") from None
    return Config(**sections)


def parse_override(text: str) -> dict[str, Any]:
    """Parse ``section.key=value`` into a nested mapping, as TOML would."""
    name, equals, raw = text.partition("=")
    table, dot, key = name.strip().partition(".")
    if not equals or not table:
        raise RlgoError(f"--set {printable(text)}: expected section.key=value")
    value = read_toml_value(raw.strip())
    return {table: {key: value}} if dot else {table: value}


def check_effects(config: Config, given: Iterable[str]) -> None:
    """Raise RlgoError for an override, ``section.key=value``, that has no effect given the other values of a config."""
    for override in given:
        for name, values in _tables(parse_override(override), f"--set {printable(override)}").items():
            section = getattr(config, name)
            for leaf in values:
                if needed := section.unmet(leaf):
                    raise RlgoError(
                        f"--set {printable(override)} has no effect here: it needs {section.prefix}{needed}"
                    )


def _unknown(name: str, source: str) -> RlgoError:
    """Reject an unknown config key, and suggest a similar one, possibly from another section."""
    table, _, leaf = name.rpartition(".")

    def likeness(known: str) -> tuple[float, float]:
        own_leaf = SequenceMatcher(None, leaf, spelled(known.partition(".")[2])).ratio()
        return own_leaf + SequenceMatcher(None, name, known).ratio(), own_leaf

    best = max(_KEYS, key=likeness)
    if likeness(best)[1] >= CLOSE:
        hint = f"did you mean {spelled(best)}?"
    elif table in SECTIONS:
        hint = f"expected one of {', '.join(map(spelled, SECTIONS[table].all_keys()))}"
    else:
        hint = f"expected a section: {', '.join(SECTIONS)}"
    return RlgoError(f"{source}: unknown key {printable(name)}; {hint}")


# ---------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------


def to_toml(config: Config) -> str:
    """Write the whole config as TOML, which `load_config` reads back as the same config."""
    lines = []
    for name in SECTIONS:
        lines.append(f"[{name}]")
        lines += [f"{key} = {to_toml_value(value)}" for key, value in getattr(config, name).values().items()]
        lines.append("")
    return "\n".join(lines)


def flat(config: Config) -> dict[str, Any]:
    """Return every value by its full key, ``section.key``."""
    return {f"{name}.{key}": value for name in SECTIONS for key, value in getattr(config, name).values().items()}


def overrides(base: Config, config: Config) -> list[str]:
    """List the --set arguments that turn `base` into `config`: ``section.key=value`` each."""
    before = flat(base)
    return [f"{key}={to_toml_value(value)}" for key, value in flat(config).items() if value != before[key]]
