"""Commands that play players against each other: match, tournament."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, PairedGames, Workers
from train.cli.options import (
    JsonFile,
    Komi,
    OpeningsName,
    Seed,
    Size,
    check_different,
    check_folder,
    check_writable,
    option,
    player_names,
    refuse_unused,
    report_stop,
    shipped,
    whole,
    write_json,
)
from train.console import message, optional_picture

app = typer.Typer()

# ---------------------------------------------------------------------------------------------
# rlgo match
# ---------------------------------------------------------------------------------------------

_Games = Annotated[int, option("--games", "Number of games.", PairedGames)]
_EqualTime = Annotated[
    bool, option("--equal-time", "Find the simulations of B that take equal time; of A for an engine B.")
]
_Skip = Annotated[int, option("--skip", "Leave out the first N openings, played elsewhere.", whole(0))]
_MaxMoves = Annotated[
    int | None,
    option("--max-moves", "Score a game as it stands after N moves.", whole(1), show_default="3 for each point"),
]
_Time = Annotated[
    str | None, option("--time", "Time of each side in seconds: 60, 60+30/5 (5 moves in 30 s) or 60+3x10.", metavar="T")
]
_Jobs = Annotated[int, option("--jobs", "Games at a time.", Workers)]
_Cluster = Annotated[str, option("--cluster", "Ray cluster: local, auto or HOST:PORT (needs rlgo[ray]).", metavar="C")]
_Sprt = Annotated[str | None, option("--sprt", "Stop when this is decided: elo0=0,elo1=20.", metavar="TEST")]
_ResultsFile = Annotated[
    Path | None, option("--results", "Append games to this JSONL file, and continue from its end.", metavar="FILE")
]
_SgfFolder = Annotated[Path | None, option("--sgf", "Write a record of each game here.", metavar="DIR")]
_Fast = Annotated[bool, option("--fast", "Play in compiled code: greedy and random players, simple ko.")]


@app.command("match")
def match(
    a: Annotated[str, typer.Argument(metavar="A", autocompletion=player_names, help="A player; the results are A's.")],
    b: Annotated[str, typer.Argument(metavar="B", autocompletion=player_names, help="Its opponent.")],
    *,
    games: _Games,
    size: Size = DEFAULT_SIZE,
    komi: Komi = DEFAULT_KOMI,
    seed: Seed = 1,
    openings: OpeningsName = "",
    skip: _Skip = 0,
    max_moves: _MaxMoves = None,
    time: _Time = None,
    jobs: _Jobs = 1,
    cluster: _Cluster = "",
    sprt: _Sprt = None,
    results: _ResultsFile = None,
    sgf: _SgfFolder = None,
    equal_time: _EqualTime = False,
    fast: _Fast = False,
    json_file: JsonFile = None,
) -> None:
    """Play two players against each other.

    A player is written NAME[,KEY=VALUE...], such as random or greedy,weights=FILE; gtp:COMMAND runs another engine.
    Every opening is played twice, with colours swapped.
    """
    _check_files(json_file, results, sgf)

    from rlgo.go.clock import parse_time
    from train.arena.match import play_match
    from train.arena.sprt import parse_sprt

    with report_stop("the first game"):
        result = play_match(
            a,
            b,
            games=games,
            size=size,
            komi=komi,
            seed=seed,
            openings=openings,
            skip=skip,
            max_moves=max_moves,
            fast=fast,
            time=None if time is None else parse_time(time),
            jobs=jobs,
            cluster=cluster,
            results=results,
            sgf=sgf,
            sprt=None if sprt is None else parse_sprt(sprt),
            equal_time=equal_time,
        )
    print(result)
    write_json(json_file, result.to_json())
    if result.interrupted:
        message(f"interrupted; {_goes_on(results, sgf, fast)}")


def _goes_on(results: Path | None, sgf: Path | None, fast: bool) -> str:
    """Describe what the same command does after an interruption."""
    if results is not None:
        return "the same command continues"
    again = f"the same command{' with another --sgf folder' if sgf is not None else ''} starts over"
    return again + ("" if fast else ": with --results FILE it would continue")


def _check_files(json_file: Path | None, results: Path | None, sgf: Path | None) -> None:
    check_writable(json_file)
    check_writable(results, "--results")
    check_different(("--results", results), ("--json", json_file), ("--sgf", sgf))
    check_folder(sgf)


# ---------------------------------------------------------------------------------------------
# rlgo tournament
# ---------------------------------------------------------------------------------------------


@app.command("tournament")
def tournament(
    context: typer.Context,
    config: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG",
            autocompletion=shipped("tournaments"),
            help="A TOML file, or a shipped tournament: example, ladder.",
        ),
    ],
    jobs: Annotated[int | None, option("--jobs", "Games at a time.", Workers, show_default="from the config")] = None,
    out: Annotated[
        str | None,
        option("--out", "Folder for the tournament's own folder.", metavar="DIR", show_default="from the config"),
    ] = None,
    table: Annotated[bool, option("--table", "Only print the current ratings.")] = False,
) -> None:
    """Play a tournament, and rate the players in Elo.

    The tournament's folder keeps results, ratings and a picture. Run the same command again to continue an interrupted
    tournament. `rlgo configs tournaments/example` explains the CONFIG.
    """
    from train.arena.tournament import RATINGS_PNG, read_tournament, run_tournament, standing_of, tournament_picture

    plan = read_tournament(config, out)
    if table:
        refuse_unused(context, "with --table", "jobs")
        print(standing_of(plan))
        return
    with report_stop("the first game"):
        standing = run_tournament(plan, jobs)
    if standing.ratings is not None:
        with optional_picture():
            tournament_picture(plan.folder / RATINGS_PNG, standing)
    print(standing)
