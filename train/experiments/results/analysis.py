"""Analysis of raw results: ratings, differences with their intervals, and verdicts on claims.

Start reading at `analyze` and `Analysis.measure`.

Intervals account for the number of games (`elo.rate`), and for the fact that two runs with the same settings differ
(`Repeats`). The second cannot be estimated from one run of each setting; the experiment `SCALE_EXPERIMENT` repeats one
setting eight times, and its scatter is used for all settings (the TD paper, Section 3.3, makes the same argument with
its 100 Elo).
"""

from __future__ import annotations

import itertools
import json
import math
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from train.arena.elo import PairResult, Ratings, rate
from train.experiments.declaration.experiment import GNUGO_0, GNUGO_10, Experiment
from train.experiments.declaration.settings import Claim
from train.experiments.results.files import RawResults, games_of, read_raw, run_point, scores_of, shipped_folder
from train.players.spec import parse_spec
from train.stats import NORMAL_975, clustered_interval, normal_half_width, student_quantile

ANCHOR = {GNUGO_10: 1800.0}  # TD paper, Section 3.3
# The experiment that links GNU Go's two levels, and the one that repeats one setting and plays GNU Go: all other curves
# are put on its scale.
LINK_EXPERIMENT, SCALE_EXPERIMENT = "gnugo", "learning_runs"
# Verdicts on a claim.
HELD, NOT_HELD, OPEN = "holds", "does not hold", "undecided"
NOT_MEASURED = "not measured"
_PAPER_SCATTER = 35.0  # Elo, see `Repeats`
_DRAWS = 20_000  # random numbers for the interval of a spread


@dataclass(frozen=True)
class Measured:
    """A number with its 95 % interval.

    Attributes
    ----------
    value, low, high : the number, and the ends of its interval
    variance : the variance behind the interval if the number is a rating, Elo squared; else 0
    fixed : the part of it that more games and seeds of the same experiment would not reduce
    of : for a share, the games won and played, in words
    """

    value: float
    low: float
    high: float
    variance: float = 0.0
    fixed: float = 0.0
    of: str = ""

    @classmethod
    def normal(cls, value: float, variance: float, fixed: float = 0.0) -> Measured:
        """Return a number whose interval reaches 1.96 standard deviations to either side."""
        half = normal_half_width(variance)
        return cls(value, value - half, value + half, variance, fixed)

    def verdict(self, low: float, high: float) -> str:
        """Return `HELD` if the interval lies within these bounds, `NOT_HELD` if it lies outside, otherwise `OPEN`."""
        if self.low >= low and self.high <= high:
            return HELD
        return NOT_HELD if self.high < low or self.low > high else OPEN

    def times_to_decide(self, low: float, high: float) -> float:
        """Return the factor by which games and seeds would have to grow to decide, if the number stays the same.

        The interval shrinks with the square root of the factor, except for the part that is `fixed`, until it contains
        neither bound. Infinite if the number lies on a bound, or too close to it for the fixed part.
        """
        times, fixed = 1.0, normal_half_width(self.fixed) ** 2
        for bound in (low, high):
            if self.low < bound < self.high:
                half = (self.high if bound > self.value else self.low) - self.value
                room = (bound - self.value) ** 2 - fixed
                times = max(times, (half**2 - fixed) / room) if room > 0 else math.inf
        return times


@dataclass(frozen=True)
class Repeats:
    """The scatter between the ratings of runs that differ only in their seed.

    Attributes
    ----------
    elo : by games of self-play, the ratings of each seed's checkpoint. If empty, the scatter is the paper's: its eight
        runs were within 100 Elo, and the expected range of eight is 2.85 standard deviations
    """

    elo: dict[int, list[float]] = field(default_factory=dict)

    def deviation(self, games: int) -> float:
        """Return the standard deviation at the nearest age (on a log scale), Elo."""
        return float(np.std(self._at(games), ddof=1)) if self.elo else _PAPER_SCATTER

    def variance(self, games: int, before: int | None = None) -> float:
        """Return how much the scatter adds to the variance of a run's rating, Elo squared.

        With few seeds the scatter itself is uncertain, so the variance is scaled such that 1.96 standard deviations are
        Student's quantile. The uncertainty that games leave in the ratings is part of the scatter and is counted twice.

        Parameters
        ----------
        games : age of the checkpoint, in games of self-play
        before : an earlier age, for the gain of the same run since then. Where the nearest age is the same, the scatter
            of the gain is unknown, and that of two runs is used, an upper bound
        """
        if before is not None and (not self.elo or self._nearest(games) == self._nearest(before)):
            return 2 * self.variance(games) if games != before else 0.0
        if not self.elo:
            return _PAPER_SCATTER**2
        elo = self._at(games) if before is None else self._at(games) - self._at(before)
        return float(np.var(elo, ddof=1) * (student_quantile(0.975, len(elo) - 1) / NORMAL_975) ** 2)

    def _at(self, games: int) -> np.ndarray:
        return np.array(self.elo[self._nearest(games)])

    def _nearest(self, games: int) -> int:
        return min(self.elo, key=lambda age: abs(math.log(age / games)))


