"""Commands for the openings of matches: openings make, openings judge."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, MOST
from train.cli.options import (
    ENGINE,
    Komi,
    Seed,
    Size,
    check_different,
    check_writable,
    kept_in,
    option,
    player_names,
    refuse_unused,
    whole,
)

app = typer.Typer(help="Make balanced openings for matches.")


def _band(text: str) -> str:
    """Parse a band of chances: two numbers from 0 to 1 with a hyphen between them."""
    match = re.fullmatch(r"([0-9.]+)-([0-9.]+)", text)
    try:
        low, high = (float(part) for part in match.groups()) if match else (1.0, 0.0)
    except ValueError:
        low, high = 1.0, 0.0
    if not 0 <= low < high <= 1:
        raise typer.BadParameter(f"{text}: expected two chances with a hyphen between them: 0.3-0.7")
    return text


_Band = Annotated[str, option("--band", "Black's chance of winning, from and to.", parser=_band, metavar="LOW-HIGH")]
_Judge = Annotated[
    str,
    option("--judge", "Who judges: a player, or an engine that analyzes.", metavar="SPEC", autocompletion=player_names),
]
_Visits = Annotated[int, option("--visits", "Simulations of an engine as the judge.", whole(1, MOST))]
_JUDGE = f"{ENGINE},sims=2000"


def _check_visits(context: typer.Context, judge: str) -> None:
    """Raise RlgoError for --visits with a judge that is no engine."""
    if not judge.startswith("gtp:"):
        refuse_unused(context, f"for {judge}, which is no engine: expected simulations there", "visits")


@app.command("make")
def make(
    context: typer.Context,
    *,
    out: Annotated[Path, option("-o --out", "File to write; one that exists is continued.", metavar="FILE")],
    openings: Annotated[int, option("--count", "Number of openings.", whole(1, 1_000_000))],
    size: Size = DEFAULT_SIZE,
    komi: Komi = DEFAULT_KOMI,
    plies: Annotated[int, option("--plies", "Moves of an opening.", whole(1, 40))] = 4,
    line: Annotated[
        int | None,
        option("--line", "Lowest line to play on.", whole(1), show_default="2, from 13x13 on 3"),
    ] = None,
    judge: _Judge = _JUDGE,
    band: _Band = "0.3-0.7",
    visits: _Visits = 200,
    exclude: Annotated[
        list[Path] | None, option("--exclude", "File of openings to leave out; may be repeated.", metavar="FILE")
    ] = None,
    seed: Seed = 1,
) -> None:
    """Make random openings that both sides can win.

    A judge looks at random openings, and keeps those that give Black a chance within the band. Values of our own
    default player are calibrated by games (rlgo games calibrate). No two openings are alike under the symmetries of the
    board. Run the same command again to continue after an interruption.
    """
    _check_visits(context, judge)
    check_writable(out, "--out")
    for path in exclude or []:
        check_different(("--out", out), ("--exclude", path))

    from train.arena.make_openings import OpeningsPlan, make_openings
    from train.arena.openings import read_openings

    low, high = map(float, band.split("-"))
    lowest = line or (3 if size >= 13 else 2)
    plan = OpeningsPlan(judge, openings, size, komi, plies, low, high, lowest, visits, seed)
    with kept_in(out, "the openings found so far"):
        added = make_openings(plan, out, exclude or [])
    print(f"{out}: {added:,} new openings, {len(read_openings(out, size)):,} in all")


@app.command("judge")
def judge_file(
    context: typer.Context,
    openings: Annotated[str, typer.Argument(metavar="NAME", help="A file, or a name such as random:4.")],
    *,
    size: Size = DEFAULT_SIZE,
    komi: Komi = DEFAULT_KOMI,
    judge: _Judge = _JUDGE,
    band: _Band = "0.3-0.7",
    visits: _Visits = 200,
    most: Annotated[
        int | None,
        option(
            "--count", "Look at the first N openings.", whole(1), show_default="all of a list; of random ones, 2,000"
        ),
    ] = None,
    seed: Seed = 1,
) -> None:
    """Let a judge look at existing openings, and count the balanced ones.

    If the file gives chances of its own, their correlation with the judge's values is shown, too.
    """
    _check_visits(context, judge)

    from train.arena.make_openings import OpeningsPlan, judge_openings

    low, high = map(float, band.split("-"))
    plan = OpeningsPlan(judge, 1, size, komi, low=low, high=high, visits=visits, seed=seed)
    print(judge_openings(openings, plan, most))
