"""Read experiments from their files.

Start reading at `read_experiment`. A file in configs/experiments has a table [experiment], whose keys
`settings.ExperimentConfig` explains, and further tables:

    [runs."1x1"]                      # curves: a label, and what it changes in the base config
    features.sizes = [1]              # (a key `base = "default"` starts from another config)

    [panels]                          # curves: labels to draw together
    "(a) one size" = ["1x1", "2x2"]

    [[series]]                        # games: players with a number x in their spec; keys: `settings.SeriesConfig`
    label = "depth"
    player = "alphabeta,depth={x}"
    x = [1, 2, 3]

    [players]                         # games: players without such a number
    "GNU Go level 0" = "gtp:gnugo --mode gtp --level 0"
    "greedy 2x2" = "greedy,weights={weights 2x2}"    # the last weights of a run; games may have [runs], too

    [expected]                        # counts: the numbers in the paper's table
    "3x3 weights LD" = 61_517

    [[claims]]                        # the paper's claims, so that they can be checked; see `settings.Claim`
    text = "2x2 shapes learn faster than 3x3 shapes"
    a = "2x2@1000"
    b = "3x3@1000"
    low = 0
    games = 500                       # games: that many between these two, for this claim

    [[stated]]                        # numbers of the paper's figure, for the picture; see `settings.StatedConfig`
    series = "2x2"
    x = [2000]
    y = [1000]
    where = "Section 3.3.1"

Games are a gauntlet, a round robin or a Swiss tournament (the key `pairing`; see `games`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.resources import config_path, list_configs
from rlgo.base.settings import MAX_SIZE, MIN_SIZE
from train.config import Config, base_of, change, flat, load_config, read_toml
from train.experiments.declaration.experiment import (
    GNUGO_0,
    GNUGO_10,
    REFERENCE,
    Contestant,
    Experiment,
)
from train.experiments.declaration.settings import Claim, ExperimentConfig, Scale, SeriesConfig, StatedConfig, folder_of
from train.players.spec import parse_spec
from train.runs.fleet import RunSpec, run_name
from train.runs.folder import next_checkpoint
from train.settings import section_from, spec_value

OUT = "experiments"
# Shipped experiments in the order of the papers; any others follow by name.
_ORDER = (
    "shape_counts", "learning_runs", "shape_frequency", "shape_sets", "step_size", "plies", "lambda", "updates",
    "learning_rules", "longer", "alphabeta_depth", "gnugo", "tdsearch_policy", "tdsearch_shapes", "tdsearch_alpha",
    "tdsearch_lambda", "step_lambda", "temporality", "board_sizes", "large_boards", "dyna2", "two_phase",
    "two_phase_mcts", "rave_k", "rave_readings", "rave_schedule", "rave_bias", "heuristics", "exploration", "scaling",
    "equal_time_td", "equal_time_mc",
)  # fmt: skip
# Runs do not measure themselves: the games between checkpoints are more precise.
_RUN = {"eval_every": 0, "eval_games": 200, "gnugo_games": 0}
# Tables that a file of each kind may have in addition to [experiment].
_TABLES = {
    "curves": ("runs", "panels", "claims", "stated"),
    "frequency": ("claims",),
    "games": ("series", "players", "runs", "claims", "stated"),
    "counts": ("expected", "claims"),
}
# What a claim in a file of each kind may be about.
_MEASURES = {
    "curves": ("elo", "spread", "diverged"),
    "games": ("elo", "won", "speed"),
    "counts": ("number",),
    "frequency": ("number",),
}


def list_experiments() -> list[str]:
    """Return the names of the shipped experiments, in the order of the papers."""
    return sorted(list_configs("experiments"), key=lambda name: (_ORDER.index(name) if name in _ORDER else 99, name))


def read_experiment(
    path: str | Path, scale: float = 1.0, out: str | Path = OUT, overrides: Sequence[str] = ()
) -> Experiment:
    """Read an experiment from its file.

    Parameters
    ----------
    path : a TOML file, or the name of a shipped experiment
    scale : factor for all its games, for a quick look; training runs at another scale are different runs
    out : the working folder of experiments
    overrides : ``table.key=value``, changes of [experiment] and of the base config; such an experiment is one of the
        user's own, with a folder of its own

    Raises
    ------
    RlgoError : naming the file, the key and what was expected.
    """
    scale = check("scale", scale, Scale)
    file = config_path(path, "experiments")
    shipped = file.stem in list_experiments()
    if shipped and file.resolve() != config_path(file.stem, "experiments").resolve():
        raise RlgoError(f"{file}: {file.stem} is the name of an experiment that ships with rlgo: expected another name")
    settings, data = _read_tables(file, [text for text in overrides if text.startswith("experiment.")])
    folder = folder_of(out, scale).joinpath(*[re.sub(r"[^\w.=-]+", "-", "_".join(overrides))] * bool(overrides))
    argument = str(path) if not shipped else str(file) if overrides else file.stem
    e = Experiment(file.stem, file, settings, scale, folder, argument, tuple(overrides))
    if settings.kind == "counts":
        e = replace(e, expected=_read_expected(e, data.get("expected", {})))
    else:
        e = _with_runs(e, data)
    if settings.kind == "games":
        e = replace(e, contestants=_read_contestants(e, data.get("series", []), data.get("players", {})))
    claims = tuple(_read_claim(e, *numbered) for numbered in enumerate(data.get("claims", []), 1))
    stated = tuple(_read_stated(e, *numbered) for numbered in enumerate(data.get("stated", []), 1))
    return replace(e, claims=claims, stated=stated)


def _read_tables(file: Path, overrides: Sequence[str]) -> tuple[ExperimentConfig, dict[str, Any]]:
    """Return the table [experiment], and the other tables that this kind of experiment may have."""
    data = read_toml(file, overrides)
    table = data.pop("experiment", None)
    if not isinstance(table, dict):
        raise RlgoError(f"{file}: expected a table [experiment]; see train/experiments/declaration/reading.py")
    s: ExperimentConfig = section_from(ExperimentConfig, table, str(file))
    if s.kind in ("curves", "games") and not s.games:
        raise RlgoError(f"{file}: experiment.games = 0: expected at least 2")
    for key, value in data.items():
        possible = _TABLES[s.kind]
        if key not in possible:
            raise RlgoError(f'{file}: unknown table [{key}] for kind = "{s.kind}": expected {", ".join(possible)}')
        listed = key in ("claims", "series", "stated")
        tables = value if listed and isinstance(value, list) else [value]
        if listed != isinstance(value, list) or not all(isinstance(table, dict) for table in tables):
            raise RlgoError(f"{file}: {key}: expected {f'tables [[{key}]]' if listed else f'a table [{key}]'}")
    return s, data


def _read_expected(e: Experiment, expected: dict[str, Any]) -> dict[str, float]:
    for name, n in expected.items():
        if type(n) not in (int, float):
            raise RlgoError(f"{e.path}: expected.{name} = {n!r}: expected a number")
    return expected


# ---------------------------------------------------------------------------------------------
# Training runs
# ---------------------------------------------------------------------------------------------


def _with_runs(e: Experiment, data: Mapping[str, Any]) -> Experiment:
    """Add the training runs of [runs], and for curves and frequencies the reference run and the panels."""
    kind = e.settings.kind
    changes = data.get("runs", {} if kind == "games" else {REFERENCE: {}})
    e = replace(e, runs={label: _read_runs(e, label, changed) for label, changed in changes.items()})
    if kind == "games":
        return e
    if not changes:
        raise RlgoError(f"{e.path}: [runs]: expected at least one label")
    bases = {run.base for runs in e.runs.values() for run in runs}
    base = {"base": bases.pop()} if len(bases) == 1 else {}
    (reference,) = _read_runs(replace(e, settings=replace(e.settings, seeds=(1,))), REFERENCE, base)
    longest = max(run.config.run.games for runs in e.runs.values() for run in runs)
    if e.argument != e.name and longest < reference.config.run.games:  # only shipped experiments need the whole run
        name = run_name({"run.games": longest}, 1, Path(reference.base).stem)
        config = replace(reference.config, run=replace(reference.config.run, name=name, games=longest))
        reference = replace(reference, config=config)
    return replace(e, reference=reference, panels=_read_panels(data.get("panels", {}), e))


def _read_runs(e: Experiment, label: str, changes: Any) -> tuple[RunSpec, ...]:
    """Return the training runs of a label, one for each seed; their names show what they change in the base config.

    changes : the label's table
    """
    source = f"{e.path}: runs.{label}"
    if not isinstance(changes, dict) or "@" in label or (label == REFERENCE and {*changes} - {"base"}):
        raise RlgoError(f"{source}: expected a table of settings, and a label without @, other than {REFERENCE}")
    changes = dict(changes)
    base = base_of(e.path, str(changes.pop("base", e.settings.base)))
    seeds = e.settings.seeds
    if "seeds" in changes:
        seeds = section_from(ExperimentConfig, {"seeds": changes.pop("seeds")}, source).seeds
    start = load_config(base, [text for text in e.overrides if not text.startswith("experiment.")])
    before, after = flat(load_config(base)), flat(change(start, changes, source))
    values = {key: value for key, value in after.items() if value != before[key]}
    for key in ("run.name", "run.seed", "run.out"):
        if key in values:
            raise RlgoError(f"{source}: {key}: expected none; experiments name their own runs")
    config = change(change(start, {"run": _RUN}, source), changes, source)
    return tuple(RunSpec(values, _config_of_run(e, config, values, seed, Path(base).stem), base) for seed in seeds)


def _config_of_run(e: Experiment, config: Config, values: Mapping[str, Any], seed: int, prefix: str) -> Config:
    """Give a run its name, seed, folder and, at this experiment's scale, its number of games."""
    games = config.run.games if e.scale == 1 else e.scaled(config.run.games)
    name = run_name(values, seed, prefix)
    return replace(config, run=replace(config.run, name=name, seed=seed, out=str(e.folder / "runs"), games=games))


