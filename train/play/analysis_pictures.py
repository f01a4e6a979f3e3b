"""Pictures of analyses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rlgo.features.weights import strongest
from rlgo.go.board import PASS
from rlgo.go.coords import COLUMNS, from_row_col, to_row_col, to_vertex
from rlgo.go.draw import colors_of
from rlgo.go.game import COLOR_NAMES
from rlgo.play.player import RESIGN
from train.board_pictures import draw_board, draw_shapes, write_values
from train.play.analyze import Analysis, describe_map
from train.plots import INK, make_figure, save_figure

_COLUMNS = 5  # shapes in a row


def analysis_picture(path: str | Path, analysis: Analysis, top: int = 10) -> None:
    """Write a PNG of an analysis: a board for each map, and the shapes whose weights changed most.

    RlgoError without matplotlib.
    """
    maps = analysis.known_maps()
    blocks = [] if analysis.memory is None or not top else analysis.memory.features.blocks
    rows, columns = 2 if blocks else 1, max(1, len(maps), len(blocks))
    figure, axes = make_figure(rows, columns, 4.6 * columns, 5.1 + 2.2 * (rows - 1), height_ratios=[2.4, 1][:rows])
    for ax in axes.flat:
        ax.set_axis_off()
    for ax, (name, values) in zip(axes[0], maps.items(), strict=False):
        _draw_map(ax, analysis, values)
        ax.set_title(f"{name}: {describe_map(name)}, %", fontsize=10, loc="left")
    for ax, block in zip(axes[-1], blocks, strict=False):
        _draw_shapes(ax, analysis, block, top)
    title = f"{COLOR_NAMES[analysis.game.to_play]} to play; {analysis.player} plays {analysis.name_of(analysis.move)}"
    figure.suptitle("\n".join([title, *analysis.report]), fontsize=11)
    note = "Colours from blue, 0 %, over plain wood, 50 %, to red, 100 %. Ring: the move played."
    figure.supxlabel(note if maps else "", fontsize=8, color=INK)
    save_figure(figure, path)


def _draw_map(ax: Any, analysis: Analysis, values: np.ndarray) -> None:
    """Draw a board with its coordinates and a map of values, in the same colours for every position."""
    from matplotlib.patches import Circle  # slow to load

    colors = colors_of(analysis.game.board)
    size = len(colors)
    ax.set_axis_on()
    draw_board(ax, colors, values)
    write_values(ax, colors, values)
    if analysis.move not in (RESIGN, PASS):
        row, col = to_row_col(analysis.move, size)
        ax.add_patch(Circle((col, row), 0.46, fill=False, linewidth=2.5, color="black", zorder=5))
    ax.set_xticks(range(size), COLUMNS[:size])
    ax.set_yticks(range(size), [f"{i}" for i in range(1, size + 1)])
    ax.tick_params(length=0)


def _draw_shapes(ax: Any, analysis: Analysis, block: Any, top: int) -> None:
    """Draw the shapes of a block whose weights changed most, each with its weight and, if it has one, its place."""
    assert analysis.memory is not None
    shapes, size = strongest(analysis.memory, block, top), analysis.game.size
    ax.set_title(f"learned most, {block.name}; red: good for Black, blue: for White", fontsize=10, loc="left")
    for (weight, _, row, col), at in zip(shapes, draw_shapes(ax, shapes, _COLUMNS), strict=True):
        place = "" if block.kind == "LI" else f" {to_vertex(from_row_col(row, col, size), size)}"
        ax.text(*at, f"{weight:+.2f}{place}", ha="center", va="center", fontsize=7, color=INK, transform=ax.transAxes)
