"""Sweeps: training runs over a grid or random choice of settings and seeds, ranked in Elo.

Start reading at `read_sweep`, then `run_sweep`. The file of a sweep has a table [sweep], whose keys `config.py`
documents; the parameters to vary; and settings that all runs share, on top of the base config:

    [sweep]
    name = "step_size"
    base = "default"
    seeds = [1, 2]

    [sweep.parameters]
    learning.alpha = [0.03, 0.1, 0.3]                        # a list of values
    # policy.epsilon = {low = 0.01, high = 0.3, log = true}  # kind = "random": a range, here uniform on a log scale

    [variants.small]                                         # besides or instead, named settings that go together
    features.sizes = [1, 2]
    learning.alpha = 0.5

    [run]
    games = 50_000

The runs are trained by `fleet.train_all`, each in an ordinary run folder inside that of the sweep. A sweep keeps no
other state, so it can continue after any interruption, even ``kill -9``, when it is started again.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.files import ELSEWHERE, check_folder, make_folder, read_file, write_atomically
from rlgo.base.resources import config_path
from rlgo.base.settings import Workers
from rlgo.features.weights import Weights
from train import console
from train.arena.openings import find_openings
from train.arena.rating_scale import SCALE
from train.config import Config, SweepConfig, base_of, canonical_key, change, flat, load_config, read_toml
from train.console import command, message
from train.runs.evaluate import CurvePoint, rate_runs, weights_of_run
from train.runs.fleet import FAILED, RunSpec, RunStatus, check_folders, jobs_for, run_name, train_all
from train.runs.folder import RunFolder
from train.runs.status import FINISHED, inspect
from train.settings import section_from
from train.stats import student_quantile

MAX_RUNS = 10_000
_FIXED = {  # settings that a sweep cannot vary
    "run.name": "a sweep names its runs after their parameters",
    "run.out": "all runs of a sweep share one folder",
    "run.seed": "list seeds in sweep.seeds",
    "board.size": "weights for different board sizes cannot play each other",
    "board.komi": "weights for different komi are rated with one of them",
}
VARIANT = "sweep.variant"  # the key of a run's variant beside those of its parameters
FILES = ("table.md", "settings.csv", "runs.csv", "curves.csv", "sweep.jsonl")  # results in the folder of a sweep


@dataclass(frozen=True)
class Sweep:
    """A sweep as described by its file, with the config of every run."""

    path: Path  # of the file
    resume_command: str
    folder: Path  # contains the run folders
    base: str  # name or path of the config that the runs start from
    kind: str  # "grid" or "random"
    games: int  # of each run's last weights against each opponent
    seed: int
    openings: str  # of those games, see `train.arena.openings.find_openings`
    keys: tuple[str, ...]  # the parameters, as section.key; before them VARIANT, if there are variants
    runs: tuple[RunSpec, ...]


# ---------------------------------------------------------------------------------------------
# Reading the file
# ---------------------------------------------------------------------------------------------


def read_sweep(path: str | Path, out: str | None = None, overrides: Sequence[str] = ()) -> Sweep:
    """Read the file of a sweep, and check the config of every run.

    Parameters
    ----------
    path : a TOML file, or the name of a shipped sweep (see `resources.config_path`)
    out : where to create the folder of the sweep; None: in `run.out` of the config
    overrides : ``table.key=value``, changes of the file: ``run.games=1000``, ``sweep.seeds=3``

    Raises
    ------
    RlgoError : with the file, the key and what was expected.
    """
    file = config_path(path, "sweeps")
    data = read_toml(file, overrides)
    table = data.pop("sweep", None)
    if not isinstance(table, dict):
        raise RlgoError(f"{file}: expected a table [sweep], as `rlgo configs sweeps/step_size` shows")
    ranges, variants = _ranges(table.pop("parameters", {}), str(file)), data.pop("variants", {})
    s = section_from(SweepConfig, table, str(file))
    base = base_of(file, s.base)
    shared = _shared_config(base, data, str(file))
    folder = Path(shared.run.out if out is None else out) / s.name
    return Sweep(
        path=file,
        resume_command=command(
            "rlgo", "sweep", path, *(["--set", *overrides] if overrides else []), *(["--out", out] if out else [])
        ),
        folder=folder,
        base=base,
        kind=s.kind,
        games=s.games,
        seed=s.seed,
        openings=find_openings(s.openings, shared.board.size, shared.board.komi).name,
        keys=(*([VARIANT] if variants else []), *ranges),
        runs=_specs(s, ranges, _variants(variants, ranges, shared, str(file)), base, folder, str(file)),
    )


def _shared_config(base: str, data: Mapping[str, Any], file: str) -> Config:
    """Return the config that all runs have in common."""
    run = data.get("run")
    for key in ("name", "seed"):
        if isinstance(run, dict) and key in run:
            raise RlgoError(f"{file}: run.{key}: {_FIXED[f'run.{key}']}")
    return change(load_config(base), data, file)


def _specs(
    s: SweepConfig, ranges: Mapping[str, Any], variants: Mapping[str, Config], base: str, folder: Path, file: str
) -> tuple[RunSpec, ...]:
    """Return every variant with every combination of parameters and every seed."""
    source, shared = f"{file}: sweep.parameters", next(iter(variants.values()))
    combinations = _grid(ranges, source) if s.kind == "grid" else _draw(ranges, shared, s.samples, s.seed, source)
    n = len(variants) * len(combinations) * len(s.seeds)
    if not 2 <= n <= MAX_RUNS:
        raise RlgoError(f"{file}: {n:,} runs by variants, sweep.parameters and sweep.seeds: expected 2 to {MAX_RUNS:,}")
    specs = []
    for name, values, seed in itertools.product(variants, combinations, s.seeds):
        config = _with_values(variants[name], values, source)
        complete = flat(config)
        values = ({VARIANT: name} if name else {}) | {key: complete[key] for key in values}
        own = replace(config.run, name=run_name(values, seed), seed=seed, out=str(folder))
        specs.append(RunSpec(values, replace(config, run=own), base))
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RlgoError(f"{source}: expected distinct values, but two runs would be called {twice}")
    return tuple(specs)


def _variants(tables: Any, ranges: Mapping[str, Any], shared: Config, file: str) -> dict[str, Config]:
    """Return the config of each table [variants.NAME]; without any, what all runs share, as that of ""."""
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise RlgoError(f"{file}: variants: expected tables [variants.NAME]")
    found = {}
    for name, table in tables.items():
        source = f"{file}: variants.{name}"
        found[name] = change(shared, table, source)
        for key in (canonical_key(f"{section}.{leaf}", source) for section in table for leaf in table[section]):
            if key in _FIXED:
                raise RlgoError(f"{source}: {key}: {_FIXED[key]}")
            if key in ranges:
                raise RlgoError(f"{source}: {key} cannot be combined with {key} in sweep.parameters")
    return found or {"": shared}


def _with_values(config: Config, values: Mapping[str, Any], source: str) -> Config:
    """Return `config` with the values of some section.keys."""
    tables: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        section, _, leaf = key.partition(".")
        tables.setdefault(section, {})[leaf] = value
    return change(config, tables, source)


def _ranges(tables: Any, file: str) -> dict[str, Any]:
    """Return the parameters by section.key: for each, a list of values, or the table of a range.

    A key may be written ``section.key`` or ``"section.key"``.
    """
    source = f"{file}: sweep.parameters"
    if not isinstance(tables, dict):
        raise RlgoError(f"{source}: expected a table [sweep.parameters]")
    given: dict[str, Any] = {}
    for name, value in tables.items():
        is_section = isinstance(value, dict) and "." not in name
        given |= {f"{name}.{key}": inner for key, inner in value.items()} if is_section else {name: value}
    ranges = {}
    for name, value in given.items():
        key = canonical_key(name, source)
        if key in _FIXED:
            raise RlgoError(f"{source}: {key}: {_FIXED[key]}")
        if isinstance(value, list):
            if not value:
                raise RlgoError(f"{source}: {key} = []: expected at least one value")
        elif not isinstance(value, dict) or not {"low", "high"} <= set(value) <= {"low", "high", "log"}:
            raise RlgoError(f"{source}: {key}: expected a list of values, or {{low = , high = , log = true or false}}")
        ranges[key] = value
    return ranges


def _grid(ranges: Mapping[str, Any], source: str) -> list[dict[str, Any]]:
    """Return all combinations of listed values."""
    for key, values in ranges.items():
        if not isinstance(values, list):
            raise RlgoError(f'{source}: {key}: expected a list of values (a range needs sweep.kind = "random")')
    n = math.prod(len(values) for values in ranges.values())
    if n > MAX_RUNS:
        raise RlgoError(f"{source}: {n:,} combinations: expected at most {MAX_RUNS:,}")
    return [dict(zip(ranges, values, strict=True)) for values in itertools.product(*ranges.values())]


def _draw(ranges: Mapping[str, Any], shared: Config, samples: int, seed: int, source: str) -> list[dict[str, Any]]:
    """Draw distinct random combinations; a larger number of samples begins with the same ones."""
    if not ranges:
        raise RlgoError(f'{source}: sweep.kind = "random": expected at least one parameter')
    kinds = {key: _check_range(key, r, shared, source) for key, r in ranges.items() if isinstance(r, dict)}
    rng = np.random.default_rng(seed)
    drawn: list[dict[str, Any]] = []
    for _ in range(100 * samples):
        values = {
            key: r[rng.integers(len(r))] if isinstance(r, list) else _draw_from(r, kinds[key], rng)
            for key, r in ranges.items()
        }
        if values not in drawn:
            drawn.append(values)
        if len(drawn) == samples:
            return drawn
    raise RlgoError(f"{source}: only {len(drawn)} distinct combinations, expected sweep.samples = {samples}")


def _check_range(key: str, r: dict[str, Any], shared: Config, source: str) -> type:
    """Check that both ends of a range are valid values of its key, in order; return their type, int or float."""
    log = r.get("log", False)
    section, _, leaf = key.partition(".")
    low, high = (flat(change(shared, {section: {leaf: r[end]}}, source))[key] for end in ("low", "high"))
    if type(low) not in (int, float):
        raise RlgoError(f"{source}: {key}: not a number; expected a list of values")
    if type(log) is not bool:
        raise RlgoError(f"{source}: {key}: log = {log!r}: expected true or false")
    if not low < high:
        raise RlgoError(f"{source}: {key}: low = {low:g}, high = {high:g}: expected low < high")
    if log and low <= 0:
        raise RlgoError(f"{source}: {key}: low = {low:g}: expected a positive number for log = true")
    return type(low)


def _draw_from(r: dict[str, Any], kind: type, rng: np.random.Generator) -> int | float:
    """Draw a value from a range."""
    low, high, u = r["low"], r["high"], rng.random()
    top = high + 1 if kind is int else high
    x = low * (top / low) ** u if r.get("log", False) else low + (top - low) * u
    # Four digits are enough to tell runs apart, and are easy to read.
    return min(int(x), high) if kind is int else min(max(float(f"{x:.4g}"), float(low)), float(high))


# ---------------------------------------------------------------------------------------------
# Running it
# ---------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Outcome(RunStatus):
    """How a run of a sweep ended, and its learning curve in Elo."""

    curve: list[CurvePoint] = field(default_factory=list)

    @property
    def elo(self) -> CurvePoint | None:
        """The rating of its last weights; None if it failed."""
        return self.curve[-1] if self.curve and self.state != FAILED else None

    @property
    def seed(self) -> int:
        """Its seed."""
        return self.spec.config.run.seed

    def to_json(self) -> dict[str, Any]:
        """Return the line of sweep.jsonl for this run."""
        return {
            "name": self.spec.name,
            "folder": str(self.spec.folder.path),
            "parameters": self.spec.values,
            "seed": self.seed,
            "state": self.state,
            "reason": self.reason,
            "games": self.games,
            "curve": [list(point) for point in self.curve],
        }


def run_sweep(sweep: Sweep, jobs: int | None = None, progress: bool = True) -> list[Outcome]:
    """Train all runs that are not finished, rate all of them, and write the files of `FILES`.

    Parameters
    ----------
    sweep : see `read_sweep`
    jobs : runs that train at a time; None: one for each processor, divided by the workers of each run
    progress : show progress on standard error

    Returns
    -------
    the outcomes, best settings first, failed runs last.

    Raises
    ------
    RlgoError : if the folder is in use or contains runs with other configs, or if all runs failed
    KeyboardInterrupt : after Ctrl-C, once the runs are saved
    """
    check("sweep", sweep, Sweep)
    jobs = check("jobs", jobs, Workers | None)
    if RunFolder(sweep.folder).exists():
        raise RlgoError(f"{sweep.folder}: contains a training run; give the sweep another name")
    check_folders(sweep.runs, "give the sweep another name")
    jobs = jobs or jobs_for(sweep.runs)
    try:
        check_folder(sweep.folder, hint=f"; {ELSEWHERE}")
        make_folder(sweep.folder)
        with RunFolder(sweep.folder).lock():
            write_atomically(sweep.folder / "sweep.toml", read_file(sweep.path))
            outcomes = [Outcome(spec) for spec in sweep.runs]
            train_all(outcomes, sweep.folder, jobs, progress)
            _rate_all(sweep, outcomes, jobs, progress)
            outcomes = ranked(outcomes)
            _write(sweep, outcomes)
    except KeyboardInterrupt:
        done = sum(inspect(spec.folder.path).state == FINISHED for spec in sweep.runs)
        message(f"interrupted: {done} of {len(sweep.runs)} runs are finished; resume with: {sweep.resume_command}")
        raise
    if all(outcome.state == FAILED for outcome in outcomes):
        raise RlgoError(f"{sweep.folder}: all runs failed; the first one: {outcomes[0].reason}")
    return outcomes


def _rate_all(sweep: Sweep, outcomes: Iterable[Outcome], jobs: int, progress: bool) -> None:
    """Rate all finished runs; one whose weights cannot be read counts as failed."""
    players: dict[str, dict[int, Weights]] = {}
    by_name = {outcome.spec.name: outcome for outcome in outcomes}
    for name, outcome in sorted(by_name.items()):
        if outcome.state == FINISHED:
            try:
                players[name] = weights_of_run(outcome.spec.folder)
            except RlgoError as error:
                outcome.state, outcome.reason = FAILED, str(error)
    if players:
        rated = rate_runs(players, sweep.games, sweep.seed, sweep.openings, jobs, progress)
        for name, curve in rated.curves.items():
            by_name[name].curve = curve


# ---------------------------------------------------------------------------------------------
# Ranking the settings
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """Runs that differ only in their seed.

    Attributes
    ----------
    values : their parameters, by section.key
    runs : those that finished
    elo : the mean of their ratings; NaN without runs
    half : half the width of its 95 % interval over seeds; of the games alone if there is one seed of each setting
    behind, behind_half : how much better the best setting is, with half the width of its interval
    """

    values: dict[str, Any]
    runs: tuple[Outcome, ...]
    elo: float
    half: float
    behind: float = 0.0
    behind_half: float = 0.0

    @property
    def text(self) -> str:
        """Its parameters, for legends."""
        return ", ".join(f"{key.partition('.')[2].rstrip('_')} {_plain(v)}" for key, v in self.values.items()) or "all"


def settings_of(outcomes: Iterable[Outcome]) -> list[Setting]:
    """Return the settings of a sweep, best first; those without a finished run last.

    The interval over seeds is mean -+ t s / sqrt(n), where s, the standard deviation between seeds, is pooled over all
    settings: two or three seeds of one setting say little about it. t is Student's quantile with as many degrees of
    freedom as there are runs more than settings. It covers the games, too, whose noise is part of s.
    """
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(json.dumps(outcome.spec.values), []).append(outcome)
    rated = [([o for o in group if o.elo is not None], group) for group in groups.values()]
    of_seeds = seed_deviation([[o.elo.elo for o in there if o.elo] for there, _ in rated])
    found = []
    for there, group in rated:
        ends = [o.elo for o in there if o.elo is not None]
        mean = float(np.mean([end.elo for end in ends])) if ends else math.nan
        half = (
            of_seeds / math.sqrt(len(ends))
            if of_seeds and ends
            else (ends[0].high - ends[0].low) / 2
            if ends
            else math.nan
        )
        found.append(Setting(group[0].spec.values, tuple(there), mean, half))
    found.sort(key=lambda s: -math.inf if math.isnan(s.elo) else s.elo, reverse=True)
    best = found[0]
    return [
        replace(s, behind=best.elo - s.elo, behind_half=0.0 if s is best else math.hypot(s.half, best.half))
        for s in found
    ]


def seed_deviation(elo: Sequence[Sequence[float]]) -> float:
    """Return t s: Student's quantile times the standard deviation between seeds, pooled over settings; 0 if unknown.

    elo : for each setting, the ratings of its seeds
    """
    degrees = sum(len(seeds) - 1 for seeds in elo if seeds)
    squares = sum(float(np.var(seeds)) * len(seeds) for seeds in elo if len(seeds) > 1)
    return student_quantile(0.975, degrees) * math.sqrt(squares / degrees) if degrees else 0.0


def ranked(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Sort outcomes: best settings first with their seeds together, failed runs last."""
    outcomes = list(outcomes)
    place = {json.dumps(s.values): i for i, s in enumerate(settings_of(outcomes))}
    return sorted(outcomes, key=lambda o: (o.state == FAILED, place[json.dumps(o.spec.values)], o.seed))


