"""The papers' tables and figures as experiments: what their files say, and running them.

Start reading at `read_experiment`, then `run_experiment`. A file in configs/experiments has a table [experiment]
(`config.Experiment` names its keys) and

    [runs."1x1"]                      # curves: a label, and what it changes of the base config
    features.sizes = [1]              # `base = "default"` there takes another one

    [run]                             # curves: settings that all runs share, and that make no run another one
    eval_every = 0

    [panels]                          # curves: which labels are drawn together
    "(a) one size" = ["1x1", "2x2"]

    [[series]]                        # games: players with a number x in their spec; `config.Series` has more
    label = "depth"
    player = "alphabeta,depth={x}"
    x = [1, 2, 3]

    [players]                         # games: players without
    "GNU Go level 0" = "gtp:gnugo --mode gtp --level 0"
    "greedy 2x2" = "greedy,weights={weights 2x2}"    # the last weights of a run: games may have [runs], too

    [expected]                        # counts: what the paper's table says
    "3x3 weights LD" = 61_517

    [[claims]]                        # what the paper says, so that it can be checked; see `Claim`
    text = "2x2 shapes learn faster than 3x3 shapes"
    a = "2x2@1000"
    b = "3x3@1000"
    low = 0

Games are a gauntlet, a round robin or a Swiss tournament (`config.Experiment.pairing`, `rounds.py`).

An experiment leaves one file of raw results, NAME.jsonl (`findings.Raw`), from which picture and report are made
at any time. Training runs stand in a folder that all experiments share: a run that two of them need is trained once.
Everything goes on where it was interrupted when the same command is given again.

    e = read_experiment("plies", scale=0.1)
    run_experiment(e, "results")
    print(findings.find(Path("results"), "plies").elo("two-ply", "one-ply"))
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from rlgo.errors import RlgoError
from rlgo.resources import config_path, list_configs
from train.config import Experiment as Settings
from train.config import Series, change, flat, load_config, read_toml, section_from
from train.experiments.curves import REFERENCE, SHARED
from train.experiments.findings import Raw, read_raw, write_raw
from train.players.spec import parse_spec
from train.provenance import machine, versions
from train.runs.fleet import Member, jobs_for, member_name
from train.runs.folder import next_checkpoint

OUT = "experiments"
_ORDER = (
    "shape_counts", "learning_runs", "shape_frequency", "shape_sets", "step_size", "plies", "lambda", "updates",
    "longer", "alphabeta_depth", "gnugo", "tdsearch_policy", "tdsearch_shapes", "tdsearch_alpha", "tdsearch_lambda",
    "step_lambda", "temporality", "board_sizes", "dyna2", "two_phase", "two_phase_mcts", "rave_k", "rave_schedule",
    "rave_bias", "heuristics", "exploration", "scaling", "equal_time_td", "equal_time_mc",
)  # fmt: skip
# What a run measures by itself is not used: the tournament measures more. [run] may change it.
_RUN = {"eval_every": 0, "eval_games": 200, "gnugo_games": 0}
_OF = ("elo", "won", "speed", "spread", "diverged", "number")  # what a claim may be about
_KINDS = {  # the tables that a file of each kind may have, besides [experiment] and [[claims]]
    "curves": ("runs", "run", "panels"),
    "frequency": ("run",),
    "games": ("series", "players", "runs", "run"),
    "counts": ("expected",),
}


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, as a number that lies between `low` and `high`.

    What it is a number of is told by `of`:

    elo : the rating of point `a` less that of point `b`; without b, on the scale of GNU Go level 10 = 1800
    won : what `a` won of its games against `b`, 0 to 1
    speed : simulations a second of `a` over those of `b`
    spread : the best less the worst of the seeds of `a`, Elo
    diverged : how many seeds of `a` diverged
    number : the number of that name in the raw results

    A point is a label of [runs], at its end or, ``2x2@1000``, after a number of games; or a player, one of a series
    being called LABEL X, ``depth 6``.
    """

    text: str
    a: str
    b: str = ""
    of: str = "elo"
    low: float = -math.inf
    high: float = math.inf

    @classmethod
    def read(cls, data: Any, where: str) -> Claim:
        """From a table of a file; RlgoError that begins with `where`."""
        names = [f.name for f in dataclasses.fields(cls)]
        if not isinstance(data, dict) or not {"text", "a"} <= set(data) <= set(names):
            raise RlgoError(f"{where}: expected tables [[claims]] with text, a, and some of {', '.join(names[2:])}")
        for key, value in data.items():
            kinds = (int, float) if key in ("low", "high") else (str,)
            if type(value) not in kinds:
                raise RlgoError(f"{where}: {key} = {value!r}: expected a {'number' if len(kinds) > 1 else 'text'}")
        claim = cls(**data)
        if claim.of not in _OF:
            raise RlgoError(f'{where}: of = "{claim.of}": expected {", ".join(_OF)}')
        if claim.low == -math.inf and claim.high == math.inf:
            raise RlgoError(f"{where}: expected low, high, or both")
        if claim.of in ("won", "speed") and not claim.b:
            raise RlgoError(f"{where}: expected b, with whom a is compared")
        if not claim.low < claim.high and not (claim.of == "number" and claim.low == claim.high):
            raise RlgoError(f"{where}: low = {claim.low:g}, high = {claim.high:g}: expected low < high")
        return claim


