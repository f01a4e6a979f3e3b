"""Raw results of an experiment, and what they say: ratings, differences with their intervals, verdicts on claims.

Start reading at `Findings.measure`. A file of raw results has a header, then a line for each training run, pair of
players that met, or number; everything else is computed from them.

Intervals know two things: how many games there were (`elo.rate`), and that two runs of the same settings differ
(`Repeats`). A single run of each setting cannot tell the second; the experiment `SCALE` repeats one setting eight
times, and what it finds is taken for all (the TD paper, Section 3.3, argues the same way with its 100 Elo).
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rlgo.archive import write_atomically
from rlgo.errors import RlgoError
from train.arena.elo import PairResult, Ratings, rate
from train.runs.strength import GNUGO_NAME
from train.stats import NORMAL_975, clustered_interval, normal_half_width, student_quantile

if TYPE_CHECKING:
    from train.experiments.running import Claim

FORMAT = "rlgo-experiment-1"
GNUGO_10, GNUGO_0 = "GNU Go level 10", GNUGO_NAME
ANCHOR = {GNUGO_10: 1800.0}  # TD paper, Section 3.3
# The experiments that link GNU Go's levels; and that repeat one setting, and meet GNU Go: its scale is that of all.
LINK, SCALE = "gnugo", "learning_runs"
HELD, NOT_HELD, OPEN = "holds", "does not hold", "undecided"
NOT_MEASURED, NOT_RUN = "not measured", "not run"
_PAPER_SCATTER = 35.0  # Elo, see `Repeats`
_DRAWS = 20_000  # of random numbers, for the interval of a spread


@dataclass(frozen=True)
class Raw:
    """A file of raw results."""

    header: dict[str, Any]
    lines: list[dict[str, Any]]

    def of(self, key: str) -> list[dict[str, Any]]:
        """The lines that begin with this key: "run", "pair", "number" or "histogram"."""
        return [line for line in self.lines if key in line]


def write_raw(path: Path, raw: Raw) -> None:
    """Write raw results, atomically: one JSON object on each line."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [{"format": FORMAT, **raw.header}, *raw.lines]
        write_atomically(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())
    except OSError as error:
        raise RlgoError(f"{path}: cannot be written: {error.strerror}") from None


def read_raw(path: Path) -> Raw | None:
    """Raw results, or None where there are none. RlgoError for a file that is something else."""
    try:
        header, *lines = map(json.loads, path.read_text("utf-8").splitlines())
        if header.pop("format") != FORMAT:
            raise ValueError
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        raise RlgoError(f"{path}: expected raw results of an experiment, this is none") from None
    return Raw(header, lines)


def pair_line(a: str, b: str, scores: Iterable[Sequence[float]], **more: Any) -> dict[str, Any]:
    """A line of raw results: what `a` scored against `b`, openings of the same result counted together.

    ``WL`` is an opening that A won as Black and lost as White.
    """
    letters = {0.0: "L", 0.5: "D", 1.0: "W"}
    counts = Counter("".join(letters[float(y)] for y in opening) for opening in scores)
    return {"pair": [a, b], "openings": dict(sorted(counts.items())), **more}


def scores_of(line: dict[str, Any]) -> list[tuple[float, ...]]:
    """The other way round: A's scores in each opening."""
    points = {"L": 0.0, "D": 0.5, "W": 1.0}
    return [tuple(points[y] for y in text) for text, n in line["openings"].items() for _ in range(n)]


def run_point(label: str, seed: int, games: int) -> str:
    """The name of a checkpoint among the players."""
    return f"{label} #{seed} @{games}"


@dataclass(frozen=True)
class Measured:
    """A number with its 95 % interval, and the variance behind it where it is a rating."""

    value: float
    low: float
    high: float
    variance: float = 0.0

    @classmethod
    def normal(cls, value: float, variance: float) -> Measured:
        """With an interval of 1.96 standard deviations."""
        half = normal_half_width(variance)
        return cls(value, value - half, value + half, variance)

    def verdict(self, low: float, high: float) -> str:
        """Whether it lies between these bounds: `HELD` or `NOT_HELD` where all of its interval says so."""
        if self.low >= low and self.high <= high:
            return HELD
        return NOT_HELD if self.high < low or self.low > high else OPEN


