"""Sweeps: training runs over a grid or random choice of settings and seeds, ranked by their play.

Start reading at `read_sweep`, then `run_sweep`. The file of a sweep has a table [sweep], whose keys `config.py`
documents; the parameters to vary; and settings that all runs share, on top of the base config:

    [sweep]
    name = "step_size"
    base = "default"
    seeds = [1, 2]

    [sweep.parameters]
    learning.alpha = [0.03, 0.1, 0.3]                        # a list of values
    # policy.epsilon = {low = 0.01, high = 0.3, log = true}  # kind = "random": a range, here uniform on a log scale

    [run]
    games = 50_000

The runs are trained by `fleet.train_all`, each in an ordinary run folder inside that of the sweep. A sweep keeps no
other state, so it can continue after any interruption, even ``kill -9``, when it is started again.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.bounds import One, OrNone
from rlgo.base.errors import RlgoError
from rlgo.base.files import ELSEWHERE, check_folder, make_folder, read_file, write_atomically
from rlgo.base.resources import config_path
from rlgo.base.settings import WORKERS
from rlgo.features.weights import Weights, load_weights, shipped_weight_sizes, shipped_weights
from rlgo.learning.fast_games import FastGames, compile_matches, play_slices
from train import console
from train.arena.fast import on_common_features, side_by_side
from train.arena.openings import find_openings
from train.config import Config, SweepConfig, base_of, canonical_key, change, flat, load_config, read_toml, section_from
from train.console import Progress, command, message
from train.runs.fleet import FAILED, RunSpec, RunStatus, check_folders, jobs_for, run_name, train_all
from train.runs.folder import RunFolder
from train.runs.status import FINISHED, inspect
from train.stats import clustered_interval, in_percent

MAX_RUNS = 10_000
_FIXED = {  # settings that a sweep cannot vary
    "run.name": "a sweep names its runs after their parameters",
    "run.out": "all runs of a sweep share one folder",
    "run.seed": "list seeds in sweep.seeds",
    "board.size": "weights for different board sizes cannot play each other",
}
# What the runs are compared by, in words; the values of sweep.metric.
METRICS = {"members": "won against the others", "shipped": "won against the shipped weights"}


@dataclass(frozen=True)
class Sweep:
    """A sweep as described by its file, with the config of every run."""

    path: Path  # of the file
    resume_command: str
    folder: Path  # contains the run folders
    base: str  # name or path of the config that the runs start from
    kind: str  # "grid" or "random"
    metric: str  # "members" or "shipped"
    games: int  # of each run against each opponent, at the end
    seed: int
    komi: float  # of those games
    openings: str  # of those games, see `train.arena.openings.find_openings`
    keys: tuple[str, ...]  # the parameters, as section.key
    runs: tuple[RunSpec, ...]


# ---------------------------------------------------------------------------------------------
# Reading the file
# ---------------------------------------------------------------------------------------------


def read_sweep(path: str | Path, out: str | None = None, openings: str = "") -> Sweep:
    """Read the file of a sweep, and check the config of every run.

    Parameters
    ----------
    path : a TOML file, or the name of a shipped sweep (see `resources.config_path`)
    out : where to create the folder of the sweep; None: in `run.out` of the config

    Raises
    ------
    RlgoError : with the file, the key and what was expected.
    """
    file = config_path(path, "sweeps")
    data = read_toml(file)
    table = data.pop("sweep", None)
    if not isinstance(table, dict):
        raise RlgoError(f"{file}: expected a table [sweep], as `rlgo configs sweeps/step_size` shows")
    ranges = _ranges(table.pop("parameters", {}), str(file))
    s = section_from(SweepConfig, table, str(file))
    base = base_of(file, s.base)
    shared = _shared_config(base, data, str(file))
    if s.metric == "shipped" and _shipped(shared.board.size) is None:
        size = shared.board.size
        raise RlgoError(f"{file}: sweep.metric = shipped: expected another metric (no weights ship for {size}x{size})")
    folder = Path(shared.run.out if out is None else out) / s.name
    return Sweep(
        path=file,
        resume_command=command(
            "rlgo",
            "sweep",
            path,
            *([] if out is None else ["--out", out]),
            *(["--openings", openings] if openings else []),
        ),
        folder=folder,
        base=base,
        kind=s.kind,
        metric=s.metric,
        games=s.games,
        seed=s.seed,
        komi=shared.board.komi,
        openings=find_openings(openings or s.openings, shared.board.size, shared.board.komi).name,
        keys=tuple(ranges),
        runs=_specs(s, ranges, shared, base, folder, str(file)),
    )


def _shared_config(base: str, data: Mapping[str, Any], file: str) -> Config:
    """Return the config that all runs have in common."""
    run = data.get("run")
    for key in ("name", "seed"):
        if isinstance(run, dict) and key in run:
            raise RlgoError(f"{file}: run.{key}: {_FIXED[f'run.{key}']}")
    return change(load_config(base), data, file)


def _specs(
    s: SweepConfig, ranges: Mapping[str, Any], shared: Config, base: str, folder: Path, file: str
) -> tuple[RunSpec, ...]:
    """Return every combination of parameters with every seed."""
    source = f"{file}: sweep.parameters"
    combinations = _grid(ranges, source) if s.kind == "grid" else _draw(ranges, shared, s.samples, s.seed, source)
    n = len(combinations) * len(s.seeds)
    if not 2 <= n <= MAX_RUNS:
        raise RlgoError(f"{file}: {n:,} runs by sweep.parameters and sweep.seeds: expected 2 to {MAX_RUNS:,}")
    specs = []
    for values, seed in itertools.product(combinations, s.seeds):
        config = _with_values(shared, values, source)
        complete = flat(config)
        values = {key: complete[key] for key in values}
        own = replace(config.run, name=run_name(values, seed), seed=seed, out=str(folder))
        specs.append(RunSpec(values, replace(config, run=own), base))
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RlgoError(f"{source}: expected distinct values, but two runs would be called {twice}")
    return tuple(specs)


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
    """How a run of a sweep ended, and what it won in the games at the end."""

    # By metric, "members" or "shipped": this run's scores by opening, float64[openings, 2].
    scores: dict[str, np.ndarray] = field(default_factory=dict)

    def win_rate(self, metric: str) -> float | None:
        """Return the run's win rate, or None if it played no such games."""
        return float(self.scores[metric].mean()) if metric in self.scores else None

    def to_json(self) -> dict[str, Any]:
        """Return the line of sweep.jsonl for this run."""
        against = {
            key: {
                "games": scores.size,
                "win_rate": float(scores.mean()),
                "ci95": list(clustered_interval(scores.tolist())),
            }
            for key, scores in self.scores.items()
        }
        return {
            "name": self.spec.name,
            "folder": str(self.spec.folder.path),
            "parameters": self.spec.values,
            "seed": self.spec.config.run.seed,
            "state": self.state,
            "reason": self.reason,
            "games": self.games,
            "against": against,
        }


