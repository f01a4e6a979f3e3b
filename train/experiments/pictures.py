"""Pictures of experiments. They need matplotlib, which comes with `pip install 'rlgo[plot]'`.

Start reading at `experiment_picture`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from train.experiments.counts import BINS_A_DECADE
from train.experiments.findings import GNUGO_0, GNUGO_10
from train.plots import INK, light_frame, make_figure, percent

if TYPE_CHECKING:
    from train.experiments.findings import Findings, Measured
    from train.experiments.running import Contestant, Experiment


def experiment_picture(path: str | Path, e: Experiment, found: Findings) -> None:
    """Write a PNG of what an experiment found, which `has_picture`. Raises RlgoError without matplotlib."""
    kind = e.settings.kind
    if kind == "curves":
        figure = _curves(e, found)
    elif kind == "frequency":
        figure = _frequency(found)
    else:
        figure = _series(e, found)
    figure.suptitle(f"{e.settings.title}\n({e.settings.source})", fontsize=10)
    figure.savefig(path, format="png")


def _tidy(ax: Any) -> None:
    light_frame(ax)


def _curves(e: Experiment, found: Findings) -> Any:
    """Elo over games of self-play: the mean of the seeds with its interval, and each seed by a thin line."""
    n = len(e.panels)
    columns = 1 if n == 1 else 2
    rows = math.ceil(n / columns)
    figure, axes = make_figure(rows, columns, 8 if columns == 1 else 12, 5 if rows == 1 else 4.4 * rows, sharey=True)
    own = {level: found.elo(level) for level in (GNUGO_0, GNUGO_10) if found.is_anchored}
    levels = found.levels or {level: at.value for level, at in own.items() if at is not None}
    for ax, (title, labels) in zip(axes.flat, e.panels.items(), strict=False):
        for i, label in enumerate(labels):
            _draw_curve(ax, found, label, *_look(i, labels, list(e.members)))
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
        ax.set_ylabel("Elo (GNU Go level 10 = 1800)" if found.is_anchored else "Elo (mean 0)")
    for ax in axes.flat[max(0, n - columns) : n]:
        ax.set_xlabel("games of self-play")
    return figure


def _look(i: int, labels: Sequence[str], everyone: Sequence[str]) -> tuple[Any, str]:
    """Colour and line of label i of a panel.

    Many labels are steps of one setting, dark to light; others have the same look in every panel.
    """
    from matplotlib import colormaps

    if len(labels) > 6:
        return colormaps["viridis"](i / len(labels)), "-"
    place = everyone.index(labels[i])
    return f"C{place % 10}", "-" if place < 10 else "--"


def _draw_curve(ax: Any, found: Findings, label: str, colour: Any, line: str) -> None:
    ages = found.checkpoints(label)
    if not ages:
        return
    diverged = all(run["state"] == "diverged" for run in found.runs[label])
    placed = [found.placed(f"{label}@{games}") for games in ages]
    elo = [point.value for point in placed if point is not None]
    ax.plot(ages, elo, line, color=colour, linewidth=1.4, label=f"{label} (diverged)" if diverged else label)
    low, high = zip(*((point.low, point.high) for point in placed if point is not None), strict=True)
    ax.fill_between(ages, low, high, color=colour, alpha=0.2, linewidth=0)
    if diverged:
        ax.plot(ages[-1:], elo[-1:], "x", color=colour)
    seeds = list(zip(*(found.seeds(f"{label}@{games}") for games in ages), strict=True))
    for of_seed in seeds if len(seeds) > 1 else []:
        ax.plot(ages, of_seed, color=colour, linewidth=0.5, alpha=0.6)


def _frequency(found: Findings) -> Any:
    """How many classes occurred how often, for each block; both axes on a log scale (TD paper, Figure 4)."""
    figure, axes = make_figure(1, 1, 8, 5)
    ax = axes[0, 0]
    for i, line in enumerate(found.raw.of("histogram")):
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
    """Axes of `_series`: what some series' players have as y over x."""

    x: str
    y: str
    players: list[Contestant]
    measure: Callable[[Contestant], Measured | None]
    won: bool  # of games; else Elo


