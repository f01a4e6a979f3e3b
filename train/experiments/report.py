"""The report on all experiments: docs/results.md, made from raw results alone.

Start reading at `report`. Nothing in it is written by hand but what the experiments' files say about the papers and
about the differences: every number, and every verdict on a claim, is computed.
"""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rlgo.archive import write_atomically
from rlgo.errors import RlgoError
from train.experiments.counts import BINS_A_DECADE
from train.experiments.findings import (
    HELD,
    LINK,
    NOT_HELD,
    NOT_MEASURED,
    NOT_RUN,
    OPEN,
    SCALE,
    Findings,
    Measured,
    Repeats,
    find,
    read_raw,
    run_point,
)
from train.experiments.games import total_games
from train.experiments.running import Claim, Experiment, list_experiments, read_experiment

_AGES = (1_000, 10_000, 100_000)  # games of self-play that the tables of curves show, besides the last
_INTRODUCTION = """# The papers, reproduced

What Silver, Sutton & Müller 2012 (**TD**) and Gelly & Silver 2011 (**MC-RAVE**) claim, and what rlgo finds. This page
is made by `rlgo experiment report` from the raw results in [{results}]({results}), which hold every score behind it;
the verdicts are computed, too. `rlgo experiment run NAME` makes the raw results of one experiment anew; training runs
come out bit for bit the same on processors of one kind, and so do games without outside engines and clocks.

**How to read it.** A claim is a number that lies within bounds. It *holds* where the 95 % interval lies between them
altogether, and *does not hold* where it lies outside altogether; else it is *undecided*. Ratings are Bradley-Terry's,
in Elo, with GNU Go 3.8 level 10 at 1800 (the papers: 3.7.10): the runs of [{scale}](#{scale}) meet level 0, which
meets level 10 in [{link}](#{link}); other runs have the first of these as their yardstick. Intervals count in that
another seed would give another run: {scatter}.

Ratings among relatives exaggerate: what one search has learned to expect of another is no measure of what others do. On
GNU Go's scale a tournament among searches stands by the games of those who met GNU Go, and says most about who is ahead
of whom. The papers' tournaments were of this kind, too.
"""


def report(results: Path, path: Path) -> str:
    """The report on all shipped experiments, in Markdown, as the file `path` links to things.

    results : the folder of the raw results, and of the pictures

    Raises RlgoError for files that are no raw results.
    """
    experiments = [read_experiment(name) for name in list_experiments()]
    found = {e.name: find(results, e.name) for e in experiments}
    here = Path(os.path.relpath(results, path.parent))
    repeated = found.get(SCALE)
    repeats = repeated.repeats if repeated is not None else Repeats()
    scatter = (
        f"the standard deviation between the eight runs of [{SCALE}](#{SCALE}) is {repeats.deviation(1_000):.0f} Elo "
        f"after a thousand games and {repeats.deviation(1_000_000):.0f} after a million, and is taken for all settings"
        if repeats.elo
        else f"{repeats.deviation(1):.0f} Elo, as in the paper, for {SCALE} has not run here"
    )
    parts = [
        _INTRODUCTION.format(results=here.as_posix(), link=LINK, scale=SCALE, scatter=scatter),
        "## Summary\n",
        _summary(experiments, found),
        "## Experiments\n",
        _status(experiments, found),
        *(section(e, found[e.name], results, here) for e in experiments),
    ]
    return "\n".join(parts)


# ---------------------------------------------------------------------------------------------
# The summary
# ---------------------------------------------------------------------------------------------


def _summary(experiments: list[Experiment], found: dict[str, Findings | None]) -> str:
    """All claims with their verdicts."""
    rows, verdicts = [("claim", "expected", "found", "verdict", "experiment")], Counter[str]()
    for e in experiments:
        for claim in e.claims:
            measured = _measure(claim, found[e.name])
            absent = NOT_RUN if found[e.name] is None else NOT_MEASURED
            said = absent if measured is None else measured.verdict(claim.low, claim.high)
            verdicts[said] += 1
            shown = "" if measured is None else _shown(claim, measured)
            strong = f"**{said}**" if said == NOT_HELD else said
            rows.append((claim.text, _expected(claim), shown, strong, f"[{e.name}](#{e.name})"))
    told = ", ".join(
        f"{said}: {verdicts[said]}" for said in (HELD, NOT_HELD, OPEN, NOT_MEASURED, NOT_RUN) if verdicts[said]
    )
    return f"{sum(verdicts.values())} claims; {told}.\n\n{markdown(rows)}"


