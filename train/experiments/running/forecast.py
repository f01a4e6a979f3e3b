"""What a part of an experiment can decide, and how long it takes: said before it starts.

Start reading at `plan_experiment`. Forecasts rest on the results that ship with rlgo: a claim's number is taken to be
what was found there, its interval is that of the planned number of games, and the time is that of the recorded games on
this machine (`slowness`). Without such results, there is none.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from time import perf_counter

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.settings import Workers
from train.arena.elo import elo_from_share, expected_score
from train.arena.match import play_match
from train.console import table
from train.experiments.declaration.experiment import Claim, Experiment
from train.experiments.declaration.reading import read_experiment
from train.experiments.declaration.settings import Minutes, folder_of
from train.experiments.results.analysis import (
    HELD,
    NOT_HELD,
    NOT_MEASURED,
    OPEN,
    Analysis,
    Measured,
    level_of_look,
    shipped_analysis,
)
from train.experiments.results.claims import expected_in_words, found_in_words, text_of
from train.experiments.results.files import games_of
from train.experiments.running import by_claim
from train.experiments.running.by_claim import FIRST_LOOK, can_duel, looks_before
from train.runs.fleet import jobs_for
from train.runs.learners import make_learner
from train.stats import NORMAL_975, normal_quantile

POWER = 0.8  # the planned games of a duel decide a claim with this probability
_SHARE = 0.7  # of the time, for training runs; the rest is left to the games between them
_UNKNOWN = "unknown: its games were not recorded"
_PROBE_GAMES = 2_000  # of self-play, to measure how fast this machine learns
_START_SECONDS = 4.0  # that a training run takes to start
LEAST_SCALE = 0.001  # a thousand games of self-play instead of a million


@dataclass(frozen=True)
class ClaimForecast:
    """What is expected of a claim.

    Attributes
    ----------
    claim : the claim
    recorded : what the shipped results found; None without them
    games : how many games will decide it, or will have been played; 0 if unknown
    half : expected half width of its interval, Elo or a share; NaN if unknown
    verdict : the expected verdict; `NOT_MEASURED` if this part of the experiment cannot measure it
    minutes : time of these games on this machine; NaN if they are not played for this claim alone
    needed : what would decide it, if it stays undecided
    """

    claim: Claim
    recorded: Measured | None
    games: int = 0
    half: float = math.nan
    verdict: str = OPEN
    minutes: float = math.nan
    needed: str = ""

    @property
    def is_decided(self) -> bool:
        """Whether the claim will probably be decided."""
        return self.verdict in (HELD, NOT_HELD)


@dataclass(frozen=True)
class ExperimentPlan:
    """A part of an experiment, and what is expected of it.

    Attributes
    ----------
    experiment : the part: at a scale, or with a limit of time
    claims : a forecast for each claim
    minutes : how long it takes, at most; NaN if unknown
    slowness : the time of a game on this machine, divided by the recorded time; NaN without records
    """

    experiment: Experiment
    claims: list[ClaimForecast]
    minutes: float
    slowness: float


def plan_experiment(e: Experiment, minutes: float = 0.0, jobs: int | None = None) -> ExperimentPlan:
    """Say what an experiment, at its scale or within some minutes, can decide.

    Plays two games or learns from a few, to measure this machine.

    Parameters
    ----------
    e : the experiment at its scale; at scale 1 if there are minutes
    minutes : 0: no limit. Games are played claim by claim (`by_claim`); training runs are shortened (`scale_within`)
    jobs : runs or games at a time; None: as many as the processors allow

    Raises RlgoError if no part of it fits into the time.
    """
    minutes = check("minutes", minutes or None, Minutes | None) or 0.0
    recorded = shipped_analysis(e)
    jobs = check("jobs", jobs, Workers | None) or jobs_for(spec for runs in e.runs.values() for spec in runs)
    if minutes and e.settings.kind == "games":
        e = replace(e, minutes=minutes, folder=folder_of(e.folder, 1.0, minutes))
        by_claim.check(e)
        slowness = slowness_of_games(e, recorded)
        return ExperimentPlan(e, within_minutes(e, recorded, jobs, slowness), minutes, slowness)
    slowness = slowness_of_games(e, recorded) if e.contestants else slowness_of_learning(e, recorded)
    if minutes and e.settings.kind != "counts":
        scale = scale_within(e, recorded, minutes, jobs, slowness)
        e = read_experiment(e.argument, scale, e.folder, e.settings.openings)
    return ExperimentPlan(e, at_scale(e, recorded), minutes_of(e, recorded, jobs, slowness), slowness)


# ---------------------------------------------------------------------------------------------
# A part of all games
# ---------------------------------------------------------------------------------------------


def at_scale(e: Experiment, recorded: Analysis | None) -> list[ClaimForecast]:
    """Return what is expected of each claim at the experiment's scale."""
    return [_at_scale(e, claim, recorded) for claim in e.claims]


