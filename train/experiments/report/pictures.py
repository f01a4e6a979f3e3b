"""Pictures of experiments. They need matplotlib, which comes with ``pip install 'rlgo[plot]'``.

Start reading at `experiment_picture`. Numbers that the paper's text states about a figure are drawn in the
same picture (`published`): hollow marks, broad bars for ranges, and dotted lines.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from train.experiments.declaration.experiment import GNUGO_0, GNUGO_10, Contestant, Experiment
from train.experiments.declaration.settings import StatedConfig
from train.experiments.report.published import Span, stated_ratings, stated_shares
from train.experiments.results.analysis import Analysis, Measured
from train.experiments.running.counts import BINS_A_DECADE
from train.plots import (
    INK,
    PALETTE,
    legend_below,
    light_frame,
    line_style,
    make_figure,
    name_levels,
    percent,
    save_figure,
    step_style,
)

_MOST_STYLES = len(PALETTE)  # panels with more labels show steps of one setting
_DODGE = 0.012  # distance between players that have the same x, as a share of the axis
_TICK = 0.06  # least distance between two labels of the x axis, as a share of it
_STATED_MARKS = "DhpH"  # one for each source of stated numbers: the paper, and others


def experiment_picture(path: str | Path, e: Experiment, analysis: Analysis) -> None:
    """Write a PNG of an experiment's results. Its metadata have their checksum.

    Parameters
    ----------
    path : the PNG file
    e : an experiment that `has_picture`
    analysis : its results

    Raises RlgoError without matplotlib.
    """
    kind = e.settings.kind
    if kind == "curves":
        figure, caption = _curves(e, analysis)
    elif kind == "frequency":
        figure, caption = _frequency(analysis)
    else:
        figure, caption = _series(e, analysis)
    if e.stated:
        caption += " Hollow marks, broad bars and dotted lines: numbers from the paper's text, listed in the report."
    source = f"\n({e.settings.source})" if e.settings.source else ""
    figure.suptitle(f"{e.settings.title}{source}", fontsize=10)
    width = int(16 * figure.get_size_inches()[0])
    figure.supxlabel(textwrap.fill(caption, width), fontsize=8, color=INK)
    save_figure(figure, path, f"{e.name}, results {analysis.checksum}")


# ---------------------------------------------------------------------------------------------
# Learning curves
# ---------------------------------------------------------------------------------------------


def _curves(e: Experiment, analysis: Analysis) -> tuple[Any, str]:
    """Draw Elo over games of self-play: the mean of the seeds with its interval, and each seed as a thin line."""
    n = len(e.panels)
    columns = 1 if n == 1 else 2
    rows = math.ceil(n / columns)
    figure, axes = make_figure(rows, columns, 8.5 if columns == 1 else 13, 5.5 if rows == 1 else 5 * rows, sharey=True)
    own = {level: analysis.elo(level) for level in (GNUGO_0, GNUGO_10) if analysis.is_anchored}
    levels = analysis.levels or {level: at.value for level, at in own.items() if at is not None}
    panels = list(zip(axes.flat, e.panels.items(), strict=False))
    for ax, (title, labels) in panels:
        for i, label in enumerate(labels):
            style = _style(i, labels, list(e.runs))
            _draw_curve(ax, analysis, label, style)
            for s in e.stated:
                if s.series == label:
                    _draw_stated(ax, s, stated_ratings(analysis, s), style["color"], _mark(e, s))
        for elo in levels.values():
            ax.axhline(elo, color=INK, linewidth=0.8, linestyle="--")
        ax.set_xscale("log")
        ax.set_title(title, fontsize=10, loc="left")
        ax.set_xlabel("games of self-play")
        _key_of_stated(ax, e, [s for s in e.stated if s.series in labels])
        legend_below(ax, 3, e.settings.legend)
        light_frame(ax)
    for ax, _ in panels[columns - 1 :: columns]:
        name_levels(ax, levels)
    for ax in axes.flat[n:]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("Elo (GNU Go level 10 = 1800)" if analysis.is_anchored else "Elo (mean 0)")
    several = any(len(runs) > 1 for runs in analysis.runs.values())
    seeds = " With several seeds, thick lines show their mean and thin lines single seeds." if several else ""
    return figure, f"Bands: 95 % intervals of the games.{seeds}"


def _style(i: int, labels: Sequence[str], everyone: Sequence[str]) -> dict[str, Any]:
    """Return the style of label `i` of a panel.

    Many labels are steps of one setting, from dark to light; a few look the same in every panel.
    """
    return step_style(i, len(labels)) if len(labels) > _MOST_STYLES else line_style(everyone.index(labels[i]))


def _draw_curve(ax: Any, analysis: Analysis, label: str, style: Mapping[str, Any]) -> None:
    """Draw the learning curve of a label."""
    ages, colour = analysis.checkpoints(label), style["color"]
    if not ages:
        if analysis.diverged(label):
            ax.plot([], [], **style, label=f"{label} (diverged at once)")
        return
    diverged = all(run["state"] == "diverged" for run in analysis.runs[label])
    placed = [point for point in (analysis.placed(f"{label}@{games}") for games in ages) if point is not None]
    elo = [point.value for point in placed]
    name = f"{label} (diverged at x)" if diverged else label
    ax.plot(ages, elo, **style, linewidth=1.4, markersize=3.5, label=name, zorder=3)
    ax.fill_between(ages, [p.low for p in placed], [p.high for p in placed], color=colour, alpha=0.2, linewidth=0)
    if diverged:
        ax.plot(ages[-1:], elo[-1:], "x", color=colour, markersize=10, markeredgewidth=2)
    seeds = list(zip(*(analysis.seeds(f"{label}@{games}") for games in ages), strict=True))
    for of_seed in seeds if len(seeds) > 1 else []:
        ax.plot(ages, of_seed, color=colour, linewidth=0.5, alpha=0.6)


# ---------------------------------------------------------------------------------------------
# Frequencies
# ---------------------------------------------------------------------------------------------


def _frequency(analysis: Analysis) -> tuple[Any, str]:
    """Draw how many classes of each block occurred how often, both axes on a log scale (TD paper, Figure 4)."""
    figure, axes = make_figure(1, 1, 8.5, 5.5)
    ax = axes[0, 0]
    for i, line in enumerate(analysis.raw.of("histogram")):
        classes = line["classes"]
        middles = [10 ** ((k + 0.5) / BINS_A_DECADE) for k in range(len(classes))]
        there = [(x, y) for x, y in zip(middles, classes, strict=True) if y]
        ax.plot(*zip(*there, strict=True), **line_style(i), markersize=4, linewidth=1.2, label=line["histogram"])
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("occurrences in the positions learned from")
    ax.set_ylabel(f"classes (bins of 1/{BINS_A_DECADE} decade)")
    legend_below(ax, 6)
    light_frame(ax)
    return figure, "LI: location independent; LD: location dependent. Classes that never occurred are not shown."


# ---------------------------------------------------------------------------------------------
# Players
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Panel:
    """One panel of `_series`.

    Attributes
    ----------
    x, y : names of the axes
    players : the players to draw
    opponent : returns a player's opponent, if y is the share of games won against it; None if y is Elo
    opponents : all of these, or the labels of their series
    """

    x: str
    y: str
    players: list[Contestant]
    opponent: Callable[[Contestant], str] | None = None
    opponents: tuple[str, ...] = ()

    def measure(self, analysis: Analysis, c: Contestant) -> Measured | None:
        """Return a player's y; None if it has none."""
        return analysis.rating_among(c.name) if self.opponent is None else analysis.won(c.name, self.opponent(c))


