"""Run experiments: tables and figures of the papers.

Start reading at `run_experiment`. An experiment writes one file of raw results, NAME.jsonl (`files.RawResults`), from
which its picture and the report can be made at any time. An interrupted experiment continues when the same command is
run again.

    e = read_experiment("plies", scale=0.1)
    run_experiment(e, "results")
    print(analysis.analyze(Path("results"), "plies").elo("two-ply", "one-ply"))
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.files import ELSEWHERE, check_folder, make_folder
from rlgo.base.settings import Workers
from train.arena.openings import Openings, find_openings
from train.experiments.declaration.experiment import Experiment
from train.experiments.results.files import RawResults, read_raw, write_raw
from train.experiments.running import counts, curves, games
from train.provenance import machine, versions
from train.runs.fleet import jobs_for
from train.runs.status import FINISHED, inspect


def run_experiment(e: Experiment, results: str | Path, jobs: int | None = None, progress: bool = True) -> RawResults:
    """Run the rest of an experiment, and write its raw results into the folder `results`.

    Games between players that are counted there are not played again.

    Parameters
    ----------
    jobs : training runs, or games, at a time; None: as many as there are processors, divided by the workers of a run
    progress : show progress on standard error

    Raises
    ------
    RlgoError : see `check_run`, `training.train_runs` and `match.play_match`; for players that cannot play.
    KeyboardInterrupt : after Ctrl-C. What is done is kept, except games between checkpoints, which take a minute; games
        between players so far are written.
    """
    before = check_run(e, results)
    results, jobs = check("results", results, Path), check("jobs", jobs, Workers | None)
    check_folder(e.folder, hint=f"; {ELSEWHERE}")
    make_folder(e.folder)
    begun = time.monotonic()
    jobs = jobs or jobs_for(spec for runs in e.runs.values() for spec in runs)
    lines, is_finished = _run(e, jobs, progress, before)
    timed = [line["seconds"] for line in lines if "seconds" in line]
    header = _header(e, sum(timed) if timed else time.monotonic() - begun)
    if e.settings.kind == "games" and before is not None and (earlier := _earlier(before.header, header)):
        header["earlier"] = earlier
    if file := _file_of(e, results):
        header["file"] = file
    raw = RawResults(header, lines)
    if before is not None and lines == before.lines and before.header.get("file", "") == file:
        raw = before  # nothing new
    elif is_finished or any("pair" in line for line in lines):
        write_raw(results / f"{e.name}.jsonl", raw)
    if not is_finished:
        raise KeyboardInterrupt
    return raw


def check_run(e: Experiment, results: str | Path) -> RawResults | None:
    """Check the parameters of `run_experiment`, and return the raw results that are there.

    Raises RlgoError for results in the folder that would be lost or do not fit: those at another scale, of another
    experiment with the same name, or of other players.
    """
    check("e", e, Experiment)
    results = check("results", results, Path)
    path = results / f"{e.name}.jsonl"
    before = read_raw(path)
    if before is not None and before.header["scale"] != e.scale:
        raise RlgoError(f"{path}: has results at scale {before.header['scale']:g}; use another --results folder")
    other = "" if before is None else before.header.get("file", "")
    if other != _file_of(e, results) and (results / other).is_file():
        raise RlgoError(f"{path}: has the results of {results / other}; use another name, or --results folder")
    _openings_of(e)
    if e.settings.kind == "games":
        games.check(e, before)
    elif e.settings.kind == "curves":
        curves.check(e, before)
    return before


def _file_of(e: Experiment, results: Path) -> str:
    """Return the file of a user's own experiment, relative to the results: so lists and reports find it."""
    return "" if e.argument == e.name else Path(os.path.relpath(e.path, results)).as_posix()


def left_to_do(e: Experiment, results: str | Path) -> str:
    """Describe the remaining training runs and games of an experiment; "" if there are none."""
    parts = []
    specs = [run for runs in e.runs.values() for run in runs] + ([e.reference] if e.reference else [])
    runs = {run.name: run for run in specs}
    if left := [r for r in runs.values() if not (r.folder.exists() and inspect(r.folder.path).state == FINISHED)]:
        n_games = sum(run.config.run.games for run in left)
        parts.append(f"{len(left)} of {len(runs)} runs with {n_games:,} games of self-play")
    if e.settings.kind == "games":
        n, total = games.games_left(e, read_raw(Path(results) / f"{e.name}.jsonl"))
        if n:
            parts.append(f"{n:,} of {total:,} games")
    return " and ".join(parts)


def _run(e: Experiment, jobs: int, progress: bool, before: RawResults | None) -> tuple[list[dict[str, Any]], bool]:
    """Do the work of the experiment's kind; return the lines of its raw results, and whether these are all."""
    match e.settings.kind:
        case "curves":
            return curves.run(e, jobs, progress), True
        case "frequency":
            return counts.frequency(e, jobs, progress), True
        case "games":
            return games.run(e, jobs, progress, before)
        case _:
            return counts.count(e), True


def _openings_of(e: Experiment) -> tuple[Any, Openings]:
    """Return what has the board of an experiment's games, and how they begin."""
    board = e.settings if e.reference is None else e.reference.config.board
    return board, find_openings(e.settings.openings, board.size, board.komi)


def _header(e: Experiment, seconds: float) -> dict[str, Any]:
    """Return the header of raw results; `seconds` is the time they took."""
    board, openings = _openings_of(e)
    return {
        "experiment": e.name,
        "kind": e.settings.kind,
        "scale": e.scale,
        "command": e.command,
        "finished": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": machine(),
        "seconds": round(seconds, 1),
        "size": board.size,
        "komi": board.komi,
        "seed": e.settings.seed,
        "openings": openings.name,
        "opening_plies": openings.plies,
        "versions": versions(),
    }


def _earlier(before: dict[str, Any], now: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the machines and versions of games that others were added to, other than the current ones."""
    keys = ("machine", "versions")
    found = [*before.get("earlier", []), {key: before[key] for key in keys}]
    return [one for i, one in enumerate(found) if one not in found[:i] and one != {key: now[key] for key in keys}]
