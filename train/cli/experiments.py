"""Commands about experiments: rlgo experiment list, plan, run, plot, report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlgo.base.errors import RlgoError
from rlgo.base.settings import Workers
from train.cli.options import SettingsCommand, is_given, option, refuse_unused, report_stop, shipped
from train.console import command, message

if TYPE_CHECKING:
    from train.experiments.declaration.experiment import Experiment

app = typer.Typer(help="Reproduce the papers' tables and figures.")

_SHIPPED = shipped("experiments")
_Names = Annotated[
    list[str], typer.Argument(metavar="NAME", autocompletion=_SHIPPED, help="Experiments, or TOML files.")
]
_Scale = Annotated[float, option("--scale", "Factor on all games: 0.1 for a quick look.", float, metavar="X")]
_AnyScale = Annotated[
    float, option("--scale", "Of the results.", float, metavar="X", show_default="the latest results")
]
_Minutes = Annotated[
    float,
    option("--minutes", "As many games as fit into this time.", float, metavar="M", show_default="no limit"),
]
_Jobs = Annotated[int | None, option("--jobs", "Runs or games at a time.", Workers, show_default="one per processor")]
_Settings = Annotated[
    list[str] | None,
    option("--set", "Change the file: --set run.games=50_000 experiment.games=100.", metavar="KEY=VALUE"),
]
_Out = Annotated[str, option("--out", "Working folder.", metavar="DIR")]
_Results = Annotated[
    str | None,
    option("--results", "Folder of raw results and pictures.", metavar="DIR", show_default="results below --out"),
]


@app.command("list")
def list_all(
    context: typer.Context, scale: _AnyScale = 1.0, out: _Out = "experiments", results: _Results = None
) -> None:
    """List the experiments, shipped results and yours."""
    from train.experiments.declaration.settings import folder_of
    from train.experiments.report.report import overview

    folder = None if results is None else Path(results)
    if folder is not None:
        refuse_unused(context, "with --results", "scale", "out")
    elif is_given(context, "scale"):
        folder = folder_of(out, scale) / "results"
    print(overview(out, folder))


@app.command("plan", cls=SettingsCommand)
def plan(
    names: _Names,
    scale: _Scale = 1.0,
    minutes: _Minutes = 0.0,
    jobs: _Jobs = None,
    out: _Out = "experiments",
    settings: _Settings = None,
) -> None:
    """Say what a part of an experiment can decide, and when.

    The time is that on the machine of the shipped results.
    """
    for name in names:
        print(_planned(name, scale, minutes, jobs, out, settings or [])[1])


@app.command("run", cls=SettingsCommand)
def run(
    context: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME", autocompletion=lambda: [*_SHIPPED(), "all"], help="Experiments, TOML files, or all."
        ),
    ],
    jobs: _Jobs = None,
    scale: _Scale = 1.0,
    minutes: _Minutes = 0.0,
    settings: _Settings = None,
    out: _Out = "experiments",
    results: _Results = None,
) -> None:
    """Run experiments, then write results, pictures and report.

    Run the same command again to continue after an interruption. Games that the results count are not played again.
    Experiments share their training runs. With --scale or --minutes, it first says which claims it can decide.
    """
    with report_stop("the preparations"):
        from train.experiments.declaration.reading import list_experiments, read_experiment
        from train.experiments.report.report import check_report, show, write_report
        from train.experiments.running.run import check_run, left_to_do, run_experiment

        names_of_all = list_experiments() if names == ["all"] else names
        planned = []
        for name in names_of_all:
            if minutes or scale != 1:
                planned.append(_planned(name, scale, minutes, jobs, out, settings or []))
            else:
                planned.append((read_experiment(name, scale, out, settings or []), ""))
        for e, _ in planned:  # before hours of work on the first one
            check_run(e, _folder(e, results))
            check_report(_report(_folder(e, results)))
    for i, (e, text) in enumerate(planned):
        if text:
            message(text)
        folder = _folder(e, results)
        if left := left_to_do(e, folder):
            message(f"{e.name}, {i + 1} of {len(planned)}: {left} left")
        try:
            run_experiment(e, folder, jobs)
        except KeyboardInterrupt:
            left = left_to_do(e, folder)
            again = _again(context, names if i == 0 else [e.argument for e, _ in planned[i:]])
            message(f"interrupted{left and f': {left} left'}; continue with: {again}")
            raise
        print(show(e, folder), flush=True)
    for folder in dict.fromkeys(_folder(e, results) for e, _ in planned):
        write_report(folder, _report(folder))
        message(f"report: {_report(folder)}")


@app.command("plot")
def plot(
    context: typer.Context,
    names: _Names,
    scale: _AnyScale = 1.0,
    out: _Out = "experiments",
    results: _Results = None,
) -> None:
    """Draw experiments from their raw results."""
    from train.experiments.declaration.reading import read_experiment
    from train.experiments.report.report import plot as draw
    from train.experiments.results.files import latest_results

    if results is not None:
        refuse_unused(context, "with --results", "scale", "out")
    for name in names:
        e = read_experiment(name, scale, out)
        folder = _folder(e, results)
        if results is None and not is_given(context, "scale"):
            file = latest_results(out, e.name)
            message(f"{file.path}: {file}")
            folder = file.folder
            e = read_experiment(name, file.header["scale"], out)
        print(draw(e, folder))


@app.command("report")
def report(
    context: typer.Context,
    file: Annotated[
        Path | None,
        option("-o --file", "File to write.", metavar="FILE", show_default="results.md next to the folder of results"),
    ] = None,
    scale: _AnyScale = 1.0,
    out: _Out = "experiments",
    results: _Results = None,
) -> None:
    """Write the report on all experiments from raw results."""
    from train.experiments.declaration.settings import folder_of
    from train.experiments.report.report import write_report
    from train.experiments.results.files import result_folders

    if results is not None:
        refuse_unused(context, "with --results", "scale", "out")
    folders = [folder_of(out, scale) / "results"] if results is None else [Path(results)]
    if results is None and not is_given(context, "scale"):
        folders = result_folders(out) or folders
    if file is not None and len(folders) > 1:
        raise RlgoError(f"--file {file}: there are results at {len(folders)} scales: expected --scale, or no --file")
    for folder in folders:
        path = file or _report(folder)
        write_report(folder, path)
        print(path)


def _planned(
    name: str, scale: float, minutes: float, jobs: int | None, out: str, settings: Sequence[str]
) -> tuple[Experiment, str]:
    """Return an experiment, or the part of it that fits into some minutes, and what it can decide."""
    from train.experiments.declaration.reading import read_experiment
    from train.experiments.running.forecast import plan_experiment

    if minutes and scale != 1:
        raise RlgoError("--minutes cannot be combined with --scale")
    return plan_experiment(read_experiment(name, scale, out, settings), minutes, jobs)


def _again(context: typer.Context, names: list[str]) -> str:
    """Return the command that runs some experiments with the options that were given."""
    options: list[object] = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.param_type_name == "option" and value and value != parameter.default:
            options.append(parameter.opts[-1])
            if value is not True:
                values = value if isinstance(value, list) else [value]
                options += [f"{value:g}" if isinstance(value, float) else value for value in values]
    return command("rlgo", "experiment", "run", *names, *options)


def _report(results: Path) -> Path:
    """Return the path of the report; that of the published results stands among the documents."""
    is_published = results == Path("results", "experiments") and Path("docs", "lab").is_dir()
    return Path("docs", "lab", "results.md") if is_published else results.parent / "results.md"


def _folder(e: Experiment, results: str | None) -> Path:
    """Return the folder of raw results: the one named, or that of the experiment. The published ones must be named."""
    return e.folder / "results" if results is None else Path(results)
