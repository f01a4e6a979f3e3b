"""Commands that list what ships: players, configs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from train.cli.options import player_names, shipped

app = typer.Typer()


@app.command("players")
def players(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", autocompletion=player_names, help="A player; without one, all are listed."),
    ] = None,
) -> None:
    """List the players, or every key of one.

    With NAME, each key comes with its default, its meaning and the experiments that measured it.
    """
    from train.players import listing

    print(listing.players_text(name))


@app.command("configs")
def configs(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", autocompletion=shipped(), help="A config, or a file; without it, all are listed."
        ),
    ] = None,
) -> None:
    """List the shipped configs, or print one.

    With NAME, the config of a training run or a tournament is printed in full, each key with its meaning and its
    default. A file of your own is checked as its command would check it.
    """
    from train.players import listing

    if name is not None:
        _check_own(*listing.find_config(name))
    print(listing.configs_text(name))


def _check_own(kind: str, path: Path) -> None:
    """Read a user's config as its command does; RlgoError if that fails."""
    from rlgo.base.resources import config_path, list_configs

    if path.stem in list_configs(kind) and path == config_path(path.stem, kind):
        return
    if kind == "tournaments":
        from train.arena.tournament import read_tournament

        read_tournament(path)
    elif kind == "sweeps":
        from train.runs.sweep import read_sweep

        read_sweep(path)
    elif kind == "experiments":
        from train.experiments.declaration.reading import read_experiment

        read_experiment(str(path))
    elif kind == "players":
        from train.players.spec import parse_spec
        from train.settings import spec_value

        parse_spec(spec_value(path))