@dataclass(frozen=True)
class Contestant:
    """A player of an experiment of the kind "games"."""

    name: str
    spec: str
    series: str = ""
    x: float | None = None
    against: str = ""  # a series
    size: int = 0  # of the board; 0: as for all
    along: str = ""  # what x is called


@dataclass(frozen=True)
class Experiment:
    """An experiment, whole: what `read_experiment` makes of its file."""

    name: str
    path: Path  # of the file
    settings: Settings
    scale: float
    folder: Path  # what it works in
    called: str  # on the command line
    members: dict[str, tuple[Member, ...]] = field(default_factory=dict)  # by label, a member for each seed
    reference: Member | None = None  # the base config with seed 1, which links experiments
    panels: dict[str, tuple[str, ...]] = field(default_factory=dict)  # labels
    contestants: tuple[Contestant, ...] = ()
    expected: dict[str, float] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()

    @property
    def command(self) -> str:
        """What runs it."""
        scale = "" if self.scale == 1 else f" --scale {self.scale:g}"
        return f"rlgo experiment run {shlex.quote(self.called)}{scale}"

    @property
    def has_picture(self) -> bool:
        """Whether there is something to draw."""
        return self.settings.kind in ("curves", "frequency") or any(c.x is not None for c in self.contestants)

    def scaled(self, games: int) -> int:
        """A number of games as the scale has it: even, and at least 2."""
        return max(2, round(games * self.scale / 2) * 2) if games else 0


# ---------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------


def list_experiments() -> list[str]:
    """The names of the shipped experiments, in the order of the papers."""
    return sorted(list_configs("experiments"), key=lambda name: (_ORDER.index(name) if name in _ORDER else 99, name))


def read_experiment(path: str | Path, scale: float = 1.0, out: str | Path = OUT) -> Experiment:
    """Read an experiment's file.

    Parameters
    ----------
    path : a TOML file, or the name of a shipped experiment
    scale : of all its games, for a quick look; training runs of another scale are others
    out : the folder that experiments work in

    Raises
    ------
    RlgoError : naming the file, the key and what was expected.
    """
    if not 0 < scale <= 1000:
        raise RlgoError(f"scale = {scale:g}: expected a number above 0, at most 1000")
    file = config_path(str(path), "experiments")
    shipped = file.stem in list_experiments()
    if shipped and file.resolve() != config_path(file.stem, "experiments").resolve():
        raise RlgoError(f"{file}: {file.stem} is an experiment that ships with rlgo: expected another name")
    data = read_toml(file)
    table = data.pop("experiment", None)
    if not isinstance(table, dict):
        raise RlgoError(
            f"{file}: expected a table [experiment]: what it holds is explained in train/experiments/running.py"
        )
    s: Settings = section_from(Settings, table, str(file))
    if s.kind in ("curves", "games") and not s.games:
        raise RlgoError(f"{file}: experiment.games = 0: expected at least 2")
    for key, value in data.items():
        if key not in ("claims", *_KINDS[s.kind]):
            raise RlgoError(
                f'{file}: unknown table [{key}] for kind = "{s.kind}": expected {", ".join(_KINDS[s.kind])}'
            )
        listed = key in ("claims", "series")
        if not isinstance(value, list if listed else dict):
            raise RlgoError(f"{file}: {key}: expected {f'tables [[{key}]]' if listed else f'a table [{key}]'}")
    folder = Path(out) if scale == 1 else Path(out) / f"scale-{scale:g}"
    e = Experiment(file.stem, file, s, scale, folder, file.stem if shipped else str(path))
    common = {**_RUN, **data.get("run", {})}
    runs = data.get("runs", {} if s.kind == "games" else {REFERENCE: {}})
    if s.kind != "counts":
        e = replace(e, members={label: _members(e, label, changes, common) for label, changes in runs.items()})
    if s.kind in ("curves", "frequency"):
        if not runs:
            raise RlgoError(f"{file}: [runs]: expected at least one label")
        (reference,) = _members(replace(e, settings=replace(s, seeds=(1,))), REFERENCE, {}, common)
        e = replace(e, reference=reference, panels=_panels(data.get("panels", {}), e.members, str(file)))
    elif s.kind == "games":
        e = replace(e, contestants=_contestants(e, data.get("series", []), data.get("players", {})))
    else:
        expected = data.get("expected", {})
        for name, n in expected.items():
            if type(n) not in (int, float):
                raise RlgoError(f"{file}: expected.{name} = {n!r}: expected a number")
        e = replace(e, expected=expected)
    claims = tuple(
        Claim.read(claim, f"{file}: claims, number {i}") for i, claim in enumerate(data.get("claims", []), 1)
    )
    for claim in claims:
        for point in filter(None, (claim.a, claim.b)):
            _check_point(e, claim, point)
    return replace(e, claims=claims)


