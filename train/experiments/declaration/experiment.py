"""What an experiment is: its claims, its players and its training runs.

The rest of the package builds on these classes: `reading` makes them from a file, `running` and the modules it uses
run them, and `analysis` analyses their results.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

from train.experiments.declaration.settings import Claim, ExperimentConfig, StatedConfig
from train.runs.fleet import RunSpec
from train.runs.strength import GNUGO_NAME

# Names of players that several experiments share.
RANDOM, REFERENCE = "random", "reference"
GNUGO_0, GNUGO_10 = GNUGO_NAME, "GNU Go level 10"


@dataclass(frozen=True)
class Contestant:
    """A player in an experiment of kind "games".

    Attributes
    ----------
    name, spec : its name in the report, and its player spec
    written : the same spec as raw results keep it: ``{weights LABEL}`` in place of a path, as in the file
    series, x : the series it belongs to, and its number there; "" and None if it has none
    against : label of the series whose player with the same x it plays; "" if none
    size : board size; 0 for the experiment's
    games : games of each of its pairs, before scaling; 0 for the experiment's
    along : name of the x axis; "" for the experiment's
    legend : name of the series in the legend of the picture
    """

    name: str
    spec: str
    written: str
    series: str = ""
    x: float | None = None
    against: str = ""
    size: int = 0
    games: int = 0
    along: str = ""
    legend: str = ""


@dataclass(frozen=True)
class Experiment:
    """An experiment as `reading.read_experiment` returns it.

    Attributes
    ----------
    name, path : name and file
    settings : the table [experiment]
    scale : factor for all numbers of games
    folder : where it keeps its training runs and its games
    argument : its name on the command line, or the path of its file
    overrides : what --set changes
    runs : for each label, one training run per seed
    reference : the base config with seed 1, which links experiments; None without training runs
    panels : for each panel of the picture, its labels
    contestants : the players of kind "games"
    expected : the paper's numbers, by name, of kind "counts"
    claims : the paper's claims
    stated : the numbers of the paper's figure that its text states
    """

    name: str
    path: Path
    settings: ExperimentConfig
    scale: float
    folder: Path
    argument: str
    overrides: tuple[str, ...] = ()
    runs: dict[str, tuple[RunSpec, ...]] = field(default_factory=dict)
    reference: RunSpec | None = None
    panels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    contestants: tuple[Contestant, ...] = ()
    expected: dict[str, float] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    stated: tuple[StatedConfig, ...] = ()

    @property
    def command(self) -> str:
        """The command that runs the experiment."""
        words = ["rlgo", "experiment", "run", self.argument, *(["--set", *self.overrides] if self.overrides else [])]
        return shlex.join(words + ([] if self.scale == 1 else ["--scale", f"{self.scale:g}"]))

    @property
    def has_picture(self) -> bool:
        """Whether the experiment has a picture."""
        return self.settings.kind in ("curves", "frequency") or any(c.x is not None for c in self.contestants)

    def scaled(self, games: int) -> int:
        """Return a number of games at this experiment's scale: even, and at least 2 unless `games` is 0."""
        return max(2, round(games * self.scale / 2) * 2) if games else 0