@dataclass(frozen=True)
class Analysis:
    """The analysis of an experiment's raw results.

    A *point* is a label of training runs, at its end or at an age (``LABEL@GAMES``), or a player.

    Attributes
    ----------
    raw : the results
    links : results of other experiments that put this one on the common scale
    repeats : how much runs with the same settings differ
    anchors : given ratings, Elo
    anchor_variance : variance of the given ratings, Elo squared
    levels : ratings of GNU Go's levels if its games are in another experiment, Elo
    """

    raw: RawResults
    links: Sequence[PairResult] = ()
    repeats: Repeats = field(default_factory=Repeats)
    anchors: dict[str, float] = field(default_factory=dict)
    anchor_variance: float = 0.0
    levels: dict[str, float] = field(default_factory=dict)

    @property
    def checksum(self) -> str:
        """A checksum of all results behind the analysis: a picture with a different one is out of date."""
        given = {name: round(elo, 1) for name, elo in {**self.anchors, **self.levels}.items()}
        pairs = [(pair.a, pair.b, pair.openings) for pair in self.links]
        return f"{zlib.crc32(json.dumps([self.raw.lines, pairs, given]).encode()):08x}"

    # -----------------------------------------------------------------------------------------
    # Ratings
    # -----------------------------------------------------------------------------------------

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of the games that everyone plays, without those that claims ask for."""
        return [line for line in self.raw.of("pair") if "seed" not in line]

    @cached_property
    def lines_of_claims(self) -> list[dict[str, Any]]:
        """The lines of the games that claims ask for: they have a seed of their own."""
        return [line for line in self.raw.of("pair") if "seed" in line]

    @cached_property
    def pairs(self) -> list[PairResult]:
        """The scores of each pair of players, in `lines`."""
        return [PairResult.of_openings(a, b, scores_of(line)) for line in self.lines for a, b in [line["pair"]]]

    def of_claim(self, claim: Claim) -> Analysis:
        """Return the analysis of the games that were played for a claim, or of all others if there are none.

        Only its own games decide a claim. They were added because of how the others came out, so pooling both would
        overstate the evidence.
        """
        own = [line for line in self.lines_of_claims if set(line["pair"]) == {claim.a, claim.b}]
        if not claim.games or not own:
            return self
        # Without the key "seed", they count as ordinary games of the new analysis.
        alone = [{key: value for key, value in line.items() if key != "seed"} for line in own]
        return Analysis(RawResults(self.raw.header, alone))

    def of_group(self, player: str) -> Analysis:
        """Return the analysis of the games that connect others with a player, such as those on one board size."""
        group = {player}
        while more := _names([pair for pair in self.pairs if group & {pair.a, pair.b}]) - group:
            group |= more
        return Analysis(RawResults(self.raw.header, [line for line in self.lines if line["pair"][0] in group]))

    @cached_property
    def is_anchored(self) -> bool:
        """Whether a chain of games leads to an anchor."""
        return any(name in self.anchors for pair in [*self.pairs, *self.links] for name in (pair.a, pair.b))

    @cached_property
    def ratings(self) -> Ratings:
        """The ratings of the players that games connect, on the scale of `anchors` if they played; else with mean 0.

        After few games, some players have not met the others, not even through third ones. Then the largest group is
        rated, and with anchors the groups of these; `unrated` are the rest.

        Raises RlgoError without any games: see `can_rate`.
        """
        return rate(
            self._connected, {name: elo for name, elo in self.anchors.items() if name in _names(self._connected)}
        )

    @cached_property
    def _connected(self) -> list[PairResult]:
        """The results of the players that can be rated together."""
        results = [*self.pairs, *self.links]
        groups: list[set[str]] = [set(self.anchors)] if self.anchors else []
        for pair in results:
            apart = [group for group in groups if not group & {pair.a, pair.b}]
            groups = [*apart, {pair.a, pair.b}.union(*(group for group in groups if group not in apart))]
        groups = [group for group in groups if group & _names(results)]
        rated = max(groups, key=lambda group: (bool(group & set(self.anchors)), len(group)), default=set())
        return [pair for pair in results if pair.a in rated]

    @cached_property
    def unrated(self) -> list[str]:
        """The players that no games connect to those with ratings."""
        return sorted(_names(self.pairs) - _names(self._connected))

    @property
    def can_rate(self) -> bool:
        """Whether there are games, so that players have ratings."""
        return bool(self._connected)

    @cached_property
    def _index(self) -> dict[str, int]:
        if not self.can_rate:
            return {}
        return {player.name: i for i, player in enumerate(self.ratings.players)}

    @cached_property
    def runs(self) -> dict[str, list[dict[str, Any]]]:
        """The lines of the training runs of each label."""
        found: dict[str, list[dict[str, Any]]] = {}
        for run in self.raw.of("run"):
            found.setdefault(run["run"], []).append(run)
        return found

    def checkpoints(self, label: str) -> list[int]:
        """Return the ages, in games of self-play, at which all runs of a label were rated."""
        of_runs = [
            {g for g in run["checkpoints"] if run_point(label, run["seed"], g) in self._index}
            for run in self.runs.get(label, [])
        ]
        return sorted(set.intersection(*of_runs)) if of_runs else []

    def age(self, point: str) -> int | None:
        """Return the age of a label's point in games of self-play, or None if the label has no such checkpoint.

        Without a number it is the end of the runs. Runs that diverged have none.
        """
        label, _, games = point.partition("@")
        known = self.checkpoints(label)
        if games:
            return int(games) if int(games) in known else None
        return known[-1] if known and not self.diverged(label) else None

    def diverged(self, label: str) -> int:
        """Return how many runs of a label diverged."""
        return sum(run["state"] == "diverged" for run in self.runs.get(label, []))

    def players(self, point: str) -> list[int]:
        """Return the indices in `ratings` of the players that a point is the mean of; empty if none have played.

        For a label, these are its seeds.
        """
        label = point.partition("@")[0]
        if label not in self.runs:
            return [self._index[point]] if point in self._index else []
        age = self.age(point)
        return [] if age is None else [self._index[run_point(label, run["seed"], age)] for run in self.runs[label]]

    def elo(self, a: str, b: str = "") -> Measured | None:
        """Return the rating of a point, or its difference from that of `b`; None if one of them has no rating.

        Without `b`, the rating is on the scale of the anchors; None if no games connect them.
        """
        if not self.can_rate or (not b and not self.is_anchored):
            return None
        weights, fixed = np.zeros(len(self.ratings.players)), 0.0 if b else self.anchor_variance
        for point, sign in ((a, 1.0), (b, -1.0)):
            players = self.players(point) if point else []
            if point and not players:
                return None
            if players:
                weights[players] += sign / len(players)
        value = float(weights @ [player.elo for player in self.ratings.players])
        variance = self.of_repeats(a, b) + float(weights @ self.ratings.covariance @ weights)
        return Measured.normal(value, fixed + variance, fixed)

    def of_repeats(self, a: str, b: str) -> float:
        """Return how much other seeds would add to the variance of a difference, Elo squared."""
        labels = [point.partition("@")[0] for point in (a, b)]
        ages = [self.age(point) if label in self.runs else None for point, label in zip((a, b), labels, strict=True)]
        now, before = ages
        if labels[0] == labels[1] and now and before:  # a gain of the same runs
            return self.repeats.variance(now, before) / len(self.runs[labels[0]])
        return sum(
            self.repeats.variance(age) / len(self.runs[label]) for age, label in zip(ages, labels, strict=True) if age
        )

    def seeds(self, point: str) -> list[float]:
        """Return the ratings behind a point, one for each seed."""
        return [self.ratings.players[i].elo for i in self.players(point)]

    def rating(self, player: str) -> Measured:
        """Return the rating of one player by its name in the raw results."""
        i = self._index[player]
        return Measured.normal(self.ratings.players[i].elo, float(self.ratings.covariance[i, i]))

    def placed(self, point: str) -> Measured | None:
        """Return the rating of a point, with the interval of its difference from the mean of all checkpoints.

        The interval, meant for learning curves, leaves out the uncertainty of the whole scale and that of other seeds.
        None if the point has not played.
        """
        players = self.players(point)
        return self._among(players, [i for name, i in self._index.items() if " @" in name]) if players else None

    def rating_among(self, player: str) -> Measured | None:
        """Return the rating of one player, with the interval of its difference from the mean of all players here.

        None if the player did not, or has no rating.
        """
        there = sorted(self._index[name] for name in _names(self.pairs) & self._index.keys())
        return self._among([self._index[player]], there) if self._index.get(player) in there else None

    def _among(self, players: list[int], there: list[int]) -> Measured:
        """Return the mean of some ratings, with the interval of its difference from the mean of others."""
        weights = np.zeros(len(self.ratings.players))
        weights[players] = 1 / len(players)
        value = float(weights @ [player.elo for player in self.ratings.players])
        weights[there] -= 1 / len(there)
        return Measured.normal(value, float(weights @ self.ratings.covariance @ weights))

    def scores(self, a: str, b: str) -> list[tuple[float, ...]]:
        """Return the scores of `a` against `b` in each opening."""
        return [
            tuple(y if pair.a == a else 1 - y for y in opening)
            for pair in self.pairs
            if {pair.a, pair.b} == {a, b}
            for opening in pair.openings
        ]

    def won(self, a: str, b: str) -> Measured | None:
        """Return the share of its games that `a` won against `b`; None if there were none."""
        scores = self.scores(a, b)
        if not scores:
            return None
        games = list(itertools.chain.from_iterable(scores))
        of = f"{sum(games):,g} of {len(games):,}"
        return Measured(sum(games) / len(games), *clustered_interval(scores), of=of)

    @cached_property
    def speeds(self) -> dict[str, float]:
        """Simulations per second of each player with a set number per move, as if it made all of them.

        A tree search stops early once no other move can become the most visited one.
        """
        done: Counter[str] = Counter()
        seconds: Counter[str] = Counter()
        for line in self.lines:
            for name, spec, spent in zip(line["pair"], line.get("specs", ()), line.get("seconds_of", ()), strict=False):
                sims = parse_spec(spec).values.get("simulations")
                if type(sims) is int:
                    # Both sides move equally often, and neither plays the opening.
                    done[name] += sims * games_of(line) * (line["moves"] - self.raw.header["opening_plies"]) / 2
                    seconds[name] += spent
        return {name: done[name] / seconds[name] for name in done if seconds[name] > 0}

    def speed(self, a: str, b: str) -> Measured | None:
        """Return simulations a second of `a` divided by those of `b`, with no interval; None if either is unknown."""
        if a not in self.speeds or b not in self.speeds:
            return None
        ratio = self.speeds[a] / self.speeds[b]
        return Measured(ratio, ratio, ratio)

    def spread(self, label: str) -> Measured | None:
        """Return the best minus the worst seed of a label, with the interval of the games alone.

        Noise widens the measured range. The interval extends below it by as much as adding the same noise once more
        would widen it. None with fewer than two seeds.
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

    @cached_property
    def _measured(self) -> dict[Claim, Measured | None]:
        """What `measure` has found."""
        return {}

    def measure(self, claim: Claim) -> Measured | None:
        """Return the number that a claim is about; None if it was not measured."""
        if claim not in self._measured:
            self._measured[claim] = self._measure(claim)
        return self._measured[claim]

    def _measure(self, claim: Claim) -> Measured | None:
        if claim.of == "elo":
            found = self.of_claim(claim)
            return (found.of_group(claim.a) if claim.b and claim.a in found.unrated else found).elo(claim.a, claim.b)
        if claim.of == "won":
            return self.of_claim(claim).won(claim.a, claim.b)
        if claim.of == "speed":
            return self.speed(claim.a, claim.b)
        if claim.of == "spread":
            return self.spread(claim.a)
        if claim.of == "diverged":
            n = self.diverged(claim.a) if claim.a in self.runs else None
        else:
            n = {line["number"]: line["value"] for line in self.raw.of("number")}.get(claim.a)
        return None if n is None else Measured(n, n, n)