def _series(e: Experiment, analysis: Analysis) -> tuple[Any, str]:
    """Draw ratings over x, or the share of games won against each opponent that the players have in common."""
    panels = _panels(e, analysis)
    order = list(dict.fromkeys(c.series for c in e.contestants if c.x is not None))
    many = max(len({c.series for c in panel.players}) for panel in panels)
    height = 4.6 + 0.25 * math.ceil(many / 2) * (many > 1)
    figure, axes = make_figure(1, len(panels), 5.7 * len(panels) + (2.8 if len(panels) == 1 else 0), height)
    for ax, panel in zip(axes[0], panels, strict=True):
        series: dict[str, list[Contestant]] = {}
        for c in panel.players:
            series.setdefault(c.series, []).append(c)
        here = [s for s in e.stated if s.series in series and _spans(analysis, panel, s)]
        _set_x_axis(ax, [c.x for c in panel.players if c.x is not None] + [x for s in here for x in s.x])
        for i, (label, players) in enumerate(series.items()):
            style, aside = line_style(order.index(label)), _DODGE * (i - (len(series) - 1) / 2)
            _draw_points(ax, [(c.x, panel.measure(analysis, c)) for c in players], players[0].legend, style, aside)
            for s in here:
                if s.series == label:
                    beside = aside if {c.x for c in players} & set(s.x) else 0.0
                    _draw_stated(ax, s, _spans(analysis, panel, s), style["color"], _mark(e, s), beside)
        levels = {} if panel.opponents else _draw_fixed(ax, e, analysis)
        if panel.opponents:
            ax.set_ylim(0, 1)
            percent(ax.yaxis)
        ax.set_xlabel(panel.x)
        ax.set_ylabel(panel.y)
        _key_of_stated(ax, e, here)
        if len(ax.get_legend_handles_labels()[1]) > 1:
            legend_below(ax, 2)
        light_frame(ax)
        name_levels(ax, levels)
    return figure, "Bars: 95 % intervals."


def _spans(analysis: Analysis, panel: _Panel, s: StatedConfig) -> list[Span]:
    return stated_shares(s, panel.opponents) if panel.opponents else stated_ratings(analysis, s)


def _draw_fixed(ax: Any, e: Experiment, analysis: Analysis) -> dict[str, float]:
    """Draw the ratings of players without x, ours and the paper's, as lines; return their names and places."""
    levels = {}
    for c in _fixed(e, analysis):
        if c.name in analysis.unrated:
            continue
        elo = analysis.elo(c.name) or analysis.rating(c.name)
        ax.axhline(elo.value, color=INK, linewidth=0.8, linestyle="--")
        levels[c.name] = elo.value
        for s in e.stated:
            if s.series == c.name:
                _draw_stated(ax, s, stated_ratings(analysis, s), INK, _mark(e, s))
                levels |= {f"{c.name}, {s.by}": low for low, _ in stated_ratings(analysis, s)}
    return levels


