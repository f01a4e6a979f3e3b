"""The report on all experiments, docs/lab/results.md, generated from raw results.

Start reading at `report`. Only the texts about the papers and the differences are written by hand, in the
experiments' files. Every number and every verdict is computed.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rlgo.base.errors import RlgoError
from rlgo.base.files import read_file, write_atomically
from rlgo.base.resources import config_path
from train.arena.openings import with_openings
from train.config import read_toml
from train.console import markdown, optional_picture, table
from train.experiments.declaration.experiment import Experiment
from train.experiments.declaration.reading import list_experiments, read_experiment
from train.experiments.declaration.settings import Claim
from train.experiments.report.published import stated_rows
from train.experiments.report.tables import results_table
from train.experiments.results.analysis import (
    HELD,
    LINK_EXPERIMENT,
    NOT_HELD,
    NOT_MEASURED,
    OPEN,
    SCALE_EXPERIMENT,
    Analysis,
    Repeats,
    analyze,
    shipped_analysis,
)
from train.experiments.results.claims import PAPERS, expected_in_words, found_in_words, place_of, text_of
from train.experiments.results.files import (
    ResultsFile,
    games_of,
    is_shipped,
    own_results,
    read_header,
    results_in,
    shipped_folder,
)

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
    there = {file.name: file for file in results_in(results)}
    own = {name: str(file.source) for name, file in there.items() if file.source is not None and file.source.is_file()}
    arguments = {**{name: name for name in list_experiments()}, **own}
    scales = {name: file.header["scale"] for name, file in there.items()}
    return [read_experiment(argument, scales.get(name, 1.0)) for name, argument in arguments.items()]


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
            value = "" if measured is None else found_in_words(claim, measured)
            strong = f"**{verdict}**" if verdict == NOT_HELD else verdict
            text = text_of(claim)
            rows.append((paper, place, text, expected_in_words(claim), value, strong, _to_section(e.name)))
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
        text = text_of(claim)
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
    parts.append(f"**Found.** {results_table(e, analysis)}")
    if analysis.unrated and e.settings.pairing != "gauntlet":
        parts.append(
            f"No games connect these players to the others, so they have no rating: {_listed(analysis.unrated)}.\n"
        )
    parts.append(
        f"`{h['command']}`, {h['finished']}, {_duration(h['seconds'])} on {_machines(h)}, "
        f"rlgo {h['versions']['rlgo']}{_openings(h)}; "
        f"raw results: [{e.name}.jsonl]({_to_file(here / f'{e.name}.jsonl')})\n"
    )
    if not is_shipped(results) and e.claims:
        parts.append(comparison(e, analysis, shipped_analysis(e)))
    # Remarks on the results that ship with rlgo say nothing about other results, nor about a copy of the file.
    if e.settings.remarks and (is_shipped(results) or e.settings.remarks not in _shipped_remarks()):
        parts.append(f"**Remarks.** {e.settings.remarks}\n")
    return "\n".join(parts)


def _shipped_remarks() -> set[str]:
    tables = [read_toml(config_path(name, "experiments"))["experiment"] for name in list_experiments()]
    return {table.get("remarks", "").strip() for table in tables}


def comparison(e: Experiment, analysis: Analysis, shipped: Analysis | None = None) -> str:
    """Return the claims of an experiment beside those of the results that ship with rlgo, and a sentence on them."""
    head = ["claim", "expected", "found here", "verdict here"]
    rows = [head + (["found in the shipped results", "verdict there"] if shipped is not None else [])]
    decided = same = 0
    for claim in e.claims:
        row, verdicts = [text_of(claim), expected_in_words(claim)], []
        for found in (analysis, *([] if shipped is None else [shipped])):
            m = found.measure(claim)
            verdicts.append(NOT_MEASURED if m is None else m.verdict(claim.low, claim.high))
            row += ["" if m is None else found_in_words(claim, m), verdicts[-1]]
        decided += verdicts[0] in (HELD, NOT_HELD)
        same += verdicts[0] in (HELD, NOT_HELD) and verdicts[0] == verdicts[-1]
        rows.append(row)
    text = f"{decided} of {len(e.claims)} claims are decided."
    if shipped is not None and decided:
        agree = f"all {decided} of them" if same == decided else f"{same} of them"
        text += f" The shipped results agree in {agree}."
    return f"**Claims.** {text}\n\n{markdown(rows)}"


def _listed(names: Sequence[str]) -> str:
    """List names, only the first of many."""
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


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
    with optional_picture():
        _draw(e, results, analysis)
    text = section(e, analysis, results, results)
    return f"{text}\n{comparison(e, analysis)}" if is_shipped(results) and e.claims else text


def plot(e: Experiment, results: Path) -> Path:
    """Draw an experiment from its raw results, and return the path of its picture.

    Raises RlgoError if there are no results, or nothing to draw.
    """
    path = _draw(e, results, _analysis_of(e, results))
    if path is None:
        raise RlgoError(f"{e.name}: has no picture")
    return path


def _draw(e: Experiment, results: Path, analysis: Analysis) -> Path | None:
    from train.experiments.report.pictures import experiment_picture  # needed only for drawing

    if not e.has_picture:
        return None
    experiment_picture(path := results / f"{e.name}.png", e, analysis)
    return path


def _analysis_of(e: Experiment, results: Path) -> Analysis:
    analysis = analyze(results, e.name)
    if analysis is None:
        raise RlgoError(f"{results / e.name}.jsonl: no such file: {e.name} has not run ({e.command})")
    return analysis


def overview(out: str | Path, results: Path | None = None) -> str:
    """Return a table of the experiments: which results ship with rlgo, which are the user's own, and the subject.

    It lists those that ship with rlgo, and the user's own that have results, with their files.

    Parameters
    ----------
    out : the working folder, which is searched for results at all scales
    results : another folder of results, instead of those below `out`
    """
    found = own_results(out) if results is None else results_in(results)
    by_name: dict[str, list[ResultsFile]] = {}
    for file in found:
        by_name.setdefault(file.name, []).append(file)
    rows, folder = [], shipped_folder()
    for name in list_experiments():
        e = read_experiment(name)
        header = {} if folder is None else read_header(folder / f"{name}.jsonl")
        own = "; ".join(map(str, by_name.pop(name, ()))) or "has not run"
        rows.append((name, header.get("finished", "none"), own, f"{e.settings.title} ({e.settings.source})"))
    for name, files in by_name.items():
        rows.append((name, "none", "; ".join(map(str, files)), f"your own: {files[0].source or files[0].path}"))
    return table(("experiment", "shipped results", "your results", "about"), rows)