@dataclass(frozen=True)
class Repeats:
    """How much the ratings of runs that differ by their seed alone differ.

    elo : by games of self-play, the ratings of each seed's checkpoint; none where nobody has measured it: then it is
        the paper's, which found eight runs within 100 Elo (the expected range of eight is 2.85 standard deviations)
    """

    elo: dict[int, list[float]] = field(default_factory=dict)

    def deviation(self, games: int) -> float:
        """The standard deviation at the nearest age (on a log scale), Elo."""
        return float(np.std(self._at(games), ddof=1)) if self.elo else _PAPER_SCATTER

    def variance(self, games: int, before: int | None = None) -> float:
        """What it adds to the variance of a run's rating, or of how much that is above its own at an earlier age.

        The few seeds that it is known from are allowed for: 1.96 standard deviations are Student's quantile of them.
        Games leave open a little of what is counted here, and count once more.
        """
        if not self.elo:
            return (1.0 if before is None else 2.0) * _PAPER_SCATTER**2
        elo = self._at(games) if before is None else self._at(games) - self._at(before)
        return float(np.var(elo, ddof=1) * (student_quantile(0.975, len(elo) - 1) / NORMAL_975) ** 2)

    def _at(self, games: int) -> np.ndarray:
        return np.array(self.elo[min(self.elo, key=lambda age: abs(math.log(age / games)))])


