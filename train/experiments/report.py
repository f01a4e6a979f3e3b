"""The report on all experiments, docs/results.md, generated from raw results.

Start reading at `report`. Only the texts about the papers and the differences are written by hand, in the
experiments' files. Every number and every verdict is computed.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from rlgo.base.errors import RlgoError
from rlgo.base.files import read_file, write_atomically
from train.arena.openings import with_openings
from train.console import markdown, optional_picture, table
from train.experiments.findings import (
    HELD,
    LINK_EXPERIMENT,
    NOT_HELD,
    NOT_MEASURED,
    OPEN,
    SCALE_EXPERIMENT,
    Analysis,
    Measured,
    Repeats,
    analyze,
)
from train.experiments.model import Claim, Experiment
from train.experiments.raw import games_of, own_experiments, read_header, read_raw
from train.experiments.reading import list_experiments, read_experiment
from train.experiments.stated import stated_rows
from train.experiments.tables import results_table

OURS = "ours"
PAPERS = ("TD", "MC-RAVE", OURS)  # sources of claims, as `place_of` names them

_INTRODUCTION = """# The papers, reproduced

This page compares the claims of Silver, Sutton & Müller 2012 (**TD**) and Gelly & Silver 2011 (**MC-RAVE**) with what
rlgo measures. `rlgo experiment report` generates it from the raw results in `{results}`, which contain every
score; the verdicts are computed, too. `rlgo experiment run NAME` repeats one experiment. On the same type of CPU,
training runs are bit-identical, and so are games without external engines or clocks.

**How to read it.** A claim is a number within bounds. It *holds* if the whole 95 % interval lies within the bounds, and
*does not hold* if the whole interval lies outside; otherwise it is *undecided*. Ratings are Bradley-Terry ratings in
Elo, on a scale where GNU Go 3.8 level 10 has 1800 (the papers used 3.7.10): the runs of {scale} play
against level 0, which plays against level 10 in {link}. All other runs are placed on this scale
through the first of those runs. Where a tournament left a claim undecided, games between its two players may have been
added; then only these decide it. Intervals allow for the differences between seeds: {scatter}.

Ratings from games between related programs exaggerate the differences, because each program has learned what to expect
from the others. A tournament among searches is placed on GNU Go's scale by the players that played GNU Go; it mainly
shows who is stronger than whom. The papers' tournaments were of this kind, too.

**The papers' curves** are published only as pictures, but the text states some of their points. Our pictures show these
as hollow marks, broad bars and dotted lines; each section lists them with their places in the papers. Win rates are
converted to Elo, or Elo to win rates, to match our axes. Nothing else of the papers' curves is drawn.
"""

_TOO_MANY = 100  # a factor above this: the number found is too close to a bound
_HOW_TO_DECIDE = f"""### What would decide the rest