def _at_scale(e: Experiment, claim: Claim, recorded: Analysis | None) -> ClaimForecast:
    found = None if recorded is None else recorded.measure(claim)
    ages = [int(point.partition("@")[2] or 0) for point in (claim.a, claim.b)]
    labels = [point.partition("@")[0] for point in (claim.a, claim.b)]
    ends = [e.runs[label][0].config.run.games for label in labels if label in e.runs]
    if ends and max(ages) > max(ends):
        needed = f"--scale {_round_up(e.scale * max(ages) / max(ends))}"
        return ClaimForecast(claim, found, verdict=NOT_MEASURED, needed=f"{needed}: its runs are too short")
    if found is None or recorded is None:
        return ClaimForecast(claim, None, needed=_UNKNOWN)
    behind = recorded.of_claim(claim)
    before = sum(pair.games for pair in behind.pairs if claim.of != "won" or {pair.a, pair.b} == {claim.a, claim.b})
    ratio = recorded.raw.header["scale"] / e.scale
    games = round(before / ratio)
    if claim.of not in ("elo", "won", "spread"):
        return ClaimForecast(claim, found, games, 0.0, found.verdict(claim.low, claim.high))
    kept = found.fixed + (behind.of_repeats(claim.a, claim.b) if behind is recorded else 0.0)
    expected = _with_games(claim, found, kept, ratio)
    verdict, times = expected.verdict(claim.low, claim.high), expected.times_to_decide(claim.low, claim.high)
    needed = ""
    if verdict == OPEN:
        needed = "no scale, at the recorded number" if math.isinf(times) else f"--scale {_round_up(e.scale * times)}"
    return ClaimForecast(claim, found, games, (expected.high - expected.low) / 2, verdict, needed=needed)


def _with_games(claim: Claim, found: Measured, kept: float, ratio: float) -> Measured:
    """Return a recorded number with the interval that it would have after other games.

    kept : the part of its variance that more games do not reduce, Elo squared
    ratio : of the recorded number of games to that of the others
    """
    if claim.of == "elo" and found.variance:
        return Measured.normal(found.value, kept + max(0.0, found.variance - kept) * ratio, kept)
    low, high = (found.value + (end - found.value) * math.sqrt(ratio) for end in (found.low, found.high))
    if claim.of == "won":
        low, high = max(0.0, low), min(1.0, high)
    return Measured(found.value, low, high)


def _round_up(x: float) -> str:
    """Format a factor with two digits, rounded up."""
    digits = 10.0 ** (math.floor(math.log10(x)) - 1)
    return f"{math.ceil(x / digits - 1e-9) * digits:.2g}" if x < 10 else f"{math.ceil(x):,}"


# ---------------------------------------------------------------------------------------------
# Until claims are decided
# ---------------------------------------------------------------------------------------------


def within_minutes(e: Experiment, recorded: Analysis | None, jobs: int, slowness: float) -> list[ClaimForecast]:
    """Return what is expected of each claim if the experiment is played for its minutes, see `by_claim`.

    jobs : games at a time
    slowness : the time that a game takes on this machine divided by the recorded time
    """
    found = [_until_decided(e, claim, recorded, jobs, slowness) for claim in e.claims]
    left, kept = e.minutes, []
    for f in sorted(found, key=lambda f: (math.isnan(f.minutes), f.minutes)):
        if math.isnan(f.minutes):
            kept.append(replace(f, verdict=OPEN, needed=f.needed or _UNKNOWN))
        elif f.is_decided and f.minutes > left:
            left -= f.minutes  # the minutes of all that come before it, and its own
            kept.append(replace(f, verdict=OPEN, needed=f"--minutes {_round_up(e.minutes - left)}"))
        else:
            left -= f.minutes if f.is_decided else 0
            kept.append(f)
    return sorted(kept, key=lambda f: e.claims.index(f.claim))