@dataclass(frozen=True)
class Findings:
    """What raw results say.

    links : results of other experiments that put this one on the common scale
    repeats : how much runs of the same settings differ
    anchors : given ratings
    anchor_variance : of what is unknown about them, Elo squared
    levels : where GNU Go stands, if its games are in another experiment
    """

    raw: Raw
    links: Sequence[PairResult] = ()
    repeats: Repeats = field(default_factory=Repeats)
    anchors: dict[str, float] = field(default_factory=dict)
    anchor_variance: float = 0.0
    levels: dict[str, float] = field(default_factory=dict)

    # -----------------------------------------------------------------------------------------
    # Ratings
    # -----------------------------------------------------------------------------------------

    @cached_property
    def pairs(self) -> list[PairResult]:
        """Who scored what against whom."""
        found = []
        for line in self.raw.of("pair"):
            a, b = line["pair"]
            found.append(PairResult.of_openings(a, b, scores_of(line)))
        return found

    @cached_property
    def is_anchored(self) -> bool:
        """Whether games lead to an anchor."""
        return any(name in self.anchors for pair in [*self.pairs, *self.links] for name in (pair.a, pair.b))

    @cached_property
    def ratings(self) -> Ratings:
        """Of everybody, on the scale of `anchors` where games lead there; else the mean is 0."""
        results = [*self.pairs, *self.links]
        there = {name for pair in results for name in (pair.a, pair.b)}
        return rate(results, {name: elo for name, elo in self.anchors.items() if name in there})

    @cached_property
    def _index(self) -> dict[str, int]:
        return {player.name: i for i, player in enumerate(self.ratings.players)}

    @cached_property
    def runs(self) -> dict[str, list[dict[str, Any]]]:
        """The runs of each label, by seed."""
        found: dict[str, list[dict[str, Any]]] = {}
        for run in self.raw.of("run"):
            found.setdefault(run["run"], []).append(run)
        return found

    def checkpoints(self, label: str) -> list[int]:
        """After how many games all runs of a label were rated."""
        of_runs = [
            {g for g in run["checkpoints"] if run_point(label, run["seed"], g) in self._index}
            for run in self.runs.get(label, [])
        ]
        return sorted(set.intersection(*of_runs)) if of_runs else []

    def age(self, point: str) -> int | None:
        """After how many games of self-play a point of a label stands; None of a label that has no such checkpoint.

        Without a number it is the end, which runs that diverged do not have.
        """
        label, _, games = point.partition("@")
        known = self.checkpoints(label)
        if games:
            return int(games) if int(games) in known else None
        return known[-1] if known and not self.diverged(label) else None

    def diverged(self, label: str) -> int:
        """How many runs of a label diverged."""
        return sum(run["state"] == "diverged" for run in self.runs.get(label, []))

    def players(self, point: str) -> list[int]:
        """The numbers, in `ratings`, of those whose mean a point is: the seeds of a label; none where nobody played."""
        label = point.partition("@")[0]
        if label not in self.runs:
            return [self._index[point]] if point in self._index else []
        age = self.age(point)
        return [] if age is None else [self._index[run_point(label, run["seed"], age)] for run in self.runs[label]]

    def elo(self, a: str, b: str = "") -> Measured | None:
        """The rating of a point, or how much it is above that of `b`; None where one of them has not played.

        Without b it is on the scale of the anchors; None where no games lead there.
        """
        if not b and not self.is_anchored:
            return None
        weights, variance = np.zeros(len(self.ratings.players)), 0.0 if b else self.anchor_variance
        for point, sign in ((a, 1.0), (b, -1.0)):
            players = self.players(point) if point else []
            if point and not players:
                return None
            if players:
                weights[players] += sign / len(players)
        value = float(weights @ [player.elo for player in self.ratings.players])
        variance += self._of_repeats(a, b) + float(weights @ self.ratings.covariance @ weights)
        return Measured.normal(value, variance)

    def _of_repeats(self, a: str, b: str) -> float:
        """What other seeds would add to the variance of a difference."""
        labels = [point.partition("@")[0] for point in (a, b)]
        ages = [self.age(point) if label in self.runs else None for point, label in zip((a, b), labels, strict=True)]
        now, before = ages
        if labels[0] == labels[1] and now and before:  # of the same runs
            return self.repeats.variance(now, before) / len(self.runs[labels[0]]) if now != before else 0.0
        return sum(
            self.repeats.variance(age) / len(self.runs[label]) for age, label in zip(ages, labels, strict=True) if age
        )

    def seeds(self, point: str) -> list[float]:
        """The ratings behind a point, one for each seed."""
        return [self.ratings.players[i].elo for i in self.players(point)]

    def rating(self, player: str) -> Measured:
        """Of one player by name, whatever it is among the points."""
        i = self._index[player]
        return Measured.normal(self.ratings.players[i].elo, float(self.ratings.covariance[i, i]))

    def placed(self, point: str) -> Measured | None:
        """The rating of a point, with the interval of its difference to the mean of all runs' checkpoints.

        It leaves out what is unknown about where the whole scale lies, and what another seed would change: for curves.
        """
        players = self.players(point)
        return self._among(players, [i for name, i in self._index.items() if " @" in name]) if players else None

    def rating_among(self, player: str) -> Measured | None:
        """Of one player by name, with the interval of its difference to the mean of all who met; None: it has not."""
        there = sorted({self._index[name] for pair in self.pairs for name in (pair.a, pair.b)})
        return self._among([self._index[player]], there) if self._index.get(player) in there else None

    def _among(self, players: list[int], there: list[int]) -> Measured:
        """The mean of some ratings, with the interval of its difference to the mean of others."""
        weights = np.zeros(len(self.ratings.players))
        weights[players] = 1 / len(players)
        value = float(weights @ [player.elo for player in self.ratings.players])
        weights[there] -= 1 / len(there)
        return Measured.normal(value, float(weights @ self.ratings.covariance @ weights))

    def won(self, a: str, b: str) -> Measured | None:
        """What `a` won of its games against `b`; None where there were none."""
        scores = [
            tuple(y if pair.a == a else 1 - y for y in opening)
            for pair in self.pairs
            if {pair.a, pair.b} == {a, b}
            for opening in pair.openings
        ]
        if not scores:
            return None
        games = list(itertools.chain.from_iterable(scores))
        return Measured(sum(games) / len(games), *clustered_interval(scores))

    @cached_property
    def speeds(self) -> dict[str, float]:
        """Simulations a second of each player whose spec tells how many it makes of a move."""
        from train.players.spec import parse_spec

        done: Counter[str] = Counter()
        seconds: Counter[str] = Counter()
        for line in self.raw.of("pair"):
            games = sum(count * len(text) for text, count in line["openings"].items())
            for name, spec, spent in zip(line["pair"], line.get("specs", ()), line.get("seconds_of", ()), strict=False):
                sims = parse_spec(spec).values.get("sims")
                if type(sims) is int:
                    # Both sides move as often; the opening is nobody's.
                    done[name] += sims * games * (line["moves"] - self.raw.header["opening_plies"]) / 2
                    seconds[name] += spent
        return {name: done[name] / seconds[name] for name in done if seconds[name] > 0}

    def speed(self, a: str, b: str) -> Measured | None:
        """Simulations a second of `a` over those of `b`; None where one of them has none. Without an interval."""
        if a not in self.speeds or b not in self.speeds:
            return None
        ratio = self.speeds[a] / self.speeds[b]
        return Measured(ratio, ratio, ratio)

    def spread(self, label: str) -> Measured | None:
        """The best less the worst of the seeds of a label. The interval is that of the games alone.

        Noise has widened the range that was measured, so the interval reaches as far below it as a second helping of
        the same noise widens it further.
        """
        players = self.players(label)
        if len(players) < 2:
            return None
        elo = np.array([self.ratings.players[i].elo for i in players])
        noise = np.random.default_rng(1).multivariate_normal(
            np.zeros(len(players)), self.ratings.covariance[np.ix_(players, players)], _DRAWS
        )
        value = float(np.ptp(elo))
        reach = float(np.quantile(np.ptp(elo + noise, axis=1), 0.975)) - value
        return Measured(value, max(0.0, value - reach), value + reach)

    # -----------------------------------------------------------------------------------------
    # Claims
    # -----------------------------------------------------------------------------------------

    def measure(self, claim: Claim) -> Measured | None:
        """The number that a claim is about; None where it was not found."""
        if claim.of == "elo":
            return self.elo(claim.a, claim.b)
        if claim.of == "won":
            return self.won(claim.a, claim.b)
        if claim.of == "speed":
            return self.speed(claim.a, claim.b)
        if claim.of == "spread":
            return self.spread(claim.a)
        if claim.of == "diverged":
            n = self.diverged(claim.a) if claim.a in self.runs else None
        else:
            n = {line["number"]: line["value"] for line in self.raw.of("number")}.get(claim.a)
        return None if n is None else Measured(n, n, n)


