"""The tables of an experiment's file that have keys of their own: [experiment], [[series]] and [[stated]].

`reading.py` shows the whole file, with the tables that it reads itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field

from rlgo.base.bounds import Number
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE
from train.config import OPENINGS, BoardSize, ConfigName, Komi, Seed, Seeds
from train.settings import EvenCount, Expected, Line, Name, OneOf, Section, SpecText, as_tuple, different, section

SCALE = Number(gt=0, le=1000)  # of an experiment: a factor on all games
MINUTES = Number(gt=0, le=100_000)  # of an experiment that is played until its claims are decided, or time is over
Prose = Annotated[str, AfterValidator(str.strip), Expected("text")]
# Each stays as it is written, an integer or a float: it becomes part of a player's spec.
Numbers = Annotated[
    tuple[int | float, ...],
    BeforeValidator(as_tuple),
    AfterValidator(different),
    Field(min_length=1),
    Expected("a list of different numbers"),
]
Coordinates = Annotated[tuple[float, ...], BeforeValidator(as_tuple), Expected("a list of numbers")]


def folder_of(out: str | Path, scale: float, minutes: float = 0.0) -> Path:
    """Return the working folder of the experiments at a scale, or of those with a limit of time.

    `out` is that at scale 1 and without a limit. RlgoError for a bad scale or limit.
    """
    if minutes:
        MINUTES.check("minutes", minutes)
        return Path(out) / "minutes"
    return Path(out) if SCALE.check("scale", scale) == 1 else Path(out) / f"scale-{scale:g}"


@section
class ExperimentConfig(Section):
    """A table or a figure of a paper; `declaration/reading.py` shows the other tables of its file."""

    prefix: ClassVar[str] = "experiment."

    title: Prose = Field(default="", description="The experiment's title.")
    source: Prose = Field(default="", description="Its place in the paper.")
    kind: Annotated[str, OneOf("curves", "games", "counts", "frequency")] = Field(
        default="curves",
        description="curves: learning curves of training runs; games: players against each other; counts: how many "
        "features there are; frequency: how often shapes occur in a run.",
    )
    paper: Prose = Field(default="", description="What the paper found.")
    remarks: Prose = Field(default="", description="What we found, in Markdown.")
    base: ConfigName = Field(default="paper", description="The config that training runs start from.")
    seeds: Seeds = Field(default=(1,), description="Each run is repeated with each of these seeds. n means 1 to n.")
    games: EvenCount = Field(
        default=200,
        description="Curves: games of each pair of checkpoints. Games: of each pair of players, or, in a Swiss "
        "tournament, of each player.",
    )
    gnugo_games: EvenCount = Field(
        default=0, description="Curves: games of each run's last weights against GNU Go level 0."
    )
    pairing: Annotated[str, OneOf("gauntlet", "round_robin", "swiss")] = Field(
        default="gauntlet",
        description="Games. gauntlet: everyone in [[series]] plays everyone in [players]; round_robin: everyone plays "
        "everyone; swiss: everyone plays opponents of similar strength (TD, Section 4.5).",
    )
    x: Line = Field(default="", description="Games: what the x axis shows.")
    legend: Line = Field(default="", description="Curves: the title of the picture's legends.")
    size: BoardSize = Field(default=DEFAULT_SIZE, description="Games: points along a side of the board.")
    komi: Komi = Field(default=DEFAULT_KOMI, description="Games: points added to White's score.")
    openings: Line = OPENINGS
    seed: Seed = Field(default=1, description="Seed of openings, and of players whose specs set none.")


@section
class SeriesConfig(Section):
    """Players of an experiment that differ by a number x, which replaces ``{x}`` in their spec."""

    label: Name = Field(default="", description="Its players are called LABEL X.")
    player: SpecText = Field(default="", description="The spec of the players, with {x} for the number.")
    x: Numbers = Field(default=(), description="The numbers.")
    against: Line = Field(
        default="",
        description="Gauntlet: the label of another series; each player also plays its player with the same x.",
    )
    size: Annotated[str, OneOf("", "{x}")] = Field(
        default="", description="The board size: {x}, or empty for the size of the experiment."
    )
    games: EvenCount = Field(
        default=0, description="Gauntlet: games of each pair with one of its players. 0: as in the experiment."
    )
    along: Line = Field(default="", description="The name of the x axis for this series, if not the experiment's.")
    legend: Line = Field(default="", description="Its name in the legend of the picture, if not its label.")


@section
class StatedConfig(Section):
    """Numbers of a paper's figure that its text states, drawn beside our own in the picture of an experiment."""

    series: Line = Field(default="", description="The series, runs or player that they are drawn beside.")
    where: Line = Field(default="", description="Their place in the paper.")
    by: Line = Field(default="the paper", description="The source of the numbers.")
    x: Coordinates = Field(default=(), description="Their places on the x axis. Empty: all of it.")
    y: Coordinates = Field(default=(), description="The numbers, one for each x.")
    up_to: Coordinates = Field(default=(), description="If each is a range, from y: its upper end.")
    of: Annotated[str, OneOf("elo", "won")] = Field(
        default="elo", description="elo: ratings, or with `b` differences of ratings; won: shares of the games won."
    )
    b: Line = Field(default="", description="The other player or series, for differences of ratings and for shares.")