def _series(e: Experiment, found: Findings) -> Any:
    """Over x, ratings, or what was won against each opponent that the players of a series have in common."""
    panels = _panels(e, found)
    figure, axes = make_figure(1, len(panels), 5.5 * len(panels) + (2.5 if len(panels) == 1 else 0), 4.5)
    order = list(dict.fromkeys(c.series for c in e.contestants if c.x is not None))
    for ax, panel in zip(axes[0], panels, strict=True):
        series: dict[str, list[Contestant]] = {}
        for c in panel.players:
            series.setdefault(c.series, []).append(c)
        for label, players in series.items():
            _draw_points(ax, [(c.x, panel.measure(c)) for c in players], label, order.index(label))
        if panel.won:
            ax.set_ylim(0, 1)
            percent(ax.yaxis)
        else:
            for name, elo in ((c.name, found.elo(c.name) or found.rating(c.name)) for c in _fixed(e, found)):
                ax.axhline(elo.value, color=INK, linewidth=0.8, linestyle="--")
                ax.annotate(name, (0.01, elo.value), xycoords=("axes fraction", "data"), va="bottom", fontsize=8)
        xs = [c.x for c in panel.players if c.x is not None]
        if min(xs) > 0 and max(xs) >= 8 * min(xs):
            ax.set_xscale("log")
            _tick(ax, xs)
            ax.minorticks_off()
        elif all(x.is_integer() for x in xs):
            _tick(ax, xs)
        ax.set_xlabel(panel.x)
        ax.set_ylabel(panel.y)
        if len(series) > 1:
            ax.legend(frameon=False, fontsize=9)
        light_frame(ax)
    return figure


def _fixed(e: Experiment, found: Findings) -> list[Contestant]:
    """List the players without x who have played."""
    there = {name for pair in found.pairs for name in (pair.a, pair.b)}
    return [c for c in e.contestants if c.x is None and c.name in there]


def _panels(e: Experiment, found: Findings) -> list[_Panel]:
    """Ratings for each kind of x, where everybody may meet everybody; and what was won of whom, else."""
    moving, fixed = [c for c in e.contestants if c.x is not None], _fixed(e, found)
    panels = []
    if e.settings.pairing != "gauntlet":
        on_scale = "Elo (GNU Go level 10 = 1800)" if found.is_anchored else "Elo (mean 0)"
        for along in dict.fromkeys(c.along or e.settings.x for c in moving):
            players = [c for c in moving if (c.along or e.settings.x) == along]
            panels.append(_Panel(along, on_scale, players, lambda c: found.rating_among(c.name), False))
    if e.settings.pairing != "swiss":
        for other in fixed if e.settings.pairing == "gauntlet" else [c for c in fixed if c.name.startswith("GNU Go")]:
            won = partial(_won, found, other.name)
            panels.append(_Panel(e.settings.x, f"won against {other.name}", moving, won, True))
    for label in dict.fromkeys(c.against for c in moving if c.against):
        rivals = {c.x: c.name for c in moving if c.series == label}
        players = [c for c in moving if c.against == label]
        panels.append(_Panel(e.settings.x, f"won against {label}", players, partial(_won_of, found, rivals), True))
    return panels


def _won_of(found: Findings, rivals: Mapping[float | None, str], c: Contestant) -> Measured | None:
    return found.won(c.name, rivals[c.x])


def _won(found: Findings, opponent: str, c: Contestant) -> Measured | None:
    return found.won(c.name, opponent)


def _tick(ax: Any, xs: Sequence[float]) -> None:
    """Ticks where there are points."""
    ax.set_xticks(sorted(set(xs)), [f"{x:,g}" for x in sorted(set(xs))])


def _draw_points(ax: Any, points: list[Any], label: str, i: int) -> None:
    there = [(x, m) for x, m in points if m is not None]
    if there:
        error = [[m.value - m.low for _, m in there], [m.high - m.value for _, m in there]]
        ax.errorbar(
            [x for x, _ in there], [m.value for _, m in there], error, marker="o", markersize=4, capsize=3,
            linewidth=1.2, color=f"C{i}", label=label,
        )  # fmt: skip
