"""What a part of an experiment can decide, and how long it takes: said before it starts.

Start reading at `plan_experiment`. Forecasts rest on the results that ship with rlgo: a claim's number is taken to be
what was found there, its interval is that of the planned number of games, and the time is that of the recorded games on
the machine that played them. Without such results, there is none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Le

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.settings import Positive, Workers
from train.console import table
from train.experiments.declaration.experiment import Experiment
from train.experiments.declaration.matches import matches, swiss_games
from train.experiments.declaration.reading import read_experiment
from train.experiments.declaration.settings import Claim
from train.experiments.results.analysis import HELD, NOT_HELD, NOT_MEASURED, OPEN, Analysis, Measured, shipped_analysis
from train.experiments.results.claims import expected_in_words, found_in_words, text_of
from train.experiments.results.files import games_of
from train.runs.fleet import jobs_for

_Minutes = Annotated[Positive, Le(100_000)]
_SHARE = 0.7  # of the time, for what was recorded; the rest is left to games between checkpoints
_START_SECONDS = 4.0  # that a training run takes to start
_LEAST_SCALE = 0.001  # a thousand games of self-play instead of a million


@dataclass(frozen=True)
class ClaimForecast:
    """What is expected of a claim.

    Attributes
    ----------
    claim : the claim
    recorded : what the shipped results found; None without them
    games : how many games will have been played; 0 if unknown
    half : expected half width of its interval, Elo or a share; NaN if unknown
    verdict : the expected verdict; `NOT_MEASURED` if this part of the experiment cannot measure it
    needed : what would decide it, if it stays undecided
    """

    claim: Claim
    recorded: Measured | None
    games: int = 0
    half: float = math.nan
    verdict: str = OPEN
    needed: str = ""

    @property
    def is_decided(self) -> bool:
        """Whether the claim will probably be decided."""
        return self.verdict in (HELD, NOT_HELD)


def plan_experiment(e: Experiment, minutes: float = 0.0, jobs: int | None = None) -> tuple[Experiment, str]:
    """Return an experiment, or the part of it that fits into some minutes, and in words what it can decide.

    Parameters
    ----------
    e : the experiment at its scale; at scale 1 if there are minutes
    minutes : on the machine of the shipped results; 0: no limit
    jobs : runs or games at a time; None: as many as the processors allow

    Raises RlgoError if no part of it fits into the time.
    """
    minutes = check("minutes", minutes or None, _Minutes | None) or 0.0
    recorded = shipped_analysis(e)
    jobs = check("jobs", jobs, Workers | None) or jobs_for(spec for runs in e.runs.values() for spec in runs)
    if minutes and e.settings.kind != "counts":
        e = read_experiment(e.argument, scale_within(e, recorded, minutes, jobs), e.folder)
    return e, _in_words(e, recorded, minutes_of(e, recorded, jobs))


# ---------------------------------------------------------------------------------------------
# Claims
# ---------------------------------------------------------------------------------------------


def forecast(e: Experiment, claim: Claim, recorded: Analysis | None) -> ClaimForecast:
    """Return what is expected of a claim at the experiment's scale."""
    found = None if recorded is None else recorded.measure(claim)
    ages = [int(point.partition("@")[2] or 0) for point in (claim.a, claim.b)]
    labels = [point.partition("@")[0] for point in (claim.a, claim.b)]
    ends = [e.runs[label][0].config.run.games for label in labels if label in e.runs]
    if ends and max(ages) > max(ends):
        needed = f"--scale {_round_up(e.scale * max(ages) / max(ends))}"
        return ClaimForecast(claim, found, verdict=NOT_MEASURED, needed=f"{needed}: its runs are too short")
    if found is None or recorded is None:
        return ClaimForecast(claim, None, needed="unknown: its games were not recorded")
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
    return ClaimForecast(claim, found, games, (expected.high - expected.low) / 2, verdict, needed)


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
# Time
# ---------------------------------------------------------------------------------------------


