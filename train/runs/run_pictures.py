"""Pictures of training runs: two runs compared, a sweep, and the ratings of weights.

Start reading at `comparison_picture`, `curves_picture`, `sweep_picture` and `ratings_picture`. Commands draw them, from
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
    INK,
    PALETTE,
    SECOND,
    legend_below,
    light_frame,
    line_style,
    make_figure,
    percent,
    save_figure,
    step_style,
)
from train.runs.compare import Comparison, Side
from train.runs.evaluate import Evaluation
from train.runs.rate_runs import CurvePoint
from train.runs.sweep import Outcome, Setting, Sweep, seed_deviation, settings_of

# ---------------------------------------------------------------------------------------------
# Two runs
# ---------------------------------------------------------------------------------------------


def comparison_picture(path: str | Path, found: Comparison) -> None:
    """Write a PNG of a comparison: A's win rate by games of self-play, and curves from the logs of both runs.

    Raises RlgoError without matplotlib.
    """
    logged = {
        "learning/mean_abs_delta": "mean |δV|",
        "selfplay/game_length": "moves per game",
        "selfplay/black_win_rate": "Black's wins in self-play",
    }
    figure, axes = make_figure(2, 2, 9, 6.5, sharex=True)
    _draw_curve(axes[0, 0], found)
    for ax, (key, label) in zip(axes.flat[1:], logged.items(), strict=True):
        for side, colour in ((found.a, FIRST), (found.b, SECOND)):
            _draw_metric(ax, side, key, colour)
        ax.set_title(label, fontsize=10, loc="left")
        if key == "selfplay/black_win_rate":
            percent(ax.yaxis)
    for ax in axes.flat:
        ax.set_xscale("log")
        light_frame(ax)
    for ax in axes[1]:
        ax.set_xlabel("games of self-play")
    figure.suptitle(f"A  {found.a.name}          B  {found.b.name}", fontsize=11)
    save_figure(figure, path)


def _draw_curve(ax: Any, found: Comparison) -> None:
    """Draw A's win rate over games of self-play, with its interval."""
    # A weight file has no checkpoints: take the number of games of the run it plays.
    of_a = bool(found.a.checkpoints) or not found.b.checkpoints
    points = [*found.curve]
    ages = [point.games_a if of_a else point.games_b for point in points]
    if found.last.games_a == found.last.games_b or not (found.a.checkpoints and found.b.checkpoints):
        points.append(found.last)
        ages.append(max(1, found.last.games_a if of_a else found.last.games_b))
    rates = [point.win_rate for point in points]
    ax.axhline(0.5, color=INK, linewidth=0.8)
    ax.fill_between(ages, [p.ci95[0] for p in points], [p.ci95[1] for p in points], color=FIRST, alpha=0.2, linewidth=0)
    ax.plot(ages, rates, color=FIRST, marker="o", markersize=3.5, linewidth=1.2)
    ax.set_ylim(0, 1)
    percent(ax.yaxis)
    ax.set_title(f"A won of {found.games:,} games, with 95 % intervals", fontsize=10, loc="left")


def _draw_metric(ax: Any, side: Side, key: str, colour: str) -> None:
    """Draw one number of the logs over games of self-play."""
    points = [(line["games"], line[key]) for line in side.metrics if key in line]
    if points:
        ax.plot(*zip(*points, strict=True), color=colour, label="A" if colour == FIRST else "B", linewidth=1.2)
        ax.legend(frameon=False, fontsize=9)


# ---------------------------------------------------------------------------------------------
# Learning curves
# ---------------------------------------------------------------------------------------------