def table(sweep: Sweep, outcomes: Sequence[Outcome]) -> str:
    """Return the ranking as a Markdown table, one line per setting, with the reasons of failed runs below it."""
    found = settings_of(outcomes)
    rows = [[*sweep.keys, "seeds", "Elo", "behind the best"]]
    for s in found:
        elo = "" if math.isnan(s.elo) else f"{s.elo:,.0f} ({s.elo - s.half:,.0f} to {s.elo + s.half:,.0f})"
        behind = f"{s.behind:,.0f} ({s.behind - s.behind_half:,.0f} to {s.behind + s.behind_half:,.0f})"
        values = [json.dumps(value) for value in s.values.values()]
        rows.append([*values, f"{len(s.runs)}", elo, behind if s.behind_half and elo else ""])
    several = any(len(s.runs) > 1 for s in found)
    cover = "seeds and games" if several else "only the games: with one seed, a difference may be that of other seeds"
    lines = [
        console.markdown(rows),
        f"Elo after the last game of self-play, on the rating scale ({SCALE}); openings: {sweep.openings}. The 95 % "
        f"intervals cover {cover}. Single runs: runs.csv; learning curves: curves.csv.",
    ]
    failed = [f"* {o.spec.name} failed: {o.reason}" for o in outcomes if o.state == FAILED]
    return "\n".join([*lines, *([""] if failed else []), *failed])


