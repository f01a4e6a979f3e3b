"""What all pictures share: figures, colours and axes.

The pictures themselves are in the ``pictures.py`` of the package whose results they draw. They need matplotlib, which
comes with ``pip install 'rlgo[plot]'``. It is imported when a picture is drawn, because it is slow to load.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from rlgo.errors import RlgoError
from rlgo.files import write_atomically

# Blue and orange, which colour-blind readers can tell apart; dark grey for lines and text of the frame.
FIRST, SECOND, INK = "tab:blue", "tab:orange", "0.25"


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


def save_figure(figure: Any, path: str | Path) -> None:
    """Write a matplotlib figure as a PNG file. Raises RlgoError if it cannot be written."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write_atomically(path, picture.getvalue())


def percent(axis: Any) -> None:
    """Label the ticks of an axis in percent."""
    from matplotlib.ticker import PercentFormatter  # slow to load

    axis.set_major_formatter(PercentFormatter(1.0))


def light_frame(ax: Any, axis: str = "both") -> None:
    """Draw a faint grid, and no frame at the top and on the right."""
    ax.grid(alpha=0.25, axis=axis)
    ax.spines[["top", "right"]].set_visible(False)
