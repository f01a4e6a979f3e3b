"""Commands about games to learn from: rlgo games play, import, info."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rlgo.errors import RlgoError
from train.cli.options import Komi, Seed, Size, as_json, board, count, player_names
from train.console import message


class _PlayByDefault(TyperGroup):
    """Commands of which `play` is meant where none is named: ``rlgo games PLAYER``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the command where it is missing."""
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["play", *args]
        return super().parse_args(ctx, args)


games_app = typer.Typer(cls=_PlayByDefault, help="Collect games to learn from: rlgo games PLAYER.")

_Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the games, new or begun.")]


@games_app.command("play")
def play(
    player: Annotated[str, typer.Argument(metavar="PLAYER", autocompletion=player_names, help="Who plays itself.")],
    *,
    games: Annotated[int, typer.Option("--games", parser=count(1), metavar="N", help="Number of games.")],
    size: Size = 9,
    komi: Komi = 7.5,
    seed: Seed = 1,
    opening_plies: Annotated[
        int,
        typer.Option("--opening-plies", parser=count(0), metavar="N", help="Random moves at the start of each game."),
    ] = 2,
    workers: Annotated[int, typer.Option("--workers", parser=count(1), metavar="N", help="Games at a time.")] = 1,
    cluster: Annotated[
        str, typer.Option("--cluster", metavar="C", help="Ray cluster: local, auto or HOST:PORT (needs rlgo[ray]).")
    ] = "",
    sgf: Annotated[Path | None, typer.Option("--sgf", metavar="DIR", help="Write a record of each game here.")] = None,
    out: _Out = Path("games"),
) -> None:
    """Let a player play itself, and keep its games.

    Every position goes with the visits and the value of its search. A tenth of the games is held out from learning. Run
    the same command again to continue after an interruption.
    """
    checked = board(size, komi)
    if sgf is not None and sgf.exists() and not sgf.is_dir():
        raise RlgoError(f"--sgf {sgf}: expected a folder")
    _check_folder(out)

    from train.knowledge.collect import GamesPlan, describe, play_games
    from train.knowledge.shards import read_collection

    plan = GamesPlan(player, games, checked.size, checked.komi, seed, opening_plies)
    try:
        play_games(plan, out, jobs=workers, cluster=cluster, sgf=sgf)
    except KeyboardInterrupt:
        message(f"rlgo: the finished games are in {out}; run the same command again to continue")
        raise
    print(describe(read_collection([out])))


@games_app.command("import")
def import_sgf(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of SGF files; its subfolders count.")],
    size: Size = 9,
    komi: Komi = 7.5,
    out: _Out = Path("games"),
) -> None:
    """Read the SGF files in a folder.

    Files that cannot be used are listed, with the reason. A game that is there already is not added again.
    """
    checked = board(size, komi)
    if not source.is_dir():
        raise RlgoError(f"{source}: expected a folder with SGF files")
    _check_folder(out)

    from train.knowledge.collect import import_games

    result = import_games(source, out, size=checked.size, komi=checked.komi)
    for name, reason in result.bad.items():
        print(f"{name}: {reason}")
    left_out = f"{result.copies:,} were there already, {len(result.bad):,} left out"
    print(f"{out}: {result.games:,} games added; {left_out}")


@games_app.command("info")
def info(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR", help="Folders of games.")],
    as_data: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Describe the games in some folders."""
    from train.knowledge.collect import describe, summary
    from train.knowledge.shards import read_collection

    games = read_collection(folders)
    print(as_json(summary(games)) if as_data else describe(games))


def _check_folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise RlgoError(f"--out {path}: expected a folder")
