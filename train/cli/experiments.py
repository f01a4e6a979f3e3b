"""Commands about experiments: rlgo experiment list, run, plot, report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rlgo.base.settings import WORKERS
from train.cli.options import OtherOpenings, number, option, shipped, within
from train.console import command, message

app = typer.Typer(help="Reproduce the papers' tables and figures.")

_SHIPPED = shipped("experiments")
_Names = Annotated[
    list[str], typer.Argument(metavar="NAME", autocompletion=_SHIPPED, help="Experiments, or TOML files.")
]
_Scale = Annotated[float, option("--scale", "Factor on all games: 0.1 for a quick look.", number, metavar="X")]
_Out = Annotated[str, option("--out", "Working folder.", metavar="DIR")]
_Results = Annotated[
    str | None,
    option("--results", "Folder of raw results and pictures.", metavar="DIR", show_default="results below --out"),
]


@app.command("list")
def list_all(scale: _Scale = 1.0, out: _Out = "experiments", results: _Results = None) -> None:
    """List the experiments, and which have run."""
    from train.experiments.report import overview

    print(overview(_folder(scale, out, results), sys.stdout))


@app.command("run")
def run(
    context: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME", autocompletion=lambda: [*_SHIPPED(), "all"], help="Experiments, TOML files, or all."
        ),
    ],
    jobs: Annotated[
        int | None, option("--jobs", "Runs or games at a time.", within(WORKERS), show_default="one per processor")
    ] = None,
    played: Annotated[bool, option("--played", "Play nothing: write the results of the games played so far.")] = False,
    add: Annotated[
        bool, option("--add", "Continue after the games in the results, wherever they were played.")
    ] = False,
    only: Annotated[str, option("--only", "Only games of players with TEXT in their names.", metavar="TEXT")] = "",
    scale: _Scale = 1.0,
    openings: OtherOpenings = "",
    out: _Out = "experiments",
    results: _Results = None,
) -> None:
    """Run experiments, then write results, pictures and report.

    Run the same command again to continue after an interruption. Experiments share their training runs.
    """
    from train.experiments.reading import list_experiments, read_experiment
    from train.experiments.report import check_report, show, write_report
    from train.experiments.running import check_run, left_to_do, run_experiment

    names_of_all = list_experiments() if names == ["all"] else names
    experiments = [read_experiment(name, scale, out, openings) for name in names_of_all]
    folder = _folder(scale, out, results)
    for e in experiments:  # before hours of work on the first one
        check_run(e, folder, not played, add, only)
    check_report(_report(folder))
    for i, e in enumerate(experiments):
        if not played and (left := left_to_do(e, folder, add, only)):
            message(f"{e.name}, {i + 1} of {len(experiments)}: {left} left")
        try:
            run_experiment(e, folder, jobs, play=not played, add=add, only=only)
        except KeyboardInterrupt:
            left = left_to_do(e, folder, add, only)
            again = _again(context, names if i == 0 else [e.argument for e in experiments[i:]])
            message(f"interrupted{left and f': {left} left'}; continue with: {again}")
            raise
        print(show(e, folder), flush=True)
    write_report(folder, _report(folder))


@app.command("plot")
def plot(names: _Names, scale: _Scale = 1.0, out: _Out = "experiments", results: _Results = None) -> None:
    """Draw experiments from their raw results."""
    from train.experiments.reading import read_experiment
    from train.experiments.report import plot as draw

    for name in names:
        print(draw(read_experiment(name, scale, out), _folder(scale, out, results)))


@app.command("report")
def report(
    file: Annotated[
        Path | None,
        option("-o --file", "File to write.", metavar="FILE", show_default="results.md next to the folder of results"),
    ] = None,
    scale: _Scale = 1.0,
    out: _Out = "experiments",
    results: _Results = None,
) -> None:
    """Write the report on all experiments from raw results."""
    from train.experiments.report import write_report

    folder = _folder(scale, out, results)
    path = file or _report(folder)
    write_report(folder, path)
    print(path)


def _again(context: typer.Context, names: list[str]) -> str:
    """Return the command that runs some experiments with the options that were given."""
    options: list[object] = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.param_type_name == "option" and value != parameter.default:
            options.append(parameter.opts[-1])
            if value is not True:
                options.append(f"{value:g}" if isinstance(value, float) else value)
    return command("rlgo", "experiment", "run", *names, *options)


def _report(results: Path) -> Path:
    """Return the path of the report; that of the published results stands among the documents."""
    is_published = results == Path("results", "experiments") and Path("docs").is_dir()
    return Path("docs", "results.md") if is_published else results.parent / "results.md"


def _folder(scale: float, out: str, results: str | None) -> Path:
    """Return the folder of raw results: the one named, or one below `out`. The published ones must be named."""
    from train.experiments.config import folder_of

    below = folder_of(out, scale) / "results"  # also checks the scale
    return below if results is None else Path(results)
