"""`rlgo compile`."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from rlgo.base.settings import DEFAULT_SIZE
from train.cli.options import ENGINE, Size, player_names
from train.console import message

app = typer.Typer()


@app.command("compile")
def compile_players(
    players: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PLAYER]...",
            autocompletion=player_names,
            help="Players, written NAME[,KEY=VALUE...]; none: the default player, at weak levels of "
            "strength, too, and training.",
        ),
    ] = None,
    size: Size = DEFAULT_SIZE,
) -> None:
    """Compile players in advance, for containers and clusters.

    The machine code of the players is kept in RLGO_CACHE_DIR, or in ~/.cache/rlgo, so that no game has to wait for it.
    It serves every machine with the same type of CPU, and the same versions of rlgo, numba and numpy, and need not be
    writable there.
    """
    from rlgo.compiler.cache_folders import CACHE_DIR
    from rlgo.play.session import GameSession
    from train.players import make_player
    from train.players.networks import make_judge
    from train.players.spec import parse_spec

    for spec in players or ():
        parse_spec(spec)  # refused before anything is compiled
    start = time.perf_counter()
    for spec in players or [ENGINE, f"{ENGINE},strength=1"]:
        session = GameSession(make_player(spec, size, seed=1), size, judge=make_judge, early_pass=True)
        try:
            for _ in range(2):  # some kernels are used from the second move on
                session.genmove()
            session.result()
        finally:
            session.close()
    if not players:
        from train.config import BoardConfig, Config
        from train.runs.fleet import warm_up

        warm_up(Config(board=BoardConfig(size=size)))
    names = ", ".join(players or [ENGINE, "training"])
    message(f"{CACHE_DIR}: {names} on {size}x{size}: ready after {time.perf_counter() - start:.0f} s")
