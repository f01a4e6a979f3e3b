"""Commands that list what there is: players, configs."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer()


def _player_names() -> list[str]:
    from train.players import PLAYERS

    return list(PLAYERS)


def _config_names() -> list[str]:
    from rlgo.resources import list_configs

    return list_configs()


@app.command("players")
def players(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", autocompletion=_player_names, help="A player; default: all.")
    ] = None,
) -> None:
    """List the players, or every key of one of them."""
    from train.players.listing import players_text

    print(players_text(name))


@app.command("configs")
def configs(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", autocompletion=_config_names, help="A config; default: all.")
    ] = None,
) -> None:
    """List the shipped configs, or show one, with every key."""
    from train.players.listing import configs_text

    print(configs_text(name))
