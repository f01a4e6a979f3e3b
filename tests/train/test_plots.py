"""Code shared by all pictures: figures, and the error without matplotlib."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rlgo.base.errors import RlgoError
from train.plots import (
    PALETTE,
    legend_below,
    line_style,
    make_figure,
    name_levels,
    need_matplotlib,
    step_style,
)

ROOT = Path(__file__).resolve().parents[2]


def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch):
    need_matplotlib()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for call in (need_matplotlib, lambda: make_figure(1, 1, 3, 2)):
        with pytest.raises(RlgoError, match=r"^pictures need matplotlib: pip install 'rlgo\[plot\]'$"):
            call()


def test_lines_differ_by_more_than_their_colour():
    styles = [line_style(i) for i in range(2 * len(PALETTE))]
    assert len({style["marker"] + style["linestyle"] for style in styles[: len(PALETTE)]}) == len(PALETTE)
    assert len({tuple(style.values()) for style in styles}) == len(styles)
    steps = [step_style(i, 9) for i in range(9)]
    assert len({style["marker"] for style in steps}) == 9
    brightness = [sum(style["color"][:3]) for style in steps]
    assert brightness == sorted(brightness)
    assert step_style(0, 1)["marker"] == steps[0]["marker"]


def test_a_legend_lies_below_the_axes():
    figure, axes = make_figure(1, 1, 4, 4)
    ax = axes[0, 0]
    legend_below(ax, 2)
    assert ax.get_legend() is None
    ax.plot([], [], label="only a key")
    ax.plot([0, 1], [0, 1], label="a line")
    legend_below(ax, 2, "lines")
    figure.draw_without_rendering()
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["a line", "only a key"]
    assert legend.get_window_extent().y1 < ax.get_window_extent().y0
    assert legend.get_window_extent().y0 > 0


def test_names_of_close_lines_do_not_overprint():
    figure, axes = make_figure(1, 1, 6, 4)
    ax = axes[0, 0]
    ax.set_ylim(0, 2000)
    name_levels(ax, {"b": 1010.0, "a": 1000.0, "c": 1015.0, "far": 100.0})
    figure.draw_without_rendering()
    texts = {text.get_text(): text.get_window_extent() for text in ax.texts}
    assert texts["a"].y1 <= texts["b"].y0 + 1
    assert texts["b"].y1 <= texts["c"].y0 + 1
    assert all(box.x0 > ax.get_window_extent().x1 for box in texts.values())


def test_every_picture_is_written_as_a_whole() -> None:
    """By `save_figure`: a full disk, or Ctrl-C, leaves the old picture as it was."""
    sources = {path: path.read_text("utf-8") for path in (ROOT / "train").rglob("*.py")}
    writers = {path.name for path, source in sources.items() if ".savefig(" in source}
    assert writers == {"plots.py", "board_pictures.py"}  # the second one returns bytes
