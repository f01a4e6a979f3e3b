"""The tables of an experiment's file that have keys of their own: [experiment], [[series]] and [[stated]].

`reading.py` shows the whole file, with the tables that it reads itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from annotated_types import Le, MinLen, Predicate
from pydantic import AfterValidator

from rlgo.base.checks import Expected, Key, check
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, BoardSize, EvenCount, Komi, Positive, SeedNumber
from train.config import ConfigName, Openings, Seeds
from train.settings import Line, Name, Section, SpecText, different

Scale = Annotated[Positive, Le(1000)]  # of an experiment: a factor on all games
Minutes = Annotated[
    Positive, Le(100_000)
]  # of an experiment that is played until its claims are decided, or time is over
Prose = Annotated[str, AfterValidator(str.strip), Expected("text")]
# Each stays as it is written, an integer or a float: it becomes part of a player's spec.
Numbers = Annotated[
    tuple[int | float, ...],
    Predicate(different),
    MinLen(1),
    Expected("a list of different numbers"),
]
Coordinates = Annotated[tuple[float, ...], Expected("a list of numbers")]


def folder_of(out: str | Path, scale: float, minutes: float = 0.0) -> Path:
    """Return the working folder of the experiments at a scale, or of those with a limit of time.

    `out` is that at scale 1 and without a limit. RlgoError for a bad scale or limit.
    """
    if minutes:
        check("minutes", minutes, Minutes)
        return Path(out) / "minutes"
    return Path(out) if check("scale", scale, Scale) == 1 else Path(out) / f"scale-{scale:g}"


@dataclass(frozen=True)
class ExperimentConfig(Section):
    """A table or a figure of a paper; `declaration/reading.py` shows the other tables of its file."""

    prefix: ClassVar[str] = "experiment."

    title: Annotated[Prose, Key("The experiment's title.")] = ""
    source: Annotated[Prose, Key("Its place in the paper.")] = ""
    kind: Annotated[
        Literal["curves", "games", "counts", "frequency"],
        Key(
            "curves: learning curves of training runs; games: players against each other; counts: how many "
            "features there are; frequency: how often shapes occur in a run."
        ),
    ] = "curves"
    paper: Annotated[Prose, Key("What the paper found.")] = ""
    remarks: Annotated[Prose, Key("What we found, in Markdown.")] = ""
    base: Annotated[ConfigName, Key("The config that training runs start from.")] = "paper"
    seeds: Annotated[Seeds, Key("Each run is repeated with each of these seeds. n means 1 to n.")] = (1,)
    games: Annotated[
        EvenCount,
        Key(
            "Curves: games of each pair of checkpoints. Games: of each pair of players, or, in a Swiss "
            "tournament, of each player."
        ),
    ] = 200
    gnugo_games: Annotated[EvenCount, Key("Curves: games of each run's last weights against GNU Go level 0.")] = 0
    pairing: Annotated[
        Literal["gauntlet", "round_robin", "swiss"],
        Key(
            "Games. gauntlet: everyone in [[series]] plays everyone in [players]; round_robin: everyone plays "
            "everyone; swiss: everyone plays opponents of similar strength (TD, Section 4.5)."
        ),
    ] = "gauntlet"
    x: Annotated[Line, Key("Games: what the x axis shows.")] = ""
    legend: Annotated[Line, Key("Curves: the title of the picture's legends.")] = ""
    size: Annotated[BoardSize, Key("Games: points along a side of the board.")] = DEFAULT_SIZE
    komi: Annotated[Komi, Key("Games: points added to White's score.")] = DEFAULT_KOMI
    openings: Openings = ""
    seed: Annotated[SeedNumber, Key("Seed of openings, and of players whose specs set none.")] = 1


@dataclass(frozen=True)
class SeriesConfig(Section):
    """Players of an experiment that differ by a number x, which replaces ``{x}`` in their spec."""

    label: Annotated[Name, Key("Its players are called LABEL X.")] = ""
    player: Annotated[SpecText, Key("The spec of the players, with {x} for the number.")] = ""
    x: Annotated[Numbers, Key("The numbers.")] = ()
    against: Annotated[
        Line, Key("Gauntlet: the label of another series; each player also plays its player with the same x.")
    ] = ""
    size: Annotated[Literal["", "{x}"], Key("The board size: {x}, or empty for the size of the experiment.")] = ""
    games: Annotated[
        EvenCount, Key("Gauntlet: games of each pair with one of its players. 0: as in the experiment.")
    ] = 0
    along: Annotated[Line, Key("The name of the x axis for this series, if not the experiment's.")] = ""
    legend: Annotated[Line, Key("Its name in the legend of the picture, if not its label.")] = ""


@dataclass(frozen=True)
class StatedConfig(Section):
    """Numbers of a paper's figure that its text states, drawn beside our own in the picture of an experiment."""

    series: Annotated[Line, Key("The series, runs or player that they are drawn beside.")] = ""
    where: Annotated[Line, Key("Their place in the paper.")] = ""
    by: Annotated[Line, Key("The source of the numbers.")] = "the paper"
    x: Annotated[Coordinates, Key("Their places on the x axis. Empty: all of it.")] = ()
    y: Annotated[Coordinates, Key("The numbers, one for each x.")] = ()
    up_to: Annotated[Coordinates, Key("If each is a range, from y: its upper end.")] = ()
    of: Annotated[
        Literal["elo", "won"], Key("elo: ratings, or with `b` differences of ratings; won: shares of the games won.")
    ] = "elo"
    b: Annotated[Line, Key("The other player or series, for differences of ratings and for shares.")] = ""
