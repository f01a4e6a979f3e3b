"""A picture of a tournament's ratings."""

from __future__ import annotations

from pathlib import Path

from rlgo.base.errors import RlgoError
from train.arena.tournament import Standing
from train.plots import FIRST, light_frame, make_figure, save_figure


def tournament_picture(path: str | Path, standing: Standing) -> None:
    """Write a PNG of a tournament's ratings, best on top, with their 95 % intervals.

    Parameters
    ----------
    path : of the PNG file
    standing : the tournament's standing, with ratings

    Raises
    ------
    RlgoError : without ratings, and without matplotlib.
    """
    if standing.ratings is None:
        raise RlgoError(f"no ratings yet: {standing.unrated}")
    players = standing.ratings.players[::-1]
    figure, axes = make_figure(1, 1, 8, max(2.0, 0.9 + 0.3 * len(players)))
    ax = axes[0, 0]
    for y, player in enumerate(players):
        error = [[player.elo - player.ci95[0]], [player.ci95[1] - player.elo]]
        ax.errorbar([player.elo], [y], xerr=error, fmt="D" if player.anchor else "o", capsize=3, color=FIRST)
        ax.annotate(f"{player.elo:.0f}", (player.elo, y), (0, 5), textcoords="offset points", ha="center", fontsize=8)
    ax.set_yticks(range(len(players)), [player.name for player in players], fontsize=9)
    ax.set_ylim(-0.7, len(players) - 0.3)
    anchors = ", ".join(player.name for player in players if player.anchor)
    ax.set_xlabel(f"Elo ({f'given: {anchors}' if anchors else 'mean 0'}), with 95 % intervals")
    s = standing.plan.settings
    ax.set_title(f"{s.name}: {s.kind}, {s.size}x{s.size}, {standing.games:,} games", fontsize=10, loc="left")
    light_frame(ax, "x")
    save_figure(figure, path)
