"""Pictures of boards, of maps of values and of local shapes, drawn by matplotlib.

Start reading at `draw_board`. *Colours* are uint8[rows, cols] of EMPTY, BLACK and WHITE, with the lowest row first, as
`rlgo.go.draw.colors_of` extracts them from a board; a shape already is such an array.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgo.features.weights import Shape, Weights, strongest
from rlgo.go.board import BLACK, EMPTY, WHITE
from rlgo.go.coords import star_points, to_row_col
from train.plots import make_figure

_WOOD, _INK, _MARK = "#deb878", "#3c2d19", "#e63c32"
_HIGH, _LOW = "#cd322d", "#285ac8"  # red: good for Black; blue: for White
_STONES = {BLACK: "#141414", WHITE: "#f5f5f5"}


def draw_board(
    ax: Any, colors: np.ndarray, values: np.ndarray | None = None, *, is_whole: bool = True, last: int | None = None
) -> None:
    """Draw stones on wood; the point (row, col) is at x = col, y = row.

    Parameters
    ----------
    ax : matplotlib's axes
    colors : uint8[rows, cols]
    values : float[rows, cols], a map under the stones: red towards 1, blue towards 0, plain wood for 0.5 and for NaN
    is_whole : a whole board, so that lines end at the outer points; otherwise they run to the edge
    last : the point of the last move, marked by a dot; PASS or None marks nothing
    """
    from matplotlib.collections import PatchCollection  # slow to load
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Circle

    rows, cols = colors.shape
    ax.set(xlim=(-0.5, cols - 0.5), ylim=(-0.5, rows - 0.5), aspect="equal", facecolor=_WOOD, xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)
    if values is not None:
        tint = np.clip(2 * np.nan_to_num(values, nan=0.5) - 1, -1, 1)[..., None]
        paint = np.concatenate([np.where(tint > 0, to_rgb(_HIGH), to_rgb(_LOW)), np.abs(tint)], axis=-1)
        ax.imshow(paint, origin="lower", interpolation="none", extent=(-0.5, cols - 0.5, -0.5, rows - 0.5), zorder=1)
    beyond = 0.0 if is_whole else 0.5
    ax.hlines(range(rows), -beyond, cols - 1 + beyond, color=_INK, linewidth=0.7, zorder=2)
    ax.vlines(range(cols), -beyond, rows - 1 + beyond, color=_INK, linewidth=0.7, zorder=2)

    def dots(places: Any, radius: float, face: str, edge: str, zorder: int) -> None:
        circles = [Circle((col, row), radius) for row, col in places]
        ax.add_collection(PatchCollection(circles, facecolor=face, edgecolor=edge, linewidth=0.7, zorder=zorder))

    if is_whole:
        dots([to_row_col(p, rows) for p in star_points(rows)], 0.1, _INK, _INK, 3)
    for color, paint_of_stone in _STONES.items():
        dots(np.argwhere(colors == color), 0.45, paint_of_stone, _INK, 4)
    if last:
        dots([to_row_col(last, rows)], 0.16, _MARK, _MARK, 5)


def write_values(ax: Any, colors: np.ndarray, values: np.ndarray) -> None:
    """Write a map of values in per cent onto the empty points of a board."""
    ground = {"boxstyle": "circle,pad=0.1", "facecolor": "white", "linewidth": 0, "alpha": 0.75}
    font = {"ha": "center", "va": "center", "fontsize": 130 / (len(colors) + 2), "fontweight": "bold"}
    for row, col in np.argwhere(np.isfinite(values) & (colors == EMPTY)):
        ax.text(col, row, f"{100 * values[row, col]:.0f}", bbox=ground, zorder=6, **font)


def draw_shapes(ax: Any, shapes: Sequence[Shape], columns: int = 10) -> list[tuple[float, float]]:
    """Draw shapes side by side, so many in a row, each on wood that is the redder, or bluer, the larger its weight.

    Returns (x, y) below the middle of each, for captions.
    """
    ax.set_axis_off()
    if not shapes:
        return []
    largest, side = max(abs(s.weight) for s in shapes), max(max(s.cells.shape) for s in shapes)
    width, rows = 1 / columns, -(-len(shapes) // columns)
    places = []
    for i, shape in enumerate(shapes):
        left, bottom = i % columns * width, 1 - (i // columns + 1) / rows
        share = [n / side for n in shape.cells.shape[::-1]]
        inner = ax.inset_axes(
            (left + 0.05 * width, bottom + 0.15 / rows, 0.9 * width * share[0], 0.8 / rows * share[1])
        )
        draw_board(inner, shape.cells, np.full(shape.cells.shape, shape.weight / largest / 2 + 0.5), is_whole=False)
        places.append((left + width / 2, bottom + 0.07 / rows))
    return places


def values_figure(values: np.ndarray, low: float, high: float) -> Any:
    """Draw a map of values, float[size, size], in per cent, with a legend: `low` is blue, and `high` red."""
    from matplotlib.cm import ScalarMappable  # slow to load
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    side = max(4, 0.4 * len(values))  # inches: room for two digits on each point
    figure, axes = make_figure(1, 1, side, side + 0.2)
    ax, empty = axes[0, 0], np.zeros(values.shape, np.uint8)
    draw_board(ax, empty, np.clip((values - low) / (high - low), 0, 1))
    write_values(ax, empty, values)
    shades = LinearSegmentedColormap.from_list("values", [_LOW, _WOOD, _HIGH])
    bar = figure.colorbar(ScalarMappable(Normalize(100 * low, 100 * high), shades), ax=ax, location="bottom")
    bar.set_label("P(Black wins), %")
    return figure


def shapes_figure(weights: Weights, top: int = 10) -> Any:
    """Draw the strongest shapes of each block of weights, a row each."""
    blocks = weights.features.blocks
    figure, axes = make_figure(len(blocks), 1, 0.8 * top, 1.1 * len(blocks))
    for ax, block in zip(axes[:, 0], blocks, strict=True):
        draw_shapes(ax, strongest(weights, block, top), top)
        ax.set_title(block.name, fontsize=8, loc="left")
    return figure


def board_image(colors: np.ndarray, last: int | None = None, cell: int = 24) -> np.ndarray:
    """Draw a board as a picture, uint8[size * cell, size * cell, 3]; see `draw_board`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow to load

    side = len(colors) * cell / 100
    figure, axes = make_figure(1, 1, side, side)
    figure.set_layout_engine("none")
    axes[0, 0].set_position((0, 0, 1, 1))
    draw_board(axes[0, 0], colors, last=last)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def png_of(figure: Any) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()