def _measure(claim: Claim, found: Findings | None) -> Measured | None:
    return None if found is None else found.measure(claim)


def _expected(claim: Claim) -> str:
    """The bounds of a claim, for people."""
    low, high = (_number(claim, bound) for bound in (claim.low, claim.high))
    if claim.low == claim.high:
        return low
    if math.isinf(claim.high):
        return f"at least {low}" if claim.low else "above 0"
    return f"at most {high}" if math.isinf(claim.low) else f"{low} to {high}"


def _number(claim: Claim, x: float) -> str:
    if claim.of == "won":
        return f"{x:.1%}"
    if claim.of in ("number", "speed") and math.isfinite(x) and not float(x).is_integer():
        return f"{x:,.2f}"
    signed = claim.of == "elo" and claim.b
    return f"{x:+,.0f}" if signed and x else f"{x:,.0f}"


def _shown(claim: Claim, m: Measured) -> str:
    """A measured number with its interval, for people."""
    unit = {"elo": " Elo", "spread": " Elo", "speed": " times"}.get(claim.of, "")
    interval = "" if m.low == m.high else f" ({_number(claim, m.low)} to {_number(claim, m.high)})"
    return f"{_number(claim, m.value)}{interval}{unit}"


def _status(experiments: list[Experiment], found: dict[str, Findings | None]) -> str:
    """Which experiments have run, and how much of them."""
    note = "Time is that of training runs and of players who think, added up; the machine had other work beside them.\n"
    rows = [("experiment", "source", "games", "run", "time")]
    for e in experiments:
        f = found[e.name]
        link = f"[{e.name}](#{e.name})"
        if f is None:
            rows.append((link, e.settings.source, "", "**has not run**", ""))
            continue
        h = f.raw.header
        scale = "" if h["scale"] == 1 else f", **scale {h['scale']:g}**"
        rows.append((link, e.settings.source, _games(f), h["finished"] + scale, _duration(h["seconds"])))
    return f"{markdown(rows)}\n{note}"