The interval of a claim shrinks with the square root of the number of games, and of seeds where runs are compared. The
table shows by what factor they would have to grow to decide each claim if the measured number stays the same: the seeds
of each setting, the games of the pair or of the claim, or those of the whole tournament. More than {_TOO_MANY} means
that the number lies too close to a bound, or that the common scale, set by other experiments, is too uncertain.
"""


_UNRATED = "too few games to rate the players; play on, or with a larger --scale"


def report(results: Path, path: Path) -> str:
    """Return the report on all shipped experiments, in Markdown.

    Parameters
    ----------
    results : folder of the raw results and the pictures
    path : file that the report is for; links are relative to its folder

    Raises RlgoError for files that are not raw results.
    """
    known = experiments_of(results)
    found = {e.name: analyze(results, e.name) for e in known}
    analyses = {name: analysis for name, analysis in found.items() if analysis is not None}
    experiments = [e for e in known if e.name in analyses]
    missing = [f"`{e.name}`" for e in known if e.name not in analyses]
    here = Path(os.path.relpath(results, path.parent))
    repeated = analyses.get(SCALE_EXPERIMENT)
    repeats = repeated.repeats if repeated is not None else Repeats()
    link, scale = _link(LINK_EXPERIMENT, analyses), _link(SCALE_EXPERIMENT, analyses)
    scatter = (
        f"the standard deviation between the {len(next(iter(repeated.runs.values())))} runs of {scale} is "
        f"{repeats.deviation(1_000):.0f} Elo after a thousand games and {repeats.deviation(1_000_000):.0f} after a "
        "million, and is used for all settings. Games between players rate the weights of one run only: "
        "those of another run may be better or worse by as much"
        if repeated is not None and repeats.elo
        else f"{repeats.deviation(1):.0f} Elo, as in the paper, because {SCALE_EXPERIMENT} has not run here"
    )
    parts = [
        _INTRODUCTION.format(results=here.as_posix(), link=link, scale=scale, scatter=scatter),
        "## Summary\n",
        _summary(experiments, analyses),
        _undecided(experiments, analyses),
        "## Experiments\n",
        _status(experiments, analyses),
        *([f"Not run here: {', '.join(missing)}.\n"] if missing else []),
        *(section(e, analyses[e.name], results, here) for e in experiments),
    ]
    return "\n".join(parts)


def experiments_of(results: Path) -> list[Experiment]:
    """Return the experiments that ship with rlgo, then the user's own that have results in the folder.

    Each is at the scale of its results.
    """
    own = {name: str(path) for name, path in own_experiments(results).items() if path.is_file()}
    arguments = {**{name: name for name in list_experiments()}, **own}
    scales = {name: read_header(results / f"{name}.jsonl").get("scale", 1.0) for name in arguments}
    return [read_experiment(argument, scales[name]) for name, argument in arguments.items()]


def _link(name: str, analyses: Mapping[str, Analysis]) -> str:
    """Name an experiment, with a link to its section if it has one."""
    return _to_section(name) if name in analyses else f"`{name}`"


def _to_section(name: str) -> str:
    """Return a link to the section of an experiment, whose name may have spaces."""
    anchor = re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-")
    return f"[{name}](#{anchor})"


def _to_file(path: Path) -> str:
    """Return a file as the target of a link."""
    return quote(path.as_posix())


def write_report(results: Path, path: Path) -> None:
    """Write the report.

    Raises RlgoError if `path` cannot be written, or is a file that is not such a report.
    """
    check_report(path)
    write_atomically(path, report(results, path).encode())


def check_report(path: Path) -> None:
    """Raise an RlgoError if `write_report` would overwrite a file that is not a report."""
    first = _INTRODUCTION.partition("\n")[0]
    if path.exists() and read_file(path).partition(b"\n")[0].decode("utf-8", "replace") != first:
        raise RlgoError(f"{path}: not a report on experiments; name another file")


# ---------------------------------------------------------------------------------------------
# The summary
# ---------------------------------------------------------------------------------------------


def _summary(experiments: list[Experiment], analyses: Mapping[str, Analysis]) -> str:
    """Return all claims of the experiments that have run, with their verdicts, in the order of the papers."""
    head = ("paper", "place", "claim", "expected", "found", "verdict", "experiment")
    rows, verdicts = [], {paper: Counter[str]() for paper in PAPERS}
    for e in experiments:
        for claim in e.claims:
            measured = analyses[e.name].measure(claim)
            verdict = NOT_MEASURED if measured is None else measured.verdict(claim.low, claim.high)
            paper, place = place_of(e, claim)
            verdicts[paper][verdict] += 1
            value = "" if measured is None else _format(claim, measured)
            strong = f"**{verdict}**" if verdict == NOT_HELD else verdict
            text = claim.text.removeprefix(f"({OURS}) ")
            rows.append((paper, place, text, _expected(claim), value, strong, _to_section(e.name)))
    if not rows:
        return "No claims.\n"
    rows.sort(key=lambda row: PAPERS.index(row[0]))
    total = sum(verdicts.values(), Counter[str]())
    there = [name for name in (HELD, NOT_HELD, OPEN, NOT_MEASURED) if total[name]]
    counts = ", ".join(f"{name}: {total[name]}" for name in there)
    by_paper = [("claims of", *there)]
    by_paper += [(paper, *(f"{found[name]}" for name in there)) for paper, found in verdicts.items() if found]
    return f"{total.total()} claims; {counts}.\n\n{markdown(by_paper)}\n{markdown([head, *rows])}"


def _undecided(experiments: list[Experiment], analyses: Mapping[str, Analysis]) -> str:
    """Return the undecided claims with what would decide them, cheapest first; "" if there are none."""
    found = []
    for e in experiments:
        for claim in e.claims:
            measured = analyses[e.name].measure(claim)
            if measured is not None and measured.verdict(claim.low, claim.high) == OPEN:
                times = measured.times_to_decide(claim.low, claim.high)
                found.append((times, place_of(e, claim)[0], e, claim))
    if not found:
        return ""
    rows = [("paper", "claim", "experiment", "factor", "total")]
    for times, paper, e, claim in sorted(found, key=lambda row: row[0]):
        text = claim.text.removeprefix(f"({OURS}) ")
        if times > _TOO_MANY:
            needed = (f"more than {_TOO_MANY}", "")
        else:
            up = math.ceil(10 * times) / 10
            needed = (f"{up:.1f}" if up < 10 else f"{up:.0f}", games_to_decide(analyses[e.name], claim, times))
        rows.append((paper, text, _to_section(e.name), *needed))
    return f"{_HOW_TO_DECIDE}\n{markdown(rows)}"


def games_to_decide(analysis: Analysis, claim: Claim, times: float) -> str:
    """Describe `times` as many games, or seeds, as a claim rests on."""
    labels = [point.partition("@")[0] for point in (claim.a, claim.b)]
    seeds = [len(analysis.runs[label]) for label in dict.fromkeys(labels) if label in analysis.runs]
    if seeds and claim.of == "elo":
        return f"{' and '.join(f'{math.ceil(times * n):,}' for n in seeds)} seeds"
    behind = analysis.of_claim(claim)
    met = [pair for pair in behind.pairs if claim.of != "won" or {pair.a, pair.b} == {claim.a, claim.b}]
    return f"{math.ceil(times * sum(pair.games for pair in met)):,} games"


def place_of(e: Experiment, claim: Claim) -> tuple[str, str]:
    """Return the source of a claim, one of `PAPERS`, and the section and figure of the paper that it is about."""
    cited = re.search(r"\b(TD|MC-RAVE) paper, ([^;]*)", e.settings.source)
    paper, place = (cited[1], cited[2]) if cited else (OURS, "")
    return (OURS, ", ".join(filter(None, (paper, place)))) if claim.text.startswith(f"({OURS})") else (paper, place)


def _expected(claim: Claim) -> str:
    """Return the bounds of a claim in words."""
    low, high = (_number(claim, bound) for bound in (claim.low, claim.high))
    if claim.low == claim.high:
        return low
    if math.isinf(claim.high):
        return f"at least {low}" if claim.low else "above 0"
    return f"at most {high}" if math.isinf(claim.low) else f"{low} to {high}"


def _number(claim: Claim, x: float) -> str:
    """Format a number that a claim is about."""
    if claim.of == "won":
        return f"{x:.1%}"
    if claim.of in ("number", "speed") and math.isfinite(x) and not float(x).is_integer():
        return f"{x:,.2f}"
    signed = claim.of == "elo" and claim.b
    return f"{x:+,.0f}" if signed and x else f"{x:,.0f}"


def _format(claim: Claim, m: Measured) -> str:
    """Format a measured number with its interval and unit."""
    unit = {"elo": " Elo", "spread": " Elo", "speed": " times"}.get(claim.of, "")
    interval = "" if m.low == m.high else f" ({_number(claim, m.low)} to {_number(claim, m.high)})"
    return f"{_number(claim, m.value)}{interval}{unit}"


def _status(experiments: list[Experiment], analyses: Mapping[str, Analysis]) -> str:
    """Return the experiments that have run, and with how many games."""
    note = "Time is the sum of training and the players' thinking. The machine was also doing other work.\n"
    rows = [("experiment", "source", "games", "run", "time")]
    for e in experiments:
        analysis = analyses[e.name]
        link = _to_section(e.name)
        h = analysis.raw.header
        scale = "" if h["scale"] == 1 else f", **scale {h['scale']:g}**"
        games, time = games_behind(analysis), _duration(h["seconds"])
        rows.append((link, e.settings.source, games, h["finished"] + scale, time))
    return f"{markdown(rows)}\n{note}"


def games_behind(analysis: Analysis) -> str:
    """Describe the number of games in an experiment."""
    parts = []
    if analysis.raw.of("run"):
        parts.append(f"{sum(run['games'] for run in analysis.raw.of('run')):,} of self-play")
    if analysis.raw.of("pair"):
        parts.append(f"{sum(pair.games for pair in analysis.pairs):,.0f} for ratings")
        if own := sum(map(games_of, analysis.lines_of_claims)):
            parts.append(f"{own:,} for claims")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


# ---------------------------------------------------------------------------------------------
# One experiment
# ---------------------------------------------------------------------------------------------


def section(e: Experiment, analysis: Analysis, results: Path, here: Path) -> str:
    """Return the section on an experiment, in Markdown: the paper's claims and the results.

    Parameters
    ----------
    analysis : its results
    results, here : folder of raw results and pictures, and how links name it
    """
    title, source, paper = e.settings.title, e.settings.source, e.settings.paper
    parts = [f"\n## {e.name}\n"]
    parts += [f"*{title}*" + (f" ({source})\n" if source else "\n")] if title else []
    parts += [f"**Paper.** {paper}\n"] if paper else []
    if (results / f"{e.name}.png").is_file():
        parts.append(f"![{title}]({_to_file(here / f'{e.name}.png')})\n")
    h = analysis.raw.header
    if h["scale"] != 1:
        parts.append(f"**Scale {h['scale']:g}**: this fraction of the games; not comparable with the paper.\n")
    if e.stated:
        parts.append(f"**Published numbers in the picture.**\n\n{markdown(stated_rows(e))}")
    found = results_table(e, analysis) if _is_rated(e, analysis) else f"{_UNRATED.capitalize()}.\n"
    parts.append(f"**Found.** {found}")
    parts.append(
        f"`{h['command']}`, {h['finished']}, {_duration(h['seconds'])} on {_machines(h)}, "
        f"rlgo {h['versions']['rlgo']}{_openings(h)}; "
        f"raw results: [{e.name}.jsonl]({_to_file(here / f'{e.name}.jsonl')})\n"
    )
    if e.settings.remarks:
        parts.append(f"**Remarks.** {e.settings.remarks}\n")
    return "\n".join(parts)


def _openings(header: Mapping[str, Any]) -> str:
    """Name the openings of the games; "" where there were none, or where they are not on record."""
    name = with_openings(header).get("openings", "")
    return f", openings {name}" if name and header["kind"] in ("curves", "games") else ""


def _machines(header: Mapping[str, Any]) -> str:
    """Return the machine of the last games, and those of earlier ones to which they were added."""
    earlier = {part["machine"] for part in header.get("earlier", [])} - {header["machine"]}
    return header["machine"] + (f" (earlier games on {' and '.join(sorted(earlier))})" if earlier else "")


def show(e: Experiment, results: Path) -> str:
    """Return the results of an experiment for the terminal; also draw its picture if matplotlib is installed.

    Raises RlgoError if there are no results.
    """
    analysis = _analysis_of(e, results)
    if e.has_picture and _is_rated(e, analysis):
        with optional_picture():
            plot(e, results)
    claims = [("claim", "expected", "found", "verdict")]
    for claim in e.claims:
        measured = analysis.measure(claim)
        if measured is not None:
            verdict = measured.verdict(claim.low, claim.high)
            claims.append((claim.text, _expected(claim), _format(claim, measured), verdict))
    return section(e, analysis, results, results) + ("\n" + markdown(claims) if len(claims) > 1 else "")


def _is_rated(e: Experiment, analysis: Analysis) -> bool:
    """Whether there are ratings for tables and pictures; in a gauntlet, not all players are connected."""
    is_gauntlet = e.settings.kind == "games" and e.settings.pairing == "gauntlet"
    return is_gauntlet or not analysis.pairs or analysis.can_rate


def plot(e: Experiment, results: Path) -> Path:
    """Draw an experiment from its raw results, and return the picture's path.

    Raises RlgoError if there are no results, or nothing to draw.
    """
    from train.experiments.experiment_pictures import experiment_picture  # needed only for drawing

    analysis = _analysis_of(e, results)
    if not e.has_picture:
        raise RlgoError(f"{e.name}: has no picture")
    if not _is_rated(e, analysis):
        raise RlgoError(f"{e.name}: {_UNRATED}")
    path = results / f"{e.name}.png"
    experiment_picture(path, e, analysis)
    return path


def _analysis_of(e: Experiment, results: Path) -> Analysis:
    analysis = analyze(results, e.name)
    if analysis is None:
        raise RlgoError(f"{results / e.name}.jsonl: no such file: {e.name} has not run ({e.command})")
    return analysis


def overview(results: Path, stream: TextIO | None = None) -> str:
    """Return a table of the experiments: whether they have run, and what they are about.

    It lists those that ship with rlgo, and the user's own that have results in the folder, with their files.

    stream : where it will be printed, see `console.table`
    """
    rows = []
    for name in list_experiments():
        e, raw = read_experiment(name), read_raw(results / f"{name}.jsonl")
        state = "has not run" if raw is None else f"run on {raw.header['finished']}"
        if raw is not None and raw.header["scale"] != 1:
            state += f", scale {raw.header['scale']:g}"
        rows.append((name, state, f"{e.settings.title} ({e.settings.source})"))
    for name, path in own_experiments(results).items():
        rows.append((name, f"run on {read_header(results / f'{name}.jsonl')['finished']}", f"your own: {path}"))
    return table(("experiment", "state", "about"), rows, stream=stream)
