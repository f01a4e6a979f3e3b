"""Code shared by all pictures: figures, colours and axes.

Each picture is in the package that makes its results. Pictures need matplotlib, which comes
with ``pip install 'rlgo[plot]'``. It is imported when a picture is drawn, because it is slow to load.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.base.files import write_atomically

# Colours that colour-blind readers can tell apart (Okabe and Ito 2008), without yellow, which is too light for lines;
# dark grey for lines and text of the frame.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
FIRST, SECOND, INK = PALETTE[0], PALETTE[1], "0.25"
_MARKERS, _LINES = "os^vDPX<>*", ("-", "--", "-.", ":")


def line_style(i: int) -> dict[str, Any]:
    """Return colour, marker and line style of line `i` of a picture, so that none depends on its colour alone."""
    return {
        "color": PALETTE[i % len(PALETTE)],
        "marker": _MARKERS[i % len(_MARKERS)],
        "linestyle": _LINES[i // len(PALETTE) % len(_LINES)],
    }


def step_style(i: int, n: int) -> dict[str, Any]:
    """Return the style of step `i` of `n` of one setting: from dark to light, each with its own marker."""
    from matplotlib import colormaps  # slow to load

    return {"color": colormaps["viridis"](0.92 * i / max(1, n - 1)), "marker": _MARKERS[i % len(_MARKERS)]}


def need_matplotlib() -> None:
    """Raise an RlgoError if matplotlib is missing; call it before starting long work."""
    try:
        import matplotlib.figure  # noqa: F401 - only tried
    except ImportError:
        raise RlgoError("pictures need matplotlib: pip install 'rlgo[plot]'") from None


def make_figure(rows: int, columns: int, width: float, height: float, **shared: Any) -> tuple[Any, Any]:
    """Make a matplotlib figure of width x height inches with a grid of axes.

    Returns the figure and its axes, object[rows, columns]. Further keywords go to ``Figure.subplots``.

    Raises RlgoError without matplotlib.
    """
    need_matplotlib()
    from matplotlib.figure import Figure  # slow to load

    figure = Figure(figsize=(width, height), layout="constrained", dpi=100)
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def save_figure(figure: Any, path: str | Path, description: str | None = None) -> None:
    """Write a matplotlib figure as a PNG file, with a description in its metadata if one is given.

    Raises RlgoError if it cannot be written.
    """
    picture = io.BytesIO()
    figure.savefig(picture, format="png", metadata={"Description": description})
    write_atomically(path, picture.getvalue())


def percent(axis: Any) -> None:
    """Label the ticks of an axis in percent."""
    from matplotlib.ticker import PercentFormatter  # slow to load

    axis.set_major_formatter(PercentFormatter(1.0))


def light_frame(ax: Any, axis: str = "both") -> None:
    """Draw a faint grid, and no frame at the top and on the right."""
    ax.grid(alpha=0.25, axis=axis)
    ax.spines[["top", "right"]].set_visible(False)


_LEGEND_DEPTH = 38.0  # points from the axes to the legend, which leave room for ticks and label


def legend_below(ax: Any, columns: int, title: str = "") -> None:
    """Put a legend below the axes, where it hides nothing; no legend if there is nothing to label."""
    from matplotlib.transforms import ScaledTranslation  # slow to load

    handles, labels = ax.get_legend_handles_labels()
    if labels:
        is_key = [not len(getattr(handle, "get_xdata", lambda: [0])()) for handle in handles]
        order = sorted(range(len(labels)), key=is_key.__getitem__)  # entries that only explain a mark come last
        handles, labels = [handles[i] for i in order], [labels[i] for i in order]
        down = ScaledTranslation(0, -_LEGEND_DEPTH / 72, ax.figure.dpi_scale_trans)
        ax.legend(
            handles, labels, title=title or None, ncols=columns, frameon=False, fontsize=8, title_fontsize=8,
            loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=ax.transAxes + down, borderaxespad=0,
        )  # fmt: skip


def name_levels(ax: Any, levels: Mapping[str, float]) -> None:
    """Label horizontal lines at the right edge of the axes; labels of close lines are moved apart.

    Call it last: it reads the limits of the y axis.
    """
    bottom, top = ax.get_ylim()
    least, at = (top - bottom) / 24, -float("inf")
    for name, y in sorted(levels.items(), key=lambda level: level[1]):
        at = max(y, at + least)
        ax.annotate(name, (1.01, at), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=INK)