def _games(f: Findings) -> str:
    """How many games are behind an experiment, for people."""
    told = []
    if f.raw.of("run"):
        told.append(f"{sum(run['games'] for run in f.raw.of('run')):,} of self-play")
    if f.raw.of("pair"):
        told.append(f"{sum(pair.games for pair in f.pairs):,.0f} for ratings")
    return ", ".join(told)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def markdown(rows: Sequence[tuple[str, ...]]) -> str:
    """A table in Markdown; the first row is its head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------------------------------
# One experiment
# ---------------------------------------------------------------------------------------------


def section(e: Experiment, f: Findings | None, results: Path, here: Path) -> str:
    """What an experiment asked and found, in Markdown.

    results, here : the folder of raw results and pictures, and how a link names it
    """
    parts = [f"\n## {e.name}\n", f"*{e.settings.title}* ({e.settings.source})\n", f"**Paper.** {e.settings.paper}\n"]
    if f is None:
        parts.append(f"**Not run.** `{e.command}`\n")
    else:
        if (results / f"{e.name}.png").is_file():
            parts.append(f"![{e.settings.title}]({(here / f'{e.name}.png').as_posix()})\n")
        h = f.raw.header
        if h["scale"] != 1:
            parts.append(f"**Scale {h['scale']:g}**: of so many times the games; not to be compared with the paper.\n")
        parts.append(f"**Found.** {_found(e, f)}")
        parts.append(
            f"`{h['command']}`, {h['finished']}, {_duration(h['seconds'])} of {h['machine']}, "
            f"rlgo {h['versions']['rlgo']}; raw results: [{e.name}.jsonl]({(here / f'{e.name}.jsonl').as_posix()})\n"
        )
    if e.settings.remarks:
        parts.append(f"**Remarks.** {e.settings.remarks}\n")
    return "\n".join(parts)


def _found(e: Experiment, f: Findings) -> str:
    if e.settings.kind == "curves":
        return _curves(e, f)
    if e.settings.kind == "games":
        return _players(e, f)
    numbers = f.raw.of("number")
    if e.settings.kind == "counts":
        rows: list[tuple[str, ...]] = [("number", "paper", "rlgo")]
        for n in numbers:
            known = e.expected.get(n["number"])
            rows.append((n["number"], "" if known is None else f"{known:,}", f"{n['value']:,}"))
        wrong = [n["number"] for n in numbers if n["value"] != e.expected.get(n["number"], n["value"])]
        return f"{'All as in the paper' if not wrong else 'Other numbers: ' + ', '.join(wrong)}.\n\n{markdown(rows)}"
    values = {n["number"]: n["value"] for n in numbers}
    keys = ("weights", "occurrences", "most often", "seen 1,000 to 10,000 times", "never seen")
    rows = [("block", *keys)]
    for line in f.raw.of("histogram"):
        block = line["histogram"]
        rows.append((block, *(f"{values[f'{block} {key}']:,}" for key in keys)))
    bins = f"each point of the picture is a bin of 1/{BINS_A_DECADE} decade"
    return f"After {values['games']:,} games; {bins}.\n\n{markdown(rows)}"


def _curves(e: Experiment, f: Findings) -> str:
    """Elo by label and age, and at the end what of it games leave open and what another seed would change."""
    least = min((p.games for p in f.ratings.players if " @" in p.name), default=0)
    gnugo = {pair.a: pair for pair in f.pairs if pair.b.startswith("GNU Go")}
    on_scale = "Elo" if f.is_anchored else "Elo (mean 0)"
    rows = [
        ("", "seeds", *(f"{on_scale} at {age:,} games" for age in _AGES), "at the end", "won against GNU Go level 0")
    ]
    for label in e.members:
        ages, runs, diverged = f.checkpoints(label), f.runs.get(label, []), f.diverged(label)
        seeds = f"{len(runs) or 'not run'}" + (f", {diverged} diverged" if diverged else "")
        if not ages:
            rows.append((label, seeds, *[""] * (len(_AGES) + 2)))
            continue
        cells = []
        for age in _AGES:
            at = f.placed(f"{label}@{age}")
            cells.append("" if at is None else f"{at.value:,.0f}")
        end = f"{label}@{ages[-1]}"
        last = f.elo(end) or f.placed(end)
        assert last is not None
        names = [run_point(label, run["seed"], ages[-1]) for run in runs]
        met = [gnugo[name] for name in names if name in gnugo]
        games = sum(m.games for m in met)
        won = f"{sum(m.score for m in met) / games:.1%} of {games:,.0f}" if met else ""
        after = "" if ages[-1] == 1_000_000 else f" after {ages[-1]:,}"
        cells += [f"{last.value:,.0f} ({last.low:,.0f} to {last.high:,.0f}){after}", won]
        rows.append((label, seeds, *cells))
    known = "how much runs of the same settings differ" + (
        ", and what is unknown about the scale" if f.is_anchored else ""
    )
    return (
        f"The mean of the seeds; {least:,.0f} or more games are behind every rating. The end is that of a million "
        f"games, where nothing else is said; its intervals count in {known}. The bands of the picture are those of the "
        f"games alone, thin lines are single runs.\n\n{markdown(rows)}"
    )


def _players(e: Experiment, f: Findings) -> str:
    """Every player's rating, what it won of whom, and how fast it was."""
    swiss = e.settings.pairing == "swiss"
    there = {name for pair in f.pairs for name in (pair.a, pair.b)}
    players = [c for c in e.contestants if c.name in there]
    fixed = [c for c in players if c.x is None] or players[:1]
    opponents = [] if swiss else [c.name for c in fixed if e.settings.pairing != "gauntlet" or c.x is None]
    rated, against = e.settings.pairing != "gauntlet", any(c.against for c in players)
    rows: list[tuple[str, ...]] = [
        (
            "player",
            *(["Elo" if f.is_anchored else "Elo (mean 0)"] if rated else []),
            "games",
            *(f"won against {name}" for name in opponents),
            *(["won against its opponent"] if against else []),
            "seconds a game",
            *(["simulations a second"] if f.speeds else []),
        )
    ]
    seconds, games = Counter[str](), Counter[str]()
    for line in f.raw.of("pair"):
        n = sum(count * len(text) for text, count in line["openings"].items())
        for name, spent in zip(line["pair"], line["seconds_of"], strict=True):
            seconds[name] += spent
            games[name] += n
    rivals = {(c.series, c.x): c.name for c in players}
    for c in players:
        elo, rival = f.rating_among(c.name) if rated else None, rivals.get((c.against, c.x))
        won = [f.won(c.name, name) for name in opponents]
        if against:
            won.append(f.won(c.name, rival) if rival else None)
        rows.append(
            (
                c.name,
                *([f"{elo.value:,.0f} ({elo.low:,.0f} to {elo.high:,.0f})"] if elo is not None else []),
                f"{games[c.name]:,}",
                *("" if m is None else f"{m.value:.1%} ({m.low:.1%} to {m.high:.1%})" for m in won),
                f"{seconds[c.name] / games[c.name]:.2g}",
                *([f"{f.speeds[c.name]:,.0f}" if c.name in f.speeds else ""] if f.speeds else []),
            )
        )
    asked, each = total_games(e), f"{e.scaled(e.settings.games):,} games of each {'player' if swiss else 'pair'}"
    played = sum(pair.games for pair in f.pairs)
    so_far = f" (so far {played:,.0f} of {asked:,})" if played < asked else ""
    told = [f"{'A Swiss tournament, ' if swiss else ''}{each}{so_far}."]
    if rated:
        told.append("Intervals of ratings are those of the difference to the mean of all players.")
    told.append("Seconds are those that the player thought.")
    return f"{' '.join(told)}\n\n{markdown(rows)}"