def curves_picture(path: str | Path, curves: Mapping[str, Sequence[CurvePoint]]) -> None:
    """Write a PNG of the learning curves of runs, laid over one another: Elo with the intervals of the games.

    curves : for each name of a run, its points (`rate_runs.rate_runs`)

    Raises RlgoError without matplotlib.
    """
    figure, axes = make_figure(1, 1, 8.5, 5.5)
    ax = axes[0, 0]
    for i, (name, curve) in enumerate(curves.items()):
        style = _curve_style(i, len(curves))
        ages = [point.games for point in curve]
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
    """Write a PNG of Elo over the parameters of a sweep: a map for a grid of two, otherwise one panel for each.

    Raises RlgoError without matplotlib.
    """
    if len(sweep.keys) == 2 and sweep.kind == "grid":
        figure = _grid_map(sweep, outcomes)
    else:
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


def _grid_map(sweep: Sweep, outcomes: Sequence[Outcome]) -> Any:
    """Draw the mean Elo of the seeds for each pair of values of two parameters."""
    figure, axes = make_figure(1, 1, 7, 5)
    ax = axes[0, 0]
    x, y = (_values(outcomes, key) for key in sweep.keys)
    total, count = np.zeros((2, len(y), len(x)))
    for outcome in outcomes:
        if outcome.elo is not None:
            column, row = (v.index(_value(outcome, key)) for v, key in zip((x, y), sweep.keys, strict=True))
            total[row, column] += outcome.elo.elo
            count[row, column] += 1
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    image = ax.imshow(mean, origin="lower", aspect="auto", cmap="viridis")
    middle = (np.nanmin(mean) + np.nanmax(mean)) / 2 if count.any() else 0
    for (row, column), elo in np.ndenumerate(mean):
        text, colour = ("failed", "tab:red") if np.isnan(elo) else (f"{elo:,.0f}", "w" if elo < middle else "k")
        ax.text(column, row, text, ha="center", va="center", color=colour)
    ax.set_xticks(range(len(x)), list(map(_name, x)))
    ax.set_yticks(range(len(y)), list(map(_name, y)))
    ax.set_xlabel(sweep.keys[0])
    ax.set_ylabel(sweep.keys[1])
    figure.colorbar(image, label="Elo")
    return figure


# ---------------------------------------------------------------------------------------------
# Ratings
# ---------------------------------------------------------------------------------------------


def ratings_picture(path: str | Path, found: Evaluation) -> None:
    """Write a PNG of ratings: a learning curve for each run, points for weight files, lines for other players.

    Raises RlgoError without matplotlib.
    """
    figure, axes = make_figure(1, 1, 8, 5)
    ax = axes[0, 0]
    curves, drawn = found.curves(), {player.name for player in found.ratings.players if player.anchor}
    for run, curve in curves.items():
        ratings = [found.ratings[name] for _, name in curve]
        games = [games for games, _ in curve]
        (line,) = ax.plot(games, [r.elo for r in ratings], marker="o", markersize=3.5, linewidth=1.2, label=run)
        low, high = zip(*(r.ci95 for r in ratings), strict=True)
        ax.fill_between(games, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        drawn |= {name for _, name in curve}
    for entrant in found.entrants:
        if not entrant.run and entrant.weights.games:
            rating = found.ratings[entrant.name]
            error = [[rating.elo - rating.ci95[0]], [rating.ci95[1] - rating.elo]]
            ax.errorbar([entrant.weights.games], [rating.elo], error, fmt="s", capsize=3, label=entrant.name)
            drawn.add(entrant.name)
    for player in found.ratings.players:
        if player.name not in drawn:
            ax.axhline(player.elo, color=INK, linewidth=0.8, linestyle="--")
            ax.annotate(player.name, (0.01, player.elo), xycoords=("axes fraction", "data"), va="bottom", fontsize=9)
    ax.set_xscale("log")
    ax.set_xlabel("games of self-play")
    ax.set_ylabel(f"Elo ({SCALE})")
    ax.set_title(
        f"{found.size}x{found.size}, {found.games:,} games a pair, with 95 % intervals", fontsize=10, loc="left"
    )
    light_frame(ax)
    if ax.get_legend_handles_labels()[1]:
        ax.legend(frameon=False, fontsize=9, loc="lower right")
    save_figure(figure, path)