def minutes_of(e: Experiment, recorded: Analysis | None, jobs: int) -> float:
    """Return how long the experiment takes at its scale on the recorded machine; NaN if it was not recorded."""
    if recorded is None:
        return math.nan
    now = e.scale / recorded.raw.header["scale"]
    training = [run.get("seconds", 0.0) for run in recorded.raw.of("run")]
    seconds = recorded.raw.header["seconds"]
    if e.settings.kind == "games":  # some were recorded before all of their games were played
        played = sum(map(games_of, recorded.raw.of("pair")))
        planned = swiss_games(e) + sum(match.games for match in matches(e))
        seconds = sum(training) * now + (seconds - sum(training)) * planned / played
    else:
        seconds *= now
    starts = _START_SECONDS * sum(map(len, e.runs.values()))
    return max((seconds + starts) / jobs, max(training, default=0.0) * now) / 60


def scale_within(e: Experiment, recorded: Analysis | None, minutes: float, jobs: int) -> float:
    """Return the greatest scale at which a whole experiment, `e`, takes so many minutes, rounded down to one digit.

    Raises RlgoError if there is none, or if it was not recorded how long the experiment takes.
    """
    whole = minutes_of(e, recorded, jobs)
    if math.isnan(whole):
        raise RlgoError(f"{e.name}: how long it takes is not known: expected --scale instead of --minutes")
    starts = minutes_of(replace(e, scale=0.0), recorded, jobs)  # and two games of each pair
    scale = (_SHARE * minutes - starts) / (whole - starts)
    if scale < _LEAST_SCALE:
        needed = math.ceil((starts + _LEAST_SCALE * (whole - starts)) / _SHARE)
        raise RlgoError(f"{e.name}: cannot run within {minutes:g} minutes: expected --minutes {needed}")
    digit = 10.0 ** math.floor(math.log10(scale))
    return min(1.0, float(f"{math.floor(scale / digit) * digit:.1g}"))


# ---------------------------------------------------------------------------------------------
# In words
# ---------------------------------------------------------------------------------------------


def _in_words(e: Experiment, recorded: Analysis | None, minutes: float) -> str:
    """Return what an experiment can decide, as a table with a sentence before it."""
    found = [forecast(e, claim, recorded) for claim in e.claims]
    head = f"{e.name}, scale {e.scale:g}"
    if recorded is not None:
        time = f"{minutes:.1f}" if minutes < 10 else f"{minutes:,.0f}"
        head += f" in about {time} min on the recorded machine ({recorded.raw.header['machine']})"
    if not found:
        return f"{head}: it has no claims."
    if all(f.recorded is None for f in found):
        return f"{head}: no records say what it can decide of its {len(found)} claims."
    decided = sum(f.is_decided for f in found)
    will = f"will probably decide {decided}" if decided else "cannot decide any"
    note = "Games and interval (half its width) are expected ones, if the number is the recorded one."
    if e.runs and e.scale < 1:
        note += " The end of a run is that of a shorter one."
    columns = ("claim", "expected", "recorded", "games", "interval", "this will", "what would decide it")
    rows = table(columns, [_row(f) for f in found])
    return f"{head}: {will} of its {len(found)} claims.\n\n{rows}\n\n{note}"


def _row(f: ClaimForecast) -> tuple[str, ...]:
    """Return the row of a claim."""
    claim, half = f.claim, ""
    if f.half > 0:
        half = f"± {100 * f.half:.1f} %" if claim.of == "won" else f"± {f.half:,.0f} Elo"
    return (
        text_of(claim),
        expected_in_words(claim),
        "" if f.recorded is None else found_in_words(claim, f.recorded),
        f"{f.games:,}" if f.games else "",
        half,
        {NOT_MEASURED: "not measure it", OPEN: "leave it open"}.get(f.verdict, "decide it"),
        "" if f.is_decided else f.needed,
    )
