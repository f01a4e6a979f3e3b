"""The tables of an experiment's file that have keys of their own: [experiment], [[series]], [[claims]] and [[stated]].

`reading.py` shows the whole file, with the tables that it reads itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from annotated_types import Le, MinLen, Predicate
from pydantic import AfterValidator, AllowInfNan

from rlgo.base.checks import Expected, Key, check
from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, BoardSize, EvenCount, Komi, Positive, SeedNumber
from train.config import ConfigName, Openings, Seeds
from train.settings import Line, Name, Section, SpecText, different

Scale = Annotated[Positive, Le(1000)]  # of an experiment: a factor on all games
Prose = Annotated[str, AfterValidator(str.strip), Expected("text")]
# Each stays as it is written, an integer or a float: it becomes part of a player's spec.
Numbers = Annotated[
    tuple[int | float, ...],
    Predicate(different),
    MinLen(1),
    Expected("a list of different numbers"),
]
Bound = Annotated[float, AllowInfNan(True), Expected("a number")]
Coordinates = Annotated[tuple[float, ...], Expected("a list of numbers")]


def folder_of(out: str | Path, scale: float) -> Path:
    """Return the working folder of the experiments at a scale; `out` is that at scale 1. RlgoError for a bad scale."""
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
class Claim(Section):
    """A statement of a paper, as a number that lies between `low` and `high`.

    A point is a label of [runs], at its end or after a number of games (``2x2@1000``); or a player. Players of a
    series are called LABEL X: ``depth 6``.
    """

    text: Annotated[Prose, MinLen(1), Key("The claim in words.")] = ""
    a: Annotated[Line, MinLen(1), Expected("a label or a player"), Key("The point that it is about.")] = ""
    b: Annotated[Line, Key("The point that `a` is compared with.")] = ""
    of: Annotated[
        Literal["elo", "won", "speed", "spread", "diverged", "number"],
        Key(
            "elo: rating of `a` minus that of `b`; without `b`, on the scale of GNU Go level 10 = 1800. won: share of "
            "its games that `a` won against `b`. speed: simulations a second of `a`, divided by those of `b`. spread: "
            "best minus worst seed of `a`, Elo. diverged: number of seeds of `a` that diverged. number: the number of "
            "that name in the raw results."
        ),
    ] = "elo"
    low: Annotated[Bound, Key("The least number.")] = -math.inf
    high: Annotated[Bound, Key("The greatest number.")] = math.inf
    games: Annotated[
        EvenCount, Key("Games between `a` and `b` for this claim alone, beside those that all players have.")
    ] = 0

    def combine(self) -> None:
        """Reject bounds that no number, or a single one that was not counted, could lie between."""
        if not self.low < self.high and not (self.of == "number" and self.low == self.high):
            raise RlgoError(f"low = {self.low:g}, high = {self.high:g}: expected low < high")


@dataclass(frozen=True)
class StatedConfig(Section):
    """Numbers of a paper's figure that its text states, drawn beside our own in the picture of an experiment."""

    series: Annotated[Line, Key("The series, runs or player that they are drawn beside.")] = ""
    where: Annotated[Line, MinLen(1), Expected("the place in the paper"), Key("Their place in the paper.")] = ""
    by: Annotated[Line, Key("The source of the numbers.")] = "the paper"
    x: Annotated[Coordinates, Key("Their places on the x axis. Empty: all of it.")] = ()
    y: Annotated[Coordinates, Key("The numbers, one for each x.")] = ()
    up_to: Annotated[Coordinates, Key("If each is a range, from y: its upper end.")] = ()
    of: Annotated[
        Literal["elo", "won"], Key("elo: ratings, or with `b` differences of ratings; won: shares of the games won.")
    ] = "elo"
    b: Annotated[Line, Key("The other player or series, for differences of ratings and for shares.")] = ""

    def combine(self) -> None:
        """Reject numbers without a place, and those that do not belong to each other."""
        if len(self.y) != (len(self.x) or 1):
            raise RlgoError(f"y has {len(self.y)} numbers: expected one for each x, or a single one without x")
        ranges = zip(self.y, self.up_to, strict=False)
        if self.up_to and (len(self.up_to) != len(self.y) or any(high <= low for low, high in ranges)):
            raise RlgoError("up_to: expected a number above each y")
        if self.of == "won" and not all(0 < y < 1 for y in (*self.y, *self.up_to)):
            raise RlgoError("y, up_to: expected shares between 0 and 1")
