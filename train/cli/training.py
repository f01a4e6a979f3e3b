"""Commands about training runs: train, runs, eval, ladder, sweep."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_SIZE, Workers
from train.cli.options import (
    JsonFile,
    PairGames,
    PngFile,
    Seed,
    SettingsCommand,
    Size,
    as_json,
    check_outputs,
    openings_option,
    option,
    refuse_unused,
    shipped,
    write_json,
)
from train.console import message, optional_picture

app = typer.Typer()

# ---------------------------------------------------------------------------------------------
# rlgo train
# ---------------------------------------------------------------------------------------------


@app.command("train", cls=SettingsCommand)
def train(
    config: Annotated[
        str | None,
        typer.Argument(
            metavar="CONFIG",
            autocompletion=shipped(),
            help="A TOML file, or the name of a shipped config: quick, default, paper ...",
        ),
    ] = None,
    resume: Annotated[
        str | None, option("--resume", "Continue the interrupted run in this folder.", metavar="DIR")
    ] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "--set", "Change settings of the config: --set run.games=50_000 learning.alpha=0.2.", metavar="KEY=VALUE"
        ),
    ] = None,
    out: Annotated[
        str | None, option("--out", "Folder for the run's own folder (run.out in the config).", metavar="DIR")
    ] = None,
) -> None:
    """Train a value function by self-play.

    Start a run from a CONFIG, or continue one with --resume, exactly where it was interrupted. A resumed run
    may be made longer (--set run.games=N) or moved to another cluster (--set run.cluster=C); nothing else can change.
    """
    if (config is None) == (resume is None):
        raise RlgoError("train: expected either a CONFIG or --resume DIR (see rlgo train --help)")
    if resume is not None:
        if out is not None:
            raise RlgoError("--out cannot be combined with --resume: a resumed run stays in its folder")
        changes = _changes(settings or [])

        from train.runs.run import resume as resume_run

        resume_run(resume, **changes)
        return

    from train.config import check_effects, load_config

    loaded = load_config(config or "", settings or [])
    check_effects(loaded, settings or [])
    if out is not None:
        loaded = dataclasses.replace(loaded, run=dataclasses.replace(loaded.run, out=out))

    from train.runs.run import run

    run(loaded)


def _changes(overrides: Sequence[str]) -> dict[str, Any]:
    """Return the new ``run.games`` and ``run.cluster`` of a resumed run, the only keys that --set may change."""
    from train.config import config_from_dict, parse_override

    changes = {}
    for text in overrides:
        data = parse_override(text)
        key = next(iter(data["run"])) if [*data] == ["run"] and isinstance(data["run"], dict) else ""
        if key not in ("games", "cluster"):
            raise RlgoError(f"--set {text}: expected run.games or run.cluster; nothing else can change on resume")
        changes[key] = getattr(config_from_dict(data, "--set").run, key)
    return changes


# ---------------------------------------------------------------------------------------------
# Lists and ratings of runs
# ---------------------------------------------------------------------------------------------


@app.command("runs")
def runs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to search.")] = Path("runs"),
    tags: Annotated[
        list[str] | None, option("--tag", "Only runs with this tag (run.tags); may be repeated.", metavar="WORD")
    ] = None,
    json: Annotated[bool, option("--json", "Print everything as JSON instead.")] = False,
) -> None:
    """List training runs and their progress.

    Interrupted runs are listed with the command that continues them.
    """
    from train.runs.status import find_runs, table

    found = find_runs(folder, tags or [])
    print(as_json([run.to_json() for run in found]) if json else table(found, folder))


@app.command("eval")
def evaluate(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="RUN|FILE", help="Folders of runs, weight files, or names of shipped weights."),
    ],
    games: PairGames = 1_000,
    seed: Seed = 1,
    openings: Annotated[str, openings_option("random:4, as for the scale")] = "random:4",
    json_file: JsonFile = None,
    png: PngFile = None,
) -> None:
    """Rate weights, or whole runs, in Elo.

    A run is rated at every checkpoint and with its last weights, which gives a learning curve; --png lays those of
    several runs over one another. Ratings are on the rating scale (`rlgo ladder`), the same for all runs.
    """
    check_outputs(json_file, png)

    from train.runs.evaluate import evaluate as rate

    result = rate(targets, games, seed, openings)
    print(result)
    write_json(json_file, result.to_json())
    if png is not None:
        from train.runs.run_pictures import curves_picture

        curves_picture(png, result.curves)


@app.command("ladder")
def ladder(
    context: typer.Context,
    size: Size = DEFAULT_SIZE,
    make: Annotated[
        Path | None, option("--make", "Train and rate all reference players again (half an hour).", metavar="FILE")
    ] = None,
) -> None:
    """Show the rating scale for weights. --make repeats how the shipped file was made."""
    if make is not None:
        refuse_unused(context, "with --make", "size")

        from train.runs.make_rating_scale import make_rating_scale

        make_rating_scale(make)
        message(f"{make}: the rating scale of all board sizes")
        return

    from train.arena.rating_scale import load_rating_scale

    print(load_rating_scale(size))


@app.command("sweep", cls=SettingsCommand)
def sweep(
    config: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG", autocompletion=shipped("sweeps"), help="A TOML file, or a shipped sweep: step_size."
        ),
    ],
    jobs: Annotated[
        int | None, option("--jobs", "Runs to train at a time.", Workers, show_default="one per processor")
    ] = None,
    out: Annotated[str | None, option("--out", "Folder for the sweep's own folder (run.out).", metavar="DIR")] = None,
    settings: Annotated[
        list[str] | None,
        option("--set", "Change the file: --set run.games=50_000 sweep.seeds=3.", metavar="KEY=VALUE"),
    ] = None,
) -> None:
    """Train over a range of settings and seeds, and rank them.

    The settings have names, form a grid, or are drawn at random; `rlgo configs sweeps/step_size` shows a CONFIG. Run
    the same command again to continue an interrupted sweep; finished runs are kept.
    """
    from train.runs.fleet import FAILED
    from train.runs.run_pictures import parameters_picture, sweep_picture
    from train.runs.sweep import read_sweep, run_sweep, table

    plan = read_sweep(config, out, settings or [])
    outcomes = run_sweep(plan, jobs)
    with optional_picture():
        sweep_picture(plan.folder / "plot.png", plan, outcomes)
        parameters_picture(plan.folder / "parameters.png", plan, outcomes)
    print(table(plan, outcomes))
    if failed := sum(outcome.state == FAILED and not outcome.has_diverged for outcome in outcomes):
        raise RlgoError(f"{plan.folder}: {failed} of {len(outcomes)} runs failed")