def _until_decided(e: Experiment, claim: Claim, recorded: Analysis | None, jobs: int, slowness: float) -> ClaimForecast:
    found = None if recorded is None else recorded.measure(claim)
    if not can_duel(e, claim):
        return ClaimForecast(claim, found, verdict=NOT_MEASURED, needed="all players' games, without --minutes")
    if found is None or recorded is None:
        return ClaimForecast(claim, None, needed=_UNKNOWN)
    bounds = [bound for bound in (claim.low, claim.high) if math.isfinite(bound)]
    elo = claim.of == "elo"
    ends = [float(expected_score(bound)) if elo else bound for bound in bounds]
    at = float(expected_score(found.value)) if elo else found.value
    nearest = min(ends, key=lambda end: abs(at - end))
    games = _games_until(at, abs(at - nearest))
    verdict = Measured(at, at, at).verdict(*(_share(claim, bound) for bound in (claim.low, claim.high)))
    each = _seconds_a_game(claim, recorded) * (1.0 if math.isnan(slowness) else slowness)
    minutes = games * each / jobs / 60
    half = NORMAL_975 * math.sqrt(at * (1 - at) / games) if games < math.inf else math.nan
    if elo and games < math.inf:  # on the side of the nearest bound: near 0 and 1, the other side says little
        towards = math.copysign(min(half, 0.999 - at if at < nearest else at - 0.001), nearest - at)
        half = abs(elo_from_share(at + towards) - elo_from_share(at))
    if games == math.inf:
        return ClaimForecast(claim, found, 0, half, OPEN, needed="nothing, at the recorded number")
    return ClaimForecast(claim, found, int(games), half, verdict, minutes)


def _share(claim: Claim, bound: float) -> float:
    """Return a bound of a claim as a share of games won."""
    return float(expected_score(bound)) if claim.of == "elo" and math.isfinite(bound) else bound


def _games_until(at: float, away: float) -> float:
    """Return after how many games a share `at` that is `away` from its bound is decided, with probability `POWER`."""
    if away < 1e-3:
        return math.inf
    games, spread = FIRST_LOOK, max(0.05, at * (1 - at))
    while True:
        z = normal_quantile((1 + level_of_look(looks_before(games))) / 2) + normal_quantile(POWER)
        if games >= z * z * spread / away**2:
            return games
        games *= 2


def _seconds_a_game(claim: Claim, recorded: Analysis) -> float:
    """Return the thinking time of both players in a game, as recorded; NaN if it was not."""
    each = seconds_by_player(recorded)
    return each.get(claim.a, math.nan) + each.get(claim.b, math.nan)


def seconds_by_player(recorded: Analysis) -> dict[str, float]:
    """Return each player's thinking time in a game, in seconds."""
    games, seconds = Counter[str](), Counter[str]()
    for line in recorded.raw.of("pair"):
        for name, spent in zip(line["pair"], line.get("seconds_of", ()), strict=False):
            games[name] += games_of(line)
            seconds[name] += spent
    return {name: seconds[name] / n for name, n in games.items() if n}


# ---------------------------------------------------------------------------------------------
# Time
# ---------------------------------------------------------------------------------------------


def minutes_of(e: Experiment, recorded: Analysis | None, jobs: int, slowness: float) -> float:
    """Return how long the experiment takes at its scale, in minutes; NaN if it was not recorded."""
    if recorded is None:
        return math.nan
    header = recorded.raw.header
    now = e.scale / header["scale"] * (1.0 if math.isnan(slowness) else slowness)
    longest = max((run.get("seconds", 0.0) for run in recorded.raw.of("run")), default=0.0)  # takes one place
    starts = _START_SECONDS * sum(map(len, e.runs.values()))
    return max((header["seconds"] * now + starts) / jobs, longest * now) / 60


def scale_within(e: Experiment, recorded: Analysis | None, minutes: float, jobs: int, slowness: float) -> float:
    """Return the greatest scale at which a whole experiment, `e`, takes so many minutes, rounded down to one digit.

    Raises RlgoError if there is none, or if it was not recorded how long the experiment takes.
    """
    whole = minutes_of(e, recorded, jobs, slowness)
    if math.isnan(whole):
        raise RlgoError(f"{e.name}: how long its runs take is not known: expected --scale instead of --minutes")
    starts = minutes_of(replace(e, scale=0.0), recorded, jobs, slowness)
    scale = (_SHARE * minutes - starts) / (whole - starts)
    if scale < LEAST_SCALE:
        needed = math.ceil((starts + LEAST_SCALE * (whole - starts)) / _SHARE)
        raise RlgoError(f"{e.name}: cannot run within {minutes:g} minutes on this machine: expected --minutes {needed}")
    digit = 10.0 ** math.floor(math.log10(scale))
    return min(1.0, float(f"{math.floor(scale / digit) * digit:.1g}"))


