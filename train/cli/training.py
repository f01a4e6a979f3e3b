"""Commands about training runs: train, runs, compare, eval, sweep."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_SIZE, EvenCount, Workers
from train.cli.options import (
    JsonFile,
    OpeningsName,
    OtherOpenings,
    PairGames,
    PngFile,
    Seed,
    Size,
    as_json,
    check_outputs,
    openings_option,
    option,
    refuse_unused,
    report_stop,
    shipped,
    whole,
    write_json,
)
from train.console import message, optional_picture
from train.provenance import processors

if TYPE_CHECKING:
    from train.runs.sweep import Outcome, Sweep

app = typer.Typer()

# ---------------------------------------------------------------------------------------------
# rlgo train
# ---------------------------------------------------------------------------------------------


class SettingsCommand(TyperCommand):
    """A command whose --set takes several settings: ``--set run.games=1000 learning.alpha=0.2``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat --set before each further setting, since the parser takes only one at a time."""
        return super().parse_args(ctx, list(_repeat_set(args)))


def _repeat_set(args: Sequence[str]) -> Iterator[str]:
    """Yield `args` with --set in front of every setting that follows another one.

    A setting looks like ``section.key=value``; anything else, such as the name of the config, ends the list.
    """
    is_setting, in_list = re.compile(r"[\w.]+\s*=").match, False
    rest = iter(args)
    for arg in rest:
        if in_list and is_setting(arg):
            yield f"--set={arg}"
            continue
        yield arg
        if arg == "--":
            break
        in_list = arg == "--set" or arg.startswith("--set=")
        if arg == "--set":
            yield from itertools.islice(rest, 1)
    yield from rest


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

    from train.runs.run import train as train_run

    train_run(loaded)


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
# Comparisons of runs
# ---------------------------------------------------------------------------------------------


@app.command("runs")
def runs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to search.")] = Path("runs"),
    json: Annotated[bool, option("--json", "Print everything as JSON instead.")] = False,
) -> None:
    """List training runs and their progress.

    Interrupted runs are listed with the command that continues them.
    """
    from train.runs.status import find_runs, table

    found = find_runs(folder)
    print(as_json([run.to_json() for run in found]) if json else table(found, folder))


@app.command("compare")
def compare(
    a: Annotated[
        str, typer.Argument(metavar="A", help="A run's folder, a weight file, or shipped weights; the results are A's.")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Another run's folder or weights.")],
    games: PairGames = 1_000,
    seed: Seed = 1,
    openings: OpeningsName = "",
    json_file: JsonFile = None,
    png: PngFile = None,
) -> None:
    """Play the weights of two runs against each other.

    The runs play each other with their current weights, and at every number of training games that both have reached.
    They may be finished, interrupted or still running, and may use different features, but must have the same board
    size. A weight file can take the place of a run: it plays every checkpoint of the other.
    """
    check_outputs(json_file, png)

    from train.runs.compare import compare as compare_runs

    with report_stop("the first games"):
        comparison = compare_runs(a, b, games, seed, openings=openings)
    print(comparison)
    write_json(json_file, comparison.to_json())
    if png is not None:
        from train.runs.run_pictures import comparison_picture

        comparison_picture(png, comparison)


@app.command("eval")
def evaluate(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="RUN|FILE", help="Folders of runs, weight files, or names of shipped weights."),
    ],
    games: PairGames = 1_000,
    seed: Seed = 1,
    komi: Annotated[
        float | None, option("--komi", "White's bonus.", float, metavar="K", show_default="the one used in training")
    ] = None,
    gnugo: Annotated[
        int,
        option("--gnugo", "Games against GNU Go level 0, for each file and each run's last weights.", EvenCount),
    ] = 0,
    openings: Annotated[str, openings_option("random:4, as for the scale")] = "random:4",
    json_file: JsonFile = None,
    png: PngFile = None,
) -> None:
    """Rate weights, or whole runs, in Elo.

    A run is rated at every checkpoint and with its last weights, which gives a learning curve. Ratings are on the
    rating scale (`rlgo ladder`), the same for all runs.
    """
    check_outputs(json_file, png)

    from train.runs.evaluate import evaluate as rate

    result = rate(targets, games, seed, komi, gnugo, openings=openings)
    print(result)
    write_json(json_file, result.to_json())
    if png is not None:
        from train.runs.run_pictures import ratings_picture

        ratings_picture(png, result)


@app.command("ladder")
def ladder(
    context: typer.Context,
    size: Size = DEFAULT_SIZE,
    make: Annotated[
        Path | None, option("--make", "Train and rate all reference players again (half an hour).", metavar="FILE")
    ] = None,
    games: PairGames = 1_000,
    gnugo: Annotated[
        int, option("--gnugo", "Games of each of the three best reference players against GNU Go level 0.", whole(2))
    ] = 200,
    seed: Seed = 1,
    json: Annotated[bool, option("--json", "Print JSON instead.")] = False,
) -> None:
    """Show the rating scale for weights.

    --make repeats how the shipped file was made; --games, --gnugo and --seed need it.
    """
    if make is not None:
        refuse_unused(context, "with --make", "size", "json")

        from train.runs.make_rating_scale import make_rating_scale

        make_rating_scale(make, games, gnugo, seed)
        message(f"{make}: the rating scale of all board sizes")
        return
    refuse_unused(context, "without --make", "games", "gnugo", "seed")

    from train.arena.rating_scale import load_rating_scale

    scale = load_rating_scale(size)
    print(as_json({"size": size, "elo": scale.elo, "scatter": scale.scatter}) if json else scale)


class _SweepGroup(TyperGroup):
    """The group ``rlgo sweep``, which is also a command: ``rlgo sweep CONFIG`` runs a sweep."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the name of a subcommand before that of a CONFIG, and options in any place after a CONFIG."""
        has_command = bool(args) and args[0] in self.commands
        ctx.allow_interspersed_args = not has_command
        return super().parse_args(ctx, ["", *args] if has_command else args)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; in the usage of a subcommand, without CONFIG, which it does not take."""
        params = super().get_params(ctx)
        return params if ctx.command is self else [p for p in params if p.param_type_name != "argument"]


sweep_app = typer.Typer(cls=_SweepGroup, invoke_without_command=True)


@sweep_app.callback()
def sweep(
    context: typer.Context,
    config: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG", autocompletion=shipped("sweeps"), help="A TOML file, or a shipped sweep: step_size."
        ),
    ],
    jobs: Annotated[
        int | None, option("--jobs", "Runs to train at a time.", Workers, show_default="one per processor")
    ] = None,
    resume: Annotated[bool, option("--resume", "Only continue a sweep; refuse to start one.")] = False,
    out: Annotated[str | None, option("--out", "Folder for the sweep's own folder (run.out).", metavar="DIR")] = None,
    openings: OtherOpenings = "",
) -> None:
    """Train over a range of settings and seeds, and rank them.

    The settings form a grid or are drawn at random; `rlgo configs sweeps/step_size` shows a CONFIG. Run the same
    command again to continue an interrupted sweep; finished runs are kept.
    """
    if context.invoked_subcommand is not None:
        return

    from train.runs.fleet import FAILED
    from train.runs.sweep import read_sweep, run_sweep, table

    plan = read_sweep(config, out, openings)
    outcomes = run_sweep(plan, jobs, only_resume=resume)
    with optional_picture():
        _draw_sweep(plan, outcomes)
    print(table(plan, outcomes))
    if failed := sum(outcome.state == FAILED and not outcome.has_diverged for outcome in outcomes):
        raise RlgoError(f"{plan.folder}: {failed} of {len(outcomes)} runs failed")


@sweep_app.command("plot")
def plot(
    context: typer.Context,
    targets: Annotated[
        list[str],
        typer.Argument(metavar="DIR", help="The folder of a sweep; or folders of runs, to lay over one another."),
    ],
    games: PairGames = 1_000,
    seed: Seed = 1,
    png: Annotated[
        Path | None,
        option("-o --png", "The picture of runs.", metavar="FILE", show_default="curves.png next to the runs"),
    ] = None,
) -> None:
    """Draw learning curves in Elo: of a sweep, or of runs.

    A sweep is drawn from its results. Runs are rated first: their checkpoints play the reference players of the rating
    scale, and their last weights each other.
    """
    from train.runs.folder import RunFolder

    folders = [Path(target) for target in targets]
    if len(folders) == 1 and not RunFolder(folders[0]).exists():
        refuse_unused(context, "for a sweep, which is drawn from its results into its folder", "png", "games", "seed")
        from train.runs.sweep import read_results

        print(*_draw_sweep(*read_results(folders[0])), sep="\n")
        return
    from train.runs.rate_runs import rate_runs, weights_of_run
    from train.runs.run_pictures import curves_picture

    path = png or folders[0].resolve().parent / "curves.png"
    check_outputs(None, path)
    names = [folder.resolve().name for folder in folders]
    by_name = dict(zip(names if len(set(names)) == len(names) else targets, folders, strict=True))
    runs = {name: weights_of_run(RunFolder(folder)) for name, folder in by_name.items()}
    curves_picture(path, rate_runs(runs, games, seed, jobs=processors()))
    print(path)


def _draw_sweep(plan: Sweep, outcomes: Sequence[Outcome]) -> list[Path]:
    """Draw the pictures of a sweep into its folder, and return their paths."""
    from train.runs.run_pictures import parameters_picture, sweep_picture

    paths = [plan.folder / "plot.png", plan.folder / "parameters.png"]
    sweep_picture(paths[0], plan, outcomes)
    parameters_picture(paths[1], plan, outcomes)
    return paths


app.add_typer(sweep_app, name="sweep")