def _members(e: Experiment, label: str, changes: Any, common: Mapping[str, Any]) -> tuple[Member, ...]:
    """The training runs of a label, one for each seed. What all share does not show in their names."""
    source = f"{e.path}: runs.{label}"
    if not isinstance(changes, dict) or "@" in label or (label == REFERENCE and changes):
        raise RlgoError(f"{source}: expected a table of settings, and a label without @, other than {REFERENCE}")
    changes = dict(changes)
    base = str(changes.pop("base", e.settings.base))
    seeds = (
        section_from(Settings, {"seeds": changes.pop("seeds")}, source).seeds
        if "seeds" in changes
        else e.settings.seeds
    )
    for key in common:
        if f"run.{key}" not in SHARED:
            raise RlgoError(f"{e.path}: run.{key}: expected what makes no run another one: {', '.join(SHARED)}")
    start = load_config(base)
    before, after = flat(start), flat(change(start, changes, source))
    values = {key: value for key, value in after.items() if value != before[key]}
    for key in ("run.name", "run.seed", "run.out"):
        if key in values:
            raise RlgoError(f"{source}: {key}: an experiment names its runs itself")
    config = change(change(start, {"run": common}, f"{e.path}: run"), changes, source)
    games = config.run.games if e.scale == 1 else e.scaled(config.run.games)
    out = str(e.folder / "runs")
    return tuple(
        Member(
            values,
            replace(
                config,
                run=replace(
                    config.run, name=member_name(values, seed, Path(base).stem), seed=seed, out=out, games=games
                ),
            ),
            base,
        )
        for seed in seeds
    )


def _panels(data: Mapping[str, Any], members: Mapping[str, Any], file: str) -> dict[str, tuple[str, ...]]:
    for title, labels in data.items():
        if not isinstance(labels, list) or not labels:
            raise RlgoError(f"{file}: panels.{title}: expected a list of labels")
        for label in labels:
            if not isinstance(label, str) or label not in members:
                raise RlgoError(f"{file}: panels.{title}: {label}: expected one of {', '.join(members)}")
    return {title: tuple(labels) for title, labels in data.items()} or {"": tuple(members)}


def _contestants(e: Experiment, series: list[Any], players: Mapping[str, Any]) -> tuple[Contestant, ...]:
    file, pairing = e.path, e.settings.pairing
    found = [Contestant(name, _with_weights(e, name, str(spec))) for name, spec in players.items()]
    read: list[Series] = []
    for i, one in enumerate(series, 1):
        where = f"{file}: series, number {i}"
        if not isinstance(one, dict):
            raise RlgoError(f"{where}: expected a table [[series]]")
        s: Series = section_from(Series, one, where)
        read.append(s)
        for x in s.x:
            name = f"{s.label} {x:,}"
            spec = _with_weights(e, name, s.player.replace("{x}", str(x)))
            size = x if s.size else 0
            if size and size not in range(5, 20):
                raise RlgoError(f"{where}: x = {x}: expected a board size from 5 to 19")
            found.append(Contestant(name, spec, s.label, float(x), s.against, int(size), s.along))
    names = [c.name for c in found]
    if len(found) < 2 or len(set(names)) < len(names):
        raise RlgoError(f"{file}: expected at least two players in [players] and [[series]], all of different names")
    by_label = {s.label: s for s in read}
    for i, s in enumerate(read, 1):
        other = by_label.get(s.against)
        if s.against and (other is None or other is s or not set(s.x) <= set(other.x) or s.size != other.size):
            raise RlgoError(
                f"{file}: series, number {i}: against = {s.against}: expected another series that has all x of this one"
            )
    alone = {c.x is None for c in found} != {True, False}
    if pairing == "gauntlet" and alone and not any(s.against for s in read):
        raise RlgoError(f"{file}: expected players in [[series]] and in [players], who meet them, for a gauntlet")
    if pairing != "gauntlet" and any(s.against or s.size for s in read):
        raise RlgoError(f"{file}: against and size are for a gauntlet: expected none of them")
    for c in found:
        try:
            parse_spec(c.spec)
        except RlgoError as error:
            raise RlgoError(f"{file}: {c.name}: {error}") from None
    return tuple(found)