# ---------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------


def _write(sweep: Sweep, outcomes: Sequence[Outcome]) -> None:
    """Write the results: the ranking, and tables for pandas or a spreadsheet, whose first line names the columns."""
    keys, elo = list(sweep.keys), ["elo", "elo_low", "elo_high"]
    settings: list[list[Any]] = [[*keys, "seeds", *elo, "behind", "behind_low", "behind_high"]]
    for s in settings_of(outcomes):
        behind = [s.behind, s.behind - s.behind_half, s.behind + s.behind_half]
        settings.append([*_cells(s.values), len(s.runs), s.elo, s.elo - s.half, s.elo + s.half, *behind])
    runs: list[list[Any]] = [["run", *keys, "seed", "state", "games", *elo]]
    curves: list[list[Any]] = [["run", *keys, "seed", "games", *elo]]
    for o in outcomes:
        values = [o.spec.name, *_cells(o.spec.values), o.seed]
        runs.append([*values, o.state, o.games, *(o.elo[1:] if o.elo else ("", "", ""))])
        curves += [[*values, *point] for point in o.curve]
    for name, rows in (("settings.csv", settings), ("runs.csv", runs), ("curves.csv", curves)):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        write_atomically(sweep.folder / name, text.getvalue().encode())
    lines = "".join(json.dumps(outcome.to_json()) + "\n" for outcome in outcomes)
    write_atomically(sweep.folder / "sweep.jsonl", lines.encode())
    write_atomically(sweep.folder / "table.md", (table(sweep, outcomes) + "\n").encode())


def _cells(values: Mapping[str, Any]) -> list[Any]:
    return [_plain(value) for value in values.values()]


def _plain(value: Any) -> Any:
    """Return a value of a setting as it stands in a table: a list as its parts with + between them."""
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else value
