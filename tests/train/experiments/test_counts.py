"""Counts: the numbers of features, and how often shapes occur."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from experiment_files import on_the_same_runs

from rlgo.features.shapes import make_features
from train.cli import main as cli
from train.experiments.declaration.reading import read_experiment
from train.experiments.report.report import section
from train.experiments.results.analysis import Analysis
from train.experiments.results.files import read_raw
from train.experiments.running.run import run_experiment
from train.runs.folder import RunFolder

pytestmark = pytest.mark.usefixtures("sources")


def test_the_features_are_as_many_as_in_the_paper(tmp_path, capsys):
    folder = tmp_path / "new"
    argv = ["experiment", "run", "shape_counts", "--results", str(folder), "--out", str(tmp_path / "out")]
    assert cli.main(argv) == 0
    e = read_experiment("shape_counts")
    raw = read_raw(folder / "shape_counts.jsonl")
    assert {line["number"]: line["value"] for line in raw.lines} == e.expected
    assert len(raw.lines) == len(e.expected) == 20
    for k in (1, 2, 3):
        for sharing in ("LI", "LD"):
            assert e.expected[f"{k}x{k} {sharing} active at most"] == (10 - k) ** 2
            assert e.expected[f"{k}x{k} {sharing} features"] == (10 - k) ** 2 * 3 ** (k * k)
    out = capsys.readouterr().out
    assert "All numbers match the paper's." in out
    assert out.count("| holds |") == 4  # two claims, here and in the shipped results
    # A number that is not counted does not match.
    more = replace(e, expected={**e.expected, "4x4 LI features": 5})
    assert "These numbers differ from the paper's: 4x4 LI features." in section(more, Analysis(raw), folder, folder)
    # On another board the numbers differ.
    other = replace(e, settings=replace(e.settings, size=7))
    numbers = {line["number"]: line["value"] for line in run_experiment(other, tmp_path, progress=False).lines}
    assert numbers["all features"] == 49 * 3 + 36 * 81 + 25 * 19683


@pytest.mark.slow
def test_how_often_shapes_occurred(ran, tmp_path):
    """The numbers and the histogram, from the learner's own counts by other arithmetic."""
    folder, _, _ = ran
    e = on_the_same_runs(ran, tmp_path, '[experiment]\nkind = "frequency"\nbase = "BASE"\n', "often")
    raw = run_experiment(e, tmp_path / "results", jobs=1, progress=False)
    numbers = {line["number"]: line["value"] for line in raw.of("number")}
    state, _ = RunFolder(folder / "out" / "runs" / "base_seed-1").load()
    blocks = make_features(5, (1, 2)).blocks
    assert numbers["games"] == 250
    assert len(blocks) == len(raw.of("histogram")) == 4
    for block, line in zip(blocks, raw.of("histogram"), strict=True):
        name, classes = line["histogram"], line["classes"]
        assert re.split("[ -]", name) == block.name.split("-")
        seen = [int(n) for n in state["occurrences"][block.start : block.stop]]
        assert sum(seen) == numbers[f"{name} occurrences"] > 0
        assert max(seen) == numbers[f"{name} most often"]
        assert len(seen) == numbers[f"{name} weights"]
        assert seen.count(0) == numbers[f"{name} never seen"]
        assert sum(1000 <= n < 10_000 for n in seen) == numbers[f"{name} seen 1,000 to 10,000 times"]
        # Bin k holds 10^(k/4) <= n < 10^((k+1)/4), in whole numbers.
        bins = Counter(next(k for k in range(99) if n**4 < 10 ** (k + 1)) for n in seen if n)
        assert classes == [bins[k] for k in range(max(bins) + 1)]
        assert sum(classes) + seen.count(0) == len(seen)
    totals = [numbers[f"{line['histogram']} occurrences"] for line in raw.of("histogram")]
    assert numbers["most occurrences of a block over least"] == round(max(totals) / min(totals), 2)
    assert len(numbers) == 2 + 4 * 5