def _with_weights(e: Experiment, name: str, spec: str) -> str:
    """A spec with the file of the last weights of a run in place of ``{weights LABEL}``."""

    def path(found: re.Match[str]) -> str:
        if found[1] not in e.members:
            raise RlgoError(f"{e.path}: {name}: {found[0]}: expected one of [runs]: {', '.join(e.members) or 'none'}")
        return str(e.members[found[1]][0].folder.weights)

    return re.sub(r"\{weights ([^}]*)\}", path, spec)


def _check_point(e: Experiment, claim: Claim, point: str) -> None:
    """Whether there is such a point. RlgoError."""
    kinds = {"curves": ("elo", "spread", "diverged"), "games": ("elo", "won", "speed")}
    possible = kinds.get(e.settings.kind, ("number",))
    if claim.of not in possible:
        raise RlgoError(f'{e.path}: claim "{claim.text}": of = "{claim.of}": expected {" or ".join(possible)}')
    label, at, games = point.partition("@")
    known = list(e.expected) or [point] if claim.of == "number" else [c.name for c in e.contestants] or list(e.members)
    if label not in known:
        raise RlgoError(f'{e.path}: claim "{claim.text}": {point}: expected one of {", ".join(known)}')
    checkpoint = games.isdecimal() and next_checkpoint(int(games) - 1) == int(games)
    if at and not (claim.of == "elo" and label in e.members and checkpoint):
        raise RlgoError(
            f'{e.path}: claim "{claim.text}": {point}: expected games of a checkpoint: 100, 200, 500, 1000 ...'
        )


# ---------------------------------------------------------------------------------------------
# Running
# ---------------------------------------------------------------------------------------------


def run_experiment(
    e: Experiment, results: str | Path, jobs: int | None = None, progress: bool | None = None, play: bool = True
) -> Raw:
    """Do what is left of an experiment, and write its raw results into the folder `results`.

    Parameters
    ----------
    jobs : training runs, or games, at a time; None: as many as there are processors
    progress : show progress bars on stderr; None: where stderr is a terminal
    play : False: of players against each other, take the games that have been played so far

    Raises
    ------
    RlgoError : see `members.train_all` and `match.play_match`; for players that cannot play.
    KeyboardInterrupt : after Ctrl-C; what is done is kept, but for games between checkpoints, a matter of a minute.
    """
    from train.experiments import counts, curves
    from train.experiments import games as rounds

    if not play and e.settings.kind != "games":
        raise RlgoError(f'{e.name}: has no games that could be taken as they are: expected one of kind = "games"')
    games = partial(rounds.run, play=play)
    kinds: dict[str, Callable[..., list[dict[str, Any]]]] = {
        "curves": curves.run,
        "frequency": counts.frequency,
        "games": games,
        "counts": counts.run,
    }
    path = Path(results) / f"{e.name}.jsonl"
    there = read_raw(path)
    if there is not None and there.header["scale"] != e.scale:
        raise RlgoError(f"{path}: results of scale {there.header['scale']:g}: expected another folder by --results")
    e.folder.mkdir(parents=True, exist_ok=True)
    begun = time.time()
    jobs = jobs or jobs_for(member for members in e.members.values() for member in members)
    lines = kinds[e.settings.kind](e, jobs, os.isatty(2) if progress is None else progress)
    timed = [line for line in lines if "seconds" in line]
    header = {
        "experiment": e.name,
        "kind": e.settings.kind,
        "scale": e.scale,
        "command": e.command,
        "finished": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": machine(),
        "seconds": round(sum(line["seconds"] for line in timed) if timed else time.time() - begun, 1),
        "seed": e.settings.seed,
        "opening_plies": e.settings.opening_plies,
        "versions": versions(),
    }
    raw = Raw(header, lines)
    write_raw(path, raw)
    return raw
