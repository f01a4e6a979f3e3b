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
from train.experiments.running import by_claim, counts, curves, games
from train.provenance import machine, versions
from train.runs.fleet import jobs_for
from train.runs.status import FINISHED, inspect


def run_experiment(
    e: Experiment, results: str | Path, jobs: int | None = None, progress: bool = True, play: bool = True,
    add: bool = False, only: str = "",
) -> RawResults:  # fmt: skip
    """Run the rest of an experiment, and write its raw results into the folder `results`.

    Parameters
    ----------
    jobs : training runs, or games, at a time; None: as many as there are processors, divided by the workers of a run
    progress : show progress on standard error
    play : if False, play nothing and use the games between players so far
    add : continue after the games in the raw results, and add to them, instead of playing all of them
    only : play only pairs with a player whose name contains this

    Raises
    ------
    RlgoError : see `check_run`, `training.train_runs` and `match.play_match`; for players that cannot play.
    KeyboardInterrupt : after Ctrl-C. What is done is kept, except games between checkpoints, which take a minute.
    """
    before = check_run(e, results, play, add, only)
    results, jobs = check("results", results, Path), check("jobs", jobs, Workers | None)
    path = results / f"{e.name}.jsonl"
    check_folder(e.folder, hint=f"; {ELSEWHERE}")
    make_folder(e.folder)
    begun = time.time()
    jobs = jobs or jobs_for(spec for runs in e.runs.values() for spec in runs)
    lines = _run(e, jobs, progress, play, before if add or e.minutes else None, only)
    timed = [line["seconds"] for line in lines if "seconds" in line]
    header = _header(e, sum(timed) if timed else time.time() - begun)
    if e.minutes:
        header["minutes"] = e.minutes + (0 if before is None else before.header.get("minutes", 0))
    if (add or e.minutes) and before is not None:
        header["earlier"] = _earlier(before.header, header)
    if file := _file_of(e, results):
        header["file"] = file
    raw = RawResults(header, lines)
    write_raw(path, raw)
    return raw


def check_run(
    e: Experiment, results: str | Path, play: bool = True, add: bool = False, only: str = ""
) -> RawResults | None:
    """Check the parameters of `run_experiment`, and return the raw results that are there.

    Raises RlgoError for parameters that do not fit, and for results in the folder that would be lost: those at another
    scale, of another experiment with the same name, or of more games than the new ones would count.
    """
    check("e", e, Experiment)
    play, add = check("play", play, bool), check("add", add, bool)
    only, results = check("only", only, str), check("results", results, Path)
    for given, option in ((not play, "--played"), (add, "--add"), (only, "--only")):
        if given and e.settings.kind != "games":
            raise RlgoError(f'{e.name}: {option} needs an experiment of kind = "games", not "{e.settings.kind}"')
    if only and not play:
        raise RlgoError("--only cannot be combined with --played, which writes the results of all games")
    path = results / f"{e.name}.jsonl"
    before = read_raw(path)
    if before is not None and before.header["scale"] != e.scale:
        raise RlgoError(f"{path}: has results at scale {before.header['scale']:g}; use another --results folder")
    if before is not None and bool(before.header.get("minutes")) != bool(e.minutes):
        there = "without" if e.minutes else "with"
        raise RlgoError(f"{path}: has results {there} --minutes; use another --results folder")
    other = "" if before is None else before.header.get("file", "")
    if other != _file_of(e, results) and (results / other).is_file():
        raise RlgoError(f"{path}: has the results of {results / other}; use another name, or --results folder")
    if e.minutes and (add or only or not play):
        given = next(option for is_given, option in ((add, "--add"), (only, "--only"), (True, "--played")) if is_given)
        raise RlgoError(f"{given} cannot be combined with --minutes")
    _openings_of(e)
    if add and before is None:
        raise RlgoError(f"{path}: does not exist: expected raw results to add games to")
    if e.minutes:
        by_claim.check(e)
    elif e.settings.kind == "games":
        games.check(e, before, play, add, only)
    elif e.settings.kind == "curves":
        curves.check(e, before)
    return before


def _file_of(e: Experiment, results: Path) -> str:
    """Return the file of a user's own experiment, relative to the results: so lists and reports find it."""
    return "" if e.argument == e.name else Path(os.path.relpath(e.path, results)).as_posix()


def left_to_do(e: Experiment, results: str | Path, add: bool = False, only: str = "") -> str:
    """Describe the remaining training runs and games of an experiment; "" if there are none.

    The parameters are those of `run_experiment`.
    """
    parts = []
    folders = {run.name: run.folder for runs in e.runs.values() for run in runs}
    if e.reference is not None:
        folders[e.reference.name] = e.reference.folder
    if folders:
        finished = sum(folder.exists() and inspect(folder.path).state == FINISHED for folder in folders.values())
        if finished < len(folders):
            parts.append(f"{len(folders) - finished} of {len(folders)} runs")
    if e.settings.kind == "games" and not e.minutes:
        before = read_raw(Path(results) / f"{e.name}.jsonl") if add else None
        left, total = games.games_left(e, before, only)
        if left:
            parts.append(f"{left:,} of {total:,} games")
    return " and ".join(parts)


def _run(
    e: Experiment, jobs: int, progress: bool, play: bool, before: RawResults | None, only: str
) -> list[dict[str, Any]]:
    """Do the work of the experiment's kind, and return the lines of its raw results."""
    match e.settings.kind:
        case "curves":
            return curves.run(e, jobs, progress)
        case "frequency":
            return counts.frequency(e, jobs, progress)
        case "games" if e.minutes:
            return by_claim.run(e, jobs, progress, before)
        case "games":
            return games.run(e, jobs, progress, play, before, only)
        case _:
            return counts.count(e)


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
