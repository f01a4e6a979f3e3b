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

import _thread
import itertools
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from rlgo.errors import RlgoError
from rlgo.jit import compiling
from rlgo.resources import config_path
from rlgo.sealed import write_atomically
from rlgo.selfplay import hold_meeting, meet
from rlgo.weights import Weights, load_weights, shipped_weights
from train.checkpoint import RunFolder, called
from train.config import (
    Config,
    canonical_key,
    change,
    flat,
    load_config,
    overrides,
    read_toml,
    section_from,
)
from train.config import Sweep as SweepTable
from train.match import clustered_interval, in_percent, on_common_features
from train.run import make_learner
from train.runs import DAMAGED, FINISHED, INTERRUPTED, look

_MOST_MEMBERS = 10_000
_LONGEST_NAME = 150  # file systems take 255 characters
_FIXED = {  # settings that a sweep cannot vary
    "run.name": "a sweep names its runs itself, below sweep.name",
    "run.out": "all runs of a sweep stand in one folder",
    "run.seed": "seeds stand in sweep.seeds",
    "board.size": "weights for boards of different sizes cannot meet",
}
_TRAIN = "import sys; from train.sweep import train_member; sys.exit(train_member(sys.argv[1:]))"
FAILED = "failed"
WON = {"members": "won against the others", "shipped": "won against the shipped weights"}  # by metric, for people
_WIN_RATE = "strength/win_rate_"  # in the metrics of a run


@dataclass(frozen=True)
class Member:
    """One run of a sweep."""

    values: dict[str, Any]  # of what is swept, by section.key
    config: Config  # whole

    @property
    def name(self) -> str:
        """Of its folder."""
        return self.config.run.name

    @property
    def folder(self) -> RunFolder:
        """Where it stands."""
        return RunFolder(Path(self.config.run.out) / self.name)


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
        raise RlgoError(f"{file}: expected a table [sweep]: what it holds is explained in train/sweep.py")
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
        _member(common, folder, values, seed, source) for values, seed in itertools.product(combinations, s.seeds)
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


def _member(common: Config, folder: Path, values: dict[str, Any], seed: int, source: str) -> Member:
    tables: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        section, _, leaf = key.partition(".")
        tables.setdefault(section, {})[leaf] = value
    config = change(common, tables, source)
    whole = flat(config)
    values = {key: whole[key] for key in values}
    parts = [f"{_leaf(key)}-{_file_text(value)}" for key, value in values.items()]
    name = "_".join([*parts, f"seed-{seed}"])
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 9]}-{zlib.crc32(name.encode()):08x}"
    return Member(values, replace(config, run=replace(config.run, name=name, seed=seed, out=str(folder))))


def _leaf(key: str) -> str:
    return key.partition(".")[2].rstrip("_")


def _file_text(value: Any) -> str:
    """A value as a part of a folder's name."""
    if isinstance(value, list | tuple):
        return "-".join(map(_file_text, value))
    return re.sub(r"[^A-Za-z0-9.-]+", "-", str(value))