def _read_panels(data: Mapping[str, Any], e: Experiment) -> dict[str, tuple[str, ...]]:
    """Return the labels of each panel; without [panels], all labels in one panel."""
    for title, labels in data.items():
        if not isinstance(labels, list) or not labels:
            raise RlgoError(f"{e.path}: panels.{title}: expected a list of labels")
        for label in labels:
            if not isinstance(label, str) or label not in e.runs:
                raise RlgoError(f"{e.path}: panels.{title}: {label}: expected one of {', '.join(e.runs)}")
    return {title: tuple(labels) for title, labels in data.items()} or {"": tuple(e.runs)}


# ---------------------------------------------------------------------------------------------
# Players
# ---------------------------------------------------------------------------------------------


def _read_contestants(e: Experiment, series: list[Any], players: Mapping[str, Any]) -> tuple[Contestant, ...]:
    """Return the players of [players] and of [[series]], in this order."""
    contestants = [Contestant(name, _with_weights(e, name, str(spec)), str(spec)) for name, spec in players.items()]
    read: list[SeriesConfig] = []
    for i, table in enumerate(series, 1):
        where = f"{e.path}: series, number {i}"
        s: SeriesConfig = section_from(SeriesConfig, table, where)
        read.append(s)
        contestants += [_contestant_at(e, s, x, where) for x in s.x]
    names = [c.name for c in contestants]
    if len(names) < 2 or len(set(names)) < len(names):
        raise RlgoError(f"{e.path}: expected at least two players in [players] and [[series]], with different names")
    _check_pairing(e, read, contestants)
    for c in contestants:
        try:
            parse_spec(c.spec)
        except RlgoError as error:
            raise RlgoError(f"{e.path}: {c.name}: {error}") from None
    return tuple(contestants)


