"""Pictures of experiments. They need matplotlib, which comes with ``pip install 'rlgo[plot]'``.

Start reading at `experiment_picture`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from train.experiments.counts import BINS_A_DECADE
from train.experiments.findings import Analysis, Measured
from train.experiments.model import GNUGO_0, GNUGO_10, Contestant, Experiment
from train.plots import INK, light_frame, make_figure, percent, save_figure

_LONGEST_PALETTE = 6  # panels with more labels use shades of one colour map


def experiment_picture(path: str | Path, e: Experiment, analysis: Analysis) -> None:
    """Write a PNG of an experiment's results.

    Parameters
    ----------
    path : the PNG file
    e : an experiment that `has_picture`
    analysis : its results

    Raises RlgoError without matplotlib.
    """
    kind = e.settings.kind
    if kind == "curves":
        figure = _curves(e, analysis)
    elif kind == "frequency":
        figure = _frequency(analysis)
    else:
        figure = _series(e, analysis)
    figure.suptitle(f"{e.settings.title}\n({e.settings.source})", fontsize=10)
    save_figure(figure, path)


def _curves(e: Experiment, analysis: Analysis) -> Any:
    """Draw Elo over games of self-play: the mean of the seeds with its interval, and each seed as a thin line."""
    n = len(e.panels)
    columns = 1 if n == 1 else 2
    rows = math.ceil(n / columns)
    figure, axes = make_figure(rows, columns, 8 if columns == 1 else 12, 5 if rows == 1 else 4.4 * rows, sharey=True)
    own = {level: analysis.elo(level) for level in (GNUGO_0, GNUGO_10) if analysis.is_anchored}
    levels = analysis.levels or {level: at.value for level, at in own.items() if at is not None}
    for ax, (title, labels) in zip(axes.flat, e.panels.items(), strict=False):
        for i, label in enumerate(labels):
            _draw_curve(ax, analysis, label, *_style(i, labels, list(e.runs)))
        for level, elo in levels.items():
            ax.axhline(elo, color=INK, linewidth=0.8, linestyle="--")
            ax.annotate(level, (0.01, elo), xycoords=("axes fraction", "data"), va="bottom", fontsize=8)
        ax.set_xscale("log")
        ax.set_title(title, fontsize=10, loc="left")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, fontsize=8, loc="lower right")
        light_frame(ax)
    for ax in axes.flat[n:]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("Elo (GNU Go level 10 = 1800)" if analysis.is_anchored else "Elo (mean 0)")
    for ax in axes.flat[max(0, n - columns) : n]:
        ax.set_xlabel("games of self-play")
    return figure


def _style(i: int, labels: Sequence[str], everyone: Sequence[str]) -> tuple[Any, str]:
    """Return colour and line style of label `i` of a panel.

    Many labels are steps of one setting, from dark to light; a few look the same in every panel.
    """
    from matplotlib import colormaps  # slow to load

    if len(labels) > _LONGEST_PALETTE:
        return colormaps["viridis"](i / len(labels)), "-"
    place = everyone.index(labels[i])
    return f"C{place % 10}", "-" if place < 10 else "--"


def _draw_curve(ax: Any, analysis: Analysis, label: str, colour: Any, line: str) -> None:
    """Draw the learning curve of a label."""
    ages = analysis.checkpoints(label)
    if not ages:
        return
    diverged = all(run["state"] == "diverged" for run in analysis.runs[label])
    placed = [analysis.placed(f"{label}@{games}") for games in ages]
    elo = [point.value for point in placed if point is not None]
    ax.plot(ages, elo, line, color=colour, linewidth=1.4, label=f"{label} (diverged)" if diverged else label)
    low, high = zip(*((point.low, point.high) for point in placed if point is not None), strict=True)
    ax.fill_between(ages, low, high, color=colour, alpha=0.2, linewidth=0)
    if diverged:
        ax.plot(ages[-1:], elo[-1:], "x", color=colour)
    seeds = list(zip(*(analysis.seeds(f"{label}@{games}") for games in ages), strict=True))
    for of_seed in seeds if len(seeds) > 1 else []:
        ax.plot(ages, of_seed, color=colour, linewidth=0.5, alpha=0.6)


def _frequency(analysis: Analysis) -> Any:
    """Draw how many classes of each block occurred how often, both axes on a log scale (TD paper, Figure 4)."""
    figure, axes = make_figure(1, 1, 8, 5)
    ax = axes[0, 0]
    for i, line in enumerate(analysis.raw.of("histogram")):
        classes = line["classes"]
        middles = [10 ** ((k + 0.5) / BINS_A_DECADE) for k in range(len(classes))]
        there = [(x, y) for x, y in zip(middles, classes, strict=True) if y]
        ax.plot(
            *zip(*there, strict=True), marker="o", markersize=3.5, linewidth=1.2, color=f"C{i}", label=line["histogram"]
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("occurrences in the positions learned from")
    ax.set_ylabel(f"classes (bins of 1/{BINS_A_DECADE} decade)")
    ax.legend(frameon=False, fontsize=9)
    light_frame(ax)
    return figure


@dataclass(frozen=True)
class _Panel:
    """One panel of `_series`.

    Attributes
    ----------
    x, y : names of the axes
    players : the players to draw
    measure : returns a player's y; None if it has none
    is_share : whether y is a share of games won; else it is Elo
    """

    x: str
    y: str
    players: list[Contestant]
    measure: Callable[[Contestant], Measured | None]
    is_share: bool


def _series(e: Experiment, analysis: Analysis) -> Any:
    """Draw ratings over x, or the share of games won against each opponent that the players have in common."""
    panels = _panels(e, analysis)
    figure, axes = make_figure(1, len(panels), 5.5 * len(panels) + (2.5 if len(panels) == 1 else 0), 4.5)
    order = list(dict.fromkeys(c.series for c in e.contestants if c.x is not None))
    for ax, panel in zip(axes[0], panels, strict=True):
        series: dict[str, list[Contestant]] = {}
        for c in panel.players:
            series.setdefault(c.series, []).append(c)
        for label, players in series.items():
            _draw_points(ax, [(c.x, panel.measure(c)) for c in players], label, order.index(label))
        if panel.is_share:
            ax.set_ylim(0, 1)
            percent(ax.yaxis)
        else:
            for c in _fixed(e, analysis):
                elo = analysis.elo(c.name) or analysis.rating(c.name)
                ax.axhline(elo.value, color=INK, linewidth=0.8, linestyle="--")
                ax.annotate(c.name, (0.01, elo.value), xycoords=("axes fraction", "data"), va="bottom", fontsize=8)
        _set_x_axis(ax, [c.x for c in panel.players if c.x is not None])
        ax.set_xlabel(panel.x)
        ax.set_ylabel(panel.y)
        if len(series) > 1:
            ax.legend(frameon=False, fontsize=9)
        light_frame(ax)
    return figure


def _set_x_axis(ax: Any, xs: Sequence[float]) -> None:
    """Put ticks where there are points, on a log scale if they lie far apart."""
    if min(xs) > 0 and max(xs) >= 8 * min(xs):
        ax.set_xscale("log")
    elif not all(x.is_integer() for x in xs):
        return
    ax.set_xticks(sorted(set(xs)), [f"{x:,g}" for x in sorted(set(xs))])
    if ax.get_xscale() == "log":
        ax.minorticks_off()


def _fixed(e: Experiment, analysis: Analysis) -> list[Contestant]:
    """Return the players without x that have played."""
    there = {name for pair in analysis.pairs for name in (pair.a, pair.b)}
    return [c for c in e.contestants if c.x is None and c.name in there]


def _panels(e: Experiment, analysis: Analysis) -> list[_Panel]:
    """Return the panels: ratings for each kind of x unless in a gauntlet, and shares won against each opponent."""
    moving, fixed = [c for c in e.contestants if c.x is not None], _fixed(e, analysis)
    panels = []
    if e.settings.pairing != "gauntlet":
        on_scale = "Elo (GNU Go level 10 = 1800)" if analysis.is_anchored else "Elo (mean 0)"
        for along in dict.fromkeys(c.along or e.settings.x for c in moving):
            players = [c for c in moving if (c.along or e.settings.x) == along]
            panels.append(_Panel(along, on_scale, players, lambda c: analysis.rating_among(c.name), False))
    if e.settings.pairing != "swiss":
        for other in fixed if e.settings.pairing == "gauntlet" else [c for c in fixed if c.name.startswith("GNU Go")]:
            won = partial(_won, analysis, other.name)
            panels.append(_Panel(e.settings.x, f"won against {other.name}", moving, won, True))
    for label in dict.fromkeys(c.against for c in moving if c.against):
        rivals = {c.x: c.name for c in moving if c.series == label}
        players = [c for c in moving if c.against == label]
        panels.append(_Panel(e.settings.x, f"won against {label}", players, partial(_won_of, analysis, rivals), True))
    return panels


def _won_of(analysis: Analysis, rivals: Mapping[float | None, str], c: Contestant) -> Measured | None:
    return analysis.won(c.name, rivals[c.x])


def _won(analysis: Analysis, opponent: str, c: Contestant) -> Measured | None:
    return analysis.won(c.name, opponent)


def _draw_points(ax: Any, points: list[Any], label: str, i: int) -> None:
    """Draw a series with its intervals, in colour `i`; points that were not measured are left out."""
    there = [(x, m) for x, m in points if m is not None]
    if there:
        error = [[m.value - m.low for _, m in there], [m.high - m.value for _, m in there]]
        ax.errorbar(
            [x for x, _ in there], [m.value for _, m in there], error, marker="o", markersize=4, capsize=3,
            linewidth=1.2, color=f"C{i}", label=label,
        )  # fmt: skip
