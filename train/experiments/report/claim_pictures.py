"""Picture of an experiment's claims: what was found, beside what is expected and what the shipped results found.

Start reading at `claims_picture`. It can be drawn after any number of games, when players have no ratings yet.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from train.experiments.declaration.experiment import Claim, Experiment
from train.experiments.results.analysis import HELD, NOT_HELD, OPEN, Analysis, Measured
from train.experiments.results.claims import expected_in_words, text_of
from train.plots import INK, PALETTE, legend_below, light_frame, make_figure, percent, save_figure

_COLOURS = {HELD: PALETTE[2], NOT_HELD: PALETTE[1], OPEN: "0.45"}
_UNITS = {"elo": "Elo", "spread": "Elo", "won": "share of the games won", "speed": "times as fast"}
_ASIDE = 0.2  # of a row, between what was found here and in the shipped results
_ROW, _FRAME = 0.55, 1.6  # inches


class ClaimRow(NamedTuple):
    """One claim of the picture."""

    claim: Claim
    here: Measured | None
    shipped: Measured | None


def claim_rows(e: Experiment, analysis: Analysis, shipped: Analysis | None) -> list[ClaimRow]:
    """Return the claims that have an interval here or in the shipped results."""
    rows = [ClaimRow(c, analysis.measure(c), None if shipped is None else shipped.measure(c)) for c in e.claims]
    return [row for row in rows if row.claim.of in _UNITS and (row.here or row.shipped)]


def claims_picture(path: str | Path, e: Experiment, analysis: Analysis, shipped: Analysis | None, part: str) -> None:
    """Write a PNG of the claims of an experiment, one row each.

    Parameters
    ----------
    path : the PNG file
    e : an experiment with `claim_rows`
    analysis : its results
    shipped : the results of the same experiment that ship with rlgo, drawn beside them; None: no such
    part : which part of the experiment the results are, such as ``scale 0.1``

    Raises RlgoError without matplotlib.
    """
    rows = claim_rows(e, analysis, shipped)
    units = list(dict.fromkeys(_UNITS[row.claim.of] for row in rows))
    by_unit = [[row for row in rows if _UNITS[row.claim.of] == unit] for unit in units]
    height = _ROW * len(rows) + _FRAME * len(units)
    ratios = {"height_ratios": [len(group) + 1 for group in by_unit]}
    figure, axes = make_figure(len(units), 1, 10, height, gridspec_kw=ratios)
    for ax, unit, group in zip(axes[:, 0], units, by_unit, strict=True):
        _draw(ax, unit, group)
    legend_below(axes[-1, 0], 5, depth=40)
    figure.suptitle(f"{e.name}: claims, {part}", fontsize=11)
    save_figure(figure, path, f"{e.name}, results {analysis.checksum}")


def _draw(ax: Any, unit: str, rows: Sequence[ClaimRow]) -> None:
    """Draw the claims of one unit from top to bottom."""
    least, most = _limits(rows)
    ax.set_xlim(least, most)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    labels = []
    for y, row in enumerate(rows):
        low, high = max(least, row.claim.low), min(most, row.claim.high)
        ax.fill_between([low, high], y - 0.42, y + 0.42, color=PALETTE[5], alpha=0.22, linewidth=0)
        _point(ax, row.shipped, y + _ASIDE, INK, "shipped")
        verdict = "" if row.here is None else row.here.verdict(row.claim.low, row.claim.high)
        _point(ax, row.here, y - _ASIDE / 2, _COLOURS.get(verdict, INK))
        ax.annotate(
            verdict or "not measured", (1.01, y), xycoords=("axes fraction", "data"), va="center", fontsize=8,
            color=_COLOURS.get(verdict, INK),
        )  # fmt: skip
        words = textwrap.fill(f"{text_of(row.claim)} ({expected_in_words(row.claim)})", 52)
        labels.append(words)
    ax.set_yticks(range(len(rows)), labels, fontsize=8)
    ax.set_xlabel(f"{unit}; bars: 95 % intervals, shaded: what is expected")
    if unit == _UNITS["won"]:
        percent(ax.xaxis)
    light_frame(ax, "x")
    ax.plot([], [], "o", color=INK, markersize=6, label="here")
    ax.plot([], [], "o", color=INK, markersize=5, markerfacecolor="white", label="the shipped results")


def _point(ax: Any, m: Measured | None, y: float, colour: str, kind: str = "here") -> None:
    """Draw a number with its interval; an end without a limit reaches the edge of the picture."""
    if m is None:
        return
    left, right = ax.get_xlim()
    face = colour if kind == "here" else "white"
    ax.plot(
        [max(left, m.low), min(right, m.high)], [y, y], color=colour, linewidth=2 if kind == "here" else 1, zorder=3
    )
    ax.plot([m.value], [y], "o", color=colour, markersize=6 if kind == "here" else 5, markerfacecolor=face, zorder=4)


def _limits(rows: Sequence[ClaimRow]) -> tuple[float, float]:
    """Return the ends of the axis: all numbers, and all ends of intervals and bounds that exist, with room around."""
    found = [m for row in rows for m in (row.here, row.shipped) if m is not None]
    ends = [x for m in found for x in (m.value, m.low, m.high)]
    ends += [x for row in rows for x in (row.claim.low, row.claim.high)]
    finite = [x for x in ends if math.isfinite(x)]
    room = 0.08 * (max(finite) - min(finite)) or 1.0
    return min(finite) - room, max(finite) + room
