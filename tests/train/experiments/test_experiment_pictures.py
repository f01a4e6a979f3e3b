"""Pictures of experiments: that every kind can be drawn."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest
from experiment_files import PNG

from rlgo.base.errors import RlgoError
from train.experiments.declaration.reading import read_experiment
from train.experiments.report.pictures import experiment_picture
from train.experiments.report.report import plot, show
from train.experiments.results.analysis import analyze

SHIPPED = Path(__file__).resolve().parents[3] / "results" / "experiments"


@pytest.mark.parametrize("name", ["plies", "shape_frequency", "alphabeta_depth"])
def test_pictures_of_each_kind(results, tmp_path, name):
    path = tmp_path / "x.png"
    experiment_picture(path, read_experiment(name), analyze(results, name))
    data = path.read_bytes()
    assert data.startswith(PNG)
    assert len(data) > 5000


def test_plot_draws_beside_the_results(results, tmp_path):
    for path in results.glob("*.jsonl"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    results, e = tmp_path, read_experiment("alphabeta_depth")
    assert plot(e, results) == results / "alphabeta_depth.png"
    assert (results / "alphabeta_depth.png").read_bytes().startswith(PNG)
    with pytest.raises(RlgoError, match=r"updates.jsonl: no such file: updates has not run \(rlgo experiment run upd"):
        plot(read_experiment("updates"), results)
    with pytest.raises(RlgoError, match="gnugo: has no picture"):
        plot(read_experiment("gnugo"), results)


def test_without_matplotlib_there_is_all_but_the_picture(results, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    text = show(read_experiment("shape_frequency"), results)
    assert capsys.readouterr().err == "rlgo: no picture: pictures need matplotlib: pip install 'rlgo[plot]'\n"
    assert "**Found.** After 1,000 games" in text


# ---------------------------------------------------------------------------------------------
# What is in the pictures of the shipped results
# ---------------------------------------------------------------------------------------------


def axes_of(name: str, monkeypatch: pytest.MonkeyPatch) -> list:
    """The axes of a shipped experiment's picture, laid out."""
    figures = []
    monkeypatch.setattr("train.experiments.report.pictures.save_figure", lambda figure, *_: figures.append(figure))
    experiment_picture("x.png", read_experiment(name), analyze(SHIPPED, name))
    figures[0].draw_without_rendering()
    return [ax for ax in figures[0].axes if ax.get_visible()]


def hollow(ax) -> list[tuple[float, float]]:
    """Where the paper's numbers stand."""
    lines = [line for line in ax.lines if line.get_markerfacecolor() == "white" and len(line.get_xdata())]
    return [point for line in lines for point in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def test_seconds_are_not_called_simulations(monkeypatch):
    left, right = axes_of("rave_schedule", monkeypatch)
    assert [ax.get_xlabel() for ax in (left, right)] == ["simulations a move", "seconds a move"]
    assert {ax.get_ylabel() for ax in (left, right)} == {"won against hand-selected"}
    (ax,) = axes_of("equal_time_td", monkeypatch)
    assert ax.get_xscale() == "log"
    # Series stand beside each other where they share an x.
    assert {float(f"{x:.1g}") if x < 2 else round(x, 1) for x, _ in hollow(ax)} == {0.2, 1, 2.5, 3}


def test_the_papers_numbers_stand_beside_ours(monkeypatch):
    (ax,) = axes_of("tdsearch_shapes", monkeypatch)
    assert hollow(ax) == [(10_000, 1200), (10_000, 1700)]
    assert "the paper" in [text.get_text() for text in ax.get_legend().get_texts()]
    elo, won = axes_of("rave_k", monkeypatch)
    flat = [line.get_ydata()[0] for line in elo.lines if line.get_linestyle() == ":" and len(line.get_ydata()) == 2]
    assert flat == pytest.approx([1800, 1870.44, 1599.76], abs=0.01)  # 50 % to 60 %, and 24 %, against 1800
    assert {text.get_text() for text in elo.texts} == {"UCT", "UCT, the paper", "GNU Go level 0"}
    assert hollow(won) == []


@pytest.mark.parametrize(("name", "named"), [("heuristics", "Q_even"), ("rave_k", "MC-RAVE, c = 0"), ("lambda", "0.9")])
def test_legends_lie_below_and_name_what_they_show(name, named, monkeypatch):
    ax = axes_of(name, monkeypatch)[0]
    legend = ax.get_legend()
    names = [text.get_text() for text in legend.get_texts()]
    assert named in names
    assert not any(text.endswith("=") for text in names)
    assert legend.get_title().get_text() == ("lambda" if name == "lambda" else "")
    assert legend.get_window_extent().y1 < ax.get_window_extent().y0
    labels = [label for label in ax.get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes)) or name == "lambda"