def run_sweep(sweep: Sweep, jobs: int | None = None, progress: bool = True, only_resume: bool = False) -> list[Outcome]:
    """Train all runs that are not finished, play them against each other, and write sweep.jsonl and table.md.

    Parameters
    ----------
    sweep : see `read_sweep`
    jobs : runs that train at a time; None: one for each processor, divided by the workers of each run
    progress : show progress on standard error
    only_resume : raise RlgoError if the sweep has not been started before

    Returns
    -------
    the outcomes, best settings first, failed runs last.

    Raises
    ------
    RlgoError : if the folder is in use or contains runs with other configs, or if all runs failed
    KeyboardInterrupt : after Ctrl-C, once the runs are saved
    """
    One(Sweep).check("sweep", sweep)
    jobs = OrNone(WORKERS).check("jobs", jobs)
    if only_resume and not sweep.folder.is_dir():
        raise RlgoError(f"{sweep.folder}: no such sweep to resume; leave out --resume to start it")
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
            _play_all(sweep, outcomes, jobs, progress)
            outcomes = ranked(outcomes, sweep.metric)
            lines = "".join(json.dumps(outcome.to_json()) + "\n" for outcome in outcomes)
            write_atomically(sweep.folder / "sweep.jsonl", lines.encode())
            write_atomically(sweep.folder / "table.md", (table(sweep, outcomes) + "\n").encode())
    except KeyboardInterrupt:
        done = sum(inspect(spec.folder.path).state == FINISHED for spec in sweep.runs)
        message(f"interrupted: {done} of {len(sweep.runs)} runs are finished; resume with: {sweep.resume_command}")
        raise
    if all(outcome.state == FAILED for outcome in outcomes):
        raise RlgoError(f"{sweep.folder}: all runs failed; the first one: {outcomes[0].reason}")
    return outcomes


# ---------------------------------------------------------------------------------------------
# Ranking the runs
# ---------------------------------------------------------------------------------------------


def _shipped(size: int) -> Weights | None:
    """Return the best shipped weights for a board size, or None if none ship."""
    return load_weights(shipped_weights(size)) if size in shipped_weight_sizes() else None


@dataclass(frozen=True)
class _Pairing:
    """Two sets of weights that play each other; b is None for the shipped weights."""

    metric: str
    a: Outcome
    b: Outcome | None
    seed: int | np.random.SeedSequence


