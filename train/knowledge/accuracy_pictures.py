"""Pictures of how well patterns predict moves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from train.knowledge.learning import RANKS, Accuracy, CurvePoint
from train.plots import light_frame, make_figure, percent, save_figure


def accuracy_picture(path: str | Path, found: Sequence[Accuracy]) -> None:
    """Write a PNG: how often the move played is among the best k, and the log-likelihood by phase."""
    figure, axes = make_figure(1, 2, 11, 4.5)
    left, right = axes[0]
    names = list(dict.fromkeys(a.name for a in found))
    phases = [phase for phase in dict.fromkeys(a.phase for a in found) if phase != "all"]
    for i, name in enumerate(names):
        rows = {a.phase: a for a in found if a.name == name}
        left.plot(range(1, RANKS + 1), rows["all"].by_rank, marker=".", color=f"C{i}", label=name)
        values = [rows[phase].log_likelihood for phase in phases]
        right.plot(range(len(phases)), values, marker="o", color=f"C{i}", label=name)
    percent(left.yaxis)
    left.set_ylim(0, 1)
    left.set_xticks([1, *range(5, RANKS + 1, 5)])
    left.set_xlabel("rank k")
    left.set_title("Move played among the best k", fontsize=10, loc="left")
    left.legend(frameon=False, fontsize=9)
    right.set_xticks(range(len(phases)), [phase.removeprefix("moves ") for phase in phases])
    right.set_xlabel("move of the game")
    right.set_title("Mean log-likelihood of the move played", fontsize=10, loc="left")
    for ax in (left, right):
        light_frame(ax)
    save_figure(figure, path)


def curve_picture(path: str | Path, points: Sequence[CurvePoint]) -> None:
    """Write a PNG of a learning curve: log-likelihood and top-1 accuracy over the number of games."""
    figure, axes = make_figure(1, 2, 11, 4)
    left, right = axes[0]
    games = [p.games for p in points]
    left.plot(games, [p.log_likelihood for p in points], marker="o")
    right.plot(games, [p.top[0] for p in points], marker="o")
    percent(right.yaxis)
    for ax, title in ((left, "Mean log-likelihood, games held out"), (right, "Move played is the most probable one")):
        ax.set_xscale("log")
        ax.set_xlabel("games learned from")
        ax.set_title(title, fontsize=10, loc="left")
        light_frame(ax)
    save_figure(figure, path)