# ---------------------------------------------------------------------------------------------
# Training
# ---------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Outcome:
    """How a member ended, and what it won of the games at the end."""

    member: Member
    state: str = INTERRUPTED  # `runs.FINISHED`, `runs.INTERRUPTED` or FAILED
    reason: str = ""  # why it failed
    games: int = 0  # of self-play
    strength: dict[str, float] = field(default_factory=dict)  # its own last measurements: win rates by opponent
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
    _check_folders(sweep.members)
    progress = os.isatty(2) if progress is None else progress
    jobs = jobs or max(1, _processors() // max(member.config.run.workers for member in sweep.members))
    try:
        (sweep.folder / "logs").mkdir(parents=True, exist_ok=True)
        with RunFolder(sweep.folder).lock():
            write_atomically(sweep.folder / "sweep.toml", sweep.path.read_bytes())
            outcomes = _train_all(sweep, jobs, progress)
            _play_all(sweep, outcomes, jobs, progress)
            outcomes = _sorted(outcomes, sweep.metric)
            _write(sweep, outcomes)
    except KeyboardInterrupt:
        done = sum(look(member.folder.path).state == FINISHED for member in sweep.members)
        _say(f"interrupted: {done} of {len(sweep.members)} runs are finished; go on with: {sweep.way_back}")
        raise
    except OSError as error:
        raise RlgoError(f"{error.filename or sweep.folder}: cannot be written: {error.strerror}") from None
    if all(outcome.state == FAILED for outcome in outcomes):
        raise RlgoError(f"{sweep.folder}: all runs failed, the first one so: {outcomes[0].reason}")
    return outcomes


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_folders(members: Iterable[Member]) -> None:
    """Whether runs that stand in the members' folders are the members."""
    for member in members:
        if not member.folder.exists():
            continue
        try:
            there = flat(load_config(member.folder.config))
        except RlgoError:
            continue  # damaged: `_train_all` tells
        expected = flat(member.config)
        # The folder may have been moved.
        wrong = [key for key in expected if key != "run.out" and there[key] != expected[key]]
        if wrong:
            key = wrong[0]
            raise RlgoError(
                f"{member.folder.path}: holds a run with {key} = {there[key]!r}, expected {expected[key]!r}; "
                "give the sweep a new name, or remove that run"
            )


def _say(line: str) -> None:
    tqdm.write(line, file=sys.stderr)


def _train_all(sweep: Sweep, jobs: int, progress: bool) -> list[Outcome]:
    """Bring every member to its end, or to its failure."""
    outcomes = [Outcome(member) for member in sweep.members]
    pending = [outcome for outcome in outcomes if not _is_over(outcome)]
    done = len(outcomes) - len(pending)
    n_finished = sum(outcome.state == FINISHED for outcome in outcomes)
    _say(f"{len(outcomes)} runs in {sweep.folder}, {n_finished} finished; {jobs} at a time")
    for outcome in outcomes:
        if outcome.state == FAILED:
            _say(f"{outcome.member.name}: failed: {outcome.reason}")
    if pending:
        _warm_up(pending[0].member.config)
    working: list[_Process] = []
    waiting = False
    total, begun = sum(m.config.run.games for m in sweep.members), sum(outcome.games for outcome in outcomes)
    with tqdm(total=total, initial=begun, unit=" games", smoothing=0.1, disable=not progress) as bar:
        try:
            while pending or working:
                for process in [p for p in working if p.has_ended()]:
                    working.remove(process)
                    done += 1
                    _say(f"[{done}/{len(outcomes)}] {process.told()}")
                while len(working) < jobs and (ready := next(filter(_is_free, pending), None)) is not None:
                    pending.remove(ready)
                    if _is_over(ready):  # by another process, meanwhile
                        done += 1
                    else:
                        working.append(_Process(sweep, ready))
                if pending and not working and not waiting:
                    waiting = True
                    _say(f"{pending[0].member.folder.path}: in use by another process; waiting for it")
                time.sleep(0.05)
                bar.update(sum(outcome.games for outcome in outcomes) - bar.n)
                bar.set_postfix_str(_best(outcomes), refresh=False)
        finally:
            # Asked all at once, then waited for: each saves its state.
            for process in working:
                process.stop()
            for process in working:
                process.wait()
    return outcomes


def _warm_up(config: Config) -> None:
    """Compile once what all members need, before they would do it side by side."""
    size = config.board.size
    with compiling(f"self-play and learning, {size}x{size}"):
        learner = make_learner(config, 0)
        learner.learn(1)
    with compiling(f"matches, {size}x{size}"):
        meet(learner.features, learner.theta, learner.theta, 2, 0)


def _best(outcomes: Sequence[Outcome]) -> str:
    """The best by the runs' own measurements so far, against the strongest opponent that all of them have."""
    measured = [outcome for outcome in outcomes if outcome.strength]
    opponent = "shipped" if all("shipped" in outcome.strength for outcome in measured) else "random"
    if not measured:
        return ""
    best = max(measured, key=lambda outcome: outcome.strength.get(opponent, 0))
    return f"best {best.member.name}: {best.strength.get(opponent, 0):.1%} against {opponent}"


def _is_over(outcome: Outcome) -> bool:
    """Whether a member needs no process (any more)."""
    folder = outcome.member.folder
    if not folder.path.exists():
        return False
    info = look(folder.path)
    outcome.games = info.games
    outcome.strength = {key: s["win_rate"] for key, s in info.strength.items() if "win_rate" in s}
    if info.state == DAMAGED:
        outcome.state, outcome.reason = FAILED, info.reason
    if info.state == FINISHED:
        outcome.state = FINISHED
    return info.state in (DAMAGED, FINISHED)


def _is_free(outcome: Outcome) -> bool:
    return not outcome.member.folder.in_use()


class _Process:
    """A member at work: `rlgo train` in a process that ends when its standard input does, by whatever cause."""

    def __init__(self, sweep: Sweep, outcome: Outcome):
        member = outcome.member
        if member.folder.path.exists():
            argv = ["train", "--resume", str(member.folder.path)]
        else:
            argv = ["train", sweep.base, "--set", *overrides(load_config(sweep.base), member.config)]
        self.outcome = outcome
        self._log = sweep.folder / "logs" / f"{member.name}.txt"
        self._read = 0  # bytes of metrics.jsonl
        with self._log.open("ab") as log:
            self._begin = log.tell()
            # In a session of its own, out of reach of the terminal's Ctrl-C: a second signal would not be polite.
            self._process = subprocess.Popen(
                [sys.executable, "-c", _TRAIN, *argv],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def has_ended(self) -> bool:
        """Look how far it is, and whether it has ended."""
        status = self._process.poll()
        self._look()
        if status is None:
            return False
        info = look(self.outcome.member.folder.path)
        self.outcome.games = info.games
        self.outcome.state = FINISHED if info.state == FINISHED else FAILED
        if self.outcome.state == FAILED:
            self.outcome.reason = self._last_words(status)
        self.stop()
        return True

    def _look(self) -> None:
        """Read on in metrics.jsonl."""
        path = self.outcome.member.folder.metrics
        try:
            if path.stat().st_size < self._read:
                self._read = 0  # cut back to the state that it went on from
            with path.open("rb") as file:
                file.seek(self._read)
                lines = file.read().rpartition(b"\n")[0]
        except FileNotFoundError:
            return
        self._read += len(lines) + 1 if lines else 0
        for line in lines.splitlines():
            try:
                point = json.loads(line)
            except ValueError:
                continue
            self.outcome.games = point["games"]
            rates = {k.removeprefix(_WIN_RATE): x for k, x in point.items() if k.startswith(_WIN_RATE)}
            self.outcome.strength |= rates

    def _last_words(self, status: int) -> str:
        with self._log.open("rb") as log:
            log.seek(self._begin)
            lines = [line for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
        if status < 0:
            return f"killed by {signal.Signals(-status).name}"
        if status == 128 + signal.SIGINT:
            return "interrupted"
        # How to go on with one run alone is not the way of a sweep.
        words = lines[-1].removeprefix("rlgo: error: ").partition("; the run's state of ")[0] if lines else ""
        return words or f"exit status {status}"

    def told(self) -> str:
        """How it ended, for people."""
        name, games = self.outcome.member.name, self.outcome.games
        if self.outcome.state == FAILED:
            return f"{name}: failed: {self.outcome.reason}"
        won = ", ".join(f"{x:.1%} against {key}" for key, x in self.outcome.strength.items())
        return f"{name}: {games:,} games; won {won}"

    def stop(self) -> None:
        """Ask it to save and end."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def wait(self) -> None:
        """Wait for its end."""
        self._process.wait()


def train_member(argv: list[str]) -> int:
    """The process of a member: `rlgo` with these arguments, and Ctrl-C when standard input ends."""
    from train.cli import main

    def watch() -> None:
        os.read(0, 1)
        _thread.interrupt_main()

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background process may have been told to ignore it
    sys.argv = ["rlgo", *argv]  # what a run tells of its command is what a person would type
    threading.Thread(target=watch, daemon=True).start()
    return main(argv)


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
        return hold_meeting(features, by_outcome[a], by_outcome[b], sweep.games, seed, sweep.komi).scores

    found: dict[tuple[Outcome, str], list[np.ndarray]] = {}
    with compiling(f"matches, {size}x{size}"):
        meet(features, thetas[0], thetas[0], 2, 0)
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
    from train.plots import need_matplotlib, sweep_picture

    try:
        need_matplotlib()
    except RlgoError as error:
        _say(f"no picture: {error}")
        return
    sweep_picture(sweep.folder / "plot.png", sweep, outcomes)
