"""Sweeps: many training runs over a grid, or a random choice, of settings and seeds, and which of them is best.

Start reading at `read_sweep`, then `run_sweep`. A sweep's file has a table [sweep] (`config.Sweep` names its keys),
what is swept, and settings that all runs share, on top of the base config:

    [sweep]
    name = "step_size"
    base = "default"
    seeds = [1, 2]

    [sweep.parameters]
    learning.alpha = [0.03, 0.1, 0.3]                        # a list of values
    # policy.epsilon = {low = 0.01, high = 0.3, log = true}  # kind = "random": a range, evenly on a log scale

    [run]
    games = 50_000

Each run, a *member*, is an ordinary run folder below that of the sweep, trained by a process of its own. A sweep
keeps no state besides: what is to be done follows from the file and from how the members' folders stand. So it goes
on after anything, `kill -9` included, when it is started again.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import shlex
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from rlgo.archive import write_atomically
from rlgo.errors import RlgoError
from rlgo.fast_games import play_fast
from rlgo.jit import compiling
from rlgo.resources import config_path
from rlgo.weights import Weights, load_weights, shipped_weights
from train.arena.match import on_common_features
from train.config import Config, canonical_key, change, flat, load_config, read_toml, section_from
from train.config import Sweep as SweepTable
from train.runs.fleet import FAILED, Member, Training, check_folders, jobs_for, member_name, say, train_all
from train.runs.folder import RunFolder, called
from train.runs.status import FINISHED, look
from train.stats import clustered_interval, in_percent

_MOST_MEMBERS = 10_000
_FIXED = {  # settings that a sweep cannot vary
    "run.name": "a sweep names its runs itself, below sweep.name",
    "run.out": "all runs of a sweep stand in one folder",
    "run.seed": "seeds stand in sweep.seeds",
    "board.size": "weights for boards of different sizes cannot meet",
}
WON = {"members": "won against the others", "shipped": "won against the shipped weights"}  # by metric, for people


@dataclass(frozen=True)
class Sweep:
    """A sweep, whole: what `read_sweep` makes of its file."""

    path: Path  # of the file
    way_back: str  # the command that goes on with it
    folder: Path  # of the members' folders
    base: str  # config that they start from
    kind: str  # "grid" or "random"
    metric: str  # "members" or "shipped"
    games: int  # of each member against each opponent, at the end
    seed: int
    komi: float  # of those games
    keys: tuple[str, ...]  # what is swept
    members: tuple[Member, ...]


# ---------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------


def read_sweep(path: str | Path, out: str | None = None) -> Sweep:
    """Read a sweep's file, and check the config of every member.

    Parameters
    ----------
    path : a TOML file, or the name of a shipped sweep (see `resources.config_path`)
    out : the folder for the sweep's folder; None: `run.out` of the config

    Raises
    ------
    RlgoError : naming the file, the key and what was expected.
    """
    file = config_path(str(path), "sweeps")
    data = read_toml(file)
    table = data.pop("sweep", None)
    if not isinstance(table, dict):
        raise RlgoError(f"{file}: expected a table [sweep]: what it holds is explained in train/runs/sweep.py")
    ranges = _ranges(table.pop("parameters", {}), str(file))
    s = section_from(SweepTable, table, str(file))
    if s.games % 2:
        raise RlgoError(f"{file}: sweep.games = {s.games}: expected an even number, for every opening is played twice")

    # A base that stands beside the sweep's file is meant, wherever the command is given.
    base = str(file.parent / s.base) if (file.parent / s.base).is_file() else s.base
    run = data.get("run")
    for key in ("name", "seed"):
        if isinstance(run, dict) and key in run:
            raise RlgoError(f"{file}: run.{key}: {_FIXED[f'run.{key}']}")
    common = change(load_config(base), data, str(file))
    folder = Path(common.run.out if out is None else out) / s.name

    source = f"{file}: sweep.parameters"
    if s.kind == "grid":
        combinations = _grid(ranges, source)
    else:
        combinations = _draw(ranges, common, s.samples, s.seed, source)
    if not 2 <= len(combinations) * len(s.seeds) <= _MOST_MEMBERS:
        n = len(combinations) * len(s.seeds)
        raise RlgoError(f"{file}: {n:,} runs by sweep.parameters and sweep.seeds: expected 2 to {_MOST_MEMBERS:,}")
    members = tuple(
        _member(common, base, folder, values, seed, source) for values, seed in itertools.product(combinations, s.seeds)
    )
    names = [member.name for member in members]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RlgoError(f"{source}: expected different values, but two runs are {twice}")
    if s.metric == "shipped" and _shipped(common.board.size) is None:
        raise RlgoError(f"{file}: sweep.metric = shipped: none ship for {common.board.size}x{common.board.size}")
    return Sweep(
        path=file,
        way_back=f"{called()}rlgo sweep " + shlex.join([str(path), *([] if out is None else ["--out", out])]),
        folder=folder,
        base=base,
        kind=s.kind,
        metric=s.metric,
        games=s.games,
        seed=s.seed,
        komi=common.board.komi,
        keys=tuple(ranges),
        members=members,
    )


def _ranges(tables: Any, file: str) -> dict[str, Any]:
    """What [sweep.parameters] gives for each section.key, written ``section.key`` or ``"section.key"``: a list or
    the table of a range."""
    source = f"{file}: sweep.parameters"
    if not isinstance(tables, dict):
        raise RlgoError(f"{source}: expected a table [sweep.parameters]")
    given: dict[str, Any] = {}
    for name, value in tables.items():
        nested = isinstance(value, dict) and "." not in name
        given |= {f"{name}.{key}": inner for key, inner in value.items()} if nested else {name: value}
    ranges = {}
    for key, value in given.items():
        key = canonical_key(key, source)
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
    for key, values in ranges.items():
        if not isinstance(values, list):
            raise RlgoError(f'{source}: {key}: ranges need sweep.kind = "random"; expected a list of values')
    n = math.prod(len(values) for values in ranges.values())
    if n > _MOST_MEMBERS:
        raise RlgoError(f"{source}: {n:,} combinations: expected at most {_MOST_MEMBERS:,}")
    return [dict(zip(ranges, values, strict=True)) for values in itertools.product(*ranges.values())]


def _draw(ranges: Mapping[str, Any], common: Config, samples: int, seed: int, source: str) -> list[dict[str, Any]]:
    """Different random combinations; the first n of more are those of n."""
    if not ranges:
        raise RlgoError(f'{source}: sweep.kind = "random": expected at least one parameter')
    kinds = {key: _check_range(key, r, common, source) for key, r in ranges.items() if isinstance(r, dict)}
    rng = np.random.default_rng(seed)
    found: list[dict[str, Any]] = []
    for _ in range(100 * samples):
        values = {
            key: r[rng.integers(len(r))] if isinstance(r, list) else _draw_from(r, kinds[key], rng)
            for key, r in ranges.items()
        }
        if values not in found:
            found.append(values)
        if len(found) == samples:
            return found
    raise RlgoError(f"{source}: found only {len(found)} different combinations, expected sweep.samples = {samples}")


def _check_range(key: str, r: dict[str, Any], common: Config, source: str) -> type:
    """Whether the ends of a range are values of its key, in order; returns their type, int or float."""
    log = r.get("log", False)
    section, _, leaf = key.partition(".")
    low, high = (flat(change(common, {section: {leaf: r[end]}}, source))[key] for end in ("low", "high"))
    if type(low) not in (int, float):
        raise RlgoError(f"{source}: {key}: not a number; expected a list of values")
    if type(log) is not bool:
        raise RlgoError(f"{source}: {key}: log = {log!r}: expected true or false")
    if not low < high:
        raise RlgoError(f"{source}: {key}: low = {low:g}, high = {high:g}: expected low < high")
    if log and low <= 0:
        raise RlgoError(f"{source}: {key}: low = {low:g}: expected a number above 0 for log = true")
    return type(low)


def _draw_from(r: dict[str, Any], kind: type, rng: np.random.Generator) -> int | float:
    low, high, u = r["low"], r["high"], rng.random()
    top = high + 1 if kind is int else high
    x = low * (top / low) ** u if r.get("log", False) else low + (top - low) * u
    # Four digits tell runs apart, and can be read.
    return min(int(x), high) if kind is int else min(max(float(f"{x:.4g}"), float(low)), float(high))


def _member(common: Config, base: str, folder: Path, values: dict[str, Any], seed: int, source: str) -> Member:
    tables: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        section, _, leaf = key.partition(".")
        tables.setdefault(section, {})[leaf] = value
    config = change(common, tables, source)
    whole = flat(config)
    values = {key: whole[key] for key in values}
    name = member_name(values, seed)
    config = replace(config, run=replace(config.run, name=name, seed=seed, out=str(folder)))
    return Member(values, config, base)


# ---------------------------------------------------------------------------------------------
# A sweep from end to end
# ---------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Outcome(Training):
    """How a member ended, and what it won of the games at the end."""

    # By opponent, "members" or "shipped": A's scores by opening, float64[openings, 2].
    scores: dict[str, np.ndarray] = field(default_factory=dict)

    def win_rate(self, opponent: str) -> float | None:
        """None where it played no such games."""
        return float(self.scores[opponent].mean()) if opponent in self.scores else None

    def to_json(self) -> dict[str, Any]:
        """As a line of sweep.jsonl."""
        against = {
            key: {
                "games": scores.size,
                "win_rate": float(scores.mean()),
                "ci95": list(clustered_interval(scores.tolist())),
            }
            for key, scores in self.scores.items()
        }
        return {
            "name": self.member.name,
            "folder": str(self.member.folder.path),
            "parameters": self.member.values,
            "seed": self.member.config.run.seed,
            "state": self.state,
            "reason": self.reason,
            "games": self.games,
            "against": against,
        }


def run_sweep(
    sweep: Sweep, jobs: int | None = None, progress: bool | None = None, only_resume: bool = False
) -> list[Outcome]:
    """Train all members that are not finished yet, let them meet, and write the table and the picture.

    Parameters
    ----------
    sweep : see `read_sweep`
    jobs : processes at a time; None: as many as there are processors, over the workers of each
    progress : show progress bars on stderr; None: where stderr is a terminal
    only_resume : refuse to start a sweep of which there is nothing yet

    Returns
    -------
    the members, best first; those that failed last.

    Raises
    ------
    RlgoError : if the folder is in use, or holds runs of other configs, or no member finished.
    KeyboardInterrupt : after Ctrl-C, when the members are saved.
    """
    if only_resume and not sweep.folder.is_dir():
        raise RlgoError(f"{sweep.folder}: no such sweep to resume; without --resume it is started")
    check_folders(sweep.members, "give the sweep a new name")
    progress = os.isatty(2) if progress is None else progress
    jobs = jobs or jobs_for(sweep.members)
    try:
        sweep.folder.mkdir(parents=True, exist_ok=True)
        with RunFolder(sweep.folder).lock():
            write_atomically(sweep.folder / "sweep.toml", sweep.path.read_bytes())
            outcomes = [Outcome(member) for member in sweep.members]
            train_all(outcomes, sweep.folder, jobs, progress)
            _play_all(sweep, outcomes, jobs, progress)
            outcomes = _sorted(outcomes, sweep.metric)
            _write(sweep, outcomes)
    except KeyboardInterrupt:
        done = sum(look(member.folder.path).state == FINISHED for member in sweep.members)
        say(f"interrupted: {done} of {len(sweep.members)} runs are finished; go on with: {sweep.way_back}")
        raise
    except OSError as error:
        raise RlgoError(f"{error.filename or sweep.folder}: cannot be written: {error.strerror}") from None
    if all(outcome.state == FAILED for outcome in outcomes):
        raise RlgoError(f"{sweep.folder}: all runs failed, the first one so: {outcomes[0].reason}")
    return outcomes


# ---------------------------------------------------------------------------------------------
# Who is best
# ---------------------------------------------------------------------------------------------


def _shipped(size: int) -> Weights | None:
    try:
        return load_weights(shipped_weights(size))
    except RlgoError:
        return None


def _play_all(sweep: Sweep, outcomes: Iterable[Outcome], jobs: int, progress: bool) -> None:
    """Let all finished members meet each other and the shipped weights, at equal conditions; fills in `scores`.

    Two members meet in the same games whoever else is in the sweep; against the shipped weights, all members play
    the same openings.
    """
    players: dict[Outcome, Weights] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.member.name):
        if outcome.state == FINISHED:
            try:
                players[outcome] = load_weights(outcome.member.folder.weights)
            except RlgoError as error:
                outcome.state, outcome.reason = FAILED, str(error)
    if not players:
        return
    size = sweep.members[0].config.board.size
    meetings: list[tuple[str, Outcome, Outcome | None, Any]] = []
    if sweep.metric == "members":
        for a, b in itertools.combinations(players, 2):
            names = [zlib.crc32(outcome.member.name.encode()) for outcome in (a, b)]
            meetings.append(("members", a, b, np.random.SeedSequence([sweep.seed, *names])))
    shipped = _shipped(size)
    if shipped is not None:
        meetings += [("shipped", a, None, sweep.seed) for a in players]
    features, thetas = on_common_features([*players.values(), shipped], size)
    by_outcome: dict[Outcome | None, np.ndarray] = dict(zip([*players, None], thetas, strict=True))

    def play(meeting: tuple[str, Outcome, Outcome | None, Any]) -> np.ndarray:
        _, a, b, seed = meeting
        return play_fast(features, by_outcome[a], by_outcome[b], sweep.games, seed, sweep.komi).scores

    found: dict[tuple[Outcome, str], list[np.ndarray]] = {}
    with compiling(f"matches, {size}x{size}"):
        play_fast(features, thetas[0], thetas[0], 2, 0)
    pool = ThreadPoolExecutor(jobs)
    try:
        played = tqdm(
            pool.map(play, meetings), "games between them", len(meetings), disable=not progress, unit=" matches"
        )
        for (against, player, other, _), scores in zip(meetings, played, strict=True):
            found.setdefault((player, against), []).append(scores)
            if other is not None:
                found.setdefault((other, against), []).append(1 - scores[:, ::-1])
    finally:
        pool.shutdown(cancel_futures=True)
    for (player, against), parts in found.items():
        player.scores[against] = np.concatenate(parts)


def mean_of_seeds(outcomes: Iterable[Outcome], metric: str) -> dict[str, float]:
    """The mean win rate of members that differ by their seed alone, by their values as `setting` writes them."""
    rates: dict[str, list[float]] = {}
    for outcome in outcomes:
        rate = outcome.win_rate(metric)
        if rate is not None:
            rates.setdefault(setting(outcome.member), []).append(rate)
    return {key: sum(of_seeds) / len(of_seeds) for key, of_seeds in rates.items()}


def setting(member: Member) -> str:
    """The values of a member, as a key of dictionaries."""
    return json.dumps(member.values)


def _sorted(outcomes: list[Outcome], metric: str) -> list[Outcome]:
    """Best settings first, their seeds together; what failed at the end."""
    means = mean_of_seeds(outcomes, metric)
    return sorted(outcomes, key=lambda o: (o.state == FAILED, -means.get(setting(o.member), 0)))


def table(sweep: Sweep, outcomes: Sequence[Outcome]) -> str:
    """The result in Markdown, in columns that line up."""
    shown = [key for key in WON if any(key in outcome.scores for outcome in outcomes)]
    means = mean_of_seeds(outcomes, sweep.metric)
    several = len({outcome.member.config.run.seed for outcome in outcomes}) > 1
    rows = [(*sweep.keys, "seed", *(WON[key] for key in shown), *(["mean of seeds"] if several else []))]
    for outcome in outcomes:
        won = [
            in_percent(float(scores.mean()), clustered_interval(scores.tolist()))
            if scores is not None
            else outcome.state
            for scores in map(outcome.scores.get, shown)
        ]
        mean = means.get(setting(outcome.member))
        values = [json.dumps(value) for value in outcome.member.values.values()]
        last = [] if not several else ["" if mean is None or outcome.state == FAILED else f"{mean:.1%}"]
        rows.append((*values, str(outcome.member.config.run.seed), *won, *last))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    lines += ["", f"Of {sweep.games:,} games against each opponent. The 95 % intervals cover the games, not the seeds."]
    failed = [f"* {o.member.name} failed: {o.reason}" for o in outcomes if o.state == FAILED]
    return "\n".join([*lines, *([""] if failed else []), *failed])


def _write(sweep: Sweep, outcomes: Sequence[Outcome]) -> None:
    """sweep.jsonl, table.md and, with matplotlib, plot.png."""
    lines = "".join(json.dumps(outcome.to_json()) + "\n" for outcome in outcomes)
    write_atomically(sweep.folder / "sweep.jsonl", lines.encode())
    write_atomically(sweep.folder / "table.md", (table(sweep, outcomes) + "\n").encode())
    from train.plots import need_matplotlib
    from train.runs.pictures import sweep_picture

    try:
        need_matplotlib()
    except RlgoError as error:
        say(f"no picture: {error}")
        return
    sweep_picture(sweep.folder / "plot.png", sweep, outcomes)