def write_report(results: Path, path: Path) -> None:
    """Make the report, and write it. RlgoError where it cannot be written, and for a file that is something else."""
    text = report(results, path)
    try:
        if (
            path.exists()
            and path.read_bytes().partition(b"\n")[0].decode("utf-8", "replace") != text.partition("\n")[0]
        ):
            raise RlgoError(f"{path}: expected a report on experiments, or no such file: this is another one")
        write_atomically(path, text.encode())
    except OSError as error:
        raise RlgoError(f"{path}: cannot be written: {error.strerror}") from None


def show(e: Experiment, results: Path) -> str:
    """What an experiment found, for the screen; draws its picture, too, where matplotlib is there."""
    if e.has_picture:
        try:
            plot(e, results)
        except RlgoError as error:
            print(f"rlgo: no picture: {error}", file=sys.stderr)
    found = find(results, e.name)
    claims = [("claim", "expected", "found", "verdict")]
    for claim in e.claims:
        measured = _measure(claim, found)
        if measured is not None:
            claims.append(
                (claim.text, _expected(claim), _shown(claim, measured), measured.verdict(claim.low, claim.high))
            )
    return section(e, found, results, results) + ("\n" + markdown(claims) if len(claims) > 1 else "")


def plot(e: Experiment, results: Path) -> Path:
    """Draw an experiment from its raw results; returns where. RlgoError where there are none, or nothing to draw."""
    from train.experiments.pictures import experiment_picture

    found = find(results, e.name)
    if found is None:
        raise RlgoError(f"{results / e.name}.jsonl: no such file: {e.name} has not run ({e.command})")
    if not e.has_picture:
        raise RlgoError(f"{e.name}: has no picture")
    path = results / f"{e.name}.png"
    experiment_picture(path, e, found)
    return path


def overview(results: Path) -> str:
    """All experiments, one on each line."""
    lines = []
    for name in list_experiments():
        e, found = read_experiment(name), read_raw(results / f"{name}.jsonl")
        state = "has not run" if found is None else f"run on {found.header['finished']}"
        if found is not None and found.header["scale"] != 1:
            state += f", scale {found.header['scale']:g}"
        lines.append(f"{name:20} {state:18} {e.settings.title} ({e.settings.source})")
    return "\n".join(lines)
