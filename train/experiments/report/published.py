"""Numbers that the papers state about their figures, on the scales of our pictures.

The papers' curves exist only as pictures, but their text states some of the numbers. Each is listed once, in the file
of the experiment that repeats the figure (`declaration.settings.StatedConfig`), with its place in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence

from train.arena.elo import elo_from_share, expected_score
from train.experiments.declaration.experiment import Experiment
from train.experiments.declaration.settings import StatedConfig
from train.experiments.results.analysis import Analysis

Span = tuple[float, float]  # the two ends of a range, or twice the same number


def spans(s: StatedConfig) -> list[Span]:
    """Return the stated numbers as ranges."""
    return list(zip(s.y, s.up_to or s.y, strict=True))


def stated_ratings(analysis: Analysis, s: StatedConfig) -> list[Span]:
    """Return stated numbers as ratings on the scale of an analysis; empty if they cannot be placed there.

    A share of games becomes a difference in Elo, and a difference is added to our own rating of the other player.
    """
    other = analysis.elo(s.b) if s.b else None
    if not analysis.is_anchored or (s.b and other is None):
        return []
    base = 0.0 if other is None else other.value
    return [(base + low, base + high) for low, high in _converted(s, "elo")]


def stated_shares(s: StatedConfig, opponents: Sequence[str]) -> list[Span]:
    """Return stated numbers as shares won against one of these opponents; empty if they are about others."""
    return _converted(s, "won") if s.b in opponents else []


def _converted(s: StatedConfig, of: str) -> list[Span]:
    if s.of == of:
        return spans(s)
    convert = elo_from_share if of == "elo" else expected_score
    return [(convert(low), convert(high)) for low, high in spans(s)]


def stated_rows(e: Experiment) -> list[tuple[str, str, str, str, str]]:
    """Return a table of the stated numbers of an experiment: source, series, x, value and place."""
    rows = [("source", "series", "x", "number", "place")]
    for s in e.stated:
        name = next((c.legend for c in e.contestants if c.series == s.series and c.legend), s.series)
        for x, (low, high) in zip(s.x or ("",), spans(s), strict=True):
            at = f"{x:,g}" if isinstance(x, float) and x < 1e6 else f"{x:,.0f}" if x else ""
            rows.append((s.by, name, at, _number(s, low, high), s.where))
    return rows


def _number(s: StatedConfig, low: float, high: float) -> str:
    """Format a stated number with its unit."""
    form, unit = ("{:.0f}", f" % against {s.b}") if s.of == "won" else ("{:+,.0f}" if s.b else "{:,.0f}", " Elo")
    low, high = (100 * x if s.of == "won" else x for x in (low, high))
    if s.of == "elo" and s.b:
        unit += f" relative to {s.b}"
    number = form.format(low) if low == high else f"{form.format(low)} to {form.format(high)}"
    return number + unit
