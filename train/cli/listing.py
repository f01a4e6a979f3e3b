"""Commands that list what ships: players, configs."""

from __future__ import annotations

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
    default.
    """
    from train.players import listing

    print(listing.configs_text(name))