def _names(pairs: Sequence[PairResult]) -> set[str]:
    """Return the names of all players of some results."""
    return {name for pair in pairs for name in (pair.a, pair.b)}


def analyze(folder: Path, name: str) -> Analysis | None:
    """Analyze the raw results of an experiment in this folder; None if there are none.

    Curves are on the scale of `SCALE_EXPERIMENT` if the last weights of the reference run have a rating there. That
    experiment itself, and games, are on the scale of GNU Go if they met it. Otherwise the mean is 0.
    """
    if name == SCALE_EXPERIMENT:
        return _scale(folder, _stamps(folder))
    raw = read_raw(folder / f"{name}.jsonl")
    if raw is None:
        return None
    if raw.header["kind"] == "curves":
        scale = _scale(folder, _stamps(folder))
        return Analysis(raw) if scale is None else _on_the_scale_of(scale, raw)
    return _anchored(folder, name, raw)


@lru_cache(maxsize=1)
def _scale(folder: Path, stamps: tuple[tuple[int, int], ...]) -> Analysis | None:  # noqa: ARG001  # part of the key
    """Analyze the experiment whose scale all curves are on; each of them asks for it."""
    raw = read_raw(folder / f"{SCALE_EXPERIMENT}.jsonl")
    if raw is None:
        return None
    analysis = _anchored(folder, SCALE_EXPERIMENT, raw)
    return replace(analysis, repeats=repeats_of(analysis))


