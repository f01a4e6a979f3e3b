"""Pictures of training runs: learning curves, and sweeps.

Start reading at `curves_picture` and `sweep_picture`. Commands draw them, from
results that were computed without matplotlib.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError
from train.arena.rating_scale import SCALE
from train.plots import (
    FIRST,
    PALETTE,
    legend_below,
    light_frame,
    line_style,
    make_figure,
    save_figure,
    step_style,
)
from train.runs.evaluate import CurvePoint
from train.runs.sweep import Outcome, Setting, Sweep, seed_deviation, settings_of

# ---------------------------------------------------------------------------------------------
# Learning curves
# ---------------------------------------------------------------------------------------------


def curves_picture(path: str | Path, curves: Mapping[str, Sequence[CurvePoint]]) -> None:
    """Write a PNG of the learning curves of runs, laid over one another: Elo with the intervals of the games.

    curves : for each name of a run, its points (`evaluate.rate_runs`)

    Raises RlgoError without matplotlib.
    """
    figure, axes = make_figure(1, 1, 8.5, 5.5)
    ax = axes[0, 0]
    for i, (name, curve) in enumerate(curves.items()):
        style = _curve_style(i, len(curves))
        ages = [max(1, point.games) for point in curve]  # the axis is logarithmic
        ax.plot(ages, [point.elo for point in curve], **style, markersize=3.5, linewidth=1.4, label=name)
        low, high = [point.low for point in curve], [point.high for point in curve]
        ax.fill_between(ages, low, high, color=style["color"], alpha=0.2, linewidth=0)
    _finish_curves(ax, "bands: 95 % intervals of the games")
    figure.suptitle(f"Elo ({SCALE})", fontsize=10)
    save_figure(figure, path)


def _curve_style(i: int, n: int) -> dict[str, Any]:
    return step_style(i, n) if n > len(PALETTE) else line_style(i)


def _finish_curves(ax: Any, note: str) -> None:
    ax.set_xscale("log")
    ax.set_xlabel(f"games of self-play; {note}")
    ax.set_ylabel("Elo")
    light_frame(ax)
    legend_below(ax, 2)


# ---------------------------------------------------------------------------------------------
# A sweep
# ---------------------------------------------------------------------------------------------


def sweep_picture(path: str | Path, sweep: Sweep, outcomes: Sequence[Outcome]) -> None:
    """Write a PNG of a sweep: the learning curves of all settings, and the ranking with its intervals.

    Raises RlgoError without matplotlib, and if all runs failed.
    """
    found = [s for s in settings_of(outcomes) if s.runs]
    if not found:
        raise RlgoError(f"{sweep.folder}: all runs failed: nothing to draw")
    shown = found[:_MOST_SETTINGS]
    order = sorted(shown, key=lambda s: tuple(s.values.values()))  # colours do not depend on the ranking
    figure, axes = make_figure(1, 2, 13, max(5.0, 2.4 + 0.3 * len(shown)), width_ratios=[3, 2])
    several = _draw_settings(axes[0, 0], order)
    _finish_curves(axes[0, 0], "mean of the seeds, band: its 95 % interval" if several else "bands: 95 % intervals")
    ax = axes[0, 1]
    for y, s in enumerate(shown):
        colour = _curve_style(order.index(s), len(order))["color"]
        ax.errorbar([s.elo], [y], xerr=[s.half], fmt="o", color=colour, capsize=3)
        ax.plot([o.elo.elo for o in s.runs if o.elo], [y + 0.2] * len(s.runs), "|", color=colour, markersize=7)
    ax.set_yticks(range(len(shown)), [s.text for s in shown], fontsize=8)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    cover = "over seeds" if several else "of the games"
    ax.set_xlabel(f"Elo at the end; bars: 95 % intervals {cover}" + ("\nstrokes: single seeds" if several else ""))
    light_frame(ax)
    more = f" (the best {len(shown)} of {len(found)} settings)" if len(found) > len(shown) else ""
    figure.suptitle(f"{sweep.folder.name}: Elo ({SCALE}){more}", fontsize=11)
    save_figure(figure, path)


_MOST_SETTINGS = 24  # in one picture


def _draw_settings(ax: Any, settings: Sequence[Setting]) -> bool:
    """Draw the learning curve of each setting; return whether any has several seeds."""
    several = any(len(s.runs) > 1 for s in settings)
    for i, s in enumerate(settings):
        style = _curve_style(i, len(settings))
        ages = sorted(set.intersection(*({point.games for point in o.curve} for o in s.runs)))
        at = [[next(p for p in o.curve if p.games == age) for o in s.runs] for age in ages]
        mean = [float(np.mean([p.elo for p in points])) for points in at]
        half = [(points[0].high - points[0].low) / 2 for points in at]
        if several:
            half = [_deviation(settings, age) / len(s.runs) ** 0.5 for age in ages]
        ax.plot(ages, mean, **style, markersize=3.5, linewidth=1.4, label=s.text)
        low, high = np.array(mean) - half, np.array(mean) + half
        ax.fill_between(ages, low, high, color=style["color"], alpha=0.2, linewidth=0)
    return several


def _deviation(settings: Sequence[Setting], age: int) -> float:
    """Return `sweep.seed_deviation` at an age, of the settings that reached it."""
    return seed_deviation([[p.elo for o in s.runs for p in o.curve if p.games == age] for s in settings])


def parameters_picture(path: str | Path, sweep: Sweep, outcomes: Sequence[Outcome]) -> None:
    """Write a PNG of Elo over the parameters of a sweep, one panel for each.

    Raises RlgoError without matplotlib.
    """
    keys = sweep.keys or ("run.seed",)
    columns = 2 if len(keys) == 4 else min(3, len(keys))
    rows = -(-len(keys) // columns)
    figure, axes = make_figure(rows, columns, 2 + 4 * columns, 4 * rows, sharey=True)
    for ax, key in zip(axes.flat, keys, strict=False):
        _draw_parameter(ax, sweep, outcomes, key)
    for ax in axes.flat[len(keys) :]:
        ax.set_visible(False)
    figure.suptitle(f"{sweep.folder.name}: Elo at the end ({SCALE})", fontsize=11)
    save_figure(figure, path)


def _value(outcome: Outcome, key: str) -> Any:
    """Return the value that a run has for a parameter."""
    return outcome.spec.values.get(key, outcome.spec.config.run.seed)


def _values(outcomes: Sequence[Outcome], key: str) -> list[Any]:
    """Return the values of a parameter, ascending; they are of one type."""
    return sorted({_value(outcome, key) for outcome in outcomes})


def _name(value: Any) -> str:
    """Format a value as the label of a tick."""
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    return f"{value:g}" if type(value) is float else str(value)


def _draw_parameter(ax: Any, sweep: Sweep, outcomes: Sequence[Outcome], key: str) -> None:
    """Draw Elo over one parameter: a point with its interval for each run; values that are no numbers, side by side.

    If it is the only parameter, a line connects the means of the seeds.
    """
    values = _values(outcomes, key)
    numbers = type(values[0]) in (int, float) and key != "run.seed"
    by_place: dict[float, list[float]] = {}
    failed = []
    for outcome in outcomes:
        x = float(_value(outcome, key) if numbers else values.index(_value(outcome, key)))
        if outcome.elo is None:
            failed.append(x)
            continue
        _, elo, low, high = outcome.elo
        ax.plot([x, x], [low, high], color=FIRST, linewidth=1, alpha=0.4)
        ax.plot([x], [elo], color=FIRST, marker="o", markersize=4, linestyle="none", alpha=0.8)
        by_place.setdefault(x, []).append(elo)
    if len(sweep.keys) == 1 and numbers and by_place:
        means = sorted((x, sum(rates) / len(rates)) for x, rates in by_place.items())
        ax.plot(*zip(*means, strict=True), color=FIRST, linewidth=1.2)
    if failed:
        ax.plot(failed, [0.02] * len(failed), "x", color="tab:red", transform=ax.get_xaxis_transform(), label="failed")
        ax.legend(frameon=False, fontsize=9)
    if numbers and values[0] > 0 and values[-1] >= 8 * values[0]:
        ax.set_xscale("log")
    if sweep.kind == "grid" or not numbers:  # drawn numbers get an ordinary scale
        ax.minorticks_off()
        ax.set_xticks(values if numbers else range(len(values)), list(map(_name, values)))
    ax.set_xlabel(key)
    ax.set_ylabel("Elo")
    light_frame(ax)
