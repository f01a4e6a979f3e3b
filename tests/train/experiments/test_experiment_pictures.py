"""Pictures of experiments: that every kind can be drawn."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from experiment_files import PNG, curves_of, run_line

from rlgo.errors import RlgoError
from train.experiments.findings import Analysis, analyze
from train.experiments.pictures import experiment_picture
from train.experiments.raw import RawResults
from train.experiments.reading import read_experiment
from train.experiments.report import plot, show


@pytest.mark.parametrize("name", ["plies", "shape_frequency", "alphabeta_depth"])
def test_pictures_of_each_kind(results, tmp_path, name):
    path = tmp_path / "x.png"
    experiment_picture(path, read_experiment(name), analyze(results, name))
    data = path.read_bytes()
    assert data.startswith(PNG)
    assert len(data) > 5000


def test_a_picture_of_many_panels_seeds_and_a_diverged_run(tmp_path):
    e = read_experiment("step_size")
    raw = curves_of(e, ages=(100, 1000), openings=2)
    raw.lines[-1:] = []
    for line in raw.lines[: len(e.runs)]:
        line["state"] = "diverged" if line["run"].startswith("linear") else "finished"
    experiment_picture(tmp_path / "x.png", e, Analysis(raw))
    assert (tmp_path / "x.png").read_bytes().startswith(PNG)
    e = read_experiment("learning_runs")
    experiment_picture(tmp_path / "y.png", e, Analysis(curves_of(e, openings=2)))
    assert (tmp_path / "y.png").read_bytes() != (tmp_path / "x.png").read_bytes()


def test_a_panel_in_which_nobody_was_rated(tmp_path):
    e = replace(read_experiment("plies"), panels={"(a)": ("one-ply",), "(b)": ("two-ply",)})
    raw = curves_of(e, openings=2)
    lines = [line for line in raw.lines if not any("one-ply" in name for name in line.get("pair", []))]
    lines[1] = run_line("one-ply", 1, [], "diverged")
    experiment_picture(tmp_path / "x.png", e, Analysis(RawResults(raw.header, lines)))
    assert (tmp_path / "x.png").read_bytes().startswith(PNG)


def test_plot_draws_beside_the_results(results):
    e = read_experiment("alphabeta_depth")
    (results / "alphabeta_depth.png").unlink(missing_ok=True)
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