def _contestant_at(e: Experiment, s: SeriesConfig, x: float, where: str) -> Contestant:
    """Return the player of a series at x."""
    name = f"{s.label} {x:,}"
    written = s.player.replace("{x}", str(x))
    spec = _with_weights(e, name, written)
    size = x if s.size else 0
    if size and not MIN_SIZE <= size <= MAX_SIZE:
        raise RlgoError(f"{where}: x = {x}: expected a board size from {MIN_SIZE} to {MAX_SIZE}")
    legend = s.legend or s.label
    return Contestant(
        name, spec, written, s.label, float(x), s.against, size=int(size), games=s.games, along=s.along, legend=legend
    )


def _check_pairing(e: Experiment, series: list[SeriesConfig], contestants: list[Contestant]) -> None:
    """Raise an RlgoError unless all players have an opponent."""
    by_label = {s.label: s for s in series}
    for i, s in enumerate(series, 1):
        other = by_label.get(s.against)
        if s.against and (other is None or other is s or not set(s.x) <= set(other.x) or s.size != other.size):
            raise RlgoError(
                f"{e.path}: series, number {i}: against = {s.against}: expected another series with all x of this one"
            )
    one_side = {c.x is None for c in contestants} != {True, False}
    if e.settings.pairing == "gauntlet" and one_side and not any(s.against for s in series):
        raise RlgoError(f"{e.path}: expected players in [[series]] and their opponents in [players], for a gauntlet")
    if e.settings.pairing != "gauntlet" and any(s.against or s.size or s.games for s in series):
        raise RlgoError(f'{e.path}: against, size and games cannot be combined with pairing = "{e.settings.pairing}"')