def _set_x_axis(ax: Any, xs: Sequence[float]) -> None:
    """Put ticks at the points, leave room around them, and use a log scale if they lie far apart."""
    least, most = min(xs), max(xs)
    if least > 0 and most >= 8 * least:
        room = (most / least) ** 0.06
        ax.set_xscale("log")
        ax.set_xlim(least / room, most * room)
        ax.minorticks_off()
    else:
        room = 0.06 * (most - least) or abs(most) / 2
        ax.set_xlim(least - room, most + room)
    ticks, labels, last = sorted(set(xs)), [], -1.0
    for x in ticks:
        at = float(ax.transAxes.inverted().transform(ax.transData.transform((x, 1)))[0])
        is_far = at - last > _TICK
        labels.append(f"{x:,g}" if is_far else "")
        last = at if is_far else last
    ax.set_xticks(ticks, labels)


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
        panels += [_Panel(along, on_scale, players) for along, players in _by_axis(e, moving).items()]
    if e.settings.pairing != "swiss":
        for other in fixed if e.settings.pairing == "gauntlet" else [c for c in fixed if c.name.startswith("GNU Go")]:
            name = other.name
            panels.append(_Panel(e.settings.x, f"won against {name}", moving, partial(_always, name), (name,)))
    rivals = {(c.series, c.x): c.name for c in moving}
    for along, players in _by_axis(e, [c for c in moving if c.against]).items():
        labels = tuple(dict.fromkeys(c.against for c in players))
        names = dict.fromkeys(c.legend for c in moving if c.series in labels)
        y = f"won against {', '.join(names)}"
        panels.append(_Panel(along, y, players, lambda c: rivals[c.against, c.x], labels))
    return panels


def _always(name: str, _: Contestant) -> str:
    return name


def _by_axis(e: Experiment, players: Sequence[Contestant]) -> dict[str, list[Contestant]]:
    """Return players by the name of their x axis."""
    found: dict[str, list[Contestant]] = {}
    for c in players:
        found.setdefault(c.along or e.settings.x, []).append(c)
    return found


def _draw_points(ax: Any, points: list[Any], label: str, style: Mapping[str, Any], aside: float) -> None:
    """Draw a series with its intervals, moved `aside`; points that were not measured are left out."""
    there = [(x, m) for x, m in points if m is not None]
    if there:
        error = [[m.value - m.low for _, m in there], [m.high - m.value for _, m in there]]
        ax.errorbar(
            [_moved(ax, x, aside) for x, _ in there], [m.value for _, m in there], error, **style, markersize=5,
            capsize=3, linewidth=1.2, label=label,
        )  # fmt: skip


# ---------------------------------------------------------------------------------------------
# What the paper states
# ---------------------------------------------------------------------------------------------


def _draw_stated(ax: Any, s: StatedConfig, places: Sequence[Span], colour: Any, mark: str, aside: float = 0.0) -> None:
    """Draw stated numbers: at their x with a hollow mark, as broad bars where they are ranges; without x, as lines."""
    if not places:
        return
    if not s.x:
        ((low, high),) = places
        ax.axhline(low, color=colour, linewidth=1.2, linestyle=":")
        if high > low:
            ax.axhline(high, color=colour, linewidth=1.2, linestyle=":")
            ax.axhspan(low, high, color=colour, alpha=0.12, linewidth=0)
        return
    xs = [_moved(ax, x, aside) for x in s.x]
    if s.up_to:
        for x, (low, high) in zip(xs, places, strict=True):
            ax.plot([x, x], [low, high], color=colour, linewidth=9, alpha=0.3, solid_capstyle="butt")
    else:
        ax.plot(xs, [low for low, _ in places], color=colour, zorder=4, **_hollow(mark))


def _key_of_stated(ax: Any, e: Experiment, stated: Sequence[StatedConfig]) -> None:
    """List the sources of the stated numbers in the legend."""
    for s in {s.by: s for s in stated}.values():
        ax.plot([], [], color=INK, label=s.by, **_hollow(_mark(e, s)))


def _hollow(mark: str) -> dict[str, Any]:
    return {
        "marker": mark, "markersize": 8, "markerfacecolor": "white", "markeredgewidth": 1.5, "linestyle": ":",
        "linewidth": 1.2,
    }  # fmt: skip


def _mark(e: Experiment, s: StatedConfig) -> str:
    """Return the marker for the source of these numbers."""
    return _STATED_MARKS[list(dict.fromkeys(t.by for t in e.stated)).index(s.by) % len(_STATED_MARKS)]


def _moved(ax: Any, x: float, aside: float) -> float:
    """Return x moved along the axis by a share of its length, so that points at the same x do not hide each other."""
    left, right = ax.get_xlim()
    return float(x * (right / left) ** aside if ax.get_xscale() == "log" else x + aside * (right - left))