def _play_all(sweep: Sweep, outcomes: Iterable[Outcome], jobs: int, progress: bool) -> None:
    """Play all finished runs against each other and the shipped weights, and fill in their scores."""
    players = _load_players(outcomes)
    if not players:
        return
    size = sweep.runs[0].config.board.size
    shipped, openings = _shipped(size), find_openings(sweep.openings, size, sweep.komi)
    pairings = _pairings(sweep, list(players), shipped is not None)
    features, thetas = on_common_features([*players.values(), shipped], size)
    theta_of: dict[Outcome | None, np.ndarray] = dict(zip([*players, None], thetas, strict=True))

    def play(pairing: _Pairing) -> Iterator[FastGames]:
        a, b = theta_of[pairing.a], theta_of[pairing.b]
        first = openings.array(sweep.games // 2, pairing.seed)
        return play_slices(features, a, b, sweep.games, pairing.seed, sweep.komi, first)

    found: dict[tuple[Outcome, str], list[np.ndarray]] = {}
    compile_matches(features)
    with (
        Progress(len(pairings), "matches", "games between runs", enabled=progress) as bar,
        contextlib.closing(side_by_side(play, pairings, jobs)) as matches,
    ):
        for pairing, games in zip(pairings, bar.track(matches), strict=True):
            scores = games.scores
            found.setdefault((pairing.a, pairing.metric), []).append(scores)
            if pairing.b is not None:
                found.setdefault((pairing.b, pairing.metric), []).append(1 - scores[:, ::-1])
    for (outcome, metric), parts in found.items():
        outcome.scores[metric] = np.concatenate(parts)


def _load_players(outcomes: Iterable[Outcome]) -> dict[Outcome, Weights]:
    """Load the weights of the finished runs, by name; a run whose weights cannot be read counts as failed."""
    players: dict[Outcome, Weights] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.spec.name):
        if outcome.state == FINISHED:
            try:
                players[outcome] = load_weights(outcome.spec.folder.weights)
            except RlgoError as error:
                outcome.state, outcome.reason = FAILED, str(error)
    return players


def _pairings(sweep: Sweep, players: Sequence[Outcome], has_shipped: bool) -> list[_Pairing]:
    """Return who plays whom.

    The games of two runs do not depend on the other runs in the sweep. All runs play the same openings against the
    shipped weights.
    """
    pairings = []
    if sweep.metric == "members":
        for a, b in itertools.combinations(players, 2):
            names = [zlib.crc32(outcome.spec.name.encode()) for outcome in (a, b)]
            pairings.append(_Pairing("members", a, b, np.random.SeedSequence([sweep.seed, *names])))
    if has_shipped:
        pairings += [_Pairing("shipped", a, None, sweep.seed) for a in players]
    return pairings


def mean_of_seeds(outcomes: Iterable[Outcome], metric: str) -> dict[str, float]:
    """Return the mean win rate of runs that differ only in their seed, by `setting`."""
    rates: dict[str, list[float]] = {}
    for outcome in outcomes:
        rate = outcome.win_rate(metric)
        if rate is not None:
            rates.setdefault(setting(outcome.spec), []).append(rate)
    return {key: sum(of_seeds) / len(of_seeds) for key, of_seeds in rates.items()}


def setting(spec: RunSpec) -> str:
    """Return the parameters of a run as a dictionary key."""
    return json.dumps(spec.values)


def ranked(outcomes: Iterable[Outcome], metric: str) -> list[Outcome]:
    """Sort outcomes: best settings first with their seeds together, failed runs last."""
    outcomes = list(outcomes)
    means = mean_of_seeds(outcomes, metric)
    return sorted(outcomes, key=lambda o: (o.state == FAILED, -means.get(setting(o.spec), 0)))


def table(sweep: Sweep, outcomes: Sequence[Outcome]) -> str:
    """Return the results as a Markdown table, one line per run, with the reasons of failed runs below it."""
    metrics = [key for key in METRICS if any(key in outcome.scores for outcome in outcomes)]
    means = mean_of_seeds(outcomes, sweep.metric)
    has_seeds = len({outcome.spec.config.run.seed for outcome in outcomes}) > 1
    header = [*sweep.keys, "seed", *(METRICS[key] for key in metrics), *(["mean of seeds"] if has_seeds else [])]
    rows = []
    for outcome in outcomes:
        won = [
            outcome.state if scores is None else in_percent(float(scores.mean()), clustered_interval(scores.tolist()))
            for scores in map(outcome.scores.get, metrics)
        ]
        mean = means.get(setting(outcome.spec))
        values = [json.dumps(value) for value in outcome.spec.values.values()]
        last = [] if not has_seeds else ["" if mean is None or outcome.state == FAILED else f"{mean:.1%}"]
        rows.append([*values, str(outcome.spec.config.run.seed), *won, *last])
    lines = [console.markdown([header, *rows])]
    lines.append(
        f"{sweep.games:,} games against each opponent, openings: {sweep.openings}. The 95 % intervals cover the games, "
        "not the seeds."
    )
    failed = [f"* {o.spec.name} failed: {o.reason}" for o in outcomes if o.state == FAILED]
    return "\n".join([*lines, *([""] if failed else []), *failed])