def _stamps(folder: Path) -> tuple[tuple[int, int], ...]:
    """Return what changes with the files that the scale depends on: the time and size of each."""
    files = (folder / f"{name}.jsonl" for name in (SCALE_EXPERIMENT, LINK_EXPERIMENT))
    return tuple((file.stat().st_mtime_ns, file.stat().st_size) if file.exists() else (0, 0) for file in files)


def _anchored(folder: Path, name: str, raw: RawResults) -> Analysis:
    """Analyze raw results on the scale of GNU Go, if its players met."""
    analysis = Analysis(raw, anchors=ANCHOR)
    link = read_raw(folder / f"{LINK_EXPERIMENT}.jsonl") if name != LINK_EXPERIMENT else None
    if link is not None and any(GNUGO_0 in (pair.a, pair.b) for pair in analysis.pairs):
        analysis = replace(analysis, links=Analysis(link).pairs)
    return analysis


def _on_the_scale_of(scale: Analysis, raw: RawResults) -> Analysis:
    """Analyze results, with the reference run's last weights at their rating in `scale`."""
    here, there = reference(Analysis(raw)), reference(scale)
    if not here or not there or here[1] != there[1] or not scale.is_anchored or not scale.can_rate:
        return Analysis(raw, repeats=scale.repeats)
    if there[0] in scale.unrated:
        return Analysis(raw, repeats=scale.repeats)
    known = scale.rating(there[0])
    levels = {level: at.value for level in (GNUGO_0, GNUGO_10) if (at := scale.elo(level)) is not None}
    return Analysis(raw, (), scale.repeats, {here[0]: known.value}, known.variance, levels)


def reference(analysis: Analysis) -> tuple[str, str] | None:
    """Return the name of the reference run's last weights and their checksum; None if there are none."""
    for run in analysis.raw.of("run"):
        if run["reference"] and run["checkpoints"]:
            return run_point(run["run"], run["seed"], run["checkpoints"][-1]), run["crc32"]
    return None


def repeats_of(analysis: Analysis) -> Repeats:
    """Return how much the runs of an experiment's first label differ, at each age that all of them reached."""
    label = next(iter(analysis.runs), "")
    elo = {age: analysis.seeds(f"{label}@{age}") for age in analysis.checkpoints(label)}
    return Repeats(elo if all(len(seeds) > 1 for seeds in elo.values()) else {})


def shipped_analysis(e: Experiment) -> Analysis | None:
    """Return the results that ship with rlgo of the same experiment; None for an experiment of the user's own."""
    folder = shipped_folder() if e.argument == e.name else None
    return None if folder is None else analyze(folder, e.name)
