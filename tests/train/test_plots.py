"""What all pictures share: figures, and what happens without matplotlib."""

from __future__ import annotations

import sys

import pytest

from rlgo.errors import RlgoError
from train.plots import FIRST, SECOND, light_frame, make_figure, need_matplotlib, percent


def test_a_figure_and_its_axes():
    figure, axes = make_figure(2, 3, 6.5, 4, sharex=True)
    assert axes.shape == (2, 3)
    assert figure.get_size_inches().tolist() == [6.5, 4]
    assert axes[0, 0].get_shared_x_axes().joined(axes[0, 0], axes[1, 2])
    assert FIRST != SECOND


def test_axes_in_percent_with_a_light_frame():
    _, axes = make_figure(1, 1, 3, 2)
    ax = axes[0, 0]
    ax.set_ylim(0, 1)
    percent(ax.yaxis)
    light_frame(ax, "x")
    assert ax.yaxis.get_major_formatter()(0.25) == "25%"
    assert [name for name in ("top", "bottom", "left", "right") if ax.spines[name].get_visible()] == ["bottom", "left"]


def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch):
    need_matplotlib()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for call in (need_matplotlib, lambda: make_figure(1, 1, 3, 2)):
        with pytest.raises(RlgoError, match=r"^pictures need matplotlib: pip install 'rlgo\[plot\]'$"):
            call()