def find(folder: Path, name: str) -> Findings | None:
    """What the raw results of an experiment in this folder say; None where there are none.

    Curves are on the scale of `SCALE`, where the last weights of the reference run have a rating; that one, and games,
    are on GNU Go's, where they met it.
    """
    raw = read_raw(folder / f"{name}.jsonl")
    if raw is None:
        return None
    if raw.header["kind"] == "curves" and name != SCALE:
        scale = find(folder, SCALE)
        return Findings(raw) if scale is None else _on_the_scale_of(scale, raw)
    found = Findings(raw, anchors=ANCHOR)
    link = read_raw(folder / f"{LINK}.jsonl") if name != LINK else None
    if link is not None and any(GNUGO_0 in (pair.a, pair.b) for pair in found.pairs):
        found = replace(found, links=Findings(link).pairs)
    return replace(found, repeats=repeats_of(found)) if name == SCALE else found


def _on_the_scale_of(scale: Findings, raw: Raw) -> Findings:
    """With the last weights of the reference run where the same weights stand there."""
    here, there = reference(Findings(raw)), reference(scale)
    if not here or not there or here[1] != there[1] or not scale.is_anchored:
        return Findings(raw, repeats=scale.repeats)
    known = scale.rating(there[0])
    levels = {level: at.value for level in (GNUGO_0, GNUGO_10) if (at := scale.elo(level)) is not None}
    return Findings(raw, (), scale.repeats, {here[0]: known.value}, known.variance, levels)


def reference(found: Findings) -> tuple[str, str] | None:
    """The name of the reference run's last weights, and their checksum; None where it has none."""
    for run in found.raw.of("run"):
        if run["reference"] and run["checkpoints"]:
            return run_point(run["run"], run["seed"], run["checkpoints"][-1]), run["crc32"]
    return None


def repeats_of(found: Findings) -> Repeats:
    """How much the runs of the first label of an experiment differ, at every age that all of them reached."""
    label = next(iter(found.runs), "")
    elo = {age: found.seeds(f"{label}@{age}") for age in found.checkpoints(label)}
    return Repeats(elo if all(len(seeds) > 1 for seeds in elo.values()) else {})
