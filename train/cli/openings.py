"""The command for the openings of matches: openings make."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE
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


@app.command("make")
def make(
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
    judge: Annotated[
        str, option("--judge", "The player that judges.", metavar="SPEC", autocompletion=player_names)
    ] = f"{ENGINE},sims=2000",
    band: _Band = "0.3-0.7",
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
    check_writable(out, "--out")
    for path in exclude or []:
        check_different(("--out", out), ("--exclude", path))

    from train.arena.make_openings import OpeningsPlan, make_openings
    from train.arena.openings import read_openings

    low, high = map(float, band.split("-"))
    lowest = line or (3 if size >= 13 else 2)
    plan = OpeningsPlan(judge, openings, size, komi, plies, low, high, lowest, seed)
    with kept_in(out, "the openings found so far"):
        added = make_openings(plan, out, exclude or [])
    print(f"{out}: {added:,} new openings, {len(read_openings(out, size)):,} in all")