def slowness_of_games(e: Experiment, recorded: Analysis | None) -> float:
    """Play two games of a claim's players, and return their time divided by the recorded time; NaN if there is none."""
    each = {} if recorded is None else seconds_by_player(recorded)
    by_name = {c.name: c for c in e.contestants}
    pairs = [(by_name[c.a], by_name[c.b]) for c in e.claims if can_duel(e, c) and {c.a, c.b} <= set(each)]
    if not pairs or e.runs:
        return math.nan
    # A game of about a second: fast to play, and not too short to measure.
    a, b = min(pairs, key=lambda pair: abs(math.log(sum(each[c.name] for c in pair))))
    played = play_match(
        a.spec, b.spec, 2, size=a.size or e.settings.size, komi=e.settings.komi, openings=e.settings.openings,
        seed=e.settings.seed, progress=False,
    )  # fmt: skip
    if played.interrupted:
        raise KeyboardInterrupt
    return sum(played.seconds) / (2 * sum(each[c.name] for c in (a, b)))


def slowness_of_learning(e: Experiment, recorded: Analysis | None) -> float:
    """Learn from a few games, and return their time divided by the recorded time; NaN if there is none."""
    lines = [] if recorded is None else [run for run in recorded.raw.of("run") if run["games"] and run.get("seconds")]
    if not lines or e.reference is None:
        return math.nan
    first = next((line for line in lines if line["reference"]), lines[0])
    learner = make_learner(e.reference.config, 0)
    learner.compile()
    begun = perf_counter()
    learner.learn(_PROBE_GAMES)
    return (perf_counter() - begun) / _PROBE_GAMES / (first["seconds"] / first["games"])


# ---------------------------------------------------------------------------------------------
# In words
# ---------------------------------------------------------------------------------------------


def plan_text(plan: ExperimentPlan) -> str:
    """Return what a part of an experiment can decide, as a table with a sentence before it."""
    e, found, minutes, slowness = plan.experiment, plan.claims, plan.minutes, plan.slowness
    decided = sum(f.is_decided for f in found)
    part = f"{e.minutes:g} minutes" if e.minutes else f"scale {e.scale:g}"
    time = "" if math.isnan(minutes) or e.minutes else f" in about {_minutes(minutes)}"
    speed = "" if math.isnan(slowness) else f" (this machine takes {slowness:.1f} times the recorded time)"
    will = f"will probably decide {decided}" if decided else "cannot decide any"
    head = f"{e.name}, {part}{time}{speed}: {will} of its {len(found)} claims."
    if all(f.recorded is None for f in found):
        head = f"{e.name}, {part}: no records say what it can decide of its {len(found)} claims."
    if not found:
        return f"{e.name}, {part}{time}{speed}: it has no claims."
    rows = [_row(f) for f in found]
    ends = " The end of a run is that of a shorter one." if e.runs and e.scale < 1 else ""
    return f"{head}\n\n{table(_HEAD, rows)}\n\n{_NOTE}{ends}"


_HEAD = ("claim", "expected", "recorded", "games", "interval", "minutes", "this will", "what would decide it")
_NOTE = "Games, interval (half its width) and minutes are expected ones, if the number is the recorded one."


def _row(f: ClaimForecast) -> tuple[str, ...]:
    """Return the row of a claim."""
    claim, unit = f.claim, " Elo" if f.claim.of in ("elo", "spread") else ""
    half = "" if math.isnan(f.half) or not f.half else f"± {f.half:,.0f}{unit}"
    if claim.of == "won" and half:
        half = f"± {f.half:.1%}"
    will = {NOT_MEASURED: "not measure it", OPEN: "leave it open"}.get(f.verdict, "decide it")
    return (
        text_of(claim),
        expected_in_words(claim),
        "" if f.recorded is None else found_in_words(claim, f.recorded),
        f"{f.games:,}" if f.games else "",
        half,
        "" if math.isnan(f.minutes) else _minutes(f.minutes, ""),
        will,
        "" if f.is_decided else f.needed,
    )


def _minutes(minutes: float, unit: str = " min") -> str:
    return f"{minutes:.1f}{unit}" if minutes < 10 else f"{minutes:,.0f}{unit}"