def _with_weights(e: Experiment, name: str, spec: str) -> str:
    """Replace each ``{weights LABEL}`` in a spec by the file of that run's last weights."""

    def path(match: re.Match[str]) -> str:
        if match[1] not in e.runs:
            raise RlgoError(f"{e.path}: {name}: {match[0]}: expected one of [runs]: {', '.join(e.runs) or 'none'}")
        return spec_value(e.runs[match[1]][0].folder.weights)

    return re.sub(r"\{weights ([^}]*)\}", path, spec)


# ---------------------------------------------------------------------------------------------
# Claims, and the paper's numbers
# ---------------------------------------------------------------------------------------------


def _read_claim(e: Experiment, number: int, table: Mapping[str, Any]) -> Claim:
    """Return the claim in a table [[claims]], which the experiment can check."""
    where = f"{e.path}: claims, number {number}"
    claim: Claim = section_from(Claim, table, where)
    if claim.of not in _MEASURES[e.settings.kind]:
        raise RlgoError(f'{where}: of = "{claim.of}": expected {" or ".join(_MEASURES[e.settings.kind])}')
    if claim.low == -math.inf and claim.high == math.inf:
        raise RlgoError(f"{where}: expected low, high, or both")
    if claim.of in ("won", "speed") and not claim.b:
        raise RlgoError(f"{where}: expected b, to compare a with")
    if claim.games and claim.of not in ("elo", "won"):
        raise RlgoError(f'{where}: games: expected of = "elo" or "won"')
    sizes = {c.name: c.size for c in e.contestants if c.name in (claim.a, claim.b)}
    if claim.games and (len(sizes) < 2 or len({size for size in sizes.values() if size}) > 1):
        raise RlgoError(f"{where}: games = {claim.games}: expected two players of one board size")
    for point in filter(None, (claim.a, claim.b)):
        _check_point(e, claim, point, where)
    return claim


def _check_point(e: Experiment, claim: Claim, point: str, where: str) -> None:
    """Raise an RlgoError unless the experiment has this point of a claim."""
    label, at, games = point.partition("@")
    names = [c.name for c in e.contestants] or list(e.runs)
    known = names if claim.of != "number" else list(e.expected) or [point]
    if label not in known:
        raise RlgoError(f"{where}: {point}: expected one of {', '.join(known)}")
    is_checkpoint = games.isdecimal() and next_checkpoint(int(games) - 1) == int(games)
    if at and not (claim.of == "elo" and label in e.runs and is_checkpoint):
        raise RlgoError(f"{where}: {point}: expected games of a checkpoint: 100, 200, 500, 1000 ...")


def _read_stated(e: Experiment, number: int, table: Mapping[str, Any]) -> StatedConfig:
    """Return the numbers in a table [[stated]]."""
    where = f"{e.path}: stated, number {number}"
    s: StatedConfig = section_from(StatedConfig, table, where)
    known = [*e.runs] if e.settings.kind == "curves" else [c.series or c.name for c in e.contestants]
    if s.series not in known:
        raise RlgoError(f"{where}: series = {s.series}: expected one of {', '.join(dict.fromkeys(known))}")
    everyone = {*known, *(c.name for c in e.contestants), GNUGO_0, GNUGO_10}
    if s.b not in everyone | ({""} if s.of == "elo" else set()):
        raise RlgoError(f"{where}: b = {s.b}: expected a player, a series or a level of GNU Go")
    return s
